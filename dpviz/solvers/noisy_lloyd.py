"""Noisy Lloyd steps: passes over the records, the budget of an iteration and its noisy means.

A pass adds up the clusters block by block, so that records in memory and records in chunks have the same sums.

Budget and step are those of DPLloyd (Su, Cao, Li, Bertino & Jin, CODASPY 2016; extended in TOPS 2017), section 3. The
rules are stated for a box scaled to [-1, 1]^d, where one record moves a coordinate's sum by at most 1. The step is
written for [0, 1]^d and sums of x - 1/2, where it is at most 1/2: the same means.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpviz.core import (
    ArrayChunks,
    Box,
    Centers,
    Chunks,
    Counts,
    FloatArray,
    Labels,
    Points,
    as_chunks,
    as_points,
    frozen,
    immutable,
    immutable_value,
    squared_norms,
    unit_records,
)
from dpviz.solvers.lloyd import ClusterSums, assign, cluster_sums
from dpviz.solvers.nearest import (
    BlockSums,
    Nearest,
    Partition,
    added_blocks,
    block_sums,
    nearest_among,
    row_blocks,
    squared_lengths,
)
from dpviz.solvers.packing import public_start

# A noisy count below this many noise scales cannot be distinguished from an empty cluster. Our choice.
EMPTY_SCALES = 2.0
# Sums are centered here, so that one record moves a coordinate's sum by 1/2 instead of 1.
BOX_MIDDLE = 0.5
# Mean absolute coordinate / 2 that the paper assumes for its error formula.
RHO = 0.225
MIN_ITERATIONS = 2
MAX_ITERATIONS = 7
# Iterations after a private start. More iterations would drown the start in noise. Our choice, by measurement.
SEEDED_ITERATIONS = 1

T = TypeVar("T")
# Takes records in box units and their |x|^2.
UnitTask = Callable[[Points, FloatArray], T]
# Also takes the nearest center of each record.
LabelTask = Callable[[Points, FloatArray, Labels], T]

# Labels of records that come in chunks.
_NO_LABELS = frozen(np.empty(0, dtype=np.intp))


@immutable
class LloydProblem:
    """Records, their box and their nearest-center index: the data that stay the same in all iterations."""

    records: Chunks  # data units
    box: Box
    # Index of the records (n, d), clipped and scaled to [0, 1]^d. None if they come in chunks.
    nearest: Nearest | None

    @property
    def n(self) -> int:
        """Number of records."""
        return self.records.n

    def each_block(self, task: UnitTask[T]) -> Iterator[T]:
        """Yield the result of `task` for each BLOCK_ROWS records, in their order; see `Chunks.each_block`."""
        if self.nearest is None:
            yield from self.records.each_block(partial(_in_units, self.box, task))
            return
        unit, squares = self.nearest.points, squared_lengths(self.nearest.points)
        for rows in row_blocks(self.n):
            yield task(unit[rows], squares[rows])

    def counted(self, counts: Callable[[Points], Counts]) -> Counts:
        """Return the sum of `counts` over the blocks of the records, box units."""
        return sum(self.each_block(partial(_counted, counts)), start=counts(np.empty((0, self.box.d))))

    def start(
        self, n_clusters: int, *, start: str, initial: Centers | None, seed: int | None, rng: np.random.Generator
    ) -> Centers:
        """Return k centers (k, d) in box units: `initial` (data units) if any, else by `start`.

        start="packing" is public, and "private" begins at it; "records" returns k distinct records: curator only. A
        `seed` is used instead of `rng`. Raises ValueError for `initial` of a different shape, and with start="records"
        for more clusters than records and for records that come in chunks.
        """
        if initial is not None:
            centers = as_points(initial, n_features=self.box.d, name="initial_centers")
            if len(centers) != n_clusters:
                raise ValueError(f"initial_centers must have {n_clusters} rows like n_clusters, got {len(centers)}.")
            return self.box.to_unit(self.box.clip(centers))
        if start != "records":
            return public_start(n_clusters, self.box.d, seed=seed, rng=rng)
        if self.nearest is None:
            raise ValueError(
                "start must not be 'records' for records in chunks, because chunks are not kept. Start from "
                "'packing', or give initial_centers."
            )
        if self.n < n_clusters:
            raise ValueError(
                f"n_clusters must be at most n_records={self.n} to start from records, got {n_clusters}. "
                "Lower k, load more data, or start from sphere packing."
            )
        chosen = rng if seed is None else np.random.default_rng(seed)
        return self.nearest.points[chosen.choice(self.n, n_clusters, replace=False)]


def lloyd_problem(points: Points | Chunks, box: Box) -> LloydProblem:
    """Validate the records and, if they are in memory, scale them once. Raises ValueError for bad points."""
    if isinstance(points, Chunks):
        return LloydProblem(as_chunks(points, n_features=box.d), box, None)
    records = ArrayChunks(points, n_features=box.d)
    return LloydProblem(records, box, nearest_among(unit_records(records.points, box)))


def one_pass(problem: LloydProblem, centers: Centers) -> Partition:
    """Assign every record to its nearest of `centers` (k, d), box units, and add up each cluster, block by block.

    If the records come in chunks, the labels are (0,).
    """
    labels, parts = _each_labeled(problem, centers, partial(block_sums, len(centers)))
    return added_blocks(labels, parts, centers)


def bounded_pass(problem: LloydProblem, centers: Centers, radius: float) -> tuple[Partition, ClusterSums]:
    """Return the partition of `one_pass`, and for each cluster the sums of x - c within `radius` of its center."""
    labels, parts = _each_labeled(problem, centers, partial(_bounded_sums, centers, radius))
    blocks = list(parts)
    near = added_blocks(labels, ((within, np.zeros(len(centers))) for _, within in blocks), centers)
    return added_blocks(labels, (whole for whole, _ in blocks), centers), near.sums


def near_moves(unit: Points, labels: Labels, centers: Centers, radius: float) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return x - c (n, d) of each record and its center, and which of them are within `radius` (n,).

    The results follow from the record and its center alone, axis by axis, to the bit.
    """
    moves = unit - centers[labels]
    return moves, squared_norms(moves) <= radius * radius


