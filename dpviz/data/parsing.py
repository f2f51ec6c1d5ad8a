"""Parses CSV text, and cells of other formats, into named columns of numbers or text.

**Layout.** Settings that are not made by hand (`TableFormat`) are inferred from the first rows:

- The separator is the one under which most rows are as wide as the header. Among several such separators, a comma comes
  last, because it also occurs in names and numbers. Blanks separate cells if every row then has equally many cells, two
  of them numbers.
- Rows above the header are narrower than the table, and the header has names. These rows are left out, with a note. A
  narrower row is the header itself, without the last names, if its words are above numbers and a record follows.
- The first row is a header if one of its words is above numbers. Otherwise it is a record if it contains only numbers,
  a number with a fraction, or several numbers, and also if all of its words occur again below. Ascending numbers next
  to words, like years, are names.

**Numbers** have a decimal point (1234.5, 1,234.5) or a decimal comma (1234,5, 1.234,5); spaces and apostrophes may
separate thousands in both (1 234.5, 1'234,5). Thousands come in groups of three after a digit other than zero. A column
contains numbers if one of the two notations fits every cell that is not missing; currency and percent signs are left
out if every cell has one.

1. A column that only one notation fits is read in it: 12.50, 0.125 and 1,234,567 have no other reading.
2. A column that both notations fit (1,240 next to 980) is read in the notation of the columns that only one fits, if
   these columns agree. `Columns.doubts` reports it if the column's own whole numbers contradict that, as in 3.
3. If they do not agree, or if there are none, such columns are read in the likelier notation, and `Columns.doubts`
   reports it. A comma more often separates thousands, and a point is more often a decimal sign. For a point, and for a
   comma if semicolons separate cells, whole numbers in the same column decide: if their median is more than 30 times
   as large as that of the numbers with the sign, like 980 next to 1.240, the sign separates thousands. A comma without
   whole numbers in its column is a decimal sign if semicolons separate cells.

**Dates** (2024-05-01, with a time or without; 1.5.2024) become days since DAY_ZERO, as spreadsheets count them, if
every cell of a column is in the calendar. Times with a zone are brought to UTC.

**Text** is every other column. A note gives the reason for each of them.

So the notation depends on all cells of a file, and a guarantee takes it as given. `TableFormat` sets it by hand, as a
public input. Numbers that a format stores as numbers are not involved.
"""

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpviz.core import FloatArray, frozen, immutable, immutable_value
from dpviz.data.files import (
    DOTTED_DATE,
    ISO_DATE,
    NO_SEPARATOR,
    READ_OFF,
    SEPARATORS,
    UPLOADED,
    Beginning,
    Columns,
    Limits,
    TableError,
    TableFormat,
    Texts,
    day_of,
    listed,
    quoted,
)
from dpviz.data.geography import most_degrees

# Characters in which the header must end.
SNIFFED = 1_000_000
SNIFFED_ROWS = 50
# Rows below the first one in which its words are looked up.
HEADER_PROBED = 1_000
# A file of one column has no separator. The unit separator occurs in no text, so commas in the column remain decimal.
UNUSED = "\x1f"
# Maximum number of cells and characters of a line that is shown.
SHOWN_CELLS, MOST_LINE = 6, 80
# Years that may be column names. Our choice.
YEARS = range(1500, 2201)
DRAWN = re.compile(r"|:-+:?|-+:|-{3,}")
NAMES_ROWS = re.compile(r"(^|[_\W])(name|id|key|nr|no|number|person|place|country|city|town|state|region|date|time)$")
BY_HAND = "set separator or header row by hand"

POINT, COMMA = ".", ","
# Includes non-breaking spaces, thin spaces, and thin non-breaking spaces.
SPACES = " \u00a0\u2007\u2009\u202f"
APOSTROPHES = "'’"
OTHER = {POINT: COMMA, COMMA: POINT}
SIGN_NAMES = {POINT: "point", COMMA: "comma"}
# About the root of 1000. It decides which of two readings brings whole numbers closer to the others. Our choice.
STEP = 30.0
# Cells that are checked before all cells are.
PROBED = 100
GROUPING = rf"[.,{SPACES}{APOSTROPHES}]"
BLANK = rf"[\s{SPACES}]?"
CURRENCY = r"[$€£¥]"
PRICE = rf"[+\-−]?{BLANK}(?:{CURRENCY}{BLANK}[^$€£¥]*|[^$€£¥]*?{BLANK}{CURRENCY})"
PERCENT = rf"[^%]*[0-9.,]{BLANK}%"
ZONE = r":[0-9.]+[+-][0-9]{2}:?[0-9]{2}$"
MISSING_CELLS = frozenset({"", "na", "n/a", "nan", "-nan", "null", "none", "nil", "<na>", "n.a.", "(null)", r"\n"})
MISSING_CELLS |= {".", "..", "...", "…", "-", "--", "---", "–", "—", "?", ":"}
# Errors of spreadsheets.
MISSING_CELLS |= {"#div/0!", "#null!", "#value!", "#ref!", "#name?", "#num!", "#n/a"}
# Errors of German spreadsheets.
MISSING_CELLS |= {"#nv", "#wert!", "#bezug!", "#zahl!"}


