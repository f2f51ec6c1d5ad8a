"""A paper's tables and figures beside what comes out here, read from the file that one command writes."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from dpviz.assets import FOLDER as ASSETS
from dpviz.experiments.tables import Cell, Report, ResultTable, TablesError, read_tables
from dpviz.plots import Scene
from dpviz.stories.charts import Curve, curve_chart
from dpviz.stories.panel import number
from dpviz.ui import state
from dpviz.ui.live import live

FOLDER = ASSETS / "reproduction"
CHART_HEIGHT = 360
SERIES = ("method", "strategy")  # columns whose values are curves
PARTS = (("median", "lower", "upper"), ("ours", "ours_low", "ours_high"))  # columns of a curve and of its band
NONE = "–"  # where there is no figure
TINY = 1e-12  # where a logarithm ends


def exists(name: str) -> bool:
    """Return whether there are tables of a system's paper."""
    return (FOLDER / f"{name}.json").exists()


def tables(name: str) -> None:
    """Draw the report of one system, or say why there is none."""
    report = read(FOLDER / f"{name}.json", "The tables are missing.")
    if report is None:
        return
    st.caption(
        f"{state.plain(report.source)}. {report.runs} runs of each setting, where a table does not say otherwise."
    )
    for table in report.tables:
        _table(name, table)
    st.caption("The same again, with the data sets in the folder data:")
    st.code(report.command, language="sh", wrap_lines=True)


def read(file: Path, missing: str) -> Report | None:
    """Return the report of a file; None, and say why, where it cannot be read or is `missing`."""
    try:
        return _read(str(file), file.stat().st_mtime_ns)
    except (TablesError, OSError) as error:
        state.error(error if isinstance(error, TablesError) else missing)
        return None


@st.cache_resource(max_entries=16, show_spinner=False)
def _read(file: str, changed: int) -> Report:  # noqa: ARG001 (a file that was written again is read again)
    return read_tables(Path(file))


def _table(name: str, table: ResultTable) -> None:
    st.subheader(state.plain(table.title), anchor=False)
    st.caption(state.plain(table.caption))
    rows = list(table.rows)
    if _series(table):
        sets = list(dict.fromkeys(str(row["set"]) for row in rows))
        chosen = st.segmented_control("Data set", sets, default=sets[0], required=True, key=f"{name}:{table.id}:set")
        rows = [row for row in rows if row["set"] == chosen]
        live(_chart(table, rows), key=f"{name}:{table.id}", height=CHART_HEIGHT)
    figures = pd.DataFrame([{key: row[key] for key in row} for row in rows])
    for key in figures:  # a column of numbers and words is one of words
        cells = figures[key]
        if any(isinstance(cell, str) for cell in cells):
            figures[key] = [cell if cell is None or isinstance(cell, str) else number(float(cell)) for cell in cells]
    labels: dict[str, ColumnConfig] = {}
    for column in table.columns:  # whole numbers are written whole, others in three digits
        counted = column.unit in ("", column.label.split(",")[0].lower())  # "Records", in records
        label = column.label if counted else f"{column.label} ({column.unit})"
        known = [row[column.key] for row in rows if row[column.key] is not None]
        if not known or any(isinstance(cell, str) for cell in known):
            labels[column.key] = st.column_config.Column(label)
        else:
            format_of = "localized" if all(isinstance(cell, int) for cell in known) else "%.3g"
            labels[column.key] = st.column_config.NumberColumn(label, format=format_of)
    with st.expander("Figures", expanded=not _series(table)):
        st.dataframe(
            figures,
            hide_index=True,
            width="stretch",
            column_config=labels,
            column_order=list(labels),
            placeholder=NONE,
        )
    with st.expander("Where it differs, and why"):
        st.markdown("\n".join(f"- {state.plain(note)}" for note in table.notes))


def _series(table: ResultTable) -> str:
    """Return the column whose values are curves against epsilon, "" for a table that is no figure."""
    keys = {column.key for column in table.columns}
    has_curves = {"set", "epsilon"} <= keys and any(set(part) <= keys for part in PARTS)
    names = [key for key in SERIES if key in keys and has_curves]
    return names[0] if names else ""


def _chart(table: ResultTable, rows: Sequence[Mapping[str, Cell]]) -> Scene:
    key = _series(table)
    keys = {column.key for column in table.columns}
    parts = next(part for part in PARTS if set(part) <= keys)
    curves = []
    for hue, name in enumerate(dict.fromkeys(str(row[key]) for row in table.rows)):
        known = [row for row in rows if row[key] == name and row[parts[0]] is not None]
        x, middle, low, high = (
            np.log10(np.maximum(np.array([row[part] for row in known], dtype=np.float64), TINY))
            for part in ("epsilon", *parts)
        )
        if len(x):
            curves.append(Curve(name, hue, x, low, middle, high))
    label = next(column.label for column in table.columns if column.key == parts[0])
    caption = "Lines and bands are the columns of the table below."
    return curve_chart(table.title, curves, x="ε", y=label, caption=caption)
