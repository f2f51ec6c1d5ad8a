"""What a run of convergent k-means spends on what: the number of records, private seeds, each iteration."""

import numpy as np

from dpviz.accounting import LaplaceEvent, Purpose, cell_event
from dpviz.core import Adjacency, Centers, Event, Points
from dpviz.mechanisms import laplace
from dpviz.methods.convergent_kmeans.algorithm.params import Params
from dpviz.methods.convergent_kmeans.algorithm.step import ZonesProblem
from dpviz.solvers import (
    SEED_SHARE,
    CellSeeds,
    Nearest,
    cell_counts,
    seed_side,
    seeds_on_cells,
    starts_private,
    su_iterations,
)

SIZE_SHARE = 0.02  # of epsilon, for the noisy number of records that the number of iterations follows from; ours


def zones_problem(
    nearest: Nearest, params: Params, packing: Centers, *, rng: np.random.Generator
) -> tuple[ZonesProblem, CellSeeds | None]:
    """Fix the number of iterations and their budget, and find the seeds of a private start that is near `packing`.

    Repaired mode takes both numbers, of iterations and of cells, from a noisy number of records.
    """
    n, d = nearest.points.shape

    def planned(n_iterations: int, epsilon: float, events: tuple[Event, ...] = ()) -> ZonesProblem:
        repaired, temperature = params.mode == "repaired", params.epsilon_per_iteration
        return ZonesProblem(
            nearest, params.n_clusters, repaired, params.orientation, n_iterations, epsilon, temperature, events
        )

    if params.mode == "published":
        return planned(params.max_iterations, params.epsilon_per_iteration), None
    private = starts_private(params.start, params.initial_centers, d)
    if params.n_iterations is not None and not private:
        return planned(params.n_iterations, params.epsilon / params.n_iterations), None
    size = LaplaceEvent("number of records", 1.0, 1.0 / (SIZE_SHARE * params.epsilon), purpose=Purpose.SIZE)
    noisy_size = float(laplace(np.float64(n), scale=size.scale, rng=rng))
    left, events = (1.0 - SIZE_SHARE) * params.epsilon, (size,)
    seeds, cells = _seeded(nearest.points, packing, left, noisy_size, rng=rng) if private else (None, ())
    left *= 1.0 - SEED_SHARE if seeds is not None else 1.0
    n_iterations = su_iterations(left, noisy_size, params.n_clusters, d, seeded=seeds is not None)
    n_iterations = params.n_iterations or min(n_iterations, params.max_iterations)
    return planned(n_iterations, left / n_iterations, (*events, *cells)), seeds


def _seeded(
    unit: Points, packing: Centers, epsilon: float, noisy_size: float, *, rng: np.random.Generator
) -> tuple[CellSeeds | None, tuple[Event, ...]]:
    """Return a private start that spends SEED_SHARE of `epsilon`; none where its grid would have one cell."""
    d = packing.shape[1]
    side = seed_side(SEED_SHARE * epsilon, noisy_size, d)
    if side == 1:
        return None, ()
    event = cell_event("cells of the start", SEED_SHARE * epsilon, Adjacency.ADD_REMOVE, purpose=Purpose.START)
    noisy = laplace(cell_counts(unit, side), scale=event.scale, rng=rng)
    return seeds_on_cells(noisy, side, packing, scale=event.scale, rng=rng), (event,)
