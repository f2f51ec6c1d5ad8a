"""DPM's centers: a noisy average for each leaf, in one round or two, and the tree as it is released. See `dpm`."""

import math
from collections.abc import Iterable

import numpy as np

from dpviz.accounting import GaussianEvent, ParallelEvent, Purpose, gaussian_sigma
from dpviz.core import (
    BoolArray,
    Box,
    Budget,
    Centers,
    CentersRelease,
    Counts,
    Event,
    FloatArray,
    IntArray,
    Labels,
    Points,
    ReadOnly,
    algebra,
    immutable,
    unit_projected,
)
from dpviz.mechanisms import gaussian
from dpviz.methods.dpm.algorithm.plan import Plan
from dpviz.methods.dpm.algorithm.records import RESOLUTION
from dpviz.methods.dpm.algorithm.tree import DpmStep, Growth, Node
from dpviz.solvers import cluster_sums

# Box units. A record's bin is a whole number, so the record can be this far outside its cell.
EDGE = 2.0 / RESOLUTION
# Our choice, by measurement: Synth-10d costs a fifth, and no shared set costs over 1 % more. With fewer features, cells
# are hardly wider than clusters, so there is little to gain.
TWICE_FROM = 10  # features
# Radius of the second average's ball, in root mean square lengths of the first one's noise.
BALL = 2.0
# Share of half a cell's diagonal. With wider balls, there is only one average.
MOST_BALL = 0.1

Indices = IntArray


@immutable
class SplitTree(ReadOnly):
    """The released tree of m nodes, the root first; places in data units. Every number in it was paid for.

    A leaf may have a tried split, which was refused because a side's noisy count was not above `needed`.
    """

    # (m,) parent of each node, -1 for the root.
    parents: Indices
    # (m, 2) sides below and above, -1 for a leaf.
    children: Indices
    levels: Indices  # (m,)
    # (m, d) low corners of the cells.
    low: FloatArray
    high: FloatArray  # (m, d)
    noisy_counts: Counts  # (m,)
    # (m,) axis of the tried split, -1 if none was tried.
    split_axes: Indices
    # (m,) position of the tried split, NaN if none was tried.
    split_positions: FloatArray
    # (m, 2) noisy counts of the two sides, NaN if no split was tried.
    child_counts: FloatArray
    # (m,) noisy depth of the gap at the tried split. NaN if none was tried, and in published calibration.
    gap_depths: FloatArray
    # (m,) count that both sides had to exceed. Infinite: a clear gap was needed. NaN if no split was tried.
    needed: FloatArray
    # (tau,) count that a side needs at each level in any case. 0 in published calibration.
    least_counts: FloatArray
    # (m,) index of a leaf's center, -1 for other nodes.
    centers: Indices
    # Smallest count of a side without a clear gap.
    minimum_count: float

    def nodes_at(self, level: int) -> Indices:
        """Return the node (k,) at `level`, or the leaf above it, that contains each center's cell.

        A record's node at a level is the node of its center, so a picture of every level needs only one set of labels.
        """
        nodes = np.argsort(self.centers)[np.count_nonzero(self.centers < 0) :]
        for _ in range(int(self.levels.max())):
            nodes = np.where(self.levels[nodes] > level, self.parents[nodes], nodes)
        return np.asarray(nodes, dtype=np.intp)

    def cells(self, points: Points) -> Labels:
        """Return the center (n,) of the leaf that contains each of `points` (n, d). It reveals no other records."""
        nodes = np.zeros(len(points), dtype=np.intp)
        rows = np.arange(len(points))
        for _ in range(int(self.levels.max())):
            above = points[rows, self.split_axes[nodes]] >= self.split_positions[nodes]
            following = self.children[nodes, above.astype(np.intp)]
            nodes = np.where(following >= 0, following, nodes)
        return self.centers[nodes]


@immutable(kw_only=True)
class TreeRelease(CentersRelease):
    """Centers in data units with their noisy counts, their tree, and the amount of noise in them."""

    tree: SplitTree
    # (k, d) standard deviation of a center's noise along each axis, before clipping. If there are two averages, it is
    # the first one's, which is an upper bound: the noise left after the second one depends on the width of the cluster,
    # which is not released.
    center_sigmas: FloatArray
    interval_sizes: FloatArray  # (d,) data units


