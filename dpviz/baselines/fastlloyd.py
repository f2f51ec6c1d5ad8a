"""FastLloyd: Lloyd with Gaussian noise on moves; a record counts only within a public radius of its center.

Diaa, Humphries & Kerschbaum, "FastLloyd: Federated, Accurate, Secure, and Tunable k-Means Clustering with Differential
Privacy", USENIX Security 2025; constants are from the authors' public code. There, clients add up their own records
and a server adds the noise to masked sums. Here, one curator does both, and the release is the same. Their variant
with Laplace noise is omitted: its epsilons add up over T iterations, but Gaussian noise grows only with sqrt(T).

Why a run is (epsilon, delta)-DP. Centers c, radius eta_t and noise of iteration t follow from public inputs and earlier
releases. For each cluster, the iteration releases N, the number of records within eta_t of c, and their sum S of
x - c, in box units. ADD_REMOVE: one record has one nearest center. It moves that center's N by 1 and its S by x - c, no
longer than eta_t; a record farther away moves neither. So (N / sigma_N, S / sigma_S) moves by at most mu_t in L2,
mu_t^2 = 1 / sigma_N^2 + eta_t^2 / sigma_S^2, and the iteration is mu_t-GDP. REPLACE: a record that stays moves S by at
most 2 eta_t. A record that changes cluster moves two N by 1 and two S by eta_t: at most sqrt(2) and 2 eta_t in L2,
which replace 1 and eta_t. T iterations are mu-GDP with mu^2 = sum_t mu_t^2 (Dong, Roth & Su 2022, corollary 3.3). T,
every eta_t and mu are fixed before the first iteration. mu is the largest value that keeps delta with the epsilon left
by the number of records and the start. The division, the limit on a move and the folding into the box are
post-processing.

The radius is similar to Lu & Shen's sampling zones: a circle around each center that limits its move. Their circle
follows from exact means; this one is public.
"""

import functools
import math
from collections.abc import Iterator

import numpy as np

from dpviz.accounting import GaussianEvent, Purpose, gdp_mu
from dpviz.baselines._base import (
    KnownSize,
    as_stated,
    check_delta,
    delta_caveats,
    delta_field,
    known_size,
    most_delta,
    n_public_field,
    own_delta,
    size_caveats,
    size_differs,
)
from dpviz.baselines._lloyd_family import (
    REPLACED,
    SEEDED,
    LloydFamilyRelease,
    LloydStep,
    NoisyParams,
    NoisySums,
    begin,
    collected,
    from_records,
    iteration_event,
    lloyd_step,
    start_caveats,
)
from dpviz.core import (
    Adjacency,
    Box,
    Budget,
    Centers,
    Claim,
    Counts,
    Event,
    FloatArray,
    Guarantee,
    Points,
    Result,
    check_arguments,
    frozen,
    immutable,
    knob,
)
from dpviz.data import Chunks, trusting
from dpviz.mechanisms import SUMS_CAVEAT, gaussian
from dpviz.solvers import CellSeeds, ClusterSums, LloydBudget
from dpviz.solvers.noisy_lloyd import LloydProblem, bounded_pass, lloyd_problem

TITLE = "FastLloyd"
PAPER = "Diaa, Humphries & Kerschbaum, FastLloyd"
MIN_ITERATIONS, MAX_ITERATIONS = 2, 7
# Constant in the authors' rule for T.
NOISE_SHARE = 0.004
# Gaussian noise has no pure epsilon.
NO_PURE = LloydBudget(count=math.inf, sum_per_axis=math.inf)
# The authors add it to a noisy count before a division by it.
LEAST_COUNT = 1e-9
CURATOR = "one curator computes the sums that the paper's clients compute in secret"
DELTA = "δ is 1/(n √n)"


Step = LloydStep


@immutable
class Params(NoisyParams):
    """Parameters, all public; n_iterations=None is the authors' rule, from `n_public` or a noisy number of records."""

    alpha: float = knob(
        0.8,
        "Radius of a cluster, α",
        "Records farther from their center than α times the box's diagonal, divided by 2 k^(1/d), are left out. "
        "A smaller radius needs less noise but covers less of a cluster.",
        low=0.2,
        high=2.0,
        minimum=1e-3,
        maximum=2.0,
        source="the authors' code",
    )
    n_public: int | None = n_public_field()
    delta: float | None = delta_field()

    def __post_init__(self) -> None:
        """Raise KnobError or ValueError for a value that is not allowed."""
        NoisyParams.__post_init__(self)
        check_delta(self.delta)


