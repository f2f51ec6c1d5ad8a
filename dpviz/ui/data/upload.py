"""The form for a person's own table: its file, the reading of the file, its columns and rows.

The answers are in `answers`, so that the data set is known before the form is drawn. Without a picture, the form has
the page to itself. With a picture, the form is behind a button. Questions about public bounds are in `bounds`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.core import Confidential, immutable
from dpviz.data import (
    MAX_BYTES,
    MAX_COLUMNS,
    MAX_ROWS,
    Choices,
    Clipping,
    Dataset,
    Missing,
    Table,
    TableError,
    TableFormat,
    Unlisted,
    get_ready,
    read_confined,
)
from dpviz.data.dataset import MOST_ROWS_EACH
from dpviz.data.features import GAPS
from dpviz.data.files import CSV, GEOJSON, READ_OFF, READABLE, Beginning, Header, binary_format
from dpviz.data.geography import likely_map
from dpviz.data.parsing import SNIFFED_ROWS
from dpviz.data.table import EACH, LEAST_SHARE, MOST_CATEGORIES, MOST_FEATURES, Category
from dpviz.data.transforms import LEAST_CHANGE, MAX_SEED
from dpviz.ui import state, tabs
from dpviz.ui.data import answers, background
from dpviz.ui.data.answers import FIELDS, answer, field, set_answers
from dpviz.ui.data.bounds import (
    KNOWN,
    answers_of,
    draw_bounds,
    how,
    likely,
    pairs,
    per_kilometer,
    say_effects,
    scaling_of,
    units_of,
)
from dpviz.ui.panel import safe_table
from dpviz.ui.server import uploads

# Rows in the preview.
PREVIEWED = 5
LIMITS = (
    f"{READABLE}, at most {MAX_BYTES // 1_000_000} MB, {MAX_ROWS:,} rows "
    f"and {MAX_COLUMNS} columns. Excel dates count as days. Large tables load fastest as Parquet. The file stays in "
    "this session's memory."
)
MISSING: dict[Missing, str] = {"error": "Are an error", "drop": "Leave the row out", "middle": "Middle of the bounds"}
UNLISTED: dict[Unlisted, str] = {"zeros": "Do not match any category", "drop": "Leave the row out"}
NUMBERS = "Numbers on a plane"
# Shown instead of a run's finding.
HELD = "Too many records lie outside your bounds: no finding yet."
AUTOMATIC, NO_NAMES = "automatic", "none"
HEADERS: dict[str, Header] = {AUTOMATIC: "infer", NO_NAMES: None}
DECIMALS = {AUTOMATIC: "Automatic", ".": "Point: 1234.5", ",": "Comma: 1234,5"}
SEPARATORS = {AUTOMATIC: "Automatic", ",": "Comma", ";": "Semicolon", "\t": "Tab", "|": "Bar", " ": "Space", "": "None"}
FIRST_FEATURES = 2
NO_LABEL, NO_MAP, NO_GROUP = "", "", ""
# Key of an answer that belongs to no question: the import that was applied.
IMPORT = "import"
# Set since the last run of a page, which then forgets the runs on the upload.
FORGOTTEN = "dpviz:upload-forgotten"
_UPLOADER = "upload:file"


@immutable
class Described(Confidential):
    """A data set out of a file, the scalars it follows from, and the file's fingerprint."""

    dataset: Dataset
    key: tuple[object, ...]
    digest: str
    # Name of the file.
    name: str
    # The answers.
    form: Choices
    # Effect of the bounds on the rows; None if the bounds move no rows.
    nonprivate_clipping: Clipping | None = None


def name() -> str:
    """Return the name of the session's file, or "" if there is none."""
    try:
        table = answers.table()
    except TableError:
        return ""
    return "" if table is None else table.name


def described() -> tuple[Described | None, str]:
    """Return the data set of the file and the answers, or the reason there is none yet.

    The reason is "" if an answer is missing. It is for the curator only, because it can name a cell or a count.
    """
    try:
        table = answers.table()
        if table is None:
            return None, ""
        if answer(IMPORT) != answers.session().form[0]:
            imported = _read_as_imported(table.reading)
            if isinstance(imported, TableError):
                raise imported
            table = imported or table
        _suggest(table)
        form = _form(table)
        if form is None:
            return None, ""
        return describe(table, form), ""
    # A box that ends before it begins also raises ValueError.
    except (TableError, ValueError) as error:
        return None, str(error)


