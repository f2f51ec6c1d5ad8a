"""The script that Streamlit runs: navigation over the catalogue, so that a new story's page appears by itself."""

import gc
from pathlib import Path

import streamlit as st

from dpviz.algorithms import CATALOGUE
from dpviz.ui.exports import begin

PAGES = Path(__file__).resolve().parents[2] / "pages"
ACROSS = {"compare": "Compare", "audit": "Audit"}  # pages that are no algorithm's: file -> title
ICON = Path(__file__).resolve().parents[2] / "assets" / "icon.png"


def run() -> None:
    """Show the page that the URL names; `/` leads to the first story and keeps its query."""
    st.set_page_config(page_title="dpviz", page_icon=str(ICON), layout="wide")
    titles = {**{name: module.TITLE for name, module in CATALOGUE.items()}, **ACROSS}
    pages = [st.Page(PAGES / f"{name}.py", title=title) for name, title in titles.items()]

    def home() -> None:
        st.switch_page(pages[0], query_params={name: st.query_params.get_all(name) for name in st.query_params})

    # A page that is the default has no address of its own, so the default is this hidden step to the first one.
    page = st.navigation([st.Page(home, default=True, visibility="hidden"), *pages])
    begin(page.url_path, dict(zip(titles, pages, strict=True)))
    page.run()
    _settle()


@st.cache_resource(show_spinner=False)
def _settle() -> None:
    """Take what the libraries have made out of the collector's rounds, once: a full one held pictures up."""
    gc.collect()
    gc.freeze()


if __name__ == "__main__":  # the name under which Streamlit runs a script
    run()