def cell_pass(problem: LloydProblem, centers: Centers, *, opening: bool = False) -> Partition:
    """Return the clusters of `one_pass` with the sums of `Nearest.partition`: quicker on records in memory.

    `opening` caches the partition: many runs start from the same centers.
    """
    if problem.nearest is None:
        return added_blocks(_NO_LABELS, problem.each_block(partial(_cell_sums, centers)), centers)
    return problem.nearest.opening(centers) if opening else problem.nearest.partition(centers)


def _each_labeled(problem: LloydProblem, centers: Centers, task: LabelTask[T]) -> tuple[Labels, Iterator[T]]:
    """Return the nearest centers of records in memory, and the result of `task` for each block, in order."""
    if problem.nearest is None:
        return _NO_LABELS, problem.each_block(partial(_assigned, task, centers))
    labels = problem.nearest(centers)
    blocks = (labels[rows] for rows in row_blocks(problem.n))
    return labels, problem.each_block(lambda unit, norms: task(unit, norms, next(blocks)))


# Tasks of a block are at the top level, so that other processes can load them.


def _in_units(box: Box, task: UnitTask[T], block: Points) -> T:
    unit = box.to_unit(box.clip(block))
    return task(unit, squared_norms(unit))


def _counted(counts: Callable[[Points], Counts], unit: Points, _norms: FloatArray) -> Counts:
    return counts(unit)


def _cell_sums(centers: Centers, unit: Points, _norms: FloatArray) -> BlockSums:
    partition = nearest_among(unit).partition(centers)
    return partition.sums, partition.nonprivate_squares


def _assigned(task: LabelTask[T], centers: Centers, unit: Points, norms: FloatArray) -> T:
    return task(unit, norms, assign(unit, centers))


def _bounded_sums(
    centers: Centers, radius: float, unit: Points, norms: FloatArray, labels: Labels
) -> tuple[BlockSums, ClusterSums]:
    moves, near = near_moves(unit, labels, centers, radius)
    k = len(centers)
    return block_sums(k, unit, norms, labels), cluster_sums(moves[near], labels[near], k)


