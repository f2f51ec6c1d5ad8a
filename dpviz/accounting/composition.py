"""Sums of events: pure epsilon, zCDP's rho and privacy loss distributions, and the claim that they have to keep.

Events compose in sequence and in parallel, under either adjacency. Privacy loss distributions are the sharp account.
They use Google's dp-accounting, never while a slider moves: importing it takes most of a second, so it happens inside
the functions. Each step's distribution is built from the event's sensitivity and composed. Adjacency is resolved here
first, never by dp-accounting. Distributions are pessimistic: every figure is an upper bound, tight to about the
discretization, with a floor of about 1e-15 in delta.
"""

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, reduce
from itertools import zip_longest
from typing import Any, Protocol

import numpy as np

from dpviz.accounting.closed_forms import gdp_delta, gdp_epsilon, zcdp_epsilon
from dpviz.accounting.events import (
    GaussianEvent,
    LaplaceEvent,
    Leaf,
    ParallelEvent,
    PureEvent,
    Purpose,
    SequenceEvent,
    group_size,
    unknown,
)
from dpviz.core import Account, Adjacency, Claim, Event, Guarantee, functions, immutable_value
from dpviz.core.limits import ROUNDING

# (leaf, factor by which its sensitivity moves) -> its price.
Cost = Callable[[Leaf, int], float]
# Intervals across the whole loss, so that epsilon = 0.01 is as precise, and epsilon = 1000 as fast, as epsilon = 1. Our
# choice.
N_INTERVALS = 3e4
# Minimum interval of privacy loss, so that a loss of zero also has one. Our choice.
FINEST_INTERVAL = 1e-8
# Cached distributions of a megabyte or two each: a page needs several figures from one. Our choice.
CACHED_DISTRIBUTIONS = 32
# Largest epsilon of one step. Not far above it, e^epsilon overflows in dp-accounting. Our choice.
LARGEST_STEP = 500.0
# Relative rounding of a Gaussian's delta: the closed form is off by less than 1e-10. Our choice, measured.
DELTA_ROUNDING = 1e-9


def pure_epsilon(events: Iterable[Event], adjacency: Adjacency) -> float:
    """Add up the pure epsilon of `events` in sequence under `adjacency`; infinite as soon as one step is Gaussian.

    In sequence epsilons add (Dwork & Roth 2014, theorem 3.14). Under REPLACE a leaf calibrated for ADD_REMOVE costs
    double: replacing is removing and adding.

    In parallel, write a_i and r_i for the cost of part i under ADD_REMOVE and under REPLACE.
    - ADD_REMOVE: the record is in one part, the others see the same records: max_i a_i.
    - REPLACE, the record moves from part i to part j: i loses one and j gains one: a_i + a_j, at most the sum of
      the two largest a.
    - REPLACE, the record changes and stays in part i: only i sees it, and it sees a replacement: r_i.
    So the bound is max(max_i r_i, a_(1) + a_(2)). For leaves calibrated for ADD_REMOVE, r_i is 2 a_i, and the bound is
    2 a_(1). It cannot be smaller in general: one part with all the records is plain sequential composition. "The sum of
    the two largest" alone holds if no r_i exceeds it: if the two largest parts cost the same, or if a record that stays
    changes nothing. In the latter case, `ParallelEvent.membership_only` is set and r_i is left out.

    Raises ValueError if a leaf calibrated for REPLACE is used with ADD_REMOVE, TypeError for an unknown kind of event.
    """
    return _in_sequence(events, adjacency, lambda leaf, times: times * leaf.epsilon)


def zcdp_rho(events: Iterable[Event], adjacency: Adjacency) -> float:
    """Add up the zCDP of `events`: mu^2/2 for Gaussians, epsilon^2/2 for pure steps, epsilon^2/8 for bounded range.

    Composition is the same as in `pure_epsilon`, with rho instead of epsilon, except that a leaf calibrated for
    ADD_REMOVE costs 4 rho under REPLACE (sensitivity, epsilon and range double, and rho grows with the square). So a
    record that moves between parts costs rho_i + rho_j, and a record that stays up to 4 rho_i. Raises the errors of
    `pure_epsilon`.
    Source: Bun & Steinke 2016, lemma 1.7 and propositions 1.4, 1.6 and 1.9; Cesar & Rogers 2021 for bounded range.
    """
    return _in_sequence(events, adjacency, lambda leaf, times: times**2 * leaf.rho)


