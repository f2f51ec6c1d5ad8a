"""Labels of points by flowing down: many points at once, each only until it is certain where it will end.

Byun, Choi & Lee, theorem E.2: a new point needs no retraining and no budget. The density only
rises along the flow, so a point is certain as soon as it is inside an ellipsoid around a minimum, denser than the whole
rim, with no other critical point inside.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpviz.core import FloatArray, Labels, Points, as_points, frozen
from dpviz.solvers.descent import axes
from dpviz.solvers.flow import flow, settle
from dpviz.solvers.merge import merge_tree
from dpviz.solvers.mixture import Mixture
from dpviz.solvers.saddles import Landscape, landscape

ROWS = 8192  # points at a time: temporaries stay in the cache; ours
RIM_POINTS = 256  # directions in which a rim is looked at; ours
RADII = tuple(
    16.0 * 0.5**i for i in range(14)
)  # squared, in units of the curvature at the minimum; tried in turn; ours
RIM_DROP = 0.25  # of the squared radius: ln p must have fallen by this on the whole rim (a parabola falls by 0.5); ours


@dataclass(frozen=True, slots=True, eq=False)
class _Trap:
    """Where a point is certain to end in one minimum."""

    middle: FloatArray  # (D,)
    curvature: FloatArray  # (D, D) Hessian of -ln p there
    radius: float  # squared, in units of the curvature; 0: no trap
    rim: float  # a point must be denser than this, ln p


def assign_basins(mixture: Mixture, points: ArrayLike) -> Labels:
    """Return the minimum (n,), a row of `critical_points`, that each of `points` (n, D) flows down to."""
    rows = as_points(points, n_features=mixture.d)
    land = landscape(mixture)
    if len(land.minima) == 1:
        return np.zeros(len(rows), dtype=np.intp)
    traps = _traps(mixture, land)
    parts = [_labelled(mixture, land, traps, rows[i : i + ROWS]) for i in range(0, len(rows), ROWS)]
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


def _labelled(mixture: Mixture, land: Landscape, traps: tuple[_Trap, ...], rows: Points) -> Labels:
    places, labels, _ = flow(mixture, rows, watch=lambda where, density: _caught(traps, where, density))
    left = np.flatnonzero(labels < 0)
    labels[left] = _nearest(mixture, land, settle(mixture, places[left]))
    return labels


def _caught(traps: tuple[_Trap, ...], places: Points, density: FloatArray) -> Labels:
    found = np.full(len(places), -1, dtype=np.intp)
    dense = np.flatnonzero(density > min(trap.rim for trap in traps))
    if not len(dense):
        return found
    rows, level = places[dense], density[dense]
    for i, trap in enumerate(traps):
        near = np.flatnonzero(level > trap.rim)
        gaps = rows[near] - trap.middle
        inside = np.einsum("nd,nd->n", gaps @ trap.curvature, gaps) < trap.radius
        found[dense[near[inside]]] = i
    return found


def _nearest(mixture: Mixture, land: Landscape, ends: Points) -> Labels:
    if not len(ends):
        return np.empty(0, dtype=np.intp)
    metric = mixture.at(land.minima).metric
    gaps = ends[:, None] - land.minima
    return np.asarray(np.einsum("nld,lde,nle->nl", gaps, metric, gaps).argmin(axis=1), dtype=np.intp)


def _traps(mixture: Mixture, land: Landscape) -> tuple[_Trap, ...]:
    """Return a trap for each minimum: the largest of RADII that holds no other critical point and has a low rim."""
    directions = np.random.default_rng(0).standard_normal((RIM_POINTS, mixture.d))  # a number of the method
    directions = np.concatenate([directions, np.eye(mixture.d), -np.eye(mixture.d)])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    here = axes(mixture.at(land.minima))
    traps = []
    for i, middle in enumerate(land.minima):
        curvature = -mixture.hessian(middle[None])[0]
        others = np.concatenate([np.delete(land.minima, i, axis=0), land.candidates.locations]) - middle
        nearest = float(np.einsum("nd,nd->n", others @ curvature, others).min(initial=np.inf))
        # In the basis where R is 1, the ellipsoid's axes are 1 / sqrt(curvature) long.
        stretch = here.basis[i] / np.sqrt(np.maximum(here.curvatures[i], 1e-12))
        radius, rim = 0.0, np.inf
        for squared in RADII:
            highest = float(mixture.log_density(middle + np.sqrt(squared) * directions @ stretch.T).max())
            if squared < nearest and highest < land.log_densities[i] - RIM_DROP * squared:
                radius, rim = squared, highest
                break
        # A rim is looked at in finitely many directions: stay clear of it by half the radius and a quarter of the drop.
        margin = (float(land.log_densities[i]) - rim) / 4 if radius else 0.0
        traps.append(_Trap(frozen(middle.copy()), curvature, radius / 2, rim + margin))
    return tuple(traps)
