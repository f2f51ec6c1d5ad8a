"""Where a Lloyd-type method starts: a public packing, private seeds that are paid for, records, or given centers.

Why a private start is (SEED_SHARE epsilon)-DP. The cells of a public grid, as many as a public or noisy number of
records asks for, get Laplace noise: one record is in one cell and moves one count by 1 (ADD_REMOVE), a changed one at
most two (REPLACE, scale 2 / epsilon). The seeds are found on the noisy counts and a public packing: post-processing.
Number of records, cells and iterations compose, and each gets a share of epsilon that is fixed before it is spent.
"""

from dataclasses import dataclass

import numpy as np

from dpviz.accounting import Purpose, cell_event
from dpviz.baselines._lloyd_pass import LloydProblem
from dpviz.baselines._params import ClusterParams, adjacency_knob, adjacency_of, epsilon_knob, start_knob, whole
from dpviz.baselines._size import KnownSize, known_size
from dpviz.core import Centers, Event
from dpviz.mechanisms import laplace
from dpviz.solvers import (
    SEED_SHARE,
    CellSeeds,
    cell_counts,
    seed_side,
    seeds_on_cells,
    start_from,
    starts_private,
)

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
    if not starts_private(params.start, params.initial_centers, problem.box.d):
        return starts(problem, params, rng=rng), None, Left(problem.n, params.epsilon, None, False), ()
    adjacency = adjacency_of(params.adjacency)
    packing_rng, size_rng, noise_rng, search_rng = rng.spawn(4)
    packing = starts(problem, params, rng=packing_rng)
    size = known_size(problem.n, params.epsilon, n_public, adjacency, rng=size_rng)
    event = cell_event("cells of the start", SEED_SHARE * size.epsilon, adjacency, purpose=Purpose.START)
    side = seed_side(SEED_SHARE * size.epsilon, size.n_records, problem.box.d)
    if side == 1:  # one cell says nothing of where records are
        return packing, None, Left(problem.n, size.epsilon, size, False), size.events
    exact = np.zeros(side**problem.box.d)
    for unit, _ in problem.blocks():
        exact += cell_counts(unit, side)
    noisy = laplace(exact, scale=event.scale, rng=noise_rng)
    seeds = seeds_on_cells(noisy, side, packing, scale=event.scale, rng=search_rng)
    left = Left(problem.n, (1.0 - SEED_SHARE) * size.epsilon, size, True)
    return seeds.centers, seeds, left, (*size.events, event)


def starts(problem: LloydProblem, params: StartParams, *, rng: np.random.Generator) -> Centers:
    """Return the centers (k, d), box units, that the first iteration starts from.

    Raises ValueError for given ones that do not fit, and for a start from records that are not held.
    """
    if from_records(params) and problem.unit is None:
        raise ValueError(
            "start was 'records', but records that come in chunks are not held. Start from 'packing', or give "
            "initial_centers."
        )
    unit = np.empty((0, problem.box.d)) if problem.unit is None else problem.unit
    start, given, seed = params.start, params.initial_centers, params.start_seed
    return start_from(unit, problem.box, params.n_clusters, start=start, given=given, seed=seed, rng=rng)


def from_records(params: StartParams) -> bool:
    """Say whether the start is made of records; given centers override it."""
    return params.start == "records" and params.initial_centers is None


def start_caveats(params: StartParams) -> tuple[str, ...]:
    """Say what the start does to the guarantee."""
    if params.initial_centers is not None:
        return (GIVEN_START_CAVEAT,)
    return (RECORDS_CAVEAT,) if from_records(params) else ()
