"""DPM's tree: emptiness and centreness of places, and one level of splits at a time, for all its subsets at once.

Notation, paper -> code: n~ -> noisy_count, alpha -> emptiness_weight, (t, q) -> `t`, `q`.

In published calibration, the emptiness of a place is the emptiness of its interval. So the empty margin of a cell beats
any gap between clusters, and a gap that is narrower than an interval does not count. In repaired calibration, the
emptiness of a place is the depth of the gap there: see `depths`.

A split is applied if both sides' noisy counts are above a threshold. In published calibration, the threshold is a fixed
share of all records, so no split can cut off a small cluster. In repaired calibration, it depends on released numbers:
- At a clear gap (`Plan.clear`) it is SIDE_SCALES scales of the counts' own noise, so records that the gap cuts off
  are really there.
- If no gap is clear, it is the fixed share on the first `free_levels` levels, so that wide clusters are also divided.
  But no number is enough in a subset that a gap cut out of at least CLEAN_GAP of its records: it counts as one cluster.
A subset that is too small for two such sides is not examined again; see `Plan.least`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpviz.accounting import LaplaceEvent, ParallelEvent, PureEvent, Purpose
from dpviz.core import (
    BoolArray,
    Confidential,
    Counts,
    Event,
    FloatArray,
    IntArray,
    ReadOnly,
    Step,
    immutable,
    immutable_value,
)
from dpviz.core.compiled import compiled
from dpviz.mechanisms import exponential, exponential_probabilities, laplace
from dpviz.methods.dpm.algorithm.plan import CLEAN_GAP, FIRST_GAP, Interval, Plan, count_event
from dpviz.methods.dpm.algorithm.records import Cut, SplitCandidates, TreeRecords

# Liebenow et al., section 6.
CENTRENESS_T = 0.3
# Liebenow et al., section 6.
CENTRENESS_Q = 1.0 / 12.0
# alpha in section 5.2. Centreness has weight 1.
EMPTINESS_WEIGHT = 5.0
# A smaller noisy count is replaced by 1, both in scores and in their sensitivity.
LEAST_COUNT = 1.0


def emptiness(counts: ArrayLike, noisy_count: ArrayLike) -> FloatArray:
    """Return 1 - counts / n~, clipped to [0, 1] (definition 5).

    `counts` are the records within half an interval of each candidate, `noisy_count` the noisy number of records of
    the subset, raised to 1 if it is less; they broadcast. Curator only, because it is exact. With n~ fixed, one record
    more or less moves it by at most 1/n~, because clipping brings values together.
    """
    return np.clip(1.0 - np.divide(counts, np.maximum(noisy_count, LEAST_COUNT)), 0.0, 1.0)


def centreness(
    ranks: ArrayLike, noisy_count: ArrayLike, t: float = CENTRENESS_T, q: float = CENTRENESS_Q
) -> FloatArray:
    """Return the closeness of each rank to the median of n~ records, in [0, 1].

    With n~ fixed, one record moves a rank by at most 1 and so this by at most the steeper slope, (t/q)/n~ as t > 2q.
    Ranks beyond n~ count as n~, which brings values together.

    Parameters
    ----------
    ranks
        Records below each candidate.
    noisy_count
        As in `emptiness`; both broadcast.
    t
        Value at both kinks.
    q
        Place of the kinks, as a share of n~.

    Returns
    -------
    FloatArray
        Closeness, in the shape of both.

    Raises
    ------
    ValueError
        Unless 0 < 2q < t <= 1.

    Notes
    -----
    With g = n~/2 - |p - n~/2|, the distance of the rank p from the nearer end, not below 0: outer (g <= n~ q): t g /
    (n~ q); inner: (t - 2q)/(1 - 2q) + g (1 - t)/(n~/2 - n~ q). It is t at g = n~ q from both sides and 1 at the median.

    References
    ----------
    Definition 6.
    """
    check_centreness(t, q)
    size = np.maximum(noisy_count, LEAST_COUNT)
    half = size / 2.0
    distance = np.maximum(half - np.abs(np.subtract(ranks, half)), 0.0)
    outer = t * distance / (size * q)
    inner = (t - 2.0 * q) / (1.0 - 2.0 * q) + distance * (1.0 - t) / (half - size * q)
    return np.clip(np.where(distance <= size * q, outer, inner), 0.0, 1.0)


def depths(counts: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the depth of the gap at each candidate, in records: (nodes, d, s), exact and private. Our definition.

    `counts` (nodes, d, s) are the records of every interval. Among stretches of r intervals, a gap is as deep as the
    stretch around the candidate holds fewer records than the fullest stretch on either side that does not meet it:
    min(fullest below, fullest above) - its own. r = 1, 3, 7, ... up to an eighth of the axis, and the deepest counts,
    which separates clusters of any width, whatever part of the axis they take. If all records are on one side, no gap
    is deeper than 0. One record more moves a depth by -1, 0 or 1: for each r it is in the candidate's own stretch or
    in some of the other stretches, which do not meet that one. So either the minuend or the subtrahend grows, by at
    most 1; minima and maxima preserve this.
    """
    deepest = np.empty_like(counts)
    _dig(np.ascontiguousarray(counts).reshape(-1, counts.shape[-1]), deepest.reshape(-1, counts.shape[-1]))
    return deepest