@immutable_value
class _Layout:
    """The beginning of a table in a text, and its division into cells."""

    # Fit of the separator to the text; higher is better.
    fit: tuple[float, bool, int]
    sep: str
    n_columns: int
    # Position of the header in the text, characters.
    begin: int
    # Number of rows above the header.
    n_above: int
    # Whether the header lacks the name of the first column.
    has_row_names: bool
    # The first lines, as shown to a person.
    lines: tuple[str, ...]


def parse(text: str, limits: Limits = UPLOADED, reading: TableFormat = READ_OFF) -> Columns:
    """Split `text` into columns. Raises TableError unless it is a table of at least one record within `limits`."""
    text = text.lstrip("\r\n")
    sep = reading.sep
    # A first line that spreadsheets write.
    if match := re.match(r"sep=(.)\r?\n", text, flags=re.IGNORECASE):
        if match[1] not in SEPARATORS:
            raise TableError(f"The separator that the file declares must be , ; | or a tab, got {quoted(match[1])}.")
        sep, text = match[1] if sep is None else sep, text[match.end() :].lstrip("\r\n")
    # By default, it is the separator under which most of the first rows are as wide as the header.
    if sep is None:
        layouts = [_layout(text, reading, each) for each in SEPARATORS]
        wide = [each for each in layouts if each.n_columns > 1]
        layout = max(wide, key=lambda each: each.fit) if wide else _layout(text, reading, NO_SEPARATOR)
        if layout.sep in (NO_SEPARATOR, ",") and _are_separated_by_blanks(text, is_alone=not wide):
            layout = _layout(text, reading, " ")
    else:
        layout = _layout(text, reading, sep)
    try:
        limits.refuse_size(1, layout.n_columns)
        cells = _cells(text[layout.begin :], layout, limits)
        notes: tuple[str, ...] = ("Blanks were read as separators.",) if sep is None and layout.sep == " " else ()
        if layout.has_row_names:
            cells.iloc[0] = ["", *cells.iloc[0].tolist()[:-1]]
            notes = ("The header has one name fewer than rows have cells, so the first column has row names.",)
        return _named(cells, layout.lines, layout.n_above, notes, layout.sep, (), reading)
    # Choosing a different row for the names may solve the problem.
    except TableError as error:
        error.beginning = Beginning(nonprivate_lines=layout.lines)
        raise


def parse_cells(
    cells: pd.DataFrame, stored: Sequence[NDArray[np.bool_]] = (), reading: TableFormat = READ_OFF
) -> Columns:
    """Make columns of stripped strings (rows, columns) with a header; raises TableError without a record.

    `stored` marks, for each column, the cells that are numbers of the format itself, not text (see `typed`); () if
    there are none.
    """
    most = SNIFFED_ROWS + (reading.header if isinstance(reading.header, int) else 0)
    first = cells.iloc[:most].to_numpy(dtype=object).tolist()
    lines = _lines(first)
    try:
        above = _n_above([(0, row) for row in first], reading)
        below = [rows[above:] for rows in stored]
        return _named(cells.iloc[above:], lines, above, (), NO_SEPARATOR, below, reading)
    except TableError as error:
        error.beginning = Beginning(nonprivate_lines=lines)
        raise


def _named(
    cells: pd.DataFrame,
    lines: tuple[str, ...],
    n_above: int,
    notes: tuple[str, ...],
    sep: str,
    stored: Sequence[NDArray[np.bool_]],
    reading: TableFormat,
) -> Columns:
    """Take the names from row 0 if it is a header, leave out empty rows, and make columns."""
    names, more, has_header = _header(cells, reading)
    first = cells.iloc[:SNIFFED_ROWS].to_numpy(dtype=object).tolist()
    # The line below the names of a table drawn with characters.
    lines_drawn = np.array([all(map(DRAWN.fullmatch, row)) and sum(map(bool, row)) > 1 for row in first])
    keep = ~(cells == "").all(axis=1).to_numpy()
    keep[: len(first)] &= ~lines_drawn
    keep[0] &= not has_header
    n_blank = int(len(keep) - keep.sum()) - has_header
    if not keep.any():
        raise TableError("The file has a header but no records. Choose another file.")
    if n_blank:
        blank = "row without any cell was" if n_blank == 1 else "rows without any cell were"
        more = (*more, f"{n_blank} {blank} left out.")
    if n_above:
        rows = "1 row above the header was" if n_above == 1 else f"{n_above} rows above the header were"
        notes = (f"{rows} left out.", *notes)
    filled = [rows[keep] for rows in stored]
    columns = typed(cells.loc[keep], names, (*notes, *more), sep=sep, stored=filled, reading=reading)
    return replace(columns, beginning=Beginning((), n_above if has_header else None, lines))


