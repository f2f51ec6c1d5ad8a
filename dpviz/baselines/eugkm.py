"""EUGkM (Su, Cao, Li, Bertino & Jin, "Differentially Private k-Means Clustering", CODASPY 2016, section 4).

Epsilon pays for one noisy histogram on a grid. Then k-means runs on the cells and sees no record.

`grid="even"` is the paper's grid: equal cells, as many along every axis. With many or skewed columns, most of its cells
are empty and records share the few others. `grid="fitted"` (our choice) first releases noisy marginals, for
MARGINAL_SHARE of epsilon, and cuts each axis according to them (see `grids`). Distances are then in the data's units: a
cut along a wide axis is worth more than a cut along a narrow axis. With too few records for two bins per marginal, the
grid is even. `grid="nested"` (our choice and the default) counts few of these cells, for OUTER_SHARE of the rest, and
divides each by its noisy count (see `nested`), so many thin clusters get their own cells. With many columns or few
records it equals "fitted" (see `worth_nesting`). In both, a grid of few cells has several places for the records of
each cell (see `spread_within`), because k-means on so few cell centers finds no clusters smaller than a cell, and has
centers left over.

`cells="published"` gives weight to every cell with a positive noisy count, and `cells="largest"` (our choice and the
default) only to the largest cells, until they contain the noisy number of records: see `heaviest`. Inertia relative to
KMeans, published / largest on even grids (geometric means over six kinds of data, `python -m benchmarks.grid`):

    d  n         eps 0.1      0.3          1            3
    2  150       3.58 / 3.61  3.27 / 3.27  2.36 / 2.36  1.45 / 1.44
    2  1000      2.59 / 2.59  1.61 / 1.62  1.15 / 1.12  1.07 / 1.03
    2  10000     1.14 / 1.13  1.07 / 1.03  1.04 / 1.01  1.05 / 1.01
    2  100000    1.05 / 1.01  1.07 / 1.00  1.06 / 1.00  1.05 / 1.00
    3  150       4.78 / 4.84  4.13 / 4.14  2.75 / 2.74  1.74 / 1.72
    3  1000      3.16 / 3.15  1.92 / 1.91  1.32 / 1.26  1.20 / 1.05
    3  10000     1.32 / 1.26  1.19 / 1.06  1.21 / 1.03  1.22 / 1.01
    3  100000    1.20 / 1.04  1.22 / 1.02  1.29 / 1.03  1.09 / 1.00

In one dimension, the two agree within 0.3 %. At n eps = 15, everything is noise, the grid has a few cells, and the
differences are within two standard errors; "largest" is better whenever the grid separates records from empty space.

Notation, paper -> code: M -> cells_per_axis^d, N -> n_records, theta = 10 -> `grids.CELL_WEIGHT`, k -> n_clusters.

Why it is epsilon-DP. Points are clipped to the public box. The grid follows from public parameters and a public or
noisy number of records whose cost is part of epsilon, and from the noisy marginals if it is fitted: one record is in
one bin of each of d marginals, so Laplace noise of scale d/eps_m on every bin is eps_m-DP. One record is in
exactly one cell of a grid that is public by then. A nested grid is two such grids, the second cut by the noisy counts
of the first, each with its own epsilon (composition).
- ADD_REMOVE: adding it moves one count by 1. Laplace noise of scale 1/eps on every cell, also an empty one, is eps-DP.
- REPLACE: changing it moves at most two counts, by 1 each: L1 sensitivity 2, scale 2/eps.
The starts, the weighted k-means, the choice of the best run and the clusters' counts see noisy counts only:
post-processing. A noisy number of records costs 2 % of epsilon and its rest goes to the cells (composition).
"""

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np

from dpviz.accounting import LaplaceEvent, Purpose, cell_event
from dpviz.baselines._base import KnownSize, OneShotParams, known_size, size_caveats, size_differs
from dpviz.core import (
    Adjacency,
    Box,
    Centers,
    CentersRelease,
    Claim,
    Confidential,
    Counts,
    Event,
    FloatArray,
    Guarantee,
    Points,
    Result,
    Step,
    collect,
    frozen,
    immutable,
    knob,
    unit_records,
    whole,
)
from dpviz.data import ArrayChunks, Chunks, as_chunks, trusting
from dpviz.mechanisms import SUMS_CAVEAT, laplace
from dpviz.solvers import assign, public_start
from dpviz.solvers.grids import (
    MARGINAL_SHARE,
    MAX_CELLS,
    OUTER_SHARE,
    CellGrid,
    NestedGrid,
    cut_again,
    even_grid,
    even_side,
    fitting,
    grid_of,
    heaviest,
    marginal_counts,
    outer_cells,
    spread_within,
    worth_nesting,
)
from dpviz.solvers.weighted import WeightedPath, cell_counts, searched_cells, weighted_kmeans

