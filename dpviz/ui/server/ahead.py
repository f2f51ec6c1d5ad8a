"""Fast path for slider moves: a WebSocket that renders the picture before Streamlit reruns the page.

A rerun of the slider's fragment costs Streamlit and the browser about 200 ms, regardless of its computation. So a page
offers to draw its picture at any of the slider's values, at a URL that only its own session knows; the picture
requests there first, and the rerun follows at rest with the words, the numbers and the charts. The run is cached, not
repeated.

Two pictures on one page come one after the other, and the browser shows both on one frame. During a drag, the next
picture at the same pace is drawn before it is requested.

While the slider rests, the same WebSocket answers with the loss of many runs at a value: the band of the stage's
strip. The background process computes it, and no picture waits for it.

A picture that would be another release is never drawn ahead: uploaded records and secret noise wait for the rerun.
"""

import asyncio
import json
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from weakref import WeakValueDictionary

import streamlit as st
from starlette.concurrency import iterate_in_threadpool, run_in_threadpool
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from dpviz.core import immutable
from dpviz.ui.asking import Work
from dpviz.ui.live import wrap

# Key of the picture, and its packed scene.
Picture = tuple[str, bytes]
# Value of the slider -> its pictures, each as soon as it is drawn.
Draw = Callable[[float], Iterator[Picture]]


@immutable
class Bands:
    """Source of the bands at the values of the slider.

    `ask` returns the quantiles of a band, () if there is none, or the work that finds them. It runs outside the
    session's script, like `Draw`. It is called again when that work has ended.
    """

    # Key of everything that the bands follow from, including the values of the slider.
    key: str
    ask: Callable[[float], tuple[float, ...] | Work]


_FOLDER = "dpviz-ahead"
_OFFER = "dpviz:ahead"
# Digits of a value's index.
_MOST_DIGITS = 6
# Sent after the last picture.
_DRAWN = "drawn"
# Sent if the missing pictures come with the page's rerun.
_LATER = "later"
# Prefix of the index of a value whose band is requested.
_BAND = "band:"
# Seconds without a message before the next value is predicted. A drag sends messages faster.
_REST = 0.03
# Most seconds between two moves of one drag. Single moves cause no prediction.
_SERIES = 1.0


class _Offer:
    """Offer of one session to draw pictures, which ends with the session."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self.values: Sequence[float] = ()
        self.draw: Draw | None = None
        self.bands: Bands | None = None


class _Series:
    """Moves that follow each other on one WebSocket."""

    def __init__(self) -> None:
        # Time and index of the last move.
        self._last = (-_SERIES, 0)
        self._timer: asyncio.TimerHandle | None = None
        # Predicted index and its drawing.
        self._next: tuple[int, asyncio.Task[None]] | None = None

    async def reached(self, index: int) -> None:
        """Cancel the prediction that is due, and wait for the one being drawn if it is this index."""
        if self._timer is not None:
            self._timer.cancel()
        if self._next is not None and self._next[0] == index:
            await self._next[1]

    def predict(self, index: int, offer: _Offer | None) -> None:
        """Schedule the value that continues the last step at the same pace, for the session's cache."""
        (before, start), now = self._last, time.monotonic()
        self._last, following = (now, index), 2 * index - start
        if offer is None or offer.draw is None or now - before > _SERIES:
            return
        if following != index and 0 <= following < len(offer.values):
            arguments = following, offer.draw, offer.values[following]
            self._timer = asyncio.get_running_loop().call_later(_REST, self._draw, *arguments)

    def _draw(self, index: int, draw: Draw, value: float) -> None:
        def exhaust() -> None:
            # A reader who comes to that value meets the same error.
            with suppress(Exception):
                for _ in draw(value):
                    pass

        self._next = index, asyncio.create_task(run_in_threadpool(exhaust))


_OFFERS: WeakValueDictionary[str, _Offer] = WeakValueDictionary()


