"""Remap released points to public places: post-processing, so it costs nothing.

Andres et al. 2013, section 4.2 (nearest admissible place); Chatzikokolakis, ElSalamouny & Palamidessi 2017, "Efficient
utility improvement for location privacy" (optimal remap: the place of least expected loss under the posterior).

z is first rounded to the nearest of the public places, then moved to a middle of that place's posterior: the mean for
squared error, the geometric median for distance. The table of all moves is computed once from public inputs.

Geometric medians of one set of places under many weights are by Newton's method: f(y) = sum_j w_j sqrt(|y - p_j|^2
+ s^2) with s = SMOOTH of the extent, which moves a median by no more than s. f is strictly convex and smooth, so
Newton's steps end in a few rounds where Weiszfeld's iteration takes a hundred. Where a place holds more weight than the
pull of the others, |R| < w (Vardi & Zhang 2000), the median is there up to s, and is known at once. A step that does
not lower f is cut to a quarter.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from dpviz.core import Box, FloatArray, Labels, Points, algebra, as_points, frozen, functions
from dpviz.mechanisms.release_law import GridCells, Lattice, cell_law, lattice_of

GRID_PLACES = 1024  # of the default grid, at most; the table of moves needs its square
MOST_PLACES = 4096  # ours: 4096^2 posterior weights are 134 MB
LEAST_MASS = 1e-200  # of a cell under the prior; what underflows beside it is less than a double's rounding
MIRROR = 1e-12  # of an axis: ticks this even are their own mirror image
ROWS = 256  # of the posterior in memory at a time; ours
CACHED_TABLES = 16  # of 16 kB each
RULES = ("nearest", "mean", "median")
SMOOTH = 1e-6  # of the places' extent
TOLERANCE = 1e-9  # of the extent: a Newton step this short is the last
ROUNDS = 60  # ours; all but a few medians are there after 6
CAPTURE = 0.99  # of the weight of a place: a pull that strong or weaker cannot leave it; ours
NEAR = 1.5  # of the weight of a place: a pull up to that strong leaves a bend to go round; ours
LOOKS = (0, 3, 6, 10, 15, 20, 30, 40)  # rounds that begin with a test of the nearest place; ours
BLOCK = 32  # medians together, so that their weights and distances to 1,024 places stay in the cache; ours


def default_grid(box: Box) -> Points:
    """Return the centers (m, d) of equal cells that fill `box`, as many a side as GRID_PLACES allow.

    Raises ValueError for more than 10 axes, where not even two a side fit.
    """
    sides = int(GRID_PLACES ** (1.0 / box.d) + 1e-9)
    if sides < 2:
        raise ValueError(
            f"The box has {box.d} axes, but a default grid needs at least 2 places on each and at most {GRID_PLACES} "
            "in all: 10 axes. Pass a grid of your own, or use domain='clamp'."
        )
    ticks = (np.arange(sides) + 0.5) / sides
    unit = np.stack(np.meshgrid(*[ticks] * box.d, indexing="ij"), axis=-1).reshape(-1, box.d)
    return box.from_unit(unit)


def remap_table(grid: ArrayLike, *, epsilon: float, prior: ArrayLike | None = None, rule: str = "mean") -> Points:
    """Return the release (m, d) for a z nearest to each place of `grid` (m, d). Public inputs, public result.

    `rule`: "nearest" stays at the place; "mean" is the posterior mean, "median" the posterior geometric median, under
    `prior` (m,) >= 0 over the places (None: uniform) and the exact mass of the place's cell (for places that are no
    rectangular grid, the density at the place). epsilon = infinity keeps the place. Raises ValueError for another rule,
    a bad prior, and more than MOST_PLACES places.
    """
    places = as_points(grid, name="grid")
    if rule not in RULES:
        raise ValueError(f"rule was {rule!r}, but it must be one of {', '.join(RULES)}.")
    if not 1 <= len(places) <= MOST_PLACES:
        raise ValueError(f"grid had {len(places)} places, but it must have from 1 to {MOST_PLACES}.")
    weights = checked_prior(prior, len(places))
    if rule == "nearest" or math.isinf(epsilon):
        return frozen(places.copy())
    return _cached_table(places.tobytes(), weights.tobytes(), places.shape[1], float(epsilon), rule)


@lru_cache(maxsize=CACHED_TABLES)
def _cached_table(places: bytes, prior: bytes, d: int, epsilon: float, rule: str) -> Points:
    """Return `remap_table` of places (m, d) and weights (m,) as bytes: all rounds of a game need the same one."""
    where, weights = np.frombuffer(places).reshape(-1, d), np.frombuffer(prior)
    if rule == "mean":
        return frozen(posterior_means(where, weights, epsilon))
    return frozen(posterior_medians(where, weights, epsilon))


def posterior_means(places: FloatArray, prior: FloatArray, epsilon: float) -> FloatArray:
    """Return sum_j places[j] P(x = places[j] | z nearest to places[i]), (m, d)."""
    return _moves(places, prior, epsilon, lambda posterior: algebra.product(posterior, places))


def posterior_medians(places: FloatArray, prior: FloatArray, epsilon: float) -> FloatArray:
    """Return the geometric median of the places under P(x = places[j] | z nearest to places[i]), (m, d)."""
    return _moves(
        places,
        prior,
        epsilon,
        lambda posterior: weighted_medians(posterior, places, algebra.product(posterior, places)),
    )


def _moves(
    places: FloatArray, prior: FloatArray, epsilon: float, middle: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Return `middle` of each place's posterior, (m, d), for some rows (r, m) of the posterior at a time.

    Where grid and prior are their own mirror images, most places follow from another: an eighth of a square is enough.
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


@dataclass(frozen=True, slots=True, eq=False)
class _Folded:
    """Rows from which all places follow: place i is rows[back[i]], with axes swapped, then mirrored, where flagged."""

    rows: Labels  # (r,)
    back: Labels  # (m,)
    swapped: NDArray[np.bool_]  # (m,)
    flipped: NDArray[np.bool_]  # (m, d)


def _folded(lattice: Lattice, prior: FloatArray) -> _Folded:
    """Fold a rectangular grid along each axis that mirrors it and its prior, then along a square's diagonal."""
    shape = tuple(len(axis) for axis in lattice.axes)
    flat = np.ravel_multi_index(lattice.places, shape)
    where = np.empty_like(flat)
    where[flat] = np.arange(len(flat))  # the place at each position of the lattice
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
    return np.asarray(cKDTree(places).query(rows)[1], dtype=np.intp)


