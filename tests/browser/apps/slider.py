"""A privacy slider and a preset that moves it."""

import streamlit as st

from dpviz.ui.controls import epsilon_slider, set_epsilon

VALUES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 8.0, 10.0, 14.0, 17.0, 20.0)
NOTES = [f"An attacker is right at most {min(99, 50 + round(10 * value))} times in 100." for value in VALUES]


@st.fragment
def page() -> None:
    seen = st.session_state.setdefault("seen", [])
    if st.button("Preset"):
        set_epsilon("epsilon", 0.1)
    start = st.radio("Start", [1.0, 5.0], horizontal=True)
    with st.container(width=260):
        epsilon = epsilon_slider(
            key="epsilon",
            value=start,
            label="Privacy budget \u03b5",
            values=VALUES,
            note=NOTES,
            help="Smaller values let less about one person through.",
        )
    seen.append(epsilon)
    st.text(f"epsilon: {epsilon}")
    st.text(f"seen: {len(set(seen))}")