TITLE = "EUGkM (noisy grid)"
PAPER = "Su, Cao, Li, Bertino & Jin, Differentially Private k-Means Clustering (CODASPY 2016)"

POSITIVE_CAVEAT = (
    "Every cell with a positive noisy count affects the clustering, and half of the empty cells have one: empty "
    "space has too much weight."
)
LARGEST_CAVEAT = (
    "Only the largest noisy counts affect the clustering, as many as contain the noisy number of records: thin "
    "clusters may be lost in the noise."
)
CAPPED_CAVEAT = (
    f"The rule asked for more cells than the {MAX_CELLS:,} allowed here: the grid is coarser than the paper's."
)
ONE_CELL_CAVEAT = (
    "The grid has one cell: the run releases a noisy number of records, but nothing about their places. The centers "
    "are public: no record moves them."
)
# These clauses apply to every run: ε, the number of columns and a noisy or public number of records decide whether the
# cells are bought.
FITTED = (
    f"if the noisy or public number of records is large enough, {100.0 * MARGINAL_SHARE:g} % of ε pays for noisy "
    "marginals that the grid follows"
)
NESTED = (
    f"if it is large enough for that as well, {100.0 * OUTER_SHARE:g} % of the rest pays for noisy counts of large "
    "cells, which decide how they are cut again"
)


@immutable
class Params(OneShotParams):
    """Parameters, all public."""

    cells: str = knob(
        "largest",
        "Cells that count",
        "The largest noisy counts, until they hold the noisy number of records; or every positive one, which "
        "includes the noise of empty space.",
        choices=(("largest", "The largest"), ("published", "Every positive one (as published)")),
    )
    grid: str = knob(
        "nested",
        "Grid",
        "Fitted: a fifth of ε pays for noisy marginals first, and cells are small in crowded places. Cut again: "
        "large cells are counted first, and the full ones are cut into small cells. Even: equal cells, as published.",
        choices=(
            ("nested", "Fitted, and full cells cut again"),
            ("fitted", "Fitted to noisy marginals"),
            ("even", "Even (as published)"),
        ),
    )
    cells_per_axis: int | None = whole(
        "Cells along each axis of an even grid. None: the rule for M in section 4.", least=1, source="the paper"
    )

    @property
    def is_even(self) -> bool:
        """Return True for an even grid for all records, with a cell's records at its center."""
        return self.grid == "even" or self.cells_per_axis is not None


@immutable(kw_only=True)
class GridRelease(CentersRelease):
    """Centers in data units, the noisy count of each cluster, and the whole noisy grid over the box."""

    # (m,). May be negative.
    noisy_cell_counts: Counts
    # Depends only on public inputs and noisy counts.
    grid: CellGrid | NestedGrid


@immutable
class GridStep(Step):
    """One iteration of the weighted k-means, in box units. The grid is the same in every step."""

    in_box: ClassVar[tuple[str, ...]] = ("previous_centers", "released_centers")

    # From 1; 0 if all weights are 0 and nothing moved.
    iteration: int
    nonprivate_cell_counts: Counts  # (m,)
    noisy_cell_counts: Counts  # (m,)
    grid: CellGrid | NestedGrid
    # Weight of one box unit along each axis in a distance, (d,).
    units: FloatArray
    previous_centers: Centers  # (k, d)
    released_centers: Centers  # (k, d)
    # Cost of the released centers on the cells with positive weight.
    noisy_cost: float
    # Whether the rule asked for more than MAX_CELLS.
    capped: bool
    # All events are in the first step.
    events: tuple[Event, ...]


