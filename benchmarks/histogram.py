"""Minimal baseline: a noisy histogram, and k-means on its cells.

Why it is epsilon-DP if a record is added or removed. The box, k, epsilon and the grid, which follows from the
number of features, are public. Every record is clipped to the box and is then in exactly one cell, which depends on
that record alone: one more or less record moves one count by 1 and no other. The L1 sensitivity is 1, so Laplace noise
of scale 1 / epsilon on every cell, also an empty one, is epsilon-DP (Dwork & Roth 2014, theorem 3.6). Threshold and
k-means see only noisy counts and public cells: post-processing.
"""

import numpy as np
from sklearn.cluster import KMeans

from dpviz.accounting import LaplaceEvent
from dpviz.core import Adjacency, Box, CentersRelease, Claim, Guarantee, Points, Result, Step
from dpviz.mechanisms import laplace

# Limit for the grid with up to ten features. With seven or more features, it has two cells per axis in any case.
MOST_CELLS = 1024
MOST_FEATURES = 16  # 65,536 cells


def cells_per_axis(d: int) -> int:
    return max(2, int(MOST_CELLS ** (1 / d) + 1e-9))


def nonprivate_counts(points: Points, box: Box) -> np.ndarray:
    """Return the exact counts of all cells; a record outside the box counts at its wall."""
    m = cells_per_axis(box.d)
    cells = np.minimum((box.to_unit(box.clip(points)) * m).astype(np.intp), m - 1)
    return np.bincount(np.ravel_multi_index(tuple(cells.T), (m,) * box.d), minlength=m**box.d).astype(np.float64)


def fit(
    points: Points, box: Box, n_clusters: int, epsilon: float, *, rng: np.random.Generator
) -> Result[CentersRelease, Step]:
    """Return centers (k, d) in data units. Raises ValueError for more than MOST_FEATURES axes."""
    if box.d > MOST_FEATURES:
        raise ValueError(f"A grid with two cells per axis can have at most {MOST_FEATURES} features, got {box.d}.")
    noise = LaplaceEvent("counts", sensitivity=1.0, scale=1.0 / epsilon)
    noisy = laplace(nonprivate_counts(points, box), scale=noise.scale, rng=rng)
    # A count below the largest expected noise of this many empty cells has no information.
    kept = np.flatnonzero(noisy > np.log(len(noisy)) / epsilon)
    if len(kept) < n_clusters:
        kept = np.argsort(-noisy)[:n_clusters]
    m = cells_per_axis(box.d)
    middles = (np.stack(np.unravel_index(kept, (m,) * box.d), axis=1) + 0.5) / m
    found = KMeans(n_clusters, n_init=5, random_state=0).fit(middles, sample_weight=np.maximum(noisy[kept], 1.0))
    claim = Claim(epsilon, 0.0, Adjacency.ADD_REMOVE, "one record is in one cell")
    return Result(CentersRelease(box.from_unit(found.cluster_centers_)), (), (noise,), Guarantee(claim, claim))
