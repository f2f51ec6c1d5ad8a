"""The form for a person's own table: file, columns, rows, public bounds, and what those bounds do to the records.

The answers stand in `kept`, so that the data set is known before the form is drawn: without a picture the form has the
page, with one it is behind a button.
"""

from typing import Any

import pandas as pd
import streamlit as st

from dpviz.core import Box
from dpviz.data import (
    MAX_BYTES,
    MAX_COLUMNS,
    MAX_ROWS,
    Missing,
    Table,
    TableError,
    get_ready,
)
from dpviz.data.geography import likely_map
from dpviz.ui import state
from dpviz.ui.data import answered, bounding, file_format, kept, projecting
from dpviz.ui.data.answered import NO_LABEL, NO_MAP, Described
from dpviz.ui.data.clipping import say_clipping
from dpviz.ui.data.upload_form import LEAST_SHARE, MOST_FEATURES
from dpviz.ui.export.listed import listed
from dpviz.ui.server import uploads

KINDS = ("csv", "tsv", "txt", "gz", "parquet", "xlsx", "geojson", "json")
PREVIEWED = 5  # rows
LIMITS = (
    f"CSV, TSV, Excel (.xlsx), Parquet or points in GeoJSON, at most {MAX_BYTES // 1_000_000} MB, {MAX_ROWS:,} rows "
    f"and {MAX_COLUMNS} columns. Dates of Excel count as days. Large tables load fastest as Parquet. The file stays in "
    "this session's memory."
)
MISSING: dict[Missing, str] = {
    "error": "Are an error",
    "drop": "Leave the row out",
    "middle": "Middle of the bounds",
}
NUMBERS = "Numbers on a plane"
UNUSABLE = "This file cannot be used like this. The curator can see why."
_UPLOADER = "upload:file"
_READ = "dpviz:read-file"


def name() -> str:
    """Return the name of the session's file, "" where there is none."""
    try:
        table = kept.table()
    except TableError:
        return ""
    return "" if table is None else table.name


def draw(found: Described | None, problem: str, *, public: bool) -> None:
    """Draw the form, wide where it has the page to itself: while there is no data set."""
    if found is not None:
        table = _file(public=public)
        if table is not None:
            _columns(table, public=public)
            bounding.draw(table, found.form.features, found.form.place, public=public)
            _after(table, found, public=public)
        return
    left, right = st.columns([5, 7], gap="large")
    with left:
        table = _file(public=public)
        if problem:
            _say(table, problem, public=public)
        if table is None:
            return
        _offer_answers(table)
        features = _columns(table, public=public) if table.numeric_columns else ()
    with right:
        if features:
            bounding.draw(table, features, answered.place_of(features), public=public)
        if not public:
            _preview(table)


def _file(*, public: bool) -> Table | None:
    """Ask for the file, read it once, and check it against the link's fingerprint; None where there is no table."""
    file = st.file_uploader("Your file", type=list(KINDS), help=LIMITS, key=_UPLOADER, on_change=_exchanged)
    if file is not None and st.session_state.get(_READ) != file.file_id:
        st.session_state[_READ] = file.file_id
        uploads.arrived(file.file_id)
        with st.spinner("Reading the file"):
            file_format.read(file)
        state.run_again()  # what it makes is known before anything is drawn
    try:
        table = kept.table()
    except TableError:
        file_format.draw(None, public=public)
        return None  # the reason is said where the form is drawn
    wanted = kept.expected()
    if table is None:
        get_ready()
        if wanted:
            state.report(
                "The server does not have this link's file: it is somebody else's, or the server was started again. "
                "Under “Your file”, choose the same file that this link was made with, even if its name stands there "
                f"already; it is checked by its fingerprint {wanted}."
            )
        return None
    if wanted and wanted != table.digest:
        state.report(
            f"This file's fingerprint is {table.digest}, the link's is {wanted}: the picture will be another one."
        )
    _say_file(table, public=public)
    return table


def _say_file(table: Table, *, public: bool) -> None:
    n_columns = len(table.numeric_columns) + len(table.text_columns)
    size = "" if public else f": {table.n_rows:,} rows, {n_columns} columns"
    words, forget = st.columns([3, 1], vertical_alignment="center")
    words.caption(f"**{state.plain(table.name)}**{size}. It stays in this session's memory, on every page.")
    forget.button("Forget it", on_click=_forget, width="stretch", help="Takes the file out of this session's memory.")
    for note in () if public else table.notes:
        if note not in table.doubts:
            st.caption(state.plain(note))
    file_format.draw(table, public=public)


def say_doubts() -> None:
    """Say beside a picture which of its numbers could be others, and where that is set."""
    table = kept.table()
    for doubt in () if table is None else table.doubts:
        st.warning(f"{state.plain(doubt)} It is under Data, “How the file is read”.")


def _exchanged() -> None:
    """Forget the table when its file was taken away.

    It stays when another page has a field of its own for it, and when another file is about to replace it.
    """
    if st.session_state.get(_UPLOADER) is None and not uploads.is_coming():
        _forget()


def _forget() -> None:
    kept.forget()
    st.session_state.pop(_READ, None)
    st.session_state.pop(_UPLOADER, None)


def _offer_answers(table: Table) -> None:
    """Offer to describe this file as the one before it, if it has the same columns."""
    name, answers = kept.answers_before()
    if answers.get("features") and set(answers["features"]) <= set(table.numeric_columns):
        words = "Columns, bounds, units and all else, as you described that file. Look whether they fit this one."
        taken = {**answers, answered.IMPORT: kept.answer(answered.IMPORT)}
        options: dict[str, Any] = {"on_click": kept.set_answers, "args": (taken,), "help": words}
        st.button(f"Describe it like {state.plain(name)}", **options)


