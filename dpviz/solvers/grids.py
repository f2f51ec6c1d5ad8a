"""Grids over the unit box: even grids, fitted grids (by noisy marginals), and nested grids (full cells are cut again).

Grids depend on the records only through noisy counts.

A fitted grid is a product of cuts along each axis. Noisy marginals determine their number and places: columns in which
records hardly differ get no cut, crowded places get many. Computing marginals first and a grid from them is the idea of
AHP (Zhang, Chen, Xu, Meng & Xie 2014, "Towards Accurate Histogram Publication under Differential Privacy") and of the
data-dependent trees of Cormode, Procopiuc, Srivastava, Shen & Yu 2012 ("Differentially Private Spatial
Decompositions"). Our choice: cuts by the square root of the density, after Panter & Dite's law for quantizers, whose
third root fits more than one axis worse.

A nested grid has two levels, as in the adaptive grid of Qardaji, Yang & Li 2013 ("Differentially private grids for
geospatial data"): few large cells are counted first, then each is cut into as many small cells as its noisy count can
distinguish from the noise. Our choices: the rule's exponent in more or fewer than two dimensions, after Su et al. 2016;
cuts that follow noisy marginals within a cell as well; and the constants.
"""

import functools
import math

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Counts, FloatArray, Points, compiled, frozen, functions, immutable, immutable_value, writable

# Share of epsilon for the marginals. Our choice, by measurement.
MARGINAL_SHARE = 0.2
# Maximum number of bins of a marginal. Our choice.
MOST_BINS = 64
# Average records in a bin of a uniform marginal, as a multiple of its noise scale. Our choice.
BIN_RECORDS = 8.0
# Share of a uniform density assumed everywhere, so that empty regions get few cuts instead of none. Our choice.
FLOOR = 0.02
# Factor by which the cells along an axis grow at each try. Our choice.
STEP = 1.2
# Maximum number of cells of a grid. Our choice, and public: the rule diverges at epsilon = infinity.
MAX_CELLS = 65_536
# Theta of the rule.
CELL_WEIGHT = 10.0
# Theta for a fitted grid, whose cells are where the records are. Our choice, by measurement.
FITTED_WEIGHT = 5.0
# Minimum number of cells of a fitted grid.
LEAST_CELLS = 2.0
# Sufficient number of cells of a fitted grid: more cells than the rule's own only take time. Our choice.
ENOUGH_CELLS = 8_192
# Maximum number of axes in the rule for a fitted grid, which cuts few axes often. Our choice, by measurement.
MOST_CUT_AXES = 3
# Standard errors by which the selected cells may exceed the noisy number of records. Our choice, by measurement.
MARGIN = 1.0
# Number of even grids that are cached. The largest budgets share one.
CACHED_GRIDS = 8
# Share of the epsilon for cells that the large cells of a nested grid get. Our choice, by measurement.
OUTER_SHARE = 0.3
# Theta of the rule for the large cells. Our choice, by measurement.
OUTER_WEIGHT = 20.0
# Theta of the rule for the small cells within the large ones. Our choice, by measurement.
INNER_WEIGHT = 3.0
# Maximum number of axes of a nested grid. With more, cells that are cut twice are no better than cells that are cut
# once. Our choice, by measurement.
MOST_NESTED_AXES = 6
# Minimum n epsilon for cutting cells twice. Below it, the noise of two counts costs more. Our choice.
LEAST_RECORDS = 3000.0
# Places that represent the records of few cells: maximum for all cells together, minimum for each cell. Our choice.
SPREAD, LEAST_SPREAD = 4096, 8
# Share of a uniform density added to every marginal, so that every interval has a middle. Our choice.
LEAST_DENSITY = 1e-4

Indices = NDArray[np.intp]


