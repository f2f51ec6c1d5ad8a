"""Records that are larger than memory, read block by block from Parquet files and Dask collections (see `Chunks`).

With `WorkerChunks`, each block is added up on the worker of a Dask cluster that has it. A worker assembles blocks of
BLOCK_ROWS records from the collection's own partitions, wherever these end, and runs the same task on a block that a
single machine would run. Sums return to the client in the order of the blocks, whichever worker is quick, slow or dead:
a block whose worker is lost is computed again. So a run has the same bits as on one machine, and its noise is drawn
once, on the client.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dpviz.core import BLOCK_ROWS, Box, Chunks, Points, as_points
from dpviz.data.features import CHOOSE, refuse_gaps
from dpviz.data.files import TableError, missing, quoted
from dpviz.data.transforms import Clipping, clipping

if TYPE_CHECKING:
    import pyarrow.parquet as pq  # type: ignore[import-untyped]  # pyarrow ships no types
    from dask.array import Array
    from dask.dataframe import DataFrame

# Rows read from a file at a time. The value only affects memory.
READ_ROWS = 16_384
# Bytes of a column read at a time, so that a file with one large group is not read at once.
READ_BYTES = 1 << 20
# Blocks sent to the workers at once. At most two such windows are in flight. Our choice.
WINDOW = 64
T = TypeVar("T")

DISTRIBUTED = (
    "dplloyd, blum, dwork, fastlloyd and eugkm of dpviz.baselines, convergent_kmeans with mode='repaired', morse with "
    "base='dpmog_hard' or 'dpmog', and source_target with method='nna'"
)
TRUSTED = (
    "Dask workers also read the records. Each block of up to {rows:,} records leaves its worker as exact sums, so "
    "the network, the scheduler and the client must be trusted as well. Noise is drawn on the client."
)


class ParquetChunks(Chunks):
    """Columns of a Parquet file, or of all `*.parquet` files of a folder in the order of their names, as records.

    Raises TableError for a file or a column that cannot be used.
    """

    def __init__(self, path: str | Path, columns: Sequence[str] | None = None) -> None:
        """Read the files' summaries; `columns` are the features in this order, None for all of the first file."""
        self.path, self.n = Path(path), 0
        self._paths = sorted(self.path.glob("*.parquet")) if self.path.is_dir() else [self.path]
        if not self._paths:
            raise TableError(
                f"The folder {self.path} has no file whose name ends in .parquet. Choose a different folder."
            )
        self.columns = () if columns is None else tuple(columns)
        for each in self._paths:
            with _open(each) as file:
                kinds = dict(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True))
                self.n += int(file.metadata.num_rows)
            self.columns = tuple(kinds) if columns is None and each is self._paths[0] else self.columns
            _check_columns(self.columns, kinds)
            self.left_out = tuple(name for name in kinds if name not in self.columns)
        self.d = len(self.columns)

    def __array__(self, *_: object, **__: object) -> Points:
        """Raise TypeError: the message of a method that needs all records at once."""
        raise TypeError(
            "they are read block by block, and this method needs all records at once: if they fit into memory, read "
            "them with pandas.read_parquet"
        )

    def portions(self) -> Iterator[Points]:
        """Yield READ_ROWS records at a time. Raises TableError for a value that is missing or infinite."""
        first = 0
        for each in self._paths:
            with _open(each) as file:
                for batch in file.iter_batches(READ_ROWS, columns=list(self.columns), use_threads=False):
                    chosen = batch.select(list(self.columns)).columns
                    values = [np.asarray(part.to_numpy(zero_copy_only=False), dtype=np.float64) for part in chosen]
                    yield refuse_gaps(np.stack(values, axis=1), self.columns, self.n, first)
                    first += len(batch)


