"""Parses one sheet of a workbook with calamine, within the limits of what it unpacks to.

The reader does not limit its memory itself. So the archive's list is checked before it runs, uploads are read in a
process with limits (`dpviz.data.confined`), and rows are counted as they arrive. Dates are written as in CSV, so they
are dates in a column and names in a header. Times of day, and dates before March 1900, become the numbers that
spreadsheets store. Formulas are read as their saved values, and error values as missing cells. Macros and links are
never opened.
"""

import io
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import IO

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

from dpviz.data.files import (
    DAY_ZERO,
    MOST_SHEET,
    READ_OFF,
    READABLE,
    SAVE,
    UPLOADED,
    Columns,
    Limits,
    TableError,
    TableFormat,
    listed,
    quoted,
    refuse_format,
)
from dpviz.data.parsing import parse_cells

# Maximum number of files in the archive. Our choice: a workbook has a few dozen.
MAX_PARTS = 10_000
# Signature of a file in the archive's list.
ENTRY_MAGIC = b"PK\x01\x02"
# Maximum number of cells between a sheet's corners: the reader reserves memory for all of them, and ends Python if
# there is not enough.
SPREAD = 200_000_000
# A cell of .xlsx. A cell that ends with "/>" is empty.
FILLED_CELL = re.compile(rb'\br="([A-Z]{1,3})([0-9]{1,7})"[^>/]*>')
# Bytes of a sheet that are examined together.
PIECE = 1 << 20
LONGEST_TAG = 256
# Every whole number below this one is written without an exponent.
MOST_WHOLE = 1e15
# Excel counts February 29, 1900, which did not exist, so its earlier days are smaller by one.
LEAP_BUG = datetime(1900, 3, 1)
# Errors of an archive. RuntimeError means that it has a password.
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)
UNREADABLE = (CalamineError, *DAMAGED, OSError, ValueError, ArithmeticError)
# Patterns of file names in archives that are not workbooks.
OTHER_ARCHIVES = (
    (r"^word/", "a Word document"),
    (r"^ppt/", "a PowerPoint document"),
    (r"\.iwa$", "a Numbers or Pages document"),
    (r"\.kml$", "a KMZ file of places"),
    (r"\.npy$", "a NumPy archive"),
    (r"\.shp$", "a shapefile in a ZIP archive"),
)
WORKBOOK_PART = r"workbook\.(xml|bin)|^content\.xml$|^\[Content_Types\]\.xml$|^_rels/"
WAY_OUT = "Open it in a spreadsheet and save it as .xlsx or CSV again."


def read_workbook(data: bytes, limits: Limits = UPLOADED, reading: TableFormat = READ_OFF) -> Columns:
    """Read a visible sheet of a workbook (.xlsx, .ods), by its name, or the first one.

    Raises TableError if there is none within `limits`.
    """
    names: tuple[str, ...] = ()
    try:
        _refuse_archive(data, limits)
        with CalamineWorkbook.from_filelike(io.BytesIO(data)) as book:
            sheets = [each for each in book.sheets_metadata if each.typ == SheetTypeEnum.WorkSheet]
            visible = [each for each in sheets if each.visible == SheetVisibleEnum.Visible] or sheets
            by_name = {(each.name or "sheet")[:MOST_SHEET]: each.name for each in visible}
            names = tuple(by_name)
            if not names:
                raise TableError(f"The workbook has no sheet with cells. {WAY_OUT}")
            chosen = names[0] if reading.sheet is None else reading.sheet
            if chosen not in by_name:
                raise TableError(
                    f"The workbook has no sheet {quoted(chosen)}. Choose from {listed(names)}, or the first one."
                )
            cells, stored = _cells(book.get_sheet_by_name(by_name[chosen]), limits)
        if cells.empty:
            raise TableError(f"The sheet {quoted(chosen)} is empty: it has no header and no records. {WAY_OUT}")
        columns = parse_cells(cells, list(stored.T), reading)
    # Choosing a different sheet may solve the problem.
    except TableError as error:
        error.beginning = replace(error.beginning, sheets=names)
        raise
    except BaseException as error:
        # A panic in the reader is not an Exception and has no named type. The reader's messages can contain cell
        # values.
        if not isinstance(error, UNREADABLE) and type(error).__name__ != "PanicException":
            raise
        raise TableError(f"The workbook could not be read: it is damaged, cut off or locked. {WAY_OUT}") from None
    notes = columns.notes
    if len(names) > 1:
        words = f"the first one, {quoted(chosen)}," if chosen == names[0] else quoted(chosen)
        notes = (f"The workbook has {len(names)} sheets; {words} was read.", *notes)
    return replace(columns, notes=notes, beginning=replace(columns.beginning, sheets=names))


