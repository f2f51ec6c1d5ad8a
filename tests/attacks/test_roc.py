"""ROC curves against brute force, bounds against the randomised response that attains them, bands against their law."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score

from dpviz.attacks import (
    advantage_bound,
    auc_bound,
    clopper_pearson,
    empirical_roc,
    exceeds,
    replacement_budget,
    roc_band,
    roc_bound,
)
from dpviz.core import Budget, attacker_odds

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
def test_the_bound_is_what_randomised_response_attains(budget):
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
    # One of two rates misses with probability (1 - level) / 2 at most.
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
        (lambda: roc_bound(1.1, Budget(1.0)), "outside"),
        (lambda: roc_bound(math.nan, Budget(1.0)), "outside"),
        (lambda: clopper_pearson([3], 2), "between 0 and"),
        (lambda: clopper_pearson([0], 0), "at least 1"),
        (lambda: clopper_pearson([0], 5, confidence=1.0), "confidence"),
        (lambda: replacement_budget(0.0, [[0.0]], [[1.0]]), "epsilon"),
        (lambda: replacement_budget(math.inf, [[0.0]], [[1.0]]), "epsilon"),
        (lambda: replacement_budget(1.0, [[0.0]], [[0.0]]), "nothing to tell apart"),
        (lambda: replacement_budget(1.0, [[0.0]], [[0.0], [1.0]]), "own x'"),
    ],
)
def test_bad_input_is_refused_with_words(call, message):
    with pytest.raises(ValueError, match=message):
        call()
