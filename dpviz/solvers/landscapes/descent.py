"""Flowing down f = -log p, batched: the gradient system of Byun, Choi & Lee, equation (5), in steps that cannot jump.

The metric is R(x) = sum_k omega_k Sigma_k^-1, whose condition number is at most that of the precisions together
(theorem 4.1 asks for a finite one). One Euler step of length 1 in it is x + R^-1 grad log p, the mean shift of a
mixture. Jensen's inequality gives a concave quadratic below log p that touches it at x,
    log p(x + s) >= log p(x) + grad' s - s' R s / 2,
and with s = sum_i a_i g_i v_i (v_i a basis that R makes orthonormal, g_i = v_i' grad) the right side rises by
sum_i g_i^2 (t a_i - t^2 a_i^2 / 2) >= 0 for every t in [0, 1] and a_i in [0, 2]. So no step, however long, leaves the
connected part of {p >= p(x)} that x is in: theorem 4.2 needs nothing more, and it holds for the steps and not only for
the flow they follow. Newton's a_i = 1 / (1 - s_i), s_i the eigenvalues of S in that basis, are taken up to 2.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from dpviz.core import FloatArray, Labels, Points, algebra
from dpviz.solvers.landscapes.mixture import FEW_AXES, Local, Mixture
from dpviz.solvers.landscapes.step_rules import CLOSE

LONGEST_SHARE = 2.0  # a_i of the proof; beyond it a step could leave its part of the level set
DESCENT_STEPS = 2000  # most steps of one descent; slow where components nearly melt into one
CONVERGED = 1e-10  # length of R^-1 grad in the metric R, in standard deviations
FEW_POINTS = 100  # up to here they are gone through one by one, in few axes; ours
MOST_PAIRED = 200  # up to here all pairs of points in the plane are looked at together; ours
FEW_NEIGHBORS = 20  # of a point, itself among them, up to which pairs of points are listed; ours
MERGE = 1e-4  # critical points closer than this, in standard deviations, are one


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
    inverse = _whitener(local.metric)
    transposed = inverse.transpose(0, 2, 1)
    spread, vectors = algebra.eigen(algebra.product(algebra.product(inverse, local.spread), transposed))
    basis = algebra.product(transposed, vectors)
    slopes = np.einsum("nj,nji->ni", local.gradient, basis)
    return Axes(local.log_density, slopes, 1.0 - spread, basis)


def descend(mixture: Mixture, points: Points, *, most: int = DESCENT_STEPS) -> tuple[Points, FloatArray]:
    """Return where `points` (n, D) flow to, (n, D), and how steep it still is there (n,): the length of a unit step.

    Every answer with a length below CONVERGED is a minimum of f to about that many standard deviations.
    """
    found, length = np.array(points, dtype=np.float64), np.full(len(points), np.inf)
    active = np.arange(len(found))
    for _ in range(most):
        if not len(active):
            break
        here = axes(mixture.at(found[active]))
        length[active] = np.sqrt(np.einsum("nd,nd->n", here.slopes, here.slopes))
        moving = length[active] > CONVERGED
        step = here.step(descent_shares(here))
        found[active[moving]] += step[moving]
        active = active[moving]
    return found, length


def descent_shares(here: Axes) -> FloatArray:
    """Return a_i (n, D): Newton's, at most LONGEST_SHARE far away; whole close to a minimum."""
    newton = 1.0 / np.maximum(here.curvatures, 1e-12)
    reach = np.abs(newton * here.slopes).max(axis=1)
    whole = (here.curvatures[:, -1] > 0) & (reach < CLOSE)
    return np.where(whole[:, None], newton, np.minimum(newton, LONGEST_SHARE))


def unit_lengths(local: Local) -> FloatArray:
    """Return the length (n,) of the unit step R^-1 grad log p in the metric R: 0 at critical points."""
    return length_of(local.gradient, solved(local.metric, local.gradient))


