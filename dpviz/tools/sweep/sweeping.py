"""Run a grid: here, in several processes, or on a Dask cluster; the rows are the same, bit for bit, times apart.

`sweep` yields rows as they come; `run_grid` writes them to a folder and goes on where it stopped.
The folder survives a killed process: `parts/*.jsonl` holds the rows of finished runs, one part a batch, which appears
whole or not at all. `rows.parquet` and `rows.csv` are the table of one grid, written anew when a sweep ends. A run is
known by its key, so no run is repeated.
"""

import contextlib
import itertools
import json
import os
import warnings
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from joblib import Parallel, delayed, parallel_config  # type: ignore[import-untyped]  # joblib ships no types

from dpviz.tools.sweep.grids import Grid
from dpviz.tools.sweep.trials import FIRST_COLUMNS, LAST_COLUMNS, Row, Trial, run_trials, versions

if TYPE_CHECKING:
    import pandas as pd

BATCH = 8  # runs that one task makes, all on the same records; ours
MOST_DEATHS = 3  # of workers in a row without a new row; ours
PATIENCE = 900.0  # s without any batch from a cluster, which does not say when it gives one up; ours
TABLE, TEXT = "rows.parquet", "rows.csv"
PARTS = "parts"
DTYPES: dict[type, Any] = {str: "string", int: "Int64", float: "float64", bool: "boolean"}  # a cell may be missing
VERSION_COLUMNS = tuple(versions())


class WorkersError(RuntimeError):
    """The workers cannot go on; finished rows stay in the folder, and the message says the way out."""


class FolderError(ValueError):
    """A folder that cannot take the rows; the message says what is in it and the way out."""


class RowFolder:
    """The folder that holds a sweep's rows; `add` creates it."""

    def __init__(self, path: str | Path) -> None:
        """Name the folder; nothing is read or written."""
        self.path = Path(path)

    def rows(self) -> list[Row]:
        """Return every row of the folder, each key once.

        Raises FolderError for a file in place of a folder, for a damaged file, and for rows of other versions than
        these: one table holds figures that can be computed again together.
        """
        if self.path.is_file():
            raise FolderError(f"The folder {self.path} is a file. Name a new folder.")
        rows: dict[str, Row] = {}
        for part in self._parts():
            try:
                rows |= {str(row["key"]): row for row in map(json.loads, part.read_text("utf-8").splitlines())}
            except ValueError:
                raise FolderError(f"{part} is damaged. Delete it: its runs are made again.") from None
        for row in rows.values():
            odd = [name for name in VERSION_COLUMNS if row[name] != versions()[name]]
            if odd:
                was = ", ".join(f"{name} {row[name]}" for name in odd)
                now = ", ".join(f"{name} {versions()[name]}" for name in odd)
                raise FolderError(f"{self.path} holds rows of {was}, but this is {now}. Name another folder.")
        return list(rows.values())

    def add(self, rows: Sequence[Row]) -> None:
        """Write `rows` for good: they are there as a whole when this returns, and before that not at all."""
        folder = self.path / PARTS
        folder.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{json.dumps(dict(row))}\n" for row in rows)
        self._replace(folder / f"{uuid4().hex}.jsonl", lambda path: path.write_text(text, "utf-8"))

    def finish(self, grid: Grid) -> list[Row]:
        """Write the finished rows of `grid`, in its order, as CSV and, where pyarrow is, as Parquet; return them.

        Rows of other grids stay in the folder's parts, which become one.
        """
        parts = self._parts()
        by_key = {str(row["key"]): row for row in self.rows()}
        rows = [by_key[trial.key] for trial in grid.trials if trial.key in by_key]
        if not rows:
            return []
        if len(parts) > 1:  # one part instead of many; killed in between, every row is there twice and read once
            self.add(list(by_key.values()))
            for part in parts:
                part.unlink()
        table = tidy(rows)
        if find_spec("pyarrow") is not None:
            self._replace(self.path / TABLE, lambda path: table.to_parquet(path, index=False))
        self._replace(self.path / TEXT, lambda path: table.to_csv(path, index=False))
        return rows

    def _parts(self) -> list[Path]:
        return sorted((self.path / PARTS).glob("*.jsonl"))

    def _replace(self, target: Path, write: Callable[[Path], object]) -> None:
        """Write a file beside `target` and move it there: a reader sees the old one or the new one."""
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            write(temporary)
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)