def _columns(table: Table, *, public: bool) -> tuple[str, ...]:
    """Ask for features, labels, and what happens to rows; returns the features."""
    numeric = list(table.numeric_columns)
    known = [each for each in kept.answer("features", ()) if each in numeric]
    kept.set_answers({"features": known})
    features = st.multiselect("Features", numeric, max_selections=MOST_FEATURES, **kept.field("features", known))
    if not features:
        st.info("Choose at least one feature.")
        return ()
    _ask_map(table, tuple(features))
    labels = [NO_LABEL, *(each for each in (*table.text_columns, *numeric) if each not in features)]
    if kept.answer("label", NO_LABEL) not in labels:
        kept.set_answers({"label": NO_LABEL})
    st.selectbox(
        "Labels",
        labels,
        format_func=lambda each: each or "None",
        help="Known classes, one for each record. They are the curator's and no method uses them.",
        **kept.field("label", NO_LABEL),
    )
    with st.expander("Rows and scale"):
        st.selectbox(
            "Missing values",
            list(MISSING),
            format_func=lambda choice: MISSING[choice],
            help="Each choice looks at one row alone, so that it costs no privacy where records are added or removed.",
            **kept.field("missing", "error"),
        )
        st.number_input(
            "Share of rows, %",
            min_value=100.0 * LEAST_SHARE,
            max_value=100.0,
            value=None,
            placeholder="all" if public else f"all {table.n_rows:,}",
            help="Keeps about so many rows of a large file. A public rule decides each row by its own values, so that "
            "the guarantee holds for the whole file. It is not made stronger.",
            **kept.field("share"),
        )
        st.toggle(
            "Scale bounds to 0 and 1",
            help="Every feature counts the same, whatever its unit. A map then has no meters.",
            **kept.field("scaled", False),
        )
        projecting.ask(tuple(features))
    return tuple(features)


def _ask_map(table: Table, features: tuple[str, ...]) -> None:
    """Ask whether two of the features are places on Earth."""
    if len(features) < 2:
        return
    pair, sure = likely_map({each: table.nonprivate_columns.nonprivate_numbers[each] for each in features})
    pairs = [(one, other) for one in features for other in features if one != other]
    pairs.sort(key=lambda each: each != pair)
    offered: list[Any] = [NO_MAP, *pairs]
    if kept.answer("place", NO_MAP) not in offered:
        kept.set_answers({"place": pair if pair is not None and sure else NO_MAP})
    st.selectbox(
        "Map",
        offered,
        format_func=lambda each: f"{each[0]} is latitude, {each[1]} is longitude" if each else NUMBERS,
        help="Places become meters east and north of the middle of the public bounds, in a square. No land is drawn.",
        **kept.field("place", NO_MAP),
    )
    if kept.answer("place", NO_MAP) == NO_MAP and pair is not None and not sure:
        st.info(f"Are {state.plain(pair[0])} and {state.plain(pair[1])} latitude and longitude? Then choose so here.")


def _say(table: Table | None, problem: str, *, public: bool) -> None:
    """Say why there is no picture, and offer what mends it."""
    st.error(UNUSABLE if public else state.plain(problem))
    if table is None or not table.numeric_columns or kept.answer("missing", "error") != "error":
        return
    features = tuple(each for each in kept.answer("features", ()) if each in table.numeric_columns)
    label = kept.answer("label", NO_LABEL) or None
    n_rows = table.nonprivate_n_incomplete(features, label)
    if n_rows:
        rows = "the incomplete rows" if public else f"these {n_rows:,} rows" if n_rows > 1 else "this row"
        drop, fill = st.columns(2)
        drop.button(f"Drop {rows}", on_click=kept.set_answers, args=({"missing": "drop"},), width="stretch")
        fill.button(
            "Fill with the public middle",
            on_click=kept.set_answers,
            args=({"missing": "middle"},),
            width="stretch",
            help="Missing values get the middle of their column's public bounds.",
        )


def _preview(table: Table) -> None:
    """Show the first rows, and what each column was recognized as."""
    columns = table.nonprivate_columns
    pair, _ = likely_map(columns.nonprivate_numbers)
    kinds = dict(zip(pair or (), ("latitude", "longitude"), strict=False))
    st.caption("The first rows, and what each column is taken for. Only you see them.")
    rows = table.nonprivate_rows(PREVIEWED)
    shown = {each: [_kind(table, each, kinds), *values] for each, values in rows.items()}
    listed(pd.DataFrame(shown, dtype=str), hide_index=True)


def _kind(table: Table, column: str, kinds: dict[str, str]) -> str:
    if column in kinds:
        return kinds[column]
    known = bounding.KNOWN.get(bounding.likely(column))
    if column in table.text_columns:
        return "text: label only"
    return f"number, {known.title.split(':')[0].lower()}?" if known is not None else "number"


def _after(table: Table, found: Described, *, public: bool) -> None:
    """Say what the bounds do to the records: the curator's."""
    if public:
        return
    form = found.form
    box: Box = form.box(table)
    done = table.clipping(form.features, box, form.label, form.missing, share=form.share, place=form.place)
    say_clipping(done, found.dataset.n, form.features, form.units, box.widths)
    projecting.say_kept(table, form, found.dataset)
    st.caption("The link carries this file's fingerprint and your choices: share it as you would share the file.")
