"""The tabs about the law alone: near a wall, and with many features. No record is looked at."""

import pandas as pd
import streamlit as st

from dpviz.core import Knob
from dpviz.methods.nd_laplace.page.clusters import Recall
from dpviz.methods.nd_laplace.story import law as laplace_law
from dpviz.ui import controls, panel, state
from dpviz.ui.asking import wait
from dpviz.ui.export.listed import listed
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import live

HEIGHT = 400  # CSS pixels
PLACE = Knob(
    "place",
    "choice",
    "corner",
    "A record",
    "An invented one: no record is looked at.",
    choices=(("corner", "In a corner"), ("wall", "At a wall"), ("middle", "In the middle")),
)


@st.fragment
def walls(frame: PageFrame, recall: Recall) -> None:
    """Draw what drawing again does near walls, and what it costs."""
    if state.is_blank():
        return
    wait(done=1, all=1, what="", follow="picture", key="wait-walls")
    told = recall()
    if told is None:
        return
    where = str(controls.control(PLACE, width="content"))
    left, right = st.columns(2, gap="small")
    with left:
        live(laplace_law.density_scene(told, where), key="density", height=HEIGHT, audience_public=frame.public)
    with right:
        live(laplace_law.loss_scene(told), key="loss", height=HEIGHT, audience_public=frame.public)
    panel.side(panel.facts("What each way costs", laplace_law.wall_facts(told), public=frame.public))
    if told.words.box.d > 2:
        st.caption("Drawn for the first two features alone.")


@st.fragment
def dimensions(frame: PageFrame, recall: Recall) -> None:
    """Draw how far points move, by the number of features."""
    if state.is_blank():
        return
    wait(done=1, all=1, what="", follow="picture", key="wait-dimensions")
    told = recall()
    if told is None:
        return
    live(laplace_law.profile_chart(told), key="profile", height=HEIGHT, audience_public=frame.public)
    listed(pd.DataFrame(laplace_law.dimension_rows(told)), hide_index=True)
    st.caption("The cube's side is the longest side of the public box.")