def gaussian_mu(events: Iterable[Event], adjacency: Adjacency) -> float:
    """Return the mu of all Gaussian noise in `events` together; other steps count as nothing.

    mu^2 adds up in sequence (Dong, Roth & Su 2022, corollary 3.3), and composes in parallel as rho = mu^2/2 does in
    `zcdp_rho`: a record that moves between parts costs mu_i^2 + mu_j^2, a record that stays up to 4 mu_i^2. Raises the
    errors of `pure_epsilon`.
    """
    return math.sqrt(
        _in_sequence(
            events, adjacency, lambda leaf, times: (times * leaf.mu) ** 2 if isinstance(leaf, GaussianEvent) else 0.0
        )
    )


def pure_part(events: Iterable[Event], adjacency: Adjacency) -> float:
    """Add up the pure epsilon of `events` like `pure_epsilon`, but ignore Gaussian noise."""
    return _in_sequence(
        events, adjacency, lambda leaf, times: 0.0 if isinstance(leaf, GaussianEvent) else times * leaf.epsilon
    )


def under_replace(claim: Claim) -> Claim:
    """Restate an ADD_REMOVE claim for REPLACE: (2 epsilon, (1 + e^epsilon) delta), 4 rho; a REPLACE claim is returned.

    A replacement is two steps between neighbors. Use a sensitivity derived for REPLACE if there is one, because it is
    often better. Raises ValueError for a claim per unit of distance, whose neighbors differ by distance instead.
    Source: P(A) <= e^eps P'(A) + delta <= e^eps (e^eps P''(A) + delta) + delta; Bun & Steinke 2016, proposition 1.9.
    """
    if claim.adjacency is Adjacency.REPLACE:
        return claim
    if claim.per_distance:
        raise ValueError("A claim per unit of distance already covers changed records. Use it unchanged.")
    return replace(for_group(claim, 2, "one removal and one addition"), adjacency=Adjacency.REPLACE)


def for_group(claim: Claim, rows: int, words: str = "") -> Claim:
    """Restate a claim for several records that come, go or change together, like the records of one person.

    For k rows this is (k epsilon, (1 + e^epsilon + ... + e^((k - 1) epsilon)) delta), and k^2 rho: one record after the
    other.

    Parameters
    ----------
    claim
        Claim about one record.
    rows
        Number of records of the group, at least 1.
    words
        Name of the group for a reader.

    Returns
    -------
    Claim
        Claim about the group.

    References
    ----------
    Dwork & Roth 2014, theorem 2.2; Bun & Steinke 2016, proposition 1.9.
    """
    if rows == 1:
        return claim
    # e^709 is the last power that fits in a float. By then, delta has long been 1.
    times = 1.0 + sum(math.exp(min(i * claim.epsilon, 709.0)) for i in range(1, rows))
    return replace(
        claim,
        epsilon=rows * claim.epsilon,
        delta=min(1.0, times * claim.delta) if claim.delta > 0 else 0.0,
        reference=f"{claim.reference}; group privacy for {words or f'all rows of a person, {rows} at most'}",
        rho=None if claim.rho is None else rows**2 * claim.rho,
        delta_in_run=None if claim.delta_in_run is None else min(1.0, times * claim.delta_in_run),
    )


def across_box(guarantee: Guarantee, events: Iterable[Event]) -> Claim:
    """Return the proved claim of a guarantee per distance for records that may be anywhere in the box."""
    assert guarantee.proved is not None
    epsilon = guarantee.rows * pure_epsilon(events, Adjacency.REPLACE)
    return Claim(epsilon, 0.0, Adjacency.REPLACE, guarantee.proved.reference)


