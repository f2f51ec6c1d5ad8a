"""Several processes behind one address: a reader stays at one, each that ends starts again, all end with the parent."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve

from dpviz.ui.server import replicas

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
async def proxied(n=2):
    """Start a proxy to n servers; yields its port, its replicas, and the servers."""
    servers = [Server(number) for number in range(n)]
    behind = [await asyncio.start_server(each.answer, "127.0.0.1", 0) for each in servers]
    behind_it = [replicas.Replica(each.sockets[0].getsockname()[1], ready=True) for each in behind]
    proxy = replicas.Proxy(behind_it)
    front = await asyncio.start_server(proxy.handle, "127.0.0.1", 0)
    try:
        yield front.sockets[0].getsockname()[1], behind_it, servers, behind
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
    return f"Cookie: other=1; {replicas.COOKIE}={number}; more=x"


def test_a_reader_stays_and_new_ones_go_where_there_are_fewer():
    async def run():
        async with proxied() as (port, *_):
            first = [await ask(port) for _ in range(4)]
            assert [(status, int(body) == cookie) for status, cookie, body in first] == [("200", True)] * 4
            assert [cookie for _, cookie, _ in first] == [0, 1, 0, 1], "also of those who come at once"
            checks = [await ask(port, path=replicas.HEALTH) for _ in range(3)]
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
        async with proxied(1) as (port, *_):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"GET / HTTP/1.1\r\nHost: a\r\n{row}\r\n\r\n".encode())
            answer = await reader.read()
            writer.close()
            assert (b"SameSite=Lax; Secure\r\n" in answer, b"SameSite=Lax\r\n" in answer) == (secure, not secure)

    asyncio.run(run())


def test_bytes_pass_unchanged_and_no_request_follows_another():
    async def run():
        async with proxied() as (port, _, servers, _):
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
        async with proxied() as (port, processes, servers, behind):
            servers[0].dies = True  # after it has taken a request
            assert await ask(port, had(0), method="PUT", body=b"file") == ("", None, b"")
            assert len(servers[1].heads) == 0, "a file is not sent a second time"
            behind[0].close()  # and now it takes none
            assert await ask(port, had(0)) == ("200", 1, b"1")
            assert not processes[0].ready
            assert await ask(port, had(1)) == ("200", None, b"1")
            assert [each.sockets for each in processes] == [0, 0]

    asyncio.run(run())


def test_a_websocket_passes_and_ends_with_its_process():
    async def run():
        async def echo(line):
            async for message in line:
                await line.send(message)

        async with proxied() as (port, processes, *_), serve(echo, "127.0.0.1", 0) as process:
            processes[0].port = process.sockets[0].getsockname()[1]
            rows = {"Cookie": f"{replicas.COOKIE}=0"}
            async with connect(f"ws://localhost:{port}/", additional_headers=rows, max_size=None) as line:
                assert "Set-Cookie" not in line.response.headers
                for message in (BODY, "ε"):
                    await line.send(message)
                    assert await line.recv() == message
                assert processes[0].sockets == 1
                process.close()
                await asyncio.wait_for(line.wait_closed(), 20)
            assert await ask(port, had(0)) == ("200", 1, b"1")

    asyncio.run(run())


def test_without_any_process_the_reader_is_told_and_a_head_without_end_is_dropped(monkeypatch):
    monkeypatch.setattr(replicas, "PATIENCE", 0.2)
    monkeypatch.setattr(replicas, "HEAD_SECONDS", 0.5)

    async def run():
        async with proxied() as (port, processes, *_):
            for each in processes:
                each.ready = False
            status, cookie, said = await ask(port)
            assert (status, cookie) == ("503", None)
            assert b"Load this page again" in said
            waiting = asyncio.create_task(ask(port))
            await asyncio.sleep(0.05)
            processes[1].ready = True
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
    request = replicas.Request.read(f"{method} /a HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert request.again is again
    assert request.head.endswith(b"\r\nConnection: close\r\n\r\n")
    assert not replicas.Request.read(b"GET / HTTP/1.1\r\nContent-Length: 4\r\n\r\n").again


ROOT = Path(__file__).resolve().parents[3]
SERVE = "import sys; from pathlib import Path; from dpviz.ui.server.replicas import serve\n"
SERVE += "if __name__ == '__main__': sys.exit(serve(Path(sys.argv[1]), sys.argv[2:]))"
WAIT = 90.0  # s, far above what it takes


def start(app, *options):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", SERVE, str(app), "--server.port", str(port), *options]
    return port, subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def until(holds):
    end = time.monotonic() + WAIT
    while not (found := holds()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


def health(port, replica=None):
    """Ask for the app's health; returns the status and the cookie that was set."""
    request = urllib.request.Request(f"http://localhost:{port}{replicas.HEALTH}")
    if replica is not None:
        request.add_header("Cookie", f"dpviz-replica={replica}")
    with contextlib.suppress(urllib.error.HTTPError), urllib.request.urlopen(request, timeout=60) as answer:
        ours = [each for each in answer.headers.get_all("Set-Cookie", []) if each.startswith("dpviz-replica")]
        return answer.status, "".join(ours).partition(";")[0]
    return None


