"""Count with Laplace noise, used only by the audit to show the leak in the last bits of a noisy number.

Mironov 2012, "On significance of the least significant bits for differential privacy": noise that is drawn and added in
floating point can give numbers that are possible for only one exact value. Noise around 0 ends in bits that no sum with
1 has.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpviz.accounting import LaplaceEvent
from dpviz.core import (
    Adjacency,
    Algorithm,
    Box,
    Claim,
    FloatArray,
    Guarantee,
    Points,
    Release,
    Result,
    Step,
    as_points,
    check_params,
    immutable,
    knob,
)
from dpviz.mechanisms import OsBits, SecretGenerator, laplace

# Box units along the first axis: the audit's pair has one record here, or none.
CORNER = 0.75
# Stand-in for the last bit of 0. The last bit of any other double is at 2^-1074 or above.
SMALLEST = -1100.0
# Bits of a double's mantissa.
MANTISSA = 53
EXACT, QUICK = "exact", "quick"
QUICK_CAVEAT = (
    "The proof is for real numbers. Noise from a seed is drawn in floating point, for teaching: its last bits reveal "
    "which of two counts it was added to (Mironov 2012). Secret noise is drawn exactly."
)


@dataclass(frozen=True)
class Params:
    """Budget and sampler; both are public."""

    epsilon: float = knob(1.0, "ε", "Budget of the count.", low=0.05, high=20.0, minimum=1e-9, log=True)
    sampler: str = knob(
        EXACT,
        "Noise",
        "How the noise is drawn.",
        choices=((EXACT, "Exact, as secret noise is"), (QUICK, "In floating point, as from a seed")),
    )

    def __post_init__(self) -> None:
        """Validate the fields; raises KnobError."""
        check_params(self)


@immutable
class NoisyCountRelease(Release):
    """A noisy count and its last bit, which anyone can compute."""

    noisy_count: FloatArray  # (1,)
    # (1,) exponent e: the number is an odd multiple of 2^e.
    last_bit: FloatArray


@immutable
class CountStep(Step):
    """The one step of a run, for the curator only."""

    nonprivate_count: float
    noisy_count: FloatArray  # (1,)


def steps(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Iterator[CountStep]:
    """Count the records near one side of the box, and add Laplace noise of scale 1 / epsilon."""
    count = float((box.to_unit(box.clip(as_points(points, n_features=box.d)))[:, 0] > CORNER).sum())
    # The exact sampler also uses the seed, so that an audit can be repeated.
    source = rng if params.sampler == QUICK else SecretGenerator(OsBits(rng.bytes))
    yield CountStep(count, laplace([count], scale=1.0 / params.epsilon, rng=source))


def fit(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Result[NoisyCountRelease, CountStep]:
    """Release the noisy count with the place of its last bit."""
    (step,) = steps(points, box, params, rng=rng)
    claim = Claim(params.epsilon, 0.0, Adjacency.ADD_REMOVE, "one record moves one count by 1")
    proved, caveats = (None, (QUICK_CAVEAT,)) if params.sampler == QUICK else (claim, ())
    events = (LaplaceEvent("count", 1.0, 1.0 / params.epsilon),)
    release = NoisyCountRelease(step.noisy_count, last_bit(step.noisy_count))
    return Result(release, (step,), events, Guarantee(claim, proved, caveats))


def last_bit(numbers: FloatArray) -> FloatArray:
    """Return the exponent of the lowest bit that is set in each double; SMALLEST for 0."""
    mantissa, exponent = np.frexp(numbers)
    whole = np.abs(np.ldexp(mantissa, MANTISSA)).astype(np.int64)
    bits = np.log2(np.where(whole == 0, 1, whole & -whole).astype(np.float64)) + exponent - MANTISSA
    return np.where(whole == 0, SMALLEST, bits)


NOISY_COUNT: Algorithm[Params, NoisyCountRelease, CountStep] = Algorithm(
    name="noisy_count", title="A noisy count", place=__name__, Params=Params, fit=fit, steps=steps
)
