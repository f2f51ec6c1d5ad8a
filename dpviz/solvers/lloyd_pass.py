"""One pass of a Lloyd-type method over the records, block by block: from memory or from chunks, the same sums."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpviz.core import (
    BLOCK_ROWS,
    ArrayChunks,
    Box,
    Centers,
    Chunks,
    FloatArray,
    Labels,
    Points,
    as_chunks,
    squared_norms,
    unit_records,
)
from dpviz.solvers.lloyd import ClusterSums, assign, cluster_sums, cluster_totals
from dpviz.solvers.nearest import Partition, nearest_among, squared_lengths

T = TypeVar("T")
UnitTask = Callable[[Points, FloatArray], T]  # of (records in box units, their |x|^2)
LabelTask = Callable[[Points, FloatArray, Labels], T]  # and of each one's nearest center
BlockSums = tuple[ClusterSums, FloatArray]  # the clusters of one block, and their sums of |x|^2


@dataclass(frozen=True, slots=True, eq=False)
class LloydProblem:
    """What stays the same over the iterations."""

    records: Chunks  # data units
    box: Box
    unit: Points | None  # (n, d) clipped and scaled to [0, 1]^d; None where the records come in chunks
    squares: FloatArray | None  # (n,) |x|^2; the same

    @property
    def n(self) -> int:
        """Number of records."""
        return self.records.n

    def each_block(self, task: UnitTask[T]) -> Iterator[T]:
        """Yield what `task` makes of each BLOCK_ROWS records, in their order; see `Chunks.each_block`."""
        if self.unit is None or self.squares is None:
            yield from self.records.each_block(partial(_in_units, self.box, task))
            return
        for first in range(0, self.n, BLOCK_ROWS):
            rows = slice(first, first + BLOCK_ROWS)
            yield task(self.unit[rows], self.squares[rows])


def posed(points: Points | Chunks, box: Box) -> LloydProblem:
    """Check the records and, where they are in memory, scale them once. Raises ValueError for bad points."""
    if isinstance(points, Chunks):
        return LloydProblem(as_chunks(points, n_features=box.d), box, None, None)
    records = ArrayChunks(points, n_features=box.d)
    unit = unit_records(records.points, box)
    return LloydProblem(records, box, unit, squared_lengths(unit))


def one_pass(problem: LloydProblem, centers: Centers) -> Partition:
    """Assign every record to its nearest of `centers` (k, d), box units, and add up each cluster, block by block.

    Where the records come in chunks, nobody's label is held: (0,).
    """
    held, parts = _each_labelled(problem, centers, partial(_sums, len(centers)))
    return _partition(held, parts, centers)


def bounded_pass(problem: LloydProblem, centers: Centers, radius: float) -> tuple[Partition, ClusterSums]:
    """Return what `one_pass` does, and what of each cluster lies within `radius` of its center, x - c added up."""
    held, parts = _each_labelled(problem, centers, partial(_bounded_sums, centers, radius))
    blocks = list(parts)
    near = _partition(held, ((within, np.zeros(len(centers))) for _, within in blocks), centers)
    return _partition(held, (whole for whole, _ in blocks), centers), near.sums


def near_moves(unit: Points, labels: Labels, centers: Centers, radius: float) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return x - c (n, d) of each record and its center, and whether it is no longer than `radius` (n,).

    It follows from the record and its center alone, axis by axis, to the bit.
    """
    moves = unit - centers[labels]
    return moves, squared_norms(moves) <= radius * radius


def _each_labelled(problem: LloydProblem, centers: Centers, task: LabelTask[T]) -> tuple[Labels, Iterator[T]]:
    """Return everybody's nearest center, if the records are held, and what `task` makes of each block, in order."""
    if problem.unit is None:
        return np.empty(0, dtype=np.intp), problem.each_block(partial(_nearest, task, centers))
    held = nearest_among(problem.unit)(centers)
    labels = (held[first : first + BLOCK_ROWS] for first in range(0, problem.n, BLOCK_ROWS))
    return held, problem.each_block(lambda unit, norms: task(unit, norms, next(labels)))


def _partition(held: Labels, parts: Iterable[BlockSums], centers: Centers) -> Partition:
    """Add up blocks in their order."""
    counts, sums, squares = np.zeros(len(centers)), np.zeros(centers.shape), np.zeros(len(centers))
    for exact, norms in parts:
        counts += exact.nonprivate_counts
        sums += exact.nonprivate_sums
        squares += norms
    return Partition(held, ClusterSums(counts, sums), squares)


def _in_units(box: Box, task: UnitTask[T], block: Points) -> T:
    unit = box.to_unit(box.clip(block))
    return task(unit, squared_norms(unit))


def _nearest(task: LabelTask[T], centers: Centers, unit: Points, norms: FloatArray) -> T:
    return task(unit, norms, assign(unit, centers))


def _sums(k: int, unit: Points, norms: FloatArray, labels: Labels) -> BlockSums:
    return cluster_sums(unit, labels, k), cluster_totals(norms, labels, k)


def _bounded_sums(
    centers: Centers, radius: float, unit: Points, norms: FloatArray, labels: Labels
) -> tuple[BlockSums, ClusterSums]:
    moves, near = near_moves(unit, labels, centers, radius)
    k = len(centers)
    return _sums(k, unit, norms, labels), cluster_sums(moves[near], labels[near], k)
