"""ROC curves against brute force, bounds against the randomized response that attains them, bands against their law.

An attacker's rule, chosen on half of the runs and scored on the other half, against laws that are known.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import ndtr
from scipy.stats import binom
from sklearn.metrics import roc_auc_score

from dpviz.attacks import (
    advantage_bound,
    auc_bound,
    center_statistics,
    chosen_rule,
    clopper_pearson,
    empirical_roc,
    exceeds,
    held_out_score,
    replacement_budget,
    roc_band,
    roc_bound,
)
from dpviz.core import Box, Budget, CentersRelease, attacker_odds

SCORES = st.lists(st.integers(-4, 4) | st.just(math.inf) | st.just(-math.inf), min_size=1, max_size=12)
BUDGETS = st.builds(Budget, st.floats(0.01, 12.0), st.floats(0.0, 0.5))
ONE_IN_A_MILLION = 1 - 1e-6  # a right mechanism is accused once in a million seeds; these seeds are fixed


@given(SCORES, SCORES)
def test_rates_are_the_shares_at_or_above_each_threshold(inside, outside):
    roc = empirical_roc(inside, outside)
    for threshold, alarm, hit in zip(roc.thresholds[1:], roc.false_positive[1:], roc.true_positive[1:], strict=True):
        assert hit == pytest.approx(np.mean(np.array(inside) >= threshold))
        assert alarm == pytest.approx(np.mean(np.array(outside) >= threshold))
    assert set(roc.thresholds[1:]) == {*inside, *outside}
    assert (np.diff(roc.thresholds[1:]) < 0).all()
    assert (roc.false_positive[-1], roc.true_positive[-1]) == (1.0, 1.0)


@given(SCORES, SCORES)
def test_the_curve_starts_at_zero_and_its_area_counts_pairs(inside, outside):
    roc = empirical_roc(inside, outside)
    assert (roc.false_positive[0], roc.true_positive[0]) == (0.0, 0.0)
    a, b = np.array(inside, dtype=float)[:, None], np.array(outside, dtype=float)
    assert roc.auc == pytest.approx(np.mean((a > b) + 0.5 * (a == b)))
    finite = np.clip(np.concatenate([inside, outside]), -9, 9)
    truth = [1] * len(inside) + [0] * len(outside)
    assert roc.auc == pytest.approx(roc_auc_score(truth, finite))


@given(BUDGETS)
def test_the_bound_is_what_randomized_response_attains(budget):
    """Its outcomes: told truly (delta), a right and a wrong hint at odds e^E (Kairouz et al., section 2)."""
    e, share = math.exp(-budget.epsilon), 1.0 - budget.delta
    inside = np.array([budget.delta, share / (1 + e), share * e / (1 + e), 0.0])
    outside = inside[::-1]
    np.testing.assert_allclose(roc_bound(np.minimum(np.cumsum(outside), 1), budget), np.cumsum(inside), atol=1e-12)


@given(BUDGETS)
def test_area_and_advantage_are_those_of_the_bound(budget):
    rates = np.linspace(0, 1, 200_001)
    bound = roc_bound(rates, budget)
    # Trapezoids of a concave line lose at most its jump of slope times the step squared at each kink.
    assert np.trapezoid(bound, rates) == pytest.approx(auc_bound(budget), abs=math.exp(budget.epsilon) * 1e-10 + 1e-9)
    assert (bound - rates).max() == pytest.approx(advantage_bound(budget), abs=math.exp(budget.epsilon) * 5e-6)
    assert 50 * (1 + advantage_bound(budget)) == pytest.approx(attacker_odds(budget.epsilon, budget.delta))


def test_no_privacy_bounds_nothing_and_tiny_epsilon_leaves_the_diagonal():
    rates = np.linspace(0, 1, 11)
    assert (roc_bound(rates, Budget(math.inf))[1:] == 1).all()
    np.testing.assert_allclose(roc_bound(rates, Budget(1e-12)), rates, atol=1e-11)
    assert auc_bound(Budget(math.inf)) == advantage_bound(Budget(math.inf)) == 1.0


def laplace_rounds(epsilon, n, seed):
    """Scores of the best attack on 1-D Laplace noise between 0 and 1, whose curve touches the bound."""
    rng = np.random.default_rng(seed)
    noise = rng.laplace(scale=1 / epsilon, size=(2, n))
    return noise[0], noise[1] - 1.0


def test_laplace_stays_under_its_bound_and_half_the_noise_is_caught():
    assert not exceeds(empirical_roc(*laplace_rounds(1.0, 50_000, 0)), Budget(1.0), confidence=ONE_IN_A_MILLION)
    assert exceeds(empirical_roc(*laplace_rounds(2.0, 50_000, 0)), Budget(1.0), confidence=ONE_IN_A_MILLION)


def test_clopper_pearson_inverts_the_binomial_exactly():
    hits = np.arange(21)
    band = clopper_pearson(hits, 20, confidence=0.9)
    for k, low, high in zip(hits, band.low, band.high, strict=True):
        interval = stats.binomtest(int(k), 20).proportion_ci(0.9, method="exact")
        assert (low, high) == pytest.approx((interval.low, interval.high))


def test_the_band_covers_at_its_level_and_one_of_half_the_width_does_not():
    rng, n_sets, n, level = np.random.default_rng(1), 2000, 100, 0.8
    ranks = np.arange(n + 1) / n
    misses = half_misses = 0
    width = roc_band(empirical_roc(rng.random(n), rng.random(n)), confidence=level)
    half = float((width.true_positive.high - width.true_positive.low).max()) / 2
    for draws in np.sort(rng.random((n_sets, n)), axis=1):
        farthest = max((ranks[1:] - draws).max(), (draws - ranks[:-1]).max())  # Kolmogorov's statistic
        misses += farthest > half
        half_misses += farthest > half / 2
    # One of two rates misses with probability at most (1 - level) / 2.
    allowed = (1 - level) / 2
    assert misses / n_sets <= allowed + 6 * math.sqrt(allowed / n_sets)
    assert half_misses / n_sets > allowed + 6 * math.sqrt(allowed / n_sets)


def test_a_replacement_costs_epsilon_times_the_farthest_move():
    points, others = np.zeros((3, 2)), np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 0.0]])
    assert replacement_budget(0.1, points, others) == Budget(0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: empirical_roc([], [1.0]), "one round"),
        (lambda: empirical_roc([1.0], [[1.0]]), "shape"),
        (lambda: empirical_roc([1.0], [math.nan]), "NaN"),
        (lambda: roc_bound(1.1, Budget(1.0)), "in \\[0, 1\\]"),
        (lambda: roc_bound(math.nan, Budget(1.0)), "in \\[0, 1\\]"),
        (lambda: clopper_pearson([3], 2), "between 0 and"),
        (lambda: clopper_pearson([0], 0), "at least 1"),
        (lambda: clopper_pearson([0], 5, confidence=1.0), "confidence"),
        (lambda: replacement_budget(0.0, [[0.0]], [[1.0]]), "epsilon"),
        (lambda: replacement_budget(math.inf, [[0.0]], [[1.0]]), "epsilon"),
        (lambda: replacement_budget(1.0, [[0.0]], [[0.0]]), "nothing to distinguish"),
        (lambda: replacement_budget(1.0, [[0.0]], [[0.0], [1.0]]), "own x'"),
    ],
)
def test_bad_input_is_refused_with_words(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# Runs of each world, as on the page.
RUNS = 200
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
