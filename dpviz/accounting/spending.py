"""What the events of a run add up to, beside what is stated of it, by the account that the claim names."""

from collections.abc import Sequence
from dataclasses import dataclass

from dpviz.accounting.closed_forms import gdp_delta, gdp_epsilon, zcdp_epsilon
from dpviz.accounting.composition import gaussian_mu, pure_epsilon, pure_part, zcdp_rho
from dpviz.accounting.events import LaplaceEvent, Purpose
from dpviz.accounting.pld import epsilon_of
from dpviz.core import Account, Adjacency, Claim, Event
from dpviz.core.limits import ROUNDING

DELTA_ROUNDING = (
    1e-9  # relative, of a Gaussian's delta: the closed form is off by less than 1e-10; ours, by measurement
)


@dataclass(frozen=True, slots=True)
class Sum:
    """What events add up to, beside what a claim states of it."""

    symbol: str  # "ε" or "ρ"
    found: float
    stated: float

    @property
    def is_over(self) -> bool:
        """Whether more is found than stated, by more than a sum of doubles is off."""
        return self.found > self.stated * (1.0 + ROUNDING)


def spent_epsilon(
    events: Sequence[Event], adjacency: Adjacency, delta: float = 0.0, account: Account = Account.BASIC
) -> float:
    """Return the epsilon of events on the same records under `adjacency` at `delta`, by `account`.

    - BASIC: pure epsilons added up, and Gaussian noise, of one mu, at all of `delta` (Dwork & Roth 2014, theorem 3.16;
      Dong, Roth & Su 2022, corollary 3.3). Infinite with Gaussian noise at delta = 0.
    - ZCDP: rho added up, then converted (Bun & Steinke 2016, proposition 1.3).
    - PLD: privacy loss distributions (`epsilon_of`), or BASIC where that is less: distributions say nothing of budgets
      below about 1e-7.

    For the last two a noisy number of records (`Purpose.SIZE`, outermost) counts with its pure epsilon: the noise of
    the rest may follow it, and composes so for each number that comes out. Raises as `pure_epsilon` does.
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
    """Return what `part` adds to `spent_epsilon` of all `events`, of which it is a part: shares add up to the whole.

    What has no epsilon by itself shares that of all its kind: Gaussian noise as mu^2, and the steps of an account that
    is no sum of epsilons as rho.
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
    """Return what events add up to beside what is stated: epsilon, and rho for a claim of zCDP.

    Epsilon is that at the delta which this run's noise is made for. Raises as `pure_epsilon` does.
    """
    epsilon = spent_epsilon(events, claim.adjacency, claim.calibrated_delta, claim.account)
    if epsilon > claim.epsilon and _keeps(events, claim):
        epsilon = claim.epsilon
    found = (Sum("ε", epsilon, claim.epsilon),)
    return found if claim.rho is None else (*found, Sum("ρ", zcdp_rho(events, claim.adjacency), claim.rho))


def overspent(events: Sequence[Event], claim: Claim) -> bool:
    """Return whether the events add up to more than is stated."""
    return any(each.is_over for each in sums(events, claim))


def _keeps(events: Sequence[Event], claim: Claim) -> bool:
    """Whether the Gaussian noise keeps delta at the epsilon that pure steps leave it.

    At small epsilon this is where the figures are exact: a delta that is off by 1e-14 of itself is another epsilon.
    """
    mu, left = gaussian_mu(events, claim.adjacency), claim.epsilon - pure_part(events, claim.adjacency)
    return mu > 0 and left >= 0 and gdp_delta(mu, left) <= claim.calibrated_delta * (1.0 + DELTA_ROUNDING)


def _split(events: Sequence[Event]) -> tuple[tuple[Event, ...], tuple[Event, ...]]:
    """Return the noisy numbers of records, and the rest."""
    size = tuple(event for event in events if isinstance(event, LaplaceEvent) and event.purpose is Purpose.SIZE)
    return size, tuple(event for event in events if event not in size)
