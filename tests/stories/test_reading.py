"""Texts about reading a picture: five misreadings a page, existing terms, figures from their stated sources."""

import json
import math
import re

import numpy as np
import pytest
from scipy.special import gammainc

from benchmarks.papers import RESULTS
from dpviz.attacks.location import laplace_total_variation
from dpviz.core import Adjacency, Budget
from dpviz.methods import CATALOGUE
from dpviz.methods.morse.algorithm.budget import MorseScheme, noise_scale
from dpviz.stories.glossary import pieces
from dpviz.stories.teaching import SYMBOLS, Formula, exact, parts, tex, used
from dpviz.tools.audit import pictures as audit_reading
from dpviz.tools.compare import frontier as compare_reading

MOST_WORDS = {"said": 20, "why": 50, "look": 25}
READINGS = {name: method.reading for name, method in CATALOGUE.items()}
TEXTS = {name: (reading.misreadings, reading.papers) for name, reading in READINGS.items()}
TEXTS |= {
    name: (each.MISREADINGS, each.PAPERS) for name, each in {"audit": audit_reading, "compare": compare_reading}.items()
}
PAGES = sorted(TEXTS)


def rows(name, table):
    """Return the rows of a committed table."""
    report = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    (found,) = [each["rows"] for each in report["tables"] if each["id"] == table]
    return found


def why(name, start):
    """Return the reason why a misreading is wrong."""
    (found,) = [each.why for each in READINGS[name].misreadings if each.said.startswith(start)]
    return found


def test_every_page_is_read():
    assert set(READINGS) == set(CATALOGUE)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_five_short_misreadings_and_cites_to_the_place(name):
    misreadings, papers = TEXTS[name]
    assert len(misreadings) == 5
    assert len({each.said for each in misreadings}) == 5
    for each in misreadings:
        for part, most in MOST_WORDS.items():
            text = "".join(words for words, _ in pieces(getattr(each, part)))
            assert text.endswith(".")
            assert "!" not in text
            assert 3 <= len(text.split()) <= most, (part, text)
    assert any(term for each in misreadings for _, term in pieces(each.why + each.look))
    assert len(papers) >= 3
    for paper in papers:
        assert paper.places
        assert all(place and what for place, what in paper.places)


@pytest.mark.parametrize(
    ("value", "written", "whole"),
    [
        (0.25, "0.25", True),
        (1 / 3, "0.333", False),
        (12345.0, "12{,}300", False),
        (1e-5, "10^{-5}", True),
        (2.74e-6, r"2.74\cdot 10^{-6}", True),
        (math.inf, r"\infty", True),
    ],
)
def test_numbers_in_formulas_say_whether_digits_are_left_out(value, written, whole):
    assert tex(value) == written
    assert exact(value) is whole
    shown = Formula("", "x", "x", value).with_numbers
    assert shown == f"x {'=' if whole else chr(92) + 'approx'} {written}"


def test_only_symbols_that_stand_in_a_formula_are_listed():
    found = [Formula("", r"b = \frac{\Delta}{\varepsilon_t}", "", 1.0)]
    assert set(used({"b": "", "r": "", r"\Delta,\ d": "", r"\varepsilon_t": "", "a": ""}, found)) == {
        "b",
        r"\Delta,\ d",
        r"\varepsilon_t",
    }
    assert parts(r"a,\ b_c") == ["a", "b_c"]
    assert all(SYMBOLS.values())


# Figures in the texts, each against its source.


def test_kmeans_degrees_are_the_committed_ones():
    found = [row for row in rows("convergent_kmeans", "degree") if row["strategy"] == "past"]
    past = {row["set"]: round(100 * row["measured"]) for row in found}
    said = why("convergent_kmeans", "It converges like")
    assert f"between {past['S1']} in 100 runs (S1) and {past['House']} in 100 runs (House)" in said
    assert past["S1"] == min(past.values())
    assert past["House"] == max(past.values())


def mean_step(epsilon, n=120):
    """Return E|S_hat - S| / |X - S| integrated over the paper's densities of lambda, alpha and delta."""
    part = (np.arange(n) + 0.5) / n
    lam = (0.5 + 0.5 * part)[:, None, None]
    widest = np.arcsin((1 - lam) / lam)
    alpha = widest * part[None, :, None]
    half = np.sqrt(np.maximum((1 - lam) ** 2 - (lam * np.sin(alpha)) ** 2, 0))
    delta = lam * np.cos(alpha) + half * (2 * part - 1)
    weight = half * widest * np.exp(epsilon * (2 - delta - 2 * alpha / np.pi) / 4)
    inner = (delta * weight).sum(axis=(1, 2)) / weight.sum(axis=(1, 2))
    outer = np.exp(-2 * lam[:, 0, 0])
    return float((inner * outer).sum() / outer.sum())


def test_kmeans_steps_hardly_shorten_with_epsilon():
    numbers = re.search(r"from ([\d.]+) to ([\d.]+) of the distance", why("convergent_kmeans", "Moving ε")).groups()
    assert [f"{mean_step(epsilon):.2f}" for epsilon in (0.05, 5.0)] == list(numbers)


def test_moons_agreement_is_the_committed_one():
    (row,) = [
        row
        for row in rows("morse", "moons")
        if row["epsilon"] == 1.0 and row["components"] == 8 and row["variant"].startswith("The paper's")
    ]
    assert row["passes"] == 10
    said = why("morse", "The paper's picture")
    assert f"is {row['after']:.2f} on average" in said
    assert f"between {row['lower']:.2f} and {row['upper']:.2f}. The paper shows {row['paper']:g}" in said


def test_morse_noises_are_those_of_the_formulas():
    def sigma(published, adjacency):
        return noise_scale(MorseScheme("dpmog_hard", published, adjacency, Budget(1.0, 1e-4), 2, 8, 10))

    said = why("morse", "Tight noise")
    for value in (sigma(True, Adjacency.REPLACE), sigma(False, Adjacency.REPLACE), sigma(False, Adjacency.ADD_REMOVE)):
        assert f"{value:.1f}" in said


def test_laplace_shares_are_those_of_the_law():
    # Releases in 100 within the mean length, Gamma(2).
    inside = round(100 * gammainc(2, 2))
    assert f"{inside} in 100 releases fall inside, and {100 - inside} fall outside" in why("nd_laplace", "The person")
    bound = 100 / (1 + math.e)
    average = 100 * (1 - float(laplace_total_variation(1.0, 1.0, 2))) / 2
    said = why("nd_laplace", "The error formula")
    assert f"it is {bound:.0f} in 100. On average over releases, the attacker errs {average:.0f} times" in said


def test_source_target_gaps_are_the_committed_ones():
    closed = {
        row["method"]: row["closed"]
        for row in rows("source_target", "orderings")
        if row["set"] == "Synthetic 1" and row["budget"] == "ε = 3"
    }
    assert closed["NAS"] <= 0.05
    assert 0.4 < closed["NNA"] < 0.6
    assert "closes none of the gap to the result without privacy, and NNA closes about half" in why(
        "source_target", "NAS averages"
    )