def _lines(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Write the first rows for a person, each in one short line."""
    filled = (", ".join([cell for cell in row if cell][:SHOWN_CELLS]) for row in rows)
    return tuple(" ".join(line[:MOST_LINE].split()) for line in filled)


def _are_separated_by_blanks(text: str, *, is_alone: bool) -> bool:
    """Return True if blanks cut the first rows into equally many cells, with numbers among them.

    At least two cells of every record must be numbers, and all cells if the text has other separators (not `is_alone`).
    """
    rows = [line.split() for line in text[:SNIFFED].splitlines()[: SNIFFED_ROWS + 1] if line.strip()][:SNIFFED_ROWS]
    widths, records = {len(row) for row in rows}, rows[1:]
    if len(rows) < 2 or len(widths) > 1 or widths == {1} or '"' in text[:SNIFFED]:
        return False
    counts = [sum(number_of(cell) is not None for cell in row) for row in records]
    # Blanks separate thousands.
    whole = all(number_of(" ".join(row)) is not None for row in records)
    return not whole and min(counts) >= (2 if is_alone else max(widths))


def _layout(text: str, reading: TableFormat, sep: str) -> _Layout:
    """Return the layout of a text under a separator."""
    rows = _first_rows(text, sep or UNUSED, reading)
    if not rows:
        return _Layout((0.0, False, 0), sep, 1, 0, 0, has_row_names=False, lines=())
    above = _n_above(rows, reading)
    table = [row for _, row in rows[above:]]
    has_row_names = reading.header is not None and _has_row_names(table)
    width = len(table[0]) + has_row_names if reading.header is not None else max(map(len, table))
    fitting = sum(len(row) == width or _width(row) == _width(table[0]) for row in table)
    fit = (fitting / len(table), sep != ",", width)
    return _Layout(fit, sep, width, rows[above][0], above, has_row_names, _lines([row for _, row in rows]))


def _n_above(rows: Sequence[tuple[int, Sequence[str]]], reading: TableFormat) -> int:
    """Return the number of rows above the header, as set or inferred; raises TableError beyond the last row.

    Without the setting, they are the rows narrower than the table; 0 if that is uncertain.
    """
    if reading.header is None:
        return 0
    if reading.header != "infer":
        if reading.header >= len(rows):
            raise TableError(
                f"The chosen header is row {reading.header + 1}, but there are {len(rows)} rows that are not empty. "
                "Choose an earlier row."
            )
        return reading.header
    widths = [_width(row) for _, row in rows]
    common = Counter(widths[len(widths) // 2 :]).most_common()
    width = max((each for each, count in common if count == common[0][1]), default=0)
    above = next((place for place, each in enumerate(widths) if each >= width), 0)
    if not above:
        return 0
    for place in range(above):
        if _lacks_last_names(rows[place][1], [row for _, row in rows[place + 1 :]]):
            return place
    header, below = rows[above][1], [row for _, row in rows[above + 1 :]]
    numbers = [value for cell in header if (value := number_of(cell)) is not None]
    is_full = _width(header) == sum(bool(cell) for cell in header)
    has_names = is_full and (not numbers or _count_up(numbers)) and not _is_record(header, below)
    has_numbers = any(number_of(cell) is not None for row in below for cell in row)
    return above if has_names and has_numbers else 0


def _lacks_last_names(row: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Return True if a narrow row is a header without its last names, and not a title of the table below it.

    It has several words, one of them above numbers, and the numbers of the next row are among the numbers below it.
    That is true for a record's numbers, but not for names that are years.
    """
    names = row[: _width(row)]
    if len(names) < 2 or not all(names) or any(number_of(cell) is not None for cell in names):
        return False

    def cells(place: int, rows: Sequence[Sequence[str]]) -> list[float | None]:
        found = [each[place] for each in rows if place < len(each) and each[place].lower() not in MISSING_CELLS]
        return [number_of(cell) for cell in found]

    columns = [cells(place, below) for place in range(len(names))]
    if not any(column and None not in column for column in columns):
        return False
    for place, cell in enumerate(below[0]):
        value, others = number_of(cell), [each for each in cells(place, below[1:]) if each is not None]
        if value is not None and others:
            room = max(others) - min(others) or abs(others[0]) or 1.0
            if not min(others) - room <= value <= max(others) + room:
                return False
    return True


def _first_rows(text: str, separator: str, reading: TableFormat) -> list[tuple[int, list[str]]]:
    """Return the position and the cells of each of the first rows with a cell, up to a row too large to sniff."""
    rows: list[tuple[int, list[str]]] = []
    lines = list(io.StringIO(text[:SNIFFED], newline=""))
    ends = list(accumulate(map(len, lines)))
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=separator == " ")
    most = SNIFFED_ROWS + (reading.header if isinstance(reading.header, int) else 0)
    try:
        begin = 0
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells):
                rows.append((begin, cells))
            if len(rows) == most:
                break
            begin = ends[reader.line_num - 1]
    except csv.Error:
        return rows
    # The last row may be cut off in the middle.
    return rows[:-1] if len(text) > SNIFFED and 1 < len(rows) < most else rows


