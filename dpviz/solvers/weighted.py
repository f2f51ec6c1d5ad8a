"""Weighted k-means on the noisy cells of a grid, the private starts that it finds, and k-means without privacy."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from dpviz.core import Centers, Counts, FloatArray, Points, compiled, frozen, writable
from dpviz.core.arrays import array_cache
from dpviz.solvers.grids import even_grid, even_side, fitting, grid_of, heaviest, marginal_counts
from dpviz.solvers.lloyd import LloydRun, assign, lloyd
from dpviz.solvers.moments import label_moments
from dpviz.solvers.packing import public_start

RESTARTS = 4  # starts drawn on the noisy cells, besides the public packing; ours
EXCHANGES = 3  # tries for each center of such a start; ours, by measurement
SEED_SHARE = 1.0 / 3.0  # of epsilon, that a private start spends on its cells; ours, by measurement
MARGINALS, CELLS = "marginals of the start", "cells of the start"  # what a private start buys
EXPLORED = 4  # starts that go on after one iteration; ours
EXPLORE = 3  # iterations of those before the best one goes on alone; ours
POLISH = 30  # most iterations after that; ours
KMEANS_STARTS = RESTARTS + 1  # of `searched_cells`
MOST_SEARCHED = 2_000  # records on which the starts of k-means without privacy are tried; ours
MOST_ITERATIONS = 60  # of its best start on all records; ours
TOLERANCE = 1e-4  # relative gain of an iteration below which it stops: far below what the noise moves; ours

# (what it is, its epsilon, how many grids it counts, its counts of records) -> the counts, noise for epsilon in them.
Released: TypeAlias = Callable[[str, float, int, Callable[[Points], Counts]], Counts]


@dataclass(frozen=True, slots=True, eq=False)
class CellSeeds:
    """A private start, box units: all of it follows from the noisy counts and public inputs."""

    centers: Centers  # (k, d)
    packing: Centers  # (k, d) the public packing that the search begins at; row i became row i of `centers`
    noisy_cell_counts: Counts  # (m1 ... md,) C order
    edges: tuple[FloatArray, ...]  # d of (m_j + 1,), the cells' walls


@dataclass(frozen=True, slots=True, eq=False)
class WeightedPath:
    """One run of Lloyd's algorithm, from its start to its end."""

    centers: tuple[Centers, ...]  # T + 1 of (k, d)
    costs: tuple[float, ...]  # T + 1, sum_j w_j |x_j - nearest center|^2


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


