"""The audit's words and pictures: findings with their confidence, and nothing from real records for the public."""

import math
import re
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.accounting import LaplaceEvent
from dpviz.assets import FOLDER as ASSETS
from dpviz.audit import VERDICT_CONFIDENCE, Batch, EpsilonBound, epsilon_lower_bound, events_profile, trade_off
from dpviz.audit.bound import AuditEvent, BoundOptions
from dpviz.core import Adjacency, Budget
from dpviz.stories.label import AUDITED_DECIMALS, least
from dpviz.stories.panel import floored, number
from dpviz.tables import read_tables
from dpviz.tools.audit import pictures
from dpviz.tools.audit.pictures import event_words, percent, statistic_words
from dpviz.tools.audit.runs import Audited
from dpviz.tools.audit.table import NOTES
from tests.tools.audit.test_stage import POINTS
from tests.tools.audit.test_stage import audited as audited_runs

audited = partial(audited_runs, n_runs=2_000)


@pytest.mark.parametrize(
    ("statistic", "words"),
    [
        ("zone_centers [0, 0]", "first zone center, x"),
        ("zone_centers [11, 4]", "number 12 zone center, feature 5"),
        ("noisy_counts [8]", "ninth noisy count"),
        ("noisy_count", "noisy count"),
        ("value [0] less value [1]", "first value, minus second value"),
        ("sum of parents", "sum of all parents"),
        ("size of centers", "how many centers"),
        ("direction of center 0, axis 1", "direction of the first center from the box's corner, y"),
        ("4 is in selected", "whether selected holds number 5 (1) or not (0)"),
    ],
)
def test_a_statistic_is_named_as_people_count(statistic, words):
    assert statistic_words(statistic) == words


def test_no_event_of_the_shipped_table_is_said_in_the_programs_words():
    report = read_tables(ASSETS / "audit" / "methods.json")
    events = [str(row["event"]) for row in report.table("audit").rows if row["event"]]
    assert len(events) > 40
    for event in events:
        statistic, sign, threshold = event.rsplit(" ", 2)
        said = event_words(AuditEvent(statistic, float(threshold), sign == ">", True, 0, 0, 0.0))
        assert not set("_[]<>") & set(said), said
        assert said.endswith(f"{'above' if sign == '>' else 'below'} {number(float(threshold))}")


def test_the_sentence_says_what_was_found_and_how_surely():
    said = pictures.sentence(audited()).public
    assert said.startswith("No violation found in 2,000 runs of each world: ε is at least 0.")
    assert "(proved: 1)" in said
    assert "95 % confidence" in said
    caught = pictures.sentence(audited(0.0, is_proved=False)).public
    assert caught.startswith("Violation found: ε is at least 5.1")
    assert "(claimed: 1)" in caught
    assert caught.endswith("More runs might show more.")
    free = pictures.sentence(audited(0.0, limit=math.inf, is_proved=False)).public
    assert free.startswith("No limit is claimed here")
    assert "verified" not in said + caught + free


@pytest.mark.parametrize("is_proved", [True, False])
def test_what_so_few_runs_cannot_refute_is_undecided_in_words_and_in_the_table(is_proved):
    told = audited(n_runs=500, limit=10.0, is_proved=is_proved)
    for said in (pictures.sentence(told).public, pictures.histogram(told).alt, pictures.roc(told).alt):
        assert "Undecided: 500 runs can show at most 3.76, but the promise is 10 (" in said
        assert "No violation" not in said
    # Between the limits of the figure and of the verdict, the text names the verdict's own limit.
    said = pictures.sentence(audited(n_runs=500, limit=3.5, is_proved=is_proved)).public
    assert said.startswith("Undecided: 500 runs can show at most 3.02 with 99.99 % confidence, but the promise is 3.5")
    assert pictures.sentence(audited(n_runs=500, limit=3.0, is_proved=is_proved)).public.startswith("No violation")
    assert pictures.sentence(audited(0.0, n_runs=500, limit=2.0, is_proved=is_proved)).public.startswith("Violation")


FIGURE = r"(\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?)"


