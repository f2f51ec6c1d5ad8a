"""The geometric median: the place with the least sum of distances, by Newton's method in machine code.

f(y) = sum_j w_j |y - p_j| is convex, and smooth except at the points. At a point of mass w the other points pull with a
force R, and the point is the median if |R| <= w (Vardi & Zhang 2000). The solver tests this once for each point that is
nearest to a step, so a median on a point is exact. A step that does not lower f is cut to a quarter. If |R| is only a
little above the mass w of the nearest point, f bends too sharply there for Newton's steps. Then the search continues at
the distance (|R| - w) / h from the point along R, where the other points' own curvature h would stop the rest of the
force.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from dpviz.core import FloatArray, compiled, writable
from dpviz.core.algebra import solve_each

# A step shorter than this share of the points' extent is the last one. Our choice.
TOLERANCE = 1e-10
# Maximum number of steps. Our choice: nearly all medians are reached after 8.
ROUNDS = 200
# Largest pull on a point, as a multiple of its mass, at which the search jumps around the bend near it. Our choice.
NEAR = 1.5


def geometric_median(points: ArrayLike, weights: ArrayLike | None = None) -> FloatArray:
    """Return the point(s) (..., n) with the least weighted sum of distances to m `points` (..., m, n).

    `weights` (..., m) >= 0, not all 0 in a row, default 1; leading axes of both broadcast. Each leading index is a set
    of its own. On a line, the lower of two medians is returned. A median on a point is exact up to rounding; otherwise
    the last step is shorter than 1e-10 of the points' extent.
    Raises ValueError for no points, other shapes, values that are not finite and invalid weights.
    """
    sets = np.asarray(points, dtype=np.float64)
    if sets.ndim < 2 or 0 in sets.shape[-2:]:
        raise ValueError(f"points must have shape (..., m, n) with m and n at least 1, got {sets.shape}.")
    if not np.isfinite(sets).all():
        raise ValueError("points must be finite, got NaN or infinity. Drop those rows first.")
    (m, n), mass = sets.shape[-2:], np.ones(sets.shape[-2]) if weights is None else np.asarray(weights, np.float64)
    shape = np.broadcast_shapes(sets.shape[:-1], mass.shape)[:-1]
    total = mass.sum(axis=-1, keepdims=True)
    if not (np.isfinite(mass) & (mass >= 0)).all() or not (total > 0).all():
        raise ValueError("weights must be finite and >= 0, and not all 0. Use None to count every point once.")
    # One set of points, possibly with many rows of weights.
    one_set = math.prod(sets.shape[:-2]) == 1
    places = writable(sets if one_set else np.broadcast_to(sets, (*shape, m, n))).reshape(-1, m, n)
    shares = np.array(np.broadcast_to(mass / total, (*shape, m)), order="C").reshape(-1, m)
    if n > 1:
        return _medians(places, shares).reshape(*shape, n)
    order = places[..., 0].argsort(axis=1, kind="stable")
    reached = np.take_along_axis(shares, np.broadcast_to(order, shares.shape), axis=1).cumsum(axis=1)
    ranked = np.take_along_axis(places, order[..., None], axis=1)
    lower = (reached >= reached[:, -1:] / 2.0).argmax(axis=1)
    return np.asarray(ranked[np.arange(len(lower)) % len(ranked), lower]).reshape(*shape, 1)


@compiled
def _medians(sets: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the median (s, n) for each row of `shares` (s, m), adding up to 1, of its set of `sets` (s or 1, m, n)."""
    n = sets.shape[2]
    medians, slope, bend, step = np.zeros((len(shares), n)), np.empty(n), np.empty((1, n, n)), np.empty((1, n, 1))
    accepted, tested = np.empty(n), np.empty(sets.shape[1], dtype=np.bool_)
    for s in range(len(shares)):
        places, weights, y = sets[s if len(sets) > 1 else 0], shares[s], medians[s]
        extent = _start(places, weights, y)
        best, part = np.inf, 1.0
        tested[:] = False
        for _ in range(ROUNDS):
            value, mass, nearest = _forces(places, weights, y, slope, bend[0])
            # Test whether the nearest point is the median.
            if not tested[nearest]:
                tested[nearest] = True
                _, here, _ = _forces(places, weights, places[nearest], slope, bend[0])
                strength = _length(slope)
                if strength <= here:
                    y[:] = places[nearest]
                    break
                if strength < NEAR * here:
                    along = 0.0
                    for i in range(n):
                        for j in range(n):
                            along += slope[i] * bend[0, i, j] * slope[j]
                    y[:] = places[nearest] - slope * min((strength - here) * strength / along, extent / strength)
                    best = np.inf
                value, mass, nearest = _forces(places, weights, y, slope, bend[0])
            if value <= best * (1.0 + 1e-14):
                best, part = value, 1.0
                accepted[:] = y
                # On a point that is not the median: leave it by Weiszfeld's step.
                if mass > 0.0:
                    pull = 1.0 - mass / _length(slope)
                    trace = 0.0
                    for i in range(n):
                        trace += bend[0, i, i]
                    step[0, :, 0] = -pull * slope * (n - 1) / trace
                else:
                    step[0, :, 0] = -slope
                    solve_each(bend, step)
            else:
                part /= 4.0
            longest = np.abs(step).max()
            if longest > extent:
                step *= extent / longest
            y[:] = accepted + part * step[0, :, 0]
            if part * longest <= TOLERANCE * extent:
                break
    return medians


@compiled
def _length(vector: FloatArray) -> np.float64:
    square = 0.0
    for each in vector:
        square += each * each
    return np.float64(np.sqrt(square))


@compiled
def _start(places: FloatArray, weights: FloatArray, y: FloatArray) -> float:
    """Write the mean, a start inside the hull, into `y` (n,), which is 0; return the longest side of the hull's box."""
    extent = 0.0
    for i in range(len(y)):
        low, high = places[0, i], places[0, i]
        for j in range(len(places)):
            y[i] += weights[j] * places[j, i]
            low, high = min(low, places[j, i]), max(high, places[j, i])
        extent = max(extent, high - low)
    return extent


@compiled
def _forces(
    places: FloatArray, weights: FloatArray, y: FloatArray, slope: FloatArray, bend: FloatArray
) -> tuple[float, float, int]:
    """Return f, the mass at `y` (n,) and the point nearest to it; write the others' gradient and Hessian."""
    value, mass, total, least, nearest = 0.0, 0.0, 0.0, np.inf, 0
    slope[:] = 0.0
    bend[:] = 0.0
    for j in range(len(weights)):
        if weights[j] == 0.0:
            continue
        square = 0.0
        for i in range(len(y)):
            square += (y[i] - places[j, i]) * (y[i] - places[j, i])
        if square < least:
            least, nearest = square, j
        if square == 0.0:
            mass += weights[j]
            continue
        distance = math.sqrt(square)
        pull = weights[j] / distance
        value += weights[j] * distance
        total += pull
        for i in range(len(y)):
            gap = y[i] - places[j, i]
            slope[i] += pull * gap
            for k in range(len(y)):
                bend[i, k] -= pull * gap * (y[k] - places[j, k]) / square
    for i in range(len(y)):
        # Slightly more than `total`, so that the Hessian is not singular for places on a line.
        bend[i, i] += total * (1.0 + 1e-12)
    return value, mass, nearest
