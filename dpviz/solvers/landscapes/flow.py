"""Ways down f = -log p, batched: the gradient flow, and a descent whose steps provably stay in their level set.

The flow is dx/dt = grad log p, system (5) of Byun, Choi & Lee with the metric R = I. Each step solves the flow of the
local quadratic exactly (exponential Rosenbrock-Euler, order 2; Hochbruck & Ostermann 2010, section 2.4): with
H = Q diag(l) Q' the Hessian of log p, x + Q phi(h l) h Q' grad, phi(z) = (e^z - 1) / z. Inside one Gaussian any step is
exact. The error is the difference between the gradient at the new place and its prediction, in standard deviations; a
step with more than TOLERANCE, or with a lower density, is repeated, shorter. Beyond FEW_AXES, where -log p is convex, a
rational function stands for e^z: eigenvectors would cost most of the time there.

The descent has the metric R(x) = sum_k omega_k Sigma_k^-1, whose condition number is at most that of the precisions
together (theorem 4.1 asks for a finite one). One Euler step of length 1 in it is x + R^-1 grad log p, the mean shift of
a mixture. Jensen's inequality gives a concave quadratic below log p that touches it at x,
    log p(x + s) >= log p(x) + grad' s - s' R s / 2,
and with s = sum_i a_i g_i v_i (v_i a basis that R makes orthonormal, g_i = v_i' grad) the right side rises by
sum_i g_i^2 (t a_i - t^2 a_i^2 / 2) >= 0 for every t in [0, 1] and a_i in [0, 2]. So no step, however long, leaves the
connected part of {p >= p(x)} that x is in: theorem 4.2 needs nothing more, and it holds for the steps and not only for
the flow they follow. Newton's a_i = 1 / (1 - s_i), s_i the eigenvalues of S in that basis, are taken up to 2.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from dpviz.core import FloatArray, Labels, Points, algebra, frozen, functions
from dpviz.solvers.landscapes.mixture import FEW_AXES, Local, Mixture
from dpviz.solvers.landscapes.plane import (
    CLOSE,
    FLAT,
    LEAST,
    LONGEST_REACH,
    RELATIVE,
    TINY,
    TOLERANCE,
    BoolArray,
    flow_down,
    flow_lines_from,
)

FLOW_STEPS = 400  # most steps; ours
NEWTON_STEPS = 5  # from a safe place; beyond it the slow descent goes on; ours
FIRST_STEP = 0.1  # standard deviations from a saddle to where its descents start; halved while f does not fall; ours
CONVEX = 0.8  # of R: where S has less along its steepest axis, -log p counts as convex; ours
LONGEST_TIME = 1e6  # of one rational step, over the largest curvature; ours
LONGEST_SHARE = 2.0  # a_i of the proof; beyond it a step could leave its part of the level set
DESCENT_STEPS = 2000  # most steps of one descent; slow where components nearly melt into one
CONVERGED = 1e-10  # length of R^-1 grad in the metric R, in standard deviations
FEW_POINTS = 100  # up to here they are compared one by one, in few axes; ours
MOST_PAIRED = 200  # up to here all pairs of points in the plane are compared together; ours
FEW_NEIGHBORS = 20  # of a point, itself among them, up to which pairs of points are listed; ours
MERGE = 1e-4  # critical points closer than this, in standard deviations, are one

NO_TRAPS = frozen(np.empty((8, 0)))  # rows of no traps at all


@dataclass(frozen=True, slots=True, eq=False)
class Traps:
    """Ellipsoids, one for each of L minima, within which the end of a descent is certain."""

    middles: FloatArray  # (D, L) of the whitened minima, one column each
    whiteners: FloatArray  # (D, D L) roots of the Hessians of -ln p there, side by side: axis by axis, minima inside
    radii: FloatArray  # (L,) squared, in units of the curvature; 0: no trap
    rims: FloatArray  # (L,) a point must be denser than this, ln p

    def caught(self, places: Points, density: FloatArray) -> Labels:
        """Return the minimum (n,) that is certain for each of `places` (n, D), of ln p `density` (n,), or -1."""
        labels = np.full(len(places), -1, dtype=np.intp)
        dense = np.flatnonzero(density > self.rims.min())
        if not len(dense):
            return labels
        white = (algebra.product(places[dense], self.whiteners)).reshape(len(dense), *self.middles.shape) - self.middles
        inside = (np.square(white, out=white).sum(axis=1) < self.radii) & (density[dense, None] > self.rims)
        labels[dense] = np.where(inside.any(axis=1), inside.argmax(axis=1), -1)
        return labels

    def rows(self) -> FloatArray:
        """Return the traps of a plane (8, L): whiteners (11, 12, 21, 22), middles, squared radius, rim."""
        first, second = self.whiteners.reshape(2, 2, -1).transpose(1, 0, 2)
        return frozen(np.stack([*first, *second, *self.middles, self.radii, self.rims]))


def flow(mixture: Mixture, starts: Points, traps: Traps | None = None) -> tuple[Points, Labels, BoolArray]:
    """Follow the flow from `starts` (n, D) to where Newton's method is safe.

    Return the places (n, D), the row of `traps` that each is in (n,), and which places are safe (n,). A start stops in
    the first trap on its way; the others have -1.
    """
    if mixture.plane is not None:
        none = np.empty(0, dtype=np.intp)
        rows = NO_TRAPS if traps is None else traps.rows()
        return flow_down(mixture.plane, starts, rows, none, none, FLOW_STEPS)
    places, labels = np.array(starts), np.full(len(starts), -1, dtype=np.intp)
    active, ended = np.arange(len(starts)), np.zeros(len(starts), dtype=bool)
    if not len(active):
        return places, labels, ended
    at, here, reach = np.array(starts), mixture.quick_at(starts), np.full(len(starts), LONGEST_REACH)
    rise = here.gradient  # see `_solved`
    length = length_of(here.gradient, solved(here.metric, here.gradient))
    for _ in range(FLOW_STEPS):
        if traps is not None:
            labels[active] = traps.caught(at, here.log_density)
        ended[active] = _is_safe(here, length)
        go = (labels[active] < 0) & ~ended[active]
        if not go.any():
            break
        if not go.all():
            places[active] = at
            active, at, here = active[go], at[go], here.rows(go)
            reach, length, rise = reach[go], length[go], rise[go]
        move, predicted, used = _flow_step(here, reach, rise)
        trial = at + move
        there = mixture.quick_at(trial)
        miss = there.gradient - predicted
        ahead, back, rise = _solved(there, miss, rise)
        error = length_of(miss, back) / np.minimum(np.maximum(RELATIVE * length, LEAST), TOLERANCE)
        good = (error <= 1.0) & (there.log_density >= here.log_density - 1e-9)
        at = np.where(good[:, None], trial, at)
        length = np.where(good, length_of(there.gradient, ahead), length)
        if not good.all():
            masks = (good, good[:, None], good[:, None, None], good[:, None, None])
            there = Local(*map(np.where, masks, there, here))
        here = there
        # The step is of order 2.
        growth = np.minimum(np.maximum(0.8 / np.sqrt(np.maximum(error, 1e-6)), 0.25), np.where(good, 3.0, 0.5))
        reach = np.asarray(np.minimum(used * growth, LONGEST_REACH))
    places[active] = at
    return places, labels, ended


def _is_safe(here: Local, length: FloatArray) -> BoolArray:
    """Return where -log p is convex and Newton's step is shorter than CLOSE standard deviations (n,).

    |s|_H <= CLOSE with H no larger than R; a soft direction makes it the smaller of the two. It is at least the unit
    step's `length` (n,), so most places need no eigenvalues.
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