def remap_cells(grid: ArrayLike, outputs: ArrayLike) -> GridCells:
    """Return the cells of a rectangular `grid` (m, d) with the release (m, d) of each, for `release_law`.

    Raises ValueError when `grid` is not all combinations of the values of its axes: other places have no product cells.
    """
    places = as_points(grid, name="grid")
    lattice = lattice_of(places)
    if not is_rectangular(lattice):
        raise ValueError("grid was no full rectangular grid, and only those have cells whose masses are known exactly.")
    # The walls of a cell are half-way to the place's neighbors, and infinite at the rim.
    middles = [(axis[1:] + axis[:-1]) / 2.0 for axis in lattice.axes]
    lows = [np.concatenate([[-np.inf], middle])[at] for middle, at in zip(middles, lattice.places, strict=True)]
    highs = [np.concatenate([middle, [np.inf]])[at] for middle, at in zip(middles, lattice.places, strict=True)]
    released = np.array(as_points(outputs, n_features=places.shape[1]))
    return GridCells(frozen(np.column_stack(lows)), frozen(np.column_stack(highs)), frozen(released))


def is_rectangular(lattice: Lattice) -> bool:
    """Say whether the places are all combinations of their axes' values, each once."""
    shape = tuple(len(axis) for axis in lattice.axes)
    flat = np.ravel_multi_index(lattice.places, shape)
    return len(flat) == math.prod(shape) == len(np.unique(flat))


def checked_prior(prior: ArrayLike | None, m: int) -> FloatArray:
    """Return `prior` (m,) adding to 1, uniform for None; raise ValueError for what is no prior."""
    if prior is None:
        return np.full(m, 1.0 / m)
    weights = np.asarray(prior, dtype=np.float64)
    if weights.shape != (m,) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.sum() > 0:
        raise ValueError(
            f"prior had shape {weights.shape}, but it must be ({m},): one finite weight >= 0 for each place of the "
            "grid, not all 0."
        )
    return np.asarray(weights / weights.sum())


def _density_posterior(places: FloatArray, prior: FloatArray, epsilon: float, rows: Labels) -> FloatArray:
    """Return the posterior (r, m) of some places by the density: right up to the cell where every mass underflows."""
    log_weights = -epsilon * cdist(places[rows], places)
    log_weights = log_weights + functions.log(prior)
    log_weights -= log_weights.max(axis=1, keepdims=True)  # a prior that rules out what is near leaves its nearest
    weights: FloatArray = functions.exp(log_weights)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def weighted_medians(weights: FloatArray, places: FloatArray, start: FloatArray) -> FloatArray:
    """Return argmin_y f(y) (r, d) for each row of `weights` (r, m) >= 0, not all 0, over `places` (m, d).

    `start` (r, d) is where the search begins. On a line the weighted median is returned, the lower of two.
    """
    if places.shape[1] == 1:
        order = np.argsort(places[:, 0])
        reached = np.cumsum(weights[:, order], axis=1)
        return np.asarray(places[order[(reached >= reached[:, -1:] / 2.0).argmax(axis=1)]])
    middle, extent = places.mean(axis=0), float(np.ptp(places, axis=0).max()) or 1.0
    unit, begin = (places - middle) / extent, (start - middle) / extent
    tree, medians = cKDTree(unit), np.empty_like(begin)
    for first in range(0, len(weights), BLOCK):
        block = slice(first, first + BLOCK)
        some = weights[block]
        medians[block] = _newton_medians(some / some.sum(axis=1, keepdims=True), unit, tree, begin[block])
    return np.asarray(medians * extent + middle)


