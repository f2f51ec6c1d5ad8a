"""Distribution of a released point, for each way of keeping it in the public box, as every Bayesian attack needs it.

There is one likelihood for each domain (Andres et al. 2013; thesis, section 3.1.2 and algorithm 1). `nd_laplace` is a
Gaussian scale mixture: given V ~ Gamma((d + 1)/2, rate epsilon^2 / 2) the coordinates of z - x are independent N(0, V),
because exp(-s) is the mean of exp(-s^2 t) over a Levy-distributed t. The probability of any product of intervals is
therefore one integral over V in every dimension,

    P(z in [a, b] | x) = E prod_i [Phi((b_i - x_i)/sqrt V) - Phi((a_i - x_i)/sqrt V)],

computed by the trapezoid rule in log V, which converges exponentially. Its relative error is below 1e-10 where the
interval is within 40/epsilon of x, below 1e-3 within 160/epsilon and below 0.1 within 600/epsilon, where the
probability itself is e^-160 and e^-600 (tested against the closed forms of one dimension).
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpviz.core import Box, FloatArray, Labels, Points, ReadOnly, algebra, as_points, frozen, functions, immutable

# Steps of log V, for distant intervals and for near ones.
STEPS = (0.125, 0.25)
# A step may miss e^-24 = 4e-11 of the integral's peak, of width 1 / sqrt(reach) in log V. Our choice.
NARROW = 24.0
# e^-36 = 2e-16 of the smallest probability is left out above the last node. Our choice.
BEYOND = 36.0
# e^-34 = 2e-15 of V's distribution is below the first node.
BELOW = 34.0
# Largest distance in units of 1 / epsilon. Beyond it, a double underflows.
MAX_REACH = 700.0
# Factors in memory at a time.
CELLS = 1 << 21
DOMAINS = ("none", "clamp", "redraw", "remap")


def log_density(z: ArrayLike, points: ArrayLike, *, epsilon: float) -> FloatArray:
    """Return log of the density of z given x: log c - epsilon |z - x|.

    Here c = epsilon^d Gamma(d/2) / (2 pi^(d/2) (d-1)!).

    Parameters
    ----------
    z
        Places (..., d).
    points
        Candidates x (..., d); both broadcast. An attacker chooses them.
    epsilon
        Positive and finite, per unit of distance.

    Returns
    -------
    FloatArray
        Log densities (...). Curator only if x is private.

    Raises
    ------
    ValueError
        If epsilon is not positive and finite.

    References
    ----------
    Thesis, equation 3.2, where d = 2 and c = epsilon^2 / (2 pi).
    """
    check_finite_epsilon(epsilon)
    gaps = np.asarray(z, dtype=np.float64) - np.asarray(points, dtype=np.float64)
    distances = np.sqrt(np.einsum("...i,...i->...", gaps, gaps))
    return np.asarray(log_constant(gaps.shape[-1], epsilon) - epsilon * distances)


def log_constant(d: int, epsilon: float) -> float:
    """Return log c of `log_density`."""
    # Log of the surface of the unit sphere.
    sphere = math.log(2.0) + d / 2 * math.log(math.pi) - math.lgamma(d / 2)
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
    """Return P(z inside the box | x) of each row: redrawing divides the density by it.

    Parameters
    ----------
    points
        Rows x (m, d).
    box
        Public box.
    epsilon
        Above 0, per unit of distance.

    Returns
    -------
    FloatArray
        Probabilities (m,).
    """
    return interval_probability(box.low, box.high, as_points(points, n_features=box.d), epsilon=epsilon)


def corner_probability(box: Box, *, epsilon: float) -> float:
    """Return P(z inside `box` | x in a corner), the minimum over the box; 1 at epsilon = infinity. Public.

    log P(inside | x) is concave in x (the density and the box are log-concave), so its minimum is at a corner, and by
    symmetry at every corner.
    """
    if math.isinf(epsilon):
        return 1.0
    return float(inside_probability(box.low[None, :], box, epsilon=epsilon)[0])


def redraw_loss(box: Box, *, epsilon: float) -> float:
    """Return the loss per distance, in units of epsilon, of redrawing near a corner of `box`: from 1 to 2.

    At z = x the log-ratio of K(x) to K(x') is epsilon d + log P(inside | x') - log P(inside | x); as x' nears x in the
    direction of the gradient this is (1 + |grad log P(inside | x)| / epsilon) epsilon d, evaluated here at the corner.
    In a square, that is the largest loss anywhere; in a long box, the middle of a short side can lose a little more
    (0.2 x 5 at epsilon 1: 1.957 against 1.950). The result is a figure, not a bound: 2 is the proved bound everywhere.
    """
    if math.isinf(epsilon):
        return 1.0
    corner, step = box.low, 1e-5 * np.minimum(box.widths, 1.0 / epsilon)
    # A one-sided difference without the curvature term, so that points stay inside the box.
    near = corner + np.concatenate([np.zeros((1, box.d)), np.diag(step), np.diag(2.0 * step)])
    logs = functions.log(inside_probability(near, box, epsilon=epsilon))
    gradient = (4.0 * logs[1 : box.d + 1] - 3.0 * logs[0] - logs[box.d + 1 :]) / (2.0 * step)
    return min(2.0, 1.0 + algebra.length(gradient) / epsilon)


def check_epsilon(epsilon: float) -> None:
    """Raise ValueError unless epsilon > 0."""
    # Also true for NaN.
    if not epsilon > 0:
        raise ValueError(
            f"epsilon must be above 0, per unit of distance, got {epsilon}. Use math.inf for no noise, or "
            "epsilon_of_level(level, radius)."
        )


def check_finite_epsilon(epsilon: float) -> None:
    """Raise ValueError unless epsilon is positive and finite: a release without noise has no density."""
    check_epsilon(epsilon)
    if math.isinf(epsilon):
        raise ValueError("epsilon must be finite, because a release without noise has no density, got infinity.")


@lru_cache(maxsize=64)
def scale_nodes(d: int, reach: float = MAX_REACH) -> tuple[FloatArray, FloatArray]:
    """Return standard deviations sqrt(V) (q,) at epsilon = 1 and their weights (q,), adding to 1.

    `reach` is the distance of the product of intervals from the places in question, in units of 1 / epsilon. For short
    distances, half as many nodes are as accurate.
    """
    # The trapezoid rule misses exp(-2 pi^2 width^2 / step^2) of a peak.
    step = float(np.clip(math.pi * math.sqrt(2.0 / (NARROW * reach)), *STEPS))
    shape = (d + 1) / 2
    logs = np.arange(-BELOW / shape - 1.0, math.log(2.0 * (reach + BEYOND) + 8.0 * d), step)
    weights = functions.exp(shape * (logs - math.log(2.0)) - functions.exp(logs) / 2.0 - math.lgamma(shape))
    return frozen(functions.exp(logs / 2.0)), frozen(weights / weights.sum())


@immutable
class IntervalFactors:
    """Probabilities of c intervals per axis. low and high are (d,) or, for a union of c boxes, (c, d)."""

    low: FloatArray
    high: FloatArray

    def __call__(self, axis: int, places: FloatArray, deviations: FloatArray) -> FloatArray:
        """Return (m, c, q): P(low <= z_axis <= high | x_axis = places[m], V)."""
        x = places[:, None, None]
        low, high = (np.atleast_2d(bound)[None, :, axis, None] for bound in (self.low, self.high))
        # Both bounds are mirrored if they lie above x, so that small tails are not lost in 1 - (1 - tail).
        flip = np.where(low > x, -1.0, 1.0)
        upper, lower = np.where(flip > 0, high - x, x - low), np.where(flip > 0, low - x, x - high)
        masses: FloatArray = scipy.special.ndtr(upper / deviations) - scipy.special.ndtr(lower / deviations)
        return masses

    def reach(self, axis: int, places: FloatArray) -> float:
        """Return the distance of the farthest interval from the farthest of `places` (m,), unit of the points."""
        low, high = (np.atleast_2d(bound)[:, axis] for bound in (self.low, self.high))
        return max(0.0, float(low.max() - places.min()), float(places.max() - high.min()))


@immutable
class ClampFactors:
    """Likelihood of a clamped z_axis, per axis: a density inside the box, the mass beyond it on its wall."""

    z: FloatArray  # (d,)
    box: Box

    def __call__(self, axis: int, places: FloatArray, deviations: FloatArray) -> FloatArray:
        """Return (m, 1, q)."""
        x, z = places[:, None, None], self.z[axis]
        if z <= self.box.low[axis]:
            return np.asarray(scipy.special.ndtr((self.box.low[axis] - x) / deviations))
        if z >= self.box.high[axis]:
            return np.asarray(scipy.special.ndtr((x - self.box.high[axis]) / deviations))
        return np.asarray(functions.exp(-(((z - x) / deviations) ** 2) / 2.0) / (math.sqrt(2.0 * math.pi) * deviations))

    def reach(self, axis: int, places: FloatArray) -> float:
        """Return the distance of z from the farthest of `places` (m,), unit of the points."""
        return float(np.abs(places - self.z[axis]).max())


Factors = IntervalFactors | ClampFactors


@immutable
class Lattice:
    """Candidates as the values on each axis, so that a product distribution is computed axis by axis."""

    axes: tuple[FloatArray, ...]
    # Index of each candidate's value on each axis: d arrays (m,).
    places: tuple[Labels, ...]
    # Candidates' entries in the table of all combinations, (m,). None if there are many more combinations than
    # candidates.
    entries: Labels | None


def lattice_of(candidates: FloatArray) -> Lattice:
    """Find the values on each axis of `candidates` (m, d)."""
    columns = [np.unique(column, return_inverse=True) for column in candidates.T]
    axes, places = tuple(values for values, _ in columns), tuple(inverse for _, inverse in columns)
    sizes = tuple(len(axis) for axis in axes)
    pays = math.prod(sizes) <= 4 * max(len(candidates), 1)
    return Lattice(axes, places, np.ravel_multi_index(places, sizes) if pays else None)


def mixture_of(candidates: FloatArray, factors: Factors, epsilon: float, lattice: Lattice | None = None) -> FloatArray:
    """Return E prod_i factors_i(x_i, V) (m,), summed over a union of boxes, for each candidate x (m, d)."""
    d = candidates.shape[1]
    if not len(candidates):
        return np.zeros(0)
    known = lattice_of(candidates) if lattice is None else lattice
    reach = epsilon * math.hypot(*(factors.reach(axis, values) for axis, values in enumerate(known.axes)))
    deviations, weights = scale_nodes(d, min(2.0 ** math.ceil(math.log2(max(reach, 1.0))), MAX_REACH))
    deviations = deviations / epsilon
    # Use the table of all combinations of the axes' values.
    if known.entries is not None:
        columns = [factors(axis, values, deviations) for axis, values in enumerate(known.axes)]
        product = (columns[0] * weights).reshape(len(columns[0]), -1)
        for column in columns[1:-1]:
            product = (product[:, None, :] * column.reshape(1, len(column), -1)).reshape(-1, product.shape[1])
        last = columns[-1].reshape(len(columns[-1]), -1)
        table = algebra.product(product, last.T) if d > 1 else product.sum(axis=1)
        return np.asarray(table.ravel().take(known.entries))
    rows = max(1, CELLS // deviations.size)
    masses = []
    for first in range(0, len(candidates), rows):
        block = candidates[first : first + rows]
        product = factors(0, block[:, 0], deviations)
        for axis in range(1, d):
            product = product * factors(axis, block[:, axis], deviations)
        masses.append(algebra.product(product.sum(axis=1), weights[:, None])[:, 0])
    return np.concatenate(masses)


@immutable
class CellLaw:
    """P(z in the cell of place i | x = place j) of a rectangular grid. Each different value is computed once.

    Along an axis, a mass depends on the distances of the cell's walls from the value. With even steps, there are few
    different pairs of distances: their kinds. Axes are multiplied out in two halves, so that the sum over V is one
    product of two small matrices.
    """

    # (f, g), by the kinds of the first half of the axes and of the second half.
    table: FloatArray
    # Kind of cell i given place j, times its stride in the table: an array (k, k) for each axis.
    kinds: tuple[Labels, ...]
    # `Lattice.places` of the grid.
    places: tuple[Labels, ...]

    def masses(self, rows: Labels) -> FloatArray:
        """Return the masses of the cells of places `rows` (r,) given every place, (r, m)."""
        flat = np.zeros((len(rows), len(self.places[0])), dtype=np.intp)
        for kind, at in zip(self.kinds, self.places, strict=True):
            flat += kind[:, at][at[rows]]
        return np.asarray(self.table.ravel().take(flat))


def cell_law(lattice: Lattice, epsilon: float) -> CellLaw:
    """Prepare the masses of a rectangular grid. A single axis has a closed form."""
    pairs = [_wall_pairs(axis) for axis in lattice.axes]
    if len(pairs) == 1:
        gaps, kind = pairs[0]
        return CellLaw(_masses(gaps, lambda far: functions.exp(-epsilon * far) / 2.0)[:, None], (kind,), lattice.places)
    deviations, weights = scale_nodes(len(pairs))
    spread = deviations[:, None] / epsilon
    halves = [np.ones((len(weights), 1)), weights[:, None]]  # (q, kinds of the half)
    first = (len(pairs) + 1) // 2
    for axis, (gaps, _) in enumerate(pairs):
        half = int(axis >= first)
        masses = _masses(gaps, lambda far: scipy.special.ndtr(-far / spread))
        halves[half] = (halves[half][:, :, None] * masses[:, None, :]).reshape(len(weights), -1)
    sizes = [gaps.shape[1] for gaps, _ in pairs]
    strides = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    kinds = tuple(kind * stride for (_, kind), stride in zip(pairs, strides, strict=True))
    return CellLaw(algebra.product(halves[0].T, halves[1]), kinds, lattice.places)


def _wall_pairs(values: FloatArray) -> tuple[FloatArray, Labels]:
    """Return the different pairs of distances from a value of one axis (k,) to the walls of a cell, and the kinds.

    The pairs (2, kinds) are the smaller of both distances, below 0 if the value is outside the cell, and the larger.
    The kinds (k, k) are the kinds of cell i given value j.
    """
    walls = np.concatenate([[-np.inf], (values[1:] + values[:-1]) / 2.0, [np.inf]])
    low, high = values - walls[:-1, None], walls[1:, None] - values  # (k, k) each
    # Complex numbers sort and compare as pairs.
    pairs = np.empty(low.shape, dtype=np.complex128)
    pairs.real, pairs.imag = _rounded(np.minimum(low, high)), _rounded(np.maximum(low, high))
    distinct, kinds = np.unique(pairs, return_inverse=True)
    return np.stack([distinct.real, distinct.imag]), np.asarray(kinds.reshape(pairs.shape))


def _rounded(gaps: FloatArray) -> FloatArray:
    """Return gaps rounded to 13 digits, so that even steps are equal."""
    digits, powers = np.frexp(gaps)
    return np.asarray(np.ldexp(np.round(digits, 13), powers))


def _masses(gaps: FloatArray, tail: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return the mass between walls at `gaps` (2, kinds), given the tail's mass beyond a distance.

    If the value is outside the interval, the mass is a difference of small tails, so that no tail is lost in
    1 - (1 - tail). Otherwise it is 1 minus both tails.
    """
    near, far = tail(np.abs(gaps[0])), tail(gaps[1])
    return np.asarray(np.where(gaps[0] < 0, near, 1.0 - near) - far)