@compiled
def _dig(counts: NDArray[np.int32], deepest: NDArray[np.int32]) -> None:
    rows, s = counts.shape
    upto, own, above = np.zeros(s + 1, np.int64), np.empty(s, np.int64), np.empty(s + 1, np.int64)
    for row in range(rows):
        for j in range(s):
            upto[j + 1] = upto[j] + counts[row, j]
        reach = 0
        while reach == 0 or 8 * (2 * reach + 1) <= s:
            for j in range(s):
                own[j] = upto[min(j + reach + 1, s)] - upto[max(j - reach, 0)]
            above[s] = 0
            for j in range(s - 1, -1, -1):
                above[j] = max(above[j + 1], own[j])
            below, apart = 0, 2 * reach + 1
            for j in range(s):
                if j >= apart:
                    below = max(below, own[j - apart])
                depth = min(below, above[min(j + apart, s)]) - own[j]
                if reach == 0 or depth > deepest[row, j]:
                    deepest[row, j] = depth
            reach = 2 * reach + 1


def gap(depth: ArrayLike, noisy_count: ArrayLike) -> FloatArray:
    """Return depth / n~, clipped to [0, 1]: the emptiness of the repaired calibration. `depth` is one of `depths`."""
    return np.clip(np.divide(depth, np.maximum(noisy_count, LEAST_COUNT)), 0.0, 1.0)


def smaller_side(ranks: ArrayLike, n: ArrayLike, noisy_count: ArrayLike) -> FloatArray:
    """Return min(records below, records above, n~/2), the rank from which the repaired centreness follows.

    `n` are the exact records of the subset. One more record raises it by at most 1 and never lowers it, whereas the
    distance of a rank from the ends of n~ records may go either way.
    """
    half = np.maximum(noisy_count, LEAST_COUNT) / 2.0
    return np.minimum(np.minimum(ranks, np.subtract(n, ranks)), half)


def unit_sensitivity(*, t: float, q: float, emptiness_weight: float) -> float:
    """Return t/q + emptiness_weight: divided by n~, the most that one record moves a score with n~ fixed (lemma 5).

    The noisy count is released before the split is scored, so fixing it is exact: no offset and no delta are needed.
    """
    return t / q + emptiness_weight


def unit_half_range(*, t: float, q: float, emptiness_weight: float) -> float:
    """Return emptiness_weight + t/(2q): divided by n~, half the range in which one record moves all scores. Ours.

    One more record moves a gap by at most 1/n~ either way; the centreness of the smaller side it raises by at most
    (t/q)/n~, and never lowers it. So all scores change by something in [-w/n~, (w + t/q)/n~], an interval of length
    r = (2 w + t/q)/n~, and one record less by the negative of that. Choosing with probability proportional to
    exp(epsilon score / r) is epsilon-DP: with changes D_i in [a, a + r], P(i)/P'(i) = exp(epsilon D_i / r) Z'/Z, and
    Z'/Z is between exp(-epsilon (a + r) / r) and exp(-epsilon a / r). The same bound holds for the range of the
    log-ratio over i. This is the mechanism of `exponential` with sensitivity r/2.
    """
    return emptiness_weight + t / (2.0 * q)


