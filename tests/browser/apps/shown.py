"""One app for all pages of parts, so that an open page shows one part after another: its field names part and case."""

from urllib.parse import parse_qsl

import streamlit as st

from tests.browser.apps import curves, picture, slider

st.set_page_config(layout="wide")
name, _, knobs = st.text_input("Shown").partition("?")
asked = dict(parse_qsl(knobs))
if name == "picture":
    picture.page(asked)
elif name == "curves":
    curves.page(asked)
elif name == "slider":
    slider.page()
else:
    st.session_state.pop("seen", None)
    st.text("Nothing is shown.")
