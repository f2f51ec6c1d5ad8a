"""The gradient flow dx/dt = grad log p itself, batched: system (5) of Byun, Choi & Lee with the metric R = I.

Each step solves the flow of the local quadratic exactly (exponential Rosenbrock-Euler, order 2; Hochbruck & Ostermann
2010, section 2.4): with H = Q diag(l) Q' the Hessian of log p, x + Q phi(h l) h Q' grad, phi(z) = (e^z - 1) / z. Inside
one Gaussian any step is exact. The error is what the gradient at the new place differs from the one foretold, turned
into standard deviations; a step with more than TOLERANCE, or with a lower density, is taken again, shorter. Beyond
FEW_AXES, where -log p is convex, a rational function stands for e^z: eigenvectors would cost most of the time there.
"""

import numpy as np

from dpviz.core import FloatArray, Labels, Points, frozen
from dpviz.solvers.landscapes.descent import CONVERGED, axes, descend, length_of, solved
from dpviz.solvers.landscapes.mixture import Mixture
from dpviz.solvers.landscapes.plane import flow_down, flow_lines_from
from dpviz.solvers.landscapes.step_rules import BoolArray, step_rules
from dpviz.solvers.landscapes.traps import Traps
from dpviz.solvers.landscapes.walkers import Walkers, drift

NEWTON_STEPS = 5  # from a safe place; what takes longer is left to the slow descent; ours
NO_TRAPS = frozen(np.empty((8, 0)))  # rows of no traps at all
FLOW_STEPS = 400  # most steps; ours
FLAT = 1e-6  # a curvature (in units of the metric R) nearer 0 than this is degenerate: no index can be told; ours
FIRST_STEP = 0.1  # standard deviations from a saddle to where its descents start; halved while f does not fall; ours


def flow(mixture: Mixture, starts: Points, traps: Traps | None = None) -> tuple[Points, Labels, BoolArray]:
    """Follow the flow from `starts` (n, D) to where Newton's method is safe.

    Return the places (n, D), which of `traps` each is in (n,), and which places are safe (n,). A start stops in the
    first trap it comes to, the row of its minimum; the others have -1.
    """
    if mixture.plane is not None:
        none = np.empty(0, dtype=np.intp)
        rows = NO_TRAPS if traps is None else traps.rows()
        return flow_down(mixture.plane, starts, rows, none, none, FLOW_STEPS, step_rules())
    places, labels = np.array(starts), np.full(len(starts), -1, dtype=np.intp)
    active, ended = np.arange(len(starts)), np.zeros(len(starts), dtype=bool)
    if not len(active):
        return places, labels, ended
    walkers = Walkers(mixture, places)
    for _ in range(FLOW_STEPS):
        if traps is not None:
            labels[active] = traps.caught(walkers.places, walkers.log_density)
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


def flow_lines(mixture: Mixture, starts: Points, *, n_steps: int, reach: float, end: float) -> FloatArray:
    """Return flow lines from `starts` (m, D) for a picture, as (m, n_steps, D), NaN after their end.

    Each step solves the flow of the local quadratic exactly, at most `reach` standard deviations far, and more where
    everything is farther away than ten steps. A line ends before a step shorter than `end` standard deviations.
    """
    if mixture.plane is not None:
        return flow_lines_from(mixture.plane, starts, n_steps, reach, end)
    places, active = np.array(starts), np.arange(len(starts))
    made = np.full((len(starts), n_steps, mixture.d), np.nan)
    for step in range(n_steps):
        made[active, step] = places
        moves, length = drift(mixture, places, reach)
        moving = length > end
        active, places = active[moving], (places + moves)[moving]
        if not len(active):
            break
    return made
