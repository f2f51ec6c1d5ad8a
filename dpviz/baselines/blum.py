"""SuLQ k-means: Lloyd with the same Laplace noise on counts and sums, and the same budget in every iteration.

Blum, Dwork, McSherry & Nissim, "Practical Privacy: The SuLQ Framework", 2005, with the noise of pure epsilon. Sums of
x - 1/2 have half the sensitivity of sums of x, so they need half the noise.
"""

from collections.abc import Iterator

import numpy as np

from dpviz.baselines._lloyd_family import (
    CENTERED,
    FixedParams,
    LloydFamilyRelease,
    LloydStep,
    Remaining,
    SpendingPlan,
    collected,
    joint_split,
    noisy_guarantee,
    noisy_steps,
)
from dpviz.core import Box, Points, Result, collect
from dpviz.data import Chunks, trusting

TITLE = "BLUM (SuLQ)"
PAPER = "Blum, Dwork, McSherry & Nissim, Practical Privacy: The SuLQ Framework"


Params = FixedParams
Step = LloydStep


def fit(
    points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator
) -> Result[LloydFamilyRelease, LloydStep]:
    """Cluster `points` (n, d), clipped to the public `box`; the loop is in `steps`, and this collects its result.

    The release is epsilon-DP under `params.adjacency` (proof in `_lloyd_family`), unless the start is made of records.
    Points may come in chunks: the same release, to the bit. Raises ValueError for bad points or centers.
    """
    trace = collect(fit, steps, points, box, params, Params, rng)
    differs = ("the noise is Laplace noise of pure ε", CENTERED)
    guarantee = noisy_guarantee(params, params.epsilon, PAPER, differs=differs)
    return collected(trace, box, params, trusting(guarantee, points))


def steps(points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator) -> Iterator[LloydStep]:
    """Yield one `LloydStep` per iteration, each with 1 / T of the epsilon left by the start."""

    def plan(remaining: Remaining, _rng: np.random.Generator) -> SpendingPlan:
        return SpendingPlan((remaining.epsilon / params.planned,) * params.planned, joint_split)

    return noisy_steps(points, box, params, plan, rng=rng)
