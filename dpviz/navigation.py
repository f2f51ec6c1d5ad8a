"""The pages of the app: which page shows a method or a tool, the menu, and the paths that the server answers itself."""

import contextlib
import functools
import gc
import threading
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import streamlit as st
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.routing import Route
from streamlit.navigation.page import StreamlitPage

from dpviz.assets import FOLDER as ASSETS
from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import knobs
from dpviz.method_page import MethodPage
from dpviz.methods import BROKEN, CATALOGUE, OWN, WRONG
from dpviz.methods.convergent_kmeans.page import PAGE as CONVERGENT_KMEANS
from dpviz.methods.dpm.page import PAGE as DPM
from dpviz.methods.morse.page import PAGE as MORSE
from dpviz.methods.nd_laplace.page import PAGE as ND_LAPLACE
from dpviz.methods.source_target.page import PAGE as SOURCE_TARGET
from dpviz.stories.method import SHORT, AnyMethod, Page
from dpviz.tools.audit.page import PAGE as AUDIT
from dpviz.tools.compare.page import PAGE as COMPARE
from dpviz.tools.teaching.page import classroom
from dpviz.tools.teaching.page.course import PAGE as LEARN
from dpviz.tools.teaching.page.glossary import PAGE as GLOSSARY
from dpviz.tools.teaching.page.plans import PAGE as TEACH
from dpviz.tools.teaching.page.quiz import PAGE as QUIZ
from dpviz.ui import asking, frame, hiding, home, moved, panel, state, tabs
from dpviz.ui.data.picker import UPLOAD, own_data
from dpviz.ui.export.menu import begin
from dpviz.ui.server import ahead, lifecycle
from dpviz.ui.server.first import FirstScreen
from dpviz.ui.server.security import OwnMessages, OwnOrigin, ProfileFilter, SecurityHeaders
from dpviz.ui.server.uploads import SessionLimit

# Pages of a checkout.
PAGES = Path(__file__).resolve().parents[1] / "pages"
HOME = "home"
# Tools with a page of their own, by the page's name. Other tools are parts of the methods' pages.
ACROSS = {"compare": COMPARE, "audit": AUDIT, "learn": LEARN, "glossary": GLOSSARY, "quiz": QUIZ, "teach": TEACH}
# A method from outside brings its page in its record.
_OF_METHODS = {
    "convergent_kmeans": CONVERGENT_KMEANS,
    "dpm": DPM,
    "morse": MORSE,
    "nd_laplace": ND_LAPLACE,
    "source_target": SOURCE_TARGET,
}
ICON = ASSETS / "icon.png"
# True if a session has opened a page. The first page is the page of the user's own method file, if there is one.
_OPENED = "dpviz:opened"
# Sessions that open their first page at the same time.
_OPENING = threading.BoundedSemaphore(2)
# Seconds that one of these sessions waits for its turn.
LONGEST_TURN = 10.0
ENDED = "Short links no longer work: ask the person who gave you this link for the page's full link."
ROUTES = (
    ahead.ROUTE,
    asking.ROUTE,
    # Streamlit serves the default page only at `/`. A reader who types its name gets it, also behind a proxy's prefix.
    Route(f"/{HOME}", lambda _: RedirectResponse("./")),
    Route("/S/{code}", lambda _: PlainTextResponse(ENDED, status_code=410)),
    *classroom.ROUTES,
)
# Outermost first.
MIDDLEWARE = (SecurityHeaders, OwnOrigin, ProfileFilter, SessionLimit, OwnMessages, FirstScreen)


def run() -> None:
    """Show the page of the URL.

    A hundred readers who open pages at the same time, as when their server starts again, take turns. Side by side, all
    of them would wait for the last one, and so would everyone who moves a slider.
    """
    with contextlib.nullcontext() if _OPENED in st.session_state else _turn():
        _show()


@contextlib.contextmanager
def _turn() -> Iterator[None]:
    """Wait until libraries are loaded, then up to LONGEST_TURN for a place among the sessions that open a page."""
    with lifecycle.LOADING:
        pass
    admitted = _OPENING.acquire(timeout=LONGEST_TURN)
    try:
        yield
    finally:
        if admitted:
            _OPENING.release()


