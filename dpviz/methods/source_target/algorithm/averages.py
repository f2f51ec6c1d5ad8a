"""The exact averages behind both methods: means of the t nearest records, and counts and sums of nearest-target cells.

Everything is in the unit of the public ball: |s| <= 1/2. Curator only.
"""

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import scipy

from dpviz.core import (
    Ball,
    Box,
    Confidential,
    Counts,
    FloatArray,
    Labels,
    Points,
    as_points,
    frozen,
    immutable,
    squared_norms,
    unit_projected,
)
from dpviz.core.arrays import array_cache
from dpviz.data import ArrayChunks, Chunks

# Our choice: distances with a smaller relative difference are sorted again, by one formula for every pair.
NEAR_TIE = 1e-9
# Our choice: absolute difference that is used if the distance is 0.
TINY = 1e-15
# Our choice: records held at a time while ties are sorted.
CANDIDATES = 1 << 22
# Points in a leaf of the targets' tree. The tree decides which target wins a tie, so a different size changes releases.
TARGET_LEAF = 32
# Points in a leaf of the records' tree: the fastest of five sizes.
SOURCE_LEAF = 64
# Coordinates of targets are cut off here: squares do not overflow, and all records are equally far.
FARTHEST = 1e150
# Our choice: records that are moved into the ball at a time.
CACHED_ROWS = 16_384
# Our choice: sets of records and targets whose averages are kept. No average depends on the slider's ε.
REMEMBERED = 4


@immutable
class UsedRecords(Confidential):
    """Records as both methods use them, read-only. Curator only."""

    # (m, d) in diameters of the ball, from its center.
    nonprivate_unit: Points
    # (m, d) data units.
    nonprivate_points: Points


@immutable
class NearestMeans(Confidential):
    """Averages of NAS. Curator only."""

    # (r, d) missing neighbors count as the center of the ball.
    nonprivate_means: Points
    # (r,) Delta_t(x, S), the mean distance to the t neighbors.
    nonprivate_distances: FloatArray
    # (r, min(t, m)) rows of records.
    nonprivate_neighbors: Labels


@immutable
class CellSums(Confidential):
    """Averages of NNA. Curator only."""

    # (m,) nearest target of each record. Empty if labels were not requested.
    nonprivate_labels: Labels
    nonprivate_counts: Counts  # (r,)
    nonprivate_sums: FloatArray  # (r, d)


def _used(points: Points, box: Box, ball: Ball) -> Points:
    return unit_projected(ball.to_unit(box.clip(points)))


@array_cache(REMEMBERED)
def used_records(points: Points, box: Box, ball: Ball) -> UsedRecords:
    """Return the records `points` (m, d) clipped into the public `box`, then projected into the public ball.

    Raises ValueError for bad points.
    """
    checked = as_points(points, n_features=box.d)
    unit, data = np.empty(checked.shape), np.empty(checked.shape)

    def use(first: int) -> None:
        rows = slice(first, first + CACHED_ROWS)
        unit[rows] = _used(checked[rows], box, ball)
        data[rows] = ball.from_unit(unit[rows])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(use, range(0, len(checked), CACHED_ROWS)))
    return UsedRecords(frozen(unit), frozen(data))


@array_cache(REMEMBERED)
def means_of(source: Points, targets: bytes, t: int) -> NearestMeans:
    """Return `nearest_means`, read-only, for targets (r, d) given as bytes."""
    means = nearest_means(source, np.frombuffer(targets).reshape(-1, source.shape[1]), t)
    for array in (means.nonprivate_means, means.nonprivate_distances, means.nonprivate_neighbors):
        frozen(array)
    return means


@array_cache(REMEMBERED)
def cells_of(source: Points, targets: bytes) -> CellSums:
    """Return `cell_sums`, read-only, for targets (r, d) given as bytes."""
    cells = cell_sums(source, np.frombuffer(targets).reshape(-1, source.shape[1]))
    for array in (cells.nonprivate_labels, cells.nonprivate_counts, cells.nonprivate_sums):
        frozen(array)
    return cells


def nearest_means(source: Points, targets: Points, t: int) -> NearestMeans:
    """Return for each of `targets` (r, d) the mean of its t nearest records of `source` (m, d).

    Ties are broken by (distance, then coordinates), an order of all possible records that does not depend on the
    others: one record more or less then changes only one of the t places, and the mean moves by at most 1/t. The order
    in which a search tree happens to meet records does not have this property. If m < t, the remaining places are the
    ball's center, 0, so that nothing depends on whether there are enough records.
    """
    m = len(source)
    if m <= t:
        mean = np.repeat(source.sum(axis=0)[None] / t, len(targets), axis=0)
        missing = (t - m) * np.linalg.norm(targets, axis=1)
        distances = (scipy.spatial.distance.cdist(targets, source).sum(axis=1) + missing) / t
        return NearestMeans(mean, distances, np.repeat(np.arange(m, dtype=np.intp)[None], len(targets), axis=0))
    targets = np.clip(targets, -FARTHEST, FARTHEST)
    far, records = _nearest(source, targets, t + 1)
    distances, neighbors = far[:, :t].mean(axis=1), records[:, :t].copy()
    tied = np.flatnonzero(far[:, t] <= far[:, t - 1] * (1.0 + NEAR_TIE) + TINY)
    if len(tied):
        for rows, chosen, spread in _ordered(source, targets[tied], t, far[tied, t - 1]):
            neighbors[tied[rows]], distances[tied[rows]] = chosen, spread
    # A sparse product adds up the t records of each target in their order.
    begins = np.arange(0, neighbors.size + 1, t)
    chooser = scipy.sparse.csr_matrix((np.ones(neighbors.size), neighbors.ravel(), begins), shape=(len(targets), m))
    return NearestMeans(np.asarray(chooser @ source) / t, distances, neighbors)


