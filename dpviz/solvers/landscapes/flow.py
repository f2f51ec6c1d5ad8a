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

import numpy as np

from dpviz.core import BoolArray, FloatArray, Labels, Points, algebra, frozen, immutable, writable
from dpviz.solvers.landscapes.mixture import Local, Mixture
from dpviz.solvers.landscapes.walks import CLOSE, FLAT, Traps, axes_at, distinct_at, flow_down, flow_lines_from

# Maximum number of steps. Our choice.
FLOW_STEPS = 400
# Maximum Newton steps from a safe place. After them, the slow descent continues. Our choice.
NEWTON_STEPS = 5
# Standard deviations from a saddle to the starts of its descents, halved while f does not fall. Our choice.
FIRST_STEP = 0.1
# Largest a_i in the proof. With a larger one, a step could leave its part of the level set.
LONGEST_SHARE = 2.0
# Maximum steps of one descent, which is slow where components nearly merge into one.
DESCENT_STEPS = 2000
# A descent has converged below this length of R^-1 grad in the metric R, in standard deviations.
CONVERGED = 1e-10
# Critical points closer than this, in standard deviations, are one.
MERGE = 1e-4

NONE = np.empty(0, dtype=np.intp)


def flow(
    mixture: Mixture, starts: Points, traps: Traps | None = None, cells: Labels = NONE, own: Labels = NONE
) -> tuple[Points, Labels, BoolArray]:
    """Follow the flow from `starts` (n, D) until Newton's method is safe.

    Return the places (n, D), the row of `traps` that each is in (n,), and which places are safe (n,). A start stops in
    the first trap on its way; if it meets none, its row is -1. In the plane, `cells` (g^2,) of [-1, 1]^2 may also have
    labels: a start stops where the four cells around it agree. Start i labels the cell `own[i]`, if there are any.
    """
    if traps is None:
        d = mixture.d
        traps = Traps(*(frozen(np.empty(shape)) for shape in ((0, d), (0, d, d), 0, 0)))
    return flow_down(*mixture.code, writable(starts), traps, cells, own, FLOW_STEPS)


def settle(mixture: Mixture, starts: Points) -> Points:
    """Return the minima of f (m, D) that `starts` (m, D) flow to; one that stops at a saddle is pushed off it."""
    ends, _, safe = flow(mixture, starts)
    converged, near = np.zeros(len(ends), dtype=bool), np.flatnonzero(safe)
    converged[near] = newton(mixture, ends, near, NEWTON_STEPS)
    slow = np.flatnonzero(~converged)
    ends[slow], _ = descend(mixture, ends[slow])
    for _ in range(mixture.d + 1):
        slow = slow[axes(mixture, ends[slow]).curvatures[:, -1] < -FLAT] if len(slow) else slow
        if not len(slow):
            break
        ends[slow], _ = descend(mixture, flow(mixture, beside(mixture, ends[slow])[:, 0])[0])
    return ends


def newton(mixture: Mixture, places: Points, rows: Labels, most: int) -> BoolArray:
    """Move `places[rows]` to where grad f = 0 by at most so many of Newton's steps; return which ones converge."""
    converged, active = np.zeros(len(rows), dtype=bool), np.arange(len(rows))
    for _ in range(most):
        if not len(active):
            break
        here = mixture.at(places[rows[active]])
        done = unit_lengths(here) <= CONVERGED
        converged[active[done]] = True
        active, bent, slopes = active[~done], -here.hessian[~done], here.gradient[~done]
        with np.errstate(divide="ignore", invalid="ignore"):
            step = solved(bent, slopes)
            # Where the landscape is exactly flat, there is no Newton step.
            flat = ~np.isfinite(step).all(axis=1)
            step[flat] = solved(bent[flat] + FLAT * np.eye(mixture.d), slopes[flat])
        moving = np.isfinite(step).all(axis=1)
        active = active[moving]
        places[rows[active]] += step[moving]
    return converged