def describe(table: Table, form: Choices) -> Described:
    """Return the data set that `form` makes of `table`. Raises TableError, and ValueError for impossible bounds."""
    dataset = background.below(form.dataset(table))
    box = form.box(table)
    # The way in which bounds were typed has no effect.
    bounds = (*box.low.tolist(), *box.high.tolist())
    key = (table.digest, replace(form, how=EACH), bounds, dataset.bounds_from_data)
    clipping = form.clipping(table) if dataset.nonprivate_n_clipped else None
    return Described(dataset, key, table.digest, table.name, form, clipping)


def _suggest(table: Table) -> None:
    """Fill in the answers once for each file and each import: imported answers, or answers that the columns suggest."""
    numeric = table.numeric_columns
    if not numeric:
        return
    number, form = answers.form_for(table)
    features = set(_features())
    applied: int | None = answer(IMPORT)
    # Unusable if the file has different columns when it is read in a different way.
    usable = not features or bool(features & set(numeric))
    if applied == number and usable:
        return
    set_answers({IMPORT: number})
    if form is not None:
        asked = {each.question: each.to_answer(getattr(form, each.name)) for each in FIELDS if each.question}
        asked |= {f"values:{column}": list(values) for column, values in form.categories}
        asked |= {f"group:{form.group[0]}": form.group[1]} if form.group else {}
        set_answers({**asked, **answers_of(form, table.dates)})
        return
    # The import is about a different file.
    if applied is not None and usable:
        return
    pair, sure = likely_map(table.nonprivate_columns.nonprivate_numbers)
    # The look of the columns fills in a form that its owner then changes. It does not affect any release: the features
    # are those of the form, public inputs like its bounds, whatever the next file's columns look like.
    first = [each for each in numeric if not table.nonprivate_is_identifier(each)] or list(numeric)
    suggested = list(pair) if pair is not None and sure else first[:FIRST_FEATURES]
    set_answers({"features": suggested, "label": NO_LABEL, "place": pair if pair and sure else NO_MAP})


def _features() -> Sequence[str]:
    features: Sequence[str] = answer("features")
    return features


def _form(table: Table) -> Choices | None:
    """Return the answers as one object, or None if some are missing. Raises TableError for a table without numbers."""
    if not table.numeric_columns:
        raise TableError(
            "At least one column must be numeric, but no column of this file is. If the column names "
            "are in a different row, choose it under How the file is read; otherwise, choose another "
            "file."
        )
    features = tuple(each for each in _features() if each in table.numeric_columns)
    place = _place(features)
    bounds, units = pairs(table, features, place), units_of(table, features)
    if not features or bounds is None:
        return None
    categories, label, group = _categories(table, features), answer("label"), answer("group")
    n_features = len(features) + sum(len(values) for _, values in categories)
    if n_features > MOST_FEATURES:
        raise TableError(f"At most {MOST_FEATURES} features can be used, got {n_features}. List fewer categories.")
    share, n_projected, value = answer("share"), answer("projected"), answer(f"group:{group}", "")
    return answers.consistent(
        Choices(
            features,
            label if label in (*table.text_columns, *table.numeric_columns) and label not in features else None,
            answer("missing"),
            scaling_of(table, features, place)[0],
            1.0 if share is None else share / 100.0,
            how(),
            bounds,
            units,
            place,
            None if n_projected is None else int(n_projected),
            int(answer("projection_seed")),
            table.reading,
            per_kilometer(features, bounds, units, place),
            categories,
            answer("change") / 100.0,
            answer("unlisted"),
            (group, value) if group in table.nonprivate_columns.names and value else None,
            answer("rows") or 0,
        )
    )


def _categories(table: Table, features: Sequence[str]) -> tuple[Category, ...]:
    """Return the columns whose values are features, and those values: the list that a person has confirmed."""
    columns = (each for each in answer("categories") if each in table.nonprivate_columns.names)
    listed = ((each, tuple(answer(f"values:{each}"))) for each in columns if each not in features)
    return tuple((column, values) for column, values in listed if values)


def _place(features: Sequence[str]) -> tuple[str, str] | None:
    """Return the features that are latitude and longitude, as answered."""
    pair = answer("place")
    return (pair[0], pair[1]) if pair and set(pair) <= set(features) else None


