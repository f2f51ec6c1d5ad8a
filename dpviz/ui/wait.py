"""A line that says how far long work is and asks again; it also asks when the picture it follows has changed."""

import streamlit as st

from dpviz.ui.served import served

_WAIT = served("wait")
EVERY = 300  # ms between two questions while work goes on
QUIET = 450  # ms without a new picture before work for it begins: nobody waits for every stop of a drag


def wait(*, done: int, all: int, what: str, follow: str, key: str) -> None:
    """Show that `done` of `all` pieces of `what` are there; the fragment around it runs again until all are.

    `follow` names the live picture after whose changes the fragment runs again, too.
    """
    asked = 0
    if done < all:  # a component does not hear of data that are as before: without a number it would ask only once
        asked = st.session_state[f"{key}:asked"] = st.session_state.get(f"{key}:asked", 0) + 1
    data = {"asked": asked, "done": done, "all": all, "what": what, "follow": follow, "every": EVERY, "quiet": QUIET}
    _WAIT(data=data, key=key, on_tick_change=_nothing)


def _nothing() -> None:
    """Declare a trigger; the fragment that runs again is the answer."""
