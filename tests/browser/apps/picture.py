"""One live picture, a chart that follows it and knobs that change its data."""

from collections.abc import Mapping

import streamlit as st

from dpviz.ui.live import live
from tests.browser.apps.scenes import chart, everything, hostile


@st.fragment
def page(asked: Mapping[str, str]) -> None:
    n, n_frames = int(asked.get("n", 600)), int(asked.get("frames", 7))
    seed = st.slider("Seed", 0, 40, 0)
    shorter = st.toggle("Shorter")
    public = st.toggle("What the public sees")
    st.button("Again")
    count = n_frames - 3 if shorter else n_frames
    scene = hostile() if asked.get("scene") == "hostile" else everything(n, count, seed)
    query = None if "scene" in asked else f"n={n}&frames={n_frames}&seed={seed}"
    left, right = st.columns([2, 1])
    with left:
        state = live(scene, key="picture", audience_public=public, query=query)
    with right:
        live(chart(count), key="chart", height=260, follow="picture", audience_public=public)
    st.text(f"selected: {state.selected}")