def _read(reading: TableFormat) -> Table | TableError:
    """Read the session's file, or return the reason for a failure, so that no later run reads a bad file again."""
    file = answers.session().file
    if file is None:
        return TableError("There is no file. Choose one.")
    try:
        return read_confined(file, reading)
    except TableError as error:
        return error


def _read_as_imported(before: TableFormat) -> Table | TableError | None:
    """Read the session's file by the settings of an import, if they are about it and differ from `before`.

    If the import's sheet is missing, a different sheet would be different records under the same form. So the form asks
    for the sheet.
    """
    _, form = answers.session().form
    if form is None or form.reading == before:
        return None
    table = _read(form.reading)
    if isinstance(table, TableError):
        if form.reading.sheet in (None, *table.beginning.sheets) or not table.beginning.sheets:
            return None
        # An earlier file took the form.
        if answers.session().form_for:
            return None
    elif answers.form_for(table)[1] is None:
        return None
    answers.keep_table(table, form.reading)
    return table


def _describe_like(before: Mapping[str, Any], reading: TableFormat) -> None:
    """Describe the session's file like the file before it, and read it in the same way if that gives these columns."""
    number, features = answer(IMPORT), set(before["features"])
    table = _read(reading)
    if isinstance(table, Table) and features <= set(table.numeric_columns):
        answers.keep_table(table, reading)
    set_answers({**before, IMPORT: number})


def draw_upload(data: Described | None, problem: str, *, public: bool) -> None:
    """Draw the form, at full width while there is no data set."""
    if data is not None:
        table = _file(public=public)
        if table is not None:
            form = data.form
            _columns(table, public=public)
            draw_bounds(table, form.features, form.place, public=public)
            if form.place is not None and form.projected is None:
                background.draw_background(from_data=data.dataset.bounds_from_data, public=public)
            if not public:
                say_effects(table, form, data.dataset, data.nonprivate_clipping)
        return
    left, right = st.columns([5, 7], gap="large")
    with left:
        table = _file(public=public)
        if table is None:
            if problem:
                _problem(table, problem, public=public)
            return
        name, before, reading = answers.answers_before()
        if before.get("features") and set(before["features"]) <= set(table.numeric_columns):
            st.button(
                f"Describe it like {state.plain(name)}",
                on_click=_describe_like,
                args=(before, reading),
                help="Sheet, columns, bounds, units and everything else, as you described that file: for example, "
                "two years with the same bounds. Check whether they fit this file.",
            )
        features = _columns(table, public=public) if table.numeric_columns else ()
    with right:
        if features:
            draw_bounds(table, features, _place(features), public=public)
        # Usually a problem that the last bound has revealed.
        if problem:
            _problem(table, problem, public=public)
        if not public:
            _preview(table)


def _file(*, public: bool) -> Table | None:
    """Draw the uploader, read a new file once, and compare it with the link's fingerprint; None without a table."""
    # Any ending is accepted: a format is recognized by its bytes, and the message for a refused one names a way out.
    uploaded = st.file_uploader("Your file", help=LIMITS, key=_UPLOADER, on_change=_exchange)
    upload = answers.session()
    if uploaded is not None and (upload.file is None or upload.file.file_id != uploaded.file_id):
        uploads.arrived(uploaded.file_id)
        with st.spinner("Reading the file"):
            upload.file = uploaded
            if _read_as_imported(READ_OFF) is None:
                answers.keep_table(_read(READ_OFF), READ_OFF)
        # The file's data set must be known before anything is drawn.
        state.run_again()
    try:
        table = answers.table()
    except TableError as error:
        _draw_settings(None, error.beginning, public=public)
        # The form shows the reason.
        return None
    fingerprint = upload.linked
    if table is None:
        get_ready()
        if fingerprint:
            state.report(tabs.missing_file(fingerprint))
        return None
    # A match with the link's file would be information about every record.
    if fingerprint and fingerprint != table.digest and not public:
        state.report(
            f"This file's fingerprint is {table.digest}, the link's is {fingerprint}: the picture will be different."
        )
    n_columns = len(table.numeric_columns) + len(table.text_columns)
    size = "" if public else f": {table.n_rows:,} rows, {n_columns} columns"
    words, forget = st.columns([3, 1], vertical_alignment="center")
    words.caption(f"**{state.plain(table.name)}**{size}. It stays in this session's memory, on every page.")
    forget.button("Forget it", on_click=_forget, width="stretch", help="Removes the file from this session's memory.")
    for note in () if public else table.notes:
        if note not in table.doubts:
            st.caption(state.plain(note))
    _draw_settings(table, table.nonprivate_columns.beginning, public=public)
    return table


