"""One door for several processes of the app: a cookie keeps each reader at one of them.

A page's files, uploads and lines must reach the process that holds its session. A port that processes share
(SO_REUSEPORT) would not do: the operating system deals out connections, not readers.

A connection carries one request. Its head is read, and that of the answer; all else are bytes that pass, those of a
websocket, too. So no two readers share a line to a process, and nothing in one request is taken for another.
"""

import asyncio
import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

COOKIE = "dpviz-replica"
HEALTH = "/_stcore/health"  # where a process says that it answers
TRIES = 3  # of a request during which processes die
PATIENCE = 10.0  # s that a reader waits for a process that answers
HEAD_SECONDS = 20.0  # s that a reader may take for the head of a request
SETTLING = 10.0  # s until a reader who was sent to a process shows as lines that stay open
WITHOUT = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 5\r\n"
    b"Connection: close\r\n\r\nThe app is starting. Load this page again in a few seconds."
)
_END = b"\r\n\r\n"
_CHUNK = 65_536  # bytes
_OURS = re.compile(rf"(?:^|;)\s*{COOKIE}=(\d{{1,4}})\s*(?:;|$)".encode())
_LOST = (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, TimeoutError)

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(eq=False, slots=True)
class Replica:
    """A process of the app, as the door sees it."""

    port: int = 0  # on this machine
    ready: bool = False
    lines: int = 0  # open to it
    coming: int = 0  # readers who were sent to it a moment ago


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, as it is passed on."""

    head: bytes  # with the empty line
    replica: int | None  # that its reader had
    again: bool  # whether it may be asked twice
    check: bool  # of health, which brings no reader
    tls: bool  # whether a proxy before the door says so

    @classmethod
    def read(cls, head: bytes) -> "Asked":
        """Read the head of a request; unless it opens a websocket, no other one may follow on its connection."""
        first, *rows = head.removesuffix(_END).split(b"\r\n")
        named = [(row.partition(b":")[0].strip().lower(), row) for row in rows]
        values = {name: row.partition(b":")[2].strip() for name, row in named}
        if values.get(b"upgrade", b"").lower() != b"websocket":
            rows = [row for name, row in named if name not in (b"connection", b"keep-alive", b"upgrade")]
            rows.append(b"Connection: close")
        had = _OURS.search(values.get(b"cookie", b""))
        empty = not values.keys() & {b"content-length", b"transfer-encoding"}
        whole = b"\r\n".join((first, *rows)) + _END
        tls = values.get(b"x-forwarded-proto", b"").partition(b",")[0].strip().lower() == b"https"
        again = first[:4] == b"GET " and empty
        return cls(whole, int(had[1]) if had else None, again, HEALTH.encode() in first, tls)


class Door:
    """Takes readers' connections, and passes each to the replica that its reader has."""

    def __init__(self, replicas: Sequence[Replica]) -> None:
        """Open to nobody yet; `replicas` become ready, or cease to be, while the door is open."""
        self.replicas = replicas

    async def welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection; `asyncio.start_server` calls it."""
        with contextlib.suppress(*_LOST, asyncio.CancelledError):  # which says that the door is closed
            async with asyncio.timeout(HEAD_SECONDS):
                head = await reader.readuntil(_END)
            await self._answer(Asked.read(head), reader, writer)
        writer.close()

    async def _answer(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Ask the reader's replica, and another one if that has just died."""
        for _ in range(TRIES):
            number = await self._choose(asked)
            if number is None:
                writer.write(WITHOUT)
                return
            replica = self.replicas[number]
            replica.lines += 1
            try:
                if await _through(replica, number, asked, (reader, writer)) or not asked.again or reader.at_eof():
                    return
            finally:
                replica.lines -= 1

    async def _choose(self, asked: Asked) -> int | None:
        """Return the replica that a reader had, or else the one with the fewest; wait a while when there is none."""
        end = asyncio.get_running_loop().time() + PATIENCE
        while not (ready := [number for number, each in enumerate(self.replicas) if each.ready]):
            if asyncio.get_running_loop().time() > end:
                return None
            await asyncio.sleep(0.1)
        if asked.replica in ready:
            return asked.replica
        found = min(ready, key=lambda number: self.replicas[number].lines + self.replicas[number].coming)
        if not asked.check:
            self.replicas[found].coming += 1
            asyncio.get_running_loop().call_later(SETTLING, _settled, self.replicas[found])
        return found


def _settled(replica: Replica) -> None:
    replica.coming -= 1


async def _through(replica: Replica, number: int, asked: Asked, ours: Streams) -> bool:
    """Pass a request on and its answer back; return whether there was one."""
    try:
        theirs = await asyncio.open_connection("127.0.0.1", replica.port)
    except OSError:  # it has died, which its keeper is about to notice
        replica.ready = False
        return False
    theirs[1].write(asked.head)
    onward = asyncio.create_task(_pass(ours[0], theirs[1]))
    try:
        while (head := await theirs[0].readuntil(_END)).startswith(b"HTTP/1.1 100"):
            ours[1].write(head)
        if asked.replica != number:
            secure = "; Secure" if asked.tls else ""
            cookie = f"\r\nSet-Cookie: {COOKIE}={number}; Path=/; HttpOnly; SameSite=Lax{secure}\r\n".encode()
            head = head.replace(b"\r\n", cookie, 1)
        ours[1].write(head)
    except _LOST:
        return False
    else:
        await _pass(theirs[0], ours[1])
        return True
    finally:
        onward.cancel()
        theirs[1].close()


async def _pass(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Pass bytes on until one of both sides has left."""
    with contextlib.suppress(*_LOST):
        while data := await source.read(_CHUNK):
            sink.write(data)
            await sink.drain()
    sink.close()
