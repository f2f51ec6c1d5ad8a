"""A foreign page gets no answer and makes the server ask no name server; garbage makes one line of its log."""

import asyncio
import contextlib
import http.client
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from starlette.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from dpviz.ui.server import security
from dpviz.ui.server.security import OwnOrigin, is_own
from tests.asgi import ask

ROOT = Path(__file__).resolve().parents[3]
# Seconds that the name server takes, as long as three tries of a resolver.
HANGS = 20.0
# The server's Python loads this first. It knows names of the machine itself, and never finds any other name.
NAMES = f"""import socket, time
known = socket.getaddrinfo
def getaddrinfo(host, *rest, **more):
    if host in (None, "", "localhost", b"localhost", "127.0.0.1", "::1", "0.0.0.0", "::"):
        return known(host, *rest, **more)
    with open({{asked!r}}, "a") as file:
        print(host, file=file)
    time.sleep({HANGS})
    raise socket.gaierror(-3, "no answer")
socket.getaddrinfo = getaddrinfo
"""
OWN = "localhost:8501"
FOREIGN = [
    {"host": OWN, "origin": "http://evil.example"},
    {"host": OWN, "origin": "http://evil.example:8501"},
    {"host": OWN, "origin": "http://localhost:8502"},
    {"host": OWN, "origin": "http://localhost"},
    {"host": OWN, "origin": "null"},
    {"host": OWN, "origin": ""},
    {"host": OWN, "origin": "http://[localhost:8501"},
    {"host": OWN, "origin": "http://localhost:8501.evil.example"},
    {"host": OWN, "origin": "http://user@localhost:8501"},
    {"host": "evil.example", "origin": "http://evil.example"},
    {"host": "evil.example"},
    {"host": "localhost.evil.example:8501"},
    {"host": "localhost@evil.example"},
    {"host": ""},
    {},
]


@pytest.fixture(autouse=True)
def _configured(monkeypatch):
    options = {"server.allowedHosts": ["localhost", "127.0.0.1", "::1"], "server.corsAllowedOrigins": []}
    monkeypatch.setattr("streamlit.config.get_option", lambda name: options[name])


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_a_foreign_page_is_told_from_an_own_one(headers):
    assert not is_own(Headers(headers))


@pytest.mark.parametrize("host", [OWN, "127.0.0.1:9000", "[::1]:8501", "LOCALHOST:8501"])
def test_own_pages_are_known_by_every_name_of_the_server(host):
    for headers in ({}, {"origin": f"http://{host}"}, {"origin": f"https://{host}"}):
        assert is_own(Headers({"host": host} | headers))


def test_two_hosts_or_origins_are_none():
    for name in ("host", "origin"):
        more = (name.encode(), b"http://localhost:8501" if name == "origin" else b"localhost:8501")
        raw = [(b"host", b"localhost:8501"), (b"origin", b"http://localhost:8501"), more]
        assert not is_own(Headers(raw=raw))


def through(layer, kind, path, headers=()):
    """Return the paths that a layer passes on, and the codes with which it refuses."""
    passed = []

    async def inside(scope, _receive, _send):
        passed.append(scope["path"])

    sent = asyncio.run(ask(layer(inside), path, type=kind, method="PUT", headers=dict(headers)))
    return passed, [each.get("status", each.get("code")) for each in sent[:1]]


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "path", ["/", "/_stcore/stream", "/_stcore/health", "/ahead", "/asking", "/_stcore/upload_file/a/b"]
)
def test_every_route_is_closed_to_foreign_pages(kind, path):
    code = 403 if kind == "http" else 1008
    assert through(OwnOrigin, kind, path, {"host": OWN, "origin": "http://evil.example"}) == ([], [code])
    assert through(OwnOrigin, kind, path, {"host": OWN, "origin": f"http://{OWN}"})[0] == [path]


@pytest.mark.parametrize(
    ("kind", "path", "headers", "passes"),
    [
        ("http", "/_stcore/health", {"host": "10.0.0.7:8501"}, True),
        ("http", "/_stcore/health", {}, True),
        ("http", "/_stcore/health", {"host": "10.0.0.7:8501", "origin": "http://10.0.0.7:8501"}, False),
        ("websocket", "/_stcore/health", {"host": "10.0.0.7:8501"}, False),
        ("http", "/_stcore/host-config", {"host": "10.0.0.7:8501"}, False),
        ("http", "/", {"host": "10.0.0.7:8501"}, False),
    ],
)
def test_a_balancer_checks_the_server_under_any_name(kind, path, headers, passes):
    assert bool(through(OwnOrigin, kind, path, headers)[0]) is passes


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Start the app where no name server ever answers; yield its port and the log of look-ups."""
    folder = tmp_path_factory.mktemp("names")
    asked = folder / "asked"
    asked.touch()
    (folder / "sitecustomize.py").write_text(NAMES.format(asked=str(asked)), "utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT)))}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
    for _ in range(600):
        try:
            get(port)
            break
        except OSError:
            assert process.poll() is None, (folder / "log").read_text("utf-8")
            time.sleep(0.1)
    yield port, asked
    process.terminate()
    process.wait(timeout=20)


def get(port):
    """Return the status of the server's sign of life."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=HANGS)
    line.request("GET", "/_stcore/health")
    return line.getresponse().status


