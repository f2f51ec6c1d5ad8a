"""Sampling zones and the exponential mechanism inside them (Lu & Shen, sections 5 and 6.1, algorithm 2).

The distribution over (delta, alpha) is integrated numerically and inverted.

Notation, paper -> code: S -> mean, X -> controller, lambda -> lam, P -> zone center, r -> zone radius,
delta = |S - S_hat| / |S - X| -> reach, alpha = angle(S_hat, S, X) -> angle. Everything works row by row on (k, d)
arrays of box coordinates. All randomness comes from a fixed number of draws a row, without rejection: with the same
generator state the result is continuous in epsilon.
"""

import functools
import math

import numpy as np
from numpy.typing import ArrayLike

from dpviz.core import Centers, FloatArray, compiled, frozen, functions, immutable

# "Local sensitivity" of q in the paper, section 6.1.
SCORE_SENSITIVITY = 2.0
# Cells of the marginal's integration, with Simpson's rule in each.
CELLS = 64
# e-folds of the marginal's tail that are integrated: exp(-36) is below rounding.
CUT = 36.0
# Cached distributions, enough for some iterations; a few kilobytes each.
CACHED_LAWS = 64
# Edges of the cells, finer where exp(-eps alpha) is steep.
_EDGES = np.linspace(0.0, 1.0, CELLS + 1) ** 2
_SHRINK = 1.0 - 1.0 / math.e


@immutable
class ZoneSample:
    """One draw per zone."""

    # S_hat, (k, d).
    points: Centers
    # delta in (0, 1), (k,).
    reach: FloatArray
    # alpha >= 0, radians, (k,).
    angle: FloatArray


@immutable
class ZoneDraw:
    """A draw in each of k zones, relative to mean and controller."""

    # delta in (0, 1), (k,).
    reach: FloatArray
    # alpha >= 0, radians, (k,).
    angle: FloatArray
    # Directions off the axis, (k, d).
    sides: FloatArray


def controller_angle(uniforms: FloatArray) -> FloatArray:
    """|gamma| in [0, pi/2] with density proportional to exp(1 - 2|gamma|/pi): -(pi/2) ln(1 - u (1 - 1/e))."""
    return -0.5 * math.pi * functions.log1p(-uniforms * _SHRINK)


def zone_offset(uniforms: FloatArray) -> FloatArray:
    """Lambda in [1/2, 1) with density proportional to exp(2 - 2 lambda): 1/2 - (1/2) ln(1 - u (1 - 1/e))."""
    return 0.5 - 0.5 * functions.log1p(-uniforms * _SHRINK)


def past_controller(mean: Centers, far: Centers, gamma: FloatArray, sides: FloatArray) -> Centers:
    """Rotate the far point Y about S by |gamma| in the plane of Y - S and a direction.

    For d = 1 there is nothing to rotate in and Y itself is returned.

    Parameters
    ----------
    mean
        Means S (k, d).
    far
        Far points Y (k, d).
    gamma
        Angles (k,), radians.
    sides
        Directions (k, d).

    Returns
    -------
    Centers
        Controllers X (k, d).
    """
    if mean.shape[1] == 1:
        return far
    return _turned(mean, far, gamma, np.ones(len(mean)), sides)


def sample_in_zone(
    mean: Centers, controller: Centers, lam: ArrayLike, epsilon: ArrayLike, *, rng: np.random.Generator
) -> Centers:
    """Draw a point from each zone with center S + lam (X - S) and radius (1 - lam)|X - S|.

    The density is proportional to exp(epsilon q / 4) over (delta, alpha), q = (1 - delta) + (1 - 2|alpha|/pi). The base
    measure is uniform in (delta, alpha), and for d > 2 the direction off the axis is uniform.

    Parameters
    ----------
    mean
        Means S (k, d).
    controller
        Controllers X (k, d). Rows with X = S stay at S.
    lam
        Places of the zones' centers, (k,) or a number in [1/2, 1].
    epsilon
        At least 0, (k,) or a number; infinity gives the zone's nearest point to S.
    rng
        Generator of the draws.

    Returns
    -------
    Centers
        Points S_hat (k, d).

    Raises
    ------
    ValueError
        If `lam` is outside [1/2, 1], or epsilon is negative.
    """
    return draw_in_zone(mean, controller, lam, epsilon, rng=rng).points


