"""LSH-Splits' plan, trace and release. See `lsh_splits`."""

from dataclasses import dataclass

import numpy as np

from dpviz.accounting import GaussianEvent
from dpviz.core import Centers, CentersRelease, Counts, Event, FloatArray, Labels, Points, Step


@dataclass(frozen=True, slots=True, eq=False)
class LshPlan:
    """What follows from public parameters and the public or noisy number of records."""

    n_records: float
    delta: float  # of the whole run, that the noise is made for
    most_delta: float  # whatever noisy number delta follows
    mean: GaussianEvent
    level_epsilon: float  # a, of each level's counts
    averages: GaussianEvent
    leaf_minimum: float
    branch_minimum: float
    size_events: tuple[Event, ...]


class LshStep(Step):
    """Base of this method's steps; curator only."""

    __slots__ = ()
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MeanStep(LshStep):
    """The plan, the private mean and the public planes, in box units."""

    plan: LshPlan
    nonprivate_mean: FloatArray  # (d,)
    noisy_mean: FloatArray  # (d,)
    planes: FloatArray  # (depth, d) public normals
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, eq=False)
class LshLevelStep(LshStep):
    """The sides of one level's branching nodes: 2 b of them, the far and near side of each in turn."""

    level: int  # 1, 2, ...
    parents: Labels  # (2 b,) the node above, as an index of the level above
    nonprivate_counts: Counts  # (2 b,)
    noisy_counts: Counts  # (2 b,)
    kept: Labels  # the sides that are nodes of this level, in order
    nonprivate_nodes: Labels  # (n,) node of this level that each record is in, -1 for none
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CoresetStep(LshStep):
    """The averages of the leaves and k-means on them, in box units."""

    nonprivate_leaves: Labels  # (n,) leaf of each record; -1: it was dropped
    nonprivate_counts: Counts  # (m,)
    nonprivate_sums: FloatArray  # (m, d) of x - 1/2
    weights: Counts  # (m,) noisy counts
    depths: Labels  # (m,) level of each leaf
    places: Points  # (m, d) noisy averages
    released_centers: Centers  # (k, d)
    cluster_counts: Counts  # (k,) weights of its leaves
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CoresetRelease(CentersRelease):
    """Centers in data units, and the weighted leaves that they come from."""

    places: Points  # (m, d) data units
    weights: Counts  # (m,) noisy counts
    depths: Labels  # (m,)
    mean: FloatArray  # (d,) noisy, data units: every plane goes through it
    planes: FloatArray  # (depth, d) normals in box units


class LshLeaves:
    """The leaves as they are found: which one each record is in, and their noisy counts and depths."""

    def __init__(self, where: Labels) -> None:
        self.where = where
        self.weights: list[float] = []
        self.depths: list[int] = []
        self.n_levels = 0

    def add(self, nodes: Labels, done: Labels, counts: Counts, level: int) -> None:
        """Make leaves of the nodes `done` of one level; `nodes` (n,) is the node of each record, -1 for none."""
        number = np.full(len(counts) + 1, -1, dtype=np.intp)  # the last entry is that of node -1
        number[done] = len(self.weights) + np.arange(len(done))
        self.where = np.where(number[nodes] >= 0, number[nodes], self.where)
        self.weights.extend(counts[done].tolist())
        self.depths.extend([level] * len(done))
