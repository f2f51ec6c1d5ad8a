"""The gallery: every named set as a card in a dialog, which costs a page nothing until it is opened."""

from base64 import b64encode
from collections.abc import Callable
from html import escape

import streamlit as st

from dpviz.data import DATASETS
from dpviz.data.cards import Card, cards, title

N_ACROSS = 3
_TIMES_OPENED = "dpviz:gallery-opened"


def gallery_button(choose: Callable[[str], None]) -> None:
    """Draw the button that opens the gallery; `choose` is called with the name of the set that is taken."""
    words = "See what each data set looks like and what it breaks."
    if st.button("Gallery", width="stretch", help=words, on_click=_count):
        _show(choose)


def times_opened() -> int:
    """Return how often this session has opened the gallery."""
    return int(st.session_state.get(_TIMES_OPENED, 0))


def _count() -> None:
    st.session_state[_TIMES_OPENED] = times_opened() + 1


@st.dialog("Gallery", width="large")
def _show(choose: Callable[[str], None]) -> None:
    """Draw all cards; taking one closes the dialog."""
    for begin in range(0, len(DATASETS), N_ACROSS):
        for place, name in zip(st.columns(N_ACROSS), DATASETS[begin : begin + N_ACROSS], strict=False):
            with place.container(border=True, height="stretch"):
                card = cards().get(name)
                if card is not None:
                    st.html(_words(card))
                label = f"Use {title(name)}"
                if st.button(label, key=f"gallery:{name}", width="stretch", on_click=choose, args=(name,)):
                    st.rerun()


def _words(card: Card) -> str:
    """Write a card; its words are ours, and escaped all the same."""
    picture = b64encode(card.thumbnail.encode()).decode()
    return (
        f'<div class="dpviz-gallery"><img src="data:image/svg+xml;base64,{picture}" alt="">'
        f"<h3>{escape(card.title)}</h3><p>{escape(card.note)}</p>"
        f"<dl><dt>Size</dt><dd>{escape(card.size)}</dd><dt>Units</dt><dd>{escape(card.units)}</dd>"
        f"<dt>Public box</dt><dd>{escape(card.box)}. {escape(card.bounds_note)}</dd></dl></div>"
    )
