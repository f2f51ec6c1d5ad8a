"""The n-dimensional Laplace mechanism: every record moves by a random length in a random direction.

van der Ende, "nD-Laplace" (thesis draft, chapter 3); Andres et al. 2013, "Geo-indistinguishability", section 4.
Notation, paper -> code: x_0 -> a row of `points`, r -> radius, theta -> direction, l -> level, C_epsilon -> the
distribution function of the radius, P_area -> `PerturbationArea`.

z = x + r u, u uniform on the unit sphere of R^d, r of density proportional to r^(d-1) exp(-epsilon r), which is
Gamma(d, 1/epsilon). Standard noise is drawn first and divided by epsilon afterwards: for one seed a release moves
continuously with epsilon, and the generator ends in the same state whatever epsilon was.

`redraw_in_box` draws the noise of a record again until it lands in the public box: van der Ende, algorithm 1, for all
records at once.
"""

import math
from collections.abc import Iterator

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpviz.core import (
    Box,
    Confidential,
    FloatArray,
    Points,
    as_points,
    functions,
    immutable,
    immutable_value,
    squared_norms,
)
from dpviz.mechanisms.release_law import check_epsilon, corner_probability

# Coordinates drawn at a time, so that their arrays stay in the processor's cache.
BLOCK = 1 << 14
# Dimensions up to which adding exponentials is quicker than drawing a Gamma variate.
FEW_EXPONENTIALS = 3
# Probabilities of the circles drawn around a record. Our choice.
AREA_LEVELS = (0.5, 0.9, 0.95)
# Public worst case below which redrawing is refused: 100 draws per record. Our choice.
LEAST_INSIDE = 0.01
# Records redrawn together: fewer rounds than with smaller blocks, but still in the cache. Our choice.
TOGETHER = 1 << 16
# Records that wait for the next block, because a round for so few is mostly the overhead of calls. Our choice.
FEW = 64
# Draws for each of the last few records in a round. Our choice.
MOST_DRAWS = 16


@immutable
class PolarNoise:
    """Displacements in polar form, for the record's owner only: z - x = radius * direction."""

    # At least 0, unit of the points, (n,).
    radius: FloatArray
    # Unit vectors, (n, d).
    direction: FloatArray

    @property
    def displacement(self) -> FloatArray:
        """The displacements (n, d), unit of the points."""
        return self.radius[:, None] * self.direction


@immutable_value
class PerturbationArea:
    """The ball in which a released point is expected (thesis, equation 3.4; Yan et al. 2022), from r's distribution."""

    # d / epsilon, the limit of the average over N draws.
    mean_radius: float
    # Probabilities in (0, 1).
    levels: tuple[float, ...]
    # The ball of radii[i] contains z with probability levels[i].
    radii: tuple[float, ...]


def nd_laplace(points: ArrayLike, *, epsilon: float, rng: np.random.Generator) -> Points:
    """Move each row by noise of density exp(-epsilon |z - x|), up to a constant.

    Each row is epsilon-geo-indistinguishable by itself: K(x)(z) <= exp(epsilon |x - x'|) K(x')(z).

    Parameters
    ----------
    points
        Rows (n, d). Private.
    epsilon
        Above 0, per unit of distance, in the unit of the points: it means nothing without one (`epsilon_of_level`).
        Infinity returns a copy of the points.
    rng
        Generator of the noise.

    Returns
    -------
    Points
        The moved rows (n, d), anywhere in R^d.

    Raises
    ------
    ValueError
        If epsilon is not positive, or so small that the noise overflows, or the points are not finite and (n, d).

    Notes
    -----
    The proof does not cover floating point (Mironov 2012).

    References
    ----------
    Andres et al. 2013, theorem 4.1 (d = 2); thesis, equation 3.1.
    """
    exact = as_points(points)
    released = np.empty_like(exact)
    # Block by block to the end: for a million records, a second pass over memory costs as much as the noise.
    for block, radius in _blocks(*exact.shape, epsilon=epsilon, rng=rng):
        np.add(exact[block], _directions(len(radius), exact.shape[1], scale=radius, rng=rng).T, out=released[block])
    return released