@array_cache(32)
def nonprivate_kmeans(points: Points, n_clusters: int) -> LloydRun:
    """Return k-means without privacy on `points` (n, d) of [0, 1]^d, the best of KMEANS_STARTS starts: the curator's.

    The starts are tried on MOST_SEARCHED records at most, evenly spread over all; Lloyd's algorithm goes on from the
    best one with all of them. Its cost is about that of scikit-learn's best of 5 starts, in a tenth of its time.
    """
    packing = public_start(n_clusters, points.shape[1], seed=0, rng=np.random.default_rng(0))
    if not len(points):
        return lloyd(points, packing)
    part = writable(points[:: -(-len(points) // MOST_SEARCHED)])
    best = searched_cells(part, np.ones(len(part)), packing, rng=np.random.default_rng(0))
    return lloyd(points, best.centers[-1], max_iterations=MOST_ITERATIONS)


def private_seeds(
    released: Released,
    packing: Centers,
    units: FloatArray,
    *,
    epsilon: float,
    n_records: float,
    sensitivity: int,
    rng: np.random.Generator,
) -> CellSeeds | None:
    """Return a private start from noisy counts that `released` buys for `epsilon` together; None, free, for one cell.

    A fifth of it buys noisy marginals, which say where a grid has its cells, and the rest the counts of the cells, as
    in EUGkM. Where records are too few for marginals, the cells are even and get all of it. Which of them is bought
    follows from public parameters and `n_records`, public or noisy; `sensitivity` is by how much one record changes all
    counts of a grid together, 1 or 2. The seeds are post-processing: k-means on the noisy cells from the `packing`
    (k, d), with `units` (d,) for what a step along each axis is worth. Their rows are in the order that is nearest to
    the packing.
    """
    from scipy.optimize import linear_sum_assignment  # slow to load

    d, cells = packing.shape[1], epsilon
    if fitted := fitting(epsilon, n_records, d, sensitivity=sensitivity):
        rows, cells = released(MARGINALS, fitted.marginals, d, partial(_flat_marginals, fitted.n_bins)), fitted.cells
        grid = grid_of(rows.reshape(d, fitted.n_bins), fitted.most_cells, units, scale=fitted.scale)
    else:
        grid = even_grid((even_side(epsilon, n_records, d)[0],) * d)
        if math.prod(grid.shape) == 1:
            return None
    noisy = released(CELLS, cells, 1, grid.counts)
    weights = heaviest(noisy, len(packing), scale=sensitivity / cells)
    full, centers = weights > 0, packing
    if full.any():
        places = grid.places()[full] * units
        centers = searched_cells(places, weights[full], packing * units, rng=rng).centers[-1] / units
    # In the order in which all centers together are nearest to those of the packing.
    squares = ((packing[:, None] - centers[None]) ** 2).sum(axis=2)
    centers = centers[linear_sum_assignment(squares)[1]]
    return CellSeeds(frozen(centers), frozen(packing), frozen(noisy), grid.edges)


def _flat_marginals(n_bins: int, unit: Points) -> Counts:
    return marginal_counts(unit, n_bins).ravel()


class _Run:
    """Lloyd's algorithm from one start on places (m, d) of weight w: a path that can be continued."""

    def __init__(self, places: Points, masses: FloatArray, squares: float, start: Centers) -> None:
        self.places = places
        self.masses = masses  # (m, 1 + d) w_j, then w_j x_j for each axis
        self.squares = squares  # sum_j w_j |x_j|^2
        self.centers: list[Centers] = []
        self.costs: list[float] = []
        self._append(start)

    def advance(self, most: int, tolerance: float) -> None:
        """Iterate until the gain is below `tolerance`, at most `most` times."""
        for _ in range(most):
            if len(self.costs) > 1 and self.costs[-2] - self.costs[-1] <= tolerance * self.costs[-2]:
                break
            mass = self.sums[:, :1]
            self._append(np.where(mass > 0, self.sums[:, 1:] / np.where(mass > 0, mass, 1.0), self.centers[-1]))

    def last_cost(self) -> float:
        return self.costs[-1]

    def _append(self, centers: Centers) -> None:
        """Assign the places to `centers`: sum_j w |x - c|^2 = sum w |x|^2 - 2 c . sum w x + |c|^2 sum w."""
        self.sums = label_moments(self.masses, assign(self.places, centers), len(centers))  # (k, 1 + d)
        norms = np.einsum("ij,ij->i", centers, centers)
        inner = float(np.einsum("ij,ij->", centers, self.sums[:, 1:]))
        self.centers.append(centers)
        self.costs.append(max(self.squares - 2.0 * inner + float((norms * self.sums[:, 0]).sum()), 0.0))


def weighted_kmeans(
    places: Points, weights: FloatArray, starts: tuple[Centers, ...], *, tolerance: float = TOLERANCE
) -> WeightedPath:
    """Run Lloyd's algorithm on `places` (m, d) with `weights` (m,) > 0 from each start and return the best run.

    Every start gets one iteration, the EXPLORED cheapest get EXPLORE more, the one of least cost goes on, at most
    POLISH more. An empty cluster stays.
    """
    norms = np.einsum("ij,ij->i", places, places)
    masses, squares = np.column_stack([weights, weights[:, None] * places]), float((weights * norms).sum())
    runs = [_Run(places, masses, squares, start) for start in starts]
    for run in runs:
        run.advance(1, tolerance)
    runs = sorted(runs, key=_Run.last_cost)[:EXPLORED]  # stable: of two equal ones the earlier start goes on
    for run in runs:
        run.advance(EXPLORE, tolerance)
    best = min(runs, key=_Run.last_cost)
    best.advance(POLISH, tolerance)
    return WeightedPath(tuple(best.centers), tuple(best.costs))


def spread_start(places: Points, weights: FloatArray, spare: Centers, *, rng: np.random.Generator) -> Centers:
    """Draw k of the places, each with probability ~ w |x - nearest already drawn|^2 (Arthur & Vassilvitskii 2007).

    When every weighted place is drawn, the other centers are those of `spare` (k, d): two on one place would do no more
    than one.
    """
    chosen = spare.copy()
    mass, nearest = np.cumsum(weights), np.full(len(places), np.inf)
    for i in range(len(spare)):
        if not mass[-1] > 0:
            break
        place = int(np.searchsorted(mass, rng.random() * mass[-1], side="right"))
        chosen[i] = places[min(place, len(places) - 1)]
        _add_center(places, weights, chosen[i], nearest, mass)
    return chosen


@compiled
def _add_center(places: Points, weights: FloatArray, center: FloatArray, nearest: FloatArray, mass: FloatArray) -> None:
    """Lower the squared distances `nearest` (m,) to what they are to one more center; add up w nearest in `mass`."""
    for i in range(len(places)):
        square = 0.0
        for f in range(len(center)):
            square += (places[i, f] - center[f]) ** 2
        nearest[i] = min(nearest[i], square)
    total = 0.0
    for i in range(len(places)):
        total += weights[i] * nearest[i]
        mass[i] = total


def exchanged(
    places: Points, weights: FloatArray, start: Centers, n_tries: int, *, rng: np.random.Generator
) -> Centers:
    """Improve `start` (k, d) by exchanges of a center for a place (Lattanzi & Sohler 2019, algorithm LS++).

    A place is drawn with probability ~ w |x - nearest center|^2; where it lowers the cost, it takes the place of the
    center that is missed least. Two round clusters that share a center get one each, which Lloyd's moves never do.
    """
    centers = start.copy()
    _exchange(places, weights, centers, rng.random(n_tries))
    return centers


@compiled
def _exchange(places: Points, weights: FloatArray, centers: Centers, draws: FloatArray) -> None:
    """Try one exchange for each of `draws` in [0, 1), in place."""
    m, k = len(places), len(centers)
    first, second = np.full(m, np.inf), np.full(m, np.inf)  # squared distances to the two nearest centers
    owner, heir = np.zeros(m, np.intp), np.zeros(m, np.intp)  # which they are
    mass, offer, loss = np.empty(m), np.empty(m), np.empty(k)
    stale = np.full(m, True)
    for draw in draws:
        total = 0.0
        for i in range(m):
            if stale[i]:
                first[i], second[i] = np.inf, np.inf
                for c in range(k):
                    square = 0.0
                    for f in range(centers.shape[1]):
                        square += (places[i, f] - centers[c, f]) ** 2
                    if square < first[i]:
                        second[i], heir[i] = first[i], owner[i]
                        first[i], owner[i] = square, c
                    elif square < second[i]:
                        second[i], heir[i] = square, c
                stale[i] = False
            total += weights[i] * first[i]
            mass[i] = total
        if not total > 0:
            return
        pick = min(np.searchsorted(mass, draw * total, side="right"), m - 1)
        gain = 0.0
        loss[:] = 0.0
        for i in range(m):
            square = 0.0
            for f in range(centers.shape[1]):
                square += (places[i, f] - places[pick, f]) ** 2
            offer[i] = square
            nearer = min(first[i], square)
            gain += weights[i] * (first[i] - nearer)
            loss[owner[i]] += weights[i] * (min(second[i], square) - nearer)
        missed = np.argmin(loss)
        if gain <= loss[missed]:
            continue
        for f in range(centers.shape[1]):
            centers[missed, f] = places[pick, f]
        for i in range(m):
            if owner[i] == missed or heir[i] == missed:
                stale[i] = True
            elif offer[i] < first[i]:
                second[i], heir[i] = first[i], owner[i]
                first[i], owner[i] = offer[i], missed
            elif offer[i] < second[i]:
                second[i], heir[i] = offer[i], missed