def _width(row: Sequence[str]) -> int:
    """Return the place of the last cell of a row that is not empty."""
    return max((place for place, cell in enumerate(row, start=1) if cell), default=0)


def _is_whole(rows: Sequence[Sequence[str]], place: int) -> bool:
    """Return True if all cells of a column are digits, like the parts of a number around a decimal comma."""
    return all(re.fullmatch("-?[0-9]+", row[place]) for row in rows)


def _has_row_names(table: Sequence[Sequence[str]]) -> bool:
    """Return True if the header has no name for the numbers or texts that count the rows, as in R's tables."""
    header, below = table[0], table[1:]
    if len(header) < 2 or len(below) < 2 or any(len(row) != len(header) + 1 or not row[-1] for row in below):
        return False
    first = [row[0] for row in below]
    counted = first == [str(i) for i in range(1, len(first) + 1)]
    words = all(number_of(cell) is None and cell for cell in first) and len(set(first)) == len(first)
    # The header names the first column. So the last name is missing, or decimal commas have no quotes.
    is_named = NAMES_ROWS.search(header[0].lower()) is not None
    constant = [len({row[i] for row in below}) == 1 and _is_whole(below, i) for i in range(len(header) + 1)]
    has_points = any("." in cell for row in below for cell in row)
    is_split = not has_points and any(
        constant[i] and _is_whole(below, i + 1) for i in range(1 if words else 0, len(header))
    )
    return (counted or words) and not is_named and not is_split and not _is_record(header, below)


def _cells(text: str, layout: _Layout, limits: Limits) -> pd.DataFrame:
    """Return all cells as stripped strings (rows, n_columns), the header in row 0."""
    n_columns = layout.n_columns
    n_lines = max(text.count("\n"), text.count("\r"))
    most = n_lines if limits.n_rows is None else limits.n_rows
    limits.refuse_size(min(n_lines, most), n_columns)
    try:
        # One column more than the header catches rows that are too long; names prevent pandas from guessing.
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
        # The message can contain cells.
        message = str(error)
        if match := re.search(r"Expected \d+ fields in line (\d+), saw \d+", message):
            raise _too_long(layout.n_above + int(match[1]), n_columns) from None
        raise TableError(
            'The file has a quote (") that never closes, but quotes must come in pairs. Close or remove it.'
            if "EOF inside string" in message
            else "The file could not be split into cells: it is not CSV text. Save the table as CSV again."
        ) from None
    if frame.empty:
        raise TableError("The file must begin with a header line. Choose another file.")
    frame = pd.DataFrame({key: frame[key].str.strip() for key in frame})
    overflow = (frame[n_columns] != "").to_numpy()
    if overflow.any():
        raise _too_long(layout.n_above + int(np.argmax(overflow)) + 1, n_columns)
    limits.refuse_size(len(frame) - 1, n_columns)
    return frame.drop(columns=n_columns)


def _too_long(row: int, n_columns: int) -> TableError:
    return TableError(
        f"Row {row} of the file has more cells than the header, which has {n_columns}. Name every "
        'column, put cells that contain the separator, such as decimal commas, into quotes ("), or '
        f"{BY_HAND}."
    )


