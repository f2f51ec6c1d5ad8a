"""Parses one sheet of an Excel workbook (.xlsx) as a stream, so that no file unpacks to more than the limits.

A workbook is a ZIP archive of XML (ECMA-376). Numbers are taken as written, so dates come as Excel's day numbers; of a
formula the value that was saved; an error value is a missing cell. Macros, links and everything else are never opened.
"""

import io
import posixpath
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol
from xml.parsers import expat

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpviz.data.files import MOST_SHEET, READ_OFF, UPLOADED, Columns, Limits, TableError, TableFormat, listed, quoted
from dpviz.data.parsing import parse_cells

SHEET_COLUMNS = 16_384  # that a sheet has at most
MAX_PARTS = 10_000  # files in the archive, ours; a workbook has a few dozen
CHUNK = 1 << 20  # bytes that are unpacked at a time
ENTRY_MAGIC = b"PK\x01\x02"  # of one file in the archive's list
PLAIN_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # a workbook uses no other, and these stop on demand
ENCRYPTED = 1  # flag of a file in the archive
WAY_OUT = "Open it in a spreadsheet and save it as .xlsx or CSV again."
BOOLEANS = {"1": "TRUE", "0": "FALSE"}

Attributes = Mapping[str, str]


class Reader(Protocol):
    """Handlers of an XML stream; tags come without their namespace."""

    def start(self, tag: str, attributes: Attributes) -> None:
        """Handle the begin of an element."""

    def end(self, tag: str) -> None:
        """Handle its end."""

    def text(self, characters: str) -> None:
        """Handle characters inside it."""


class _Elements:
    """Collects the tag and attributes of every element of a small file."""

    def __init__(self) -> None:
        self.elements: list[tuple[str, Attributes]] = []

    def start(self, tag: str, attributes: Attributes) -> None:
        self.elements.append((tag, {name.rpartition(" ")[2]: value for name, value in attributes.items()}))

    def end(self, tag: str) -> None: ...

    def text(self, characters: str) -> None: ...


class _Strings:
    """Collects the workbook's shared strings, pieces of formatted text put together, phonetic guides left out."""

    def __init__(self) -> None:
        self.strings: list[str] = []
        self._pieces: list[str] = []
        self._is_text = False
        self._is_guide = False

    def start(self, tag: str, _attributes: Attributes) -> None:
        self._is_guide |= tag == "rPh"
        self._is_text = tag == "t" and not self._is_guide

    def end(self, tag: str) -> None:
        self._is_text = False
        if tag == "rPh":
            self._is_guide = False
        elif tag == "si":
            self.strings.append("".join(self._pieces))
            self._pieces = []

    def text(self, characters: str) -> None:
        if self._is_text:
            self._pieces.append(characters)


