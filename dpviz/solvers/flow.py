"""The gradient flow dx/dt = grad log p itself, batched: system (5) of Byun, Choi & Lee with the metric R = I.

Each step solves the flow of the local quadratic exactly (exponential Rosenbrock-Euler, order 2; Hochbruck & Ostermann
2010, section 2.4): with H = Q diag(l) Q' the Hessian of log p, x + Q phi(h l) h Q' grad, phi(z) = (e^z - 1) / z. Inside
one Gaussian any step is exact. The error is what the gradient at the new place differs from the one foretold, turned
into standard deviations; a step with more than TOLERANCE, or with a lower density, is taken again, shorter.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray, Labels, Points
from dpviz.solvers.descent import CLOSE, axes, descend
from dpviz.solvers.mixture import Local, Mixture

TOLERANCE = 0.2  # standard deviations of error in one step; ours
RELATIVE = 0.4  # of the unit step: flat valleys are followed as closely; ours
LEAST = 1e-3  # standard deviations of error that are always allowed; ours
LONGEST_REACH = 0.5  # standard deviations of one step: a longer one could leap over a narrow component; ours
FLOW_STEPS = 400  # most steps; ours
FLAT = 1e-6  # a curvature (in units of the metric R) nearer 0 than this is degenerate: no index can be told; ours
FIRST_STEP = 0.1  # standard deviations from a saddle to where its descents start; halved while f does not fall; ours

BoolArray: TypeAlias = NDArray[np.bool_]
Watch: TypeAlias = Callable[[Points, FloatArray], Labels]  # (places, ln p) -> the minimum that is certain, or -1


def flow(mixture: Mixture, starts: Points, *, watch: Watch | None = None) -> tuple[Points, Labels]:
    """Follow the flow from `starts` (n, D) to where Newton's method is safe; return the places and what `watch` said.

    A start that `watch` is certain of stops there with its label; the others have -1.
    """
    places, labels = np.array(starts), np.full(len(starts), -1, dtype=np.intp)
    active = np.arange(len(starts))
    if not len(active):
        return places, labels
    here, reach = mixture.quick_at(places), np.full(len(starts), LONGEST_REACH)
    for _ in range(FLOW_STEPS):
        if watch is not None:
            labels[active] = watch(places[active], here.log_density)
        values, vectors = _eigen(here.hessian)
        slopes = _dot(vectors.swapaxes(1, 2), here.gradient)
        safe = _is_safe(values, slopes, here)
        go = (labels[active] < 0) & ~safe
        if not go.any():
            break
        active, here, reach = active[go], _rows(here, go), reach[go]
        values, vectors, slopes = values[go], vectors[go], slopes[go]
        trial, foretold = _step(places[active], here, values, vectors, slopes, reach)
        there = mixture.quick_at(trial)
        error = _error(there, foretold) / _allowed(here)
        good = (error <= 1.0) & (there.log_density >= here.log_density - 1e-9)
        places[active[good]] = trial[good]
        here = _chosen(here, there, good)
        growth = np.clip(0.8 * np.sqrt(1.0 / np.maximum(error, 1e-6)), 0.25, 3.0)
        reach = np.minimum(reach * np.where(good, growth, np.minimum(growth, 0.5)), LONGEST_REACH)
    return places, labels


def settle(mixture: Mixture, starts: Points) -> Points:
    """Return the minima of f (m, D) that `starts` (m, D) flow to; one that stops at a saddle is pushed off it."""
    ends, _ = descend(mixture, flow(mixture, starts)[0])
    for _ in range(mixture.d + 1):
        stuck = axes(mixture.at(ends)).curvatures[:, -1] < -FLAT
        if not stuck.any():
            break
        ends[stuck], _ = descend(mixture, flow(mixture, beside(mixture, ends[stuck])[:, 0])[0])
    return ends


def beside(mixture: Mixture, saddles: Points) -> FloatArray:
    """Return a place on either side of each saddle (s, 2, D), along its falling axis and lower than it."""
    if not len(saddles):
        return np.empty((0, 2, mixture.d))
    direction = axes(mixture.at(saddles)).basis[..., -1]  # of length 1 in R
    # The sign of an eigenvector is the library's choice: fix it, so that the two sides keep their order.
    largest = np.take_along_axis(direction, np.abs(direction).argmax(axis=1)[:, None], axis=1)
    direction = direction * np.sign(largest)
    steps = np.full((len(saddles), 2), FIRST_STEP) * np.array([1.0, -1.0])
    for _ in range(40):
        sides = saddles[:, None] + steps[..., None] * direction[:, None]
        slope = mixture.gradient(sides.reshape(-1, mixture.d)).reshape(sides.shape)
        rising = np.einsum("ncd,nd->nc", slope, direction) * np.sign(steps) <= 0
        if not rising.any():
            break
        steps = np.where(rising, steps / 2, steps)
    return np.asarray(sides)


def flow_line(mixture: Mixture, start: FloatArray, *, reach: float = 0.15, most: int = 300) -> Points:
    """Return a finely stepped flow line (m, D) from `start` (D,) to near a minimum of f, for a picture."""
    path = [np.array(start, dtype=np.float64)]
    for _ in range(most):
        here = mixture.at(path[-1][None])
        values, vectors = _eigen(here.hessian)
        slopes = _dot(vectors.swapaxes(1, 2), here.gradient)
        if _is_safe(values, slopes, here)[0]:
            break
        path.append(_step(path[-1][None], here, values, vectors, slopes, np.array([reach]))[0][0])
    return np.stack(path)


def _step(
    places: Points, here: Local, values: FloatArray, vectors: FloatArray, slopes: FloatArray, reach: FloatArray
) -> tuple[Points, FloatArray]:
    """Return where the local quadratic flows to in the time h, and the gradient it foretells there."""
    speed = np.sqrt(np.einsum("nd,nd->n", here.gradient, _dot(here.metric, here.gradient)))
    time = np.minimum(reach / np.maximum(speed, 1e-300), 1.0 / np.maximum(values[:, -1], 1e-300))
    exponent = np.clip(time[:, None] * values, -700.0, 1.0)
    growth = np.expm1(exponent)
    flat = np.abs(exponent) < 1e-9
    share = np.where(flat, np.minimum(time, 1e300)[:, None], growth / np.where(flat, 1.0, values))
    return places + _dot(vectors, share * slopes), _dot(vectors, (growth + 1.0) * slopes)


def _is_safe(values: FloatArray, slopes: FloatArray, here: Local) -> BoolArray:
    """Say where -log p is convex and Newton's step is shorter than CLOSE standard deviations."""
    convex = values[:, -1] < 0
    newton = slopes**2 / np.where(convex[:, None], -values, 1.0)
    # |s|_H <= CLOSE with H no larger than R; a soft direction makes it the smaller of the two.
    return np.asarray(convex & (newton.sum(axis=1) < CLOSE**2) & np.isfinite(here.log_density))


