"""One pass of a Lloyd-type method over the records, block by block: from memory or from chunks, the same sums."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
    frozen,
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
from dpviz.solvers.start import start_from

T = TypeVar("T")
UnitTask = Callable[[Points, FloatArray], T]  # of (records in box units, their |x|^2)
LabelTask = Callable[[Points, FloatArray, Labels], T]  # and of each one's nearest center

_NOBODY = frozen(np.empty(0, dtype=np.intp))  # where records come in chunks, nobody's label is held


@dataclass(frozen=True, slots=True, eq=False)
class LloydProblem:
    """What stays the same over the iterations."""

    records: Chunks  # data units
    box: Box
    nearest: Nearest | None  # of the records (n, d) clipped and scaled to [0, 1]^d; None where they come in chunks

    @property
    def n(self) -> int:
        """Number of records."""
        return self.records.n

    def each_block(self, task: UnitTask[T]) -> Iterator[T]:
        """Yield what `task` makes of each BLOCK_ROWS records, in their order; see `Chunks.each_block`."""
        if self.nearest is None:
            yield from self.records.each_block(partial(_in_units, self.box, task))
            return
        unit, squares = self.nearest.points, squared_lengths(self.nearest.points)
        for rows in row_blocks(self.n):
            yield task(unit[rows], squares[rows])

    def counted(self, counts: Callable[[Points], Counts]) -> Counts:
        """Return what `counts` counts of the records, box units."""
        return sum(self.each_block(partial(_counted, counts)), start=counts(np.empty((0, self.box.d))))

    def start(
        self, n_clusters: int, *, start: str, given: Centers | None, seed: int | None, rng: np.random.Generator
    ) -> Centers:
        """Return what `start_from` does. Raises ValueError for a start from records that are not held, too."""
        if start == "records" and given is None and self.nearest is None:
            raise ValueError(
                "start was 'records', but records that come in chunks are not held. Start from 'packing', or give "
                "initial_centers."
            )
        unit = np.empty((0, self.box.d)) if self.nearest is None else self.nearest.points
        return start_from(unit, self.box, n_clusters, start=start, given=given, seed=seed, rng=rng)


def posed(points: Points | Chunks, box: Box) -> LloydProblem:
    """Check the records and, where they are in memory, scale them once. Raises ValueError for bad points."""
    if isinstance(points, Chunks):
        return LloydProblem(as_chunks(points, n_features=box.d), box, None)
    records = ArrayChunks(points, n_features=box.d)
    return LloydProblem(records, box, nearest_among(unit_records(records.points, box)))


def one_pass(problem: LloydProblem, centers: Centers) -> Partition:
    """Assign every record to its nearest of `centers` (k, d), box units, and add up each cluster, block by block.

    Where the records come in chunks, the labels are (0,).
    """
    held, parts = _each_labelled(problem, centers, partial(block_sums, len(centers)))
    return added_blocks(held, parts, centers)


def cell_pass(problem: LloydProblem, centers: Centers) -> Partition:
    """Do what `one_pass` does, with the sums of `Nearest.partition`: quicker again and again on records in memory."""
    if problem.nearest is None:
        return added_blocks(_NOBODY, problem.each_block(partial(_cell_sums, centers)), centers)
    return problem.nearest.partition(centers)


def opening_pass(problem: LloydProblem, centers: Centers) -> Partition:
    """Do what `cell_pass` does for centers that many runs start from: on records in memory it is made once."""
    return cell_pass(problem, centers) if problem.nearest is None else problem.nearest.opening(centers)


def bounded_pass(problem: LloydProblem, centers: Centers, radius: float) -> tuple[Partition, ClusterSums]:
    """Return what `one_pass` does, and what of each cluster lies within `radius` of its center, x - c added up."""
    held, parts = _each_labelled(problem, centers, partial(_bounded_sums, centers, radius))
    blocks = list(parts)
    near = added_blocks(held, ((within, np.zeros(len(centers))) for _, within in blocks), centers)
    return added_blocks(held, (whole for whole, _ in blocks), centers), near.sums


def near_moves(unit: Points, labels: Labels, centers: Centers, radius: float) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return x - c (n, d) of each record and its center, and whether it is no longer than `radius` (n,).

    It follows from the record and its center alone, axis by axis, to the bit.
    """
    moves = unit - centers[labels]
    return moves, squared_norms(moves) <= radius * radius


def _each_labelled(problem: LloydProblem, centers: Centers, task: LabelTask[T]) -> tuple[Labels, Iterator[T]]:
    """Return everybody's nearest center, if the records are held, and what `task` makes of each block, in order."""
    if problem.nearest is None:
        return _NOBODY, problem.each_block(partial(_nearest, task, centers))
    held = problem.nearest(centers)
    labels = (held[rows] for rows in row_blocks(problem.n))
    return held, problem.each_block(lambda unit, norms: task(unit, norms, next(labels)))


def _in_units(box: Box, task: UnitTask[T], block: Points) -> T:
    unit = box.to_unit(box.clip(block))
    return task(unit, squared_norms(unit))


def _counted(counts: Callable[[Points], Counts], unit: Points, _norms: FloatArray) -> Counts:
    return counts(unit)


def _cell_sums(centers: Centers, unit: Points, _norms: FloatArray) -> BlockSums:
    found = nearest_among(unit).partition(centers)
    return found.sums, found.nonprivate_squares


def _nearest(task: LabelTask[T], centers: Centers, unit: Points, norms: FloatArray) -> T:
    return task(unit, norms, assign(unit, centers))


def _bounded_sums(
    centers: Centers, radius: float, unit: Points, norms: FloatArray, labels: Labels
) -> tuple[BlockSums, ClusterSums]:
    moves, near = near_moves(unit, labels, centers, radius)
    k = len(centers)
    return block_sums(k, unit, norms, labels), cluster_sums(moves[near], labels[near], k)
