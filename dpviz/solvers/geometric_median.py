"""The geometric median: the place with the least sum of distances. Weiszfeld 1937; Vardi & Zhang 2000.

Notation of Vardi & Zhang -> here: T~(y) the target, R~(y) the pull, eta(y) the mass that lies at y.
"""

import numpy as np
from numpy.typing import ArrayLike

from dpviz.core import FloatArray

TOLERANCE = 1e-10  # of the points' spread: a step shorter than this ends the search; ours
SWEEPS = 10  # between two tests of which sets are done; ours
MAX_ROUNDS = 100  # ours; a median away from every point takes some dozens of sweeps


def geometric_median(points: ArrayLike, weights: ArrayLike | None = None) -> FloatArray:
    """Return the point(s) (..., n) with the least weighted sum of distances to m `points` (..., m, n).

    `weights` (..., m) >= 0, not all 0 in a row, default 1; they broadcast over leading axes. Each leading index is a
    set of its own. Where the medians of points on a line are many, one of them is returned. Weiszfeld's iteration as
    corrected by Vardi & Zhang 2000, which never divides by the distance 0 and leaves a point that is not the median.
    Exact to a rounding at a data point, else to 1e-10 of the points' spread a step.
    Raises ValueError for no points, other shapes, values that are not finite and weights that are no weights.
    """
    sets = np.asarray(points, dtype=np.float64)
    if sets.ndim < 2 or 0 in sets.shape[-2:]:
        raise ValueError(f"points had shape {sets.shape}, but it must be (..., m, n) with m >= 1 and n >= 1.")
    if not np.isfinite(sets).all():
        raise ValueError("points held NaN or infinity, but a median needs finite places. Drop those rows first.")
    mass = np.ones(sets.shape[:-1]) if weights is None else np.asarray(weights, dtype=np.float64)
    mass = np.broadcast_to(mass, sets.shape[:-1])
    total = mass.sum(axis=-1, keepdims=True)
    if not (np.isfinite(mass) & (mass >= 0)).all() or not (total > 0).all():
        raise ValueError("weights must be finite and >= 0, and not all 0. Use None to count every point once.")
    places = sets.reshape(-1, *sets.shape[-2:])  # (s, m, n)
    shares = (mass / total).reshape(len(places), -1)  # (s, m)
    middle = np.einsum("sm,smn->sn", shares, places)  # the means: starts inside the hulls
    moving = np.arange(len(places))
    for _ in range(MAX_ROUNDS):
        some, mass, y = places[moving], shares[moving], middle[moving]
        step = np.zeros(len(some))
        for _ in range(SWEEPS):
            # T(y) = (1 - s) T~(y) + s y, s = min(1, eta / |R~|): Vardi & Zhang 2000.
            target, pull, here = _forces(some, mass, y)
            # |R~| = 0 with eta = 0 is the median itself: T~(y) = y, whatever s is.
            stay = np.divide(here, pull, out=np.ones_like(here), where=pull > here)[..., None]
            following = (1.0 - stay) * target + stay * y
            step = np.sqrt(((following - y) ** 2).sum(axis=-1))
            y = following
        # The iteration only creeps up to a data point: the nearest one is the median where |R~| <= eta.
        gaps = some - y[..., None, :]
        nearest = np.einsum("...mn,...mn->...m", gaps, gaps).argmin(axis=-1)
        candidate = np.take_along_axis(some, nearest[..., None, None], axis=-2)[..., 0, :]
        _, pull, here = _forces(some, mass, candidate)
        exact = pull <= here
        middle[moving] = np.where(exact[..., None], candidate, y)
        moving = moving[~exact & (step > TOLERANCE * np.ptp(some, axis=-2).max(axis=-1))]
        if not moving.size:
            break
    return np.asarray(middle.reshape(*sets.shape[:-2], sets.shape[-1]))


def _forces(sets: FloatArray, mass: FloatArray, middle: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return T~(y) (..., n), |R~(y)| (...) and eta(y) (...), the mass of the points that lie at y."""
    gaps = sets - middle[..., None, :]  # (..., m, n)
    lengths = np.sqrt(np.einsum("...mn,...mn->...m", gaps, gaps))
    apart = lengths > 0
    pulls = np.divide(mass, lengths, out=np.zeros_like(lengths), where=apart)  # w_i / |x_i - y|
    total = pulls.sum(axis=-1)[..., None]
    force = np.einsum("...m,...mn->...n", pulls, gaps)  # R~(y)
    shift = np.divide(force, total, out=np.zeros_like(force), where=total > 0)  # T~(y) - y
    return middle + shift, np.sqrt((force**2).sum(axis=-1)), np.where(apart, 0.0, mass).sum(axis=-1)
