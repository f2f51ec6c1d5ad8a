"""Who is nearest, asked again and again of the same records: whole cells of a lattice at a time, to the same bits."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpviz.core import BLOCK_ROWS, Centers, Confidential, FloatArray, Labels, Points, frozen, squared_norms
from dpviz.core.remembered import remembering
from dpviz.solvers.lloyd import ClusterSums, assign, cluster_sums, cluster_totals
from dpviz.solvers.winners import OPEN, Level, nearness, winners_by_boxes, winners_of_some

# Along each axis, by the number of axes: blocks, and cells within a block. Powers of two place a record exactly.
SIDES = {1: (64, 64), 2: (16, 4), 3: (4, 4)}
WORTH_ROWS = 16_000  # from here on the lattice costs less than it saves; ours
MOST_CENTERS = 32  # beyond that nearly every cell has a border in it
ROUNDING = 1e-12  # of the largest score: far above what adding up d products loses
REMEMBERED = 4
_OPEN_CELL = frozen(np.array([OPEN], dtype=np.uint8))  # all records of a block that has no lattice


class Members(Protocol):
    """Who is in which cluster: the labels (m,) of the rows asked for. An array of labels is one. Curator only."""

    def __getitem__(self, rows: Any, /) -> Any:
        """Return the labels of a slice or an array of rows."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Partition(Confidential):
    """Who is nearest to which center, and the exact sums of each cluster. Curator only."""

    nonprivate_members: Members  # of n records
    sums: ClusterSums
    nonprivate_squares: FloatArray  # (k,) sum of |x|^2

    @property
    def nonprivate_labels(self) -> Labels:
        """Everybody's nearest center (n,)."""
        return np.asarray(self.nonprivate_members[:], dtype=np.intp)

    def same_members(self, other: "Partition") -> bool:
        """Whether everybody is in the same cluster; other counts say no without a look at anybody."""
        return np.array_equal(self.sums.nonprivate_counts, other.sums.nonprivate_counts) and np.array_equal(
            self.nonprivate_members[:], other.nonprivate_members[:]
        )


BlockSums = tuple[ClusterSums, FloatArray]  # of each cluster in some records: its sums, and that of |x|^2 (k,)


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


@dataclass(frozen=True, slots=True, eq=False)
class Nearest(Confidential):
    """Records (n, d) of the unit box that are asked again and again for their nearest centers."""

    points: Points
    lattices: "_Lattices | None"  # None: each record is looked at

    def __call__(self, centers: Centers) -> Labels:
        """Return what `assign(points, centers)` does, to the bit."""
        return np.asarray(self.members(centers)[:], dtype=np.intp)

    def members(self, centers: Centers) -> Members:
        """Return who is nearest to which of `centers` (k, d), without a look at records that nobody asks for."""
        if self.lattices is None or len(centers) > MOST_CENTERS:
            return assign(self.points, centers)
        return self._by_cells(self.lattices, centers).nonprivate_members

    def partition(self, centers: Centers) -> Partition:
        """Return the clusters of `centers` (k, d) and their sums: those of each BLOCK_ROWS records, added in order.

        Among these, whole cells are added as one, so that last bits are others than record by record.
        """
        k, lattices = len(centers), self.lattices
        if lattices is not None and k <= MOST_CENTERS:
            return self._by_cells(lattices, centers)
        labels, norms = frozen(assign(self.points, centers)), squared_lengths(self.points)
        parts = (block_sums(k, self.points[rows], norms[rows], labels[rows]) for rows in row_blocks(len(self.points)))
        return added_blocks(labels, parts, centers)

    def _by_cells(self, lattices: "_Lattices", centers: Centers) -> Partition:
        slopes, offsets = nearness(centers)
        margin = ROUNDING * (1.0 - 4.0 * offsets.min())
        found, parts = [], []
        for rows, each in zip(row_blocks(len(self.points)), lattices.each, strict=True):
            if each is None:
                unit, cells = self.points[rows], _OPEN_CELL
                parts.append(block_sums(len(centers), unit, squared_norms(unit), assign(unit, centers)))
            else:
                cells, totals = winners_by_boxes(each.blocks, each.cells, each.records, slopes, offsets, margin)
                parts.append((ClusterSums(totals[:, 0], totals[:, 2:]), totals[:, 1]))
            found.append(cells)
        members = _CellMembers(self.points, lattices.cell_of, centers, np.concatenate(found))
        return added_blocks(members, parts, centers)

    def opening(self, centers: Centers) -> Partition:
        """Return `partition(centers)` of centers that many runs start from: it is made once."""
        found, sums, squares = _opening(self.points, centers.shape, centers.tobytes())
        if self.lattices is None or len(centers) > MOST_CENTERS:
            return Partition(found, sums, squares)
        return Partition(_CellMembers(self.points, self.lattices.cell_of, centers, found), sums, squares)


def nearest_among(points: Points) -> Nearest:
    """Return what answers for `points` (n, d) of the unit box.

    For many records in few dimensions a block or a cell of a lattice that lies on one center's side of every border
    gives all of its records their cluster at once; only the others are looked at one by one.
    """
    n, d = points.shape
    return Nearest(points, _lattices(points) if d in SIDES and n >= WORTH_ROWS else None)