@immutable
class CellGrid:
    """Cells that are products of intervals, in box units."""

    # Edges of the intervals along each axis: d arrays (m_j + 1,), ascending from 0 to 1.
    edges: tuple[FloatArray, ...]
    # Representative of each interval's records: d arrays (m_j,).
    middles: tuple[FloatArray, ...]

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
        """Return the representative place of each cell (m1 ... md, d), C order."""
        return self._spread(self.middles)

    def walls(self) -> tuple[FloatArray, FloatArray]:
        """Return the low and the high corner of each cell, both (m1 ... md, d), C order."""
        lows, highs = ([edges[part] for edges in self.edges] for part in (slice(-1), slice(1, None)))
        return self._spread(tuple(lows)), self._spread(tuple(highs))

    def _spread(self, values: tuple[FloatArray, ...]) -> Points:
        """Return d values of each cell: the values of its interval along each axis."""
        n_cells = after = math.prod(self.shape)
        spread = np.empty((n_cells, len(values)))
        for axis, each in enumerate(values):
            # NumPy's own index functions stop at 64 axes.
            after //= len(each)
            spread[:, axis] = each[np.arange(n_cells) // after % len(each)]
        return spread


def rule_cells_per_axis(epsilon: float, n_records: float, d: int, *, weight: float = CELL_WEIGHT) -> float:
    """Return M^(1/d) = (N epsilon / 10)^(2 / (2 + d)) (Su et al. 2016, section 4), unrounded, with N at least 1."""
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


@immutable_value
class Fitting:
    """The budget and size of a fitted grid: noisy marginals first, then the counts of the cells that follow."""

    # Epsilon for the marginals.
    marginals: float
    # Epsilon for the cells.
    cells: float
    # Scale of the marginals' noise.
    scale: float
    # Number of bins of each marginal, at least 2.
    n_bins: int
    most_cells: float
    # Whether the rule asked for more than MAX_CELLS.
    capped: bool


def fitting(epsilon: float, n_records: float, d: int, *, sensitivity: int) -> Fitting | None:
    """Return a fitted grid's budget and size; None if noise would drown the marginals or leave one cell.

    `sensitivity` is the amount by which one record changes all counts of a grid together, 1 or 2. Everything is public,
    except that `n_records` may be noisy.
    """
    marginals = MARGINAL_SHARE * epsilon
    scale = d * sensitivity / marginals
    # The number of bins is a power of two. It is 1 if noise would drown two bins.
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

    `units` (d,) is the weight of a step along each axis in the cost. The axis that gains most is cut finer, again and
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
        """Return the next number of intervals that is better than now: three may fit two clumps worse than two."""
        m = max(self.cells + 1, round(STEP * self.cells))
        while (then := self.intervals(m)[2]) >= self.now and m <= 4 * self.cells:
            m = max(m + 1, round(STEP * m))
        return m, then

    def intervals(self, m: int) -> tuple[FloatArray, FloatArray, float]:
        """Return the edges of m intervals, the mean place of each one's records, and their mean squared distance."""
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
    # Walls of bins and of intervals, ascending.
    while i <= b or j <= m:
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
    """Interpolate like `np.interp`, for ascending x within the ascending xs."""
    y, j = np.empty(len(x)), 0
    for i in range(len(x)):
        while j < len(xs) - 2 and xs[j + 1] <= x[i]:
            j += 1
        slope = (ys[j + 1] - ys[j]) / (xs[j + 1] - xs[j])
        y[i] = ys[-1] if x[i] >= xs[-1] else slope * (x[i] - xs[j]) + ys[j]
    return y


def bin_shares(noisy: Counts, scale: float) -> FloatArray:
    """Return a noisy marginal's largest bins as shares of their sum; equal shares if all are empty."""
    bins = heaviest(noisy, 1, scale=scale)
    return bins / bins.sum() if bins.sum() > 0 else np.full(len(noisy), 1.0 / len(noisy))


def heaviest(noisy: Counts, n_clusters: int, *, scale: float) -> Counts:
    """Select the largest of `noisy` (m,) until they add up to the number of records, and set the others to 0.

    `scale` is the scale of their Laplace noise. In an empty cell the noise is positive half of the time, so the sum of
    the positive cells is far above the number of records, spread over empty space. The sum of all cells, including
    negative ones, is unbiased: it is the number of records with a standard error of scale sqrt(2 m). The selected cells
    reach that sum and MARGIN standard errors more. If enough cells are positive, at least as many as clusters are
    selected, so that a sum that happens to be low does not empty a small grid. Post-processing; without noise it
    selects exactly the cells of records.
    """
    falling = np.sort(noisy)[::-1]
    upto = np.cumsum(np.maximum(falling, 0.0))
    enough = max(float(noisy.sum()), 0.0) + MARGIN * scale * math.sqrt(2.0 * len(noisy))
    last = max(int(np.searchsorted(upto, enough)), n_clusters - 1)
    return np.where(noisy >= falling[min(last, len(falling) - 1)], np.maximum(noisy, 0.0), 0.0)


@immutable
class NestedGrid:
    """A grid whose cells are grids, in box units. Cells are in the outer grid's order, then in C order."""

    outer: CellGrid
    # Number of intervals into which each outer cell is cut along each axis, (outer cells, d).
    pieces: Indices
    # Index of the first cell within each outer cell, (outer cells + 1,).
    first: Indices
    low: FloatArray  # (m, d)
    high: FloatArray  # (m, d)
    # Representative place of each cell's records, (m, d).
    middles: FloatArray
    # Walls within outer cells, one run after the other.
    _walls: FloatArray
    # Start of the run of each cell and axis, (outer cells, d).
    _runs: Indices

    def counts(self, unit: Points) -> Counts:
        """Return the exact number of records (n, d) of the unit box in each cell."""
        outer = np.concatenate([edges[1:-1] for edges in self.outer.edges])
        ends = np.cumsum([0, *(len(edges) - 2 for edges in self.outer.edges)])
        return _count_within(unit, outer, ends, self._walls, self._runs, self.pieces, self.first)

    def places(self) -> Points:
        """Return the representative place of each cell (m, d)."""
        return self.middles

    def walls(self) -> tuple[FloatArray, FloatArray]:
        """Return the low and the high corner of each cell, both (m, d)."""
        return self.low, self.high

    def consistent(self, noisy: Counts, outer: Counts, *, scale: float, outer_scale: float) -> Counts:
        """Return counts of the cells (m,) that fit both levels' noisy counts: least squares (Hay et al. 2010).

        The count of an outer cell is the mean of its own count and the sum of its cells, weighted by their variances.
        The cells share the difference to their sum evenly. Post-processing.
        """
        size = np.diff(self.first).astype(np.float64)
        sums = np.add.reduceat(noisy, self.first[:-1])
        own, inner = outer_scale**2, size * scale**2
        # Without noise both counts are exact.
        share = inner / (own + inner) if outer_scale > 0 else np.zeros(len(size))
        return noisy + np.repeat(share * (outer - sums) / size, np.diff(self.first))


def spread_within(places: Points, low: Points, high: Points) -> Points:
    """Return s places for each of m cells (m s, d), cell by cell: evenly spread, and `places` on average.

    One place cannot represent the records of a large cell: k centers need at least k places, and the records of a
    cluster in a corner lie on one side. Along an axis, a cell's place divides it into two parts. Each part has a
    uniform density, and their shares make the place the mean. s is even, from LEAST_SPREAD to SPREAD / m; with more
    cells it is 1. Everything follows from the grid.
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
    half = (np.random.default_rng(0).permuted(np.tile(np.arange(n // 2), (d, 1)), axis=1).T + 0.5) / (n // 2)
    return frozen(np.vstack([half, 1.0 - half]))


def worth_nesting(epsilon: float, n_records: float, d: int) -> bool:
    """Decide whether cells counted with `epsilon` are better cut twice. All inputs are public or noisy."""
    return d <= MOST_NESTED_AXES and n_records * epsilon >= LEAST_RECORDS


def outer_cells(epsilon: float, n_records: float, d: int) -> float:
    """Return the maximum number of large cells counted with `epsilon`, by the rule on few axes."""
    axes = min(d, MOST_CUT_AXES)
    return max(min(rule_cells_per_axis(epsilon, n_records, axes, weight=OUTER_WEIGHT) ** axes, ENOUGH_CELLS), 1.0)


def cut_again(
    outer: CellGrid, counts: Counts, marginals: Counts, units: FloatArray, *, epsilon: float, scale: float
) -> NestedGrid:
    """Cut the cells of `outer` by their noisy `counts`, for cells that are counted with `epsilon`.

    `marginals` (d, b) are noisy, with noise of this `scale`; `units` (d,) is the weight of a step along each axis in
    the cost. The result has at most MAX_CELLS cells, or as many as `outer`; d is at most MOST_NESTED_AXES.
    """
    d, n_axes = len(outer.shape), min(len(outer.shape), MOST_CUT_AXES)
    axes = [_Marginal(bin_shares(row, scale)) for row in marginals]
    cell = np.stack(np.unravel_index(np.arange(len(counts)), outer.shape), axis=1)
    spreads = [axis.spreads(edges) for axis, edges in zip(axes, outer.edges, strict=True)]
    widths = np.stack([spread[cell[:, a]] * units[a] for a, spread in enumerate(spreads)], axis=1)
    # An outer cell may have as many cells as the rule gives for its own noisy count, and all together MAX_CELLS.
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
        # NumPy 2.0 returns a different shape.
        kind = kind.reshape(-1)
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
    """Count records by outer cell, then within it. A record on a wall is in the cell above."""
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
    """The density along one axis, uniform within each bin, and its integrals from 0. It is public or released."""

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
        return upto[at] + beyond

    def means(self, edges: FloatArray) -> FloatArray:
        """Return the mean place of the records between neighboring edges; halfway if the edges fall."""
        mass, pull = np.diff(self.sums(edges, 0)), np.diff(self.sums(edges, 1))
        halfway = (edges[1:] + edges[:-1]) / 2.0
        means = np.where(mass > 0, pull / np.where(mass > 0, mass, 1.0), halfway)
        low, high = np.minimum(edges[:-1], edges[1:]), np.maximum(edges[:-1], edges[1:])
        return np.clip(means, low, high)

    def spreads(self, edges: FloatArray) -> FloatArray:
        """Return the width of a uniform interval whose records spread as much as those between the edges."""
        mass, square = np.diff(self.sums(edges, 0)), np.diff(self.sums(edges, 2))
        variance = square / mass - self.means(edges) ** 2
        return np.sqrt(12.0 * np.maximum(variance, 0.0))

    def cuts(self, edges: FloatArray, which: Indices, pieces: Indices) -> tuple[FloatArray, Indices]:
        """Cut each interval (r,) between `edges` into so many `pieces` by the root of the density.

        Returns the edges of all intervals, one run of pieces + 1 after the other, and the start of each run.
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