@pytest.fixture
def keeper(tmp_path):
    """Start two processes of an app and return its port and what keeps them."""
    app = tmp_path / "app.py"
    app.write_text("import streamlit as st\nst.write('here')\n", "utf-8")
    port, process = start(app, "--replicas", "2")
    try:
        assert f"2 processes of the app at http://localhost:{port}\n" in iter(process.stdout.readline, "")
        until(lambda: both_answer(port, process))
        yield port, process
    finally:
        process.kill()
        process.communicate(timeout=20)


def pids(process):
    return {each.pid for each in psutil.Process(process.pid).children()}


def both_answer(port, process):
    return len(pids(process)) == 2 and [health(port, number) for number in (0, 1)] == [(200, "")] * 2


POSIX = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX systems")


@POSIX
def test_a_process_that_is_killed_starts_again_and_all_end_with_their_keeper(keeper):
    port, process = keeper
    before = pids(process)
    os.kill(min(before), signal.SIGKILL)
    moved = [health(port, number) for number in (0, 1)]
    assert {status for status, _ in moved} == {200}
    assert len({cookie for _, cookie in moved} - {""}) == 1, "one reader has another process now, the other one not"
    until(lambda: both_answer(port, process))
    assert len(before & pids(process)) == 1

    last = [psutil.Process(pid) for pid in pids(process)]
    process.kill()  # and has no time to say so
    _, alive = psutil.wait_procs(last, timeout=WAIT)
    assert alive == []


@pytest.mark.slow  # one that is killed starts again above
@POSIX
def test_asked_to_they_start_again_in_turn(keeper):
    port, process = keeper
    before, seen = pids(process), set()
    process.send_signal(signal.SIGUSR1)

    def all_new():
        answer = health(port)
        seen.add(answer and answer[0])
        return not before & pids(process) and both_answer(port, process)

    until(all_new)
    assert seen == {200}, "somebody answers all of the time"


def test_an_app_that_cannot_start_says_why_and_is_not_tried_again(tmp_path):
    _, process = start(tmp_path / "app.py", "--replicas", "2")
    said, _ = process.communicate(timeout=WAIT)
    assert process.returncode == 2
    assert said.count("does not exist") == 1
    assert "processes of the app" not in said


def test_a_port_that_is_taken_and_a_number_that_cannot_be_are_said(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        options = ["--replicas", "2", "--server.port", str(port), "--server.address", "127.0.0.1"]
        assert replicas.serve(Path("app.py"), options) == 1
    assert f"127.0.0.1:{port} cannot be used" in capsys.readouterr().err
    for number in ("0", "65", "two"):
        with pytest.raises(SystemExit, match="2"):
            replicas.serve(Path("app.py"), ["--replicas", number])
        assert "--replicas" in capsys.readouterr().err
