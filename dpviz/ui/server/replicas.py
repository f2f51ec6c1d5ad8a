"""`dpviz --replicas N`: the app in several processes behind one reverse proxy, each restarted when it ends.

What a page shows is in its address, so that any process can show it: a reader whose process dies is sent to another
one, and the page comes back by itself. Only uploaded files are lost with a process. The signal USR1 restarts all of
them, one after the other.

A page's files, uploads and WebSockets must reach the process that holds its session, so a cookie keeps each reader at
one of them. A port that processes share (SO_REUSEPORT) would not do: the operating system balances connections, not
readers. A connection carries one request. Its head is parsed, and that of the answer; all else are bytes that pass,
those of a WebSocket, too. So no two readers share a connection to a process, and nothing in one request is taken for
another.
"""

import argparse
import asyncio
import contextlib
import os
import re
import signal
import socket
import sys
import threading
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dpviz.ui.server.startup import raise_file_limit

OPTION = "--replicas"
MOST = 64
START_SECONDS = 120.0  # until a process must answer: after an installation it makes machine code first
SILENCE = 30.0  # s without an answer after which a process hangs; long work keeps one from answering for a while
EVERY = 1.0  # s between two looks
LEAVING = 10.0  # s that a process has to end
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")  # of the matrix library: the cores are shared already
COOKIE = "dpviz-replica"
HEALTH = "/_stcore/health"  # where a process says that it answers
TRIES = 3  # of a request during which processes die
PATIENCE = 10.0  # s that a reader waits for a process that answers
HEAD_SECONDS = 20.0  # s that a reader may take for the head of a request
SETTLING = 10.0  # s until a reader who was sent to a process shows as sockets that stay open
WITHOUT = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 5\r\n"
    b"Connection: close\r\n\r\nThe app is starting. Load this page again in a few seconds."
)
_END = b"\r\n\r\n"
_CHUNK = 65_536  # bytes
_OURS = re.compile(rf"(?:^|;)\s*{COOKIE}=(\d{{1,4}})\s*(?:;|$)".encode())
_LOST = (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, TimeoutError)


def serve(app: Path, arguments: Sequence[str]) -> int:
    """Serve until interrupted; returns 0, or the exit code of a process that could not start at all."""
    parser = argparse.ArgumentParser(prog="dpviz", add_help=False, allow_abbrev=False)
    parser.add_argument(OPTION, type=int, required=True)
    environ = os.environ.get  # as for one process
    parser.add_argument("--server.port", dest="port", type=int, default=environ("STREAMLIT_SERVER_PORT", "8501"))
    parser.add_argument("--server.address", dest="address", default=environ("STREAMLIT_SERVER_ADDRESS", "localhost"))
    options, others = parser.parse_known_args(arguments)
    if not 1 <= options.replicas <= MOST:
        parser.error(f"{OPTION} was {options.replicas}, but it must be from 1 to {MOST}.")
    raise_file_limit()
    with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
        return asyncio.run(_serve(str(app), others, options))
    return 0


async def _serve(app: str, others: Sequence[str], options: argparse.Namespace) -> int:
    keepers = [Keeper([app, *others]) for _ in range(options.replicas)]
    _handle_signals(keepers)
    try:
        proxy = Proxy([each.replica for each in keepers])
        server = await asyncio.start_server(proxy.handle, options.address, options.port, backlog=1024)
    except OSError as error:
        print(f"{options.address}:{options.port} cannot be used: {error}. Name another --server.port.", file=sys.stderr)
        return 1
    try:
        return await _run(keepers, f"http://{options.address}:{options.port}")
    finally:
        server.close()  # and not waited for: pages that are open would keep it


async def _run(keepers: Sequence["Keeper"], address: str) -> int:
    """Keep all processes running; returns the exit code of one that could not start at all."""
    keeping = [asyncio.create_task(keepers[0].keep())]
    up = asyncio.create_task(keepers[0].up.wait())
    await asyncio.wait([*keeping, up], return_when="FIRST_COMPLETED")
    if up.done():  # machine code has been made
        print(f"{len(keepers)} processes of the app at {address}", flush=True)
        keeping += [asyncio.create_task(each.keep()) for each in keepers[1:]]
    up.cancel()
    done, _ = await asyncio.wait(keeping, return_when="FIRST_COMPLETED")
    return next(iter(done)).result()


