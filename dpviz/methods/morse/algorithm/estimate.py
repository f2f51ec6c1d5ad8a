"""From noisy moments to a mixture: post-processing, so every choice here is free.

"plain" is the paper's (algorithm 1): mu = sum / count clipped into the box, Sigma = M2 / count - mu mu', eigenvalues
floored, pi = count / sum of counts. "steady" is ours: each covariance is drawn towards the one pooled over components
by its own noise, the weights that decide who wins a record are levelled by the noise, and components that drown in
noise help out the largest ones. Without noise both are the same.
"""

from dataclasses import dataclass

import numpy as np

from dpviz.core import Centers, Counts, FloatArray, algebra
from dpviz.solvers import Mixture, repaired_covariances, sphere_packing, unpacked

VARIANCE_FLOOR = 0.01  # eigenvalues of covariances in [-1, 1]^D, the authors' code
LEAST_COUNT = 1.0  # records a count is raised to before dividing, the authors' code
DROP_SCALES = (
    4.0  # a component whose noisy count is below this many sigma is dropped: one of 30,000 empty ones stays; ours
)
LEVELLING = 100.0  # records per sigma added to every count before it weighs in the next assignment; ours
PRIOR_SHARE = 0.02  # of the pooled variance: how far true covariances are taken to lie from the pooled one; ours
BLUR = 4.0  # times the noise variance of a mean that is added to its covariance; ours
HELP_SCALES = 8.0  # sigma that either half of a component must keep when a drowned one helps it out; ours
HELP_OFFSET = 0.8  # standard deviations from the old mean to each half; ours


@dataclass(frozen=True, slots=True, eq=False)
class MixtureEstimate:
    """A mixture that noisy moments speak for."""

    mixture: Mixture  # [-1, 1]^D, for the next assignment
    counts: Counts  # (K,) noisy
    alive: np.ndarray[tuple[int], np.dtype[np.bool_]]  # (K,) the count stands out from the noise


def start_mixture(n_components: int, d: int, *, rng: np.random.Generator) -> Mixture:
    """Return a public start in [-1, 1]^D: packed means, equal weights, one round covariance."""
    means = 2.0 * sphere_packing(n_components, d, rng=rng) - 1.0
    # Cells of K balls fill the box: (2 / K^(1/D))^2 / 12 is the variance of a cube of one K-th of its volume.
    variance = max((2.0 / n_components ** (1.0 / d)) ** 2 / 12.0, VARIANCE_FLOOR)
    return Mixture(np.full(n_components, 1 / n_components), means, np.tile(variance * np.eye(d), (n_components, 1, 1)))


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
        covariances = _drawn_together(covariances, means, safe, alive, sigma)
    else:
        # A count of nothing says nothing of the mean: the authors' code divides by 1, and so do we under noise.
        means = np.where((counts > 0)[:, None] | (sigma > 0), means, previous.means)
    covariances = repaired_covariances(covariances, VARIANCE_FLOOR)
    if steady:
        # A mean is known up to about sigma / count on each axis: the density is as blurred as that.
        blur = np.where(alive, (sigma / safe) ** 2 * (1.0 + np.einsum("kd,kd->k", means, means)), 0.0)
        covariances = covariances + BLUR * blur[:, None, None] * np.eye(d)
    if not steady:
        return MixtureEstimate(Mixture(safe / safe.sum(), means, covariances), counts, alive)
    weights = safe + LEVELLING * sigma
    if sigma > 0 and not last:
        means, covariances, weights = _helped_out(means, covariances, weights, counts, alive, sigma)
    return MixtureEstimate(Mixture(weights / weights.sum(), means, covariances), counts, alive)


def final_mixture(found: MixtureEstimate) -> tuple[Mixture, np.ndarray[tuple[int], np.dtype[np.intp]]]:
    """Return the mixture of the components that stand out, weighted by their noisy counts, and which ones they are."""
    kept = np.flatnonzero(found.alive)
    if not len(kept):
        kept = np.array([int(np.argmax(found.counts))])
    weights = np.maximum(found.counts[kept], LEAST_COUNT)
    mixture = found.mixture
    return Mixture(weights / weights.sum(), mixture.means[kept], mixture.covariances[kept]), kept


def _drawn_together(
    covariances: FloatArray,
    means: Centers,
    counts: Counts,
    alive: np.ndarray[tuple[int], np.dtype[np.bool_]],
    sigma: float,
) -> FloatArray:
    """Draw each covariance to the pooled one by the share v / (v + t^2) that noise has in its variance.

    An entry of M2 / count - mu mu' has noise variance v of about (sigma / count)^2 (1 + |mu|^2); t is PRIOR_SHARE of
    the pooled variance. A drowned component is given the pooled one.
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


def _helped_out(
    means: Centers,
    covariances: FloatArray,
    weights: FloatArray,
    counts: Counts,
    alive: np.ndarray[tuple[int], np.dtype[np.bool_]],
    sigma: float,
) -> tuple[Centers, FloatArray, FloatArray]:
    """Let each drowned component take half of the largest one, along its longest axis, while halves stand out."""
    means, covariances, weights = means.copy(), covariances.copy(), weights.copy()
    left = np.where(alive, counts, 0.0)
    for helper in np.flatnonzero(~alive):
        large = int(left.argmax())
        if left[large] < 2 * HELP_SCALES * sigma:
            break
        values, vectors = algebra.eigen(covariances[large])
        axis = vectors[:, -1] * np.sqrt(values[-1]) * HELP_OFFSET
        means[helper] = np.clip(means[large] + axis, -1.0, 1.0)
        means[large] = np.clip(means[large] - axis, -1.0, 1.0)
        thinner = covariances[large] - 0.5 * values[-1] * np.outer(vectors[:, -1], vectors[:, -1])
        covariances[large] = covariances[helper] = repaired_covariances(thinner[None], VARIANCE_FLOOR)[0]
        left[large] = left[helper] = left[large] / 2
        weights[large] = weights[helper] = left[large] + LEVELLING * sigma
    return means, covariances, weights
