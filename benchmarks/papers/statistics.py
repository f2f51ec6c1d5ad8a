"""Statistics of many runs: averages, ratios of averages and shares with 95 % intervals, and quartiles."""

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """Figure with its 95 % interval. With one run there is no interval, and both ends are None."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Quartiles:
    """Quartiles and average of a sample."""

    # 25 % of the sample lies below.
    lower: float
    median: float
    # 25 % of the sample lies above.
    upper: float
    mean: float


def mean_estimate(values: ArrayLike) -> Estimate:
    """Return the mean of `values` (R,) with Student's interval, mean -+ t s / sqrt(R)."""
    sample = np.asarray(values, dtype=np.float64)
    return _around(float(sample.mean()), sample - sample.mean())


def ratio_estimate(numerators: ArrayLike, denominators: ArrayLike) -> Estimate:
    """Return mean(a) / mean(b) of paired runs (R,) with the delta method's interval.

    To first order the error of q = mean(a) / mean(b) is the mean of (a - q b) / mean(b), whose entries sum to 0.
    """
    above, below = np.asarray(numerators, dtype=np.float64), np.asarray(denominators, dtype=np.float64)
    ratio = float(above.mean() / below.mean())
    return _around(ratio, (above - ratio * below) / below.mean())


def share_estimate(n_hits: int, n_runs: int) -> Estimate:
    """Return n_hits / n_runs with Wilson's interval, which stays inside [0, 1] and also has a width at 0 and 1."""
    interval = scipy.stats.binomtest(n_hits, n_runs).proportion_ci(CONFIDENCE, method="wilson")
    return Estimate(n_hits / n_runs, float(interval.low), float(interval.high))


def spread(values: ArrayLike) -> Quartiles:
    """Return the quartiles of `values` (R,), between order statistics as NumPy interpolates them, and the mean."""
    sample = np.asarray(values, dtype=np.float64)
    lower, median, upper = np.quantile(sample, [0.25, 0.5, 0.75])
    return Quartiles(float(lower), float(median), float(upper), float(sample.mean()))


def _around(value: float, errors: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Estimate:
    """Return `value` -+ t s / sqrt(R), where s is the standard deviation of `errors` (R,), whose mean is 0."""
    n = len(errors)
    if n < 2:
        return Estimate(value, None, None)
    deviation = math.sqrt(float(errors @ errors) / (n - 1))
    half = float(scipy.stats.t.ppf(0.5 + CONFIDENCE / 2, n - 1)) * deviation / math.sqrt(n)
    return Estimate(value, value - half, value + half)


def run_seeds(seed: int, index: int, n_runs: int) -> list[int]:
    """Return the seeds of a set's runs: different for every seed and set, the same for every setting."""
    return [int(np.random.default_rng([seed, index, run]).integers(2**31)) for run in range(n_runs)]
