"""DPM's tree: one level of splits at a time, for all its subsets at once. See `dpm`.

A split is applied if both sides' noisy counts are above what is needed. As published that is a fixed share of all
records, and a small cluster can be cut off nowhere. Repaired it is, all by released numbers:
- at a clear gap (`Plan.clear`) SIDE_SCALES scales of the counts' own noise: whatever the gap cuts off is there;
- where no gap is clear, the fixed share, on the first `free_levels` levels, so that wide clusters are divided too; but
  no number is enough in a subset that a gap cut out of at least CLEAN_GAP of its records: it is taken for one cluster.
A subset that is too small for two such sides is not looked at again, see `Plan.least`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.accounting import LaplaceEvent, ParallelEvent, PureEvent, Purpose
from dpviz.core import Confidential, Counts, FloatArray, frozen
from dpviz.mechanisms import exponential, laplace
from dpviz.methods.dpm.algorithm.bins import SplitCandidates
from dpviz.methods.dpm.algorithm.plan import CLEAN_GAP, FIRST_GAP, Plan, count_event
from dpviz.methods.dpm.algorithm.records import Cut, TreeRecords
from dpviz.methods.dpm.algorithm.score import depths
from dpviz.methods.dpm.algorithm.trace import (
    BOTH_SMALL,
    LEFT_SMALL,
    NO_GAP,
    RIGHT_SMALL,
    SPLIT,
    LevelStep,
    SplitTrace,
    Weights,
)

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
    apart: list[bool]  # taken for one cluster: a gap cut it out that is deep beside its own records
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
            apart=[False],
            tried=[None],
            children=[(-1, -1)],
            first=[np.zeros(d, dtype=np.intp)],
            last=[candidates.numbers.copy()],
        )

    def add(
        self, parent: int, axis: int, candidate: int, noisy: Counts, sizes: tuple[int, int], apart: NDArray[np.bool_]
    ) -> None:
        """Cut a node in two; `apart` (2,) says which side the gap shows to be one cluster."""
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
            self.apart.append(bool(apart[side]) or self.apart[parent])
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
    split_rng, count_rng, gap_rng = rng.spawn(3)
    local = np.full(len(tree.low), -1, dtype=np.intp)
    local[active] = np.arange(len(active))
    counts, ranks = tree.records.interval_counts(local, len(active))
    noisy = np.array([tree.noisy_counts[node] for node in active])
    shifted = _shifted(noisy, plan, weights, level)
    epsilon = float(plan.split_epsilons[level])
    exists = _possible(tree, active, weights)
    sizes = np.array([tree.sizes[node] for node in active], dtype=np.intp)
    gaps = counts if weights.published else depths(counts)
    found = _Found(exists, counts, ranks, gaps, sizes)
    chosen, best = _choose(found, noisy, shifted, epsilon, weights, rng=split_rng)
    event = count_event("sides", float(plan.count_epsilons[level + 1]), Purpose.COUNTS, level + 1)
    below = ranks.reshape(len(active), -1)[np.arange(len(active)), chosen].astype(np.intp)
    exact = np.stack([below, sizes - below], axis=1)
    sides = frozen(laplace(exact, scale=event.scale, rng=count_rng))
    gap_event, gap_depths, needed, apart = _looked_at(
        tree, found, chosen, noisy, sides, plan, level, active, rng=gap_rng
    )
    small = sides <= needed[:, None]
    positions = frozen(tree.candidates.positions)
    frozen(counts)
    frozen(ranks)
    frozen(gaps)
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
            nonprivate_depths=gaps[i],
            chosen=(axis, candidate),
            nonprivate_best=_axis_and_place(int(best[i]), positions.shape[1]),
            child_counts=sides[i],
            gap_depth=float(gap_depths[i]),
            needed=float(needed[i]),
            outcome=_outcome(bool(small[i, 0]), bool(small[i, 1]), float(needed[i])),
        )
        tree.tried[node] = trace
        splits.append(trace)
        if trace.applied:
            tree.add(node, axis, candidate, sides[i], (int(exact[i, 0]), int(exact[i, 1])), apart[i])
    tree.records.cut([_cut(tree, trace) for trace in splits if trace.applied])
    choice = PureEvent("split", epsilon, bounded_range=True, purpose=Purpose.SPLITS, step=level + 1)
    step = LevelStep(
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
    following = [child for trace in splits if trace.applied for child in tree.children[trace.node]]
    return step, following if weights.published else [node for node in following if _is_open(tree, plan, node)]


def _looked_at(
    tree: Growth,
    found: "_Found",
    chosen: NDArray[np.intp],
    noisy: Counts,
    sides: Counts,
    plan: Plan,
    level: int,
    active: list[int],
    *,
    rng: np.random.Generator,
) -> tuple[LaplaceEvent | None, FloatArray, FloatArray, NDArray[np.bool_]]:
    """Count how deep the gap is at each chosen place; return the event, the noisy depths (nodes,), what sides need
    (nodes,), and which sides (nodes, 2) the gap shows to be one cluster. As published nothing is looked at.
    """
    epsilon = float(plan.gap_epsilons[level])
    if not epsilon:
        every = np.full(len(active), plan.minimum_count)
        return None, np.full(len(active), np.nan), every, np.zeros(sides.shape, dtype=np.bool_)
    event = count_event("gap", epsilon, Purpose.GAPS, level + 1)
    exact = found.depths.reshape(len(active), -1)[np.arange(len(active)), chosen]
    gaps = laplace(exact.astype(np.float64), scale=event.scale, rng=rng)
    clear = gaps > plan.clear(level, noisy)
    least = plan.least(level)
    free = (level < plan.free_levels) & ~np.array([tree.apart[node] for node in active])
    needed = np.where(clear, least, np.where(free, max(least, plan.minimum_count), np.inf))
    clean = CLEAN_GAP if level else FIRST_GAP
    return event, gaps, needed, clear[:, None] & (gaps[:, None] >= clean * sides)


def _is_open(tree: Growth, plan: Plan, node: int) -> bool:
    """Whether a subset has room for a cut, a level for it, and by its noisy count records enough for two sides."""
    level = tree.levels[node]
    return level < plan.n_levels and tree.has_room(node) and tree.noisy_counts[node] > 2.0 * plan.least(level)


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
    offset = math.log(1.0 / (2.0 * plan.count_delta)) / plan.count_epsilons[level] if weights.published else 0.0
    return np.maximum(noisy - offset, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class _Found(Confidential):
    """What there is at every candidate of the subsets of a level: (nodes, d, s). Private but for `exists`."""

    exists: NDArray[np.bool_]
    counts: NDArray[np.int32]
    ranks: NDArray[np.int32]
    depths: NDArray[np.int32]  # as published: the counts
    sizes: NDArray[np.intp]  # (nodes,) records of each subset


def _choose(
    found: _Found,
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
    group = max(1, GROUP // found.exists[0].size)
    for first in range(0, len(noisy), group):
        rows = slice(first, first + group)
        of = noisy[rows, None, None]
        score = weights.centreness(found.ranks[rows], found.sizes[rows, None, None], of)
        score += weights.emptiness_weight * weights.emptiness(found.counts[rows], found.depths[rows], of)
        # Times the count, so that one sensitivity serves every subset.
        scaled = np.where(found.exists[rows], score * shifted[rows, None, None], -np.inf).reshape(len(score), -1)
        best[rows] = np.argmax(scaled, axis=1)
        chosen[rows] = exponential(scaled, epsilon=epsilon, sensitivity=weights.sensitivity, rng=rng)
    return chosen, best


def _axis_and_place(index: int, n_candidates: int) -> tuple[int, int]:
    return index // n_candidates, index % n_candidates


def _outcome(left_small: bool, right_small: bool, needed: float) -> str:
    if np.isinf(needed):
        return NO_GAP
    if left_small and right_small:
        return BOTH_SMALL
    return LEFT_SMALL if left_small else RIGHT_SMALL if right_small else SPLIT


def _cut(tree: Growth, trace: SplitTrace) -> Cut:
    """Say where the records of a subset go: those below the candidate are in bins 0 to 2j."""
    axis, candidate = trace.chosen
    return Cut(trace.node, axis, 2 * candidate, tree.children[trace.node])
