"""Budget and step of DPLloyd (Su, Cao, Li, Bertino & Jin, CODASPY 2016; extended in TOPS 2017), section 3.

The rules are stated for a box scaled to [-1, 1]^d, where one record moves a coordinate's sum by at most 1. The step is
written for [0, 1]^d and sums of x - 1/2, where it is at most 1/2: the same means.
"""

import math
from dataclasses import dataclass

import numpy as np

from dpviz.core import Centers, Counts, FloatArray
from dpviz.solvers.lloyd import ClusterSums

EMPTY_SCALES = 2.0  # a noisy count below this many noise scales cannot be told from an empty cluster; ours
BOX_MIDDLE = 0.5  # sums are centered here: one record then moves a coordinate's sum by 1/2, not by 1
RHO = 0.225  # mean absolute coordinate / 2 that the paper assumes for its error formula
MIN_ITERATIONS = 2
MAX_ITERATIONS = 7
SEEDED_ITERATIONS = 1  # after a private start: more of them drown it in noise; ours, by measurement


@dataclass(frozen=True, slots=True)
class LloydBudget:
    """How one iteration's epsilon is split: `count + d * sum_per_axis` is all of it."""

    count: float  # epsilon of the k counts together (disjoint clusters)
    sum_per_axis: float  # epsilon of the k sums along one axis


def _count_weight(d: int) -> float:
    """c = (4 d rho^2)^(1/3), the weight of the count against 1 for each axis."""
    return math.cbrt(4.0 * d * RHO**2)


def su_split(epsilon: float, d: int) -> LloydBudget:
    """Split one iteration's `epsilon`: eps_sum = eps / (d + c) on each axis, eps_count = c eps / (d + c)."""
    weight = _count_weight(d)
    return LloydBudget(count=weight * epsilon / (d + weight), sum_per_axis=epsilon / (d + weight))


def su_iterations(epsilon: float, n_records: float, n_clusters: int, d: int) -> int:
    """Return T = clip(floor(eps / eps_m), 2, 7), eps_m = sqrt(500 k^3 / N^2 (d + (4 d rho^2)^(1/3))^3).

    `n_records` must be public or a noisy count; below 1 it counts as 1.
    """
    if math.isinf(epsilon):
        return MAX_ITERATIONS
    records = max(n_records, 1.0)
    epsilon_m = math.sqrt(500.0 * n_clusters**3 / records**2 * (d + _count_weight(d)) ** 3)
    return int(min(max(math.floor(epsilon / epsilon_m), MIN_ITERATIONS), MAX_ITERATIONS))


def centered_sums(sums: ClusterSums) -> FloatArray:
    """Return the exact sum (k, d) of x - 1/2 over each cluster, x in [0, 1]^d."""
    return sums.nonprivate_sums - BOX_MIDDLE * sums.nonprivate_counts[:, None]


def noisy_means(noisy_counts: Counts, noisy_sums: FloatArray, fallback: Centers, *, count_scale: float) -> Centers:
    """Return 1/2 + sum~ / max(count~, 1), clipped into [0, 1]^d; a cluster that looks empty stays at `fallback`.

    `noisy_sums` (k, d) are centered; `count_scale` is the noise scale of `noisy_counts` (k,). Post-processing.
    """
    mean = np.clip(BOX_MIDDLE + noisy_sums / np.maximum(noisy_counts, 1.0)[:, None], 0.0, 1.0)
    # The threshold is public: it follows from the noise scale alone.
    seen = noisy_counts >= max(1.0, EMPTY_SCALES * count_scale)
    return np.where(seen[:, None], mean, fallback)


def steadied(noisy: Centers, before: Centers, noisy_counts: Counts, *, count_scale: float, sum_scale: float) -> Centers:
    """Return centers that go from `before` towards the `noisy` means only as far as noise does not explain the way.

    With noise of scale b_s on each of d centered sums and b_c on the count n~, a mean m is off by about
    v = (2 d b_s^2 + 2 b_c^2 |m - 1/2|^2) / n~^2, squared. A move whose square is l^2 is v longer than the true one on
    average, and the center goes (l^2 - v) / l^2 of it, or stays. Ours; post-processing of what is released.
    """
    moves = noisy - before
    squares = (moves**2).sum(axis=1)
    off = 2.0 * noisy.shape[1] * sum_scale**2 + 2.0 * count_scale**2 * ((noisy - BOX_MIDDLE) ** 2).sum(axis=1)
    off /= np.maximum(noisy_counts, 1.0) ** 2
    kept = np.where(squares > off, 1.0 - off / np.where(squares > off, squares, 1.0), 0.0)
    return np.asarray(before + kept[:, None] * moves)
