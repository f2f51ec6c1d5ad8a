"""Walkers down a landscape of any dimension: each step solves the flow of the local quadratic exactly; see `flow`."""

import numpy as np

from dpviz.core import FloatArray, Points, algebra, functions
from dpviz.solvers.landscapes.descent import length_of, solved
from dpviz.solvers.landscapes.mixture import FEW_AXES, Local, Mixture
from dpviz.solvers.landscapes.step_rules import CLOSE, LONGEST_REACH, BoolArray, allowed_error, floored, next_reach

CONVEX = 0.8  # of R: where S has less along its steepest axis, -log p counts as convex; ours
LONGEST_TIME = 1e6  # of one rational step, over the largest curvature; ours


class Walkers:
    """Points on their way down; those that are not kept are forgotten."""

    def __init__(self, mixture: Mixture, starts: Points) -> None:
        """Stand at `starts` (n, D)."""
        self.mixture, self.places = mixture, np.array(starts)
        self.here, self.reach = mixture.quick_at(self.places), np.full(len(starts), LONGEST_REACH)
        self.rise = self.here.gradient  # see `_solved`
        self.length = length_of(self.here.gradient, solved(self.here.metric, self.here.gradient))

    @property
    def log_density(self) -> FloatArray:
        """How high they are: ln p (n,)."""
        return self.here.log_density

    def keep(self, which: BoolArray) -> None:
        """Forget all others."""
        self.places, self.here, self.reach = self.places[which], self.here.rows(which), self.reach[which]
        self.length, self.rise = self.length[which], self.rise[which]

    def safe(self) -> BoolArray:
        """Say where Newton's method is safe (n,)."""
        return is_safe(self.here, self.length)

    def advance(self) -> None:
        """Take one step each, or make the next one shorter."""
        move, foretold, used = _step(self.here, self.reach, self.rise)
        trial = self.places + move
        there = self.mixture.quick_at(trial)
        miss = there.gradient - foretold
        ahead, back, self.rise = _solved(there, miss, self.rise)
        error = length_of(miss, back) / allowed_error(self.length)
        good = (error <= 1.0) & (there.log_density >= self.here.log_density - 1e-9)
        self.places[good] = trial[good]
        self.length = np.where(good, length_of(there.gradient, ahead), self.length)
        self.here = there if good.all() else _chosen(self.here, there, good)
        self.reach = next_reach(used, error, good)


def drift(mixture: Mixture, places: Points, reach: float) -> tuple[Points, FloatArray]:
    """Return the flow's steps (n, D) from `places` (n, D), and how long each is in standard deviations (n,).

    None is longer than `reach`, except far away from everything, where that is a small step: a tenth of the way there.
    """
    here = mixture.quick_at(places)
    far = 0.1 * np.sqrt(np.maximum(-2.0 * here.log_density, 0.0))
    moves = exact_step(here, np.maximum(reach, far))[0]
    return moves, length_of(moves, _dot(here.metric, moves))


def _step(here: Local, reach: FloatArray, rise: FloatArray) -> tuple[Points, FloatArray, FloatArray]:
    """Return the step (n, D) of the flow, the gradient foretold after it, and how far it reached at most (n,)."""
    if here.gradient.shape[1] <= FEW_AXES:
        return exact_step(here, reach)
    move, foretold, used = _rational_step(here, reach)
    spread, metric = (np.einsum("nd,nd->n", rise, _dot(each, rise)) for each in (here.spread, here.metric))
    bent = np.flatnonzero(spread > CONVEX * metric)
    if len(bent):
        move[bent], foretold[bent], used[bent] = exact_step(here.rows(bent), reach[bent])
    return move, foretold, used


def _solved(there: Local, miss: FloatArray, rise: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return R^-1 grad, R^-1 miss and the next `rise`, (n, D) each."""
    if miss.shape[1] <= FEW_AXES:  # no rational step: nobody asks for `rise`
        return solved(there.metric, there.gradient), solved(there.metric, miss), rise
    # The power method: where S outweighs R, -log p bends downwards, and that is S's largest eigenvalue in the metric R.
    right = np.stack([there.gradient, miss, _dot(there.spread, rise)], axis=2)
    found = np.ascontiguousarray(algebra.solved(there.metric, right).transpose(2, 0, 1))
    return found[0], found[1], found[2] / floored(np.abs(found[2]).max(axis=1, keepdims=True))


def exact_step(here: Local, reach: FloatArray) -> tuple[Points, FloatArray, FloatArray]:
    """Return the local quadratic's flow in the time h, the gradient it foretells, and h times the speed."""
    values, vectors = algebra.eigen(here.hessian)
    slopes = _dot(vectors.swapaxes(1, 2), here.gradient)
    speed = _speed(here)
    time = np.minimum(reach / speed, 1.0 / floored(values[:, -1]))
    exponent = np.clip(time[:, None] * values, -700.0, 1.0)
    growth = functions.expm1(exponent)
    flat = np.abs(exponent) < 1e-9
    share = np.where(flat, np.minimum(time, 1e300)[:, None], growth / np.where(flat, 1.0, values))
    return _dot(vectors, share * slopes), _dot(vectors, (growth + 1.0) * slopes), time * speed


def _rational_step(here: Local, reach: FloatArray) -> tuple[Points, FloatArray, FloatArray]:
    """Return what `exact_step` does with e^z taken as 1 / (1 - z + z^2/2), of order 2 and 0 where z is -infinity.

    That needs one linear system in place of eigenvectors: x + h (1 - z + z^2/2)^-1 (1 - z/2) grad with z = h H. It is
    for places where -log p is convex: past z = 2 it would turn back.
    """
    hessian, gradient, speed = here.hessian, here.gradient, _speed(here)
    # Past this time the stiffest axes have long settled: larger numbers would only cost digits.
    scale = np.sqrt(np.einsum("nij,nij->n", hessian, hessian))
    time = np.minimum(reach / speed, LONGEST_TIME / floored(scale))
    turned = time[:, None, None] * hessian
    system = algebra.product(0.5 * turned, turned) - turned
    system[:, np.arange(turned.shape[1]), np.arange(turned.shape[1])] += 1.0
    move = solved(system, time[:, None] * (gradient - 0.5 * _dot(turned, gradient)))
    return move, gradient + _dot(hessian, move), time * speed


def _speed(here: Local) -> FloatArray:
    return floored(np.sqrt(np.einsum("nd,nd->n", here.gradient, _dot(here.metric, here.gradient))))


def is_safe(here: Local, length: FloatArray) -> BoolArray:
    """Say where -log p is convex and Newton's step is shorter than CLOSE standard deviations.

    |s|_H <= CLOSE with H no larger than R; a soft direction makes it the smaller of the two. It is at least the unit
    step's `length` (n,), so most places need no look.
    """
    safe = (length < CLOSE) & np.isfinite(here.log_density)
    near = np.flatnonzero(safe)
    if len(near):
        values, vectors = algebra.eigen(here.hessian[near])
        slopes = _dot(vectors.swapaxes(1, 2), here.gradient[near])
        convex = values[:, -1] < 0
        newton = slopes**2 / np.where(convex[:, None], -values, 1.0)
        safe[near] = convex & (newton.sum(axis=1) < CLOSE**2)
    return np.asarray(safe)


def _dot(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("nij,nj->ni", matrices, vectors))


def _chosen(here: Local, there: Local, good: BoolArray) -> Local:
    return Local(
        np.where(good, there.log_density, here.log_density),
        np.where(good[:, None], there.gradient, here.gradient),
        np.where(good[:, None, None], there.metric, here.metric),
        np.where(good[:, None, None], there.spread, here.spread),
    )
