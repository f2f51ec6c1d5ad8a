"""Remap released points to public places: post-processing, so it costs nothing.

Andres et al. 2013, section 4.2 (nearest admissible place); Chatzikokolakis, ElSalamouny & Palamidessi 2017, "Efficient
utility improvement for location privacy" (optimal remap: the place of least expected loss under the posterior).

z is first rounded to the nearest of the public places, then moved to where that place's posterior says: the mean for
squared error, the geometric median for distance. The table of all moves is computed once from public inputs.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from dpviz.core import Box, FloatArray, Labels, Points, as_points, frozen
from dpviz.mechanisms.laplace_density import Lattice, lattice_of, scale_nodes
from dpviz.mechanisms.release_law import GridCells
from dpviz.mechanisms.weighted_medians import weighted_medians

GRID_PLACES = 1024  # of the default grid, at most; the table of moves needs its square
MOST_PLACES = 4096  # ours: 4096^2 posterior weights are 134 MB
LEAST_MASS = 1e-200  # of a cell under the prior; what underflows beside it is less than a double's rounding
MIRROR = 1e-12  # of an axis: ticks this even are their own mirror image
REMEMBERED = 16  # tables, of 16 kB each
RULES = ("nearest", "mean", "median")


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
    """Return where a z nearest to each place of `grid` (m, d) is moved, (m, d). Public inputs, public result.

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
    return _table(places.tobytes(), weights.tobytes(), places.shape[1], float(epsilon), rule)


@lru_cache(maxsize=REMEMBERED)
def _table(places: bytes, prior: bytes, d: int, epsilon: float, rule: str) -> Points:
    """Return `remap_table` of places (m, d) and weights (m,) as bytes: a game asks for the same one in every round."""
    where, weights = np.frombuffer(places).reshape(-1, d), np.frombuffer(prior)
    if rule == "mean":
        return frozen(posterior_means(where, weights, epsilon))
    return frozen(posterior_medians(where, weights, epsilon))


def posterior_means(places: FloatArray, prior: FloatArray, epsilon: float) -> FloatArray:
    """Return sum_j places[j] P(x = places[j] | z nearest to places[i]), (m, d), without the (m, m) posterior if it can.

    On a rectangular grid the mass of cell (a, b) given place (s, t), an index for each half of the axes, is
    E A[a, s] B[b, t] over V, so the sums over places are two small products for each V: A P B^T.
    """
    lattice = lattice_of(places)
    if len(lattice.axes) == 1 or not is_rectangular(lattice):
        return np.asarray(_posterior(places, prior, epsilon, np.arange(len(places))) @ places)
    m, middle = len(places), places.mean(axis=0)
    flat = np.ravel_multi_index(lattice.places, tuple(len(axis) for axis in lattice.axes))
    wanted = np.empty((1 + len(lattice.axes), m))
    wanted[:, flat] = prior * np.vstack([np.ones(m), (places - middle).T])
    first, second, weights = _half_tables(lattice, epsilon)
    rows = np.matmul(first, wanted.reshape(len(wanted), 1, first.shape[2], -1))  # (1 + d, q, cells, places)
    sums = np.matmul(rows, second.transpose(0, 2, 1) * weights[:, None, None]).sum(axis=1)
    totals = sums.reshape(len(wanted), -1)[:, flat].T  # (m, 1 + d)
    known = totals[:, :1] > LEAST_MASS
    means = totals[:, 1:] / np.where(known, totals[:, :1], 1.0) + middle
    rest = np.flatnonzero(~known[:, 0])
    if len(rest):
        means[rest] = _density_posterior(places, prior, epsilon, rest) @ places
    return np.asarray(means)


def posterior_medians(places: FloatArray, prior: FloatArray, epsilon: float) -> FloatArray:
    """Return the geometric median of the places under P(x = places[j] | z nearest to places[i]), (m, d).

    Where grid and prior are their own mirror images along an axis, half of the medians are those of the other half.
    """
    lattice = lattice_of(places)
    rows, back, flipped = np.arange(len(places)), np.arange(len(places)), np.zeros(places.shape, dtype=bool)
    if is_rectangular(lattice):
        rows, back, flipped = _mirrored(lattice, prior)
    posterior = _posterior(places, prior, epsilon, rows)  # (r released, m true)
    medians = weighted_medians(posterior, places, posterior @ places)[back]
    ends = np.array([axis[0] + axis[-1] for axis in lattice.axes])
    return np.asarray(np.where(flipped, ends - medians, medians))


def _mirrored(lattice: Lattice, prior: FloatArray) -> tuple[Labels, Labels, NDArray[np.bool_]]:
    """Return which places to look at (r,), which of those stands for each place (m,), and which axes to turn (m, d)."""
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
    rows, back = np.unique(where[np.ravel_multi_index(tuple(standing), shape)], return_inverse=True)
    return rows, back, np.column_stack(flipped)


def nearest_places(z: ArrayLike, grid: ArrayLike) -> Labels:
    """Return the index (n,) of the place of `grid` (m, d) nearest to each row of `z` (n, d)."""
    places = as_points(grid, name="grid")
    rows = as_points(z, n_features=places.shape[1])
    return np.asarray(cKDTree(places).query(rows)[1], dtype=np.intp)


def remap_cells(grid: ArrayLike, outputs: ArrayLike) -> GridCells:
    """Return the cells of a rectangular `grid` (m, d) with what each is released as (m, d), for `release_law`.

    Raises ValueError when `grid` is not all combinations of the values of its axes: other places have no product cells.
    """
    places = as_points(grid, name="grid")
    lattice = lattice_of(places)
    if not is_rectangular(lattice):
        raise ValueError("grid was no full rectangular grid, and only those have cells whose masses are known exactly.")
    low, high = _walls(lattice)
    return GridCells(frozen(low), frozen(high), frozen(np.array(as_points(outputs, n_features=places.shape[1]))))


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


