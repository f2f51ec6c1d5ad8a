"""The coreset of the public targets: k-d cells, split until every target is within C of its cell's representative.

Friedman, Bentley & Finkel's k-d tree; Schnapp & Sabato, section 6 and appendix B. No record is looked at.
"""

from functools import lru_cache

import numpy as np

from dpviz.core import BoolArray, Counts, Labels, Points, ReadOnly, immutable

# Coresets that are kept, because the same targets return at every value of the privacy slider.
REMEMBERED = 8


@immutable
class Coreset(ReadOnly):
    """Targets that represent all targets. Public."""

    # (r,) indices into the targets.
    representatives: Labels
    # (n,) representative of each target.
    owners: Labels
    # (r,) number of targets of each representative.
    weights: Counts


def coreset(points: Points, radius: float) -> Coreset:
    """Return representatives of `points` (n, d), n >= 1, so that each point is within `radius` of its own.

    A cell's representative is the point nearest to the cell's mean; a cell that is too large is halved at the median of
    its widest axis, like the inventors of the k-d tree do. The median cuts through groups, which helps: among a group's
    several cells, only those at its rim are the nearest to records far away, whose mean would mislead. (Halving in the
    middle makes 32 cells of synthetic 2 instead of 270, and doubles NNA's cost.) All cells of a level are split
    together. With radius 0 every point represents itself.
    """
    n = len(points)
    if not radius > 0:
        every = np.arange(n, dtype=np.intp)
        return Coreset(every, every.copy(), np.ones(n))
    return _split(np.asarray(points, dtype=np.float64).tobytes(), points.shape[1], float(radius))


@lru_cache(maxsize=REMEMBERED)
def _split(targets: bytes, d: int, radius: float) -> Coreset:
    """Return the coreset of targets (n, d), given as bytes, for a radius above 0."""
    points = np.frombuffer(targets).reshape(-1, d)
    n = len(points)
    owners, representatives_by_level = np.empty(n, dtype=np.intp), []
    # Points of open cells, grouped by cell.
    rows, starts = np.arange(n, dtype=np.intp), np.zeros(1, dtype=np.intp)
    n_closed = 0
    while len(rows):
        sizes = np.diff(np.append(starts, len(rows)))
        cells = np.repeat(np.arange(len(starts)), sizes)
        inside = points[rows]
        # Each cell's point nearest to its mean, the first on a tie.
        gaps = inside - (np.add.reduceat(inside, starts, axis=0) / sizes[:, None])[cells]
        squares = np.einsum("ij,ij->i", gaps, gaps)
        least = np.flatnonzero(squares == np.minimum.reduceat(squares, starts)[cells])
        first = least[np.unique(cells[least], return_index=True)[1]]
        gaps = inside - inside[first][cells]
        closed = np.maximum.reduceat(np.einsum("ij,ij->i", gaps, gaps), starts) <= radius**2
        numbers = n_closed + np.cumsum(closed) - 1
        owners[rows[closed[cells]]] = numbers[cells[closed[cells]]]
        representatives_by_level.append(rows[first[closed]])
        n_closed += int(closed.sum())
        rows, starts = _halved(rows, inside, cells, starts, ~closed)
    representatives = np.concatenate(representatives_by_level)
    return Coreset(representatives, owners, np.bincount(owners, minlength=len(representatives)).astype(np.float64))


def _halved(
    rows: Labels, inside: Points, cells: Labels, starts: Labels, open_cells: BoolArray
) -> tuple[Labels, Labels]:
    """Return the points of the open cells, each cell's lower half first, and where each half begins."""
    widths = np.maximum.reduceat(inside, starts, axis=0) - np.minimum.reduceat(inside, starts, axis=0)
    values = np.take_along_axis(inside, widths.argmax(axis=1)[cells][:, None], axis=1)[:, 0]
    open_rows = np.flatnonzero(open_cells[cells])
    # The sort is stable, so equal values keep their order.
    order = open_rows[np.lexsort((values[open_rows], cells[open_rows]))]
    owner = cells[order]
    sizes = np.bincount(owner, minlength=len(starts))
    rank = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[owner]
    # An open cell has at least two points, so neither half is empty.
    upper = rank >= (sizes // 2)[owner]
    return rows[order], np.flatnonzero(np.diff(2 * owner + upper, prepend=-1))
