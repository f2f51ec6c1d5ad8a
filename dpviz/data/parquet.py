"""Parses Parquet files, within the limits of what they unpack to.

The summary at the end of the file states the unpacked size, and a file beyond the limits is rejected before unpacking.
The summary can be wrong, so unpacked portions are added up, and uploads are read in a process with limits
(`dpviz.data.confined`). Texts stay in their dictionaries, so one long text repeated in every row costs its length once.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from dpviz.core import FloatArray
from dpviz.data.files import READ_OFF, UPLOADED, Columns, Limits, TableError, TableFormat, Texts, quoted
from dpviz.data.parsing import column_names, finite, typed

# Rows that are unpacked at a time.
BATCH, SMALL_BATCH = 20_000, 200
# Encodings of values and levels.
DICTIONARY_ENCODINGS = {"PLAIN", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "RLE", "BIT_PACKED"}
WAY_OUT = "Save the table again as Parquet or CSV."
# Key under which a GeoParquet file describes its columns of shapes.
GEO = b"geo"
PLACES = "To use the places in it, save the points as GeoJSON, or as two columns of latitude and longitude."


def read_parquet(data: bytes, limits: Limits = UPLOADED, reading: TableFormat = READ_OFF) -> Columns:
    """Read the flat columns of `data`; raises TableError if it is not a table within `limits`."""
    try:
        file = _open(data, limits)
        schema = file.schema_arrow
        flat = [i for i, kind in enumerate(schema.types) if _is_number(kind) or _is_text(kind)]
        names, notes = column_names(schema.names)
        omissions = [_omission(name, schema, i) for i, name in enumerate(names) if i not in flat]
        if not flat:
            raise TableError(f"At least one column must have numbers or text, but none does. {omissions[0]} {WAY_OUT}")
        if len(set(schema.names)) < len(schema.names):
            raise TableError(f"Two columns of the file have the same name, but names must be unique. {WAY_OUT}")
        cells = _cells(_batches(file, [schema.names[i] for i in flat], limits), [names[i] for i in flat], limits)
    # pyarrow's own memory error is a MemoryError.
    except (TableError, MemoryError):
        raise
    except (pa.ArrowException, OSError, ValueError, LookupError, TypeError, OverflowError):
        # pyarrow's messages can contain cells.
        raise TableError(f"The Parquet file could not be read: it is cut off or unusual. {WAY_OUT}") from None
    return _columns(tuple(names[i] for i in flat), *cells, (*notes, *omissions), reading)


def _omission(name: str, schema: pa.Schema, place: int) -> str:
    """Report that a column is left out, and how to use its content; shapes are binary, or points in two numbers."""
    kind = _value_type(schema.types[place])
    has_bytes = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_struct(kind)
    if has_bytes and GEO in (schema.metadata or {}):
        return f"Column {quoted(name)} holds shapes (GeoParquet) and was left out. {PLACES}"
    return f"Column {quoted(name)} holds neither numbers nor text and was left out."


def _open(data: bytes, limits: Limits) -> pq.ParquetFile:
    """Open the file if its summary is within the limits."""
    file = pq.ParquetFile(pa.BufferReader(data))
    summary = file.metadata
    limits.refuse_size(summary.num_rows, summary.num_columns)
    if not summary.num_rows:
        raise TableError("The file has columns but no records. Choose another file.")
    groups = [summary.row_group(i) for i in range(summary.num_row_groups)]
    chunks = [group.column(i) for group in groups for i in range(group.num_columns) if group.num_rows]
    limits.refuse_unpacked(sum(chunk.total_uncompressed_size for chunk in chunks))
    # pyarrow does not build dictionaries from other encodings.
    others = {chunk.path_in_schema for chunk in chunks if not DICTIONARY_ENCODINGS.issuperset(chunk.encodings)}
    texts = [
        column.path
        for column in map(file.schema.column, range(len(file.schema)))
        if column.physical_type == "BYTE_ARRAY" and column.max_repetition_level == 0
    ]
    return pq.ParquetFile(pa.BufferReader(data), read_dictionary=[path for path in texts if path not in others])


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_number(kind: pa.DataType) -> bool:
    kind = _value_type(kind)
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_text(kind: pa.DataType) -> bool:
    kind = _value_type(kind)
    is_time = pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_time(kind)
    is_string = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(is_string or pa.types.is_boolean(kind) or is_time)


def _batches(file: pq.ParquetFile, columns: list[str], limits: Limits) -> list[pa.RecordBatch]:
    """Return the `columns`, BATCH rows at a time; raises TableError as soon as the limits are exceeded.

    Texts whose beginnings are stored once (DELTA_BYTE_ARRAY) unpack to more than the summary states, so their batches
    are smaller.
    """
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    is_delta = any(
        "DELTA_BYTE_ARRAY" in group.column(i).encodings for group in groups for i in range(group.num_columns)
    )
    n_bytes, batches = 0, []
    for batch in file.iter_batches(batch_size=SMALL_BATCH if is_delta else BATCH, columns=columns, use_threads=False):
        batches.append(batch.select(columns))
        # Batches share a dictionary, whose texts are counted for every row in `_cells`.
        n_bytes += sum(getattr(column, "indices", column).nbytes for column in batches[-1].columns)
        limits.refuse_unpacked(n_bytes)
    return batches


def _cells(
    batches: list[pa.RecordBatch], names: list[str], limits: Limits
) -> tuple[int, dict[str, FloatArray], dict[str, Texts]]:
    """Return the number of rows and each column (n,): floats with NaN, or strings with '', for missing cells."""
    numbers: dict[str, FloatArray] = {}
    texts: dict[str, Texts] = {}
    n_characters = 0
    for place, name in enumerate(names):
        parts = [batch.column(place) for batch in batches]
        if _is_number(parts[0].type):
            plain = (part.dictionary_decode() if pa.types.is_dictionary(part.type) else part for part in parts)
            floats = [part.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False) for part in plain]
            numbers[name] = np.concatenate(floats, dtype=np.float64)
            continue
        strings = []
        for part in parts:
            # Stripped strings that share their memory. The last one represents missing cells.
            coded = part if pa.types.is_dictionary(part.type) else part.dictionary_encode()
            values = np.array([*(str(value).strip() for value in coded.dictionary.to_pylist()), ""], dtype=object)
            codes = coded.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False).astype(np.intp)
            n_characters += int(np.array([len(value) for value in values])[codes].sum())
            strings.append(values[codes])
        limits.refuse_unpacked(n_characters)
        texts[name] = np.concatenate(strings)
    return sum(batch.num_rows for batch in batches), numbers, texts


def _columns(
    names: tuple[str, ...],
    n_rows: int,
    numbers: dict[str, FloatArray],
    texts: dict[str, Texts],
    notes: tuple[str, ...],
    reading: TableFormat,
) -> Columns:
    """Assemble the columns. A column whose texts are all numbers becomes a column of numbers, as in CSV."""
    columns = {}
    for name, values in numbers.items():
        columns[name], infinite_note = finite(name, values, np.isnan(values))
        notes = (*notes, *infinite_note)
    if not texts:
        return Columns(names, n_rows, columns, {}, notes)
    converted = typed(pd.DataFrame(texts, dtype="str"), tuple(texts), (), reading=reading)
    return replace(
        converted,
        names=names,
        n_rows=n_rows,
        nonprivate_numbers={**columns, **converted.nonprivate_numbers},
        notes=(*notes, *converted.notes),
    )
