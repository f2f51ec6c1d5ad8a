"""Lloyd's algorithm without privacy: the reference for every private method.

Lloyd, "Least Squares Quantization in PCM", 1982. It releases exact means.
"""

import math
from collections.abc import Iterator

import numpy as np

from dpviz.accounting import PureEvent, Purpose
from dpviz.baselines._lloyd_family import (
    LloydFamilyRelease,
    LloydStep,
    StartParams,
    collected,
    lloyd_step,
    start_caveats,
    starts,
)
from dpviz.core import Adjacency, Box, Claim, Guarantee, Points, Result, as_points, collect, immutable
from dpviz.solvers import LloydBudget, means
from dpviz.solvers.noisy_lloyd import lloyd_problem, one_pass

TITLE = "Lloyd (not private)"
PAPER = "Lloyd, Least Squares Quantization in PCM"
# Default, as in scikit-learn.
MAX_ITERATIONS = 300
NO_NOISE = LloydBudget(count=math.inf, sum_per_axis=math.inf)
CAVEAT = "Exact means are released without noise: nothing is private. The method is here for comparison."


Step = LloydStep


@immutable
class Params(StartParams):
    """Parameters; `n_iterations` is an upper limit. None: until no record changes cluster, at most 300."""


def fit(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Result[LloydFamilyRelease, LloydStep]:
    """Cluster `points` (n, d), clipped to the public `box`; the loop is in `steps`, and this collects its result.

    Nothing is private: every released center is an exact mean. Raises ValueError for bad points or centers.
    """
    trace = collect(fit, steps, points, box, params, Params, rng)
    claim = Claim(math.inf, 0.0, Adjacency.ADD_REMOVE, PAPER)
    return collected(trace, box, params, Guarantee(claim, None, (*start_caveats(params), CAVEAT)))


def steps(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Iterator[LloydStep]:
    """Yield one `LloydStep` per iteration, until no record changes cluster; an empty cluster keeps its center."""
    # The records must be in memory, because labels are compared.
    problem = lloyd_problem(as_points(points, n_features=box.d), box)
    # The private methods draw the same start.
    centers = starts(problem, params, rng=rng.spawn(3)[0])
    most = MAX_ITERATIONS if params.n_iterations is None else params.n_iterations
    partition = one_pass(problem, centers)
    for iteration in range(1, most + 1):
        mean = means(partition.sums, centers)
        following = one_pass(problem, mean)
        converged = np.array_equal(following.nonprivate_labels, partition.nonprivate_labels)
        outcome = "max_iterations" if iteration == most else "moving"
        yield lloyd_step(
            partition,
            centers,
            None,
            NO_NOISE,
            epsilon=math.inf,
            iteration=iteration,
            outcome="converged" if converged else outcome,
            events=(PureEvent("exact means", math.inf, purpose=Purpose.EXACT, step=iteration),),
        )
        if converged:
            return
        centers, partition = mean, following
