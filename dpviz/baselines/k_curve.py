"""Private curve of cost against k: one noisy grid gives the costs for every k at one price.

Mechanism. EUGkM's noisy histogram (`dpviz.baselines.eugkm`) on a public grid over the public box. For each k from 1 to
MOST_K, weighted k-means runs on the centers of the cells with positive weight. One value of the curve is its cost plus
the spread of records around the centers of their cells, if they are even in their cells.

Budget. Only the grid reads the records. It is epsilon-DP under the requested adjacency, and the noisy number of records
for it is paid from the same epsilon. The proof is in `dpviz.baselines.eugkm`, and its events are the events here.
`curve_of` is a function of the noisy grid and of public numbers, with public random starts. So the curve for all k, and
any k chosen from it, is post-processing (Dwork & Roth 2014, proposition 2.1) and spends nothing more. A second curve is
a second release: their budgets add up.

The suggestion is the knee: the k whose point lies farthest below the line between the curve's ends, with the costs on a
logarithmic axis (Satopää, Albrecht, Irwin & Raghavan 2011, "Finding a Kneedle in a Haystack"). The logarithm is our
choice: on a linear axis, 8 groups looked like 5. The knee is a suggestion, not a proof of that number of groups.
"""

import numpy as np

from dpviz.accounting import LaplaceEvent, Purpose
from dpviz.baselines import eugkm
from dpviz.core import Box, Counts, Event, FloatArray, Guarantee, Points, Release, frozen, functions, immutable
from dpviz.solvers import public_start
from dpviz.solvers.grids import even_grid, heaviest
from dpviz.solvers.weighted import spread_start, weighted_kmeans

MOST_K = 20
# Starts on the noisy cells for each k, in addition to the public packing. Our choice.
STARTS = 8


@immutable
class CurveRelease(Release):
    """Release of one curve."""

    # Costs for k = 1, 2, ..., as shares of the cost of one center, (MOST_K,). They never rise.
    costs: FloatArray
    # k at the knee.
    suggested: int
    # Grid behind the curve, (m1 ... md,).
    noisy_cell_counts: Counts
    shape: tuple[int, ...]  # (m1, ..., md)


@immutable
class KCurve:
    """Private curve with its release, events and guarantee."""

    release: CurveRelease
    events: tuple[Event, ...]
    guarantee: Guarantee


def private_curve(points: Points, box: Box, epsilon: float, adjacency: str, *, rng: np.random.Generator) -> KCurve:
    """Return the curve of `points` (n, d), clipped to the public `box`, with epsilon-DP; the proof is above.

    `adjacency` is "add_remove" or "replace". Raises the same ValueErrors as EUGkM.
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
    """Return the costs (MOST_K,) on a noisy grid with noise of this scale, as shares of the cost of one center.

    Public, because it uses only released and public numbers. All costs are 1 if at most one cell has positive weight,
    because such a grid has no information.
    """
    weights = heaviest(noisy, 1, scale=scale)
    weighs = weights > 0
    if weighs.sum() < 2:
        return frozen(np.ones(MOST_K))
    places, weights = even_grid(shape).places()[weighs], weights[weighs]
    # Records spread evenly in a cell of side h have an average squared distance of d h^2 / 12 from its center.
    within = float(weights.sum()) * sum(1.0 / side**2 for side in shape) / 12.0
    costs = []
    for k in range(1, MOST_K + 1):
        packing_rng, spread_rng = np.random.default_rng(k).spawn(2)
        packing = public_start(k, len(shape), seed=0, rng=packing_rng)
        spread = (spread_start(places, weights, packing, rng=spread_rng) for _ in range(STARTS))
        costs.append(weighted_kmeans(places, weights, (packing, *spread)).costs[-1] + within)
    # One more center never costs more. If it seems to, its starts were worse.
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
