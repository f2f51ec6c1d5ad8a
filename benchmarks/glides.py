"""The longest frame while marks glide to where another ε puts them, beside frames of the same page at rest.

A frame is the time between two of the page's animation frames, so that whatever holds the browser up counts: drawing,
the page's own work for what follows the picture, another process. What the page at rest takes says what the machine
leaves.
"""

from functools import partial
from statistics import median
from typing import Any
from urllib.parse import urlencode

from benchmarks.latency import MODES, SHOWN, WAIT_MS, browsing, serving
from benchmarks.registry import Benchmark, Measure

PAGES = ("repaired", "DPM", "Morse", "nD-Laplace", "source-target")  # of `MODES`: one for each method
N = 2_000
EPSILON = "0.3"  # of the first picture; each move is to the next value, with other noise for every run of this
RUNS = 5
MOST_MOVES = 20  # of which some may leave the marks where they were
SETTLED_MS = 1_500  # the page follows, then nothing moves
MOST_FRAME_MS = 34.0  # in the median run

# Resolves to the longest frame, ms, of the next glide of a picture, and to the number of its frames; null without one.
GLIDE = """(picture) => new Promise((done) => {
  const begin = performance.now();
  const frames = [];
  let [before, moved] = [null, false];
  const next = (now) => {
    const moves = picture.classList.contains("gliding");
    if (before !== null && (moves || moved)) frames.push(now - before);
    if (moved && !moves) return done([Math.max(...frames), frames.length]);
    if (!moves && now - begin > 4000) return done(null);
    [before, moved] = [now, moves];
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
})"""
# The longest frame, ms, of a page at rest, for as long as a glide takes.
REST = """() => new Promise((done) => {
  const stamps = [];
  const next = (now) => {
    stamps.push(now);
    if (now - stamps[0] < 250) return requestAnimationFrame(next);
    done(Math.max(...stamps.slice(1).map((stamp, i) => stamp - stamps[i])));
  };
  requestAnimationFrame(next);
})"""


def glides(page: Any, address: str, mode: str, noise_seed: int) -> list[tuple[float, int, float]]:
    """Return of each of RUNS glides its longest frame, ms, its number of frames, and the longest at rest, ms."""
    name, knob, _, rest = MODES[mode]
    page.goto(f"{address}/{name}?{urlencode({'n': N, 'noise_seed': noise_seed, knob: EPSILON, **rest})}")
    picture = page.locator(SHOWN).first
    page.locator(f"{SHOWN}[data-dpviz-drawn]").first.wait_for(timeout=WAIT_MS)
    page.wait_for_timeout(SETTLED_MS)
    page.get_by_role("slider", name="ε").first.focus()
    taken: list[tuple[float, int, float]] = []
    for _ in range(MOST_MOVES):
        still = page.evaluate(REST)
        picture.evaluate(f"(picture) => {{ globalThis.dpvizGlide = ({GLIDE})(picture); }}")
        page.keyboard.press("ArrowRight")
        found = page.evaluate("globalThis.dpvizGlide")
        if found is not None:
            taken.append((found[0], found[1], still))
        if len(taken) == RUNS:
            return taken
        page.wait_for_timeout(SETTLED_MS)
    raise RuntimeError(f"Only {len(taken)} of {MOST_MOVES} moves had marks that glide.")


def longest(mode: str) -> Measure:
    """Measure the longest frame of a glide in the median run."""
    with serving() as address, browsing() as page:
        taken = glides(page, address, mode, noise_seed=7)
    frames, counts, still = zip(*taken, strict=True)
    told = f"at rest {median(still):.0f} ms, {median(counts):.0f} frames a glide"
    return Measure(median(frames), f"{median(frames):.0f} ms", told)


BENCHMARKS = tuple(
    Benchmark(f"glide: longest frame, {mode}, n = {N:,}", partial(longest, mode), MOST_FRAME_MS) for mode in PAGES
)
