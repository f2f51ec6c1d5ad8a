"""LSH-Splits: a tree of random hyperplanes through the private mean, and k-means on the averages of its leaves.

Chang, Ghazi, Kumar & Manurangsi, "Locally Private k-Means in One Round" (ICML 2021), in the central form of the
authors' library; the private mean before it is from Liebenow et al., section 6.1.

Notation, paper -> code: SimHash -> `planes`, bit l of a record is its side of plane l; prefix -> a node.
The library's constants: alpha -> 1 / mu, sigma = alpha radius, Laplace parameter 1 / (20 alpha) of every level.

A node with at least `branch_minimum` noisy records is cut by the plane of its level. A side with fewer than
`leaf_minimum` is dropped with its records, and a node that keeps no side is a leaf, as in the library.

Why it is (epsilon, delta)-DP. Records are clipped to the public box and scaled to [0, 1]^d. The run releases
1. a number of records, noisy if it is not public: SIZE_SHARE of epsilon. It determines delta and both minima;
2. the mean: Gaussian noise on the sum of x - 1/2 (sensitivity: `_base.sums_event`), divided by that number. Its budget
   is CENTER_SHARE of the remaining epsilon and of delta. The planes are public;
3. for each level, the noisy counts of the nodes' sides. Nodes are disjoint and follow from the mean and the levels
   above, so one record pays once per level (twice under REPLACE): randomized response of a = mu / 20 (`_base`);
4. for all leaves, which are also disjoint, the sum of x - 1/2 with Gaussian noise: mu-GDP.
Steps 3 and 4 spend (1 - CENTER_SHARE) of both. mu is found with `max_depth` levels, whose noise is fixed before the
first draw, so the composition of their dominating pairs is a bound for all releases. A level that no node reaches
counts as spent. Steps 1, 2 and 3-4 add up to (epsilon, delta). Weights and k-means are post-processing.
"""

import math
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from dpviz.accounting import GaussianEvent, gdp_mu
from dpviz.baselines._base import (
    ApproxParams,
    as_stated,
    counts_event,
    delta_caveats,
    joint_mu,
    known_size,
    most_delta,
    noisy_whole,
    own_delta,
    size_caveats,
    sums_event,
)
from dpviz.core import (
    Account,
    Adjacency,
    Box,
    Budget,
    Centers,
    CentersRelease,
    Claim,
    Counts,
    Event,
    FloatArray,
    Guarantee,
    Labels,
    Points,
    Result,
    Step,
    collect,
    immutable,
    knob,
    projections,
    unit_records,
)
from dpviz.mechanisms import SUMS_CAVEAT, gaussian
from dpviz.solvers import BOX_MIDDLE, assign, centered_sums, cluster_sums, public_start
from dpviz.solvers.weighted import spread_start, weighted_kmeans

TITLE = "LSH-Splits"
PAPER = "Chang, Ghazi, Kumar & Manurangsi, Locally Private k-Means in One Round (ICML 2021)"
# From the authors' library.
MAX_DEPTH = 20
# epsilon of a level is mu / 20: the Laplace multiplier of the authors' library.
COUNT_RATIO = 20.0
# Share of the budget for the private mean. Our choice; Liebenow et al. do not state theirs.
CENTER_SHARE = 0.1
# A leaf of 10 sqrt(d) sigma / radius records has noise of a tenth of the radius. From the authors' library.
LOW_NOISE = 10.0
# branch_minimum / leaf_minimum, from the authors' library.
BRANCH_FACTOR = 3.0
# Starts of k-means++ on the leaves, besides the public packing. Our choice.
RESTARTS = 8

DIFFERS = "a private mean comes first, counts get whole-number noise, and all levels are composed together"
DROPPED_CAVEAT = (
    "Every plane goes through the mean, and a side with few noisy records is dropped with the records in it."
)


@immutable
class Params(ApproxParams):
    """Parameters, all public; `start_seed` is the seed of the planes and of the k-means starts."""

    max_depth: int = knob(
        MAX_DEPTH,
        "Deepest level",
        "Levels of hyperplanes. Each level costs budget, even if it is not reached.",
        low=1,
        high=MAX_DEPTH,
        minimum=1,
        maximum=40,
        source="the authors' code",
    )


