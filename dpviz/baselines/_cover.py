"""Which records the balls round a grid's points cover: what EM-MC scores its candidates by. Exact, see `em_mc`."""

import itertools
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dpviz.core import Counts, FloatArray, Points, frozen
from dpviz.mechanisms import Indices

ROUNDING = 1e-9  # of a ball's radius: a record in a cell's corner is covered


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """A grid and who covers whom. Curator only, but for the grid."""

    side: int  # cells along each axis
    candidates: Points  # (M, p) the cells' middles, C order
    by_candidate: sparse.csr_matrix  # (M, n) 1 where the candidate covers the record
    by_record: sparse.csr_matrix  # (n, M) the same

    def scores(self, left: Counts) -> Counts:
        """Return the weight (M,) of the records that each candidate covers; `left` (n,) is 1 or 0 for each record."""
        return np.asarray(self.by_candidate @ left)

    def fresh(self, candidate: int, left: Counts) -> Indices:
        """Return the records that one candidate covers and that are left."""
        first, end = self.by_candidate.indptr[candidate : candidate + 2]
        found = self.by_candidate.indices[first:end]
        return np.asarray(found[left[found] > 0], dtype=np.intp)

    def lost(self, records: Indices) -> Counts:
        """Return by how much the scores (M,) fall when these records are covered."""
        indices = self.by_record[records].indices
        return np.bincount(indices, minlength=len(self.candidates)).astype(np.float64)


def public_axes(d: int, n_axes: int, *, rng: np.random.Generator) -> FloatArray:
    """Return min(d, n_axes) orthonormal rows (p, d): uniform random ones, or the box's own where there are so few."""
    if d <= n_axes:
        return np.eye(d)
    basis, triangle = np.linalg.qr(rng.standard_normal((d, n_axes)))
    return np.ascontiguousarray((basis * np.sign(np.diag(triangle))).T)


def covers(places: Points, reach: FloatArray, side: int) -> Cover:
    """Lay side^p cells over [-reach, reach] (p,) and find for each of `places` (n, p) whose ball it is in.

    A ball's radius is half a cell's diagonal. Only cells within `_span` of the record's own can cover it.
    """
    p, widths = len(reach), 2.0 * reach / side
    radius = (1.0 + ROUNDING) * float(np.linalg.norm(widths)) / 2.0
    own = np.clip(((places + reach) / widths).astype(np.intp), 0, side - 1)  # (n, p)
    spans = [range(-span, span + 1) for span in _span(radius, widths)]
    rows, columns = [], []
    for offset in itertools.product(*spans):
        cell = own + np.array(offset)
        gaps = places - ((cell + 0.5) * widths - reach)
        inside = ((cell >= 0) & (cell < side)).all(axis=1) & (np.einsum("ij,ij->i", gaps, gaps) <= radius**2)
        chosen = np.flatnonzero(inside)
        rows.append(np.ravel_multi_index(tuple(cell[chosen].T), (side,) * p))
        columns.append(chosen)
    row, column = np.concatenate(rows), np.concatenate(columns)
    shape = (side**p, len(places))
    matrix = sparse.csr_matrix((np.ones(len(row)), (row, column)), shape=shape)
    middles = (np.stack(np.unravel_index(np.arange(side**p), (side,) * p), axis=1) + 0.5) * widths - reach
    return Cover(side, frozen(middles), matrix, sparse.csr_matrix(matrix.T))


def _span(radius: float, widths: FloatArray) -> list[int]:
    """Return how many cells (p,) away along each axis a ball's middle can be from the cell of what it covers."""
    return [int(radius / width + 0.5) for width in widths]
