"""Events of an audit: which are tried, how often each happened, and what that shows.

An event is "statistic above a threshold" or below it, with one world named where it should be the likelier one.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from dpviz.audit.learned import Columns
from dpviz.core import FloatArray, frozen

KEPT = 16  # numbers of runs, each at one level, whose ends are remembered; ours
MOST_OF_ONE = 2  # events of a statistic, where there are enough statistics; ours
BLOCKS = 4  # of a statistic's thresholds, each with a candidate of its own: neighbors say the same. Ours
SPREAD_THRESHOLDS, WIDEST_GAPS = 384, 48  # places among sorted values where a threshold may stand; ours

Chances = tuple[FloatArray, FloatArray]  # (m + 1,) each: low and high end for 0..m hits


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One event, fixed by the choosing half, and how often the estimating half saw it."""

    statistic: str
    threshold: float
    above: bool  # the event is statistic > threshold, else statistic < threshold
    first_is_likely: bool  # whether the world of `points` is the one where it was seen more often
    hits: int  # in the likely world
    other_hits: int  # in the other one
    epsilon_lower: float  # from this event, at the audit's confidence; may be negative

    @property
    def words(self) -> str:
        """The event as a formula."""
        return f"{self.statistic} {self.side}"

    @property
    def side(self) -> str:
        """The side of the threshold that the event is."""
        return f"{'>' if self.above else '<'} {self.threshold:.4g}"


@lru_cache(maxsize=KEPT)
def chances(n_runs: int, beta: float) -> Chances:
    """Return the exact one-sided ends (n_runs + 1,) of a chance seen 0, 1, ..., n_runs times, each at level `beta`.

    The low end p solves P(hits or more | p) = beta, the high end P(hits or fewer | p) = beta: quantiles of Beta laws.
    """
    hits = np.arange(n_runs + 1, dtype=np.float64)
    low, high = np.zeros(n_runs + 1), np.ones(n_runs + 1)
    low[1:] = betaincinv(hits[1:], n_runs - hits[1:] + 1.0, beta)
    high[:-1] = betaincinv(hits[:-1] + 1.0, n_runs - hits[:-1], 1.0 - beta)
    return frozen(low), frozen(high)


def log_ratio(low: ArrayLike, high: ArrayLike, delta: float) -> FloatArray:
    """Return ln((low - delta) / high), minus infinity where the numerator is not positive."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(np.asarray(low) - delta, 0.0)) - np.log(high))


def strength(event: AuditEvent) -> tuple[float, bool]:
    """Return the key that puts the strongest event first; of equals the one that is easier to understand."""
    return -event.epsilon_lower, event.statistic.startswith("learned")


def choose(
    here: Columns, there: Columns, names: Sequence[str], ends: Chances, delta: float, n_events: int
) -> list[AuditEvent]:
    """Return the `n_events` events with the largest bound on the choosing half, the strongest first.

    A statistic has at most a few of them: what a direction learned by accident promises must not crowd out the rest.
    """
    found = [event for name in names for event in _candidates(name, here[name], there[name], ends, delta)]
    most = max(MOST_OF_ONE, -(-n_events // max(len(names), 1)))
    taken: Counter[str] = Counter()
    kept: list[AuditEvent] = []
    for event in sorted(found, key=strength):
        if taken[event.statistic] < most and len(kept) < n_events:
            taken[event.statistic] += 1
            kept.append(event)
    return kept


def _candidates(name: str, one: FloatArray, two: FloatArray, ends: Chances, delta: float) -> Iterator[AuditEvent]:
    """Yield the best events of one statistic: in each block of thresholds, above or below, either world likely."""
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
    """Return places between sorted finite values: evenly many values apart, dense at both ends, and in all wide gaps.

    A gap's middle is as far from both sides as can be, so that rounding in the last digit moves nobody across.
    """
    finite = np.unique(values[np.isfinite(values)])
    if len(finite) < 2:
        # Only "is it finite" can differ.
        return finite - 1.0 if len(finite) and len(finite) < len(values) and values[0] < finite[0] else np.empty(0)
    n = len(finite) - 1
    tail = np.unique(np.geomspace(1, n, 64).astype(np.intp))
    widest = np.argsort(-np.diff(finite), kind="stable")[:WIDEST_GAPS]
    places = np.concatenate([np.linspace(0, n - 1, SPREAD_THRESHOLDS).astype(np.intp), tail - 1, n - tail, widest])
    kept = np.unique(places)
    middles = finite[kept] + (finite[kept + 1] - finite[kept]) / 2.0
    lowest = finite[:1] - 1.0 if values[0] < finite[0] else finite[:0]
    return np.asarray(np.concatenate([lowest, middles]))


def counted(
    event: AuditEvent, held: Columns, theirs: Columns, low: FloatArray, high: FloatArray, delta: float
) -> AuditEvent:
    """Return the event with the hits of runs that did not choose it."""
    counts = []
    for values in (held[event.statistic], theirs[event.statistic]):
        seen: NDArray[np.bool_] = values > event.threshold if event.above else values < event.threshold
        counts.append(int(seen.sum()))
    hits, others = counts if event.first_is_likely else counts[::-1]
    return replace(event, hits=hits, other_hits=others, epsilon_lower=float(log_ratio(low[hits], high[others], delta)))
