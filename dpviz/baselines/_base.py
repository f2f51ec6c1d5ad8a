"""Common parts of all baselines: parameters, number of records, delta, and shared kinds of noise.

Discrete Laplace noise: P(Z = z) ~ exp(-a |z|) over the integers. If one record moves a count by 1, the privacy loss is
a or -a, and nothing in between. This is the loss distribution of randomized response, so `PureEvent(a)` is exact in
every account here. (Continuous Laplace noise of scale 1/a has the same largest loss and reaches it less often.)
"""

import functools
import math
from dataclasses import replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpviz.accounting import (
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    Purpose,
    SequenceEvent,
    delta_of,
    gdp_epsilon,
    gdp_mu,
)
from dpviz.core import (
    Adjacency,
    Budget,
    Claim,
    Counts,
    Event,
    FloatArray,
    check_params,
    immutable,
    immutable_value,
    knob,
    parameter,
    whole,
)
from dpviz.mechanisms import SecretGenerator, laplace

ADJACENCIES = (("add_remove", "Add or remove one record"), ("replace", "Change one record"))
# Share of epsilon for a noisy number of records. Our choice.
SIZE_SHARE = 0.02
N_KNOWN_CAVEAT = "Changing one record keeps the number of records, so it is public: the run uses it as it is."
# Smallest number of records for delta: a smaller number counts as this one. Our choice.
LEAST_RECORDS = 1000.0
# Relative width at which the search for a noise scale stops. Our choice.
CLOSE = 1e-3
# Steps per doubling of a noise scale that this search finds: finer than CLOSE, coarser than rounding. Our choice.
STEPS = 2.0**14
# Stands in for a delta of 0 before its logarithm is taken.
SMALLEST = 1e-300

NOISY_DELTA_CAVEAT = (
    "δ is for the least favorable noisy number of records: the noise is made for 1/(n √n) of the released number, "
    f"which counts as at least {LEAST_RECORDS:,.0f}, rounded down to a power of two. The δ of this run proves nothing: "
    "another run on the same records may release a smaller number."
)


def epsilon_knob() -> float:
    """Declare the budget of a whole run."""
    help_text = "The budget of a whole run. Smaller is more private."
    epsilon: float = knob(1.0, "Privacy budget ε", help_text, low=0.05, high=20.0, minimum=1e-9, log=True)
    return epsilon


def adjacency_knob() -> str:
    """Declare the neighbors that a run protects."""
    help_text = "Which two data sets must look alike. Changing one record keeps their number, so it is public."
    adjacency: str = knob("add_remove", "Neighbors", help_text, choices=ADJACENCIES)
    return adjacency


def n_public_field() -> int | None:
    """Declare a number of records that is not counted; `known_size` defines the meaning of None."""
    help_text = (
        "Number of records, if it is public. None: the true number if records are changed, otherwise a noisy number."
    )
    return whole(help_text, least=0)


def delta_field() -> float | None:
    """Declare a delta. If it is None, `delta_for` chooses it."""
    help_text = "How often the guarantee may fail, in (0, 1). None: about 1/(n √n) of the known n."
    delta: float | None = parameter(None, help_text, kw_only=True)
    return delta


def start_knob(*, private: bool = False) -> str:
    """Declare the start of a Lloyd-type method; `private` if the method can spend epsilon on it."""
    help_text = "Sphere packing uses no records. Starting from k records voids every guarantee."
    choices = [("packing", "Sphere packing (public)"), ("records", "k records")]
    if private:
        help_text += " Private seeds spend a third of ε on noisy histograms."
        choices.insert(1, ("private", "Private seeds (a third of ε)"))
    start: str = knob("packing", "Start", help_text, choices=tuple(choices))
    return start


@immutable
class ClusterParams:
    """Parameters common to all baselines."""

    n_clusters: int = knob(5, "Clusters k", "How many centers to find.", low=1, high=64, minimum=1, maximum=10_000)
    start_seed: int | None = whole("Seed of the public start. None: a different start in each run.", least=0)

    def __post_init__(self) -> None:
        """Raise KnobError or ValueError for a value that is not allowed."""
        check_params(self)


class NeighborsParams:
    """Parameters with a choice of neighbors."""

    __slots__ = ()
    adjacency: str

    @property
    def neighbors(self) -> Adjacency:
        """The adjacency of the guarantee."""
        return Adjacency[self.adjacency.upper()]


