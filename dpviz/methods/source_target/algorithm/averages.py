"""The exact averages behind both methods: means of the t nearest records, and counts and sums of nearest-target cells.

Everything is in the unit of the public ball: |s| <= 1/2. Curator only.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
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
    squared_norms,
    unit_projected,
)
from dpviz.core.arrays import array_cache
from dpviz.data import ArrayChunks, Chunks
from dpviz.methods.source_target.algorithm.search import Leaves, likely_cells, nearest_records, on_all_cores

NEAR_TIE = 1e-9  # relative: distances closer than this are ordered anew, by one formula for every pair; ours
TINY = 1e-15  # the same where the distance is 0; ours
CANDIDATES = 1 << 22  # records held at a time while ties are ordered; ours
TARGET_LEAF = 32  # points of the tree's leaf: it decides which target wins a tie
CACHED_ROWS = 16_384  # records that are moved into the ball at a time; ours
REMEMBERED = 4  # sets of records with their targets: no average depends on the privacy that a slider asks for


@dataclass(frozen=True, slots=True, eq=False)
class UsedRecords(Confidential):
    """Records as both methods use them, read-only. Curator only."""

    nonprivate_unit: Points  # (m, d) in diameters of the ball from its center
    nonprivate_points: Points  # (m, d) data units


@dataclass(frozen=True, slots=True, eq=False)
class NearestMeans(Confidential):
    """What NAS averages. Curator only."""

    nonprivate_means: Points  # (r, d) missing neighbors count as the ball's center
    nonprivate_distances: FloatArray  # (r,) Delta_t(x, S), the mean distance to the t neighbors
    nonprivate_neighbors: Labels  # (r, min(t, m)) records


@dataclass(frozen=True, slots=True, eq=False)
class CellSums(Confidential):
    """What NNA averages. Curator only."""

    nonprivate_labels: Labels  # (m,) nearest target of each record; (0,) where they were not asked for
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

    on_all_cores(use, range(0, len(checked), CACHED_ROWS))
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

    Ties are broken by (distance, then coordinates), an order of all possible records that knows nothing of the others:
    one record more or less then changes one of the t places, and the mean moves by at most 1/t. The order in which a
    search tree happens to meet records does not have this property. Where m < t the places left hold the ball's center,
    0, so that nothing depends on whether there are enough.
    """
    m = len(source)
    if m <= t:
        mean = np.repeat(source.sum(axis=0)[None] / t, len(targets), axis=0)
        missing = (t - m) * np.linalg.norm(targets, axis=1)
        distances = (scipy.spatial.distance.cdist(targets, source).sum(axis=1) + missing) / t
        return NearestMeans(mean, distances, np.repeat(np.arange(m, dtype=np.intp)[None], len(targets), axis=0))
    nearest = nearest_records(source, targets, t)
    far, neighbors, means = nearest.nonprivate_distances, nearest.nonprivate_records, nearest.nonprivate_means
    distances = far[:, :t].mean(axis=1)
    tied = np.flatnonzero(far[:, t] <= far[:, t - 1] * (1.0 + NEAR_TIE) + TINY)
    if len(tied):
        for rows, chosen, spread in _ordered(source, targets[tied], t, far[tied, t - 1]):
            # A sparse product adds the t records up in their order.
            begins = np.arange(0, chosen.size + 1, t)
            chooser = scipy.sparse.csr_matrix((np.ones(chosen.size), chosen.ravel(), begins), shape=(len(rows), m))
            neighbors[tied[rows]], distances[tied[rows]] = chosen, spread
            means[tied[rows]] = np.asarray(chooser @ source / chosen.shape[1])
    return NearestMeans(means, distances, neighbors)


def cell_sums(source: Points, targets: Points) -> CellSums:
    """Return count and sum of the records of `source` (m, d) nearest to each of `targets` (r, d).

    A record's cell follows from the record and the public targets alone, so each record is in one cell whatever the
    others are.
    """
    task = partial(_block_sums, targets, Leaves.of(targets))
    return _all_sums(ArrayChunks(source).each_block(task), targets)


def streamed_cell_sums(records: Chunks, box: Box, ball: Ball, targets: Points) -> CellSums:
    """Return `cell_sums` of records in chunks, as `used_records` makes them, without labels."""
    return _all_sums(records.each_block(partial(_used_sums, box, ball, targets, Leaves.of(targets))), targets)


def _all_sums(blocks: Iterable[CellSums], targets: Points) -> CellSums:
    labels, counts, sums = [np.empty(0, dtype=np.intp)], np.zeros(len(targets)), np.zeros(targets.shape)
    for block in blocks:
        labels.append(block.nonprivate_labels)
        counts += block.nonprivate_counts
        sums += block.nonprivate_sums
    return CellSums(np.concatenate(labels), counts, sums)


def _used_sums(box: Box, ball: Ball, targets: Points, leaves: Leaves, block: Points) -> CellSums:
    sums = _block_sums(targets, leaves, _used(block, box, ball))
    return replace(sums, nonprivate_labels=sums.nonprivate_labels[:0].copy())  # not a view, which holds them all


def _block_sums(targets: Points, leaves: Leaves, block: Points) -> CellSums:
    likely, r = likely_cells(block, leaves), len(targets)
    cells, close = likely.nonprivate_labels, likely.nonprivate_close
    # Where several targets are nearest, a tree decides. It must not depend on the records, not even on how many they
    # are: only which records it is asked about may, because the others have one target that is nearer than all by more
    # than rounding.
    if len(close):
        cells[close] = scipy.spatial.cKDTree(targets, leafsize=TARGET_LEAF).query(block[close])[1]
    sums = [np.bincount(cells, weights=column, minlength=r) for column in block.T]
    return CellSums(cells, np.bincount(cells, minlength=r).astype(np.float64), np.stack(sums, axis=1))


def _ordered(source: Points, targets: Points, t: int, radii: FloatArray) -> Iterator[tuple[Labels, Labels, FloatArray]]:
    """Yield (rows, neighbors (rows, t), mean distances), ties by coordinates, for targets whose t-th place is tied.

    Equal records are one candidate with a count, so that many copies of one record cost no more than one.
    """
    places, inverse, counts = np.unique(source, axis=0, return_inverse=True, return_counts=True)  # by coordinates
    members = np.argsort(inverse.ravel(), kind="stable")
    begins = np.cumsum(counts) - counts
    tree, reach = scipy.spatial.cKDTree(places), radii * (1.0 + NEAR_TIE) + TINY
    sizes = np.asarray(tree.query_ball_point(targets, reach, return_length=True))
    parts = np.cumsum(sizes) // CANDIDATES
    for part in np.unique(parts):
        rows = np.flatnonzero(parts == part)
        lists = tree.query_ball_point(targets[rows], reach[rows])
        place = np.concatenate(lists).astype(np.intp)
        row = np.repeat(np.arange(len(rows)), sizes[rows])
        gaps = places[place] - targets[rows][row]
        distance = np.sqrt(squared_norms(gaps))
        order = np.lexsort((place, distance, row))  # places are sorted by coordinates
        place, row, distance = place[order], row[order], distance[order]
        before = np.cumsum(counts[place]) - counts[place]
        before -= before[np.searchsorted(row, np.arange(len(rows)))][row]
        copies = np.clip(t - before, 0, counts[place])
        offsets = np.arange(copies.sum()) - np.repeat(np.cumsum(copies) - copies, copies)
        chosen = members[np.repeat(begins[place], copies) + offsets].reshape(len(rows), t)
        yield rows, chosen, np.bincount(row, weights=copies * distance, minlength=len(rows)) / t
