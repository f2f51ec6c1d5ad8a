"""A reader who never finishes a request is let go of; one who is only slow is not."""

import asyncio
import contextlib
import socket
import time

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from websockets.asyncio.client import connect

from dpviz.ui.server import slow_requests

PATIENCE = 0.5  # s, in place of the limits of the app
LATE = 10.0  # s until a connection that is let go of must have ended
HALVES = {
    "nothing": b"",
    "half a head": b"GET / HTTP/1.1\r\nHost: a\r\n",
    "half a handshake": b"GET /line HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n",
    "no body": b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n",
    "half a body": b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n" + bytes(500),
    "an answer, then half a head": b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHo",
}


async def answered(request: Request) -> PlainTextResponse:
    body = await request.body()
    await asyncio.sleep(4 * PATIENCE if request.url.query == "long" else 0)
    return PlainTextResponse(str(len(body)))


async def line(websocket):
    await websocket.accept()
    with contextlib.suppress(Exception):
        while True:
            await websocket.send_text(await websocket.receive_text())


@contextlib.asynccontextmanager
async def serving(monkeypatch, protocol):
    """Run uvicorn on a free port of this machine, with what the app's lifespan starts."""
    for name in ("HEAD_SECONDS", "BODY_SECONDS"):
        monkeypatch.setattr(slow_requests, name, PATIENCE)
    monkeypatch.setattr(slow_requests, "EVERY", PATIENCE / 5)

    @contextlib.asynccontextmanager
    async def lifespan(_app):
        task = asyncio.create_task(slow_requests.close_slow_requests())
        yield
        task.cancel()

    routes = [Route("/", answered, methods=["GET", "PUT"]), WebSocketRoute("/line", line)]
    app = Starlette(routes=routes, lifespan=lifespan)
    config = uvicorn.Config(app, http=protocol, ws="websockets-sansio", log_level="critical", timeout_keep_alive=60)
    server = uvicorn.Server(config)
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        running = asyncio.create_task(server.serve(sockets=[own]))
        while not server.started:
            await asyncio.sleep(0.01)
        try:
            yield own.getsockname()[1]
        finally:
            server.should_exit = True
            await running


async def ends(port, sent):
    """Return after how many seconds a connection ends on which this is sent and nothing more."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    begun = time.monotonic()
    writer.write(sent)
    async with asyncio.timeout(LATE):
        with contextlib.suppress(ConnectionError):
            while await reader.read(1000):
                pass
    writer.close()
    return time.monotonic() - begun


async def trickled(port, *, pause, parts=10):
    """Send a body of 1,000 bytes in parts, with a pause after each; return the answer, b"" where there is none."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"PUT / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 1000\r\n\r\n")
    found = b""
    with contextlib.suppress(ConnectionError):
        for _ in range(parts):
            await asyncio.sleep(pause)
            writer.write(bytes(1000 // parts))
            await writer.drain()
        async with asyncio.timeout(LATE):
            found = await reader.read(1000)
    writer.close()
    return found


@pytest.mark.parametrize("protocol", ["h11", pytest.param("httptools", id="httptools, where it is there")])
def test_what_is_never_finished_is_closed_and_what_is_slow_is_answered(monkeypatch, protocol):
    if protocol == "httptools":
        pytest.importorskip("httptools")

    async def run():
        async with serving(monkeypatch, protocol) as port:
            ended = await asyncio.gather(*(ends(port, sent) for sent in HALVES.values()))
            assert all(PATIENCE <= seconds < LATE for seconds in ended), dict(zip(HALVES, ended, strict=True))
            assert not slow_requests._OPEN, "nothing is kept of them"
            answers = await asyncio.gather(trickled(port, pause=0.0), trickled(port, pause=2 * PATIENCE / 10))
            assert answers[0].endswith(b"1000")
            assert answers[1] == b"", "a body that trickles"
            monkeypatch.setattr(slow_requests, "LEAST_RATE", 100.0)
            assert (await trickled(port, pause=2 * PATIENCE / 10)).endswith(b"1000"), "slow, and fast enough"
            long = b"GET /?long HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
            assert await ends(port, long) > 3 * PATIENCE, "here the server is slow"
            async with connect(f"ws://127.0.0.1:{port}/line") as websocket:
                await asyncio.sleep(3 * PATIENCE)
                await websocket.send("still")
                assert await websocket.recv() == "still"
            assert not slow_requests._OPEN

    asyncio.run(run())
