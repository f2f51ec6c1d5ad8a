"""The audit of one method on its own page: its first mode, on the neighbors where a broken promise shows most."""

import streamlit as st

from dpviz.tools.audit import page as audit
from dpviz.tools.audit import story
from dpviz.tools.audit.batches import CONSTRUCTED
from dpviz.tools.audit.cases import cases
from dpviz.tools.audit.page.asked import AuditQuestion
from dpviz.ui import panel, state
from dpviz.ui.export.menu import leap
from dpviz.ui.frame import CHART_HEIGHT, PageFrame
from dpviz.ui.live import live

CHOICE = ("audit", "Audit")  # of a page's tabs
WORDS = (
    "The method runs on pairs of small data sets, or worlds, that differ in one record, in corners of this page's box. "
    "How well their releases can be told apart bounds from below how much privacy is lost."
)
RUNS, SEED = 500, 0  # enough to see worlds that never look alike; the Audit page asks for others
MORE = "Other ε, neighbors, modes and runs →"


@st.fragment
def tab(frame: PageFrame, method: str) -> None:
    """Draw the audit of `method`, a name of a catalogue: its runs' progress, then what they show."""
    if state.is_blank():
        return
    st.caption(WORDS)
    first = next(each.key for each in cases().values() if each.method == method)
    question = AuditQuestion(first, CONSTRUCTED, 1.0, RUNS, SEED)
    try:
        audited = audit.found(frame, question, audit.pairs_of(frame, question))
    except ValueError as error:  # the method does not run on these worlds, and its words say why
        st.error(state.plain(str(error)))
        return
    if audited is None:
        return
    panel.sentence(story.sentence(audited), public=frame.public)
    worlds, attack, facts = st.columns([3, 3, 2], gap="small")
    with worlds:
        live(story.histogram(audited), key="audit-worlds", height=CHART_HEIGHT, follow="picture")
    with attack:
        live(story.roc(audited), key="audit-attack", height=CHART_HEIGHT, follow="picture")
    with facts:
        panel.side(panel.facts("What was counted", story.facts(audited), public=frame.public))
        audit.say_runs(frame, audited)
    st.button(MORE, type="tertiary", on_click=leap, args=("audit", {audit.METHOD.name: method}))
