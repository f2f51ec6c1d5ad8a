"""Costs at equal numbers of centers: what a release costs with no more centers than were asked for.

More centers never cost more, so a method that released more of them than k-means without privacy had would look better
than it is. Its centers are merged to k, from what it released alone: post-processing, which spends nothing.
"""

import numpy as np

from dpviz.core import Centers, Counts, Points

MERGE_STARTS = 10  # of KMeans++ on the released centers, the cheapest counts; ours
LEAST_WEIGHT = 1.0  # records that a center stands for at least, whatever its noisy count says; ours


def merged(centers: Centers, noisy_counts: Counts | None, n_clusters: int) -> Centers:
    """Return at most `n_clusters` centers (k, d) that stand for the released `centers` (m, d); fewer stay as they are.

    With n_j records around c_j, their mean, merging into m_j adds sum_j n_j |c_j - m_j|^2 to the cost: k-means on the
    centers, weighted by their noisy counts (m,), keeps that small. None weighs all alike. Public, as its arguments are.
    """
    if len(centers) <= n_clusters:
        return centers
    places, groups = np.unique(centers, axis=0, return_inverse=True)
    if len(places) <= n_clusters:
        return np.ascontiguousarray(places)
    weights = np.ones(len(centers)) if noisy_counts is None else np.maximum(noisy_counts, LEAST_WEIGHT)
    return kmeans_centers(places, n_clusters, MERGE_STARTS, np.bincount(groups, weights=weights).astype(np.float64))


def kmeans_centers(points: Points, n_clusters: int, n_starts: int, weights: Counts | None = None) -> Centers:
    """Return the centers of the cheapest of `n_starts` runs of KMeans++ on released `points` (m, d)."""
    from sklearn.cluster import KMeans  # type: ignore[import-untyped]  # slow to load, needed in functions; no types

    made = KMeans(n_clusters, n_init=n_starts, random_state=0).fit(points, sample_weight=weights)
    return np.ascontiguousarray(made.cluster_centers_, dtype=np.float64)


def improved(floor: float, cost: float, points: Points, centers: Centers) -> float:
    """Return the cost without privacy (`floor`) beside a run whose `centers` (k, d) have `cost` on `points` (n, d).

    A private run that costs less has come upon a better start than k-means++ did. k-means goes on from there, and what
    it reaches is the cost without privacy: no run is ever below it. Curator only.
    """
    if cost >= floor:
        return floor
    from sklearn.cluster import KMeans

    further = KMeans(len(centers), init=centers, n_init=1).fit(points)
    return min(cost, float(further.inertia_))