@immutable(kw_only=True)
class BoundedRelease(LloydFamilyRelease):
    """Release of the Lloyd family, with the public radii."""

    # Radius within which a record counts, and largest move of a center, (T,) box units.
    radii: FloatArray

    @property
    def sums_around(self) -> Centers:
        """Return the centers before the last move or, if these are a secret start, the centers after it.

        In the second case, the noise of counts is left out.
        """
        if self.start is not None and len(self.path) == 1:
            return self.start
        around: Centers = self.path[-2:][0]
        return around


def fit(
    points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator
) -> Result[BoundedRelease, LloydStep]:
    """Cluster `points` (n, d), clipped to the public `box`; the loop is in `steps`, and this collects its result.

    The release is (epsilon, delta)-DP under `params.adjacency` (proof in the module's docstring), unless the start is
    made of records. Points may come in chunks: the same release, to the bit. Raises ValueError for bad points or
    centers.
    """
    check_arguments(box, params, Params, rng, fit, points)
    run = _FastLloydRun.start_run(points, box, params, rng=rng)
    trace = tuple(run.steps())
    make_release = functools.partial(BoundedRelease, radii=run.radii)
    return collected(trace, box, params, trusting(run.guarantee(), points), make_release=make_release)


def steps(points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator) -> Iterator[LloydStep]:
    """Yield one `LloydStep` per iteration; its counts and means are for the records within the radius."""
    return _FastLloydRun.start_run(points, box, params, rng=rng).steps()


def radii(n_iterations: int, n_clusters: int, d: int, alpha: float) -> FloatArray:
    """Return eta_t (T,), box units: half the diagonal, then alpha diagonals / (2 k^(1/d))."""
    diagonal = math.sqrt(d)
    later = alpha * diagonal / (2.0 * n_clusters ** (1.0 / d))
    return frozen(np.array([diagonal / 2.0, *[later] * (n_iterations - 1)]))


def mu_shares(mu: float, n_iterations: int, d: int) -> tuple[float, float]:
    """Return the mu of one iteration's counts and of its sums: mu^2 / T, divided as 1 : 2 sqrt(d).

    In the authors' notation, sigma_N = sqrt(T) sqrt(1 + sqrt(4d)) / mu and sigma_S = eta sigma_N / (4d)^(1/4).
    """
    times = 2.0 * math.sqrt(d)
    count = mu / math.sqrt(n_iterations * (1.0 + times))
    return count, count * math.sqrt(times)


def iterations_for(mu: float, n_records: float, n_clusters: int, d: int, alpha: float) -> int:
    """Return T = clip(floor(0.004 N^2 mu^2 / (k^3 eta^2 (1 + sqrt(4d))^2)), 2, 7), eta the later radius, box units.

    `n_records` must be public or a noisy count; below 0 it counts as 0.
    """
    if math.isinf(mu):
        return MAX_ITERATIONS
    eta = float(radii(2, n_clusters, d, alpha)[1])
    noise = math.sqrt(n_clusters**3) * eta * (1.0 + 2.0 * math.sqrt(d))
    n_iterations = NOISE_SHARE * (max(n_records, 0.0) * mu / noise) ** 2
    return int(min(max(math.floor(n_iterations), MIN_ITERATIONS), MAX_ITERATIONS))


def bounded_move(counts: Counts, sums: FloatArray, centers: Centers, radius: float) -> Centers:
    """Return `centers` (k, d) moved by noisy `counts` (k,) and `sums` (k, d) of x - c, box units. Post-processing.

    A move is sum / count, no longer than `radius`. A center outside the box is folded back at its walls. As in the
    authors' code, a count below 0 reverses a move.
    """
    move = sums / (counts + LEAST_COUNT)[:, None]
    length = np.linalg.norm(move, axis=1, keepdims=True)
    move *= np.minimum(1.0, radius / np.maximum(length, np.finfo(float).tiny))
    return 1.0 - np.abs(1.0 - np.mod(centers + move, 2.0))


