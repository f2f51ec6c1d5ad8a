"""DP-EM for Gaussian mixtures: EM with Gaussian noise on counts, sums and second moments in each iteration.

Park, Foulds, Chaudhuri & Welling, "DP-EM: Differentially Private Expectation Maximization" (AISTATS 2017).

Notation, paper -> code: J -> n_iterations, K -> n_clusters, pi, mu, Sigma -> `Mixture`, gamma -> responsibilities r.

The paper perturbs weights, means and covariances after the division by N_k, with noise for 2/N_k, so its noise scale
depends on records. Here the statistics get the noise, and the division is post-processing: counts N_k = sum_x r_k, sums
S_k = sum_x r_k x, and second moments Q_k = sum_x r_k (x_i x_j) for i <= j. Then
pi_k = N_k / sum_l N_l,  mu_k = S_k / N_k,  Sigma_k = Q_k / N_k - mu_k mu_k', with eigenvalues repaired.

Why it is (epsilon, delta)-DP. Records are clipped to the public box and scaled to [-1, 1]^d. The mixture of an
iteration follows from public inputs and earlier releases. For a record x it fixes r(x) >= 0 with |r|_1 = 1, for any
other records. q(x) = (x_i x_j) for i <= j. One record contributes r, r x' and r q' to the statistics:
- ADD_REMOVE: |r|_2 <= 1, so they move by at most 1, |x| <= sqrt(d) and |q| <= sqrt(d (d+1) / 2) in L2.
- REPLACE, x by y, r by s: |r - s|^2 <= 2 because r.s >= 0; the sums move by at most |x| + |y| <= 2 sqrt(d). For second
  moments |r q(x)' - s q(y)'|^2 = |r|^2 |q(x)|^2 + |s|^2 |q(y)|^2 - 2 (r.s) (q(x).q(y)) <= d (d+1), because
  q(x).q(y) = (sum_i x_i^2 y_i^2 + (x.y)^2) / 2 >= 0.
Noise of sigma = sensitivity / sqrt(share / J) mu makes each of the three sqrt(share / J) mu-GDP. The shares add up to
1, so an iteration is mu / sqrt(J)-GDP, and J of them, adaptively, are mu-GDP (Dong, Roth & Su 2022, corollary 3.3). J
and mu are fixed before the first iteration. mu is the largest value that keeps delta with the epsilon left after the
record count; records are counted with noise only if delta depends on their number. The rest is post-processing.
"""

import functools
import math
from collections.abc import Iterator

import numpy as np

from dpviz.accounting import GaussianEvent, Purpose, SequenceEvent, gdp_mu
from dpviz.baselines._base import (
    ApproxParams,
    as_stated,
    delta_caveats,
    known_size,
    most_delta,
    own_delta,
    size_caveats,
)
from dpviz.core import (
    Adjacency,
    Box,
    Budget,
    Centers,
    CentersRelease,
    Claim,
    Confidential,
    Counts,
    Event,
    FloatArray,
    Guarantee,
    Labels,
    MovedCenters,
    Points,
    Result,
    check_arguments,
    frozen,
    immutable,
    unit_records,
    whole,
)
from dpviz.mechanisms import SUMS_CAVEAT, gaussian
from dpviz.solvers import (
    Mixture,
    MomentRecords,
    public_start,
    records,
    repaired_covariances,
    round_mixture,
    soft_moments,
    unpacked,
)

TITLE = "DP-EM (mixture)"
PAPER = "Park, Foulds, Chaudhuri & Welling, DP-EM: Differentially Private Expectation Maximization"
# J by default. Our choice: with the 10 of the authors' code, the noise of each iteration is larger by sqrt(2).
N_ITERATIONS = 5
# Shares of an iteration's mu^2. Our choice.
COUNT_SHARE, SUM_SHARE, SQUARE_SHARE = 0.1, 0.4, 0.5
# Smallest eigenvalue of a covariance in [-1, 1]^d, from the authors' code.
VARIANCE_FLOOR = 1e-3
# Assumed distance of true covariances from the start's, as a share of the variance at the start. Our choice.
PRIOR_SHARE = 0.1
# A component stays in place if its noisy count is below this many sigma. Our choice.
FIRM_SCALES = 4.0