def nd_laplace_noise(n: int, d: int, *, epsilon: float, rng: np.random.Generator) -> PolarNoise:
    """Draw displacements: a Gamma radius and a uniform direction.

    Parameters
    ----------
    n
        Number of records.
    d
        Number of dimensions.
    epsilon
        Above 0, per unit of distance.
    rng
        Generator of the noise.

    Returns
    -------
    PolarNoise
        Radii and directions.

    Raises
    ------
    ValueError
        If epsilon is not positive, or so small that the noise overflows.
    """
    radius, direction = np.empty(n), np.empty((n, d))
    for block, lengths in _blocks(n, d, epsilon=epsilon, rng=rng):
        radius[block] = lengths
        direction[block] = _directions(len(lengths), d, rng=rng).T
    return PolarNoise(radius, direction)


def radius_probability(radius: ArrayLike, d: int, *, epsilon: float) -> FloatArray:
    """Return C_epsilon(r), the probability that z lies within a radius of x: p of the thesis's figures.

    Parameters
    ----------
    radius
        Radii of any shape.
    d
        Number of dimensions.
    epsilon
        Above 0, per unit of distance.

    Returns
    -------
    FloatArray
        Probabilities in the shape of `radius`.
    """
    return np.asarray(scipy.special.gammainc(float(d), np.multiply(epsilon, radius)), dtype=np.float64)


def radius_quantile(p: ArrayLike, d: int, *, epsilon: float) -> FloatArray:
    """Return the radius below which z lies with a probability: the inverse of `radius_probability`.

    Parameters
    ----------
    p
        Probabilities in [0, 1], any shape.
    d
        Number of dimensions.
    epsilon
        Above 0, per unit of distance.

    Returns
    -------
    FloatArray
        Radii in the shape of `p`.
    """
    return np.asarray(scipy.special.gammaincinv(float(d), np.asarray(p, dtype=np.float64)) / epsilon, dtype=np.float64)


def perturbation_area(d: int, *, epsilon: float, levels: tuple[float, ...] = AREA_LEVELS) -> PerturbationArea:
    """Return the mean radius d / epsilon and Gamma quantiles. Public: independent of the records.

    Parameters
    ----------
    d
        Number of dimensions.
    epsilon
        Above 0, per unit of distance.
    levels
        Levels of the quantiles, in (0, 1).

    Returns
    -------
    PerturbationArea
        The radii.
    """
    check_epsilon(epsilon)
    radii = tuple(float(radius) for radius in radius_quantile(levels, d, epsilon=epsilon))
    return PerturbationArea(d / epsilon, tuple(levels), radii)


def epsilon_of_level(level: float, radius: float) -> float:
    """Return epsilon = level / radius: two places `radius` apart may differ by a factor of at most e^`level`.

    `level` l > 0. `radius` > 0 is in the user's unit (meters on a map), and epsilon is per that unit. Source: thesis,
    section 3.1.3.
    Raises ValueError for a level or radius that is not positive and finite.
    """
    for name, value in (("level", level), ("radius", radius)):
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be positive and finite, got {value}.")
    return level / radius


