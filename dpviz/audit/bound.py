"""A lower bound on epsilon from runs alone: how surely do two neighboring data sets look different?

epsilon_lower = max over K events of ln((P_low(D) - delta) / P_high(D')), D and D' in either order, each end one-sided
and exact (Clopper & Pearson 1934) at beta / (2 K), so that all 2 K ends hold at once with probability 1 - beta
(Bonferroni). Half of the runs chooses statistics and events, by this same bound; the other half estimates. Where a
mechanism is (epsilon, delta)-DP for the two data sets, epsilon_lower is above epsilon with probability beta at most.
A bound below the claim verifies nothing: other data sets and other events may show more.

Notation: D -> points, "first" world; D' -> neighbour, "second"; R -> n_runs, per data set; beta -> 1 - confidence.
Sources: Jagielski, Ullman & Oprea 2020 (the bound); Nasr et al. 2023 (audits with several events).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from dpviz.audit.events import AuditEvent, chances, choose, counted, log_ratio, strength
from dpviz.audit.family import Family, Learned, informative, learn
from dpviz.audit.outcomes import Batch, Outcomes, Progress, Run, Statistic, gather, joined
from dpviz.core import Adjacency, FloatArray, Points, as_points, frozen

N_EVENTS = 8  # K; ours
CONFIDENCE = 0.95  # of the bound; specification
VERDICT_CONFIDENCE = 0.9999  # of "violation"; specification
FEWEST_RUNS = 20  # per data set; ours


@dataclass(frozen=True, slots=True, eq=False)
class EpsilonBound:
    """What an audit found. Curator only where `points` are real records: it is not a release."""

    epsilon_lower: float  # >= 0, at `confidence`
    events: tuple[AuditEvent, ...]  # at most `n_events`, the strongest first
    n_runs: int  # made per data set
    n_estimating: int  # of them, those that estimate
    delta: float
    confidence: float
    n_events: int  # K, fixed beforehand
    n_looks: int  # fixed beforehand
    scores: FloatArray  # (n_estimating,) the strongest event's statistic, in the world of `points`
    other_scores: FloatArray  # (n_estimating,) in the world of the neighbor

    @property
    def level(self) -> float:
        """The error allowed at one end of one event, at `confidence`."""
        return _beta(self.confidence, self.n_events, self.n_looks)

    @property
    def ceiling(self) -> float:
        """The most that so many runs can show: an event that always happens in one world and never in the other."""
        return self.ceiling_at(self.confidence)

    @property
    def at_ceiling(self) -> bool:
        """Whether the worlds were told apart without a mistake: epsilon may be any larger, also infinite."""
        return self.epsilon_lower >= self.ceiling - 1e-9

    def lower_at(self, confidence: float, counts: Sequence[tuple[int, int]] | None = None) -> float:
        """Return the bound at another `confidence`: the events were chosen on other runs, so it is as sound."""
        pairs = [(event.hits, event.other_hits) for event in self.events] if counts is None else list(counts)
        beta = _beta(confidence, self.n_events, self.n_looks)
        low, high = chances(self.n_estimating, beta)
        return max([0.0, *(float(log_ratio(low[a], high[b], self.delta)) for a, b in pairs)])

    def ceiling_at(self, confidence: float) -> float:
        """The most that so many runs can show at a `confidence`."""
        return self.lower_at(confidence, ((self.n_estimating, 0),))

    def violates(self, epsilon: float, confidence: float = VERDICT_CONFIDENCE) -> bool:
        """Return whether a claim of (epsilon, `delta`) is refuted; False means "not found", never "verified"."""
        return self.lower_at(confidence) > epsilon

    def is_undecided(self, epsilon: float, confidence: float = VERDICT_CONFIDENCE) -> bool:
        """Return whether so few runs could not refute a claim of (epsilon, `delta`), whatever they had shown."""
        return self.ceiling_at(confidence) <= epsilon


def epsilon_lower_bound(
    run: Run | Batch,
    points: ArrayLike,
    neighbour: ArrayLike,
    *,
    statistics: Family | Mapping[str, Statistic] | None = None,
    adjacency: Adjacency | None = None,
    delta: float = 0.0,
    n_runs: int,
    confidence: float = CONFIDENCE,
    n_events: int = N_EVENTS,
    looks: Sequence[int] | None = None,
    stop_above: float = math.inf,
    jobs: int = 1,
    progress: Progress | None = None,
    rng: np.random.Generator,
) -> EpsilonBound:
    """Run a mechanism on two neighboring data sets and bound its epsilon at `delta` from below.

    `run(points, rng)` returns a Release or a plain array; a `Batch` returns many runs at once. `points` (n, d) and
    `neighbour` (n', d) differ by one record, in whatever order they have them: one is in only one of them, or another
    in its place; `adjacency` says which of the two, where the claim is about one alone. `statistics` are a `Family`, or
    numbers of
    what a run returns by name; by default the family of everything. `n_runs` per data set are made, in `jobs`
    processes. `looks`, numbers of runs per data set fixed beforehand and ending at `n_runs`, are where it may stop
    early, as soon as the bound is above `stop_above`: each has its share of beta.

    Raises ValueError for data sets that are no neighbors, fewer than FEWEST_RUNS runs at any look, a delta outside
    [0, 1), a confidence outside (0, 1) and looks that do not rise to n_runs; AuditStoppedError when `progress` returns
    False.
    """
    records = as_points(points)
    others = as_points(neighbour, n_features=records.shape[1], name="neighbour")
    _check_neighbors(records, others, adjacency)
    marks = _checked_looks(looks, n_runs, delta, confidence, n_events)
    family = statistics if isinstance(statistics, Family) else Family()
    named = statistics if isinstance(statistics, Mapping) else None
    worlds = rng.spawn(2)
    found: tuple[list[Outcomes], list[Outcomes]] = ([], [])
    before = 0
    for mark in marks:
        for world, rows in enumerate((records, others)):
            done = 2 * before + world * (mark - before)
            told = None if progress is None else _shifted(progress, done, 2 * n_runs)
            found[world].append(
                gather(run, rows, mark - before, statistics=named, jobs=jobs, progress=told, rng=worlds[world])
            )
        bound = bound_from(
            joined(found[0]),
            joined(found[1]),
            family=Family(ratios=False, differences=False) if named is not None else family,
            delta=delta,
            confidence=confidence,
            n_events=n_events,
            n_looks=len(marks),
        )
        if bound.epsilon_lower > stop_above:
            break
        before = mark
    return bound


@dataclass(frozen=True, slots=True, eq=False)
class ChosenEvents:
    """The events that every second run of two worlds chose, to be counted in the others."""

    promise: float  # the bound on the runs that chose: larger than what it is, as they chose; 0 where there is none
    events: tuple[AuditEvent, ...]
    learned: Learned
    first: Outcomes
    other: Outcomes
    delta: float
    confidence: float
    n_events: int
    n_looks: int

    def counted(self) -> EpsilonBound:
        """Bound epsilon from the runs that chose nothing."""
        wanted = frozenset(event.statistic for event in self.events)
        held, theirs = (self.learned.of(world.part(1, 2), wanted) for world in (self.first, self.other))
        n_estimating = self.first.n_runs // 2
        low, high = chances(n_estimating, _beta(self.confidence, self.n_events, self.n_looks))
        found = sorted((counted(event, held, theirs, low, high, self.delta) for event in self.events), key=strength)
        strongest = found[0].statistic if found else ""
        return EpsilonBound(
            epsilon_lower=max([0.0, *(event.epsilon_lower for event in found)]),
            events=tuple(found),
            n_runs=self.first.n_runs,
            n_estimating=n_estimating,
            delta=self.delta,
            confidence=self.confidence,
            n_events=self.n_events,
            n_looks=self.n_looks,
            scores=frozen(held[strongest].copy() if found else np.zeros(n_estimating)),
            other_scores=frozen(theirs[strongest].copy() if found else np.zeros(n_estimating)),
        )


def chosen_events(
    first: Outcomes,
    other: Outcomes,
    *,
    family: Family | None = None,
    delta: float = 0.0,
    confidence: float = CONFIDENCE,
    n_events: int = N_EVENTS,
    n_looks: int = 1,
) -> ChosenEvents:
    """Choose events by every second run of both worlds, equally many in each.

    Of several pairs of neighbors, the one with the largest `promise` may be counted alone: the runs that are counted
    chose neither events nor pair, so that the bound is as sound as that of one pair.
    Raises ValueError for too few or unequal runs.
    """
    if first.n_runs != other.n_runs or first.n_runs < FEWEST_RUNS:
        raise ValueError(
            f"There were {first.n_runs} and {other.n_runs} runs, but both worlds need the same number, at least "
            f"{FEWEST_RUNS}. Raise n_runs."
        )
    chosen, left = first.part(0, 2), other.part(0, 2)
    learned = learn(chosen, left, family or Family())
    here, there = learned.of(chosen), learned.of(left)
    ends = chances(chosen.n_runs, _beta(confidence, n_events, n_looks))
    events = tuple(choose(here, there, informative(here, there), ends, delta, n_events))
    promise = max([0.0, *(event.epsilon_lower for event in events)])
    return ChosenEvents(promise, events, learned, first, other, delta, confidence, n_events, n_looks)


def bound_from(
    first: Outcomes,
    other: Outcomes,
    *,
    family: Family | None = None,
    delta: float = 0.0,
    confidence: float = CONFIDENCE,
    n_events: int = N_EVENTS,
    n_looks: int = 1,
) -> EpsilonBound:
    """Bound epsilon from runs that were made, equally many in both worlds.

    Every second run chooses, the others estimate. Raises ValueError for too few or unequal runs.
    """
    chosen = chosen_events(
        first, other, family=family, delta=delta, confidence=confidence, n_events=n_events, n_looks=n_looks
    )
    return chosen.counted()


def _beta(confidence: float, n_events: int, n_looks: int) -> float:
    """Return the level of one end: beta / (2 K), and a share of it for each look."""
    return (1.0 - confidence) / (2.0 * n_events * n_looks)


def _check_neighbors(records: Points, others: Points, adjacency: Adjacency | None) -> None:
    """Raise ValueError for data sets that do not differ by one record, whatever the order of their rows."""
    _, kinds = np.unique(np.concatenate([records, others]) + 0.0, axis=0, return_inverse=True)
    kinds, n_kinds = kinds.reshape(-1), int(kinds.max(initial=-1)) + 1
    more = np.bincount(kinds[: len(records)], minlength=n_kinds) - np.bincount(kinds[len(records) :], minlength=n_kinds)
    n_gone, n_come = int(more[more > 0].sum()), int(-more[more < 0].sum())
    found = {1: Adjacency.ADD_REMOVE, 2: Adjacency.REPLACE}.get(n_gone + n_come)
    if found is None or max(n_gone, n_come) > 1 or adjacency not in (None, found):
        wanted = "one record added or removed, or one replaced"
        if adjacency is not None:
            wanted = "one record added or removed" if adjacency is Adjacency.ADD_REMOVE else "one record replaced"
        raise ValueError(
            f"points and neighbour were no neighbors: {n_gone} of {len(records)} records of points are not in "
            f"neighbour, and {n_come} of {len(others)} of neighbour are not in points. They must differ by {wanted}. "
            "Take one data set twice, and change that in one of them."
        )


def _checked_looks(
    looks: Sequence[int] | None, n_runs: int, delta: float, confidence: float, n_events: int
) -> tuple[int, ...]:
    marks = (n_runs,) if looks is None else tuple(int(mark) for mark in looks)
    for name, value, fits, allowed in (
        ("n_runs", n_runs, n_runs >= FEWEST_RUNS, f"at least {FEWEST_RUNS} per data set"),
        ("delta", delta, 0 <= delta < 1, "in [0, 1)"),
        ("confidence", confidence, 0 < confidence < 1, "in (0, 1), such as 0.95"),
        ("n_events", n_events, n_events >= 1, "at least 1"),
    ):
        if not fits:
            raise ValueError(f"{name} was {value}, but it must be {allowed}.")
    rising = all(left < right for left, right in pairwise(marks))
    if not marks or not rising or marks[0] < FEWEST_RUNS or marks[-1] != n_runs:
        raise ValueError(
            f"looks were {marks}, but they must rise from at least {FEWEST_RUNS} to n_runs={n_runs}, all fixed "
            "before the first run."
        )
    return marks


def _shifted(progress: Progress, done: int, total: int) -> Progress:
    return lambda part, _: progress(done + part, total)
