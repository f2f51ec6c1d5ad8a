"""The ledger of a run: what every iteration spent on what, read from its events."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from dpviz.accounting import GaussianEvent, LaplaceEvent, ParallelEvent, PureEvent, SequenceEvent, pure_epsilon
from dpviz.core import Adjacency, CentersRelease, Event, Result, Step

SIZE = "number of records"  # label of the event that pays for it; it comes before the first iteration
PURPOSES = {  # label of an event -> words for it
    SIZE: "Number of records",
    "counts": "Counts",
    "sums": "Sums",
    "final counts": "Final counts (claimed)",
    "one cluster (claimed)": "Draws (claimed)",
    "cell counts": "Cells",
    "mean of the blocks' centers": "Mean of the blocks",
}
EACH_CLUSTER = {"counts", "sums", "final counts"}  # one record is in one cluster, and only that one's noise answers it
ORDER = ("Sums", "Draws (claimed)", "Counts", "Final counts (claimed)", "Number of records")  # from the ground up


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """What one column of the ledger spends on one purpose."""

    column: int  # 0 before the first iteration, 1 .. T, T + 1 for what follows the last
    purpose: str
    epsilon: float  # under the run's adjacency
    n_clusters: int  # clusters that each get all of it, by parallel composition; 1: spent once, on all together


def ledger_rows(result: Result[CentersRelease, Step]) -> tuple[LedgerRow, ...]:
    """Return the ledger of a run, public: it follows from its events. The epsilons add up to what the run spends.

    It is an account of pure epsilon under the adjacency that the events were calibrated for.
    """
    if result.events and all(isinstance(e, PureEvent) and math.isinf(e.epsilon) for e in result.events):
        return (LedgerRow(1, "Exact means", math.inf, 1),)  # how many steps they took is exact, too
    adjacency = adjacency_of(result.events)
    k = len(result.release.centers)
    found: list[LedgerRow] = []
    column = 0
    for event in result.events:
        if not (isinstance(event, LaplaceEvent) and event.label == SIZE):
            column += 1
        at = 0 if isinstance(event, LaplaceEvent) and event.label == SIZE else column
        found += [
            LedgerRow(at, purpose, pure_epsilon(parts, adjacency), k if shared else 1)
            for purpose, parts, shared in _purposes(event)
        ]
    return tuple(sorted(found, key=lambda row: ORDER.index(row.purpose) if row.purpose in ORDER else -1))


def adjacency_of(events: tuple[Event, ...]) -> Adjacency:
    """Return the adjacency that the events were calibrated for; a claim in print can name another one."""
    replaced = any(leaf.calibrated_for is Adjacency.REPLACE for event in events for leaf in leaves(event))
    return Adjacency.REPLACE if replaced else Adjacency.ADD_REMOVE


def leaves(event: Event) -> Iterator[LaplaceEvent | GaussianEvent | PureEvent]:
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


def noise_scales(result: Result[CentersRelease, Step], label: str) -> tuple[float, ...]:
    """Return the scale of the Laplace noise with this label in each event that has it, public."""
    found = (
        (leaf.scale for leaf in leaves(e) if isinstance(leaf, LaplaceEvent) and leaf.label == label)
        for e in result.events
    )
    return tuple(scale for scales in found if (scale := next(scales, None)) is not None)


def _purposes(event: Event) -> Iterator[tuple[str, tuple[Event, ...], bool]]:
    """Yield (purpose, the event's steps for it, whether every cluster gets them)."""
    match event:
        case ParallelEvent(parts=parts):
            # Part i of every cluster, in parallel; the clusters of one iteration do the same.
            inner = [part.events if isinstance(part, SequenceEvent) else (part,) for part in parts]
            for steps in zip(*inner, strict=True):
                yield _words(steps[0]), (ParallelEvent(event.label, steps, event.membership_only),), True
        case SequenceEvent(events=steps) if len({_words(step) for step in steps}) > 1:
            for step in steps:
                yield _words(step), (step,), _label(step) in EACH_CLUSTER
        case SequenceEvent(events=steps):
            yield _words(steps[0]), steps, False
        case _:
            yield _words(event), (event,), _label(event) in EACH_CLUSTER


def _label(event: Event) -> str:
    return str(getattr(event, "label", type(event).__name__))


def _words(event: Event) -> str:
    label = _label(event)
    if label in PURPOSES:
        return PURPOSES[label]
    kind = label.partition(",")[2] or label.partition(":")[2] or label  # "round 3: a pick", "iteration 2, exact means"
    return kind.strip().capitalize()
