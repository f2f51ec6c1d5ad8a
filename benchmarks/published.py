"""Benchmark of a published site against the app: bytes and time until the first picture, slider frames, disk space.

The benchmark publishes the five methods' pages of the default site into a temporary folder, and serves them with
`python -m http.server`, which does not compress. It opens site and app in the same browser, in one run, with the
network of Lighthouse's "Fast 3G" (DevTools' "Slow 4G"): 1.6 Mbit/s, and 150 ms for each answer. The time of a first
picture is from the start of the navigation to the animation frame after it was drawn. Its bytes are the network bytes
of the files and messages until then. The time of a move is from the key's event to the drawn picture, after all states
of that slider have loaded, at all stops of the curator's view; and also to the next animation frame, which a display
makes every 17 ms. Times are meaningful only relative to each other: `machine` in benchmarks/published.json shows how
busy the machine was.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.latency import MODES, SAME_MS, SHOWN, WAIT_MS, browsing, moves, serving
from benchmarks.latency_scripts import MOVED, WATCH
from benchmarks.registry import Benchmark, Measure, sized

OUTPUT = Path(__file__).with_suffix(".json")
PAGES = {MODES[mode][0]: mode for mode in ("repaired", "DPM", "Morse", "nD-Laplace", "source-target")}
# Records of the app's slider.
RECORDS = 5_000
OPENINGS = 3
# Moves before the first that counts.
WARM_UP = 2
REST_MS = 120
FAST_3G = {"offline": False, "latency": 150, "downloadThroughput": 1.6e6 / 8, "uploadThroughput": 0.75e6 / 8}
# The app loads some megabytes.
OPENING_MS = 180_000
FIRST = """document.addEventListener("dpviz:drawn", () => {
  window.dpvizFirst ??= new Promise((done) => requestAnimationFrame(() => done(performance.now())));
}, { capture: true });"""
DRAWN = ".dpviz-live[data-dpviz-drawn]"

MOST_FIRST_KB = 300.0
MOST_FIRST_MS = 1_000.0
MOST_DISK_MB = 5.0
# 95th percentile: one frame of an ordinary display.
MOST_MOVE_MS = 1000.0 / 60.0


@cache
def measured() -> dict[str, Any]:
    """Measure site and app once, write the figures and return them, for each page."""
    from dpviz.publishing import cache_of, publish
    from dpviz.publishing.plan import SitePlan, default_plan

    names = list(PAGES)[: sized(len(PAGES), 1)]
    plan = SitePlan(tuple(page for page in default_plan().pages if page.page in names))
    pages: dict[str, dict[str, Any]] = {name: {"site": {}, "app": {}} for name in names}
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder) / "site"
        start = time.process_time()
        n_states = publish(site, plan, say=lambda _: None)
        seconds = time.process_time() - start
        assert cache_of(site).is_dir()
        with _files(site) as address, browsing() as page:
            for name, figures in pages.items():
                figures["site"]["disk_mb"] = round(sum(size(each) for each in (site / name).glob("**/*")) / 1e6, 2)
                figures["site"] |= opening(page, f"{address}/{name}/index.html", sized(OPENINGS, 1))
                figures["site"] |= _moved(site_moves(page, f"{address}/{name}/index.html"))
    with serving() as address, browsing() as page:
        for name, figures in pages.items():
            figures["app"] |= opening(page, f"{address}/{name}", 1)
            seed = int(time.time() * 10) % 10**8
            figures["app"] |= _moved(moves(page, address, PAGES[name], RECORDS, seed))
    found = {"machine": {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}, "states": n_states}
    found |= {"processor_seconds": round(seconds, 1), "pages": pages}
    if len(names) == len(PAGES):
        OUTPUT.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    return found


def size(path: Path) -> int:
    """Return a file's size in bytes, 0 for a folder."""
    return path.stat().st_size if path.is_file() else 0


@contextmanager
def _files(site: Path) -> Iterator[str]:
    """Serve a folder with Python's own file server and yield its URL."""
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(site)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        # "Serving HTTP on 127.0.0.1 port 40001 (http://127.0.0.1:40001/) ..."
        said = process.stdout.readline()
        yield said[said.index("(") + 1 : said.index("/)")]
    finally:
        process.terminate()
        process.wait(timeout=20)