def row_blocks(n: int) -> Iterator[slice]:
    """Yield the rows of each BLOCK_ROWS of n records."""
    return (slice(first, first + BLOCK_ROWS) for first in range(0, n, BLOCK_ROWS))


@remembering(REMEMBERED)
def squared_lengths(points: Points) -> FloatArray:
    """Return each record's |x|^2, (n,)."""
    return frozen(squared_norms(points))


@dataclass(frozen=True, slots=True, eq=False)
class _CellMembers(Confidential):
    """What cells say of their records; a record of an open cell is looked at alone."""

    points: Points
    cell_of: Labels  # (n,)
    centers: Centers
    found: NDArray[np.uint8]  # (m,) each cell's center, or OPEN

    def __getitem__(self, rows: Any) -> Any:
        n = len(self.points)
        chosen = np.arange(*rows.indices(n)) if isinstance(rows, slice) else np.asarray(rows, dtype=np.intp)
        labels = winners_of_some(self.found, self.cell_of, chosen.ravel(), self.points, *nearness(self.centers))
        return labels.reshape(chosen.shape)


@dataclass(frozen=True, slots=True, eq=False)
class _Lattice(Confidential):
    """Of up to BLOCK_ROWS records."""

    blocks: Level
    cells: Level
    records: Points  # (m, d) a copy in the order of their cells: those of one lie side by side


@dataclass(frozen=True, slots=True, eq=False)
class _Lattices:
    """They do not hold the array of records, so that they can be remembered for no longer than that lives."""

    each: tuple[_Lattice | None, ...]  # of each BLOCK_ROWS records; None: not worth it, these are one open cell
    cell_of: Labels  # (n,) each record's, counted through


@remembering(REMEMBERED)
def _opening(points: Points, shape: tuple[int, ...], bits: bytes) -> tuple[NDArray[Any], ClusterSums, FloatArray]:
    """Return labels or what the cells say, and the sums: nothing that holds the records."""
    made = nearest_among(points).partition(np.frombuffer(bits).reshape(shape))
    found = (
        made.nonprivate_members.found if isinstance(made.nonprivate_members, _CellMembers) else made.nonprivate_labels
    )
    sums = ClusterSums(frozen(made.sums.nonprivate_counts), frozen(made.sums.nonprivate_sums))
    return frozen(found), sums, frozen(made.nonprivate_squares)


@remembering(REMEMBERED)
def _lattices(points: Points) -> _Lattices | None:
    """Sort each BLOCK_ROWS records into cells; None where that helps with none of them."""
    each, cell_of, n_cells = [], [], 0
    for rows in row_blocks(len(points)):
        unit = points[rows]
        inside = bool((unit >= 0.0).all() and (unit <= 1.0).all())
        made = _lattice(unit) if inside and len(unit) >= WORTH_ROWS else None
        lattice, cells = (None, np.zeros(len(unit), dtype=np.intp)) if made is None else made
        each.append(lattice)
        cell_of.append(n_cells + cells)
        n_cells += 1 if lattice is None else len(lattice.cells.middles)
    narrow = np.uint16 if n_cells <= 2**16 else np.uint32
    return _Lattices(tuple(each), frozen(np.concatenate(cell_of).astype(narrow))) if any(each) else None


def _lattice(points: Points) -> tuple[_Lattice, Labels]:
    """Sort records of the unit box into cells, and return each one's, too."""
    n, d = points.shape
    n_blocks, n_cells = SIDES[d]  # along each axis
    side = n_blocks * n_cells
    steps = np.minimum((points * side).astype(np.intp), side - 1).T  # (d, n)
    block = np.ravel_multi_index(tuple(steps // n_cells), (n_blocks,) * d)
    cell = np.ravel_multi_index(tuple(steps % n_cells), (n_cells,) * d)
    number = (block * n_cells**d + cell).astype(np.uint16)  # narrow, so that sorting them is quick
    order = np.argsort(number, kind="stable")
    held, first = np.unique(number[order], return_index=True)
    cell_of = np.repeat(np.arange(len(held)), np.diff(first, append=n))[np.argsort(order)]
    moments = np.stack([cluster_totals(each, cell_of, len(held)) for each in _moments(points)])
    within = np.stack(np.unravel_index(held % n_cells**d, (n_cells,) * d))  # (d, m)
    around, begins = np.unique(held // n_cells**d, return_index=True)
    corner = np.stack(np.unravel_index(around, (n_blocks,) * d))  # (d, b)
    cells_each = np.diff(begins, append=len(held))
    cells = _level(np.repeat(corner, cells_each, axis=1) * n_cells + within, side, moments, np.append(first, n))
    blocks = _level(corner, n_blocks, np.add.reduceat(moments, begins, axis=1), np.append(begins, len(held)))
    return _Lattice(blocks, cells, frozen(points[order])), cell_of


def _level(steps: NDArray[np.intp], side: int, moments: FloatArray, first: Labels) -> Level:
    rows = (np.ascontiguousarray(each.T) for each in ((steps + 0.5) / side, moments))
    middles, sums = map(frozen, rows)
    return Level(middles, 0.5 / side, sums, frozen(first))


def _moments(points: Points) -> FloatArray:
    """Return what is added up of each record, (2 + d, n): 1, |x|^2, and its coordinates."""
    return np.stack([np.ones(len(points)), squared_norms(points), *points.T])