def _refuse_archive(data: bytes, limits: Limits) -> None:
    """Raise TableError for an archive with too many files, or beyond the limits according to its own list."""
    if data.count(ENTRY_MAGIC) > MAX_PARTS:
        raise TableError(f"The archive lists more than {MAX_PARTS} files, but a workbook has a few dozen. {WAY_OUT}")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        _refuse_other_kinds(archive)
        limits.refuse_unpacked(sum(part.file_size for part in archive.infolist()))
        for part in archive.namelist():
            if part.startswith("xl/worksheets/") and part.endswith(".xml"):
                with archive.open(part) as sheet:
                    _refuse_spread(sheet)


def _refuse_other_kinds(archive: zipfile.ZipFile) -> None:
    """Raise TableError for an archive that is not a workbook, by the names in it."""
    names = archive.namelist()
    if any(part.flag_bits & 1 for part in archive.infolist()):
        raise refuse_format("The file is a ZIP archive with a password. Unpack it, and choose the table in it.")
    kind = next((what for pattern, what in OTHER_ARCHIVES if any(re.search(pattern, name) for name in names)), None)
    if kind is not None:
        raise refuse_format(f"The file is {kind}, but a table must be {READABLE}. {SAVE}")
    if not any(re.search(WORKBOOK_PART, name) for name in names):
        raise refuse_format(
            f"The file is a ZIP archive without a workbook. Unpack it, and choose the table in it: {READABLE}."
        )


def _refuse_spread(sheet: IO[bytes]) -> None:
    """Raise TableError for a sheet whose cells are so far apart that the space between them exceeds memory."""
    rows, columns, end = {0}, {b""}, b""
    while piece := sheet.read(PIECE):
        text = end + piece
        cells = FILLED_CELL.findall(text)
        rows = {max(rows), *(int(row) for _, row in cells)}
        columns |= {column for column, _ in cells}
        end = text[-LONGEST_TAG:]
    last_row, last_column = max(rows), max(columns, key=lambda letters: (len(letters), letters)).decode()
    n_columns = sum((ord(letter) - ord("A") + 1) * 26**place for place, letter in enumerate(reversed(last_column)))
    if last_row * n_columns > SPREAD:
        raise TableError(
            f"A sheet's cells reach to column {last_column} and row {last_row}, but at most {SPREAD:,} cells may lie "
            "between its corners. Delete cells far away from the table, and save it again."
        )


def _cells(sheet: CalamineSheet, limits: Limits) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """Return the rows with contents as stripped strings (rows, columns), and a mask of cells with stored numbers."""
    rows: list[list[str]] = []
    stored = bytearray()
    # One long shared string can be in every cell.
    n_characters = 0
    # Empty columns, which the reader leaves out.
    left = [""] * (sheet.start or (0, 0))[1]
    width = len(left) + sheet.width
    for row in sheet.iter_rows():
        written = [*left, *[_WRITTEN[type(cell)](cell) for cell in row]]
        n_more = sum(map(len, written))
        if n_more:
            rows.append(written)
            stored += bytes(len(left)) + bytes(
                [
                    type(cell) in _NUMBERS or (type(cell) in _DATES and "-" not in text)
                    for cell, text in zip(row, written[len(left) :], strict=True)
                ]
            )
            n_characters += n_more
            limits.refuse_size(len(rows) - 1, width)
            limits.refuse_unpacked(n_characters)
    return pd.DataFrame(rows, dtype="str"), np.frombuffer(stored, dtype=np.bool_).reshape(len(rows), width)


def _number(value: float) -> str:
    """Write a number like a sheet: whole numbers without a fraction."""
    return str(int(value)) if abs(value) < MOST_WHOLE and value == int(value) else repr(value)


def _written_date(day: date) -> str:
    """Write a date as in CSV. One of Excel's first days, which can also be hours beyond a day, becomes a number."""
    moment = day if isinstance(day, datetime) else datetime.combine(day, time())
    if DAY_ZERO <= moment < LEAP_BUG:
        return _number((moment - DAY_ZERO) / timedelta(days=1) - (moment > DAY_ZERO))
    return moment.isoformat(sep=" ").removesuffix(" 00:00:00")


# Function that writes a cell, by its type.
_NUMBERS: dict[type, Callable[..., str]] = {
    float: _number,
    int: str,
    time: lambda of_day: _number((datetime.combine(DAY_ZERO, of_day) - DAY_ZERO) / timedelta(days=1)),
    timedelta: lambda length: _number(length / timedelta(days=1)),
}
_DATES: dict[type, Callable[..., str]] = {datetime: _written_date, date: _written_date}
_WRITTEN: dict[type, Callable[..., str]] = {**_NUMBERS, **_DATES, str: str.strip, bool: lambda flag: str(flag).upper()}