def _newton_medians(weights: FloatArray, places: FloatArray, tree: cKDTree, start: FloatArray) -> FloatArray:
    """Return `weighted_medians` of places of extent 1, in `tree` too, and rows of weights that add up to 1."""
    done, moving, current = start.copy(), np.arange(len(start)), start.copy()
    # The last accepted place, the value there, the step from there, and the part of it that is tried.
    accepted, best, step, part = start.copy(), np.full(len(start), np.inf), np.zeros_like(start), np.ones(len(start))
    for turn in range(ROUNDS):
        if turn in LOOKS:
            pulled, there = _nearest_pull(weights, places, tree, current)
            current[pulled], best[pulled] = there[pulled], np.inf
        value, slope, bend = _derivatives(weights, places, current)
        better = value <= best * (1.0 + 1e-14)
        newton = -algebra.solved(bend, slope[..., None])[..., 0]
        step, accepted = np.where(better[:, None], newton, step), np.where(better[:, None], current, accepted)
        best, part = np.where(better, value, best), np.where(better, 1.0, part / 4.0)
        current = accepted + part[:, None] * step
        short = np.abs(step).max(axis=1) * part <= TOLERANCE
        done[moving] = np.where(short[:, None], current, accepted)
        if short.any():
            weights, moving = weights[~short], moving[~short]
            current, accepted, best, step, part = (values[~short] for values in (current, accepted, best, step, part))
        if not len(moving):
            break
    return done


def _derivatives(
    weights: FloatArray, places: FloatArray, current: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return f (r,), its gradient (r, d) and its Hessian (r, d, d) at `current` (r, d)."""
    d = places.shape[1]
    gaps = [current[:, axis, None] - places[:, axis] for axis in range(d)]  # each (r, m)
    lengths = np.full_like(gaps[0], SMOOTH**2)
    for gap in gaps:
        lengths += gap * gap
    np.sqrt(lengths, out=lengths)
    value = np.einsum("ij,ij->i", weights, lengths)
    near = np.reciprocal(lengths, out=lengths)
    pulls = weights * near
    total = pulls.sum(axis=1)
    slope, bend = np.empty((len(current), d)), np.empty((len(current), d, d))
    for axis, gap in enumerate(gaps):
        slope[:, axis] = np.einsum("ij,ij->i", pulls, gap)
        gap *= near
    for one in range(d):
        pulled = pulls * gaps[one]
        for other in range(one, d):
            bend[:, one, other] = bend[:, other, one] = -np.einsum("ij,ij->i", pulled, gaps[other])
        bend[:, one, one] += total * (1.0 + 1e-12)  # a trace more: places on a line leave nothing across it
    return value, slope, bend


def _nearest_pull(
    weights: FloatArray, places: FloatArray, tree: cKDTree, current: FloatArray
) -> tuple[NDArray[np.bool_], FloatArray]:
    """Return which rows the place nearest to `current` (r, d) pulls at, and where to go on for them, (r, d).

    Within s of the place the others pull with a force R that hardly changes, and w u / sqrt(u^2 + s^2) = |R| gives
    u = s |R| / sqrt(w^2 - |R|^2). Where |R| is as large as w, f has a bend there that Newton's steps leap over from
    every side but one, or leave in many small steps: they go on from where the others' own bend h, along R, would stop
    R - w, at u = (|R| - w) / h.
    """
    here = places[tree.query(current)[1]]
    gaps = [places[:, axis] - here[:, axis, None] for axis in range(places.shape[1])]
    squares = gaps[0] * gaps[0]
    for gap in gaps[1:]:
        squares += gap * gap
    same = squares == 0.0  # the place itself, and its copies
    mass = np.einsum("ij,ij->i", weights, same)
    squares[same] = np.inf
    pulls = weights / np.sqrt(squares, out=squares)
    force = np.stack([np.einsum("ij,ij->i", pulls, gap) for gap in gaps], axis=1)
    strength = np.sqrt((force**2).sum(axis=1))
    near, caught = strength < NEAR * mass, strength < CAPTURE * mass
    reach = np.where(caught, SMOOTH / np.sqrt(np.where(caught, mass**2 - strength**2, 1.0)), 0.0)
    for row in np.flatnonzero(near & ~caught):
        along = force[row] / strength[row]
        turned = sum(gap[row] * part for gap, part in zip(gaps, along, strict=True))
        bend = float((pulls[row] * (1.0 - turned * turned / squares[row] ** 2)).sum())  # squares hold lengths by now
        reach[row] = max(SMOOTH, (strength[row] - mass[row]) / bend) / strength[row]
    return near, here + reach[:, None] * force
