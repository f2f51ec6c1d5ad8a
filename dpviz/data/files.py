"""Files before they are parsed: limits, settings, decompression, encoding; dates; and the columns that parsers return.

Nothing is written to disk, and every failure is a `TableError` that a person can read. Uploads are limited to sizes
that a public server can afford. A file on the user's own machine may be as large as memory allows, but no file may
unpack to a size that is implausible for a table.
"""

import gzip
import hashlib
import io
import math
import pkgutil
import re
import tomllib
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Literal

import numpy as np
from numpy.typing import NDArray

from dpviz import assets
from dpviz.core import Confidential, FloatArray, immutable, immutable_value

# Maximum bytes of an upload, and of the unpacked contents of a .gz. Our choice, like the next three limits.
MAX_BYTES = 50_000_000
# Maximum bytes of a background, and of the unpacked contents of a .gz. Our choice.
MOST_OUTLINE_BYTES = 10_000_000
# Maximum rows of an upload.
MAX_ROWS = 200_000
# Maximum columns of an upload.
MAX_COLUMNS = 200
# Maximum cells of an upload: 80 MB as float64.
MAX_CELLS = 10_000_000
# Maximum unpacked bytes of a workbook or a Parquet file. Our choice.
MAX_UNPACKED = 300_000_000
# Maximum unpacked size of a larger file, as a multiple of its own size. Our choice: tables compress to about a tenth of
# their size, bombs to a thousandth.
MAX_TIMES = 100
# Maximum number of characters of a cell or name in a message.
MAX_SHOWN = 40
# Maximum number of columns in a message.
MAX_LISTED = 8
# Hex digits of SHA-256.
DIGEST_LENGTH = 16
# Characters that are examined to distinguish text from binary.
PROBE = 4_096
# Maximum share of control characters in the probe. A text file has almost none.
MAX_CONTROL_SHARE = 0.01

SEPARATORS = (",", ";", "\t", "|")
NO_SEPARATOR = ""
DECIMALS = (".", ",")
# "" means none.
THOUSANDS = ("", ",", ".", " ", "'")
# Maximum row of the header. Our choice.
MOST_HEADER = 1_000
# Maximum number of characters of a sheet's name. Our choice: Excel allows 31, other programs more.
MOST_SHEET = 255
# Day zero of Excel and similar programs. A date in a file has no time zone.
DAY_ZERO = datetime(1899, 12, 30)
ISO_DATE = (
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2}(?:\.[0-9]+)?))?(?:Z|([+-][0-9]{2}):?([0-9]{2}))?)?"
)
DOTTED_DATE = r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})"
Header = int | Literal["infer"] | None
FileOrPath = str | Path | IO[bytes]
# Strings, (n,).
Texts = NDArray[np.object_]

GZIP_MAGIC = b"\x1f\x8b"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@immutable
class Beginning(Confidential):
    """The sheets and first lines of a file, from which a person can choose how to read it."""

    # Visible sheets of a workbook, in its order.
    sheets: tuple[str, ...] = ()
    # Row used for the names. None if there are no names.
    header: int | None = None
    # Rows that are not empty, shortened.
    nonprivate_lines: tuple[str, ...] = ()
    # Whether settings made by hand can help. They cannot help a file in a different format.
    can_be_set: bool = True


class TableError(ValueError):
    """A file is not a usable table. The message states the problem, what is allowed, and how to fix it."""

    # Beginning of the file, as far as it was read.
    beginning = Beginning()


def refuse_format(message: str) -> TableError:
    """Return the error for a file in a format that no setting turns into a table."""
    error = TableError(message)
    error.beginning = Beginning(can_be_set=False)
    return error


def missing(what: str, package: str) -> "TableError":
    """Return the error for a file whose reader is not installed."""
    return TableError(f"To read {what} takes the package {package}, which is not installed: pip install {package}")


class TableWarning(UserWarning):
    """Numbers of a file may be wrong by a factor of 1000. The message states what decides it, without a cell."""


