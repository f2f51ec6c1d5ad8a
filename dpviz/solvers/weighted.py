"""Weighted k-means on the noisy cells of a grid, the private starts that it finds, and k-means without privacy."""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from dpviz.core import BoolArray, Centers, Counts, FloatArray, Labels, Points, ReadOnly, compiled, immutable, writable
from dpviz.core.arrays import array_cache
from dpviz.solvers.grids import even_grid, even_side, fitting, grid_of, heaviest, marginal_counts
from dpviz.solvers.lloyd import BLOCK, LloydRun, argmax_in_boxes, lloyd, nearness
from dpviz.solvers.moments import label_moments
from dpviz.solvers.packing import public_start

# Starts drawn on the noisy cells, in addition to the public packing. Our choice.
RESTARTS = 4
# Exchanges to try for each center of a drawn start. Our choice, by measurement.
EXCHANGES = 3
# Share of epsilon that a private start spends on its cells. Our choice, by measurement.
SEED_SHARE = 1.0 / 3.0
# Names of the parts that a private start pays for.
MARGINALS, CELLS = "marginals of the start", "cells of the start"
# Starts that continue after one iteration. Our choice.
EXPLORED = 4
# Iterations of these starts before the best one continues alone. Our choice.
EXPLORE = 3
# Maximum iterations after that. Our choice.
POLISH = 30
# Number of starts in `searched_cells`.
KMEANS_STARTS = RESTARTS + 1
# Maximum number of records on which non-private k-means tries its starts. Our choice.
MOST_SEARCHED = 2_000
# Maximum iterations of non-private k-means from its best start, on all records. Our choice.
MOST_ITERATIONS = 60
# Axes along which blocks are small. With more axes, blocks are no smaller than the whole. Our choice.
MOST_AXES = 3
# Relative gain below which iterations stop: far below the changes due to noise. Our choice.
TOLERANCE = 1e-4

# (name, epsilon, number of grids, function that counts records) -> the counts with noise for epsilon.
Released: TypeAlias = Callable[[str, float, int, Callable[[Points], Counts]], Counts]


@immutable
class CellSeeds(ReadOnly):
    """A private start, box units: all of it follows from the noisy counts and public inputs."""

    centers: Centers  # (k, d)
    # Public packing at which the search begins, (k, d). Row i became row i of `centers`.
    packing: Centers
    noisy_cell_counts: Counts  # (m1 ... md,), C order
    # The cells' walls along each axis: d arrays (m_j + 1,).
    edges: tuple[FloatArray, ...]


@immutable
class WeightedPath:
    """One run of Lloyd's algorithm, from its start to its end."""

    # T + 1 arrays (k, d).
    centers: tuple[Centers, ...]
    # sum_j w_j |x_j - nearest center|^2, T + 1 values.
    costs: tuple[float, ...]


def cell_counts(unit: Points, side: int) -> Counts:
    """Return the exact number of records of [0, 1]^d in each of side^d cells, C order; 1 is in the last cell."""
    cells = np.minimum((unit * side).astype(np.intp), side - 1)  # (n, d)
    flat = cells[:, 0]
    for column in cells.T[1:]:
        flat = flat * side + column
    return np.bincount(flat, minlength=side ** unit.shape[1]).astype(np.float64)


def searched_cells(places: Points, weights: FloatArray, packing: Centers, *, rng: np.random.Generator) -> WeightedPath:
    """Run weighted k-means on cells at `places` (m, d) from the public `packing` (k, d) and from RESTARTS draws."""
    blocks = _Blocks.from_places(places, weights)
    near = blocks.of_neighbors()
    spread = (blocks.spread_start(packing, rng=rng) for _ in range(RESTARTS))
    starts = tuple(near.exchanged(start, EXCHANGES * len(packing), rng=rng) for start in spread)
    return _best_run(near, (packing, *starts), TOLERANCE)


