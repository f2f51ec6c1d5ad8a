"""DPM's score of a split: how empty the place is, and how central. See `dpm`.

Notation, paper -> code: n~ -> noisy_count, alpha -> emptiness_weight, (t, q) -> `t`, `q`.
"""

import numpy as np
from numpy.typing import ArrayLike

from dpviz.core import FloatArray

CENTRENESS_T = 0.3  # Liebenow et al., section 6
CENTRENESS_Q = 1.0 / 12.0  # the same
EMPTINESS_WEIGHT = 5.0  # alpha, section 5.2; centreness weighs 1
LEAST_COUNT = 1.0  # a noisy count below it counts as 1, in scores and their sensitivity alike


def emptiness(counts: ArrayLike, noisy_count: ArrayLike) -> FloatArray:
    """Return 1 - counts / n~, clipped to [0, 1] (definition 5).

    `counts` are the records within half an interval of each candidate, `noisy_count` the noisy number of records of
    the subset, raised to 1 where it is less; they broadcast. Exact for the curator, private. With n~ fixed, one record
    more or less moves it by at most 1/n~: clipping brings values together.
    """
    size = np.maximum(np.asarray(noisy_count, dtype=np.float64), LEAST_COUNT)
    return np.asarray(np.clip(1.0 - np.asarray(counts, dtype=np.float64) / size, 0.0, 1.0))


def centreness(
    ranks: ArrayLike, noisy_count: ArrayLike, t: float = CENTRENESS_T, q: float = CENTRENESS_Q
) -> FloatArray:
    """Return how close each rank is to the median of n~ records, in [0, 1] (definition 6).

    With g = n~/2 - |p - n~/2|, the distance of the rank p from the nearer end, not below 0:
    outer (g <= n~ q): t g / (n~ q); inner: (t - 2q)/(1 - 2q) + g (1 - t)/(n~/2 - n~ q).
    It is t at g = n~ q from both sides and 1 at the median.

    `ranks` are the records below each candidate, `noisy_count` as in `emptiness`; they broadcast. With n~ fixed, one
    record moves a rank by at most 1 and so this by at most the steeper slope, (t/q)/n~ as t > 2q; ranks beyond n~ count
    as n~, which brings values together. Raises ValueError unless 0 < 2q < t <= 1.
    """
    check_centreness(t, q)
    size = np.maximum(np.asarray(noisy_count, dtype=np.float64), LEAST_COUNT)
    half = size / 2.0
    distance = np.maximum(half - np.abs(np.asarray(ranks, dtype=np.float64) - half), 0.0)
    outer = t * distance / (size * q)
    inner = (t - 2.0 * q) / (1.0 - 2.0 * q) + distance * (1.0 - t) / (half - size * q)
    return np.asarray(np.clip(np.where(distance <= size * q, outer, inner), 0.0, 1.0))


def total_score(
    counts: ArrayLike, ranks: ArrayLike, noisy_count: ArrayLike, *, t: float, q: float, emptiness_weight: float
) -> FloatArray:
    """Return centreness + emptiness_weight emptiness (definition 7), from 0 to 1 + emptiness_weight."""
    empty = emptiness(counts, noisy_count)
    return np.asarray(centreness(ranks, noisy_count, t, q) + emptiness_weight * empty)


def unit_sensitivity(*, t: float, q: float, emptiness_weight: float) -> float:
    """Return t/q + emptiness_weight: divided by n~, the most that one record moves a score with n~ fixed (lemma 5).

    The noisy count is released before the split is scored, so fixing it is exact: no offset and no delta are needed.
    """
    return t / q + emptiness_weight


def unit_half_range(*, t: float, q: float, emptiness_weight: float) -> float:
    """Return t/q + emptiness_weight/2: divided by n~, half the range in which one record moves all scores. Ours.

    One more record lowers an emptiness by 1/n~ or not at all, and never raises it; a centreness it may move either way.
    So all scores change by something in [-(t/q + w)/n~, (t/q)/n~], an interval of length r = (2 t/q + w)/n~, and one
    record less by the negative of that. Choosing with probability proportional to exp(epsilon score / r) is
    epsilon-DP: with changes D_i in [a, a + r], P(i)/P'(i) = exp(epsilon D_i / r) Z'/Z, and Z'/Z is between
    exp(-epsilon (a + r) / r) and exp(-epsilon a / r). The same bound holds for the range of the log-ratio over i. This
    is the mechanism of `exponential` with sensitivity r/2, which is less than lemma 5's.
    """
    return t / q + emptiness_weight / 2.0


def check_centreness(t: float, q: float) -> None:
    """Raise ValueError unless 0 < 2q < t <= 1: otherwise the outer slope is not the steeper one."""
    if not 0.0 < 2.0 * q < t <= 1.0:
        raise ValueError(
            f"t was {t:g} and q was {q:g}, but they must keep 0 < 2 q < t <= 1. Raise t, or lower q; the paper has "
            "t = 0.3 and q = 1/12."
        )
