"""Records in blocks, in their order, as often as a method looks at them: from memory, or from where they lie.

A sum of floating-point numbers depends on how it is split. Every source therefore gives blocks of BLOCK_ROWS records,
however its file is cut, and a method that takes chunks sums records in memory in the same blocks: the same seed gives
the same release, to the bit, wherever the records lie.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dpviz.core.arrays import Points, as_points
from dpviz.core.privacy import Guarantee

BLOCK_ROWS = 65_536  # records summed together, a multiple of every method's own portion; changing it changes last bits

T = TypeVar("T")


class Chunks(ABC):
    """Records in order, in portions of any size; `fit` of a method that can do with sums takes one for its points.

    The number of records `n` is as private as the records are, unless records are only ever changed.
    """

    n: int
    d: int
    trusted: str = ""  # who sees exact numbers besides the curator; "": nobody

    def __array__(self, *_: object, **__: object) -> Points:
        """Refuse to be read at once; a method that cannot do with sums says so by this."""
        raise TypeError(
            f"they are {type(self).__name__}, and this method needs all records at once: "
            "where they fit into memory, np.concatenate(list(chunks.blocks())) has them"
        )

    @abstractmethod
    def portions(self) -> Iterator[Points]:
        """Yield all records (rows, d) in their order, the same each time; no portion needs more than one block."""

    def each_block(self, task: Callable[[Points], T]) -> Iterator[T]:
        """Yield what `task` makes of each of `blocks()`, in their order, wherever it is done.

        What a method adds up in this order has the same bits on one machine and on many. `task` must be a function of a
        module, or a `functools.partial` of one, and what it returns is exact: sums, never records.
        """
        return map(task, self.blocks())

    def blocks(self) -> Iterator[Points]:
        """Yield all records (BLOCK_ROWS, d) in their order, the last block with what is left.

        Raises ValueError for values that are not finite, and when there are more or fewer records than `n`.
        """
        waiting: list[Points] = []
        held = total = 0
        for portion in self.portions():
            rows = as_points(portion, n_features=self.d)
            total += len(rows)
            while held + len(rows) >= BLOCK_ROWS:
                cut = BLOCK_ROWS - held
                yield np.concatenate([*waiting, rows[:cut]])
                waiting, held, rows = [], 0, rows[cut:]
            if len(rows):
                waiting, held = [*waiting, rows], held + len(rows)
        if held:
            yield np.concatenate(waiting)
        if total != self.n:
            raise ValueError(f"{total} records were read, but there were {self.n} before. Leave the data as they are.")


class ArrayChunks(Chunks):
    """Records (n, d) in memory. Raises ValueError for bad points."""

    def __init__(self, points: ArrayLike, *, n_features: int | None = None) -> None:
        """Check the records once; blocks are views of them."""
        self.points = as_points(points, n_features=n_features)
        self.n, self.d = self.points.shape

    def portions(self) -> Iterator[Points]:
        """Yield views of the records."""
        return (self.points[first : first + BLOCK_ROWS] for first in range(0, self.n, BLOCK_ROWS))

    def blocks(self) -> Iterator[Points]:
        """Yield views of the records; they were checked before."""
        return self.portions()


def trusting(guarantee: Guarantee, points: ArrayLike | Chunks) -> Guarantee:
    """Say in a run's guarantee who else sees exact numbers of these `points`."""
    return replace(guarantee, trusted=points.trusted) if isinstance(points, Chunks) else guarantee


def as_chunks(points: ArrayLike | Chunks, *, n_features: int) -> Chunks:
    """Return `points` in blocks, from memory or as they are; raises ValueError for bad points or another width."""
    if not isinstance(points, Chunks):
        return ArrayChunks(points, n_features=n_features)
    if points.d != n_features:
        raise ValueError(
            f"points had {points.d} columns, but the box has {n_features}. Give one pair of bounds for each column."
        )
    return points
