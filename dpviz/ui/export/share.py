"""The Share menu: the picture's link to copy, as a QR code, for a class, for a frame; and the size for a projector.

A fragment of its own: nothing is made before the menu opens. Nothing leaves this computer: the code is drawn here.
"""

import base64
import io
from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import parse_qsl, urlencode

import segno
import streamlit as st

from dpviz.assets import FOLDER as ASSETS
from dpviz.core import Knob
from dpviz.ui import controls, hiding, state
from dpviz.ui.screen import latest
from dpviz.ui.server.served import served

KEY = "share"
SIZE = Knob(
    "size",
    "choice",
    "screen",
    "Size",
    "Larger type and marks, to be read from the last row.",
    choices=(("screen", "Screen"), ("projector", "Projector")),
)
PROJECTOR = ASSETS / "projector.css"
LEVEL = "m"  # error correction: 15 % of the code may be lost, as on a crooked screen
QUIET = 4  # modules of white around the code, what readers are promised
MODULE = 4  # pixels
WARNING = "Hiding is no lock: whoever edits the link sees everything again."
EMBED = "Adds embed=true. Browsers show the app in frames of pages on its own server only."
SITE = "https://example.org"  # reserved for examples
FRAME_WORDS = (
    "For a page on any server: publish the pictures with dpviz publish, put the folder on the web, and write its "
    f"address in place of {SITE}. The frame shows the runs that were published."
)
OWN_SERVER_WORDS = "It shows this app, without the top bar: only in pages on the app's own server."
OWN_DATA_WORDS = "There is no code for a web page: a published site has bundled data, and yours stay here."
# What a published picture's address says, by what the app's link calls it; modes keep their names.
_FRAMED = {
    "epsilon": "eps",
    "compare_at": "eps",
    "audit_epsilon": "eps",
    "data": "data",
    "mode": "mode",
    "calibration": "calibration",
    "method": "method",
    "audience": "view",
    "noise_seed": "seed",
}
TOO_LONG = "The link is too long for a QR code. Copy it instead."
HIDE = "dpviz:share-hide"
BARE = "dpviz:share-bare"
MOST_DIGITS = 6  # of a step's number
_FITTED = "dpviz:fitted"
_SHARE = served("share")


def fit() -> None:
    """Make type and marks as large as the reader has asked for."""
    projector = is_large()
    st.session_state[_FITTED] = projector
    state.stay(SIZE.name, "projector" if projector else "")
    if projector:
        st.html(PROJECTOR)


def is_large() -> bool:
    """Say whether the page is for a projector."""
    return bool(state.value(SIZE) == "projector")


def menu() -> None:
    """Draw the button that opens the menu."""
    _menu()


@st.fragment
def _menu() -> None:
    with st.popover("Share", key="share-menu", on_change="rerun") as place:
        if place.open and not state.is_blank():
            _contents()


def _contents() -> None:
    hidden = st.multiselect(
        "Take away for a class",
        sorted(hiding.GROUPS),
        format_func=hiding.GROUPS.__getitem__,
        key=HIDE,
        placeholder="Nothing",
        help=WARNING,
    )
    bare = st.toggle("To embed, without the top bar", key=BARE, help=EMBED)
    frame = _frame(st.session_state.get(KEY))
    link = link_of(query_of(hidden, bare=bare) + (f"&frame={frame}" if frame else ""))
    source, words = framed(link, frame, bare=bare)
    data = {"link": link, "frame": frame, "source": source, "words": words}
    _SHARE(data=data, key=KEY, on_frame_change=_nothing)
    code = qr(link)
    if code is None:
        st.caption(TOO_LONG)
    else:
        words = f"QR code of {link[:60]}…"
        st.html(f'<img class="dpviz-qr" src="{code}" alt="{escape(words)}">')
    controls.control(SIZE)
    if is_large() != st.session_state.get(_FITTED):  # the page was drawn before the choice
        st.rerun(scope="app")


def _frame(state_of_share: Any) -> str | None:
    """Return the scrubber's step as the browser has told it, None for the usual one: it can send anything."""
    frame = state_of_share.get("frame") if isinstance(state_of_share, Mapping) else None
    is_step = isinstance(frame, str) and frame.isascii() and frame.isdecimal() and len(frame) <= MOST_DIGITS
    return frame if is_step else None


def _nothing() -> None:
    """Declare a state key; the value is read after the run starts again."""


def query_of(hidden: list[str], *, bare: bool) -> str:
    """Return the query of what is on screen, with what is hidden here and what is to be hidden besides."""
    screen = latest()
    pairs = dict(st.query_params) if screen is None else dict(parse_qsl(screen.address, keep_blank_values=True))
    pairs.pop("frame", None)  # the browser tells it
    away = sorted({*filter(None, pairs.pop(hiding.NAME, "").split(",")), *hidden})
    pairs |= {hiding.NAME: ",".join(away)} if away else {}
    pairs |= {"embed": "true"} if bare else {}
    return urlencode(pairs, safe=",")


def framed(link: str, frame: str | None, *, bare: bool) -> tuple[str, str]:
    """Return the address that a frame in a web page shows, and what to know of it; "" where there is none.

    With `bare` it is the app's own `link`, else that of a published site, with the `frame`'s number as its step.
    """
    if bare:
        return link, OWN_SERVER_WORDS
    screen = latest()
    if screen is not None and screen.source.own:
        return "", OWN_DATA_WORDS
    here, _, query = link.partition("?")
    pairs = [(_FRAMED[name], value) for name, value in parse_qsl(query) if name in _FRAMED]
    pairs += [("step", frame)] if frame else []
    page = here.rstrip("/").rpartition("/")[2]
    return f"{SITE}/{page}/?{'&'.join(['embed', urlencode(pairs)])}", FRAME_WORDS


def link_of(query: str) -> str:
    """Return the whole address where the browser says what it is, else what follows the host."""
    here = (st.context.url or "").partition("?")[0].partition("#")[0]
    return f"{here}?{query}"


def qr(link: str) -> str | None:
    """Return a QR code of the link as an address that holds the drawing, None where it does not fit."""
    try:
        code = segno.make_qr(link, error=LEVEL)
    except segno.DataOverflowError:
        return None
    drawing = io.BytesIO()
    code.save(drawing, kind="svg", scale=MODULE, border=QUIET, dark="#000", light="#fff", xmldecl=False, svgns=True)
    return f"data:image/svg+xml;base64,{base64.b64encode(drawing.getvalue()).decode('ascii')}"
