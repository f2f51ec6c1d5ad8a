"""A lower bound on epsilon from runs alone, which measures how surely two neighboring data sets look different.

epsilon_lower = max over K events of ln((P_low(D) - delta) / P_high(D')), D and D' in either order, each end one-sided
and exact (Clopper & Pearson 1934) at beta / (2 K), so that all 2 K ends hold at once with probability 1 - beta
(Bonferroni). Half of the runs chooses statistics and events, by this same bound; the other half estimates. If a
mechanism is (epsilon, delta)-DP for the two data sets, epsilon_lower exceeds epsilon with probability at most beta.
A bound below the claim verifies nothing: other data sets and other events may show more.

Notation: D -> points, "first" world; D' -> neighbor, "second"; R -> n_runs, per data set; beta -> 1 - confidence.
Sources: Jagielski, Ullman & Oprea 2020 (the bound); Nasr et al. 2023 (audits with several events).
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpviz.accounting import privacy_loss_distribution, pure_epsilon
from dpviz.audit.outcomes import Batch, Outcomes, Run, Statistic, gather
from dpviz.audit.statistics import MOST_STATISTICS, Family, Learned, learn, varies
from dpviz.core import Adjacency, Event, FloatArray, IntArray, Points, as_points, frozen, immutable, immutable_value

# K. Our choice.
N_EVENTS = 8
# Confidence of the bound. From the specification.
CONFIDENCE = 0.95
# Confidence of the verdict "violation". From the specification.
VERDICT_CONFIDENCE = 0.9999
# Minimum number of runs per data set. Our choice.
FEWEST_RUNS = 20
# Cached numbers of runs, each at one level. Our choice.
CACHED_ENDS = 16
# Maximum number of events of a statistic, if there are enough statistics. Our choice.
MOST_OF_ONE = 2
# Blocks of a statistic's thresholds. Each block has its own candidate, because nearby thresholds give the same
# result. Our choice.
BLOCKS = 4
# Places among sorted values where a threshold may be: evenly spread, and in the widest gaps. Our choice.
SPREAD_THRESHOLDS, WIDEST_GAPS = 384, 48

# Low and high end for 0..m hits, both (m + 1,).
Chances = tuple[FloatArray, FloatArray]


@immutable_value
class AuditEvent:
    """One event, "statistic above a threshold" or below it, fixed by the choosing half and counted in the other."""

    # Name of the statistic.
    statistic: str
    # In the unit of the statistic.
    threshold: float
    # Whether the event is statistic > threshold; otherwise it is statistic < threshold.
    above: bool
    # Whether the event was more frequent in the world of `points`.
    first_is_likely: bool
    # Hits in the likely world.
    hits: int
    # Hits in the other world.
    other_hits: int
    # Bound from this event, at the audit's confidence. May be negative.
    epsilon_lower: float

    @property
    def words(self) -> str:
        """The event as a formula."""
        return f"{self.statistic} {self.side}"

    @property
    def side(self) -> str:
        """The event's side of the threshold."""
        return f"{'>' if self.above else '<'} {self.threshold:.4g}"


@lru_cache(maxsize=CACHED_ENDS)
def chances(n_runs: int, beta: float) -> Chances:
    """Return the exact one-sided ends (n_runs + 1,) of a chance with 0, 1, ..., n_runs hits, each at level `beta`.

    The low end p solves P(hits or more | p) = beta, the high end P(hits or fewer | p) = beta: quantiles of Beta
    distributions.
    """
    low, high = ends(np.arange(n_runs + 1), n_runs, beta)
    return frozen(low), frozen(high)


def ends(hits: ArrayLike, n_runs: ArrayLike, beta: float) -> Chances:
    """Return the ends (m,) of `chances` for these hits in `n_runs` runs."""
    k, n = np.asarray(hits, dtype=np.float64), np.asarray(n_runs, dtype=np.float64)
    low = np.where(k > 0, scipy.special.betaincinv(np.maximum(k, 1.0), n - k + 1.0, beta), 0.0)
    return low, np.where(k < n, scipy.special.betaincinv(k + 1.0, np.maximum(n - k, 1.0), 1.0 - beta), 1.0)


