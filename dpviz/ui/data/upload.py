"""The form for a person's own table: file, columns, rows, public bounds, and what those bounds do to the records.

A file stays in the session's memory: nothing of it is written, logged, or put into a cache that sessions share.
"""

from dataclasses import dataclass
from typing import Any

import streamlit as st

from dpviz.core import Box
from dpviz.data import (
    MAX_BYTES,
    MAX_COLUMNS,
    MAX_ROWS,
    Bounds,
    Dataset,
    Missing,
    Scaling,
    Table,
    TableError,
    get_ready,
    read_confined,
)
from dpviz.data.choices import DATA, EACH, SAME, Choices
from dpviz.ui import state
from dpviz.ui.data import upload_form
from dpviz.ui.data.clipping import say_clipping
from dpviz.ui.data.upload_form import MOST_FEATURES

KINDS = ("csv", "tsv", "txt", "gz", "parquet", "xlsx")
FIRST_FEATURES = 2
FEWEST_ROWS = 10
LIMITS = (
    f"CSV, TSV, Excel (.xlsx) or Parquet, at most {MAX_BYTES // 1_000_000} MB, {MAX_ROWS:,} rows and {MAX_COLUMNS} "
    "columns. Dates of Excel count as days. Large tables load fastest as Parquet. The file stays in this session's "
    "memory."
)
MISSING: dict[Missing, str] = {
    "error": "Are an error",
    "drop": "Leave the row out",
    "middle": "Middle of the bounds",
}
BOUNDS = {EACH: "Typed for each feature", SAME: "One pair for all", DATA: "From the data: not private"}
NO_LABEL = ""
_TABLE = "dpviz:table"
_LINK = "dpviz:linked-upload"


@dataclass(frozen=True, slots=True)
class _Columns:
    """What of the table is used."""

    features: tuple[str, ...]
    label: str | None
    missing: Missing
    scaling: Scaling
    max_rows: int | None


@dataclass(frozen=True, slots=True)
class _Typed:
    """Bounds and units of the features; `from_data` says whether any bound came from the records."""

    box: Box
    units: tuple[str, ...]
    from_data: bool
    how: str
    borrowed: tuple[str, ...] = ()  # features whose bounds are from the records


@dataclass(frozen=True, slots=True, eq=False)
class _Bounding:
    """Whose bounds are asked for, and what was answered before."""

    table: Table
    form: Choices | None
    number: int  # of the import, so that its answers win over what was typed
    public: bool


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """A data set out of a file, the scalars it follows from, and the file's fingerprint."""

    dataset: Dataset
    key: tuple[Any, ...]
    digest: str
    form: Choices  # what was answered


def expect(fingerprint: str) -> None:
    """Remember that the link was made with the file of this fingerprint."""
    st.session_state[_LINK] = fingerprint[:64]


def expect_nothing() -> None:
    """Forget the link's file."""
    st.session_state.pop(_LINK, None)


def ask(*, public: bool) -> Described | None:
    """Draw the form and return what it describes; None while it is not complete, or the file is no table."""
    file = st.file_uploader("Your file", type=list(KINDS), help=LIMITS)
    if file is None:
        get_ready()
        st.session_state.pop(_TABLE, None)
        if wanted := st.session_state.get(_LINK):
            state.report(
                "The server does not have this link's file: it is somebody else's, or the server was started again. "
                f"Under Data, choose the file whose fingerprint is {wanted}, even if its name stands there already."
            )
        return None
    try:
        return _described(_table(file, public=public), public=public)
    except TableError as error:  # the reason can name a cell or a count
        st.error("This file cannot be used like this. The curator can see why." if public else state.plain(str(error)))
        return None


def _table(file: Any, *, public: bool) -> Table:
    """Read the file once, and check it against the link's fingerprint."""
    known = st.session_state.get(_TABLE)
    if known is None or known[0] != file.file_id:
        known = (file.file_id, _read(file))
        st.session_state[_TABLE] = known
    if isinstance(known[1], TableError):
        raise TableError(str(known[1]))  # a new one: the old would gather the frames of every run
    table: Table = known[1]
    wanted = st.session_state.get(_LINK)
    if wanted and wanted != table.digest:
        st.warning(
            f"This file's fingerprint is {table.digest}, the link's is {state.plain(wanted)}: the picture will be "
            "another one."
        )
    for note in () if public else table.notes:
        st.caption(state.plain(note))
    return table


def _read(file: Any) -> Table | TableError:
    """Read the file or keep why not, so that a bad one is not read again with every run."""
    try:
        with st.spinner("Reading the file"):
            return read_confined(file)
    except TableError as error:
        return error


def _described(table: Table, *, public: bool) -> Described | None:
    """Ask for columns and public bounds, and say what they do."""
    number, form = upload_form.expected(table)
    columns = _ask_columns(table, form, public=public)
    if columns is None:
        return None
    typed = _ask_bounds(_Bounding(table, form, number, public), columns.features)
    if typed is None:
        return None
    ends = zip(columns.features, typed.box.low.tolist(), typed.box.high.tolist(), strict=True)
    known = tuple(None if name in typed.borrowed else (low, high) for name, low, high in ends)
    chosen = (columns.features, columns.label, columns.missing, columns.scaling, columns.max_rows)
    answered = Choices(*chosen, typed.how, known, typed.units)
    dataset = answered.dataset(table)
    if not public:
        done = table.clipping(columns.features, typed.box, columns.label, columns.missing, max_rows=columns.max_rows)
        say_clipping(done, columns.features, typed.units, typed.box.widths)
        st.caption("The link carries this file's fingerprint: share it as you would share the file.")
    bounds = (*typed.box.low.tolist(), *typed.box.high.tolist())
    choices = (columns.label, columns.missing, columns.scaling, columns.max_rows, typed.units, typed.from_data)
    return Described(dataset, (table.digest, columns.features, bounds, *choices), table.digest, answered)


