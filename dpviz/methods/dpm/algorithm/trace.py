"""What DPM's steps carry for the curator: the plan, and every split that was tried. See `dpm`."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpviz.core import Confidential, Counts, Event, FloatArray, Step
from dpviz.mechanisms import exponential_probabilities
from dpviz.methods.dpm.algorithm.interval import Interval
from dpviz.methods.dpm.algorithm.plan import Plan
from dpviz.methods.dpm.algorithm.score import (
    centreness,
    emptiness,
    gap,
    smaller_side,
    unit_half_range,
    unit_sensitivity,
)

SPLIT, LEFT_SMALL, RIGHT_SMALL, BOTH_SMALL = "split", "left side too small", "right side too small", "both too small"
NO_GAP = "no clear gap"


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

    def emptiness(self, counts: ArrayLike, gaps: ArrayLike, noisy_count: ArrayLike) -> FloatArray:
        """Return how empty places are: by the records around each as published, else by how deep a gap is there."""
        return emptiness(counts, noisy_count) if self.published else gap(gaps, noisy_count)

    def centreness(self, ranks: ArrayLike, n: ArrayLike, noisy_count: ArrayLike) -> FloatArray:
        """Return how central places are: by rank among n~ records as published, else by the smaller side of n."""
        of = ranks if self.published else smaller_side(ranks, n, noisy_count)
        return centreness(of, noisy_count, self.t, self.q)


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
class SplitTrace(Confidential):
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
    nonprivate_depths: NDArray[np.int32]  # (d, s) of the gap at each candidate, in records; as published: the counts
    chosen: tuple[int, int]  # axis, candidate
    nonprivate_best: tuple[int, int]  # of the highest score
    child_counts: Counts  # (2,) noisy, of the side below and the side above
    gap_depth: float  # noisy depth of the gap at the chosen candidate; NaN as published
    needed: float  # records that either side must have more of; infinite where only a clear gap would do
    outcome: str  # "split", or why not

    @property
    def applied(self) -> bool:
        """Whether the subset was cut in two."""
        return self.outcome == SPLIT

    @property
    def emptiness(self) -> FloatArray:
        """Emptiness (d, s) of every candidate; NaN where there is none."""
        of = self.weights.emptiness(self.nonprivate_counts, self.nonprivate_depths, self.noisy_count)
        return np.where(self.exists, of, np.nan)

    @property
    def centreness(self) -> FloatArray:
        """Centreness (d, s) of every candidate; NaN where there is none."""
        exact = self.weights.centreness(self.nonprivate_ranks, self.nonprivate_count, self.noisy_count)
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
    epsilon_gaps: float  # of the noisy depth of the gap that was cut at; 0 as published
    splits: tuple[SplitTrace, ...]
    events: tuple[Event, ...]
