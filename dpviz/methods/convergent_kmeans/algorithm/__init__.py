"""Convergent DP k-means (Lu & Shen, "Differentially Private k-Means Clustering with Guaranteed Convergence").

Two modes. *published* follows algorithms 1 and 2 of the paper; its privacy claim (theorem 5) is not established.
*repaired* is our own mode: the same zones, but based on noisy means, with a proved guarantee.

Notation, paper -> code: S_prev -> previous_centers, S -> nonprivate_mean, Y -> far_point, X -> controller,
gamma -> gamma, lambda -> lam, P -> zone_center, r -> zone_radius, delta -> reach, alpha -> angle,
S_hat -> released_centers, epsilon_0 -> epsilon_counts.

Why repaired mode is epsilon-DP under ADD_REMOVE. Points are clipped into the public box and scaled to [0, 1]^d. An
iteration releases, for every cluster of a partition that earlier releases fix, a count (one record moves one count by
1) and the sum of x - 1/2 (one record moves each of its d coordinates by at most 1/2). Laplace noise of scale
1/eps_count and (1/2)/eps_sum makes this eps_count + d eps_sum = eps_t; clusters are disjoint, so one record pays
once. T and the split follow from public parameters and a noisy number of records whose cost is part of epsilon; the
iterations compose to epsilon. Zones, their samples and the released centers are computed from these noisy statistics
and independent randomness only: post-processing. Changing one record is one removal and one addition: 2 epsilon.

A private start spends SEED_SHARE of epsilon. A part eps_m buys noisy marginals: one record is in one bin of each of d,
Laplace noise of scale d/eps_m. They, and the noisy number of records, make a grid, and the rest eps_c buys its counts:
one record moves one by 1, scale 1/eps_c. With too few records for marginals the grid is public. The seeds are found on
the noisy counts and a public packing, and the distance that a noisy mean may move a seed follows from the noise scale:
all post-processing. The rest goes to the one iteration.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dpviz.baselines._base import known_size
from dpviz.baselines._lloyd_family import bought_seeds, seed_fields
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
    Points,
    Result,
    check_params,
    collect,
    immutable,
    knob,
    parameter,
    whole,
)
from dpviz.data import Chunks, trusting
from dpviz.mechanisms import SUMS_CAVEAT
from dpviz.methods.convergent_kmeans.algorithm.lookahead import chances
from dpviz.methods.convergent_kmeans.algorithm.step import ZonesProblem, ZoneStep, finish, lengths, zone_step
from dpviz.solvers import CellSeeds, sample_in_zone, starts_private, su_iterations
from dpviz.solvers.noisy_lloyd import SEEDED_ITERATIONS, LloydProblem, cell_pass, lloyd_problem

TITLE = "Convergent k-means"
PAPER = "Lu & Shen, Differentially Private k-Means Clustering with Guaranteed Convergence"

PUBLISHED_CAVEATS = (
    "The sampling zone, its support and its center are computed from exact means, so a center that is possible with "
    "you in the data can be impossible without you.",
    "ε has almost no effect: it only affects the choice within zones, which the data place. In iteration 1 it moves "
    "no zone.",
    "The score's sensitivity is a local one, and the number of iterations depends on the data and is published.",
)
RECORDS_CAVEAT = "The start is made of real records, which are published as they are: no guarantee holds."
GIVEN_START_CAVEAT = "The initial centers were given: a guarantee holds only if they were chosen without the records."
RATIO_CAVEAT = (
    "The final noise is on the counts only: every released center lies exactly on the ray from the box's low corner "
    "through its true sum, so ratios of coordinates leak exactly."
)
LINE_CAVEAT = (
    "The final noise is on the counts only: in one dimension the center's density has no bounded ratio near the box's "
    "low end."
)
REPAIRS = (
    "zones are computed from noisy counts and means, and the number of steps follows from a noisy number of records"
)
REPAIRED_CAVEATS = (
    "Where the guarantee holds, changing one record instead of adding or removing it costs 2ε.",
    SUMS_CAVEAT,
)

__all__ = ["PAPER", "TITLE", "Params", "Step", "ZonesRelease", "fit", "sample_in_zone", "start_centers", "steps"]


Step = ZoneStep


@immutable
class Params:
    """Parameters, all public."""

    n_clusters: int = knob(5, "Clusters k", "How many centers to find.", low=1, high=64, minimum=1, maximum=10_000)
    mode: str = knob(
        "repaired",
        "Mode",
        "Repaired: zones are computed from noisy means, and the guarantee is proved. Published: as in the paper.",
        choices=(("repaired", "Repaired"), ("published", "As published")),
    )
    orientation: str = knob(
        "past",
        "Orientation",
        "Direction of the zone: along the last move (past), or toward Lloyd's next mean (future).",
        choices=(("past", "Past"), ("future", "Future")),
    )
    epsilon: float = knob(
        1.0,
        "Privacy budget ε",
        "How much one record may change what is released; repaired mode spends no more. Smaller is more private.",
        low=0.05,
        high=20.0,
        minimum=1e-9,
        log=True,
    )
    epsilon_per_iteration: float = knob(
        0.5,
        "ε per step",
        "Published mode spends this in every step. In repaired mode it is only the temperature inside a zone.",
        low=0.01,
        high=100.0,
        minimum=0.0,
        log=True,
    )
    epsilon_counts: float = knob(
        0.5, "ε₀ of the final counts", "Published mode's last step.", low=0.01, high=100.0, minimum=1e-9, log=True
    )
    start: str = knob(
        "packing",
        "Start",
        "Sphere packing uses no records. The paper starts from k records, which voids every guarantee. "
        "Private seeds spend a third of ε on noisy histograms, in repaired mode.",
        choices=(
            ("packing", "Sphere packing (public)"),
            ("private", "Private seeds (a third of ε)"),
            ("records", "k records (as in the paper)"),
        ),
    )
    initial_centers: Centers | None = parameter(
        None, "Public centers (k, d) in data units to start from. None: the centers of `start`."
    )
    max_iterations: int = knob(
        30,
        "Maximum iterations",
        "Published mode stops here if not converged.",
        low=1,
        high=100,
        minimum=1,
        maximum=10_000,
    )
    n_iterations: int | None = whole(
        "Steps of repaired mode. None: follows a noisy number of records.", least=1, source="Su et al., section 3"
    )
    tolerance: float = parameter(0.0, "Published mode stops when no center moves farther, in widths of the box.")
    start_seed: int | None = whole("Seed of the public start. None: a different start in each run.", least=0)

    def __post_init__(self) -> None:
        """Validate the fields."""
        check_params(self)
        if not self.tolerance >= 0:
            raise ValueError(f"tolerance must be at least 0, got {self.tolerance}. Use 0 to wait for equal labels.")
        if self.mode == "repaired" and self.orientation == "future":
            raise ValueError(
                "orientation must be 'past' in repaired mode, got 'future': looking ahead needs an "
                "additional pass over the records, which repaired mode does not pay for. Use "
                "orientation='past', or mode='published'."
            )


@immutable(kw_only=True)
class ZonesRelease(CentersRelease):
    """Centers, and the zones published on the way. Zones are in box units: the box is [0, 1]^d.

    `zone_means`, `controllers`, `lam` and `noisy_counts_by_iteration` are None in published mode, because they would
    be exact statistics.
    """

    # (k, d) box units. None if the start was made from records or given.
    start: Centers | None
    zone_centers: FloatArray  # (T, k, d)
    zone_radii: FloatArray  # (T, k)
    # (T, k, d) sampled centers S_hat.
    path: FloatArray
    # (T, k, d) noisy means.
    zone_means: FloatArray | None
    controllers: FloatArray | None  # (T, k, d)
    lam: FloatArray | None  # (T, k)
    noisy_counts_by_iteration: FloatArray | None  # (T, k)
    # (k, d) box units: the public packing of a private start. Row i matches row i of `start`.
    start_packing: Centers | None = None
    # (m1 ... md,) noisy counts of a private start, in C order.
    start_cell_counts: Counts | None = None
    # d arrays (m_j + 1,) with the walls of the start's cells, box units.
    start_cell_edges: tuple[FloatArray, ...] | None = None


def fit(
    points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator
) -> Result[ZonesRelease, ZoneStep]:
    """Cluster records with convergent k-means: collect `steps`, and release.

    Repaired mode is epsilon-DP under ADD_REMOVE (proof in the module's docstring) and releases its last noisy means.
    Published mode has the paper's release and proves nothing.

    Parameters
    ----------
    points
        Records (n, d), clipped into the box. In repaired mode they may come in chunks, with the same release to the
        bit. Private.
    box
        Public box.
    params
        Parameters. Public.
    rng
        Generator of start, draws and noise.

    Returns
    -------
    Result
        Release and guarantee, which are public, and the trace, which is for the curator only.

    Raises
    ------
    ValueError
        If points or centers are bad, or records come in chunks and are needed whole.
    """
    trace = collect(fit, steps, points, box, params, Params, rng)
    first, last, repaired = trace[0], trace[-1], params.mode == "repaired"
    public_start = params.start != "records" and params.initial_centers is None

    def stack(name: str) -> FloatArray:
        return np.stack([getattr(step, name) for step in trace])

    release = ZonesRelease(
        centers=box.clip(box.from_unit(last.zone_mean if last.final_centers is None else last.final_centers)),
        noisy_counts=last.noisy_counts,
        start=first.previous_centers if public_start else None,
        zone_centers=stack("zone_center"),
        zone_radii=stack("zone_radius"),
        path=stack("released_centers"),
        zone_means=stack("zone_mean") if repaired else None,
        controllers=stack("controller") if repaired else None,
        lam=stack("lam") if repaired else None,
        noisy_counts_by_iteration=stack("noisy_counts") if repaired else None,
        **seed_fields(first.seeds),
    )
    return Result.from_trace(release, trace, trusting(_guarantee(params, trace), points))


def steps(points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator) -> Iterator[ZoneStep]:
    """Yield the iterations. Their randomness depends only on the seed and the iteration's number.

    Parameters
    ----------
    points
        Records (n, d), or chunks of them. Private.
    box
        Public box.
    params
        Parameters. Public.
    rng
        Generator of start, draws and noise.

    Yields
    ------
    ZoneStep
        One iteration. Curator only.
    """
    if params.mode == "published" and isinstance(points, Chunks):
        raise ValueError(
            "mode must be 'repaired' for records in chunks: 'published' stops when no record changes cluster, and "
            "chunks are not kept. Use 'repaired', or load the records."
        )
    start_rng, plan_rng, loop_rng, end_rng = rng.spawn(4)
    records = lloyd_problem(points, box)
    centers = _start(records, params, rng=start_rng)
    problem, seeds = _zones_problem(records, params, centers, rng=plan_rng)
    centers = centers if seeds is None else seeds.centers
    clusters = cell_pass(records, centers, opening=True)
    shape, past = centers.shape, problem.orientation == "past"
    draws = chances(problem.n_iterations, shape, problem.temperature, past=past, rng=loop_rng)
    for iteration, chance in enumerate(draws, start=1):
        step = zone_step(problem, centers, clusters, iteration, chance)
        step = replace(step, seeds=seeds) if iteration == 1 and seeds is not None else step
        if problem.repaired and iteration == problem.n_iterations:
            # The outcome depends on no further pass over the records.
            yield replace(step, outcome="planned")
            return
        following = cell_pass(records, step.released_centers)
        outcome = "moving"
        if not problem.repaired:
            if following.same_members(clusters):
                outcome = "converged"
            elif lengths(step.released_centers - step.previous_centers).max() <= params.tolerance:
                outcome = "still"
            elif iteration == params.max_iterations:
                outcome = "max_iterations"
        if outcome != "moving":
            yield finish(step, following.sums, params.epsilon_counts, outcome, rng=end_rng)
            return
        yield step
        centers, clusters = step.released_centers, following


def start_centers(points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator) -> Centers:
    """Return the first iteration's centers, and the search of a private start.

    Parameters
    ----------
    points
        Records (n, d), or chunks of them. Private.
    box
        Public box.
    params
        Parameters. Public.
    rng
        Generator of the start.

    Returns
    -------
    Centers
        Centers (k, d), box units. Public with start="packing" and "private"; with start="records" they are k distinct
        records: curator only.

    Raises
    ------
    ValueError
        If `initial_centers` has a wrong shape, and with start="records" if there are more clusters than records, or
        records come in chunks.
    """
    return _start(lloyd_problem(points, box), params, rng=rng)


def _start(records: LloydProblem, params: Params, *, rng: np.random.Generator) -> Centers:
    return records.start(
        params.n_clusters, start=params.start, initial=params.initial_centers, seed=params.start_seed, rng=rng
    )


def _zones_problem(
    records: LloydProblem, params: Params, packing: Centers, *, rng: np.random.Generator
) -> tuple[ZonesProblem, CellSeeds | None]:
    """Fix the number of iterations and their budget, and find the seeds of a private start that is near `packing`.

    Repaired mode derives both numbers, of iterations and of cells, from a noisy number of records. A private start
    spends SEED_SHARE of the remaining epsilon.
    """

    def problem(
        n_iterations: int, epsilon: float, events: tuple[Event, ...] = (), *, seeded: bool = False
    ) -> ZonesProblem:
        repaired, temperature = params.mode == "repaired", params.epsilon_per_iteration
        plan = (n_iterations, epsilon, temperature, events, seeded)
        return ZonesProblem(records, params.n_clusters, repaired, params.orientation, *plan)

    if params.mode == "published":
        return problem(params.max_iterations, params.epsilon_per_iteration), None
    private = starts_private(params.start, params.initial_centers)
    if params.n_iterations is not None and not private:
        return problem(params.n_iterations, params.epsilon / params.n_iterations), None
    size = known_size(records.n, params.epsilon, None, Adjacency.ADD_REMOVE, rng=rng)
    seeds, rest, events = (
        bought_seeds(records, packing, size, Adjacency.ADD_REMOVE, noise_rng=rng, rng=rng)
        if private
        else (None, size.epsilon, size.events)
    )
    planned = su_iterations(rest, size.n_records, params.n_clusters, records.box.d)
    n_iterations = SEEDED_ITERATIONS if seeds is not None else min(planned, params.max_iterations)
    n_iterations = params.n_iterations or n_iterations
    return problem(n_iterations, rest / n_iterations, events, seeded=seeds is not None), seeds


def _guarantee(params: Params, trace: tuple[ZoneStep, ...]) -> Guarantee:
    own = params.initial_centers is not None
    # Initial centers override the start.
    records = params.start == "records" and not own
    start = ((own, GIVEN_START_CAVEAT), (records, RECORDS_CAVEAT))
    caveats = tuple(caveat for holds, caveat in start if holds)
    if params.mode == "published":
        total = params.epsilon_counts + len(trace) * params.epsilon_per_iteration
        source = f"{PAPER}, theorem 5, over a run of {len(trace)} steps"
        claim = Claim(total, 0.0, Adjacency.ADD_REMOVE, source)
        leak = RATIO_CAVEAT if trace[0].zone_mean.shape[1] > 1 else LINE_CAVEAT
        return Guarantee(claim, None, (*caveats, leak, *PUBLISHED_CAVEATS))
    claim = Claim(
        params.epsilon,
        0.0,
        Adjacency.ADD_REMOVE,
        "Laplace noise on counts and sums, the budget split as in Su et al. 2016",
    )
    published = replace(claim, reference=f"{PAPER}, theorem 5, for the same total ε; an audit refutes it as published")
    return Guarantee(published, None if records else claim, (*caveats, *REPAIRED_CAVEATS), REPAIRS)