def _nearest(source: Points, targets: Points, k: int) -> tuple[FloatArray, Labels]:
    """Return distances (r, k) and numbers (r, k) of the k <= m nearest records to each target, nearest first.

    A tree proposes the records. Sums over the axes in their order, the same on every processor, decide their order;
    equally near records are in the order of their numbers. If the last place ties up to rounding, the tree decides
    which of the tied records is proposed: `_ordered` looks at all of them.
    """
    tree = scipy.spatial.cKDTree(source, leafsize=SOURCE_LEAF, balanced_tree=False)
    records = np.asarray(tree.query(targets, k=np.arange(1, k + 1), workers=-1)[1], dtype=np.intp)
    squares = np.zeros(records.shape)
    for column, place in zip(source.T, targets.T, strict=True):
        squares += np.square(column[records] - place[:, None])
    unsorted = np.flatnonzero((squares[:, 1:] <= squares[:, :-1]).any(axis=1))
    ranks = np.lexsort((records[unsorted], squares[unsorted]))
    for each in (records, squares):
        each[unsorted] = np.take_along_axis(each[unsorted], ranks, axis=1)
    return np.sqrt(squares), records


def cell_sums(source: Points, targets: Points) -> CellSums:
    """Return count and sum of the records of `source` (m, d) nearest to each of `targets` (r, d).

    A record's cell follows from the record and the public targets alone, so each record is in one cell regardless of
    the other records.
    """
    return _all_sums(ArrayChunks(source).each_block(partial(_block_sums, _tree_of_targets(targets))), targets)


def streamed_cell_sums(records: Chunks, box: Box, ball: Ball, targets: Points) -> CellSums:
    """Return `cell_sums` of records in chunks, as `used_records` makes them, without labels."""
    return _all_sums(records.each_block(partial(_used_sums, box, ball, _tree_of_targets(targets))), targets)


def _tree_of_targets(targets: Points) -> scipy.spatial.cKDTree:
    return scipy.spatial.cKDTree(np.clip(targets, -FARTHEST, FARTHEST), leafsize=TARGET_LEAF)


def _all_sums(blocks: Iterable[CellSums], targets: Points) -> CellSums:
    labels, counts, sums = [np.empty(0, dtype=np.intp)], np.zeros(len(targets)), np.zeros(targets.shape)
    for block in blocks:
        labels.append(block.nonprivate_labels)
        counts += block.nonprivate_counts
        sums += block.nonprivate_sums
    return CellSums(np.concatenate(labels), counts, sums)


def _used_sums(box: Box, ball: Ball, tree: scipy.spatial.cKDTree, block: Points) -> CellSums:
    sums = _block_sums(tree, _used(block, box, ball))
    # A copy, because a view would keep all labels in memory.
    return replace(sums, nonprivate_labels=sums.nonprivate_labels[:0].copy())


def _block_sums(tree: scipy.spatial.cKDTree, block: Points) -> CellSums:
    # If several targets are nearest, the tree decides. It knows only the targets, and looks up each record separately.
    cells = np.asarray(tree.query(block, workers=-1)[1], dtype=np.intp)
    sums = [np.bincount(cells, weights=column, minlength=tree.n) for column in block.T]
    return CellSums(cells, np.bincount(cells, minlength=tree.n).astype(np.float64), np.stack(sums, axis=1))


def _ordered(source: Points, targets: Points, t: int, radii: FloatArray) -> Iterator[tuple[Labels, Labels, FloatArray]]:
    """Yield (rows, neighbors (rows, t), mean distances), ties by coordinates, for targets whose t-th place is tied.

    Equal records are one candidate with a count, so many copies of one record cost no more than one.
    """
    # Places are sorted by coordinates.
    places, inverse, counts = np.unique(source, axis=0, return_inverse=True, return_counts=True)
    members = np.argsort(inverse.ravel(), kind="stable")
    begins = np.cumsum(counts) - counts
    tree, reach = scipy.spatial.cKDTree(places), radii * (1.0 + NEAR_TIE) + TINY
    sizes = np.asarray(tree.query_ball_point(targets, reach, return_length=True))
    parts = np.cumsum(sizes) // CANDIDATES
    for part in np.unique(parts):
        rows = np.flatnonzero(parts == part)
        place = np.concatenate(tree.query_ball_point(targets[rows], reach[rows])).astype(np.intp)
        row = np.repeat(np.arange(len(rows)), sizes[rows])
        gaps = places[place] - targets[rows][row]
        distance = np.sqrt(squared_norms(gaps))
        # Places are sorted by coordinates.
        order = np.lexsort((place, distance, row))
        place, row, distance = place[order], row[order], distance[order]
        before = np.cumsum(counts[place]) - counts[place]
        before -= before[np.searchsorted(row, np.arange(len(rows)))][row]
        copies = np.clip(t - before, 0, counts[place])
        offsets = np.arange(copies.sum()) - np.repeat(np.cumsum(copies) - copies, copies)
        chosen = members[np.repeat(begins[place], copies) + offsets].reshape(len(rows), t)
        yield rows, chosen, np.bincount(row, weights=copies * distance, minlength=len(rows)) / t
