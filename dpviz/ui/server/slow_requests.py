"""Closes connections whose request does not come to its end: a head that is never finished, a body that trickles.

Uvicorn waits for both for ever, and each such connection holds an open file of the server's. It has no option for a
limit, so that its connections are noted as they are made, and looked at every few seconds. That is no public interface:
where it is missing, or behaves differently, connections wait as before. Websockets are looked after by their pings.
"""

import asyncio
import functools
import sys
from typing import Any

EVERY = 2.0  # s
HEAD_SECONDS = 20.0  # from the connection, or the answer before, until a head is there
BODY_SECONDS = 20.0  # that a body may take, and beside that
LEAST_RATE = 5_000.0  # bytes a second that have to come of it: 40 kbit/s


class _Progress:
    """How far the request on one connection is."""

    def __init__(self, now: float) -> None:
        self.cycle: Any = None  # uvicorn's, of the request whose body is on its way; None while there is no head
        self.since = now
        self.received = 0  # bytes, since then


PROTOCOLS = {
    "uvicorn.protocols.http.h11_impl": "H11Protocol",
    "uvicorn.protocols.http.httptools_impl": "HttpToolsProtocol",
    "uvicorn.protocols.http.zttp_impl": "ZttpProtocol",
}
_NOTED: list[Any] = []  # of these
_OPEN: dict[Any, _Progress] = {}  # uvicorn's protocol -> its progress


def note_connections() -> None:
    """Have uvicorn's protocols for HTTP, of which the one in use is loaded, note connections and bytes."""
    for place, name in PROTOCOLS.items():
        protocol: Any = getattr(sys.modules.get(place), name, None)
        if protocol is not None and protocol not in _NOTED:
            _NOTED.append(protocol)
            protocol.connection_made = _noting(protocol.connection_made)
            protocol.data_received = _counting(protocol.data_received)
            protocol.connection_lost = _forgetting(protocol.connection_lost)


def _noting(made: Any) -> Any:
    @functools.wraps(made)
    def connection_made(self: Any, transport: Any) -> None:
        _OPEN[self] = _Progress(asyncio.get_running_loop().time())
        made(self, transport)

    return connection_made


def _counting(received: Any) -> Any:
    @functools.wraps(received)
    def data_received(self: Any, data: bytes) -> None:
        if self in _OPEN:
            _OPEN[self].received += len(data)
        received(self, data)

    return data_received


def _forgetting(lost: Any) -> Any:
    @functools.wraps(lost)
    def connection_lost(self: Any, error: Exception | None) -> None:
        _OPEN.pop(self, None)
        lost(self, error)

    return connection_lost


async def close_slow_requests() -> None:
    """Look at all connections every few seconds, for as long as the server runs."""
    note_connections()
    while True:
        await asyncio.sleep(EVERY)
        now = asyncio.get_running_loop().time()
        for protocol, progress in list(_OPEN.items()):
            if protocol.transport.get_protocol() is not protocol:  # it has become a websocket
                del _OPEN[protocol]
            elif _is_late(protocol, progress, now):
                protocol.transport.abort()


def _is_late(protocol: Any, progress: _Progress, now: float) -> bool:
    """Tell whether a reader lets the server wait for the rest of a request."""
    cycle = protocol.cycle
    answered = cycle is None or cycle.response_complete
    waited_for = None if answered else cycle
    if waited_for is not progress.cycle:
        progress.cycle, progress.since, progress.received = waited_for, now, 0
    if answered:  # an idle connection is closed by uvicorn long before this
        return now - progress.since > HEAD_SECONDS
    if not cycle.more_body:  # the server's turn
        return False
    if protocol.flow.read_paused:  # the server does not read
        progress.since, progress.received = now, 0
    return now - progress.since > BODY_SECONDS + progress.received / LEAST_RATE
