"""DPM's tree: one level of splits at a time, for all its subsets at once. See `dpm`."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.accounting import ParallelEvent, PureEvent
from dpviz.algorithms._dpm_bins import Bins, Candidates, interval_counts
from dpviz.algorithms._dpm_interval import Interval
from dpviz.algorithms._dpm_plan import Plan, count_event
from dpviz.algorithms._dpm_score import centreness, emptiness, total_score, unit_half_range, unit_sensitivity
from dpviz.core import Counts, Event, FloatArray, Labels, Step, frozen
from dpviz.mechanisms import exponential, exponential_probabilities, laplace

GROUP = 2_000_000  # scores computed together; memory, ours
SPLIT, LEFT_SMALL, RIGHT_SMALL, BOTH_SMALL = "split", "left side too small", "right side too small", "both too small"


@dataclass(frozen=True, slots=True)
class Weights:
    """How scores are made, and on which count their noise stands."""

    t: float
    q: float
    emptiness_weight: float
    published: bool

    @property
    def sensitivity(self) -> float:
        """What the choice among n~ times the scores stands on: lemma 5 as published, else half the range."""
        of = unit_sensitivity if self.published else unit_half_range
        return of(t=self.t, q=self.q, emptiness_weight=self.emptiness_weight)


class DpmStep(Step):
    """Base of a run's steps: a plan, then levels of splits, then the centers. Curator only."""

    __slots__ = ()
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PlanStep(DpmStep):
    """Before the first split: budgets, and the size of the split intervals."""

    plan: Plan
    interval: Interval
    nonprivate_count: int  # n
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SplitTrace:
    """One subset and the split that was tried. Places are in box units [0, 1]; all of it is the curator's."""

    node: int  # number in the tree, the root is 0
    low: FloatArray  # (d,) the subset's cell
    high: FloatArray  # (d,)
    noisy_count: float  # n~ as released; scores use at least 1
    shifted_count: float  # what the noise of the choice stands on: n~, less the paper's offset if published
    epsilon: float  # of the choice
    weights: Weights
    exists: NDArray[np.bool_]  # (d, s) which candidates there are
    positions: FloatArray  # (d, s) NaN where there is none
    nonprivate_count: int
    nonprivate_counts: NDArray[np.int32]  # (d, s) records in each candidate's interval
    nonprivate_ranks: NDArray[np.int32]  # (d, s) records below each candidate
    chosen: tuple[int, int]  # axis, candidate
    nonprivate_best: tuple[int, int]  # of the highest score
    child_counts: Counts  # (2,) noisy, of the side below and the side above
    minimum_count: float
    outcome: str  # "split", or why not

    @property
    def applied(self) -> bool:
        """Whether the subset was cut in two."""
        return self.outcome == SPLIT

    @property
    def emptiness(self) -> FloatArray:
        """Emptiness (d, s) of every candidate; NaN where there is none."""
        return np.where(self.exists, emptiness(self.nonprivate_counts, self.noisy_count), np.nan)

    @property
    def centreness(self) -> FloatArray:
        """Centreness (d, s) of every candidate; NaN where there is none."""
        exact = centreness(self.nonprivate_ranks, self.noisy_count, self.weights.t, self.weights.q)
        return np.where(self.exists, exact, np.nan)

    @property
    def score(self) -> FloatArray:
        """Score (d, s) of every candidate; NaN where there is none."""
        return self.centreness + self.weights.emptiness_weight * self.emptiness

    @property
    def sensitivity(self) -> float:
        """The score's sensitivity that the choice was calibrated to."""
        return self.weights.sensitivity / self.shifted_count

    @property
    def probabilities(self) -> FloatArray:
        """How likely each candidate (d, s) was; 0 where there is none."""
        scores = np.where(self.exists, self.score, -np.inf).ravel()
        law = exponential_probabilities(scores, epsilon=self.epsilon, sensitivity=self.sensitivity)
        return law.reshape(self.exists.shape)