def _check_columns(columns: Sequence[str], kinds: Mapping[str, Any]) -> None:
    """Raise TableError unless every column exists and contains numbers."""
    import pyarrow as pa

    for name in columns:
        if name not in kinds:
            raise TableError(f"There is no column {quoted(name)}; there are {', '.join(map(quoted, kinds))}.")
        if not (pa.types.is_integer(kinds[name]) or pa.types.is_floating(kinds[name])):
            raise TableError(f"Column {quoted(name)} holds {kinds[name]}, but a feature must be a number. {CHOOSE}")
    if not columns:
        raise TableError("At least one column must be named, got none.")


def _open(path: Path) -> "pq.ParquetFile":
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing("a Parquet file", "pyarrow") from None
    try:
        return pq.ParquetFile(path, pre_buffer=False, buffer_size=READ_BYTES)
    except (OSError, pa.ArrowException):
        reason = "it is cut off, or not Parquet" if path.exists() else "there is no such file"
        raise TableError(f"{path} could not be read as Parquet: {reason}.") from None


class FrameChunks(Chunks):
    """Columns of a Dask DataFrame as records, one partition in memory at a time. Raises TableError for a column."""

    def __init__(self, frame: "DataFrame", columns: Sequence[str] | None = None) -> None:
        """Take a frame whose partitions are the same each time they are computed; its records are counted once."""
        self.frame, self.columns = frame, frame_columns(frame, columns)
        self.n, self.d = len(frame), len(self.columns)

    def portions(self) -> Iterator[Points]:
        """Yield one partition at a time. Raises TableError for a value that is missing or infinite."""
        first = 0
        for number in range(self.frame.npartitions):
            part = self.frame.partitions[number].compute(scheduler="synchronous")
            yield refuse_gaps(part[list(self.columns)].to_numpy(dtype=np.float64), self.columns, self.n, first)
            first += len(part)


def chunks_of(data: object, columns: Sequence[str] | None = None) -> Chunks | None:
    """Return records that are read block by block; None for anything else, such as an array or a frame.

    `columns` are the features, None for all columns.

    Sources are chunks, a Parquet file or a folder of such files, and Dask collections. If a `distributed.Client` is
    open, its workers add up a collection; otherwise a DataFrame is read here, one partition at a time. Raises
    TableError.
    """
    if isinstance(data, Chunks):
        if columns is not None:
            raise TableError("features cannot be chosen for chunks, which have their own columns. Leave features out.")
        return data
    if isinstance(data, str | Path) and (Path(data).is_dir() or Path(data).suffix == ".parquet"):
        return ParquetChunks(data, columns)
    if type(data).__module__.partition(".")[0] not in ("dask", "dask_expr"):
        return None
    collection: Any = data
    try:
        from dask.distributed import default_client

        return WorkerChunks(collection, default_client(), columns)  # type: ignore[no-untyped-call]  # Dask types little
    # Without a cluster.
    except (ImportError, ValueError) as error:
        if isinstance(error, TableError) or not hasattr(collection, "partitions") or not hasattr(collection, "columns"):
            raise TableError(f"The Dask collection could not be used: {error} Open a distributed.Client.") from None
        return FrameChunks(collection, columns)


