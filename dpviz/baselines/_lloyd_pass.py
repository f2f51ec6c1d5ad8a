"""One pass of a Lloyd-type method over the records, block by block: from memory or from chunks, the same sums."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpviz.core import Box, Centers, FloatArray, Points, squared_norms, unit_records
from dpviz.data import BLOCK_ROWS, ArrayChunks, Chunks, as_chunks
from dpviz.solvers import ClusterSums, Partition, assign, cluster_sums, cluster_totals, nearest_among, squared_lengths


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

    def blocks(self) -> Iterator[tuple[Points, FloatArray]]:
        """Yield (records in box units, their |x|^2), BLOCK_ROWS at a time."""
        if self.unit is not None and self.squares is not None:
            for first in range(0, self.n, BLOCK_ROWS):
                rows = slice(first, first + BLOCK_ROWS)
                yield self.unit[rows], self.squares[rows]
            return
        for block in self.records.blocks():
            unit = self.box.to_unit(self.box.clip(block))
            yield unit, squared_norms(unit)


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
    held = np.empty(0, dtype=np.intp) if problem.unit is None else nearest_among(problem.unit)(centers)
    first = 0
    counts, sums, squares = np.zeros(k), np.zeros((k, d)), np.zeros(k)
    for unit, norms in problem.blocks():
        found = assign(unit, centers) if problem.unit is None else held[first : first + len(unit)]
        first += len(unit)
        exact = cluster_sums(unit, found, k)
        counts += exact.nonprivate_counts
        sums += exact.nonprivate_sums
        squares += cluster_totals(norms, found, k)
    return Partition(held, ClusterSums(counts, sums), squares)