def tidy(rows: Sequence[Row]) -> "pd.DataFrame":
    """Return one table, a row a run and a column a figure; a cell is missing where there is no such figure.

    Columns: coordinates and seeds, knobs of the data (`data.*`), parameters (`params.*`), guarantees, utility, times,
    versions.
    """
    import pandas as pd

    own = sorted({name for row in rows for name in row} - {*FIRST_COLUMNS, *LAST_COLUMNS})
    names = (*FIRST_COLUMNS, *own, *LAST_COLUMNS)
    columns: dict[str, Any] = {}
    for name in names:  # each of one type: whole numbers beside others become numbers, words beside numbers words
        values: list[Any] = [row.get(name) for row in rows]
        kinds = {type(value) for value in values if value is not None}
        if len(kinds) > 1 and kinds != {int, float}:
            values = [None if value is None else str(value) for value in values]
            kinds = {str}
        (kind,) = kinds if len(kinds) == 1 else (float,)
        columns[name] = pd.Series(values, dtype=DTYPES[kind])
    return pd.DataFrame(columns)


def sweep(
    grid: Grid,
    *,
    jobs: int = 1,
    dask: str | None = None,
    done: Collection[str] = (),
) -> Iterator[Row]:
    """Yield the row of every run of `grid`, as they come; they depend on neither `jobs` nor the order.

    `jobs` is the number of processes, 1 for this one; `dask` the address of a Dask scheduler instead. Runs whose key is
    in `done` are left out, closing the generator stops it, and runs of a worker that died are repeated. Raises
    WorkersError when workers keep dying, and ValueError for `jobs` below 1.
    """
    with contextlib.closing(_batches(grid, jobs, dask, set(done))) as batches:
        for rows in batches:
            yield from rows


def run_grid(
    grid: Grid,
    folder: str | Path,
    *,
    jobs: int = 1,
    dask: str | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> list[Row]:
    """Run what `folder` does not hold yet, write every batch as it comes, then the table; return its rows.

    `progress` is called with the number of finished runs and of all.
    Whatever stops it, the finished rows are there, and the same call goes on from them. Raises FolderError and what
    `sweep` raises.
    """
    row_folder = RowFolder(folder)
    known, total = {str(row["key"]) for row in row_folder.rows()}, len(grid.trials)
    n_done = sum(trial.key in known for trial in grid.trials)
    progress(n_done, total)
    try:
        with contextlib.closing(_batches(grid, jobs, dask, known)) as batches:
            for rows in batches:
                row_folder.add(rows)
                n_done += len(rows)
                progress(n_done, total)
                if cancelled():
                    break
    finally:
        finished = row_folder.finish(grid)
    return finished


def _batches(grid: Grid, jobs: int, dask: str | None, done: set[str]) -> Generator[list[Row]]:
    """Yield the rows of one batch after the other, and start again with what is missing when a worker died."""
    if jobs < 1:
        raise ValueError(f"jobs was {jobs}, but it must be >= 1. Use 1 for this process alone.")
    deaths = 0
    while missing := [trial for trial in grid.trials if trial.key not in done]:
        batches: list[tuple[Trial, ...]] = []  # each reads the same records
        for _, group in itertools.groupby(missing, key=lambda trial: trial.source):
            while batch := tuple(itertools.islice(group, BATCH)):
                batches.append(batch)
        try:
            for rows in _run(batches, jobs, dask):
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


def _run(batches: Sequence[tuple[Trial, ...]], jobs: int, dask: str | None) -> Iterator[list[Row]]:
    """Yield the rows of each batch. Raises WorkersError when there is no Dask, no scheduler, or no answer."""
    if dask is None and jobs == 1:
        yield from map(run_trials, batches)
    elif dask is None:
        yield from _parallel(batches, jobs, None, backend="loky", inner_max_num_threads=1)
    else:
        try:
            from dask.distributed import Client
        except ImportError:
            raise WorkersError('Dask is not installed here. Install it with pip install "dpviz[dask]".') from None
        try:
            client = Client(dask, set_as_default=False)  # type: ignore[no-untyped-call]  # Dask types little
        except (OSError, ValueError) as error:
            raise WorkersError(
                f"No Dask scheduler answered at {dask!r} ({type(error).__name__}). Start one with `dask scheduler`."
            ) from None
        try:
            yield from _parallel(batches, -1, PATIENCE, backend="dask", client=client)
        finally:
            client.close()  # type: ignore[no-untyped-call]


def _parallel(
    batches: Sequence[tuple[Trial, ...]], jobs: int, timeout: float | None, **backend: object
) -> Iterator[list[Row]]:
    with parallel_config(**backend):  # only while it is created: the caller's own settings hold between two rows
        parallel = Parallel(jobs, return_as="generator_unordered", batch_size=1, timeout=timeout)
    results = parallel(delayed(run_trials)(batch) for batch in batches)
    try:
        for rows in results:  # noqa: UP028 (`yield from` closes them itself, with joblib's warning)
            yield rows
    except TimeoutError:
        raise WorkersError(
            f"The cluster sent nothing for {PATIENCE:.0f} s. Rows made so far are kept. See whether its workers run "
            "and have memory enough, then give the same command again."
        ) from None
    finally:
        with warnings.catch_warnings():  # stopping early is intended
            warnings.simplefilter("ignore")
            results.close()
