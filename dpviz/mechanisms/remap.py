"""Remapping of released points to public places. This is post-processing, so it costs nothing.

Andres et al. 2013, section 4.2 (nearest admissible place); Chatzikokolakis, ElSalamouny & Palamidessi 2017, "Efficient
utility improvement for location privacy" (optimal remap: the place of least expected loss under the posterior).

z is first rounded to the nearest of the public places, then moved to a middle of that place's posterior: the mean for
squared error, the geometric median for distance. The table of all moves is computed once from public inputs.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpviz.core import Box, FloatArray, Labels, Points, algebra, as_points, frozen, functions, immutable
from dpviz.mechanisms.release_law import GridCells, Lattice, cell_law, lattice_of
from dpviz.solvers import geometric_median

# Maximum number of places of the default grid. The table of moves needs its square.
GRID_PLACES = 1024
# Our choice: 4096^2 posterior weights are 134 MB.
MOST_PLACES = 4096
# Minimum mass of a cell under the prior. Terms that underflow next to it are smaller than a double's rounding.
LEAST_MASS = 1e-200
# Share of an axis. Ticks that are even up to this share are their own mirror image.
MIRROR = 1e-12
# Rows of the posterior in memory at a time. Our choice.
ROWS = 256
# Number of tables of 16 kB each.
CACHED_TABLES = 16
RULES = ("nearest", "mean", "median")


def default_grid(box: Box) -> Points:
    """Return the centers (m, d) of equal cells that fill `box`, as many on each side as GRID_PLACES allows.

    Raises ValueError for more than 10 axes, for which not even two per side fit.
    """
    sides = int(GRID_PLACES ** (1.0 / box.d) + 1e-9)
    if sides < 2:
        raise ValueError(
            "The box must have at most 10 axes for a default grid, which has at least 2 places on each "
            f"axis and at most {GRID_PLACES} in all, got {box.d}. Pass your own grid, or use "
            "domain='clamp'."
        )
    ticks = (np.arange(sides) + 0.5) / sides
    unit = np.stack(np.meshgrid(*[ticks] * box.d, indexing="ij"), axis=-1).reshape(-1, box.d)
    return box.from_unit(unit)


def remap_table(grid: ArrayLike, *, epsilon: float, prior: ArrayLike | None = None, rule: str = "mean") -> Points:
    """Return the release for a z nearest to each place of a grid. Public inputs, public result.

    Parameters
    ----------
    grid
        Places (m, d), at most MOST_PLACES.
    epsilon
        Above 0, per unit of distance. Infinity keeps the place.
    prior
        Weights (m,) of the places, at least 0; None for equal ones.
    rule
        "nearest" stays at the place; "mean" is the posterior mean and "median" the posterior geometric median, under
        the prior and the exact mass of the place's cell (the density at the place if the places are not a rectangular
        grid).

    Returns
    -------
    Points
        Releases (m, d).

    Raises
    ------
    ValueError
        If the rule is unknown, the prior is bad, or there are too many places.
    """
    places = as_points(grid, name="grid")
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(RULES)}, got {rule!r}.")
    if not 1 <= len(places) <= MOST_PLACES:
        raise ValueError(f"grid must have from 1 to {MOST_PLACES} places, got {len(places)}.")
    weights = checked_prior(prior, len(places))
    if rule == "nearest" or math.isinf(epsilon):
        return frozen(places.copy())
    return _cached_table(places.tobytes(), weights.tobytes(), places.shape[1], float(epsilon), rule)


@lru_cache(maxsize=CACHED_TABLES)
def _cached_table(places: bytes, prior: bytes, d: int, epsilon: float, rule: str) -> Points:
    """Return `remap_table` of places (m, d) and weights (m,) as bytes. All rounds of a game need the same table."""
    where, weights = np.frombuffer(places).reshape(-1, d), np.frombuffer(prior)
    if rule == "mean":
        return frozen(posterior_means(where, weights, epsilon))
    return frozen(posterior_medians(where, weights, epsilon))


def posterior_means(places: FloatArray, prior: FloatArray, epsilon: float) -> FloatArray:
    """Return sum_j places[j] P(x = places[j] | z nearest to places[i]), (m, d)."""
    return _moves(places, prior, epsilon, lambda posterior: algebra.product(posterior, places))


def posterior_medians(places: FloatArray, prior: FloatArray, epsilon: float) -> FloatArray:
    """Return the geometric median of the places under P(x = places[j] | z nearest to places[i]), (m, d)."""
    return _moves(places, prior, epsilon, lambda posterior: geometric_median(places, posterior))


def _moves(
    places: FloatArray, prior: FloatArray, epsilon: float, middle: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Return `middle` of each place's posterior, (m, d), for some rows (r, m) of the posterior at a time.

    If grid and prior are their own mirror images, most places follow from others: an eighth of a square is enough.
    """
    lattice = lattice_of(places)
    every = np.arange(len(places))
    folded = _Folded(every, every, np.zeros(len(places), dtype=bool), np.zeros(places.shape, dtype=bool))
    law = None
    if is_rectangular(lattice):
        folded, law = _folded(lattice, prior), cell_law(lattice, epsilon)
    middles = []
    for first in range(0, len(folded.rows), ROWS):
        rows = folded.rows[first : first + ROWS]
        if law is None:
            middles.append(middle(_density_posterior(places, prior, epsilon, rows)))
            continue
        posterior = law.masses(rows)
        posterior *= prior
        totals = posterior.sum(axis=1, keepdims=True)
        rest = np.flatnonzero(totals[:, 0] <= LEAST_MASS)
        if len(rest):
            posterior[rest], totals[rest] = _density_posterior(places, prior, epsilon, rows[rest]), 1.0
        posterior /= totals
        middles.append(middle(posterior))
    starts, ends = places.min(axis=0), places.max(axis=0)
    moves = np.concatenate(middles)[folded.back] - starts
    moves = np.where(folded.swapped[:, None], moves[:, ::-1], moves)
    return np.asarray(np.where(folded.flipped, ends - moves, starts + moves))