DIFFERS = (
    "noise is added before the division by a component's count, the start is public, covariances borrow from the "
    "start's if noise drowns them, and the iterations are composed as Gaussian DP"
)
LOCAL_CAVEAT = (
    "EM finds a mixture near its start, and a component whose noisy count does not exceed its noise stays in place. "
    "With little budget, most of the release is the start."
)


@immutable
class Params(ApproxParams):
    """Parameters, all public; `start_seed` is the seed of the packed means."""

    n_iterations: int | None = whole(f"Iterations J of EM. None: {N_ITERATIONS}.", least=1)


@immutable(kw_only=True)
class MixtureRelease(CentersRelease):
    """The means in data units with their noisy counts, and the whole mixture."""

    # In [-1, 1]^d: the box, centered and scaled.
    mixture: Mixture


@immutable(kw_only=True)
class EmStep(MovedCenters):
    """One iteration, including fields not named `nonprivate_*` for the curator only.

    Everything except the centers is in [-1, 1]^d.
    """

    # From 1.
    iteration: int
    # Most likely component of each record before the iteration, (n,).
    nonprivate_labels: Labels
    # Counts, sums and second moments, (K, F), in the order of `solvers.features`.
    nonprivate_moments: FloatArray
    noisy_moments: FloatArray  # (K, F)
    # Noisy, (K,).
    counts: Counts
    # Mixture after the iteration.
    mixture: Mixture
    events: tuple[Event, ...]


