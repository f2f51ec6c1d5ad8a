"""The picture's short way: asked for as soon as the slider moves, ahead of the page's rerun.

A rerun of the slider's fragment costs Streamlit and the browser about 200 ms, whatever it computes. So a page offers to
draw its picture at any of the slider's values, over a line whose address only its own session knows; the picture asks
there first, and the rerun follows at rest with the words, the numbers and the charts. The run is remembered: it is not
made twice.

Two pictures beside each other come one after the other: the second is drawn while the browser draws the first. While
somebody moves on, the picture that comes next at that pace is drawn before it is asked for.

What would be another release is never drawn ahead: uploaded records and secret noise wait for the rerun.
"""

import asyncio
import json
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from weakref import WeakValueDictionary

import streamlit as st
from starlette.concurrency import iterate_in_threadpool, run_in_threadpool
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
_REST = 0.03  # s without a question, before one is answered that nobody has asked: a drag asks again within that
_SERIES = 1.0  # s between two moves that belong together; a reader who looks at each costs nothing more


class _Offer:
    """What one session would draw; it dies with the session."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self.values: Sequence[float] = ()
        self.draw: Draw | None = None


class _Series:
    """Moves that follow each other on one line."""

    def __init__(self) -> None:
        self._last = (-_SERIES, 0)  # when, and to which index
        self._resting: asyncio.TimerHandle | None = None
        self._next: tuple[int, asyncio.Task[None]] | None = None  # what is drawn before it is asked for

    async def reached(self, index: int) -> None:
        """Wait for what is being drawn, if it is this one."""
        if self._resting is not None:
            self._resting.cancel()
        if self._next is not None and self._next[0] == index:
            await self._next[1]

    def go_on(self, index: int, offered: _Offer | None) -> None:
        """Soon draw the value that is as far from this one as this is from the last, for the session to recall."""
        (before, start), now = self._last, time.monotonic()
        self._last, following = (now, index), 2 * index - start
        if offered is None or offered.draw is None or now - before > _SERIES:
            return
        if following != index and 0 <= following < len(offered.values):
            asked = following, offered.draw, offered.values[following]
            self._resting = asyncio.get_running_loop().call_later(_REST, self._draw, *asked)

    def _draw(self, index: int, draw: Draw, value: float) -> None:
        self._next = index, asyncio.create_task(run_in_threadpool(_forgotten, draw, value))


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
    series = _Series()
    try:
        while (message := await line.receive())["type"] == "websocket.receive":
            index = message.get("text")
            if index is None or token not in _OFFERS:  # bytes, which no page of ours sends, or the session has ended
                await line.close()
                return
            said = await _answered(line, token, index, series)
            await line.send_text(said)
            if said == _DRAWN:
                series.go_on(int(index), _OFFERS.get(token))
    except WebSocketDisconnect:  # the reader left while the picture was drawn
        return


async def _answered(line: WebSocket, token: str, index: str, series: _Series) -> str:
    """Send the pictures, and return the word after them."""
    offered = _OFFERS.get(token)  # no longer than for one answer, or the session would not end before the line does
    known = index.isascii() and index.isdigit() and len(index) <= _MOST_DIGITS
    if not known or offered is None or offered.draw is None or int(index) >= len(offered.values):
        return _LATER
    await series.reached(int(index))
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


def _forgotten(draw: Draw, value: float) -> None:
    for _ in _drawn(draw, value):
        pass


def addressed(key: str, packed: bytes) -> bytes:
    """Write whose a packed scene is: 4-byte little-endian length, JSON of the picture's key, the scene, aligned."""
    text = json.dumps({"picture": key}).encode()
    text += b" " * (-(len(text) + 4) % ALIGNMENT)
    return len(text).to_bytes(4, "little") + text + packed


ROUTE = WebSocketRoute(f"/{_FOLDER}/{{token}}", answer)
