"""The browser's tabs: losses at a reload, and parts that a second tab does not share.

A session belongs to one opening of a page: Streamlit begins a new one when a tab is reloaded, and for every tab. Only
the browser knows how a page was opened. It reports this if a link waits for its file.
"""

import streamlit as st

from dpviz.ui.server.served import served

KEY = "dpviz-tabs"
HERE = (
    "dpviz is open in another tab. Each tab has its own file, settings and list of releases: what is released there is "
    "not counted here."
)
THERE = (
    "dpviz is open in another tab, with records of your own: they are in that tab only. Each tab has its own file, "
    "settings and list of releases; a link takes settings along, and no record."
)
RELOADED = (
    "You reloaded the page. Still here: columns, bounds and all settings, and with the file the list of what was "
    "released of it. Gone: the file, which is in memory for one opening of a page, the runs on it, and every released "
    "table that you have not saved. Choose the same file below, even if its name stands there already"
)
RESTARTED = (
    "The server was started again. Still here: columns, bounds and all settings, and with the file the list of what "
    "was released of it. Gone: the file, which the server had in memory alone, the runs on it, and every released "
    "table that you have not saved. Choose the same file below, even if its name stands there already"
)
LINKED = (
    "The server does not have this link's file: a link has columns, bounds and settings, and no record. Under “Your "
    "file”, choose the same file that this link was made with"
)
_TABS = served("tabs")
_OPENED = "dpviz:how-opened"


def follow(*, own: bool, asks: bool) -> None:
    """Report that a different tab has the app open, if one of the two tabs has records of its reader's `own`.

    With `asks`, the browser reports once how the page was opened, and the page runs again.
    """

    def take() -> None:
        st.session_state[_OPENED] = str(getattr(st.session_state.get(KEY), "opened", "") or "")

    _TABS(data={"own": own, "asks": asks, "here": HERE, "there": THERE}, key=KEY, on_opened_change=take)


def missing_file(fingerprint: str) -> str:
    """Return the reason that the file of this fingerprint is missing, what is there instead, and the way out."""
    words = {"reloaded": RELOADED, "renewed": RESTARTED}.get(st.session_state.get(_OPENED, ""), LINKED)
    return f"{words}; it is checked by its fingerprint {fingerprint}."
