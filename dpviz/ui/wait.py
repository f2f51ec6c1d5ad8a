"""A line that says how far long work is and asks again; it also asks when the picture it follows has changed."""

import streamlit as st

from dpviz.ui.server.served import served

_WAIT = served("wait")
EVERY = 400  # ms between two questions while work goes on
QUIET = 700  # ms without a new picture before work for it begins: nobody waits for every stop of a drag
REDRAWN = 2500  # ms between two drawings of what is there so far


def wait(
    *,
    done: int,
    all: int,
    what: str,
    follow: str,
    key: str,
    peek: str = "",
    said: tuple[str, float] | None = None,
) -> None:
    """Show that `done` of `all` pieces of `what` are there; the fragment around it runs again until all are.

    `follow` names the live picture after whose changes the fragment runs again, too. `peek` is an address that says how
    many are done (`dpviz.ui.asking`); without one the fragment itself is asked. `said` is a line, and a share of the
    bar in [0, 1], that are drawn in place of the pieces.
    """
    asked = 0
    if done < all:  # a component does not hear of data that are as before: without a number it would ask only once
        asked = st.session_state[f"{key}:asked"] = st.session_state.get(f"{key}:asked", 0) + 1
    data = {"asked": asked, "done": done, "all": all, "what": what, "follow": follow, "peek": peek}
    data |= {"said": None if said is None else said[0], "share": None if said is None else said[1]}
    data |= {"every": EVERY, "quiet": QUIET, "redrawn": REDRAWN}
    _WAIT(data=data, key=key, on_tick_change=_nothing)


def _nothing() -> None:
    """Declare a trigger; the fragment that runs again is the answer."""