def check_centreness(t: float, q: float) -> None:
    """Raise ValueError unless 0 < 2q < t <= 1: otherwise the outer slope is not the steeper one."""
    if not 0.0 < 2.0 * q < t <= 1.0:
        raise ValueError(
            f"t and q must keep 0 < 2 q < t <= 1, got t = {t:g} and q = {q:g}. Raise t, or lower q. The paper has "
            "t = 0.3 and q = 1/12."
        )


SPLIT, LEFT_SMALL, RIGHT_SMALL, BOTH_SMALL = "split", "left side too small", "right side too small", "both too small"
NO_GAP = "no clear gap"
OUTCOMES = {  # (whether the left side is too small, whether the right one is)
    (False, False): SPLIT,
    (True, False): LEFT_SMALL,
    (False, True): RIGHT_SMALL,
    (True, True): BOTH_SMALL,
}


@immutable_value
class Weights:
    """Weights of the scores, and the calibration, which determines the count that scales their noise."""

    t: float
    q: float
    emptiness_weight: float
    published: bool

    @property
    def sensitivity(self) -> float:
        """The sensitivity of n~ times the scores: lemma 5 if published, otherwise half the range."""
        of = unit_sensitivity if self.published else unit_half_range
        return of(t=self.t, q=self.q, emptiness_weight=self.emptiness_weight)

    def emptiness(self, counts: ArrayLike, gaps: ArrayLike, noisy_count: ArrayLike) -> FloatArray:
        """Return emptiness: from records around each place if published, otherwise from the depth of its gap."""
        return emptiness(counts, noisy_count) if self.published else gap(gaps, noisy_count)

    def centreness(self, ranks: ArrayLike, n: ArrayLike, noisy_count: ArrayLike) -> FloatArray:
        """Return centreness: from the rank among n~ records if published, otherwise from the smaller side of n."""
        of = ranks if self.published else smaller_side(ranks, n, noisy_count)
        return centreness(of, noisy_count, self.t, self.q)


class DpmStep(Step):
    """Base of a run's steps: a plan, then levels of splits, then the centers. Curator only."""

    __slots__ = ()
    events: tuple[Event, ...]


@immutable
class PlanStep(DpmStep):
    """Before the first split: budgets, and the size of the split intervals."""

    plan: Plan
    interval: Interval
    # Number of records n.
    nonprivate_count: int
    events: tuple[Event, ...]


@immutable
class SplitTrace(ReadOnly, Confidential):
    """One subset and its tried split. Places are in box units [0, 1]. Curator only."""

    # Number in the tree. The root is 0.
    node: int
    # (d,) cell of the subset.
    low: FloatArray
    high: FloatArray  # (d,)
    # n~ as released. Scores use at least 1.
    noisy_count: float
    # Count that scales the noise of the choice: n~, minus the paper's offset if published.
    shifted_count: float
    # Epsilon of the choice.
    epsilon: float
    weights: Weights
    # (d, s) True for candidates that exist.
    exists: BoolArray
    # (d, s) NaN without a candidate.
    positions: FloatArray
    nonprivate_count: int
    # (d, s) records in each candidate's interval.
    nonprivate_counts: NDArray[np.int32]
    # (d, s) records below each candidate.
    nonprivate_ranks: NDArray[np.int32]
    # (d, s) depth of the gap at each candidate, in records. As published: the counts.
    nonprivate_depths: NDArray[np.int32]
    # Axis and candidate.
    chosen: tuple[int, int]
    # Axis and candidate with the highest score.
    nonprivate_best: tuple[int, int]
    # (2,) noisy counts of the side below and the side above.
    child_counts: Counts
    # Noisy depth of the gap at the chosen candidate. NaN in published calibration.
    gap_depth: float
    # Count that either side must exceed. Infinite if only a clear gap is accepted.
    needed: float
    # "split", or the reason for no split.
    outcome: str

    @property
    def applied(self) -> bool:
        """True if the subset was cut in two."""
        return self.outcome == SPLIT

    @property
    def emptiness(self) -> FloatArray:
        """Emptiness (d, s) of every candidate, NaN without a candidate."""
        of = self.weights.emptiness(self.nonprivate_counts, self.nonprivate_depths, self.noisy_count)
        return np.where(self.exists, of, np.nan)

    @property
    def centreness(self) -> FloatArray:
        """Centreness (d, s) of every candidate, NaN without a candidate."""
        exact = self.weights.centreness(self.nonprivate_ranks, self.nonprivate_count, self.noisy_count)
        return np.where(self.exists, exact, np.nan)

    @property
    def score(self) -> FloatArray:
        """Score (d, s) of every candidate, NaN without a candidate."""
        return self.centreness + self.weights.emptiness_weight * self.emptiness

    @property
    def sensitivity(self) -> float:
        """The score's sensitivity that the choice was calibrated to."""
        return self.weights.sensitivity / self.shifted_count

    @property
    def probabilities(self) -> FloatArray:
        """Probability of each candidate (d, s), 0 without a candidate."""
        scores = np.where(self.exists, self.score, -np.inf).ravel()
        law = exponential_probabilities(scores, epsilon=self.epsilon, sensitivity=self.sensitivity)
        return law.reshape(self.exists.shape)


