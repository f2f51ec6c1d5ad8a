"""A mixture's landscape on a plane: density, regions, contours, ellipses, paths: all of it post-processing.

The mixture lives in [-1, 1]^D, a picture in box units. In two dimensions the plane is the landscape itself; of more,
it shows the marginal, which is a mixture again and is drawn exactly, while basins have no borders in it.
"""

from dataclasses import dataclass

import numpy as np
from contourpy import LineType, contour_generator

from dpviz.core import Confidential, FloatArray, Labels, Points, algebra, frozen
from dpviz.solvers import Mixture, basins_by_lattice, flow_lines, lattice_basins
from dpviz.stories.view import Projection

LABELLED = 48  # cells a side whose basin is computed
FINE = 2  # times finer is the density
CELLS = LABELLED * FINE
N_CONTOURS = 9
CONTOUR_STEP = 0.6  # of ln p from one contour to the next
ELLIPSE_POINTS = 33
ELLIPSE_SIZE = 1.0  # standard deviations
PATH_REACH = 0.3  # standard deviations of one step of a path
PATH_STEPS = 48
PATH_END = 1e-3  # standard deviations of the step that a path ends before
PATH_STARTS = 7  # a side of the lattice that flow lines begin at


def signed(unit: FloatArray) -> FloatArray:
    """Return box units (..., D) as the mixture's."""
    return 2.0 * unit - 1.0


def unsigned(places: FloatArray) -> FloatArray:
    """Return the mixture's units (..., D) as box units."""
    return (places + 1.0) / 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Relief:
    """The density over the plane's square, cell by cell, row 0 at low y."""

    middles: FloatArray  # (CELLS,) of the cells, plane units
    log_share: FloatArray  # (CELLS, CELLS) ln of the density over the highest one drawn
    highest: float  # ln of that one, per plane unit


@dataclass(frozen=True, slots=True, eq=False)
class Regions(Confidential):
    """Which minimum each cell's middle, and each record, flows to."""

    cells: Labels  # (LABELLED, LABELLED) rows of `critical_points`, row 0 at low y
    nonprivate_records: Labels  # (n,)


def marginal(mixture: Mixture, plane: Projection) -> Mixture:
    """Return the mixture of what `plane` shows, in plane units: the density integrated over all other directions."""
    columns = plane.matrix[:, :1] if plane.d == 1 else plane.matrix
    means = unsigned(mixture.means) @ columns + plane.offset[: columns.shape[1]]
    spread = columns.T @ (mixture.covariances / 4.0) @ columns
    return Mixture(mixture.weights, means, (spread + spread.transpose(0, 2, 1)) / 2)


def window(plane: Projection) -> FloatArray:
    """Return the square (2, 2), ends of x and of y, that a relief covers."""
    if plane.corners is not None:
        return np.array([[0.0, 1.0], [0.0, 1.0]])
    return np.array([plane.x.view, plane.y.view])


def lattice(plane: Projection, n: int) -> FloatArray:
    """Return the middles (n, n, 2) of n x n cells of the window."""
    ends = window(plane)
    share = (np.arange(n) + 0.5) / n
    x, y = (low + share * (high - low) for low, high in ends)
    return np.stack(np.meshgrid(x, y), axis=-1)


def relief(shown: Mixture, plane: Projection) -> Relief:
    """Return the density of the marginal `shown` over the plane."""
    cells = lattice(plane, CELLS)
    logs = shown.quick_log_density(cells.reshape(-1, 2)).reshape(CELLS, CELLS)
    return Relief(frozen(cells[0, :, 0].copy()), frozen(logs - logs.max()), float(logs.max()))


def regions(mixture: Mixture, n_minima: int, unit: Points) -> Regions:
    """Return the basins of a mixture in two dimensions, of cells and records `unit` (n, 2), by flowing down.

    Labels are those of `lattice_basins` and `basins_by_lattice`, which say how near to borders they can be wrong. The
    eigenvalues of covariances have a floor, so that few parts of basins are as thin as a cell.
    """
    if n_minima == 1:
        return Regions(np.zeros((LABELLED, LABELLED), dtype=np.intp), np.zeros(len(unit), dtype=np.intp))
    cells = lattice_basins(mixture, LABELLED)
    return Regions(frozen(cells), frozen(basins_by_lattice(mixture, signed(unit), cells)))


def contour_levels() -> FloatArray:
    """Return ln shares of the highest density, equal steps downwards."""
    return np.asarray(-CONTOUR_STEP * (np.arange(N_CONTOURS) + 0.5))


def contours(found: Relief, levels: FloatArray, plane: Projection) -> list[FloatArray]:
    """Return the curves (p, 2) where the density has each of `levels` (m,), NaN after each of them."""
    rows = lattice(plane, CELLS)[:, 0, 1]
    made = contour_generator(found.middles, rows, found.log_share, line_type=LineType.ChunkCombinedNan)
    lines = [made.lines(float(level))[0][0] for level in levels]
    gap = np.full((1, 2), np.nan)
    return [gap if line is None else np.concatenate([line, gap]) for line in lines]


def ellipses(shown: Mixture) -> FloatArray:
    """Return each component of a marginal in the plane as a closed curve (K, p, 2) at one standard deviation."""
    angle = np.linspace(0.0, 2.0 * np.pi, ELLIPSE_POINTS)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    values, vectors = algebra.eigen(shown.covariances)
    axes = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    return np.asarray(shown.means[:, None] + ELLIPSE_SIZE * np.einsum("kij,pj->kpi", axes, circle))


def paths(mixture: Mixture, starts: Points) -> FloatArray:
    """Return the flow lines dx/dt = grad log p from `starts` (m, D) as (m, p, D), NaN after their end."""
    return flow_lines(mixture, starts, n_steps=PATH_STEPS, reach=PATH_REACH, end=PATH_END)


def flow_starts(d: int) -> FloatArray:
    """Return public places (m, d) in [-1, 1]^d that flow lines begin at: a lattice, in many dimensions a spiral."""
    if d == 1:
        return np.linspace(-0.95, 0.95, 2 * PATH_STARTS)[:, None]
    if d == 2:
        # In the middles of cells, so that their basins are known.
        share = signed((np.linspace(2, LABELLED - 3, PATH_STARTS).astype(np.intp) + 0.5) / LABELLED)
        return np.stack(np.meshgrid(share, share), axis=-1).reshape(-1, 2)
    # Kronecker's sequence of the generalised golden ratio fills a cube evenly, without randomness.
    ratio = 2.0
    for _ in range(32):
        ratio = (1.0 + ratio) ** (1.0 / (d + 1))
    shares = np.modf(0.5 + np.arange(1, PATH_STARTS**2 + 1)[:, None] * ratio ** -np.arange(1.0, d + 1))[0]
    return np.asarray(shares * 1.86 - 0.93)