def dp_events(events: Iterable[Event], adjacency: Adjacency, rows: int = 1) -> Any:
    """Return events as one `dp_accounting.DpEvent`, to compose them with other releases of the same records.

    Noise multipliers are for one change under `adjacency`, so an accountant must not double them: `PLDAccountant()`
    accepts everything, for either adjacency. A step known by its epsilon alone is discrete Laplace noise of this
    epsilon on a count: its loss is epsilon or -epsilon, as for randomized response, the worst of its kind. Scales that
    follow from earlier releases are not covered, as in `privacy_loss_distribution`.

    Parameters
    ----------
    events
        Events on the same records, in sequence.
    adjacency
        Neighbors that the noise multipliers are for.
    rows
        Number of records of one person, at least 1.

    Returns
    -------
    DpEvent
        Event for that many records (`_Losses.times`).

    Raises
    ------
    ValueError
        As in `pure_epsilon`, as does TypeError.
    """
    from dp_accounting import dp_event  # type: ignore[import-untyped]  # as in `_distribution`

    losses = _sequence(events, adjacency).times(rows)
    parts = [dp_event.GaussianDpEvent(1 / losses.mu)] if losses.mu > 0 else []
    for ratio, times in Counter(losses.laplace).items():
        parts.append(dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(1 / ratio), times))
    for epsilon in (*losses.pure, *losses.ranged):
        pure = dp_event.DiscreteLaplaceDpEvent(epsilon, 1)
        parts.append(pure if math.isfinite(epsilon) else dp_event.NonPrivateDpEvent())
    return dp_event.ComposedDpEvent(parts)


def _in_sequence(events: Iterable[Event], adjacency: Adjacency, cost: Cost) -> float:
    # fsum, so that a hundred shares of a budget add up to the budget.
    return math.fsum(_total(event, adjacency, cost) for event in events)


def _total(event: Event, adjacency: Adjacency, cost: Cost) -> float:
    match event:
        case LaplaceEvent() | GaussianEvent() | PureEvent():
            return cost(event, group_size(event, adjacency))
        case SequenceEvent():
            return _in_sequence(event.events, adjacency, cost)
        case ParallelEvent():
            one_sided = [_total(part, Adjacency.ADD_REMOVE, cost) for part in event.parts]
            if adjacency is Adjacency.ADD_REMOVE:
                return max(one_sided, default=0.0)
            moves = math.fsum(heapq.nlargest(2, one_sided))
            if event.membership_only:
                return moves
            stays = max((_total(part, Adjacency.REPLACE, cost) for part in event.parts), default=0.0)
            return max(moves, stays)
    raise unknown(event)


class Distribution(Protocol):
    """dp-accounting's `PrivacyLossDistribution`, which is untyped and loaded late."""

    def self_compose(self, num_times: int) -> "Distribution":
        """Compose the distribution with itself."""

    def compose(self, other: "Distribution") -> "Distribution":
        """Compose the distribution with a second one."""

    def get_delta_for_epsilon(self, epsilon: float | list[float]) -> float:
        """Return delta; a list of them for a list."""

    def get_epsilon_for_delta(self, delta: float) -> float:
        """Return epsilon."""


@immutable_value
class _Losses:
    """The dominating pairs of some events, whose order is immaterial."""

    # sensitivity / scale of each coordinate, descending, positive.
    laplace: tuple[float, ...] = ()
    # Epsilon of each pure step, descending, positive.
    pure: tuple[float, ...] = ()
    # Epsilon of each pure step of bounded range, descending, positive.
    ranged: tuple[float, ...] = ()
    # All Gaussians together: sqrt(sum of mu^2).
    mu: float = 0.0

    @property
    def pure_part(self) -> float:
        return math.fsum((*self.laplace, *self.pure, *self.ranged))

    @property
    def is_within_reach(self) -> bool:
        return max((*self.laplace, *self.pure, *self.ranged, self.mu), default=0.0) <= LARGEST_STEP

    def times(self, k: int) -> "_Losses":
        """Return losses that dominate k changes at once: every sensitivity, epsilon and range is k-fold.

        k shifts of log-concave noise in one coordinate are one shift of k times the size, and k shifts in several
        coordinates are not easier to detect; mu of a sum of k vectors is at most k mu; losses of k pure steps add up,
        and so do ranges.
        """
        laplace, pure, ranged = (tuple(k * each for each in kind) for kind in (self.laplace, self.pure, self.ranged))
        return _Losses(laplace, pure, ranged, k * self.mu)

    def dominates(self, other: "_Losses") -> bool:
        """Return True if these cost at least as much as the others, step by step."""
        pairs = (
            *zip_longest(self.laplace, other.laplace, fillvalue=0.0),
            *zip_longest(self.pure, other.pure, fillvalue=0.0),
            *zip_longest(self.ranged, other.ranged, fillvalue=0.0),
            (self.mu, other.mu),
        )
        return all(ours >= theirs for ours, theirs in pairs)