@immutable
class LevelStep(DpmStep):
    """The splits tried at one level of the tree, in parallel: the subsets are disjoint."""

    # Counted from 0.
    level: int
    # Epsilon of each choice.
    epsilon_splits: float
    # Epsilon of the noisy counts of the two sides on the next level.
    epsilon_counts: float
    # Epsilon of the noisy depth of the gap at a cut. 0 in published calibration.
    epsilon_gaps: float
    splits: tuple[SplitTrace, ...]
    events: tuple[Event, ...]


# Our choice: scores that are computed together, for memory.
GROUP = 2_000_000


@dataclass(slots=True, eq=False)
class Node(Confidential):
    """One subset of the growing tree, with its cell in box units."""

    # (d,) ends of the cell.
    low: FloatArray
    high: FloatArray
    # (d,) first candidate inside the cell.
    first: IntArray
    # (d,) candidate after the last one inside the cell.
    last: IntArray
    noisy_count: float
    # Number of records, exact.
    nonprivate_size: int
    level: int = 0
    # True if the subset was cut out at a gap that is deep compared with the subset's own records. It then counts as one
    # cluster.
    apart: bool = False
    tried: SplitTrace | None = None
    # (-1, -1) for a leaf.
    children: tuple[int, int] = (-1, -1)

    @property
    def has_room(self) -> bool:
        """True if a candidate is left inside the cell."""
        return bool((self.first < self.last).any())


@dataclass(slots=True, eq=False)
class Growth:
    """The tree while it grows; `records` has each record's node."""

    records: TreeRecords
    candidates: SplitCandidates
    nodes: list[Node]

    @classmethod
    def from_root(cls, records: TreeRecords, candidates: SplitCandidates, root_count: float) -> "Growth":
        """Start with one node that holds every record."""
        records.begin(candidates)
        numbers, d = candidates.numbers, candidates.numbers.size
        root = Node(np.zeros(d), np.ones(d), np.zeros_like(numbers), numbers.copy(), root_count, records.n)
        return cls(records, candidates, [root])

    def add(self, node: Node, axis: int, candidate: int, noisy: Counts, sizes: IntArray, apart: BoolArray) -> None:
        """Cut a node in two; `apart` (2,) marks the sides that the gap shows to be one cluster."""
        # As published, a place outside the cell can be chosen. One of the two parts is then empty.
        position = np.clip(self.candidates.positions[axis, candidate], node.low[axis], node.high[axis])
        node.children = len(self.nodes), len(self.nodes) + 1
        for side in (0, 1):
            low, high, first, last = node.low.copy(), node.high.copy(), node.first.copy(), node.last.copy()
            (low if side else high)[axis] = position
            if side:
                first[axis] = max(candidate + 1, first[axis])
            else:
                last[axis] = min(candidate, last[axis])
            whole = bool(apart[side]) or node.apart
            self.nodes.append(
                Node(low, high, first, last, float(noisy[side]), int(sizes[side]), node.level + 1, apart=whole)
            )

    @property
    def leaves(self) -> list[int]:
        """Numbers of the nodes that were not cut, in their order."""
        return [number for number, node in enumerate(self.nodes) if node.children[0] < 0]


