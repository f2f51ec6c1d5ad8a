"""The door: a reader stays at one process, goes on to another when that dies, and nothing that passes is changed."""

import asyncio
import contextlib
import re

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve

from dpviz.ui.server import door

BODY = bytes(range(256)) * 4000  # with every byte, and longer than what is read at once


class Server:
    """Answers each request with its number, its head's length and its body; `dies` after the head of one."""

    def __init__(self, number):
        self.number, self.heads, self.dies = number, [], False

    async def answer(self, reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:  # as a server does that keeps its connections
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                if self.dies:
                    break
                length = re.search(rb"content-length: (\d+)", head.lower())
                body = await reader.readexactly(int(length[1])) if length else b""
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%d" % (1 + len(body), self.number) + body)
                if b"connection: close" in head.lower():
                    break
        writer.close()


@contextlib.asynccontextmanager
async def house(n=2):
    """Open a door to n servers; yields it, its port, its replicas and the servers."""
    servers = [Server(number) for number in range(n)]
    behind = [await asyncio.start_server(each.answer, "127.0.0.1", 0) for each in servers]
    replicas = [door.Replica(each.sockets[0].getsockname()[1], ready=True) for each in behind]
    opened = door.Door(replicas)
    front = await asyncio.start_server(opened.welcome, "127.0.0.1", 0)
    try:
        yield front.sockets[0].getsockname()[1], replicas, servers, behind
    finally:
        for each in (front, *behind):
            each.close()


async def ask(port, *rows, method="GET", body=b"", path="/"):
    """Send one request and read until the connection ends; returns status, cookie and body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = [f"{method} {path} HTTP/1.1", "Host: localhost", *rows, *([f"Content-Length: {len(body)}"] if body else [])]
    writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + body)
    async with asyncio.timeout(20):
        answer = await reader.read()
    writer.close()
    top, _, rest = answer.partition(b"\r\n\r\n")
    cookie = re.search(rb"Set-Cookie: dpviz-replica=(\d+); Path=/; HttpOnly; SameSite=Lax", top)
    return top[9:12].decode(), cookie and int(cookie[1]), rest


def had(number):
    return f"Cookie: other=1; {door.COOKIE}={number}; more=x"


def test_a_reader_stays_and_new_ones_go_where_there_are_fewer():
    async def run():
        async with house() as (port, *_):
            first = [await ask(port) for _ in range(4)]
            assert [(status, int(body) == cookie) for status, cookie, body in first] == [("200", True)] * 4
            assert [cookie for _, cookie, _ in first] == [0, 1, 0, 1], "also of those who come at once"
            checks = [await ask(port, path=door.HEALTH) for _ in range(3)]
            assert [cookie for _, cookie, _ in checks] == [0, 0, 0], "which are no readers"
            for number in (1, 0, 1):
                assert await ask(port, had(number)) == ("200", None, b"%d" % number)
            for unknown in ("7", "x", "", "00001", "-1"):
                assert (await ask(port, had(unknown)))[1] in (0, 1)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("row", "secure"),
    [("X-Forwarded-Proto: https", True), ("x-forwarded-proto: https, http", True), ("X: https", False)],
)
def test_behind_tls_its_cookie_is_for_tls_alone(row, secure):
    async def run():
        async with house(1) as (port, *_):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"GET / HTTP/1.1\r\nHost: a\r\n{row}\r\n\r\n".encode())
            answer = await reader.read()
            writer.close()
            assert (b"SameSite=Lax; Secure\r\n" in answer, b"SameSite=Lax\r\n" in answer) == (secure, not secure)

    asyncio.run(run())


def test_bytes_pass_unchanged_and_no_request_follows_another():
    async def run():
        async with house() as (port, _, servers, _):
            assert await ask(port, had(1), method="PUT", body=BODY) == ("200", None, b"1" + BODY)
            two = "GET /a HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\nGET /b HTTP/1.1\r\nHost: b\r\n\r\n"
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(two.encode())
            assert (await reader.read()).count(b"HTTP/1.1 200") == 1
            writer.close()
            heads = [head for each in servers for head in each.heads]
            assert [b"keep-alive" in head for head in heads] == [False, False]
            assert not [head for head in heads if head.startswith(b"GET /b")]

    asyncio.run(run())


def test_a_reader_whose_process_died_goes_on_at_another_and_what_was_sent_is_sent_once():
    async def run():
        async with house() as (port, replicas, servers, behind):
            servers[0].dies = True  # after it has taken a request
            assert await ask(port, had(0), method="PUT", body=b"file") == ("", None, b"")
            assert len(servers[1].heads) == 0, "a file is not sent a second time"
            behind[0].close()  # and now it takes none
            assert await ask(port, had(0)) == ("200", 1, b"1")
            assert not replicas[0].ready
            assert await ask(port, had(1)) == ("200", None, b"1")
            assert [each.lines for each in replicas] == [0, 0]

    asyncio.run(run())


def test_a_websocket_passes_and_ends_with_its_process():
    async def run():
        async def echo(line):
            async for message in line:
                await line.send(message)

        async with house() as (port, replicas, *_), serve(echo, "127.0.0.1", 0) as process:
            replicas[0].port = process.sockets[0].getsockname()[1]
            rows = {"Cookie": f"{door.COOKIE}=0"}
            async with connect(f"ws://localhost:{port}/", additional_headers=rows, max_size=None) as line:
                assert "Set-Cookie" not in line.response.headers
                for message in (BODY, "ε"):
                    await line.send(message)
                    assert await line.recv() == message
                assert replicas[0].lines == 1
                process.close()
                await asyncio.wait_for(line.wait_closed(), 20)
            assert await ask(port, had(0)) == ("200", 1, b"1")

    asyncio.run(run())


def test_without_any_process_the_reader_is_told_and_a_head_without_end_is_dropped(monkeypatch):
    monkeypatch.setattr(door, "PATIENCE", 0.2)
    monkeypatch.setattr(door, "HEAD_SECONDS", 0.5)

    async def run():
        async with house() as (port, replicas, *_):
            for each in replicas:
                each.ready = False
            status, cookie, said = await ask(port)
            assert (status, cookie) == ("503", None)
            assert b"Load this page again" in said
            waiting = asyncio.create_task(ask(port))
            await asyncio.sleep(0.05)
            replicas[1].ready = True
            assert await waiting == ("200", 1, b"1")
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for sent in (b"GET / HTTP/1.1\r\n", b"x" * 70_000):
                with contextlib.suppress(ConnectionError):
                    writer.write(sent)
            with contextlib.suppress(ConnectionError):
                assert await asyncio.wait_for(reader.read(), 20) == b""
            writer.close()

    asyncio.run(run())


@pytest.mark.parametrize(("method", "again"), [("GET", True), ("PUT", False), ("POST", False)])
def test_only_what_changes_nothing_is_asked_twice(method, again):
    asked = door.Asked.read(f"{method} /a HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert asked.again is again
    assert asked.head.endswith(b"\r\nConnection: close\r\n\r\n")
    assert not door.Asked.read(b"GET / HTTP/1.1\r\nContent-Length: 4\r\n\r\n").again