@immutable_value
class Limits:
    """Limits on reading a file. None means that only memory limits it."""

    # Maximum bytes of unpacked content.
    n_unpacked: int
    # Maximum bytes of the file.
    n_bytes: int | None = None
    n_rows: int | None = None
    n_columns: int | None = None
    n_cells: int | None = None

    def refuse_size(self, n_rows: int, n_columns: int) -> None:
        """Raise TableError for a table with too many rows, columns or cells."""
        if self.n_columns is not None and n_columns > self.n_columns:
            raise TableError(
                f"A file can have at most {self.n_columns} columns, but this one has {n_columns}. Keep only "
                "the columns you need."
            )
        if self.n_rows is not None and n_rows > self.n_rows:
            raise TableError(
                f"A file can have at most {self.n_rows} rows, but this one has more. Keep a sample of them."
            )
        if self.n_cells is not None and n_rows * n_columns > self.n_cells:
            raise TableError(
                f"A file can have at most {self.n_cells} cells, but this one has about {n_rows} rows of "
                f"{n_columns} columns. Keep only the columns you need."
            )

    def refuse_unpacked(self, n_bytes: int) -> None:
        """Raise TableError if a compressed table of `n_bytes` is larger than `n_unpacked`."""
        if n_bytes > self.n_unpacked:
            raise TableError(
                f"A file can unpack to at most {self.n_unpacked // 1000000} MB, but this one unpacks to "
                f"{n_bytes / 1000000.0:,.0f} MB or more. Keep fewer rows, or only the columns you need."
            )


UPLOADED = Limits(MAX_UNPACKED, MAX_BYTES, MAX_ROWS, MAX_COLUMNS, MAX_CELLS)


def own(n_bytes: int) -> Limits:
    """Return the limits for a file of `n_bytes` on the user's own machine: it may not unpack like a bomb."""
    return Limits(max(MAX_UNPACKED, MAX_TIMES * n_bytes))


@immutable_value
class FileBytes:
    """A whole file. Curator only."""

    # Name of the file, without folder, shortened.
    name: str
    # First DIGEST_LENGTH hex digits of the SHA-256 of the bytes.
    digest: str
    data: bytes


@immutable_value
class TableFormat:
    """Settings for reading a file: public, with the names of `pandas.read_csv`. None means inferred from the file.

    `sep` ("" for one column) and `header` are for text files and workbooks, `decimal` and `thousands` ("" for none) for
    all numbers that are written as text. `header` is the row of the names, 0 for the first row that is not empty, None
    if there are no names; rows above it are left out. `sheet` names a sheet of a workbook, None means the first visible
    one. Raises TableError for any other value.
    """

    sep: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    header: Header = "infer"
    sheet: str | None = None

    def __post_init__(self) -> None:
        """Check the settings."""
        for name, value, allowed in (
            ("sep", self.sep, (*SEPARATORS, " ", NO_SEPARATOR)),
            ("decimal", self.decimal, DECIMALS),
            ("thousands", self.thousands, THOUSANDS),
        ):
            if value is not None and value not in allowed:
                listed = ", ".join(map(repr, allowed))
                raise TableError(f"{name} must be one of {listed}, or None to detect it, got {quoted(value)}.")
        if self.decimal is not None and self.decimal == self.thousands:
            raise TableError(f"decimal and thousands must differ, got {self.decimal!r} for both. Change one.")
        is_row = type(self.header) is int and 0 <= self.header <= MOST_HEADER
        if not is_row and self.header not in (None, "infer"):
            raise TableError(
                f'header must be a row from 0 to {MOST_HEADER}, None if the file has no names, or "infer", got '
                f"{quoted(self.header)}."
            )
        if self.sheet is not None and (not isinstance(self.sheet, str) or not 0 < len(self.sheet) <= MOST_SHEET):
            raise TableError(
                f"sheet must be a sheet's name of at most {MOST_SHEET} characters, or None for the first one, got "
                f"{quoted(self.sheet)}."
            )

    @property
    def decimals(self) -> tuple[str, ...]:
        """The decimal signs that a file may have."""
        if self.decimal is not None:
            return (self.decimal,)
        return tuple(sign for sign in DECIMALS if sign != self.thousands)

    @property
    def chosen(self) -> dict[str, str | int | None]:
        """The settings that are not inferred from the file, by name."""
        return {name: value for name, value in asdict(self).items() if value != getattr(READ_OFF, name)}