@immutable
class _Folded:
    """Rows from which all places follow: place i is rows[back[i]], with axes swapped, then mirrored, if flagged."""

    rows: Labels  # (r,)
    back: Labels  # (m,)
    swapped: NDArray[np.bool_]  # (m,)
    flipped: NDArray[np.bool_]  # (m, d)


def _folded(lattice: Lattice, prior: FloatArray) -> _Folded:
    """Fold a rectangular grid along each axis that mirrors it and its prior, then along a square's diagonal."""
    shape = tuple(len(axis) for axis in lattice.axes)
    flat = np.ravel_multi_index(lattice.places, shape)
    where = np.empty_like(flat)
    # Index of the place at each position of the lattice.
    where[flat] = np.arange(len(flat))
    masses = prior[where].reshape(shape)
    standing, flipped = [], []
    for i, (axis, at) in enumerate(zip(lattice.axes, lattice.places, strict=True)):
        even = np.abs(axis + axis[::-1] - axis[0] - axis[-1]).max() <= MIRROR * np.ptp(axis)
        turned = (2 * at >= len(axis)) & (even and np.array_equal(masses, np.flip(masses, i)))
        standing.append(np.where(turned, len(axis) - 1 - at, at))
        flipped.append(turned)
    swapped = np.zeros(len(flat), dtype=bool)
    if len(shape) == 2 and shape[0] == shape[1] and np.array_equal(masses, masses.T):
        one, other = (axis - axis[0] for axis in lattice.axes)
        if np.abs(one - other).max() <= MIRROR * one[-1]:
            swapped = standing[0] > standing[1]
            standing = [np.minimum(*standing), np.maximum(*standing)]
    rows, back = np.unique(where[np.ravel_multi_index(tuple(standing), shape)], return_inverse=True)
    return _Folded(rows, back, swapped, np.column_stack(flipped))


def nearest_places(z: ArrayLike, grid: ArrayLike) -> Labels:
    """Return the index (n,) of the place of `grid` (m, d) nearest to each row of `z` (n, d)."""
    places = as_points(grid, name="grid")
    rows = as_points(z, n_features=places.shape[1])
    return np.asarray(scipy.spatial.cKDTree(places).query(rows)[1], dtype=np.intp)


def remap_cells(grid: ArrayLike, outputs: ArrayLike) -> GridCells:
    """Return the cells of a rectangular `grid` (m, d) with the release (m, d) of each, for `release_law`.

    Raises ValueError if `grid` is not all combinations of its axes' values: other places have no product cells.
    """
    places = as_points(grid, name="grid")
    lattice = lattice_of(places)
    if not is_rectangular(lattice):
        raise ValueError(
            "grid must be a full rectangular grid, because only such a grid has cells whose masses are known exactly."
        )
    # The walls of a cell are halfway to the place's neighbors, and infinitely far at the rim.
    middles = [(axis[1:] + axis[:-1]) / 2.0 for axis in lattice.axes]
    lows = [np.concatenate([[-np.inf], middle])[at] for middle, at in zip(middles, lattice.places, strict=True)]
    highs = [np.concatenate([middle, [np.inf]])[at] for middle, at in zip(middles, lattice.places, strict=True)]
    released = np.array(as_points(outputs, n_features=places.shape[1]))
    return GridCells(np.column_stack(lows), np.column_stack(highs), released)


def is_rectangular(lattice: Lattice) -> bool:
    """Return True if the places are all combinations of their axes' values, each once."""
    shape = tuple(len(axis) for axis in lattice.axes)
    flat = np.ravel_multi_index(lattice.places, shape)
    return len(flat) == math.prod(shape) == len(np.unique(flat))


def checked_prior(prior: ArrayLike | None, m: int) -> FloatArray:
    """Return `prior` (m,) adding to 1, uniform for None; raise ValueError for an invalid prior."""
    if prior is None:
        return np.full(m, 1.0 / m)
    weights = np.asarray(prior, dtype=np.float64)
    if weights.shape != (m,) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.sum() > 0:
        raise ValueError(
            f"prior must have shape ({m},), got {weights.shape}: one finite weight of at least 0 for each place of "
            "the grid, not all 0."
        )
    return np.asarray(weights / weights.sum())


def _density_posterior(places: FloatArray, prior: FloatArray, epsilon: float, rows: Labels) -> FloatArray:
    """Return the posterior (r, m) of some places by the density, right to within a cell if every mass underflows."""
    log_weights = -epsilon * scipy.spatial.distance.cdist(places[rows], places)
    log_weights = log_weights + functions.log(prior)
    # If a prior rules out all nearby places, the nearest of the others remain.
    log_weights -= log_weights.max(axis=1, keepdims=True)
    weights: FloatArray = functions.exp(log_weights)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