@array_cache(32)
def nonprivate_kmeans(points: Points, n_clusters: int) -> LloydRun:
    """Return the best of KMEANS_STARTS runs of non-private k-means on `points` (n, d) of [0, 1]^d.

    Curator only. The starts are tried on at most MOST_SEARCHED records, evenly spread over all; Lloyd's algorithm
    continues from the best one with all records. Its cost is about that of scikit-learn's best of 5 starts, in a tenth
    of the time.
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
    """Return a private start from noisy counts, or None, which is free, for one cell.

    A fifth of epsilon buys noisy marginals, which determine the grid's cells, and the rest buys the counts of the
    cells, as in EUGkM. If records are too few for marginals, the cells are even and get all of epsilon. That choice
    follows from public parameters and `n_records`. The seeds are post-processing: k-means on the noisy cells from the
    packing. Their rows are in the order that is nearest to the packing.

    Parameters
    ----------
    released
        Source of noisy counts, which it buys with its budget.
    packing
        Packed centers (k, d), box units. Public.
    units
        Weights (d,) of a step along each axis.
    epsilon
        Budget of the start.
    n_records
        Number of records, public or noisy.
    sensitivity
        Amount by which one record changes all counts of a grid together, 1 or 2.
    rng
        Generator of the noise.

    Returns
    -------
    CellSeeds or None
        The start.
    """
    # Slow to load.
    from scipy.optimize import linear_sum_assignment

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
    # In the order in which all centers together are nearest to the packing's centers.
    centers = centers[linear_sum_assignment(((packing[:, None] - centers[None]) ** 2).sum(axis=2))[1]]
    return CellSeeds(centers, packing, noisy, grid.edges)


def _flat_marginals(n_bins: int, unit: Points) -> Counts:
    return marginal_counts(unit, n_bins).ravel()


class _Run:
    """Lloyd's algorithm from one start on places (m, d) of weight w: a path that can be continued."""

    def __init__(self, blocks: "_Blocks", masses: FloatArray, squares: float, start: Centers) -> None:
        self.blocks = blocks
        # w_j, then w_j x_j for each axis, (m, 1 + d).
        self.masses = masses
        # sum_j w_j |x_j|^2.
        self.squares = squares
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
        places, low, high = self.blocks.places, self.blocks.low, self.blocks.high
        labels = np.empty_like(self.blocks.order)
        labels[self.blocks.order] = argmax_in_boxes(places, low, high, *nearness(centers))
        self.sums = label_moments(self.masses, labels, len(centers))  # (k, 1 + d)
        norms = np.einsum("ij,ij->i", centers, centers)
        inner = float(np.einsum("ij,ij->", centers, self.sums[:, 1:]))
        self.centers.append(centers)
        self.costs.append(max(self.squares - 2.0 * inner + float((norms * self.sums[:, 0]).sum()), 0.0))


def weighted_kmeans(
    places: Points, weights: FloatArray, starts: tuple[Centers, ...], *, tolerance: float = TOLERANCE
) -> WeightedPath:
    """Run Lloyd's algorithm on `places` (m, d) with `weights` (m,) > 0 from each start and return the best run.

    Every start gets one iteration, the EXPLORED cheapest starts get EXPLORE more, and the cheapest of them gets at most
    POLISH more. An empty cluster stays.
    """
    return _best_run(_Blocks.from_places(places, weights).of_neighbors(), starts, tolerance)


def _best_run(blocks: "_Blocks", starts: tuple[Centers, ...], tolerance: float) -> WeightedPath:
    rows, weights = blocks.rows, blocks.weights
    norms = np.einsum("ij,ij->i", rows, rows)
    masses, squares = np.column_stack([weights, weights[:, None] * rows]), float((weights * norms).sum())
    runs = [_Run(blocks, masses, squares, start) for start in starts]
    for run in runs:
        run.advance(1, tolerance)
    # The sort is stable: of two equal runs, the one with the earlier start continues.
    runs = sorted(runs, key=_Run.last_cost)[:EXPLORED]
    for run in runs:
        run.advance(EXPLORE, tolerance)
    best = min(runs, key=_Run.last_cost)
    best.advance(POLISH, tolerance)
    return WeightedPath(tuple(best.centers), tuple(best.costs))


