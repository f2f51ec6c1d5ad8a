"""Common parts of the Lloyd-type methods: parameters, initialization, step, loop and release.

A method is a list of per-iteration budgets and a rule that splits each budget between counts and sums.

Why an iteration is epsilon_t-DP. Points are clipped to the public box and scaled to [0, 1]^d; the clusters follow
from earlier releases. ADD_REMOVE: one record moves one count by 1 and the d sums of x - 1/2 of the same cluster by at
most 1/2 each. REPLACE: a record that changes cluster moves two counts by 1 and two clusters' sums by at most 1/2. A
record that stays moves no count, and its cluster's sums by at most 1. So all counts together move by at most 2, and all
sums by at most 1 per axis. With Laplace noise of scale sensitivity / epsilon, an iteration spends
epsilon_counts + d epsilon_sum = epsilon_t under either adjacency. On [-1, 1]^d every sum, sensitivity and scale is
twice as large, and the means are the same.

A run starts at a public packing, at private seeds that cost a share of epsilon, at records, or at given centers.

Why a private start is (SEED_SHARE epsilon)-DP. One record is in one bin of each of d marginals, so Laplace noise of
scale d / eps_m on every bin is eps_m-DP under ADD_REMOVE. Under REPLACE, a changed record moves two bins of each
marginal, and the scale is 2d / eps_m. The noisy marginals, and a public or noisy number of records, determine a grid.
One record is in one of its cells and moves one count by 1, a changed record at most two: the scale is 1 / eps_c or
2 / eps_c, and eps_m + eps_c is the start's share. Without marginals the grid is public. The search for seeds uses noisy
counts and a public packing: post-processing.
Number of records, cells and iterations compose, and each gets a share of epsilon that is fixed before it is spent.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np

from dpviz.accounting import LaplaceEvent, ParallelEvent, Purpose, SequenceEvent, cell_event
from dpviz.baselines._base import (
    ClusterParams,
    KnownSize,
    NeighborsParams,
    adjacency_knob,
    as_stated,
    epsilon_knob,
    known_size,
    start_knob,
)
from dpviz.core import (
    Adjacency,
    Box,
    Centers,
    CentersRelease,
    Claim,
    Counts,
    Event,
    FloatArray,
    Guarantee,
    Labels,
    Points,
    Result,
    Step,
    ceiled,
    immutable,
    immutable_value,
    parameter,
    whole,
)
from dpviz.data import Chunks
from dpviz.mechanisms import SUMS_CAVEAT, laplace
from dpviz.solvers import (
    BOX_MIDDLE,
    SEED_SHARE,
    CellSeeds,
    ClusterSums,
    LloydBudget,
    Partition,
    centered_sums,
    cluster_costs,
    means,
    noisy_means,
    private_seeds,
    starts_private,
    steadied,
)
from dpviz.solvers.noisy_lloyd import LloydProblem, lloyd_problem, one_pass

RECORDS_CAVEAT = "The start is made of real records: no guarantee holds."
GIVEN_START_CAVEAT = "The initial centers were given: a guarantee holds only if they were chosen without the records."


@immutable
class StartParams(ClusterParams):
    """Parameters of every Lloyd-type method, all public."""

    start: str = start_knob()
    initial_centers: Centers | None = parameter(
        None, "Public centers (k, d) in data units to start from. None: the centers of `start`."
    )
    n_iterations: int | None = whole("How often centers move. None: the method's own rule.", least=1)


@immutable
class NoisyParams(NeighborsParams, StartParams):
    """Parameters of the private methods; LLOYD has no budget and no neighbors."""

    start: str = start_knob(private=True)
    epsilon: float = epsilon_knob()
    adjacency: str = adjacency_knob()


@immutable_value
class Remaining:
    """Budget and information that are left for a plan after the start."""

    # Exact number of records. Curator only.
    n_records: int
    epsilon: float
    # Number of records whose cost is already counted among the start's events.
    size: KnownSize | None
    # Whether the start is private.
    seeded: bool


def begin(
    problem: LloydProblem, params: NoisyParams, n_public: int | None, *, rng: np.random.Generator
) -> tuple[Centers, CellSeeds | None, Remaining, tuple[Event, ...]]:
    """Return the start, its seeds if it is private, the remaining budget and information, and the start's events."""
    if not starts_private(params.start, params.initial_centers):
        return starts(problem, params, rng=rng), None, Remaining(problem.n, params.epsilon, None, False), ()
    adjacency = params.neighbors
    packing_rng, size_rng, noise_rng, search_rng = rng.spawn(4)
    packing = starts(problem, params, rng=packing_rng)
    size = known_size(problem.n, params.epsilon, n_public, adjacency, rng=size_rng)
    seeds, epsilon, spent = bought_seeds(problem, packing, size, adjacency, noise_rng=noise_rng, rng=search_rng)
    start = packing if seeds is None else seeds.centers
    return start, seeds, Remaining(problem.n, epsilon, size, seeds is not None), spent


