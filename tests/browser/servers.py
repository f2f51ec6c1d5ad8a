"""Servers that tests start: an app's, one beside it for what must not happen to that, and one of files."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import MappingProxyType

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60


def start_server(
    app: str,
    log: Path,
    port: int = 0,
    *,
    command: tuple[str, ...] = ("streamlit", "run"),
    home: Path = ROOT,
    more: Mapping[str, str] = MappingProxyType({}),
) -> tuple[str, subprocess.Popen[bytes]]:
    """Start an app, on a free port unless one is named, and return its address and process when it answers.

    `command` is the module that serves it and its arguments before the app's name, `home` the folder of the packages
    that are not installed, where it is started; `more` is set in its environment.
    """
    if port == 0:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
    whole = [sys.executable, "-m", *command, *filter(None, [app]), "--server.port", str(port)]
    environment = {**os.environ, "PYTHONPATH": str(home), **more}
    with log.open("wb") as output:
        process = subprocess.Popen(whole, cwd=home, env=environment, stdout=output, stderr=subprocess.STDOUT)
    address = f"http://localhost:{port}"
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1):
                return address, process
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    process.terminate()
    raise RuntimeError(f"{app} did not start:\n{log.read_text(errors='replace')}")


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder's files on an origin of their own; give that."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve a site below a path of its own; give its address."""
    with serving(site.parent) as origin:
        yield f"{origin}/{site.name}"
