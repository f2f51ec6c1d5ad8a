"""A real server and a real browser, started once for all browser tests."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser", "chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--disable-background-networking")
START_SECONDS = 60

Server = Callable[[str], str]  # an app's path, from the repository's root -> its address


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start an app on a free port, once for each path, and return its address."""
    logs = tmp_path_factory.mktemp("servers")
    running: dict[str, tuple[str, subprocess.Popen[bytes]]] = {}

    def start(app: str) -> str:
        if app not in running:
            running[app] = start_server(app, logs / f"{Path(app).stem}.log")
        return running[app][0]

    yield start
    for _, process in running.values():
        process.terminate()
    for _, process in running.values():
        process.wait(timeout=20)


def start_server(app: str, log: Path) -> tuple[str, subprocess.Popen[bytes]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", app, "--server.port", str(port)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
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


def executable() -> str | None:
    """Return the browser to use, None for Playwright's own."""
    found = os.environ.get("DPVIZ_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    return str(found) if found else None


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start a Chromium; without one the tests are skipped, but fail where CI says that it must be there."""
    with sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=executable(), args=list(FLAGS))
        except Error as error:
            if os.environ.get("CI") == "true":
                raise
            pytest.skip(f"no Chromium: {error.message.splitlines()[0]}")
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Open a page of desktop size in a fresh profile; an uncaught error in it fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000}, color_scheme="light")
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    context.close()
    assert not errors, errors