READ_OFF = TableFormat()


@immutable
class Columns(Confidential):
    """The columns of a table in their order. Curator only, except the names."""

    names: tuple[str, ...]
    n_rows: int
    # One array (n,) per column; NaN if a cell is missing or not finite.
    nonprivate_numbers: Mapping[str, FloatArray]
    # One array (n,) per column; '' if a cell is missing.
    nonprivate_texts: Mapping[str, Texts]
    notes: tuple[str, ...]
    # The notes about numbers that may be wrong by a factor of 1000.
    doubts: tuple[str, ...] = ()
    # Decimal signs of numeric columns that were text.
    decimals: Mapping[str, str] = field(default_factory=dict)
    # Numeric columns that were dates: days since DAY_ZERO.
    dates: frozenset[str] = frozenset()
    beginning: Beginning = TableError.beginning


@immutable_value
class FileFormat:
    """One file format. The first bytes of a file determine its format, not its name."""

    # Name of the format in a message.
    title: str
    # Regular expression of the first bytes, or of the beginning of a text, lower case; "" if it has no mark.
    pattern: str
    # "module:function", loaded with the first file. It takes bytes or decoded text. "" if the format is refused.
    parser: str = ""
    # Settings of `TableFormat` that can be made by hand.
    settings: tuple[str, ...] = ("decimal",)
    # The way out for a format that is refused.
    way_out: str = "Save its table as CSV."

    def parse(self, content: bytes | str, limits: Limits, reading: TableFormat) -> Columns:
        """Return the columns of a file. Raises TableError."""
        if not self.parser:
            raise self.refusal()
        try:
            parser: Callable[[bytes | str, Limits, TableFormat], Columns] = pkgutil.resolve_name(self.parser)
        except ModuleNotFoundError as error:
            raise missing(self.title, str(error.name).replace("_", "-")) from None
        return parser(content, limits, reading)

    def refusal(self) -> TableError:
        """Return the error for a file in a format that is not read."""
        return refuse_format(f"The file is {self.title}, but a table must be {READABLE}. {self.way_out}")


CSV = FileFormat("text", "", parser="dpviz.data.parsing:parse", settings=("decimal", "sep", "header"))
GEOJSON = FileFormat("GeoJSON", "", parser="dpviz.data.geojson:read_geojson")
READ = (
    CSV,
    GEOJSON,
    FileFormat("a Parquet file", "PAR1", parser="dpviz.data.parquet:read_parquet"),
    FileFormat(
        "a workbook or a ZIP archive",
        r"PK\x03\x04",
        parser="dpviz.data.workbook:read_workbook",
        settings=("decimal", "sheet", "header"),
    ),
)
SAVE = "Open it in the program that made it, and save its table as CSV."
READABLE = "CSV, TSV, Excel (.xlsx), OpenDocument (.ods), Parquet or points in GeoJSON"
_REFUSED = tomllib.loads(assets.text("file_formats.toml"))
BINARY = (*(each for each in READ if each.pattern), *(FileFormat(**each) for each in _REFUSED["binary"]))
MARKED = tuple(FileFormat(**each) for each in _REFUSED["marked"])


def binary_format(data: bytes) -> FileFormat | None:
    """Return the binary format of a file by its first bytes; None for text, plain or packed."""
    return next((each for each in BINARY if re.match(each.pattern.encode(), data)), None)


