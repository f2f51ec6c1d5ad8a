"""Sums of events: pure epsilon and zCDP's rho, in sequence and in parallel, under either adjacency."""

import heapq
import math
from collections.abc import Callable, Iterable
from dataclasses import replace

from dpviz.accounting.events import (
    GaussianEvent,
    LaplaceEvent,
    Leaf,
    ParallelEvent,
    PureEvent,
    SequenceEvent,
    group_size,
    unknown,
)
from dpviz.core import Adjacency, Claim, Event

Cost = Callable[[Leaf, int], float]  # (leaf, how many times over its sensitivity moves) -> its price


def pure_epsilon(events: Iterable[Event], adjacency: Adjacency) -> float:
    """Add up the pure epsilon of `events` in sequence under `adjacency`; infinite as soon as one step is Gaussian.

    In sequence epsilons add (Dwork & Roth 2014, theorem 3.14). Under REPLACE a leaf calibrated for ADD_REMOVE costs
    double: replacing is removing and adding.

    In parallel, write a_i and r_i for the cost of part i under ADD_REMOVE and under REPLACE.
    - ADD_REMOVE: the record is in one part, the others see the same records: max_i a_i.
    - REPLACE, the record moves from part i to part j: i loses one and j gains one: a_i + a_j, at most the sum of
      the two largest a.
    - REPLACE, the record changes and stays in part i: only i sees it, and it sees a replacement: r_i.
    So the bound is max(max_i r_i, a_(1) + a_(2)). For leaves calibrated for ADD_REMOVE r_i is 2 a_i, and that is
    2 a_(1). It cannot be less in general: one part with all the records is plain sequential composition. "The
    sum of the two largest" alone holds when no r_i exceeds it: when the two largest parts cost the same, or when a
    record that stays changes nothing, which `ParallelEvent.membership_only` states and r_i is left out.

    Raises ValueError when a leaf calibrated for REPLACE meets ADD_REMOVE, TypeError for an event of no known kind.
    """
    return _in_sequence(events, adjacency, _pure_cost)


def zcdp_rho(events: Iterable[Event], adjacency: Adjacency) -> float:
    """Add up the zCDP of `events`: mu^2/2 for Gaussians, epsilon^2/2 for pure steps, epsilon^2/8 of bounded range.

    Composition is that of `pure_epsilon` with rho in the place of epsilon, except that a leaf calibrated for ADD_REMOVE
    costs 4 rho under REPLACE (sensitivity, epsilon and range double, rho goes with the square), so a record that
    moves between parts costs rho_i + rho_j and one that stays up to 4 rho_i. Raises as `pure_epsilon` does.
    Source: Bun & Steinke 2016, lemma 1.7 and propositions 1.4, 1.6 and 1.9; Cesar & Rogers 2021 for bounded range.
    """
    return _in_sequence(events, adjacency, _rho_cost)


def gaussian_mu(events: Iterable[Event], adjacency: Adjacency) -> float:
    """Return the mu of all Gaussian noise in `events` together; other steps count as nothing.

    mu^2 adds up in sequence (Dong, Roth & Su 2022, corollary 3.3), and composes in parallel as rho = mu^2/2 does in
    `zcdp_rho`: a record that moves between parts costs mu_i^2 + mu_j^2, one that stays up to 4 mu_i^2. Raises as
    `pure_epsilon` does.
    """
    return math.sqrt(_in_sequence(events, adjacency, _squared_mu))


def pure_part(events: Iterable[Event], adjacency: Adjacency) -> float:
    """Add up the pure epsilon of `events` as `pure_epsilon` does; Gaussian noise counts as nothing."""
    return _in_sequence(events, adjacency, _pure_part)


def under_replace(claim: Claim) -> Claim:
    """Restate an ADD_REMOVE claim for REPLACE: (2 epsilon, (1 + e^epsilon) delta), 4 rho; a REPLACE claim is returned.

    A replacement is two steps between neighbors. Use a sensitivity derived for REPLACE where there is one: it is
    often better. Raises ValueError for a claim per unit of distance, whose neighbors differ by distance instead.
    Source: P(A) <= e^eps P'(A) + delta <= e^eps (e^eps P''(A) + delta) + delta; Bun & Steinke 2016, proposition 1.9.
    """
    if claim.adjacency is Adjacency.REPLACE:
        return claim
    if claim.per_distance:
        raise ValueError(
            "A claim per unit of distance was given, but it bounds changed records already. Use it as it is."
        )
    # e^709 is the last power that a float holds; delta has long been 1 by then.
    times = 1.0 + math.exp(min(claim.epsilon, 709.0))
    return replace(
        claim,
        epsilon=2 * claim.epsilon,
        delta=min(1.0, times * claim.delta) if claim.delta > 0 else 0.0,
        adjacency=Adjacency.REPLACE,
        reference=f"{claim.reference}; group privacy for one removal and one addition",
        rho=None if claim.rho is None else 4 * claim.rho,
        delta_in_run=None if claim.delta_in_run is None else min(1.0, times * claim.delta_in_run),
    )


def _pure_cost(leaf: Leaf, times: int) -> float:
    return times * leaf.epsilon


def _rho_cost(leaf: Leaf, times: int) -> float:
    return times**2 * leaf.rho


def _squared_mu(leaf: Leaf, times: int) -> float:
    return (times * leaf.mu) ** 2 if isinstance(leaf, GaussianEvent) else 0.0


def _pure_part(leaf: Leaf, times: int) -> float:
    return 0.0 if isinstance(leaf, GaussianEvent) else times * leaf.epsilon


def _in_sequence(events: Iterable[Event], adjacency: Adjacency, cost: Cost) -> float:
    # fsum: a hundred shares of a budget add up to the budget.
    return math.fsum(_total(event, adjacency, cost) for event in events)


def _total(event: Event, adjacency: Adjacency, cost: Cost) -> float:
    match event:
        case LaplaceEvent() | GaussianEvent() | PureEvent():
            return cost(event, group_size(event, adjacency))
        case SequenceEvent():
            return _in_sequence(event.events, adjacency, cost)
        case ParallelEvent():
            return _in_parallel(event, adjacency, cost)
    raise unknown(event)


def _in_parallel(event: ParallelEvent, adjacency: Adjacency, cost: Cost) -> float:
    one_sided = [_total(part, Adjacency.ADD_REMOVE, cost) for part in event.parts]
    if adjacency is Adjacency.ADD_REMOVE:
        return max(one_sided, default=0.0)
    moves = math.fsum(heapq.nlargest(2, one_sided))
    if event.membership_only:
        return moves
    stays = max((_total(part, Adjacency.REPLACE, cost) for part in event.parts), default=0.0)
    return max(moves, stays)