def _flow_step(here: Local, reach: FloatArray, rise: FloatArray) -> tuple[Points, FloatArray, FloatArray]:
    """Return the step (n, D) of the flow, the predicted gradient after it, and how far it reached at most (n,)."""
    if here.gradient.shape[1] <= FEW_AXES:
        return exact_step(here, reach)
    move, predicted, used = _rational_step(here, reach)
    spread, metric = (np.einsum("nd,nd->n", rise, _dot(each, rise)) for each in (here.spread, here.metric))
    bent = np.flatnonzero(spread > CONVEX * metric)
    if len(bent):
        move[bent], predicted[bent], used[bent] = exact_step(here.rows(bent), reach[bent])
    return move, predicted, used


def exact_step(here: Local, reach: FloatArray) -> tuple[Points, FloatArray, FloatArray]:
    """Return the local quadratic's flow (n, D) in the time h, the gradient that it predicts, and h times the speed."""
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
    """Return `exact_step` with 1 / (1 - z + z^2/2) for e^z: of order 2, and 0 where z is -infinity.

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


def _solved(there: Local, miss: FloatArray, rise: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return R^-1 grad, R^-1 miss and the next `rise`, (n, D) each."""
    if miss.shape[1] <= FEW_AXES:  # no rational step: `rise` is not needed
        return solved(there.metric, there.gradient), solved(there.metric, miss), rise
    # The power method: where S outweighs R, -log p bends downwards, and that is S's largest eigenvalue in the metric R.
    right = np.stack([there.gradient, miss, _dot(there.spread, rise)], axis=2)
    ahead, back, rise = np.ascontiguousarray(algebra.solved(there.metric, right).transpose(2, 0, 1))
    return ahead, back, rise / floored(np.abs(rise).max(axis=1, keepdims=True))


def _dot(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("nij,nj->ni", matrices, vectors))


def floored(values: FloatArray) -> FloatArray:
    """Return `values` that can be divided by."""
    return np.asarray(np.maximum(values, TINY))