@immutable_value
class LloydBudget:
    """Split of one iteration's epsilon, which is `count + d * sum_per_axis` in total."""

    # Epsilon of the k counts together, because clusters are disjoint.
    count: float
    # Epsilon of the k sums along one axis.
    sum_per_axis: float


def _count_weight(d: int) -> float:
    """C = (4 d rho^2)^(1/3), the weight of the count against 1 for each axis."""
    return math.cbrt(4.0 * d * RHO**2)


def su_split(epsilon: float, d: int) -> LloydBudget:
    """Split one iteration's `epsilon`: eps_sum = eps / (d + c) on each axis, eps_count = c eps / (d + c)."""
    weight = _count_weight(d)
    return LloydBudget(count=weight * epsilon / (d + weight), sum_per_axis=epsilon / (d + weight))


def su_iterations(epsilon: float, n_records: float, n_clusters: int, d: int) -> int:
    """Return T = clip(floor(eps / eps_m), 2, 7), eps_m = sqrt(500 k^3 / N^2 (d + (4 d rho^2)^(1/3))^3).

    Parameters
    ----------
    epsilon
        Budget of all iterations.
    n_records
        Number of records N, public or noisy; below 1 it counts as 1.
    n_clusters
        Number of clusters k.
    d
        Number of features.

    Returns
    -------
    int
        Number of iterations.
    """
    if math.isinf(epsilon):
        return MAX_ITERATIONS
    records = max(n_records, 1.0)
    epsilon_m = math.sqrt(500.0 * n_clusters**3 / records**2 * (d + _count_weight(d)) ** 3)
    return int(min(max(math.floor(epsilon / epsilon_m), MIN_ITERATIONS), MAX_ITERATIONS))


def centered_sums(sums: ClusterSums) -> FloatArray:
    """Return the exact sum (k, d) of x - 1/2 over each cluster, x in [0, 1]^d."""
    return sums.nonprivate_sums - BOX_MIDDLE * sums.nonprivate_counts[:, None]


def noisy_means(noisy_counts: Counts, noisy_sums: FloatArray, fallback: Centers, *, count_scale: float) -> Centers:
    """Return 1/2 + sum~ / max(count~, 1), clipped into the unit box. Post-processing.

    Parameters
    ----------
    noisy_counts
        Noisy counts (k,).
    noisy_sums
        Noisy sums (k, d) of x - 1/2.
    fallback
        Centers (k, d) of clusters that look empty.
    count_scale
        Noise scale of the counts.

    Returns
    -------
    Centers
        Means (k, d), box units.
    """
    mean = np.clip(BOX_MIDDLE + noisy_sums / np.maximum(noisy_counts, 1.0)[:, None], 0.0, 1.0)
    # The threshold is public: it follows from the noise scale alone.
    filled = noisy_counts >= max(1.0, EMPTY_SCALES * count_scale)
    return np.where(filled[:, None], mean, fallback)


def steadied(noisy: Centers, before: Centers, noisy_counts: Counts, *, count_scale: float, sum_scale: float) -> Centers:
    """Return centers that move toward noisy means only as far as noise does not explain the move. Post-processing.

    Our choice.

    Parameters
    ----------
    noisy
        Noisy means (k, d), box units.
    before
        Centers (k, d) that they move from.
    noisy_counts
        Noisy counts (k,).
    count_scale
        Noise scale b_c of the counts.
    sum_scale
        Noise scale b_s of the centered sums.

    Returns
    -------
    Centers
        Centers (k, d), box units.

    Notes
    -----
    With noise of scale b_s on each of d centered sums and b_c on the count n~, the squared error of a mean m is about v
    = (2 d b_s^2 + 2 b_c^2 |m - 1/2|^2) / n~^2. A move of squared length l^2 exceeds the true one by v on average, so
    the center makes (l^2 - v) / l^2 of it, or stays.
    """
    moves = noisy - before
    squares = (moves**2).sum(axis=1)
    off = 2.0 * noisy.shape[1] * sum_scale**2 + 2.0 * count_scale**2 * ((noisy - BOX_MIDDLE) ** 2).sum(axis=1)
    off /= np.maximum(noisy_counts, 1.0) ** 2
    shares = np.where(squares > off, 1.0 - off / np.where(squares > off, squares, 1.0), 0.0)
    return before + shares[:, None] * moves
