"""An app with one live picture, a chart that follows it and knobs that change its data."""

import streamlit as st

from dpviz.ui.live import live
from tests.browser.apps.scenes import chart, everything, hostile

st.set_page_config(layout="wide")
n = int(st.query_params.get("n", 600))
n_frames = int(st.query_params.get("frames", 7))


@st.fragment
def page() -> None:
    seed = st.slider("Seed", 0, 40, 0)
    shorter = st.toggle("Shorter")
    public = st.toggle("What the public sees")
    st.button("Again")
    count = n_frames - 3 if shorter else n_frames
    scene = hostile() if st.query_params.get("scene") == "hostile" else everything(n, count, seed)
    query = None if st.query_params.get("scene") else f"n={n}&frames={n_frames}&seed={seed}"
    left, right = st.columns([2, 1])
    with left:
        state = live(scene, key="picture", audience_public=public, query=query)
    with right:
        live(chart(count), key="chart", height=260, follow="picture", audience_public=public)
    st.text(f"selected: {state.selected}")


page()
