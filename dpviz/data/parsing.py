"""From text to named columns of numbers or text: separator, rows above the table, header.

What is not set by hand (`TableFormat`) is read off the first rows:

- The separator is the one under which most rows are as wide as the header. Of several, a comma is the last: it stands
  in names and numbers, too.
- Rows above the header are narrower than the table, and the header has names: they are left out, and that is said.
- The first row is a header if one of its words stands above numbers. Otherwise it is a record if it holds nothing but
  numbers, one with a fraction, or several; and if all of its words occur again below. Numbers that count up beside
  words, as years do, are names.
"""

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpviz.data.columns import Columns
from dpviz.data.decoding import UPLOADED, Limits, TableError, shown
from dpviz.data.numerals import MISSING_CELLS, number_of, typed
from dpviz.data.table_format import NO_SEPARATOR, READ_OFF, SEPARATORS, TableFormat

SNIFFED = 1_000_000  # characters in which the header must end
SNIFFED_ROWS = 50
PROBED = 1_000  # rows below the first one in which its words are looked for
# A file of one column has no separator; the unit separator occurs in no text, so commas in it stay decimal.
UNUSED = "\x1f"
YEARS = range(1500, 2201)  # that a header may count, ours
BY_HAND = "set separator or header row by hand"


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where a table begins in a text, and how it is cut into cells."""

    sep: str
    n_columns: int
    begin: int  # of the header in the text, characters
    n_above: int  # rows above it
    has_row_names: bool  # the header lacks the name of the first column


def parse(text: str, limits: Limits = UPLOADED, reading: TableFormat = READ_OFF) -> Columns:
    """Split `text` into columns. Raises TableError when it is no table of at least one record within `limits`."""
    text = text.lstrip("\r\n")
    separator, text = _declared_separator(text)
    layout = _layout(text, reading, separator if reading.sep is None else reading.sep)
    limits.refuse_size(1, layout.n_columns)
    cells = _cells(text[layout.begin :], layout, limits)
    notes = _above_note(layout.n_above)
    if layout.has_row_names:
        cells.iloc[0] = ["", *cells.iloc[0].tolist()[:-1]]
        notes = (*notes, "The header has one name less than rows have cells, so the first column has row names.")
    return _named(cells, notes, layout.sep, None, reading)


def parse_cells(
    cells: pd.DataFrame, stored: Mapping[Any, NDArray[np.bool_]] | None = None, reading: TableFormat = READ_OFF
) -> Columns:
    """Make columns of stripped strings (rows, columns) with a header; raises TableError without a record.

    `stored` says which cells of a column are numbers of the format itself, not text (see `numerals.typed`).
    """
    first = cells.iloc[: SNIFFED_ROWS + (reading.header if isinstance(reading.header, int) else 0)]
    above = _n_above([(0, row) for row in first.to_numpy(dtype=object).tolist()], reading)
    below = {key: rows[above:] for key, rows in (stored or {}).items()}
    return _named(cells.iloc[above:], _above_note(above), NO_SEPARATOR, below, reading)


def _named(
    cells: pd.DataFrame,
    notes: tuple[str, ...],
    sep: str,
    stored: Mapping[Any, NDArray[np.bool_]] | None,
    reading: TableFormat,
) -> Columns:
    """Take the names from row 0 where it is a header, leave out empty rows, and make columns."""
    names, more, has_header = _header(cells, reading)
    keep = ~(cells == "").all(axis=1).to_numpy()
    keep[0] &= not has_header
    n_blank = int(len(keep) - keep.sum()) - has_header
    if not keep.any():
        raise TableError("The file had a header but no records, but it must have at least one. Choose another file.")
    if n_blank:
        more = (*more, f"{n_blank} rows without any cell were left out.")
    kept = {key: rows[keep] for key, rows in (stored or {}).items()}
    return typed(cells.loc[keep], names, (*notes, *more), sep=sep, stored=kept, reading=reading)


def _above_note(n_above: int) -> tuple[str, ...]:
    rows = "1 row above the header was" if n_above == 1 else f"{n_above} rows above the header were"
    return (f"{rows} left out.",) if n_above else ()


def _declared_separator(text: str) -> tuple[str | None, str]:
    """Take the first line 'sep=;' that spreadsheets write, and return its separator and the rest of the text."""
    if match := re.match(r"sep=(.)\r?\n", text, flags=re.IGNORECASE):
        if match[1] not in SEPARATORS:
            raise TableError(f"The file declared the separator {shown(match[1])}, but it must be , ; | or a tab.")
        return match[1], text[match.end() :].lstrip("\r\n")
    return None, text


def _layout(text: str, reading: TableFormat, sep: str | None) -> _Layout:
    """Return the separator under which most of the first rows are as wide as the header, and where that is."""
    if sep is not None:
        return _laid_out(text, reading, sep)[1]
    found = [_laid_out(text, reading, each) for each in SEPARATORS]
    wide = [each for each in found if each[1].n_columns > 1]
    return max(wide, key=lambda each: each[0])[1] if wide else _laid_out(text, reading, NO_SEPARATOR)[1]


def _laid_out(text: str, reading: TableFormat, sep: str) -> tuple[tuple[float, bool, int], _Layout]:
    """Return how a text is cut by a separator, after how well that fits."""
    rows = _rows(text, sep or UNUSED, reading)
    if not rows:
        return (0.0, False, 0), _Layout(sep, 1, 0, 0, has_row_names=False)
    above = _n_above(rows, reading)
    table = [row for _, row in rows[above:]]
    has_row_names = reading.header is not None and _has_row_names(table)
    width = len(table[0]) + has_row_names if reading.header is not None else max(map(len, table))
    fitting = sum(len(row) == width or _width(row) == _width(table[0]) for row in table)
    return (fitting / len(table), sep != ",", width), _Layout(sep, width, rows[above][0], above, has_row_names)


def _n_above(rows: Sequence[tuple[int, Sequence[str]]], reading: TableFormat) -> int:
    """Return how many rows stand above the header, as set or as read off; raises TableError beyond the last."""
    if reading.header is None:
        return 0
    if reading.header == "infer":
        return _first(rows)
    if reading.header >= len(rows):
        raise TableError(
            f"The header was to be row {reading.header + 1}, but there are {len(rows)} rows that are not empty. Choose "
            "an earlier row."
        )
    return reading.header


def _rows(text: str, separator: str, reading: TableFormat) -> list[tuple[int, list[str]]]:
    """Return where each of the first rows begins that has a cell, and its cells, up to one too large to sniff."""
    found: list[tuple[int, list[str]]] = []
    ends = [0]

    def lines() -> Iterator[str]:
        for line in io.StringIO(text[:SNIFFED], newline=""):
            ends[0] += len(line)
            yield line

    most = SNIFFED_ROWS + (reading.header if isinstance(reading.header, int) else 0)
    try:
        reader = csv.reader(lines(), delimiter=separator, skipinitialspace=separator == " ")
        begin = 0
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells):
                found.append((begin, cells))
            if len(found) == most:
                break
            begin = ends[0]
    except csv.Error:
        return found
    # The last row may be cut off in the middle.
    return found[:-1] if len(text) > SNIFFED and 1 < len(found) < most else found


def _width(row: Sequence[str]) -> int:
    """Return the place of the last cell of a row that is not empty."""
    return max((place for place, cell in enumerate(row, start=1) if cell), default=0)


def _first(rows: Sequence[tuple[int, Sequence[str]]]) -> int:
    """Return how many narrow rows stand above the header; 0 where that is not sure."""
    widths = [_width(row) for _, row in rows]
    common = Counter(widths[len(widths) // 2 :]).most_common()
    width = max((each for each, count in common if count == common[0][1]), default=0)
    above = next((place for place, each in enumerate(widths) if each >= width), 0)
    if not above:
        return 0
    header, below = rows[above][1], [row for _, row in rows[above + 1 :]]
    numbers = [value for cell in header if (value := number_of(cell)) is not None]
    is_full = _width(header) == sum(bool(cell) for cell in header)
    has_names = is_full and (not numbers or _count_up(numbers)) and not _is_record(header, below)
    has_numbers = any(number_of(cell) is not None for row in below for cell in row)
    return above if has_names and has_numbers else 0


def _has_row_names(table: Sequence[Sequence[str]]) -> bool:
    """Say whether the header has no name for the numbers or texts that count the rows, as R writes tables."""
    header, below = table[0], table[1:]
    if len(header) < 2 or len(below) < 2 or any(len(row) != len(header) + 1 or not row[-1] for row in below):
        return False
    first = [row[0] for row in below]
    counted = first == [str(i) for i in range(1, len(first) + 1)]
    words = all(number_of(cell) is None and cell for cell in first) and len(set(first)) == len(first)
    return (counted or words) and not _is_record(header, below)


def _cells(text: str, layout: _Layout, limits: Limits) -> pd.DataFrame:
    """Return all cells as stripped strings (rows, n_columns), the header in row 0."""
    n_columns = layout.n_columns
    n_lines = max(text.count("\n"), text.count("\r"))
    most = n_lines if limits.n_rows is None else limits.n_rows
    limits.refuse_size(min(n_lines, most), n_columns)
    try:
        # One more column than the header has catches rows that are too long; names keep pandas from guessing.
        frame = pd.read_csv(
            io.StringIO(text),
            sep=r"\s+" if layout.sep == " " else layout.sep or UNUSED,
            header=None,
            names=list(range(n_columns + 1)),
            index_col=False,
            dtype=str,
            na_filter=False,
            engine="c",
            nrows=most + 2,
        )
    except (ValueError, OverflowError, csv.Error) as error:
        raise _parser_error(error, layout) from None
    if frame.empty:
        raise TableError("The file had no header line, but it must begin with one. Choose another file.")
    frame = pd.DataFrame({key: frame[key].str.strip() for key in frame})
    overflow = (frame[n_columns] != "").to_numpy()
    if overflow.any():
        raise _too_long(layout.n_above + int(np.argmax(overflow)) + 1, n_columns)
    limits.refuse_size(len(frame) - 1, n_columns)
    return frame.drop(columns=n_columns)


def _parser_error(error: Exception, layout: _Layout) -> TableError:
    """Translate what pandas says, which may hold cells, into what a person needs."""
    message = str(error)
    if match := re.search(r"Expected \d+ fields in line (\d+), saw \d+", message):
        return _too_long(layout.n_above + int(match[1]), layout.n_columns)
    if "EOF inside string" in message:
        return TableError('The file had a quote (") that never closes, but quotes must come in pairs. Repair it.')
    return TableError("The file could not be split into cells, but it must be CSV text. Save the table as CSV again.")


def _too_long(row: int, n_columns: int) -> TableError:
    return TableError(
        f"Row {row} of the file had more cells than the header, which has {n_columns}. "
        f'Put cells that hold the separator into quotes ("), or {BY_HAND}.'
    )


def _header(cells: pd.DataFrame, reading: TableFormat) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Return unique column names, notes on what was changed, and whether row 0 is a header at all."""
    first, *below = cells.iloc[: PROBED + 1].to_numpy(dtype=object).tolist()
    is_record = reading.header is None or (reading.header == "infer" and _is_record(first, below))
    if is_record:
        names = tuple(f"column {i}" for i in range(1, len(first) + 1))
        note = ("The first row holds values, so it was read as a record, not as a header.",)
        return names, note if reading.header == "infer" else (), False
    names, notes = column_names(first)
    numbers = [cell for cell in first if number_of(cell) is not None]
    if reading.header == "infer" and numbers and not _is_counted(first):
        notes = (*notes, f"The header has a number for a name: {shown(numbers[0])}.")
    return names, notes, True