@immutable
class OneShotParams(NeighborsParams, ClusterParams):
    """Parameters of a private baseline without a choice of its start."""

    epsilon: float = epsilon_knob()
    adjacency: str = adjacency_knob()
    n_public: int | None = n_public_field()


@immutable_value
class KnownSize:
    """Number of records that may be public, and the budget left after its release."""

    # Public or noisy; a noisy number may be negative.
    n_records: float
    # Budget left for everything else.
    epsilon: float
    events: tuple[LaplaceEvent, ...]


def known_size(
    n: int, epsilon: float, n_public: int | None, adjacency: Adjacency, *, needed: bool = True, rng: np.random.Generator
) -> KnownSize:
    """Return `n_public` or, under REPLACE, `n` itself, because neighbors have equally many records: both are free.

    Otherwise n + Laplace(1 / eps_n) with eps_n = SIZE_SHARE epsilon (one record moves n by one). 0, which is free, if
    it is not `needed`.
    """
    if not needed:
        return KnownSize(0.0, epsilon, ())
    if n_public is not None:
        return KnownSize(float(n_public), epsilon, ())
    if adjacency is Adjacency.REPLACE:
        return KnownSize(float(n), epsilon, ())
    event = LaplaceEvent("number of records", 1.0, 1.0 / (SIZE_SHARE * epsilon), purpose=Purpose.SIZE)
    noisy = float(laplace(np.float64(n), scale=event.scale, rng=rng))
    return KnownSize(noisy, (1.0 - SIZE_SHARE) * epsilon, (event,))


def size_differs(n_public: int | None, adjacency: Adjacency) -> str:
    """Return part of a sentence on a run's difference from a source that assumes a known n; "" if there is none."""
    if n_public is not None or adjacency is Adjacency.REPLACE:
        return ""
    return f"{100.0 * SIZE_SHARE:g} % of ε counts the records"


def size_caveats(n_public: int | None, adjacency: Adjacency) -> tuple[str, ...]:
    """Return the caveats about the number of records."""
    if n_public is not None:
        return ("The number of records was given as public: the guarantee holds only if it is.",)
    return (N_KNOWN_CAVEAT,) if adjacency is Adjacency.REPLACE else ()


@immutable
class ApproxParams(OneShotParams):
    """Parameters of such a baseline if its guarantee has a delta."""

    delta: float | None = delta_field()

    def __post_init__(self) -> None:
        """Raise KnobError or ValueError for a value that is not allowed."""
        OneShotParams.__post_init__(self)
        check_delta(self.delta)


def check_delta(delta: float | None) -> None:
    """Raise ValueError for a delta that Gaussian noise cannot have."""
    if delta is not None and not 0.0 < delta < 1.0:
        raise ValueError(
            f"delta must be in (0, 1), got {delta}: Gaussian noise has no pure guarantee. Use None for 1/(n sqrt n)."
        )


def delta_for(n_records: ArrayLike) -> FloatArray:
    """Return 1/(n sqrt n), rounded down to a power of two, of public or noisy n, at least LEAST_RECORDS.

    Rounded, so that one calibration serves many runs whose noisy numbers differ.
    """
    n = np.maximum(n_records, LEAST_RECORDS)
    return np.asarray(np.ldexp(1.0, np.frexp(1.0 / (n * np.sqrt(n)))[1] - 1))


def own_delta(delta: float | None, size: KnownSize) -> float:
    """Return the delta for which a run's noise is made: `delta`, or else a delta from the number of records."""
    return float(delta_for(size.n_records)) if delta is None else delta


def most_delta(delta: float | None, size: KnownSize) -> float:
    """Return the guarantee's delta: the largest delta over all noisy numbers of records, if it depends on one.

    For the proof, see `Claim`. No smaller delta holds for all data sets: with few records, nearly all noisy numbers are
    below LEAST_RECORDS.
    """
    if delta is not None:
        return delta
    return float(delta_for(0.0 if size.events else size.n_records))


def delta_caveats(delta: float | None, n_public: int | None, adjacency: Adjacency) -> tuple[str, ...]:
    """Return the caveat about delta if it depends on a noisy number of records."""
    noisy = delta is None and n_public is None and adjacency is Adjacency.ADD_REMOVE
    return (NOISY_DELTA_CAVEAT,) if noisy else ()


