"""The Audit page's stage: bounds at every step of play, dots at the attacker's outcomes, and its sentences."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.audit import VERDICT_CONFIDENCE, Batch, BoundOptions, EpsilonBound, epsilon_lower_bound
from dpviz.audit.bound import AuditEvent
from dpviz.core import Budget
from dpviz.stories.panel import ceiled, floored
from dpviz.tools.audit import opening, pictures
from dpviz.tools.audit.cases import AUDITED, UNIT, calibrations
from dpviz.tools.audit.pictures import COLUMNS, HIDDEN, LEAST_COLUMNS, stage_of
from dpviz.tools.audit.runs import Audited, against_limit, counted

POINTS = np.zeros((10, 1))
# Limits of a finding: two lines.
MOST_LETTERS, MOST_WORDS = 68, 16


def audited(scale=1.0, *, limit=1.0, n_runs=500, seed=0, **options):
    """Return an audit of a noisy count, proved unless the options differ; without noise if the scale is 0."""

    def draw(points, n_runs, rng):
        return len(points) + (rng.laplace(scale=scale, size=n_runs) if scale else np.zeros(n_runs))

    bound = epsilon_lower_bound(Batch(draw), POINTS, POINTS[:-1], n_runs=n_runs, rng=np.random.default_rng(seed))
    told = {"is_proved": True, "pair": "Two.", "is_own": False, "claimed": 1.0}
    return Audited(bound, Budget(limit), **told | options)


def made(hits, others, n, limit, **options):
    """Return an audit whose only event has these counts of n runs, in no particular order."""
    shuffled = np.random.default_rng(0).permutation
    scores, other = shuffled((np.arange(n) < hits) * 1.0), shuffled((np.arange(n) < others) * 1.0)
    bound = EpsilonBound(0.0, (), 2 * n, n, BoundOptions(), scores, other)
    least = bound.lower_at(0.95, ((hits, others),))
    event = AuditEvent("value", 0.5, True, True, hits, others, least)
    bound = replace(bound, epsilon_lower=least, events=(event,))
    return Audited(bound, Budget(limit), pair="Two.", is_own=False, **{"is_proved": True, "claimed": 1.0, **options})


def so_far(told, n):
    """Return the bound of the strongest event in the first n runs, counted a different way."""
    bound, event = told.bound, told.bound.events[0]
    worlds = [values[:n] for values in (bound.scores, bound.other_scores)]
    hits = [int((each > event.threshold if event.above else each < event.threshold).sum()) for each in worlds]
    hits = hits if event.first_is_likely else hits[::-1]
    return hits, replace(bound, n_estimating=n).lower_at(bound.options.confidence, (tuple(hits),))


@pytest.mark.parametrize("scale", [0.0, 0.25, 1.0, 4.0])
def test_each_step_has_the_counts_and_the_bound_of_the_runs_so_far(scale):
    told = audited(scale)
    played = stage_of(told).played
    assert [step.n for step in played[:24]] == list(range(1, 25))
    assert played[-1].n == told.bound.n_estimating == 250
    for step in played:
        hits, least = so_far(told, step.n)
        assert [step.right, step.wrong] == hits
        assert step.leak == pytest.approx(least, abs=1e-9)
        assert step.leak <= step.most + 1e-9
        assert float(step.leak_text) <= step.leak
        if step.leak > 0.0 and step.n < 250:
            assert step.leak != told.bound.lower_at(0.95, (tuple(hits),)), "as if all runs had been made"
    assert played[-1].leak == told.bound.epsilon_lower
    assert played[-1].most == told.bound.ceiling


def test_a_bound_on_the_way_holds_as_often_as_it_says_and_an_estimate_does_not():
    """At a step that is fixed beforehand, at most 5 of 100 audits exceed the true ε = 1: six standard errors."""
    audits = [audited(n_runs=200, seed=seed) for seed in range(120)]
    most = 0.05 + 6 * math.sqrt(0.05 * 0.95 / len(audits))
    at = [next(step for step in stage_of(told).played if step.n >= 60) for told in audits]
    assert np.mean([step.leak > 1.0 for step in at]) <= most
    guessed = [math.log(max(step.right, 0.5) / max(step.wrong, 0.5)) for step in at]
    assert np.mean([guess > 1.0 for guess in guessed]) > most


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("first_is_likely", [True, False])
def test_a_dot_is_beyond_the_mark_where_the_attacker_speaks_and_nowhere_else(above, first_is_likely):
    rng = np.random.default_rng(1)
    one, two = rng.normal(2.0, 3.0, 250), rng.normal(0.0, 0.1, 250)
    one[:5], two[:3] = (0.5, np.inf, -np.inf, 0.5, 0.5), (np.inf, 0.5, -np.inf)
    event = AuditEvent("value", 0.5, above, first_is_likely, 1, 0, 0.0)
    bound = EpsilonBound(0.0, (event,), 500, 250, BoundOptions(), one, two)
    drawn = stage_of(Audited(bound, Budget(1.0), is_proved=True, pair="Two.", is_own=False))
    last = drawn.played[-1]
    assert LEAST_COLUMNS <= drawn.edge <= COLUMNS - LEAST_COLUMNS
    for world, values in zip(last.columns, (one, two), strict=True):
        speaks = int((values > 0.5 if above else values < 0.5).sum())
        assert sum(world) == 250
        assert sum(world[drawn.edge :]) == speaks
    likely = 0 if first_is_likely else 1
    assert last.right == sum(last.columns[likely][drawn.edge :])
    assert last.wrong == sum(last.columns[1 - likely][drawn.edge :])
    assert drawn.says == ("you" if first_is_likely else "not you")


@pytest.mark.parametrize(("spread", "by_rank"), [(0.0, True), (3.0, False)])
def test_runs_that_share_one_place_are_drawn_by_rank(spread, by_rank):
    rng = np.random.default_rng(1)
    one, two = rng.normal(8.0, 3.0, 250), rng.normal(0.0, spread, 250)
    event = AuditEvent("value", 4.0, True, True, 1, 0, 0.0)
    bound = EpsilonBound(0.0, (event,), 500, 250, BoundOptions(), one, two)
    drawn = stage_of(Audited(bound, Budget(1.0), is_proved=True, pair="Two.", is_own=False))
    last = drawn.played[-1]
    held = np.array(last.columns).sum(axis=0)
    # By rank, the columns of a side hold equally many runs; otherwise, the tails are thin.
    assert all((np.ptp(side) <= 1) == by_rank for side in (held[: drawn.edge], held[drawn.edge :]))
    assert (last.right, last.wrong) == (int((one > 4.0).sum()), int((two > 4.0).sum()))


def test_worlds_that_never_differ_have_no_mark():
    bound = EpsilonBound(0.0, (), 500, 250, BoundOptions(), np.zeros(250), np.zeros(250))
    drawn = stage_of(Audited(bound, Budget(1.0), is_proved=False, pair="Two.", is_own=False))
    assert drawn.edge == COLUMNS
    assert (drawn.played[-1].right, drawn.played[-1].wrong) == (0, 0)
    assert "can hardly tell" in drawn.played[-1].finding


@pytest.mark.parametrize(
    ("told", "finding", "tone", "verdict"),
    [
        (
            audited(0.0, is_proved=False),
            "It promised 1, but leaks at least 3.75: broken.",
            "broken",
            ("ε = 1 is claimed, and these runs disprove it.", "One attack is enough to break a promise."),
        ),
        (
            audited(0.1, limit=10.0, claimed=10.0),
            "Undecided: the promise is 10; 500 runs can show at most 3.76.",
            "open",
            ("Proved.", "These runs alone could not show it."),
        ),
        (
            audited(0.1, limit=10.0, is_proved=False, claimed=10.0),
            "Undecided: the promise is 10; 500 runs can show at most 3.76.",
            "open",
            ("ε = 10 is only claimed: no one has proved it.", "More runs might settle it."),
        ),
        (
            # The figure could be above the limit, and the verdict could not.
            audited(1.0, limit=3.5, claimed=3.5),
            "Undecided: the promise is 3.5; 500 runs are too few to break it.",
            "open",
            ("Proved.", "These runs alone could not show it."),
        ),
        (
            made(137, 55, 250, 1.0),
            "Kept so far: the promise is 1; these runs show at least 0.429.",
            "kept",
            ("Proved.", "An attack can break a promise; only a proof can keep it."),
        ),
        (
            made(60, 55, 250, 0.05),
            "It promised 0.05; this attack can hardly tell the worlds apart.",
            "kept",
            ("Claimed 1, proved 0.05.", "An attack can break a promise; only a proof can keep it."),
        ),
        (
            made(150, 55, 250, 0.5, is_proved=False),
            "Undecided: the promise is 0.5, and these runs point to 0.536.",
            "open",
            ("ε = 0.5 is only claimed: no one has proved it.", "More runs might settle it."),
        ),
        (
            audited(0.0, limit=math.inf, is_proved=False, claimed=math.inf),
            "Nothing is promised here, and the leak is at least 3.75.",
            "kept",
            ("Nothing is claimed, and nothing is proved.", "There is no promise to break."),
        ),
    ],
    ids=["broken", "undecided", "undecided claim", "verdict's limit", "kept", "nothing seen", "doubtful", "no limit"],
)
def test_the_finding_says_what_all_runs_show(told, finding, tone, verdict):
    drawn = stage_of(told)
    assert drawn.played[-1].finding == finding
    assert drawn.played[-1].tone == tone
    assert (drawn.verdict, drawn.words) == verdict


def test_the_finding_names_the_method_where_there_is_room_and_the_verdict_the_version_that_is_proved():
    drawn = stage_of(audited(0.0, is_proved=False), "Published k-means", "k-means")
    assert drawn.played[-1].finding == "Published k-means promised 1, but leaks at least 3.75: broken."
    assert drawn.words == "Its repaired version, which the k-means page shows, is proved."
    long = "Published clustering by very many words"
    assert stage_of(audited(0.0, is_proved=False), long).played[-1].finding.startswith("It promised 1, but")
    assert stage_of(audited(0.0, limit=10.0, claimed=10.0), "k-means", "k-means").verdict == "Proved."


@given(st.integers(0, 100), st.integers(0, 100), st.sampled_from([10, 100, 2_500, 100_000]), st.floats(1e-3, 50.0))
def test_no_finding_is_too_long_or_says_more_than_was_found(right, wrong, n, limit):
    told = made(n * right // 100, n * wrong // 100, n, limit, is_proved=False)
    drawn = stage_of(told, "Published k-means")
    for step in drawn.played:
        assert len(step.finding) <= MOST_LETTERS, step.finding
        assert len(step.finding.split()) <= MOST_WORDS
        assert "no violation" not in step.finding.lower()
        assert "verified" not in step.finding
        assert (step.tone == "broken") == ("broken" in step.finding)
        assert step.leak <= limit or floored(step.leak) in step.finding, "the number beside it is above the promise"
        if step.tone == "broken":
            assert told.is_violated
            assert step.leak > limit
            assert floored(step.leak) in step.finding
            assert ceiled(limit) in step.finding
    last = drawn.played[-1]
    assert last.finding.startswith("Undecided") >= told.is_undecided
    assert (last.tone == "broken") == told.is_violated


@pytest.mark.parametrize("text", [pictures.STARTED, pictures.STOPPED, HIDDEN])
def test_what_stands_there_without_a_result_fits_too(text):
    assert len(text) <= MOST_LETTERS
    assert len(text.split()) <= MOST_WORDS


def test_a_record_that_is_replaced_is_in_both_worlds():
    drawn = stage_of(audited(moves=True))
    assert drawn.worlds == ("With your record", "With a different one")
    assert drawn.says in ("yours", "another")
    assert "with a different one" in " ".join(drawn.paragraphs)


def test_the_chart_behind_why_has_few_points_and_ends_in_the_corners():
    drawn = stage_of(audited(is_proved=False))
    assert [line.kind for line in drawn.lines] == ["coin", "limit", "attack"]
    for line in drawn.lines:
        assert 2 <= len(line.points) <= pictures.MOST_POINTS
        assert line.points[0][0] == 0.0
        assert line.points[-1] == (1.0, 1.0)
    coin, limit, _ = drawn.lines
    assert coin.points == ((0.0, 0.0), (1.0, 1.0))
    assert all(y <= math.e * x + 1e-3 for x, y in limit.points)


def test_the_page_opens_with_the_audits_of_its_first_method():
    questions = list(opening.questions())
    assert len(questions) == 2 * len(opening.EPSILONS)
    for question in questions:
        case, bound = opening.find_answer(question)
        told = against_limit(case, bound, is_own=False)
        assert bound.n_runs == opening.RUNS
        assert told.limit.epsilon == pytest.approx(question.epsilon)
        assert bound.epsilon_lower == bound.lower_at(0.95), "the figure follows from the counts"
        likely, other = (bound.scores, bound.other_scores)
        event = bound.events[0]
        worlds = (likely, other) if event.first_is_likely else (other, likely)
        counts = [int((each > event.threshold if event.above else each < event.threshold).sum()) for each in worlds]
        assert counts == [event.hits, event.other_hits]
        assert not (told.is_proved and told.is_violated)
    published = next(each for each in questions if each.epsilon == 1.0)
    told = against_limit(*opening.find_answer(published), is_own=False)
    assert told.bound.violates(1.0, VERDICT_CONFIDENCE)
    assert opening.find_answer(replace(published, seed=1)) is None
    assert opening.find_answer(replace(published, record=3)) is None
    assert opening.find_answer(replace(published, runs=200)) is None


@pytest.mark.parametrize("question", [each for each in opening.questions() if each.epsilon == 1.0], ids=lambda q: q.key)
def test_the_file_holds_what_the_runs_give(question):
    _, kept = opening.find_answer(question)
    _, bound = counted(np.empty((0, 2)), UNIT, question)
    assert bound.epsilon_lower == pytest.approx(kept.epsilon_lower, abs=1e-6)
    assert [(e.hits, e.other_hits) for e in bound.events] == [(e.hits, e.other_hits) for e in kept.events]


def test_a_method_as_published_stands_before_the_same_as_it_is_proved():
    for method in AUDITED:
        pair = calibrations(method)
        assert len(pair) in (0, 2)
        if pair:
            assert "published" in pair[0].mode
            assert "published" not in pair[1].mode
            assert pair[0].pair_name == pair[1].pair_name
    assert len(calibrations("dpm")) == 2
    assert calibrations("dplloyd") == ()
