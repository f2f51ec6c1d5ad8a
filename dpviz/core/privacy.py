"""Privacy claims: the neighbors that a run protects, the published claim and the proved claim."""

import math
from enum import Enum

from dpviz.core.knobs import immutable_value
from dpviz.core.limits import ceiled


class Adjacency(Enum):
    """Pairs of data sets that must look alike."""

    # n is private.
    ADD_REMOVE = "add or remove one record"
    # n is public.
    REPLACE = "change one record"


class Account(Enum):
    """Sum over a run's events that proves a claim. `spent_epsilon` in `dpviz.accounting` computes each."""

    # Pure epsilons add up. Gaussian noise has all of delta.
    BASIC = "basic composition"
    # rho adds up.
    ZCDP = "zCDP"
    # The whole distribution of the loss is composed.
    PLD = "privacy loss distributions"


@immutable_value
class Budget:
    """A privacy budget (epsilon, delta), with names so that its two numbers cannot be swapped."""

    # Greater than 0; infinite for no privacy.
    epsilon: float
    # In [0, 1).
    delta: float = 0.0

    def __post_init__(self) -> None:
        """Raise ValueError for a budget that no mechanism can have."""
        if not self.epsilon > 0:
            raise ValueError(f"epsilon must be above 0, got {self.epsilon}. Use math.inf for no privacy.")
        if not 0 <= self.delta < 1:
            raise ValueError(f"delta must be in [0, 1), got {self.delta}.")


@immutable_value
class Claim:
    """One (epsilon, delta) statement under one adjacency, with where it is stated or proved.

    If noise is calibrated for a delta(N) that follows a released noisy number N, `delta` is the largest delta(N).
    That is proved: with the rest of the run M_N (epsilon_2, delta(N))-DP for every N, and N itself epsilon_1-DP of
    density p, neighbors with p' and M' have, for every event S,
    P(S) = int p(N) P(M_N in S_N) dN <= int p(N) (e^epsilon_2 P(M'_N in S_N) + delta(N)) dN
    <= e^(epsilon_1 + epsilon_2) P'(S) + max delta(N). The mean of delta(N) would be enough, but it depends on the
    private number of records that N is drawn around, so it cannot be computed from public values. And delta(N) of the
    released number is smaller than that mean in about half of all runs.
    """

    # At least 0; infinite if nothing is claimed.
    epsilon: float
    delta: float
    # Data sets that must look alike.
    adjacency: Adjacency
    # Where the claim is stated or proved, for a reader.
    reference: str
    # Whether epsilon is per unit of distance (geo-indistinguishability).
    per_distance: bool = False
    # The zCDP statement that (epsilon, delta) was converted from.
    rho: float | None = None
    # Account that proves epsilon from the run's events.
    account: Account = Account.BASIC
    # delta(N) of the number that this run released, for which its noise is calibrated.
    delta_in_run: float | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for numbers that are not a guarantee."""
        if not self.epsilon >= 0 or not 0 <= self.delta <= 1:
            raise ValueError(
                f"A claim must have epsilon of at least 0 and delta in [0, 1], got {self.epsilon} and {self.delta}."
            )
        if self.delta_in_run is not None and not 0 <= self.delta_in_run <= self.delta:
            raise ValueError(
                f"A claim's delta_in_run must be in [0, {self.delta}], got {self.delta_in_run}: the guarantee's "
                "delta is the largest that a run can have."
            )

    def __str__(self) -> str:
        """Write the numbers and the adjacency: ε = 1, δ = 1e-05, add or remove one record."""
        per = " per unit of distance" if self.per_distance else ""
        delta = f", δ = {ceiled(self.delta)}" if self.delta else ""
        return f"ε = {ceiled(self.epsilon)}{per}{delta}, {self.adjacency.value}"

    def odds(self, distance: float = 1.0) -> float:
        """Return `attacker_odds` of the claim; `distance` separates two places if epsilon is per distance."""
        return attacker_odds(self.epsilon * (distance if self.per_distance else 1.0), self.delta)

    @property
    def calibrated_delta(self) -> float:
        """Return the delta that this run's noise is calibrated for: not a guarantee if it follows a noisy number."""
        return self.delta if self.delta_in_run is None else self.delta_in_run


@immutable_value
class Guarantee:
    """The two claims of a run. `published` is None if nothing is claimed, `proved` if nothing is established.

    A source states `published` for its own procedure. `differs` is the run's difference from it, as part of a sentence:
    the published claim then does not apply to this run, and the proof is by dpviz. `trusted` names those who see exact
    numbers besides the curator, in sentences.
    """

    published: Claim | None
    proved: Claim | None
    # Sentences about limits of the numbers.
    caveats: tuple[str, ...] = ()
    # "" if the run follows the procedure that `published` is stated for.
    differs: str = ""
    trusted: str = ""
    # Maximum number of rows of one person, which the claims cover together.
    rows: int = 1
    # The guarantee of one row, which a run's events prove. None if `rows` is 1.
    row: "Guarantee | None" = None

    def __repr__(self) -> str:
        """Name both claims and the number of caveats."""
        claims = "; ".join(
            f"{name} {'nothing' if claim is None else claim!s}"
            for name, claim in (("proved", self.proved), ("published", self.published))
        )
        return f"<Guarantee: {claims}; {len(self.caveats)} caveats>"

    @property
    def of_row(self) -> "Guarantee":
        """Return the guarantee of one row."""
        return self.row or self

    @property
    def stated(self) -> Claim:
        """Return the published claim, else the proved one, else an infinite epsilon, which holds for every run."""
        return self.published or self.proved or Claim(math.inf, 0.0, Adjacency.ADD_REMOVE, "Nothing is claimed.")


def attacker_odds(epsilon: float, delta: float = 0.0) -> float:
    """Return the largest share, in percent, of right guesses by an attacker with a 50 % prior.

    100 (e^epsilon + delta) / (1 + e^epsilon), Kairouz, Oh & Viswanath 2015, theorem 2.1 with equal priors.
    """
    # Computed with e^-epsilon, so that a large epsilon gives 100 instead of inf / inf.
    shrink = math.exp(-epsilon)
    return 100.0 * (1.0 + delta * shrink) / (1.0 + shrink)