def offer(values: Sequence[float], draw: Draw, bands: Bands | None = None) -> str:
    """Offer to draw at any of `values` from now on; return the URL of the WebSocket that takes their indexes.

    `draw` runs outside the session's script, so it may not touch Streamlit's session state. Without `bands`, no
    value has a band.
    """
    own: _Offer | None = st.session_state.get(_OFFER)
    # Making a token takes a while.
    if own is None:
        own = st.session_state[_OFFER] = _Offer()
    _OFFERS[own.token] = own
    own.values, own.draw, own.bands = tuple(values), draw, bands
    return f"{_FOLDER}/{own.token}"


def withdraw() -> None:
    """Withdraw the session's offer: the page is about to change."""
    own: _Offer | None = st.session_state.get(_OFFER)
    if own is not None:
        own.draw = own.bands = None


async def answer(socket: WebSocket) -> None:
    """Draw the values whose indexes a session's picture sends, one after the other; refuse unknown tokens.

    The answer to an index is a message of bytes for each picture, and a final word. The answer to "band:INDEX" is a
    JSON message, {"band": index, "values": [low, middle, high], "key": key}, sent between picture messages as soon as
    it is known. `values` is null if there is no band, and `key` is also null if no bands are offered. A later request
    for a band replaces an unanswered one.
    """
    token = socket.path_params["token"]
    if token not in _OFFERS:
        await socket.close()
        return
    await socket.accept()
    series, band = _Series(), None
    try:
        while (message := await socket.receive())["type"] == "websocket.receive":
            index = message.get("text")
            # Our pages never send bytes. An unknown token means that the session has ended.
            if index is None or token not in _OFFERS:
                await socket.close()
                return
            if index.startswith(_BAND):
                if band is not None:
                    band.cancel()
                band = asyncio.create_task(_send_band(socket, token, index.removeprefix(_BAND)))
                continue
            word = await _send_pictures(socket, token, index, series)
            await socket.send_text(word)
            if word == _DRAWN:
                series.predict(int(index), _OFFERS.get(token))
    # The reader left during a drawing.
    except WebSocketDisconnect:
        return
    finally:
        if band is not None:
            band.cancel()


async def _send_band(socket: WebSocket, token: str, index: str) -> None:
    """Send the band at a value when it is known."""
    while isinstance(answer := await run_in_threadpool(_band, token, index), Future):
        await _end_of(answer)
    # The reader has left.
    with suppress(WebSocketDisconnect, RuntimeError):
        await socket.send_text(answer)


async def _end_of(work: Work) -> None:
    """Wait for the end of work, which continues even if no one waits any longer."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def tell(_: object) -> None:
        # The server has ended.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(ended.set)

    work.add_done_callback(tell)
    await ended.wait()


def _band(token: str, index: str) -> str | Work:
    """Return the answer to a question for a band, or the work that finds it."""
    # Keep this reference for one look only; otherwise the session would not end before the WebSocket does.
    own = _OFFERS.get(token)
    number = int(index) if _is_index(index) else None
    key: str | None = None
    values: tuple[float, ...] = ()
    if own is not None and own.bands is not None and number is not None and number < len(own.values):
        key = own.bands.key
        # A run of the user's own method can raise any error. The strip then has no band at that value.
        with suppress(Exception):
            band = own.bands.ask(own.values[number])
            if isinstance(band, Future):
                return band
            values = band
    return json.dumps({"band": number, "values": list(values) or None, "key": key})


async def _send_pictures(socket: WebSocket, token: str, index: str, series: _Series) -> str:
    """Send the pictures, and return the message that follows them."""
    # Keep this reference for one answer only; otherwise the session would not end before the WebSocket does.
    own = _OFFERS.get(token)
    if not _is_index(index) or own is None or own.draw is None or int(index) >= len(own.values):
        return _LATER
    await series.reached(int(index))
    try:
        # Nothing is drawn while a picture is sent, because a drawing thread would keep the interpreter from sending.
        async for key, packed in iterate_in_threadpool(own.draw(own.values[int(index)])):
            await socket.send_bytes(wrap({"picture": key}, packed))
    except WebSocketDisconnect:
        raise
    # The rerun meets the same error and reports it on the page.
    except Exception:
        return _LATER
    return _DRAWN


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS


ROUTE = WebSocketRoute(f"/{_FOLDER}/{{token}}", answer)