@given(st.floats(0.0, 12.0), st.floats(1e-3, 50.0), st.booleans(), st.sampled_from([20, 200, 500, 20_000]))
@settings(max_examples=300)
def test_no_sentence_says_more_than_was_measured_or_less_than_was_promised(measured, limit, is_proved, n_runs):
    made = np.zeros(n_runs // 2)
    event = AuditEvent("value", 0.5, True, True, n_runs // 2, 0, measured)
    bound = EpsilonBound(measured, (event,), n_runs, n_runs // 2, BoundOptions(), made, made)
    told = Audited(bound, Budget(limit), is_proved=is_proved, pair="Two worlds.", is_own=False)
    said = pictures.sentence(told).public
    facts = {fact.label: fact.value for fact in pictures.facts(told)}
    (least,) = re.findall(f"ε is at least {FIGURE}", said)
    for shown in (least, facts["Measured ε, at least"]):
        assert float(shown.replace(",", "")) <= measured
    (promised,) = re.findall(rf"(?:proved|claimed): {FIGURE}|promise is {FIGURE}", said)
    for shown in ("".join(promised), facts["Proved ε" if is_proved else "Claimed ε"]):
        assert float(shown.replace(",", "")) >= limit * (1.0 - 1e-12)
    for shown in (*re.findall(f"at most {FIGURE}", said)[:1], facts["Largest ε that can be shown"]):
        most = bound.ceiling_at(0.9999) if "can show at most" in said and bound.ceiling > limit else bound.ceiling
        assert float(shown.replace(",", "")) >= (
            bound.ceiling if shown == facts["Largest ε that can be shown"] else most
        )
    assert "95 % confidence" in said
    assert ("99.99 %" in said) >= told.is_violated
    assert (said.startswith("Violation"), said.startswith("Undecided")) == (told.is_violated, told.is_undecided)


def test_words_name_the_confidence_that_is_used(monkeypatch):
    told = audited(0.0)
    monkeypatch.setattr(pictures, "VERDICT_CONFIDENCE", 0.999)
    assert "the verdict 99.9 %" in pictures.sentence(told).public
    assert percent(0.9999) == "99.99 %"
    assert f"{percent(VERDICT_CONFIDENCE)} confidence" in NOTES[0]


def test_the_bars_hold_every_run_and_the_threshold_is_red_only_for_a_violation():
    for scale, color in ((1.0, "reference"), (0.0, "violation")):
        told = audited(scale)
        scene = pictures.histogram(told)
        for layer, scores in zip(scene.layers[:2], (told.bound.scores, told.bound.other_scores), strict=True):
            x, _, high = layer.arrays["edges"][0, 0].T
            left, right, share = x[::2], x[1::2], high[::2]
            assert share.sum() == pytest.approx(1.0)
            inside = np.clip(scores, left[0], right[-1])
            assert ((left + right) / 2 * share).sum() == pytest.approx(inside.mean(), abs=right[0] - left[0])
        assert scene.layers[2].role.value == color


def test_the_attack_stays_below_a_true_limit_and_crosses_a_false_one():
    def above(told, name):
        lines = {layer.name: layer.arrays["xy"][0, 0] for layer in pictures.roc(told).layers if "xy" in layer.arrays}
        attack, limit = lines["The attack"], lines[name]
        return (attack[:, 1] - np.interp(attack[:, 0], limit[:, 0], limit[:, 1])).max()

    best = partial(trade_off, events_profile([LaplaceEvent("count", 1.0, 1.0)], Adjacency.ADD_REMOVE))
    error = 6 * math.sqrt(0.25 / 10_000) * (1 + math.e)
    honest = audited(n_runs=20_000, best=best)
    assert above(honest, "What is proved") < error
    assert above(honest, "Best attack on this noise") < error
    assert above(audited(0.25, n_runs=20_000, is_proved=False), "What is claimed") > error


def test_of_real_records_the_public_sees_nothing():
    told = audited(is_own=True)
    assert pictures.sentence(told).public == pictures.HIDDEN
    assert pictures.histogram(told).public().layers == ()
    names = {layer.name for layer in pictures.roc(told).public().layers}
    assert names == set(), "per distance, even the limit tells where a record is"
    assert [fact.label for fact in pictures.facts(told) if fact.public] == ["Largest ε that can be shown"]
    other = audited(0.5, is_own=True)
    assert pictures.sentence(other).public == pictures.sentence(told).public


def test_outcomes_without_a_number_can_be_drawn():
    def sometimes(points, n_runs, rng):
        return np.where(rng.random(n_runs) < 0.09 * len(points), rng.normal(size=n_runs), np.nan)

    bound = epsilon_lower_bound(Batch(sometimes), POINTS, POINTS[:-1], n_runs=400, rng=np.random.default_rng(0))
    told = Audited(bound, Budget(1.0), is_proved=False, pair="Two worlds.", is_own=False)
    for layer in (*pictures.histogram(told).layers, *pictures.roc(told).layers):
        for array in layer.arrays.values():
            assert np.isfinite(array).all(), layer.name


def test_a_measured_epsilon_is_never_shown_larger_than_it_is():
    found = [0.65396, 0.0, *np.random.default_rng(0).uniform(0.0, 6.0, 500)]
    rows = [round(float(each), AUDITED_DECIMALS) for each in found]
    assert all(0.0 <= least(row) <= true for row, true in zip(rows, found, strict=True))
    # Rounding to three digits, plus the row's own rounding.
    assert all(true - least(row) < 0.0102 for row, true in zip(rows, found, strict=True))
    assert float(floored(rows[0])) > found[0], "what is cut off after it was rounded is too large"
