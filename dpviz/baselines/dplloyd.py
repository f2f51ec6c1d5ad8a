"""DPLloyd: Lloyd with Laplace noise and a budget split between counts and sums by the error of each.

Su, Cao, Li, Bertino & Jin, "Differentially Private k-Means Clustering", CODASPY 2016, section 3. The number of
iterations follows from the number of records, which must be public: given, known under REPLACE, or counted with noise.
"""

from collections.abc import Iterator

import numpy as np

from dpviz.baselines._base import known_size, n_public_field, size_caveats, size_differs
from dpviz.baselines._lloyd_family import (
    LloydFamilyRelease,
    LloydStep,
    NoisyParams,
    Remaining,
    SpendingPlan,
    collected,
    noisy_guarantee,
    noisy_steps,
)
from dpviz.core import Box, Event, Points, Result, collect, immutable
from dpviz.data import Chunks, trusting
from dpviz.solvers import su_iterations, su_split
from dpviz.solvers.noisy_lloyd import SEEDED_ITERATIONS

TITLE = "DPLloyd"
PAPER = "Su, Cao, Li, Bertino & Jin, Differentially Private k-Means Clustering"


Step = LloydStep


@immutable
class Params(NoisyParams):
    """Parameters, all public; n_iterations=None is the paper's rule, from `n_public` records."""

    n_public: int | None = n_public_field()


def fit(
    points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator
) -> Result[LloydFamilyRelease, LloydStep]:
    """Cluster `points` (n, d), clipped to the public `box`; the loop is in `steps`, and this collects its result.

    The release is epsilon-DP under `params.adjacency` (proof in `_lloyd_family`), unless the start is made of records.
    Points may come in chunks: the same release, to the bit. Raises ValueError for bad points or centers.
    """
    trace = collect(fit, steps, points, box, params, Params, rng)
    # Whether the run uses the number of records.
    used = params.n_iterations is None or trace[0].seeds is not None
    size = (params.n_public, params.neighbors)
    caveats = size_caveats(*size) if used else ()
    differs = (size_differs(*size) if used else "",)
    guarantee = noisy_guarantee(params, params.epsilon, PAPER, caveats, differs=differs)
    return collected(trace, box, params, trusting(guarantee, points))


def steps(points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator) -> Iterator[LloydStep]:
    """Yield one `LloydStep` per iteration, each with the same share of epsilon."""

    def plan(remaining: Remaining, rng: np.random.Generator) -> SpendingPlan:
        """Fix T and the budgets; without a public number of records, first release a noisy one unless this was done."""
        epsilon, size, k = remaining.epsilon, remaining.size, params.n_clusters
        if params.n_iterations is not None:
            return _even(epsilon, params.n_iterations)
        if size is None:
            size = known_size(remaining.n_records, epsilon, params.n_public, params.neighbors, rng=rng)
            return _even(size.epsilon, su_iterations(size.epsilon, size.n_records, k, box.d), *size.events)
        planned = SEEDED_ITERATIONS if remaining.seeded else su_iterations(epsilon, size.n_records, k, box.d)
        return _even(epsilon, planned)

    return noisy_steps(points, box, params, plan, rng=rng, n_public=params.n_public)


def _even(epsilon: float, n_iterations: int, *events: Event) -> SpendingPlan:
    return SpendingPlan((epsilon / n_iterations,) * n_iterations, su_split, events)
