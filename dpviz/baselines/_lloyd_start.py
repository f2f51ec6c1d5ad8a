"""Where a Lloyd-type method starts: a public packing, private seeds that are paid for, records, or given centers.

Why a private start is (SEED_SHARE epsilon)-DP. One record is in one bin of each of d marginals: Laplace noise of scale
d / eps_m on every bin is eps_m-DP (ADD_REMOVE; a changed record moves two bins of each, REPLACE, scale 2d / eps_m). The
noisy marginals, and a public or noisy number of records, make a grid. One record is in one of its cells and moves one
count by 1, a changed one at most two: scale 1 / eps_c or 2 / eps_c, and eps_m + eps_c is the start's share. Without
marginals the grid is public. The seeds are found on noisy counts and a public packing: post-processing.
Number of records, cells and iterations compose, and each gets a share of epsilon that is fixed before it is spent.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpviz.accounting import Purpose, cell_event
from dpviz.baselines._params import ClusterParams, adjacency_knob, adjacency_of, epsilon_knob, start_knob, whole
from dpviz.baselines._size import KnownSize, known_size
from dpviz.core import Adjacency, Centers, Counts, Event, Points
from dpviz.mechanisms import laplace
from dpviz.solvers import SEED_SHARE, CellSeeds, private_seeds, starts_private
from dpviz.solvers.lloyd_pass import LloydProblem

RECORDS_CAVEAT = "The start is made of real records: no guarantee holds."
GIVEN_START_CAVEAT = "The initial centers were given: a guarantee holds only if they were chosen without the records."


@dataclass(frozen=True, slots=True, eq=False)
class StartParams(ClusterParams):
    """Parameters of every Lloyd-type method, all public."""

    start: str = start_knob()
    initial_centers: Centers | None = None  # (k, d) data units, overrides `start`; never exported
    n_iterations: int | None = whole(least=1)  # T; None: the method's own


@dataclass(frozen=True, slots=True, eq=False)
class NoisyParams(StartParams):
    """Parameters of the private ones; LLOYD has nothing to spend and no neighbors."""

    start: str = start_knob(private=True)
    epsilon: float = epsilon_knob()
    adjacency: str = adjacency_knob()


@dataclass(frozen=True, slots=True)
class Left:
    """What a plan may count on: what the start has left, and what it knows."""

    n_records: int  # exact: the curator's
    epsilon: float
    size: KnownSize | None  # a number of records that is paid for; its events are the start's
    seeded: bool  # whether the start is a private one


def begun(
    problem: LloydProblem, params: NoisyParams, n_public: int | None, *, rng: np.random.Generator
) -> tuple[Centers, CellSeeds | None, Left, tuple[Event, ...]]:
    """Return the start, the seeds behind it if it is a private one, what it leaves, and what it cost."""
    if not starts_private(params.start, params.initial_centers):
        return starts(problem, params, rng=rng), None, Left(problem.n, params.epsilon, None, False), ()
    adjacency = adjacency_of(params.adjacency)
    packing_rng, size_rng, noise_rng, search_rng = rng.spawn(4)
    packing = starts(problem, params, rng=packing_rng)
    size = known_size(problem.n, params.epsilon, n_public, adjacency, rng=size_rng)
    events = []

    def released(name: str, epsilon: float, grids: int, counts: Callable[[Points], Counts]) -> Counts:
        events.append(cell_event(name, epsilon, adjacency, purpose=Purpose.START, grids=grids))
        return laplace(problem.counted(counts), scale=events[-1].scale, rng=noise_rng)

    seeds = private_seeds(
        released,
        packing,
        problem.box.widths / problem.box.widths.max(),
        epsilon=SEED_SHARE * size.epsilon,
        n_records=size.n_records,
        moved=2 if adjacency is Adjacency.REPLACE else 1,
        rng=search_rng,
    )
    left = size.epsilon if seeds is None else (1.0 - SEED_SHARE) * size.epsilon
    start = packing if seeds is None else seeds.centers
    return start, seeds, Left(problem.n, left, size, seeds is not None), (*size.events, *events)


def starts(problem: LloydProblem, params: StartParams, *, rng: np.random.Generator) -> Centers:
    """Return the centers (k, d), box units, that the first iteration starts from.

    Raises ValueError for given ones that do not fit, and for a start from records that are not held.
    """
    start, given, seed = params.start, params.initial_centers, params.start_seed
    return problem.start(params.n_clusters, start=start, given=given, seed=seed, rng=rng)


def from_records(params: StartParams) -> bool:
    """Say whether the start is made of records; given centers override it."""
    return params.start == "records" and params.initial_centers is None


def start_caveats(params: StartParams) -> tuple[str, ...]:
    """Say what the start does to the guarantee."""
    if params.initial_centers is not None:
        return (GIVEN_START_CAVEAT,)
    return (RECORDS_CAVEAT,) if from_records(params) else ()