def fit(
    points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator
) -> Result[GridRelease, GridStep]:
    """Cluster `points` (n, d), clipped to the public `box`, with epsilon-DP under `params.adjacency`.

    The proof is in the module's docstring. With many columns the grid is coarse, with more than 16 it is one cell, and
    the caveats report this. Points may come in chunks. Raises ValueError for bad points and a grid of more than
    MAX_CELLS cells.
    """
    trace = collect(fit, steps, points, box, params, Params, rng)
    last, adjacency = trace[-1], params.neighbors
    places = _places(last.grid, params.is_even)
    each = len(places) // len(last.noisy_cell_counts)
    labels = assign(places * last.units, last.released_centers * last.units)
    # All released counts, including negative ones, because these sums are unbiased.
    weights = np.repeat(last.noisy_cell_counts / each, each)
    noisy_counts = np.bincount(labels, weights=weights, minlength=params.n_clusters)
    release = GridRelease(
        centers=box.clip(box.from_unit(last.released_centers)),
        noisy_counts=noisy_counts.astype(np.float64),
        noisy_cell_counts=last.noisy_cell_counts,
        grid=last.grid,
    )
    grid = (
        "a public grid" if params.is_even else "a grid that follows public inputs and counts with Laplace noise alone"
    )
    claim = Claim(params.epsilon, 0.0, adjacency, f"Laplace histogram on {grid}; the rest is post-processing")
    published = Claim(params.epsilon, 0.0, Adjacency.ADD_REMOVE, f"{PAPER}, section 4: noise of scale 1/epsilon")
    counted = "" if params.cells_per_axis is not None else size_differs(params.n_public, adjacency)
    wider = "the noise is twice as wide, for one record replaced" if adjacency is Adjacency.REPLACE else ""
    bought = (FITTED, NESTED) if params.grid == "nested" else (FITTED,)
    differs = "; ".join(filter(None, (counted, *(() if params.is_even else bought), wider)))
    weigh = LARGEST_CAVEAT if params.cells == "largest" else POSITIVE_CAVEAT
    caveats = (
        ONE_CELL_CAVEAT if len(last.noisy_cell_counts) == 1 else weigh,
        *((CAPPED_CAVEAT,) if last.capped else ()),
        *(size_caveats(params.n_public, adjacency) if params.cells_per_axis is None else ()),
        SUMS_CAVEAT,
    )
    return Result.from_trace(release, trace, trusting(Guarantee(published, claim, caveats, differs), points))


def steps(points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator) -> Iterator[GridStep]:
    """Yield one `GridStep` for each iteration of the weighted k-means; the first has all events."""
    records, adjacency = as_chunks(points, n_features=box.d), params.neighbors
    size_rng, noise_rng, start_rng, marginal_rng, outer_rng = rng.spawn(5)
    needed = params.cells_per_axis is None
    size = known_size(records.n, params.epsilon, params.n_public, adjacency, needed=needed, rng=size_rng)
    most = int(MAX_CELLS ** (1.0 / box.d) + 1e-9)
    # The number of cells along each axis, and whether the rule asked for more.
    side, capped = params.cells_per_axis, False
    if side is None:
        side, capped = even_side(size.epsilon, size.n_records, box.d)
    elif side > most:
        raise ValueError(
            f"cells_per_axis must be at most {most} with {box.d} columns, because the grid may have "
            f"{MAX_CELLS:,} cells, got {side}. Lower it, or use None for the default rule."
        )
    # As published, distances are in the unit box. With fitted grids, they are in the data's units.
    units = np.ones(box.d) if params.is_even else frozen(box.widths / box.widths.max())
    plan = _Plan(even_grid((side,) * box.d), size.epsilon, units, (), capped)
    if not params.is_even:
        rngs = (marginal_rng, outer_rng)
        plan = _fitted(plan, records, box, size, adjacency, again=params.grid == "nested", rngs=rngs)
    grid, event = plan.grid, cell_event("cell counts", plan.epsilon, adjacency, purpose=Purpose.CELLS, step=1)
    exact = frozen(_added(records, box, grid.counts if plan.events else partial(cell_counts, side=side)))
    noisy = laplace(exact, scale=event.scale, rng=noise_rng)
    if isinstance(grid, NestedGrid) and plan.outer is not None:
        noisy = grid.consistent(noisy, plan.outer, scale=event.scale, outer_scale=plan.events[-1].scale)
    noisy = frozen(noisy)
    path = _cluster(noisy, plan, params, event.scale, rng=start_rng)
    for i in range(max(1, len(path.centers) - 1)):
        j = min(i + 1, len(path.centers) - 1)
        before, after = frozen(path.centers[i]), frozen(path.centers[j])
        events = (*size.events, *plan.events, event) if i == 0 else ()
        yield GridStep(j, exact, noisy, grid, plan.units, before, after, path.costs[j], plan.capped, events)