def _header(cells: pd.DataFrame, reading: TableFormat) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Return unique column names, notes about changes, and whether row 0 is a header at all."""
    first, *below = cells.iloc[: HEADER_PROBED + 1].to_numpy(dtype=object).tolist()
    is_record = reading.header is None or (reading.header == "infer" and _is_record(first, below))
    if is_record:
        names = tuple(f"column {i}" for i in range(1, len(first) + 1))
        note = ("The first row holds values, so it was read as a record, not as a header.",)
        return names, note if reading.header == "infer" else (), False
    names, notes = column_names(first)
    numbers = [cell for cell in first if number_of(cell) is not None]
    if reading.header == "infer" and numbers and not _is_counted(first):
        notes = (*notes, f"The header has a number for a name: {quoted(numbers[0])}.")
    return names, notes, True


def _is_record(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Return True if the first row of a table is a record, judged by its own cells and the rows below."""
    values = [number_of(cell) for cell in first]
    numbers = [value for value in values if value is not None]
    words = [i for i, cell in enumerate(first) if values[i] is None and cell.lower() not in MISSING_CELLS]
    if _is_counted(first):
        return False
    for i in words:
        cells = [row[i] for row in below[:SNIFFED_ROWS] if i < len(row) and row[i].lower() not in MISSING_CELLS]
        if cells and all(number_of(cell) is not None for cell in cells):
            # There is a word above numbers.
            return False
    again = [any(i < len(row) and row[i] == first[i] for row in below) for i in words]
    if not numbers:
        # A repeated header has different names; values of one column often repeat.
        is_repeated = len(set(first)) == len(first) and any(list(row) == list(first) for row in below)
        return bool(words) and all(again) and not is_repeated
    if (words or not first[0]) and _count_up(numbers):
        return any(again)
    return len(numbers) > 1 or not words or numbers[0] % 1 != 0 or all(again)


def _is_counted(first: Sequence[str]) -> bool:
    """Return True if a row is pandas' header of an array: 0, 1, 2, with or without a nameless index."""
    counted = first[1:] if first[0] == "" else first
    return len(first) > 1 and list(counted) == [str(i) for i in range(len(counted))]


def _count_up(numbers: Sequence[float]) -> bool:
    """Return True if numbers count up like names: from 0 or 1 by ones, in three or more equal steps, or as years."""
    steps = [later - earlier for earlier, later in pairwise(numbers)]
    if not all(step > 0.0 for step in steps):
        return False
    is_even = all(math.isclose(step, steps[0]) for step in steps)
    return all(value in YEARS for value in numbers) or (
        is_even and (len(numbers) > 2 or (len(numbers) == 2 and numbers[0] in (0, 1) and steps[0] == 1))
    )


