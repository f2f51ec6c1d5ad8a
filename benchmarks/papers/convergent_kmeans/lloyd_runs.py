"""Runs of convergent k-means and Lloyd's algorithm from the same starts, for the iteration tables.

The protocol of Lu & Shen's section 7: starts are k random records; every column is scaled to [0, 1] by the data's
own extremes; a run ends when no record changes cluster. Nothing is private.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.papers.kept_runs import all_of
from benchmarks.papers.table_sets import SetRecords
from dpviz.core import Centers, Confidential, FloatArray, Points
from dpviz.methods.convergent_kmeans.algorithm import Params, Step, fit
from dpviz.solvers import assign, lloyd

STRATEGIES = ("past", "future")
# Budget of each step in the iteration tables. Our choice; the paper does not state it.
EPSILON = 0.5
# Limit on iterations. No run on the paper's sets comes near it.
MOST = 2000
# Two solutions of Lloyd's are equal if they agree to this many decimals, in [0, 1].
SOLUTION_DIGITS = 6


@dataclass(frozen=True, slots=True, eq=False)
class StrategyRun(Confidential):
    """One run of one strategy. Curator only."""

    # Number of times that means were computed and centers sampled.
    rounds: int
    # Lloyd's iterations: a future round computes means twice.
    lloyd_rounds: int
    # Exact means of the final clusters, (k, d), box units.
    means: Centers
    # Last sampled centers S_hat, (k, d).
    centers: Centers
    # Whether Lloyd's algorithm, started at `means`, would stay there.
    is_solution: bool
    # Moves of centers, over all rounds. A center with X = S does not move.
    n_moves: int
    # Sum of delta over the moves.
    reach_sum: float
    # Sum of alpha over the moves, radians.
    angle_sum: float
    # Moves with a zone that reaches out of the convergent zone.
    n_left: int


@dataclass(frozen=True, slots=True, eq=False)
class StartRun(Confidential):
    """Every strategy and Lloyd's algorithm from one start. Curator only."""

    lloyd_iterations: int
    lloyd_centers: Centers  # (k, d) box units
    by_strategy: dict[str, StrategyRun]


@dataclass(frozen=True, slots=True, eq=False)
class SetRuns:
    """One set and its runs. Curator only."""

    records: SetRecords
    runs: Sequence[StartRun]

    @property
    def name(self) -> str:
        """Return the paper's name of the set."""
        return self.records.paper.name

    @property
    def lloyd(self) -> FloatArray:
        """Return Lloyd's iterations (R,)."""
        return np.array([run.lloyd_iterations for run in self.runs], dtype=np.float64)

    @property
    def lloyd_centers(self) -> FloatArray:
        """Return Lloyd's solutions (R, k, d)."""
        return np.stack([run.lloyd_centers for run in self.runs])

    def select(self, strategy: str) -> list[StrategyRun]:
        """Return the runs of one strategy."""
        return [run.by_strategy[strategy] for run in self.runs]

    def iterations(self, strategy: str) -> FloatArray:
        """Return the iterations (R,) of one strategy: the number of times that all means were computed."""
        return np.array([run.lloyd_rounds for run in self.select(strategy)], dtype=np.float64)

    def passes(self, strategy: str) -> FloatArray:
        """Return the number of times (R,) that a round computes means: once, or twice to look ahead."""
        return self.iterations(strategy) / np.array([run.rounds for run in self.select(strategy)], dtype=np.float64)


def start_seed(seed: int, set_index: int, run: int) -> int:
    """Return the seed of a run's start and noise, different for every seed, set and run."""
    return int(np.random.default_rng([seed, set_index, run]).integers(2**31))


def runs(
    records: SetRecords,
    seeds: Sequence[int],
    *,
    strategies: Sequence[str] = STRATEGIES,
    epsilon: float = EPSILON,
    jobs: int = 1,
) -> list[StartRun]:
    """Return one `StartRun` for each of `seeds`; the same for any number of `jobs`."""
    tasks = ((records, seed, tuple(strategies), epsilon) for seed in seeds)
    return all_of(one_start, tasks, len(seeds), jobs=jobs, title=f"{records.paper.name}, ε = {epsilon:g}")


def one_start(records: SetRecords, seed: int, strategies: tuple[str, ...], epsilon: float) -> StartRun:
    """Run `strategies` with `epsilon` per step, and Lloyd's algorithm, from the k records drawn with `seed`.

    Raises RuntimeError if a run does not converge.
    """
    start = None
    by_strategy = {}
    for strategy in strategies:
        params = Params(
            n_clusters=records.paper.n_clusters,
            mode="published",
            orientation=strategy,
            epsilon_per_iteration=epsilon,
            start="records",
            start_seed=seed,
            max_iterations=MOST,
        )
        trace = fit(records.unit, records.box, params, rng=np.random.default_rng(seed)).trace
        start = trace[0].previous_centers
        by_strategy[strategy] = strategy_run(trace, records.unit)
    if start is None:
        raise ValueError(f"strategies must have at least one of {STRATEGIES}, got {strategies}.")
    reference = lloyd(records.unit, start, max_iterations=MOST)
    if not reference.converged:
        raise RuntimeError(f"Lloyd's algorithm was still moving after {MOST} iterations on {records.paper.name}.")
    return StartRun(reference.n_iterations, reference.nonprivate_centers, by_strategy)


def strategy_run(trace: Sequence[Step], unit: Points) -> StrategyRun:
    """Reduce a trace on the records `unit` (n, d) to the fields for the tables.

    Raises RuntimeError unless the last assignments repeat.
    """
    last = trace[-1]
    if last.outcome != "converged":
        raise RuntimeError(
            f"A run must converge, but this one ended as {last.outcome!r} after {len(trace)} iterations."
        )
    moved = [(step.controller != step.zone_mean).any(axis=1) for step in trace]
    return StrategyRun(
        rounds=len(trace),
        lloyd_rounds=sum(step.lloyd_rounds for step in trace),
        # The last assignment repeats, so these are the means of the final clusters.
        means=last.nonprivate_mean,
        centers=last.released_centers,
        is_solution=bool(np.array_equal(assign(unit, last.nonprivate_mean), last.nonprivate_labels)),
        n_moves=int(sum(rows.sum() for rows in moved)),
        reach_sum=float(sum(step.reach[rows].sum() for step, rows in zip(trace, moved, strict=True))),
        angle_sum=float(sum(step.angle[rows].sum() for step, rows in zip(trace, moved, strict=True))),
        n_left=sum(int(step.leaves_convergent_zone.sum()) for step in trace),
    )


def n_solutions(lloyd_centers: FloatArray) -> int:
    """Return the number of different solutions among (R, k, d), for any order of their centers."""
    # Avoids -0.0.
    rounded = np.round(lloyd_centers, SOLUTION_DIGITS) + 0.0
    keys = [rounded[:, :, axis] for axis in reversed(range(rounded.shape[2]))]
    ordered = np.take_along_axis(rounded, np.lexsort(keys, axis=1)[:, :, None], axis=1)
    return len(np.unique(ordered.reshape(len(ordered), -1), axis=0))


def reach_and_angle(runs: Sequence[StrategyRun]) -> tuple[float, float]:
    """Return the mean delta, and the mean alpha in degrees, over all centers that had a zone."""
    n_moves = max(sum(run.n_moves for run in runs), 1)
    return sum(run.reach_sum for run in runs) / n_moves, math.degrees(sum(run.angle_sum for run in runs) / n_moves)