def _draw_settings(table: Table | None, beginning: Beginning, *, public: bool) -> None:
    """Draw the file's settings, open if they are in doubt: numbers, names below the first line, or no table."""
    file, reading = answers.session().file, answers.session().reading
    if file is None or not beginning.can_be_set:
        return
    doubts = () if table is None or public else table.doubts
    is_map = file.name.lower().endswith((".geojson", ".json"))
    settings = (binary_format(file.getvalue()) or (GEOJSON if is_map else CSV)).settings
    sheets = {name: name for name in beginning.sheets}
    if sheets and reading.sheet not in (None, *sheets):
        sheets[str(reading.sheet)] = f"{reading.sheet}: not in this file"
    if len(sheets) > 1:
        _choice(st.container(), "Sheet", "sheet", sheets, reading.sheet or beginning.sheets[0])
    found = 0 if table is None else beginning.header
    by_hand = reading.chosen.keys() - {"sheet"}
    is_open = table is None or bool(doubts or by_hand) or ("header" in settings and found != 0)
    with st.expander("How the file is read", expanded=is_open):
        for doubt in doubts:
            st.warning(state.plain(doubt))
        columns = st.columns(2 if "sep" in settings else 1)
        _choice(columns[0], "Decimal sign", "decimal", DECIMALS, reading.decimal)
        if "sep" in settings:
            _choice(columns[1], "Separator", "sep", SEPARATORS, reading.sep)
        if "header" in settings:
            row = reading.header
            read = "none" if found is None else f"row {found + 1}"
            rows = {AUTOMATIC: f"Automatic: {read}" if row == "infer" and table is not None else "Automatic"}
            rows |= {NO_NAMES: "None: the first row is a record"}
            if isinstance(row, int):
                rows[str(row)] = f"Row {row + 1}"
            # For the public, the number of rows does not matter.
            lines = [""] * SNIFFED_ROWS if public else [f": {line}" for line in beginning.nonprivate_lines]
            rows |= {str(i): f"Row {i + 1}{line}" for i, line in enumerate(lines)}
            chosen = next((words for words, header in HEADERS.items() if header == row), str(row))
            _choice(st.container(), "Row of the columns' names", "header", rows, chosen)
        st.caption("Automatic settings depend on all rows of the file, and the guarantee treats them as public.")


def _choice(column: DeltaGenerator, label: str, name: str, titles: dict[str, str], chosen: str | None) -> None:
    key = state.tie(f"upload:{name}", AUTOMATIC if chosen is None else chosen)
    column.selectbox(label, list(titles), format_func=titles.__getitem__, key=key, on_change=_set, args=(name, key))


def _set(name: str, key: str) -> None:
    """Read the file again with a setting that was changed."""
    value, reading = state.take_choice(f"upload:{name}", key), answers.session().reading
    changes: dict[str, Any] = {name: None if value == AUTOMATIC else value}
    if name == "header":
        changes = {name: HEADERS[value] if value in HEADERS else int(value)}
    elif name == "decimal" and reading.thousands == value:
        changes["thousands"] = None
    reading = replace(reading, **changes)
    answers.keep_table(_read(reading), reading)


def say_doubts() -> None:
    """Show the picture's ambiguous numbers next to it, and the place to set their meaning."""
    table = answers.table()
    for doubt in () if table is None else table.doubts:
        st.warning(f"{state.plain(doubt)} It is under Data, “How the file is read”.")


def _exchange() -> None:
    """Forget the table when its file was removed.

    The table stays if a different page has a field of its own for it, or if a new file is about to replace it.
    """
    if st.session_state.get(_UPLOADER) is None and not uploads.is_coming():
        _forget()


def _forget() -> None:
    answers.forget()
    st.session_state.pop(_UPLOADER, None)
    st.session_state[FORGOTTEN] = True


