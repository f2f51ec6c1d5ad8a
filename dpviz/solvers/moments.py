"""Counts, sums and raw second moments of clusters: the statistics that a Gaussian mixture is made of.

Records are in [-1, 1]^D. phi(x) = (1, x_1 .. x_D, x_i x_j for i <= j) has F = 1 + D + D(D+1)/2 entries, all at most 1,
and ln(pi_k N_k(x)) is linear in it: scores of every cluster, added up in one order for every record (see `winners`).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpviz.core import FloatArray, Labels, Points, compiled, frozen
from dpviz.solvers.landscapes.mixture import Mixture
from dpviz.solvers.winners import scores, winners

MOMENT_ROWS = 2048  # records at a time; ours
KEPT_CELLS = 20_000_000  # phi of all records is kept up to this many numbers (160 MB), else made anew each time; ours
KEPT = 8  # dimensions whose indices of a matrix's upper half are remembered: every pass of a run wants them; ours


def moment_length(d: int) -> int:
    """Return F = 1 + D + D(D+1)/2."""
    return 1 + d + d * (d + 1) // 2


@dataclass(frozen=True, slots=True, eq=False)
class MomentRecords:
    """Records in [-1, 1]^D, in portions, with phi where it fits."""

    blocks: Callable[[], Iterable[Points]]  # of (rows, D); all but the last have a multiple of MOMENT_ROWS rows
    labelled: bool  # whether there is room for a label of each
    kept: tuple[FloatArray, ...] | None  # portions of phi (rows, F)

    def portions(self) -> Iterator[FloatArray]:
        """Yield phi of MOMENT_ROWS records at a time."""
        if self.kept is not None:
            yield from self.kept
            return
        for block in self.blocks():
            for i in range(0, len(block), MOMENT_ROWS):
                yield features(block[i : i + MOMENT_ROWS])

    def held(self, labels: list[Labels]) -> Labels:
        """Return the labels (n,) of all portions; (0,) where there is no room for them."""
        return np.concatenate(labels) if self.labelled and labels else np.empty(0, dtype=np.intp)


def records(signed: Points) -> MomentRecords:
    """Prepare records (n, D) in [-1, 1]^D for many passes."""
    bare = MomentRecords(lambda: (signed,), labelled=True, kept=None)
    if len(signed) * moment_length(signed.shape[1]) > KEPT_CELLS:
        return bare
    return MomentRecords(bare.blocks, labelled=True, kept=tuple(frozen(portion) for portion in bare.portions()))


def streamed(blocks: Callable[[], Iterable[Points]]) -> MomentRecords:
    """Take records in [-1, 1]^D that are read anew for each pass; the same statistics, to the bit, and no labels.

    All but the last block must have a multiple of MOMENT_ROWS rows.
    """
    return MomentRecords(blocks, labelled=False, kept=None)


@lru_cache(maxsize=KEPT)
def upper(d: int) -> tuple[Labels, Labels]:
    """Return rows and columns (F - 1 - D,) of the entries on and above a matrix's diagonal: phi's order."""
    first, second = np.triu_indices(d)
    return frozen(first), frozen(second)


def features(signed: Points) -> FloatArray:
    """Return phi (n, F) of records (n, D)."""
    first, second = upper(signed.shape[1])
    ones = np.ones((len(signed), 1))
    return np.concatenate([ones, signed, signed[:, first] * signed[:, second]], axis=1)


def score_slopes(mixture: Mixture) -> FloatArray:
    """Return the slopes (K, F) with ln(pi_k N_k(x)) = slopes . phi(x)."""
    first, second = upper(mixture.d)
    twice = np.where(first == second, 1.0, 2.0)
    slopes = np.einsum("kij,kj->ki", mixture.precisions, mixture.means)
    constant = mixture.log_scales - 0.5 * np.einsum("ki,ki->k", slopes, mixture.means)
    squares = -0.5 * twice * mixture.precisions[:, first, second]
    return np.concatenate([constant[:, None], slopes, squares], axis=1)


def hard_moments(data: MomentRecords, mixture: Mixture) -> tuple[FloatArray, Labels]:
    """Return the exact statistics (K, F) of the records that each component wins, and the winners (n,)."""
    slopes = score_slopes(mixture)
    total = np.zeros_like(slopes)
    labels: list[Labels] = []
    for portion in data.portions():
        won = winners(portion, slopes, np.zeros(len(slopes)))
        total += label_moments(portion, won, mixture.n_components)
        if data.labelled:
            labels.append(won)
    return total, data.held(labels)


@compiled
def label_moments(portion: FloatArray, labels: Labels, n_clusters: int) -> FloatArray:
    """Return the exact statistics (k, F) of given clusters from phi (n, F)."""
    total = np.zeros((n_clusters, portion.shape[1]))
    for i in range(len(portion)):
        sums, phi = total[labels[i]], portion[i]
        for f in range(len(phi)):
            sums[f] += phi[f]
    return total


def soft_moments(data: MomentRecords, mixture: Mixture) -> tuple[FloatArray, Labels]:
    """Return the exact statistics (K, F) weighted by responsibilities, and the likeliest components (n,)."""
    slopes = score_slopes(mixture)
    total = np.zeros_like(slopes)
    labels: list[Labels] = []
    for portion in data.portions():
        logs = scores(portion, slopes, np.zeros(len(slopes)))
        if data.labelled:
            labels.append(logs.argmax(axis=1))
        total += responsibilities(logs).T @ portion
    return total, data.held(labels)


def responsibilities(logs: FloatArray) -> FloatArray:
    """Return exp(logs) (n, K) over its sum in each row, added up component by component: by each record alone."""
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    sums = shares[:, 0].copy()
    for column in shares.T[1:]:
        sums += column
    return np.asarray(shares / sums[:, None])


def unpacked(moments: FloatArray, d: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return counts (K,), sums (K, D) and symmetric second moments (K, D, D) of statistics (K, F)."""
    first, second = upper(d)
    squares = np.empty((len(moments), d, d))
    squares[:, first, second] = moments[:, 1 + d :]
    squares[:, second, first] = moments[:, 1 + d :]
    return moments[:, 0], moments[:, 1 : 1 + d], squares


def repaired_covariances(covariances: FloatArray, floor: float) -> FloatArray:
    """Return symmetric covariances (K, D, D) whose eigenvalues are at least `floor` > 0: post-processing."""
    values, vectors = np.linalg.eigh((covariances + covariances.transpose(0, 2, 1)) / 2)
    made = (vectors * np.maximum(values, floor)[:, None, :]) @ vectors.transpose(0, 2, 1)
    return np.asarray((made + made.transpose(0, 2, 1)) / 2)