@dataclass(frozen=True, slots=True, eq=False)
class LevelStep(DpmStep):
    """The splits tried at one level of the tree, in parallel: the subsets are disjoint."""

    level: int  # 0, 1, ...
    epsilon_splits: float  # of each choice
    epsilon_counts: float  # of the noisy counts of the two sides, on the next level
    splits: tuple[SplitTrace, ...]
    nonprivate_nodes: Labels  # (n,) subset of each record after this level, a number in the tree
    events: tuple[Event, ...]


@dataclass(slots=True, eq=False)
class Growth:
    """The tree while it grows. Lists have an entry a node; `where` says in which node each record is."""

    bins: Bins
    candidates: Candidates
    where: Labels  # (n,)
    low: list[FloatArray]
    high: list[FloatArray]
    noisy_counts: list[float]
    sizes: list[int]  # exact
    levels: list[int]
    tried: list[SplitTrace | None]
    children: list[tuple[int, int]]  # (-1, -1) for a leaf

    @classmethod
    def from_root(cls, bins: Bins, candidates: Candidates, root_count: float) -> "Growth":
        """Start with one node that holds every record."""
        d, n = bins.shape
        where = np.zeros(n, dtype=np.intp)
        return cls(bins, candidates, where, [np.zeros(d)], [np.ones(d)], [root_count], [n], [0], [None], [(-1, -1)])

    def add(self, parent: int, axis: int, position: float, noisy: Counts, sizes: tuple[int, int]) -> None:
        """Cut a node in two."""
        first = len(self.low)
        for side in (0, 1):
            low, high = self.low[parent].copy(), self.high[parent].copy()
            (low if side else high)[axis] = position
            self.low.append(low)
            self.high.append(high)
            self.noisy_counts.append(float(noisy[side]))
            self.sizes.append(sizes[side])
            self.levels.append(self.levels[parent] + 1)
            self.tried.append(None)
            self.children.append((-1, -1))
        self.children[parent] = (first, first + 1)

    @property
    def leaves(self) -> list[int]:
        """Nodes that were not cut, in their order."""
        return [node for node, (left, _) in enumerate(self.children) if left < 0]


def grow(tree: Growth, plan: Plan, weights: Weights, *, rng: np.random.Generator) -> Iterator[LevelStep]:
    """Try a split in every subset, level by level, until none was applied or the plan's depth is reached."""
    active = [0]
    for level in range(plan.n_levels):
        step, active = _grow_level(tree, plan, weights, level, active, rng=rng.spawn(1)[0])
        yield step
        if not active:
            return


def _grow_level(
    tree: Growth, plan: Plan, weights: Weights, level: int, active: list[int], *, rng: np.random.Generator
) -> tuple[LevelStep, list[int]]:
    split_rng, count_rng = rng.spawn(2)
    local = np.full(len(tree.low), -1, dtype=np.intp)
    local[active] = np.arange(len(active))
    nodes = local[tree.where]
    counts, ranks = interval_counts(tree.bins, nodes, len(active), tree.candidates)
    noisy = np.array([tree.noisy_counts[node] for node in active])
    shifted = _shifted(noisy, plan, weights, level)
    epsilon = float(plan.split_epsilons[level])
    chosen, best = _choose(tree.candidates, counts, ranks, noisy, shifted, epsilon, weights, rng=split_rng)
    event = count_event("sides", float(plan.count_epsilons[level + 1]))
    below = ranks.reshape(len(active), -1)[np.arange(len(active)), chosen].astype(np.intp)
    sizes = np.array([tree.sizes[node] for node in active], dtype=np.intp)
    exact = np.stack([below, sizes - below], axis=1)
    sides = frozen(laplace(exact, scale=event.scale, rng=count_rng))
    small = sides <= plan.minimum_count
    exists, positions = frozen(tree.candidates.exists), frozen(tree.candidates.positions)
    frozen(counts)
    frozen(ranks)
    splits = []
    for i, node in enumerate(active):
        axis, candidate = _axis_and_place(int(chosen[i]), exists.shape[1])
        trace = SplitTrace(
            node=node,
            low=frozen(tree.low[node]),
            high=frozen(tree.high[node]),
            noisy_count=tree.noisy_counts[node],
            shifted_count=float(shifted[i]),
            epsilon=epsilon,
            weights=weights,
            exists=exists,
            positions=positions,
            nonprivate_count=int(sizes[i]),
            nonprivate_counts=counts[i],
            nonprivate_ranks=ranks[i],
            chosen=(axis, candidate),
            nonprivate_best=_axis_and_place(int(best[i]), exists.shape[1]),
            child_counts=sides[i],
            minimum_count=plan.minimum_count,
            outcome=_outcome(bool(small[i, 0]), bool(small[i, 1])),
        )
        tree.tried[node] = trace
        splits.append(trace)
        if trace.applied:
            tree.add(node, axis, float(positions[axis, candidate]), sides[i], (int(exact[i, 0]), int(exact[i, 1])))
    _move(tree, nodes, splits)
    choice = PureEvent("split", epsilon, bounded_range=True)
    step = LevelStep(
        level=level,
        epsilon_splits=epsilon,
        epsilon_counts=float(plan.count_epsilons[level + 1]),
        splits=tuple(splits),
        nonprivate_nodes=frozen(tree.where.copy()),
        events=(
            ParallelEvent(f"splits of level {level}", (choice,) * len(active)),
            ParallelEvent(f"counts of level {level + 1}", (event,) * (2 * len(active))),
        ),
    )
    return step, [child for trace in splits if trace.applied for child in tree.children[trace.node]]


