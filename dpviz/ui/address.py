"""The page's address where there is no picture to write it: a link brings back what is asked, whatever is shown."""

from secrets import token_hex

import streamlit as st

from dpviz.ui.live import SESSION
from dpviz.ui.served import served

_ADDRESS = served("address", "live_address")


def address(query: str, *, key: str = "address") -> None:
    """Put `query` into the page's address without a new entry in the history. A live picture does so by itself."""
    # Of another session, as after a restart of the server, the browser takes no other address.
    session = st.session_state.setdefault(SESSION, token_hex(8))
    _ADDRESS(data={"query": query, "session": session}, key=key)