def log_ratio(low: ArrayLike, high: ArrayLike, delta: float) -> FloatArray:
    """Return ln((low - delta) / high), or minus infinity if the numerator is not positive."""
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(np.asarray(low) - delta, 0.0)) - np.log(high)


def least_epsilons(hits: ArrayLike, other_hits: ArrayLike, n_runs: ArrayLike, beta: float, delta: float) -> FloatArray:
    """Return the bound on epsilon from each pair of counts; it may be negative.

    Parameters
    ----------
    hits
        Counts (m,) in one world, or a number.
    other_hits
        Counts in the other world.
    n_runs
        Runs of each world.
    beta
        Level of each of the two ends, which come from `chances`.
    delta
        Delta at which the bound holds.

    Returns
    -------
    FloatArray
        Bounds (m,).
    """
    return log_ratio(ends(hits, n_runs, beta)[0], ends(other_hits, n_runs, beta)[1], delta)


def allowed_hits(other_hits: IntArray, n_runs: IntArray, beta: float, limit: float, delta: float) -> IntArray:
    """Return the most hits (m,) in one world from which no bound above `limit` follows; arguments as above."""
    # The bound grows with the hits, so that bisection finds the last that is allowed.
    low, high = np.zeros_like(n_runs), n_runs.copy()
    while (low < high).any():
        middle = (low + high + 1) // 2
        within = least_epsilons(middle, other_hits, n_runs, beta, delta) <= limit
        low, high = np.where(within, middle, low), np.where(within, high, middle - 1)
    return low


def strength(event: AuditEvent) -> tuple[float, bool]:
    """Return a sort key that puts the strongest event first and, in a tie, the simplest statistic."""
    return -event.epsilon_lower, event.statistic.startswith("learned")


@immutable_value
class BoundOptions:
    """The options of a bound, fixed before the first run."""

    # delta of the tested claim, in [0, 1).
    delta: float = 0.0
    # Confidence of the bound, in (0, 1).
    confidence: float = CONFIDENCE
    # K.
    n_events: int = N_EVENTS

    def level(self, confidence: float | None = None) -> float:
        """Return the error allowed at one end of one event: beta / (2 K)."""
        sure = self.confidence if confidence is None else confidence
        return (1.0 - sure) / (2.0 * self.n_events)


@immutable
class EpsilonBound:
    """The result of an audit. It is not a release, and curator only if `points` are real records."""

    # At least 0, at the options' confidence.
    epsilon_lower: float
    # At most `n_events`, the strongest first.
    events: tuple[AuditEvent, ...]
    # Runs per data set.
    n_runs: int
    # Runs per data set that estimate.
    n_estimating: int
    # Options that were fixed before the runs.
    options: BoundOptions
    # The strongest event's statistic in the world of `points`, (n_estimating,).
    scores: FloatArray
    # The strongest event's statistic in the world of the neighbor, (n_estimating,).
    other_scores: FloatArray

    @property
    def ceiling(self) -> float:
        """The largest bound from this many runs, if an event always happens in one world and never in the other."""
        return self.ceiling_at(self.options.confidence)

    @property
    def at_ceiling(self) -> bool:
        """True if an event separates the worlds without error: epsilon may be any larger value, even infinite."""
        return self.epsilon_lower >= self.ceiling - 1e-9

    def lower_at(self, confidence: float, counts: Sequence[tuple[int, int]] | None = None) -> float:
        """Return the bound at a different `confidence`. It is as sound: the events were chosen on other runs."""
        pairs = [(event.hits, event.other_hits) for event in self.events] if counts is None else list(counts)
        low, high = chances(self.n_estimating, self.options.level(confidence))
        return max([0.0, *(float(log_ratio(low[a], high[b], self.options.delta)) for a, b in pairs)])

    def ceiling_at(self, confidence: float) -> float:
        """Return the largest bound that this many runs can give at a `confidence`."""
        return self.lower_at(confidence, ((self.n_estimating, 0),))

    def violates(self, epsilon: float, confidence: float = VERDICT_CONFIDENCE) -> bool:
        """Return True if a claim of (epsilon, `delta`) is refuted. False means "not found", never "verified"."""
        return self.lower_at(confidence) > epsilon

    def is_undecided(self, epsilon: float, confidence: float = VERDICT_CONFIDENCE) -> bool:
        """Return True if this many runs could not refute a claim of (epsilon, `delta`), no matter what they showed."""
        return self.ceiling_at(confidence) <= epsilon


