"""Private mixtures under the Morse step: EM with hard or soft responsibilities, and Lloyd with second moments.

Every pass consists of clusters that earlier releases fix, their exact statistics, noise, and post-processing.

From noisy moments to a mixture, every step is post-processing, so choices cost no privacy. "plain" follows algorithm
1: mu = sum / count clipped into the box, Sigma = M2 / count - mu mu', eigenvalues floored, pi = count / sum of counts.
"steady" is our choice: each covariance shrinks toward the covariance pooled over components, by its own noise; the
noise levels the weights that decide which component wins a record, and components that drown in noise are replaced by
halves of the largest ones. Without noise both are equal.
"""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from dpviz.accounting import GaussianEvent, PureEvent, Purpose
from dpviz.core import BoolArray, Centers, Counts, Event, FloatArray, Labels, Points, Step, algebra, immutable
from dpviz.mechanisms import gaussian, laplace
from dpviz.methods.morse.algorithm.budget import (
    MorseScheme,
    lloyd_sensitivity,
    moment_sensitivity,
    noise_scale,
    second_sensitivity,
)
from dpviz.solvers import (
    Mixture,
    MomentRecords,
    assign,
    features,
    hard_moments,
    label_moments,
    repaired_covariances,
    round_mixture,
    soft_moments,
    sphere_packing,
    unpacked,
)

# Smallest eigenvalue of a covariance in [-1, 1]^D, as in the authors' code.
VARIANCE_FLOOR = 0.01
# Smallest count that a pass divides by, as in the authors' code.
LEAST_COUNT = 1.0
# Our choice: a noisy count below this many sigma drops its component. One in 30,000 empty components survives.
DROP_SCALES = 4.0
# Our choice: records per sigma that each count gains before it weighs in the next assignment.
LEVELLING = 100.0
# Our choice: distance, as a share of the pooled variance, that true covariances are assumed to have from the pooled
# one.
PRIOR_SHARE = 0.02
# Our choice: multiple of the noise variance of a mean that is added to its covariance.
BLUR = 4.0
# Our choice: smallest count, in sigma, of each half of a split component.
HELP_SCALES = 8.0
# Our choice: distance in standard deviations from the old mean to each half.
HELP_OFFSET = 0.8


@immutable
class MorseStep(Step):
    """One pass over the records. All fields are curator only. Everything is in [-1, 1]^D."""

    in_box: ClassVar[tuple[str, ...]] = ("centers",)
    unit_low: ClassVar[float] = -1.0

    # "em", "lloyd", "partition", "swap", or "moments".
    stage: str
    # Counted from 1 within the stage.
    iteration: int
    # Noise scale of this pass, in units of the statistics.
    sigma: float
    # (n,) winning component, or the cube. Empty if records come in chunks.
    nonprivate_labels: Labels
    # (K, F) counts, sums, and raw second moments. For a partition: (cubes, 1) counts.
    nonprivate_moments: FloatArray
    # The same statistics with noise. NaN if nothing was released.
    noisy_moments: FloatArray
    # (K, D) centers after this pass.
    centers: Centers
    # Mixture after this pass. None while the base has no densities.
    mixture: Mixture | None
    # (K,) noisy counts.
    counts: Counts
    # (K,) True if a component stands out from the noise.
    alive: BoolArray
    events: tuple[Event, ...]


@immutable
class Start:
    """A public start, and the generator of the loop."""

    mixture: Mixture  # [-1, 1]^D
    rng: np.random.Generator


@immutable
class MixtureEstimate:
    """A mixture from noisy moments."""

    # Mixture in [-1, 1]^D for the next assignment.
    mixture: Mixture
    # (K,) noisy counts.
    counts: Counts
    # (K,) True if a count stands out from the noise.
    alive: BoolArray


def public_start(n_components: int, d: int, *, rng: np.random.Generator) -> Start:
    """Return a public start in [-1, 1]^D, packed means and one round covariance, and the generator of the loop."""
    start_rng, loop_rng = rng.spawn(2)
    means = 2.0 * sphere_packing(n_components, d, rng=start_rng) - 1.0
    return Start(round_mixture(means, VARIANCE_FLOOR), loop_rng)


