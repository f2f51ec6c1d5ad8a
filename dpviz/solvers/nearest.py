"""Nearest-center assignment with a grid index; bit-identical to brute force (`assign`).

For many records in few dimensions, each BLOCK_ROWS records are sorted into the cells of a lattice over the unit box. A
block of cells, or a cell, that lies on one center's side of every border gives all of its records their cluster at
once; only the records of open cells are compared with centers one by one.

Clusters of records are exact: nothing here may be published as it is.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dpviz.core import (
    BLOCK_ROWS,
    Centers,
    Confidential,
    FloatArray,
    Labels,
    Points,
    compiled,
    frozen,
    immutable,
    squared_norms,
)
from dpviz.core.arrays import array_cache
from dpviz.solvers.lloyd import ClusterSums, assign, cluster_sums, cluster_totals, nearness

# Blocks, and cells within a block, along each axis, by the number of axes. Powers of two place a record exactly.
SIDES = {1: (64, 64), 2: (16, 4), 3: (4, 4)}
# Number of records from which the lattice saves more than it costs. Our choice.
WORTH_ROWS = 16_000
# Maximum number of centers. With more, nearly every cell contains a border.
MOST_CENTERS = 32
# Share of the largest score, far above the rounding error of a sum of d products.
ROUNDING = 1e-12
# Arrays of records whose lattices, squared norms or first partitions are cached. Our choice.
REMEMBERED = 4
# Instead of the number of a center: the records of the cell have different centers.
OPEN = 255


class Members(Protocol):
    """The clusters of records: an array of labels (m,), or anything that is indexed like one. Curator only."""

    def __getitem__(self, rows: slice | Labels, /) -> NDArray[np.integer]:
        """Return the labels of a slice or an array of rows."""
        ...


@immutable
class Partition(Confidential):
    """The nearest center of each record, and the exact sums of each cluster. Curator only."""

    # The clusters of n records.
    nonprivate_members: Members
    sums: ClusterSums
    # Sum of |x|^2 in each cluster, (k,).
    nonprivate_squares: FloatArray

    @property
    def nonprivate_labels(self) -> Labels:
        """Nearest center (n,) of every record."""
        return np.asarray(self.nonprivate_members[:], dtype=np.intp)

    def same_members(self, other: "Partition") -> bool:
        """Return True if every record is in the same cluster as before. If counts differ, no label is computed."""
        return np.array_equal(self.sums.nonprivate_counts, other.sums.nonprivate_counts) and np.array_equal(
            self.nonprivate_members[:], other.nonprivate_members[:]
        )


# Sums of the clusters of some records, and the sums of |x|^2 (k,).
BlockSums = tuple[ClusterSums, FloatArray]


def added_blocks(members: Members, blocks: Iterable[BlockSums], centers: Centers) -> Partition:
    """Return the clusters of `centers` (k, d), the sums of all blocks added up in their order."""
    counts, sums, squares = np.zeros(len(centers)), np.zeros(centers.shape), np.zeros(len(centers))
    for exact, norms in blocks:
        counts += exact.nonprivate_counts
        sums += exact.nonprivate_sums
        squares += norms
    return Partition(members, ClusterSums(counts, sums), squares)


def block_sums(n_clusters: int, unit: Points, norms: FloatArray, labels: Labels) -> BlockSums:
    """Return the sums of one block, record by record; `norms` (n,) are |x|^2."""
    return cluster_sums(unit, labels, n_clusters), cluster_totals(norms, labels, n_clusters)


def row_blocks(n: int) -> Iterator[slice]:
    """Yield the rows of each BLOCK_ROWS of n records."""
    return (slice(first, first + BLOCK_ROWS) for first in range(0, n, BLOCK_ROWS))


@array_cache(REMEMBERED)
def squared_lengths(points: Points) -> FloatArray:
    """Return each record's |x|^2, (n,)."""
    return frozen(squared_norms(points))


