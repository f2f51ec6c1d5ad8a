"""Preparation before the first visitor, and regular cleanup of abandoned sessions and slow requests.

Abandoned sessions. Streamlit keeps a session for two minutes after its reader has left, in case only the connection
broke. It drops expired sessions when the next reader leaves. On a quiet server, their memory, their files and the
addresses of their pictures would stay as long as the server is quiet.

Slow requests have a head that is never finished or a body that trickles. Uvicorn waits for both without a limit, and
has no option for one. Each such connection holds an open file of the server. So dpviz observes uvicorn's connections,
through an interface that is not public. If this interface is missing or behaves differently, connections wait as
before. WebSockets have their own pings.

Preparation includes the theme. Streamlit reads its 300 options anew at each run of a page, which takes a tenth of the
server's work for a move of a slider. Here they are read once.

Whole runs and fragments. A run of the whole page ends with a message. On this message, the browser removes everything
that the run has not drawn. If a fragment begins before these messages are sent, Streamlit takes back the whole run's
drawing of that fragment, but not the message. The browser then removed the stage and showed it again a moment later.
Here both are sent.
"""

import asyncio
import contextlib
import functools
import gc
import sys
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import Runtime, app_session
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

from dpviz.data.files import load_parsers
from dpviz.ui.asking import background
from dpviz.ui.home import THUMBNAILS, thumbnail_address
from dpviz.ui.server.startup import raise_file_limit

# Number of new objects before the garbage collector checks the youngest generation, and numbers of such checks before
# it checks an older one. With Python's own values, 700, 10 and 10, a server checked all objects of 100 readers' pages
# every seven seconds, for 0.2 s.
GARBAGE = 5_000, 10, 20
# Seconds without a message on the terminal.
PATIENCE = 3.0
COMPILING = "Compiling, once after an installation or a change: up to 30 seconds."
# Held by `load`. If two threads import scikit-learn at once, one can find it half imported.
LOADING = threading.Lock()
SESSIONS_EVERY = 10.0  # s
REQUESTS_EVERY = 2.0  # s
# Seconds from the connection, or from the previous answer, until a head is complete.
HEAD_SECONDS = 20.0
# Additional seconds allowed for a body.
BODY_SECONDS = 20.0
# Lowest rate of a body, in bytes per second: 40 kbit/s.
LEAST_RATE = 5_000.0
HTTP_PROTOCOLS = {
    "uvicorn.protocols.http.h11_impl": "H11Protocol",
    "uvicorn.protocols.http.httptools_impl": "HttpToolsProtocol",
    "uvicorn.protocols.http.zttp_impl": "ZttpProtocol",
}


class _Cycle(Protocol):
    response_complete: bool
    more_body: bool


class _Connection(asyncio.Protocol):
    """Uvicorn's protocol object of one connection."""

    cycle: _Cycle | None
    transport: asyncio.Transport
    # Its `read_paused` is True while the server does not read.
    flow: Any


class _Progress:
    """Progress of the request on one connection."""

    def __init__(self, now: float) -> None:
        # Cycle of the request whose body is being received; None before the request's head.
        self.cycle: _Cycle | None = None
        self.since = now
        # Bytes received since then.
        self.received = 0


_OPEN: dict[_Connection, _Progress] = {}
# Classes of uvicorn.
_OBSERVED: set[type] = set()


def prepare() -> None:
    """Draw all thumbnails, which makes the machine code; print a line if that takes a while."""
    raise_file_limit()
    notice = threading.Timer(PATIENCE, print, (COMPILING,), {"flush": True})
    notice.daemon = True
    notice.start()
    try:
        for name in THUMBNAILS:
            for dark in (False, True):
                thumbnail_address(name, dark=dark)
    finally:
        notice.cancel()
    gc.collect()
    # A full collection would look at half a million permanent objects while a picture waits.
    gc.freeze()
    gc.set_threshold(*GARBAGE)


def load() -> None:
    """Import what the package imports lazily, while the first reader's browser still loads its scripts."""
    with LOADING:
        load_parsers()
        import scipy.ndimage
        import scipy.optimize
        import scipy.signal
        import scipy.stats  # noqa: F401
        import sklearn.cluster  # type: ignore[import-untyped]  # it ships no types
        import sklearn.metrics  # type: ignore[import-untyped]  # noqa: F401


