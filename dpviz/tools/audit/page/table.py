"""The table of all methods and modes under the Audit page: from the file, or made here and now."""

from typing import Any
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from dpviz.assets import FOLDER as ASSETS
from dpviz.experiments.tables import Report, TablesError, read_tables
from dpviz.stories.panel import number
from dpviz.tools.audit import batches as audit_tasks
from dpviz.tools.audit.cases import AuditCase, cases
from dpviz.tools.audit.table import COLUMNS, NOTES, VIOLATION, least
from dpviz.ui import asking, state
from dpviz.ui.frame import PageFrame
from dpviz.ui.server.background import Job

FILE = ASSETS / "audit" / "methods.json"
RUNS, SEED = 200, 1  # of the table that is made here: enough to see worlds that never look alike
# What decides stands first: a narrow screen shows the first columns. Event and neighbors are a click away.
SHOWN = (
    "method",
    "mode",
    "published",
    "proved",
    "measured",
    "verdict",
    "at_ceiling",
    "runs",
    "neighbors",
    "delta",
    "reason",
)
NO_CLAIM, NO_PROOF = "no limit", "not proved"
_WAIT = "wait-audit-table"
_LIVE = "dpviz:audit-table-live"


@st.fragment
def table(frame: PageFrame) -> None:
    """Draw the table of the file, or the one that is being made."""
    if state.is_blank():
        return
    st.subheader("All methods and modes", anchor=False)
    if st.session_state.get(_LIVE):
        _made_here(frame)
        return
    asking.drop(frame.source, _WAIT)  # what was stopped
    report: Report | None = None
    try:
        report = _report(FILE.stat().st_mtime_ns)
    except (TablesError, OSError) as error:
        st.error(state.plain(str(error) if isinstance(error, TablesError) else "The table is missing."))
    else:
        found = report.table("audit")
        words = f"{report.runs:,} runs in each world for what is proved, more where they are cheap."
        st.caption(f"{words} The table says how many for each.")
        _draw([dict(row) for row in found.rows])
    words = f"{RUNS} runs in each world, other ones than the file's."
    st.button("Audit all again, here", help=words, on_click=_switch, args=(True,))
    with st.expander("How to read it, and what no audit sees"):
        st.markdown("\n".join(f"- {state.plain(note)}" for note in NOTES))
    if report is not None:
        st.caption("The file's table again, to the digit, from a command line:")
        st.code(report.command, language="sh", wrap_lines=True)


def _made_here(frame: PageFrame) -> None:
    jobs = [Job(audit_tasks.line, (key, RUNS, SEED), n_runs=0) for key in cases()]
    answers = asking.ask(frame.source, jobs, what="Methods and modes", key=_WAIT, secret=False, public=frame.public)
    label = "Back to the file's table" if answers.complete else "Stop making the table"
    st.button(label, on_click=_switch, args=(False,))
    if answers.problem:
        st.error(state.plain(answers.problem))
        return
    _draw([row for row in answers.found if row is not None])


def _switch(live: bool) -> None:
    """Make the table here, or go back to the file's."""
    st.session_state[_LIVE] = live


def _draw(rows: list[dict[str, Any]]) -> None:
    """Draw rows with a link to each; a violation stands first."""
    if not rows:
        st.caption("The first lines are on their way.")
        return
    ordered = sorted(rows, key=lambda row: row["verdict"] != VIOLATION)
    shown = pd.DataFrame([_cells(row) for row in ordered])
    named = {column.key: column.label for column in COLUMNS}
    labels: dict[str, Any] = {key: st.column_config.Column(named[key]) for key in SHOWN}
    labels["measured"] = st.column_config.NumberColumn(named["measured"], format="%.3g")
    labels["runs"] = st.column_config.NumberColumn(named["runs"], format="localized")
    labels["look"] = st.column_config.LinkColumn("Method's page", display_text="open")
    st.dataframe(shown, hide_index=True, column_config=labels, column_order=list(labels), width="stretch")


def _cells(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as it is shown: no claim and no proof in words, and the neighbors where a mode has two pairs."""
    shown = {key: row[key] for key in SHOWN} | {"measured": least(row["measured"])}
    for key, words in (("published", NO_CLAIM), ("proved", NO_PROOF)):
        shown[key] = words if row[key] is None else number(row[key])
    case = cases().get(str(row["key"]))
    if case is not None and case.pair_name:
        shown["mode"] = f"{row['mode']} ({case.pair_name})"
    return {**shown, "look": _address(str(row["key"]))}


def to_its_page(case: AuditCase) -> None:
    """Draw a link to the page where a case's reasons stand, in its mode; nothing where the method has none."""
    address = _address(case.key)
    if address is not None:
        st.markdown(f"[{state.plain(case.title)} in this mode]({address})")


def _address(key: str) -> str | None:
    """Return the link to a case's page, beside this one; None for what has no page of its own."""
    case = cases().get(key)
    if case is None or not case.has_page:
        return None
    return f"./{case.method}?{urlencode(case.choices)}"


@st.cache_resource(max_entries=4, show_spinner=False)
def _report(written: int) -> Report:  # noqa: ARG001 (a file that was written again is read again)
    return read_tables(FILE)
