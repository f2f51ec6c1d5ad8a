"""Open a page of the app by its link, without a server or a browser, as its own page tests do."""

import json
import time
from collections.abc import Mapping
from functools import cache
from typing import Any

from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from dpviz.assets import FOLDER as ASSETS
from dpviz.navigation import HOME
from dpviz.ui import home, state
from dpviz.ui.epsilon import wanted_key

_SCRIPT = ASSETS.parent / "ui" / "server" / "script.py"  # of the server; a clone and an installed package have it
_SECONDS = 600  # for one page, with the work that it asks for
_EVERY = 0.5  # s
HIDDEN = "navigation,sidebar,tour,export,share,draw,upload"  # what a page without a server has not
ABOVE = f"{HIDDEN},tabs"  # nor what is under the picture


class VisitError(RuntimeError):
    """A page of the app that could not be drawn."""


def visit(page: str, link: Mapping[str, str], *, wait: bool = True) -> Any:
    """Return the main part of a page in the state that its link names; `wait` for all work that it asks for.

    Raises VisitError where the app fails, or its work takes longer than ten minutes.
    """
    opened = AppTest.from_file(str(_SCRIPT), default_timeout=_SECONDS)
    opened._bidi_component_manager = _components()
    if page == HOME:  # a link with a query leads to a story, so that its slider is moved as a preset moves it
        key = state.widget_key(home.EPSILON.name)
        opened.session_state[wanted_key(key)] = float(link.get(home.EPSILON.name, str(home.EPSILON.default)))
    else:
        opened.query_params.update(dict(link))
        opened._page_hash = calc_hash(page)  # `switch_page` takes files only, which an installed package has not
    end = time.monotonic() + _SECONDS
    while True:
        opened.run()
        if opened.exception:
            raise VisitError(f"The page {page} with {dict(link)} could not be drawn: {opened.exception[0].message}")
        if not wait or not _is_waiting(opened.main):
            return opened.main
        if time.monotonic() > end:
            raise VisitError(f"The work for the page {page} with {dict(link)} took longer than {_SECONDS} s.")
        time.sleep(_EVERY)


@cache
def _components() -> BidiComponentManager:
    """Return what knows the app's components: searching all installed packages for them takes longer than a state."""
    manager = BidiComponentManager()
    manager.discover_and_register_components(start_file_watching=False)
    return manager


def _is_waiting(block: Any) -> bool:
    """Whether a line on the page says that work goes on."""
    for each in block.children.values():
        if getattr(each, "children", None) is not None:
            if _is_waiting(each):
                return True
        elif each.type == "bidi_component" and each.proto.component_name.endswith("wait"):
            said = json.loads(each.proto.json)
            if said["done"] < said["all"]:
                return True
    return False