@immutable
class CentersStep(DpmStep):
    """The averages of the leaves, in data units. Curator only."""

    # Budget of the averages.
    budget: Budget
    # (k,) node numbers of the leaves in the tree.
    leaves: Indices
    # (n,) leaf of each record, as an index of a center. (0,) if the records come in chunks.
    nonprivate_labels: Labels
    nonprivate_counts: Counts  # (k,)
    # (k, d) exact means. An empty leaf's mean is the middle of its cell.
    nonprivate_centers: Centers
    noisy_counts: Counts  # (k,)
    # Number of rounds of averages. 2 if there is a second one, of moves within a ball around the first. Released.
    n_rounds: int
    # (k, d) centers without their last noise, before clipping.
    nonprivate_noiseless: Centers
    # (k,) standard deviations of the noise on the last sums, in units of `axis_units`.
    sigmas: FloatArray
    axis_units: FloatArray  # (d,) data units
    # (k, d) as in `TreeRelease`.
    center_sigmas: FloatArray
    tree: SplitTree
    # (k, d) as released.
    centers: Centers
    # (k,) whether the average was outside and was moved to the nearest place inside.
    clipped: BoolArray
    events: tuple[Event, ...]


def average(
    box: Box, tree: Growth, plan: Plan, budget: Budget, *, published: bool, rng: np.random.Generator
) -> CentersStep:
    """Release noisy sum / noisy count of every leaf; the leaves are disjoint, so each may spend `budget`.

    Repaired: the sum of u - middle of the leaf's own cell, a public place, with records and cells in the box's own
    units [0, 1]^d. Rounding errors are then small compared with the sensitivity, wherever the box is. |u - middle| is
    at most half the cell's diagonal. The average is clipped into the cell. Published: the sum of x, in data units,
    where |x| is at most the norm of the box's farthest corner; clipped into the box. A noisy count below 1 counts as 1.

    If `ball_shares` are small, there is a second round, in repaired calibration only: the sum of u - first average,
    which is a released place by then. Every move longer than the ball's public radius is shortened to it. Each round
    has half of mu^2. A cluster in its ball has far less noise; the average of a wider cluster is biased toward the
    first one, by at most the radius.
    """
    leaves = np.array(tree.leaves, dtype=np.intp)
    index = np.full(len(tree.nodes), -1, dtype=np.intp)
    index[leaves] = np.arange(len(leaves))
    nodes = [tree.nodes[leaf] for leaf in leaves]
    low, high = np.array([node.low for node in nodes]), np.array([node.high for node in nodes])  # box units
    middles = low + (high - low) / 2.0
    if published:
        origins, units = np.zeros_like(middles), np.ones(box.d)
        reach = np.full(len(leaves), algebra.length(np.maximum(np.abs(box.low), np.abs(box.high))))
    else:
        origins, units = middles, box.widths
        reach = np.linalg.norm(high - low + 2.0 * EDGE, axis=1) / 2.0
    noisy_counts = np.array([node.noisy_count for node in nodes]) if published else _leaf_counts(nodes, plan)
    sigma, per = gaussian_sigma(1.0, budget), np.maximum(noisy_counts, 1.0)[:, None]
    balls = ball_shares(box.d, sigma, noisy_counts)
    n_rounds = 2 if not published and is_twice(box.d, balls) else 1
    sigma *= math.sqrt(n_rounds)

    center_sigmas = (sigma * reach)[:, None] * units / per
    step, events, shortened = plan.n_levels + 1, [], None
    for _ in range(n_rounds):
        parts = ((box.clip(points), labels) for points, labels in tree.records.parts(index))
        used = parts if published else ((box.to_unit(points), labels) for points, labels in parts)
        sums, counts = _centered_sums(used, origins, shortened)
        noisy_sums = gaussian(sums, sigma=(sigma * reach)[:, None], rng=rng)
        noises = tuple(
            GaussianEvent("average", float(s), float(sigma * s), purpose=Purpose.AVERAGES, step=step) for s in reach
        )
        events.append(ParallelEvent("averages", noises))
        raw = origins + noisy_sums / per
        if shortened is None:
            exact = origins + sums / np.maximum(counts, 1.0)[:, None]
        if len(events) < n_rounds:
            origins, reach = np.clip(raw, low, high), np.minimum(balls, 1.0) * reach
            shortened = reach
    noiseless = origins + sums / per
    if published:
        centers = box.clip(raw)
        exact = np.where(counts[:, None] > 0, exact, box.from_unit(middles))
        clipped = raw != centers
    else:
        inside_cell = np.clip(raw, low, high)
        centers, exact, clipped = (
            np.clip(box.from_unit(inside_cell), box.from_unit(low), box.from_unit(high)),
            box.clip(box.from_unit(exact)),
            raw != inside_cell,
        )
        noiseless = box.from_unit(noiseless)
    return CentersStep(
        budget=budget,
        leaves=leaves,
        nonprivate_labels=tree.records.labels(index),
        nonprivate_counts=counts,
        nonprivate_centers=exact,
        noisy_counts=noisy_counts,
        n_rounds=n_rounds,
        nonprivate_noiseless=noiseless,
        sigmas=sigma * reach,
        axis_units=units.copy(),
        center_sigmas=center_sigmas,
        tree=released_tree(tree, box, plan),
        centers=centers,
        clipped=clipped.any(axis=1),
        events=tuple(events),
    )


