"""Basins of a landscape: labels of points by flowing down, and over a square of the plane by a lattice of cells.

Byun, Choi & Lee, theorem E.2: a new point needs no retraining and no budget. The density only rises along the flow, so
the end of a point is certain as soon as it is inside an ellipsoid around a minimum, denser than the whole rim, with no
other critical point inside.

Over a square of the plane, a place takes the label of the four cells around it if their middles have the same minimum;
every other place flows until four such cells surround it. That is a rule, not a proof: where four middles agree, a part
of a different basin that is thinner than a cell can lie between them and is missed. Tests compare with the flow of
every point. Labels of cells follow from the mixture alone, to the last bit, because no other point flows among them.
"""

import functools

import numpy as np
from numpy.typing import ArrayLike

from dpviz.core import FloatArray, Labels, Points, algebra, as_points, frozen, functions
from dpviz.solvers.landscapes.flow import NONE, axes, flow, settle
from dpviz.solvers.landscapes.merge import merge_tree
from dpviz.solvers.landscapes.mixture import Mixture
from dpviz.solvers.landscapes.saddles import landscape
from dpviz.solvers.landscapes.walks import Traps

# Points at a time, so that temporaries stay in the cache. Our choice.
ROWS = 8192
# Directions in which a rim is sampled. Our choice.
RIM_POINTS = 256
# Directions in the plane, where they can be evenly spaced. Our choice.
PLANE_RIM_POINTS = 64
# Squared radii to try in turn, in units of the curvature at the minimum. Our choice.
RADII = tuple(16.0 * 0.5**i for i in range(14))
# Required fall of ln p on the whole rim, as a share of the squared radius (a parabola falls by 0.5). Our choice.
RIM_DROP = 0.25


def assign_basins(mixture: Mixture, points: ArrayLike) -> Labels:
    """Return the minimum (n,), a row of `Landscape.minima`, that each of `points` (n, D) flows down to."""
    rows = as_points(points, n_features=mixture.d)
    labels = np.zeros(len(rows), dtype=np.intp)
    if len(landscape(mixture).minima) > 1:
        for i in range(0, len(rows), ROWS):
            places, part, _ = flow(mixture, rows[i : i + ROWS], traps(mixture))
            _settle_rest(mixture, places, part)
            labels[i : i + ROWS] = part
    return labels


def assign_components(mixture: Mixture, points: ArrayLike) -> Labels:
    """Return the minimum (n,) that the mean of each point's likeliest component flows to: cheap, but not the flow."""
    rows = as_points(points, n_features=mixture.d)
    best = [mixture.log_terms(rows[i : i + ROWS]).argmax(axis=1) for i in range(0, len(rows), ROWS)]
    components = np.concatenate(best) if best else np.empty(0, dtype=np.intp)
    return landscape(mixture).component_minima[components]


def assign_clusters(mixture: Mixture, points: ArrayLike, n_clusters: int, *, cheap: bool = False) -> Labels:
    """Return the cluster of each point when the hierarchy is cut to a number of clusters.

    Parameters
    ----------
    mixture
        The landscape.
    points
        Points (n, D).
    n_clusters
        Number of clusters, at least 1; there are at most as many as minima.
    cheap
        Whether points go by their likeliest component instead of flowing down.

    Returns
    -------
    Labels
        Clusters (n,).

    Raises
    ------
    ValueError
        If points are bad, or `n_clusters` is below 1.
    """
    clusters = merge_tree(mixture).cut(n_clusters)
    basins = assign_components(mixture, points) if cheap else assign_basins(mixture, points)
    return clusters[basins]


def _settle_rest(mixture: Mixture, places: Points, labels: Labels) -> Labels:
    """Label `places` (n, D) that have none (-1) by the minimum that they settle in; return their rows."""
    rest = np.flatnonzero(labels < 0)
    if len(rest):
        minima = landscape(mixture).minima
        metric = mixture.at(minima).metric
        gaps = settle(mixture, places[rest])[:, None] - minima
        labels[rest] = np.einsum("nld,lde,nle->nl", gaps, metric, gaps).argmin(axis=1)
    return rest