def bought_seeds(
    problem: LloydProblem,
    packing: Centers,
    size: KnownSize,
    adjacency: Adjacency,
    *,
    noise_rng: np.random.Generator,
    rng: np.random.Generator,
) -> tuple[CellSeeds | None, float, tuple[Event, ...]]:
    """Return a private start near the public `packing`, the rest of epsilon, and the events so far.

    It spends SEED_SHARE of the epsilon left after the record count. If its grid would have one cell, it is None and
    free.
    """
    events = list(size.events)

    def released(name: str, epsilon: float, grids: int, counts: Callable[[Points], Counts]) -> Counts:
        events.append(cell_event(name, epsilon, adjacency, purpose=Purpose.START, grids=grids))
        return laplace(problem.counted(counts), scale=events[-1].scale, rng=noise_rng)

    seeds = private_seeds(
        released,
        packing,
        problem.box.widths / problem.box.widths.max(),
        epsilon=SEED_SHARE * size.epsilon,
        n_records=size.n_records,
        sensitivity=2 if adjacency is Adjacency.REPLACE else 1,
        rng=rng,
    )
    return seeds, size.epsilon if seeds is None else (1.0 - SEED_SHARE) * size.epsilon, tuple(events)


def starts(problem: LloydProblem, params: StartParams, *, rng: np.random.Generator) -> Centers:
    """Return the centers (k, d), box units, for the first iteration.

    Raises ValueError for given centers that do not fit, and for a start from records that are not in memory.
    """
    start, given, seed = params.start, params.initial_centers, params.start_seed
    return problem.start(params.n_clusters, start=start, initial=given, seed=seed, rng=rng)


def from_records(params: StartParams) -> bool:
    """Return True if the start is made from records; given centers override it."""
    return params.start == "records" and params.initial_centers is None


def start_caveats(params: StartParams) -> tuple[str, ...]:
    """Return the caveats about the start."""
    if params.initial_centers is not None:
        return (GIVEN_START_CAVEAT,)
    return (RECORDS_CAVEAT,) if from_records(params) else ()


# T of BLUM and DWORK by default.
N_ITERATIONS = 5
CENTERED = "sums are taken around the middle of the box, which halves their noise"
REPLACED = "the noise is made for one record replaced"
SEEDED = "a third of ε pays for a start near the records"


@immutable
class FixedParams(NoisyParams):
    """Parameters of BLUM and DWORK, all public; n_iterations=None is 5."""

    @property
    def planned(self) -> int:
        """Return T, which does not depend on the records."""
        return N_ITERATIONS if self.n_iterations is None else self.n_iterations


@immutable
class LloydStep(Step):
    """One iteration, including fields not named `nonprivate_*` for the curator only.

    Arrays have one row per cluster, in box units [0, 1]^d.
    """

    in_box: ClassVar[tuple[str, ...]] = ("previous_centers", "nonprivate_mean", "released_centers")

    # From 1.
    iteration: int
    # Budget of this iteration: epsilon_counts + d epsilon_sums. Gaussian noise has no pure epsilon: infinite.
    epsilon: float
    # Budget of the k counts together.
    epsilon_counts: float
    # Budget of the k sums along one axis.
    epsilon_sums: float
    previous_centers: Centers  # (k, d)
    # Nearest previous center of each record, (n,). (0,) if the records come in chunks.
    nonprivate_labels: Labels
    nonprivate_counts: Counts  # (k,)
    # (k, d). The mean of an empty cluster is its previous center.
    nonprivate_mean: Centers
    # (k,). None without noise.
    noisy_counts: Counts | None
    # Sums of x - 1/2, (k, d). None without noise.
    noisy_sums: FloatArray | None
    released_centers: Centers  # (k, d)
    # Costs of the clusters at the previous centers, (k,), box units squared.
    nonprivate_cost_before: FloatArray
    # Costs of the same clusters at the released centers, (k,), box units squared.
    nonprivate_cost_after: FloatArray
    # "moving"; in the last step "planned" or, without noise, "converged" or "max_iterations".
    outcome: str
    events: tuple[Event, ...]
    # Seeds of a private start, in the first step.
    seeds: CellSeeds | None = None

    @property
    def nonprivate_members(self) -> Labels:
        """Return the nearest previous center of each record (n,), under the name of members computed on demand."""
        return self.nonprivate_labels


