"""A run of DPM with everything that its picture, its numbers and its charts need."""

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Box, FloatArray, Labels, Points
from dpviz.methods.dpm.algorithm import CentersStep, LevelStep, Params, PlanStep, SplitTrace, Step, TreeRelease
from dpviz.methods.dpm.story.cells import Cells
from dpviz.metrics import nonprivate_cost
from dpviz.solvers import LloydRun, assign, lloyd
from dpviz.solvers.weighted import spread_start
from dpviz.stories.centers import no_data_cost
from dpviz.stories.panel import ceiled, number
from dpviz.stories.run import Run

STARTS = 6  # of k-means++, on a part of the records; the best one goes on with all of them
MOST_TRIED_RECORDS = 2_000
MOST_ITERATIONS = 60
LEFT, RIGHT = "below", "above"


class NonprivateKMeans:
    """k-means without privacy for any k, each computed once: the curator's. Lloyd's algorithm after k-means++."""

    def __init__(self, unit: Points) -> None:
        """Keep the records (n, d), box units."""
        self._unit = unit
        self._runs: dict[int, LloydRun] = {}

    def run(self, n_clusters: int) -> LloydRun:
        """Return the best run from STARTS starts; the same one every time."""
        if n_clusters not in self._runs:
            part = self._unit[:: max(1, -(-len(self._unit) // MOST_TRIED_RECORDS))]
            weights, spare = np.ones(len(part)), np.full((n_clusters, self._unit.shape[1]), 0.5)
            tried = []
            for seed in range(STARTS):
                start = spread_start(part, weights, spare, rng=np.random.default_rng(seed)) if len(part) else spare
                tried.append(lloyd(part, start, max_iterations=MOST_ITERATIONS))
            best = min(tried, key=lambda run: float(run.nonprivate_costs[-1]))
            self._runs[n_clusters] = lloyd(self._unit, best.nonprivate_centers, max_iterations=MOST_ITERATIONS)
        return self._runs[n_clusters]


@dataclass(frozen=True, eq=False)
class TreeContext(Run[Params, TreeRelease, Step]):
    """A run on records with known classes or without; `chosen` is the subset that the reader looks into."""

    reference: NonprivateKMeans  # the curator's
    chosen: int = 0

    @cached_property
    def cells(self) -> Cells:
        """The released tree, box units."""
        return Cells.of(self.result.release.tree, self.words.box)

    @cached_property
    def final(self) -> FloatArray:
        """The released centers (k, d), box units."""
        return self.words.box.to_unit(self.result.release.centers)

    @property
    def k(self) -> int:
        """Number of clusters found; released."""
        return len(self.result.release.centers)

    @property
    def published(self) -> bool:
        """Whether it follows the paper."""
        return self.params.calibration == "published"

    @property
    def node(self) -> int:
        """The chosen subset, the root where the tree has no such one."""
        return self.chosen if self.chosen < len(self.cells.axes) else 0

    @property
    def last(self) -> CentersStep:
        """The last step."""
        last = self.result.trace[-1]
        assert isinstance(last, CentersStep)
        return last

    @property
    def levels(self) -> tuple[LevelStep, ...]:
        """The levels of cuts."""
        return tuple(step for step in self.result.trace if isinstance(step, LevelStep))

    def split(self, node: int) -> SplitTrace | None:
        """Return the cut that was tried at a node, None where there was none; the curator's."""
        return next((split for step in self.levels for split in step.splits if split.node == node), None)

    @cached_property
    def cost_ratio(self) -> float:
        """Inertia of the released centers over k-means' with as many: the curator's. NaN without records."""
        return ratio(self.nonprivate_cost, self.best_cost)

    @cached_property
    def nonprivate_cost(self) -> float:
        """Inertia of the released centers, box units squared: the curator's."""
        return nonprivate_cost(self.unit, self.final, assign(self.unit, self.final))

    @property
    def no_data_cost(self) -> float:
        """What as many centers cost that no record was read for, box units squared: the curator's."""
        return no_data_cost(self.unit, Box.cube(0.0, 1.0, self.words.box.d), self.k)

    @property
    def best_cost(self) -> float:
        """Inertia of k-means with as many centers, box units squared."""
        return float(self.reference.run(self.k).nonprivate_costs[-1])

    @cached_property
    def agreement(self) -> float | None:
        """Adjusted Rand index of the cells with the known classes; None without any. The curator's."""
        if self.classes is None or len(self.classes) < 2:
            return None
        return rand_index(self.last.nonprivate_labels, self.classes)


def ratio(cost: float, best: float) -> float:
    """Return cost / best; 1 where both are 0, infinite where only the best is."""
    return cost / best if best > 0 else 1.0 if cost <= 0 else math.inf


def rand_index(labels: Labels, classes: Labels) -> float:
    """Return the adjusted Rand index of two labellings (n,) (Hubert & Arabie 1985), 1 where both have one group only.

    As scikit-learn's, which takes more than a second to load.
    """
    _, labels = np.unique(labels, return_inverse=True)
    _, classes = np.unique(classes, return_inverse=True)
    width = int(classes.max(initial=0)) + 1
    table = np.bincount(labels * width + classes, minlength=(int(labels.max(initial=0)) + 1) * width).reshape(-1, width)
    inside, rows, columns = (_pairs(counts) for counts in (table.ravel(), table.sum(axis=1), table.sum(axis=0)))
    expected = rows * columns / max(_pairs(np.array([len(labels)])), 1.0)
    most = (rows + columns) / 2.0
    return float((inside - expected) / (most - expected)) if most != expected else 1.0


def reason(told: TreeContext, node: int) -> str:
    """Say in public words what became of a node."""
    tree, needed = told.result.release.tree, float(told.result.release.tree.needed[node])
    if told.cells.applied[node]:
        return "cut in two"
    if not told.cells.tried[node]:
        return f"stopped: {_stop(told, node)}"
    if math.isinf(needed):
        return "refused: no clear gap"
    small = [side for side, count in zip((LEFT, RIGHT), tree.child_counts[node], strict=True) if count <= needed]
    sides = "both sides have" if len(small) == 2 else f"the side {small[0]} has"
    return f"refused: {sides} at most {ceiled(needed)} records"


def _stop(told: TreeContext, node: int) -> str:
    """Say why a subset was not cut, in a few public words."""
    tree, level = told.result.release.tree, int(told.cells.levels[node])
    if told.cells.tried[node]:
        return "no clear gap" if math.isinf(tree.needed[node]) else "a side too small"
    if level >= len(tree.least_counts):
        return "depth"
    few = tree.noisy_counts[node] <= 2.0 * tree.least_counts[level]
    return "too few records for the noise" if few else "no place left inside"


def stops(told: TreeContext) -> str:
    """Count why subsets were not cut, the commonest first."""
    why = Counter(_stop(told, int(node)) for node in np.flatnonzero(told.result.release.tree.centers >= 0))
    return ", ".join(f"{reason} ({times})" for reason, times in why.most_common())


def clear_cuts(told: TreeContext) -> int:
    """Return how many of the cuts of a repaired run were made at a gap that stands out, by released numbers."""
    tree, first = told.result.release.tree, told.result.trace[0]
    assert isinstance(first, PlanStep)
    made = np.flatnonzero(told.cells.applied)
    return sum(tree.gap_depths[i] > first.plan.clear(tree.levels[i], tree.noisy_counts[i]) for i in made)


def place(told: TreeContext, node: int) -> str:
    """Say where the tried cut of a node is."""
    tree, axis = told.result.release.tree, int(told.result.release.tree.split_axes[node])
    unit = f" {told.words.units[axis]}" if told.words.units[axis] else ""
    return f"{told.words.feature_names[axis]} at {number(float(tree.split_positions[node]))}{unit}"


def about(count: float) -> str:
    """Write a noisy count."""
    return f"≈ {number(float(round(count)))}"


def paths(told: TreeContext) -> tuple[str, ...]:
    """Name every node by its way from all records, 0 below each cut and 1 above it: the same node of another run."""
    found: list[str] = []
    parents = told.result.release.tree.parents.tolist()
    for node, parent in enumerate(parents):
        found.append("" if node == 0 else found[parent] + str(int(parents[node - 1] == parent)))
    return tuple(found)


def titles(told: TreeContext) -> tuple[str, ...]:
    """Name every node, in public words."""
    tree = told.result.release.tree
    return tuple(
        f"{'All records' if node == 0 else f'Subset {node}'} ({about(float(tree.noisy_counts[node]))}): "
        + (f"{place(told, node)}, {reason(told, node)}" if told.cells.tried[node] else reason(told, node))
        for node in range(len(tree.parents))
    )


def _pairs(counts: NDArray[np.intp]) -> float:
    wide = counts.astype(np.float64)
    return float((wide * (wide - 1.0)).sum() / 2.0)