@immutable
class Nearest(Confidential):
    """Index of records (n, d) of the unit box for repeated nearest-center queries."""

    points: Points
    # If None, every record is compared with every center.
    lattices: "_Lattices | None"

    def __call__(self, centers: Centers) -> Labels:
        """Return the labels of `assign(points, centers)`, to the bit."""
        return np.asarray(self.members(centers)[:], dtype=np.intp)

    def members(self, centers: Centers) -> Members:
        """Return the clusters of `centers` (k, d); labels of open cells are computed when they are indexed."""
        lattices = self._usable_lattices(centers)
        return (
            assign(self.points, centers) if lattices is None else self._by_cells(lattices, centers).nonprivate_members
        )

    def partition(self, centers: Centers) -> Partition:
        """Return the clusters of `centers` (k, d) and their sums: those of each BLOCK_ROWS records, added in order.

        Whole cells are added as one, so last bits differ from sums that are added record by record.
        """
        if lattices := self._usable_lattices(centers):
            return self._by_cells(lattices, centers)
        k, labels, norms = len(centers), frozen(assign(self.points, centers)), squared_lengths(self.points)
        parts = (block_sums(k, self.points[rows], norms[rows], labels[rows]) for rows in row_blocks(len(self.points)))
        return added_blocks(labels, parts, centers)

    def opening(self, centers: Centers) -> Partition:
        """Return `partition(centers)`, cached: many runs start from the same centers."""
        labels, sums, squares = _opening(self.points, centers.shape, centers.tobytes())
        lattices = self._usable_lattices(centers)
        members = labels if lattices is None else _CellMembers(self.points, lattices.cell_of, centers, labels)
        return Partition(members, sums, squares)

    def _usable_lattices(self, centers: Centers) -> "_Lattices | None":
        return self.lattices if len(centers) <= MOST_CENTERS else None

    def _by_cells(self, lattices: "_Lattices", centers: Centers) -> Partition:
        slopes, offsets = nearness(centers)
        margin = ROUNDING * (1.0 - 4.0 * offsets.min())
        winners, parts = [], []
        for rows, lattice in zip(row_blocks(len(self.points)), lattices.blocks, strict=True):
            if lattice is None:
                unit, cells = self.points[rows], _OPEN_CELL
                parts.append(block_sums(len(centers), unit, squared_norms(unit), assign(unit, centers)))
            else:
                cells, totals = _cell_winners(lattice.blocks, lattice.cells, lattice.records, slopes, offsets, margin)
                parts.append((ClusterSums(totals[:, 0], totals[:, 2:]), totals[:, 1]))
            winners.append(cells)
        members = _CellMembers(self.points, lattices.cell_of, centers, np.concatenate(winners))
        return added_blocks(members, parts, centers)


def nearest_among(points: Points) -> Nearest:
    """Return the index of `points` (n, d) of the unit box, with lattices if they are worth their cost."""
    n, d = points.shape
    return Nearest(points, _lattices(points) if d in SIDES and n >= WORTH_ROWS else None)


class Level(NamedTuple):
    """Boxes of one size that hold records, in the order of the boxes around them."""

    middles: FloatArray  # (m, d)
    # Half a box's side.
    half: float
    # Moments of each box's records, (m, 2 + d): their number, sum of |x|^2, and sum of each coordinate.
    moments: FloatArray
    # Index at which each box's parts begin, (m + 1,). Parts are boxes of the next size, or records.
    first: Labels


@immutable
class _Lattice(Confidential):
    """Cells of up to BLOCK_ROWS records."""

    blocks: Level
    cells: Level
    # Copy of the records in the order of their cells, (m, d). The records of a cell are contiguous.
    records: Points


@immutable
class _Lattices:
    """Lattices without the array of records, so that the cache can drop them together with the array."""

    # One lattice for each BLOCK_ROWS records. None if it is not worth its cost; these records are one open cell.
    blocks: tuple[_Lattice | None, ...]
    # Cell of each record, numbered through all blocks, (n,).
    cell_of: NDArray[np.integer]


# Center of the only cell of a block that has no lattice.
_OPEN_CELL = frozen(np.array([OPEN], dtype=np.uint8))