def _allowed(here: Local) -> FloatArray:
    """Return the error (n,) that one step may make: a share of the unit step, so that flat valleys are followed."""
    length = np.sqrt(np.maximum(np.einsum("nd,nd->n", here.gradient, solved(here.metric, here.gradient)), 0.0))
    return np.asarray(np.clip(RELATIVE * length, LEAST, TOLERANCE))


def _error(there: Local, foretold: FloatArray) -> FloatArray:
    miss = there.gradient - foretold
    return np.asarray(np.sqrt(np.maximum(np.einsum("nd,nd->n", miss, solved(there.metric, miss)), 0.0)))


def solved(metric: FloatArray, right: FloatArray) -> FloatArray:
    """Return metric^-1 right (n, D); by Cramer's rule in the plane, where a library call costs more than the sum."""
    if metric.shape[-1] == 1:
        return np.asarray(right / metric[..., 0])
    if metric.shape[-1] == 2:
        a, b, c = metric[:, 0, 0], metric[:, 0, 1], metric[:, 1, 1]
        first = c * right[:, 0] - b * right[:, 1]
        second = a * right[:, 1] - b * right[:, 0]
        return np.asarray(np.stack([first, second], axis=1) / (a * c - b * b)[:, None])
    return np.asarray(np.linalg.solve(metric, right[..., None])[..., 0])


def _eigen(matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues (n, D), ascending, and eigenvectors (n, D, D); in the plane by one rotation."""
    if matrices.shape[-1] != 2:
        values, vectors = np.linalg.eigh(matrices)
        return values, vectors
    a, b, c = matrices[:, 0, 0], matrices[:, 0, 1], matrices[:, 1, 1]
    angle = 0.5 * np.arctan2(2 * b, a - c)  # of the larger eigenvalue's axis
    radius, middle = np.hypot((a - c) / 2, b), (a + c) / 2
    cos, sin = np.cos(angle), np.sin(angle)
    vectors = np.empty_like(matrices)
    vectors[:, 0, 0], vectors[:, 1, 0], vectors[:, 0, 1], vectors[:, 1, 1] = -sin, cos, cos, sin
    return np.stack([middle - radius, middle + radius], axis=1), vectors


def _dot(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("nij,nj->ni", matrices, vectors))


def _rows(local: Local, mask: BoolArray) -> Local:
    return Local(local.log_density[mask], local.gradient[mask], local.metric[mask], local.spread[mask])


def _chosen(here: Local, there: Local, good: BoolArray) -> Local:
    return Local(
        np.where(good, there.log_density, here.log_density),
        np.where(good[:, None], there.gradient, here.gradient),
        np.where(good[:, None, None], there.metric, here.metric),
        np.where(good[:, None, None], there.spread, here.spread),
    )