def sample_of(chunks: Chunks, most: int, box: Box) -> tuple[Points, Clipping]:
    """Return evenly spaced records, and the effect of a box on all records.

    Records that stay with the workers are not sampled.

    Parameters
    ----------
    chunks
        Records in chunks.
    most
        Largest number of records m of the sample.
    box
        Public box.

    Returns
    -------
    tuple
        The sample (m, d), curator only, and the clipping of all records.
    """
    step, parts, first = max(1, -(-chunks.n // most)), [np.empty((0, chunks.d))], 0
    if isinstance(chunks, WorkerChunks):
        return parts[0], Clipping.sum(chunks.each_block(partial(clipping, box=box)), chunks.d)
    moved: list[Clipping] = []
    for block in chunks.blocks():
        parts.append(block[first::step].copy())
        moved.append(clipping(block, box))
        first = (first - len(block)) % step
    return np.concatenate(parts), Clipping.sum(moved, chunks.d)


def frame_columns(frame: "DataFrame", columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of a frame's `columns`, None for all. Raises TableError for a missing column."""
    known = tuple(map(str, frame.columns))
    for name in columns or ():
        if name not in known:
            raise TableError(f"There is no column {quoted(name)}; there are {', '.join(map(quoted, known))}.")
    return known if columns is None else tuple(columns)


class WorkerChunks(Chunks):
    """A Dask array, or columns of a Dask DataFrame, whose sums are made by the workers of a cluster.

    Methods that need records reject it and name the methods that do not. Partitions are computed again in each pass, to
    the same values; `persist()` keeps them in the workers' memory. Raises TableError for columns and shapes that cannot
    be used.
    """

    def __init__(self, collection: "Array | DataFrame", client: Any, columns: Sequence[str] | None = None) -> None:
        """Take a collection and the cluster's `distributed.Client`; the records of a frame are counted once, there."""
        import dask.array

        array = collection
        if not isinstance(collection, dask.array.Array):
            chosen = collection[list(frame_columns(collection, columns))]
            lengths = client.compute(chosen.map_partitions(len)).result()
            array = chosen.astype(np.float64).to_dask_array(lengths=tuple(map(int, lengths)))
        if array.ndim != 2 or np.isnan(array.shape).any() or not array.shape[1]:
            raise TableError(
                f"The Dask array must have shape (n, d) with d at least 1 and a known n, got {array.shape}. Reshape "
                "it, or call its compute_chunk_sizes()."
            )
        self.n, self.d = map(int, array.shape)
        self.trusted, self._client = TRUSTED.format(rows=BLOCK_ROWS), client
        # By tasks, because the other way of moving rows between partitions does not survive the loss of a worker.
        blocks = array.astype(np.float64).rechunk((BLOCK_ROWS, self.d), method="tasks") if self.n else array
        self._blocks = blocks.to_delayed().ravel().tolist() if self.n else []

    def __array__(self, *_: object, **__: object) -> Points:
        """Raise an error: the records cannot be read at once."""
        raise TypeError(_refusal())

    def portions(self) -> Iterator[Points]:
        """Raise ValueError: records are never sent to the client."""
        raise ValueError(f"points could not be used: {_refusal()}")

    def each_block(self, task: Callable[[Points], T]) -> Iterator[T]:
        """Yield the workers' results for all blocks, in the order of the blocks."""
        waiting: deque[list[Any]] = deque()
        for first in range(0, len(self._blocks), WINDOW):
            waiting.append(self._submit(task, first))
            if len(waiting) > 1:
                yield from self._client.gather(waiting.popleft())
        while waiting:
            yield from self._client.gather(waiting.popleft())

    def _submit(self, task: Callable[[Points], T], first: int) -> list[Any]:
        from dask.delayed import delayed

        tasks = []
        for number, block in enumerate(self._blocks[first : first + WINDOW], start=first):
            rows = min(BLOCK_ROWS, self.n - number * BLOCK_ROWS)
            tasks.append(delayed(partial(_run_on_block, task, rows, self.d), pure=False)(block))
        return list(self._client.compute(tasks))


def _run_on_block(task: Callable[[Points], T], rows: int, d: int, block: Points) -> T:
    """Run `task` on a block, on a worker. Raises ValueError for values that are not finite and for other sizes."""
    if len(block) != rows:
        raise ValueError(
            f"The number of records must not change between passes, got {len(block)} after {rows}. "
            "Leave the data unchanged."
        )
    return task(as_points(block, n_features=d))


def _refusal() -> str:
    return (
        "they are WorkerChunks, which give sums and no records, and this method asks for records. Distributed "
        f"methods: {DISTRIBUTED}. dpm is not distributed: it needs all gaps sorted, which sums of blocks cannot "
        "provide. Choose one of them, or read the records on one machine, with FrameChunks or ParquetChunks"
    )