@immutable
class GridCells(ReadOnly):
    """The cells of a public rectangular grid: z is rounded to the nearest grid place, and that to its output.

    Cells at the rim reach to infinity, so that their masses add up to 1.
    """

    # Lower walls of each place's cell, (g, d).
    low: FloatArray
    high: FloatArray  # (g, d)
    # Release for a z in each cell, (g, d).
    outputs: FloatArray


@immutable
class ReleaseLaw:
    """The likelihood of a release for each of m candidate locations; make one with `release_law`."""

    candidates: Points  # (m, d)
    epsilon: float
    # One of DOMAINS.
    domain: str
    box: Box | None
    cells: GridCells | None
    # log P(inside | x) under redraw, otherwise 0, (m,).
    log_inside: FloatArray
    lattice: Lattice

    def log_likelihood(self, z: ArrayLike) -> FloatArray:
        """Return the log-likelihood (m,) of the released point `z` (d,) given each candidate.

        For none and redraw it is a density; for clamp, a density on the axes where z is inside the box times the mass
        on the axes where z is on a wall; for remap, a probability. Only one z is compared at a time, so densities and
        masses never mix. -inf if z cannot be released. Raises ValueError for a z of a different shape.
        """
        released = np.asarray(z, dtype=np.float64)
        d = self.candidates.shape[1]
        if released.shape != (d,) or not np.isfinite(released).all():
            raise ValueError(f"z must be finite and have shape ({d},), got shape {released.shape}: one released point.")
        if self.cells is not None:
            same = (self.cells.outputs == released).all(axis=1)
            if not same.any():
                return np.full(len(self.candidates), -np.inf)
            return self._log_mixture(IntervalFactors(self.cells.low[same], self.cells.high[same]))
        if self.box is None:
            return self._plain(released)
        if (released < self.box.low).any() or (released > self.box.high).any():
            return np.full(len(self.candidates), -np.inf)
        if self.domain == "redraw":
            return self._plain(released) - self.log_inside
        if ((released > self.box.low) & (released < self.box.high)).all():
            return self._plain(released)
        return self._log_mixture(ClampFactors(released, self.box))

    def _plain(self, z: FloatArray) -> FloatArray:
        squares = np.zeros(len(self.candidates))
        for axis, column in enumerate(self.candidates.T):
            squares += (column - z[axis]) ** 2
        return log_constant(len(z), self.epsilon) - self.epsilon * np.sqrt(squares)

    def _log_mixture(self, factors: ClampFactors | IntervalFactors) -> FloatArray:
        with np.errstate(divide="ignore"):
            return functions.log(mixture_of(self.candidates, factors, self.epsilon, self.lattice))