def text_format(text: str) -> FileFormat | None:
    """Return the format of marked-up text, by its beginning; None for a table or JSON."""
    beginning = text[:PROBE].lower().lstrip()
    is_xml = re.match(r"<(\?xml|!doctype|!--|[a-z][a-z0-9:.-]*(\s[^<>]*)?/?>)", beginning) is not None
    # The name of a column can begin with a tag, but then the text does not end with one.
    if is_xml and not re.match(r"<(\?xml|!doctype|html)", beginning):
        is_xml = text.rstrip().endswith(">")
    # Only the last of these formats has no tags.
    return next((each for each in MARKED[0 if is_xml else -1 :] if re.search(each.pattern, beginning)), None)


def load_parsers() -> None:
    """Load the parsers. pandas and pyarrow take as long as all the methods, and most processes read no file."""
    for each in READ:
        pkgutil.resolve_name(each.parser)


def day_of(text: str) -> float | None:
    """Return the date in `text` as days since DAY_ZERO, None for anything else.

    A time is a part of a day, in UTC if it has a zone.
    """
    if iso := re.fullmatch(ISO_DATE, text):
        parts = iso.groups(default="0")
    elif dotted := re.fullmatch(DOTTED_DATE, text):
        parts = (*dotted.groups()[::-1], *"00000")
    else:
        return None
    year, month, day, hour, minute = map(int, parts[:5])
    second, zone = float(parts[5]), float(parts[6])
    try:
        moment = datetime(year, month, day, hour, minute, int(second)) + timedelta(seconds=second % 1.0)
        shift = timedelta(hours=zone, minutes=math.copysign(float(parts[7]), float(f"{parts[6]}.1")))
        return (moment - shift - DAY_ZERO) / timedelta(days=1)
    except (ValueError, OverflowError):
        return None


def date_of(day: float) -> str:
    """Write days since DAY_ZERO as a date, with its time if it has one; as a number beyond the calendar."""
    try:
        moment = DAY_ZERO + timedelta(seconds=round(day * 86_400))
    except (OverflowError, ValueError):
        return f"{day:g}"
    return moment.isoformat(sep=" ") if day != round(day) else moment.date().isoformat()


