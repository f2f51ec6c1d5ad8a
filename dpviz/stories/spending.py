"""The spending of a run: the amount and purpose of each iteration, read from its events."""

import math
from collections.abc import Iterator
from typing import TypeAlias

from dpviz.accounting import (
    GaussianEvent,
    LaplaceEvent,
    ParallelEvent,
    PureEvent,
    Purpose,
    SequenceEvent,
    epsilon_share,
)
from dpviz.core import Adjacency, CentersRelease, Event, Release, Result, Step, immutable_value

# Purposes for which one record is in only one cluster.
EACH_CLUSTER = {Purpose.COUNTS, Purpose.SUMS, Purpose.FINAL_COUNTS}
# From the bottom of a bar to its top.
ORDER = ("Sums", "Draws (claimed)", "Counts", "Final counts (claimed)", "Number of records")


Leaf: TypeAlias = LaplaceEvent | GaussianEvent | PureEvent


@immutable_value
class SpendingRow:
    """The amount spent on one purpose in one column of the chart."""

    # 0 before the first iteration, 1 .. T, T + 1 after the last.
    column: int
    purpose: str
    # Epsilon under the run's adjacency.
    epsilon: float
    # Clusters that each get all of it, by parallel composition. 1: spent once, on all clusters together.
    n_clusters: int


def list_spending(result: Result[Release, Step], *, delta: float | None = None) -> tuple[SpendingRow, ...]:
    """Return the spending of a run, public: it follows from the events. The epsilons add up to the sum that it spends.

    It is the account that the run's guarantee names (`epsilon_share`), under the adjacency that the events were
    calibrated for and at `delta`; None: the delta for which the run's noise is made.
    """
    row = result.guarantee.of_row
    claim = row.proved or row.stated
    delta = claim.calibrated_delta if delta is None else delta
    if result.events and all(isinstance(e, PureEvent) and math.isinf(e.epsilon) for e in result.events):
        # The number of steps is also exact.
        return (SpendingRow(1, "Exact means", math.inf, 1),)
    adjacency = adjacency_of(result.events)
    k = len(result.release.centers) if isinstance(result.release, CentersRelease) else 1
    rows: list[SpendingRow] = []
    for i, event in enumerate(result.events):
        for (step, purpose), part in by_purpose(event).items():
            first = next(leaves(part))
            n_shared = len(part.parts) if isinstance(part, ParallelEvent) else k if purpose in EACH_CLUSTER else 1
            column = i + 1 if purpose is None else step
            rows.append(
                SpendingRow(
                    column,
                    words_of(first),
                    result.guarantee.rows * epsilon_share((part,), result.events, adjacency, delta, claim.account),
                    n_shared,
                )
            )
    return tuple(sorted(rows, key=lambda row: ORDER.index(row.purpose) if row.purpose in ORDER else -1))


def by_purpose(event: Event) -> dict[tuple[int, Purpose | None], Event]:
    """Split an event by step and purpose, each part in its own shape: sequences and parallel parts stay."""
    keys = dict.fromkeys((leaf.step, leaf.purpose) for leaf in leaves(event))
    return {key: part for key in keys if (part := _only(event, key)) is not None}


def words_of(leaf: Leaf) -> str:
    """Return the purpose of a step in words, or the label if a step of another package has no purpose."""
    return leaf.label.capitalize() if leaf.purpose is None else leaf.purpose.value


def _only(event: Event, key: tuple[int, Purpose | None]) -> Event | None:
    match event:
        case SequenceEvent():
            parts = tuple(part for each in event.events if (part := _only(each, key)) is not None)
            return SequenceEvent(event.label, parts) if parts else None
        case ParallelEvent():
            parts = tuple(part for each in event.parts if (part := _only(each, key)) is not None)
            return ParallelEvent(event.label, parts, event.membership_only) if parts else None
        case LaplaceEvent() | GaussianEvent() | PureEvent():
            return event if (event.step, event.purpose) == key else None
    return event


def adjacency_of(events: tuple[Event, ...]) -> Adjacency:
    """Return the adjacency that the events were calibrated for; a claim in print can name a different one."""
    replaced = any(leaf.calibrated_for is Adjacency.REPLACE for event in events for leaf in leaves(event))
    return Adjacency.REPLACE if replaced else Adjacency.ADD_REMOVE


def leaves(event: Event) -> Iterator[Leaf]:
    """Yield every single step of an event, in order."""
    match event:
        case LaplaceEvent() | GaussianEvent() | PureEvent():
            yield event
        case SequenceEvent():
            for part in event.events:
                yield from leaves(part)
        case ParallelEvent():
            for part in event.parts:
                yield from leaves(part)


def noise_scales(result: Result[CentersRelease, Step], purpose: Purpose) -> tuple[float, ...]:
    """Return the scale of the noise for this purpose in each event that has it, public.

    It is Laplace noise's own, and sigma / sqrt(2) of Gaussian noise, which has the variance of Laplace noise of that.
    """
    scales_of = (
        (scale_of(leaf) for leaf in leaves(e) if not isinstance(leaf, PureEvent) and leaf.purpose is purpose)
        for e in result.events
    )
    return tuple(scale for scales in scales_of if (scale := next(scales, None)) is not None)


def scale_of(leaf: LaplaceEvent | GaussianEvent) -> float:
    """Return the scale of Laplace noise, or of Laplace noise with the variance of this Gaussian noise."""
    return leaf.scale if isinstance(leaf, LaplaceEvent) else leaf.sigma / math.sqrt(2.0)