def settle(mixture: Mixture, starts: Points) -> Points:
    """Return the minima of f (m, D) that `starts` (m, D) flow to; one that stops at a saddle is pushed off it."""
    ends, _, safe = flow(mixture, starts)
    converged, active = np.zeros(len(ends), dtype=bool), np.flatnonzero(safe)
    for _ in range(NEWTON_STEPS):
        if not len(active):
            break
        here = mixture.at(ends[active])
        there = length_of(here.gradient, solved(here.metric, here.gradient)) <= CONVERGED
        converged[active[there]] = True
        active = active[~there]
        ends[active] += solved(-here.hessian[~there], here.gradient[~there])
    slow = np.flatnonzero(~converged)
    ends[slow], _ = descend(mixture, ends[slow])
    for _ in range(mixture.d + 1):
        slow = slow[axes(mixture.at(ends[slow])).curvatures[:, -1] < -FLAT] if len(slow) else slow
        if not len(slow):
            break
        ends[slow], _ = descend(mixture, flow(mixture, beside(mixture, ends[slow])[:, 0])[0])
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


def flow_lines(mixture: Mixture, starts: Points, *, n_steps: int, reach: float, end: float) -> FloatArray:
    """Return flow lines from `starts` (m, D) for a picture, as (m, n_steps, D), NaN after their end.

    Each step solves the flow of the local quadratic exactly, at most `reach` standard deviations far, and more where
    everything is farther away than ten steps. A line ends before a step shorter than `end` standard deviations.
    """
    if mixture.plane is not None:
        return flow_lines_from(mixture.plane, starts, n_steps, reach, end)
    places, active = np.array(starts), np.arange(len(starts))
    lines = np.full((len(starts), n_steps, mixture.d), np.nan)
    for step in range(n_steps):
        lines[active, step] = places
        here = mixture.quick_at(places)
        far = 0.1 * np.sqrt(np.maximum(-2.0 * here.log_density, 0.0))  # a tenth of the way from far away
        moves = exact_step(here, np.maximum(reach, far))[0]
        moving = length_of(moves, _dot(here.metric, moves)) > end
        active, places = active[moving], (places + moves)[moving]
        if not len(active):
            break
    return lines


def descend(mixture: Mixture, points: Points) -> tuple[Points, FloatArray]:
    """Return where `points` (n, D) flow to, (n, D), and how steep it still is there (n,): the length of a unit step.

    Every answer with a length below CONVERGED is a minimum of f to about that many standard deviations.
    """
    places, length = np.array(points, dtype=np.float64), np.full(len(points), np.inf)
    active = np.arange(len(places))
    for _ in range(DESCENT_STEPS):
        if not len(active):
            break
        here = axes(mixture.at(places[active]))
        length[active] = np.sqrt(np.einsum("nd,nd->n", here.slopes, here.slopes))
        moving = length[active] > CONVERGED
        # a_i is Newton's, at most LONGEST_SHARE far away; whole close to a minimum.
        newton = 1.0 / np.maximum(here.curvatures, 1e-12)
        reach = np.abs(newton * here.slopes).max(axis=1)
        whole = (here.curvatures[:, -1] > 0) & (reach < CLOSE)
        step = here.step(np.where(whole[:, None], newton, np.minimum(newton, LONGEST_SHARE)))
        places[active[moving]] += step[moving]
        active = active[moving]
    return places, length


@dataclass(frozen=True, slots=True, eq=False)
class Axes:
    """The landscape at n points in a basis where R is the identity: its axes are the eigenvectors of S there."""

    log_density: FloatArray  # (n,)
    slopes: FloatArray  # (n, D) g_i = v_i' grad log p
    curvatures: FloatArray  # (n, D) 1 - s_i of -log p, descending: the last is the least, all at most 1
    basis: FloatArray  # (n, D, D) v_i are the columns

    def step(self, shares: FloatArray) -> FloatArray:
        """Return s = sum_i a_i g_i v_i (n, D) for shares a (n, D)."""
        return np.asarray(np.einsum("nij,nj->ni", self.basis, shares * self.slopes))


def axes(local: Local) -> Axes:
    """Return the principal axes of a landscape in the metric R."""
    metric = local.metric
    if metric.shape[-1] == 2:  # L^-1 with R = L L', term by term
        first = 1.0 / np.sqrt(metric[:, 0, 0])
        below = metric[:, 1, 0] * first
        second = 1.0 / np.sqrt(metric[:, 1, 1] - below * below)
        inverse = np.zeros_like(metric)
        inverse[:, 0, 0], inverse[:, 1, 0], inverse[:, 1, 1] = first, -below * first * second, second
    else:
        inverse = algebra.inverse_lower(algebra.cholesky(metric))
    transposed = inverse.transpose(0, 2, 1)
    spread, vectors = algebra.eigen(algebra.product(algebra.product(inverse, local.spread), transposed))
    basis = algebra.product(transposed, vectors)
    slopes = np.einsum("nj,nji->ni", local.gradient, basis)
    return Axes(local.log_density, slopes, 1.0 - spread, basis)