def _handle_signals(keepers: Sequence["Keeper"]) -> None:
    """End like an interrupt on TERM, and restart every process on USR1, unless that is going on."""
    task, loop, rolling = asyncio.current_task(), asyncio.get_running_loop(), set[asyncio.Task[None]]()

    def roll() -> None:
        if all(each.done() for each in rolling):
            rolling.add(asyncio.create_task(one_after_the_other(keepers)))

    if os.name == "posix" and task is not None:
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
        loop.add_signal_handler(signal.SIGUSR1, roll)


async def one_after_the_other(keepers: Sequence["Keeper"]) -> None:
    """Restart every process, the next when the one before answers."""
    for each in keepers:
        await each.up.wait()
        await each.again()


class Keeper:
    """Keeps one process of the app running."""

    def __init__(self, arguments: Sequence[str]) -> None:
        """Start nothing yet; `arguments` are those of `streamlit run`."""
        self.arguments = arguments
        self.replica = Replica()
        self.up = asyncio.Event()
        self._process: Process | None = None
        self._answered = False  # any of its processes

    async def keep(self) -> int:
        """Start the process whenever it ends; returns its exit code if it ended before it answered at all."""
        try:
            while True:
                self._process = process = await self._started()
                ended = asyncio.create_task(process.wait())
                answers = asyncio.create_task(self._look())
                await asyncio.wait([ended, answers], return_when="FIRST_COMPLETED")
                answers.cancel()
                self._close()
                await self._end(process)
                if not self._answered:
                    return process.returncode or 1
                await asyncio.sleep(EVERY)
        finally:
            self._close()
            if self._process is not None:
                await self._end(self._process)

    async def again(self) -> None:
        """End the process, and wait until the next one answers; meanwhile its readers are sent to others."""
        self._close()
        if self._process is not None:
            await self._end(self._process)
        await self.up.wait()

    def _close(self) -> None:
        self.replica.ready = False
        self.up.clear()

    async def _started(self) -> Process:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.replica.port = free.getsockname()[1]
        own = ["--server.address", "127.0.0.1", "--server.port", str(self.replica.port), "--server.headless", "true"]
        command = ["-m", __name__, *self.arguments, *own, "--logger.hideWelcomeMessage", "true"]
        environment = {**dict.fromkeys(_ONE_THREAD, "1"), **os.environ}
        # A session of its own: the keyboard's interrupt means this process, which then ends all others in order.
        return await asyncio.create_subprocess_exec(
            sys.executable, *command, stdin=PIPE, env=environment, start_new_session=os.name == "posix"
        )

    async def _look(self) -> None:
        """Ask the process how it is; returns when it has not answered for too long."""
        loop = asyncio.get_running_loop()
        until = loop.time() + START_SECONDS
        while (now := loop.time()) < until:
            if await healthy(self.replica.port):
                until = now + SILENCE
                self.replica.ready = self._answered = True
                self.up.set()
            await asyncio.sleep(EVERY if self.replica.ready else EVERY / 5)

    async def _end(self, process: Process) -> None:
        """Ask a process to end, and end it if it does not."""
        for ask in (process.terminate, process.kill):
            with contextlib.suppress(ProcessLookupError, TimeoutError):
                ask()
                await asyncio.wait_for(process.wait(), LEAVING)
                return


