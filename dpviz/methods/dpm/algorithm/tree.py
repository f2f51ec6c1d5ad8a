"""DPM's tree: one level of splits at a time, for all its subsets at once. See `dpm`."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.accounting import ParallelEvent, PureEvent, Purpose
from dpviz.core import Counts, FloatArray, frozen
from dpviz.mechanisms import exponential, laplace
from dpviz.methods.dpm.algorithm.bins import SplitCandidates
from dpviz.methods.dpm.algorithm.plan import Plan, count_event
from dpviz.methods.dpm.algorithm.records import Cut, TreeRecords
from dpviz.methods.dpm.algorithm.score import total_score
from dpviz.methods.dpm.algorithm.trace import BOTH_SMALL, LEFT_SMALL, RIGHT_SMALL, SPLIT, LevelStep, SplitTrace, Weights

GROUP = 2_000_000  # scores computed together; memory, ours


@dataclass(slots=True, eq=False)
class Growth:
    """The tree while it grows. Lists have an entry a node; `records` knows in which node each record is."""

    records: TreeRecords
    candidates: SplitCandidates
    low: list[FloatArray]
    high: list[FloatArray]
    noisy_counts: list[float]
    sizes: list[int]  # exact
    levels: list[int]
    tried: list[SplitTrace | None]
    children: list[tuple[int, int]]  # (-1, -1) for a leaf
    first: list[NDArray[np.intp]]  # (d,) first candidate inside the cell
    last: list[NDArray[np.intp]]  # (d,) one past the last

    @classmethod
    def from_root(cls, records: TreeRecords, candidates: SplitCandidates, root_count: float) -> "Growth":
        """Start with one node that holds every record."""
        records.begin(candidates)
        d = candidates.numbers.size
        return cls(
            records=records,
            candidates=candidates,
            low=[np.zeros(d)],
            high=[np.ones(d)],
            noisy_counts=[root_count],
            sizes=[records.n],
            levels=[0],
            tried=[None],
            children=[(-1, -1)],
            first=[np.zeros(d, dtype=np.intp)],
            last=[candidates.numbers.copy()],
        )

    def add(self, parent: int, axis: int, candidate: int, noisy: Counts, sizes: tuple[int, int]) -> None:
        """Cut a node in two."""
        number = len(self.low)
        # As published a place outside the cell can be chosen: one of the two parts is then empty.
        position = np.clip(self.candidates.positions[axis, candidate], self.low[parent][axis], self.high[parent][axis])
        for side in (0, 1):
            low, high = self.low[parent].copy(), self.high[parent].copy()
            first, last = self.first[parent].copy(), self.last[parent].copy()
            (low if side else high)[axis] = position
            if side:
                first[axis] = max(candidate + 1, first[axis])
            else:
                last[axis] = min(candidate, last[axis])
            self.first.append(first)
            self.last.append(last)
            self.low.append(low)
            self.high.append(high)
            self.noisy_counts.append(float(noisy[side]))
            self.sizes.append(sizes[side])
            self.levels.append(self.levels[parent] + 1)
            self.tried.append(None)
            self.children.append((-1, -1))
        self.children[parent] = (number, number + 1)

    def has_room(self, node: int) -> bool:
        """Whether a candidate is left inside the cell."""
        return bool((self.first[node] < self.last[node]).any())

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
    counts, ranks = tree.records.interval_counts(local, len(active))
    noisy = np.array([tree.noisy_counts[node] for node in active])
    shifted = _shifted(noisy, plan, weights, level)
    epsilon = float(plan.split_epsilons[level])
    exists = _possible(tree, active, weights)
    chosen, best = _choose(exists, counts, ranks, noisy, shifted, epsilon, weights, rng=split_rng)
    event = count_event("sides", float(plan.count_epsilons[level + 1]), Purpose.COUNTS, level + 1)
    below = ranks.reshape(len(active), -1)[np.arange(len(active)), chosen].astype(np.intp)
    sizes = np.array([tree.sizes[node] for node in active], dtype=np.intp)
    exact = np.stack([below, sizes - below], axis=1)
    sides = frozen(laplace(exact, scale=event.scale, rng=count_rng))
    small = sides <= plan.minimum_count
    positions = frozen(tree.candidates.positions)
    frozen(counts)
    frozen(ranks)
    splits = []
    for i, node in enumerate(active):
        axis, candidate = _axis_and_place(int(chosen[i]), positions.shape[1])
        trace = SplitTrace(
            node=node,
            low=frozen(tree.low[node]),
            high=frozen(tree.high[node]),
            noisy_count=tree.noisy_counts[node],
            shifted_count=float(shifted[i]),
            epsilon=epsilon,
            weights=weights,
            exists=exists[i],
            positions=positions,
            nonprivate_count=int(sizes[i]),
            nonprivate_counts=counts[i],
            nonprivate_ranks=ranks[i],
            chosen=(axis, candidate),
            nonprivate_best=_axis_and_place(int(best[i]), positions.shape[1]),
            child_counts=sides[i],
            minimum_count=plan.minimum_count,
            outcome=_outcome(bool(small[i, 0]), bool(small[i, 1])),
        )
        tree.tried[node] = trace
        splits.append(trace)
        if trace.applied:
            tree.add(node, axis, candidate, sides[i], (int(exact[i, 0]), int(exact[i, 1])))
    tree.records.cut([_cut(tree, trace) for trace in splits if trace.applied])
    choice = PureEvent("split", epsilon, bounded_range=True, purpose=Purpose.SPLITS, step=level + 1)
    step = LevelStep(
        level=level,
        epsilon_splits=epsilon,
        epsilon_counts=float(plan.count_epsilons[level + 1]),
        splits=tuple(splits),
        events=(
            ParallelEvent(f"splits of level {level}", (choice,) * len(active)),
            ParallelEvent(f"counts of level {level + 1}", (event,) * (2 * len(active))),
        ),
    )
    following = [child for trace in splits if trace.applied for child in tree.children[trace.node]]
    return step, following if weights.published else [node for node in following if tree.has_room(node)]


def _possible(tree: Growth, active: list[int], weights: Weights) -> NDArray[np.bool_]:
    """Return which candidates (nodes, d, s) each subset has: those inside its cell, which is public.

    As published all of them: one outside the cell is empty, but cuts nothing off.
    """
    exists = tree.candidates.exists
    if weights.published:
        return frozen(np.broadcast_to(exists, (len(active), *exists.shape)))
    places = np.arange(tree.candidates.most)
    first = np.array([tree.first[node] for node in active])[:, :, None]
    last = np.array([tree.last[node] for node in active])[:, :, None]
    return frozen(np.asarray((places >= first) & (places < last)))


def _shifted(noisy: Counts, plan: Plan, weights: Weights, level: int) -> Counts:
    """Return the count in the sensitivity: n~, or as published n~ - ln(1/(2 delta)) / epsilon; not below 1."""
    offset = np.log(1.0 / (2.0 * plan.count_delta)) / plan.count_epsilons[level] if weights.published else 0.0
    return np.maximum(noisy - offset, 1.0)


def _choose(
    exists: NDArray[np.bool_],
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
    group = max(1, GROUP // exists[0].size)
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
        scaled = np.where(exists[rows], score * shifted[rows, None, None], -np.inf).reshape(len(score), -1)
        best[rows] = np.argmax(scaled, axis=1)
        chosen[rows] = exponential(scaled, epsilon=epsilon, sensitivity=weights.sensitivity, rng=rng)
    return chosen, best


def _axis_and_place(index: int, n_candidates: int) -> tuple[int, int]:
    return index // n_candidates, index % n_candidates


def _outcome(left_small: bool, right_small: bool) -> str:
    if left_small and right_small:
        return BOTH_SMALL
    return LEFT_SMALL if left_small else RIGHT_SMALL if right_small else SPLIT


def _cut(tree: Growth, trace: SplitTrace) -> Cut:
    """Say where the records of a subset go: those below the candidate are in bins 0 to 2j."""
    axis, candidate = trace.chosen
    return Cut(trace.node, axis, 2 * candidate, tree.children[trace.node])