@contextlib.asynccontextmanager
async def lifespan(_app: object) -> AsyncIterator[None]:
    """Load slow libraries, then clean up every few seconds: sessions, records of the process for long work."""
    read_theme_once()
    keep_whole_runs()
    tasks = [asyncio.create_task(each) for each in (asyncio.to_thread(load), _watch_sessions(), close_slow_requests())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()


def read_theme_once() -> None:
    """Make Streamlit read each section of its theme once, because its options file is not watched."""
    read, sections = app_session._populate_theme_msg, dict[str, CustomThemeConfig]()

    def populate(msg: CustomThemeConfig, section: str = "theme") -> None:
        if section not in sections:
            read(msg, section)
            sections[section] = CustomThemeConfig()
            sections[section].CopyFrom(msg)
        # An empty section would still count as a section.
        elif sections[section].ListFields():
            msg.CopyFrom(sections[section])

    app_session._populate_theme_msg = populate


def keep_whole_runs() -> None:
    """Prevent a starting fragment from undoing a finished whole run."""
    clear = ForwardMsgQueue.clear

    def clear_after(
        queue: ForwardMsgQueue, retain_lifecycle_msgs: bool = False, fragment_ids_this_run: list[str] | None = None
    ) -> None:
        whole: list[ForwardMsg] = []
        if fragment_ids_this_run is not None:
            ends = [
                i + 1
                for i, message in enumerate(queue._queue)
                if message.WhichOneof("type") == "script_finished"
                and message.script_finished == message.FINISHED_SUCCESSFULLY
            ]
            last = max(ends, default=0)
            whole, queue._queue = queue._queue[:last], queue._queue[last:]
        clear(queue, retain_lifecycle_msgs, fragment_ids_this_run)
        queue._queue = whole + queue._queue

    ForwardMsgQueue.clear = clear_after  # type: ignore[assignment,method-assign]


async def _watch_sessions() -> None:
    n_before = 0
    while True:
        await asyncio.sleep(SESSIONS_EVERY)
        # A change in Streamlit may cost memory, but nothing else.
        with contextlib.suppress(Exception):
            await asyncio.to_thread(background().forget_idle)
            n_sessions = expire_sessions()
            # Sessions are reference cycles.
            if n_sessions < n_before:
                await asyncio.to_thread(gc.collect)
            n_before = n_sessions


def expire_sessions() -> int:
    """Drop expired sessions; return the number of sessions kept for readers that may come back."""
    sessions = Runtime.instance()._session_mgr._session_storage._cache  # type: ignore[attr-defined]  # no public way
    sessions.expire()
    return len(sessions)


async def close_slow_requests() -> None:
    """Close connections whose request is late; returns never."""
    observe_connections()
    while True:
        await asyncio.sleep(REQUESTS_EVERY)
        now = asyncio.get_running_loop().time()
        for connection, progress in list(_OPEN.items()):
            # The connection has become a WebSocket.
            if connection.transport.get_protocol() is not connection:
                del _OPEN[connection]
            elif _is_late(connection, progress, now):
                connection.transport.abort()


def observe_connections() -> None:
    """Record connections and bytes of uvicorn's HTTP protocol; the one in use is loaded."""
    for module, name in HTTP_PROTOCOLS.items():
        protocol = getattr(sys.modules.get(module), name, None)
        if protocol is not None and protocol not in _OBSERVED:
            _OBSERVED.add(protocol)
            protocol.connection_made = _observed(
                protocol.connection_made,
                lambda connection, _transport: _OPEN.update({connection: _Progress(asyncio.get_running_loop().time())}),
            )
            protocol.data_received = _observed(protocol.data_received, _received)
            protocol.connection_lost = _observed(
                protocol.connection_lost, lambda connection, _error: _OPEN.pop(connection, None)
            )


def _observed(
    method: Callable[[_Connection, Any], None], observe: Callable[[_Connection, Any], object]
) -> Callable[[_Connection, Any], None]:
    @functools.wraps(method)
    def wrapper(connection: _Connection, argument: object) -> None:
        observe(connection, argument)
        method(connection, argument)

    return wrapper


def _received(connection: _Connection, data: bytes) -> None:
    if connection in _OPEN:
        _OPEN[connection].received += len(data)


def _is_late(connection: _Connection, progress: _Progress, now: float) -> bool:
    """Return True if the server has waited too long for the rest of a request."""
    cycle = connection.cycle
    if cycle is not None and cycle.response_complete:
        cycle = None
    if cycle is not progress.cycle:
        progress.cycle, progress.since, progress.received = cycle, now, 0
    # Between requests. Uvicorn closes an idle connection long before this limit.
    if cycle is None:
        return now - progress.since > HEAD_SECONDS
    # It is the server's turn.
    if not cycle.more_body:
        return False
    if connection.flow.read_paused:
        progress.since, progress.received = now, 0
    return now - progress.since > BODY_SECONDS + progress.received / LEAST_RATE
