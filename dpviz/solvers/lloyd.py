"""Lloyd's step: nearest centers, sums by one pass an axis. All of it is exact.

Everything here returns exact statistics: nothing of it may be published as it is.
"""

import functools
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dpviz.core import Centers, Confidential, Counts, FloatArray, Labels, Points, squared_norms
from dpviz.solvers.winners import nearness, winners

THREADED_ROWS = 32_768  # from here on the records are shared among the cores; below, threads cost more than they give
FEW_AXES = 3  # up to here sums are made axis by axis, beyond it by one sparse product; ours


@dataclass(frozen=True, slots=True, eq=False)
class ClusterSums(Confidential):
    """Exact sufficient statistics of a partition."""

    nonprivate_counts: Counts  # (k,)
    nonprivate_sums: FloatArray  # (k, d)


@dataclass(frozen=True, slots=True, eq=False)
class LloydRun(Confidential):
    """Lloyd's algorithm from given centers until assignments repeat."""

    nonprivate_centers: Centers  # (k, d)
    nonprivate_labels: Labels  # (n,)
    nonprivate_costs: FloatArray  # (iterations + 1,) cost of the start, then after each iteration
    converged: bool

    @property
    def n_iterations(self) -> int:
        """Number of times the means were computed."""
        return len(self.nonprivate_costs) - 1


def assign(points: Points, centers: Centers) -> Labels:
    """Return the index (n,) of each point's nearest center, the lowest index on a tie.

    Score by score in machine code, in one order for every record (see `winners`): a record's cluster must not depend on
    how many others there are, on how they are ordered, or on how the work is shared.
    """
    slopes, offsets = nearness(centers)
    workers = 1 if len(points) < THREADED_ROWS else os.cpu_count() or 1  # asking costs as much as many a call
    if workers == 1:
        return winners(points, slopes, offsets)
    labels = np.empty(len(points), dtype=np.intp)

    def assign_rows(rows: slice) -> None:
        labels[rows] = winners(points[rows], slopes, offsets)

    share = -(-len(points) // workers)
    list(_pool().map(assign_rows, [slice(first, first + share) for first in range(0, len(points), share)]))
    return labels


@functools.lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="assign")


def cluster_sums(points: Points, labels: Labels, n_clusters: int) -> ClusterSums:
    """Return the exact count (k,) and coordinate sums (k, d) of each cluster."""
    n = len(points)
    counts = np.bincount(labels, minlength=n_clusters).astype(np.float64)
    if points.shape[1] <= FEW_AXES:  # added in the same order as by the sparse product: the same bits
        sums = [np.bincount(labels, weights=axis, minlength=n_clusters) for axis in points.T]
        return ClusterSums(counts, np.stack(sums, axis=1))
    # 32-bit indices are what the sparse product wants; others would be converted first.
    entries = (np.ones(n), labels.astype(np.int32), np.arange(n + 1, dtype=np.int32))
    membership = sparse.csc_matrix(entries, shape=(n_clusters, n))
    return ClusterSums(counts, np.asarray(membership @ points))


def cluster_totals(values: FloatArray, labels: Labels, n_clusters: int) -> FloatArray:
    """Return the exact sum (k,) of one value per point over each cluster."""
    return np.asarray(np.bincount(labels, weights=values, minlength=n_clusters), dtype=np.float64)


def means(sums: ClusterSums, fallback: Centers) -> Centers:
    """Return the exact mean (k, d) of each cluster; an empty cluster stays where `fallback` has it."""
    filled = sums.nonprivate_counts[:, None] > 0
    return np.where(filled, sums.nonprivate_sums / np.maximum(sums.nonprivate_counts, 1.0)[:, None], fallback)


def cluster_costs(sums: ClusterSums, squares: FloatArray, centers: Centers) -> FloatArray:
    """Return each cluster's sum of squared distances (k,) to its row of `centers`.

    sum |x - c|^2 = sum |x|^2 - 2 c . sum x + n |c|^2; `squares` (k,) holds the first term of each cluster.
    """
    inner = np.einsum("ij,ij->i", centers, sums.nonprivate_sums)
    norms = np.einsum("ij,ij->i", centers, centers)
    return np.asarray(np.maximum(squares - 2.0 * inner + sums.nonprivate_counts * norms, 0.0))


def lloyd(points: Points, centers: Centers, *, max_iterations: int = 300) -> LloydRun:
    """Run Lloyd's algorithm from `centers` (k, d); an empty cluster keeps its center."""
    n_clusters = len(centers)
    norms = squared_norms(points)  # (n,)
    labels = assign(points, centers)
    costs: list[float] = []
    for _ in range(max_iterations + 1):
        sums = cluster_sums(points, labels, n_clusters)
        squares = cluster_totals(norms, labels, n_clusters)
        costs.append(float(cluster_costs(sums, squares, centers).sum()))
        if len(costs) > max_iterations:
            break
        centers = means(sums, centers)
        moved = assign(points, centers)
        if np.array_equal(moved, labels):
            costs.append(float(cluster_costs(sums, squares, centers).sum()))
            return LloydRun(centers, labels, np.array(costs), converged=True)
        labels = moved
    return LloydRun(centers, labels, np.array(costs), converged=False)
