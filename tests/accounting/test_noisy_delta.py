"""A delta that follows a noisy number is stated as its mean over the noise."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpviz.accounting import mean_over_laplace
from dpviz.accounting.noisy_delta import QUANTILES
from dpviz.core import Box
from dpviz.methods import ALGORITHMS
from dpviz.methods.dpm.algorithm.plan import LEAST_RECORDS, delta_for
from dpviz.stories.label import numbers_of

BOX = Box.cube(0.0, 1.0, 2)
POINTS = np.random.default_rng(0).random((1200, 2))
FOLLOWING = ("dpm", "em_mc", "fastlloyd", "lsh_splits")


def test_the_noise_is_taken_at_the_quantiles_of_scipy():
    taken = []
    mean_over_laplace(lambda noisy: taken.append(noisy) or noisy, 0.0, 1.0)
    assert (taken[0] == stats.laplace.ppf((np.arange(QUANTILES) + 0.5) / QUANTILES)).all()


@pytest.mark.parametrize("center", [0.0, 900.0, 1000.0, 1300.0, 50_000.0])
@pytest.mark.parametrize("scale", [1.0, 80.0, 400.0])
def test_the_mean_is_the_integral_over_the_noise(center, scale):
    def weighted(z):
        return float(delta_for(center + scale * z)) * math.exp(-abs(z)) / 2

    kinks = sorted({0.0, min(max((LEAST_RECORDS - center) / scale, -39.0), 39.0)})
    exact, error = integrate.quad(weighted, -40, 40, points=kinks, limit=400)
    assert mean_over_laplace(delta_for, center, scale) == pytest.approx(exact, rel=3e-4, abs=10 * error)


def test_a_wrong_mean_is_seen():
    mean = mean_over_laplace(delta_for, 1300.0, 400.0)
    assert mean != pytest.approx(float(delta_for(1300.0)), rel=0.02), "it is not the number's own delta"
    assert mean != pytest.approx(mean_over_laplace(delta_for, 1300.0, 800.0), rel=3e-4)


def test_the_mean_over_many_runs_is_what_is_stated():
    """The stated mean is taken at the released number; at the true one it is the mean of what runs would give."""
    n, scale, runs = 1300, 150.0, 200_000
    noisy = n + scale * np.random.default_rng(1).laplace(size=runs)
    deltas = delta_for(noisy)
    error = 5 * float(deltas.std()) / math.sqrt(runs)
    assert abs(float(deltas.mean()) - mean_over_laplace(delta_for, n, scale)) <= error
    assert stats.laplace.ppf(0.5) == 0.0


@pytest.mark.parametrize("name", FOLLOWING)
def test_a_card_states_it_before_the_number_s_own(name):
    made = ALGORITHMS[name]
    claim = made.fit(POINTS, BOX, made.Params(epsilon=0.5), rng=np.random.default_rng(2)).guarantee.published
    assert claim.mean_delta is not None
    assert claim.a_priori_delta == claim.mean_delta
    assert claim.delta <= LEAST_RECORDS**-1.5
    words = numbers_of(claim)
    assert words.index("on average over the noisy count") < words.index("in this run")


@pytest.mark.parametrize("name", FOLLOWING)
def test_a_delta_that_follows_nothing_is_the_guarantee_s(name):
    made = ALGORITHMS[name]
    for given in ({"delta": 1e-5}, {"n_public": 1200}):
        claim = made.fit(POINTS, BOX, made.Params(**given), rng=np.random.default_rng(3)).guarantee.published
        assert claim.mean_delta is None
        assert "average" not in numbers_of(claim)
