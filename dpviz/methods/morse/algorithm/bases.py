"""The private mixtures under the Morse step: EM with hard or soft responsibilities, and Lloyd with second moments.

Every pass is: clusters that earlier releases fix, their exact statistics, noise, post-processing.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpviz.accounting import GaussianEvent, PureEvent, Purpose
from dpviz.core import Centers, Counts, Event, FloatArray, Labels, Points, Step, frozen
from dpviz.mechanisms import gaussian, laplace
from dpviz.methods.morse.algorithm.budget import (
    MorseScheme,
    lloyd_sensitivity,
    moment_sensitivity,
    noise_scale,
    second_sensitivity,
)
from dpviz.methods.morse.algorithm.estimate import MixtureEstimate, estimate, start_mixture
from dpviz.solvers import Mixture, MomentRecords, assign, features, hard_moments, label_moments, soft_moments


@dataclass(frozen=True, slots=True, eq=False)
class MorseStep(Step):
    """One pass over the records, curator only whatever a field's name; everything in [-1, 1]^D."""

    stage: str  # "em", "lloyd", "partition", "swap" or "moments"
    iteration: int  # from 1 within the stage
    sigma: float  # noise scale of this pass, in units of the statistics
    nonprivate_labels: Labels  # (n,) the winning component, or the cube; (0,) where the records come in chunks
    nonprivate_moments: FloatArray  # (K, F) counts, sums and raw second moments; partition: (cubes, 1) counts
    noisy_moments: FloatArray  # the same with noise; NaN where nothing was released
    centers: Centers  # (K, D) after this pass
    mixture: Mixture | None  # after this pass; None where the base has no densities yet
    counts: Counts  # (K,) noisy
    alive: np.ndarray[tuple[int], np.dtype[np.bool_]]  # (K,) which components stand out from the noise
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """A public start, and where the loop's noise comes from."""

    mixture: Mixture  # [-1, 1]^D
    rng: np.random.Generator


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
        found = estimate(noisy, mixture, sigma, steady=steady, last=last)
        yield made_step("em", iteration, sigma, labels, exact, noisy, found, (event,))
        mixture = found.mixture


def lloyd_steps(signed: Points, scheme: MorseScheme, start: Start, *, steady: bool) -> Iterator[MorseStep]:
    """Yield the passes of DPLloyd-MoG (algorithm 4): Laplace on counts and sums, second moments in the last one."""
    sigma, d, adjacency = noise_scale(scheme), scheme.d, scheme.adjacency
    mixture, phi = start.mixture, features(signed)
    centers = mixture.means
    l1 = lloyd_sensitivity(d, adjacency)
    pure = l1 / sigma if sigma > 0 else np.inf
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
            second = second_sensitivity(d, adjacency)
            events += (
                GaussianEvent(
                    "second moments",
                    second,
                    sigma,
                    calibrated_for=adjacency,
                    purpose=Purpose.SECOND_MOMENTS,
                    step=iteration,
                ),
            )
        found = estimate(_with_round(noisy, mixture, d), mixture, sigma, steady=steady, last=last)
        # Until the last pass only the means are real: the covariances stand in for what is not released yet.
        yield made_step("lloyd", iteration, sigma, labels, exact, noisy, found, events, has_density=last)
        mixture, centers = found.mixture, found.mixture.means


def made_step(
    stage: str,
    iteration: int,
    sigma: float,
    labels: Labels,
    exact: FloatArray,
    noisy: FloatArray,
    found: MixtureEstimate,
    events: tuple[Event, ...],
    *,
    has_density: bool = True,
) -> MorseStep:
    """Collect one pass, read-only."""
    return MorseStep(
        stage=stage,
        iteration=iteration,
        sigma=sigma,
        nonprivate_labels=frozen(labels),
        nonprivate_moments=frozen(exact),
        noisy_moments=frozen(noisy),
        centers=found.mixture.means,
        mixture=found.mixture if has_density else None,
        counts=frozen(found.counts.copy()),
        alive=frozen(found.alive),
        events=events,
    )


def _with_round(noisy: FloatArray, mixture: Mixture, d: int) -> FloatArray:
    """Fill second moments that were not released with those of the mixture's covariances round the noisy means."""
    missing = np.isnan(noisy[:, 1 + d :])
    if not missing.any():
        return noisy
    first, second = np.triu_indices(d)
    counts = np.maximum(noisy[:, 0], 1.0)
    means = np.clip(noisy[:, 1 : 1 + d] / counts[:, None], -1.0, 1.0)
    filled = noisy.copy()
    filled[:, 1 + d :] = counts[:, None] * (mixture.covariances[:, first, second] + means[:, first] * means[:, second])
    return filled


def public_start(n_components: int, d: int, *, rng: np.random.Generator) -> Start:
    """Return a start that looks at no record, and a generator for the loop."""
    start_rng, loop_rng = rng.spawn(2)
    return Start(start_mixture(n_components, d, rng=start_rng), loop_rng)