def spread_start(places: Points, weights: FloatArray, spare: Centers, *, rng: np.random.Generator) -> Centers:
    """Draw k of the places, each with probability ~ w |x - nearest already drawn|^2 (Arthur & Vassilvitskii 2007).

    When every weighted place is drawn, `spare` (k, d) provides the other centers: two centers on one place would
    achieve no more than one.
    """
    return _Blocks.from_places(places, weights).spread_start(spare, rng=rng)


class _Blocks(NamedTuple):
    """Places in blocks. Each block is computed at once, or not at all if it is too far away to matter."""

    rows: Points  # (m, d)
    weights: FloatArray  # (m,)
    # Place of each lane, (b BLOCK,). Lanes behind the last place have none, and hold their own number.
    order: Labels
    # Coordinates (b, d, BLOCK), with the last lane repeated behind it.
    places: FloatArray
    # Weights (b BLOCK,), 0 behind the last place.
    masses: FloatArray
    # Low and high corners of each block, both (d, b).
    low: FloatArray
    high: FloatArray

    @classmethod
    def from_places(cls, places: Points, weights: FloatArray, order: Labels | None = None) -> "_Blocks":
        """Return blocks of places in their own order or in the given `order` (m,)."""
        m, d = places.shape
        where = np.arange(-(-m // BLOCK) * BLOCK)
        padded, masses = np.empty((len(where), d)), np.zeros(len(where))
        if order is None:
            padded[:m], masses[:m] = places, weights
        else:
            where[:m], padded[:m], masses[:m] = order, places[order], weights[order]
        padded[m:] = padded[m - 1]
        blocks = np.ascontiguousarray(padded.reshape(-1, BLOCK, d).transpose(0, 2, 1))
        low, high = (np.ascontiguousarray(each.T) for each in (blocks.min(axis=2), blocks.max(axis=2)))
        return cls(places, weights, where, blocks, masses, low, high)

    def of_neighbors(self) -> "_Blocks":
        """Return blocks of places that are near each other: strip by strip, there and back.

        Sorting is by 16 bits, which NumPy does in one pass.
        """
        m, d = self.rows.shape
        if d > MOST_AXES or m <= BLOCK:
            return self
        strips = math.ceil((m / BLOCK) ** (1.0 / d))
        keys = _there_and_back(np.ascontiguousarray(self.rows.T), float(strips), float(2**16 // strips ** (d - 1)))
        return self.from_places(self.rows, self.weights, keys.astype(np.uint16).argsort(kind="stable"))

    def spread_start(self, spare: Centers, *, rng: np.random.Generator) -> Centers:
        """Draw a start; the blocks are of places in their own order."""
        chosen, nearest, terms = spare.copy(), np.ones(len(self.masses)), self.masses.copy()
        sums = terms.reshape(-1, BLOCK).sum(axis=1)
        # The first place is drawn by its weight, as if all distances were 1.
        reach, total = np.full(len(sums), np.inf), sums.sum()
        for i in range(len(spare)):
            if not total > 0:
                break
            total = _add_drawn(rng.random(), i, self, chosen, nearest, terms, sums, reach)
        return chosen

    def exchanged(self, start: Centers, n_tries: int, *, rng: np.random.Generator) -> Centers:
        """Improve `start` (k, d) by exchanges of a center for a place (Lattanzi & Sohler 2019, algorithm LS++).

        A place is drawn with probability ~ w |x - nearest center|^2. If that lowers the cost, it replaces the center
        whose loss costs least. Two round clusters that share a center get one each, which Lloyd's moves never achieve.
        """
        centers = start.copy()
        _exchange(self, centers, rng.random(n_tries))
        return centers


@compiled
def _there_and_back(columns: FloatArray, strips: float, steps: float) -> FloatArray:
    """Return a key of each place of `columns` (d, m): its strip, or strip of strips, and its step along it."""
    d, m = columns.shape
    keys = np.zeros(m)
    for f in range(d):
        column, n = columns[f], strips if f < d - 1 else steps
        low, width = column.min(), column.max() - column.min()
        scale = n / width if width > 0 else 0.0
        for i in range(m):
            along = np.floor((column[i] - low) * scale)
            if along >= n:
                along = n - 1.0
            odd = keys[i] - 2.0 * np.floor(keys[i] / 2.0) > 0
            keys[i] = keys[i] * n + (n - 1.0 - along if odd else along)
    return keys


@compiled
def _drawn(draw: float, terms: FloatArray, sums: FloatArray, m: int) -> int:
    """Return the first place up to which terms add up to more than `draw` of all, else the last of m.

    `sums` (b,) are the sums of BLOCK terms in a row. Sums in any order decide, unless the result is so close that
    rounding would decide; then the order of the places is used. -1 if all terms are 0.
    """
    # 2^-53 per term, in either order, and in products.
    total, rounding = 0.0, 2.0**-50 * m
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
        upto += terms[i]
        if upto > aim:
            if upto - aim > close and (i == 0 or aim - before > close):
                return i
            break
    total = 0.0
    for i in range(m):
        total += terms[i]
    aim, upto = draw * total, 0.0
    for i in range(m):
        upto += terms[i]
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
    """Write the squared distance of each block's box from a center, rounded down."""
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


@compiled
def _add_drawn(
    draw: float,
    i: int,
    blocks: _Blocks,
    chosen: Centers,
    nearest: FloatArray,
    terms: FloatArray,
    sums: FloatArray,
    reach: FloatArray,
) -> float:
    """Draw a place as the center i, lower the squared distances `nearest` to it; return w nearest in all.

    `terms` are w nearest, `sums` (b,) their sums in the blocks, and `reach` (b,) the largest distances.
    """
    rows, _, _, places, masses, low, high = blocks
    place = _drawn(draw, terms, sums, len(rows))
    for f in range(rows.shape[1]):
        chosen[i, f] = rows[place, f]
    if i == 0:
        for j in range(len(nearest)):
            nearest[j] = np.inf
    squares, apart, total = np.empty(BLOCK), np.empty(len(sums)), 0.0
    _measure(low, high, chosen[i], apart)
    for b in range(len(sums)):
        if apart[b] <= reach[b]:
            mine = slice(b * BLOCK, (b + 1) * BLOCK)
            w, least, each = masses[mine], nearest[mine], terms[mine]
            _squares(places[b], chosen[i], squares)
            for j in range(BLOCK):
                least[j] = min(least[j], squares[j])
            reach[b] = _most(least)
            for j in range(BLOCK):
                each[j] = w[j] * least[j]
            sums[b] = _total(each)
        total += sums[b]
    return total


@compiled
def _exchange(blocks: _Blocks, centers: Centers, draws: FloatArray) -> None:
    """Try one exchange for each of `draws` in [0, 1), in place.

    An exchange compares its gain with a loss. Sums in any order decide, unless they are so close that rounding would
    decide; then the order of the places is used.
    """
    rows, low, high = blocks.rows, blocks.low, blocks.high
    m, k, n_blocks = len(rows), len(centers), low.shape[1]
    base, loss, parts = np.empty(k), np.empty(k), np.empty((n_blocks, k))
    reach, apart, left = np.empty(n_blocks), np.empty(n_blocks), np.empty(n_blocks)
    rounding, stale, n_stale, moved = 2.0**-50 * m, np.empty(m, np.intp), m, True
    # The two nearest centers of BLOCK places in a row: the first ones, then the second ones. In one array, so that
    # loops need not look for overlaps.
    far, who = np.zeros((n_blocks, 2 * BLOCK)), np.zeros((n_blocks, 2 * BLOCK), np.intp)
    terms, sums, changed = np.empty(len(blocks.order)), np.empty(n_blocks), np.empty(n_blocks, np.bool_)
    for i in range(m):
        stale[i], changed[i // BLOCK] = i, True
    for draw in draws:
        if moved:
            _renew(blocks.places, stale[:n_stale], centers, far, who)
            _sum_up(blocks, far, who, changed, terms, sums, reach, parts, base)
            moved = False
        pick = _drawn(draw, terms, sums, m)
        if pick < 0:
            return
        place = rows[pick]
        _measure(low, high, place, apart)
        gain = _weigh(blocks, place, far, who, apart, reach, base, loss)
        missed, lowest, n_close = _least(loss), np.inf, 0
        most = loss[missed] + rounding * base[missed]
        for c in range(k):
            lower = loss[c] - rounding * base[c]
            lowest = min(lowest, lower)
            n_close += c != missed and lower <= most and (base[c] > 0 or base[missed] > 0)
        if gain * (1.0 + rounding) <= lowest:
            continue
        if n_close or not gain * (1.0 - rounding) > most:
            gain = _weigh_in_order(blocks, place, far, who, loss)
            missed = _least(loss)
            if gain <= loss[missed]:
                continue
        _measure(low, high, centers[missed], left)
        for f in range(len(place)):
            centers[missed, f] = place[f]
        n_stale, moved = _replace(blocks, place, far, who, apart, left, reach, missed, changed, stale), True


@compiled
def _least(values: FloatArray) -> int:
    least = 0
    for i in range(1, len(values)):
        if values[i] < values[least]:
            least = i
    return least


@compiled
def _take(offers: FloatArray, center: int, far: FloatArray, who: Labels) -> None:
    """Make a center one of the two nearest ones of a block of places where its squared distance is less."""
    for j in range(BLOCK):
        offer, nearest, other, before, following = offers[j], far[j], far[BLOCK + j], who[j], who[BLOCK + j]
        following = center if offer < other else following
        other = offer if offer < other else other
        who[BLOCK + j] = before if offer < nearest else following
        far[BLOCK + j] = nearest if offer < nearest else other
        who[j] = center if offer < nearest else before
        far[j] = offer if offer < nearest else nearest


@compiled
def _renew(places: FloatArray, stale: Labels, centers: Centers, far: FloatArray, who: Labels) -> None:
    """Search the nearest centers of the lanes that are `stale`, among those that may be near BLOCK of them.

    From the middle of all to a corner, the difference of two squared distances changes by the box's sides times the
    centers' difference. A center that is farther than two others by more than that is nowhere one of the nearest two.
    """
    (k, d), block = centers.shape, np.empty((centers.shape[1], BLOCK))
    squares, mine, these = np.empty(BLOCK), np.empty(2 * BLOCK), np.empty(2 * BLOCK, np.intp)
    sides, at_middle = np.empty(d), np.empty(k)
    for start in range(0, len(stale), BLOCK):
        size, spread = min(BLOCK, len(stale) - start), 0.0
        for f in range(d):
            low, high = np.inf, -np.inf
            for j in range(BLOCK):
                i = stale[start + min(j, size - 1)]
                x = places[i // BLOCK, f, i % BLOCK]
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
        for j in range(2 * BLOCK):
            mine[j], these[j] = np.inf, 0
        for c in range(k):
            farther = min(at_middle[c] - at_middle[one], at_middle[c] - at_middle[other])
            if farther > 0:
                beside_one, beside_other = at_middle[c] - at_middle[one], at_middle[c] - at_middle[other]
                for f in range(d):
                    beside_one -= sides[f] * abs(centers[c, f] - centers[one, f])
                    beside_other -= sides[f] * abs(centers[c, f] - centers[other, f])
                # The gap is far above rounding.
                if min(beside_one, beside_other) > 1e-9 * (at_middle[c] + spread):
                    continue
            _squares(block, centers[c], squares)
            _take(squares, c, mine, these)
        for j in range(size):
            b, i = stale[start + j] // BLOCK, stale[start + j] % BLOCK
            far[b, i], far[b, BLOCK + i], who[b, i], who[b, BLOCK + i] = (
                mine[j],
                mine[BLOCK + j],
                these[j],
                these[BLOCK + j],
            )


@compiled
def _sum_up(
    blocks: _Blocks,
    far: FloatArray,
    who: Labels,
    changed: BoolArray,
    terms: FloatArray,
    sums: FloatArray,
    reach: FloatArray,
    parts: FloatArray,
    base: FloatArray,
) -> None:
    """Write w first and the largest `second` of blocks that have `changed`, and the cost of each center's loss."""
    losses, lanes = np.empty(BLOCK), np.empty((4, len(base)))
    order, masses = blocks.order, blocks.masses
    for c in range(len(base)):
        base[c] = 0.0
    for b in range(len(parts)):
        if changed[b]:
            rows, mine = slice(b * BLOCK, (b + 1) * BLOCK), parts[b]
            apart, w = far[b], masses[rows]
            reach[b] = _most(apart[BLOCK:])
            place = order[rows]
            for j in range(BLOCK):
                terms[place[j]] = w[j] * apart[j]
            for j in range(BLOCK):
                losses[j] = w[j] * (apart[BLOCK + j] - apart[j])
            for c in range(len(base)):
                lanes[0, c] = lanes[1, c] = lanes[2, c] = lanes[3, c] = 0.0
            _scatter(losses, who[b], lanes)
            for c in range(len(base)):
                mine[c] = lanes[0, c] + lanes[1, c] + lanes[2, c] + lanes[3, c]
        mine = parts[b]
        for c in range(len(base)):
            base[c] += mine[c]
    for b in range(len(sums)):
        sums[b] = _total(terms[b * BLOCK : (b + 1) * BLOCK])


@compiled
def _weigh(
    blocks: _Blocks,
    place: FloatArray,
    far: FloatArray,
    who: Labels,
    apart: FloatArray,
    reach: FloatArray,
    base: FloatArray,
    loss: FloatArray,
) -> float:
    """Write the cost of each center's loss if `place` were a center; return the gain from that center."""
    offers, gains, spared, lanes = np.empty(BLOCK), np.zeros(BLOCK), np.empty(BLOCK), np.zeros((4, len(base)))
    places, masses = blocks.places, blocks.masses
    for b in range(len(reach)):
        if apart[b] > reach[b]:
            continue
        near, w, nearer = far[b], masses[b * BLOCK : (b + 1) * BLOCK], 0
        _squares(places[b], place, offers)
        for j in range(BLOCK):
            nearer += offers[j] < near[BLOCK + j]
        if nearer:
            for j in range(BLOCK):
                gains[j] += w[j] * (near[j] - min(near[j], offers[j]))
                spared[j] = w[j] * (near[BLOCK + j] - min(near[BLOCK + j], max(near[j], offers[j])))
            _scatter(spared, who[b], lanes)
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
def _weigh_in_order(blocks: _Blocks, place: FloatArray, far: FloatArray, who: Labels, loss: FloatArray) -> float:
    """Do the same as `_weigh`, place by place in their order."""
    _, _, order, places, masses, _, _ = blocks
    gain, offers, at = 0.0, np.empty(len(order)), np.empty(len(order), np.intp)
    for c in range(len(loss)):
        loss[c] = 0.0
    for b in range(len(places)):
        _squares(places[b], place, offers[b * BLOCK : (b + 1) * BLOCK])
    for i in range(len(at)):
        at[order[i]] = i
    for j in at:
        near, second, owner = far[j // BLOCK, j % BLOCK], far[j // BLOCK, BLOCK + j % BLOCK], who[j // BLOCK, j % BLOCK]
        nearest = min(near, offers[j])
        gain += masses[j] * (near - nearest)
        loss[owner] += masses[j] * (min(second, offers[j]) - nearest)
    return gain


@compiled
def _replace(
    blocks: _Blocks,
    place: FloatArray,
    far: FloatArray,
    who: Labels,
    apart: FloatArray,
    left: FloatArray,
    reach: FloatArray,
    missed: int,
    changed: BoolArray,
    stale: Labels,
) -> int:
    """Put the center `missed` at `place`; write which lanes lose it, and return how many.

    Blocks are at least `left` away from its old place, and `apart` from the new one.
    """
    n_stale, offers, m, places = 0, np.empty(BLOCK), len(blocks.rows), blocks.places
    for b in range(len(reach)):
        these, lost = who[b], 0
        if left[b] <= reach[b]:
            for j in range(BLOCK):
                lost += (these[j] == missed) | (these[BLOCK + j] == missed)
        for j in range(min(BLOCK, m - b * BLOCK) if lost else 0):
            stale[n_stale] = b * BLOCK + j
            n_stale += (these[j] == missed) | (these[BLOCK + j] == missed)
        changed[b] = lost > 0 or apart[b] <= reach[b]
        if apart[b] <= reach[b]:
            _squares(places[b], place, offers)
            _take(offers, missed, far[b], these)
    return n_stale
