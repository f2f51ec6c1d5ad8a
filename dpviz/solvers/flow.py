"""The gradient flow dx/dt = grad log p itself, batched: system (5) of Byun, Choi & Lee with the metric R = I.

Each step solves the flow of the local quadratic exactly (exponential Rosenbrock-Euler, order 2; Hochbruck & Ostermann
2010, section 2.4): with H = Q diag(l) Q' the Hessian of log p, x + Q phi(h l) h Q' grad, phi(z) = (e^z - 1) / z. Inside
one Gaussian any step is exact. The error is what the gradient at the new place differs from the one foretold, turned
into standard deviations; a step with more than TOLERANCE, or with a lower density, is taken again, shorter. Beyond
FEW_AXES, where -log p is convex, a rational function stands for e^z: eigenvectors would cost most of the time there.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray, Labels, Points
from dpviz.solvers.descent import CLOSE, CONVERGED, axes, descend, eigen, length_of, solved
from dpviz.solvers.mixture import FEW_AXES, Local, Mixture

TOLERANCE = 0.2  # standard deviations of error in one step; ours
RELATIVE = 0.4  # of the unit step: flat valleys are followed as closely; ours
LEAST = 1e-3  # standard deviations of error that are always allowed; ours
LONGEST_REACH = 0.5  # standard deviations of one step: a longer one could leap over a narrow component; ours
NEWTON_STEPS = 5  # from a safe place; what takes longer is left to the slow descent; ours
FLOW_STEPS = 400  # most steps; ours
CONVEX = 0.8  # of R: where S has less along its steepest axis, -log p counts as convex; ours
LONGEST_TIME = 1e6  # of one rational step, over the largest curvature; ours
FLAT = 1e-6  # a curvature (in units of the metric R) nearer 0 than this is degenerate: no index can be told; ours
FIRST_STEP = 0.1  # standard deviations from a saddle to where its descents start; halved while f does not fall; ours

BoolArray: TypeAlias = NDArray[np.bool_]
Watch: TypeAlias = Callable[[Labels, Points, FloatArray], Labels]  # (rows, places, ln p) -> certain minimum, or -1


def flow(mixture: Mixture, starts: Points, *, watch: Watch | None = None) -> tuple[Points, Labels, BoolArray]:
    """Follow the flow from `starts` (n, D) to where Newton's method is safe.

    Return the places (n, D), what `watch` said (n,), and which places are safe (n,). A start that `watch` is certain of
    stops there with its label; the others have -1.
    """
    places, labels = np.array(starts), np.full(len(starts), -1, dtype=np.intp)
    active, ended = np.arange(len(starts)), np.zeros(len(starts), dtype=bool)
    if not len(active):
        return places, labels, ended
    here, reach = mixture.quick_at(places), np.full(len(starts), LONGEST_REACH)
    length, rise = length_of(here.gradient, solved(here.metric, here.gradient)), here.gradient  # see `_solved`
    for _ in range(FLOW_STEPS):
        if watch is not None:
            labels[active] = watch(active, places[active], here.log_density)
        ended[active] = _is_safe(here, length)
        go = (labels[active] < 0) & ~ended[active]
        if not go.any():
            break
        if not go.all():
            active, here, reach, length, rise = active[go], _rows(here, go), reach[go], length[go], rise[go]
        move, foretold, reach = _step(here, reach, rise)
        trial = places[active] + move
        there = mixture.quick_at(trial)
        miss = there.gradient - foretold
        ahead, back, rise = _solved(there, miss, rise)
        error = length_of(miss, back) / np.minimum(np.maximum(RELATIVE * length, LEAST), TOLERANCE)
        good = (error <= 1.0) & (there.log_density >= here.log_density - 1e-9)
        places[active[good]] = trial[good]
        length = np.where(good, length_of(there.gradient, ahead), length)
        here = there if good.all() else _chosen(here, there, good)
        growth = np.minimum(np.maximum(0.8 * np.sqrt(1.0 / np.maximum(error, 1e-6)), 0.25), 3.0)
        reach = np.minimum(reach * np.where(good, growth, np.minimum(growth, 0.5)), LONGEST_REACH)
    return places, labels, ended


def settle(mixture: Mixture, starts: Points) -> Points:
    """Return the minima of f (m, D) that `starts` (m, D) flow to; one that stops at a saddle is pushed off it."""
    ends, _, safe = flow(mixture, starts)
    left = np.flatnonzero(~_dropped(mixture, ends, safe))
    ends[left], _ = descend(mixture, ends[left])
    for _ in range(mixture.d + 1):
        left = left[axes(mixture.at(ends[left])).curvatures[:, -1] < -FLAT] if len(left) else left
        if not len(left):
            break
        ends[left], _ = descend(mixture, flow(mixture, beside(mixture, ends[left])[:, 0])[0])
    return ends


def _dropped(mixture: Mixture, places: Points, safe: BoolArray) -> BoolArray:
    """Move `places` (m, D) that are `safe` (m,) to their minima by Newton's method; say which ones (m,) got there."""
    done, active = np.zeros(len(places), dtype=bool), np.flatnonzero(safe)
    for _ in range(NEWTON_STEPS):
        if not len(active):
            break
        here = mixture.at(places[active])
        there = length_of(here.gradient, solved(here.metric, here.gradient)) <= CONVERGED
        done[active[there]] = True
        active = active[~there]
        places[active] += solved(-here.hessian[~there], here.gradient[~there])
    return done


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
        if _is_safe(here, length_of(here.gradient, solved(here.metric, here.gradient)))[0]:
            break
        path.append(path[-1] + exact_step(here, np.array([reach]))[0][0])
    return np.stack(path)