def _ask_columns(table: Table, form: Choices | None, *, public: bool) -> _Columns | None:
    """Ask for features, labels, and what happens to rows; None without a feature."""
    numeric = list(table.numeric_columns)
    if not numeric:
        raise TableError("No column of this file is numeric, but at least one is needed. Choose another file.")
    first = list(form.features) if form else numeric[: min(FIRST_FEATURES, len(numeric))]
    features = st.multiselect("Features", numeric, default=first, max_selections=MOST_FEATURES)
    if not features:
        st.info("Choose at least one feature.")
        return None
    free = [name for name in (*table.text_columns, *numeric) if name not in features]
    labels = [NO_LABEL, *free]
    label = st.selectbox(
        "Labels",
        labels,
        labels.index(form.label) if form and form.label in labels else 0,
        format_func=lambda name: name or "None",
        help="Known classes, one for each record. They are the curator's and no method uses them.",
    )
    with st.expander("Rows and scale"):
        missing = st.selectbox(
            "Missing values",
            list(MISSING),
            list(MISSING).index(form.missing) if form else 0,
            format_func=lambda choice: MISSING[choice],
            help="Each choice looks at one row alone, so that it costs no privacy.",
        )
        most = _ask_rows(table, form, public=public)
        unit = form is not None and form.scaling == "unit"
        scaled = st.toggle("Scale bounds to 0 and 1", unit, help="Every feature counts the same, whatever its unit.")
    return _Columns(tuple(features), label or None, missing, "unit" if scaled else "none", most)


def _ask_rows(table: Table, form: Choices | None, *, public: bool) -> int | None:
    """Ask for the most rows; how many there are is the curator's."""
    most = MAX_ROWS if public else max(table.n_rows, FEWEST_ROWS)
    chosen = st.number_input(
        "Rows at most",
        min_value=FEWEST_ROWS,
        max_value=MAX_ROWS,
        value=min(max(form.max_rows, FEWEST_ROWS), MAX_ROWS) if form and form.max_rows else None,
        placeholder="all" if public else f"all {most:,}",
        step=100,
        help="Keeps rows spread evenly over the file. The promise covers the rows that are kept.",
    )
    return None if chosen is None else int(chosen)


def _ask_bounds(asked: _Bounding, features: tuple[str, ...]) -> _Typed | None:
    """Ask for public bounds of the features; None until all are there."""
    how = st.selectbox(
        "Public bounds",
        list(BOUNDS),
        list(BOUNDS).index(asked.form.how) if asked.form else 0,
        format_func=lambda choice: BOUNDS[choice],
        help="What you know without looking at the records. Extremes of the data are the values of single people.",
    )
    if how == DATA:
        st.caption("From the data: not private. No guarantee holds until you type public bounds.")
        suggested = [asked.table.suggested_bounds(name) for name in features]
        return _checked(suggested, (), from_data=True, how=DATA, borrowed=features)
    if how == SAME:
        both = _ask_pair(asked, "every feature", features[0], None)
        return None if both is None else _checked([both] * len(features), (), from_data=False, how=SAME)
    return _ask_each(asked, features)


def _ask_each(asked: _Bounding, features: tuple[str, ...]) -> _Typed | None:
    """Ask for two bounds and a unit of each feature, any of them from the data; None until all are there."""
    borrowed = st.multiselect(
        "From the data (not private)",
        features,
        [name for name in asked.form.borrowed if name in features] if asked.form else None,
        help="Features whose bounds you do not know. With one of them no guarantee holds.",
    )
    found: list[Bounds | None] = []
    units: list[str] = []
    for name in features:
        if name in borrowed:
            bounds = asked.table.suggested_bounds(name)
            ends = "" if asked.public else f" {bounds.low:g} to {bounds.high:g}"
            st.caption(f"{state.plain(name)}{state.plain(ends)}: from the data, not private.")
            found.append(bounds)
            units.append("")
        else:
            found.append(_ask_pair(asked, name, name, units))
    given = [bounds for bounds in found if bounds is not None]
    if len(given) < len(features):
        st.info("Type both bounds of every feature, or take them from the data.")
        return None
    return _checked(given, tuple(units), from_data=bool(borrowed), how=EACH, borrowed=tuple(borrowed))


def _ask_pair(asked: _Bounding, title: str, name: str, units: list[str] | None) -> Bounds | None:
    """Ask for one feature's bounds, and with `units` for its unit, which is added there; None until both are typed."""
    key = f"bounds:{asked.number}:{asked.table.digest}:{name if units is not None else 'all'}"
    places = st.columns([2, 2, 1.4] if units is not None else 2, vertical_alignment="bottom")
    label = f"{state.plain(title)} from"
    before = asked.form.pair(name) if asked.form else (None, None)
    low = places[0].number_input(label, value=before[0], key=f"{key}:low", format="%g")
    high = places[1].number_input("to", value=before[1], key=f"{key}:high", format="%g")
    if units is not None:
        unit = asked.form.unit(name) if asked.form else ""
        units.append(places[2].text_input("unit", unit, key=f"{key}:unit", max_chars=12))
    if low is None or high is None:
        if units is None:
            st.info("Type both bounds, or take them from the data.")
        return None
    return Bounds(float(low), float(high))


def _checked(
    bounds: list[Bounds], units: tuple[str, ...], *, from_data: bool, how: str, borrowed: tuple[str, ...] = ()
) -> _Typed:
    try:
        box = Box([one.low for one in bounds], [one.high for one in bounds])
        return _Typed(box, units, from_data, how, borrowed)
    except ValueError as error:
        raise TableError(str(error)) from None
