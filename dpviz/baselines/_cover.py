"""Which records the balls round a grid's points cover: what EM-MC scores its candidates by. Exact, see `em_mc`."""

import itertools
from dataclasses import dataclass

import numpy as np

from dpviz.core import Confidential, Counts, FloatArray, Points, algebra, frozen, squared_norms
from dpviz.mechanisms import Indices

ROUNDING = 1e-9  # of a ball's radius: a record in a cell's corner is covered
AT_ONCE = 2**18  # pairs of a record and a nearby cell that are looked at together; ours
_NONE: Indices = np.empty(0, dtype=np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class Lists(Confidential):
    """Rows of different lengths, one after the other."""

    ends: Indices  # (rows + 1,) row i is values[ends[i] : ends[i + 1]]
    values: Indices

    @classmethod
    def of(cls, rows: Indices, values: Indices, n_rows: int) -> "Lists":
        """Put each of `values` into its row."""
        # Few different rows fit into 16 bits, and those NumPy sorts by counting.
        order = np.argsort(rows.astype(np.uint16) if n_rows <= 2**16 else rows, kind="stable")
        ends = np.zeros(n_rows + 1, dtype=np.intp)
        np.cumsum(np.bincount(rows, minlength=n_rows), out=ends[1:])
        return cls(ends, values[order])

    def row(self, index: int) -> Indices:
        """Return one row."""
        return self.values[self.ends[index] : self.ends[index + 1]]

    def rows(self, wanted: Indices) -> Indices:
        """Return some rows, one after the other."""
        first, lengths = self.ends[wanted], self.ends[wanted + 1] - self.ends[wanted]
        before = np.cumsum(lengths) - lengths
        found: Indices = self.values[np.repeat(first - before, lengths) + np.arange(lengths.sum())]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Cover(Confidential):
    """A grid and who covers whom. Curator only, but for the grid."""

    side: int  # cells along each axis
    candidates: Points  # (M, p) the cells' middles, C order
    by_candidate: Lists  # M rows: the records that each candidate covers
    by_record: Lists  # n rows: the candidates that cover each record

    @property
    def scores(self) -> Counts:
        """How many records (M,) each candidate covers."""
        return np.diff(self.by_candidate.ends).astype(np.float64)

    def fresh(self, candidate: int, left: Counts) -> Indices:
        """Return the records that one candidate covers and that are left; `left` (n,) is 1 or 0 for each record."""
        found = self.by_candidate.row(candidate)
        return found[left[found] > 0]

    def lost(self, records: Indices) -> Counts:
        """Return by how much the scores (M,) fall when these records are covered."""
        return np.bincount(self.by_record.rows(records), minlength=len(self.candidates)).astype(np.float64)


def covers(places: Points, reach: FloatArray, side: int) -> Cover:
    """Lay side^p cells over [-reach, reach] (p,) and find for each of `places` (n, p) whose ball it is in.

    A ball's radius is half a cell's diagonal. Only cells within `_span` of the record's own can cover it.
    """
    p, widths = len(reach), 2.0 * reach / side
    radius = (1.0 + ROUNDING) * algebra.length(widths) / 2.0
    own = np.clip(((places + reach) / widths).astype(np.intp), 0, side - 1)  # (n, p)
    spans = [range(-span, span + 1) for span in _span(radius, widths)]
    offsets = np.array(list(itertools.product(*spans)), dtype=np.intp)  # (o, p)
    strides = side ** np.arange(p - 1, -1, -1)  # (p,) of a cell's number
    cells, records = [], []
    rows = max(1, AT_ONCE // len(offsets))
    for first in range(0, len(places), rows):
        part = slice(first, first + rows)
        cell = own[part, None, :] + offsets  # (rows, o, p)
        gaps = places[part, None, :] - ((cell + 0.5) * widths - reach)
        squares = squared_norms(gaps.reshape(-1, p)).reshape(cell.shape[:2])
        inside = ((cell >= 0) & (cell < side)).all(axis=2) & (squares <= radius**2)
        cells.append((cell[inside] * strides).sum(axis=1))
        records.append(first + np.nonzero(inside)[0])
    cell_of, record = np.concatenate([*cells, _NONE]), np.concatenate([*records, _NONE])
    middles = (np.stack(np.unravel_index(np.arange(side**p), (side,) * p), axis=1) + 0.5) * widths - reach
    by_candidate = Lists.of(cell_of, record, side**p)
    ends = np.zeros(len(places) + 1, dtype=np.intp)
    np.cumsum(np.bincount(record, minlength=len(places)), out=ends[1:])
    return Cover(side, frozen(middles), by_candidate, Lists(ends, cell_of))  # records came in their order


def _span(radius: float, widths: FloatArray) -> list[int]:
    """Return how many cells (p,) away along each axis a ball's middle can be from the cell of what it covers."""
    return [int(radius / width + 0.5) for width in widths]
