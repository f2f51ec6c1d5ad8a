"""Which private records are nearest to each of many public targets of the plane: cells of a lattice say where to look.

A square of cells around a target that holds t records bounds how far the t-th can be. What lies in that reach is a few
runs of records, one for each row of cells, and is measured exactly. Curator only.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.algorithms._stc_cells import FARTHEST, LEAST
from dpviz.algorithms._stc_groups import on_all_cores
from dpviz.algorithms._stc_neighbors import ROWS, LikelyNeighbors, measured
from dpviz.core import FloatArray, Labels, Points

CROWDED = 4  # records that may be in reach for each place from which on a search tree is better; ours
WORTH = 0.75  # part of the targets that must be without a crowd; ours
HELD = 2  # records of a cell, on average; ours, by measurement
MOST_SIDE = 255  # cells along each axis, so that their numbers are of 16 bits and quickly sorted
SLACK, ROUNDING = 1e-9, 1e-13  # of a reach, and of the largest coordinate: far above what rounding does to a reach


@dataclass(frozen=True, slots=True, eq=False)
class _Lattice:
    """Records (m, 2) sorted by cell. Curator only."""

    low: FloatArray  # (2,) of the records
    high: FloatArray  # (2,)
    width: FloatArray  # (2,) of a cell
    side: int  # cells along each axis
    order: Labels  # (m,) which record is at each place
    columns: FloatArray  # (2, m)
    first: Labels  # (side^2 + 1,) place of each cell's first record, row by row
    table: Labels  # (side + 1, side + 1) records in the cells below and left

    def steps(self, values: FloatArray, axis: int) -> Labels:
        """Return the cells' steps along an axis, 0 or 1."""
        return _steps(values, self.low[axis], self.width[axis], self.side)