def em_steps(data: MomentRecords, scheme: MorseScheme, start: Start, *, steady: bool) -> Iterator[MorseStep]:
    """Yield the passes of DPMoG-hard or DPMoG (algorithm 1; section 4.1.2) on records in [-1, 1]^D."""
    mixture, sigma = start.mixture, noise_scale(scheme)
    moments_of = soft_moments if scheme.base == "dpmog" else hard_moments
    sensitivity = moment_sensitivity(scheme.d, scheme.adjacency)
    for iteration in range(1, scheme.n_iterations + 1):
        exact, labels = moments_of(data, mixture)
        noisy = gaussian(exact, sigma=sigma, rng=start.rng.spawn(1)[0])
        event = GaussianEvent(
            f"iteration {iteration}",
            sensitivity,
            sigma,
            calibrated_for=scheme.adjacency,
            purpose=Purpose.MOMENTS,
            step=iteration,
        )
        last = iteration == scheme.n_iterations
        estimated = estimate(noisy, mixture, sigma, steady=steady, last=last)
        yield mixture_step("em", iteration, sigma, labels, exact, noisy, estimated, (event,))
        mixture = estimated.mixture


def lloyd_steps(signed: Points, scheme: MorseScheme, start: Start, *, steady: bool) -> Iterator[MorseStep]:
    """Yield the passes of DPLloyd-MoG (algorithm 4): Laplace on counts and sums, second moments in the last one."""
    sigma, d, adjacency = noise_scale(scheme), scheme.d, scheme.adjacency
    mixture, phi = start.mixture, features(signed)
    centers = mixture.means
    pure = lloyd_sensitivity(d, adjacency) / sigma if sigma > 0 else np.inf
    for iteration in range(1, scheme.n_iterations + 1):
        labels = assign(signed, centers)
        exact = label_moments(phi, labels, scheme.n_components)
        first_rng, second_rng = start.rng.spawn(2)
        noisy = np.full_like(exact, np.nan)
        noisy[:, : 1 + d] = laplace(exact[:, : 1 + d], scale=sigma, rng=first_rng)
        events: tuple[Event, ...] = (
            PureEvent(
                f"iteration {iteration}", pure, calibrated_for=adjacency, purpose=Purpose.MOMENTS, step=iteration
            ),
        )
        last = iteration == scheme.n_iterations
        if last:
            noisy[:, 1 + d :] = gaussian(exact[:, 1 + d :], sigma=sigma, rng=second_rng)
            events += (
                GaussianEvent(
                    "second moments",
                    second_sensitivity(d, adjacency),
                    sigma,
                    calibrated_for=adjacency,
                    purpose=Purpose.SECOND_MOMENTS,
                    step=iteration,
                ),
            )
        moments = noisy
        if not last:
            # Until the last pass, only the means are real: the mixture's covariances around the noisy means replace
            # second moments that are not released yet.
            first, second = np.triu_indices(d)
            counts = np.maximum(noisy[:, 0], 1.0)
            means = np.clip(noisy[:, 1 : 1 + d] / counts[:, None], -1.0, 1.0)
            moments = noisy.copy()
            spread = mixture.covariances[:, first, second] + means[:, first] * means[:, second]
            moments[:, 1 + d :] = counts[:, None] * spread
        estimated = estimate(moments, mixture, sigma, steady=steady, last=last)
        yield mixture_step("lloyd", iteration, sigma, labels, exact, noisy, estimated, events, has_density=last)
        mixture, centers = estimated.mixture, estimated.mixture.means


def mixture_step(
    stage: str,
    iteration: int,
    sigma: float,
    labels: Labels,
    exact: FloatArray,
    noisy: FloatArray,
    estimated: MixtureEstimate,
    events: tuple[Event, ...],
    *,
    has_density: bool = True,
) -> MorseStep:
    """Collect one pass, read-only."""
    return MorseStep(
        stage=stage,
        iteration=iteration,
        sigma=sigma,
        nonprivate_labels=labels,
        nonprivate_moments=exact,
        noisy_moments=noisy,
        centers=estimated.mixture.means,
        mixture=estimated.mixture if has_density else None,
        counts=estimated.counts.copy(),
        alive=estimated.alive,
        events=events,
    )