@immutable
class _FastLloydRun:
    """State that is fixed before the first iteration."""

    problem: LloydProblem
    params: Params
    start: Centers  # (k, d) box units
    seeds: CellSeeds | None
    adjacency: Adjacency
    # Delta for which the noise is made.
    delta: float
    # Largest delta over all noisy numbers of records.
    most_delta: float
    # Whether the run uses the number of records.
    sized: bool
    # mu of all iterations together.
    mu: float
    radii: FloatArray  # (T,)
    # Events of the number of records and the start.
    spent: tuple[Event, ...]
    rng: np.random.Generator

    @classmethod
    def start_run(
        cls, points: Points | Chunks, box: Box, params: Params, *, rng: np.random.Generator
    ) -> "_FastLloydRun":
        """Place the start and fix delta, T, radii and noise."""
        start_rng, plan_rng, loop_rng = rng.spawn(3)
        problem, adjacency = lloyd_problem(points, box), params.neighbors
        start, seeds, remaining, spent = begin(problem, params, params.n_public, rng=start_rng)
        size, epsilon = remaining.size, remaining.epsilon
        sized = size is not None or params.n_iterations is None or params.delta is None
        if size is None and sized:
            size = known_size(problem.n, epsilon, params.n_public, adjacency, rng=plan_rng)
            epsilon, spent = size.epsilon, size.events
        known = KnownSize(0.0, epsilon, ()) if size is None else size
        delta = own_delta(params.delta, known)
        mu = gdp_mu(Budget(epsilon, delta))
        n_iterations = params.n_iterations or iterations_for(
            mu, known.n_records, params.n_clusters, box.d, params.alpha
        )
        return cls(
            problem=problem,
            params=params,
            start=start,
            seeds=seeds,
            adjacency=adjacency,
            delta=delta,
            most_delta=most_delta(params.delta, known),
            sized=sized,
            mu=mu,
            radii=radii(n_iterations, params.n_clusters, box.d, params.alpha),
            spent=spent,
            rng=loop_rng,
        )

    def steps(self) -> Iterator[LloydStep]:
        """Yield the steps. Call it only once, because it draws noise."""
        centers = self.start
        for iteration, radius in enumerate(self.radii.tolist(), start=1):
            partition, near = bounded_pass(self.problem, centers, radius)
            noisy = self._noisy(near, centers, radius, iteration, rng=self.rng.spawn(1)[0])
            yield lloyd_step(
                partition,
                centers,
                noisy,
                NO_PURE,
                epsilon=math.inf,
                iteration=iteration,
                outcome="planned" if iteration == len(self.radii) else "moving",
                events=(*self.spent, noisy.event) if iteration == 1 else (noisy.event,),
                seeds=self.seeds if iteration == 1 else None,
                moves=near,
            )
            centers = noisy.centers

    def _noisy(
        self, near: ClusterSums, centers: Centers, radius: float, iteration: int, *, rng: np.random.Generator
    ) -> NoisySums:
        """Release every cluster's count and sum of x - c, also of empty clusters, with independent noise."""
        k, d = centers.shape
        of_count, of_sum = mu_shares(self.mu, len(self.radii), d)
        replaced = self.adjacency is Adjacency.REPLACE
        count_moves, sum_moves = (math.sqrt(2.0), 2.0 * radius) if replaced else (1.0, radius)
        noise = functools.partial(GaussianEvent, calibrated_for=self.adjacency, step=iteration)
        count = noise("counts", count_moves, count_moves / of_count, purpose=Purpose.COUNTS)
        total = noise("sums of moves", sum_moves, sum_moves / of_sum, purpose=Purpose.SUMS)
        count_rng, sum_rng = rng.spawn(2)
        counts = gaussian(near.nonprivate_counts, sigma=count.sigma, rng=count_rng)
        sums = gaussian(near.nonprivate_sums, sigma=total.sigma, rng=sum_rng)
        event = iteration_event(iteration, (count, total), k, self.adjacency)
        return NoisySums(counts, sums, bounded_move(counts, sums, centers, radius), event)

    def guarantee(self) -> Guarantee:
        """Return a guarantee with the paper's claim of epsilon and delta, and their proof."""
        params, size = self.params, (self.params.n_public, self.adjacency)
        words = "Gaussian DP of counts and of moves within a public radius"
        claim = Claim(params.epsilon, self.most_delta, self.adjacency, words, delta_in_run=self.delta)
        caveats = (
            *start_caveats(params),
            *delta_caveats(params.delta, params.n_public, self.adjacency),
            *(size_caveats(*size) if self.sized else ()),
            SUMS_CAVEAT,
        )
        differences = (
            CURATOR,
            DELTA if params.delta is None else "",
            size_differs(*size) if self.sized else "",
            REPLACED if self.adjacency is Adjacency.REPLACE else "",
            SEEDED if params.start == "private" else "",
        )
        differs = "; ".join(filter(None, differences))
        return Guarantee(as_stated(claim, PAPER), None if from_records(params) else claim, caveats, differs)
