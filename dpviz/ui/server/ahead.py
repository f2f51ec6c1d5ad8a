"""The picture's short way: asked for as soon as the slider moves, ahead of the page's rerun.

A rerun of the slider's fragment costs Streamlit and the browser about 200 ms, whatever it computes. So a page offers to
draw its picture at any of the slider's values, over a line whose address only its own session knows; the picture asks
there first, and the rerun follows at rest with the words, the numbers and the charts. The run is remembered: it is not
made twice.

Two pictures beside each other come one after the other: the second is drawn while the browser draws the first.

What would be another release is never drawn ahead: uploaded records and secret noise wait for the rerun.
"""

import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from weakref import WeakValueDictionary

import streamlit as st
from starlette.concurrency import iterate_in_threadpool
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from dpviz.plots.scene import ALIGNMENT

Picture = tuple[str, bytes]  # its key, and its packed scene
Draw = Callable[[float], Iterator[Picture]]  # a value of the slider -> its pictures, each as soon as it is drawn

_FOLDER = "dpviz-ahead"
_OFFER = "dpviz:ahead"
_MOST_DIGITS = 6  # of a value's index
_DRAWN = "drawn"  # that was the last picture
_LATER = "later"  # what is missing comes with the page's rerun


class _Offer:
    """What one session would draw; it dies with the session."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self.values: Sequence[float] = ()
        self.draw: Draw | None = None


_OFFERS: WeakValueDictionary[str, _Offer] = WeakValueDictionary()


def offer(values: Sequence[float], draw: Draw) -> str:
    """Offer to draw at any of `values` from now on; returns the address of the line that takes their indexes.

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


async def answer(line: WebSocket) -> None:
    """Draw what a session's picture asks for, one value's index after the other; who has no session is refused.

    An answer is a message of bytes for each picture, and a word that ends it.
    """
    token = line.path_params["token"]
    if token not in _OFFERS:
        await line.close()
        return
    await line.accept()
    try:
        while (message := await line.receive())["type"] == "websocket.receive":
            index = message.get("text")
            if index is None or token not in _OFFERS:  # bytes, which no page of ours sends, or the session has ended
                await line.close()
                return
            await line.send_text(await _answered(line, token, index))
    except WebSocketDisconnect:  # the reader left while the picture was drawn
        return


async def _answered(line: WebSocket, token: str, index: str) -> str:
    """Send the pictures, and return the word after them."""
    offered = _OFFERS.get(token)  # no longer than for one answer, or the session would not end before the line does
    known = index.isascii() and index.isdigit() and len(index) <= _MOST_DIGITS
    if not known or offered is None or offered.draw is None or int(index) >= len(offered.values):
        return _LATER
    # Nothing is drawn while a picture is sent: a thread that draws would keep the interpreter from sending.
    async for picture in iterate_in_threadpool(_drawn(offered.draw, offered.values[int(index)])):
        if picture is None:
            return _LATER
        await line.send_bytes(addressed(*picture))
    return _DRAWN


def _drawn(draw: Draw, value: float) -> Iterator[Picture | None]:
    try:
        yield from draw(value)
    except Exception:  # the rerun meets the same and says so on the page
        yield None


def addressed(key: str, packed: bytes) -> bytes:
    """Write whose a packed scene is: 4-byte little-endian length, JSON of the picture's key, the scene, aligned."""
    text = json.dumps({"picture": key}).encode()
    text += b" " * (-(len(text) + 4) % ALIGNMENT)
    return len(text).to_bytes(4, "little") + text + packed


ROUTE = WebSocketRoute(f"/{_FOLDER}/{{token}}", answer)