@immutable
class LshPlan:
    """Plan that depends only on public parameters and the public or noisy number of records."""

    n_records: float
    # Delta of the whole run, to which the noise is calibrated.
    delta: float
    # Largest delta over all noisy numbers of records.
    most_delta: float
    mean: GaussianEvent
    # a, the budget of each level's counts.
    level_epsilon: float
    averages: GaussianEvent
    leaf_minimum: float
    branch_minimum: float
    size_events: tuple[Event, ...]


class LshStep(Step):
    """Base of this method's steps; curator only."""

    __slots__ = ()
    events: tuple[Event, ...]


@immutable
class MeanStep(LshStep):
    """The plan, the private mean and the public planes, in box units."""

    in_box: ClassVar[tuple[str, ...]] = ("nonprivate_mean", "noisy_mean")

    plan: LshPlan
    nonprivate_mean: FloatArray  # (d,)
    noisy_mean: FloatArray  # (d,)
    # Public normals, (depth, d).
    planes: FloatArray
    events: tuple[Event, ...]


@immutable
class LshLevelStep(LshStep):
    """Sides of one level's branching nodes: 2 b sides, the far and near side of each node in turn."""

    # From 1.
    level: int
    # Parent of each side, as an index into the level above, (2 b,).
    parents: Labels
    nonprivate_counts: Counts  # (2 b,)
    noisy_counts: Counts  # (2 b,)
    # Sides that are nodes of this level, in order.
    node_sides: Labels
    # Node of this level with each record, (n,); -1 for none.
    nonprivate_nodes: Labels
    events: tuple[Event, ...]


@immutable
class CoresetStep(LshStep):
    """The averages of the leaves and k-means on them, in box units."""

    in_box: ClassVar[tuple[str, ...]] = ("places", "released_centers")

    # Leaf of each record, (n,); -1 if the record was dropped.
    nonprivate_leaves: Labels
    nonprivate_counts: Counts  # (m,)
    # Sums of x - 1/2, (m, d).
    nonprivate_sums: FloatArray
    # Noisy counts, (m,).
    weights: Counts
    # Level of each leaf, (m,).
    depths: Labels
    # Noisy averages, (m, d).
    places: Points
    released_centers: Centers  # (k, d)
    # Sum of the weights of each cluster's leaves, (k,).
    cluster_counts: Counts
    events: tuple[Event, ...]


@immutable(kw_only=True)
class CoresetRelease(CentersRelease):
    """Centers in data units, and the weighted leaves behind them."""

    places: Points  # (m, d), data units
    # Noisy counts, (m,).
    weights: Counts
    depths: Labels  # (m,)
    # Noisy, (d,), data units. Every plane goes through it.
    mean: FloatArray
    # Normals, (depth, d), box units.
    planes: FloatArray


class LshLeaves:
    """Leaves so far, with the leaf of each record, and the leaves' noisy counts and depths."""

    def __init__(self, where: Labels) -> None:
        """Start without leaves; `where` (n,) is -1."""
        self.where = where
        self.weights: list[float] = []
        self.depths: list[int] = []
        self.n_levels = 0

    def add(self, nodes: Labels, done: Labels, counts: Counts, level: int) -> None:
        """Make leaves of the nodes `done` of one level; `nodes` (n,) is the node of each record, -1 for none."""
        # The last entry is for node -1.
        number = np.full(len(counts) + 1, -1, dtype=np.intp)
        number[done] = len(self.weights) + np.arange(len(done))
        self.where = np.where(number[nodes] >= 0, number[nodes], self.where)
        self.weights.extend(counts[done].tolist())
        self.depths.extend([level] * len(done))


