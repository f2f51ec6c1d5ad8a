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

from dpviz.core import FloatArray, Labels, Points
from dpviz.solvers.descent import CONVERGED, axes, descend, length_of, solved
from dpviz.solvers.mixture import Mixture
from dpviz.solvers.step_rules import BoolArray
from dpviz.solvers.walkers import exact_step, is_safe, walkers_at

NEWTON_STEPS = 5  # from a safe place; what takes longer is left to the slow descent; ours
FLOW_STEPS = 400  # most steps; ours
FLAT = 1e-6  # a curvature (in units of the metric R) nearer 0 than this is degenerate: no index can be told; ours
FIRST_STEP = 0.1  # standard deviations from a saddle to where its descents start; halved while f does not fall; ours

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
    walkers = walkers_at(mixture, places)
    for _ in range(FLOW_STEPS):
        if watch is not None:
            labels[active] = watch(active, walkers.places, walkers.log_density)
        ended[active] = walkers.safe()
        go = (labels[active] < 0) & ~ended[active]
        if not go.any():
            break
        if not go.all():
            places[active] = walkers.places
            active = active[go]
            walkers.keep(go)
        walkers.advance()
    places[active] = walkers.places
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
        if is_safe(here, length_of(here.gradient, solved(here.metric, here.gradient)))[0]:
            break
        path.append(path[-1] + exact_step(here, np.array([reach]))[0][0])
    return np.stack(path)