def epsilon_lower_bound(
    run: Run | Batch,
    points: ArrayLike,
    neighbor: ArrayLike | None = None,
    *,
    statistics: Family | Mapping[str, Statistic] | None = None,
    adjacency: Adjacency | None = None,
    delta: float = 0.0,
    n_runs: int,
    confidence: float = CONFIDENCE,
    neighbour: ArrayLike | None = None,
    rng: np.random.Generator,
) -> EpsilonBound:
    """Run a mechanism on two neighboring data sets and bound its epsilon at `delta` from below.

    The bound holds with probability `confidence` or more.

    Parameters
    ----------
    run
        Function of records and a generator that returns a Release or a plain array, or a `Batch` of many runs at once.
    points
        Records (n, d).
    neighbor
        Records (n', d) that differ by one, which is added, removed or replaced; their order does not matter.
    statistics
        A `Family`, or functions of a run's output by name; by default, the family of all statistics.
    adjacency
        Adjacency of the claim, if it holds for one only.
    delta
        Delta in [0, 1).
    n_runs
        Number of runs of each data set, at least FEWEST_RUNS.
    confidence
        Level in (0, 1).
    neighbour
        Former name of `neighbor`, deprecated.
    rng
        Generator of all runs.

    Returns
    -------
    EpsilonBound
        The bound, with the events and counts that it rests on.

    Raises
    ------
    ValueError
        If the data sets are not neighbors, or a number is outside its range.
    """
    if neighbour is not None:
        warnings.warn("neighbour is now called neighbor.", DeprecationWarning, stacklevel=2)
        neighbor = neighbour
    if neighbor is None:
        raise TypeError("epsilon_lower_bound needs neighbor, the records of the second world.")
    records = as_points(points)
    others = as_points(neighbor, n_features=records.shape[1], name="neighbor")
    _check_neighbors(records, others, adjacency)
    for name, value, fits, allowed in (
        ("n_runs", n_runs, n_runs >= FEWEST_RUNS, f"at least {FEWEST_RUNS} per data set"),
        ("delta", delta, 0 <= delta < 1, "in [0, 1)"),
        ("confidence", confidence, 0 < confidence < 1, "in (0, 1), such as 0.95"),
    ):
        if not fits:
            raise ValueError(f"{name} must be {allowed}, got {value}.")
    named = statistics if isinstance(statistics, Mapping) else None
    family = Family() if named is None else Family(ratios=False, differences=False)
    if isinstance(statistics, Family):
        family = statistics
    worlds = zip((records, others), rng.spawn(2), strict=True)
    first, other = (gather(run, rows, n_runs, statistics=named, rng=generator) for rows, generator in worlds)
    return chosen_events(first, other, family=family, options=BoundOptions(delta, confidence)).counted()


@immutable
class ChosenEvents:
    """Events chosen on every second run of two worlds. The other runs count them."""

    # Bound on the runs that chose, which is therefore too large; 0 without events.
    promise: float
    events: tuple[AuditEvent, ...]
    learned: Learned
    first: Outcomes
    other: Outcomes
    options: BoundOptions

    def counted(self) -> EpsilonBound:
        """Bound epsilon from the runs on which nothing was chosen."""
        names = frozenset(event.statistic for event in self.events)
        first_values, other_values = (
            self.learned.compute(world.part(1, 2), names) for world in (self.first, self.other)
        )
        n_estimating, delta = self.first.n_runs // 2, self.options.delta
        low, high = chances(n_estimating, self.options.level())
        events = []
        for event in self.events:
            counts = [
                int((values > event.threshold if event.above else values < event.threshold).sum())
                for values in (first_values[event.statistic], other_values[event.statistic])
            ]
            hits, others = counts if event.first_is_likely else counts[::-1]
            bound = float(log_ratio(low[hits], high[others], delta))
            events.append(replace(event, hits=hits, other_hits=others, epsilon_lower=bound))
        events.sort(key=strength)
        return EpsilonBound(
            epsilon_lower=max([0.0, *(event.epsilon_lower for event in events)]),
            events=tuple(events),
            n_runs=self.first.n_runs,
            n_estimating=n_estimating,
            options=self.options,
            scores=frozen(first_values[events[0].statistic].copy() if events else np.zeros(n_estimating)),
            other_scores=frozen(other_values[events[0].statistic].copy() if events else np.zeros(n_estimating)),
        )


