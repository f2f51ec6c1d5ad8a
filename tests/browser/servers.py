"""Servers that tests start: an app's server, a second one for tests that would harm the first, and a file server."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import MappingProxyType
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120
# Function from an app's path, relative to the repository's root, to its URL.
Server = Callable[[str], str]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def start(
    command: Sequence[str], asked: str, log: Path, home: Path, more: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a server in the folder `home` and return its process when it answers at the URL `asked`."""
    with log.open("wb") as output:
        environment = {**os.environ, **more}
        process = subprocess.Popen(command, cwd=home, env=environment, stdout=output, stderr=subprocess.STDOUT)
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(asked, timeout=1):
                return process
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    process.terminate()
    raise RuntimeError(f"{command} did not start:\n{log.read_text(errors='replace')}")


def start_server(
    app: str,
    log: Path,
    port: int = 0,
    *,
    command: tuple[str, ...] = ("streamlit", "run"),
    home: Path = ROOT,
    more: Mapping[str, str] = MappingProxyType({}),
) -> tuple[str, subprocess.Popen[bytes]]:
    """Start an app on a free port, unless one is named, and return its address and process when it answers.

    `command` is the module that serves the app, with the arguments before the app's name. `home` is the folder of the
    packages that are not installed; the app starts there. `more` is set in the app's environment.
    """
    port = port or free_port()
    whole = [sys.executable, "-m", *command, *filter(None, [app]), "--server.port", str(port)]
    address = f"http://localhost:{port}"
    return address, start(whole, f"{address}/_stcore/health", log, home, {"PYTHONPATH": str(home), **more})


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder's files on a separate origin; give that origin."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve a site below a separate path; give its URL."""
    with serving(site.parent) as origin:
        yield f"{origin}/{site.name}"


class Apart:
    """The app on a separate server, which is watched, framed and killed.

    The server's temporary folder and home are empty, and it logs all of its output. Pages of `origin`, which are files
    in the folder `course`, may show it in a frame.
    """

    def __init__(self, app: str, folder: Path, origin: str) -> None:
        self.app, self.folder, self.origin = app, folder, origin
        self.course, self.home, self.temporary = (folder / name for name in ("course", "home", "temporary"))
        for place in (self.course, self.home, self.temporary):
            place.mkdir(exist_ok=True)
        self.address = ""
        # One log for each start.
        self.logs: list[Path] = []
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server if it does not run, again at its previous address."""
        if self.process is not None and self.process.poll() is None:
            return
        self.logs.append(self.folder / f"log-{len(self.logs)}")
        environment = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(self.temporary))
        environment |= {"HOME": str(self.home), "STREAMLIT_LOGGER_LEVEL": "debug", "DPVIZ_FRAMES": self.origin}
        port = urlsplit(self.address).port if self.address else 0
        self.address, self.process = start_server(self.app, self.logs[-1], port or 0, more=environment)

    def kill(self) -> None:
        """End the server like a crash."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(timeout=20)

    def end(self) -> None:
        """End the server as its operator does."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(timeout=20)
