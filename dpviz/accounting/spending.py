"""What the events of a run add up to, beside what is stated of it."""

import math
from collections.abc import Sequence

from dpviz.accounting.closed_forms import gdp_epsilon
from dpviz.accounting.composition import pure_epsilon, zcdp_rho
from dpviz.accounting.events import GaussianEvent, LaplaceEvent, ParallelEvent, PureEvent, SequenceEvent
from dpviz.core import Adjacency, Claim, Event

ROUNDING = 1e-6  # relative: sums of doubles, and the roots by which Gaussian noise is calibrated, are far closer


def spent_epsilon(events: Sequence[Event], adjacency: Adjacency, delta: float = 0.0) -> float:
    """Return the epsilon of events on the same records: pure ones added up, Gaussian noise at all of `delta`.

    Basic composition (Dwork & Roth 2014, theorem 3.16) of the two, with one mu for all Gaussian noise (Dong, Roth & Su
    2022, corollary 3.3). Infinite with Gaussian noise at delta = 0.
    """
    mu = _mu(events)
    return _pure_part(events, adjacency) + (gdp_epsilon(mu, delta) if mu > 0 else 0.0)


def epsilon_share(part: Sequence[Event], events: Sequence[Event], adjacency: Adjacency, delta: float = 0.0) -> float:
    """Return what `part` adds to `spent_epsilon` of all `events`, of which it is a part: shares add up to the whole.

    Gaussian noise has no epsilon by itself. Its steps share that of all of them as they share mu^2.
    """
    mu, whole = _mu(part), _mu(events)
    if mu == 0:
        return _pure_part(part, adjacency)
    ratio = 1.0 if mu == whole else (mu / whole) ** 2
    return _pure_part(part, adjacency) + gdp_epsilon(whole, delta) * ratio


def spent(events: Sequence[Event], claim: Claim) -> tuple[float, float]:
    """Return (what the events add up to, what the claim states), both rho for a claim of zCDP, else both epsilon."""
    if claim.rho is not None:
        return zcdp_rho(tuple(events), claim.adjacency), claim.rho
    return spent_epsilon(events, claim.adjacency, claim.calibrated_delta), claim.epsilon


def overspent(events: Sequence[Event], claim: Claim) -> bool:
    """Return whether the events add up to more than is stated."""
    found, stated = spent(events, claim)
    return found > stated * (1.0 + ROUNDING)


def _pure_part(events: Sequence[Event], adjacency: Adjacency) -> float:
    pure = tuple(part for event in events if (part := _without_gaussians(event)) is not None)
    return pure_epsilon(pure, adjacency) if pure else 0.0


def _mu(events: Sequence[Event]) -> float:
    return math.sqrt(math.fsum(_squared_mu(event) for event in events))


def _without_gaussians(event: Event) -> Event | None:
    match event:
        case SequenceEvent():
            kept = tuple(part for each in event.events if (part := _without_gaussians(each)) is not None)
            return SequenceEvent(event.label, kept) if kept else None
        case ParallelEvent():
            kept = tuple(part for each in event.parts if (part := _without_gaussians(each)) is not None)
            return ParallelEvent(event.label, kept, event.membership_only) if kept else None
        case GaussianEvent():
            return None
    return event


def _squared_mu(event: Event) -> float:
    """Return mu^2 of an event's Gaussian noise: sums of steps, the largest of parallel parts."""
    match event:
        case SequenceEvent():
            return math.fsum(_squared_mu(each) for each in event.events)
        case ParallelEvent():
            return max((_squared_mu(each) for each in event.parts), default=0.0)
        case GaussianEvent():
            return event.mu**2
        case LaplaceEvent() | PureEvent():
            return 0.0
    return math.inf