def length_of(gradient: FloatArray, step: FloatArray) -> FloatArray:
    """Return sqrt(g' s) (n,) of g and s = R^-1 g: a length in standard deviations."""
    return np.asarray(np.sqrt(np.maximum(np.einsum("nd,nd->n", gradient, step), 0.0)))


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
    if mixture.d == 2 and len(points) <= MOST_PAIRED:
        return _led(_near_in_plane(points, mixture.quick_at(points).metric, radius))
    names = np.full(len(points), -1, dtype=np.intp)
    metric = mixture.quick_at(points).metric
    left = np.arange(len(points))
    count = 0
    while len(left):
        gaps = points[left] - points[left[0]]
        near = np.einsum("nd,nd->n", algebra.product(gaps, metric[left[0]]), gaps) < radius**2
        near[0] = True
        names[left[near]] = count
        left = left[~near]
        count += 1
    return names


def _distinct_among(mixture: Mixture, points: Points, radius: float, pairs: Labels) -> Labels:
    """Return what `distinct` does, looking only at `pairs` (m, 2) of points, i < j: all that can be the same."""
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    gaps = points[pairs[:, 1]] - points[pairs[:, 0]]
    sources, rows = np.unique(pairs[:, 0], return_inverse=True)
    metric = mixture.quick_at(points[sources]).metric[rows]
    near = np.einsum("nd,nde,ne->n", gaps, metric, gaps) < radius**2
    return _numbered(len(points), pairs[near])


def _near_in_plane(points: Points, metric: FloatArray, radius: float) -> NDArray[np.bool_]:
    """Return (n, n): whether `points` (n, 2) j is closer than `radius` to i, in the metric at i."""
    x, y = (np.subtract.outer(-each, -each) for each in points.T)  # from i to j
    squares = metric[:, 0, 0, None] * x * x + 2.0 * metric[:, 0, 1, None] * x * y + metric[:, 1, 1, None] * y * y
    return np.asarray(squares < radius**2)


def _led(near: NDArray[np.bool_]) -> Labels:
    """Number n points (n,) in order of their leaders: the first that is left leads all that are left and near it."""
    np.fill_diagonal(near, True)  # a distance to itself may not be a number
    first = near.argmax(axis=0)
    if (first[first] == first).all():  # whoever is first near somebody is led by nobody: no need to go in turn
        return np.asarray(np.unique(first, return_inverse=True)[1], dtype=np.intp)
    names = np.full(len(near), -1, dtype=np.intp)
    left = np.ones(len(near), dtype=np.bool_)
    for count in range(len(near)):
        leader = left.argmax()
        if not left[leader]:
            break
        led = near[leader] & left
        names[led] = count
        left &= ~led
    return names


def _numbered(n: int, pairs: Labels) -> Labels:
    """Number n points (n,), given the pairs that are near, in order: each joins the first that leads and is near it."""
    first = list(range(n))
    for i, j in pairs.tolist():
        if first[i] == i and first[j] == j:
            first[j] = i
    return np.asarray(np.unique(first, return_inverse=True)[1], dtype=np.intp)


def solved(metric: FloatArray, right: FloatArray) -> FloatArray:
    """Return metric^-1 right (n, D); by Cramer's rule in the plane, where a library call costs more than the sum."""
    if metric.shape[-1] == 1:
        return np.asarray(right / metric[..., 0])
    if metric.shape[-1] == 2:
        a, b, c = metric[:, 0, 0], metric[:, 0, 1], metric[:, 1, 1]
        x, y, scale = right[:, 0], right[:, 1], a * c - b * b
        found = np.empty_like(right)
        found[:, 0], found[:, 1] = (c * x - b * y) / scale, (a * y - b * x) / scale
        return found
    return algebra.solved(metric, right[..., None])[..., 0]


def _whitener(metric: FloatArray) -> FloatArray:
    """Return L^-1 (n, D, D) with R = L L'; in the plane term by term."""
    if metric.shape[-1] != 2:
        return algebra.inverse_lower(algebra.cholesky(metric))
    first = 1.0 / np.sqrt(metric[:, 0, 0])
    below = metric[:, 1, 0] * first
    second = 1.0 / np.sqrt(metric[:, 1, 1] - below * below)
    made = np.zeros_like(metric)
    made[:, 0, 0], made[:, 1, 0], made[:, 1, 1] = first, -below * first * second, second
    return made