@immutable
class _Plan(Confidential):
    """Grid before its cells are counted."""

    grid: CellGrid | NestedGrid
    # Budget for the cells.
    epsilon: float
    units: FloatArray
    # Events of the marginals, then of the outer cells; empty for an even grid.
    events: tuple[LaplaceEvent, ...]
    capped: bool
    # Noisy counts of a nested grid's outer cells.
    outer: Counts | None = None


def _fitted(
    even: _Plan,
    records: Chunks,
    box: Box,
    size: KnownSize,
    adjacency: Adjacency,
    *,
    again: bool,
    rngs: tuple[np.random.Generator, np.random.Generator],
) -> _Plan:
    """Buy noisy marginals and return a grid fitted to them, or the even grid if noise would hide them.

    `again` also releases counts of few large cells and divides these cells again, if this is worth its cost.
    """
    plan = fitting(size.epsilon, size.n_records, box.d, sensitivity=2 if adjacency is Adjacency.REPLACE else 1)
    if plan is None:
        return even
    event = cell_event("marginals", plan.marginals, adjacency, purpose=Purpose.MARGINALS, grids=box.d)
    exact = _added(records, box, partial(marginal_counts, n_bins=plan.n_bins))
    noisy, units = laplace(exact, scale=event.scale, rng=rngs[0]), even.units
    if not (again and worth_nesting(plan.cells, size.n_records, box.d)):
        grid = grid_of(noisy, plan.most_cells, units, scale=event.scale)
        return _Plan(grid, plan.cells, units, (event,), plan.capped)
    spent = OUTER_SHARE * plan.cells
    outer = grid_of(noisy, outer_cells(spent, size.n_records, box.d), units, scale=event.scale)
    bought = cell_event("counts of large cells", spent, adjacency, purpose=Purpose.CELLS, step=1)
    large = laplace(_added(records, box, outer.counts), scale=bought.scale, rng=rngs[1])
    # Not computed as a difference, because both are infinite without noise.
    epsilon = (1.0 - OUTER_SHARE) * plan.cells
    nested = cut_again(outer, large, noisy, units, epsilon=epsilon, scale=event.scale)
    return _Plan(nested, epsilon, units, (event, bought), plan.capped, frozen(large))


def _added(records: Chunks, box: Box, counted: Callable[[Points], Counts]) -> Counts:
    """Add up the counts of all blocks of records, box units; records in memory are scaled once for all runs."""
    if isinstance(records, ArrayChunks):
        parts = ArrayChunks(unit_records(records.points, box)).each_block(counted)
    else:
        parts = records.each_block(partial(_counted_in_units, box, counted))
    return sum(parts, start=counted(np.empty((0, box.d))))


def _counted_in_units(box: Box, counted: Callable[[Points], Counts], block: Points) -> Counts:
    return counted(box.to_unit(box.clip(block)))


def _cluster(noisy: Counts, plan: _Plan, params: Params, scale: float, *, rng: np.random.Generator) -> WeightedPath:
    """Run weighted k-means on cells with positive weight, from public and noisy starts; distances in `plan.units`."""
    packing_rng, spread_rng = rng.spawn(2)
    units = plan.units
    packing = public_start(params.n_clusters, len(units), seed=params.start_seed, rng=packing_rng) * units
    weights = heaviest(noisy, params.n_clusters, scale=scale) if params.cells == "largest" else np.maximum(noisy, 0.0)
    # A single cell has weight 1 for any noisy count, so that its count does not move the centers.
    if len(noisy) == 1:
        weights = np.ones(1)
    weighs = weights > 0
    if not weighs.any():
        return _unscaled(WeightedPath((packing,), (0.0,)), units)
    places = _places(plan.grid, params.is_even) * units
    each = len(places) // len(weights)
    places, weights = places[np.repeat(weighs, each)], np.repeat(weights[weighs] / each, each)
    if len(places) == 1:
        return _unscaled(weighted_kmeans(places, weights, (packing,)), units)
    return _unscaled(searched_cells(places, weights, packing, rng=spread_rng), units)


# Results for one run, and for all runs with the same even grid.
@lru_cache(maxsize=4)
def _places(grid: CellGrid | NestedGrid, is_even: bool) -> Points:
    """Return one or several places that represent the records of each cell, cell after cell."""
    return frozen(grid.places() if is_even else spread_within(grid.places(), *grid.walls()))


def _unscaled(path: WeightedPath, units: FloatArray) -> WeightedPath:
    """Return a path with centers in box units."""
    return WeightedPath(tuple(centers / units for centers in path.centers), path.costs)
