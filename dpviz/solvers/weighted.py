"""Weighted k-means on the noisy cells of a grid, the private starts that it finds, and k-means without privacy."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from dpviz.core import BoolArray, Centers, Counts, FloatArray, Labels, Points, compiled, frozen, writable
from dpviz.core.arrays import array_cache
from dpviz.core.compiled import added, compiled_or
from dpviz.solvers.grids import even_grid, even_side, fitting, grid_of, heaviest, marginal_counts
from dpviz.solvers.lloyd import BLOCK, LloydRun, argmax_in_boxes, lloyd, nearness
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
    blocks = _Blocks.of(places, weights)
    spread = (blocks.spread_start(packing, rng=rng) for _ in range(RESTARTS))
    starts = tuple(blocks.exchanged(start, EXCHANGES * len(packing), rng=rng) for start in spread)
    return _best_run(blocks, (packing, *starts), TOLERANCE)


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

    def __init__(self, blocks: "_Blocks", masses: FloatArray, squares: float, start: Centers) -> None:
        self.blocks = blocks
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
        labels = argmax_in_boxes(self.blocks.places, self.blocks.low, self.blocks.high, *nearness(centers))
        self.sums = label_moments(self.masses, labels, len(centers))  # (k, 1 + d)
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
    return _best_run(_Blocks.of(places, weights), starts, tolerance)


def _best_run(blocks: "_Blocks", starts: tuple[Centers, ...], tolerance: float) -> WeightedPath:
    rows, weights = blocks.rows, blocks.weights
    norms = np.einsum("ij,ij->i", rows, rows)
    masses, squares = np.column_stack([weights, weights[:, None] * rows]), float((weights * norms).sum())
    runs = [_Run(blocks, masses, squares, start) for start in starts]
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
    return _Blocks.of(places, weights).spread_start(spare, rng=rng)


def exchanged(
    places: Points, weights: FloatArray, start: Centers, n_tries: int, *, rng: np.random.Generator
) -> Centers:
    """Improve `start` (k, d) by exchanges of a center for a place (Lattanzi & Sohler 2019, algorithm LS++).

    A place is drawn with probability ~ w |x - nearest center|^2; where it lowers the cost, it takes the place of the
    center that is missed least. Two round clusters that share a center get one each, which Lloyd's moves never do.
    """
    return _Blocks.of(places, weights).exchanged(start, n_tries, rng=rng)


@dataclass(frozen=True, slots=True, eq=False)
class _Blocks:
    """Places in blocks, each computed at once, or not at all where it is too far to matter."""

    rows: Points  # (m, d)
    weights: FloatArray  # (m,)
    places: FloatArray  # (b, d, BLOCK), the last place again behind the last
    masses: FloatArray  # (b BLOCK,) weights, 0 behind the last
    low: FloatArray  # (d, b) corners of each block
    high: FloatArray

    @classmethod
    def of(cls, places: Points, weights: FloatArray) -> "_Blocks":
        m, d = places.shape
        rows = -(-m // BLOCK) * BLOCK
        padded, masses = np.empty((rows, d)), np.zeros(rows)
        padded[:m], padded[m:], masses[:m] = places, places[-1:], weights
        blocks = np.ascontiguousarray(padded.reshape(-1, BLOCK, d).transpose(0, 2, 1))
        low, high = (np.ascontiguousarray(each.T) for each in (blocks.min(axis=2), blocks.max(axis=2)))
        return cls(places, weights, blocks, masses, low, high)

    def spread_start(self, spare: Centers, *, rng: np.random.Generator) -> Centers:
        chosen, nearest = spare.copy(), np.ones(len(self.masses))
        sums = self.masses.reshape(-1, BLOCK).sum(axis=1)
        reach, total = np.full(len(sums), np.inf), sums.sum()  # a place is drawn by its weight first, as if 1 away
        for i in range(len(spare)):
            if not total > 0:
                break
            total = _add_drawn(
                rng.random(),
                i,
                self.rows,
                self.places,
                self.masses,
                self.low,
                self.high,
                chosen,
                nearest,
                sums,
                reach,
            )
        return chosen

    def exchanged(self, start: Centers, n_tries: int, *, rng: np.random.Generator) -> Centers:
        centers, size = start.copy(), self.masses.size
        near = _Nearest(*np.zeros((2, size)), *np.zeros((2, size), np.intp))
        _exchange(self.rows, self.places, self.masses, self.low, self.high, near, centers, rng.random(n_tries))
        return centers


@compiled
def _drawn(draw: float, masses: FloatArray, squares: FloatArray, sums: FloatArray, m: int) -> int:
    """Return the first place up to which masses times squares add up to more than `draw` of all, else the last of m.

    `sums` (b,) are those of the blocks. Sums in any order tell, unless it is so close that rounding decides; the order
    is then that of the places. -1 where all are 0.
    """
    total, rounding = 0.0, 2.0**-50 * m  # 2^-53 a term, in either order, and in products
    for each in sums:
        total += each
    if not total > 0:
        return -1
    upto, b, aim, close = 0.0, 0, draw * total, rounding * total
    while b < len(sums) - 1 and upto + sums[b] <= aim:
        upto += sums[b]
        b += 1
    for i in range(b * BLOCK, min((b + 1) * BLOCK, m)):
        before = upto
        upto += masses[i] * squares[i]
        if upto > aim:
            if upto - aim > close and (i == 0 or aim - before > close):
                return i
            break
    total = 0.0
    for i in range(m):
        total += masses[i] * squares[i]
    aim, upto = draw * total, 0.0
    for i in range(m):
        upto += masses[i] * squares[i]
        if upto > aim:
            return i
    return m - 1


@compiled
def _squares(block: FloatArray, center: FloatArray, squares: FloatArray) -> None:
    """Write the squared distances of a block of places (d, BLOCK) to a center, added up feature by feature."""
    f = len(center) % 2
    if f:
        x, a = block[0], center[0]
        for j in range(BLOCK):
            squares[j] = (x[j] - a) ** 2
    else:
        x, y, a, b = block[0], block[1], center[0], center[1]
        for j in range(BLOCK):
            squares[j] = (x[j] - a) ** 2 + (y[j] - b) ** 2
        f = 2
    while f < len(center):
        x, y, a, b = block[f], block[f + 1], center[f], center[f + 1]
        for j in range(BLOCK):
            squares[j] = squares[j] + (x[j] - a) ** 2 + (y[j] - b) ** 2
        f += 2


@compiled
def _measure(low: FloatArray, high: FloatArray, center: FloatArray, apart: FloatArray) -> None:
    """Write at least how far, squared, all between each block's corners are from a center, rounded down."""
    for f in range(len(center)):
        at, lows, highs = center[f], low[f], high[f]
        for b in range(len(apart)):
            apart[b] = (apart[b] if f else 0.0) + max(lows[b] - at, at - highs[b], 0.0) ** 2
    for b in range(len(apart)):
        apart[b] *= 1.0 - 1e-9