@immutable(kw_only=True)
class LloydFamilyRelease(CentersRelease):
    """Centers in data units, and the centers of every iteration in box units: the box is [0, 1]^d."""

    # (k, d) box units. None if the start was given or made from records.
    start: Centers | None
    path: FloatArray  # (T, k, d) box units
    # Public packing of a private start, (k, d) box units. Its row i belongs to row i of `start`.
    start_packing: Centers | None = None
    # Noisy counts of a private start's cells, (m1 ... md,), C order.
    start_cell_counts: Counts | None = None
    # Walls of these cells: d arrays (m_j + 1,), box units.
    start_cell_edges: tuple[FloatArray, ...] | None = None


F = TypeVar("F", bound=LloydFamilyRelease)


@immutable_value
class SpendingPlan:
    """Division of a private method's budget."""

    # Budget of each iteration.
    epsilons: tuple[float, ...]
    # (epsilon of an iteration, d) -> its shares.
    split: Callable[[float, int], LloydBudget]
    # Events that paid for the plan.
    events: tuple[Event, ...] = ()


@immutable
class NoisySums:
    """Release of one iteration, with its event."""

    counts: Counts  # (k,)
    # Sums of x - 1/2, (k, d).
    sums: FloatArray
    centers: Centers  # (k, d)
    event: Event


def joint_split(epsilon: float, d: int) -> LloydBudget:
    """Split `epsilon` so that counts and sums get the same noise scale, as one vector (count, sum of x - 1/2).

    Its L1 sensitivity is 1 + d/2 (ADD_REMOVE) or 2 + d (REPLACE), so the count gets 1 part of 1 + d/2.
    """
    return LloydBudget(count=epsilon / (1.0 + d / 2.0), sum_per_axis=epsilon / (2.0 + d))


def noisy_steps(
    points: Points | Chunks,
    box: Box,
    params: NoisyParams,
    plan: Callable[[Remaining, np.random.Generator], SpendingPlan],
    *,
    rng: np.random.Generator,
    n_public: int | None = None,
) -> Iterator[LloydStep]:
    """Yield one step for each budget of `plan(remaining, rng)`; its noise depends only on the seed and its number."""
    start_rng, plan_rng, loop_rng = rng.spawn(3)
    problem = lloyd_problem(points, box)
    centers, seeds, remaining, spent = begin(problem, params, n_public, rng=start_rng)
    planned = plan(remaining, plan_rng)
    adjacency, n_iterations = params.neighbors, len(planned.epsilons)
    for iteration, epsilon in enumerate(planned.epsilons, start=1):
        partition = one_pass(problem, centers)
        split = planned.split(epsilon, box.d)
        rngs, seeded = loop_rng.spawn(1)[0].spawn(2), seeds is not None
        noisy = noisy_sums(partition.sums, centers, split, adjacency, iteration, rngs=rngs, seeded=seeded)
        yield lloyd_step(
            partition,
            centers,
            noisy,
            split,
            epsilon=epsilon,
            iteration=iteration,
            outcome="planned" if iteration == n_iterations else "moving",
            events=(*spent, *planned.events, noisy.event) if iteration == 1 else (noisy.event,),
            seeds=seeds if iteration == 1 else None,
        )
        centers = noisy.centers


def noisy_sums(
    exact: ClusterSums,
    centers: Centers,
    split: LloydBudget,
    adjacency: Adjacency,
    iteration: int,
    *,
    rngs: Sequence[np.random.Generator],
    seeded: bool,
) -> NoisySums:
    """Release every cluster's count and centered sums, also of empty clusters, with independent noise on each number.

    `rngs` has one generator for the counts and one for the sums. After a private start (`seeded`), centers are too good
    to be moved by noise alone: they move toward the noisy means only as far as noise does not explain.
    """
    k, d = centers.shape
    count_moves, sum_moves = (2.0, 2.0 * BOX_MIDDLE) if adjacency is Adjacency.REPLACE else (1.0, BOX_MIDDLE)
    noise = partial(LaplaceEvent, calibrated_for=adjacency, step=iteration)
    count = noise("counts", count_moves, count_moves / split.count, purpose=Purpose.COUNTS)
    total = noise("sums", sum_moves, sum_moves / split.sum_per_axis, n_coordinates=d, purpose=Purpose.SUMS)
    count_rng, sum_rng = rngs
    counts = laplace(exact.nonprivate_counts, scale=count.scale, rng=count_rng)
    sums = laplace(centered_sums(exact), scale=total.scale, rng=sum_rng)
    released = noisy_means(counts, sums, centers, count_scale=count.scale)
    if seeded:
        released = steadied(released, centers, counts, count_scale=count.scale, sum_scale=total.scale)
    return NoisySums(counts, sums, released, iteration_event(iteration, (count, total), k, adjacency))


