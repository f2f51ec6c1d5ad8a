"""An app with one live picture, a chart that follows it and knobs that change its data."""

import sys
from pathlib import Path

import streamlit as st

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from scenes import chart, everything  # noqa: E402

from dpviz.ui.live import live  # noqa: E402

st.set_page_config(layout="wide")
n = int(st.query_params.get("n", 600))
n_frames = int(st.query_params.get("frames", 7))


@st.fragment
def page() -> None:
    with st.container():
        seed = st.slider("Seed", 0, 40, 0)
        shorter = st.toggle("Shorter")
        public = st.toggle("What the public sees")
        st.button("Again")
    count = n_frames - 3 if shorter else n_frames
    left, right = st.columns([2, 1])
    with left:
        state = live(
            everything(n, count, seed),
            key="picture",
            audience_public=public,
            query=f"n={n}&frames={n_frames}&seed={seed}",
        )
    with right:
        live(chart(count), key="chart", height=260, follow="picture", audience_public=public)
    st.text(f"selected: {state.selected}")


page()