def ball_shares(d: int, sigma: float, noisy_counts: Counts) -> FloatArray:
    """Return the radii (k,) that a second average would have, in halves of the cells' diagonals. Public.

    The radii are BALL times sqrt(2 d) sigma / n~, the root mean square length of the first average's noise. `sigma` is
    the standard deviation of the noise of one average for a sensitivity of 1.
    """
    return BALL * math.sqrt(2.0 * d) * sigma / np.maximum(noisy_counts, 1.0)


def is_twice(d: int, balls: FloatArray) -> bool:
    """Return True if there is a second average: with many features, if the typical ball is small. Public."""
    return d >= TWICE_FROM and 0.0 < float(np.median(balls)) <= MOST_BALL


def _leaf_counts(leaves: list[Node], plan: Plan) -> Counts:
    """Return the noisy counts (k,) of leaves, with the counts of both sides if a cut was refused.

    The leaf's own count and the sum of its sides are weighted by 1 / variance (Hay et al. 2010, section 4, two levels).
    """
    counts = np.array([leaf.noisy_count for leaf in leaves])
    for i, leaf in enumerate(leaves):
        own, sides = plan.count_epsilons[[leaf.level, min(leaf.level + 1, plan.n_levels)]] ** 2 / [1.0, 2.0]
        if leaf.tried is not None and np.isfinite(own):
            counts[i] = (own * counts[i] + sides * leaf.tried.child_counts.sum()) / (own + sides)
    return counts


def _centered_sums(
    parts: Iterable[tuple[Points, Labels]], origins: Centers, radii: FloatArray | None = None
) -> tuple[FloatArray, Counts]:
    """Return the sums (k, d) of record - origin over each leaf and the counts (k,), exact, part by part.

    Moves longer than the leaf's entry in `radii` (k,) are shortened to it, each from its own record alone.
    """
    sums, counts = np.zeros_like(origins), np.zeros(len(origins))
    for points, labels in parts:
        # Each record relative to its own leaf's origin: a sum's rounding error is then small compared with one
        # record's move.
        moves = origins[labels]
        np.subtract(points, moves, out=moves)
        if radii is not None:
            diameters = 2.0 * radii[labels][:, None]
            moves = diameters * unit_projected(moves / diameters)
        of_part = cluster_sums(moves, labels, len(origins))
        sums += of_part.nonprivate_sums
        counts += of_part.nonprivate_counts
    return sums, counts


def released_tree(tree: Growth, box: Box, plan: Plan) -> SplitTree:
    """Return the tree as it may be published."""
    m = len(tree.nodes)
    children = np.array([node.children for node in tree.nodes], dtype=np.intp)
    parents = np.full(m, -1, dtype=np.intp)
    inner = np.flatnonzero(children[:, 0] >= 0)
    parents[children[inner]] = inner[:, None]
    axes, positions = np.full(m, -1, dtype=np.intp), np.full(m, np.nan)
    sides, gaps, needed = np.full((m, 2), np.nan), np.full(m, np.nan), np.full(m, np.nan)
    for node, tried in enumerate(each.tried for each in tree.nodes):
        if tried is not None:
            axis, candidate = tried.chosen
            axes[node], sides[node] = axis, tried.child_counts
            gaps[node], needed[node] = tried.gap_depth, tried.needed
            positions[node] = box.low[axis] + box.widths[axis] * tried.positions[axis, candidate]
    centers = np.full(m, -1, dtype=np.intp)
    centers[tree.leaves] = np.arange(len(tree.leaves))
    return SplitTree(
        parents=parents,
        children=children,
        levels=np.array([node.level for node in tree.nodes], dtype=np.intp),
        low=box.from_unit(np.array([node.low for node in tree.nodes])),
        high=box.from_unit(np.array([node.high for node in tree.nodes])),
        noisy_counts=np.array([node.noisy_count for node in tree.nodes]),
        split_axes=axes,
        split_positions=positions,
        child_counts=sides,
        centers=centers,
        gap_depths=gaps,
        needed=needed,
        least_counts=np.array([plan.least(level) for level in range(plan.n_levels)]),
        minimum_count=plan.minimum_count,
    )
