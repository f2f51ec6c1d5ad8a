"""Grids whose full cells are cut again, by noisy counts: small cells where records are, large ones where none are.

Two levels, as in the adaptive grid of Qardaji, Yang & Li 2013 ("Differentially private grids for geospatial data"):
few large cells are counted first, then each is cut into as many small ones as its noisy count can tell from the noise.
Ours are the rule's exponent in more or fewer than two dimensions, after that of Su et al. 2016, cuts that follow noisy
marginals within a cell, too, and the constants. No record is seen but to count it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Counts, FloatArray, Points, compiled, frozen, functions
from dpviz.solvers.grids import ENOUGH_CELLS, FLOOR, MAX_CELLS, MOST_CUT_AXES, CellGrid, bin_shares, rule_cells_per_axis

OUTER_SHARE = 0.3  # of the epsilon for cells, for the large ones; ours, by measurement
OUTER_WEIGHT = 20.0  # the rule's theta for the large cells; ours, by measurement
INNER_WEIGHT = 3.0  # the same for those within them; ours, by measurement
MOST_NESTED_AXES = (
    6  # beyond, cells that are cut twice are no better than those that are cut once; ours, by measurement
)
LEAST_RECORDS = 3000.0  # n epsilon, from which cells are cut twice: before, the noise of two counts costs more; ours
LEAST_DENSITY = 1e-4  # of an even one, where a marginal has none: every stretch has a middle; ours

Indices = NDArray[np.intp]


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
        return _counted(unit, outer, ends, self._walls, self._runs, self.pieces, self.first)

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
    d = len(outer.shape)
    axes = [_Marginal(bin_shares(row, scale)) for row in marginals]
    cell = np.stack(np.unravel_index(np.arange(len(counts)), outer.shape), axis=1)
    spreads = [axis.spreads(edges) for axis, edges in zip(axes, outer.edges, strict=True)]
    widths = np.stack([spread[cell[:, a]] * units[a] for a, spread in enumerate(spreads)], axis=1)
    pieces = _pieces(widths, _most(counts, epsilon, d))
    first = np.concatenate([[0], np.cumsum(pieces.prod(axis=1))]).astype(np.intp)
    parents = np.repeat(np.arange(len(counts)), np.diff(first))
    inside = np.arange(first[-1]) - first[parents]
    low, high, middles = (np.empty((len(parents), d)) for _ in range(3))
    runs, walls, begun = np.empty_like(pieces), [], 0
    for a in reversed(range(d)):
        kinds, kind = np.unique(np.stack([cell[:, a], pieces[:, a]], axis=1), axis=0, return_inverse=True)
        edges, starts = axes[a].cuts(outer.edges[a], kinds[:, 0], kinds[:, 1])
        kind = kind.reshape(-1)  # NumPy 2.0 gives it another shape
        at = starts[kind[parents]] + inside % pieces[parents, a]
        inside //= pieces[parents, a]
        low[:, a], high[:, a] = edges[at], edges[at + 1]
        middles[:, a] = axes[a].means(edges)[at]
        runs[:, a] = begun + starts[kind] + 1
        walls.append(edges)
        begun += len(edges)
    return NestedGrid(outer, *map(frozen, (pieces, first, low, high, middles, np.concatenate(walls), runs)))


def _most(counts: Counts, epsilon: float, d: int) -> FloatArray:
    """Return how many cells each outer one may have by the rule on its own noisy count; MAX_CELLS together."""
    axes = min(d, MOST_CUT_AXES)
    power = 2.0 * axes / (2.0 + axes)
    held = np.maximum(counts, 0.0)
    if power != 1.0:
        held = functions.exp(power * functions.log(held))
    room = (MAX_CELLS - len(counts)) / held.sum() if held.sum() > 0 else 0.0
    return np.asarray(held * min((epsilon / INNER_WEIGHT) ** power, room))


@compiled
def _pieces(widths: FloatArray, most: FloatArray) -> Indices:
    """Cut the widest side of each cell (m, d) once more, again and again, while it has at most as many pieces."""
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
def _counted(
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
        found = np.interp(begin[run] + share * (end - begin)[run], self.roots, self.grid)
        found = np.clip(found, low[run], high[run])
        found[starts[:-1]], found[starts[1:] - 1] = low, high
        return found, starts[:-1]
