"""DPM's score of a split: how empty the place is, and how central. See `dpm`.

Notation, paper -> code: n~ -> noisy_count, alpha -> emptiness_weight, (t, q) -> `t`, `q`.

As published a place is as empty as its interval is. Then the empty margin of a cell beats any gap between clusters,
and a gap that is narrower than an interval is none. Repaired, a place is as empty as a gap is deep there: see `depths`.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpviz.core import FloatArray, compiled

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


def depths(counts: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return how deep a gap is at each candidate, in records: (nodes, d, s), exact and private. Ours.

    `counts` (nodes, d, s) are the records of every interval. Among stretches of r intervals, a gap is as deep as the
    stretch around the candidate holds fewer records than the fullest stretch on either side that does not meet it:
    min(fullest below, fullest above) - its own. r = 1, 3, 7, ... up to an eighth of the axis, and the deepest counts:
    clusters of any width are told apart, whatever part of the axis they take. Where records lie on one side alone, no
    gap is deeper than 0. One record more moves a depth by -1, 0 or 1: for each r it is in the candidate's own stretch
    or in some of the others, which do not meet that one, so that either the minuend or the subtrahend grows, by 1 at
    most; minima and maxima keep that.
    """
    found = np.empty_like(counts)
    _dig(np.ascontiguousarray(counts).reshape(-1, counts.shape[-1]), found.reshape(-1, counts.shape[-1]))
    return found


@compiled
def _dig(counts: NDArray[np.int32], found: NDArray[np.int32]) -> None:
    rows, s = counts.shape
    upto, own, above = np.zeros(s + 1, np.int64), np.empty(s, np.int64), np.empty(s + 1, np.int64)
    for row in range(rows):
        for j in range(s):
            upto[j + 1] = upto[j] + counts[row, j]
        reach = 0
        while reach == 0 or 8 * (2 * reach + 1) <= s:
            for j in range(s):
                own[j] = upto[min(j + reach + 1, s)] - upto[max(j - reach, 0)]
            above[s] = 0
            for j in range(s - 1, -1, -1):
                above[j] = max(above[j + 1], own[j])
            below, apart = 0, 2 * reach + 1
            for j in range(s):
                if j >= apart:
                    below = max(below, own[j - apart])
                depth = min(below, above[min(j + apart, s)]) - own[j]
                if reach == 0 or depth > found[row, j]:
                    found[row, j] = depth
            reach = 2 * reach + 1


def gap(depth: ArrayLike, noisy_count: ArrayLike) -> FloatArray:
    """Return depth / n~, clipped to [0, 1]: the emptiness of the repaired calibration. `depth` is one of `depths`."""
    size = np.maximum(np.asarray(noisy_count, dtype=np.float64), LEAST_COUNT)
    return np.asarray(np.clip(np.asarray(depth, dtype=np.float64) / size, 0.0, 1.0))


def smaller_side(ranks: ArrayLike, n: ArrayLike, noisy_count: ArrayLike) -> FloatArray:
    """Return min(records below, records above, n~/2): the rank that the repaired centreness is of.

    `n` are the exact records of the subset. One record more raises it by at most 1 and never lowers it, where the
    distance of a rank from the ends of n~ records may go either way.
    """
    ranks = np.asarray(ranks, dtype=np.float64)
    size = np.maximum(np.asarray(noisy_count, dtype=np.float64), LEAST_COUNT)
    return np.asarray(np.minimum(np.minimum(ranks, n - ranks), size / 2.0))


def unit_sensitivity(*, t: float, q: float, emptiness_weight: float) -> float:
    """Return t/q + emptiness_weight: divided by n~, the most that one record moves a score with n~ fixed (lemma 5).

    The noisy count is released before the split is scored, so fixing it is exact: no offset and no delta are needed.
    """
    return t / q + emptiness_weight


def unit_half_range(*, t: float, q: float, emptiness_weight: float) -> float:
    """Return emptiness_weight + t/(2q): divided by n~, half the range in which one record moves all scores. Ours.

    One more record moves a gap by at most 1/n~ either way; the centreness of the smaller side it raises by at most
    (t/q)/n~, and never lowers it. So all scores change by something in [-w/n~, (w + t/q)/n~], an interval of length
    r = (2 w + t/q)/n~, and one record less by the negative of that. Choosing with probability proportional to
    exp(epsilon score / r) is epsilon-DP: with changes D_i in [a, a + r], P(i)/P'(i) = exp(epsilon D_i / r) Z'/Z, and
    Z'/Z is between exp(-epsilon (a + r) / r) and exp(-epsilon a / r). The same bound holds for the range of the
    log-ratio over i. This is the mechanism of `exponential` with sensitivity r/2.
    """
    return emptiness_weight + t / (2.0 * q)


def check_centreness(t: float, q: float) -> None:
    """Raise ValueError unless 0 < 2q < t <= 1: otherwise the outer slope is not the steeper one."""
    if not 0.0 < 2.0 * q < t <= 1.0:
        raise ValueError(
            f"t was {t:g} and q was {q:g}, but they must keep 0 < 2 q < t <= 1. Raise t, or lower q; the paper has "
            "t = 0.3 and q = 1/12."
        )
