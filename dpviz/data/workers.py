"""Records on the workers of a Dask cluster: each block is added up where it lies, and sums come back in order.

A worker puts blocks of BLOCK_ROWS records together from the collection's own partitions, wherever those end, and runs
on each what one machine runs on it. Sums come back to the client in the order of the blocks, whichever worker is
quick, slow or dead: a block whose worker is lost is made anew. So a run has the bits of one machine, and its noise is
drawn once, on the client.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from dpviz.core import BLOCK_ROWS, Chunks, Points, as_points
from dpviz.data.chunks import frame_columns
from dpviz.data.decoding import TableError

WINDOW = 64  # blocks that are sent to the workers at once, two such at most on their way; ours
T = TypeVar("T")

DISTRIBUTED = (
    "su, blum, dwork, fastlloyd and eugkm of dpviz.baselines, convergent_kmeans with mode='repaired', morse with "
    "base='dpmog_hard' or 'dpmog', and source_target with method='nna'"
)
TRUSTED = (
    "Dask workers read the records, too; of each block of up to {rows:,} records its sums leave a worker, exact, and "
    "so must the network, the scheduler and the client be trusted. Noise is drawn on the client."
)


class WorkerChunks(Chunks):
    """A Dask array, or columns of a Dask DataFrame, whose sums are made by the workers of a cluster.

    Methods that ask for records refuse it, and say which do not. Partitions are made anew in each pass, the
    same each time; `persist()` keeps them in the workers' memory. Raises TableError for columns and shapes that cannot
    be used.
    """

    def __init__(self, collection: Any, client: Any, columns: Sequence[str] | None = None) -> None:
        """Take a collection and the cluster's `distributed.Client`; the records of a frame are counted once, there."""
        import dask.array

        array = collection
        if not isinstance(collection, dask.array.Array):
            chosen = collection[list(frame_columns(collection, columns))]
            lengths = client.compute(chosen.map_partitions(len)).result()
            array = chosen.astype(np.float64).to_dask_array(lengths=tuple(map(int, lengths)))
        if array.ndim != 2 or np.isnan(array.shape).any() or not array.shape[1]:
            raise TableError(
                f"The Dask array had shape {array.shape}, but it must be (n, d) with d >= 1 and a known n. Reshape it, "
                "or call its compute_chunk_sizes()."
            )
        self.n, self.d = map(int, array.shape)
        self.trusted, self._client = TRUSTED.format(rows=BLOCK_ROWS), client
        # By tasks: the other way of moving rows between partitions does not outlive a worker.
        blocks = array.astype(np.float64).rechunk((BLOCK_ROWS, self.d), method="tasks") if self.n else array
        self._blocks = blocks.to_delayed().ravel().tolist() if self.n else []

    def __array__(self, *_: object, **__: object) -> Points:
        """Refuse to be read at once."""
        raise TypeError(_refusal())

    def portions(self) -> Iterator[Points]:
        """Refuse to send records to the client. Raises ValueError."""
        raise ValueError(f"points could not be used: {_refusal()}")

    def each_block(self, task: Callable[[Points], T]) -> Iterator[T]:
        """Yield what the workers return of each block, in the order of the blocks."""
        waiting: deque[list[Any]] = deque()
        for first in range(0, len(self._blocks), WINDOW):
            waiting.append(self._sent(task, first))
            if len(waiting) > 1:
                yield from self._client.gather(waiting.popleft())
        while waiting:
            yield from self._client.gather(waiting.popleft())

    def _sent(self, task: Callable[[Points], T], first: int) -> list[Any]:
        from dask.delayed import delayed

        sent = []
        for number, block in enumerate(self._blocks[first : first + WINDOW], start=first):
            rows = min(BLOCK_ROWS, self.n - number * BLOCK_ROWS)
            sent.append(delayed(partial(_made_of, task, rows, self.d), pure=False)(block))
        return list(self._client.compute(sent))


def _made_of(task: Callable[[Points], T], rows: int, d: int, block: Points) -> T:
    """Run `task` on a block, on a worker. Raises ValueError for values that are not finite and for other sizes."""
    if len(block) != rows:
        raise ValueError(f"{len(block)} records were read, but there were {rows} before. Leave the data as they are.")
    return task(as_points(block, n_features=d))


def _refusal() -> str:
    return (
        "they are WorkerChunks, which give sums and no records, and this method asks for records. Distributed are "
        f"{DISTRIBUTED}; dpm is not: it needs all gaps sorted, which no sums of blocks stand for. Choose one of them, "
        "or read the records on one machine, with FrameChunks or ParquetChunks"
    )