def chosen_events(
    first: Outcomes, other: Outcomes, *, family: Family | None = None, options: BoundOptions | None = None
) -> ChosenEvents:
    """Choose events by every second run of both worlds, equally many in each.

    Among several pairs of neighbors, the pair with the largest `promise` may be counted alone: the counted runs chose
    neither events nor pair, so the bound is as sound as for one pair.

    Parameters
    ----------
    first
        Outcomes of one world.
    other
        Outcomes of its neighbor.
    family
        Statistics to choose from.
    options
        Levels and delta of the bound.

    Returns
    -------
    ChosenEvents
        Events, and the counted runs.

    Raises
    ------
    ValueError
        If there are too few runs, or not equally many.
    """
    if first.n_runs != other.n_runs or first.n_runs < FEWEST_RUNS:
        raise ValueError(
            f"Both worlds must have the same number of runs, at least {FEWEST_RUNS}, got {first.n_runs} "
            f"and {other.n_runs}. Raise n_runs."
        )
    fixed = options or BoundOptions()
    halves = first.part(0, 2), other.part(0, 2)
    learned = learn(*halves, family or Family())
    here, there = (learned.compute(half) for half in halves)
    ends = chances(halves[0].n_runs, fixed.level())
    # A statistic has at most a few events, so that a direction learned by accident does not crowd out the rest.
    names = [name for name in here if varies(here[name], there[name])][:MOST_STATISTICS]
    most = max(MOST_OF_ONE, -(-fixed.n_events // max(len(names), 1)))
    candidates = [event for name in names for event in _candidates(name, here[name], there[name], ends, fixed.delta)]
    chosen: list[AuditEvent] = []
    per_statistic: Counter[str] = Counter()
    for event in sorted(candidates, key=strength):
        if per_statistic[event.statistic] < most and len(chosen) < fixed.n_events:
            per_statistic[event.statistic] += 1
            chosen.append(event)
    promise = max([0.0, *(event.epsilon_lower for event in chosen)])
    return ChosenEvents(promise, tuple(chosen), learned, first, other, fixed)


def _check_neighbors(records: Points, others: Points, adjacency: Adjacency | None) -> None:
    """Raise ValueError for data sets that do not differ by one record, whatever the order of their rows."""
    _, kinds = np.unique(np.concatenate([records, others]) + 0.0, axis=0, return_inverse=True)
    kinds, n_kinds = kinds.reshape(-1), int(kinds.max(initial=-1)) + 1
    more = np.bincount(kinds[: len(records)], minlength=n_kinds) - np.bincount(kinds[len(records) :], minlength=n_kinds)
    n_gone, n_come = int(more[more > 0].sum()), int(-more[more < 0].sum())
    actual = {1: Adjacency.ADD_REMOVE, 2: Adjacency.REPLACE}.get(n_gone + n_come)
    if actual is None or max(n_gone, n_come) > 1 or adjacency not in (None, actual):
        difference = "one record added or removed, or one replaced"
        if adjacency is not None:
            difference = "one record added or removed" if adjacency is Adjacency.ADD_REMOVE else "one record replaced"
        raise ValueError(
            f"points and neighbor must differ by {difference}, but {n_gone} of the {len(records)} "
            f"records of points are not in neighbor, and {n_come} of the {len(others)} records of "
            "neighbor are not in points. Copy one data set, and make that change in the copy."
        )


def _candidates(name: str, one: FloatArray, two: FloatArray, ends: Chances, delta: float) -> Iterator[AuditEvent]:
    """Yield the best events of one statistic: for each block of thresholds, either side, and either likely world."""
    first, second = np.sort(one), np.sort(two)
    thresholds = _thresholds(np.sort(np.concatenate([first, second])))
    if not len(thresholds):
        return
    above = [len(values) - np.searchsorted(values, thresholds, side="right") for values in (first, second)]
    below = [np.searchsorted(values, thresholds, side="left") for values in (first, second)]
    low, high = ends
    for is_above, (a, b) in ((True, above), (False, below)):
        for first_is_likely, (hits, others) in ((True, (a, b)), (False, (b, a))):
            scores = log_ratio(low[hits], high[others], delta)
            for block in np.array_split(np.arange(len(thresholds)), min(BLOCKS, len(thresholds))):
                best = block[int(np.argmax(scores[block]))]
                yield AuditEvent(
                    name,
                    float(thresholds[best]),
                    is_above,
                    first_is_likely,
                    int(hits[best]),
                    int(others[best]),
                    float(scores[best]),
                )


def _thresholds(values: FloatArray) -> FloatArray:
    """Return places between sorted finite values: at even ranks, dense at both ends, and in all wide gaps.

    A gap's middle is as far from both sides as possible, so that rounding in the last digit moves no value across.
    """
    finite = np.unique(values[np.isfinite(values)])
    if len(finite) < 2:
        # Only whether values are finite can differ.
        return finite - 1.0 if len(finite) and len(finite) < len(values) and values[0] < finite[0] else np.empty(0)
    n = len(finite) - 1
    tail = np.unique(np.geomspace(1, n, 64).astype(np.intp))
    widest = np.argsort(-np.diff(finite), kind="stable")[:WIDEST_GAPS]
    places = np.concatenate([np.linspace(0, n - 1, SPREAD_THRESHOLDS).astype(np.intp), tail - 1, n - tail, widest])
    below = np.unique(places)
    middles = finite[below] + (finite[below + 1] - finite[below]) / 2.0
    lowest = finite[:1] - 1.0 if values[0] < finite[0] else finite[:0]
    return np.concatenate([lowest, middles])


# -- The limit of every attack: trade-off curves from a mechanism's privacy profile --


# epsilon (m,) >= 0 -> delta (m,).
Profile = Callable[[FloatArray], FloatArray]

# Epsilons of the lines whose envelope the curve is: up to NEAR 0.004 apart, then N_FAR more. Our choice.
NEAR, N_NEAR, N_FAR = 8.0, 2001, 200
# Largest epsilon. A false alarm rate of e^-40 is invisible in any number of runs.
FARTHEST = 40.0


def trade_off(profile: Profile, false_positive: ArrayLike) -> FloatArray:
    """Return the largest rate of true alarms of any attack at `false_positive` (any shape, in [0, 1]).

    A profile is delta(epsilon), the smallest delta of a mechanism at each epsilon >= 0. If both orders of two neighbors
    have the same profile, the largest rate of true alarms at a false alarm rate a is the minimum over epsilon >= 0 of
    e^epsilon a + delta(epsilon) and of 1 - e^-epsilon (1 - delta(epsilon) - a): Dong, Roth & Su 2022, proposition 6
    with equation 5. Here it is the envelope of finitely many lines, so it is never below the curve: a bound remains a
    bound.
    Raises ValueError for a rate outside [0, 1].
    """
    rate = np.asarray(false_positive, dtype=np.float64)
    if not ((rate >= 0) & (rate <= 1)).all():
        raise ValueError("false_positive must be a rate in [0, 1]. Divide counts by their total.")
    epsilons = np.concatenate([np.linspace(0.0, NEAR, N_NEAR), np.geomspace(NEAR, FARTHEST, N_FAR)[1:]])
    deltas = np.asarray(profile(epsilons), dtype=np.float64)
    at = rate[..., None]
    steep = np.exp(epsilons) * at + deltas
    flat = 1.0 - np.exp(-epsilons) * (1.0 - deltas - at)
    return np.asarray(np.minimum(np.minimum(steep, flat).min(axis=-1), 1.0))


def events_profile(events: Iterable[Event], adjacency: Adjacency) -> Profile:
    """Return an upper bound on the profile of `events`, composed by dp-accounting.

    Valid if no scale follows from an earlier release, see `dpviz.accounting.privacy_loss_distribution`.
    """
    facts = tuple(events)
    pure = pure_epsilon(facts, adjacency)
    losses = privacy_loss_distribution(facts, adjacency)

    def profile(at: FloatArray) -> FloatArray:
        deltas = np.asarray(losses.get_delta_for_epsilon(list(at)), dtype=np.float64)
        return np.where(at >= pure, 0.0, np.minimum(deltas, 1.0))

    return profile
