"""What pages of words have in common: title, lead, and messages; they have no data, no ε and no picture on a stage."""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from dpviz.ui import hiding, panel, state
from dpviz.ui.export import share
from dpviz.ui.frame import STYLE, show_problems
from dpviz.ui.screen import keep
from dpviz.ui.server import ahead


@contextmanager
def words_page(title: str, lead: str) -> Iterator[None]:
    """Draw a page's title and lead, then what is drawn inside, then the messages that came up; terms in `lead` open."""
    ahead.withdraw()
    keep(None)  # nothing of the page before
    state.begin()
    st.html(STYLE)
    hiding.begin()
    share.fit()
    with st.container(key="dpviz-words", gap="small"):
        st.title(title, anchor=False)
        st.html(f'<p class="dpviz-sentence">{panel.marked(lead)}</p>')
        problems = st.container()
        yield
    show_problems(problems)