def shake_hands(port, origin):
    """Ask for Streamlit's own line as a page of `origin` does, and return the line while the answer is awaited."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=HANGS)
    headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Origin": origin}
    line.request("GET", "/_stcore/stream", headers={**headers, "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="})
    return line


def test_a_stranger_s_handshake_keeps_nobody_waiting_and_looks_nothing_up(served):
    port, asked = served
    strangers = [shake_hands(port, "http://evil.example") for _ in range(3)]
    began = time.monotonic()
    assert get(port) == 200
    waited = time.monotonic() - began
    assert [line.getresponse().status for line in strangers] == [403] * 3
    assert waited < HANGS / 4, "while one name is looked up nobody is answered"
    assert asked.read_text("utf-8") == ""
    own = shake_hands(port, f"http://127.0.0.1:{port}")
    assert own.getresponse().status == 101


def test_the_start_says_where_the_app_is_and_nothing_is_wrong(served):
    _, asked = served
    said = (asked.parent / "log").read_text("utf-8")
    assert "localhost:" in said
    assert not re.search("warn|error|traceback|missing|deprecat", said, re.IGNORECASE), said


@pytest.mark.parametrize("frame", [b"\xff" * 50, b"", b"\x0a\x05abc", "text", b'{"rerun": 1}'], ids=repr)
def test_garbage_ends_its_line_and_makes_one_line_of_the_log(served, frame):
    port, asked = served
    log = asked.parent / "log"
    before = log.read_text("utf-8")
    with connect(f"ws://127.0.0.1:{port}/_stcore/stream", subprotocols=["streamlit"]) as line:
        line.send(frame)
        with contextlib.suppress(ConnectionClosed):
            while True:
                # Reads the app's messages before the app closes the line. A TimeoutError means that the app does not
                # close it.
                line.recv(timeout=HANGS)
    # Time for further output.
    time.sleep(0.3)
    said = log.read_text("utf-8").removeprefix(before)
    assert len(said.strip().splitlines()) == 1, said
    assert "not from the app" in said
    assert get(port) == 200


def test_what_the_server_sends_is_for_pages_of_its_own_and_cookies_behind_tls_for_tls(served):
    port, _ = served
    for path in ("/", "/convergent_kmeans", "/_stcore/health"):
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=HANGS)
        line.request("GET", path)
        answer = line.getresponse()
        assert answer.status == 200
        assert answer.getheader("X-Content-Type-Options") == "nosniff"
        assert answer.getheader("X-Frame-Options") in ("SAMEORIGIN", "DENY")
    for proxied in (False, True):
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=HANGS)
        line.request("GET", "/_stcore/host-config", headers={"X-Forwarded-Proto": "https"} if proxied else {})
        answer = line.getresponse()
        assert answer.getheader("Cross-Origin-Opener-Policy") == "same-origin"
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=HANGS)
        line.request("GET", "/_stcore/health", headers={"X-Forwarded-Proto": "https"} if proxied else {})
        cookies = line.getresponse().headers.get_all("Set-Cookie") or []
        assert cookies, "there is one to look at"
        assert all(("; Secure" in each) is proxied for each in cookies), cookies


@pytest.mark.parametrize(
    ("wished", "takes", "fits"), [(None, 1, 1), ("local", 1, 1), ("public", 0, 1), ("Public ", 0, 0)]
)
def test_a_profile_that_nobody_knows_is_refused_and_takes_no_files(monkeypatch, wished, takes, fits):
    monkeypatch.delenv(security.PROFILE, raising=False)
    if wished is not None:
        monkeypatch.setenv(security.PROFILE, wished)
    assert security.takes_files() is bool(takes)
    assert (security.profile_problem() == "") is bool(fits)
    if not fits:
        assert "must be local or public" in security.profile_problem()


CLOSED = ("/_stcore/upload_file/a/b", "/below/_stcore/upload_file/a/b", "/_stcore/metrics")


@pytest.mark.parametrize("wished", ["local", "public"])
@pytest.mark.parametrize("path", [*CLOSED, "/_stcore/health"])
def test_uploads_and_metrics_are_closed_in_public(monkeypatch, wished, path):
    monkeypatch.setenv(security.PROFILE, wished)
    expected = ([], [403]) if path in CLOSED and wished == "public" else ([path], [])
    assert through(security.ProfileFilter, "http", path) == expected


def test_pages_load_nothing_from_elsewhere_and_run_no_script_that_was_put_in():
    named = dict(part.split(" ", 1) for part in security.content_policy().split("; "))
    assert named["default-src"] == named["connect-src"] == "'self'"
    assert "unsafe-inline" not in named["script-src"]
    assert "'unsafe-eval'" not in named["script-src"]
    assert "sha256-" in named["script-src"], "of the script in Streamlit's own index page"
    assert not [part for part in named.values() if "http" in part or "*" in part]
    assert dict(security.HEADERS)[b"content-security-policy"].decode() == security.content_policy()


@pytest.mark.parametrize(
    ("wished", "allowed"),
    [
        ("", []),
        ("https://moodle.example.edu", ["https://moodle.example.edu"]),
        ("https://a.example  http://b.example:8080", ["https://a.example", "http://b.example:8080"]),
    ],
)
def test_other_sites_may_frame_the_app_where_the_operator_says_so(monkeypatch, wished, allowed):
    monkeypatch.setenv(security.FRAMES, wished)
    assert security.profile_problem() == ""
    named = dict(part.split(" ", 1) for part in security.content_policy().split("; "))
    assert named["frame-ancestors"].split() == ["'self'", *allowed]
    assert (b"x-frame-options" in dict(security.headers())) is not bool(allowed)


@pytest.mark.parametrize(
    "wrong", ["*", "moodle.example.edu", "https://a.example/page", "https://*; script-src *", "data:"]
)
def test_what_is_no_origin_is_refused_at_the_start(monkeypatch, wrong):
    monkeypatch.setenv(security.FRAMES, f"https://a.example {wrong}")
    assert security.FRAMES in security.profile_problem()
    assert "frame-ancestors 'self' https://a.example" in security.content_policy()
    assert "script-src *" not in security.content_policy()