def beside(mixture: Mixture, saddles: Points) -> FloatArray:
    """Return a place on either side of each saddle (s, 2, D), along its falling axis and lower than it."""
    if not len(saddles):
        return np.empty((0, 2, mixture.d))
    # Direction of length 1 in R.
    direction = axes(mixture, saddles).basis[..., -1]
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
    """Return flow lines for a picture.

    Each step solves the flow of the local quadratic exactly, at most `reach` standard deviations far, and more where
    everything is farther away than ten steps.

    Parameters
    ----------
    mixture
        The landscape.
    starts
        Starts (m, D).
    n_steps
        Number of places of a line.
    reach
        Longest step, standard deviations.
    end
        A line ends before a shorter step, standard deviations.

    Returns
    -------
    FloatArray
        Lines (m, n_steps, D), NaN after their end.
    """
    return flow_lines_from(*mixture.code, writable(starts), n_steps, reach, end)


def descend(mixture: Mixture, points: Points) -> tuple[Points, FloatArray]:
    """Return the places (n, D) that `points` (n, D) flow to, and the length (n,) of a unit step there.

    The length measures the slope. Every place with a length below CONVERGED is a minimum of f to about that many
    standard deviations.
    """
    places, length = np.array(points, dtype=np.float64), np.full(len(points), np.inf)
    active = np.arange(len(places))
    for _ in range(DESCENT_STEPS):
        if not len(active):
            break
        here = axes(mixture, places[active])
        length[active] = np.sqrt(np.einsum("nd,nd->n", here.slopes, here.slopes))
        moving = length[active] > CONVERGED
        # a_i of Newton's method: at most LONGEST_SHARE far away, unlimited close to a minimum.
        newton = 1.0 / np.maximum(here.curvatures, 1e-12)
        whole = (here.curvatures[:, -1] > 0) & (np.abs(newton * here.slopes).max(axis=1) < CLOSE)
        step = here.step(np.where(whole[:, None], newton, np.minimum(newton, LONGEST_SHARE)))
        places[active[moving]] += step[moving]
        active = active[moving]
    return places, length


@immutable
class Axes:
    """The landscape at n points in a basis where R is the identity: its axes are the eigenvectors of S there."""

    # g_i = v_i' grad log p, (n, D).
    slopes: FloatArray
    # 1 - s_i of -log p, (n, D), descending: the last is the smallest, and all are at most 1.
    curvatures: FloatArray
    # Columns are the v_i, (n, D, D).
    basis: FloatArray

    def step(self, shares: FloatArray) -> FloatArray:
        """Return s = sum_i a_i g_i v_i (n, D) for shares a (n, D)."""
        return np.asarray(np.einsum("nij,nj->ni", self.basis, shares * self.slopes))


def axes(mixture: Mixture, places: Points) -> Axes:
    """Return the principal axes of the landscape at `places` (n, D) in the metric R."""
    return Axes(*axes_at(*mixture.code, writable(places)))


def unit_lengths(local: Local) -> FloatArray:
    """Return the length (n,) of the unit step R^-1 grad log p in the metric R: 0 at critical points."""
    return length_of(local.gradient, solved(local.metric, local.gradient))


def length_of(gradient: FloatArray, step: FloatArray) -> FloatArray:
    """Return sqrt(g' s) (n,) of g and s = R^-1 g: a length in standard deviations."""
    return np.asarray(np.sqrt(np.maximum(np.einsum("nd,nd->n", gradient, step), 0.0)))


def solved(metric: FloatArray, right: FloatArray) -> FloatArray:
    """Return metric^-1 right (n, D)."""
    return algebra.solved(metric, right[..., None])[..., 0]


def distinct(mixture: Mixture, points: Points, *, radius: float = MERGE) -> Labels:
    """Group equal `points` (n, D): return group numbers (n,) from 0, in order of first appearance.

    Two points are equal if they are closer than `radius` (standard deviations: the metric R at the first point).
    """
    # R is a mean of precisions, so it is nowhere less than the smallest one.
    widest = float(algebra.eigen(mixture.covariances)[0].max())
    return distinct_at(*mixture.code, writable(points), radius, radius * np.sqrt(widest))
