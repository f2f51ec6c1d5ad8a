"""A Parquet file, refused before it unpacks to more than the limits, whatever its own summary promises.

The summary at the end of the file and the head of every page say how much unpacks; the heads are what the reader
allocates by, so they are added up here first. Texts stay in their dictionaries, so that one long text repeated in every
row costs its length once.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from dpviz.core import FloatArray
from dpviz.data.columns import Columns, Texts
from dpviz.data.decoding import UPLOADED, Limits, TableError, shown
from dpviz.data.numerals import finite, typed
from dpviz.data.parsing import column_names
from dpviz.data.table_format import READ_OFF, TableFormat

BATCH, SMALL_BATCH = 20_000, 200  # rows that are unpacked at a time
DICTIONARY_ENCODINGS = {"PLAIN", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "RLE", "BIT_PACKED"}  # of values and levels
MAX_PAGES = 100_000  # ours; a file has a few for each column
MAX_LISTED = 8  # columns that a message lists
MAX_DEPTH = 8  # of structures in the head of a page
WAY_OUT = "Save the table again as Parquet or CSV."
GEO = b"geo"  # the name under which a GeoParquet file describes its columns of shapes
PLACES = "To use the places in it, save the points as GeoJSON, or as two columns of latitude and longitude."

# Kinds of value in Thrift's compact protocol, in which heads of pages are written.
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
UNPACKED_SIZE, PACKED_SIZE = 2, 3  # fields of a page's head (parquet.thrift, PageHeader)


def read_parquet(data: bytes, limits: Limits = UPLOADED, reading: TableFormat = READ_OFF) -> Columns:
    """Read the flat columns of `data`; raises TableError for anything that is no table within `limits`."""
    try:
        file = _opened(data, limits)
        flat = [i for i, kind in enumerate(file.schema_arrow.types) if _is_number(kind) or _is_text(kind)]
        names, notes = column_names(file.schema_arrow.names)
        left_out = [_left_out(name, file.schema_arrow, i) for i, name in enumerate(names) if i not in flat]
        if not flat:
            raise TableError(f"No column held numbers or texts, but at least one must. {left_out[0]} {WAY_OUT}")
        chunks = list(_batches(file, flat, limits))
        n_rows = sum(batch.num_rows for batch in chunks)
        numbers, texts = _collected(chunks, [names[i] for i in flat], limits)
    except TableError:
        raise
    except (pa.ArrowException, OSError, ValueError, LookupError, TypeError, MemoryError, OverflowError) as error:
        # What pyarrow says can hold cells.
        raise TableError(f"The Parquet file was damaged or unusual ({type(error).__name__}). {WAY_OUT}") from None
    return _columns(tuple(names[i] for i in flat), n_rows, numbers, texts, (*notes, *left_out), reading)


def read_columns(path: Path, wanted: Sequence[str], reading: TableFormat = READ_OFF) -> Columns:
    """Read the `wanted` columns of a Parquet file, or of all `*.parquet` of a folder in the order of their names.

    For files that a person has on this machine: the limits of uploads do not hold, and only these columns take memory.
    Raises TableError for what is no Parquet or lacks a column, and OSError for what cannot be read.
    """
    paths = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not paths:
        raise TableError("The folder had no file whose name ends in .parquet. Name another folder, or a file.")
    try:
        batches = [batch for each in paths for batch in _wanted_batches(each, list(wanted))]
        if not batches:
            raise TableError("There were columns but no records, but there must be at least one. Choose other files.")
        numbers, texts = _collected(batches, list(wanted), None)
    except pa.ArrowException as error:  # also for a column that is text in one file and numbers in another
        raise TableError(f"{path.name} was damaged or unusual ({type(error).__name__}). {WAY_OUT}") from None
    return _columns(tuple(wanted), sum(batch.num_rows for batch in batches), numbers, texts, (), reading)


def _wanted_batches(path: Path, wanted: list[str]) -> Iterator[Any]:
    """Yield the `wanted` columns of one file, BATCH rows at a time."""
    with pq.ParquetFile(path, pre_buffer=False) as file:
        kinds = dict(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True))
        for name in wanted:
            if name not in kinds:
                known = ", ".join(map(shown, list(kinds)[:MAX_LISTED]))
                raise TableError(f"There is no column {shown(name)} in {path.name}; it begins with {known}.")
            if not (_is_number(kinds[name]) or _is_text(kinds[name])):
                raise TableError(f"Column {shown(name)} holds neither numbers nor text. Leave it out.")
        yield from (batch.select(wanted) for batch in file.iter_batches(BATCH, columns=wanted, use_threads=False))


def _left_out(name: str, schema: Any, place: int) -> str:
    """Say that a column is not read, and how what is in it can be; shapes are binary, or points in two numbers."""
    kind = schema.types[place]
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    has_bytes = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_struct(kind)
    if has_bytes and GEO in (schema.metadata or {}):
        return f"Column {shown(name)} holds shapes (GeoParquet) and was left out. {PLACES}"
    return f"Column {shown(name)} holds neither numbers nor text and was left out."


def _opened(data: bytes, limits: Limits) -> Any:
    """Open the file when what it says of itself, and what its pages say, is within the limits."""
    file = pq.ParquetFile(pa.BufferReader(data))
    about = file.metadata
    limits.refuse_size(about.num_rows, about.num_columns)
    if not about.num_rows:
        raise TableError("The file had columns but no records, but it must have at least one. Choose another file.")
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    chunks = [group.column(i) for group in groups for i in range(group.num_columns) if group.num_rows]
    limits.refuse_unpacked(sum(chunk.total_uncompressed_size for chunk in chunks))
    limits.refuse_unpacked(_page_sizes(data, chunks))
    # pyarrow refuses to make a dictionary of what other encodings hold.
    others = {chunk.path_in_schema for chunk in chunks if not DICTIONARY_ENCODINGS.issuperset(chunk.encodings)}
    texts = [column.path for column in map(file.schema.column, range(len(file.schema))) if _is_bytes(column)]
    return pq.ParquetFile(pa.BufferReader(data), read_dictionary=[path for path in texts if path not in others])


def _is_bytes(column: Any) -> bool:
    return bool(column.physical_type == "BYTE_ARRAY" and column.max_repetition_level == 0)


def _is_number(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_text(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_time = pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_time(kind)
    is_string = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(is_string or pa.types.is_boolean(kind) or is_time)


def _batches(file: Any, flat: list[int], limits: Limits) -> Iterator[Any]:
    """Yield the `flat` columns BATCH rows at a time.

    Texts whose beginnings are stored once (DELTA_BYTE_ARRAY) unpack to more than their pages: they are added up as they
    come, in smaller batches.
    """
    wanted = file.schema_arrow.names
    if len(set(wanted)) < len(wanted):
        raise TableError(f"Two columns of the file have one name, but names must differ. {WAY_OUT}")
    columns = [wanted[i] for i in flat]
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    is_delta = any(
        "DELTA_BYTE_ARRAY" in group.column(i).encodings for group in groups for i in range(group.num_columns)
    )
    n_bytes = 0
    for batch in file.iter_batches(batch_size=SMALL_BATCH if is_delta else BATCH, columns=columns, use_threads=False):
        if is_delta:
            n_bytes += batch.nbytes
            limits.refuse_unpacked(n_bytes)
        yield batch.select(columns)


def _collected(
    batches: list[Any], names: list[str], limits: Limits | None
) -> tuple[dict[str, FloatArray], dict[str, Texts]]:
    """Return each column (n,) as floats, NaN where missing, or as strings, '' where missing."""
    numbers: dict[str, FloatArray] = {}
    texts: dict[str, Texts] = {}
    n_characters = 0
    for place, name in enumerate(names):
        parts = [batch.column(place) for batch in batches]
        if _is_number(parts[0].type):
            numbers[name] = np.concatenate([_floats(part) for part in parts])
            continue
        found = [_strings(part) for part in parts]
        n_characters += sum(length for _, length in found)
        if limits is not None:
            limits.refuse_unpacked(n_characters)
        texts[name] = np.concatenate([strings for strings, _ in found])
    return numbers, texts


def _floats(part: Any) -> FloatArray:
    plain = part.dictionary_decode() if pa.types.is_dictionary(part.type) else part
    return np.asarray(plain.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def _strings(part: Any) -> tuple[Texts, int]:
    """Return the cells of `part` (n,) as stripped strings that share their memory, and their length all together."""
    coded = part if pa.types.is_dictionary(part.type) else part.dictionary_encode()
    values = np.array([*(str(value).strip() for value in coded.dictionary.to_pylist()), ""], dtype=object)
    lengths = np.array([len(value) for value in values])
    codes = coded.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False).astype(np.intp)
    return values[codes], int(lengths[codes].sum())


def _columns(
    names: tuple[str, ...],
    n_rows: int,
    numbers: dict[str, FloatArray],
    texts: dict[str, Texts],
    notes: tuple[str, ...],
    reading: TableFormat,
) -> Columns:
    """Put the columns together; a column of texts that are all numbers is one of numbers, as in CSV."""
    read = typed(pd.DataFrame(texts, dtype="str"), tuple(texts), (), reading=reading) if texts else None
    given = {name: finite(name, values, np.isnan(values)) for name, values in numbers.items()}
    said = [note for _, more in given.values() for note in more]
    return Columns(
        names,
        n_rows,
        {**{name: values for name, (values, _) in given.items()}, **(read.nonprivate_numbers if read else {})},
        read.nonprivate_texts if read else {},
        (*notes, *said, *(read.notes if read else ())),
        read.doubts if read else (),
        read.decimals if read else {},
    )


def _page_sizes(data: bytes, chunks: list[Any]) -> int:
    """Add up what all pages of the column `chunks` unpack to, by their own heads."""
    total, n_pages = 0, 0
    for chunk in chunks:
        begins = [chunk.data_page_offset, chunk.dictionary_page_offset if chunk.has_dictionary_page else None]
        place = min(begin for begin in begins if begin)  # older writers give 0 where they give none
        end = place + chunk.total_compressed_size
        while place < end:
            head, place = _struct(data, place, 0)
            if head.get(UNPACKED_SIZE, -1) < 0 or head.get(PACKED_SIZE, -1) < 0:
                raise ValueError("a page without size")
            total, n_pages, place = total + head[UNPACKED_SIZE], n_pages + 1, place + head[PACKED_SIZE]
            if n_pages > MAX_PAGES:
                raise TableError(f"The file had more than {MAX_PAGES} pages, but that is the most. {WAY_OUT}")
    return total


def _struct(data: bytes, place: int, depth: int) -> tuple[dict[int, int], int]:
    """Read a structure of Thrift's compact protocol at `place`: its whole-number fields, and where it ends."""
    if depth > MAX_DEPTH:
        raise ValueError("too deep")
    fields: dict[int, int] = {}
    number = 0
    while head := data[place]:
        place += 1
        if head >> 4:
            number += head >> 4
        else:
            number, place = _whole(data, place)
        kind = head & 15
        if kind in (I16, I32, I64):
            fields[number], place = _whole(data, place)
        else:
            place = _after(data, place, kind, depth)
    return fields, place + 1


def _after(data: bytes, place: int, kind: int, depth: int) -> int:
    """Return where a value of another kind ends; lists and maps, which no head of a page holds, are refused."""
    if kind in (TRUE, FALSE):
        return place
    if kind in (BYTE, DOUBLE):
        return place + (1 if kind == BYTE else 8)
    if kind == BINARY:
        length, place = _varint(data, place)
        return place + length
    if kind == STRUCT:
        return _struct(data, place, depth + 1)[1]
    raise ValueError("no head of a page")


def _whole(data: bytes, place: int) -> tuple[int, int]:
    """Read a zigzag number and return it with where it ends."""
    value, place = _varint(data, place)
    return (value >> 1) ^ -(value & 1), place


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7
        if shift > 63:
            raise ValueError("no number")