def _columns(table: Table, *, public: bool) -> tuple[str, ...]:
    """Draw the fields of features, labels, and the treatment of rows; return the features."""
    numeric = list(table.numeric_columns)
    known = [each for each in _features() if each in numeric]
    set_answers({"features": known})
    features = tuple(st.multiselect("Features", numeric, max_selections=MOST_FEATURES, **field("features", known)))
    if not features:
        st.info("Choose at least one feature.")
        return ()
    if len(features) > 1:
        _map(table, features)
    labels = [NO_LABEL, *(each for each in (*table.text_columns, *numeric) if each not in features)]
    if answer("label") not in labels:
        set_answers({"label": NO_LABEL})
    st.selectbox(
        "Labels",
        labels,
        format_func=lambda each: each or "None",
        help="Known classes, one for each record. Curator only: no method uses them.",
        **field("label"),
    )
    _ask_rows(table, public=public)
    _category_fields(table, features, public=public)
    with st.expander("Rows and scale"):
        st.selectbox(
            "Missing values",
            list(MISSING),
            format_func=lambda choice: MISSING[choice],
            help="Each choice depends on one row alone, so it costs no privacy if records are added or removed.",
            **field("missing"),
        )
        st.number_input(
            "Share of rows, %",
            min_value=100.0 * LEAST_SHARE,
            max_value=100.0,
            value=None,
            placeholder="all" if public else f"all {table.n_rows:,}",
            help="Keeps about this share of a large file's rows. A public rule decides about each row from its own "
            "values, so the guarantee holds for the whole file. Sampling does not make it stronger.",
            **field("share"),
        )
        categories = _categories(table, features)
        if categories:
            st.caption("Bounds are scaled to 0 and 1, because there are categories as well as numbers.")
        else:
            st.toggle(
                "Scale bounds to 0 and 1",
                help="Every feature counts the same, whatever its unit. It is on by default if ranges of public "
                "bounds differ more than tenfold, if units differ, and with a map. It does not depend on any "
                "record.",
                **field("scaled", scaling_of(table, features, _place(features))[0] == "unit"),
            )
        n_features = len(features) + sum(len(values) for _, values in categories)
        if n_features > 1:
            _projection(n_features)
    return features


def _ask_rows(table: Table, *, public: bool) -> None:
    """Ask for the number of rows per person. A curator also sees the identifiers that repeat."""
    st.number_input(
        "Maximum rows per person",
        min_value=1,
        max_value=MOST_ROWS_EACH,
        value=None,
        step=1,
        placeholder="not specified: one row counts",
        help="Every ε, δ and limit is then for all rows of a person together. Choose the number from public "
        "knowledge, such as one visit a month. A person with more rows is protected less.",
        **field("rows"),
    )
    if not public and (total := table.nonprivate_total()):
        st.warning(f"{state.plain(total)} Only you see this.")
    if public or answer("rows") is not None:
        return
    for column, n_values in table.nonprivate_repeated_ids():
        name = state.plain(column)
        st.warning(
            f"{name} has {n_values:,} values in {table.n_rows:,} rows. Is one {name} one person? Then type above how "
            "many rows one person can have, or 1 if each row is a different person. Only you see this."
        )


def _category_fields(table: Table, features: tuple[str, ...], *, public: bool) -> None:
    """Draw the columns of categories and their lists, and the group whose rows count.

    Values of the file are offered to the curator. Only categories that the person put into the list are used.
    """
    columns = [each for each in table.nonprivate_columns.names if each not in features]
    known = [each for each in answer("categories") if each in columns]
    group = answer("group")
    set_answers({"categories": known, "group": group if group in table.nonprivate_columns.names else NO_GROUP})
    with st.expander("Categories and groups", expanded=bool(known or group)):
        chosen = st.multiselect(
            "Categories as features",
            columns,
            placeholder="none",
            help="Columns such as sex or district: each category that you list becomes a feature of 0 and 1.",
            **field("categories", known),
        )
        for column in chosen:
            name, listed = f"values:{column}", [*answer(f"values:{column}")]
            offered = () if public else table.nonprivate_values(column, MOST_CATEGORIES)
            st.multiselect(
                f"{state.plain(column)}: categories",
                list(dict.fromkeys((*listed, *offered))),
                max_selections=MOST_CATEGORIES,
                accept_new_options=True,
                placeholder="Type or choose each",
                help="The list is public: enter categories that are known without the records. Only you see the "
                "file's categories.",
                **field(name, listed),
            )
            if not listed:
                st.info(f"List the categories of {state.plain(column)} that are known without looking at the records.")
        if chosen:
            st.selectbox(
                "Other values and gaps",
                list(UNLISTED),
                format_func=UNLISTED.__getitem__,
                help="The rule depends on one row alone. A row without any of the categories is 0 in all of them.",
                **field("unlisted"),
            )
            st.number_input(
                "Weight of a change of category, %",
                100.0 * LEAST_CHANGE,
                100.0,
                help="As a share of a column's range: a change of category moves a record at most this far. A small "
                "weight lets the numbers decide. A weight chosen from results on the records would leak them.",
                **field("change"),
            )
        column = st.selectbox(
            "Only rows of a group",
            [NO_GROUP, *table.nonprivate_columns.names],
            format_func=lambda each: each or "All rows",
            help="Keeps the rows with one value of a column. Whether a row stays depends on that row alone.",
            **field("group"),
        )
        if column:
            value = answer(f"group:{column}", "")
            offered = () if public else table.nonprivate_values(column, MOST_CATEGORIES)
            st.selectbox(
                f"{state.plain(column)} is",
                list(dict.fromkeys((*([value] if value else []), *offered))),
                index=None,
                accept_new_options=True,
                placeholder="Type or choose it",
                **field(f"group:{column}", value or None),
            )


