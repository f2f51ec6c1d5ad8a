"""Bands, grids, log axes and curves that can be chosen: on the open page, behind a tab, or side by side."""

import dataclasses
from collections.abc import Mapping

import streamlit as st

from dpviz.ui.live import live
from tests.browser.apps.scenes import everything, filled, tradeoff


def page(asked: Mapping[str, str]) -> None:
    {"all": both, "hidden": hidden, "pair": lambda: pair(asked)}[asked.get("case", "all")]()


def both() -> None:
    left, right = st.columns(2)
    with left:
        state = live(tradeoff(), key="curves", height=380)
    with right:
        live(filled(), key="grid", height=380)
    st.text(f"picked: {state.picked} {state.pick_count > 0}")
    seen = st.session_state.setdefault("seen", [])
    if state.pick_count not in (0, *seen):
        seen.append(state.pick_count)
    st.text(f"clicks: {len(seen)}")
    st.text(f"selected: {state.selected}")


def hidden() -> None:
    first, second = st.tabs(["Words", "Picture"])
    first.write("Nothing to see.")
    with second:
        live(tradeoff(), key="curves", height=300)
    with st.expander("More"):
        live(filled(), key="grid", height=300)


def pair(asked: Mapping[str, str]) -> None:
    n, frames = int(asked.get("n", 10_000)), int(asked.get("frames", 41))
    other = int(asked.get("other", frames))
    left, right = st.columns(2)
    with left:
        live(everything(n, frames), key="leader", height=420)
    with right:
        live(
            dataclasses.replace(everything(n, other, seed=1), scrubber=False),
            key="follower",
            height=420,
            follow="leader",
        )
