"""The browser's tabs: what is lost at a reload, and what a second tab does not share.

A session belongs to one opening of a page: Streamlit begins a new one when a tab is reloaded, and for every tab. Only
the browser knows how a page was opened. It reports this if a link waits for its file.
"""

import streamlit as st

from dpviz.ui.server.served import served

KEY = "dpviz-tabs"
HERE = (
    "dpviz is open in another tab. Each tab has its own file, settings and list of releases: releases there are not "
    "counted here."
)
THERE = (
    "dpviz is open in another tab, with your own records: they are only in that tab. Each tab has its own file, "
    "settings and list of releases; a link carries settings, but no records."
)
RELOADED = (
    "You reloaded the page. Still here: columns, bounds and all settings, and, with the file, the list of its "
    "releases. Gone: the file, which is in memory only until the page is reloaded, its runs, and every released "
    "table that you have not saved. Choose the same file below, even if its name is already there"
)
RESTARTED = (
    "The server was started again. Still here: columns, bounds and all settings, and, with the file, the list of its "
    "releases. Gone: the file, which was only in the server's memory, its runs, and every released table that you "
    "have not saved. Choose the same file below, even if its name is already there"
)
LINKED = (
    "The server does not have this link's file: a link has columns, bounds and settings, but no records. Under “Your "
    "file”, choose the file that this link was made with"
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
    """Return the reason that the file of this fingerprint is missing, what is there instead, and the solution."""
    words = {"reloaded": RELOADED, "renewed": RESTARTED}.get(st.session_state.get(_OPENED, ""), LINKED)
    return f"{words}; it is checked by its fingerprint {fingerprint}."