def _projection(n_features: int) -> None:
    """Draw the fields of the random projection: the number of features, and its seed."""
    n_projected = answer("projected")
    if n_projected is not None and n_projected >= n_features:
        set_answers({"projected": None})
    st.number_input(
        "Project to features",
        min_value=1,
        max_value=n_features - 1,
        value=None,
        placeholder=f"all {n_features}",
        help="Every feature gets noise, so fewer features can find more. Each new one is a random mix of all, drawn "
        "from a public seed: it costs no privacy. The picture then shows mixes, not your features.",
        **field("projected"),
    )
    if answer("projected") is not None:
        help_text = "Draws the mixes. The seed is public; a seed chosen from results on the records would leak them."
        st.number_input("Projection seed", 0, MAX_SEED, help=help_text, **field("projection_seed"))


def _map(table: Table, features: tuple[str, ...]) -> None:
    """Draw the field that marks two of the features as places on Earth."""
    pair, sure = likely_map({each: table.nonprivate_columns.nonprivate_numbers[each] for each in features})
    pairs = [(one, other) for one in features for other in features if one != other]
    pairs.sort(key=lambda each: each != pair)
    options: list[str | tuple[str, str]] = [NO_MAP, *pairs]
    if answer("place") not in options:
        set_answers({"place": pair if pair is not None and sure else NO_MAP})
    st.selectbox(
        "Map",
        options,
        format_func=lambda each: f"{each[0]} is latitude, {each[1]} is longitude" if each else NUMBERS,
        help="Places become meters east and north of the middle of the public bounds, in a square.",
        **field("place"),
    )
    if answer("place") == NO_MAP and pair is not None and not sure:
        st.info(f"Are {state.plain(pair[0])} and {state.plain(pair[1])} latitude and longitude? Then choose so here.")


def _problem(table: Table | None, problem: str, *, public: bool) -> None:
    """Show the reason there is no picture, and the ways to fill gaps."""
    st.error("This file cannot be used in this form. The curator can see why." if public else state.plain(problem))
    if table is None or not problem.startswith(GAPS):
        return
    features = tuple(each for each in _features() if each in table.numeric_columns)
    n_rows = table.nonprivate_n_incomplete(features, answer("label") or None)
    if n_rows:
        rows = f"these {n_rows:,} rows" if n_rows > 1 else "this row"
        if public:
            rows = "the incomplete rows"
        drop, fill = st.columns(2)
        drop.button(f"Drop {rows}", on_click=set_answers, args=({"missing": "drop"},), width="stretch")
        fill.button(
            "Fill with the public middle",
            on_click=set_answers,
            args=({"missing": "middle"},),
            width="stretch",
            help="Missing values get the middle of their column's public bounds.",
        )


def _preview(table: Table) -> None:
    """Show the first rows, and the type that each column was recognized as."""
    pair, _ = likely_map(table.nonprivate_columns.nonprivate_numbers)
    kinds = dict(zip(pair or (), ("latitude", "longitude"), strict=False))
    for column in table.nonprivate_columns.names:
        known = KNOWN.get(likely(column))
        number = "number" if known is None else f"number, {known.title.split(':')[0].lower()}?"
        kind = "text" if column in table.text_columns else number
        kinds.setdefault(column, f"{kind}; names rows" if table.nonprivate_is_identifier(column) else kind)
    st.caption("The first rows, and the detected type of each column. Only you see them.")
    cells = {column: [kinds[column], *values] for column, values in table.nonprivate_rows(PREVIEWED).items()}
    safe_table(pd.DataFrame(cells, dtype=str))