def privacy_loss_distribution(
    events: Iterable[Event], adjacency: Adjacency, interval: float | None = None, rows: int = 1
) -> Distribution:
    """Compose the privacy loss distribution of events in sequence, as a dp-accounting object.

    A Laplace event of n coordinates is n self-compositions; a pure step is randomized response of its epsilon, the
    worst of its kind, and one of bounded range the worst of that (`_bounded_range`); under REPLACE the sensitivity of a
    leaf calibrated for ADD_REMOVE doubles. Scales that follow from earlier releases are not covered: the distribution
    for a run's actual scales is not a bound, even if its pure epsilon or rho was fixed beforehand. Use `pure_epsilon`
    or `zcdp_rho` there.

    Parameters
    ----------
    events
        Events on the same records.
    adjacency
        Neighbors that the distribution is for.
    interval
        Losses are rounded up to multiples of it, above 0; None is fine enough for these events. Distributions with the
        same interval can be composed, including those of other libraries.
    rows
        Number of records of one person, at least 1 (`_Losses.times`).

    Returns
    -------
    Distribution
        Distribution of the privacy loss.

    Raises
    ------
    ValueError
        If a step has no noise or an epsilon beyond LARGEST_STEP, if the interval is invalid, and as in `pure_epsilon`.

    Notes
    -----
    In parallel under ADD_REMOVE: identical parts are one part; a part that costs at least as much as every other, step
    by step, stands for all; otherwise one Gaussian of the largest mu and one pure step of the largest epsilon do. Each
    dominates every part. Under REPLACE that one part is taken with its sensitivities doubled. This covers a record that
    stays, and one that moves as well: step by step, the two parts it leaves and enters are two neighboring steps of one
    ADD_REMOVE mechanism; two such steps are exactly a doubled shift for noise of log-concave density (its trade-off
    functions are a semigroup in the shift), and at most 2 epsilon, in loss or in range, for a pure step. With
    `membership_only` nothing stays, and two copies of the part are composed.

    References
    ----------
    Koskela et al. 2020; Doroshenko et al. 2022 (the discretization); Zhu, Dong & Wang 2022 (dominating pairs).
    """
    losses = _sequence(events, adjacency).times(rows)
    if not losses.is_within_reach:
        raise ValueError(
            f"epsilon and mu of a step must be at most {LARGEST_STEP:g}, because a larger one would "
            "leave nothing else in its distribution. Use pure_epsilon, or add more noise."
        )
    if interval is not None and not 0 < interval < math.inf:
        raise ValueError(f"interval must be positive, such as 1e-4, got {interval}.")
    return _distribution(losses, interval)


