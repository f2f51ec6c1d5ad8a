"""Basins over a square of the plane: labels of a lattice's cells, and of points by a lattice.

The middles of the four cells around a place speak for it where they have one minimum; everything else flows until four
such surround it. That is a rule and no proof: where four middles agree, a part of another basin that is thinner than a
cell can lie between them and is passed over. Tests compare with the flow of every point. What is asked to flow is never
mixed: labels of cells follow from the mixture alone, to the last bit.
"""

import numpy as np

from dpviz.core import Labels, Points
from dpviz.solvers.landscapes.basins import ends_of, traps
from dpviz.solvers.landscapes.flow import FLOW_STEPS
from dpviz.solvers.landscapes.mixture import Mixture
from dpviz.solvers.landscapes.plane import flow_down
from dpviz.solvers.landscapes.step_rules import step_rules


def lattice_basins(mixture: Mixture, n_cells: int) -> Labels:
    """Return the minimum (n_cells, n_cells) of each cell's middle over [-1, 1]^2, row 0 at low y.

    Meant to differ from the flow within a diagonal of a cell of a border alone. That holds where every part of a basin
    is wider than two cells; thinner parts can be missed, which nothing here rules out.
    """
    if len(traps(mixture).radii) == 1:
        return np.zeros((n_cells, n_cells), dtype=np.intp)
    cells = np.full(n_cells**2, -1, dtype=np.intp)
    middles = _middles(n_cells)
    # From the densest on: whoever comes later climbs to where the cells know already.
    order = np.argsort(-mixture.quick_log_density(middles), kind="stable")
    _flowed(mixture, middles[order], cells, own=order)
    return cells.reshape(n_cells, n_cells)


def basins_by_lattice(mixture: Mixture, points: Points, cells: Labels) -> Labels:
    """Return the minimum (n,) of `points` (n, 2) in [-1, 1]^2, given `lattice_basins` (g, g).

    One of the middles that spoke for a point is within half a diagonal of a cell of it, or of a place on its way down,
    and has the label. So a label is as good as the lattice's: near borders, and where a part of a basin is thinner than
    a cell, it can differ from that of the flow.
    """
    if len(traps(mixture).radii) == 1:
        return np.zeros(len(points), dtype=np.intp)
    return _flowed(mixture, points, np.array(cells).ravel(), own=np.empty(0, dtype=np.intp))


def _flowed(mixture: Mixture, points: Points, cells: Labels, *, own: Labels) -> Labels:
    """Return the minimum (n,) that `points` (n, 2) flow to, each only until a trap or four of `cells` are certain.

    Start i labels the cell `own[i]`, where it stands for one.
    """
    sure = traps(mixture)
    if mixture.plane is None:
        raise AssertionError("this mixture is not in the plane")
    places, labels, _ = flow_down(mixture.plane, points, sure.rows(), cells, own, FLOW_STEPS, step_rules())
    left = np.flatnonzero(labels < 0)
    labels[left] = ends_of(mixture, places[left])
    if len(own):
        cells[own[left]] = labels[left]
    return labels


def _middles(n_cells: int) -> Points:
    """Return the middles (n_cells^2, 2) of cells, row by row from low y."""
    at = (2.0 * np.arange(n_cells) + 1.0) / n_cells - 1.0
    return np.stack(np.meshgrid(at, at), axis=-1).reshape(-1, 2)