def _blocks(n: int, d: int, *, epsilon: float, rng: np.random.Generator) -> Iterator[tuple[slice, FloatArray]]:
    """Yield the rows of each block of `n` records and their radii. The caller draws their directions right after."""
    check_epsilon(epsilon)
    rows = max(1, BLOCK // d)
    for first in range(0, n, rows):
        block = slice(first, min(first + rows, n))
        size = block.stop - first
        # Gamma(d, 1) is the sum of d exponentials.
        if d <= FEW_EXPONENTIALS:
            radius = rng.standard_exponential((d, size)).sum(axis=0)
        else:
            radius = rng.standard_gamma(d, size)
        with np.errstate(over="ignore"):
            radius /= epsilon
        if not np.isfinite(radius).all():
            raise ValueError(f"epsilon must be above about 1e-300, where the noise overflows, got {epsilon}.")
        yield block, radius


def _directions(n: int, d: int, *, scale: FloatArray | None = None, rng: np.random.Generator) -> FloatArray:
    """Draw `n` independent uniform points of the unit sphere as columns (d, n), each times its `scale` (n,).

    They are Gaussian vectors over their lengths, drawn two coordinates at a time, since half a pair's squared length is
    exponential and its angle uniform (Box and Muller 1958). That is twice as fast as Gaussians and gives the length
    without a second pass. An odd last coordinate is Gaussian.
    """
    if d == 1:
        signs = np.where(rng.random((1, n)) < 0.5, -1.0, 1.0)
        return signs if scale is None else signs * scale
    n_pairs = d // 2
    # Tangent of half the angle: one fast function gives both sine and cosine.
    tangent = rng.random((n_pairs, n))
    tangent -= 0.5
    tangent *= np.pi
    functions.tan(tangent, out=tangent)
    square = tangent * tangent
    length = 1.0 + square
    np.divide(1.0 if scale is None else scale, length, out=length)
    points = np.empty((d, n))
    if d > 2:
        halves = rng.random((n_pairs, n))
        # In (0, 1], for the logarithm.
        np.subtract(1.0, halves, out=halves)
        functions.log(halves, out=halves)
        total = halves.sum(axis=0)
        if d % 2:
            last = rng.standard_normal(n)
            total -= 0.5 * last * last
        # A Gaussian of exactly 0 in every coordinate has no direction. A fixed direction changes no probability.
        halves[0, total == 0.0] = total[total == 0.0] = -1.0
        if d % 2:
            np.divide(last if scale is None else last * scale, np.sqrt(-2.0 * total), out=points[-1])
        halves /= total
        length *= np.sqrt(halves, out=halves)
    np.subtract(1.0, square, out=square)
    np.multiply(square, length, out=points[0 : 2 * n_pairs : 2])
    tangent += tangent
    np.multiply(tangent, length, out=points[1 : 2 * n_pairs : 2])
    return points


@immutable
class Redrawn(Confidential):
    """The draws that landed inside, and the rejected ones. All but `points` is for each record's owner only."""

    points: Points  # (n, d), inside the box
    # The records before they are moved, clipped into the box, (n, d).
    start: Points
    # Number of draws outside the box, (n,).
    n_rejected: NDArray[np.intp]
    # Record of each of `rejected_points`, (m,).
    rejected_records: NDArray[np.intp]
    # At most `keep` points of each record, in the order of the draws, (m, d).
    rejected_points: Points

    @property
    def noise(self) -> PolarNoise:
        """The displacements in polar form; the direction of a record that stayed where it was is 0."""
        displacement = self.points - self.start
        radius = np.sqrt(squared_norms(displacement))
        displacement /= np.where(radius == 0.0, 1.0, radius)[:, None]
        return PolarNoise(radius, displacement)


def redraw_in_box(points: ArrayLike, box: Box, *, epsilon: float, keep: int = 0, rng: np.random.Generator) -> Redrawn:
    """Add `nd_laplace` noise to records, clipped into a box, again and again until each lands in the box.

    No number of tries leads to a fallback, because clamping the K-th draw costs K epsilon on the wall. Instead
    the public P(inside | corner) is computed first. Each row is 2 epsilon-geo-indistinguishable (`redraw_loss` computes
    the loss in this box). The number of draws of a record is a function of x and must not be released.

    Parameters
    ----------
    points
        Records (n, d). Private.
    box
        Public box.
    epsilon
        Above 0, per unit of distance.
    keep
        Number of refused draws to keep of each record, for a picture. Curator only.
    rng
        Generator of the noise.

    Returns
    -------
    Redrawn
        The moved records (n, d), and the refused draws.

    Raises
    ------
    ValueError
        If P(inside | corner) is below LEAST_INSIDE, and as in `nd_laplace`.
    """
    exact = box.clip(as_points(points, n_features=box.d))
    check_redraw(box, epsilon=epsilon)
    released = np.empty_like(exact)
    n_rejected = np.zeros(len(exact), dtype=np.intp)
    rejected: list[tuple[NDArray[np.intp], Points]] = []
    waiting = np.zeros(0, dtype=np.intp)
    for first in range(0, len(exact), TOGETHER):
        rows = slice(first, first + TOGETHER)
        released[rows] = nd_laplace(exact[rows], epsilon=epsilon, rng=rng)
        outside = first + np.flatnonzero(~_inside(released[rows], box))
        n_rejected[outside] = 1
        waiting = np.concatenate([waiting, outside])
        if keep:
            rejected.append((outside, released[outside]))
        while len(waiting) > FEW:
            draws = nd_laplace(exact.take(waiting, axis=0), epsilon=epsilon, rng=rng)
            # Draws outside are written as well; a later round overwrites them.
            released[waiting] = draws
            again = np.flatnonzero(~_inside(draws, box))
            waiting = waiting.take(again)
            if keep:
                first_few = n_rejected[waiting] < keep
                rejected.append((waiting[first_few], draws[again[first_few]]))
            n_rejected[waiting] += 1
    # The last few records draw several times at once. Each takes its first draw inside.
    while len(waiting):
        draws = nd_laplace(np.repeat(exact[waiting], MOST_DRAWS, axis=0), epsilon=epsilon, rng=rng)
        inside = _inside(draws, box).reshape(len(waiting), MOST_DRAWS)
        landed = inside.any(axis=1)
        misses = np.where(landed, inside.argmax(axis=1), MOST_DRAWS)
        places = draws.reshape(len(waiting), MOST_DRAWS, box.d)
        released[waiting[landed]] = places[landed, misses[landed]]
        if keep:
            ordinal = np.arange(MOST_DRAWS)
            first_few = (ordinal < misses[:, None]) & (ordinal + n_rejected[waiting, None] < keep)
            rejected.append((np.repeat(waiting, first_few.sum(axis=1)), places[first_few]))
        n_rejected[waiting] += misses
        waiting = waiting[~landed]
    records = np.concatenate([owner for owner, _ in rejected]) if rejected else np.zeros(0, dtype=np.intp)
    rejected_points = np.concatenate([place for _, place in rejected]) if rejected else np.zeros((0, box.d))
    return Redrawn(released, exact, n_rejected, records, rejected_points)


def check_redraw(box: Box, *, epsilon: float) -> float:
    """Return the public P(inside | corner); raise ValueError if it is below LEAST_INSIDE."""
    worst = corner_probability(box, epsilon=epsilon)
    if worst < LEAST_INSIDE:
        raise ValueError(
            f"A record in a corner of the box would land inside only with probability {worst:.2g}, but redrawing needs "
            f"{LEAST_INSIDE:g}: it would be drawn {1 / max(worst, 1e-300):.3g} times. Clamp to the walls "
            "instead (domain='clamp'), which also keeps epsilon, or take fewer features, a larger epsilon or a wider "
            "box."
        )
    return worst


def _inside(draws: FloatArray, box: Box) -> NDArray[np.bool_]:
    """Return a mask (m,) of the draws (m, d) in the box, axis by axis to avoid a temporary of d columns."""
    inside = np.ones(len(draws), dtype=np.bool_)
    for axis in range(box.d):
        column = draws[:, axis]
        inside &= (column >= box.low[axis]) & (column <= box.high[axis])
    return inside
