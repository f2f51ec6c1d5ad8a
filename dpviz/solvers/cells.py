"""A grid over the unit box: which cell holds a record, and centers found on noisy counts of the cells alone."""

import functools
import math
from dataclasses import dataclass

import numpy as np

from dpviz.core import Centers, Counts, FloatArray, Points, frozen
from dpviz.solvers.weighted import WeightedPath, exchanged, heaviest, spread_start, weighted_kmeans

MAX_CELLS = 65_536  # ours, public: the rule diverges at epsilon = infinity
GRIDS = 8  # whose cells' middles are remembered: the largest budgets share one
RESTARTS = 4  # starts drawn on the noisy cells, besides the public packing; ours
EXCHANGES = 3  # tries for each center of such a start; ours, by measurement
SEED_SHARE = 0.2  # of epsilon, that a private start spends on its cells; ours, by measurement
SEED_FEATURES = 3  # columns up to which a private start beats the packing: a grid of more is too coarse; ours, measured
SEED_WEIGHT = 5.0  # n epsilon of a cell of the start, in EUGkM's rule; ours, by measurement


@dataclass(frozen=True, slots=True, eq=False)
class CellSeeds:
    """A private start, box units: all of it follows from the noisy counts and public inputs."""

    centers: Centers  # (k, d)
    packing: Centers  # (k, d) the public packing that the search begins at; row i became row i of `centers`
    noisy_cell_counts: Counts  # (m^d,) C order
    shape: tuple[int, ...]


def cell_counts(unit: Points, side: int) -> Counts:
    """Return the exact number of records of [0, 1]^d in each of side^d cells, C order; 1 is in the last cell."""
    cells = np.minimum((unit * side).astype(np.intp), side - 1)  # (n, d)
    flat = cells[:, 0]
    for column in cells.T[1:]:
        flat = flat * side + column
    return np.bincount(flat, minlength=side ** unit.shape[1]).astype(np.float64)


@functools.lru_cache(maxsize=GRIDS)
def cell_centers(shape: tuple[int, ...]) -> Points:
    """Return the middle (m1 ... md, d) of each cell of the unit box, C order, read-only."""
    sides = np.array(shape)
    strides = np.cumprod((1, *shape[:0:-1]))[::-1]  # NumPy's own indices stop at 64 axes
    return frozen(np.asarray((np.arange(math.prod(shape))[:, None] // strides % sides + 0.5) / sides))


def searched_cells(places: Points, weights: FloatArray, packing: Centers, *, rng: np.random.Generator) -> WeightedPath:
    """Run weighted k-means on cells at `places` (m, d) from the public `packing` (k, d) and from RESTARTS draws."""
    spread = (spread_start(places, weights, packing, rng=rng) for _ in range(RESTARTS))
    starts = tuple(exchanged(places, weights, start, EXCHANGES * len(packing), rng=rng) for start in spread)
    return weighted_kmeans(places, weights, (packing, *starts))


def seed_side(epsilon: float, n_records: float, d: int) -> int:
    """Return the cells along each axis of a private start that spends `epsilon`; 1 where none would be of use.

    `n_records` must be public or a noisy count; the rule is EUGkM's (Su et al. 2016, section 4), its weight ours.
    """
    wanted = float((max(n_records, 1.0) * epsilon / SEED_WEIGHT) ** (2.0 / (2.0 + d)))
    return max(1, round(min(wanted, int(MAX_CELLS ** (1.0 / d) + 1e-9))))


def seeds_on_cells(noisy: Counts, side: int, packing: Centers, *, scale: float, rng: np.random.Generator) -> CellSeeds:
    """Return seeds from the `noisy` counts (side^d,), which have Laplace noise of `scale`: post-processing.

    They are numbered so that all together they are as near as can be to the `packing` (k, d), from which they come.
    """
    from scipy.optimize import linear_sum_assignment  # slow to load

    k, d = packing.shape
    shape = (side,) * d
    weights = heaviest(noisy, k, scale=scale)
    weighs, centers = weights > 0, packing
    if weighs.any():
        centers = searched_cells(cell_centers(shape)[weighs], weights[weighs], packing, rng=rng).centers[-1]
    squares = ((packing[:, None] - centers[None]) ** 2).sum(axis=2)
    return CellSeeds(frozen(centers[linear_sum_assignment(squares)[1]]), frozen(packing), frozen(noisy), shape)
