"""Several processes behind Caddy: a reader stays at one, each that ends starts again, all end with the parent."""

import asyncio
import contextlib
import errno
import os
import random
import re
import shutil
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
from websockets.exceptions import ConnectionClosed

from dpviz.ui.server import processes
from dpviz.ui.server.startup import HEALTH

# tests/run.py installs Caddy, so a run of all tests leaves nothing out.
CADDY = pytest.mark.skipif(
    shutil.which("caddy") is None and os.environ.get("CI") != "true", reason="Caddy is not installed"
)
# Contains every byte, and is longer than one read.
BODY = bytes(range(256)) * 3000
# Seconds, far above the time that is needed.
WAIT = 90.0
# Caddy's waiting times, shortened in the Caddyfile of tests.
SOONER = {
    "health_interval 2s": "health_interval 200ms",
    "health_timeout 10s": "health_timeout 200ms",
    "fail_duration 2s": "fail_duration 200ms",
    "lb_try_duration 10s": "lb_try_duration 2s",
    "response_header_timeout 20s": "response_header_timeout 1s",
}


def free_ports(n):
    """Return n free ports in a row, below the ports that the system gives to connections of other tests."""
    while True:
        first = random.randrange(20_000, 32_000)
        with contextlib.ExitStack() as bound, contextlib.suppress(OSError):
            for port in range(first, first + n):
                bound.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return range(first, first + n)


