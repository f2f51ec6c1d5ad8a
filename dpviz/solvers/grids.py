"""Grids over the unit box: even ones, and ones whose cuts follow noisy marginals. They see no record but to count it.

A product of cuts along each axis, as many and where noisy marginals say: columns in which records hardly differ get no
cut, crowded places get many. Marginals first and a grid from them is the idea of AHP (Zhang, Chen, Xu, Meng & Xie 2014,
"Towards Accurate Histogram Publication under Differential Privacy") and of the data-dependent trees of Cormode,
Procopiuc, Srivastava, Shen & Yu 2012 ("Differentially Private Spatial Decompositions"); cuts by the root of the density
are ours, after Panter & Dite's law for quantizers, whose third root fits more than one axis worse.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np

from dpviz.core import Counts, FloatArray, Points, frozen
from dpviz.solvers.weighted import heaviest

MARGINAL_SHARE = 0.2  # of epsilon, for the marginals; ours, by measurement
MOST_BINS = 64  # of a marginal; ours
BIN_RECORDS = 8.0  # scales of its noise that a bin of even records holds on average; ours
FLOOR = 0.02  # of an even density is assumed everywhere: empty places get few cuts, and not none; ours
STEP = 1.2  # cells along an axis grow by so much a try; ours
MAX_CELLS = 65_536  # of a grid; ours, public: the rule diverges at epsilon = infinity
CELL_WEIGHT = 10.0  # theta of the rule
FITTED_WEIGHT = 5.0  # the same for a fitted grid, whose cells are where the records are; ours, by measurement
LEAST_CELLS = 2.0  # of a fitted grid
ENOUGH_CELLS = 8_192  # of a fitted grid: more than the rule's own only take time; ours
MOST_CUT_AXES = 3  # that the rule counts for a fitted grid, which cuts few axes much; ours, by measurement
GRIDS = 8  # even ones whose middles are remembered: the largest budgets share one


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
        found = np.empty((math.prod(self.shape), len(values)))
        after = len(found)
        for axis, each in enumerate(values):
            after //= len(each)  # NumPy's own indices stop at 64 axes
            found[:, axis] = each[np.arange(len(found)) // after % len(each)]
        return found


def rule_cells_per_axis(epsilon: float, n_records: float, d: int, *, weight: float = CELL_WEIGHT) -> float:
    """M^(1/d) = (N epsilon / 10)^(2 / (2 + d)) (Su et al. 2016, section 4), before rounding; N below 1 counts as 1."""
    return float((max(n_records, 1.0) * epsilon / weight) ** (2.0 / (2.0 + d)))


def even_side(epsilon: float, n_records: float, d: int) -> tuple[int, bool]:
    """Return the cells along each axis of an even grid, and whether the rule asked for more than MAX_CELLS allow."""
    most = int(MAX_CELLS ** (1.0 / d) + 1e-9)
    wanted = rule_cells_per_axis(epsilon, n_records, d)
    return max(1, round(min(wanted, most))), wanted > most + 0.5


def fitted_cells(epsilon: float, n_records: float, d: int) -> float:
    """Return the cells that a fitted grid may have, by the rule on the few axes that it cuts; no maximum."""
    axes = min(d, MOST_CUT_AXES)
    fine, ruled = (
        rule_cells_per_axis(epsilon, n_records, axes, weight=weight) ** axes for weight in (FITTED_WEIGHT, CELL_WEIGHT)
    )
    return min(fine, max(ruled, ENOUGH_CELLS))


def bins_for(n_records: float, scale: float) -> int:
    """Return how many bins a marginal gets, a power of two up to MOST_BINS: 1 where noise would drown two of them."""
    held = max(n_records, 1.0) / (BIN_RECORDS * scale) if scale > 0 else math.inf
    return int(2 ** round(math.log2(min(max(held, 1.0), MOST_BINS))))


@dataclass(frozen=True, slots=True)
class Fitting:
    """How a fitted grid is bought: noisy marginals first, then the counts of the cells that they ask for."""

    marginals: float  # epsilon for them
    cells: float  # epsilon for the cells
    scale: float  # of the marginals' noise
    n_bins: int  # of each marginal, 2 or more
    most_cells: float
    capped: bool  # the rule asked for more than MAX_CELLS


def fitting(epsilon: float, n_records: float, d: int, *, moved: int) -> Fitting | None:
    """Return how `epsilon` buys a fitted grid, None where marginals would drown in their noise or one cell is left.

    `moved` is how many cells of a grid one record moves, 1 or 2. All of it is public, or noisy as `n_records` may be.
    """
    marginals = MARGINAL_SHARE * epsilon
    scale = d * moved / marginals
    n_bins, cells = bins_for(n_records, scale), (1.0 - MARGINAL_SHARE) * epsilon
    wanted = fitted_cells(cells, n_records, d)
    if n_bins == 1 or wanted < LEAST_CELLS:
        return None
    return Fitting(marginals, cells, scale, n_bins, min(wanted, MAX_CELLS), wanted > MAX_CELLS)


def marginal_counts(unit: Points, n_bins: int) -> Counts:
    """Return the exact number of records (n, d) of the unit box in each of n_bins along every axis, (d, n_bins)."""
    bins = np.minimum((unit * n_bins).astype(np.intp), n_bins - 1)
    return np.stack([np.bincount(column, minlength=n_bins) for column in bins.T]).astype(np.float64)


def grid_of(noisy: Counts, most: float, units: FloatArray, *, scale: float) -> CellGrid:
    """Return a grid of at most `most` cells from noisy marginals (d, b) whose noise has this scale.

    `units` (d,) is what a step along each axis is worth in the cost. The axis that gains most is cut finer, again and
    again: gain is the fall of the squared distances within its intervals for the cells that it multiplies. No record is
    seen.
    """
    axes = [_Axis(bin_shares(row, scale), float(unit)) for row, unit in zip(noisy, units, strict=True)]
    while True:
        cells = math.prod(axis.cells for axis in axes)
        gains = [axis.gain() if cells // axis.cells * axis.finer <= most else 0.0 for axis in axes]
        best = int(np.argmax(gains))
        if not gains[best] > 0:
            break
        axes[best].refine()
    found = [axis.intervals(axis.cells) for axis in axes]
    return CellGrid(tuple(frozen(edges) for edges, _, _ in found), tuple(frozen(middles) for _, middles, _ in found))


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
        b = len(self.density)
        grid, root = np.arange(b + 1) / b, np.sqrt(self.density + FLOOR / b)
        upto = np.concatenate([[0.0], np.cumsum(root)])
        edges = np.interp(np.arange(m + 1) / m, upto / upto[-1], grid)
        edges[0], edges[-1] = 0.0, 1.0
        fine = np.unique(np.concatenate([grid, edges]))
        mass = np.diff(np.interp(fine, grid, np.concatenate([[0.0], np.cumsum(self.density)])))
        at, width = (fine[1:] + fine[:-1]) / 2.0, np.diff(fine)
        cell = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, m - 1)
        held, pulled = np.bincount(cell, mass, m), np.bincount(cell, mass * at, m)
        halfway = (edges[1:] + edges[:-1]) / 2.0
        middles = np.where(held > 0, pulled / np.where(held > 0, held, 1.0), halfway)
        return edges, middles, float((mass * ((at - middles[cell]) ** 2 + width**2 / 12.0)).sum())


def bin_shares(noisy: Counts, scale: float) -> FloatArray:
    """Return a noisy marginal's largest bins as shares of what they hold; even where none holds any."""
    held = heaviest(noisy, 1, scale=scale)
    return held / held.sum() if held.sum() > 0 else np.full(len(noisy), 1.0 / len(noisy))


@functools.lru_cache(maxsize=GRIDS)
def even_grid(shape: tuple[int, ...]) -> CellGrid:
    """Return the grid of equal cells."""
    edges = tuple(frozen(np.arange(side + 1) / side) for side in shape)
    return CellGrid(edges, tuple(frozen((np.arange(side) + 0.5) / side) for side in shape))