def _is_record(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Say whether the first row of a table is a record, by its own cells and those of the rows below."""
    values = [number_of(cell) for cell in first]
    numbers = [value for value in values if value is not None]
    words = [i for i, cell in enumerate(first) if values[i] is None and cell.lower() not in MISSING_CELLS]
    if _is_counted(first) or any(_is_numeric(row[i] for row in below[:SNIFFED_ROWS] if i < len(row)) for i in words):
        return False
    again = [any(i < len(row) and row[i] == first[i] for row in below) for i in words]
    if not numbers:
        # A header that stands in a file twice has names that differ; values of one column often do not.
        is_repeated = len(set(first)) == len(first) and any(list(row) == list(first) for row in below)
        return bool(words) and all(again) and not is_repeated
    if (words or not first[0]) and _count_up(numbers):
        return any(again)
    return len(numbers) > 1 or not words or numbers[0] % 1 != 0 or all(again)


def _is_numeric(cells: Iterable[str]) -> bool:
    """Say whether cells that are not missing are all numbers, and whether there are any."""
    given = [cell for cell in cells if cell.lower() not in MISSING_CELLS]
    return bool(given) and all(number_of(cell) is not None for cell in given)


def _is_counted(first: Sequence[str]) -> bool:
    """Say whether a row is the header that pandas writes for an array: 0, 1, 2, with or without a nameless index."""
    counted = first[1:] if first[0] == "" else first
    return len(first) > 1 and list(counted) == [str(i) for i in range(len(counted))]


def _count_up(numbers: Sequence[float]) -> bool:
    """Say whether numbers count up as names do: from 0 or 1 by ones, in three or more equal steps, or as years."""
    steps = [later - earlier for earlier, later in pairwise(numbers)]
    if not all(step > 0.0 for step in steps):
        return False
    is_even = all(math.isclose(step, steps[0]) for step in steps)
    return all(value in YEARS for value in numbers) or (
        is_even and (len(numbers) > 2 or (len(numbers) == 2 and numbers[0] in (0, 1) and steps[0] == 1))
    )


def column_names(given: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return printable, unique names for the columns that a file calls `given`, and notes on what was changed."""
    return _unique(_clean_name(cell) for cell in given)


def _clean_name(cell: str) -> str:
    """Make a header cell one printable line of at most 60 characters."""
    words = "".join(character if character.isprintable() else " " for character in cell).split()
    return " ".join(words)[:60].strip()


def _unique(given: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Name empty headers by their place and number repeated ones; say so in notes."""
    names: list[str] = []
    notes: list[str] = []
    wanted = list(given)
    taken = set(wanted)
    for place, name in enumerate(wanted, start=1):
        made, copy = name, 2
        if not name:
            made = f"column {place}"
            notes.append(f"Column {place} had no name and is called {shown(made)}.")
        while made in names or (made != name and made in taken):
            made = f"{name or f'column {place}'} ({copy})"
            copy += 1
        if name and made != name:
            notes.append(f"The name {shown(name)} occurred again in column {place}, now {shown(made)}.")
        names.append(made)
    return tuple(names), tuple(notes)
