"""Closed forms against high-precision arithmetic, their inverses, and dp-accounting."""

import math

import dp_accounting
import pytest
from dp_accounting import rdp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from dpviz.accounting import gaussian_sigma, gdp_delta, gdp_epsilon, gdp_mu, zcdp_epsilon, zcdp_rho_for
from dpviz.core import Budget

HARD_EM_STEPS = 10


def exact_delta(mu, epsilon):
    with mp.workdps(400):
        mu, epsilon = mpf(mu), mpf(epsilon)
        return float(
            mp.erfc((epsilon / mu - mu / 2) / mp.sqrt(2)) / 2
            - mp.exp(epsilon) * mp.erfc((epsilon / mu + mu / 2) / mp.sqrt(2)) / 2
        )


@given(log_mu=st.floats(-12, 2.5), ratio=st.floats(0, 35), centered=st.booleans())
@settings(max_examples=80, deadline=None)
def test_gdp_delta_against_high_precision(log_mu, ratio, centered):
    mu = 10**log_mu
    epsilon = ratio * mu + (mu**2 / 2 if centered else 0)
    expected = exact_delta(mu, epsilon)
    assume(expected > 1e-300)
    assert gdp_delta(mu, epsilon) == pytest.approx(expected, rel=2e-9)  # the derivative's mu^2/24 at its worst


@pytest.mark.parametrize("mu", [1e-10, 1e-3, 0.1, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("delta", [0.3, 1e-5, 1e-30, 1e-300])
def test_epsilon_mu_and_delta_are_one_curve(mu, delta):
    epsilon = gdp_epsilon(mu, delta)
    if epsilon == 0:
        assert gdp_delta(mu, 0.0) <= delta * (1 + 1e-12)
        return
    assert gdp_delta(mu, epsilon) == pytest.approx(delta, rel=1e-7)
    assert gdp_mu(Budget(epsilon, delta)) == pytest.approx(mu, rel=1e-8)
    assert gdp_epsilon(mu, 0.9 * delta) > epsilon


def test_ends_of_the_curve():
    assert gdp_delta(0.0, 0.0) == 0.0
    assert gdp_delta(math.inf, 5.0) == 1.0
    assert gdp_delta(3.0, math.inf) == 0.0
    assert gdp_epsilon(1.0, 0.0) == math.inf
    assert gdp_epsilon(0.0, 0.0) == 0.0
    assert gdp_epsilon(math.inf, 0.5) == math.inf
    assert gaussian_sigma(1.0, Budget(math.inf, 1e-5)) == 0.0
    assert gaussian_sigma(0.0, Budget(1.0, 1e-5)) == 0.0
    with pytest.raises(ValueError, match="delta"):
        gaussian_sigma(1.0, Budget(1.0))
    with pytest.raises(ValueError, match="n_releases"):
        gaussian_sigma(1.0, Budget(1.0, 1e-5), n_releases=0)
    with pytest.raises(ValueError, match="mu"):
        gdp_delta(math.nan, 1.0)


@pytest.mark.parametrize(("epsilon", "sigma"), [(1.0, 24.67635), (10.0, 3.52647)])
def test_hard_em_in_two_dimensions(epsilon, sigma):
    d = 2
    squared_sensitivity = 1 + d + d * (d + 1) // 2  # count, sums, raw second moments of one record
    found = gaussian_sigma(math.sqrt(squared_sensitivity), Budget(epsilon, 1e-4), n_releases=HARD_EM_STEPS)
    assert found == pytest.approx(sigma, abs=5e-6)


def test_sigma_against_dp_accounting():
    sigma = gaussian_sigma(math.sqrt(6), Budget(1.0, 1e-4), n_releases=HARD_EM_STEPS)
    assert sigma == pytest.approx(dp_accounting.get_sigma_gaussian(1.0, 1e-4) * math.sqrt(6 * HARD_EM_STEPS), rel=1e-6)


@given(rho=st.floats(1e-6, 1e6), log_delta=st.floats(-300, -0.1))
@settings(max_examples=80, deadline=None)
def test_zcdp_and_its_inverse(rho, log_delta):
    delta = 10**log_delta
    epsilon = zcdp_epsilon(rho, delta)
    assert epsilon == pytest.approx(rho + 2 * math.sqrt(rho * math.log(1 / delta)), rel=1e-15)
    assert zcdp_rho_for(Budget(epsilon, delta)) == pytest.approx(rho, rel=1e-9)
    assert gdp_epsilon(math.sqrt(2 * rho), delta) <= epsilon  # the Gaussian's own curve is never worse


def test_zcdp_is_an_upper_bound_on_renyi():
    rho, delta = 0.7, 1e-6
    accountant = rdp.RdpAccountant().compose(dp_accounting.ZCDpEvent(rho))
    assert accountant.get_epsilon(delta) <= zcdp_epsilon(rho, delta)
    assert accountant.get_epsilon(delta) >= 0.8 * zcdp_epsilon(rho, delta)


def test_zcdp_ends():
    assert zcdp_epsilon(0.0, 0.0) == 0.0
    assert zcdp_epsilon(1.0, 0.0) == math.inf
    assert zcdp_epsilon(math.inf, 0.1) == math.inf
    assert zcdp_rho_for(Budget(math.inf)) == math.inf
    assert zcdp_rho_for(Budget(1.0)) == 0.0
    with pytest.raises(ValueError, match="rho"):
        zcdp_epsilon(-1.0, 0.1)
    with pytest.raises(ValueError, match="delta"):
        zcdp_epsilon(1.0, 2.0)
