"""Benchmark of the longest frame while marks glide to their places at a new ε, next to frames of the page at rest.

A frame is the time between two of the page's animation frames, so it includes everything that delays the browser:
drawing, the page's own work after the picture, other processes. The frames at rest show the state of the machine. The
processor time of the longest task shows the page's own work, no matter how busy the machine is.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any
from urllib.parse import urlencode

from benchmarks.latency import MODES, SHOWN, WAIT_MS, browsing, serving
from benchmarks.registry import Benchmark, Measure, sized

# Keys of `MODES`, one for each method.
PAGES = ("repaired", "DPM", "Morse", "nD-Laplace", "source-target")
N = 2_000
# ε of the first picture. Each move goes to the next value, with different noise for every run.
EPSILON = "0.3"
RUNS = 5
# Limit on moves; some may leave the marks in place.
MOST_MOVES = 20
# Time for the page to follow, after which nothing moves.
SETTLED_MS = 1_500
# Limit for the median run.
MOST_FRAME_MS = 34.0

TRACED = ["toplevel", "blink.user_timing", "disabled-by-default-devtools.timeline"]
# Performance mark at the end of a glide.
MARK = "glided"
# Names of browsers' tasks.
TASKS = ("RunTask", "ThreadControllerImpl::RunTask")

# Resolves to the longest frame, ms, of a picture's next glide, or to null if there is none.
GLIDE = """(picture) => new Promise((done) => {
  const begin = performance.now();
  const frames = [];
  let [before, moved] = [null, false];
  const next = (now) => {
    const moves = picture.classList.contains("gliding");
    if (before !== null && (moves || moved)) frames.push(now - before);
    if (moved && !moves) {
      performance.mark("glided");
      return done(Math.max(...frames));
    }
    if (!moves && now - begin > 4000) return done(null);
    [before, moved] = [now, moves];
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
})"""
# Resolves to the longest frame, ms, of a page at rest, over the duration of a glide.
REST = """() => new Promise((done) => {
  const stamps = [];
  const next = (now) => {
    stamps.push(now);
    if (now - stamps[0] < 250) return requestAnimationFrame(next);
    done(Math.max(...stamps.slice(1).map((stamp, i) => stamp - stamps[i])));
  };
  requestAnimationFrame(next);
})"""


@dataclass(frozen=True, slots=True)
class Glide:
    """Times of one glide, ms."""

    # Longest frame of the glide.
    frame: float
    # Longest frame of the page at rest before the glide.
    still: float
    # Longest task on the page's main thread, processor time.
    task: float


def glides(page: Any, address: str, mode: str, noise_seed: int) -> list[Glide]:
    """Return RUNS glides. Raises RuntimeError if too few moves have gliding marks."""
    name, knob, _, rest = MODES[mode]
    page.goto(f"{address}/{name}?{urlencode({'n': N, 'noise_seed': noise_seed, knob: EPSILON, **rest})}")
    picture = page.locator(SHOWN).first
    page.locator(f"{SHOWN}[data-dpviz-drawn]").first.wait_for(timeout=WAIT_MS)
    page.wait_for_timeout(SETTLED_MS)
    page.get_by_role("slider", name="ε").first.focus()
    taken: list[Glide] = []
    for _ in range(MOST_MOVES):
        still = page.evaluate(REST)
        picture.evaluate(f"(picture) => {{ globalThis.dpvizGlide = ({GLIDE})(picture); }}")
        page.context.browser.start_tracing(page=page, categories=TRACED)
        page.keyboard.press("ArrowRight")
        found = page.evaluate("globalThis.dpvizGlide")
        events = json.loads(page.context.browser.stop_tracing())["traceEvents"]
        if found is not None:
            taken.append(Glide(found, still, longest_task(events)))
        if len(taken) == sized(RUNS, 1):
            return taken
        page.wait_for_timeout(SETTLED_MS)
    raise RuntimeError(f"Only {len(taken)} of {MOST_MOVES} moves had marks that glide.")


def longest_task(events: Iterable[dict[str, Any]]) -> float:
    """Return the processor time, ms, of the longest task on the page's main thread until the end of the glide."""
    events = list(events)
    end = next(event for event in events if event["name"] == MARK)
    tasks = (event for event in events if event["name"] in TASKS and event["tid"] == end["tid"] and "tdur" in event)
    return max((event["tdur"] for event in tasks if event["ts"] <= end["ts"]), default=0.0) / 1e3


def longest(mode: str) -> Measure:
    """Measure the longest frame of a glide in the median run."""
    with serving() as address, browsing() as page:
        taken = glides(page, address, mode, noise_seed=7)
    frame, still, task = (median(getattr(each, name) for each in taken) for name in ("frame", "still", "task"))
    return Measure(frame, f"{frame:.0f} ms", f"at rest {still:.0f} ms, task {task:.0f} ms")


BENCHMARKS = tuple(
    Benchmark(f"glide: longest frame, {mode}, n = {N:,}", partial(longest, mode), MOST_FRAME_MS) for mode in PAGES
)
