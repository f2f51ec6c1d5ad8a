"""Shared parts of baselines: number of records, discrete Laplace noise and its cost, joint calibration, and delta."""

import math

import numpy as np
import pytest
from scipy import stats

from dpviz.accounting import GaussianEvent, PureEvent, delta_of, gdp_mu
from dpviz.baselines._base import (
    LEAST_RECORDS,
    ApproxParams,
    delta_for,
    joint_mu,
    noisy_whole,
)
from dpviz.core import Adjacency, Budget

DRAWS = 60_000


def pmf(z, a):
    """(1 - r) / (1 + r) r^|z| with r = e^-a."""
    return np.tanh(a / 2) * np.exp(-a * np.abs(z))


@pytest.mark.parametrize("a", [0.7, 1.5])
def test_its_law_is_that_of_its_probabilities_and_not_rounded_laplace(a):
    rng, edge = np.random.default_rng(2), 4
    inner = np.arange(-edge, edge + 1)
    probabilities = np.append(pmf(inner, a), 1 - pmf(inner, a).sum())
    limit = stats.chi2.ppf(1 - 1e-9, len(inner))
    rounded = np.round(rng.laplace(scale=1 / a, size=DRAWS))
    for noise, right in ((noisy_whole(np.zeros(DRAWS), a, rng=rng), True), (rounded, False)):
        seen = np.array([*((noise == z).sum() for z in inner), (np.abs(noise) > edge).sum()])
        statistic = ((seen - DRAWS * probabilities) ** 2 / (DRAWS * probabilities)).sum()
        assert (statistic <= limit) == right


def test_a_count_that_moves_by_one_is_randomized_response():
    a = 0.8
    z = np.arange(-200, 201)
    # Hockey-stick divergence between the laws of count and count + 1, summed over all outcomes.
    for epsilon in (0.0, 0.3, 0.79, 0.8):
        exact = np.maximum(pmf(z, a) - math.exp(epsilon) * pmf(z - 1, a), 0.0).sum()
        response = max(math.exp(a) - math.exp(epsilon), 0.0) / (1 + math.exp(a))
        assert exact == pytest.approx(response, abs=1e-12)
    # Continuous Laplace noise of the same scale would give a smaller value, which is not a bound.
    laplace = 1 - math.exp((0.3 - a) / 2)
    assert laplace < (math.exp(a) - math.exp(0.3)) / (1 + math.exp(a))


def test_no_noise_without_a_budget_limit_and_less_with_more_budget():
    counts = np.array([0.0, 5.0, 17.0])
    assert np.array_equal(noisy_whole(counts, math.inf, rng=np.random.default_rng(0)), counts)
    sizes = [np.abs(noisy_whole(np.zeros(50), a, rng=np.random.default_rng(0))).sum() for a in (0.01, 0.1, 1.0)]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize(("n_pure", "epsilon"), [(20, 1e-3), (20, 1.0), (40, 1.0), (20, 50.0)])
def test_steps_calibrated_together_spend_the_budget_and_no_more(n_pure, epsilon):
    delta = 1e-6

    def spent(mu):
        facts = (*[PureEvent("count", mu / 20)] * n_pure, GaussianEvent("sum", mu, 1.0))
        return delta_of(facts, epsilon, Adjacency.ADD_REMOVE)

    mu = joint_mu(n_pure, 20.0, epsilon, delta)
    assert 0.9 * delta < spent(mu) <= delta
    assert spent(1.005 * mu) > delta
    alone = gdp_mu(Budget(epsilon, delta))
    assert mu < alone
    assert spent(alone) > delta  # forgetting the counts would break the claim


def test_calibration_at_the_ends():
    assert joint_mu(20, 20.0, math.inf, 1e-6) == math.inf
    for epsilon in (1e-9, 1e6):
        mu = joint_mu(20, 20.0, epsilon, 1e-6)
        facts = (*[PureEvent("count", mu / 20)] * 20, GaussianEvent("sum", mu, 1.0))
        assert 0 < delta_of(facts, epsilon, Adjacency.ADD_REMOVE) <= 1e-6


def test_delta_is_that_of_the_number_of_records_to_a_factor_of_two():
    for n in (1001.0, 5e4, 1e9):
        assert n**-1.5 / 2 < delta_for(n) <= n**-1.5
    assert delta_for(-1e9) == delta_for(0.0) == delta_for(LEAST_RECORDS)
    for bad in (0.0, 1.0, -1e-6, math.nan):
        with pytest.raises(ValueError, match="delta must be"):
            ApproxParams(delta=bad)