def grow(tree: Growth, plan: Plan, weights: Weights, *, rng: np.random.Generator) -> Iterator[LevelStep]:
    """Try a split in every subset, level by level, until none was applied or the plan's depth is reached."""
    active = [0]
    positions = tree.candidates.positions
    n_candidates = positions.shape[1]
    for level in range(plan.n_levels):
        split_rng, count_rng, gap_rng = rng.spawn(1)[0].spawn(3)
        nodes = [tree.nodes[number] for number in active]
        local = np.full(len(tree.nodes), -1, dtype=np.intp)
        local[active] = np.arange(len(active))
        counts, ranks = tree.records.interval_counts(local, len(active))
        noisy = np.array([node.noisy_count for node in nodes])
        # The count in the sensitivity: n~, or if published, n~ - ln(1/(2 delta)) / epsilon. At least 1.
        offset = math.log(1.0 / (2.0 * plan.count_delta)) / plan.count_epsilons[level] if weights.published else 0.0
        shifted = np.maximum(noisy - offset, 1.0)
        epsilon = float(plan.split_epsilons[level])
        # Candidates (nodes, d, s): those inside the subset's cell, which is public. As published, all candidates: one
        # outside the cell is empty, but cuts nothing off.
        exists = np.broadcast_to(tree.candidates.exists, (len(nodes), *tree.candidates.exists.shape))
        if not weights.published:
            places = np.arange(tree.candidates.most)
            first, last = (np.array([getattr(node, end) for node in nodes])[:, :, None] for end in ("first", "last"))
            exists = (places >= first) & (places < last)
        sizes = np.array([node.nonprivate_size for node in nodes], dtype=np.intp)
        gaps = counts if weights.published else depths(counts)
        candidates = _Candidates(exists, counts, ranks, gaps, sizes)
        chosen, best = _choose(candidates, noisy, shifted, epsilon, weights, rng=split_rng)
        event = count_event("sides", float(plan.count_epsilons[level + 1]), Purpose.COUNTS, level + 1)
        below = ranks.reshape(len(active), -1)[np.arange(len(active)), chosen].astype(np.intp)
        exact = np.stack([below, sizes - below], axis=1)
        sides = laplace(exact, scale=event.scale, rng=count_rng)
        gap_event, gap_depths, needed, apart = _inspect_gaps(
            nodes, candidates, chosen, noisy, sides, plan, level, rng=gap_rng
        )
        small = sides <= needed[:, None]
        splits = []
        for i, node in enumerate(nodes):
            axis, candidate = divmod(int(chosen[i]), n_candidates)
            trace = SplitTrace(
                node=active[i],
                low=node.low,
                high=node.high,
                noisy_count=node.noisy_count,
                shifted_count=float(shifted[i]),
                epsilon=epsilon,
                weights=weights,
                exists=exists[i],
                positions=positions,
                nonprivate_count=node.nonprivate_size,
                nonprivate_counts=counts[i],
                nonprivate_ranks=ranks[i],
                nonprivate_depths=gaps[i],
                chosen=(axis, candidate),
                nonprivate_best=divmod(int(best[i]), n_candidates),
                child_counts=sides[i],
                gap_depth=float(gap_depths[i]),
                needed=float(needed[i]),
                outcome=NO_GAP if np.isinf(needed[i]) else OUTCOMES[bool(small[i, 0]), bool(small[i, 1])],
            )
            node.tried = trace
            splits.append(trace)
            if trace.applied:
                tree.add(node, axis, candidate, sides[i], exact[i], apart[i])
        applied = [trace for trace in splits if trace.applied]
        # Records below the chosen candidate are in bins 0 to 2j.
        tree.records.cut([Cut(t.node, t.chosen[0], 2 * t.chosen[1], tree.nodes[t.node].children) for t in applied])
        choice = PureEvent("split", epsilon, bounded_range=True, purpose=Purpose.SPLITS, step=level + 1)
        yield LevelStep(
            level=level,
            epsilon_splits=epsilon,
            epsilon_counts=float(plan.count_epsilons[level + 1]),
            epsilon_gaps=float(plan.gap_epsilons[level]),
            splits=tuple(splits),
            events=(
                ParallelEvent(f"splits of level {level}", (choice,) * len(active)),
                *(() if gap_event is None else (ParallelEvent(f"gaps of level {level}", (gap_event,) * len(active)),)),
                ParallelEvent(f"counts of level {level + 1}", (event,) * (2 * len(active))),
            ),
        )
        following = [child for trace in applied for child in tree.nodes[trace.node].children]
        active = following if weights.published else [child for child in following if _is_open(tree, plan, child)]
        if not active:
            return


