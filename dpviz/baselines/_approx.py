"""What LSH-Splits and EM-MC share: delta, counts with whole-number noise, and calibrating several steps together.

Discrete Laplace noise: P(Z = z) ~ exp(-a |z|) over the whole numbers. Where one record moves a count by 1, the loss is
a or -a and nothing between: the distribution of loss is that of randomized response, so `PureEvent(a)` is exact in
every account here. (Continuous Laplace noise of scale 1/a has the same largest loss and reaches it less often.)
"""

import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpviz.accounting import GaussianEvent, PureEvent, SequenceEvent, delta_of, gdp_epsilon, gdp_mu
from dpviz.baselines._params import OneShotParams
from dpviz.baselines._size import KnownSize
from dpviz.core import Adjacency, Budget, Counts, Event, FloatArray
from dpviz.mechanisms import SecretGenerator, laplace

LEAST_RECORDS = 1000.0  # delta is that of so many records where the number is smaller; ours
CLOSE = 1e-3  # relative width at which the search for a scale stops; ours
STEPS = 2.0**14  # of a scale that is found with it, per doubling: finer than CLOSE, coarser than rounding; ours
SMALLEST = 1e-300  # a delta that is 0, where its logarithm is taken

NOISY_DELTA_CAVEAT = (
    "δ is that of the least favorable noisy number of records: noise is made for 1/(n √n) of the number that was "
    f"released, counted as {LEAST_RECORDS:,.0f} where it is less, rounded down to a power of two. What it is in this "
    "run is no proof: another run on the same records may release a smaller number."
)


@dataclass(frozen=True, slots=True, eq=False)
class ApproxParams(OneShotParams):
    """What an (epsilon, delta) baseline asks for besides."""

    delta: float | None = dataclasses.field(default=None, kw_only=True)  # None: see `delta_for`

    def __post_init__(self) -> None:
        """Raise KnobError or ValueError for a value that is not allowed."""
        OneShotParams.__post_init__(self)
        check_delta(self.delta)


class HasDelta(Protocol):
    """Parameters of a run whose delta may follow its number of records."""

    @property
    def delta(self) -> float | None:
        """None: see `delta_for`."""

    @property
    def n_public(self) -> int | None:
        """Number of records if public."""


def check_delta(delta: float | None) -> None:
    """Raise ValueError for a delta that Gaussian noise cannot have."""
    if delta is not None and not 0.0 < delta < 1.0:
        raise ValueError(
            f"delta was {delta}, but it must be in (0, 1): Gaussian noise has no pure guarantee. Use None for "
            "1/(n sqrt n)."
        )


def delta_for(n_records: ArrayLike) -> FloatArray:
    """Return 1/(n sqrt n), rounded down to a power of two, of public or noisy n, at least LEAST_RECORDS.

    Rounded, so that one calibration serves many runs whose noisy numbers differ.
    """
    n = np.maximum(n_records, LEAST_RECORDS)
    return np.asarray(np.ldexp(1.0, np.frexp(1.0 / (n * np.sqrt(n)))[1] - 1))


def most_delta(params: HasDelta, size: KnownSize) -> float:
    """Return the guarantee's delta: the largest that any noisy number of records makes, where it follows one.

    The proof is that of `Claim`. Nothing less holds for all records: of few, nearly all noisy numbers are below
    LEAST_RECORDS.
    """
    if params.delta is not None:
        return params.delta
    return float(delta_for(0.0 if size.events else size.n_records))


def delta_caveats(params: HasDelta, adjacency: Adjacency) -> tuple[str, ...]:
    """Say where delta is from, if it follows from a noisy number."""
    noisy = params.delta is None and params.n_public is None and adjacency is Adjacency.ADD_REMOVE
    return (NOISY_DELTA_CAVEAT,) if noisy else ()


def noisy_whole(counts: Counts, epsilon: float, *, rng: np.random.Generator) -> Counts:
    """Add discrete Laplace noise to exact `counts` (m,): each is epsilon-DP where one record moves it by 1.

    The noise is the difference of two geometric numbers, floor(E / epsilon) of standard exponential E: none at
    epsilon = infinity, and for one seed it shrinks as epsilon grows. Secret noise is Laplace noise, rounded: it has no
    floating point in it.
    """
    if isinstance(rng, SecretGenerator):
        return np.rint(laplace(counts, scale=1.0 / epsilon, rng=rng))
    up, down = np.floor(rng.exponential(size=(2, *counts.shape)) / epsilon)
    return np.asarray(counts + (up - down), dtype=np.float64)


def counts_event(label: str, epsilon: float, adjacency: Adjacency) -> Event:
    """Return what the counts of disjoint parts cost with noise of `epsilon` each.

    ADD_REMOVE: one record is in one part. REPLACE: it leaves one and enters another, and each count pays.
    """
    one = PureEvent(label, epsilon, calibrated_for=adjacency)
    return one if adjacency is Adjacency.ADD_REMOVE else SequenceEvent(label, (one, one))


def sums_event(label: str, d: int, mu: float, adjacency: Adjacency) -> GaussianEvent:
    """Return the Gaussian noise, `mu`-GDP, on sums of x - 1/2 over disjoint parts of records x in [0, 1]^d.

    One record moves them by |x - 1/2| <= sqrt(d)/2 under ADD_REMOVE. Under REPLACE, inside a part, by |x - y| <=
    sqrt(d); from one part to another by sqrt(|x - 1/2|^2 + |y - 1/2|^2), which is less.
    """
    moved = math.sqrt(d) * (0.5 if adjacency is Adjacency.ADD_REMOVE else 1.0)
    return GaussianEvent(label, moved, moved / mu, calibrated_for=adjacency)


@functools.lru_cache(maxsize=1024)
def joint_mu(n_pure: int, ratio: float, epsilon: float, delta: float) -> float:
    """Return the largest mu such that a mu-GDP step and `n_pure` steps of epsilon mu / ratio keep (epsilon, delta).

    Privacy loss distributions decide (dp-accounting), so it is sharper than adding budgets up; where they have nothing
    to say (tiny or huge budgets) the sum of the pure epsilons and the Gaussian's closed form does. Infinite at
    epsilon = infinity. The answer errs on the safe side by a factor of 1 - 2 CLOSE at most.
    """
    if math.isinf(epsilon):
        return math.inf

    def surplus(mu: float) -> float:
        facts = (*(PureEvent("counts", mu / ratio),) * n_pure, GaussianEvent("sums", mu, 1.0))
        return math.log(max(delta_of(facts, epsilon, Adjacency.ADD_REMOVE), SMALLEST) / delta)

    def spent(mu: float) -> float:
        return n_pure * mu / ratio + gdp_epsilon(mu, delta)

    most = gdp_mu(Budget(epsilon, delta))  # without any pure step
    least = float(scipy.optimize.brentq(lambda mu: spent(mu) - epsilon, 0.0, most, xtol=1e-300, rtol=1e-13))
    least *= 1.0 - CLOSE / 10.0  # a root may lie on either side
    if not surplus(least) < 0.0 < surplus(most):
        return least
    root = float(scipy.optimize.brentq(surplus, least, most, xtol=CLOSE / 2.0 * most, rtol=CLOSE / 2.0))
    # Rounded down: the last digits of a distribution's delta, and of what is found with it, depend on the processor.
    digits, power = math.frexp(root if surplus(root) <= 0.0 else root * (1.0 - CLOSE))
    return max(math.ldexp(math.floor(digits * STEPS) / STEPS, power), least)
