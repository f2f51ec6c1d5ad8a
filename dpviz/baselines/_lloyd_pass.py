"""One pass of a Lloyd-type method over the records, block by block: from memory or from chunks, the same sums."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from dpviz.core import Box, Centers, FloatArray, Labels, Points, squared_norms, unit_records
from dpviz.data import BLOCK_ROWS, ArrayChunks, Chunks, as_chunks
from dpviz.solvers import ClusterSums, Partition, assign, cluster_sums, cluster_totals, nearest_among, squared_lengths

T = TypeVar("T")
UnitTask = Callable[[Points, FloatArray], T]  # of (records in box units, their |x|^2)
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
    k, d = centers.shape
    held = np.empty(0, dtype=np.intp)
    if problem.unit is None:
        parts = problem.each_block(partial(_nearest_sums, centers))
    else:
        held = nearest_among(problem.unit)(centers)
        labels = (held[first : first + BLOCK_ROWS] for first in range(0, problem.n, BLOCK_ROWS))
        parts = problem.each_block(lambda unit, norms: _sums(unit, norms, next(labels), k))
    counts, sums, squares = np.zeros(k), np.zeros((k, d)), np.zeros(k)
    for exact, norms in parts:
        counts += exact.nonprivate_counts
        sums += exact.nonprivate_sums
        squares += norms
    return Partition(held, ClusterSums(counts, sums), squares)


def _in_units(box: Box, task: UnitTask[T], block: Points) -> T:
    unit = box.to_unit(box.clip(block))
    return task(unit, squared_norms(unit))


def _nearest_sums(centers: Centers, unit: Points, norms: FloatArray) -> BlockSums:
    return _sums(unit, norms, assign(unit, centers), len(centers))


def _sums(unit: Points, norms: FloatArray, labels: Labels, k: int) -> BlockSums:
    return cluster_sums(unit, labels, k), cluster_totals(norms, labels, k)
