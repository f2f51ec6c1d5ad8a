"""Who is nearest, asked again and again of the same records: whole cells of a lattice at a time, to the same bits."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Centers, FloatArray, Labels, Points, frozen
from dpviz.core.remembered import remembering
from dpviz.solvers.lloyd import assign

SIDES = {1: 4096, 2: 64, 3: 16}  # cells along each axis, by the number of axes; powers of two place a record exactly
WORTH_ROWS = 40_000  # from here on the lattice costs less than it saves; ours
MOST_CENTERS = 32  # beyond that nearly every cell has a border in it
ROUNDING = 1e-12  # of the largest score: far above what adding up d products loses
REMEMBERED = 4
OPEN = 255  # no center's number

Nearest = Callable[[Centers], Labels]


def nearest_among(points: Points) -> Nearest:
    """Return what does `assign(points, centers)` for any centers (k, d); `points` (n, d) are in the unit box.

    For many records in few dimensions a cell of a lattice that lies on one center's side of every border gives all of
    its records their cluster at once; only the others are looked at one by one.
    """
    n, d = points.shape
    lattice = _lattice(points) if d in SIDES and n >= WORTH_ROWS else None
    return partial(assign, points) if lattice is None else partial(lattice.nearest, points)


@dataclass(frozen=True, slots=True, eq=False)
class _Lattice:
    """It does not hold the records, so that it can be remembered for no longer than they live."""

    middles: FloatArray  # (d, m) of the cells
    cells: Labels  # (n,) each record's

    def nearest(self, points: Points, centers: Centers) -> Labels:
        """Return what `assign` returns for the records that the lattice was made of."""
        if len(centers) > MOST_CENTERS:
            return assign(points, centers)
        found = self._decided(centers).take(self.cells)
        labels: Labels = found.astype(np.intp)
        open_rows = np.flatnonzero(found == OPEN)
        labels[open_rows] = assign(points[open_rows], centers)
        return labels

    def _decided(self, centers: Centers) -> NDArray[np.uint8]:
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
    cells = np.ravel_multi_index(tuple(steps.T), (side,) * d)
    return _Lattice(frozen(middles), frozen(np.asarray(cells, dtype=np.intp)))
