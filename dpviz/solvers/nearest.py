"""Who is nearest, asked again and again of the same records: whole cells of a lattice at a time, to the same bits."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Centers, FloatArray, Labels, Points, frozen, squared_norms
from dpviz.core.remembered import remembering
from dpviz.solvers.lloyd import ClusterSums, assign, cluster_sums, cluster_totals
from dpviz.solvers.winners import Level, nearness, winners_by_boxes, winners_of_some

# Along each axis, by the number of axes: blocks, and cells within a block. Powers of two place a record exactly.
SIDES = {1: (64, 64), 2: (16, 4), 3: (4, 4)}
WORTH_ROWS = 16_000  # from here on the lattice costs less than it saves; ours
MOST_CENTERS = 32  # beyond that nearly every cell has a border in it
ROUNDING = 1e-12  # of the largest score: far above what adding up d products loses
REMEMBERED = 4


class Members(Protocol):
    """Who is in which cluster: the labels (m,) of the rows asked for. An array of labels is one. Curator only."""

    def __getitem__(self, rows: Any, /) -> Any:
        """Return the labels of a slice or an array of rows."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
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


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """Records (n, d) of the unit box that are asked again and again for their nearest centers."""

    points: Points
    lattice: "_Lattice | None"  # None: each record is looked at

    def __call__(self, centers: Centers) -> Labels:
        """Return what `assign(points, centers)` does, to the bit."""
        return np.asarray(self.members(centers)[:], dtype=np.intp)

    def members(self, centers: Centers) -> Members:
        """Return who is nearest to which of `centers` (k, d), without a look at records that nobody asks for."""
        if self.lattice is None or len(centers) > MOST_CENTERS:
            return assign(self.points, centers)
        return self._by_cells(self.lattice, centers).nonprivate_members

    def partition(self, centers: Centers) -> Partition:
        """Return the clusters of `centers` (k, d) and their sums; whole cells are added as one, so last bits differ."""
        k, lattice = len(centers), self.lattice
        if lattice is not None and k <= MOST_CENTERS:
            return self._by_cells(lattice, centers)
        labels = frozen(assign(self.points, centers))
        return Partition(
            labels, cluster_sums(self.points, labels, k), cluster_totals(squared_lengths(self.points), labels, k)
        )

    def _by_cells(self, lattice: "_Lattice", centers: Centers) -> Partition:
        slopes, offsets = nearness(centers)
        margin = ROUNDING * (1.0 - 4.0 * offsets.min())
        found, totals = winners_by_boxes(lattice.blocks, lattice.cells, lattice.records, slopes, offsets, margin)
        members = _CellMembers(self.points, lattice.cell_of, centers, found)
        return Partition(members, ClusterSums(totals[:, 0].copy(), totals[:, 2:].copy()), totals[:, 1].copy())

    def opening(self, centers: Centers) -> Partition:
        """Return `partition(centers)` of centers that many runs start from: it is made once."""
        found, sums, squares = _opening(self.points, centers.shape, centers.tobytes())
        if self.lattice is None or len(centers) > MOST_CENTERS:
            return Partition(found, sums, squares)
        return Partition(_CellMembers(self.points, self.lattice.cell_of, centers, found), sums, squares)


def nearest_among(points: Points) -> Nearest:
    """Return what answers for `points` (n, d) of the unit box.

    For many records in few dimensions a block or a cell of a lattice that lies on one center's side of every border
    gives all of its records their cluster at once; only the others are looked at one by one.
    """
    n, d = points.shape
    return Nearest(points, _lattice(points) if d in SIDES and n >= WORTH_ROWS else None)


@remembering(REMEMBERED)
def squared_lengths(points: Points) -> FloatArray:
    """Return each record's |x|^2, (n,)."""
    return frozen(squared_norms(points))


@dataclass(frozen=True, slots=True, eq=False)
class _CellMembers:
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
class _Lattice:
    """It does not hold the array of records, so that it can be remembered for no longer than that lives."""

    blocks: Level
    cells: Level
    records: Points  # (n, d) a copy in the order of their cells: those of one lie side by side
    cell_of: Labels  # (n,) each record's


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
def _lattice(points: Points) -> _Lattice | None:
    """Sort the records into cells; None where one lies outside of the unit box."""
    n, d = points.shape
    n_blocks, n_cells = SIDES[d]  # along each axis
    side = n_blocks * n_cells
    if not ((points >= 0.0).all() and (points <= 1.0).all()):
        return None
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
    return _Lattice(blocks, cells, frozen(points[order]), frozen(cell_of.astype(np.uint16)))


def _level(steps: NDArray[np.intp], side: int, moments: FloatArray, first: Labels) -> Level:
    rows = (np.ascontiguousarray(each.T) for each in ((steps + 0.5) / side, moments))
    middles, sums = map(frozen, rows)
    return Level(middles, 0.5 / side, sums, frozen(first))


def _moments(points: Points) -> FloatArray:
    """Return what is added up of each record, (2 + d, n): 1, |x|^2, and its coordinates."""
    return np.stack([np.ones(len(points)), squared_norms(points), *points.T])
