"""Trade-off curves against closed forms."""

import math

import numpy as np
import pytest
from scipy import stats

from dpviz.accounting import GaussianEvent, LaplaceEvent, PureEvent
from dpviz.attacks import roc_bound
from dpviz.audit import events_profile, trade_off
from dpviz.core import Adjacency, Budget

RATES = np.linspace(0.0, 1.0, 201)


def region_profile(epsilon, delta=0.0):
    """At a smaller e it is 1 - (1 - delta) (1 + e^e) / (1 + e^epsilon): randomized response that fails with delta."""
    return lambda at: np.where(
        at >= epsilon, delta, 1.0 - (1.0 - delta) * (1.0 + np.exp(np.minimum(at, epsilon))) / (1.0 + math.exp(epsilon))
    )


def laplace_profile(ratio):
    """delta(e) = 1 - exp((e - ratio) / 2) below sensitivity / scale (Balle, Barthe & Gaboardi 2018, theorem 3)."""
    return lambda at: np.maximum(-np.expm1((at - ratio) / 2.0), 0.0)


def gaussian_profile(mu):
    """Dong, Roth & Su 2022, corollary 1."""
    return lambda at: stats.norm.cdf(mu / 2 - at / mu) - np.exp(at + stats.norm.logcdf(-mu / 2 - at / mu))


def gaussian_curve(mu):
    """Dong, Roth & Su 2022, equation 6, as true alarms."""
    return stats.norm.cdf(stats.norm.ppf(RATES) + mu)


def laplace_curve(ratio):
    """The best test between Laplace laws one apart: true alarms by the likelihood ratio's three pieces."""
    rising = math.exp(ratio) * RATES
    middle = 1.0 - math.exp(-ratio) / (4.0 * np.maximum(RATES, 1e-300))
    flat = 1.0 - math.exp(-ratio) * (1.0 - RATES)
    return np.where(math.exp(ratio) * RATES < 0.5, rising, np.where(RATES <= 0.5, middle, flat))


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_a_gaussian_curve_is_the_closed_form(mu):
    found = trade_off(gaussian_profile(mu), RATES)
    assert np.abs(found - gaussian_curve(mu)).max() < 5e-4
    assert np.abs(trade_off(gaussian_profile(1.1 * mu), RATES) - gaussian_curve(mu)).max() > 1e-3


@pytest.mark.parametrize("ratio", [0.2, 1.0, 2.5])
def test_a_laplace_curve_is_the_closed_form(ratio):
    found = trade_off(laplace_profile(ratio), RATES)
    assert np.abs(found - laplace_curve(ratio)).max() < 5e-4
    assert (found >= laplace_curve(ratio) - 1e-12).all(), "a bound stays a bound"
    assert np.abs(found - trade_off(region_profile(ratio), RATES)).max() > 1e-3, "Laplace is better than its epsilon"


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (1.0, 0.05), (3.0, 1e-5)])
def test_a_region_is_that_of_the_attacks(epsilon, delta):
    found = trade_off(region_profile(epsilon, delta), RATES)
    wanted = roc_bound(RATES, Budget(epsilon, delta))
    assert (found >= wanted - 1e-12).all()
    assert np.abs(found - wanted).max() < 5e-3 * epsilon  # lines stand that far apart at the kink


@pytest.mark.parametrize(
    ("events", "profile"),
    [
        ([GaussianEvent("sum", 1.0, 1.0)], gaussian_profile(1.0)),
        ([LaplaceEvent("count", 1.0, 1.0)], laplace_profile(1.0)),
        ([PureEvent("choice", 1.0)], region_profile(1.0)),
    ],
)
def test_composed_events_agree_with_closed_forms(events, profile):
    found = trade_off(events_profile(events, Adjacency.ADD_REMOVE), RATES)
    assert np.abs(found - trade_off(profile, RATES)).max() < 1e-3


def test_no_attack_on_laplace_noise_lies_above():
    rng = np.random.default_rng(0)
    inside, outside = rng.laplace(size=200_000) + 1.0, rng.laplace(size=200_000)
    thresholds = np.linspace(-4.0, 5.0, 50)
    right, false = ((values[:, None] > thresholds).mean(axis=0) for values in (inside, outside))
    excess = right - trade_off(laplace_profile(1.0), false)
    error = 6 * math.sqrt(0.25 / 200_000) * (1 + math.e)
    assert excess.max() < error
    assert excess.max() > -error  # and the best attack reaches it
    assert (right - trade_off(laplace_profile(0.5), false)).max() > error


def test_a_rate_is_a_rate():
    with pytest.raises(ValueError, match="false_positive"):
        trade_off(laplace_profile(1.0), [1.5])
