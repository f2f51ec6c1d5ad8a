"""Where a number of clusters comes from: known groups, a private curve, a link, a hand, or nobody yet."""

from typing import Any

import streamlit as st

from dpviz.core import Knob
from dpviz.stories.panel import ceiled
from dpviz.ui import controls, hiding, state
from dpviz.ui.data.picker import Source

KNOWN = Knob("k_known", "int", 0, "k that is known", "0: none.", 0, 64, 0, 10_000)
_TAKEN, _OF = "dpviz:k-taken", "dpviz:k-of"


def control(source: Source, knob: Knob) -> int:
    """Draw the knob of k with where its value comes from, and return the value."""
    suited = source.suited(knob)
    k = int(controls.control(suited))
    if not hiding.hides(knob.name):
        st.caption(origin(source, knob, k)[0])
    return k


def origin(source: Source, knob: Knob, k: int) -> tuple[str, bool]:
    """Say where `k`, the value of `knob`, comes from, and whether anybody chose it."""
    _renewed(source)
    taken: tuple[Any, ...] | None = st.session_state.get(_TAKEN)
    known, link = int(state.value(KNOWN)), state.opening_query()
    if taken is not None and taken[:2] == (source.key, k):
        return f"k = {k} was read off a private curve, which spent ε = {ceiled(taken[2])}.", True
    if source.n_groups == k:
        return f"k = {k}: the groups that this data set is known to have.", True
    if k == known:
        return f"k = {k} is known without the records: a public input.", True
    # A link of the app itself names k whether anybody chose it or not, and says beside it whether somebody knows it.
    if link.get(knob.name) == knob.format(k) and (k != knob.default or KNOWN.name not in link):
        return f"k = {k} came with the link: a public input.", True
    if k != (source.n_groups or knob.default):
        return f"k = {k} was chosen by hand: a public input.", True
    return f"k = {k} is where the slider stands. Nobody has chosen it for these records.", False


def take(source: Source, knob: Knob, k: int, spent: float) -> None:
    """Choose the k of a private curve of these records; all curves of them have `spent` this ε."""
    st.session_state[_TAKEN] = (source.key, k, spent)
    state.remember(knob, k)


def _renewed(source: Source) -> None:
    """Let what is known of one data set not be said of the next."""
    before = st.session_state.get(_OF)
    if before is not None and before != source.key:
        state.forget([KNOWN.name])
    st.session_state[_OF] = source.key
