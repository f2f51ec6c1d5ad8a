"""Who is nearest, asked again and again of the same records: whole cells of a lattice at a time, to the same bits."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Centers, FloatArray, Labels, Points, frozen
from dpviz.core.remembered import remembering
from dpviz.solvers.lloyd import ClusterSums, assign, cluster_sums, cluster_totals

# Along each axis, by the number of axes: blocks, and cells within a block. Powers of two place a record exactly.
SIDES = {1: (64, 64), 2: (16, 4), 3: (4, 4)}
WORTH_ROWS = 16_000  # from here on the lattice costs less than it saves; ours
MOST_CENTERS = 32  # beyond that nearly every cell has a border in it
ROUNDING = 1e-12  # of the largest score: far above what adding up d products loses
REMEMBERED = 4
OPEN = 255  # no center's number


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
        return _CellMembers(self.points, self.lattice, centers, self.lattice.decided(centers).cells)

    def partition(self, centers: Centers) -> Partition:
        """Return the clusters of `centers` (k, d) and their sums; whole cells are added as one, so last bits differ."""
        k, lattice = len(centers), self.lattice
        if lattice is None or k > MOST_CENTERS:
            labels = frozen(assign(self.points, centers))
            return Partition(
                labels, cluster_sums(self.points, labels, k), cluster_totals(squared_lengths(self.points), labels, k)
            )
        found = lattice.decided(centers)
        rows = lattice.records_in(found.cells == OPEN)
        unsure = self.points[rows]
        groups: Labels = np.concatenate([found.blocks, found.inner, assign(unsure, centers)])
        parts = (lattice.blocks.moments, lattice.cells.moments[:, found.parts], _moments(unsure))
        totals = [cluster_totals(each, groups, OPEN + 1)[:k] for each in np.concatenate(parts, axis=1)]
        members = _CellMembers(self.points, lattice, centers, found.cells)
        return Partition(members, ClusterSums(totals[0], np.stack(totals[2:], axis=1)), totals[1])

    def opening(self, centers: Centers) -> Partition:
        """Return `partition(centers)` of centers that many runs start from: it is made once."""
        found, sums, squares = _opening(self.points, centers.shape, centers.tobytes())
        if self.lattice is None or len(centers) > MOST_CENTERS:
            return Partition(found, sums, squares)
        return Partition(_CellMembers(self.points, self.lattice, centers, found), sums, squares)


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
    return frozen(np.asarray(np.einsum("ij,ij->i", points, points)))


@dataclass(frozen=True, slots=True, eq=False)
class _CellMembers:
    """What cells say of their records; a record of an open cell is looked at alone."""

    points: Points
    lattice: "_Lattice"
    centers: Centers
    found: NDArray[np.uint8]  # (m,) each cell's center, or OPEN

    def __getitem__(self, rows: Any) -> NDArray[np.uint8]:
        labels: NDArray[np.uint8] = self.found.take(self.lattice.cell_of[rows])
        unsure = np.flatnonzero(labels == OPEN)
        points = self.points[rows][unsure] if isinstance(rows, slice) else self.points[np.asarray(rows)[unsure]]
        labels[unsure] = assign(points, self.centers)
        return labels


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """Boxes of one size that hold records, in the order of the boxes around them."""

    middles: FloatArray  # (d, m)
    half: float  # of a box's side
    moments: FloatArray  # (2 + d, m) of each one's records: their number, sum of |x|^2, and sums by coordinate
    first: Labels  # (m + 1,) where each one's parts begin: boxes of the next size, or records

    def decided(self, centers: Centers, middles: FloatArray) -> NDArray[np.uint8]:
        """Return the center that is nearest in all of a box around `middles` (d, b), OPEN where it may be several.

        |x - c_j|^2 - |x - c_i|^2 is linear in x: from the middle to a corner it changes by half a side along each axis
        times 2 |c_j - c_i|.
        """
        offsets = np.einsum("ij,ij->i", centers, centers)
        scores = (-2.0 * centers) @ middles + offsets[:, None]  # (k, b)
        nearest, least = scores.argmin(axis=0), scores.min(axis=0)
        changes = 2.0 * self.half * np.abs(centers[:, None] - centers).sum(axis=2)  # (k, k)
        np.fill_diagonal(changes, -np.inf)  # no center is in its own way
        scores -= changes.take(nearest, axis=1)
        sure = scores.min(axis=0) - least > ROUNDING * (1.0 + 4.0 * offsets.max())
        return np.where(sure, nearest, OPEN).astype(np.uint8)

    def parts_of(self, chosen: NDArray[np.bool_]) -> Labels:
        """Return the parts of the boxes `chosen` (m,), in order."""
        first = self.first[:-1][chosen]
        counts = self.first[1:][chosen] - first
        ends = np.cumsum(counts)
        return np.asarray(np.repeat(first - ends + counts, counts) + np.arange(counts.sum()), dtype=np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Centers by blocks and cells, OPEN where there may be several."""

    blocks: NDArray[np.uint8]  # (b,)
    parts: Labels  # (p,) the cells of open blocks
    inner: NDArray[np.uint8]  # (p,) theirs
    cells: NDArray[np.uint8]  # (m,) of all cells


@dataclass(frozen=True, slots=True, eq=False)
class _Lattice:
    """It does not hold the records, so that it can be remembered for no longer than they live."""

    blocks: _Level
    cells: _Level
    records: Labels  # (n,) in the order of their cells
    cell_of: Labels  # (n,) each record's

    def decided(self, centers: Centers) -> _Found:
        """Ask the blocks, then the cells of those that a border may cross."""
        blocks = self.blocks.decided(centers, self.blocks.middles)
        parts = self.blocks.parts_of(blocks == OPEN)
        inner = self.cells.decided(centers, self.cells.middles.take(parts, axis=1))
        cells = np.repeat(blocks, np.diff(self.blocks.first))
        cells[parts] = inner
        return _Found(blocks, parts, inner, cells)

    def records_in(self, chosen: NDArray[np.bool_]) -> Labels:
        """Return the records of the cells `chosen` (m,)."""
        return self.records[self.cells.parts_of(chosen)]


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
    records = np.argsort(number, kind="stable")
    held, first = np.unique(number[records], return_index=True)
    cell_of = np.repeat(np.arange(len(held)), np.diff(first, append=n))[np.argsort(records)]
    moments = np.stack([cluster_totals(each, cell_of, len(held)) for each in _moments(points)])
    within = np.stack(np.unravel_index(held % n_cells**d, (n_cells,) * d))  # (d, m)
    around, begins = np.unique(held // n_cells**d, return_index=True)
    corner = np.stack(np.unravel_index(around, (n_blocks,) * d))  # (d, b)
    cells_each = np.diff(begins, append=len(held))
    cells = _level(np.repeat(corner, cells_each, axis=1) * n_cells + within, side, moments, np.append(first, n))
    blocks = _level(corner, n_blocks, np.add.reduceat(moments, begins, axis=1), np.append(begins, len(held)))
    small = np.int32 if n < np.iinfo(np.int32).max else np.intp
    return _Lattice(blocks, cells, frozen(records.astype(small)), frozen(cell_of.astype(np.uint16)))


def _level(steps: NDArray[np.intp], side: int, moments: FloatArray, first: Labels) -> _Level:
    return _Level(frozen((steps + 0.5) / side), 0.5 / side, frozen(moments), frozen(first))


def _moments(points: Points) -> FloatArray:
    """Return what is added up of each record, (2 + d, n): 1, |x|^2, and its coordinates."""
    return np.stack([np.ones(len(points)), np.einsum("ij,ij->i", points, points), *points.T])