class Server:
    """Answers each request with its number and the request's body, `silent` none; it `dies` after a head."""

    def __init__(self, number):
        self.number, self.heads, self.silent, self.dies = number, [], False, False

    async def answer(self, reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                is_check = HEALTH.encode() in head
                self.heads += [] if is_check else [head]
                if self.dies and not is_check:
                    break
                length = re.search(rb"content-length: (\d+)", head.lower())
                body = await reader.readexactly(int(length[1])) if length else b""
                while self.silent:
                    await asyncio.sleep(0.02)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%d" % (1 + len(body), self.number) + body)
        writer.close()


@contextlib.asynccontextmanager
async def proxied(folder, ports=None):
    """Start Caddy before two servers, or before `ports`; yields its port and the servers, with their listeners."""
    front, *behind = free_ports(3)
    servers, listeners = [Server(0), Server(1)], []
    if ports is None:
        for each, port in zip(servers, behind, strict=True):
            listeners.append(await asyncio.start_server(each.answer, "127.0.0.1", port))
    text = processes.caddyfile(f"http://:{front}", "127.0.0.1", ports or behind)
    for long, short in SOONER.items():
        assert text.count(long) == 1
        text = text.replace(long, short)
    (folder / "Caddyfile").write_text(text, "utf-8")
    command = ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
    with (folder / "log").open("wb") as log:
        caddy = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        async with asyncio.timeout(WAIT):
            while not processes.is_open("127.0.0.1", front):
                assert caddy.poll() is None, (folder / "log").read_text("utf-8")
                await asyncio.sleep(0.05)
        yield front, servers, listeners
    finally:
        for each in listeners:
            each.close()
        caddy.kill()
        caddy.wait(timeout=20)


async def ask(port, cookie="", method="GET", body=b"", path="/"):
    """Send one request and read until the connection ends; returns status, the cookie that was set, and the body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", f"Content-Length: {len(body)}"]
    head += [f"Cookie: other=1; dpviz-process={cookie}; more=x"] if cookie else []
    writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + body)
    async with asyncio.timeout(20):
        answer = await reader.read()
    writer.close()
    top, _, rest = answer.partition(b"\r\n\r\n")
    cookie = re.search(rb"Set-Cookie: dpviz-process=([^;]+); Path=/; HttpOnly; SameSite=Lax\r\n", top)
    return top[9:12].decode(), cookie[1].decode() if cookie else None, rest


async def homes(port):
    """Return a cookie for each of the two servers."""
    found = {}
    while len(found) < 2:
        _, cookie, body = await ask(port)
        found[int(body)] = cookie
    return found


@CADDY
@pytest.mark.anyio
async def test_a_reader_stays_and_bytes_pass_unchanged(tmp_path):
    async with proxied(tmp_path) as (port, *_):
        cookies = await homes(port)
        for number in (1, 0, 1, 0, 0):
            answer = await ask(port, cookies[number], "PUT", BODY)
            assert answer == ("200", None, b"%d" % number + BODY)
        assert (await ask(port, "nobody's"))[1] in cookies.values()
        in_class = [await ask(port, each, path="/class/CODE2/now") for each in (*cookies.values(), "")]
        assert len({body for _, _, body in in_class}) == 1, "one process has the class, whoever asks"
        # The body is too large, and the server does not read the rest of it.
        with contextlib.suppress(ConnectionError):
            assert (await ask(port, cookies[0], "PUT", bytes(61_000_000)))[0] != "200"


@CADDY
@pytest.mark.anyio
async def test_readers_wait_for_a_process_that_ended_and_go_to_another_if_it_does_not_come_back(tmp_path):
    async with proxied(tmp_path) as (port, servers, listeners):
        cookies = await homes(port)
        # The process dies after it has taken a request.
        servers[0].dies, before = True, len(servers[1].heads)
        assert (await ask(port, cookies[0], "PUT", b"file"))[0] == "502"
        assert len(servers[1].heads) == before, "a file is not sent a second time"
        address = listeners[0].sockets[0].getsockname()[:2]
        # From now on, the process takes no requests.
        listeners[0].close()
        waiting = asyncio.create_task(ask(port, cookies[0]))
        await asyncio.sleep(0.7)
        assert await ask(port, cookies[1]) == ("200", None, b"1")
        assert not waiting.done()
        servers[0].dies = False
        listeners.append(await asyncio.start_server(servers[0].answer, *address))
        assert await waiting == ("200", None, b"0"), "it stays where its session's files were"
        listeners[-1].close()
        servers[0].dies = True
        assert await ask(port, cookies[0]) == ("200", cookies[1], b"1")
        assert {(await ask(port))[2] for _ in range(6)} == {b"1"}


@CADDY
@pytest.mark.anyio
async def test_a_process_that_is_silent_loses_its_readers_and_without_any_readers_are_told(tmp_path):
    async with proxied(tmp_path) as (port, servers, _):
        cookies = await homes(port)
        servers[0].silent = True
        assert await ask(port, cookies[0]) == ("200", cookies[1], b"1")
        assert await ask(port, cookies[1]) == ("200", None, b"1")
        servers[1].silent = True
        assert (await ask(port, cookies[1]))[0] in ("502", "503", "504")
        waiting = asyncio.create_task(ask(port, cookies[0]))
        await asyncio.sleep(0.5)
        servers[0].silent = servers[1].silent = False
        assert (await waiting)[0] == "200", "who comes while nobody answers waits a while"


@CADDY
@pytest.mark.anyio
async def test_a_websocket_passes_and_ends_with_its_process(tmp_path):
    async def echo(line):
        async for message in line:
            await line.send(message)

    async def well(line, request):
        return line.respond(200, "") if request.path == HEALTH else None

    async with serve(echo, "127.0.0.1", 0, max_size=None, process_request=well) as process:
        ports = [process.sockets[0].getsockname()[1]]
        async with (
            proxied(tmp_path, ports) as (port, *_),
            connect(f"ws://localhost:{port}/", max_size=None) as line,
        ):
            for message in (BODY, "ε"):
                await line.send(message)
                assert await line.recv() == message
            process.close()
            with contextlib.suppress(ConnectionClosed):
                await asyncio.wait_for(line.recv(), 20)
            await asyncio.wait_for(line.wait_closed(), 20)


@CADDY
@pytest.mark.parametrize("host", ["", "demo.example.org"])
def test_caddy_understands_its_file_for_containers_and_for_one_machine(tmp_path, host):
    written = tmp_path / "Caddyfile"
    written.write_text(
        processes.caddyfile(host or "http://:8501", "" if host else "localhost", range(8502, 8566)), "utf-8"
    )
    for file in (written, processes.TEMPLATE):
        command = ["caddy", "validate", "--adapter", "caddyfile", "--config", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert "{$" not in written.read_text("utf-8")


@pytest.mark.parametrize(("profile", "most"), [("public", "1MB"), ("local", "60MB"), ("", "60MB")])
def test_strangers_send_no_files(monkeypatch, profile, most):
    monkeypatch.setenv("DPVIZ_PROFILE", profile)
    assert f"max_size {most}\n" in processes.caddyfile("http://:1", "localhost", [2])


ROOT = Path(__file__).resolve().parents[3]
SERVE = "import sys; from pathlib import Path; from dpviz.ui.server.processes import serve\n"
SERVE += "if __name__ == '__main__': sys.exit(serve(Path(sys.argv[1]), sys.argv[2:]))"


def start(app, **changed):
    port = free_ports(3)[0]
    command = [sys.executable, "-c", SERVE, str(app), "--processes", "2", "--server.port", str(port)]
    environment = {**os.environ, **changed}
    return port, subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


@contextlib.contextmanager
def served(folder, **changed):
    """Start two processes of an app; yield the port, the keeper's process, and the lines that it prints."""
    app = folder / "app.py"
    app.write_text("import streamlit as st\nst.write('here')\n", "utf-8")
    port, process = start(app, **changed)
    try:
        yield port, process, iter(process.stdout.readline, "")
    finally:
        process.terminate()
        try:
            process.communicate(timeout=20)
        finally:
            process.kill()


def until(holds):
    end = time.monotonic() + WAIT
    while not (found := holds()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


def status(port, cookie=""):
    """Ask for the app's health; returns the cookie that was set, None without an answer."""
    request = urllib.request.Request(f"http://localhost:{port}{HEALTH}", headers={"Cookie": cookie})
    with contextlib.suppress(urllib.error.URLError), urllib.request.urlopen(request, timeout=60) as answer:
        ours = [each for each in answer.headers.get_all("Set-Cookie", []) if each.startswith("dpviz-process")]
        return "".join(ours).partition(";")[0]
    return None


def of_port(process, port):
    # The process has ended, and its keeper is about to notice.
    with contextlib.suppress(psutil.ZombieProcess):
        return next((each for each in psutil.Process(process.pid).children() if each.cmdline()[-1] == str(port)), None)
    return None


@CADDY
@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX systems")
def test_a_process_that_is_killed_or_hangs_starts_again_and_all_end_with_their_keeper(tmp_path):
    with served(tmp_path) as (port, process, said):
        assert f"2 processes of the app at http://localhost:{port}\n" in said
        cookies = {status(port) for _ in range(40)}
        assert len(cookies) == 2
        first = of_port(process, port + 1)
        first.kill()
        assert [status(port, cookie) for cookie in cookies] == ["", ""], "both readers are where they were"
        assert of_port(process, port + 1).pid != first.pid
        assert processes.healthy(port + 1)

        last = psutil.Process(process.pid).children()
        assert len(last) == 3
        if sys.platform == "linux":
            # The process has no time to announce its end.
            process.kill()
        else:
            process.terminate()
        _, alive = psutil.wait_procs(last, timeout=WAIT)
        assert alive == []


def test_without_caddy_the_processes_are_there_and_the_way_to_it_is_said(tmp_path):
    with served(tmp_path, PATH=str(tmp_path)) as (port, process, said):
        lines = []
        for line in said:
            lines.append(line.rstrip())
            if "answers by itself" in line:
                break
        whole = "\n".join(lines)
        assert (
            f"Caddy is not installed. It keeps each reader with one process, and answers at http://localhost:{port}."
            in whole
        )
        assert processes.INSTALL in whole
        file = Path(re.search(r"caddy run --adapter caddyfile --config (\S+)", whole)[1])
        assert f"reverse_proxy 127.0.0.1:{port + 1} 127.0.0.1:{port + 2} {{" in file.read_text("utf-8")
        assert [f"http://localhost:{port + each}" in lines[-1] for each in (1, 2)] == [True, True]
        assert processes.healthy(port + 1)
        assert processes.healthy(port + 2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=WAIT) == 0
        assert not file.exists()


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX systems")
def test_who_is_silent_for_too_long_is_started_again_and_who_answers_is_not(monkeypatch):
    monkeypatch.setattr(processes, "SILENCE", 0.0)
    answers = iter([True, True, False])
    kept = processes.Kept([sys.executable, "-c", "import time; time.sleep(60)"], lambda: next(answers))
    kept.start()
    pids = [kept.process.pid]
    try:
        for _ in range(3):
            kept.tend()
            pids.append(kept.process.pid)
    finally:
        kept.end()
    assert pids[0] == pids[1] == pids[2] != pids[3]
    assert kept.process.returncode == -signal.SIGTERM


def test_an_app_that_cannot_start_says_why_and_is_not_tried_again(tmp_path):
    _, process = start(tmp_path / "app.py")
    said, _ = process.communicate(timeout=WAIT)
    assert process.returncode == 2
    assert said.count("does not exist") == 1
    assert "processes of the app" not in said


@pytest.mark.parametrize("taken", [0, 1, 2])
def test_a_port_that_is_taken_is_said(capsys, taken):
    port = free_ports(3)[0]
    with socket.create_server(("127.0.0.1", port + taken)):
        options = ["--processes", "2", "--server.port", str(port), "--server.address", "127.0.0.1"]
        assert processes.serve(Path("app.py"), options) == 1
    said = capsys.readouterr().err
    assert said == f"127.0.0.1:{port + taken} is in use. Name another --server.port.\n"


def test_an_address_of_another_machine_is_refused_with_the_reason(capsys):
    assert processes.serve(Path("app.py"), ["--server.address", "203.0.113.1"]) == 1
    assert capsys.readouterr().err.startswith(f"203.0.113.1:8501 cannot be used ({os.strerror(errno.EADDRNOTAVAIL)}")


@pytest.mark.parametrize(
    ("port", "n", "most"), [(99999, 2, 65533), (65535, 1, 65534), (65534, 2, 65533), (0, 2, 65533)]
)
def test_a_port_without_room_for_the_app_is_said(capsys, port, n, most):
    with pytest.raises(SystemExit, match="2"):
        processes.serve(Path("app.py"), ["--server.port", str(port), "--processes", str(n)])
    words = f"--server.port must be from 1 to {most}, got {port}: the app takes the {n} after it."
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(("n", "words"), [(1, "1 process of the app"), (2, "2 processes of the app")])
def test_one_process_is_told_in_the_singular(monkeypatch, n, words):
    said = []
    monkeypatch.setattr(processes, "_keep", lambda _, ready: said.append(ready))
    monkeypatch.setattr(shutil, "which", lambda _: "caddy")
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    port = free_ports(3)[0]
    assert processes.serve(Path("app.py"), ["--processes", str(n), "--server.port", str(port)]) == 0
    assert said == [f"{words} at http://localhost:{port}"]


@pytest.mark.parametrize("number", ["0", "65", "two"])
def test_a_number_of_processes_that_cannot_be_is_said(capsys, number):
    with pytest.raises(SystemExit, match="2"):
        processes.serve(Path("app.py"), ["--processes", number])
    assert "--processes" in capsys.readouterr().err


def test_help_is_of_this_command(capsys):
    with pytest.raises(SystemExit) as ended:
        processes.serve(Path("app.py"), ["--help"])
    printed = capsys.readouterr().out
    assert ended.value.code == 0
    assert all(each in printed for each in ("--processes N", "--server.port PORT", "`streamlit run --help`"))
