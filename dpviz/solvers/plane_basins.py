"""Basins over a square of the plane: labels of lattices, a fine one helped by a coarse one, and of points by a lattice.

The middles of the four cells around a place speak for it where they have one minimum; everything else flows until four
such surround it. That is a rule and no proof: where four middles agree, a part of another basin that is thinner than a
cell can lie between them and is passed over. Tests compare with the flow of every point. What is asked to flow is never
mixed: labels of cells follow from the mixture alone, to the last bit.
"""

import functools

import numpy as np

from dpviz.core import FloatArray, Labels, Points, frozen
from dpviz.solvers.basins import ends_of, traps
from dpviz.solvers.flow import flow
from dpviz.solvers.mixture import Mixture

COARSER = 2  # times coarser is the lattice that helps; ours
SWEEPS = 4  # most times that labels are passed on between two steps of the flow; ours
LEFT_OVER = np.iinfo(np.intp).max  # label of a cell whose flow is given up


def lattice_basins(mixture: Mixture, n_cells: int) -> Labels:
    """Return the minimum (n_cells, n_cells) of each cell's middle over [-1, 1]^2, row 0 at low y.

    Meant to differ from the flow within half a diagonal of a coarse cell of a border alone. That holds where every part
    of a basin is wider than a cell of the coarse lattice; thinner parts can be missed, which nothing here rules out.
    """
    if len(traps(mixture).radii) == 1:
        return np.zeros((n_cells, n_cells), dtype=np.intp)
    nobody = np.full((2, 2), -1, dtype=np.intp)
    few = n_cells // COARSER
    coarse, _ = _spread(mixture, few, nobody, given_up=few)
    cells, places = _spread(mixture, n_cells, _agreeing(coarse), given_up=0)
    left = np.flatnonzero(cells < 0)
    cells.ravel()[left] = ends_of(mixture, places[left])
    return cells


def _spread(mixture: Mixture, n_cells: int, around: Labels, *, given_up: int) -> tuple[Labels, Points]:
    """Return labels of cells (g, g) that speak for each other as soon as they know, and where flows ended (g^2, 2).

    A cell on its way is done where four that are done, or `around`, surround it: few steps bring it there. When no more
    than `given_up` are left, they have -1, as has what ends far from any trap.
    """
    places, sure = _middles(n_cells), traps(mixture)
    cells = _spoken_for(places, around)
    flowing = np.flatnonzero(cells < 0)

    def watch(rows: Labels, where: Points, density: FloatArray) -> Labels:
        found, at, numbers = _spoken_for(where, around), _corners(where, n_cells), flowing[rows]
        caught = sure.caught(where, density)
        found = np.where(found < 0, caught, found)
        cells[numbers] = found
        for _ in range(SWEEPS):
            left = np.flatnonzero(found < 0)
            told = _agreed(cells, n_cells, at[left])
            if not (told >= 0).any():
                break
            cells[numbers[left]] = found[left] = told
        return np.where(found < 0, LEFT_OVER, found) if (found < 0).sum() <= given_up else found

    places[flowing], _, _ = flow(mixture, places[flowing], watch=watch)
    return cells.reshape(n_cells, n_cells), places


def basins_by_lattice(mixture: Mixture, points: Points, cells: Labels) -> Labels:
    """Return the minimum (n,) of `points` (n, 2) in [-1, 1]^2, given `lattice_basins` (g, g).

    One of the middles that spoke for a point is within half a diagonal of a cell of it, or of a place on its way down,
    and has the label. So a label is as good as the lattice's: near borders, and where a part of a basin is thinner than
    a cell, it can differ from that of the flow.
    """
    return _basins_around(mixture, points, _agreeing(cells))


def _basins_around(mixture: Mixture, points: Points, around: Labels) -> Labels:
    labels = _spoken_for(points, around)
    left = np.flatnonzero(labels < 0)
    labels[left] = _basins(mixture, points[left], around)
    return labels


def _basins(mixture: Mixture, points: Points, around: Labels) -> Labels:
    """Return the minimum (n,) that `points` (n, 2) flow to, each only until a trap or `around` is certain."""
    sure = traps(mixture)
    if len(sure.radii) == 1:
        return np.zeros(len(points), dtype=np.intp)

    def watch(rows: Labels, places: Points, density: FloatArray) -> Labels:
        del rows
        found = _spoken_for(places, around)
        left = np.flatnonzero(found < 0)
        found[left] = sure.caught(places[left], density[left])
        return found

    places, labels, _ = flow(mixture, points, watch=watch)
    left = np.flatnonzero(labels < 0)
    labels[left] = ends_of(mixture, places[left])
    return labels


def _middles(n_cells: int) -> Points:
    """Return the middles (n_cells^2, 2) of cells, row by row from low y."""
    at = (2.0 * np.arange(n_cells) + 1.0) / n_cells - 1.0
    return np.stack(np.meshgrid(at, at), axis=-1).reshape(-1, 2)


def _agreeing(cells: Labels) -> Labels:
    """Return the minimum (g + 1, g + 1) that the four middles around each corner of cells agree on, else -1.

    A cell at the edge stands for what is beyond it, half a cell far. The first corner is never agreed on.
    """
    n_cells = len(cells)
    return _agreed(cells.ravel(), n_cells, np.arange((n_cells + 1) ** 2)).reshape(n_cells + 1, n_cells + 1)


def _agreed(cells: Labels, n_cells: int, corners: Labels) -> Labels:
    """Return what `_agreeing` does at some corners (m,), row by row, of `cells` (n_cells^2,)."""
    first, *others = cells[_around(n_cells)[:, corners]]
    same = corners > 0  # the first one stands for all that is outside
    for other in others:
        same &= other == first
    return np.where(same, first, -1)


@functools.lru_cache(maxsize=8)
def _around(n_cells: int) -> Labels:
    """Return the four cells around each corner (4, (n_cells + 1)^2), row by row."""
    low, high = np.maximum(np.arange(n_cells + 1) - 1, 0), np.minimum(np.arange(n_cells + 1), n_cells - 1)
    return frozen(np.stack([(y[:, None] * n_cells + x).ravel() for y in (low, high) for x in (low, high)]))


def _spoken_for(places: Points, around: Labels) -> Labels:
    """Return the label (n,) of the four middles around each of `places` (n, 2), or -1; outside of [-1, 1]^2 always."""
    return around.ravel()[_corners(places, len(around) - 1)]


def _corners(places: Points, n_cells: int) -> Labels:
    """Return which corner of cells (n,) each of `places` (n, 2) is nearest to, row by row; outside that of low x and y.

    Nothing speaks for that one: no label is given there.
    """
    at = ((places + 1.0) * (0.5 * n_cells) + 0.5).astype(np.intp)
    inside = (np.abs(places) <= 1.0).all(axis=1)
    return np.where(inside, at[:, 1] * (n_cells + 1) + at[:, 0], 0)