def _step(here: Local, reach: FloatArray, rise: FloatArray) -> tuple[Points, FloatArray, FloatArray]:
    """Return the step (n, D) of the flow, the gradient foretold after it, and how far it reached at most (n,)."""
    if here.gradient.shape[1] <= FEW_AXES:
        return exact_step(here, reach)
    move, foretold, used = _rational_step(here, reach)
    spread, metric = (np.einsum("nd,nd->n", rise, _dot(each, rise)) for each in (here.spread, here.metric))
    bent = np.flatnonzero(spread > CONVEX * metric)
    if len(bent):
        move[bent], foretold[bent], used[bent] = exact_step(_rows(here, bent), reach[bent])
    return move, foretold, used


def _solved(there: Local, miss: FloatArray, rise: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return R^-1 grad, R^-1 miss and the next `rise`, (n, D) each."""
    if miss.shape[1] <= FEW_AXES:  # no rational step: nobody asks for `rise`
        return solved(there.metric, there.gradient), solved(there.metric, miss), rise
    # The power method: where S outweighs R, -log p bends downwards, and that is S's largest eigenvalue in the metric R.
    right = np.stack([there.gradient, miss, _dot(there.spread, rise)], axis=2)
    found = np.ascontiguousarray(np.linalg.solve(there.metric, right).transpose(2, 0, 1))
    return found[0], found[1], found[2] / _floored(np.abs(found[2]).max(axis=1, keepdims=True))


def exact_step(here: Local, reach: FloatArray) -> tuple[Points, FloatArray, FloatArray]:
    """Return the local quadratic's flow in the time h, the gradient it foretells, and h times the speed."""
    if here.gradient.shape[1] == 2:
        return _plane_step(here, reach)
    values, vectors = eigen(here.hessian)
    slopes = _dot(vectors.swapaxes(1, 2), here.gradient)
    speed = _speed(here)
    time = np.minimum(reach / speed, 1.0 / _floored(values[:, -1]))
    exponent = np.clip(time[:, None] * values, -700.0, 1.0)
    growth = np.expm1(exponent)
    flat = np.abs(exponent) < 1e-9
    share = np.where(flat, np.minimum(time, 1e300)[:, None], growth / np.where(flat, 1.0, values))
    return _dot(vectors, share * slopes), _dot(vectors, (growth + 1.0) * slopes), time * speed


def _plane_step(here: Local, reach: FloatArray) -> tuple[Points, FloatArray, FloatArray]:
    """Return what `exact_step` does, in the plane, where a function of H needs its eigenvalues m -+ r alone.

    f(H) = (f(m + r) + f(m - r)) / 2 + (f(m + r) - f(m - r)) / (2 r) (H - m).
    """
    first, second = here.gradient[:, 0], here.gradient[:, 1]
    metric, bent = here.metric, here.spread - here.metric
    middle, half, across = (bent[:, 0, 0] + bent[:, 1, 1]) / 2, (bent[:, 0, 0] - bent[:, 1, 1]) / 2, bent[:, 0, 1]
    radius = np.hypot(half, across)
    values = np.stack([middle - radius, middle + radius])
    square = metric[:, 0, 0] * first * first + 2 * metric[:, 0, 1] * first * second + metric[:, 1, 1] * second * second
    speed = _floored(np.sqrt(square))
    time = np.minimum(reach / speed, 1.0 / _floored(values[1]))
    exponent = np.minimum(np.maximum(time * values, -700.0), 1.0)
    flat = np.abs(exponent) < 1e-9
    share = np.where(flat, np.minimum(time, 1e300), np.expm1(exponent) / np.where(flat, 1.0, values))
    mean, rate = (share[0] + share[1]) / 2, (share[1] - share[0]) / (2 * _floored(radius))
    move = np.empty_like(here.gradient)
    move[:, 0] = mean * first + rate * (half * first + across * second)
    move[:, 1] = mean * second + rate * (across * first - half * second)
    foretold = here.gradient.copy()
    foretold[:, 0] += bent[:, 0, 0] * move[:, 0] + across * move[:, 1]
    foretold[:, 1] += across * move[:, 0] + bent[:, 1, 1] * move[:, 1]
    return move, foretold, time * speed


def _rational_step(here: Local, reach: FloatArray) -> tuple[Points, FloatArray, FloatArray]:
    """Return what `exact_step` does with e^z taken as 1 / (1 - z + z^2/2), of order 2 and 0 where z is -infinity.

    That needs one linear system in place of eigenvectors: x + h (1 - z + z^2/2)^-1 (1 - z/2) grad with z = h H. It is
    for places where -log p is convex: past z = 2 it would turn back.
    """
    hessian, gradient, speed = here.hessian, here.gradient, _speed(here)
    # Past this time the stiffest axes have long settled: larger numbers would only cost digits.
    scale = np.sqrt(np.einsum("nij,nij->n", hessian, hessian))
    time = np.minimum(reach / speed, LONGEST_TIME / _floored(scale))
    turned = time[:, None, None] * hessian
    system = 0.5 * turned @ turned - turned
    system[:, np.arange(turned.shape[1]), np.arange(turned.shape[1])] += 1.0
    move = solved(system, time[:, None] * (gradient - 0.5 * _dot(turned, gradient)))
    return move, gradient + _dot(hessian, move), time * speed


def _speed(here: Local) -> FloatArray:
    return _floored(np.sqrt(np.einsum("nd,nd->n", here.gradient, _dot(here.metric, here.gradient))))


def _is_safe(here: Local, length: FloatArray) -> BoolArray:
    """Say where -log p is convex and Newton's step is shorter than CLOSE standard deviations.

    |s|_H <= CLOSE with H no larger than R; a soft direction makes it the smaller of the two. It is at least the unit
    step's `length` (n,), so most places need no look.
    """
    safe = (length < CLOSE) & np.isfinite(here.log_density)
    near = np.flatnonzero(safe)
    if len(near) and here.gradient.shape[1] == 2:
        bent = here.metric[near] - here.spread[near]
        convex = (bent[:, 0, 0] > 0) & (bent[:, 0, 0] * bent[:, 1, 1] > bent[:, 0, 1] * bent[:, 0, 1])
        bent[~convex] = here.metric[near[~convex]]
        safe[near] = convex & (length_of(here.gradient[near], solved(bent, here.gradient[near])) < CLOSE)
    elif len(near):
        values, vectors = eigen(here.hessian[near])
        slopes = _dot(vectors.swapaxes(1, 2), here.gradient[near])
        convex = values[:, -1] < 0
        newton = slopes**2 / np.where(convex[:, None], -values, 1.0)
        safe[near] = convex & (newton.sum(axis=1) < CLOSE**2)
    return np.asarray(safe)


def _floored(values: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(values, 1e-300))


def _dot(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("nij,nj->ni", matrices, vectors))


def _rows(local: Local, mask: BoolArray | Labels) -> Local:
    return Local(local.log_density[mask], local.gradient[mask], local.metric[mask], local.spread[mask])


def _chosen(here: Local, there: Local, good: BoolArray) -> Local:
    return Local(
        np.where(good, there.log_density, here.log_density),
        np.where(good[:, None], there.gradient, here.gradient),
        np.where(good[:, None, None], there.metric, here.metric),
        np.where(good[:, None, None], there.spread, here.spread),
    )