def fit(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Result[CoresetRelease, LshStep]:
    """Cluster `points` (n, d), clipped to the public `box`, with (epsilon, delta)-DP under `params.adjacency`.

    The proof is in the module's docstring. Raises ValueError for bad points.
    """
    trace = collect(fit, steps, points, box, params, Params, rng)
    first, last = trace[0], trace[-1]
    assert isinstance(first, MeanStep)
    assert isinstance(last, CoresetStep)
    release = CoresetRelease(
        centers=box.clip(box.from_unit(last.released_centers)),
        noisy_counts=last.cluster_counts,
        places=box.clip(box.from_unit(last.places)),
        weights=last.weights,
        depths=last.depths,
        mean=box.from_unit(first.noisy_mean),
        planes=first.planes,
    )
    adjacency, plan = params.neighbors, first.plan
    words = "a private mean; level counts and leaf sums composed together"
    claim = Claim(params.epsilon, plan.most_delta, adjacency, words, account=Account.PLD, delta_in_run=plan.delta)
    known = size_caveats(params.n_public, adjacency)
    caveats = (DROPPED_CAVEAT, *delta_caveats(params.delta, params.n_public, adjacency), *known, SUMS_CAVEAT)
    return Result.from_trace(release, trace, Guarantee(as_stated(claim, PAPER), claim, caveats, DIFFERS))


def steps(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Iterator[LshStep]:
    """Yield a `MeanStep`, a `LshLevelStep` for each level that a node reaches, and a `CoresetStep`."""
    unit, adjacency = unit_records(points, box), params.neighbors
    size_rng, mean_rng, plane_rng, tree_rng, sum_rng = rng.spawn(5)
    plan = make_plan(len(unit), box.d, params, rng=size_rng)
    chosen = plane_rng if params.start_seed is None else np.random.default_rng(params.start_seed)
    planes = chosen.standard_normal((params.max_depth, box.d))
    total = (unit - BOX_MIDDLE).sum(axis=0)
    noisy = BOX_MIDDLE + gaussian(total, sigma=plan.mean.sigma, rng=mean_rng) / max(plan.n_records, 1.0)
    mean = np.clip(noisy, 0.0, 1.0)
    exact = BOX_MIDDLE + total / max(len(unit), 1)
    yield MeanStep(plan, exact, mean, planes, (*plan.size_events, plan.mean))
    leaves = LshLeaves(np.full(len(unit), -1, dtype=np.intp))
    yield from _grow_tree(unit - mean, planes, plan, leaves, adjacency, rng=tree_rng)
    unreached = tuple(
        counts_event(f"counts of level {level}, not reached", plan.level_epsilon, adjacency)
        for level in range(leaves.n_levels + 1, params.max_depth + 1)
    )
    yield _coreset(unit, leaves, plan, params, unreached, rng=sum_rng)


def make_plan(n: int, d: int, params: Params, *, rng: np.random.Generator) -> LshPlan:
    """Fix delta, noise and minima; count the `n` records with noise if their number is not public."""
    adjacency = params.neighbors
    size = known_size(n, params.epsilon, params.n_public, adjacency, rng=rng)
    delta = own_delta(params.delta, size)
    mean_budget = Budget(CENTER_SHARE * size.epsilon, CENTER_SHARE * delta)
    times = 1 if adjacency is Adjacency.ADD_REMOVE else 2
    rest = (1.0 - CENTER_SHARE) * size.epsilon, (1.0 - CENTER_SHARE) * delta
    mu = joint_mu(times * params.max_depth, COUNT_RATIO, *rest)
    low_noise = math.floor(LOW_NOISE * math.sqrt(d) / mu)
    leaf_minimum = max(1.0, min(low_noise, math.floor(size.n_records / (2.0 * params.n_clusters))))
    return LshPlan(
        n_records=size.n_records,
        delta=delta,
        most_delta=most_delta(params.delta, size),
        mean=sums_event("mean", d, gdp_mu(mean_budget), adjacency),
        level_epsilon=mu / COUNT_RATIO,
        averages=sums_event("averages of the leaves", d, mu, adjacency),
        leaf_minimum=leaf_minimum,
        branch_minimum=BRANCH_FACTOR * leaf_minimum,
        size_events=size.events,
    )


def sides(gaps: Points, plane: FloatArray) -> Labels:
    """Return the bit (n,) of each record: 1 if x - mean, its row of `gaps` (n, d), is in front of the plane."""
    return np.asarray(projections(gaps, plane[None])[:, 0] > 0.0, dtype=np.intp)


def _grow_tree(
    gaps: Points,
    planes: FloatArray,
    plan: LshPlan,
    leaves: LshLeaves,
    adjacency: Adjacency,
    *,
    rng: np.random.Generator,
) -> Iterator[LshLevelStep]:
    """Yield level after level and fill `leaves`; the records are the rows of `gaps`."""
    # All records are in the root.
    nodes = np.zeros(len(gaps), dtype=np.intp)
    counts = np.array([plan.n_records])
    for level, plane in enumerate(planes, start=1):
        branching = np.flatnonzero(counts >= plan.branch_minimum)
        if not len(branching):
            break
        number = np.full(len(counts) + 1, -1, dtype=np.intp)
        number[branching] = np.arange(len(branching))
        parent = number[nodes]
        inside = np.flatnonzero(parent >= 0)
        side = 2 * parent[inside] + sides(gaps[inside], plane)
        exact = np.bincount(side, minlength=2 * len(branching)).astype(np.float64)
        noisy = noisy_whole(exact, plan.level_epsilon, rng=rng)
        passing = np.flatnonzero(noisy >= plan.leaf_minimum)
        is_leaf = np.ones(len(counts), dtype=np.bool_)
        # A branching node that keeps no side stays a leaf.
        is_leaf[branching[passing // 2]] = False
        leaves.add(nodes, np.flatnonzero(is_leaf), counts, level - 1)
        renumbered = np.full(2 * len(branching), -1, dtype=np.intp)
        renumbered[passing] = np.arange(len(passing))
        nodes = np.full(len(gaps), -1, dtype=np.intp)
        nodes[inside] = renumbered[side]
        leaves.n_levels = level
        event = counts_event(f"counts of level {level}", plan.level_epsilon, adjacency)
        yield LshLevelStep(level, np.repeat(branching, 2), exact, noisy, passing, nodes, (event,))
        counts = noisy[passing]
    leaves.add(nodes, np.arange(len(counts)), counts, leaves.n_levels)


def _coreset(
    unit: Points,
    leaves: LshLeaves,
    plan: LshPlan,
    params: Params,
    unreached: tuple[Event, ...],
    *,
    rng: np.random.Generator,
) -> CoresetStep:
    """Average the leaves with noise, and cluster the averages with their noisy counts as weights."""
    sum_rng, packing_rng, spread_rng = rng.spawn(3)
    n_leaves, inside = len(leaves.weights), leaves.where >= 0
    exact = cluster_sums(unit[inside], leaves.where[inside], n_leaves)
    sums = centered_sums(exact)
    weights = np.array(leaves.weights)
    noisy = gaussian(sums, sigma=plan.averages.sigma, rng=sum_rng)
    places = np.clip(BOX_MIDDLE + noisy / np.maximum(weights, 1.0)[:, None], 0.0, 1.0)
    centers = public_start(params.n_clusters, unit.shape[1], seed=params.start_seed, rng=packing_rng)
    weighs = weights > 0
    if weighs.any():
        heavy, mass = places[weighs], weights[weighs]
        spread = tuple(spread_start(heavy, mass, centers, rng=spread_rng) for _ in range(RESTARTS))
        centers = weighted_kmeans(heavy, mass, (centers, *spread)).centers[-1]
    near = assign(places, centers)
    return CoresetStep(
        nonprivate_leaves=leaves.where,
        nonprivate_counts=exact.nonprivate_counts,
        nonprivate_sums=sums,
        weights=weights,
        depths=np.array(leaves.depths, dtype=np.intp),
        places=places,
        released_centers=centers,
        cluster_counts=np.bincount(near, weights=weights, minlength=params.n_clusters).astype(np.float64),
        events=(*unreached, plan.averages),
    )
