"""Privacy claims: the neighbors that a run protects, the claim in print and the claim that is proved."""

import math
from dataclasses import dataclass
from enum import Enum

from dpviz.core.limits import ceiled


class Adjacency(Enum):
    """Which two data sets must look alike."""

    ADD_REMOVE = "add or remove one record"  # n is private
    REPLACE = "change one record"  # n is public


class Account(Enum):
    """Which sum of a run's events proves a claim: `spent_epsilon` in `dpviz.accounting` has each."""

    BASIC = "basic composition"  # pure epsilons add up; Gaussian noise has all of delta
    ZCDP = "zCDP"  # rho adds up
    PLD = "privacy loss distributions"  # the whole law of the loss is composed


@dataclass(frozen=True, slots=True)
class Budget:
    """A privacy budget (epsilon, delta): named, so that its two numbers cannot change places."""

    epsilon: float  # > 0, may be infinite (no privacy)
    delta: float = 0.0  # in [0, 1)

    def __post_init__(self) -> None:
        """Raise ValueError for a budget that no mechanism can have."""
        if not self.epsilon > 0:
            raise ValueError(f"epsilon was {self.epsilon}, but it must be > 0. Use math.inf for no privacy.")
        if not 0 <= self.delta < 1:
            raise ValueError(f"delta was {self.delta}, but it must be in [0, 1).")


@dataclass(frozen=True, slots=True)
class Claim:
    """One (epsilon, delta) statement under one adjacency, with where it is stated or proved.

    Where noise is calibrated for a delta(N) that follows a released noisy number N, `delta` is the largest delta(N).
    That is proved: with the rest of the run M_N (epsilon_2, delta(N))-DP for every N, and N itself epsilon_1-DP of
    density p, neighbors with p' and M' have, for every event S,
    P(S) = int p(N) P(M_N in S_N) dN <= int p(N) (e^epsilon_2 P(M'_N in S_N) + delta(N)) dN
    <= e^(epsilon_1 + epsilon_2) P'(S) + max delta(N). The mean of delta(N) would do, but it depends on the private
    number of records that N is drawn around, so nothing public says what it is; and delta(N) of the number that came
    out is smaller than that mean in about half of all runs.
    """

    epsilon: float  # >= 0; infinite: nothing is claimed
    delta: float
    adjacency: Adjacency  # which data sets must look alike
    reference: str  # where it is stated or proved, for a reader
    per_distance: bool = False  # epsilon is per unit of distance (geo-indistinguishability)
    rho: float | None = None  # the zCDP statement that (epsilon, delta) was converted from
    account: Account = Account.BASIC  # that proves epsilon from the run's events
    delta_in_run: float | None = None  # delta(N) of the number that this run released: what its noise is made for

    def __post_init__(self) -> None:
        """Raise ValueError for a number that is no guarantee at all."""
        if not self.epsilon >= 0 or not 0 <= self.delta <= 1:
            raise ValueError(
                f"A claim had epsilon={self.epsilon}, delta={self.delta}, but epsilon must be >= 0 and delta in [0, 1]."
            )
        if self.delta_in_run is not None and not 0 <= self.delta_in_run <= self.delta:
            raise ValueError(
                f"A claim had delta_in_run={self.delta_in_run}, but it must be in [0, {self.delta}]: the guarantee's "
                "delta is the largest that a run can have."
            )

    def __str__(self) -> str:
        """Write the numbers with whom they protect: ε = 1, δ = 1e-05, add or remove one record."""
        per = " per unit of distance" if self.per_distance else ""
        delta = f", δ = {ceiled(self.delta)}" if self.delta else ""
        return f"ε = {ceiled(self.epsilon)}{per}{delta}, {self.adjacency.value}"

    @property
    def calibrated_delta(self) -> float:
        """Return the delta that this run's noise is made for: no guarantee where it follows a noisy number."""
        return self.delta if self.delta_in_run is None else self.delta_in_run


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The two accounts of a run. `published` is None where nothing is claimed, `proved` where nothing is established.

    A source states `published` of its own procedure. `differs` is the run's difference from it, as part of a sentence:
    the published claim then does not apply to this run; the proof is ours. `trusted` names who sees exact numbers
    besides the curator, in sentences.
    """

    published: Claim | None
    proved: Claim | None
    caveats: tuple[str, ...] = ()  # sentences on what the numbers leave out
    differs: str = ""  # "": the run follows the procedure that `published` is stated of
    trusted: str = ""

    def __repr__(self) -> str:
        """Name both claims and how many caveats there are."""
        claims = "; ".join(
            f"{name} {'nothing' if claim is None else claim!s}"
            for name, claim in (("proved", self.proved), ("published", self.published))
        )
        return f"<Guarantee: {claims}; {len(self.caveats)} caveats>"

    @property
    def stated(self) -> Claim:
        """Return the published claim, else the proved one, else an infinite epsilon, which holds of every run."""
        return self.published or self.proved or Claim(math.inf, 0.0, Adjacency.ADD_REMOVE, "Nothing is claimed.")


def attacker_odds(epsilon: float, delta: float = 0.0) -> float:
    """Return how often, in 100, an attacker with a 50 % prior is right at most.

    100 (e^epsilon + delta) / (1 + e^epsilon), Kairouz, Oh & Viswanath 2015, theorem 2.1 with equal priors.
    """
    # Written with e^-epsilon so that a large epsilon gives 100 and not inf / inf.
    shrink = math.exp(-epsilon)
    return 100.0 * (1.0 + delta * shrink) / (1.0 + shrink)
