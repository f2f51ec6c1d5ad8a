"""Closed forms for sliders: Gaussian DP and zCDP, in microseconds and without dp-accounting.

Balle & Wang 2018 ("Improving the Gaussian mechanism", theorem 8), Dong, Roth & Su 2022 ("Gaussian differential
privacy", corollaries 2.13 and 3.3), Bun & Steinke 2016 (proposition 1.3).
"""

import math
from functools import lru_cache

import scipy

from dpviz.core import Budget

# Below this mu, the difference of two Mills ratios is computed as a derivative (error mu^2/24), above it directly. Our
# choice.
SMALL_MU = 1e-5
# Relative tolerance of the root finder. Our choice.
RELATIVE_TOLERANCE = 1e-14
# Number of cached roots: every run of one setting needs the same ones. Our choice.
CACHED_ROOTS = 1024


def gdp_delta(mu: float, epsilon: float) -> float:
    """Return the smallest delta of a mu-GDP mechanism: Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu).

    `mu` >= 0 (n releases of L2 sensitivity s and noise sigma: sqrt(n) s / sigma), `epsilon` >= 0; both may be infinite.
    Raises ValueError otherwise. Source: Balle & Wang 2018, theorem 8; Dong, Roth & Su 2022, corollary 2.13.
    """
    return math.exp(_log_gdp_delta(_non_negative("mu", mu), _non_negative("epsilon", epsilon)))


@lru_cache(maxsize=CACHED_ROOTS)
def gdp_epsilon(mu: float, delta: float) -> float:
    """Return the smallest epsilon >= 0 at which a mu-GDP mechanism is (epsilon, delta)-DP: `gdp_delta` inverted.

    Infinite at delta = 0 unless mu is 0. Raises ValueError for mu < 0 or delta outside [0, 1].
    """
    _non_negative("mu", mu)
    _check_delta(delta)
    if mu == 0 or delta == 1:
        return 0.0
    if delta == 0 or math.isinf(mu):
        return math.inf
    target = math.log(delta)
    if _log_gdp_delta(mu, 0.0) <= target:
        return 0.0
    # A valid, larger epsilon, so the root is below it.
    enough = zcdp_epsilon(mu**2 / 2, delta)
    return float(
        scipy.optimize.brentq(
            lambda e: _log_gdp_delta(mu, e) - target, 0.0, enough, xtol=1e-300, rtol=RELATIVE_TOLERANCE, maxiter=500
        )
    )


@lru_cache(maxsize=CACHED_ROOTS)
def gdp_mu(budget: Budget) -> float:
    """Return the largest mu whose mu-GDP mechanisms keep `budget`; infinite for an infinite epsilon.

    Raises ValueError at delta = 0: no Gaussian noise gives a pure guarantee.
    """
    if math.isinf(budget.epsilon):
        return math.inf
    if budget.delta == 0:
        raise ValueError(
            "delta must be above 0 for Gaussian noise, got 0. Choose a delta below 1/n, or use Laplace noise."
        )
    target = math.log(budget.delta)
    # mu^2/2 = rho keeps the budget with room to spare.
    low = math.sqrt(2 * zcdp_rho_for(budget))
    high = 2 * low
    while _log_gdp_delta(high, budget.epsilon) < target:
        high *= 2
    return float(
        scipy.optimize.brentq(
            lambda mu: _log_gdp_delta(mu, budget.epsilon) - target, low, high, xtol=1e-300, rtol=RELATIVE_TOLERANCE
        )
    )


def gaussian_sigma(l2_sensitivity: float, budget: Budget, *, n_releases: int = 1) -> float:
    """Return the smallest sigma with which `n_releases` releases together keep a budget: sqrt(n) s / mu(budget).

    Parameters
    ----------
    l2_sensitivity
        Sensitivity of each release, at least 0, in its unit, for the adjacency of the budget.
    budget
        Epsilon and delta that all releases together may spend.
    n_releases
        Number of releases with this sigma, at least 1.

    Returns
    -------
    float
        Sigma in the unit of the sensitivity; 0 at epsilon = infinity.

    Raises
    ------
    ValueError
        If delta is 0 or `n_releases` is below 1.

    References
    ----------
    Balle & Wang 2018, theorem 9, with the composition of Dong, Roth & Su 2022, corollary 3.3.
    """
    if n_releases < 1:
        raise ValueError(f"n_releases must be at least 1, got {n_releases}.")
    return math.sqrt(n_releases) * _non_negative("l2_sensitivity", l2_sensitivity) / gdp_mu(budget)


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return rho + 2 sqrt(rho ln(1/delta)), an epsilon at which rho-zCDP is (epsilon, delta)-DP.

    Infinite at delta = 0 unless rho is 0. Raises ValueError for rho < 0 or delta outside [0, 1].
    Source: Bun & Steinke 2016, proposition 1.3.
    """
    _non_negative("rho", rho)
    _check_delta(delta)
    if rho == 0:
        return 0.0
    if delta == 0 or math.isinf(rho):
        return math.inf
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def zcdp_rho_for(budget: Budget) -> float:
    """Return the largest rho with `zcdp_epsilon(rho, delta)` <= epsilon: (sqrt(L + eps) - sqrt(L))^2, L = ln(1/delta).

    It is 0 at delta = 0, because no rho > 0 is small enough, and infinite for an infinite epsilon.
    """
    if math.isinf(budget.epsilon):
        return math.inf
    if budget.delta == 0:
        return 0.0
    log_inverse = math.log(1 / budget.delta)
    # The difference of roots as a quotient, which is exact even if epsilon is far below ln(1/delta).
    root = budget.epsilon / (math.sqrt(log_inverse + budget.epsilon) + math.sqrt(log_inverse))
    return root**2


def _log_gdp_delta(mu: float, epsilon: float) -> float:
    """Return ln(gdp_delta). With u = eps/mu - mu/2, v = eps/mu + mu/2 and e^eps phi(v) = phi(u), nothing overflows."""
    if mu == 0 or math.isinf(epsilon):
        return -math.inf
    if math.isinf(mu):
        return 0.0
    u, v = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    # ln of phi(u), on the scale of erfcx(x) = 2 e^(x^2) Phi(-sqrt(2) x).
    log_density = -(u**2) / 2 - math.log(2)
    if u < 0 and mu >= SMALL_MU:
        # The first term is at least 1/2 here and the second is smaller: ln(a - b) = ln a + ln(1 - b/a).
        log_first = float(scipy.special.log_ndtr(-u))
        log_second = log_density + math.log(float(scipy.special.erfcx(v / math.sqrt(2))))
        return log_first + math.log(-math.expm1(log_second - log_first))
    # The difference of Mills ratios, erfcx(u / sqrt 2) - erfcx(v / sqrt 2) for v - u = mu.
    if mu >= SMALL_MU:
        difference = float(scipy.special.erfcx(u / math.sqrt(2)) - scipy.special.erfcx(v / math.sqrt(2)))
    else:
        middle = (u + v) / math.sqrt(8)
        # Derivative of erfcx.
        slope = 2 * middle * float(scipy.special.erfcx(middle)) - 2 / math.sqrt(math.pi)
        difference = -slope * mu / math.sqrt(2)
    return log_density + math.log(difference) if difference > 0 else -math.inf


def _non_negative(name: str, value: float) -> float:
    if not value >= 0:
        raise ValueError(f"{name} must be at least 0, got {value}.")
    return value


def _check_delta(delta: float) -> None:
    if not 0 <= delta <= 1:
        raise ValueError(f"delta must be in [0, 1], got {delta}.")
