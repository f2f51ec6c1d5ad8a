"""Lloyd's algorithm: nearest centers by linear scores, exact sums and means; one run, or one in each of many blocks.

A linear score is offset + slope_1 x_1 + slope_2 x_2 + ..., added up in this order wherever it is needed; of equal
scores the first wins. So a record's cluster does not depend on how many other records there are, on their order, or on
how the work is shared. For nearest centers the scores are 2 c . x - |c|^2: |x|^2 does not change their order.

Everything here returns exact statistics of records: nothing of it may be published as it is.
"""

import functools
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy

from dpviz.core import Centers, Confidential, Counts, FloatArray, Labels, Points, compiled, immutable, squared_norms

# Records computed side by side, so that intermediate results stay in the cache.
BLOCK = 64
# Number of records from which the cores share the work. Below it, threads cost more than they save.
THREADED_ROWS = 32_768
# Up to this many axes, sums are added axis by axis; beyond, by one sparse product. Our choice.
FEW_AXES = 3


@immutable
class ClusterSums(Confidential):
    """Exact sufficient statistics of a partition."""

    nonprivate_counts: Counts  # (k,)
    nonprivate_sums: FloatArray  # (k, d)


@immutable
class LloydRun(Confidential):
    """Lloyd's algorithm from given centers until assignments repeat."""

    nonprivate_centers: Centers  # (k, d)
    nonprivate_labels: Labels  # (n,)
    # Cost of the start, then after each iteration, (iterations + 1,).
    nonprivate_costs: FloatArray
    converged: bool

    @property
    def n_iterations(self) -> int:
        """Number of times the means were computed."""
        return len(self.nonprivate_costs) - 1


def lloyd(points: Points, centers: Centers, *, max_iterations: int = 300) -> LloydRun:
    """Run Lloyd's algorithm; an empty cluster keeps its center.

    Parameters
    ----------
    points
        Records (n, d).
    centers
        Start (k, d).
    max_iterations
        Largest number of iterations.

    Returns
    -------
    LloydRun
        Centers, clusters and costs.
    """
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
        following = assign(points, centers)
        if np.array_equal(following, labels):
            costs.append(float(cluster_costs(sums, squares, centers).sum()))
            return LloydRun(centers, labels, np.array(costs), converged=True)
        labels = following
    return LloydRun(centers, labels, np.array(costs), converged=False)


def assign(points: Points, centers: Centers) -> Labels:
    """Return the index (n,) of each point's nearest center, the lowest index on a tie."""
    slopes, offsets = nearness(centers)
    # Looking up the number of cores can cost as much as a whole call.
    workers = 1 if len(points) < THREADED_ROWS else os.cpu_count() or 1
    if workers == 1:
        return argmax_linear(points, slopes, offsets)
    labels = np.empty(len(points), dtype=np.intp)

    def assign_rows(rows: slice) -> None:
        labels[rows] = argmax_linear(points[rows], slopes, offsets)

    share = -(-len(points) // workers)
    list(_pool().map(assign_rows, [slice(first, first + share) for first in range(0, len(points), share)]))
    return labels


@functools.lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="assign")


def nearness(centers: Centers) -> tuple[FloatArray, FloatArray]:
    """Return slopes (k, d) and offsets (k,) of scores that are highest for the nearest center."""
    return 2.0 * centers, -squared_norms(centers)


@compiled
def argmax_linear(records: Points, slopes: FloatArray, offsets: FloatArray) -> Labels:
    """Return the index (n,) of each record's highest score, the first on a tie.

    Scores are offsets (k,) + slopes (k, F) . x for `records` (n, F).
    """
    n, n_features = records.shape
    labels, features = np.empty(n, dtype=np.intp), np.zeros((n_features, BLOCK))
    score, best, winner = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK, dtype=np.intp)
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        _side_by_side(records[start : start + size], features)
        best[:], winner[:] = -np.inf, 0
        mine = labels[start : start + size]
        for k in range(len(offsets)):
            _add_up(features, slopes[k], offsets[k], score)
            for j in range(BLOCK):
                better = score[j] > best[j]
                best[j], winner[j] = score[j] if better else best[j], k if better else winner[j]
        # A slice would compile the text of its error as well, which takes a second.
        for j in range(size):
            mine[j] = winner[j]
    return labels


@compiled
def linear_scores(records: Points, slopes: FloatArray, offsets: FloatArray) -> FloatArray:
    """Return the scores (n, k) that `argmax_linear` compares."""
    n, n_features = records.shape
    scores, features, score = np.empty((n, len(offsets))), np.zeros((n_features, BLOCK)), np.empty(BLOCK)
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        mine = scores[start : start + size]
        _side_by_side(records[start : start + size], features)
        for k in range(len(offsets)):
            _add_up(features, slopes[k], offsets[k], score)
            for j in range(size):
                mine[j, k] = score[j]
    return scores


