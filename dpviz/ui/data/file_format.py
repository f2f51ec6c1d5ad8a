"""How the session's file is read: as it seems to be written, or as the reader says that it is."""

from dataclasses import replace
from typing import Any

import streamlit as st

from dpviz.data import Table, TableError, TableFormat, read_confined
from dpviz.data.decoding import PARQUET_MAGIC, ZIP_MAGIC
from dpviz.data.table_format import MOST_HEADER, READ_OFF
from dpviz.ui import state
from dpviz.ui.data import kept, upload_form

AUTOMATIC = "automatic"
DECIMALS = {AUTOMATIC: "Automatic", ".": "Point: 1234.5", ",": "Comma: 1234,5"}
SEPARATORS = {AUTOMATIC: "Automatic", ",": "Comma", ";": "Semicolon", "\t": "Tab", "|": "Bar", " ": "Space", "": "None"}
JSON = (".json", ".geojson")


def read(file: Any) -> None:
    """Read a file that was given, by the settings of a link or an import if it is about this file."""
    kept.keep_file(file)
    _, form = upload_form.pending()
    if form is not None and form.reading != READ_OFF:
        table = _read(form.reading)
        if isinstance(table, Table) and upload_form.expected(table)[1] is not None:
            kept.keep_table(table, form.reading)
            return
    kept.keep_table(_read(READ_OFF), READ_OFF)


def as_imported(table: Table) -> Table:
    """Return the table read by the settings of an import, if that is about it."""
    _, form = upload_form.pending()
    if form is None or form.reading == table.reading:
        return table
    again = _read(form.reading)
    if not isinstance(again, Table) or upload_form.expected(again)[1] is None:
        return table
    kept.keep_table(again, form.reading)
    return again


def _read(reading: TableFormat) -> Table | TableError:
    """Read the session's file, or return why not, so that a bad one is not read again with every run."""
    try:
        return read_confined(kept.file(), reading)
    except TableError as error:
        return error


def draw(table: Table | None, *, public: bool) -> None:
    """Draw the settings, open where the file leaves a doubt, or is no table as it was read."""
    file, reading = kept.file(), kept.reading()
    if file is None:
        return
    doubts = () if table is None or public else table.doubts
    is_packed = file.getvalue()[:4] in (ZIP_MAGIC, PARQUET_MAGIC)
    is_text = not is_packed and not file.name.lower().endswith(JSON)
    has_header = is_text or file.getvalue()[:4] == ZIP_MAGIC
    with st.expander("How the file is read", expanded=table is None or bool(doubts or reading.chosen)):
        for doubt in doubts:
            st.warning(state.plain(doubt))
        columns = st.columns(1 + is_text + has_header, vertical_alignment="bottom")
        _choice(columns[0], "Decimal sign", "decimal", DECIMALS, reading.decimal)
        if is_text:
            _choice(columns[1], "Separator", "sep", SEPARATORS, reading.sep)
        if has_header:
            row = reading.header
            key = state.tie("upload:header", None if row == "infer" else 0 if row is None else int(row) + 1)
            columns[-1].number_input(
                "Header row",
                min_value=0,
                max_value=MOST_HEADER + 1,
                step=1,
                placeholder="Automatic",
                key=key,
                on_change=_take,
                args=("header", key),
                help="The row of the columns' names: 1 is the first that is not empty, 0 stands for no names.",
            )
        st.caption("Automatic settings are read off all rows of the file, and a guarantee takes them as public.")


def _choice(column: Any, label: str, name: str, titles: dict[str, str], chosen: str | None) -> None:
    key = state.tie(f"upload:{name}", AUTOMATIC if chosen is None else chosen)
    options: dict[str, Any] = {"key": key, "on_change": _take, "args": (name, key)}
    column.selectbox(label, list(titles), format_func=titles.__getitem__, **options)


def _take(name: str, key: str) -> None:
    """Read the file again with a setting that was changed."""
    value = state.sent(f"upload:{name}", key)
    if name == "header":
        given: Any = "infer" if value is None else None if value == 0 else int(value) - 1
    else:
        given = None if value == AUTOMATIC else value
    before = kept.reading()
    if name == "decimal" and given is not None and before.thousands == given:
        before = replace(before, thousands=None)
    reading = replace(before, **{name: given})
    kept.keep_table(_read(reading), reading)
