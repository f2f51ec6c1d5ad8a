"""Reports: tables with their words and origin, as one JSON file that the command line writes and the app reads."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

from dpviz.core import immutable_value

# None if there is no such figure. A note states the reason.
Cell = str | int | float | None

# Our choice: far above any report, and below a size that would fill the memory.
MAX_BYTES = 20_000_000

T = TypeVar("T")


class TablesError(ValueError):
    """Error for a file that is not a report.

    The message states the file's contents and a report's contents, and suggests a solution.
    """


@immutable_value
class Column:
    """One column: `key` finds the cell in a row, `label` and `unit` are for people."""

    key: str
    label: str
    # "" for a number without a unit, and for text.
    unit: str = ""


@immutable_value
class ResultTable:
    """One table; every row has a cell for every column's key, and no other."""

    id: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Cell], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise TablesError for a row that does not fit the columns, and for a number that is not finite."""
        keys = [column.key for column in self.columns]
        if not keys or len(set(keys)) != len(keys):
            raise TablesError(f"Table {self.id!r} needs at least one column, each with its own key, got {keys}")
        for number, row in enumerate(self.rows, start=1):
            if set(row) != set(keys):
                odd = sorted(set(row) ^ set(keys))
                raise TablesError(
                    f"Row {number} of table {self.id!r} and its columns differ in {odd}. Fill every cell."
                )
            for key, cell in row.items():
                if isinstance(cell, float) and not math.isfinite(cell):
                    raise TablesError(
                        f"Numbers of a table must be finite, got {cell} in {key!r} of row {number} of table "
                        f"{self.id!r}. Use None, and explain it in a note."
                    )

    def values(self, key: str) -> tuple[Cell, ...]:
        """Return one column from top to bottom."""
        return tuple(row[key] for row in self.rows)


@immutable_value
class Report:
    """The results of one command, which the command, the seed and the versions reproduce."""

    title: str
    # The paper whose figures are shown beside dpviz's figures.
    source: str
    command: str
    seed: int
    # Runs of each setting, unless a table states otherwise.
    runs: int
    # Library -> version.
    versions: Mapping[str, str]
    tables: tuple[ResultTable, ...]

    def __post_init__(self) -> None:
        """Raise TablesError when two tables share an id."""
        ids = [table.id for table in self.tables]
        if len(set(ids)) != len(ids):
            raise TablesError(f"tables must have different ids, got {ids}.")

    def table(self, table_id: str) -> ResultTable:
        """Return the table with this id; raises KeyError."""
        for table in self.tables:
            if table.id == table_id:
                return table
        raise KeyError(f"table_id must be one of {[table.id for table in self.tables]}, got {table_id!r}.")


def write_tables(report: Report, path: str | Path) -> None:
    """Write `report` as JSON for `read_tables`. Creates the folder, replaces an older file."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    fields = asdict(report)
    tables = []
    for table in fields.pop("tables"):
        rows, notes = table.pop("rows"), table.pop("notes")
        head = json.dumps(table, ensure_ascii=False, allow_nan=False)[:-1]
        # One row per line, so that a changed figure shows as one changed line.
        lines = ",\n".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
        tables.append(f'{head}, "rows": [\n{lines}\n], "notes": {json.dumps(notes, ensure_ascii=False)}}}')
    head = json.dumps(fields, ensure_ascii=False, allow_nan=False, indent=1)[:-2]
    body = ",\n".join(tables)
    target.write_text(f'{head},\n "tables": [\n{body}\n]}}\n', "utf-8")


def read_tables(path: str | Path) -> Report:
    """Read a report of `write_tables`.

    Raises TablesError, in words for a reader of the page, for a file that is missing, too large, not JSON, from a
    different version, or contains anything except text and finite numbers.
    """
    name = Path(path).name
    way_out = "Write the file again with `python -m benchmarks.papers` in a clone, or `dpviz experiments audit`."
    try:
        if Path(path).stat().st_size > MAX_BYTES:
            raise TablesError(f"it is larger than {MAX_BYTES:,} bytes")
        parsed, place = json.loads(Path(path).read_text("utf-8"), parse_constant=_no_constant), "the file"
        versions = _field(parsed, "versions", dict, place)
        return Report(
            title=_field(parsed, "title", str, place),
            source=_field(parsed, "source", str, place),
            command=_field(parsed, "command", str, place),
            seed=_field(parsed, "seed", int, place),
            runs=_field(parsed, "runs", int, place),
            versions={library: _field(versions, library, str, "the versions") for library in versions},
            tables=tuple(_table(table) for table in _field(parsed, "tables", list, place)),
        )
    except OSError as error:
        raise TablesError(f"The tables {name} could not be read ({error.strerror}). {way_out}") from None
    except RecursionError:
        raise TablesError(f"The tables {name} are nested too deep to be a report. {way_out}") from None
    # Not UTF-8, not JSON, or not a report.
    except ValueError as error:
        raise TablesError(f"The tables {name} are not a report: {error}. {way_out}") from None


def _no_constant(name: str) -> None:
    raise TablesError(f"numbers must be finite, got {name}")


def _table(parsed: object) -> ResultTable:
    place = f"table {_field(parsed, 'id', str, 'a table')!r}"
    rows = [_checked(row, dict, f"a row of {place}") for row in _field(parsed, "rows", list, place)]
    for key, cell in (item for row in rows for item in row.items()):
        if isinstance(cell, bool) or not isinstance(cell, str | int | float | None):
            raise TablesError(f"cell {key!r} of {place} must be text or a number, got {type(cell).__name__}")
    return ResultTable(
        id=_field(parsed, "id", str, place),
        title=_field(parsed, "title", str, place),
        caption=_field(parsed, "caption", str, place),
        columns=tuple(
            Column(*(_field(column, name, str, f"a column of {place}") for name in ("key", "label", "unit")))
            for column in _field(parsed, "columns", list, place)
        ),
        rows=tuple(rows),
        notes=tuple(_checked(note, str, f"a note of {place}") for note in _field(parsed, "notes", list, place)),
    )


def _field(parsed: object, name: str, kind: type[T], place: str) -> T:
    """Return parsed[name], which must be of type `kind`."""
    if not isinstance(parsed, dict) or name not in parsed:
        raise TablesError(f"{place} has no {name!r}")
    return _checked(parsed[name], kind, f"{name!r} of {place}")


def _checked(value: object, kind: type[T], what: str) -> T:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TablesError(f"{what} must be {kind.__name__}, got {type(value).__name__}")
    return value