@compiled
def _side_by_side(records: Points, features: FloatArray) -> None:
    """Write up to BLOCK records as columns of `features` (F, BLOCK)."""
    for f in range(len(features)):
        for j in range(len(records)):
            features[f, j] = records[j, f]


@compiled
def argmax_in_boxes(
    blocks: FloatArray, low: FloatArray, high: FloatArray, slopes: FloatArray, offsets: FloatArray
) -> Labels:
    """Return the labels (b BLOCK,) of `argmax_linear` for blocks (b, F, BLOCK) between corners (F, b).

    From the middle of a block to its corner, the difference of two scores changes by half the sides times the
    difference of the slopes. A score that is behind by more, and by more than rounding, wins nowhere in the block.
    """
    (n_blocks, n_features, _), k = blocks.shape, len(offsets)
    labels, score, best = np.empty(n_blocks * BLOCK, np.intp), np.empty(BLOCK), np.empty(BLOCK)
    middle, half, peak = np.empty(n_features), np.empty(n_features), np.zeros(n_features)
    at_middle, behind, columns = np.empty(k), np.empty(k), np.empty((n_features, k))
    for b in range(n_blocks):
        for f in range(n_features):
            peak[f] = max(peak[f], abs(low[f, b]), abs(high[f, b]))
    margin = 0.0
    for c in range(k):
        most = abs(offsets[c])
        for f in range(n_features):
            columns[f, c] = slopes[c, f]
            most += abs(slopes[c, f]) * peak[f]
        # 2^-53 per operation, in all sums below.
        margin = max(margin, 2.0**-50 * (n_features + 2) * most)
    for b in range(n_blocks):
        for f in range(n_features):
            middle[f], half[f] = (low[f, b] + high[f, b]) / 2.0, (high[f, b] - low[f, b]) / 2.0
        for c in range(k):
            at_middle[c] = offsets[c]
        for f in range(n_features):
            _add_times(at_middle, columns[f], middle[f])
        top = 0
        for c in range(1, k):
            top = c if at_middle[c] > at_middle[top] else top
        for c in range(k):
            behind[c] = at_middle[top] - at_middle[c]
        for f in range(n_features):
            _take_apart(behind, columns[f], columns[f, top], half[f])
        winner = labels[b * BLOCK : (b + 1) * BLOCK]
        for j in range(BLOCK):
            best[j], winner[j] = -np.inf, 0
        for c in range(k):
            if behind[c] > margin:
                continue
            _add_up(blocks[b], slopes[c], offsets[c], score)
            for j in range(BLOCK):
                better = score[j] > best[j]
                best[j], winner[j] = score[j] if better else best[j], c if better else winner[j]
    return labels


@compiled
def _add_times(sums: FloatArray, values: FloatArray, factor: float) -> None:
    for c in range(len(sums)):
        sums[c] += values[c] * factor


@compiled
def _take_apart(sums: FloatArray, values: FloatArray, at: float, factor: float) -> None:
    """Subtract |values - at| times a factor."""
    for c in range(len(sums)):
        sums[c] -= abs(values[c] - at) * factor


@compiled
def _add_up(features: FloatArray, slopes: FloatArray, offset: float, score: FloatArray) -> None:
    """Write one score of BLOCK records, four features per pass: in the same order, with fewer reads and writes."""
    n_features = len(slopes)
    f = n_features % 4 or 4
    x, a = features[0], slopes[0]
    if f == 1:
        for j in range(BLOCK):
            score[j] = offset + a * x[j]
    elif f == 2:
        y, b = features[1], slopes[1]
        for j in range(BLOCK):
            score[j] = offset + a * x[j] + b * y[j]
    elif f == 3:
        y, z, b, c = features[1], features[2], slopes[1], slopes[2]
        for j in range(BLOCK):
            score[j] = offset + a * x[j] + b * y[j] + c * z[j]
    else:
        y, z, w, b, c, d = features[1], features[2], features[3], slopes[1], slopes[2], slopes[3]
        for j in range(BLOCK):
            score[j] = offset + a * x[j] + b * y[j] + c * z[j] + d * w[j]
    while f < n_features:
        a, b, c, d = slopes[f], slopes[f + 1], slopes[f + 2], slopes[f + 3]
        x, y, z, w = features[f], features[f + 1], features[f + 2], features[f + 3]
        for j in range(BLOCK):
            score[j] = score[j] + a * x[j] + b * y[j] + c * z[j] + d * w[j]
        f += 4


