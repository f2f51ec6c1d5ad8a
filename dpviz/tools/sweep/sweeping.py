"""Run a grid: here, in several processes, or on a Dask cluster; the rows are the same, bit for bit, times apart.

`sweep` yields rows as they come and can be cancelled; `run_grid` keeps them in a folder and goes on where it stopped.
"""

import contextlib
import itertools
import warnings
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, parallel_config  # type: ignore[import-untyped]  # joblib ships no types

from dpviz.tools.sweep.grids import Grid
from dpviz.tools.sweep.row_files import RowFolder
from dpviz.tools.sweep.trial_runs import Row, run_trials
from dpviz.tools.sweep.trials import Trial

BATCH = 8  # runs that one task makes, all on the same records; ours
MOST_DEATHS = 3  # of workers in a row without a new row; ours
PATIENCE = 900.0  # s without any batch from a cluster, which does not say when it gives one up; ours

Progress = Callable[[int, int], None]  # (runs that are done, runs in all)


class WorkersError(RuntimeError):
    """The workers cannot go on; the rows made so far are kept, and the message says the way out."""


def sweep(
    grid: Grid,
    *,
    jobs: int = 1,
    dask: str | None = None,
    done: Collection[str] = (),
    cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[Row]:
    """Yield the row of every run of `grid`, as they come; they depend on neither `jobs` nor the order.

    `jobs` is the number of processes, 1 for this one; `dask` the address of a Dask scheduler instead. Runs whose key is
    in `done` are left out. `cancelled` is asked after each row; closing the generator stops too. Runs of a worker that
    died are made again. Raises WorkersError when workers keep dying, and ValueError for `jobs` below 1.
    """
    with contextlib.closing(_batches(grid, jobs, dask, set(done))) as batches:
        for rows in batches:
            for row in rows:
                yield row
                if cancelled():
                    return


def run_grid(
    grid: Grid,
    folder: str | Path,
    *,
    jobs: int = 1,
    dask: str | None = None,
    progress: Progress = lambda _done, _total: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> list[Row]:
    """Run what `folder` does not hold yet, keep every batch as it comes, and write the table; return its rows.

    Whatever stops it, the rows made so far are there, and the same call goes on from them. Raises FolderError and what
    `sweep` raises.
    """
    kept = RowFolder(folder)
    known, total = {str(row["key"]) for row in kept.rows()}, len(grid.trials)
    there = sum(trial.key in known for trial in grid.trials)
    progress(there, total)
    try:
        with contextlib.closing(_batches(grid, jobs, dask, known)) as batches:
            for rows in batches:
                kept.add(rows)
                there += len(rows)
                progress(there, total)
                if cancelled():
                    break
    finally:
        found = kept.finish(grid)
    return found


def _batches(grid: Grid, jobs: int, dask: str | None, done: set[str]) -> Generator[list[Row]]:
    """Yield the rows of one batch after the other, and start again with what is left when a worker died."""
    if jobs < 1:
        raise ValueError(f"jobs was {jobs}, but it must be >= 1. Use 1 for this process alone.")
    deaths = 0
    while left := _parted([trial for trial in grid.trials if trial.key not in done]):
        try:
            for rows in _run(left, jobs, dask):
                done.update(str(row["key"]) for row in rows)
                deaths = 0
                yield rows
        except BrokenProcessPool as error:
            deaths += 1
            if deaths >= MOST_DEATHS:
                raise WorkersError(
                    f"Workers died {deaths} times in a row ({type(error).__name__}), perhaps for memory. Rows made so "
                    "far are kept. Use fewer jobs, or a smaller n."
                ) from None


def _parted(trials: Sequence[Trial]) -> list[tuple[Trial, ...]]:
    """Part runs into batches that read the same records."""
    parts: list[tuple[Trial, ...]] = []
    for _, group in itertools.groupby(trials, key=lambda trial: trial.source):
        while part := tuple(itertools.islice(group, BATCH)):
            parts.append(part)
    return parts


def _run(batches: Sequence[tuple[Trial, ...]], jobs: int, dask: str | None) -> Iterator[list[Row]]:
    if dask is not None:
        with _client(dask) as client:
            yield from _parallel(batches, -1, {"backend": "dask", "client": client}, timeout=PATIENCE)
    elif jobs == 1:
        yield from map(run_trials, batches)
    else:
        yield from _parallel(batches, jobs, {"backend": "loky", "inner_max_num_threads": 1}, timeout=None)


def _parallel(
    batches: Sequence[tuple[Trial, ...]], jobs: int, backend: dict[str, Any], *, timeout: float | None
) -> Iterator[list[Row]]:
    with parallel_config(**backend):  # only while it is made: the caller's own settings hold between two rows
        parallel = Parallel(jobs, return_as="generator_unordered", batch_size=1, timeout=timeout)
    rows = parallel(delayed(run_trials)(batch) for batch in batches)
    try:
        for found in rows:  # noqa: UP028 (`yield from` closes them itself, with joblib's warning)
            yield found
    except TimeoutError:
        raise WorkersError(
            f"The cluster sent nothing for {PATIENCE:.0f} s. Rows made so far are kept. See whether its workers run "
            "and have memory enough, then give the same command again."
        ) from None
    finally:
        with warnings.catch_warnings():  # stopping early is what was asked for
            warnings.simplefilter("ignore")
            rows.close()


@contextlib.contextmanager
def _client(address: str) -> Iterator[Any]:
    """Connect to a Dask scheduler. Raises WorkersError when there is none, or no Dask."""
    try:
        from dask.distributed import Client
    except ImportError:
        raise WorkersError('Dask is not installed here. Install it with pip install "dpviz[dask]".') from None
    try:
        client: Any = Client(address, set_as_default=False)  # type: ignore[no-untyped-call]  # Dask types little
    except (OSError, ValueError) as error:
        raise WorkersError(
            f"No Dask scheduler answered at {address!r} ({type(error).__name__}). Start one with `dask scheduler`."
        ) from None
    try:
        yield client
    finally:
        client.close()