def as_stated(claim: Claim, paper: str) -> Claim:
    """Return the paper's claim with the same numbers."""
    numbers = "epsilon and delta" if claim.delta > 0 else "epsilon"
    return replace(claim, reference=f"{paper}: its {numbers}; the neighbors are the ones chosen here")


def noisy_whole(counts: Counts, epsilon: float, *, rng: np.random.Generator) -> Counts:
    """Add discrete Laplace noise to exact `counts` (m,): each is epsilon-DP if one record moves it by 1.

    The noise is the difference of two geometric numbers, floor(E / epsilon) with E standard exponential. It is 0 at
    epsilon = infinity, and for a fixed seed it shrinks as epsilon grows. Secret noise is rounded Laplace noise without
    floating-point arithmetic.
    """
    if isinstance(rng, SecretGenerator):
        return np.rint(laplace(counts, scale=1.0 / epsilon, rng=rng))
    up, down = np.floor(rng.exponential(size=(2, *counts.shape)) / epsilon)
    return np.asarray(counts + (up - down), dtype=np.float64)


def counts_event(label: str, epsilon: float, adjacency: Adjacency) -> Event:
    """Return the event of counts of disjoint parts with noise of `epsilon` each.

    ADD_REMOVE: one record is in one part. REPLACE: it leaves one part and enters another, and both counts pay.
    """
    one = PureEvent(label, epsilon, calibrated_for=adjacency)
    return one if adjacency is Adjacency.ADD_REMOVE else SequenceEvent(label, (one, one))


def sums_event(label: str, d: int, mu: float, adjacency: Adjacency) -> GaussianEvent:
    """Return the Gaussian noise, `mu`-GDP, on sums of x - 1/2 over disjoint parts of records x in [0, 1]^d.

    One record moves them by |x - 1/2| <= sqrt(d)/2 under ADD_REMOVE. Under REPLACE, inside a part, by |x - y| <=
    sqrt(d); from one part to another by sqrt(|x - 1/2|^2 + |y - 1/2|^2), which is less.
    """
    sensitivity = math.sqrt(d) * (0.5 if adjacency is Adjacency.ADD_REMOVE else 1.0)
    return GaussianEvent(label, sensitivity, sensitivity / mu, calibrated_for=adjacency)


@functools.lru_cache(maxsize=1024)
def joint_mu(n_pure: int, ratio: float, epsilon: float, delta: float) -> float:
    """Return the largest mu such that a mu-GDP step and `n_pure` steps of epsilon mu / ratio keep (epsilon, delta).

    Privacy loss distributions (dp-accounting) decide, so the bound is tighter than a sum of budgets. If they give no
    bound (tiny or huge budgets), the sum of the pure epsilons and the Gaussian's closed form decides. Infinite at
    epsilon = infinity. The result errs on the safe side by a factor of at most 1 - 2 CLOSE.
    """
    if math.isinf(epsilon):
        return math.inf

    def surplus(mu: float) -> float:
        facts = (*(PureEvent("counts", mu / ratio),) * n_pure, GaussianEvent("sums", mu, 1.0))
        return math.log(max(delta_of(facts, epsilon, Adjacency.ADD_REMOVE), SMALLEST) / delta)

    def spent(mu: float) -> float:
        return n_pure * mu / ratio + gdp_epsilon(mu, delta)

    # Without any pure step.
    most = gdp_mu(Budget(epsilon, delta))
    least = float(scipy.optimize.brentq(lambda mu: spent(mu) - epsilon, 0.0, most, xtol=1e-300, rtol=1e-13))
    # The root may be on either side.
    least *= 1.0 - CLOSE / 10.0
    if not surplus(least) < 0.0 < surplus(most):
        return least
    root = float(scipy.optimize.brentq(surplus, least, most, xtol=CLOSE / 2.0 * most, rtol=CLOSE / 2.0))
    # Rounded down, because the last digits of a distribution's delta, and so of the root, depend on the processor.
    digits, power = math.frexp(root if surplus(root) <= 0.0 else root * (1.0 - CLOSE))
    return max(math.ldexp(math.floor(digits * STEPS) / STEPS, power), least)