@immutable
class _CellMembers(Confidential):
    """Clusters of records by the winners of their cells; a record of an open cell is compared with every center."""

    points: Points
    cell_of: NDArray[np.integer]  # (n,)
    centers: Centers
    # Center of each cell, or OPEN, (m,).
    winners: NDArray[np.integer]

    def __getitem__(self, rows: slice | Labels, /) -> NDArray[np.integer]:
        n = len(self.points)
        chosen = np.arange(*rows.indices(n)) if isinstance(rows, slice) else np.asarray(rows, dtype=np.intp)
        labels = _row_winners(self.winners, self.cell_of, chosen.ravel(), self.points, *nearness(self.centers))
        return labels.reshape(chosen.shape)


@array_cache(REMEMBERED)
def _opening(
    points: Points, shape: tuple[int, ...], bits: bytes
) -> tuple[NDArray[np.integer], ClusterSums, FloatArray]:
    """Return labels or the cells' winners, and the sums, without any reference to the records."""
    partition = nearest_among(points).partition(np.frombuffer(bits).reshape(shape))
    members, sums = partition.nonprivate_members, partition.sums
    labels = members.winners if isinstance(members, _CellMembers) else partition.nonprivate_labels
    exact = ClusterSums(frozen(sums.nonprivate_counts), frozen(sums.nonprivate_sums))
    return frozen(labels), exact, frozen(partition.nonprivate_squares)


@array_cache(REMEMBERED)
def _lattices(points: Points) -> _Lattices | None:
    """Sort each BLOCK_ROWS records into cells; None if that helps for none of them."""
    blocks, cell_of, n_cells = [], [], 0
    for rows in row_blocks(len(points)):
        unit = points[rows]
        lattice, cells = None, np.zeros(len(unit), dtype=np.intp)
        if len(unit) >= WORTH_ROWS and (unit >= 0.0).all() and (unit <= 1.0).all():
            lattice, cells = _lattice(unit)
        blocks.append(lattice)
        cell_of.append(n_cells + cells)
        n_cells += 1 if lattice is None else len(lattice.cells.middles)
    narrow = np.uint16 if n_cells <= 2**16 else np.uint32
    return _Lattices(tuple(blocks), frozen(np.concatenate(cell_of).astype(narrow))) if any(blocks) else None