@dataclass(slots=True)
class _Sheet:
    """Collects the cells of a sheet that hold something, row by row; empty rows cost nothing.

    Its three methods run some millions of times, so they take the shortest way.
    """

    strings: list[str]
    limits: Limits
    rows: list[dict[int, str]] = field(default_factory=list)
    stored: list[int] = field(default_factory=list)  # of each row, the bits of the places at which numbers are
    width: int = 0
    _columns: dict[str, int] = field(default_factory=dict)  # letters -> place, computed once for each
    _n_characters: int = 0  # one long shared string can stand in every cell
    _row: dict[int, str] = field(default_factory=dict)
    _stored: int = 0
    _place: int = -1
    _kind: str = "n"
    _pieces: list[str] = field(default_factory=list)
    _open: str = ""  # the innermost element

    def start(self, tag: str, attributes: Attributes) -> None:
        self._open = tag
        if tag == "c":
            reference = attributes.get("r")
            self._place = self._place + 1 if reference is None else self._column(reference)
            self._kind = attributes.get("t", "n")
            self._pieces = []
        elif tag == "row":
            self._row, self._stored, self._place = {}, 0, -1
        elif tag == "rPh":  # a guide to pronunciation inside a cell's own text
            self._kind = "guided"

    def text(self, characters: str) -> None:
        if self._open == "v" or (self._open == "t" and self._kind != "guided"):
            self._pieces.append(characters)

    def end(self, tag: str) -> None:
        self._open = ""
        if tag == "c":
            if self._pieces:
                self._add("".join(self._pieces).strip())
        elif tag == "rPh":
            self._kind = "inlineStr"
        elif tag == "row" and self._row:
            self.rows.append(self._row)
            self.stored.append(self._stored)
            self.width = max(self.width, max(self._row) + 1)
            self.limits.refuse_size(len(self.rows) - 1, self.width)
            self.limits.refuse_unpacked(self._n_characters)
            self._row, self._stored = {}, 0

    def frame(self) -> pd.DataFrame:
        """Return all cells (rows, width) as strings, '' where there is none."""
        places = range(self.width)
        return pd.DataFrame({i: pd.Series([row.get(i, "") for row in self.rows], dtype="str") for i in places})

    def stored_numbers(self) -> list[NDArray[np.bool_]]:
        """Return for each column which cells (rows,) are numbers of the workbook, and not text."""
        return [
            np.fromiter((row & bit != 0 for row in self.stored), dtype=np.bool_, count=len(self.stored))
            for bit in (1 << place for place in range(self.width))
        ]

    def _add(self, written: str) -> None:
        if self._kind == "s":
            index = int(written)
            if index < 0:
                raise LookupError("no string")
            written = self.strings[index].strip()
        elif self._kind == "b":
            written = BOOLEANS.get(written, written)
        if written and self._kind != "e":
            self._row[self._place] = written
            self._n_characters += len(written)
            if self._kind == "n":
                self._stored |= 1 << self._place

    def _column(self, reference: str) -> int:
        """Return the place of a column by the letters of a reference, A at 0."""
        letters = reference.rstrip("0123456789")
        if letters not in self._columns:
            number, most = 0, self.limits.n_columns or SHEET_COLUMNS
            for letter in letters:
                number = 26 * number + int(letter, 36) - 9
                if number > most:
                    raise TableError(f"The sheet had cells beyond column {most}, but no more are read. Move them.")
            if number < 1:
                raise ValueError("no column")
            self._columns[letters] = number - 1
        return self._columns[letters]


def read_workbook(data: bytes, limits: Limits = UPLOADED, reading: TableFormat = READ_OFF) -> Columns:
    """Read a visible sheet of the workbook `data`, by its name or the first; raises TableError for none in `limits`."""
    names: tuple[str, ...] = ()
    try:
        if data.count(ENTRY_MAGIC) > MAX_PARTS:
            raise TableError(
                f"The archive lists more than {MAX_PARTS} files, but a workbook has a few dozen. {WAY_OUT}"
            )
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            # What each part may unpack to is what the archive lists for it.
            parts = archive.infolist()
            limits.refuse_unpacked(sum(part.file_size for part in parts if part.filename.endswith((".xml", ".rels"))))
            if any(part.flag_bits & ENCRYPTED or part.compress_type not in PLAIN_METHODS for part in parts):
                raise TableError(f"The archive was encrypted or packed in an unusual way. {WAY_OUT}")
            sheets, shared = _sheets(archive)
            names = tuple(sheets)
            chosen = names[0] if reading.sheet is None else reading.sheet
            if chosen not in sheets:
                raise TableError(
                    f"The workbook has no sheet {quoted(chosen)}. Choose from {listed(names)}, or the first one."
                )
            strings = _Strings()
            for part in shared:
                _stream(archive, part, strings)
            sheet = _Sheet(strings.strings, limits)
            _stream(archive, sheets[chosen], sheet)
        if not sheet.rows:
            raise TableError(f"The sheet {quoted(chosen)} was empty, but it must hold a header and records. {WAY_OUT}")
        columns = parse_cells(sheet.frame(), sheet.stored_numbers(), reading)
    except TableError as error:  # another sheet may be the way out
        error.beginning = replace(error.beginning, sheets=names)
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, struct.error, expat.ExpatError) as error:
        raise TableError(f"The Excel workbook was damaged ({type(error).__name__}). {WAY_OUT}") from None
    except (LookupError, ValueError, NotImplementedError) as error:
        raise TableError(f"The Excel workbook does not follow its format ({type(error).__name__}). {WAY_OUT}") from None
    notes = columns.notes
    if len(names) > 1:
        words = f"the first one, {quoted(chosen)}," if chosen == names[0] else quoted(chosen)
        notes = (f"The workbook has {len(names)} sheets; {words} was read.", *notes)
    return replace(columns, notes=notes, beginning=replace(columns.beginning, sheets=names))


