"""Grids over the unit box: even ones, ones whose cuts follow noisy marginals, and ones whose full cells are cut again.

No grid depends on a record but through noisy counts.

A fitted grid is a product of cuts along each axis, as many and where noisy marginals say: columns in which records
hardly differ get no cut, crowded places get many. Marginals first and a grid from them is the idea of AHP (Zhang, Chen,
Xu, Meng & Xie 2014, "Towards Accurate Histogram Publication under Differential Privacy") and of the data-dependent
trees of Cormode, Procopiuc, Srivastava, Shen & Yu 2012 ("Differentially Private Spatial Decompositions"); cuts by the
root of the density are ours, after Panter & Dite's law for quantizers, whose third root fits more than one axis worse.

A nested grid has two levels, as in the adaptive grid of Qardaji, Yang & Li 2013 ("Differentially private grids for
geospatial data"): few large cells are counted first, then each is cut into as many small ones as its noisy count can
tell from the noise. Ours are the rule's exponent in more or fewer than two dimensions, after that of Su et al. 2016,
cuts that follow noisy marginals within a cell, too, and the constants.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Counts, FloatArray, Points, compiled, frozen, functions, writable

MARGINAL_SHARE = 0.2  # of epsilon, for the marginals; ours, by measurement
MOST_BINS = 64  # of a marginal; ours
BIN_RECORDS = 8.0  # scales of its noise that a bin of even records has on average; ours
FLOOR = 0.02  # of an even density is assumed everywhere: empty places get few cuts, and not none; ours
STEP = 1.2  # cells along an axis grow by so much a try; ours
MAX_CELLS = 65_536  # of a grid; ours, public: the rule diverges at epsilon = infinity
CELL_WEIGHT = 10.0  # theta of the rule
FITTED_WEIGHT = 5.0  # the same for a fitted grid, whose cells are where the records are; ours, by measurement
LEAST_CELLS = 2.0  # of a fitted grid
ENOUGH_CELLS = 8_192  # of a fitted grid: more than the rule's own only take time; ours
MOST_CUT_AXES = 3  # that the rule counts for a fitted grid, which cuts few axes much; ours, by measurement
MARGIN = 1.0  # standard errors by which the selected cells may pass the noisy number of records; ours, by measurement
CACHED_GRIDS = 8  # even ones: the largest budgets share one
OUTER_SHARE = 0.3  # of the epsilon for cells, for the large ones of a nested grid; ours, by measurement
OUTER_WEIGHT = 20.0  # the rule's theta for the large cells; ours, by measurement
INNER_WEIGHT = 3.0  # the same for those within them; ours, by measurement
MOST_NESTED_AXES = 6  # beyond, cells that are cut twice are no better than those cut once; ours, by measurement
LEAST_RECORDS = 3000.0  # n epsilon, from which cells are cut twice: before, the noise of two counts costs more; ours
SPREAD, LEAST_SPREAD = 4096, 8  # places for the records of few cells: of all together at most, of each at least; ours
LEAST_DENSITY = 1e-4  # of an even one, where a marginal has none: every stretch has a middle; ours

Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class CellGrid:
    """Cells that are products of intervals, in box units."""

    edges: tuple[FloatArray, ...]  # d of (m_j + 1,), from 0 to 1, ascending
    middles: tuple[FloatArray, ...]  # d of (m_j,): what stands for each interval's records

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each axis."""
        return tuple(len(each) for each in self.middles)

    def counts(self, unit: Points) -> Counts:
        """Return the exact number of records (n, d) of the unit box in each cell, C order."""
        flat = np.zeros(len(unit), dtype=np.intp)
        for column, edges in zip(unit.T, self.edges, strict=True):
            flat = flat * (len(edges) - 1) + np.searchsorted(edges[1:-1], column, side="right")
        return np.bincount(flat, minlength=math.prod(self.shape)).astype(np.float64)

    def places(self) -> Points:
        """Return what stands for each cell (m1 ... md, d), C order."""
        return self._spread(self.middles)

    def walls(self) -> tuple[FloatArray, FloatArray]:
        """Return the low and the high corner of each cell, both (m1 ... md, d), C order."""
        lows, highs = ([edges[part] for edges in self.edges] for part in (slice(-1), slice(1, None)))
        return self._spread(tuple(lows)), self._spread(tuple(highs))

    def _spread(self, values: tuple[FloatArray, ...]) -> Points:
        """Return d values of each cell, that of its interval along each axis."""
        n_cells = after = math.prod(self.shape)
        spread = np.empty((n_cells, len(values)))
        for axis, each in enumerate(values):
            after //= len(each)  # NumPy's own indices stop at 64 axes
            spread[:, axis] = each[np.arange(n_cells) // after % len(each)]
        return spread


def rule_cells_per_axis(epsilon: float, n_records: float, d: int, *, weight: float = CELL_WEIGHT) -> float:
    """M^(1/d) = (N epsilon / 10)^(2 / (2 + d)) (Su et al. 2016, section 4), before rounding; N below 1 counts as 1."""
    return float((max(n_records, 1.0) * epsilon / weight) ** (2.0 / (2.0 + d)))


def even_side(epsilon: float, n_records: float, d: int) -> tuple[int, bool]:
    """Return the cells along each axis of an even grid, and whether the rule asked for more than MAX_CELLS allow."""
    most = int(MAX_CELLS ** (1.0 / d) + 1e-9)
    cells = rule_cells_per_axis(epsilon, n_records, d)
    return max(1, round(min(cells, most))), cells > most + 0.5


@functools.lru_cache(maxsize=CACHED_GRIDS)
def even_grid(shape: tuple[int, ...]) -> CellGrid:
    """Return the grid of equal cells."""
    edges = tuple(frozen(np.arange(side + 1) / side) for side in shape)
    return CellGrid(edges, tuple(frozen((np.arange(side) + 0.5) / side) for side in shape))


@dataclass(frozen=True, slots=True)
class Fitting:
    """The budget and size of a fitted grid: noisy marginals first, then the counts of the cells that follow."""

    marginals: float  # epsilon for them
    cells: float  # epsilon for the cells
    scale: float  # of the marginals' noise
    n_bins: int  # of each marginal, 2 or more
    most_cells: float
    capped: bool  # the rule asked for more than MAX_CELLS


def fitting(epsilon: float, n_records: float, d: int, *, sensitivity: int) -> Fitting | None:
    """Return how `epsilon` buys a fitted grid, None where marginals would drown in their noise or one cell is left.

    `sensitivity` is by how much one record changes all counts of a grid together, 1 or 2. All of it is public, or
    noisy as `n_records` may be.
    """
    marginals = MARGINAL_SHARE * epsilon
    scale = d * sensitivity / marginals
    # A marginal gets a power of two bins: 1 where noise would drown two of them.
    even = max(n_records, 1.0) / (BIN_RECORDS * scale) if scale > 0 else math.inf
    n_bins = int(2 ** round(math.log2(min(max(even, 1.0), MOST_BINS))))
    epsilon_cells, axes = (1.0 - MARGINAL_SHARE) * epsilon, min(d, MOST_CUT_AXES)
    fine, ruled = (
        rule_cells_per_axis(epsilon_cells, n_records, axes, weight=weight) ** axes
        for weight in (FITTED_WEIGHT, CELL_WEIGHT)
    )
    most = min(fine, max(ruled, ENOUGH_CELLS))
    if n_bins == 1 or most < LEAST_CELLS:
        return None
    return Fitting(marginals, epsilon_cells, scale, n_bins, min(most, MAX_CELLS), most > MAX_CELLS)


def marginal_counts(unit: Points, n_bins: int) -> Counts:
    """Return the exact number of records (n, d) of the unit box in each of n_bins along every axis, (d, n_bins)."""
    bins = np.minimum((unit * n_bins).astype(np.intp), n_bins - 1)
    return np.stack([np.bincount(column, minlength=n_bins) for column in bins.T]).astype(np.float64)


def grid_of(noisy: Counts, most: float, units: FloatArray, *, scale: float) -> CellGrid:
    """Return a grid of at most `most` cells from noisy marginals (d, b) whose noise has this scale.

    `units` (d,) is what a step along each axis is worth in the cost. The axis that gains most is cut finer, again and
    again: gain is the fall of the squared distances within its intervals for the cells that it multiplies.
    """
    axes = [_Axis(bin_shares(row, scale), float(unit)) for row, unit in zip(noisy, units, strict=True)]
    while True:
        cells = math.prod(axis.cells for axis in axes)
        gains = [axis.gain() if cells // axis.cells * axis.finer <= most else 0.0 for axis in axes]
        best = int(np.argmax(gains))
        if not gains[best] > 0:
            break
        axes[best].refine()
    edges, middles, _ = zip(*(axis.intervals(axis.cells) for axis in axes), strict=True)
    return CellGrid(tuple(map(frozen, edges)), tuple(map(frozen, middles)))


class _Axis:
    """One axis while it is cut finer and finer."""

    def __init__(self, density: FloatArray, unit: float) -> None:
        self.density, self.unit = density, unit
        self.cells, self.now = 1, self.intervals(1)[2]
        self.finer, self.then = self._next()

    def gain(self) -> float:
        return self.unit**2 * (self.now - self.then) / math.log(self.finer / self.cells)

    def refine(self) -> None:
        self.cells, self.now = self.finer, self.then
        self.finer, self.then = self._next()

    def _next(self) -> tuple[int, float]:
        """Return the next number of intervals that is better than now: three may fit two clumps worse than two do."""
        m = max(self.cells + 1, round(STEP * self.cells))
        while (then := self.intervals(m)[2]) >= self.now and m <= 4 * self.cells:
            m = max(m + 1, round(STEP * m))
        return m, then

    def intervals(self, m: int) -> tuple[FloatArray, FloatArray, float]:
        """Return the edges of m intervals, where each one's records are on average, and their mean squared distance."""
        edges, middles, terms = _intervals(self.density, m)
        return edges, middles, float(terms.sum())


@compiled
def _intervals(density: FloatArray, m: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the edges of m intervals of about the same sum of roots, their middles, and squares within the pieces."""
    b = len(density)
    grid, roots, sums, shares, even = (
        np.empty(b + 1),
        np.zeros(b + 1),
        np.zeros(b + 1),
        np.empty(b + 1),
        np.empty(m + 1),
    )
    for i in range(b):
        roots[i + 1] = roots[i] + np.sqrt(density[i] + FLOOR / b)
        sums[i + 1] = sums[i] + density[i]
    for i in range(b + 1):
        grid[i], shares[i] = i / b, roots[i] / roots[b]
    for i in range(m + 1):
        even[i] = i / m
    edges = _on_line(even, shares, grid)
    edges[0], edges[-1] = 0.0, 1.0
    fine, i, j, n = np.empty(b + m + 2), 0, 0, 0
    while i <= b or j <= m:  # walls of bins and of intervals, ascending
        if j > m or (i <= b and grid[i] <= edges[j]):
            wall, i = grid[i], i + 1
        else:
            wall, j = edges[j], j + 1
        if n == 0 or wall != fine[n - 1]:
            fine[n], n = wall, n + 1
    upto = _on_line(fine[:n], grid, sums)
    cell, masses, pulls, middles, c = np.zeros(n - 1, np.intp), np.zeros(m), np.zeros(m), np.empty(m), 0
    for i in range(n - 1):
        at, mass = (fine[i + 1] + fine[i]) / 2.0, upto[i + 1] - upto[i]
        while c < m - 1 and edges[c + 1] <= at:
            c += 1
        cell[i] = c
        masses[c] += mass
        pulls[c] += mass * at
    for c in range(m):
        middles[c] = pulls[c] / masses[c] if masses[c] > 0 else (edges[c + 1] + edges[c]) / 2.0
    terms = np.empty(n - 1)
    for i in range(n - 1):
        at, width = (fine[i + 1] + fine[i]) / 2.0, fine[i + 1] - fine[i]
        terms[i] = (upto[i + 1] - upto[i]) * ((at - middles[cell[i]]) * (at - middles[cell[i]]) + width * width / 12.0)
    return edges, middles, terms


@compiled
def _on_line(x: FloatArray, xs: FloatArray, ys: FloatArray) -> FloatArray:
    """Do as `np.interp`, for ascending x within the ascending xs."""
    y, j = np.empty(len(x)), 0
    for i in range(len(x)):
        while j < len(xs) - 2 and xs[j + 1] <= x[i]:
            j += 1
        slope = (ys[j + 1] - ys[j]) / (xs[j + 1] - xs[j])
        y[i] = ys[-1] if x[i] >= xs[-1] else slope * (x[i] - xs[j]) + ys[j]
    return y


def bin_shares(noisy: Counts, scale: float) -> FloatArray:
    """Return a noisy marginal's largest bins as shares of their sum; even where they are all empty."""
    bins = heaviest(noisy, 1, scale=scale)
    return bins / bins.sum() if bins.sum() > 0 else np.full(len(noisy), 1.0 / len(noisy))


def heaviest(noisy: Counts, n_clusters: int, *, scale: float) -> Counts:
    """Select the largest of `noisy` (m,) until they add up to the number of records, and set the others to 0.

    `scale` is that of their Laplace noise. In an empty cell the noise is positive half of the time, so the positive
    cells together hold far more than the records, spread over empty space. All cells together, negative ones too, do
    not lean: their sum is the number of records with a standard error of scale sqrt(2 m). The selected cells reach that
    sum and MARGIN standard errors more, and are no fewer than clusters where so many are positive: a sum that happens
    to be low shall not empty a small grid. Post-processing; without noise it selects exactly the cells of records.
    """
    falling = np.sort(noisy)[::-1]
    upto = np.cumsum(np.maximum(falling, 0.0))
    enough = max(float(noisy.sum()), 0.0) + MARGIN * scale * math.sqrt(2.0 * len(noisy))
    last = max(int(np.searchsorted(upto, enough)), n_clusters - 1)
    least = falling[min(last, len(falling) - 1)]
    return np.where(noisy >= least, np.maximum(noisy, 0.0), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class NestedGrid:
    """A grid whose cells are grids, in box units. Cells are in the order of the outer grid's, then C order within."""

    outer: CellGrid
    pieces: Indices  # (outer cells, d) how many intervals each is cut into along each axis
    first: Indices  # (outer cells + 1,) which cell is the first within each
    low: FloatArray  # (m, d)
    high: FloatArray  # (m, d)
    middles: FloatArray  # (m, d) what stands for each cell's records
    _walls: FloatArray  # those within outer cells, one run after the other
    _runs: Indices  # (outer cells, d) where the run of each cell and axis begins

    def counts(self, unit: Points) -> Counts:
        """Return the exact number of records (n, d) of the unit box in each cell."""
        outer = np.concatenate([edges[1:-1] for edges in self.outer.edges])
        ends = np.cumsum([0, *(len(edges) - 2 for edges in self.outer.edges)])
        return _count_within(unit, outer, ends, self._walls, self._runs, self.pieces, self.first)

    def places(self) -> Points:
        """Return what stands for each cell (m, d)."""
        return self.middles

    def walls(self) -> tuple[FloatArray, FloatArray]:
        """Return the low and the high corner of each cell, both (m, d)."""
        return self.low, self.high

    def consistent(self, noisy: Counts, outer: Counts, *, scale: float, outer_scale: float) -> Counts:
        """Return counts of the cells (m,) that agree with both levels' noisy ones: least squares (Hay et al. 2010).

        The count of an outer cell is the mean of its own and of its cells' sum, by their variances; what the sum lacks,
        its cells share evenly. Post-processing.
        """
        size = np.diff(self.first).astype(np.float64)
        sums = np.add.reduceat(noisy, self.first[:-1])
        own, inner = outer_scale**2, size * scale**2
        # Without noise both are exact.
        share = inner / (own + inner) if outer_scale > 0 else np.zeros(len(size))
        return np.asarray(noisy + np.repeat(share * (outer - sums) / size, np.diff(self.first)))


def spread_within(places: Points, low: Points, high: Points) -> Points:
    """Return s places for each of m cells (m s, d), those of a cell in a row: evenly spread, and `places` on average.

    What stands for the records of a large cell cannot be one place: k centers need k places at least, and those of a
    cluster in a corner lie on one side. Along an axis the two parts of a cell that its place divides are even, and hold
    as much as makes it the mean. s is even, from LEAST_SPREAD to SPREAD / m; with more cells it is 1. All of it follows
    from the grid.
    """
    m, d = places.shape
    s = 2 * (SPREAD // (2 * m))
    if s < LEAST_SPREAD:
        return places
    return _spread_evenly(*map(writable, (places, low, high, _even_places(s, d))))


@compiled
def _spread_evenly(places: Points, low: Points, high: Points, even: Points) -> Points:
    """Return `even` places of the unit box (s, d) in each cell, moved so that `places` is their mean, (m s, d)."""
    s, d = even.shape
    spread = np.empty((len(places) * s, d))
    for i in range(len(places)):
        mine = spread[i * s : (i + 1) * s]
        for f in range(d):
            width = high[i, f] - low[i, f]
            at = (places[i, f] - low[i, f]) / width if width > 0 else 0.5
            at = min(max(at, LEAST_DENSITY), 1.0 - LEAST_DENSITY)
            for j in range(s):
                below, above = even[j, f] * at / (1.0 - at), at + (even[j, f] - (1.0 - at)) * (1.0 - at) / at
                mine[j, f] = low[i, f] + width * (below if even[j, f] < 1.0 - at else above)
    return spread


@functools.lru_cache(maxsize=32)
def _even_places(n: int, d: int) -> Points:
    """Return n places (n, d) of the unit box, each with its mirror image: half of them fill every axis evenly."""
    ranks = np.random.default_rng(0).permuted(np.tile(np.arange(n // 2), (d, 1)), axis=1)
    half = (ranks.T + 0.5) / (n // 2)
    return frozen(np.vstack([half, 1.0 - half]))


def worth_nesting(epsilon: float, n_records: float, d: int) -> bool:
    """Return whether cells that are counted with `epsilon` are better cut twice; all of it is public or noisy."""
    return d <= MOST_NESTED_AXES and n_records * epsilon >= LEAST_RECORDS


def outer_cells(epsilon: float, n_records: float, d: int) -> float:
    """Return how many large cells there may be that are counted with `epsilon`, by the rule on few axes."""
    axes = min(d, MOST_CUT_AXES)
    return max(min(rule_cells_per_axis(epsilon, n_records, axes, weight=OUTER_WEIGHT) ** axes, ENOUGH_CELLS), 1.0)


def cut_again(
    outer: CellGrid, counts: Counts, marginals: Counts, units: FloatArray, *, epsilon: float, scale: float
) -> NestedGrid:
    """Cut the cells of `outer` by their noisy `counts`, for cells that are counted with `epsilon`.

    `marginals` (d, b) are noisy, with noise of this `scale`; `units` (d,) is what a step along each axis is worth in
    the cost. At most MAX_CELLS are the result, or as many as there were; d is at most MOST_NESTED_AXES.
    """
    d, n_axes = len(outer.shape), min(len(outer.shape), MOST_CUT_AXES)
    axes = [_Marginal(bin_shares(row, scale)) for row in marginals]
    cell = np.stack(np.unravel_index(np.arange(len(counts)), outer.shape), axis=1)
    spreads = [axis.spreads(edges) for axis, edges in zip(axes, outer.edges, strict=True)]
    widths = np.stack([spread[cell[:, a]] * units[a] for a, spread in enumerate(spreads)], axis=1)
    # An outer cell may have as many cells as the rule says for its own noisy count; all together at most MAX_CELLS.
    power, weights = 2.0 * n_axes / (2.0 + n_axes), np.maximum(counts, 0.0)
    if power != 1.0:
        weights = functions.exp(power * functions.log(weights))
    room = (MAX_CELLS - len(counts)) / weights.sum() if weights.sum() > 0 else 0.0
    pieces = _pieces(widths, weights * min((epsilon / INNER_WEIGHT) ** power, room))
    first = np.concatenate([[0], np.cumsum(pieces.prod(axis=1))]).astype(np.intp)
    parents = np.repeat(np.arange(len(counts)), np.diff(first))
    inside = np.arange(first[-1]) - first[parents]
    low, high, middles = (np.empty((len(parents), d)) for _ in range(3))
    runs, walls, n_walls = np.empty_like(pieces), [], 0
    for a in reversed(range(d)):
        kinds, kind = np.unique(np.stack([cell[:, a], pieces[:, a]], axis=1), axis=0, return_inverse=True)
        edges, starts = axes[a].cuts(outer.edges[a], kinds[:, 0], kinds[:, 1])
        kind = kind.reshape(-1)  # NumPy 2.0 gives it another shape
        at = starts[kind[parents]] + inside % pieces[parents, a]
        inside //= pieces[parents, a]
        low[:, a], high[:, a] = edges[at], edges[at + 1]
        middles[:, a] = axes[a].means(edges)[at]
        runs[:, a] = n_walls + starts[kind] + 1
        walls.append(edges)
        n_walls += len(edges)
    return NestedGrid(outer, *map(frozen, (pieces, first, low, high, middles, np.concatenate(walls), runs)))


@compiled
def _pieces(widths: FloatArray, most: FloatArray) -> Indices:
    """Cut the widest side of each cell (m, d) once more, while it has at most as many pieces."""
    m, d = widths.shape
    pieces = np.ones((m, d), np.intp)
    for i in range(m):
        total = 1
        while True:
            widest = 0
            for a in range(1, d):
                if widths[i, a] * pieces[i, widest] > widths[i, widest] * pieces[i, a]:
                    widest = a
            total = total // pieces[i, widest] * (pieces[i, widest] + 1)
            if not total <= most[i]:
                break
            pieces[i, widest] += 1
    return pieces


@compiled
def _count_within(
    unit: Points, outer: FloatArray, ends: Indices, walls: FloatArray, runs: Indices, pieces: Indices, first: Indices
) -> Counts:
    """Count records by outer cell, then within it; one on a wall is in the cell above."""
    counts = np.zeros(first[-1])
    for i in range(len(unit)):
        cell, within = 0, 0
        for a in range(unit.shape[1]):
            along = np.searchsorted(outer[ends[a] : ends[a + 1]], unit[i, a], side="right")
            cell = cell * (ends[a + 1] - ends[a] + 1) + along
        for a in range(unit.shape[1]):
            begin = runs[cell, a]
            along = np.searchsorted(walls[begin : begin + pieces[cell, a] - 1], unit[i, a], side="right")
            within = within * pieces[cell, a] + along
        counts[first[cell] + within] += 1.0
    return counts


class _Marginal:
    """One axis' density, even within each bin, and what it adds up to from 0 on. It is public or released."""

    def __init__(self, shares: FloatArray) -> None:
        b = len(shares)
        self.grid = np.arange(b + 1) / b
        self.heights = shares * b + LEAST_DENSITY
        self.roots = np.concatenate([[0.0], np.cumsum(np.sqrt(shares + FLOOR / b))])

    def sums(self, x: FloatArray, power: int) -> FloatArray:
        """Return the integral of density times t^power from 0 to each of x."""
        steps = np.diff(self.grid ** (power + 1)) * self.heights / (power + 1)
        upto = np.concatenate([[0.0], np.cumsum(steps)])
        at = np.clip(np.searchsorted(self.grid, x, side="right") - 1, 0, len(self.heights) - 1)
        beyond = self.heights[at] * (x ** (power + 1) - self.grid[at] ** (power + 1)) / (power + 1)
        return np.asarray(upto[at] + beyond)

    def means(self, edges: FloatArray) -> FloatArray:
        """Return where the records between neighboring edges are on average; edges that fall have the one halfway."""
        mass, pull = np.diff(self.sums(edges, 0)), np.diff(self.sums(edges, 1))
        halfway = (edges[1:] + edges[:-1]) / 2.0
        means = np.where(mass > 0, pull / np.where(mass > 0, mass, 1.0), halfway)
        low, high = np.minimum(edges[:-1], edges[1:]), np.maximum(edges[:-1], edges[1:])
        return np.clip(means, low, high)

    def spreads(self, edges: FloatArray) -> FloatArray:
        """Return how wide an even stretch would be whose records are as far apart as those between the edges."""
        mass, square = np.diff(self.sums(edges, 0)), np.diff(self.sums(edges, 2))
        variance = square / mass - self.means(edges) ** 2
        return np.sqrt(12.0 * np.maximum(variance, 0.0))

    def cuts(self, edges: FloatArray, which: Indices, pieces: Indices) -> tuple[FloatArray, Indices]:
        """Cut each interval (r,) between `edges` into so many `pieces` by the root of the density.

        Returns the edges of all, one run of pieces + 1 after the other, and where each run begins.
        """
        starts = np.concatenate([[0], np.cumsum(pieces + 1)]).astype(np.intp)
        run = np.repeat(np.arange(len(which)), pieces + 1)
        share = (np.arange(starts[-1]) - starts[run]) / pieces[run]
        low, high = edges[which], edges[which + 1]
        begin, end = np.interp(low, self.grid, self.roots), np.interp(high, self.grid, self.roots)
        cuts = np.interp(begin[run] + share * (end - begin)[run], self.roots, self.grid)
        cuts = np.clip(cuts, low[run], high[run])
        cuts[starts[:-1]], cuts[starts[1:] - 1] = low, high
        return cuts, starts[:-1]
