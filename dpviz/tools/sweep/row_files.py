"""A folder of rows that survives being killed: parts that appear whole or not at all, then one tidy table.

`parts/*.jsonl` holds the rows of finished runs, one part a batch. `rows.parquet` and `rows.csv` are the table of one
grid, written anew when a sweep ends. A run is known by its key, so what is there is never run again.
"""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types
from pyarrow import csv, parquet

from dpviz.tools.sweep.grids import Grid
from dpviz.tools.sweep.trial_runs import FIRST_COLUMNS, LAST_COLUMNS, TIME_COLUMNS, Row, Value, versions

TABLE, TEXT = "rows.parquet", "rows.csv"
PARTS = "parts"
VERSION_COLUMNS = tuple(versions())


class FolderError(ValueError):
    """A folder that cannot take the rows; the message says what was found and the way out."""


class RowFolder:
    """Where a sweep keeps its rows. Nothing is read or made before it is asked for."""

    def __init__(self, path: str | Path) -> None:
        """Name the folder; it is made by the first `add`."""
        self.path = Path(path)

    def rows(self) -> list[Row]:
        """Return every row that is there, each key once.

        Raises FolderError for a damaged file, and for rows of other versions than these: one table holds figures that
        can be made again together.
        """
        found = {str(row["key"]): row for row in self._read()}
        for row in found.values():
            odd = [name for name in VERSION_COLUMNS if row[name] != versions()[name]]
            if odd:
                was = ", ".join(f"{name} {row[name]}" for name in odd)
                now = ", ".join(f"{name} {versions()[name]}" for name in odd)
                raise FolderError(f"{self.path} holds rows of {was}, but this is {now}. Name another folder.")
        return list(found.values())

    def add(self, rows: Sequence[Row]) -> None:
        """Keep `rows` for good: they are there as a whole when this returns, and before that not at all."""
        folder = self.path / PARTS
        folder.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{json.dumps(dict(row))}\n" for row in rows)
        self._replace(folder / f"{uuid4().hex}.jsonl", lambda path: path.write_text(text, "utf-8"))

    def finish(self, grid: Grid) -> list[Row]:
        """Write the rows of `grid` that are there, in its order, as Parquet and CSV; return them.

        Rows of other grids stay in the folder's parts, which become one.
        """
        parts = self._parts()
        found = {str(row["key"]): row for row in self.rows()}
        keys = [trial.key for trial in grid.trials]
        rows = [found[key] for key in keys if key in found]
        if not rows:
            return []
        if len(parts) > 1:  # one part instead of many; killed in between, every row is there twice and read once
            self.add(list(found.values()))
            for part in parts:
                part.unlink()
        table = tidy(rows)
        self._replace(self.path / TABLE, lambda path: parquet.write_table(table, path))
        self._replace(self.path / TEXT, lambda path: csv.write_csv(table, path))
        return rows

    def _parts(self) -> list[Path]:
        return sorted((self.path / PARTS).glob("*.jsonl"))

    def _read(self) -> Iterable[Row]:
        for part in self._parts():
            try:
                yield from map(json.loads, part.read_text("utf-8").splitlines())
            except ValueError:
                raise FolderError(f"{part} is damaged. Delete it: its runs are made again.") from None

    def _replace(self, target: Path, write: Any) -> None:
        """Write a file beside `target` and move it there: a reader sees the old one or the new one."""
        made = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            write(made)
            os.replace(made, target)
        finally:
            made.unlink(missing_ok=True)


def tidy(rows: Sequence[Row]) -> pa.Table:
    """Return one table, a row a run and a column a figure; a cell is missing where there is no such figure.

    Columns: coordinates and seeds, knobs of the data (`data.*`), parameters (`params.*`), guarantees, utility, times,
    versions.
    """
    named = {name for row in rows for name in row}
    own = sorted(named - set(FIRST_COLUMNS) - set(LAST_COLUMNS))
    names = (*FIRST_COLUMNS, *own, *LAST_COLUMNS)
    return pa.table({name: _column([row.get(name) for row in rows]) for name in names})


def read_rows(path: str | Path) -> list[dict[str, Value]]:
    """Return the rows of a finished sweep's folder, as its table has them. Raises FolderError when there is none."""
    place = Path(path) / TABLE
    if not place.exists():
        raise FolderError(f"{path} holds no {TABLE}. Run `python -m dpviz.experiments sweep` first.")
    rows: list[dict[str, Value]] = parquet.read_table(place).to_pylist()
    return rows


def without_times(row: Row) -> dict[str, Value]:
    """Return a row without its columns of time: what is the same however a sweep is run."""
    return {name: value for name, value in row.items() if name not in TIME_COLUMNS}


def _column(values: list[Value]) -> pa.Array:
    """Return a column of one type: whole numbers beside others become numbers, words beside numbers words."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    if not kinds:
        return pa.array(values, pa.float64())
    if len(kinds) > 1:
        return pa.array([None if value is None else str(value) for value in values], pa.string())
    return pa.array(values)
