"""Sampling zones and the exponential mechanism inside them (Lu & Shen, sections 5 and 6.1, algorithm 2).

Notation, paper -> code: S -> mean, X -> controller, lambda -> lam, P -> zone center, r -> zone radius,
delta = |S - S_hat| / |S - X| -> reach, alpha = angle(S_hat, S, X) -> angle. Everything works row by row on (k, d)
arrays of box coordinates. All randomness comes from a fixed number of draws a row, without rejection: with the same
generator state the result is continuous in epsilon.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpviz.core import Centers, FloatArray, compiled, functions
from dpviz.solvers.zone_law import SCORE_SENSITIVITY, angles, known_angles, reaches

_SHRINK = 1.0 - 1.0 / math.e


@dataclass(frozen=True, slots=True, eq=False)
class ZoneSample:
    """One draw per zone."""

    points: Centers  # (k, d) S_hat
    reach: FloatArray  # (k,) delta in (0, 1)
    angle: FloatArray  # (k,) alpha >= 0, radians


@dataclass(frozen=True, slots=True, eq=False)
class ZoneDraw:
    """Where in its zone each of k points is drawn, whatever the zone stands on."""

    reach: FloatArray  # (k,) delta in (0, 1)
    angle: FloatArray  # (k,) alpha >= 0, radians
    sides: FloatArray  # (k, d) directions that are left by, off the axis


def controller_angle(uniforms: FloatArray) -> FloatArray:
    """|gamma| in [0, pi/2] with density proportional to exp(1 - 2|gamma|/pi): -(pi/2) ln(1 - u (1 - 1/e))."""
    return -0.5 * math.pi * functions.log1p(-uniforms * _SHRINK)


def zone_offset(uniforms: FloatArray) -> FloatArray:
    """Lambda in [1/2, 1) with density proportional to exp(2 - 2 lambda): 1/2 - (1/2) ln(1 - u (1 - 1/e))."""
    return 0.5 - 0.5 * functions.log1p(-uniforms * _SHRINK)


def past_controller(mean: Centers, far: Centers, gamma: FloatArray, sides: FloatArray) -> Centers:
    """Rotate the far point Y about S by |gamma| in the plane of Y - S and the direction `sides` (k, d).

    For d = 1 there is nothing to rotate in and Y itself is returned.
    """
    if mean.shape[1] == 1:
        return far
    return _turned(mean, far, gamma, np.ones(len(mean)), sides)


def sample_in_zone(
    mean: Centers, controller: Centers, lam: ArrayLike, epsilon: ArrayLike, *, rng: np.random.Generator
) -> Centers:
    """Draw S_hat, one point (k, d) per row, from the zone with center S + lam (X - S), radius (1 - lam)|X - S|.

    Density proportional to exp(epsilon q / 4) over (delta, alpha), q = (1 - delta) + (1 - 2|alpha|/pi); the base
    measure is uniform in (delta, alpha), and for d > 2 the direction off the axis is uniform. epsilon = inf gives the
    zone's nearest point to S. Rows with X = S stay at S. Raises ValueError for lam outside [1/2, 1] or epsilon < 0.
    """
    return draw_in_zone(mean, controller, lam, epsilon, rng=rng).points


def draw_in_zone(
    mean: Centers, controller: Centers, lam: ArrayLike, epsilon: ArrayLike, *, rng: np.random.Generator
) -> ZoneSample:
    """Do what `sample_in_zone` does, and return delta and alpha beside the points."""
    lams, epsilons = _checked(len(mean), lam, epsilon)
    uniforms, sides = tosses(*mean.shape, rng=rng)
    (draw,) = draws_ahead(lams[None], epsilons, uniforms[None], sides[None], remember=False)
    return placed_in_zone(mean, controller, draw)


def tosses(k: int, d: int, *, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return all that `draw_in_zone` draws for k zones in d dimensions: uniform numbers (k, 2) and sides (k, d)."""
    uniforms = rng.random((k, 3))
    return uniforms[:, :2], _side_directions((k, d), uniforms[:, 2], rng)


def draws_ahead(
    lam: FloatArray, epsilon: ArrayLike, uniforms: FloatArray, sides: FloatArray, *, remember: bool
) -> tuple[ZoneDraw, ...]:
    """Do for m `tosses`, (m, k, 2) and (m, k, d), and `lam` (m, k) what `draw_in_zone` does before it looks at a mean.

    Integrating many zones' laws at once costs hardly more than one zone's. `remember` keeps the draws for whoever asks
    for them again, which only those of a public seed may be.
    """
    m, k, d = sides.shape
    lams, epsilons = _checked(m * k, lam.ravel(), np.broadcast_to(epsilon, (m, k)).ravel())
    first, second = (uniforms[..., i].ravel() for i in range(2))
    # Remembered: in repaired mode the slider moves the budget, not the laws that zones are drawn by.
    found = known_angles if remember else known_angles.__wrapped__
    angle = found(*(each.tobytes() for each in (lams, epsilons, first))) if d > 1 else np.zeros(m * k)
    reach = reaches(lams, epsilons, angle, second)
    return tuple(ZoneDraw(*each) for each in zip(reach.reshape(m, k), angle.reshape(m, k), sides, strict=True))


