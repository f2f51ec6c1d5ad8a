"""Weighted k-means on the noisy cells of a grid, the private starts that it finds, and k-means without privacy."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from dpviz.core import Centers, Counts, FloatArray, Labels, Points, compiled, frozen, writable
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
BLOCK = 64  # places side by side: what is computed of them stays in the cache
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
            mass, following = self.sums[:, :1], self.centers[-1].copy()
            self._append(np.divide(self.sums[:, 1:], mass, out=following, where=mass > 0))

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
    blocks, masses = _side_by_side(places, weights)
    mass, nearest = np.cumsum(weights), np.full(masses.shape, np.inf)
    for i in range(len(spare)):
        if not mass[-1] > 0:
            break
        place = int(np.searchsorted(mass, rng.random() * mass[-1], side="right"))
        chosen[i] = places[min(place, len(places) - 1)]
        _add_center(blocks, masses, chosen[i], nearest, mass)
    return chosen


def _side_by_side(places: Points, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return places in blocks (b, d, BLOCK), each computed at once, and their weights (b, BLOCK), 0 behind the last."""
    m, d = places.shape
    rows = -(-m // BLOCK) * BLOCK
    padded, masses = np.zeros((rows, d)), np.zeros(rows)
    padded[:m], masses[:m] = places, weights
    return np.ascontiguousarray(padded.reshape(-1, BLOCK, d).transpose(0, 2, 1)), masses.reshape(-1, BLOCK)


@compiled
def _squares(block: FloatArray, center: FloatArray, squares: FloatArray) -> None:
    """Write the squared distances of a block of places (d, BLOCK) to a center."""
    x, a = block[0], center[0]
    for j in range(BLOCK):
        squares[j] = (x[j] - a) ** 2
    for f in range(1, len(center)):
        x, a = block[f], center[f]
        for j in range(BLOCK):
            squares[j] += (x[j] - a) ** 2


@compiled
def _add_center(
    blocks: FloatArray, masses: FloatArray, center: FloatArray, nearest: FloatArray, mass: FloatArray
) -> None:
    """Lower the squared distances `nearest` (b, BLOCK) to what they are to one more center; add up w nearest (m,)."""
    squares, total = np.empty(BLOCK), 0.0
    for b in range(len(blocks)):
        _squares(blocks[b], center, squares)
        w, least = masses[b], nearest[b]
        for j in range(BLOCK):
            least[j] = min(least[j], squares[j])
            squares[j] = w[j] * least[j]
        for j in range(min(BLOCK, len(mass) - b * BLOCK)):
            total += squares[j]
            mass[b * BLOCK + j] = total


def exchanged(
    places: Points, weights: FloatArray, start: Centers, n_tries: int, *, rng: np.random.Generator
) -> Centers:
    """Improve `start` (k, d) by exchanges of a center for a place (Lattanzi & Sohler 2019, algorithm LS++).

    A place is drawn with probability ~ w |x - nearest center|^2; where it lowers the cost, it takes the place of the
    center that is missed least. Two round clusters that share a center get one each, which Lloyd's moves never do.
    """
    centers, (blocks, masses) = start.copy(), _side_by_side(places, weights)
    near = _Nearest(*np.zeros((2, masses.size)), *np.zeros((2, masses.size), np.intp))
    _exchange(places, blocks, masses.ravel(), near, centers, rng.random(n_tries))
    return centers


class _Nearest(NamedTuple):
    """The two nearest centers of each place (m,)."""

    first: FloatArray  # squared distance
    second: FloatArray
    owner: Labels  # which center is `first` away
    heir: Labels


@compiled
def _exchange(
    places: Points, blocks: FloatArray, masses: FloatArray, near: _Nearest, centers: Centers, draws: FloatArray
) -> None:
    """Try one exchange for each of `draws` in [0, 1), in place.

    An exchange needs to know which is less: what it gains, or a loss. Sums in any order tell, unless they are so close
    that rounding decides; the order is then that of the places.
    """
    m, k = len(places), len(centers)
    mass, offers, loss, stale = np.empty(m), np.empty(len(masses)), np.empty(k), np.empty(len(masses), np.intp)
    for i in range(m):
        stale[i] = i
    rounding, total, n_stale, moved = 2.0**-50 * m, 0.0, m, True  # 2^-53 a term, in either order, and in products
    for draw in draws:
        if moved:
            _renew(places, stale[:n_stale], centers, near)
            total, moved = 0.0, False
            for i in range(m):
                total += masses[i] * near.first[i]
                mass[i] = total
        if not total > 0:
            return
        pick, end = 0, m - 1  # the first place whose mass is above the draw, else the last
        while pick < end:
            middle = (pick + end) // 2
            pick, end = (pick, middle) if mass[middle] > draw * total else (middle + 1, end)
        gain, n_close = _weigh(blocks, masses, places[pick], near, offers, loss), 0
        missed = _least(loss)
        if gain * (1.0 + rounding) <= loss[missed] * (1.0 - rounding):
            continue
        most = loss[missed] * (1.0 + rounding)
        for c in range(k):
            n_close += loss[c] * (1.0 - rounding) <= most
        if n_close > 1 or gain * (1.0 - rounding) <= most:
            gain = _weigh_in_order(masses, near, offers, loss)
            missed = _least(loss)
            if gain <= loss[missed]:
                continue
        for f in range(places.shape[1]):
            centers[missed, f] = places[pick, f]
        n_stale, moved = _replace(near, offers, missed, stale, m), True


@compiled
def _least(values: FloatArray) -> int:
    least = 0
    for i in range(1, len(values)):
        if values[i] < values[least]:
            least = i
    return least


@compiled
def _take(offers: FloatArray, center: int, first: FloatArray, second: FloatArray, owner: Labels, heir: Labels) -> None:
    """Make a center one of the two nearest ones of a block of places where its squared distance is less."""
    for j in range(BLOCK):
        offer, nearest, other = offers[j], first[j], second[j]
        heir[j] = owner[j] if offer < nearest else center if offer < other else heir[j]
        second[j] = nearest if offer < nearest else offer if offer < other else other
        owner[j] = center if offer < nearest else owner[j]
        first[j] = offer if offer < nearest else nearest


@compiled
def _renew(places: Points, stale: Labels, centers: Centers, near: _Nearest) -> None:
    """Search the nearest centers of the places that are `stale`."""
    block, squares, first, second = (
        np.empty((places.shape[1], BLOCK)),
        np.empty(BLOCK),
        np.empty(BLOCK),
        np.empty(BLOCK),
    )
    owner, heir = np.empty(BLOCK, np.intp), np.empty(BLOCK, np.intp)
    for start in range(0, len(stale), BLOCK):
        size = min(BLOCK, len(stale) - start)
        for f in range(len(block)):
            for j in range(size):
                block[f, j] = places[stale[start + j], f]
        first[:], second[:], owner[:], heir[:] = np.inf, np.inf, 0, 0
        for c in range(len(centers)):
            _squares(block, centers[c], squares)
            _take(squares, c, first, second, owner, heir)
        for j in range(size):
            i = stale[start + j]
            near.first[i], near.second[i], near.owner[i], near.heir[i] = first[j], second[j], owner[j], heir[j]


@compiled
def _weigh(
    blocks: FloatArray, masses: FloatArray, place: FloatArray, near: _Nearest, offers: FloatArray, loss: FloatArray
) -> float:
    """Write squared distances to `place` into `offers`, what the loss of each center would cost; return the gain."""
    gains, losses, lanes = np.zeros(BLOCK), np.empty(BLOCK), np.zeros((4, len(loss)))
    for b in range(len(blocks)):
        rows = slice(b * BLOCK, (b + 1) * BLOCK)
        offer, first, second, owner, w = (
            offers[rows],
            near.first[rows],
            near.second[rows],
            near.owner[rows],
            masses[rows],
        )
        _squares(blocks[b], place, offer)
        for j in range(BLOCK):
            nearest = min(first[j], offer[j])
            gains[j] += w[j] * (first[j] - nearest)
            losses[j] = w[j] * (min(second[j], offer[j]) - nearest)
        for j in range(0, BLOCK, 4):  # no sum waits for the one before
            lanes[0, owner[j]] += losses[j]
            lanes[1, owner[j + 1]] += losses[j + 1]
            lanes[2, owner[j + 2]] += losses[j + 2]
            lanes[3, owner[j + 3]] += losses[j + 3]
    gain = 0.0
    for each in gains:
        gain += each
    for c in range(len(loss)):
        loss[c] = lanes[0, c] + lanes[1, c] + lanes[2, c] + lanes[3, c]
    return gain


@compiled
def _weigh_in_order(masses: FloatArray, near: _Nearest, offers: FloatArray, loss: FloatArray) -> float:
    """Do as `_weigh` with known `offers`, place by place."""
    gain = 0.0
    loss[:] = 0.0
    for i in range(len(masses)):
        nearest = min(near.first[i], offers[i])
        gain += masses[i] * (near.first[i] - nearest)
        loss[near.owner[i]] += masses[i] * (min(near.second[i], offers[i]) - nearest)
    return gain


@compiled
def _replace(near: _Nearest, offers: FloatArray, missed: int, stale: Labels, m: int) -> int:
    """Put the center `missed` where the `offers` are from; write which places lose it, and return how many."""
    n_stale, lost = 0, np.empty(BLOCK, np.intp)
    for start in range(0, m, BLOCK):
        rows = slice(start, start + BLOCK)
        owner, heir = near.owner[rows], near.heir[rows]
        for j in range(BLOCK):
            lost[j] = (owner[j] == missed) | (heir[j] == missed)
        for j in range(min(BLOCK, m - start)):
            stale[n_stale] = start + j
            n_stale += lost[j]
        _take(offers[rows], missed, near.first[rows], near.second[rows], owner, heir)
    return n_stale