def _show() -> None:
    """Show the page of the URL: `/` is the home page, or with a query leads to a story and keeps the query."""
    st.set_page_config(page_title="dpviz", page_icon=str(ICON), layout="wide", initial_sidebar_state="collapsed")
    pages = {name: _page(name, SHORT.get(name, method.title)) for name, method in CATALOGUE.items()}
    pages |= {name: _page(name, f"{name}.py") for name in WRONG}
    pages |= {name: _page(name, page.title) for name, page in ACROSS.items()}
    # The default page has only the path `/`.
    menu = {"": [_page(HOME, "dpviz", default=True)]}
    for name, each in pages.items():
        menu.setdefault(ACROSS[name].group if name in ACROSS else "", []).append(each)
    page = st.navigation(menu, position="hidden" if st.context.is_embedded else "top")
    if page.url_path:
        title = CATALOGUE[page.url_path].title if page.url_path in CATALOGUE else page.title
        st.set_page_config(page_title=f"{title} · dpviz")
    home.remember(pages)
    begin(page.url_path, pages)
    query = dict(st.query_params)
    # A name may occur twice.
    link = {name: st.query_params.get_all(name) for name in query}
    target = "" if st.session_state.get(_OPENED) else moved.find_page(query)
    if page.url_path in pages:
        if target not in ("", page.url_path):
            st.switch_page(pages[target], query_params=link)
    elif target or moved.follow(query)[0]:
        st.switch_page(pages[target or next(iter(pages))], query_params=link)
    elif (own := next(iter((*OWN, *WRONG)), None)) and not st.session_state.get(_OPENED):
        st.session_state[_OPENED] = True
        st.switch_page(pages[own])
    st.session_state[_OPENED] = True
    for problem in BROKEN.values():
        st.error(problem)
    # After the jumps above, which keep the link.
    hiding.read_link(control_names())
    panel.meanings()
    above = st.container()
    has_own = bool(own_data())
    waits = not has_own and state.opening_query().get("data", "").startswith(f"{UPLOAD}:")
    tabs.follow(own=has_own, asks=waits)
    page.run()
    # The home page has no place for messages of its own.
    if not page.url_path:
        frame.show_problems(above)
    if unknown := hiding.unknown_names(control_names()):
        listed = ", ".join(state.plain(name[: state.MOST_NAME]) for name in unknown[: state.MOST_REPEATED])
        above.warning(f"The link names {listed}, but no control has that name. Everything else in it applies.")
    _ask_again()
    _settle()


def _page(name: str, title: str, *, default: bool = False) -> StreamlitPage:
    """Return a page: its file, or `draw_page`: an installed package has no files, nor has a method from outside."""
    file = PAGES / f"{name}.py"
    if file.exists():
        return st.Page(file, title=title, default=default)
    return st.Page(partial(draw_page, name), title=title, url_path=name, default=default)


def draw_page(name: str) -> None:
    """Draw a page by its name: a method's page, handwritten or made from its knobs, a tool's page, or the home page."""
    hiding.read_link(control_names())
    page = page_of(CATALOGUE[name]) if name in CATALOGUE else ACROSS.get(name)
    if page is not None:
        page.draw()
    elif name in CATALOGUE:
        MethodPage(CATALOGUE[name]).draw_page()
    elif name in WRONG:
        st.html(frame.STYLE)
        st.title(f"{name}.py", anchor=False)
        state.error(WRONG[name])
        st.caption("Correct the file, then start `dpviz run` again. All other pages are unchanged.")
    else:
        home.show()


def page_of(method: AnyMethod) -> Page | None:
    """Return the page of a method; None for one whose page is made from its knobs."""
    return _OF_METHODS.get(method.name) or (None if method.page is None else method.page())


@functools.cache
def control_names() -> frozenset[str]:
    """Return the names of all controls, of parameters and of pages, as links have them."""
    params = [knobs(algorithm.Params) for algorithm in (*CATALOGUE.values(), *BASELINES.values())]
    pages = [*ACROSS.values(), *filter(None, map(page_of, CATALOGUE.values()))]
    return frozenset(knob.name for each in (*params, *(page.knobs for page in pages)) for knob in each)


@st.fragment(run_every=timedelta(days=7))
def _ask_again() -> None:
    """Draw nothing. Because of this fragment, the browser requests the whole page after its server was replaced.

    After a broken connection, Streamlit's page reruns only if a fragment ran last, or if one runs by itself. Otherwise,
    the new session would not have any of the page's fragments, and a move of the slider would get no response.
    """


@st.cache_resource(show_spinner=False)
def _settle() -> None:
    """Exclude the objects of imported libraries from garbage collection, once: full collections delayed pictures."""
    gc.collect()
    gc.freeze()
