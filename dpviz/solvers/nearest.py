"""Who is nearest, asked again and again of the same records: whole cells of a lattice at a time, to the same bits."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Centers, FloatArray, Labels, Points, frozen
from dpviz.core.remembered import remembering
from dpviz.solvers.lloyd import ClusterSums, assign, cluster_sums, cluster_totals

SIDES = {1: 4096, 2: 64, 3: 16}  # cells along each axis, by the number of axes; powers of two place a record exactly
WORTH_ROWS = 40_000  # from here on the lattice costs less than it saves; ours
MOST_CENTERS = 32  # beyond that nearly every cell has a border in it
ROUNDING = 1e-12  # of the largest score: far above what adding up d products loses
REMEMBERED = 4
OPEN = 255  # no center's number


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """Who is nearest to which center, and the exact sums of each cluster. Curator only."""

    nonprivate_labels: Labels  # (n,)
    sums: ClusterSums
    nonprivate_squares: FloatArray  # (k,) sum of |x|^2


@dataclass(frozen=True, eq=False)
class Nearest:
    """Records (n, d) of the unit box that are asked again and again for their nearest centers."""

    points: Points
    lattice: "_Lattice | None"  # None: each record is looked at

    def __call__(self, centers: Centers) -> Labels:
        """Return what `assign(points, centers)` does, to the bit."""
        if self.lattice is None or len(centers) > MOST_CENTERS:
            return assign(self.points, centers)
        return self._decided(self.lattice, centers)[0]

    def partition(self, centers: Centers) -> Partition:
        """Return the clusters of `centers` (k, d) and their sums; whole cells are added as one, so last bits differ."""
        k = len(centers)
        if self.lattice is None or k > MOST_CENTERS:
            labels = assign(self.points, centers)
            squares = cluster_totals(self._squares, labels, k)
            return Partition(labels, cluster_sums(self.points, labels, k), squares)
        labels, found, open_rows = self._decided(self.lattice, centers)
        sure = found != OPEN
        moments = [np.bincount(found[sure], each[sure], k) for each in self.lattice.moments]
        rows, theirs = self.points[open_rows], labels[open_rows]
        rest = cluster_sums(rows, theirs, k)
        sums = ClusterSums(moments[0] + rest.nonprivate_counts, np.stack(moments[2:], axis=1) + rest.nonprivate_sums)
        return Partition(labels, sums, moments[1] + cluster_totals(np.einsum("ij,ij->i", rows, rows), theirs, k))

    def _decided(self, lattice: "_Lattice", centers: Centers) -> tuple[Labels, NDArray[np.uint8], Labels]:
        """Return everybody's nearest center (n,), each cell's (m,) or OPEN, and who was looked at alone."""
        found = lattice.decided(centers)
        of_record = found.take(lattice.cells)
        labels: Labels = of_record.astype(np.intp)
        open_rows = np.flatnonzero(of_record == OPEN)
        labels[open_rows] = assign(self.points[open_rows], centers)
        return labels, found, open_rows

    @cached_property
    def _squares(self) -> FloatArray:
        return np.asarray(np.einsum("ij,ij->i", self.points, self.points))


def nearest_among(points: Points) -> Nearest:
    """Return what answers for `points` (n, d) of the unit box.

    For many records in few dimensions a cell of a lattice that lies on one center's side of every border gives all of
    its records their cluster at once; only the others are looked at one by one.
    """
    n, d = points.shape
    return Nearest(points, _lattice(points) if d in SIDES and n >= WORTH_ROWS else None)


@dataclass(frozen=True, slots=True, eq=False)
class _Lattice:
    """It does not hold the records, so that it can be remembered for no longer than they live."""

    middles: FloatArray  # (d, m) of the cells
    cells: Labels  # (n,) each record's
    moments: FloatArray  # (2 + d, m) of each cell's records: their number, sum of |x|^2, and sums by coordinate

    def decided(self, centers: Centers) -> NDArray[np.uint8]:
        """Return the center (m,) that is nearest in all of a cell, OPEN where there may be more than one.

        |x - c_j|^2 - |x - c_i|^2 is linear in x: from the middle to a corner it changes by half a cell along each axis
        times 2 |c_j - c_i|.
        """
        offsets = np.einsum("ij,ij->i", centers, centers)
        scores = (-2.0 * centers) @ self.middles + offsets[:, None]  # (k, m)
        first, cells = np.argmin(scores, axis=0), np.arange(scores.shape[1])
        changes = np.abs(centers[:, None] - centers).sum(axis=2) / SIDES[centers.shape[1]]  # (k, k)
        lead = scores - scores[first, cells] - changes[:, first]
        lead[first, cells] = np.inf
        sure = lead.min(axis=0) > ROUNDING * (1.0 + 4.0 * offsets.max())
        return np.where(sure, first, OPEN).astype(np.uint8)


@remembering(REMEMBERED)
def _lattice(points: Points) -> _Lattice | None:
    """Sort the records into cells; None where one lies outside of the unit box."""
    side, d = SIDES[points.shape[1]], points.shape[1]
    if not ((points >= 0.0).all() and (points <= 1.0).all()):
        return None
    steps = np.minimum((points * side).astype(np.intp), side - 1)
    middles = (np.indices((side,) * d).reshape(d, -1) + 0.5) / side
    cells = np.asarray(np.ravel_multi_index(tuple(steps.T), (side,) * d), dtype=np.intp)
    weights = (None, np.einsum("ij,ij->i", points, points), *points.T)
    moments: FloatArray = np.stack([np.bincount(cells, each, side**d).astype(np.float64) for each in weights])
    return _Lattice(frozen(middles), frozen(cells), frozen(moments))
