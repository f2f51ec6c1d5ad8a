"""The law of a released point for each way of keeping it in the public box.

`nd_laplace` is a Gaussian scale mixture: given V ~ Gamma((d + 1)/2, rate epsilon^2 / 2) the coordinates of z - x are
independent N(0, V), because exp(-s) is the mean of exp(-s^2 t) over a Levy-distributed t. The probability of any
product of intervals is therefore one integral over V in every dimension,

    P(z in [a, b] | x) = E prod_i [Phi((b_i - x_i)/sqrt V) - Phi((a_i - x_i)/sqrt V)],

computed by the trapezoid rule in log V, which converges exponentially. Its relative error is below 1e-10 where the
interval is within 40/epsilon of x, below 1e-3 within 160/epsilon and below 0.1 within 600/epsilon, where the
probability itself is e^-160 and e^-600 (tested against the closed forms of one dimension).
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dpviz.core import Box, FloatArray, algebra, as_points, frozen, functions
from dpviz.mechanisms.nd_laplace import check_epsilon

STEPS = (0.125, 0.25)  # of log V: for intervals far away and for those at hand
NARROW = 24.0  # e^-24 = 4e-11 is what a step may miss of the integral's peak, of width 1 / sqrt(reach) in log V; ours
BEYOND = 36.0  # e^-36 = 2e-16 of the least probability is left out above the last node; ours
LEFT = 34.0  # e^-34 = 2e-15 of V's law is below the first node
MAX_REACH = 700.0  # distance in units of 1 / epsilon; beyond, a double underflows
CELLS = 1 << 21  # factors held at a time


def log_density(z: ArrayLike, points: ArrayLike, *, epsilon: float) -> FloatArray:
    """Return log of the density of z given x: log c - epsilon |z - x|, c = epsilon^d Gamma(d/2) / (2 pi^(d/2) (d-1)!).

    `z` and `points` are (..., d) and broadcast; the result is (...). With x private it is the curator's; an attacker
    evaluates it at places of his own. Source: thesis, equation 3.2, where d = 2 and c = epsilon^2 / (2 pi).
    Raises ValueError for an epsilon that is not positive and finite.
    """
    check_finite_epsilon(epsilon)
    gaps = np.asarray(z, dtype=np.float64) - np.asarray(points, dtype=np.float64)
    distances = np.sqrt(np.einsum("...i,...i->...", gaps, gaps))
    return np.asarray(log_constant(gaps.shape[-1], epsilon) - epsilon * distances)


def log_constant(d: int, epsilon: float) -> float:
    """Return log c of `log_density`."""
    sphere = math.log(2.0) + d / 2 * math.log(math.pi) - math.lgamma(d / 2)  # log surface of the unit sphere
    return d * math.log(epsilon) - math.lgamma(d) - sphere


def interval_probability(low: ArrayLike, high: ArrayLike, points: ArrayLike, *, epsilon: float) -> FloatArray:
    """Return P(low <= z <= high | x) for each row x of `points` (m, d); `low` and `high` (d,) may be infinite.

    Raises ValueError for an epsilon that is not positive and finite, and for bad points.
    """
    check_finite_epsilon(epsilon)
    places = as_points(points)
    factors = IntervalFactors(np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64))
    return mixture_of(places, factors, epsilon)


def inside_probability(points: ArrayLike, box: Box, *, epsilon: float) -> FloatArray:
    """Return P(z inside `box` | x) (m,) for each row x of `points` (m, d): what redrawing divides the density by."""
    return interval_probability(box.low, box.high, as_points(points, n_features=box.d), epsilon=epsilon)


def corner_probability(box: Box, *, epsilon: float) -> float:
    """Return P(z inside `box` | x in a corner), the least over the box, public; 1 at epsilon = infinity.

    log P(inside | x) is concave in x (the density and the box are log-concave), so its least value is at a corner, and
    by symmetry at each.
    """
    if math.isinf(epsilon):
        return 1.0
    return float(inside_probability(box.low[None, :], box, epsilon=epsilon)[0])


def redraw_loss(box: Box, *, epsilon: float) -> float:
    """Return the loss per distance, in units of epsilon, of redrawing near a corner of `box`: from 1 to 2.

    At z = x the log-ratio of K(x) to K(x') is epsilon d + log P(inside | x') - log P(inside | x); as x' nears x in the
    direction of the gradient this is (1 + |grad log P(inside | x)| / epsilon) epsilon d, taken here at the corner. In a
    square that is the most anywhere; in a long box the middle of a short side can lose a little more (0.2 x 5 at
    epsilon 1: 1.957 against 1.950). It is a figure, not a bound: 2 is the proved bound everywhere.
    """
    if math.isinf(epsilon):
        return 1.0
    corner, step = box.low, 1e-5 * np.minimum(box.widths, 1.0 / epsilon)
    # One-sided with curvature removed: points stay inside the box.
    near = corner + np.concatenate([np.zeros((1, box.d)), np.diag(step), np.diag(2.0 * step)])
    logs = functions.log(inside_probability(near, box, epsilon=epsilon))
    gradient = (4.0 * logs[1 : box.d + 1] - 3.0 * logs[0] - logs[box.d + 1 :]) / (2.0 * step)
    return min(2.0, 1.0 + algebra.length(gradient) / epsilon)


def check_finite_epsilon(epsilon: float) -> None:
    """Raise ValueError unless epsilon is positive and finite: without noise there is no density."""
    check_epsilon(epsilon)
    if math.isinf(epsilon):
        raise ValueError("epsilon was infinite, but a release without noise has no density. Use a finite epsilon.")


def scale_nodes(d: int, reach: float = MAX_REACH) -> tuple[FloatArray, FloatArray]:
    """Return standard deviations sqrt(V) (q,) at epsilon = 1 and their weights (q,), adding to 1.

    `reach` is how far the product of intervals is from the places that are asked about, in units of 1 / epsilon: where
    all is at hand, half as many nodes are as good.
    """
    return _scale_nodes(d, min(2.0 ** math.ceil(math.log2(max(reach, 1.0))), MAX_REACH))


@lru_cache(maxsize=64)
def _scale_nodes(d: int, reach: float) -> tuple[FloatArray, FloatArray]:
    # The trapezoid rule misses exp(-2 pi^2 width^2 / step^2) of a peak.
    step = float(np.clip(math.pi * math.sqrt(2.0 / (NARROW * reach)), *STEPS))
    shape = (d + 1) / 2
    logs = np.arange(-LEFT / shape - 1.0, math.log(2.0 * (reach + BEYOND) + 8.0 * d), step)
    weights = functions.exp(shape * (logs - math.log(2.0)) - functions.exp(logs) / 2.0 - math.lgamma(shape))
    return frozen(functions.exp(logs / 2.0)), frozen(weights / weights.sum())


@dataclass(frozen=True, slots=True, eq=False)
class IntervalFactors:
    """Per axis, the probability of c intervals each: low and high are (d,) or, for a union of c boxes, (c, d)."""

    low: FloatArray
    high: FloatArray

    def __call__(self, axis: int, places: FloatArray, deviations: FloatArray) -> FloatArray:
        """Return (m, c, q): P(low <= z_axis <= high | x_axis = places[m], V)."""
        x = places[:, None, None]
        low, high = (np.atleast_2d(bound)[None, :, axis, None] for bound in (self.low, self.high))
        # Both bounds are mirrored where they lie above x, so that small tails are not lost in 1 - (1 - tail).
        flip = np.where(low > x, -1.0, 1.0)
        upper, lower = np.where(flip > 0, high - x, x - low), np.where(flip > 0, low - x, x - high)
        found: FloatArray = special.ndtr(upper / deviations) - special.ndtr(lower / deviations)
        return found

    def reach(self, axis: int, places: FloatArray) -> float:
        """Return how far the interval that is farthest is from the farthest of `places` (m,), unit of the points."""
        low, high = (np.atleast_2d(bound)[:, axis] for bound in (self.low, self.high))
        return max(0.0, float(low.max() - places.min()), float(places.max() - high.min()))


@dataclass(frozen=True, slots=True, eq=False)
class ClampFactors:
    """Per axis, what a clamped z_axis says: a density inside the box, the mass beyond on its wall."""

    z: FloatArray  # (d,)
    box: Box

    def __call__(self, axis: int, places: FloatArray, deviations: FloatArray) -> FloatArray:
        """Return (m, 1, q)."""
        x, z = places[:, None, None], self.z[axis]
        if z <= self.box.low[axis]:
            return np.asarray(special.ndtr((self.box.low[axis] - x) / deviations))
        if z >= self.box.high[axis]:
            return np.asarray(special.ndtr((x - self.box.high[axis]) / deviations))
        return np.asarray(functions.exp(-(((z - x) / deviations) ** 2) / 2.0) / (math.sqrt(2.0 * math.pi) * deviations))

    def reach(self, axis: int, places: FloatArray) -> float:
        """Return how far z is from the farthest of `places` (m,), unit of the points."""
        return float(np.abs(places - self.z[axis]).max())


Factors = IntervalFactors | ClampFactors


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """Candidates as the values that each axis takes, so that a product law is computed axis by axis."""

    axes: tuple[FloatArray, ...]
    places: tuple[np.ndarray[tuple[int, ...], np.dtype[np.intp]], ...]  # (m,) each: which value a candidate has
    # (m,) of the table of all combinations; None where those are many more than the candidates
    entries: np.ndarray[tuple[int, ...], np.dtype[np.intp]] | None


def lattice_of(candidates: FloatArray) -> Lattice:
    """Find the values that each axis of `candidates` (m, d) takes."""
    found = [np.unique(column, return_inverse=True) for column in candidates.T]
    axes, places = tuple(values for values, _ in found), tuple(inverse for _, inverse in found)
    sizes = tuple(len(axis) for axis in axes)
    pays = math.prod(sizes) <= 4 * max(len(candidates), 1)
    return Lattice(axes, places, np.ravel_multi_index(places, sizes) if pays else None)


def mixture_of(candidates: FloatArray, factors: Factors, epsilon: float, lattice: Lattice | None = None) -> FloatArray:
    """Return E prod_i factors_i(x_i, V) (m,), summed over a union of boxes, for each candidate x (m, d)."""
    d = candidates.shape[1]
    if not len(candidates):
        return np.zeros(0)
    known = lattice_of(candidates) if lattice is None else lattice
    reach = math.hypot(*(factors.reach(axis, values) for axis, values in enumerate(known.axes)))
    deviations, weights = scale_nodes(d, epsilon * reach)
    deviations = deviations / epsilon
    if known.entries is not None:
        return np.asarray(_table(known.axes, factors, deviations, weights).ravel().take(known.entries))
    rows = max(1, CELLS // deviations.size)
    blocks = (candidates[first : first + rows] for first in range(0, len(candidates), rows))
    return np.concatenate([_by_rows(block, factors, deviations, weights) for block in blocks])


def _by_rows(candidates: FloatArray, factors: Factors, deviations: FloatArray, weights: FloatArray) -> FloatArray:
    product = factors(0, candidates[:, 0], deviations)
    for axis in range(1, candidates.shape[1]):
        product = product * factors(axis, candidates[:, axis], deviations)
    return algebra.product(product.sum(axis=1), weights[:, None])[:, 0]


def _table(axes: tuple[FloatArray, ...], factors: Factors, deviations: FloatArray, weights: FloatArray) -> FloatArray:
    """Return what `mixture_of` is for all combinations of the axes' values."""
    columns = [factors(axis, values, deviations) for axis, values in enumerate(axes)]
    product = (columns[0] * weights).reshape(len(columns[0]), -1)
    for column in columns[1:-1]:
        product = (product[:, None, :] * column.reshape(1, len(column), -1)).reshape(-1, product.shape[1])
    last = columns[-1].reshape(len(columns[-1]), -1)
    return algebra.product(product, last.T) if len(columns) > 1 else product.sum(axis=1)