def cluster_sums(points: Points, labels: Labels, n_clusters: int) -> ClusterSums:
    """Return the exact count and coordinate sums of each cluster.

    Parameters
    ----------
    points
        Records (n, d).
    labels
        Their clusters (n,).
    n_clusters
        Number of clusters k.

    Returns
    -------
    ClusterSums
        Counts (k,) and sums (k, d).
    """
    n = len(points)
    counts = np.bincount(labels, minlength=n_clusters).astype(np.float64)
    # The order of addition, and so the bits, are the same as in the sparse product.
    if points.shape[1] <= FEW_AXES:
        sums = [np.bincount(labels, weights=axis, minlength=n_clusters) for axis in points.T]
        return ClusterSums(counts, np.stack(sums, axis=1))
    # The sparse product uses 32-bit indices; others would be converted first.
    entries = (np.ones(n), labels.astype(np.int32), np.arange(n + 1, dtype=np.int32))
    return ClusterSums(counts, np.asarray(scipy.sparse.csc_matrix(entries, shape=(n_clusters, n)) @ points))


def cluster_totals(values: FloatArray, labels: Labels, n_clusters: int) -> FloatArray:
    """Return the exact sum of one value per point over each cluster.

    Parameters
    ----------
    values
        Values (n,).
    labels
        Clusters (n,).
    n_clusters
        Number of clusters k.

    Returns
    -------
    FloatArray
        Sums (k,).
    """
    return np.asarray(np.bincount(labels, weights=values, minlength=n_clusters), dtype=np.float64)


def means(sums: ClusterSums, fallback: Centers) -> Centers:
    """Return the exact mean (k, d) of each cluster; an empty cluster stays where `fallback` has it."""
    filled = sums.nonprivate_counts[:, None] > 0
    return np.where(filled, sums.nonprivate_sums / np.maximum(sums.nonprivate_counts, 1.0)[:, None], fallback)


def cluster_costs(sums: ClusterSums, squares: FloatArray, centers: Centers) -> FloatArray:
    """Return each cluster's sum of squared distances to its center.

    sum |x - c|^2 = sum |x|^2 - 2 c . sum x + n |c|^2.

    Parameters
    ----------
    sums
        Counts (k,) and coordinate sums (k, d).
    squares
        Sum of |x|^2 of each cluster (k,).
    centers
        Centers (k, d).

    Returns
    -------
    FloatArray
        Costs (k,).
    """
    inner = np.einsum("ij,ij->i", centers, sums.nonprivate_sums)
    norms = np.einsum("ij,ij->i", centers, centers)
    return np.asarray(np.maximum(squares - 2.0 * inner + sums.nonprivate_counts * norms, 0.0))


def lloyd_in_blocks(
    points: Points, blocks: Labels, n_blocks: int, start: Centers, *, max_iterations: int
) -> FloatArray:
    """Return the non-private centers of `lloyd` on the records of each block.

    A block stops when none of its records changes cluster, or after `max_iterations`. An empty cluster keeps its
    center, and an empty block keeps `start`.

    Parameters
    ----------
    points
        Records (n, d).
    blocks
        Blocks (n,) of the records, from 0 to L - 1.
    n_blocks
        Number of blocks L.
    start
        Start (k, d) of every block.
    max_iterations
        Largest number of iterations.

    Returns
    -------
    FloatArray
        Centers (L, k, d).
    """
    order = np.argsort(blocks, kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(blocks, minlength=n_blocks)))
    return _lloyd_in_blocks(points[order], ends, np.array(start), max_iterations)


@compiled
def _lloyd_in_blocks(points: Points, ends: Labels, start: Centers, most: int) -> FloatArray:
    """Run `lloyd_in_blocks` on the records (n, d) of one block after the other, each up to its end."""
    centers, counts, sums = np.empty((len(ends) - 1, *start.shape)), np.empty(len(start)), np.empty(start.shape)
    for block in range(len(centers)):
        mine, records = centers[block], points[ends[block] : ends[block + 1]]
        mine[:] = start
        labels = argmax_linear(records, 2.0 * mine, -squared_norms(mine))
        for _ in range(most if len(records) else 0):
            counts[:] = 0.0
            sums[:] = 0.0
            for i in range(len(records)):
                counts[labels[i]] += 1.0
                for f in range(records.shape[1]):
                    sums[labels[i], f] += records[i, f]
            for k in range(len(mine)):
                if counts[k] > 0:
                    mine[k] = sums[k] / counts[k]
            following = argmax_linear(records, 2.0 * mine, -squared_norms(mine))
            if (following == labels).all():
                break
            labels = following
    return centers
