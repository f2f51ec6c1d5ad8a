"""k-means with halving budgets: iteration t spends epsilon / 2^t, so it could go on forever within epsilon.

Dwork, "A Firm Foundation for Private Data Analysis", 2011. The noise is the same as in `blum`. T iterations spend
epsilon (1 - 2^-T), and the last iterations see little except noise.
"""

from collections.abc import Iterator

import numpy as np

from dpviz.baselines._base import SIZE_SHARE
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
from dpviz.solvers import SEED_SHARE, starts_private

TITLE = "DWORK (halving)"
PAPER = "Dwork, A Firm Foundation for Private Data Analysis"


Params = FixedParams
Step = LloydStep


def fit(
    points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator
) -> Result[LloydFamilyRelease, LloydStep]:
    """Cluster `points` (n, d), clipped to the public `box`; the loop is in `steps`, and this collects its result.

    The release is epsilon (1 - 2^-T)-DP under `params.adjacency` (proof in `_lloyd_family`), unless the start is made
    of records; a private start spends its share first. Raises ValueError for bad points or centers.
    """
    trace = collect(fit, steps, points, box, params, Params, rng)
    unspent = 0.5 ** len(trace)
    # A grid of one cell spends less, never more.
    if starts_private(params.start, params.initial_centers):
        unspent *= (1.0 - SEED_SHARE) * (1.0 if params.adjacency == "replace" else 1.0 - SIZE_SHARE)
    spent = params.epsilon * (1.0 - unspent)
    guarantee = noisy_guarantee(params, spent, PAPER, differs=(CENTERED,))
    return collected(trace, box, params, trusting(guarantee, points))


def steps(points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator) -> Iterator[LloydStep]:
    """Yield one `LloydStep` per iteration, the t-th with 1 / 2^t of the epsilon left by the start."""

    def plan(remaining: Remaining, _rng: np.random.Generator) -> SpendingPlan:
        return SpendingPlan(tuple(remaining.epsilon * 0.5**t for t in range(1, params.planned + 1)), joint_split)

    return noisy_steps(points, box, params, plan, rng=rng)