def delta_of(events: Iterable[Event], epsilon: float, adjacency: Adjacency) -> float:
    """Return an upper bound on the delta of events at an epsilon; 0 at their pure epsilon and above.

    If a step is beyond the reach of `privacy_loss_distribution` (for example, without noise), the result is the delta
    of the Gaussians alone after the pure steps have taken their epsilon.

    Parameters
    ----------
    events
        Events on the same records, in sequence.
    epsilon
        Epsilon, at least 0.
    adjacency
        Neighbors to bound.

    Returns
    -------
    float
        Delta, from 0 to 1.

    Raises
    ------
    ValueError
        If epsilon is negative.
    """
    if not epsilon >= 0:
        raise ValueError(f"epsilon must be at least 0, got {epsilon}.")
    facts = tuple(events)
    if epsilon >= pure_epsilon(facts, adjacency):
        return 0.0
    losses = _sequence(facts, adjacency)
    if not losses.is_within_reach:
        rest = epsilon - losses.pure_part
        return gdp_delta(losses.mu, rest) if rest >= 0 else 1.0
    return min(1.0, float(_distribution(losses).get_delta_for_epsilon(epsilon)))


def epsilon_of(events: Iterable[Event], delta: float, adjacency: Adjacency) -> float:
    """Return an upper bound on the epsilon of events at a delta, never above their pure epsilon.

    For delta = 0, which a discretized distribution does not support, `pure_epsilon` is used. For a step beyond the
    reach of `privacy_loss_distribution`, the Gaussians' closed form plus the pure epsilons is used.

    Parameters
    ----------
    events
        Events on the same records, in sequence.
    delta
        Delta in [0, 1).
    adjacency
        Neighbors to bound.

    Returns
    -------
    float
        Epsilon.

    Raises
    ------
    ValueError
        If delta is outside [0, 1).
    """
    if not 0 <= delta < 1:
        raise ValueError(f"delta must be in [0, 1), got {delta}.")
    facts = tuple(events)
    pure = pure_epsilon(facts, adjacency)
    losses = _sequence(facts, adjacency)
    if delta == 0:
        return pure
    if not losses.is_within_reach:
        return min(pure, losses.pure_part + gdp_epsilon(losses.mu, delta))
    return min(pure, float(_distribution(losses).get_epsilon_for_delta(delta)))


@lru_cache(maxsize=CACHED_DISTRIBUTIONS)
def _distribution(losses: _Losses, interval: float | None = None) -> Distribution:
    # dp-accounting is untyped, takes most of a second to import, and only the sharp account needs it.
    from dp_accounting.pld import common  # type: ignore[import-untyped]
    from dp_accounting.pld import privacy_loss_distribution as pld

    if interval is None:
        interval = max((losses.pure_part + losses.mu**2 / 2 + 10 * losses.mu) / N_INTERVALS, FINEST_INTERVAL)
    steps: list[Distribution] = []
    for ratio, times in Counter(losses.laplace).items():
        one = pld.from_laplace_mechanism(1.0, sensitivity=ratio, value_discretization_interval=interval)
        steps.append(one.self_compose(times))
    for epsilon, times in Counter(losses.pure).items():
        parameters = common.DifferentialPrivacyParameters(epsilon, 0.0)
        one = pld.from_privacy_parameters(parameters, value_discretization_interval=interval)
        steps.append(one.self_compose(times))
    for epsilon, times in Counter(losses.ranged).items():
        steps.append(_bounded_range(epsilon, interval).self_compose(times))
    if losses.mu > 0:
        steps.append(pld.from_gaussian_mechanism(1 / losses.mu, value_discretization_interval=interval))
    return reduce(lambda one, other: one.compose(other), steps) if steps else pld.identity(interval)


def _bounded_range(epsilon: float, interval: float) -> Distribution:
    """Return the distribution that dominates all of bounded range `epsilon`, on multiples of `interval`.

    For two neighbors the loss lies between t - epsilon and t for some t in [0, epsilon]. The worst such pair is
    generalized randomized response, with hockey-stick divergence at x
    (1 - e^(t - epsilon) - e^(x - t) + e^(x - epsilon)) / (1 - e^-epsilon). Its maximum over t is
    (1 - e^((x - epsilon)/2))^2 / (1 - e^-epsilon), at t = (x + epsilon) / 2. A maximum of such curves is the curve of a
    dominating pair, so it composes, whichever t each step has. Sources: Dong, Durfee & Rogers 2020 (generalized
    randomized response); Zhu, Dong & Wang 2022, proposition 8 and theorem 10; Doroshenko et al. 2022 (from the curve to
    multiples of `interval`).
    """
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld import privacy_loss_distribution as pld

    multiples = np.arange(-math.ceil(epsilon / interval), math.ceil(epsilon / interval) + 1)
    at = multiples * interval
    curve = functions.expm1(np.minimum(at - epsilon, 0.0) / 2.0) ** 2 / -math.expm1(-epsilon)
    curve = np.where(at <= -epsilon, -functions.expm1(at), curve)
    mass = pld_pmf.create_pmf_pessimistic_connect_dots(interval, multiples, curve)
    distribution: Distribution = pld.PrivacyLossDistribution(mass)
    return distribution