@compiled
def _total(values: FloatArray) -> float:
    """Add up BLOCK numbers, four sums side by side."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for j in range(0, BLOCK, 4):
        a, b, c, d = a + values[j], b + values[j + 1], c + values[j + 2], d + values[j + 3]
    return (a + b) + (c + d)


@compiled
def _most(values: FloatArray) -> float:
    """Return the largest of BLOCK numbers >= 0."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for j in range(0, BLOCK, 4):
        a, b, c, d = max(a, values[j]), max(b, values[j + 1]), max(c, values[j + 2]), max(d, values[j + 3])
    return max(a, b, c, d)


def _squared(places: Points, center: FloatArray) -> FloatArray:
    return added(np.square(places - center).T)


def _drawn_in_order(draw: float, masses: FloatArray, squares: FloatArray) -> int:
    """Do what `_drawn` does, with NumPy."""
    upto = np.cumsum(masses * squares)
    return min(int(np.searchsorted(upto, draw * upto[-1], side="right")), len(upto) - 1) if upto[-1] > 0 else -1


def plain_add_drawn(
    draw: float,
    i: int,
    places: Points,
    _blocks: FloatArray,
    masses: FloatArray,
    _low: FloatArray,
    _high: FloatArray,
    chosen: Centers,
    nearest: FloatArray,
    _sums: FloatArray,
    _reach: FloatArray,
) -> float:
    """Do what `_add_drawn` does, with NumPy."""
    m = len(places)
    chosen[i] = places[_drawn_in_order(draw, masses[:m], nearest[:m])]
    squares = _squared(places, chosen[i])
    nearest[:m] = np.minimum(nearest[:m], squares) if i else squares
    return float((masses[:m] * nearest[:m]).sum())


