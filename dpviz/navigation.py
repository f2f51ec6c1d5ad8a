"""Navigation over the catalogue: a method has a page by being there."""

import gc
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from dpviz.assets import FOLDER as ASSETS
from dpviz.methods import BROKEN, CATALOGUE, OWN, WRONG
from dpviz.stories.method import AnyMethod
from dpviz.tools import pages
from dpviz.tools.plain import page as plain
from dpviz.ui import hiding, home, panel, state, tour
from dpviz.ui.export.menu import begin
from dpviz.ui.lessons import panel as lesson_panel

PAGES = Path(__file__).resolve().parents[1] / "pages"  # of a checkout
HOME = "home"
ACROSS = pages()  # that are no method's
ICON = ASSETS / "icon.png"
MEND = "Mend the file, then start `dpviz run` again. All other pages are as they were."
_OPENED = "dpviz:opened"  # whether a session has seen a page: the first is that of a file of one's own


def run() -> None:
    """Show the page that the URL names: `/` is the home page, or with a query leads to a story and keeps it."""
    st.set_page_config(page_title="dpviz", page_icon=str(ICON), layout="wide", initial_sidebar_state="collapsed")
    shown = {name: _page(name, method.title, partial(draw, method)) for name, method in CATALOGUE.items()}
    shown |= {name: _page(name, f"{name}.py", partial(_wrong, name)) for name in WRONG}
    shown |= {name: _page(name, page.title, page.draw) for name, page in ACROSS.items()}
    # A page that is the default has no address of its own but `/`.
    menu = {"": [_page(HOME, "Home", home.show, default=True)]}
    leading = [name for name, page in ACROSS.items() if page.leads]
    for name in (*leading, *(each for each in shown if each not in leading)):
        menu.setdefault(ACROSS[name].group if name in ACROSS else "", []).append(shown[name])
    page = st.navigation(menu, position="top")
    if page.url_path:
        st.set_page_config(page_title=f"{page.title} · dpviz")
    home.remember(shown)
    begin(page.url_path, shown)
    query = dict(st.query_params)
    given = {name: st.query_params.get_all(name) for name in query}  # a name may stand there twice
    if page.url_path in shown:
        wanted = lesson_panel.begin(page.url_path)
        if wanted != page.url_path:
            st.switch_page(shown[wanted], query_params=given)
    elif query:
        st.switch_page(shown[lesson_panel.page_of(query) or next(iter(shown))], query_params=given)
    elif (own := next(iter((*OWN, *WRONG)), None)) and not st.session_state.get(_OPENED):
        st.session_state[_OPENED] = True
        st.switch_page(shown[own])
    st.session_state[_OPENED] = True
    for problem in BROKEN:
        st.error(problem)
    panel.meanings()
    above = st.container()
    page.run()
    if page.url_path in CATALOGUE:
        tour.offer(page.url_path)
    if unknown := hiding.unknown_names():
        listed = ", ".join(state.plain(name[: state.MOST_NAME]) for name in unknown[: state.MOST_REPEATED])
        above.warning(f"The link names {listed}, which no control is called. Everything else in it holds.")
    _ask_again()
    _settle()


def _page(name: str, title: str, draw: Callable[[], None], *, default: bool = False) -> StreamlitPage:
    """Return a page: its file, or what draws it: an installed package has no files, nor has a method from outside."""
    file = PAGES / f"{name}.py"
    if file.exists():
        return st.Page(file, title=title, default=default)
    return st.Page(draw, title=title, url_path=name, default=default)


def _wrong(name: str) -> None:
    """Say what is wrong in a file whose method cannot be shown."""
    st.html(home.STYLE)
    st.title(f"{name}.py", anchor=False)
    st.error(state.plain(WRONG[name]))
    st.caption(MEND)


def draw(method: AnyMethod) -> None:
    """Draw the page of a method: its own, or one made from its knobs."""
    if method.page is not None:
        method.page().draw()
    else:
        plain.draw(method)


@st.fragment(run_every=timedelta(days=7))
def _ask_again() -> None:
    """Have the browser ask for the whole page when its server has ended and another one answers; draws nothing.

    After a line was cut Streamlit's page asks only if a fragment ran last, or one runs by itself. Else it would stand
    before a session that knows none of its fragments, and a move of the slider would have no answer.
    """


@st.cache_resource(show_spinner=False)
def _settle() -> None:
    """Take what the libraries have made out of the collector's rounds, once: a full one held pictures up."""
    gc.collect()
    gc.freeze()
