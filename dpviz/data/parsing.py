"""From text to named columns of numbers or text: separator, header, decimal sign, missing cells."""

import csv
import io
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpviz.core import FloatArray, frozen
from dpviz.data.columns import Columns, Texts
from dpviz.data.decoding import UPLOADED, Limits, TableError, shown

SEPARATORS = (",", ";", "\t", "|")
SNIFFED = 1_000_000  # characters in which the header must end
SNIFFED_ROWS = 50
# A file of one column has no separator; the unit separator occurs in no text, so commas in it stay decimal.
NO_SEPARATOR = "\x1f"

# Written without separator of thousands, because "1,234" cannot be told from a decimal comma.
NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
COMMA_NUMBER = NUMBER.replace(r"\.", ",")
DOT_FRACTION = r"[+-]?[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?"
COMMA_FRACTION = DOT_FRACTION.replace(r"\.", ",")
CURRENCY = r"[$€£¥]"
PRICE = rf"([+-]?)\s?(?:{CURRENCY}\s?([^$€£¥]*)|([^$€£¥]*?)\s?{CURRENCY})"
# Thousands are told from decimals only where both signs occur: in 1.234,5 and 1,234.5. (how they are written, of both)
GROUPED = (
    (r"[+-]?(?:[0-9]{1,3}(?:\.[0-9]{3})+|[0-9]+)(?:,[0-9]+)?", r"[+-]?[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+", ".", ","),
    (r"[+-]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?", r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+\.[0-9]+", ",", "."),
)
INFINITE = r"[+-]?inf(?:inity)?"
MISSING_CELLS = frozenset({"", "na", "n/a", "#n/a", "nan", "-nan", "null", "none", "nil", ".", "-", "?"})


def parse(text: str, limits: Limits = UPLOADED) -> Columns:
    """Split `text` into columns. Raises TableError when it is no table of at least one record within `limits`."""
    text = text.lstrip("\r\n")
    separator, text = _declared_separator(text)
    separator, n_columns = _sniff(text, separator)
    limits.refuse_size(1, n_columns)
    return parse_cells(_cells(text, separator, n_columns, limits))


def parse_cells(cells: pd.DataFrame) -> Columns:
    """Make columns of stripped strings (rows, columns), the header in row 0; raises TableError without a record."""
    names, notes, has_header = _header([str(cell) for cell in cells.iloc[0]])
    cells = cells.iloc[1:] if has_header else cells
    blank = (cells == "").all(axis=1).to_numpy()
    if blank.any() and not blank.all():
        cells = cells.loc[~blank]
        notes = (*notes, f"{int(blank.sum())} rows without any cell were left out.")
    if cells.empty or blank.all():
        raise TableError("The file had a header but no records, but it must have at least one. Choose another file.")
    return typed(cells, names, notes)


def _declared_separator(text: str) -> tuple[str | None, str]:
    """Take the first line 'sep=;' that spreadsheets write, and return its separator and the rest of the text."""
    if match := re.match(r"sep=(.)\r?\n", text, flags=re.IGNORECASE):
        if match[1] not in SEPARATORS:
            raise TableError(f"The file declared the separator {shown(match[1])}, but it must be , ; | or a tab.")
        return match[1], text[match.end() :].lstrip("\r\n")
    return None, text


def _sniff(text: str, declared: str | None) -> tuple[str, int]:
    """Return the separator under which most of the first rows are as wide as the header, and that width."""
    best, best_score, width = NO_SEPARATOR, (0.0, 1), 1
    for separator in SEPARATORS if declared is None else (declared,):
        widths = _widths(text, separator)
        if not widths or widths[0] == 1:
            continue
        score = (widths.count(widths[0]) / len(widths), widths[0])
        if score > best_score:
            best, best_score, width = separator, score, widths[0]
    return best, width


def _widths(text: str, separator: str) -> list[int]:
    """Return the number of cells in each of the first SNIFFED_ROWS rows, up to a cell too large to sniff."""
    widths = []
    try:
        for row in csv.reader(io.StringIO(text[:SNIFFED], newline=""), delimiter=separator):
            if any(cell.strip() for cell in row):
                widths.append(len(row))
            if len(widths) == SNIFFED_ROWS:
                break
    except csv.Error:
        return widths
    # The last row may be cut off in the middle.
    return widths[:-1] if len(text) > SNIFFED and 1 < len(widths) < SNIFFED_ROWS else widths


def _cells(text: str, separator: str, n_columns: int, limits: Limits) -> pd.DataFrame:
    """Return all cells as stripped strings (rows, n_columns), the header in row 0."""
    n_lines = max(text.count("\n"), text.count("\r"))
    most = n_lines if limits.n_rows is None else limits.n_rows
    limits.refuse_size(min(n_lines, most), n_columns)
    try:
        # One more column than the header has catches rows that are too long; names keep pandas from guessing.
        frame = pd.read_csv(
            io.StringIO(text),
            sep=separator,
            header=None,
            names=list(range(n_columns + 1)),
            index_col=False,
            dtype=str,
            na_filter=False,
            engine="c",
            nrows=most + 2,
        )
    except (ValueError, OverflowError, csv.Error) as error:
        raise _parser_error(error, n_columns) from None
    if frame.empty:
        raise TableError("The file had no header line, but it must begin with one. Choose another file.")
    frame = pd.DataFrame({key: frame[key].str.strip() for key in frame})
    overflow = (frame[n_columns] != "").to_numpy()
    if overflow.any():
        raise _too_long(int(np.argmax(overflow)) + 1, n_columns)
    limits.refuse_size(len(frame) - 1, n_columns)
    return frame.drop(columns=n_columns)


def _parser_error(error: Exception, n_columns: int) -> TableError:
    """Translate what pandas says, which may hold cells, into what a person needs."""
    message = str(error)
    if match := re.search(r"Expected \d+ fields in line (\d+), saw \d+", message):
        return _too_long(int(match[1]), n_columns)
    if "EOF inside string" in message:
        return TableError('The file had a quote (") that never closes, but quotes must come in pairs. Repair it.')
    return TableError("The file could not be split into cells, but it must be CSV text. Save the table as CSV again.")


def _too_long(row: int, n_columns: int) -> TableError:
    return TableError(
        f"Row {row} of the file had more cells than the header, which has {n_columns}. "
        'Put cells that hold the separator into quotes ("), or choose another separator.'
    )


def _header(first: list[str]) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Return unique column names, notes on what was changed, and whether row 0 is a header at all."""
    filled = [cell for cell in first if cell]
    counted = len(first) > 1 and first == [str(i) for i in range(len(first))]  # what pandas writes for an array
    if filled and not counted and all(re.fullmatch(NUMBER, cell) for cell in filled):
        names = tuple(f"column {i}" for i in range(1, len(first) + 1))
        return names, ("The first row holds only numbers, so it was read as a record, not as a header.",), False
    names, notes = column_names(first)
    return names, notes, True


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


def typed(cells: pd.DataFrame, names: tuple[str, ...], notes: tuple[str, ...]) -> Columns:
    """Make each column of strings numbers where every cell that is not missing is one, text otherwise."""
    columns = [_without_signs(name, cells[key].reset_index(drop=True)) for name, key in zip(names, cells, strict=True)]
    comma = _decimal_comma([column for column, grouped, _ in columns if not grouped])
    numbers: dict[str, FloatArray] = {}
    texts: dict[str, Texts] = {}
    said = [*notes, "Commas were read as decimal signs."] if comma else list(notes)
    for name, (column, grouped, left_out) in zip(names, columns, strict=True):
        said.extend(left_out)
        comma_here = comma and not grouped
        missing = column.str.lower().isin(MISSING_CELLS)
        infinite = column.str.lower().str.fullmatch(INFINITE)
        is_number = column.str.fullmatch(COMMA_NUMBER if comma_here else NUMBER)
        odd = ~(missing | infinite | is_number)
        if odd.any() or not (is_number | infinite).any():
            texts[name] = frozen(column.where(~missing, "").to_numpy(dtype=object))
            said.extend(_text_note(name, column, odd, n_numbers=int(is_number.sum())))
            continue
        numbers[name], more = finite(name, _floats(column, is_number, comma_here), missing.to_numpy())
        said.extend(more)
    return Columns(names, len(cells), numbers, texts, tuple(said))


def _without_signs(name: str, column: "pd.Series[Any]") -> tuple["pd.Series[Any]", bool, list[str]]:
    """Leave out what a whole column has around its numbers: signs of a currency, separators of thousands.

    Returns the column, whether its decimals are points now, and notes on what was left out.
    """
    given, notes = column[~column.str.lower().isin(MISSING_CELLS)], []
    if len(given) and given.str.fullmatch(PRICE).all():
        given = given.str.replace(rf"\s?{CURRENCY}\s?", "", regex=True)
        notes.append(f"Signs of a currency in column {shown(name)} were left out.")
    for every, telling, thousands, decimal in GROUPED:
        if len(given) and given.str.fullmatch(every).all() and given.str.fullmatch(telling).any():
            given = given.str.replace(thousands, "", regex=False).str.replace(decimal, ".", regex=False)
            notes.append(f"Separators of thousands in column {shown(name)} were left out.")
            return given.reindex(column.index, fill_value=""), True, notes
    return (given.reindex(column.index, fill_value="") if notes else column), False, notes


def finite(name: str, values: FloatArray, missing: NDArray[np.bool_]) -> tuple[FloatArray, tuple[str, ...]]:
    """Return `values` (n,) with NaN for infinite ones, and a note when there were some that were not `missing` (n,)."""
    is_finite = np.isfinite(values)
    n_infinite = int((~is_finite & ~missing).sum())
    note = (f"Column {shown(name)} has {n_infinite} infinite cells, which count as missing.",) if n_infinite else ()
    return frozen(np.where(is_finite, values, np.nan)), note


def _decimal_comma(columns: list["pd.Series[Any]"]) -> bool:
    """Tell whether the file writes 1,5 and never 1.5; where both occur, commas are not decimal signs."""
    any_comma = any(column.str.fullmatch(COMMA_FRACTION).any() for column in columns)
    return any_comma and not any(column.str.fullmatch(DOT_FRACTION).any() for column in columns)


def _text_note(name: str, column: "pd.Series[Any]", odd: "pd.Series[bool]", n_numbers: int) -> list[str]:
    """Say why a column that has some numbers, or nothing at all, is not numeric."""
    if not odd.any():
        return [f"Column {shown(name)} is empty."]
    if not n_numbers:
        return []
    first = shown(column[odd].iloc[0])
    return [f"Column {shown(name)} is text: {int(odd.sum())} of {len(column)} cells are no numbers, first {first}."]


def _floats(column: "pd.Series[Any]", is_number: "pd.Series[bool]", comma: bool) -> FloatArray:
    """Return the cells (n,) as the nearest floats, NaN where there is no number; may be infinite."""
    values = np.full(len(column), np.nan)
    here = is_number.to_numpy(dtype=bool)
    written = column[here].str.replace(",", ".", regex=False) if comma else column[here]
    values[here] = written.to_numpy(dtype=object).astype(np.float64)
    return values
