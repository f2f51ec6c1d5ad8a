"""The picture's short way: fetched as soon as the slider moves, ahead of the page's rerun.

A rerun of the slider's fragment costs Streamlit and the browser about 200 ms, whatever it computes. So a page offers to
draw its picture at any of the slider's values, under an address that only its own session knows; the picture asks there
first, and the rerun follows at rest with the words, the numbers and the charts. The run is remembered: it is not made
twice.

What would be another release is never drawn ahead: uploaded records and secret noise wait for the rerun.
"""

import json
import secrets
from collections.abc import Callable, Sequence
from weakref import WeakValueDictionary

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dpviz.plots.scene import ALIGNMENT

Draw = Callable[[float], Sequence[tuple[str, bytes]]]  # a value of the slider -> packed scenes by their pictures' keys

_FOLDER = "dpviz-ahead"
_OFFER = "dpviz:ahead"


class _Offer:
    """What one session would draw; it dies with the session."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self.values: Sequence[float] = ()
        self.draw: Draw | None = None


_OFFERS: WeakValueDictionary[str, _Offer] = WeakValueDictionary()


def offer(values: Sequence[float], draw: Draw) -> str:
    """Offer to draw at any of `values` from now on; returns the address without the value's index.

    `draw` runs outside of the session's script, so that it may not touch Streamlit's session state.
    """
    offered: _Offer = st.session_state.setdefault(_OFFER, _Offer())
    _OFFERS[offered.token] = offered
    offered.values, offered.draw = tuple(values), draw
    return f"{_FOLDER}/{offered.token}"


def withdraw() -> None:
    """Offer nothing: the page is about to change."""
    offered: _Offer | None = st.session_state.get(_OFFER)
    if offered is not None:
        offered.draw = None


async def answer(request: Request) -> Response:
    """Draw what a session's picture asks for; an empty answer sends it the long way."""
    offered = _OFFERS.get(request.path_params["token"])
    index = request.path_params["index"]
    if offered is None or offered.draw is None or index >= len(offered.values):
        return Response(status_code=204)
    drawn = await run_in_threadpool(_drawn, offered.draw, offered.values[index])
    if drawn is None:
        return Response(status_code=204)
    headers = {"cache-control": "no-store", "content-encoding": "identity"}  # packing it costs more than it saves
    return Response(drawn, media_type="application/octet-stream", headers=headers)


def _drawn(draw: Draw, value: float) -> bytes | None:
    try:
        return bundle(draw(value))
    except Exception:  # the rerun meets the same and says so on the page
        return None


def bundle(scenes: Sequence[tuple[str, bytes]]) -> bytes:
    """Join packed scenes: 4-byte little-endian length, JSON of keys and sizes, each scene on an aligned offset."""
    text = json.dumps({"pictures": [[key, len(packed)] for key, packed in scenes]}).encode()
    text += b" " * (-(len(text) + 4) % ALIGNMENT)
    padded = (packed + b"\0" * (-len(packed) % ALIGNMENT) for _, packed in scenes)
    return b"".join((len(text).to_bytes(4, "little"), text, *padded))


ROUTE = Route(f"/{_FOLDER}/{{token}}/{{index:int}}", answer)