def release_law(
    candidates: ArrayLike,
    *,
    epsilon: float,
    domain: str = "none",
    box: Box | None = None,
    cells: GridCells | None = None,
) -> ReleaseLaw:
    """Prepare the likelihoods of possible places of a record. Everything here is public.

    Everything that does not depend on z is computed here, once.

    Parameters
    ----------
    candidates
        Possible places of x (m, d).
    epsilon
        Above 0, per unit of distance.
    domain
        Rule that keeps releases in the box, one of DOMAINS.
    box
        Public box, for "clamp" and "redraw"; candidates must lie in it, because records are clipped first.
    cells
        Cells (`remap_cells`), for "remap".

    Returns
    -------
    ReleaseLaw
        The likelihoods.

    Raises
    ------
    ValueError
        If the parts do not fit together.
    """
    places = frozen(np.array(as_points(candidates, n_features=None if box is None else box.d)))
    check_finite_epsilon(epsilon)
    if domain not in DOMAINS:
        raise ValueError(f"domain must be one of {', '.join(DOMAINS)}, got {domain!r}.")
    if domain in ("clamp", "redraw") and box is None:
        raise ValueError(f"domain {domain!r} needs the public box. Pass box=.")
    if (domain == "remap") != (cells is not None):
        raise ValueError(
            f"cells can be given only for domain 'remap', and this domain needs them, got {domain!r}. "
            "Pass both or neither."
        )
    if box is not None and domain == "redraw" and not np.array_equal(box.clip(places), places):
        raise ValueError(
            "candidates must be inside the box, because records are clipped to it first. Pass box.clip(...)."
        )
    inside = np.zeros(len(places))
    if domain == "redraw" and box is not None:
        inside = functions.log(inside_probability(places, box, epsilon=epsilon))
    bounds = box if domain in ("clamp", "redraw") else None
    return ReleaseLaw(places, float(epsilon), domain, bounds, cells, frozen(inside), lattice_of(places))