@functools.lru_cache(maxsize=64)
def traps(mixture: Mixture) -> Traps:
    """Return a trap for each minimum: the largest of RADII that holds no other critical point and has a low rim."""
    land = landscape(mixture)
    rims = _directions(mixture.d)
    here = axes(mixture, land.minima)
    bent = -mixture.hessian(land.minima)
    # In the basis where R is 1, the ellipsoid's axes are 1 / sqrt(curvature) long.
    stretch = here.basis / np.sqrt(np.maximum(here.curvatures, 1e-12))[:, None]
    others = np.concatenate([land.minima, land.candidates.locations]) - land.minima[:, None]  # (L, m, D)
    away = np.einsum("lmd,lmd->lm", algebra.product(others, bent), others)
    n_minima = len(land.minima)
    away[np.arange(n_minima), np.arange(n_minima)] = np.inf
    nearest = away.min(axis=1)
    radii, levels = np.zeros(n_minima), np.full(n_minima, np.inf)
    for squared in RADII:
        rest = np.flatnonzero((radii == 0) & (nearest > squared))
        if not len(rest):
            continue
        rim = land.minima[rest, None] + algebra.product(np.sqrt(squared) * rims, stretch[rest].transpose(0, 2, 1))
        highest = mixture.log_density(rim.reshape(-1, mixture.d)).reshape(len(rest), -1).max(axis=1)
        low = highest < land.log_densities[rest] - RIM_DROP * squared
        radii[rest[low]], levels[rest[low]] = squared, highest[low]
    # A rim is sampled in finitely many directions, so stay away from it by half the radius and a quarter of the drop.
    margin = np.where(radii > 0, (land.log_densities - np.where(radii > 0, levels, 0.0)) / 4, 0.0)
    values, vectors = algebra.eigen(bent)
    roots = (vectors * np.sqrt(np.maximum(values, 0.0))[:, None]).transpose(0, 2, 1)
    middles = np.einsum("lfe,le->lf", roots, land.minima)
    return Traps(*(frozen(np.ascontiguousarray(each)) for each in (middles, roots, radii / 2, levels + margin)))


@functools.lru_cache(maxsize=16)
def _directions(d: int) -> FloatArray:
    """Return unit vectors (m, d) of a rim's samples: even in the plane, else random, but the same in every run."""
    if d == 2:
        angle = 2.0 * np.pi * np.arange(PLANE_RIM_POINTS) / PLANE_RIM_POINTS
        return frozen(np.stack([functions.cos(angle), functions.sin(angle)], axis=1))
    directions = np.random.default_rng(0).standard_normal((RIM_POINTS if d > 2 else 0, d))
    directions = np.concatenate([directions, np.eye(d), -np.eye(d)])
    return frozen(directions / np.linalg.norm(directions, axis=1, keepdims=True))


def lattice_basins(mixture: Mixture, n_cells: int) -> Labels:
    """Return the minimum (n_cells, n_cells) of each cell's middle over [-1, 1]^2, row 0 at low y.

    The labels should differ from the flow only within a cell's diagonal of a border. That holds where every part of a
    basin is wider than two cells; thinner parts can be missed, which nothing here rules out.
    """
    if len(traps(mixture).radii) == 1:
        return np.zeros((n_cells, n_cells), dtype=np.intp)
    cells = np.full(n_cells**2, -1, dtype=np.intp)
    at = (2.0 * np.arange(n_cells) + 1.0) / n_cells - 1.0
    # Middles of the cells, row by row from low y.
    middles = np.stack(np.meshgrid(at, at), axis=-1).reshape(-1, 2)
    # Start with the densest cell. Later cells climb to cells that already have a label.
    order = np.argsort(-mixture.log_density(middles), kind="stable")
    _flowed(mixture, middles[order], cells, own=order)
    return cells.reshape(n_cells, n_cells)


def basins_by_lattice(mixture: Mixture, points: Points, cells: Labels) -> Labels:
    """Return the minimum of each point, from the basins of a lattice.

    A point gets its label from a middle within half a cell's diagonal of the point, or of a place on its way down. So a
    label is as good as the lattice: near borders, and where a part of a basin is thinner than a cell, it can differ
    from the flow.

    Parameters
    ----------
    mixture
        The landscape.
    points
        Points (n, 2) in [-1, 1]^2.
    cells
        `lattice_basins` (g, g).

    Returns
    -------
    Labels
        Minima (n,).
    """
    if len(traps(mixture).radii) == 1:
        return np.zeros(len(points), dtype=np.intp)
    return _flowed(mixture, points, np.array(cells).ravel(), own=NONE)


def _flowed(mixture: Mixture, points: Points, cells: Labels, *, own: Labels) -> Labels:
    """Return the minimum (n,) that `points` (n, 2) flow to, each only until a trap or four of `cells` are certain.

    Start i labels the cell `own[i]`, where it stands for one.
    """
    places, labels, _ = flow(mixture, points, traps(mixture), cells, own)
    rest = _settle_rest(mixture, places, labels)
    if len(own):
        cells[own[rest]] = labels[rest]
    return labels
