"""A private curve of cost against k: one noisy grid, read for every k at one price.

Mechanism. EUGkM's noisy histogram (`dpviz.baselines.eugkm`) on a public grid over the public box. For each k from 1 to
MOST_K, weighted k-means runs on the middles of the cells that weigh; its cost, and what records lie around the middles
of their cells if they are spread evenly in them, is one value of the curve.

Budget. The grid is the only thing that reads the records. It is epsilon-DP under the adjacency asked for, with the
noisy number of records that it takes paid from the same epsilon: the proof stands in `dpviz.baselines.eugkm`, and its
events are the events here. `curve_of` is a function of the noisy grid and of public numbers, with public random starts,
so that the curve for all k, and whatever k is read off it, is post-processing (Dwork & Roth 2014, proposition 2.1) and
spends nothing more. A second curve is a second release: their budgets add up.

The suggestion is the knee: the k whose point lies farthest below the line between the curve's ends, the costs on a
logarithmic axis (Satopää, Albrecht, Irwin & Raghavan 2011, "Finding a Kneedle in a Haystack"; the logarithm is ours: on
a plain axis 8 groups looked like 5). It is a reading, not a proof that there are so many groups.
"""

from dataclasses import dataclass

import numpy as np

from dpviz.accounting import LaplaceEvent, Purpose
from dpviz.baselines import eugkm
from dpviz.core import Box, Counts, Event, FloatArray, Guarantee, Points, Release, frozen, functions
from dpviz.solvers import public_start
from dpviz.solvers.grids import even_grid, heaviest
from dpviz.solvers.weighted import spread_start, weighted_kmeans

MOST_K = 20
STARTS = 8  # on the noisy cells for each k, besides the public packing; ours


@dataclass(frozen=True, slots=True, eq=False)
class CurveRelease(Release):
    """What a look at the curve publishes."""

    costs: FloatArray  # (MOST_K,) for k = 1, 2, ..., as shares of the cost of one center; never rising
    suggested: int  # the knee
    noisy_cell_counts: Counts  # (m1 ... md,) the grid that the curve is read from
    shape: tuple[int, ...]  # (m1, ..., md)


@dataclass(frozen=True, slots=True, eq=False)
class KCurve:
    """One look: what is published, what it spends, and what is promised."""

    release: CurveRelease
    events: tuple[Event, ...]
    guarantee: Guarantee


def private_curve(points: Points, box: Box, epsilon: float, adjacency: str, *, rng: np.random.Generator) -> KCurve:
    """Return the curve of `points` (n, d), clipped into the public `box`, with epsilon-DP; the proof stands above.

    `adjacency` is "add_remove" or "replace". Raises ValueError as EUGkM does.
    """
    params = eugkm.Params(n_clusters=1, epsilon=epsilon, adjacency=adjacency, grid="even")
    result = eugkm.fit(points, box, params, rng=rng)
    grid = result.release
    scale = next(
        event.scale for event in result.events if isinstance(event, LaplaceEvent) and event.purpose is Purpose.CELLS
    )
    shape = (round(len(grid.noisy_cell_counts) ** (1.0 / box.d)),) * box.d
    costs = curve_of(grid.noisy_cell_counts, shape, scale)
    return KCurve(CurveRelease(costs, knee(costs), grid.noisy_cell_counts, shape), result.events, result.guarantee)


def curve_of(noisy: Counts, shape: tuple[int, ...], scale: float) -> FloatArray:
    """Return the costs (MOST_K,) on a noisy grid whose noise has this scale, as shares of the cost of one center.

    Public: it sees released and public numbers alone. All 1 where at most one cell weighs: such a grid says nothing.
    """
    weights = heaviest(noisy, 1, scale=scale)
    weighs = weights > 0
    if weighs.sum() < 2:
        return frozen(np.ones(MOST_K))
    places, weights = even_grid(shape).places()[weighs], weights[weighs]
    # Records that are even over a cell of side h lie d h^2 / 12 around its middle, squared and on average.
    within = float(weights.sum()) * sum(1.0 / side**2 for side in shape) / 12.0
    costs = []
    for k in range(1, MOST_K + 1):
        packing_rng, spread_rng = np.random.default_rng(k).spawn(2)
        packing = public_start(k, len(shape), seed=0, rng=packing_rng)
        spread = (spread_start(places, weights, packing, rng=spread_rng) for _ in range(STARTS))
        costs.append(weighted_kmeans(places, weights, (packing, *spread)).costs[-1] + within)
    # One center more never costs more: where it seems to, its starts were worse.
    falling = np.minimum.accumulate(costs)
    return frozen(np.asarray(falling / falling[0]))


def knee(costs: FloatArray) -> int:
    """Return the k (from 1) whose cost (m,) > 0 lies farthest below the line between the ends; 1 if nothing falls."""
    logs = functions.log(costs)
    fall = logs[0] - logs[-1]
    if not fall > 0:
        return 1
    across = np.arange(len(costs)) / (len(costs) - 1.0)
    return 1 + int(np.argmax(1.0 - across - (logs - logs[-1]) / fall))