def iteration_event(iteration: int, noises: tuple[Event, ...], n_clusters: int, adjacency: Adjacency) -> Event:
    """Return the event of an iteration; `noises` are for one of disjoint clusters, or for all under REPLACE."""
    name = f"iteration {iteration}"
    # These sensitivities are for all clusters together.
    if adjacency is Adjacency.REPLACE:
        return SequenceEvent(name, noises)
    return ParallelEvent(name, (SequenceEvent("one cluster", noises),) * n_clusters)


def lloyd_step(
    partition: Partition,
    centers: Centers,
    noisy: NoisySums | None,
    split: LloydBudget,
    *,
    epsilon: float,
    iteration: int,
    outcome: str,
    events: tuple[Event, ...],
    seeds: CellSeeds | None = None,
    moves: ClusterSums | None = None,
) -> LloydStep:
    """Collect one iteration, with the costs of its clusters before and after.

    `moves`: each cluster's count and sum of x - c over the counted records. None: all records, and sums of x.
    """
    exact = partition.sums if moves is None else moves
    mean = means(exact, centers) if moves is None else centers + means(moves, np.zeros_like(centers))
    released = mean if noisy is None else noisy.centers
    return LloydStep(
        iteration=iteration,
        epsilon=epsilon,
        epsilon_counts=split.count,
        epsilon_sums=split.sum_per_axis,
        previous_centers=centers,
        nonprivate_labels=partition.nonprivate_labels,
        nonprivate_counts=exact.nonprivate_counts,
        nonprivate_mean=mean,
        noisy_counts=None if noisy is None else noisy.counts,
        noisy_sums=None if noisy is None else noisy.sums,
        released_centers=released,
        nonprivate_cost_before=cluster_costs(partition.sums, partition.nonprivate_squares, centers),
        nonprivate_cost_after=cluster_costs(partition.sums, partition.nonprivate_squares, released),
        outcome=outcome,
        events=events,
        seeds=seeds,
    )


def seed_fields(seeds: CellSeeds | None) -> dict[str, Any]:
    """Return the fields of a release that contain the seeds of a private start."""
    if seeds is None:
        return {}
    return {
        "start_packing": seeds.packing,
        "start_cell_counts": seeds.noisy_cell_counts,
        "start_cell_edges": seeds.edges,
    }


def collected(
    trace: tuple[LloydStep, ...],
    box: Box,
    params: StartParams,
    guarantee: Guarantee,
    *,
    make_release: Callable[..., F] = LloydFamilyRelease,  # type: ignore[assignment]
) -> Result[F, LloydStep]:
    """Release the last centers and counts, and the centers of every iteration; `make_release` builds it."""
    public = params.start != "records" and params.initial_centers is None
    release = make_release(
        centers=box.clip(box.from_unit(trace[-1].released_centers)),
        noisy_counts=trace[-1].noisy_counts,
        start=trace[0].previous_centers if public else None,
        path=np.stack([step.released_centers for step in trace]),
        **seed_fields(trace[0].seeds),
    )
    return Result.from_trace(release, trace, guarantee)


def noisy_guarantee(
    params: NoisyParams, spent: float, paper: str, caveats: tuple[str, ...] = (), *, differs: tuple[str, ...] = ()
) -> Guarantee:
    """Return a guarantee with the paper's claim of epsilon and a proof of `spent`, which is fixed before the run."""
    adjacency = params.neighbors
    proved = Claim(spent, 0.0, adjacency, "Laplace counts and centered sums, composed over the iterations")
    double = f"When one record is changed instead of added or removed, the same run is {ceiled(2 * spent)}-private."
    always = (SUMS_CAVEAT,) if adjacency is Adjacency.REPLACE else (double, SUMS_CAVEAT)
    conditions = ((adjacency is Adjacency.REPLACE, REPLACED), (params.start == "private", SEEDED))
    otherwise = "; ".join((*filter(None, differs), *(words for holds, words in conditions if holds)))
    all_caveats = (*start_caveats(params), *caveats, *always)
    published = as_stated(replace(proved, epsilon=params.epsilon), paper)
    return Guarantee(published, None if from_records(params) else proved, all_caveats, otherwise)