def column_names(header: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return printable, unique names for columns, and notes about changes.

    An empty name becomes the column's place, and repeated names are numbered.
    """
    lines = ("".join(character if character.isprintable() else " " for character in cell) for cell in header)
    cleaned = [" ".join(line.split())[:60].strip() for line in lines]
    names: list[str] = []
    notes: list[str] = []
    for place, name in enumerate(cleaned, start=1):
        unique, copy = name, 2
        if not name:
            unique = f"column {place}"
            notes.append(f"Column {place} had no name and is called {quoted(unique)}.")
        while unique in names or (unique != name and unique in cleaned):
            unique = f"{name or f'column {place}'} ({copy})"
            copy += 1
        if name and unique != name:
            notes.append(f"The name {quoted(name)} occurred again in column {place}, now {quoted(unique)}.")
        names.append(unique)
    return tuple(names), tuple(notes)


# Patterns that most cells in a column of text can have, and the advice for each.
TIME = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?"
LOOKS = {
    r"[0-9]{1,4}/[0-9]{1,2}/[0-9]{1,4}(?:\s.*)?": ("its dates have slashes", "Write them like 2024-12-31."),
    rf"(?:{ISO_DATE}|{DOTTED_DATE}(?:\s.*)?)": (
        "one of its dates is not in the calendar, or only some of its times have a zone",
        "Write them like 2024-12-31 18:30.",
    ),
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*"
    r"|[0-9]{1,2}[.-][0-9]{1,2}[.-](?:[0-9]{2}|[0-9]{4})(?:\s.*)?"
    r"|[0-9]{1,2}[. -]+[A-Za-zäöü]{3,9}[., -]+[0-9]{2,4}.*"
    r"|[A-Za-z]{3,9}\.? [0-9]{1,2},? [0-9]{4}.*": (
        "its dates have an unknown form",
        "Write them like 2024-12-31 18:30.",
    ),
    rf"{TIME}.*": ("it has times of day", "Write them as numbers, such as 18.5 for 18:30."),
    r".*[0-9].*[°º].*|[NSEWO]\s?[0-9.,]+|[0-9.,]+\s?[NSEWO]": (
        "its degrees have minutes or directions",
        "Write them as numbers, such as 48.137.",
    ),
    r"(?=.*\d)(?!.*[0-9]).*": ("its digits are from a different script", "Use 0 to 9, with a decimal point."),
}


@immutable
class _Column:
    """A column of text, and the notations that fit it."""

    name: str
    # Cells as in the file, (n,).
    cells: "pd.Series[Any]"
    missing: NDArray[np.bool_]  # (n,)
    # Numbers of the format itself, (n,).
    stored: NDArray[np.bool_]
    # Cells that must be numbers: neither missing, infinite nor stored, (n,).
    counted: NDArray[np.bool_]
    # The counted cells, without currency or percent signs.
    numerals: "pd.Series[Any]"
    # Decimal signs of the notations that fit all of them.
    fits: tuple[str, ...]
    notes: tuple[str, ...]
    # Reason for text, if the column's cells look like numbers.
    why_text: str = ""

    @property
    def is_numeric(self) -> bool:
        """True if the column contains numbers, finite or not."""
        return bool(self.fits) and not self.missing.all()

    def has(self, pattern: str) -> bool:
        """Return True if any of the numerals contains `pattern`."""
        return bool(self.numerals.str.contains(pattern, regex=True).any())

    def values(self, decimal: str) -> FloatArray:
        """Return the cells (n,) as the nearest floats, NaN if they are not numbers; may be infinite."""
        values = np.full(len(self.cells), np.nan)
        values[self.counted] = _floats(self.numerals, decimal)
        if self.stored.any():
            values[self.stored] = _floats(self.cells[self.stored], POINT)
        return values

    def text_notes(self, reading: TableFormat) -> list[str]:
        """Return the reason for text if the column is empty or has digits."""
        name, numerals = quoted(self.name), self.numerals
        if self.missing.all():
            return [f"Column {name} is empty."]
        if self.why_text:
            return [f"Column {name} is text: {self.why_text}."]
        fitting = [numerals.str.fullmatch(number_pattern(sign, reading.thousands)) for sign in reading.decimals]
        if len(fitting) > 1 and (fitting[0] | fitting[1]).all():
            return [f"Column {name} is text: it has decimal points and decimal commas."]
        good = max(fitting, key=lambda fits: int(fits.sum()))
        n_odd, odd = int((~good).sum()), numerals[~good]
        first = f"{quoted(odd.iloc[0])} in row {int(odd.index[0]) + 1:,}"
        if good.any() or self.stored.any():
            return [f"Column {name} is text: {n_odd} of {len(self.cells)} cells are not numbers, first {first}."]
        probe = odd.iloc[:PROBED]
        for pattern, (why, way_out) in LOOKS.items():
            if 2 * int(probe.str.fullmatch(pattern).sum()) > len(probe):
                return [f"Column {name} is text: {why}, first {first}. {way_out}"]
        if probe.str.contains(r"\d", regex=True).any():
            return [f"Column {name} is text: none of its cells is a plain number, first {first}."]
        return []


def typed(
    cells: pd.DataFrame,
    names: tuple[str, ...],
    notes: tuple[str, ...],
    *,
    sep: str = "",
    stored: Sequence[NDArray[np.bool_]] = (),
    reading: TableFormat = READ_OFF,
) -> Columns:
    """Make columns of stripped strings (rows, columns) numbers if all their cells are numbers, text otherwise.

    `sep` separates cells; "" if a format does not need it. `stored` marks, for each column, the cells (rows,) that are
    numbers of the format itself, with a decimal point; () if there are none.
    """
    columns = [
        _column(name, cells[key].reset_index(drop=True), stored[place] if stored else None, reading)
        for place, (name, key) in enumerate(zip(names, cells, strict=True))
    ]
    numeric = [column for column in columns if column.is_numeric]
    doubtful = [column for column in numeric if len(column.fits) > 1 and column.has("[.,]")]
    proofs = {column.fits[0] for column in numeric if len(column.fits) == 1 and column.has("[.,][0-9]")}
    proved = len(proofs) == 1
    shared = reading.decimal or (proofs.pop() if len(proofs) == 1 else _likelier(doubtful, sep))
    decimals = {column.name: column.fits[0] if len(column.fits) == 1 else shared for column in numeric}
    numbers: dict[str, FloatArray] = {}
    texts: dict[str, Texts] = {}
    dates: list[str] = []
    # Columns of text without digits.
    words: list[str] = []
    sentences = [*notes, *_notation_notes(numeric, decimals)]
    for column in columns:
        if column.is_numeric:
            numbers[column.name], more = finite(column.name, column.values(decimals[column.name]), column.missing)
            sentences.extend((*column.notes, *more))
        elif (days := _days(column)) is not None:
            numbers[column.name] = days
            dates.append(column.name)
        else:
            texts[column.name] = frozen(column.cells.mask(column.missing, "").to_numpy(dtype=object))
            why = column.text_notes(reading)
            sentences.extend(why)
            words += [] if why else [column.name]
    # Other columns prove the notation. It may be wrong for a column whose whole numbers are far larger.
    if proved:
        doubtful = [column for column in doubtful if column.has(rf"\{shared}") and _separates_thousands(column, shared)]
    doubts = () if reading.decimal is not None else _doubts(doubtful, shared)
    if words:
        sentences.append(f"Words in {_in(words)} are text.")
    if dates:
        sentences.append(f"Dates in {_in(dates)} count as days.")
    if zoned := [
        each.name for each in columns if each.name in dates and each.cells.str.contains(ZONE, regex=True).any()
    ]:
        sentences.append(f"Times with a zone in {_in(zoned)} were brought to UTC.")
    return Columns(names, len(cells), numbers, texts, (*sentences, *doubts), doubts, decimals, frozenset(dates))


@cache
def number_pattern(decimal: str, thousands: str | None = None) -> str:
    """Return the pattern of numbers with this decimal sign; `thousands` separates them, None means any other sign."""
    signs = (OTHER[decimal], " ", "'") if thousands is None else (thousands,) if thousands else ()
    alike = {" ": SPACES, "'": APOSTROPHES}
    groups = "|".join(rf"(?:[{alike.get(sign, sign)}][0-9]{{3}})+" for sign in signs)
    grouped = rf"|[1-9][0-9]{{0,2}}(?:{groups})(?:\{decimal}[0-9]+)?" if signs else ""
    return rf"[+\-−]?(?:(?:[0-9]+(?:\{decimal}[0-9]*)?|\{decimal}[0-9]+)(?:[eE][+-]?[0-9]+)?{grouped})"


def number_of(text: str, decimal: str = POINT) -> float | None:
    """Return the number in `text`, None for anything else; `decimal` decides if both notations fit."""
    fits = [sign for sign in (decimal, OTHER[decimal]) if re.fullmatch(number_pattern(sign), text)]
    if not fits:
        return None
    return float(re.sub(f"[{OTHER[fits[0]]}{SPACES}{APOSTROPHES}]", "", text).replace("−", "-").replace(COMMA, POINT))


def _days(column: "_Column") -> FloatArray | None:
    """Return a column of dates as days (n,), or None if any cell is not a date."""
    cells = column.cells[~column.missing]
    if column.stored.any() or not len(cells) or not _all(cells, f"{ISO_DATE}|{DOTTED_DATE}"):
        return None
    zoned = cells.str.contains(ZONE, regex=True)
    if zoned.any() and not zoned.all():
        return None
    known = {text: day_of(text) for text in cells.unique()}
    if any(day is None for day in known.values()):
        return None
    values = np.full(len(column.cells), np.nan)
    values[~column.missing] = cells.map(known).to_numpy(dtype=np.float64)
    return frozen(values)


def is_ambiguous(text: str) -> bool:
    """Return True if `text` is two numbers: one with a decimal point, a different one with a decimal comma."""
    return number_of(text, POINT) != number_of(text, COMMA)


def _column(name: str, cells: "pd.Series[Any]", stored: NDArray[np.bool_] | None, reading: TableFormat) -> _Column:
    """Remove signs that all cells have around their numbers, and find the notations that fit."""
    lower = cells.str.lower()
    missing = lower.isin(MISSING_CELLS).to_numpy(dtype=bool)
    finite_ones = ~(missing | lower.str.fullmatch(r"[+-]?inf(?:inity)?").to_numpy(dtype=bool))
    known = np.zeros(len(cells), dtype=np.bool_) if stored is None else stored & finite_ones
    counted = finite_ones & ~known
    numerals, notes, why_text = cells[counted], list[str](), ""
    for pattern, sign, words in (
        (PRICE, rf"{BLANK}{CURRENCY}{BLANK}", "Signs of a currency"),
        (PERCENT, rf"{BLANK}%$", "Percent signs"),
    ):
        if len(numerals) and _all(numerals, pattern):
            signs = sorted({*"".join(numerals.str.findall(CURRENCY).explode().dropna().unique())})
            if len(signs) > 1:
                why_text = f"it has several currencies ({', '.join(signs)}). Keep one of them, or convert all to one"
                continue
            numerals = numerals.str.replace(sign, "", regex=True)
            notes.append(f"{words} in column {quoted(name)} were left out.")
    fits = tuple(sign for sign in reading.decimals if _all(numerals, number_pattern(sign, reading.thousands)))
    most = most_degrees(name)
    if most is not None and fits and len(numerals) and numerals.str.contains(GROUPING, regex=True).any():
        within = tuple(sign for sign in fits if np.abs(_floats(numerals, sign)).max() <= most)
        if not within:
            row = int(np.argmax(np.abs(_floats(numerals, fits[0])) > most))
            why_text = f"{quoted(numerals.iloc[row])} is more than {most:g} degrees. Write it with one decimal sign"
        fits = within
    return _Column(name, cells, missing, known, counted, numerals, fits, tuple(notes), why_text)


def _all(cells: "pd.Series[Any]", pattern: str) -> bool:
    """Return True if every cell fits `pattern`. The first cells identify a column of text."""
    first, rest = cells.iloc[:PROBED], cells.iloc[PROBED:]
    fits = bool(first.str.fullmatch(pattern).all())
    return fits and (rest.empty or bool(rest.str.fullmatch(pattern).all()))


def _likelier(doubtful: Sequence[_Column], sep: str) -> str:
    """Return the decimal sign of the notation that is likelier for most of the columns that both notations fit."""
    # Semicolons decide a tie.
    lead = 0.5 if doubtful and sep == ";" else 0.0
    for column in doubtful:
        sign = COMMA if column.has(COMMA) else POINT
        separates = (sign == COMMA and sep != ";") or _separates_thousands(column, sign)
        lead += 1 if separates == (sign == POINT) else -1
    return COMMA if lead > 0 else POINT


def _separates_thousands(column: _Column, sign: str) -> bool:
    """Return True if a column's whole numbers are as large as if `sign` separated thousands in its other numbers."""
    has_sign = column.numerals.str.contains(sign, regex=False)
    whole, others = (np.abs(_floats(column.numerals[rows], sign)) for rows in (~has_sign, has_sign))
    whole = whole[whole > 0]
    return bool(whole.size and np.median(whole) > STEP * np.median(others))


def _floats(numerals: "pd.Series[Any]", decimal: str) -> FloatArray:
    between = f"[{OTHER[decimal]}{SPACES}{APOSTROPHES}]"
    plain = numerals.str.replace(between, "", regex=True).str.replace("−", "-", regex=False)
    plain = plain.str.replace(COMMA, POINT, regex=False) if decimal == COMMA else plain
    return plain.to_numpy(dtype=object).astype(np.float64)


def finite(name: str, values: FloatArray, missing: NDArray[np.bool_]) -> tuple[FloatArray, tuple[str, ...]]:
    """Return `values` (n,) with NaN for infinite ones, and a note if some of these were not `missing` (n,)."""
    is_finite = np.isfinite(values)
    n_infinite = int((~is_finite & ~missing).sum())
    note = (f"Column {quoted(name)} has {n_infinite} infinite cells, which count as missing.",) if n_infinite else ()
    return frozen(np.where(is_finite, values, np.nan)), note


def _notation_notes(numeric: Sequence[_Column], decimals: Mapping[str, str]) -> list[str]:
    """Report decimal commas, and separators of thousands that were removed."""
    commas = [each.name for each in numeric if decimals[each.name] == COMMA and each.has(COMMA)]
    points = [each.name for each in numeric if decimals[each.name] == POINT and each.has(r"\.")]
    grouped = [each.name for each in numeric if each.has(f"[{OTHER[decimals[each.name]]}{SPACES}{APOSTROPHES}]")]
    notes = []
    if commas:
        where = f" in {_in(commas)}, points in {_in(points)}" if points else ""
        notes.append(f"Commas were read as decimal signs{where}.")
    if grouped:
        notes.append(f"Separators of thousands in {_in(grouped)} were left out.")
    return notes


def _doubts(doubtful: Sequence[_Column], decimal: str) -> tuple[str, ...]:
    """Report the other possible reading of the `doubtful` columns, without any of their cells."""
    sentences = []
    for sign, name in SIGN_NAMES.items():
        columns = [each.name for each in doubtful if each.has(rf"\{sign}")]
        if columns:
            meaning = "a decimal sign" if sign == decimal else "a separator of thousands"
            example = f"1{sign}234 is {'1.234' if sign == decimal else '1234'}"
            other = "separates thousands" if sign == decimal else "is a decimal sign"
            sentences.append(
                f"Every {name} in {_in(columns)} is followed by three digits. It was read as {meaning}: {example}. "
                f"If it {other}, set the decimal sign."
            )
    return tuple(sentences)


def _in(names: Sequence[str]) -> str:
    return f"{'column' if len(names) == 1 else 'columns'} {listed(names)}"