def _shifted(noisy: Counts, plan: Plan, weights: Weights, level: int) -> Counts:
    """Return the count in the sensitivity: n~, or as published n~ - ln(1/(2 delta)) / epsilon; not below 1."""
    offset = np.log(1.0 / (2.0 * plan.count_delta)) / plan.count_epsilons[level] if weights.published else 0.0
    return np.maximum(noisy - offset, 1.0)


def _choose(
    candidates: Candidates,
    counts: NDArray[np.int32],
    ranks: NDArray[np.int32],
    noisy: Counts,
    shifted: Counts,
    epsilon: float,
    weights: Weights,
    *,
    rng: np.random.Generator,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the chosen and the best candidate (nodes,) of each subset, as flat indices into (d, s)."""
    chosen = np.empty(len(noisy), dtype=np.intp)
    best = np.empty(len(noisy), dtype=np.intp)
    exists = candidates.exists
    group = max(1, GROUP // exists.size)
    for first in range(0, len(noisy), group):
        rows = slice(first, first + group)
        score = total_score(
            counts[rows],
            ranks[rows],
            noisy[rows, None, None],
            t=weights.t,
            q=weights.q,
            emptiness_weight=weights.emptiness_weight,
        )
        # Times the count, so that one sensitivity serves every subset.
        scaled = np.where(exists, score * shifted[rows, None, None], -np.inf).reshape(len(score), -1)
        best[rows] = np.argmax(scaled, axis=1)
        chosen[rows] = exponential(scaled, epsilon=epsilon, sensitivity=weights.sensitivity, rng=rng)
    return chosen, best


def _axis_and_place(index: int, n_candidates: int) -> tuple[int, int]:
    return index // n_candidates, index % n_candidates


def _outcome(left_small: bool, right_small: bool) -> str:
    if left_small and right_small:
        return BOTH_SMALL
    return LEFT_SMALL if left_small else RIGHT_SMALL if right_small else SPLIT


def _move(tree: Growth, nodes: Labels, splits: list[SplitTrace]) -> None:
    """Send the records of every subset that was cut to their side: below the candidate, bins 0 to 2j."""
    axes = np.array([trace.chosen[0] for trace in splits], dtype=np.intp)
    last = np.array([2 * trace.chosen[1] for trace in splits])
    applied = np.array([trace.applied for trace in splits])
    children = np.array([tree.children[trace.node] for trace in splits], dtype=np.intp)
    rows = np.flatnonzero((nodes >= 0) & applied[nodes])
    where = nodes[rows]
    above = tree.bins[axes[where], rows] > last[where]
    tree.where[rows] = children[where, above.astype(np.intp)]