def unit_lengths(local: Local) -> FloatArray:
    """Return the length (n,) of the unit step R^-1 grad log p in the metric R: 0 at critical points."""
    return length_of(local.gradient, solved(local.metric, local.gradient))


def length_of(gradient: FloatArray, step: FloatArray) -> FloatArray:
    """Return sqrt(g' s) (n,) of g and s = R^-1 g: a length in standard deviations."""
    return np.asarray(np.sqrt(np.maximum(np.einsum("nd,nd->n", gradient, step), 0.0)))


def solved(metric: FloatArray, right: FloatArray) -> FloatArray:
    """Return metric^-1 right (n, D); by Cramer's rule in the plane, where a library call costs more than the sum."""
    if metric.shape[-1] == 1:
        return np.asarray(right / metric[..., 0])
    if metric.shape[-1] == 2:
        a, b, c = metric[:, 0, 0], metric[:, 0, 1], metric[:, 1, 1]
        x, y, scale = right[:, 0], right[:, 1], a * c - b * b
        solution = np.empty_like(right)
        solution[:, 0], solution[:, 1] = (c * x - b * y) / scale, (a * y - b * x) / scale
        return solution
    return algebra.solved(metric, right[..., None])[..., 0]


def distinct(mixture: Mixture, points: Points, *, radius: float = MERGE) -> Labels:
    """Return which point each of `points` (n, D) is the same as, (n,) numbered from 0 in order of first appearance.

    Two are the same when they are closer than `radius` (standard deviations: the metric R at the first of them).
    """
    if not len(points):
        return np.empty(0, dtype=np.intp)
    if mixture.d > FEW_AXES or len(points) > FEW_POINTS:
        # R is a mean of precisions, so it is nowhere less than their least one.
        widest = float(algebra.eigen(mixture.covariances)[0].max())
        tree, reach = cKDTree(points), radius * np.sqrt(widest) * (1.0 + 1e-9)
        if tree.count_neighbors(tree, reach) <= FEW_NEIGHBORS * len(points):
            return _distinct_among(mixture, points, radius, tree.query_pairs(reach, output_type="ndarray"))
    metric = mixture.quick_at(points).metric
    if mixture.d == 2 and len(points) <= MOST_PAIRED:
        x, y = (np.subtract.outer(-each, -each) for each in points.T)  # (n, n), from i to j, in the metric at i
        squares = metric[:, 0, 0, None] * x * x + 2.0 * metric[:, 0, 1, None] * x * y + metric[:, 1, 1, None] * y * y
        return _names_by_leaders(squares < radius**2)
    names = np.full(len(points), -1, dtype=np.intp)
    rest = np.arange(len(points))
    count = 0
    while len(rest):
        gaps = points[rest] - points[rest[0]]
        near = np.einsum("nd,nd->n", algebra.product(gaps, metric[rest[0]]), gaps) < radius**2
        near[0] = True
        names[rest[near]] = count
        rest = rest[~near]
        count += 1
    return names


def _distinct_among(mixture: Mixture, points: Points, radius: float, pairs: Labels) -> Labels:
    """Return `distinct(mixture, points)` from all `pairs` (m, 2) of points, i < j, that can be the same.

    In order, each point joins the first that leads and is near it.
    """
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    gaps = points[pairs[:, 1]] - points[pairs[:, 0]]
    sources, rows = np.unique(pairs[:, 0], return_inverse=True)
    metric = mixture.quick_at(points[sources]).metric[rows]
    near = np.einsum("nd,nde,ne->n", gaps, metric, gaps) < radius**2
    leader = list(range(len(points)))
    for i, j in pairs[near].tolist():
        if leader[i] == i and leader[j] == j:
            leader[j] = i
    return np.asarray(np.unique(leader, return_inverse=True)[1], dtype=np.intp)


def _names_by_leaders(near: BoolArray) -> Labels:
    """Number n points (n,) in order of their leaders: the first without one leads all others without one near it."""
    np.fill_diagonal(near, True)  # a distance to itself may not be a number
    first = near.argmax(axis=0)
    if (first[first] == first).all():  # every first neighbor is a leader itself: no need to go in turn
        return np.asarray(np.unique(first, return_inverse=True)[1], dtype=np.intp)
    names = np.full(len(near), -1, dtype=np.intp)
    rest = np.ones(len(near), dtype=np.bool_)
    for count in range(len(near)):
        leader = rest.argmax()
        if not rest[leader]:
            break
        group = near[leader] & rest
        names[group] = count
        rest &= ~group
    return names