def quoted(value: object) -> str:
    """Return `value` quoted and shortened to about MAX_SHOWN characters, safe to repeat in a message."""
    text = str(value)
    return repr(text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…")


def listed(names: Iterable[str]) -> str:
    """Return at most MAX_LISTED `names`, quoted, and the number of the others."""
    return joined([quoted(name) for name in names])


def joined(parts: Sequence[str]) -> str:
    """Join at most MAX_LISTED parts with commas and append the number of the others."""
    rest = len(parts) - MAX_LISTED
    return ", ".join(parts[:MAX_LISTED]) + (f" and {rest} more" if rest > 0 else "")


def read_bytes(file_or_path: FileOrPath, most: int | None = None) -> FileBytes:
    """Read a path (str, Path) or a binary file object to the end; raises TableError for more than `most` bytes.

    It stops one byte past the limit.
    """
    size = -1 if most is None else most + 1
    name: object = file_or_path
    try:
        if isinstance(file_or_path, str | Path):
            with Path(file_or_path).open("rb") as file:
                data: object = file.read(size)
        else:
            name = getattr(file_or_path, "name", "table")
            # An upload keeps its position across reruns, but getvalue always returns the whole file.
            whole = getattr(file_or_path, "getvalue", None)
            data = file_or_path.read(size) if whole is None else whole()
    except (OSError, ValueError, AttributeError, TypeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a file"
        which = f"file {str(file_or_path)!r}" if isinstance(file_or_path, str | Path) else "file"
        raise TableError(f"The {which} could not be read ({reason}). Pass a path or an open binary file.") from None
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TableError(f"The file must give bytes, got {type(data).__name__}. Open it in mode 'rb'.")
    last = str(name).replace("\\", "/").rsplit("/", maxsplit=1)[-1]
    printable = "".join(character for character in last if character.isprintable()).strip()
    data = _within_limit(bytes(data), most)
    return FileBytes(printable[:MAX_SHOWN] or "table", hashlib.sha256(data).hexdigest()[:DIGEST_LENGTH], data)


def decode(data: bytes, limits: Limits = UPLOADED) -> tuple[str, tuple[str, ...]]:
    """Return the text of a file, plain or gzip, and notes about guesses.

    The encoding follows from a byte order mark; otherwise it is UTF-16 if NUL bytes indicate it, otherwise UTF-8,
    Windows-1252 or Latin-1, which accepts any byte. Raises TableError for data that unpack to more than `limits`, are
    binary or empty.
    """
    if data.startswith(GZIP_MAGIC):
        data = _unpacked(data, limits.n_bytes or limits.n_unpacked)
    if binary := binary_format(data):
        raise refuse_format(
            f"The file is {binary.title}, but here it must be text, plain or compressed. {binary.way_out}"
        )
    notes: tuple[str, ...] = ()
    encoding = "utf-16" if data.startswith(UTF16_MARKS) else _utf16_without_mark(data)
    try:
        text = data.decode(encoding or "utf-8-sig")
    except UnicodeDecodeError:
        if encoding is not None:
            raise TableError("The file looks like UTF-16 but is damaged. Save the table as CSV in UTF-8.") from None
        # Latin-1 with the euro sign and others instead of control characters.
        try:
            text = data.decode("cp1252")
        except UnicodeDecodeError:
            text = data.decode("latin-1")
        notes = ("The file is not UTF-8, so it was read as Latin-1 (Windows-1252): check accented letters.",)
    if "\x00" in text:
        raise TableError(f"The file has NUL bytes, like a binary file. A table must be {READABLE}. {SAVE}")
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise TableError("The file is empty: it has no header line and no records. Choose another file.")
    probe = text[:PROBE]
    n_control = sum(character < " " and character not in "\t\r\n\f\v" for character in probe)
    if n_control > MAX_CONTROL_SHARE * len(probe):
        raise TableError(
            f"The file is of an unknown kind (it has control characters), but a table must be {READABLE}. {SAVE}"
        )
    if marked := text_format(text):
        raise marked.refusal()
    return text, notes


def _unpacked(data: bytes, most: int) -> bytes:
    """Unpack gzip; stop at the limit, whatever size the file claims."""
    try:
        with gzip.open(io.BytesIO(data)) as file:
            unpacked = file.read(most + 1)
    except (OSError, EOFError, zlib.error):
        raise TableError("The compressed file is damaged: it must be complete gzip. Compress it again.") from None
    return _within_limit(unpacked, most)


def _within_limit(data: bytes, most: int | None) -> bytes:
    if most is not None and len(data) > most:
        raise TableError(
            f"A file can have at most {most // 1000000} MB, but this one has more. Keep fewer rows, or "
            "only the columns you need."
        )
    return data


def _utf16_without_mark(data: bytes) -> str | None:
    """Guess UTF-16 from the places of NUL bytes: plain Latin text has one in every pair, always on one side."""
    probe = data[:PROBE]
    n_even, n_odd = probe[0::2].count(0), probe[1::2].count(0)
    # 80 % of the pairs, because at most one byte of a pair is NUL.
    mostly = 0.4 * len(probe)
    if n_odd > mostly and n_even == 0:
        return "utf-16-le"
    if n_even > mostly and n_odd == 0:
        return "utf-16-be"
    return None


def is_json(text: str) -> bool:
    """Return True if a text is a JSON object or list rather than a table."""
    if re.match(r'\s*\[\s*["\d-]', text):
        # The name of a column can begin with a bracket.
        return text.rstrip().endswith("]")
    return re.match(r"\s*(\{|\[\s*[\[{\]])", text) is not None
