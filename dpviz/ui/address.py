"""The page's address where there is no picture to write it: a link brings back what is asked, whatever is shown."""

from collections.abc import Iterable
from dataclasses import replace
from secrets import token_hex
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from dpviz.ui.export.shown import keep, latest
from dpviz.ui.live import SESSION
from dpviz.ui.server.served import served

_ADDRESS = served("address", "live_address")


def address(query: str, *, key: str = "address") -> None:
    """Put `query` into the page's address without a new entry in the history. A live picture does so by itself."""
    # Of another session, as after a restart of the server, the browser takes no other address.
    session = st.session_state.setdefault(SESSION, token_hex(8))
    _ADDRESS(data={"query": query, "session": session}, key=key)


def follow(pairs: Iterable[tuple[str, str]], *, key: str) -> None:
    """Put what a tab has just moved into the address of what is on screen: the tab runs without the picture.

    `pairs` are those of the picture's link that are the tab's; names that the link has not are left out.
    """
    shown = latest()
    if shown is None:
        return
    moved = dict(pairs)
    said = parse_qsl(shown.address, keep_blank_values=True)
    query = urlencode([(name, moved.get(name, text)) for name, text in said])
    if query != shown.address:
        keep(replace(shown, address=query))
    address(query, key=key)
