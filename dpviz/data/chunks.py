"""Records that are larger than memory: read block by block, in their order, as often as a method looks at them.

A sum of floating-point numbers depends on how it is split. Every source therefore gives blocks of BLOCK_ROWS records,
however its file is cut, and a method that takes chunks sums records in memory in the same blocks: the same seed gives
the same release, to the bit, wherever the records lie.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from numpy.typing import ArrayLike

from dpviz.core import Guarantee, Points, as_points
from dpviz.data.decoding import TableError, shown

BLOCK_ROWS = 65_536  # records summed together, a multiple of every method's own portion; changing it changes last bits
READ_ROWS = 16_384  # rows read from a file at a time; changes nothing but memory
READ_BYTES = 1 << 20  # of a column read at a time, so that a file of one large group is not read at once

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


class ParquetChunks(Chunks):
    """Columns of a Parquet file as records. Raises TableError for a file or a column that cannot be used."""

    def __init__(self, path: str | Path, columns: Sequence[str] | None = None) -> None:
        """Look at the file's summary; `columns` are its features in this order, None for all."""
        self.path = Path(path)
        with self._opened() as file:
            kinds = dict(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True))
            self.n = int(file.metadata.num_rows)
        self.columns = tuple(kinds) if columns is None else tuple(columns)
        self.d = len(self.columns)
        for name in self.columns:
            if name not in kinds:
                raise TableError(f"There is no column {shown(name)}; there are {', '.join(map(shown, kinds))}.")
            if not (pa.types.is_integer(kinds[name]) or pa.types.is_floating(kinds[name])):
                raise TableError(
                    f"Column {shown(name)} holds {kinds[name]}, but a feature must be a number. Leave it out."
                )
        if not self.columns:
            raise TableError("No column was named, but at least one is needed.")

    def portions(self) -> Iterator[Points]:
        """Yield READ_ROWS records at a time; a missing value is NaN, which `blocks` refuses."""
        with self._opened() as file:
            for batch in file.iter_batches(READ_ROWS, columns=list(self.columns), use_threads=False):
                chosen = batch.select(list(self.columns)).columns
                made = [np.asarray(part.to_numpy(zero_copy_only=False), dtype=np.float64) for part in chosen]
                yield np.stack(made, axis=1)

    def _opened(self) -> Any:
        try:
            return pq.ParquetFile(self.path, pre_buffer=False, buffer_size=READ_BYTES)
        except (OSError, pa.ArrowException) as error:
            raise TableError(f"{self.path} could not be read as Parquet ({type(error).__name__}).") from None


class FrameChunks(Chunks):
    """Columns of a Dask DataFrame as records, one partition in memory at a time. Raises TableError for a column."""

    def __init__(self, frame: Any, columns: Sequence[str] | None = None) -> None:
        """Take a frame whose partitions are the same each time they are made; its records are counted once."""
        self.frame, self.columns = frame, frame_columns(frame, columns)
        self.n, self.d = len(frame), len(self.columns)

    def portions(self) -> Iterator[Points]:
        """Yield one partition at a time."""
        for number in range(self.frame.npartitions):
            part = self.frame.partitions[number].compute(scheduler="synchronous")
            yield part[list(self.columns)].to_numpy(dtype=np.float64)


def trusting(guarantee: Guarantee, points: ArrayLike | Chunks) -> Guarantee:
    """Say in a run's guarantee who else sees exact numbers of these `points`."""
    return replace(guarantee, trusted=points.trusted) if isinstance(points, Chunks) else guarantee


def frame_columns(frame: Any, columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of a frame's `columns`, None for all. Raises TableError for one that is not there."""
    known = tuple(map(str, frame.columns))
    for name in columns or ():
        if name not in known:
            raise TableError(f"There is no column {shown(name)}; there are {', '.join(map(shown, known))}.")
    return known if columns is None else tuple(columns)


def as_chunks(points: ArrayLike | Chunks, *, n_features: int) -> Chunks:
    """Return `points` in blocks, from memory or as they are; raises ValueError for bad points or another width."""
    if not isinstance(points, Chunks):
        return ArrayChunks(points, n_features=n_features)
    if points.d != n_features:
        raise ValueError(
            f"points had {points.d} columns, but the box has {n_features}. Give one pair of bounds for each column."
        )
    return points