def _inspect_gaps(
    nodes: list[Node],
    candidates: "_Candidates",
    chosen: IntArray,
    noisy: Counts,
    sides: Counts,
    plan: Plan,
    level: int,
    *,
    rng: np.random.Generator,
) -> tuple[LaplaceEvent | None, FloatArray, FloatArray, BoolArray]:
    """Measure the depth of the gap at each chosen place with noise, but not in published calibration.

    Return the event, the noisy depths (nodes,), the thresholds of the sides (nodes,), and a mask of the sides
    (nodes, 2) that the gap shows to be one cluster.
    """
    epsilon = float(plan.gap_epsilons[level])
    if not epsilon:
        every = np.full(len(nodes), plan.minimum_count)
        return None, np.full(len(nodes), np.nan), every, np.zeros(sides.shape, dtype=np.bool_)
    event = count_event("gap", epsilon, Purpose.GAPS, level + 1)
    exact = candidates.depths.reshape(len(nodes), -1)[np.arange(len(nodes)), chosen]
    gaps = laplace(exact.astype(np.float64), scale=event.scale, rng=rng)
    clear = gaps > plan.clear(level, noisy)
    least = plan.least(level)
    free = (level < plan.free_levels) & ~np.array([node.apart for node in nodes])
    needed = np.where(clear, least, np.where(free, max(least, plan.minimum_count), np.inf))
    clean = CLEAN_GAP if level else FIRST_GAP
    return event, gaps, needed, clear[:, None] & (gaps[:, None] >= clean * sides)


@immutable
class _Candidates(Confidential):
    """Statistics at every candidate of a level's subsets: (nodes, d, s). Private except for `exists`."""

    exists: BoolArray
    counts: NDArray[np.int32]
    ranks: NDArray[np.int32]
    # As published: the counts.
    depths: NDArray[np.int32]
    # (nodes,) number of records of each subset.
    sizes: IntArray


def _choose(
    candidates: _Candidates,
    noisy: Counts,
    shifted: Counts,
    epsilon: float,
    weights: Weights,
    *,
    rng: np.random.Generator,
) -> tuple[IntArray, IntArray]:
    """Return the chosen and the best candidate (nodes,) of each subset, as flat indices into (d, s)."""
    chosen = np.empty(len(noisy), dtype=np.intp)
    best = np.empty(len(noisy), dtype=np.intp)
    group = max(1, GROUP // candidates.exists[0].size)
    for first in range(0, len(noisy), group):
        rows = slice(first, first + group)
        of = noisy[rows, None, None]
        score = weights.centreness(candidates.ranks[rows], candidates.sizes[rows, None, None], of)
        score += weights.emptiness_weight * weights.emptiness(candidates.counts[rows], candidates.depths[rows], of)
        # Multiplied by the count, so that one sensitivity serves every subset.
        scaled = np.where(candidates.exists[rows], score * shifted[rows, None, None], -np.inf).reshape(len(score), -1)
        best[rows] = np.argmax(scaled, axis=1)
        chosen[rows] = exponential(scaled, epsilon=epsilon, sensitivity=weights.sensitivity, rng=rng)
    return chosen, best


def _is_open(tree: Growth, plan: Plan, number: int) -> bool:
    """Check whether a subset has room for a cut, a level for it, and a noisy count that suffices for two sides."""
    node = tree.nodes[number]
    return node.level < plan.n_levels and node.has_room and node.noisy_count > 2.0 * plan.least(node.level)