def _walls(lattice: Lattice) -> tuple[FloatArray, FloatArray]:
    """Return the lower and upper walls (m, d) of each place's cell: half-way to its neighbours, infinite at the rim."""
    middles = [(axis[1:] + axis[:-1]) / 2.0 for axis in lattice.axes]
    lows = [np.concatenate([[-np.inf], middle])[at] for middle, at in zip(middles, lattice.places, strict=True)]
    highs = [np.concatenate([middle, [np.inf]])[at] for middle, at in zip(middles, lattice.places, strict=True)]
    return np.column_stack(lows), np.column_stack(highs)


def _posterior(places: FloatArray, prior: FloatArray, epsilon: float, rows: Labels) -> FloatArray:
    """Return P(x = places[j] | z nearest to places[i]) of the places i in `rows` (r,), (r, m)."""
    lattice = lattice_of(places)
    if not is_rectangular(lattice):
        return _density_posterior(places, prior, epsilon, rows)
    weights: FloatArray = _cell_masses(lattice, epsilon, rows) * prior
    totals: FloatArray = weights.sum(axis=1, keepdims=True)
    rest = np.flatnonzero(totals[:, 0] <= LEAST_MASS)
    if len(rest):
        weights[rest], totals[rest] = _density_posterior(places, prior, epsilon, rows[rest]), 1.0
    return np.asarray(weights / totals)


def _density_posterior(places: FloatArray, prior: FloatArray, epsilon: float, rows: Labels) -> FloatArray:
    """Return the posterior (r, m) of some places by the density: right up to the cell where every mass underflows."""
    log_weights = -epsilon * cdist(places[rows], places)
    with np.errstate(divide="ignore"):
        log_weights = log_weights + np.log(prior)
    log_weights -= log_weights.max(axis=1, keepdims=True)  # a prior that rules out what is near leaves its nearest
    weights: FloatArray = np.exp(log_weights)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _cell_masses(lattice: Lattice, epsilon: float, rows: Labels) -> FloatArray:
    """Return P(z in the cell of place i | x = place j) of the places i in `rows` (r,) of a rectangular grid, (r, m).

    Axes are multiplied out in two halves, so that the sum over V is one product of two small matrices; one axis alone
    has a closed form.
    """
    if len(lattice.axes) == 1:
        return _line_masses(lattice.axes[0], epsilon)[np.ix_(lattice.places[0][rows], lattice.places[0])]
    first, second, weights = _half_tables(lattice, epsilon)
    (q, _, p1), (_, c2, p2) = first.shape, second.shape
    flat = np.ravel_multi_index(lattice.places, tuple(len(axis) for axis in lattice.axes))
    (one, at1), (two, at2) = (np.unique(half, return_inverse=True) for half in np.divmod(flat[rows], c2))
    joint = (first[:, one].reshape(q, -1).T * weights) @ second[:, two].reshape(q, -1)
    masses = joint.reshape(len(one), p1, len(two), p2)[at1, :, at2].reshape(len(rows), -1)
    return np.asarray(masses[:, flat])


def _half_tables(lattice: Lattice, epsilon: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return P(z's half in cell i | x's half = place j, V), (q, k, k) for each half of the axes, and V's weights."""
    deviations, weights = scale_nodes(len(lattice.axes))
    tables = []
    for half in np.array_split(np.arange(len(lattice.axes)), 2):
        product = np.ones((len(weights), 1, 1))  # (q, cells, places)
        for axis in half:
            factor = _axis_masses(lattice.axes[axis], deviations / epsilon)
            product = product[:, :, None, :, None] * factor[:, None, :, None, :]
            product = product.reshape(len(weights), product.shape[1] * product.shape[2], -1)
        tables.append(product)
    return tables[0], tables[1], weights


def _axis_masses(values: FloatArray, deviations: FloatArray) -> FloatArray:
    """Return P(z in the cell of value i | x = value j, V) of one axis (k,), increasing: (q, k, k)."""
    gaps = _wall_gaps(values)
    # Even steps have few distinct gaps, the same to 13 digits: a tail is computed once for each.
    digits, powers = np.frexp(gaps)
    distinct, back = np.unique(np.ldexp(np.round(digits, 13), powers), return_inverse=True)
    tails = special.ndtr(-distinct / deviations[:, None])[:, back.reshape(gaps.shape)]
    return _between(np.pad(tails, ((0, 0), (1, 1), (0, 0))))


def _line_masses(values: FloatArray, epsilon: float) -> FloatArray:
    """Return `_cell_masses` of one axis (k,), increasing: differences of F(t) = e^(epsilon t)/2 below 0."""
    return _between(np.pad(np.exp(-epsilon * _wall_gaps(values)) / 2.0, ((1, 1), (0, 0))))


def _wall_gaps(values: FloatArray) -> FloatArray:
    """Return the distances (k - 1, k) of the walls half-way between values (k,) to each value."""
    return np.abs((values[1:, None] + values[:-1, None]) / 2.0 - values)


def _between(tails: FloatArray) -> FloatArray:
    """Return the masses (..., k, k) between walls, given what lies beyond each, (..., k + 1, k): 0 beyond infinity.

    Beside a value it is a difference of small tails, so that none is lost in 1 - (1 - tail); around it, the rest of 1.
    """
    masses: FloatArray = np.abs(np.diff(tails, axis=-2))
    own = np.arange(tails.shape[-1])
    masses[..., own, own] = 1.0 - tails[..., own, own] - tails[..., own + 1, own]
    return masses