def estimate(noisy: FloatArray, previous: Mixture, sigma: float, *, steady: bool, last: bool) -> MixtureEstimate:
    """Return the mixture of noisy moments (K, F); drowned components stay where `previous` has them."""
    d = previous.d
    counts, sums, squares = unpacked(noisy, d)
    alive = counts >= max(LEAST_COUNT, DROP_SCALES * sigma)
    safe = np.maximum(counts, LEAST_COUNT)
    means = np.clip(sums / safe[:, None], -1.0, 1.0)
    covariances = squares / safe[:, None, None] - means[:, :, None] * means[:, None, :]
    if steady:
        means = np.where(alive[:, None], means, previous.means)
        covariances = _pooled_covariances(covariances, means, safe, alive, sigma)
    else:
        # A count of 0 says nothing about the mean. The authors' code divides by 1, and with noise so do we.
        means = np.where((counts > 0)[:, None] | (sigma > 0), means, previous.means)
    covariances = repaired_covariances(covariances, VARIANCE_FLOOR)
    if steady:
        # A mean is known up to about sigma / count on each axis, so the density is blurred by that much.
        blur = np.where(alive, (sigma / safe) ** 2 * (1.0 + np.einsum("kd,kd->k", means, means)), 0.0)
        covariances = covariances + BLUR * blur[:, None, None] * np.eye(d)
    if not steady:
        return MixtureEstimate(Mixture(safe / safe.sum(), means, covariances), counts, alive)
    weights = safe + LEVELLING * sigma
    if sigma > 0 and not last:
        means, covariances, weights = _split_largest(means, covariances, weights, counts, alive, sigma)
    return MixtureEstimate(Mixture(weights / weights.sum(), means, covariances), counts, alive)


def final_mixture(estimated: MixtureEstimate) -> tuple[Mixture, Labels]:
    """Return the mixture of the components that stand out, weighted by their noisy counts, and which ones they are."""
    rows = np.flatnonzero(estimated.alive)
    if not len(rows):
        rows = np.array([int(np.argmax(estimated.counts))])
    weights = np.maximum(estimated.counts[rows], LEAST_COUNT)
    mixture = estimated.mixture
    return Mixture(weights / weights.sum(), mixture.means[rows], mixture.covariances[rows]), rows


def _pooled_covariances(
    covariances: FloatArray, means: Centers, counts: Counts, alive: BoolArray, sigma: float
) -> FloatArray:
    """Shrink each covariance to the pooled one by the share v / (v + t^2) that noise has in its variance.

    An entry of M2 / count - mu mu' has noise variance v of about (sigma / count)^2 (1 + |mu|^2); t is PRIOR_SHARE of
    the pooled variance. A drowned component has the pooled one.
    """
    if sigma == 0 or not alive.any():
        return covariances
    d = means.shape[1]
    weights = np.where(alive, counts, 0.0)
    pooled = np.einsum("k,kij->ij", weights, covariances) / weights.sum()
    pooled = repaired_covariances(pooled[None], VARIANCE_FLOOR / 5)[0]
    noise = (sigma / counts) ** 2 * (1.0 + np.einsum("kd,kd->k", means, means))
    spread = (PRIOR_SHARE * np.trace(pooled) / d) ** 2
    share = np.where(alive, noise / (noise + spread), 1.0)[:, None, None]
    return np.asarray((1.0 - share) * covariances + share * pooled)


def _split_largest(
    means: Centers, covariances: FloatArray, weights: FloatArray, counts: Counts, alive: BoolArray, sigma: float
) -> tuple[Centers, FloatArray, FloatArray]:
    """Split the largest component along its longest axis, once per drowned one, while halves exceed the noise."""
    means, covariances, weights = means.copy(), covariances.copy(), weights.copy()
    sizes = np.where(alive, counts, 0.0)
    for helper in np.flatnonzero(~alive):
        large = int(sizes.argmax())
        if sizes[large] < 2 * HELP_SCALES * sigma:
            break
        values, vectors = algebra.eigen(covariances[large])
        axis = vectors[:, -1] * np.sqrt(values[-1]) * HELP_OFFSET
        means[helper] = np.clip(means[large] + axis, -1.0, 1.0)
        means[large] = np.clip(means[large] - axis, -1.0, 1.0)
        thinner = covariances[large] - 0.5 * values[-1] * np.outer(vectors[:, -1], vectors[:, -1])
        covariances[large] = covariances[helper] = repaired_covariances(thinner[None], VARIANCE_FLOOR)[0]
        sizes[large] = sizes[helper] = sizes[large] / 2
        weights[large] = weights[helper] = sizes[large] + LEVELLING * sigma
    return means, covariances, weights
