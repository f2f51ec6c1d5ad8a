"""A grid over the unit box: which cell holds a record, and centers found on noisy counts of the cells alone."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from dpviz.core import Centers, Counts, FloatArray, Points, frozen
from dpviz.solvers.grids import even_grid, even_side, fitting, grid_of, marginal_counts
from dpviz.solvers.weighted import WeightedPath, exchanged, heaviest, spread_start, weighted_kmeans

RESTARTS = 4  # starts drawn on the noisy cells, besides the public packing; ours
EXCHANGES = 3  # tries for each center of such a start; ours, by measurement
SEED_SHARE = 1.0 / 3.0  # of epsilon, that a private start spends on its cells; ours, by measurement
MARGINALS, CELLS = "marginals of the start", "cells of the start"  # what a private start buys

# (what it is, its epsilon, how many grids it counts, its counts of records) -> the counts, noise for epsilon in them.
Released: TypeAlias = Callable[[str, float, int, Callable[[Points], Counts]], Counts]


@dataclass(frozen=True, slots=True, eq=False)
class CellSeeds:
    """A private start, box units: all of it follows from the noisy counts and public inputs."""

    centers: Centers  # (k, d)
    packing: Centers  # (k, d) the public packing that the search begins at; row i became row i of `centers`
    noisy_cell_counts: Counts  # (m1 ... md,) C order
    edges: tuple[FloatArray, ...]  # d of (m_j + 1,), the cells' walls


def cell_counts(unit: Points, side: int) -> Counts:
    """Return the exact number of records of [0, 1]^d in each of side^d cells, C order; 1 is in the last cell."""
    cells = np.minimum((unit * side).astype(np.intp), side - 1)  # (n, d)
    flat = cells[:, 0]
    for column in cells.T[1:]:
        flat = flat * side + column
    return np.bincount(flat, minlength=side ** unit.shape[1]).astype(np.float64)


def searched_cells(places: Points, weights: FloatArray, packing: Centers, *, rng: np.random.Generator) -> WeightedPath:
    """Run weighted k-means on cells at `places` (m, d) from the public `packing` (k, d) and from RESTARTS draws."""
    spread = (spread_start(places, weights, packing, rng=rng) for _ in range(RESTARTS))
    starts = tuple(exchanged(places, weights, start, EXCHANGES * len(packing), rng=rng) for start in spread)
    return weighted_kmeans(places, weights, (packing, *starts))


def private_seeds(
    released: Released,
    packing: Centers,
    units: FloatArray,
    *,
    epsilon: float,
    n_records: float,
    moved: int,
    rng: np.random.Generator,
) -> CellSeeds | None:
    """Return a private start from noisy counts that `released` buys for `epsilon` together; None, free, for one cell.

    A fifth of it buys noisy marginals, which say where a grid has its cells, and the rest the counts of the cells, as
    in EUGkM. Where records are too few for marginals, the cells are even and get all of it. Which of them is bought
    follows from public parameters and `n_records`, public or noisy; `moved` is how many cells of a grid one record
    moves, 1 or 2. The seeds are post-processing: k-means on the noisy cells from the `packing` (k, d), with `units`
    (d,) for what a step along each axis is worth. They are numbered to be as near as can be to the packing.
    """
    d, cells = packing.shape[1], epsilon
    if fitted := fitting(epsilon, n_records, d, moved=moved):
        rows, cells = released(MARGINALS, fitted.marginals, d, partial(_flat_marginals, fitted.n_bins)), fitted.cells
        grid = grid_of(rows.reshape(d, fitted.n_bins), fitted.most_cells, units, scale=fitted.scale)
    else:
        grid = even_grid((even_side(epsilon, n_records, d)[0],) * d)
        if math.prod(grid.shape) == 1:
            return None
    noisy = released(CELLS, cells, 1, grid.counts)
    weights = heaviest(noisy, len(packing), scale=moved / cells)
    weighs, found = weights > 0, packing
    if weighs.any():
        places = grid.places()[weighs] * units
        found = searched_cells(places, weights[weighs], packing * units, rng=rng).centers[-1] / units
    return CellSeeds(frozen(_numbered(found, packing)), frozen(packing), frozen(noisy), grid.edges)


def _flat_marginals(n_bins: int, unit: Points) -> Counts:
    return marginal_counts(unit, n_bins).ravel()


def _numbered(centers: Centers, packing: Centers) -> Centers:
    """Return the centers (k, d) in the order in which all together are nearest to those of the packing."""
    from scipy.optimize import linear_sum_assignment  # slow to load

    squares = ((packing[:, None] - centers[None]) ** 2).sum(axis=2)
    return np.asarray(centers[linear_sum_assignment(squares)[1]])
