"""An attacker's rule, chosen on half of the runs and scored on the other half, against laws that are known."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import binom

from dpviz.attacks import center_statistics, chosen_rule, held_out_score
from dpviz.core import Box, CentersRelease

RUNS = 200  # of each world, as the page has
REPEATS = 200


def clouds(rng, gap, d=2, runs=RUNS):
    """Draw two clouds of standard normal releases, `gap` apart along the first axis."""
    first, second = rng.standard_normal((2, runs, d))
    second[:, 0] += gap
    return first, second


def plug_in(first, second, bins=20):
    """Return (1 + total variation) / 2 of histograms on the very same runs: the wrong way."""
    ends = np.stack([np.concatenate([first, second]).min(axis=0), np.concatenate([first, second]).max(axis=0)])
    edges = [np.linspace(low, high, bins + 1) for low, high in ends.T]
    here, there = (np.histogram2d(*each.T, bins=edges)[0] / len(each) for each in (first, second))
    return 0.5 + 0.25 * np.abs(here - there).sum()


def test_identical_clouds_look_identical_and_the_plug_in_does_not_see_it():
    """Hits of R rounds are binomial (R, 1/2) whatever rule was chosen: the mean of many is within six errors."""
    found = [held_out_score(*clouds(np.random.default_rng([1, i]), 0.0)) for i in range(REPEATS)]
    error = 0.5 / math.sqrt(RUNS * REPEATS)
    assert abs(np.mean([each.rate for each in found]) - 0.5) < 6 * error
    wrong = np.mean([plug_in(*clouds(np.random.default_rng([1, i]), 0.0)) for i in range(20)])
    assert wrong > 0.65, "the plug-in total variation"
    assert wrong - 0.5 > 6 * error, "the test has the power to refuse it"


def test_scoring_on_the_choosing_half_would_flatter():
    """The wrong variant: with many statistics the best rule of the choosing half is right there by luck."""
    rates = []
    for i in range(30):
        first, second = clouds(np.random.default_rng([2, i]), 0.0, d=12, runs=100)
        rule = chosen_rule(first, second)
        rates.append(0.5 * (1.0 - rule.says_second(first).mean() + rule.says_second(second).mean()))
    assert np.mean(rates) > 0.55


@pytest.mark.parametrize("mu", [0.5, 1.0, 2.0])
def test_a_gaussian_shift_is_told_apart_as_often_as_its_law_says(mu):
    """No rule beats Phi(mu / 2); one chosen on half of 2,000 runs comes within two points of it."""
    found = [held_out_score(*clouds(np.random.default_rng([3, i]), mu, runs=2000)) for i in range(20)]
    best, rate = float(ndtr(mu / 2)), np.mean([each.rate for each in found])
    error = math.sqrt(best * (1 - best) / (2000 * 20))
    assert rate < best + 6 * error
    assert rate > best - 0.02 - 6 * error


def test_a_direction_is_learned_where_no_single_statistic_tells():
    """Ten statistics with a small shift each: alone Phi(.25) = 60 in 100, together Phi(sqrt(10) / 4) = 79."""
    rng = np.random.default_rng(4)
    first, second = rng.standard_normal((2, 2000, 10))
    score = held_out_score(first, second + 0.5)
    assert score.rate > 0.74


def test_the_interval_covers_the_chosen_rules_accuracy():
    """Known law: rule x > t on N(0, 1) against N(1, 1) is right (Phi(t) + Phi(1 - t)) / 2 times. 95 % at least."""
    covered = 0
    for i in range(REPEATS):
        first, second = clouds(np.random.default_rng([5, i]), 1.0, d=1)
        rule, score = chosen_rule(first[: RUNS // 2], second[: RUNS // 2]), held_out_score(first, second)
        t = rule.threshold / rule.weights[0]
        truth = 0.5 * (ndtr(t) + ndtr(1.0 - t))
        covered += score.low <= truth <= score.high
    assert covered >= binom.ppf(1e-6, REPEATS, 0.95)
    assert covered < REPEATS, "an interval that never misses says nothing"


def test_worlds_without_overlap_are_always_told_apart():
    for first, second in (
        (np.zeros((40, 3)), np.ones((40, 3))),
        (np.full((40, 1), 1.0), np.full((40, 1), 1.0 + 1e-15)),
    ):
        score = held_out_score(first, second)
        assert (score.n_rounds, score.n_right, score.high) == (40, 40, 1.0)
    same = held_out_score(np.full((40, 2), 0.3), np.full((40, 2), 0.3))
    assert same.n_right == 20, "equal constants are a coin"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(8, 60), st.integers(1, 6), st.sampled_from([0, 1, 3]))
def test_any_releases_can_be_scored(seed, runs, d, digits):
    """Rounded values tie; whichever world comes first, hits and ends stay in range."""
    rng = np.random.default_rng(seed)
    first, second = rng.standard_normal((2, runs, d)).round(digits)
    for pair in ((first, second), (second, first)):
        score = held_out_score(*pair)
        assert score.n_rounds == 2 * (runs - runs // 2)
        assert 0.0 <= score.low <= score.rate <= score.high <= 1.0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.zeros((7, 1)), np.zeros((7, 1))),
        (np.zeros((9, 1)), np.zeros((8, 1))),
        (np.zeros((9, 1)), np.zeros((9, 2))),
        (np.full((9, 1), np.nan), np.zeros((9, 1))),
    ],
)
def test_bad_releases_are_refused(first, second):
    with pytest.raises(ValueError, match=r"runs|columns|NaN|shape"):
        held_out_score(first, second)


def test_statistics_of_centers_are_those_by_hand():
    box = Box([0.0, 10.0], [2.0, 20.0])
    release = CentersRelease(np.array([[1.0, 15.0], [2.0, 20.0]]), np.array([3.0, 4.5]))
    found = center_statistics(release, np.array([[2.0, 19.0]]), box)
    assert found == pytest.approx([2, 7.5, 0.75, 0.75, 1.0, 1.0, 0.1, 4.5])
    flipped = CentersRelease(release.centers[::-1], release.noisy_counts[::-1])
    assert center_statistics(flipped, np.array([[2.0, 19.0]]), box) == pytest.approx(found), "their order is nothing"
    nothing = center_statistics(CentersRelease(np.zeros((0, 2)), np.zeros(0)), np.array([[2.0, 19.0]]), box)
    assert nothing.shape == found.shape
    assert np.isfinite(nothing).all()
    assert nothing[0] == 0
