"""A box of three features turned by hand: its angles become the knobs' and the link's."""

import streamlit as st

from dpviz.ui import state
from dpviz.ui.frame import PITCH, YAW
from dpviz.ui.live import LiveState

_SEEN = "dpviz:turns"


def follow(picture: LiveState) -> None:
    """Take over the angles that the reader has turned the picture to, once for each turn."""
    if picture.turned is None or picture.turn_count <= st.session_state.get(_SEEN, 0):
        return
    st.session_state[_SEEN] = picture.turn_count
    yaw, pitch = (round(angle) for angle in picture.turned)
    if (yaw, pitch) == (state.value(YAW), state.value(PITCH)):
        return
    state.remember(YAW, yaw)
    state.remember(PITCH, pitch)
    st.rerun(scope="app")