@compiled_or(plain_add_drawn)
def _add_drawn(
    draw: float,
    i: int,
    places: Points,
    blocks: FloatArray,
    masses: FloatArray,
    low: FloatArray,
    high: FloatArray,
    chosen: Centers,
    nearest: FloatArray,
    sums: FloatArray,
    reach: FloatArray,
) -> float:
    """Draw a place as the center i, lower the squared distances `nearest` to it; return w nearest in all.

    `sums` (b,) are those of the blocks, and `reach` (b,) the largest distances.
    """
    place = _drawn(draw, masses, nearest, sums, len(places))
    for f in range(places.shape[1]):
        chosen[i, f] = places[place, f]
    if i == 0:
        for j in range(len(nearest)):
            nearest[j] = np.inf
    squares, apart, total = np.empty(BLOCK), np.empty(len(sums)), 0.0
    _measure(low, high, chosen[i], apart)
    for b in range(len(sums)):
        if apart[b] <= reach[b]:
            rows = slice(b * BLOCK, (b + 1) * BLOCK)
            w, least = masses[rows], nearest[rows]
            _squares(blocks[b], chosen[i], squares)
            for j in range(BLOCK):
                least[j] = min(least[j], squares[j])
            reach[b] = _most(least)
            for j in range(BLOCK):
                squares[j] = w[j] * least[j]
            sums[b] = _total(squares)
        total += sums[b]
    return total


class _Nearest(NamedTuple):
    """The two nearest centers of each place (b BLOCK,)."""

    first: FloatArray  # squared distance
    second: FloatArray
    owner: Labels  # which center is `first` away
    heir: Labels


def plain_exchange(
    places: Points,
    _blocks: FloatArray,
    masses: FloatArray,
    _low: FloatArray,
    _high: FloatArray,
    near: _Nearest,
    centers: Centers,
    draws: FloatArray,
) -> None:
    """Do what `_exchange` does, with NumPy: sums are in the order of the places at once."""
    m, k = len(places), len(centers)
    w, lost, first, second = masses[:m], np.arange(m), near.first[:m], near.second[:m]
    owner, heir = near.owner[:m], near.heir[:m]
    for draw in draws:
        if len(lost):  # the two nearest of all, the lower number on a tie
            squares = np.stack([_squared(places[lost], center) for center in centers])  # (k, lost)
            for who, distance in ((owner, first), (heir, second)):
                who[lost], distance[lost] = squares.argmin(axis=0), squares.min(axis=0)
                squares[who[lost], np.arange(len(lost))] = np.inf
        pick, lost = _drawn_in_order(draw, w, first), lost[:0]
        if pick < 0:
            return
        offers = _squared(places, places[pick])
        nearest = np.minimum(first, offers)
        loss = np.bincount(owner, weights=w * (np.minimum(second, offers) - nearest), minlength=k)
        missed = int(loss.argmin())
        if added(w * (first - nearest)) <= loss[missed]:
            continue
        centers[missed] = places[pick]
        lost = np.flatnonzero((owner == missed) | (heir == missed))
        nearer, between = offers < first, (offers >= first) & (offers < second)
        second[nearer], heir[nearer] = first[nearer], owner[nearer]
        first[nearer], owner[nearer] = offers[nearer], missed
        second[between], heir[between] = offers[between], missed


