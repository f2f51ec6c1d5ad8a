"""Counts, sums and raw second moments of clusters: the statistics that define a Gaussian mixture.

Records are in [-1, 1]^D. phi(x) = (1, x_1 .. x_D, x_i x_j for i <= j) has F = 1 + D + D(D+1)/2 entries, all at most 1,
and ln(pi_k N_k(x)) is linear in it: scores of every cluster, in one order for every record (see `argmax_linear`).
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial

import numpy as np

from dpviz.core import Centers, FloatArray, Labels, Points, algebra, frozen, functions, immutable
from dpviz.core.compiled import compiled
from dpviz.solvers.landscapes.mixture import Mixture
from dpviz.solvers.lloyd import argmax_linear, linear_scores

# Records at a time. Our choice.
MOMENT_ROWS = 2048
# phi of all records is stored up to this many numbers (160 MB) and recomputed beyond. Our choice.
CACHED_NUMBERS = 20_000_000


def moment_length(d: int) -> int:
    """Return F = 1 + D + D(D+1)/2."""
    return 1 + d + d * (d + 1) // 2


# Statistics (K, F) of a block's records, and each record's winner.
BlockMoments = tuple[FloatArray, Labels]
# Computes them from phi (rows, F) of a block, MOMENT_ROWS records at a time.
BlockTask = Callable[[Iterable[FloatArray]], BlockMoments]


@immutable
class MomentRecords:
    """Records in [-1, 1]^D, block by block: statistics are added up within each block, then over all blocks."""

    # Yields the results for all blocks, in the records' order.
    each_block: Callable[[BlockTask], Iterable[BlockMoments]]
    # Whether there is room for a label of each record.
    labeled: bool

    def added(self, of_portion: Callable[[FloatArray, FloatArray], BlockMoments], slopes: FloatArray) -> BlockMoments:
        """Return all statistics (K, F), shaped like `slopes`, and winners (n,); (0,) without room."""
        return _added(self.each_block(partial(_of_block, of_portion, slopes, self.labeled)), slopes)


def records(signed: Points, block_rows: int | None = None) -> MomentRecords:
    """Prepare records (n, D) in [-1, 1]^D for many passes, in blocks of `block_rows`, with phi if it fits."""
    rows = block_rows or max(len(signed), 1)
    blocks = [signed[first : first + rows] for first in range(0, len(signed), rows)]
    if len(signed) * moment_length(signed.shape[1]) > CACHED_NUMBERS:
        return MomentRecords(lambda task: (task(portions(block)) for block in blocks), labeled=True)
    cache = [[frozen(portion) for portion in portions(block)] for block in blocks]
    return MomentRecords(lambda task: map(task, cache), labeled=True)


def portions(block: Points) -> Iterator[FloatArray]:
    """Yield phi of MOMENT_ROWS records of (n, D) at a time."""
    for first in range(0, len(block), MOMENT_ROWS):
        yield features(block[first : first + MOMENT_ROWS])


def _of_block(
    of_portion: Callable[[FloatArray, FloatArray], BlockMoments],
    slopes: FloatArray,
    labeled: bool,
    parts: Iterable[FloatArray],
) -> BlockMoments:
    """Add up a block. Without room for labels, another process returns none."""
    sums = (of_portion(slopes, phi) for phi in parts)
    return _added(sums if labeled else ((moments, labels[:0].copy()) for moments, labels in sums), slopes)


def _added(parts: Iterable[BlockMoments], slopes: FloatArray) -> BlockMoments:
    total, labels = np.zeros_like(slopes), [np.empty(0, dtype=np.intp)]
    for moments, winners in parts:
        total += moments
        labels.append(winners)
    return total, np.concatenate(labels)


@lru_cache(maxsize=8)
def upper(d: int) -> tuple[Labels, Labels]:
    """Return rows and columns (F - 1 - D,) of the entries on and above a matrix's diagonal: phi's order."""
    first, second = np.triu_indices(d)
    return frozen(first), frozen(second)


def features(signed: Points) -> FloatArray:
    """Return phi (n, F) of records (n, D)."""
    first, second = upper(signed.shape[1])
    return np.concatenate([np.ones((len(signed), 1)), signed, signed[:, first] * signed[:, second]], axis=1)


def score_slopes(mixture: Mixture) -> FloatArray:
    """Return the slopes (K, F) with ln(pi_k N_k(x)) = slopes . phi(x)."""
    first, second = upper(mixture.d)
    twice = np.where(first == second, 1.0, 2.0)
    slopes = np.einsum("kij,kj->ki", mixture.precisions, mixture.means)
    constant = mixture.log_scales - 0.5 * np.einsum("ki,ki->k", slopes, mixture.means)
    squares = -0.5 * twice * mixture.precisions[:, first, second]
    return np.concatenate([constant[:, None], slopes, squares], axis=1)


def hard_moments(data: MomentRecords, mixture: Mixture) -> BlockMoments:
    """Return the exact statistics (K, F) of the records that each component wins, and the winners (n,)."""
    return data.added(_hard, score_slopes(mixture))


def _hard(slopes: FloatArray, phi: FloatArray) -> BlockMoments:
    labels = argmax_linear(phi, slopes, np.zeros(len(slopes)))
    return label_moments(phi, labels, len(slopes)), labels


@compiled
def label_moments(portion: FloatArray, labels: Labels, n_clusters: int) -> FloatArray:
    """Return the exact statistics (k, F) of the clusters with these `labels` (n,) from phi (n, F)."""
    total = np.zeros((n_clusters, portion.shape[1]))
    for i in range(len(portion)):
        sums, phi = total[labels[i]], portion[i]
        for f in range(len(phi)):
            sums[f] += phi[f]
    return total


def soft_moments(data: MomentRecords, mixture: Mixture) -> BlockMoments:
    """Return the exact statistics (K, F) weighted by responsibilities, and the likeliest components (n,)."""
    return data.added(_soft, score_slopes(mixture))


def _soft(slopes: FloatArray, phi: FloatArray) -> BlockMoments:
    logs = linear_scores(phi, slopes, np.zeros(len(slopes)))
    # Rows of K are quicker to add to, because they are longer than rows of F if there are few features.
    return np.ascontiguousarray(algebra.product(phi.T, responsibilities(logs)).T), logs.argmax(axis=1)


def responsibilities(logs: FloatArray) -> FloatArray:
    """Return exp(logs) (n, K) over its sum in each row, added up component by component: by each record alone."""
    shares: FloatArray = logs - logs.max(axis=1, keepdims=True)
    functions.exp(shares, out=shares)
    sums = shares[:, 0].copy()
    for column in shares.T[1:]:
        sums += column
    shares /= sums[:, None]
    return shares


def unpacked(moments: FloatArray, d: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return counts (K,), sums (K, D) and symmetric second moments (K, D, D) of statistics (K, F)."""
    first, second = upper(d)
    squares = np.empty((len(moments), d, d))
    squares[:, first, second] = moments[:, 1 + d :]
    squares[:, second, first] = moments[:, 1 + d :]
    return moments[:, 0], moments[:, 1 : 1 + d], squares


def repaired_covariances(covariances: FloatArray, floor: float) -> FloatArray:
    """Return symmetric covariances (K, D, D) whose eigenvalues are at least `floor` > 0: post-processing."""
    values, vectors = algebra.eigen((covariances + covariances.transpose(0, 2, 1)) / 2)
    repaired = algebra.product(vectors * np.maximum(values, floor)[:, None, :], vectors.transpose(0, 2, 1))
    return (repaired + repaired.transpose(0, 2, 1)) / 2


def round_mixture(means: Centers, least_variance: float) -> Mixture:
    """Return a mixture in [-1, 1]^D around `means` (K, D): equal weights, and one round covariance for all.

    Cells of K balls fill the box: (2 / K^(1/D))^2 / 12 is the variance of a cube of one K-th of its volume.
    """
    n_components, d = means.shape
    variance = max((2.0 / n_components ** (1.0 / d)) ** 2 / 12.0, least_variance)
    return Mixture(np.full(n_components, 1 / n_components), means, np.tile(variance * np.eye(d), (n_components, 1, 1)))
