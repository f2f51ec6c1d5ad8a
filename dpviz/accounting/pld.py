"""Privacy loss distributions: the sharp account, with Google's dp-accounting, off the slider's path.

Importing dp-accounting takes most of a second, so it happens inside the functions. Each step's distribution is built
from our own sensitivity and composed; adjacency is settled here first, never by dp-accounting. Distributions are
pessimistic: every figure is an upper bound, tight to about the discretization, with a floor of about 1e-15 in delta.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import zip_longest
from typing import Any, TypeAlias

import numpy as np

from dpviz.accounting.closed_forms import gdp_delta, gdp_epsilon
from dpviz.accounting.composition import pure_epsilon
from dpviz.accounting.events import (
    GaussianEvent,
    LaplaceEvent,
    ParallelEvent,
    PureEvent,
    SequenceEvent,
    group_size,
    unknown,
)
from dpviz.core import Adjacency, Event, functions

Distribution: TypeAlias = Any  # dp_accounting's PrivacyLossDistribution; the library is untyped and loaded late

N_INTERVALS = 3e4  # across the whole loss: epsilon 0.01 is as sharp, and 1000 as quick, as 1; ours
FINEST_INTERVAL = 1e-8  # of privacy loss, so that no loss at all still has one; ours
KEPT = 32  # distributions that are remembered, each a megabyte or two: a page asks for several figures of one. Ours
LARGEST_STEP = 500.0  # epsilon of one step; e^epsilon overflows in dp-accounting soon after; ours


@dataclass(frozen=True, slots=True)
class _Losses:
    """What matters of some events: their dominating pairs, whose order is immaterial."""

    laplace: tuple[float, ...] = ()  # sensitivity / scale of each coordinate, descending, positive
    pure: tuple[float, ...] = ()  # epsilon of each pure step, descending, positive
    ranged: tuple[float, ...] = ()  # epsilon of each pure step of bounded range, descending, positive
    mu: float = 0.0  # all Gaussians together: sqrt(sum of mu^2)

    @property
    def pure_part(self) -> float:
        return math.fsum((*self.laplace, *self.pure, *self.ranged))

    @property
    def is_within_reach(self) -> bool:
        return max((*self.laplace, *self.pure, *self.ranged, self.mu), default=0.0) <= LARGEST_STEP


def privacy_loss_distribution(events: Iterable[Event], adjacency: Adjacency) -> Distribution:
    """Compose the privacy loss distribution of `events` in sequence under `adjacency`, as a dp-accounting object.

    A Laplace event of n coordinates is n self-compositions; a pure step is randomised response of its epsilon, the
    worst of its kind, and one of bounded range the worst of that (`_bounded_range`); under REPLACE the sensitivity of a
    leaf calibrated for ADD_REMOVE doubles.

    In parallel under ADD_REMOVE: identical parts are one part; a part that costs at least as much as every other, step
    by step, stands for all; otherwise one Gaussian of the largest mu and one pure step of the largest epsilon do.
    Each dominates every part. Under REPLACE that one part is taken with its sensitivities doubled. This covers a record
    that stays, and one that moves as well: step by step, the two parts it leaves and enters are two neighboring
    steps of one ADD_REMOVE mechanism; two such steps are exactly a doubled shift for noise of log-concave density
    (its trade-off functions are a semigroup in the shift), and at most 2 epsilon, in loss or in range, for a pure step.
    With
    `membership_only` nothing stays, and two copies of the part are composed.

    Scales that follow from earlier releases are outside: the distribution of what a run happened to do is not a bound,
    even where its pure epsilon or rho was fixed beforehand. Use `pure_epsilon` or `zcdp_rho` there.

    Raises ValueError for a step with no noise or an epsilon beyond LARGEST_STEP, and as `pure_epsilon` does.
    Source: Koskela et al. 2020; Doroshenko et al. 2022 (the discretization); Zhu, Dong & Wang 2022 (dominating pairs).
    """
    losses = _sequence(events, adjacency)
    if not losses.is_within_reach:
        raise ValueError(
            f"A step had epsilon or mu above {LARGEST_STEP:g}, but its distribution would hold nothing but that. "
            "Use pure_epsilon, or add noise."
        )
    return _distribution(losses)


def delta_of(events: Iterable[Event], epsilon: float, adjacency: Adjacency) -> float:
    """Return an upper bound on the delta of `events` at `epsilon` >= 0; 0 from their pure epsilon on.

    Where a step is beyond the reach of `privacy_loss_distribution` (no noise, say) the answer is the delta of the
    Gaussians alone after the pure steps have taken their epsilon.
    Raises ValueError for a negative epsilon.
    """
    if not epsilon >= 0:
        raise ValueError(f"epsilon was {epsilon}, but it must be >= 0.")
    facts = tuple(events)
    if epsilon >= pure_epsilon(facts, adjacency):
        return 0.0
    losses = _sequence(facts, adjacency)
    if not losses.is_within_reach:
        rest = epsilon - losses.pure_part
        return gdp_delta(losses.mu, rest) if rest >= 0 else 1.0
    return min(1.0, float(_distribution(losses).get_delta_for_epsilon(epsilon)))


def epsilon_of(events: Iterable[Event], delta: float, adjacency: Adjacency) -> float:
    """Return an upper bound on the epsilon of `events` at `delta` in [0, 1), never above their pure epsilon.

    delta = 0 is answered by `pure_epsilon`, which a discretized distribution cannot do; a step beyond the reach of
    `privacy_loss_distribution` by the Gaussians' closed form plus the pure epsilons. Raises ValueError for another
    delta.
    """
    if not 0 <= delta < 1:
        raise ValueError(f"delta was {delta}, but it must be in [0, 1).")
    facts = tuple(events)
    pure = pure_epsilon(facts, adjacency)
    losses = _sequence(facts, adjacency)
    if delta == 0:
        return pure
    if not losses.is_within_reach:
        return min(pure, losses.pure_part + gdp_epsilon(losses.mu, delta))
    return min(pure, float(_distribution(losses).get_epsilon_for_delta(delta)))


@lru_cache(maxsize=KEPT)
def _distribution(losses: _Losses) -> Distribution:
    # Untyped, and most of a second to import: nothing but the sharp account waits for it.
    from dp_accounting.pld import common  # type: ignore[import-untyped]
    from dp_accounting.pld import privacy_loss_distribution as pld

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
    return reduce(lambda left, right: left.compose(right), steps) if steps else pld.identity(interval)


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
    return pld.PrivacyLossDistribution(pld_pmf.create_pmf_pessimistic_connect_dots(interval, multiples, curve))


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
            return _parallel(event, adjacency)
    raise unknown(event)


def _parallel(event: ParallelEvent, adjacency: Adjacency) -> _Losses:
    worst = _majorant({_losses(part, Adjacency.ADD_REMOVE) for part in event.parts})
    if adjacency is Adjacency.ADD_REMOVE:
        return worst
    if event.membership_only:
        return _joined((worst, worst)) if len(event.parts) > 1 else worst
    laplace, pure, ranged = (tuple(2 * each for each in some) for some in (worst.laplace, worst.pure, worst.ranged))
    return _Losses(laplace, pure, ranged, 2 * worst.mu)


def _joined(losses: Iterable[_Losses]) -> _Losses:
    all_losses = tuple(losses)
    laplace = sorted((ratio for one in all_losses for ratio in one.laplace), reverse=True)
    pure = sorted((epsilon for one in all_losses for epsilon in one.pure), reverse=True)
    ranged = sorted((epsilon for one in all_losses for epsilon in one.ranged), reverse=True)
    return _Losses(tuple(laplace), tuple(pure), tuple(ranged), math.hypot(*(one.mu for one in all_losses)))


def _majorant(parts: set[_Losses]) -> _Losses:
    """Return losses that dominate each of `parts`: one of them where possible."""
    if not parts:
        return _Losses()
    largest = max(parts, key=lambda part: (part.mu, part.pure_part))
    if all(_dominates(largest, part) for part in parts):
        return largest
    pure = max(part.pure_part for part in parts)
    return _Losses(pure=(pure,) if pure > 0 else (), mu=largest.mu)


def _dominates(one: _Losses, other: _Losses) -> bool:
    """Say whether `one` costs at least as much as `other`, step by step."""
    pairs = (
        *zip_longest(one.laplace, other.laplace, fillvalue=0.0),
        *zip_longest(one.pure, other.pure, fillvalue=0.0),
        *zip_longest(one.ranged, other.ranged, fillvalue=0.0),
        (one.mu, other.mu),
    )
    return all(left >= right for left, right in pairs)