def fit(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Result[MixtureRelease, EmStep]:
    """Fit a mixture to `points` (n, d), clipped to the public `box`, with (epsilon, delta)-DP; centers are its means.

    The proof is in the module's docstring. Raises ValueError for bad points.
    """
    check_arguments(box, params, Params, rng, fit, points)
    run = _DpEmRun.start_run(points, box, params, rng=rng)
    trace = tuple(run.steps())
    last = trace[-1]
    release = MixtureRelease(centers=last.centers, noisy_counts=last.counts, mixture=last.mixture)
    words = "Gaussian DP of counts, sums and second moments"
    claim = Claim(params.epsilon, run.most_delta, run.adjacency, words, delta_in_run=run.delta)
    # A given delta does not need the number of records.
    known = size_caveats(params.n_public, run.adjacency) if params.delta is None else ()
    caveats = (LOCAL_CAVEAT, *delta_caveats(params.delta, params.n_public, run.adjacency), *known, SUMS_CAVEAT)
    return Result.from_trace(release, trace, Guarantee(as_stated(claim, PAPER), claim, caveats, DIFFERS))


def steps(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Iterator[EmStep]:
    """Yield one `EmStep` per iteration."""
    return _DpEmRun.start_run(points, box, params, rng=rng).steps()


def sensitivities(d: int, adjacency: Adjacency) -> tuple[float, float, float]:
    """Return the L2 sensitivities of all counts, all sums and all second moments to one record: see the proof."""
    if adjacency is Adjacency.REPLACE:
        return math.sqrt(2.0), 2.0 * math.sqrt(d), math.sqrt(d * (d + 1.0))
    return 1.0, math.sqrt(d), math.sqrt(d * (d + 1.0) / 2.0)


def m_step(moments: FloatArray, before: Mixture, start: Mixture, sigmas: tuple[float, float, float]) -> Mixture:
    """Return the mixture for noisy `moments` (K, F) with noise of `sigmas` on counts, sums and second moments.

    A component stays as `before` if its count does not stand out from its noise. Each covariance is pulled toward the
    covariance of the public `start` by the share v / (v + t^2) of noise in it: v = d (sigma / N_k)^2 is the squared
    norm, up to a factor, of a symmetric noise matrix, and t is PRIOR_SHARE of the start's variance. Without noise this
    is EM's step, except for variances below VARIANCE_FLOOR. Post-processing.
    """
    d, (count_sigma, _, square_sigma) = before.d, sigmas
    counts, sums, squares = unpacked(moments, d)
    weights = np.maximum(counts, count_sigma)
    # No records and no noise.
    if not weights.any():
        return before
    firm = counts > FIRM_SCALES * count_sigma
    safe = np.where(firm, counts, 1.0)
    means = np.where(firm[:, None], np.clip(sums / safe[:, None], -1.0, 1.0), before.means)
    scatter = squares / safe[:, None, None] - means[:, :, None] * means[:, None, :]
    noise = d * (square_sigma / safe) ** 2
    share = (noise / (noise + (PRIOR_SHARE * start.covariances[:, 0, 0]) ** 2))[:, None, None]
    drawn = repaired_covariances((1.0 - share) * scatter + share * start.covariances, VARIANCE_FLOOR)
    return Mixture(weights / weights.sum(), means, np.where(firm[:, None, None], drawn, before.covariances))


@immutable
class _DpEmRun(Confidential):
    """State that is fixed before the first iteration."""

    data: MomentRecords  # [-1, 1]^d
    box: Box
    # Public, in [-1, 1]^d.
    start: Mixture
    adjacency: Adjacency
    # Delta for which the noise is made.
    delta: float
    # Largest delta over all noisy numbers of records.
    most_delta: float
    # mu of all iterations together.
    mu: float
    n_iterations: int
    size_events: tuple[Event, ...]
    rng: np.random.Generator

    @classmethod
    def start_run(cls, points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> "_DpEmRun":
        """Scale the records, place the start and fix the noise."""
        unit, adjacency = unit_records(points, box), params.neighbors
        size_rng, start_rng, loop_rng = rng.spawn(3)
        needed = params.delta is None
        size = known_size(len(unit), params.epsilon, params.n_public, adjacency, needed=needed, rng=size_rng)
        delta = own_delta(params.delta, size)
        packing = public_start(params.n_clusters, box.d, seed=params.start_seed, rng=start_rng)
        return cls(
            data=records(frozen(2.0 * unit - 1.0)),
            box=box,
            start=round_mixture(2.0 * packing - 1.0, VARIANCE_FLOOR),
            adjacency=adjacency,
            delta=delta,
            most_delta=most_delta(params.delta, size),
            mu=gdp_mu(Budget(size.epsilon, delta)),
            n_iterations=N_ITERATIONS if params.n_iterations is None else params.n_iterations,
            size_events=size.events,
            rng=loop_rng,
        )

    def steps(self) -> Iterator[EmStep]:
        """Yield the steps. Call it only once, because it draws noise."""
        mixture = self.start
        for iteration in range(1, self.n_iterations + 1):
            exact, labels = soft_moments(self.data, mixture)
            noises = self._noises(iteration)
            # Counts, sums, second moments.
            parts = np.split(exact, [1, 1 + mixture.d], axis=1)
            noisy = np.concatenate(
                [
                    gaussian(part, sigma=event.sigma, rng=part_rng)
                    for part, event, part_rng in zip(parts, noises, self.rng.spawn(3), strict=True)
                ],
                axis=1,
            )
            spent = SequenceEvent(f"iteration {iteration}", noises)
            before, mixture = (
                mixture,
                m_step(noisy, mixture, self.start, (noises[0].sigma, noises[1].sigma, noises[2].sigma)),
            )
            counts = exact[:, :1]
            means = np.where(counts > 0, exact[:, 1 : 1 + mixture.d] / np.maximum(counts, 1e-300), before.means)
            yield EmStep(
                centers=self._data_units(mixture.means),
                nonprivate_centers=self._data_units(means),
                iteration=iteration,
                nonprivate_labels=labels,
                nonprivate_moments=exact,
                noisy_moments=noisy,
                counts=noisy[:, 0].copy(),
                mixture=mixture,
                events=(*self.size_events, spent) if iteration == 1 else (spent,),
            )

    def _noises(self, iteration: int) -> tuple[GaussianEvent, GaussianEvent, GaussianEvent]:
        """Return the noise of one iteration on counts, on sums and on second moments."""
        counts, sums, squares = sensitivities(self.box.d, self.adjacency)
        noise = functools.partial(GaussianEvent, calibrated_for=self.adjacency, step=iteration)
        one = self.mu / math.sqrt(self.n_iterations)
        return (
            noise("counts", counts, counts / (math.sqrt(COUNT_SHARE) * one), purpose=Purpose.COUNTS),
            noise("sums", sums, sums / (math.sqrt(SUM_SHARE) * one), purpose=Purpose.SUMS),
            noise("second moments", squares, squares / (math.sqrt(SQUARE_SHARE) * one), purpose=Purpose.SECOND_MOMENTS),
        )

    def _data_units(self, means: Centers) -> Centers:
        return frozen(self.box.clip(self.box.from_unit((means + 1.0) / 2.0)))