def draw_in_zone(
    mean: Centers, controller: Centers, lam: ArrayLike, epsilon: ArrayLike, *, rng: np.random.Generator
) -> ZoneSample:
    """Draw like `sample_in_zone`, and also return delta and alpha.

    Parameters
    ----------
    mean
        Means S (k, d).
    controller
        Controllers X (k, d).
    lam
        As for `sample_in_zone`.
    epsilon
        As for `sample_in_zone`.
    rng
        Generator of the draws.

    Returns
    -------
    ZoneSample
        Points, delta and alpha.
    """
    uniforms, sides = tosses(*mean.shape, rng=rng)
    lams = np.broadcast_to(np.asarray(lam, dtype=np.float64), (1, len(mean)))
    (draw,) = draws_ahead(lams, epsilon, uniforms[None], sides[None], remember=False)
    return placed_in_zone(mean, controller, draw)


def tosses(k: int, d: int, *, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Draw all random numbers that `draw_in_zone` needs.

    Parameters
    ----------
    k
        Number of zones.
    d
        Number of dimensions.
    rng
        Generator of the numbers.

    Returns
    -------
    tuple
        Uniform numbers (k, 2) and sides (k, d).
    """
    uniforms = rng.random((k, 3))
    return uniforms[:, :2], _side_directions((k, d), uniforms[:, 2], rng)


def draws_ahead(
    lam: FloatArray, epsilon: ArrayLike, uniforms: FloatArray, sides: FloatArray, *, remember: bool
) -> tuple[ZoneDraw, ...]:
    """Return the draws of m `tosses`: the part that needs no mean.

    Integrating the distributions of many zones at once costs hardly more than that of one zone.

    Parameters
    ----------
    lam
        Places of the zones' centers (m, k).
    epsilon
        At least 0, as for `sample_in_zone`.
    uniforms
        Uniform numbers (m, k, 2) of the tosses.
    sides
        Sides (m, k, d) of the tosses.
    remember
        Whether to cache the angles, which is allowed only for a public seed.

    Returns
    -------
    tuple of ZoneDraw
        One draw for each toss.
    """
    m, k, d = sides.shape
    lams, epsilons = _checked(m * k, lam.ravel(), np.broadcast_to(epsilon, (m, k)).ravel())
    first, second = (uniforms[..., i].ravel() for i in range(2))
    angle = np.zeros(m * k)
    if d > 1:
        # Cached, because in repaired mode the slider changes the budget and not the zones' distributions.
        draw = cached_angles if remember else cached_angles.__wrapped__
        angle = draw(*(each.tobytes() for each in (lams, epsilons, first)))
    reach = reaches(lams, epsilons, angle, second)
    return tuple(ZoneDraw(*each) for each in zip(reach.reshape(m, k), angle.reshape(m, k), sides, strict=True))


def placed_in_zone(mean: Centers, controller: Centers, draw: ZoneDraw) -> ZoneSample:
    """Return the points of a draw in the zones between means and controllers.

    Parameters
    ----------
    mean
        Means S (k, d).
    controller
        Controllers X (k, d).
    draw
        Draw for each zone.

    Returns
    -------
    ZoneSample
        Points (k, d), delta and alpha.
    """
    return ZoneSample(_turned(mean, controller, draw.angle, draw.reach, draw.sides), draw.reach, draw.angle)


def spread_in_zone(
    mean: Centers, controller: Centers, lam: ArrayLike, epsilon: ArrayLike, n_draws: int, *, rng: np.random.Generator
) -> FloatArray:
    """Draw several points per zone like `sample_in_zone`, with one integration for each zone.

    Parameters
    ----------
    mean
        Means S (k, d).
    controller
        Controllers X (k, d).
    lam
        As for `sample_in_zone`.
    epsilon
        As for `sample_in_zone`.
    n_draws
        Number of points of each zone.
    rng
        Generator of the draws.

    Returns
    -------
    FloatArray
        Points (k, n_draws, d).
    """
    lams, epsilons = _checked(len(mean), lam, epsilon)
    k, d = mean.shape
    uniforms = rng.random((k * n_draws, 3))
    sides = _side_directions((k * n_draws, d), uniforms[:, 2], rng)
    angle = np.zeros(k * n_draws)
    if d > 1:
        angle = angles(lams, epsilons, uniforms[:, 0].reshape(k, n_draws)).ravel()
    means, controllers, lams, epsilons = (
        np.repeat(each, n_draws, axis=0) for each in (mean, controller, lams, epsilons)
    )
    reach = reaches(lams, epsilons, angle, uniforms[:, 1])
    return _turned(means, controllers, angle, reach, sides).reshape(k, n_draws, d)


def clamped_laplace(
    mean: Centers, radius: FloatArray, scale: FloatArray, n_draws: int, *, rng: np.random.Generator
) -> FloatArray:
    """Draw by the method that the paper rejects: Laplace noise, projected onto the zone's border.

    A draw that leaves the ball is moved back along the line to the mean, so the border collects all draws that fell
    outside: a draw there becomes likelier than one nearer to the mean.

    Parameters
    ----------
    mean
        Means (k, d), which the noise is on.
    radius
        Radii (k,) of the convergent zones.
    scale
        Noise scales (k,) of each coordinate.
    n_draws
        Number of draws of each zone.
    rng
        Generator of the noise.

    Returns
    -------
    FloatArray
        Draws (k, n_draws, d).

    References
    ----------
    Section 5.1.
    """
    k, d = mean.shape
    noise = rng.laplace(size=(k, n_draws, d)) * scale[:, None, None]
    length = np.linalg.norm(noise, axis=2)
    limit = radius[:, None]
    shrink = np.where(length > limit, limit / np.where(length > 0, length, 1.0), 1.0)
    return mean[:, None, :] + shrink[..., None] * noise


def zone_density(offsets: FloatArray, axis: FloatArray, lam: FloatArray, epsilon: float) -> FloatArray:
    """Return the density per area in zones of two features, up to a factor for each zone.

    Area is delta d(delta) d(alpha), hence a factor 1 / delta; outside the zone the density is 0. epsilon = inf has no
    density: the caller draws a point.

    Parameters
    ----------
    offsets
        (z - S) / |X - S|, (k, m, 2).
    axis
        Unit vectors of X - S, (k, 2).
    lam
        Places of the zones' centers (k,).
    epsilon
        At least 0, finite.

    Returns
    -------
    FloatArray
        Densities (k, m).
    """
    # Term by term, because a library call for a sum of two numbers costs ten times as much.
    x, y = offsets[..., 0], offsets[..., 1]
    ax, ay = axis[:, :1], axis[:, 1:]
    reach = np.sqrt(x * x + y * y)  # (k, m)
    along, lams = x * ax + y * ay, lam[:, None]
    gap = np.sqrt((x - lams * ax) ** 2 + (y - lams * ay) ** 2)
    inside = (gap <= 1.0 - lams) & (reach > 0)
    # Avoid a division by 0. The result is not used.
    reach[~inside] = 1.0
    angle = functions.arccos(np.minimum(np.maximum(along / reach, -1.0), 1.0))
    score = -reach - 2.0 * angle / math.pi
    # The best point of a zone, delta = 2 lam - 1 on the axis, has the score that keeps the exponent at or below 0.
    density = epsilon * (score + 2.0 * lams - 1.0) / (2.0 * SCORE_SENSITIVITY)
    # In place, because a new array costs as much.
    functions.exp(np.minimum(density, 0.0, out=density), out=density)
    return np.where(inside, density / reach, 0.0)


def _checked(n_rows: int, lam: ArrayLike, epsilon: ArrayLike) -> tuple[FloatArray, FloatArray]:
    lams = np.broadcast_to(np.asarray(lam, dtype=np.float64), n_rows)
    epsilons = np.broadcast_to(np.asarray(epsilon, dtype=np.float64), n_rows)
    if not ((lams >= 0.5) & (lams <= 1.0)).all():
        raise ValueError(f"lam must be in [1/2, 1], got {lams.min()} to {lams.max()}.")
    if not (epsilons >= 0.0).all():
        raise ValueError(f"epsilon must be at least 0, got {epsilons.min()}. Use math.inf for the best point.")
    return lams, epsilons


def _side_directions(shape: tuple[int, ...], uniforms: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return a random direction (k, d) off the axis; in the plane only its side matters, a random sign."""
    if shape[1] > 2:
        return rng.standard_normal(shape)
    return np.where(uniforms < 0.5, -1.0, 1.0)[:, None] * np.ones(shape)


@functools.lru_cache(maxsize=CACHED_LAWS)
def cached_angles(*arrays: bytes) -> FloatArray:
    """Return the draws of `angles`, (k,), for lambda, epsilon and one uniform number of each zone."""
    lam, epsilon, uniforms = (np.frombuffer(each) for each in arrays)
    return frozen(angles(lam, epsilon, uniforms[:, None])[:, 0])


def angles(lam: FloatArray, epsilon: FloatArray, uniforms: FloatArray) -> FloatArray:
    """Draw |alpha| (k, m), m times a zone, by inverting its numerically integrated marginal."""
    finite = np.isfinite(epsilon)
    # The constant c in exp(-c delta).
    rate = np.where(finite, epsilon, 0.0) / (2.0 * SCORE_SENSITIVITY)
    ratio = (1.0 - lam) / lam
    # The tail beyond CUT e-folds is omitted, so that the nodes stay where the mass is, for any epsilon.
    with np.errstate(divide="ignore"):
        last = np.minimum(functions.arcsin(np.minimum(ratio, 1.0)), 0.5 * math.pi * CUT / rate)
    end = functions.arcsin(np.clip(functions.sin(last) / np.where(ratio > 0, ratio, 1.0), 0.0, 1.0))  # (k,)
    edges = end[:, None] * _EDGES
    middles = 0.5 * (edges[:, :-1] + edges[:, 1:])
    density = _marginal(lam[:, None], rate[:, None], np.concatenate([edges, middles], axis=1))
    at_edges, at_middles = density[:, : CELLS + 1], density[:, CELLS + 1 :]
    masses = (at_edges[:, :-1] + 4.0 * at_middles + at_edges[:, 1:]) / 6.0 * np.diff(edges, axis=1)
    phi = _invert(edges, at_edges, masses, uniforms)
    angle = functions.arcsin(np.minimum(ratio[:, None] * functions.sin(phi), 1.0))
    return np.where((finite & (ratio > 0))[:, None], angle, 0.0)


def reaches(lam: FloatArray, epsilon: FloatArray, angle: FloatArray, uniforms: FloatArray) -> FloatArray:
    """Draw delta (k,) on the chord at `angle`, density proportional to exp(-c delta)."""
    sine = functions.sin(angle)
    half = np.sqrt(np.maximum((1.0 - lam) ** 2 - (lam * sine) ** 2, 0.0))
    first = lam * functions.cos(angle) - half
    finite = np.isfinite(epsilon)
    rate = np.where(finite, epsilon, 0.0) / (2.0 * SCORE_SENSITIVITY)
    tilted = -functions.log1p(uniforms * functions.expm1(-rate * 2.0 * half)) / np.where(rate > 0, rate, 1.0)
    step = np.where(rate > 0, tilted, uniforms * 2.0 * half)
    return first + np.where(finite, np.minimum(step, 2.0 * half), 0.0)


def _marginal(lam: FloatArray, rate: FloatArray, phi: FloatArray) -> FloatArray:
    """Density of phi up to a factor: d(alpha)/d(phi) exp(-eps |alpha| / (2 pi)) times the integral over delta.

    phi is given by lam sin(alpha) = (1-lam) sin(phi): delta runs over lam cos(alpha) -+ sqrt((1-lam)^2 - lam^2
    sin^2(alpha)), and that root is (1-lam) cos(phi), smooth where the chord shrinks to a point. With c = eps / 4 the
    integral of exp(-c delta) over the chord is exp(-c first) (1 - exp(-c length)) / c.
    """
    sin, cos = functions.sin(phi), functions.cos(phi)
    ratio = (1.0 - lam) / lam
    half, sine = (1.0 - lam) * cos, ratio * sin
    angle = functions.arcsin(np.minimum(sine, 1.0))
    # First delta and length of the chord.
    first, length = lam * np.sqrt(np.maximum(1.0 - sine**2, 0.0)) - half, 2.0 * half
    # cos^2(alpha) = 1 - ratio^2 sin^2(phi), written as a sum: for lam = 1/2 the difference would round to 0 / 0.
    cosine = np.sqrt(cos**2 + (2.0 * lam - 1.0) / lam**2 * sin**2)
    slope = ratio * cos / cosine
    tilted = -functions.expm1(-rate * length) / np.where(rate > 0, rate, 1.0)
    over_delta = np.where(rate > 0, tilted, length)
    nearest = 2.0 * lam - 1.0
    return slope * over_delta * functions.exp(-rate * (2.0 * angle / math.pi + first - nearest))


def _invert(edges: FloatArray, density: FloatArray, masses: FloatArray, uniforms: FloatArray) -> FloatArray:
    """Return phi (k, m) with the given shares of each row's mass below; the density is linear inside a cell."""
    rows = np.repeat(np.arange(len(edges)), uniforms.shape[1])
    below = np.concatenate([np.zeros((len(edges), 1)), np.cumsum(masses, axis=1)], axis=1)
    below_draw = uniforms * below[:, -1:]
    counts = (below[:, None, :] <= below_draw[:, :, None]).sum(axis=2)
    cell, below_draw = np.clip(counts - 1, 0, masses.shape[1] - 1).ravel(), below_draw.ravel()
    mass = masses[rows, cell]
    share = np.clip((below_draw - below[rows, cell]) / np.where(mass > 0, mass, 1.0), 0.0, 1.0)
    low, high = density[rows, cell], density[rows, cell + 1]
    # Solve low t + (high - low) t^2 / 2 = share (low + high) / 2 for t in [0, 1], without cancellation.
    root = np.sqrt(np.maximum(low**2 + (high**2 - low**2) * share, 0.0))
    t = share * (low + high) / np.maximum(low + root, 1e-300)
    first = edges[rows, cell]
    phi = first + np.clip(t, 0.0, 1.0) * (edges[rows, cell + 1] - first)
    return np.asarray(phi.reshape(uniforms.shape))


@compiled
def _turned(origin: Centers, toward: Centers, angle: FloatArray, reach: FloatArray, sides: FloatArray) -> Centers:
    """Return S + reach |X - S| (cos(angle) axis + sin(angle) side) for S = `origin` and X = `toward` (k, d).

    The axis is the unit vector of X - S, and a side is the unit vector of the part of `sides` (k, d) across the axis.
    In the plane only a side's sign counts, for an exact quarter turn of the axis. On a line nothing turns. If X = S,
    everything stays at S.
    """
    k, d = origin.shape
    points, axis, side = np.empty((k, d)), np.empty(d), np.zeros(d)
    for i in range(k):
        square = 0.0
        for f in range(d):
            axis[f] = toward[i, f] - origin[i, f]
            square += axis[f] * axis[f]
        length = math.sqrt(square)
        if length > 0.0:
            axis /= length
        if d == 2:
            sign = np.sign(sides[i, 0])
            side[0], side[1] = -sign * axis[1], sign * axis[0]
        elif d > 2:
            along = 0.0
            for f in range(d):
                along += sides[i, f] * axis[f]
            square = 0.0
            for f in range(d):
                side[f] = sides[i, f] - along * axis[f]
                square += side[f] * side[f]
            if square > 0.0:
                side /= math.sqrt(square)
        ahead, across = (math.cos(angle[i]), math.sin(angle[i])) if d > 1 else (1.0, 0.0)
        for f in range(d):
            points[i, f] = origin[i, f] + reach[i] * length * (ahead * axis[f] + across * side[f])
    return points
