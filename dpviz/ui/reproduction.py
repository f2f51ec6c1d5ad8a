"""Tables of what the paper reports beside what comes out here, read from a file that one command writes."""

import streamlit as st


def tables(name: str) -> None:
    """Draw the tables of one system."""
    st.caption(name)