def _sequence(events: Iterable[Event], adjacency: Adjacency) -> _Losses:
    return _joined(_losses(event, adjacency) for event in events)


def _losses(event: Event, adjacency: Adjacency) -> _Losses:
    match event:
        case LaplaceEvent():
            ratio = group_size(event, adjacency) * event.epsilon_per_coordinate
            return _Losses(laplace=(ratio,) * event.n_coordinates if ratio > 0 else ())
        case PureEvent():
            epsilon = group_size(event, adjacency) * event.epsilon
            steps = (epsilon,) if epsilon > 0 else ()
            return _Losses(ranged=steps) if event.bounded_range else _Losses(pure=steps)
        case GaussianEvent():
            return _Losses(mu=group_size(event, adjacency) * event.mu)
        case SequenceEvent():
            return _sequence(event.events, adjacency)
        case ParallelEvent():
            # Losses that dominate the losses of each part, those of one part if possible.
            parts = {_losses(part, Adjacency.ADD_REMOVE) for part in event.parts}
            worst = max(parts, key=lambda part: (part.mu, part.pure_part), default=_Losses())
            if not all(worst.dominates(part) for part in parts):
                most = max(part.pure_part for part in parts)
                worst = _Losses(pure=(most,) if most > 0 else (), mu=worst.mu)
            if adjacency is Adjacency.ADD_REMOVE:
                return worst
            if event.membership_only:
                return _joined((worst, worst)) if len(event.parts) > 1 else worst
            return worst.times(2)
    raise unknown(event)


def _joined(losses: Iterable[_Losses]) -> _Losses:
    all_losses = tuple(losses)
    laplace = sorted((ratio for one in all_losses for ratio in one.laplace), reverse=True)
    pure = sorted((epsilon for one in all_losses for epsilon in one.pure), reverse=True)
    ranged = sorted((epsilon for one in all_losses for epsilon in one.ranged), reverse=True)
    return _Losses(tuple(laplace), tuple(pure), tuple(ranged), math.hypot(*(one.mu for one in all_losses)))


@immutable_value
class Sum:
    """The total of some events, and the total that a claim states."""

    symbol: str  # "ε" or "ρ"
    # Total of the events.
    total: float
    # Total stated by the claim.
    stated: float

    @property
    def is_over(self) -> bool:
        """True if the total exceeds the stated total by more than the rounding of a sum of doubles."""
        return self.total > self.stated * (1.0 + ROUNDING)


def spent_epsilon(
    events: Sequence[Event], adjacency: Adjacency, delta: float = 0.0, account: Account = Account.BASIC
) -> float:
    """Return the epsilon that events on the same records spend at a delta.

    - BASIC: pure epsilons added up, and Gaussian noise, of one mu, at all of `delta`. Infinite with Gaussian noise at
      delta = 0.
    - ZCDP: rho added up, then converted.
    - PLD: privacy loss distributions (`epsilon_of`), or BASIC if that is smaller: distributions say nothing about
      budgets below about 1e-7.

    For the last two accounts, a noisy number of records (`Purpose.SIZE`, outermost) counts with its pure epsilon,
    because the other noise may depend on it, and composes in this way for each possible number.

    Parameters
    ----------
    events
        Events on the same records, in sequence.
    adjacency
        Neighbors that the epsilon is for.
    delta
        Delta in [0, 1).
    account
        Rule by which events add up.

    Returns
    -------
    float
        Epsilon.

    Raises
    ------
    ValueError
        As in `pure_epsilon`, as does TypeError.

    References
    ----------
    BASIC: Dwork & Roth 2014, theorem 3.16; Dong, Roth & Su 2022, corollary 3.3. ZCDP: Bun & Steinke 2016, proposition
    1.3.
    """
    if account is Account.BASIC:
        mu = gaussian_mu(events, adjacency)
        return pure_part(events, adjacency) + (gdp_epsilon(mu, delta) if mu > 0 else 0.0)
    size, rest = _split(events)
    if account is Account.ZCDP:
        return pure_epsilon(size, adjacency) + zcdp_epsilon(zcdp_rho(rest, adjacency), delta)
    sharp, basic = epsilon_of(rest, delta, adjacency), spent_epsilon(rest, adjacency, delta)
    return pure_epsilon(size, adjacency) + min(sharp, basic)


