"""What a run promises: the neighbors it protects, the claim in print and the claim that is proved."""

import math
from dataclasses import dataclass
from enum import Enum


class Adjacency(Enum):
    """Which two data sets must look alike."""

    ADD_REMOVE = "add or remove one record"  # n is private
    REPLACE = "change one record"  # n is public


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
    """One (epsilon, delta) statement under one adjacency, with where it is stated or proved."""

    epsilon: float
    delta: float
    adjacency: Adjacency
    reference: str
    per_distance: bool = False  # epsilon is per unit of distance (geo-indistinguishability)
    rho: float | None = None  # the zCDP statement that (epsilon, delta) was converted from
    mean_delta: float | None = None  # where delta follows a released noisy number: its mean over that number's noise

    def __post_init__(self) -> None:
        """Raise ValueError for a number that is no guarantee at all."""
        if not self.epsilon >= 0 or not 0 <= self.delta <= 1:
            raise ValueError(
                f"A claim had epsilon={self.epsilon}, delta={self.delta}, but epsilon must be >= 0 and delta in [0, 1]."
            )

    @property
    def a_priori_delta(self) -> float:
        """Return the delta that holds before the run: the guarantee's own, whatever number is released."""
        return self.delta if self.mean_delta is None else self.mean_delta


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The two accounts of a run. `proved` is None where the published claim is not established.

    A source states `published` of its own procedure. `differs` says what the run does otherwise, as part of a sentence:
    what the source states is then not about this run, and the proof is nobody else's than this implementation's.
    `trusted` says who sees exact numbers besides the curator, in sentences.
    """

    published: Claim
    proved: Claim | None
    caveats: tuple[str, ...] = ()
    differs: str = ""  # "": the run follows the procedure that `published` is stated of
    trusted: str = ""  # "": nobody


def attacker_odds(epsilon: float, delta: float = 0.0) -> float:
    """Return how often, in 100, an attacker with a 50 % prior is right at most.

    100 (e^epsilon + delta) / (1 + e^epsilon), Kairouz, Oh & Viswanath 2015, theorem 2.1 with equal priors.
    """
    # Written with e^-epsilon so that a large epsilon gives 100 and not inf / inf.
    shrink = math.exp(-epsilon)
    return 100.0 * (1.0 + delta * shrink) / (1.0 + shrink)
