"""Records that are larger than memory, read block by block from Parquet files and Dask DataFrames (see `Chunks`)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpviz.core import Chunks, Points
from dpviz.data.decoding import TableError, shown

READ_ROWS = 16_384  # rows read from a file at a time; changes nothing but memory
READ_BYTES = 1 << 20  # of a column read at a time, so that a file of one large group is not read at once


class ParquetChunks(Chunks):
    """Columns of a Parquet file as records. Raises TableError for a file or a column that cannot be used."""

    def __init__(self, path: str | Path, columns: Sequence[str] | None = None) -> None:
        """Look at the file's summary; `columns` are its features in this order, None for all."""
        import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types

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
        import pyarrow as pa
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

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


def frame_columns(frame: Any, columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of a frame's `columns`, None for all. Raises TableError for one that is not there."""
    known = tuple(map(str, frame.columns))
    for name in columns or ():
        if name not in known:
            raise TableError(f"There is no column {shown(name)}; there are {', '.join(map(shown, known))}.")
    return known if columns is None else tuple(columns)
