"""What a run of convergent k-means spends on what: the number of records, private seeds, each iteration."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpviz.accounting import LaplaceEvent, Purpose, cell_event
from dpviz.core import Adjacency, Centers, Counts, Event, Points
from dpviz.mechanisms import laplace
from dpviz.methods.convergent_kmeans.algorithm.params import Params
from dpviz.methods.convergent_kmeans.algorithm.step import ZonesProblem
from dpviz.solvers import (
    SEED_SHARE,
    CellSeeds,
    private_seeds,
    starts_private,
    su_iterations,
)
from dpviz.solvers.noisy_lloyd import SEEDED_ITERATIONS, LloydProblem

SIZE_SHARE = 0.02  # of epsilon, for the noisy number of records that the number of iterations follows from; ours


def zones_problem(
    records: LloydProblem, params: Params, packing: Centers, *, rng: np.random.Generator
) -> tuple[ZonesProblem, CellSeeds | None]:
    """Fix the number of iterations and their budget, and find the seeds of a private start that is near `packing`.

    Repaired mode takes both numbers, of iterations and of cells, from a noisy number of records.
    """

    def planned(n_iterations: int, epsilon: float, events: tuple[Event, ...] = ()) -> ZonesProblem:
        repaired, temperature = params.mode == "repaired", params.epsilon_per_iteration
        return ZonesProblem(
            records, params.n_clusters, repaired, params.orientation, n_iterations, epsilon, temperature, events
        )

    if params.mode == "published":
        return planned(params.max_iterations, params.epsilon_per_iteration), None
    private = starts_private(params.start, params.initial_centers)
    if params.n_iterations is not None and not private:
        return planned(params.n_iterations, params.epsilon / params.n_iterations), None
    size = LaplaceEvent("number of records", 1.0, 1.0 / (SIZE_SHARE * params.epsilon), purpose=Purpose.SIZE)
    noisy_size = float(laplace(np.float64(records.n), scale=size.scale, rng=rng))
    left, events = (1.0 - SIZE_SHARE) * params.epsilon, (size,)
    seeds, cells = _seeded(records, packing, left, noisy_size, rng=rng) if private else (None, ())
    if seeds is not None:
        left, steps = (1.0 - SEED_SHARE) * left, SEEDED_ITERATIONS
    else:
        steps = min(su_iterations(left, noisy_size, params.n_clusters, records.box.d), params.max_iterations)
    n_iterations = params.n_iterations or steps
    problem = planned(n_iterations, left / n_iterations, (*events, *cells))
    return replace(problem, seeded=seeds is not None), seeds


def _seeded(
    records: LloydProblem, packing: Centers, epsilon: float, noisy_size: float, *, rng: np.random.Generator
) -> tuple[CellSeeds | None, tuple[Event, ...]]:
    """Return a private start that spends SEED_SHARE of `epsilon`; none, free, where its grid would have one cell."""
    events = []

    def released(name: str, part: float, grids: int, counts: Callable[[Points], Counts]) -> Counts:
        events.append(cell_event(name, part, Adjacency.ADD_REMOVE, purpose=Purpose.START, grids=grids))
        return laplace(records.counted(counts), scale=events[-1].scale, rng=rng)

    price, units = SEED_SHARE * epsilon, records.box.widths / records.box.widths.max()
    seeds = private_seeds(released, packing, units, epsilon=price, n_records=noisy_size, sensitivity=1, rng=rng)
    return seeds, tuple(events)