def _sheets(archive: zipfile.ZipFile) -> tuple[dict[str, str], list[str]]:
    """Return the paths of the visible sheets (of all, if none is) by name, and those of shared strings.

    Parts are found by the relations that name them, from the archive's own on, wherever they lie (ECMA-376, part 2).
    """
    books = [path for path in _related(archive, "").values() if path[0] == "officeDocument"]
    book = books[0][1] if books else "xl/workbook.xml"
    if book not in archive.namelist():
        raise TableError(f"The file was a ZIP archive without an Excel sheet in it. {WAY_OUT}")
    related = _related(archive, book)
    sheets = []
    for tag, attributes in _elements(archive, book):
        kind, path = related.get(attributes.get("id", ""), ("", ""))
        if tag == "sheet" and kind == "worksheet":
            name = (attributes.get("name") or "sheet")[:MOST_SHEET]
            sheets.append((attributes.get("state", "visible") == "visible", name, path))
    if not sheets:
        raise TableError(f"The workbook had no sheet with cells. {WAY_OUT}")
    usable = [sheet for sheet in sheets if sheet[0]] or sheets
    shared = {path for kind, path in related.values() if kind == "sharedStrings"}
    paths = set(archive.namelist())
    shared |= {path for path in paths if posixpath.basename(path) == "sharedStrings.xml"}  # not named by all
    by_name: dict[str, str] = {}
    for _, name, path in usable:
        by_name.setdefault(name, path)
    return by_name, sorted(shared & paths)


def _related(archive: zipfile.ZipFile, path: str) -> dict[str, tuple[str, str]]:
    """Return the kind and the path of each part that the part `path` names, by its mark; "" is the archive itself."""
    folder, name = posixpath.split(path)
    listed = posixpath.join(folder, "_rels", f"{name}.rels")
    if listed not in archive.namelist():
        return {}
    return {
        at["Id"]: (
            at.get("Type", "").rpartition("/")[2],
            posixpath.normpath(posixpath.join("/", folder, at["Target"]))[1:],
        )
        for tag, at in _elements(archive, listed)
        if tag == "Relationship"
    }


def _elements(archive: zipfile.ZipFile, path: str) -> Iterator[tuple[str, Attributes]]:
    reader = _Elements()
    _stream(archive, path, reader)
    yield from reader.elements


def _stream(archive: zipfile.ZipFile, path: str, reader: Reader) -> None:
    """Unpack a part piece by piece into `reader`. A document type, which could multiply text, is refused."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    tags = _Tags()
    start, end = reader.start, reader.end

    def refuse(*_: object) -> None:
        raise TableError(f"The workbook declared a document type, which no workbook needs. {WAY_OUT}")

    parser.StartElementHandler = lambda name, attributes: start(tags[name], attributes)
    parser.EndElementHandler = lambda name: end(tags[name])
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = refuse
    with archive.open(path) as part:
        while piece := part.read(CHUNK):
            parser.Parse(piece, False)
    parser.Parse(b"", True)


class _Tags(dict[str, str]):
    """Names of elements, with their namespace -> without."""

    def __missing__(self, name: str) -> str:
        if len(self) < MAX_PARTS:
            self[name] = name.rpartition(" ")[2]
        return name.rpartition(" ")[2]