def plane_neighbors(source: Points, targets: Points, t: int) -> LikelyNeighbors:
    """Return the t <= m nearest of `source` (m, 2) to each of `targets` (r, 2), and where too many may be in reach."""
    distances, records = np.empty((len(targets), t)), np.empty((len(targets), t), dtype=np.intp)
    unsure = np.ones(len(targets), dtype=np.bool_)
    if not max(np.abs(points).max() for points in (source, targets)) < FARTHEST:
        return LikelyNeighbors(distances, records, np.arange(len(targets)))
    lattice = _lattice(source)
    squares = _squares(lattice, targets, t)
    if (squares.counts <= CROWDED * t).mean() < WORTH:
        return LikelyNeighbors(distances, records, np.arange(len(targets)))
    reaches = squares.reaches

    blocks = np.array_split(np.arange(len(targets)), -(-len(targets) // ROWS))
    runs = on_all_cores(lambda rows: _runs(lattice, targets[rows], reaches[rows]), blocks)
    few = [run.counts <= CROWDED * t for run in runs]

    def search(block: int) -> None:
        counts, places = runs[block].candidates(few[block])
        rows = blocks[block][few[block]]
        if len(rows):
            distances[rows], found = measured(lattice.columns, targets[rows], counts, places, t)
            records[rows], unsure[rows] = lattice.order.take(found), False

    on_all_cores(search, range(len(blocks)))
    return LikelyNeighbors(distances, records, np.flatnonzero(unsure))


def _lattice(source: Points) -> _Lattice:
    side, columns = int(np.clip(np.sqrt(len(source) / HELD), 1, MOST_SIDE)), source.T.copy()
    low, high = columns.min(axis=1), columns.max(axis=1)
    width = (high - low) / side
    width[width < LEAST] = 1.0  # all in the first cell
    steps = [_steps(column, *of) for column, *of in zip(columns, low, width, (side, side), strict=True)]
    cells = steps[1] * side + steps[0]
    order = np.argsort(cells.astype(np.uint16), kind="stable")
    held = np.bincount(cells, minlength=side**2)
    table = np.zeros((side + 1, side + 1), dtype=np.intp)
    table[1:, 1:] = held.reshape(side, side).cumsum(axis=0).cumsum(axis=1)
    first = np.concatenate([[0], np.cumsum(held)])
    return _Lattice(low, high, width, side, order, columns.take(order, axis=1), first, table)


def _steps(values: FloatArray, low: float, width: float, side: int) -> Labels:
    """Return the cells' steps along an axis; a larger value is never in an earlier cell."""
    return np.clip((values - low) / width, 0, side - 1).astype(np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class _Squares:
    """The smallest square of cells around each target that holds t records. Curator only."""

    counts: Labels  # (r,) records in it
    reaches: FloatArray  # (r,) how far its farthest corner is, so that the t-th record is not farther


def _squares(lattice: _Lattice, targets: Points, t: int) -> _Squares:
    middle = np.stack([lattice.steps(targets[:, axis], axis) for axis in (0, 1)])  # (2, r)
    rows, counts, reaches = np.arange(len(targets)), np.empty(len(targets), dtype=np.intp), np.empty(len(targets))
    for ring in range(lattice.side):
        begin = np.maximum(middle[:, rows] - ring, 0)
        end = np.minimum(middle[:, rows] + ring, lattice.side - 1) + 1
        inside = lattice.table[end[1], end[0]] - lattice.table[begin[1], end[0]]
        inside += lattice.table[begin[1], begin[0]] - lattice.table[end[1], begin[0]]
        done = inside >= t
        counts[rows[done]] = inside[done]
        edges = [lattice.low[:, None] + lattice.width[:, None] * edge[:, done] for edge in (begin, end)]
        edges[1] = np.minimum(edges[1], lattice.high[:, None])
        reaches[rows[done]] = np.hypot(*np.maximum(*(np.abs(targets[rows[done]].T - edge) for edge in edges)))
        rows = rows[~done]
        if len(rows) == 0:
            break
    largest = max(np.abs(points).max() for points in (lattice.low, lattice.high, targets))
    return _Squares(counts, reaches * (1.0 + SLACK) + ROUNDING * largest)


@dataclass(frozen=True, slots=True, eq=False)
class _Runs:
    """Runs of records that may be in reach of some targets, one for each row of cells. Curator only."""

    owners: Labels  # (p,) ascending: which target each is for
    first: Labels  # (p,) places
    sizes: Labels  # (p,)
    counts: Labels  # (b,) records of each target's runs

    def candidates(self, chosen: NDArray[np.bool_]) -> tuple[Labels, Labels]:
        """Return how many records there are for each of the targets `chosen` (b,), and their places."""
        mine = chosen[self.owners]
        first, sizes = self.first[mine], self.sizes[mine]
        ends = np.cumsum(sizes)
        places = np.repeat(first - ends + sizes, sizes)
        places += np.arange(len(places))
        return self.counts[chosen], places


def _runs(lattice: _Lattice, targets: Points, reaches: FloatArray) -> _Runs:
    """Return the runs that `targets` (b, 2) reach."""
    x, y = targets.T
    rows = lattice.steps(y - reaches, 1)
    n_rows = lattice.steps(y + reaches, 1) - rows + 1
    begins = np.cumsum(n_rows) - n_rows
    owners = np.repeat(np.arange(len(targets)), n_rows)
    row = np.arange(len(owners)) - (begins - rows)[owners]
    below = lattice.low[1] + lattice.width[1] * row
    gaps = np.maximum(np.maximum(below - y[owners], y[owners] - below - lattice.width[1]), 0.0)
    half = np.sqrt(np.maximum(reaches[owners] ** 2 - gaps**2, 0.0))
    row *= lattice.side
    first = lattice.first[row + lattice.steps(x[owners] - half, 0)]
    sizes = lattice.first[row + lattice.steps(x[owners] + half, 0) + 1] - first
    return _Runs(owners, first, sizes, np.add.reduceat(sizes, begins))