def _lattice(points: Points) -> tuple[_Lattice, Labels]:
    """Sort records (n, d) of the unit box into cells; also return the cell (n,) of each."""
    n, d = points.shape
    # Blocks along each axis, and cells along each axis of a block.
    n_blocks, n_cells = SIDES[d]
    side = n_blocks * n_cells
    steps = np.minimum((points * side).astype(np.intp), side - 1).T  # (d, n)
    block = np.ravel_multi_index(tuple(steps // n_cells), (n_blocks,) * d)
    cell = np.ravel_multi_index(tuple(steps % n_cells), (n_cells,) * d)
    # A narrow type is quick to sort.
    number = (block * n_cells**d + cell).astype(np.uint16)
    order = np.argsort(number, kind="stable")
    # Numbers of the cells that contain records.
    numbers, first = np.unique(number[order], return_index=True)
    cell_of = np.repeat(np.arange(len(numbers)), np.diff(first, append=n))[np.argsort(order)]
    terms = (np.ones(n), squared_norms(points), *points.T)
    moments = np.stack([cluster_totals(each, cell_of, len(numbers)) for each in terms])
    within = np.stack(np.unravel_index(numbers % n_cells**d, (n_cells,) * d))  # (d, m)
    around, begins = np.unique(numbers // n_cells**d, return_index=True)
    corner = np.stack(np.unravel_index(around, (n_blocks,) * d))  # (d, b)
    cells_each = np.diff(begins, append=len(numbers))
    cells = _level(np.repeat(corner, cells_each, axis=1) * n_cells + within, side, moments, np.append(first, n))
    blocks = _level(corner, n_blocks, np.add.reduceat(moments, begins, axis=1), np.append(begins, len(numbers)))
    return _Lattice(blocks, cells, frozen(points[order])), cell_of


def _level(steps: Labels, side: int, moments: FloatArray, first: Labels) -> Level:
    middles, sums = (frozen(np.ascontiguousarray(each.T)) for each in ((steps + 0.5) / side, moments))
    return Level(middles, 0.5 / side, sums, frozen(first))


@compiled
def _cell_winners(
    blocks: Level, cells: Level, records: Points, slopes: FloatArray, offsets: FloatArray, margin: float
) -> tuple[NDArray[np.uint8], FloatArray]:
    """Return the winner of each cell (m,), OPEN if its records differ, and the winners' moments (k, 2 + d).

    A score that is behind by more than `margin` all over a block, or a cell, does not win there: from the middle to a
    corner, the difference of two scores changes by half a side times the difference of the slopes along each axis. Only
    the other scores are compared within it, and for every record only in open cells. `records` are in the order of
    their cells.
    """
    k, d = slopes.shape
    changes, scores = np.zeros((k, k)), np.empty(k)
    for i in range(k):
        for j in range(k):
            for f in range(d):
                changes[i, j] += abs(slopes[i, f] - slopes[j, f])
    winners, totals = np.empty(len(cells.middles), dtype=np.uint8), np.zeros((k, 2 + d))
    every, near, nearer = np.arange(k), np.empty(k, dtype=np.intp), np.empty(k, dtype=np.intp)
    for block in range(len(blocks.middles)):
        _score(blocks.middles, block, every, slopes, offsets, scores)
        n_near = _possible(every, scores, blocks.half, changes, margin, near)
        if n_near == 1:
            _add(totals, near[0], blocks.moments, block)
        for cell in range(blocks.first[block], blocks.first[block + 1]):
            if n_near == 1:
                winners[cell] = near[0]
                continue
            _score(cells.middles, cell, near[:n_near], slopes, offsets, scores)
            n_nearer = _possible(near[:n_near], scores, cells.half, changes, margin, nearer)
            if n_nearer == 1:
                winners[cell] = nearer[0]
                _add(totals, nearer[0], cells.moments, cell)
                continue
            winners[cell] = OPEN
            for record in range(cells.first[cell], cells.first[cell + 1]):
                _score(records, record, nearer[:n_nearer], slopes, offsets, scores)
                winner, square = nearer[_highest(nearer[:n_nearer], scores)], 0.0
                for f in range(d):
                    square += records[record, f] * records[record, f]
                    totals[winner, 2 + f] += records[record, f]
                totals[winner, 0] += 1.0
                totals[winner, 1] += square
    return winners, totals


@compiled
def _row_winners(
    winners: NDArray[np.integer],
    cell_of: NDArray[np.integer],
    rows: Labels,
    records: Points,
    slopes: FloatArray,
    offsets: FloatArray,
) -> NDArray[np.uint8]:
    """Return the winners (r,) of `rows` of the records: the cell's winner, or the record's own in an open cell."""
    labels, scores = np.empty(len(rows), dtype=np.uint8), np.empty(len(offsets))
    every = np.arange(len(offsets))
    for i in range(len(rows)):
        labels[i] = winners[cell_of[rows[i]]]
        if labels[i] == OPEN:
            _score(records, rows[i], every, slopes, offsets, scores)
            labels[i] = _highest(every, scores)
    return labels


@compiled
def _score(
    records: Points, row: int, some: Labels, slopes: FloatArray, offsets: FloatArray, scores: FloatArray
) -> None:
    """Write the scores of `some` at a row of `records` into `scores`, (k,) of all."""
    for i in some:
        score = offsets[i]
        for f in range(records.shape[1]):
            score += slopes[i, f] * records[row, f]
        scores[i] = score


@compiled
def _highest(some: Labels, scores: FloatArray) -> int:
    """Return the place among `some` of the first highest score."""
    highest = 0
    for j in range(1, len(some)):
        if scores[some[j]] > scores[some[highest]]:
            highest = j
    return highest


@compiled
def _possible(
    some: Labels, scores: FloatArray, half: float, changes: FloatArray, margin: float, possible: Labels
) -> int:
    """Write into `possible` which of `some` may win in a box with these scores in its middle; return how many."""
    best, n_possible = some[_highest(some, scores)], 0
    for i in some:
        if i == best or not scores[best] - scores[i] - half * changes[best, i] > margin:
            possible[n_possible] = i
            n_possible += 1
    return n_possible


@compiled
def _add(totals: FloatArray, winner: int, moments: FloatArray, box: int) -> None:
    for column in range(totals.shape[1]):
        totals[winner, column] += moments[box, column]