def epsilon_share(
    part: Sequence[Event],
    events: Sequence[Event],
    adjacency: Adjacency,
    delta: float = 0.0,
    account: Account = Account.BASIC,
) -> float:
    """Return the share of some events in the `spent_epsilon` of all. Shares add up to the whole.

    Events without their own epsilon share the epsilon of all events of their kind: Gaussian noise in proportion to
    mu^2, and the steps of an account that is not a sum of epsilons in proportion to rho.

    Parameters
    ----------
    part
        Some of `events`.
    events
        All events on the same records, in sequence.
    adjacency
        Neighbors that the epsilon is for.
    delta
        Delta in [0, 1).
    account
        Rule by which events add up.

    Returns
    -------
    float
        Epsilon of `part`.
    """
    if account is Account.BASIC:
        mu, whole = gaussian_mu(part, adjacency), gaussian_mu(events, adjacency)
        if mu == 0:
            return pure_part(part, adjacency)
        ratio = 1.0 if mu == whole else (mu / whole) ** 2
        return pure_part(part, adjacency) + gdp_epsilon(whole, delta) * ratio
    (size, rest), (_, all_rest) = _split(part), _split(events)
    rho, all_rho = zcdp_rho(rest, adjacency), zcdp_rho(all_rest, adjacency)
    if rho == 0:
        return pure_epsilon(size, adjacency)
    ratio = 1.0 if rho == all_rho else rho / all_rho
    return pure_epsilon(size, adjacency) + spent_epsilon(all_rest, adjacency, delta, account) * ratio


def sums(events: Sequence[Event], claim: Claim) -> tuple[Sum, ...]:
    """Return the totals of events and the stated totals: epsilon, and rho for a claim of zCDP.

    Epsilon is at the delta for which this run's noise is calibrated. Raises the errors of `pure_epsilon`.
    """
    epsilon = spent_epsilon(events, claim.adjacency, claim.calibrated_delta, claim.account)
    if epsilon > claim.epsilon:
        # At small epsilon, delta is the precise figure: a relative error of 1e-14 in delta means a different epsilon.
        # The claim holds if the Gaussian noise keeps delta at the epsilon that pure steps leave it.
        mu, rest = gaussian_mu(events, claim.adjacency), claim.epsilon - pure_part(events, claim.adjacency)
        if mu > 0 and rest >= 0 and gdp_delta(mu, rest) <= claim.calibrated_delta * (1.0 + DELTA_ROUNDING):
            epsilon = claim.epsilon
    totals = (Sum("ε", epsilon, claim.epsilon),)
    return totals if claim.rho is None else (*totals, Sum("ρ", zcdp_rho(events, claim.adjacency), claim.rho))


def overspent(events: Sequence[Event], claim: Claim) -> bool:
    """Return True if the events add up to more than the claim states."""
    return any(each.is_over for each in sums(events, claim))


def _split(events: Sequence[Event]) -> tuple[tuple[Event, ...], tuple[Event, ...]]:
    """Return the noisy numbers of records, and the rest."""
    size = tuple(event for event in events if isinstance(event, LaplaceEvent) and event.purpose is Purpose.SIZE)
    return size, tuple(event for event in events if event not in size)