@compiled_or(plain_exchange)
def _exchange(
    places: Points,
    blocks: FloatArray,
    masses: FloatArray,
    low: FloatArray,
    high: FloatArray,
    near: _Nearest,
    centers: Centers,
    draws: FloatArray,
) -> None:
    """Try one exchange for each of `draws` in [0, 1), in place.

    An exchange needs to know which is less: what it gains, or a loss. Sums in any order tell, unless they are so close
    that rounding decides; the order is then that of the places.
    """
    m, k = len(places), len(centers)
    base, loss = np.empty(k), np.empty(k)
    sums, reach, apart = np.empty(len(blocks)), np.empty(len(blocks)), np.empty(len(blocks))
    rounding, stale, n_stale, moved = 2.0**-50 * m, np.empty(m, np.intp), m, True
    changed = np.empty(len(blocks), np.bool_)
    for i in range(m):
        stale[i], changed[i // BLOCK] = i, True
    for draw in draws:
        if moved:
            _renew(places, stale[:n_stale], centers, near)
            _sum_up(masses, near, changed, sums, reach, base)
            moved = False
        pick = _drawn(draw, masses, near.first, sums, m)
        if pick < 0:
            return
        _measure(low, high, places[pick], apart)
        gain = _weigh(blocks, masses, places[pick], near, apart, reach, base, loss)
        missed, lowest, n_close = _least(loss), np.inf, 0
        most = loss[missed] + rounding * base[missed]
        for c in range(k):
            lower = loss[c] - rounding * base[c]
            lowest = min(lowest, lower)
            n_close += c != missed and lower <= most and (base[c] > 0 or base[missed] > 0)
        if gain * (1.0 + rounding) <= lowest:
            continue
        if n_close or not gain * (1.0 - rounding) > most:
            gain = _weigh_in_order(blocks, masses, places[pick], near, loss)
            missed = _least(loss)
            if gain <= loss[missed]:
                continue
        for f in range(places.shape[1]):
            centers[missed, f] = places[pick, f]
        n_stale, moved = _replace(blocks, places[pick], near, apart, reach, missed, changed, stale, m), True


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
        offer, nearest, other, before, following = offers[j], first[j], second[j], owner[j], heir[j]
        following = center if offer < other else following
        other = offer if offer < other else other
        heir[j] = before if offer < nearest else following
        second[j] = nearest if offer < nearest else other
        owner[j] = center if offer < nearest else before
        first[j] = offer if offer < nearest else nearest


@compiled
def _renew(places: Points, stale: Labels, centers: Centers, near: _Nearest) -> None:
    """Search the nearest centers of the places that are `stale`, among those that may be near BLOCK of them.

    From the middle of all to a corner a difference of two squared distances changes by the box's sides times the
    centers' difference: a center that is farther than two others by more than that is nowhere one of the nearest two.
    """
    (k, d), block = centers.shape, np.empty((places.shape[1], BLOCK))
    squares, first, second = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    owner, heir = np.empty(BLOCK, np.intp), np.empty(BLOCK, np.intp)
    sides, at_middle = np.empty(d), np.empty(k)
    for start in range(0, len(stale), BLOCK):
        size, spread = min(BLOCK, len(stale) - start), 0.0
        for f in range(d):
            low, high = np.inf, -np.inf
            for j in range(BLOCK):
                x = places[stale[start + min(j, size - 1)], f]
                block[f, j], low, high = x, min(low, x), max(high, x)
            sides[f] = high - low
            spread += sides[f] ** 2
            for c in range(k):
                at_middle[c] = (at_middle[c] if f else 0.0) + (centers[c, f] - (low + high) / 2.0) ** 2
        one, other = 0, min(1, k - 1)
        for c in range(k):
            if at_middle[c] < at_middle[one]:
                one, other = c, one
            elif c != one and (other == one or at_middle[c] < at_middle[other]):
                other = c
        for j in range(BLOCK):
            first[j], second[j], owner[j], heir[j] = np.inf, np.inf, 0, 0
        for c in range(k):
            farther = min(at_middle[c] - at_middle[one], at_middle[c] - at_middle[other])
            if farther > 0:
                beside_one, beside_other = at_middle[c] - at_middle[one], at_middle[c] - at_middle[other]
                for f in range(d):
                    beside_one -= sides[f] * abs(centers[c, f] - centers[one, f])
                    beside_other -= sides[f] * abs(centers[c, f] - centers[other, f])
                if min(beside_one, beside_other) > 1e-9 * (at_middle[c] + spread):  # far above rounding
                    continue
            _squares(block, centers[c], squares)
            _take(squares, c, first, second, owner, heir)
        for j in range(size):
            i = stale[start + j]
            near.first[i], near.second[i], near.owner[i], near.heir[i] = first[j], second[j], owner[j], heir[j]


@compiled
def _sum_up(
    masses: FloatArray, near: _Nearest, changed: BoolArray, sums: FloatArray, reach: FloatArray, base: FloatArray
) -> None:
    """Write w first and the largest `second` of blocks that have `changed`, and what each center's loss would cost."""
    losses, lanes = np.empty(BLOCK), np.zeros((4, len(base)))
    for b in range(len(sums)):
        rows = slice(b * BLOCK, (b + 1) * BLOCK)
        first, second, owner, w = near.first[rows], near.second[rows], near.owner[rows], masses[rows]
        if changed[b]:
            reach[b] = _most(second)
            for j in range(BLOCK):
                losses[j] = w[j] * first[j]
            sums[b] = _total(losses)
        for j in range(BLOCK):
            losses[j] = w[j] * (second[j] - first[j])
        _scatter(losses, owner, lanes)
    for c in range(len(base)):
        base[c] = lanes[0, c] + lanes[1, c] + lanes[2, c] + lanes[3, c]


@compiled
def _weigh(
    blocks: FloatArray,
    masses: FloatArray,
    place: FloatArray,
    near: _Nearest,
    apart: FloatArray,
    reach: FloatArray,
    base: FloatArray,
    loss: FloatArray,
) -> float:
    """Write what the loss of each center would cost if `place` were one; return what that gains."""
    offers, gains, spared, lanes = np.empty(BLOCK), np.zeros(BLOCK), np.empty(BLOCK), np.zeros((4, len(base)))
    for b in range(len(blocks)):
        if apart[b] > reach[b]:
            continue
        rows, nearer = slice(b * BLOCK, (b + 1) * BLOCK), 0
        first, second, owner, w = near.first[rows], near.second[rows], near.owner[rows], masses[rows]
        _squares(blocks[b], place, offers)
        for j in range(BLOCK):
            nearer += offers[j] < second[j]
        if nearer:
            for j in range(BLOCK):
                gains[j] += w[j] * (first[j] - min(first[j], offers[j]))
                spared[j] = w[j] * (second[j] - min(second[j], max(first[j], offers[j])))
            _scatter(spared, owner, lanes)
    for c in range(len(base)):
        loss[c] = base[c] - (lanes[0, c] + lanes[1, c] + lanes[2, c] + lanes[3, c])
    return _total(gains)


@compiled
def _scatter(terms: FloatArray, owner: Labels, lanes: FloatArray) -> None:
    """Add BLOCK terms up by their owner, in four lanes (4, k): no sum waits for the one before."""
    for j in range(0, BLOCK, 4):
        lanes[0, owner[j]] += terms[j]
        lanes[1, owner[j + 1]] += terms[j + 1]
        lanes[2, owner[j + 2]] += terms[j + 2]
        lanes[3, owner[j + 3]] += terms[j + 3]


@compiled
def _weigh_in_order(
    blocks: FloatArray, masses: FloatArray, place: FloatArray, near: _Nearest, loss: FloatArray
) -> float:
    """Do as `_weigh`, place by place."""
    gain, offers = 0.0, np.empty(BLOCK)
    for c in range(len(loss)):
        loss[c] = 0.0
    for i in range(len(masses)):
        if i % BLOCK == 0:
            _squares(blocks[i // BLOCK], place, offers)
        nearest = min(near.first[i], offers[i % BLOCK])
        gain += masses[i] * (near.first[i] - nearest)
        loss[near.owner[i]] += masses[i] * (min(near.second[i], offers[i % BLOCK]) - nearest)
    return gain


@compiled
def _replace(
    blocks: FloatArray,
    place: FloatArray,
    near: _Nearest,
    apart: FloatArray,
    reach: FloatArray,
    missed: int,
    changed: BoolArray,
    stale: Labels,
    m: int,
) -> int:
    """Put the center `missed` at `place`; write which places lose it, and return how many."""
    n_stale, offers = 0, np.empty(BLOCK)
    for b in range(len(blocks)):
        rows, lost = slice(b * BLOCK, (b + 1) * BLOCK), 0
        owner, heir = near.owner[rows], near.heir[rows]
        for j in range(BLOCK):
            lost += (owner[j] == missed) | (heir[j] == missed)
        for j in range(min(BLOCK, m - b * BLOCK) if lost else 0):
            stale[n_stale] = b * BLOCK + j
            n_stale += (owner[j] == missed) | (heir[j] == missed)
        changed[b] = lost > 0 or apart[b] <= reach[b]
        if apart[b] <= reach[b]:
            _squares(blocks[b], place, offers)
            _take(offers, missed, near.first[rows], near.second[rows], owner, heir)
    return n_stale
