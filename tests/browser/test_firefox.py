"""The app in Firefox, driven by WebDriver BiDi without anything in between: every page is drawn and answers."""

import itertools
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from dpviz.methods import CATALOGUE
from dpviz.navigation import ACROSS
from tests.browser.servers import Server, free_port
from tests.browser.test_app import APP

FIREFOX = next(filter(None, map(shutil.which, ("firefox", "firefox-esr"))), None)
START_SECONDS, SLOW_SECONDS = 90, 90
WIDTH, HEIGHT = 1366, 768
# The key as WebDriver writes it. It moves the slider to a different value from any position.
END = "\ue010"
# The contents of the page and of its components: the first picture, and the slider of a page that has one.
STATE = """(() => {
  const all = (selector, root = document) => [...root.querySelectorAll("*")].flatMap((one) => [
    ...(one.matches(selector) ? [one] : []), ...(one.shadowRoot ? all(selector, one.shadowRoot) : [])]);
  const [picture] = all(".dpviz-live[data-dpviz-key], .dpviz-compare");
  const [slider] = all(".dpviz-epsilon input, .dpviz-instrument input, .dpviz-compare input");
  const canvas = picture?.querySelector("canvas");
  const band = canvas && canvas.width > 0 // in the middle of the picture: all of it would take long
    ? canvas.getContext("2d").getImageData(0, Math.floor(canvas.height / 3), canvas.width, 60).data.buffer
    : new ArrayBuffer(0);
  const box = canvas?.getBoundingClientRect();
  if (WANTED) slider?.focus();
  return JSON.stringify({
    scene: picture?.dataset.dpvizScene ?? picture?.dataset.value, colors: new Set(new Uint32Array(band)).size,
    inside: box && box.left >= 0 && box.right <= innerWidth && box.top >= 0 && box.bottom <= innerHeight,
    said: slider?.getAttribute("aria-valuetext"), title: document.title,
    wide: document.documentElement.scrollWidth > innerWidth });
})()"""


class Firefox:
    """One window of Firefox."""

    def __init__(self, profile: Path) -> None:
        port = free_port()
        command = [str(FIREFOX), "--headless", "--no-remote", "--profile", str(profile)]
        command += [f"--remote-debugging-port={port}", "about:blank"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, env={**os.environ, "HOME": str(profile)}, **quiet)
        self.open_ones = ExitStack()
        self.numbers, self.errors = itertools.count(1), list[str]()
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                self.socket = self.open_ones.enter_context(connect(f"ws://127.0.0.1:{port}/session", max_size=None))
                break
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    self.process.kill()
                    raise
                time.sleep(0.2)
        self.send("session.new", capabilities={})
        self.window = self.send("browsingContext.getTree")["contexts"][0]["context"]
        self.send("session.subscribe", events=["log.entryAdded"])
        self.send("browsingContext.setViewport", context=self.window, viewport={"width": WIDTH, "height": HEIGHT})

    def send(self, method: str, **params: Any) -> Any:
        """Send a command and return its result; errors of scripts in between are kept."""
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            told = json.loads(self.socket.recv(timeout=SLOW_SECONDS))
            if told.get("method") == "log.entryAdded" and told["params"]["type"] == "javascript":
                self.errors += [told["params"]["text"]] if told["params"]["level"] == "error" else []
            if told.get("id") == number:
                assert told["type"] == "success", told
                return told["result"]

    def open(self, address: str) -> None:
        self.send("browsingContext.navigate", context=self.window, url=address, wait="complete")

    def state(self, *, focus: bool = False) -> dict[str, Any]:
        """Return the contents of the page; `focus` gives the slider the focus."""
        script = STATE.replace("WANTED", str(focus).lower())
        found = self.send("script.evaluate", expression=script, target={"context": self.window}, awaitPromise=False)
        state: dict[str, Any] = json.loads(found["result"]["value"])
        return state

    def press(self, key: str) -> None:
        keys = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        sources = [{"type": "key", "id": "keys", "actions": keys}]
        self.send("input.performActions", context=self.window, actions=sources)

    def wait(self, done: Any) -> dict[str, Any]:
        """Return the page's state as soon as `done` accepts it."""
        end = time.monotonic() + SLOW_SECONDS
        while not done(state := self.state()):
            assert time.monotonic() < end, f"nothing came of it: {state}, {self.errors}"
            time.sleep(0.2)
        return state

    def close(self) -> None:
        self.open_ones.close()
        self.process.terminate()
        self.process.wait(timeout=START_SECONDS)


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    if FIREFOX is None:
        pytest.skip("Firefox is not installed: only Chromium is tested here")
    started = Firefox(tmp_path_factory.mktemp("firefox"))
    yield started
    started.close()


EVERY = ("", *CATALOGUE, *(name for name, page in ACROSS.items() if not page.group))
# The first and the last method only: methods' pages have the same parts.
KINDS = [name for name in EVERY if name not in [*CATALOGUE][1:-1]]


@pytest.mark.parametrize(
    "names", [KINDS, pytest.param(EVERY, marks=pytest.mark.slow)], ids=["one of each kind", "every page"]
)
def test_pages_are_drawn_and_answer_in_firefox(firefox: Firefox, server: Server, names: Sequence[str]) -> None:
    for name in names:
        query = {"": "", "compare": ""}.get(name, "?n=200&tab=read&audience=curator")
        firefox.open(f"{server(APP)}/{name}{query}")
        drawn = firefox.wait(
            lambda state: state.get("scene") and state["colors"] > 8 and state["inside"] and not state["wide"]
        )
        if "said" not in drawn:
            # The course has no slider, because it asks first.
            assert name == "learn"
            continue
        firefox.state(focus=True)
        # The slider may be redrawn meanwhile, and then has no scene for a moment.
        firefox.press(END)
        firefox.wait(
            lambda state, drawn=drawn: (
                state.get("scene") not in (None, drawn["scene"]) and state.get("said") not in (None, drawn["said"])
            )
        )
    # Leaving a page while its answers are on their way is not a fault of the page.
    assert [error for error in firefox.errors if "disconnected" not in error] == []
