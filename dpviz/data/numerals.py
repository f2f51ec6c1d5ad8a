"""How numbers are written in a file, and columns of numbers out of columns of text.

Numbers have a decimal point (1234.5, 1,234.5) or a decimal comma (1234,5, 1.234,5); spaces and apostrophes may separate
thousands in both (1 234.5, 1'234,5). Thousands come in groups of three after a digit that is no zero. A column holds
numbers if one of the two notations fits every cell that is not missing; signs of a currency or of percent are left out
if every cell has one.

1. A column that only one notation fits is read in it: nothing else is possible for 12.50, 0.125 or 1,234,567.
2. A column that both fit (1,240 beside 980) is read in the notation of the columns that only one fits, if those agree.
   `Columns.doubts` says so if its own whole numbers speak against that, as in 3.
3. If they do not agree, or if there are none, such columns are read in the likelier notation, and `Columns.doubts` says
   so. A comma is likelier to separate thousands, a point to be a decimal sign. For a point, and for a comma where
   semicolons separate cells, whole numbers in the same column decide: if in the middle they are more than 30 times as
   large as the numbers that have the sign, as 980 is beside 1.240, the sign separates thousands. A comma without any
   beside it is a decimal sign where semicolons separate cells.

So the notation depends on all cells of a file, and a guarantee takes it as given. `TableFormat` sets it by hand, as a
public input. Numbers that a format stores as numbers have no part in this.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpviz.core import FloatArray, frozen
from dpviz.data.columns import Columns, Texts
from dpviz.data.decoding import listed, shown
from dpviz.data.table_format import READ_OFF, TableFormat

POINT, COMMA = ".", ","
SPACES = " \u00a0\u2007\u2009\u202f"  # also those that do not break, are thin, or both
APOSTROPHES = "'’"
OTHER = {POINT: COMMA, COMMA: POINT}
SIGN_NAMES = {POINT: "point", COMMA: "comma"}
STEP = 30.0  # about the root of 1000, ours: which of two readings brings whole numbers nearer to the others
PROBED = 100  # cells that are looked at before all are
BLANK = rf"[\s{SPACES}]?"
CURRENCY = r"[$€£¥]"
PRICE = rf"[+\-−]?{BLANK}(?:{CURRENCY}{BLANK}[^$€£¥]*|[^$€£¥]*?{BLANK}{CURRENCY})"
PERCENT = rf"[^%]*[0-9.,]{BLANK}%"
INFINITE = r"[+-]?inf(?:inity)?"
ERRORS = (
    "div/0!",
    "null!",
    "value!",
    "ref!",
    "name?",
    "num!",
    "n/a",
    "nv",
    "wert!",
    "bezug!",
    "zahl!",
)  # of spreadsheets
MISSING_CELLS = frozenset({"", "na", "n/a", "nan", "-nan", "null", "none", "nil", "<na>", "n.a.", "(null)", r"\n"})
MISSING_CELLS |= {".", "..", "...", "…", "-", "--", "---", "–", "—", "?", ":", *(f"#{error}" for error in ERRORS)}


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """A column of text, and the notations that fit it."""

    name: str
    cells: "pd.Series[Any]"  # (n,) as written
    missing: NDArray[np.bool_]  # (n,)
    stored: NDArray[np.bool_]  # (n,) numbers of the format itself
    counted: NDArray[np.bool_]  # (n,) cells that have to be numbers: neither missing, infinite nor stored
    numerals: "pd.Series[Any]"  # the counted ones, without signs of a currency or of percent
    fits: tuple[str, ...]  # decimal signs of the notations that fit all of them
    notes: tuple[str, ...]

    @property
    def is_numeric(self) -> bool:
        """Whether the column holds numbers, finite or not."""
        return bool(self.fits) and not self.missing.all()

    def has(self, pattern: str) -> bool:
        """Say whether any of the numerals has `pattern` in it."""
        return bool(self.numerals.str.contains(pattern, regex=True).any())


def typed(
    cells: pd.DataFrame,
    names: tuple[str, ...],
    notes: tuple[str, ...],
    *,
    sep: str = "",
    stored: Mapping[Any, NDArray[np.bool_]] | None = None,
    reading: TableFormat = READ_OFF,
) -> Columns:
    """Make columns of stripped strings (rows, columns) numbers if all their cells are numbers, text otherwise.

    `sep` is what separates cells, "" where a format needs nothing for it. `stored` tells, by the columns of `cells`,
    which cells (rows,) are numbers of the format itself, with a decimal point.
    """
    columns = [
        _column(name, cells[key].reset_index(drop=True), (stored or {}).get(key), reading)
        for name, key in zip(names, cells, strict=True)
    ]
    numeric = [column for column in columns if column.is_numeric]
    doubtful = [column for column in numeric if len(column.fits) > 1 and column.has("[.,]")]
    proofs = {column.fits[0] for column in numeric if len(column.fits) == 1 and column.has("[.,][0-9]")}
    proved = len(proofs) == 1
    shared = reading.decimal or (proofs.pop() if len(proofs) == 1 else _likelier(doubtful, sep))
    decimals = {column.name: column.fits[0] if len(column.fits) == 1 else shared for column in numeric}
    numbers: dict[str, FloatArray] = {}
    texts: dict[str, Texts] = {}
    said = [*notes, *_notation_notes(numeric, decimals)]
    for column in columns:
        if column.is_numeric:
            numbers[column.name], more = finite(column.name, _values(column, decimals[column.name]), column.missing)
            said.extend((*column.notes, *more))
        else:
            texts[column.name] = frozen(column.cells.mask(column.missing, "").to_numpy(dtype=object))
            said.extend(_text_note(column, reading))
    if proved:  # by other columns: it may not be true of one whose whole numbers are far larger
        doubtful = [column for column in doubtful if column.has(rf"\{shared}") and _separates_thousands(column, shared)]
    doubts = () if reading.decimal is not None else _doubts(doubtful, shared)
    return Columns(names, len(cells), numbers, texts, (*said, *doubts), doubts, decimals)


@cache
def number_pattern(decimal: str, thousands: str | None = None) -> str:
    """Return the pattern of numbers with this decimal sign; `thousands` is what separates them, None any other sign."""
    signs = (OTHER[decimal], " ", "'") if thousands is None else (thousands,) if thousands else ()
    alike = {" ": SPACES, "'": APOSTROPHES}
    groups = "|".join(rf"(?:[{alike.get(sign, sign)}][0-9]{{3}})+" for sign in signs)
    grouped = rf"|[1-9][0-9]{{0,2}}(?:{groups})(?:\{decimal}[0-9]+)?" if signs else ""
    return rf"[+\-−]?(?:(?:[0-9]+(?:\{decimal}[0-9]*)?|\{decimal}[0-9]+)(?:[eE][+-]?[0-9]+)?{grouped})"


@cache
def _measured() -> str:
    """Return the pattern of one number with a unit, a currency or brackets around it, or with groups of two digits."""
    number = "|".join([number_pattern(POINT), number_pattern(COMMA), "[0-9]{1,2}(?:,[0-9]{2})*,[0-9]{3}"])
    return rf"(?:[A-Za-z]{{2,3}}\.?\s)?[^0-9A-Za-z]*(?:{number})[^0-9]{{0,12}}"


def number_of(text: str, decimal: str = POINT) -> float | None:
    """Return the number that `text` is, None for anything else; `decimal` decides where both notations fit."""
    fits = [sign for sign in (decimal, OTHER[decimal]) if re.fullmatch(number_pattern(sign), text)]
    if not fits:
        return None
    return float(re.sub(f"[{OTHER[fits[0]]}{SPACES}{APOSTROPHES}]", "", text).replace("−", "-").replace(COMMA, POINT))


def is_ambiguous(text: str) -> bool:
    """Say whether `text` is two numbers: one with a decimal point, another one with a decimal comma."""
    return number_of(text, POINT) != number_of(text, COMMA)


def _column(name: str, cells: "pd.Series[Any]", stored: NDArray[np.bool_] | None, reading: TableFormat) -> _Column:
    """Leave out what all cells have around their numbers, and find the notations that fit."""
    lower = cells.str.lower()
    missing = lower.isin(MISSING_CELLS).to_numpy(dtype=bool)
    finite_ones = ~(missing | lower.str.fullmatch(INFINITE).to_numpy(dtype=bool))
    known = np.zeros(len(cells), dtype=np.bool_) if stored is None else stored & finite_ones
    counted = finite_ones & ~known
    numerals, notes = cells[counted], []
    for pattern, sign, words in (
        (PRICE, rf"{BLANK}{CURRENCY}{BLANK}", "Signs of a currency"),
        (PERCENT, rf"{BLANK}%$", "Percent signs"),
    ):
        if len(numerals) and _all(numerals, pattern):
            numerals = numerals.str.replace(sign, "", regex=True)
            notes.append(f"{words} in column {shown(name)} were left out.")
    fits = tuple(sign for sign in reading.decimals if _all(numerals, number_pattern(sign, reading.thousands)))
    return _Column(name, cells, missing, known, counted, numerals, fits, tuple(notes))


def _all(cells: "pd.Series[Any]", pattern: str) -> bool:
    """Say whether every cell fits `pattern`; a column of text is known by its first cells."""
    return all(bool(some.str.fullmatch(pattern).all()) for some in (cells.iloc[:PROBED], cells))


def _likelier(doubtful: Sequence[_Column], sep: str) -> str:
    """Return the decimal sign of the notation that is likelier for most of the columns that both notations fit."""
    n_points = n_commas = 0
    for column in doubtful:
        sign = COMMA if column.has(COMMA) else POINT
        separates = (sign == COMMA and sep != ";") or _separates_thousands(column, sign)
        decimal = OTHER[sign] if separates else sign
        n_points, n_commas = n_points + (decimal == POINT), n_commas + (decimal == COMMA)
    return COMMA if n_commas > n_points or (n_commas == n_points > 0 and sep == ";") else POINT


def _separates_thousands(column: _Column, sign: str) -> bool:
    """Say whether whole numbers of a column are as large as if `sign` separated thousands in its other numbers."""
    has_sign = column.numerals.str.contains(sign, regex=False)
    whole, others = (np.abs(_floats(column.numerals[rows], sign)) for rows in (~has_sign, has_sign))
    whole = whole[whole > 0]
    return bool(whole.size and np.median(whole) > STEP * np.median(others))


def _values(column: _Column, decimal: str) -> FloatArray:
    """Return the cells (n,) as the nearest floats, NaN where there is no finite number; may be infinite."""
    values = np.full(len(column.cells), np.nan)
    values[column.counted] = _floats(column.numerals, decimal)
    if column.stored.any():
        values[column.stored] = _floats(column.cells[column.stored], POINT)
    return values


def _floats(numerals: "pd.Series[Any]", decimal: str) -> FloatArray:
    between = f"[{OTHER[decimal]}{SPACES}{APOSTROPHES}]"
    plain = numerals.str.replace(between, "", regex=True).str.replace("−", "-", regex=False)
    plain = plain.str.replace(COMMA, POINT, regex=False) if decimal == COMMA else plain
    return plain.to_numpy(dtype=object).astype(np.float64)


def finite(name: str, values: FloatArray, missing: NDArray[np.bool_]) -> tuple[FloatArray, tuple[str, ...]]:
    """Return `values` (n,) with NaN for infinite ones, and a note when there were some that were not `missing` (n,)."""
    is_finite = np.isfinite(values)
    n_infinite = int((~is_finite & ~missing).sum())
    note = (f"Column {shown(name)} has {n_infinite} infinite cells, which count as missing.",) if n_infinite else ()
    return frozen(np.where(is_finite, values, np.nan)), note


def _notation_notes(numeric: Sequence[_Column], decimals: Mapping[str, str]) -> list[str]:
    """Say where commas were decimal signs, and where signs between thousands were left out."""
    commas = [each.name for each in numeric if decimals[each.name] == COMMA and each.has(COMMA)]
    points = [each.name for each in numeric if decimals[each.name] == POINT and each.has(r"\.")]
    grouped = [each.name for each in numeric if each.has(f"[{OTHER[decimals[each.name]]}{SPACES}{APOSTROPHES}]")]
    said = []
    if commas:
        where = f" in {_in(commas)}, points in {_in(points)}" if points else ""
        said.append(f"Commas were read as decimal signs{where}.")
    if grouped:
        said.append(f"Separators of thousands in {_in(grouped)} were left out.")
    return said


def _doubts(doubtful: Sequence[_Column], decimal: str) -> tuple[str, ...]:
    """Say what else the numbers of the `doubtful` columns could be, without a cell of them."""
    said = []
    for sign, name in SIGN_NAMES.items():
        columns = [each.name for each in doubtful if each.has(rf"\{sign}")]
        if columns:
            read = "a decimal sign" if sign == decimal else "a separator of thousands"
            example = f"1{sign}234 is {'1.234' if sign == decimal else '1234'}"
            other = "separates thousands" if sign == decimal else "is a decimal sign"
            said.append(
                f"Every {name} in {_in(columns)} stands before three digits. It was read as {read}: {example}. "
                f"If it {other}, set the decimal sign."
            )
    return tuple(said)


def _in(names: Sequence[str]) -> str:
    return f"{'column' if len(names) == 1 else 'columns'} {listed(names)}"


def _text_note(column: _Column, reading: TableFormat) -> list[str]:
    """Say why a column that looks like numbers, or has nothing at all in it, is text."""
    name, numerals = shown(column.name), column.numerals
    if column.missing.all():
        return [f"Column {name} is empty."]
    fitting = [numerals.str.fullmatch(number_pattern(sign, reading.thousands)) for sign in reading.decimals]
    if len(fitting) > 1 and (fitting[0] | fitting[1]).all():
        return [f"Column {name} is text: it has decimal points and decimal commas."]
    good = max(fitting, key=lambda fits: int(fits.sum()))
    n_odd, first = int((~good).sum()), shown(numerals[~good].iloc[0])
    if good.any() or column.stored.any():
        return [f"Column {name} is text: {n_odd} of {len(column.cells)} cells are no numbers, first {first}."]
    if 2 * int(numerals.str.fullmatch(_measured()).sum()) > len(numerals):
        return [f"Column {name} is text: none of its cells is a plain number, first {first}."]
    return []