async def healthy(port: int) -> bool:
    """Return whether an app answers at a port of this machine."""
    try:
        async with asyncio.timeout(SILENCE / 3):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(f"GET {HEALTH} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
                return b" 200 " in await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(eq=False, slots=True)
class Replica:
    """A process of the app, as the proxy sees it."""

    port: int = 0  # on this machine
    ready: bool = False
    sockets: int = 0  # open to it
    coming: int = 0  # readers who were sent to it a moment ago


@dataclass(frozen=True, slots=True)
class Request:
    """A request, as it is passed on."""

    head: bytes  # with the empty line
    replica: int | None  # of its reader so far
    again: bool  # whether it may be sent twice
    check: bool  # of health, which brings no reader
    tls: bool  # whether a proxy before the proxy says so

    @classmethod
    def read(cls, head: bytes) -> "Request":
        """Read the head of a request; unless it opens a websocket, no other one may follow on its connection."""
        first, *rows = head.removesuffix(_END).split(b"\r\n")
        named = [(row.partition(b":")[0].strip().lower(), row) for row in rows]
        values = {name: row.partition(b":")[2].strip() for name, row in named}
        if values.get(b"upgrade", b"").lower() != b"websocket":
            rows = [row for name, row in named if name not in (b"connection", b"keep-alive", b"upgrade")]
            rows.append(b"Connection: close")
        cookie = _OURS.search(values.get(b"cookie", b""))
        empty = not values.keys() & {b"content-length", b"transfer-encoding"}
        whole = b"\r\n".join((first, *rows)) + _END
        tls = values.get(b"x-forwarded-proto", b"").partition(b",")[0].strip().lower() == b"https"
        again = first[:4] == b"GET " and empty
        return cls(whole, int(cookie[1]) if cookie else None, again, HEALTH.encode() in first, tls)


class Proxy:
    """Takes readers' connections, and passes each to the replica that its reader has."""

    def __init__(self, replicas: Sequence[Replica]) -> None:
        """Open to nobody yet; `replicas` become ready, or cease to be, while the proxy is open."""
        self.replicas = replicas

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection; `asyncio.start_server` calls it."""
        with contextlib.suppress(*_LOST, asyncio.CancelledError):  # which says that the proxy is closed
            async with asyncio.timeout(HEAD_SECONDS):
                head = await reader.readuntil(_END)
            await self._answer(Request.read(head), reader, writer)
        writer.close()

    async def _answer(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Ask the reader's replica, and another one if that has just died."""
        for _ in range(TRIES):
            number = await self._choose(request)
            if number is None:
                writer.write(WITHOUT)
                return
            replica = self.replicas[number]
            replica.sockets += 1
            try:
                if await _through(replica, number, request, (reader, writer)) or not request.again or reader.at_eof():
                    return
            finally:
                replica.sockets -= 1

    async def _choose(self, request: Request) -> int | None:
        """Return the replica that a reader had, or else the one with the fewest; wait a while when there is none."""
        end = asyncio.get_running_loop().time() + PATIENCE
        while not (ready := [number for number, each in enumerate(self.replicas) if each.ready]):
            if asyncio.get_running_loop().time() > end:
                return None
            await asyncio.sleep(0.1)
        if request.replica in ready:
            return request.replica
        least = min(ready, key=lambda number: self.replicas[number].sockets + self.replicas[number].coming)
        if not request.check:
            self.replicas[least].coming += 1
            asyncio.get_running_loop().call_later(SETTLING, _arrived, self.replicas[least])
        return least


def _arrived(replica: Replica) -> None:
    replica.coming -= 1


async def _through(replica: Replica, number: int, request: Request, ours: Streams) -> bool:
    """Pass a request on and its answer back; return whether there was one."""
    try:
        theirs = await asyncio.open_connection("127.0.0.1", replica.port)
    except OSError:  # it has died, which its keeper is about to notice
        replica.ready = False
        return False
    theirs[1].write(request.head)
    onward = asyncio.create_task(_pass(ours[0], theirs[1]))
    try:
        while (head := await theirs[0].readuntil(_END)).startswith(b"HTTP/1.1 100"):
            ours[1].write(head)
        if request.replica != number:
            secure = "; Secure" if request.tls else ""
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
    """Pass bytes on until one of both sides has closed."""
    with contextlib.suppress(*_LOST):
        while data := await source.read(_CHUNK):
            sink.write(data)
            await sink.drain()
    sink.close()


if __name__ == "__main__":
    # It ends when the process that keeps it does. Read unbuffered: a lock would abort an orderly end.
    threading.Thread(target=lambda: (os.read(sys.stdin.fileno(), 1), os._exit(0)), daemon=True).start()
    from streamlit.web import cli

    cli.main(["run", *sys.argv[1:]], prog_name="dpviz")