def placed_in_zone(mean: Centers, controller: Centers, draw: ZoneDraw) -> ZoneSample:
    """Put what was drawn ahead into the zones between `mean` and `controller` (k, d)."""
    return ZoneSample(_turned(mean, controller, draw.angle, draw.reach, draw.sides), draw.reach, draw.angle)


def spread_in_zone(
    mean: Centers,
    controller: Centers,
    lam: ArrayLike,
    epsilon: ArrayLike,
    n_draws: int,
    *,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw `n_draws` points (k, n_draws, d) per row from `sample_in_zone`'s law, integrating each zone's law once."""
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
    """Draw what section 5.1 rejects: Laplace noise on the mean, put on the convergent zone's border where it leaves it.

    Returns (k, n_draws, d). `radius` (k,) is the zone's, `scale` (k,) of the noise on each coordinate. A draw that
    leaves the ball is moved back along the line to the mean, so the border collects all that fell outside: a draw there
    becomes likelier than one nearer to the mean.
    """
    k, d = mean.shape
    noise = rng.laplace(size=(k, n_draws, d)) * scale[:, None, None]
    length = np.linalg.norm(noise, axis=2)
    limit = radius[:, None]
    shrink = np.where(length > limit, limit / np.where(length > 0, length, 1.0), 1.0)
    return np.asarray(mean[:, None, :] + shrink[..., None] * noise)


def zone_density(offsets: FloatArray, axis: FloatArray, lam: FloatArray, epsilon: float) -> FloatArray:
    """Return the density per area, up to a factor for each zone, at `offsets` (k, m, 2) = (z - S) / |X - S|, d = 2.

    Area is delta d(delta) d(alpha), hence the factor 1 / delta; outside the zone it is 0. `axis` (k, 2) is the unit
    vector of X - S. epsilon = inf has no density: the caller draws a point.
    """
    x, y = offsets[..., 0], offsets[..., 1]  # term by term: a library's sums over two numbers cost ten times as much
    ax, ay = axis[:, :1], axis[:, 1:]
    reach = np.sqrt(x * x + y * y)  # (k, m)
    along, lams = x * ax + y * ay, lam[:, None]
    gap = np.sqrt((x - lams * ax) ** 2 + (y - lams * ay) ** 2)
    inside = (gap <= 1.0 - lams) & (reach > 0)
    reach[~inside] = 1.0  # it divides
    angle = functions.arccos(np.minimum(np.maximum(along / reach, -1.0), 1.0))
    score = -reach - 2.0 * angle / math.pi
    # The best point of a zone, delta = 2 lam - 1 on the axis, has the score that keeps the exponent at or below 0.
    density = epsilon * (score + 2.0 * lams - 1.0) / (2.0 * SCORE_SENSITIVITY)
    functions.exp(np.minimum(density, 0.0, out=density), out=density)  # in place: a new array costs as much
    return np.where(inside, density / reach, 0.0)


def _checked(n_rows: int, lam: ArrayLike, epsilon: ArrayLike) -> tuple[FloatArray, FloatArray]:
    lams = np.broadcast_to(np.asarray(lam, dtype=np.float64), n_rows)
    epsilons = np.broadcast_to(np.asarray(epsilon, dtype=np.float64), n_rows)
    if not ((lams >= 0.5) & (lams <= 1.0)).all():
        raise ValueError(f"lam ran from {lams.min()} to {lams.max()}, but it must be in [1/2, 1].")
    if not (epsilons >= 0.0).all():
        raise ValueError(f"epsilon was {epsilons.min()}, but it must be >= 0. Use math.inf for the best point.")
    return lams, epsilons


def _side_directions(shape: tuple[int, ...], uniforms: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return a random direction (k, d) to leave the axis by; in the plane only its side matters, a random sign."""
    if shape[1] > 2:
        return rng.standard_normal(shape)
    return np.where(uniforms < 0.5, -1.0, 1.0)[:, None] * np.ones(shape)


@compiled
def _turned(origin: Centers, toward: Centers, angle: FloatArray, reach: FloatArray, sides: FloatArray) -> Centers:
    """Return S + reach |X - S| (cos(angle) axis + sin(angle) side) for S = `origin` and X = `toward` (k, d).

    The axis is the unit vector of X - S, a side that of what `sides` (k, d) has across the axis; in the plane only a
    side's sign counts, for an exact quarter turn of the axis. On a line nothing turns. Where X = S all stays at S.
    """
    k, d = origin.shape
    made, axis, side = np.empty((k, d)), np.empty(d), np.zeros(d)
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
            made[i, f] = origin[i, f] + reach[i] * length * (ahead * axis[f] + across * side[f])
    return made
