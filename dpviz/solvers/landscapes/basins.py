"""Labels of points by flowing down: many points at once, each only until it is certain where it will end.

Byun, Choi & Lee, theorem E.2: a new point needs no retraining and no budget. The density only
rises along the flow, so a point is certain as soon as it is inside an ellipsoid around a minimum, denser than the whole
rim, with no other critical point inside.
"""

import functools

import numpy as np
from numpy.typing import ArrayLike

from dpviz.core import FloatArray, Labels, Points, algebra, as_points, frozen, functions
from dpviz.solvers.landscapes.descent import axes
from dpviz.solvers.landscapes.flow import flow, settle
from dpviz.solvers.landscapes.merge import merge_tree
from dpviz.solvers.landscapes.mixture import Mixture
from dpviz.solvers.landscapes.saddles import Landscape, landscape
from dpviz.solvers.landscapes.traps import Traps

ROWS = 8192  # points at a time: temporaries stay in the cache; ours
RIM_POINTS = 256  # directions in which a rim is looked at; ours
PLANE_RIM_POINTS = 64  # the same in the plane, where they can be even; ours
RADII = tuple(
    16.0 * 0.5**i for i in range(14)
)  # squared, in units of the curvature at the minimum; tried in turn; ours
RIM_DROP = 0.25  # of the squared radius: ln p must have fallen by this on the whole rim (a parabola falls by 0.5); ours


def assign_basins(mixture: Mixture, points: ArrayLike) -> Labels:
    """Return the minimum (n,), a row of `critical_points`, that each of `points` (n, D) flows down to."""
    rows = as_points(points, n_features=mixture.d)
    land = landscape(mixture)
    if len(land.minima) == 1:
        return np.zeros(len(rows), dtype=np.intp)
    sure = traps(mixture)
    parts = [_labelled(mixture, rows[i : i + ROWS], sure) for i in range(0, len(rows), ROWS)]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.intp)


def assign_components(mixture: Mixture, points: ArrayLike) -> Labels:
    """Return the minimum (n,) that the mean of each point's likeliest component flows to: cheap, and not the flow."""
    rows = as_points(points, n_features=mixture.d)
    best = [mixture.quick_log_terms(rows[i : i + ROWS]).argmax(axis=1) for i in range(0, len(rows), ROWS)]
    found = np.concatenate(best) if best else np.empty(0, dtype=np.intp)
    return np.asarray(landscape(mixture).component_minima[found])


def assign_clusters(mixture: Mixture, points: ArrayLike, n_clusters: int, *, cheap: bool = False) -> Labels:
    """Return the cluster (n,) of each of `points` (n, D) when the hierarchy is cut to `n_clusters`.

    By flowing down, or with `cheap=True` by the likeliest component. There are at most as many clusters as minima.
    Raises ValueError for bad points and for n_clusters < 1.
    """
    clusters = merge_tree(mixture).cut(n_clusters)
    basins = assign_components(mixture, points) if cheap else assign_basins(mixture, points)
    return np.asarray(clusters[basins])


def _labelled(mixture: Mixture, rows: Points, sure: Traps) -> Labels:
    places, labels, _ = flow(mixture, rows, sure)
    left = np.flatnonzero(labels < 0)
    labels[left] = ends_of(mixture, places[left])
    return labels


def ends_of(mixture: Mixture, places: Points) -> Labels:
    """Return the minimum (n,) that each of `places` (n, D) settles in."""
    return _nearest(mixture, landscape(mixture), settle(mixture, places))


def _nearest(mixture: Mixture, land: Landscape, ends: Points) -> Labels:
    if not len(ends):
        return np.empty(0, dtype=np.intp)
    metric = mixture.at(land.minima).metric
    gaps = ends[:, None] - land.minima
    return np.asarray(np.einsum("nld,lde,nle->nl", gaps, metric, gaps).argmin(axis=1), dtype=np.intp)


@functools.lru_cache(maxsize=64)
def traps(mixture: Mixture) -> Traps:
    """Return a trap for each minimum: the largest of RADII that holds no other critical point and has a low rim."""
    land = landscape(mixture)
    rims = _directions(mixture.d)
    here = axes(mixture.at(land.minima))
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
        left = np.flatnonzero((radii == 0) & (nearest > squared))
        if not len(left):
            continue
        rim = land.minima[left, None] + algebra.product(np.sqrt(squared) * rims, stretch[left].transpose(0, 2, 1))
        highest = mixture.quick_log_density(rim.reshape(-1, mixture.d)).reshape(len(left), -1).max(axis=1)
        low = highest < land.log_densities[left] - RIM_DROP * squared
        radii[left[low]], levels[left[low]] = squared, highest[low]
    # A rim is looked at in finitely many directions: stay clear of it by half the radius and a quarter of the drop.
    margin = np.where(radii > 0, (land.log_densities - np.where(radii > 0, levels, 0.0)) / 4, 0.0)
    values, vectors = algebra.eigen(bent)
    roots = (vectors * np.sqrt(np.maximum(values, 0.0))[:, None]).transpose(1, 2, 0)  # (D, D, L)
    return Traps(
        middles=frozen(np.einsum("ld,del->el", land.minima, roots)),
        whiteners=frozen(roots.reshape(mixture.d, -1)),
        radii=frozen(radii / 2),
        rims=frozen(levels + margin),
    )


@functools.lru_cache(maxsize=16)
def _directions(d: int) -> FloatArray:
    """Return unit vectors (m, d) in which a rim is looked at: even in the plane, else drawn, a number of the method."""
    if d == 2:
        angle = 2.0 * np.pi * np.arange(PLANE_RIM_POINTS) / PLANE_RIM_POINTS
        return frozen(np.stack([functions.cos(angle), functions.sin(angle)], axis=1))
    directions = np.random.default_rng(0).standard_normal((RIM_POINTS if d > 2 else 0, d))
    directions = np.concatenate([directions, np.eye(d), -np.eye(d)])
    return frozen(directions / np.linalg.norm(directions, axis=1, keepdims=True))
