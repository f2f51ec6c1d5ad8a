"""Audit: run a method many times on two worlds that differ in one record, and see how much privacy is lost."""

import streamlit as st

from dpviz.navigation import ACROSS
from dpviz.tools.audit import page as audit
from dpviz.tools.audit import story
from dpviz.tools.audit.page import table as audit_table
from dpviz.ui import frame, panel, state
from dpviz.ui.export import shown

page = frame.start(ACROSS["audit"], story.TERMS)
shown.keep(None)  # no story's picture is on screen
question = audit.ask(page)
with page.picture:
    found = audit.guarantee_of(page, question)
if found is not None:
    case, guarantee = found
    query = state.query([*page.source.link, *audit.link(question), ("audience", str(state.value(frame.AUDIENCE)))])
    with page.picture:
        audit.measured(page, question, case, query)
    with page.side:
        label = audit.label(page, question, case, guarantee)
        panel.side(panel.guarantee(label))
        st.html(panel.details(label))
        audit_table.to_its_page(case)
with page.below:
    audit.under(page, question, found[0] if found else None)
frame.show_problems(page.problems)
