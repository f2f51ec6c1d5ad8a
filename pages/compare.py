"""Compare: every method on the same records, at every ε, over many runs, beside the cost without privacy."""

import streamlit as st

from dpviz.navigation import ACROSS
from dpviz.tools.compare import page as compare
from dpviz.tools.compare import story
from dpviz.ui import frame
from dpviz.ui.export import shown

page = frame.start(ACROSS["compare"], story.TERMS)
shown.keep(None)  # no story's picture is on screen
question = compare.ask(page)
if page.public:
    with page.picture:
        compare.hidden(page)
else:
    with page.lead:
        st.caption(story.LEAK)
    with page.more_pictures:
        compare.compared(page, question)
with page.side:
    compare.guide(question)
frame.show_problems(page.problems)