def opening(page: Any, address: str, n: int) -> dict[str, float]:
    """Open a page `n` times over the slow network; return bytes and the median of the times to its first picture."""
    taken, kilobytes = [], []
    for _ in range(n):
        context = page.context.browser.new_context(viewport={"width": 1366, "height": 768})
        opened = context.new_page()
        opened.add_init_script(FIRST)
        protocol = context.new_cdp_session(opened)
        protocol.send("Network.enable")
        protocol.send("Network.emulateNetworkConditions", FAST_3G)
        # (monotonic seconds, bytes)
        came: list[tuple[float, float]] = []
        # Requests that go through the network, unlike a blob's.
        began: dict[str, float] = {}
        protocol.on("Network.requestWillBeSent", partial(_begin, began))
        protocol.on("Network.loadingFinished", partial(_come, came, began))
        protocol.on("Network.webSocketFrameReceived", lambda told, came=came: came.append(_message(told)))
        opened.goto(address, wait_until="commit", timeout=OPENING_MS)
        opened.locator(DRAWN).first.wait_for(timeout=OPENING_MS)
        taken.append(float(opened.evaluate("() => window.dpvizFirst")))
        end = min(began.values()) + taken[-1] / 1e3
        kilobytes.append(sum(n for at, n in came if at <= end) / 1e3)
        context.close()
    return {"first_kb": round(max(kilobytes), 1), "first_ms": round(float(np.median(taken)))}


def _begin(began: dict[str, float], told: dict[str, Any]) -> None:
    if told["request"]["url"].startswith("http"):
        began[told["requestId"]] = told["timestamp"]


def _come(came: list[tuple[float, float]], began: dict[str, float], told: dict[str, Any]) -> None:
    if told["requestId"] in began:
        came.append((told["timestamp"], told["encodedDataLength"]))


def _message(told: dict[str, Any]) -> tuple[float, float]:
    """Return the time of a message and its bytes; binary messages are reported in base64."""
    text = told["response"]["payloadData"]
    return told["timestamp"], len(text) * (0.75 if told["response"]["opcode"] == 2 else 1.0)


def site_moves(page: Any, address: str) -> list[dict[str, float]]:
    """Press the slider's key from its first stop to its last, with all states loaded; return the moves' time stamps."""
    page.goto(address)
    page.locator(DRAWN).first.wait_for(timeout=WAIT_MS)
    page.locator("html[data-dpviz-all]").wait_for(timeout=3 * WAIT_MS)
    slider = page.get_by_role("slider", name="ε").first
    slider.press("Home")
    page.wait_for_timeout(1000)
    page.locator(SHOWN).evaluate_all(WATCH)
    n_moves = int(slider.get_attribute("max") or 0)
    taken = []
    for press in range(n_moves):
        page.keyboard.press("ArrowRight")
        times = page.evaluate(MOVED, SAME_MS)
        if times is not None and press >= WARM_UP:
            taken.append(times)
        page.wait_for_timeout(REST_MS)
    if len(taken) < n_moves / 2:
        raise RuntimeError(f"Only {len(taken)} of {n_moves} moves brought another picture.")
    return taken


def _moved(taken: list[dict[str, float]]) -> dict[str, float]:
    drawn = [times["drawn"] - times["key"] for times in taken]
    frame = [times["frame"] - times["key"] for times in taken]
    figures = {"move_p95_ms": np.percentile(drawn, 95), "move_ms": np.median(drawn)}
    figures |= {"frame_p95_ms": np.percentile(frame, 95)}
    return {"moves": len(taken), **{name: round(float(value), 1) for name, value in figures.items()}}


def figure(name: str, key: str, unit: str) -> Measure:
    """Return one figure of a page next to the app's figure."""
    names = list(PAGES)
    # A trial of the benchmarks has only one page.
    page = measured()["pages"][names[sized(names.index(name), 0)]]
    app = f"app: {page['app'][key]:g} {unit}" if key in page["app"] else "app: no files"
    told = f", {page['site']['frame_p95_ms']:g} to a frame" if key == "move_p95_ms" else ""
    return Measure(page["site"][key], f"{page['site'][key]:g} {unit}", f"{app}{told}")


BENCHMARKS = tuple(
    Benchmark(f"published {name}: {words}", partial(figure, name, key, unit), budget, unit)
    for words, key, unit, budget in (
        ("first picture", "first_kb", "kB", MOST_FIRST_KB),
        ("first picture on Fast 3G", "first_ms", "ms", MOST_FIRST_MS),
        ("ε to picture, p95", "move_p95_ms", "ms", MOST_MOVE_MS),
        ("on disk", "disk_mb", "MB", MOST_DISK_MB),
    )
    for name in PAGES
)
