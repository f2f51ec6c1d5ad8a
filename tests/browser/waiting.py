"""Conditions that browser tests wait for instead of a fixed time, and places on a page."""

from playwright.sync_api import Locator, Page, expect

# Milliseconds for a first picture, or for runs, on a busy machine.
SLOW = 120_000
# Frames without a change: a page that was resized needs two, and a script run may take longer to begin.
FEW_FRAMES, MANY_FRAMES = 3, 12
# Resolves after some frames in which no element moved, was drawn, or changed its state.
STILL = """async ([count, most]) => {
  const end = performance.now() + most;
  const seen = () => {
    const found = [];
    const walk = (root) => root.querySelectorAll("*").forEach((one) => {
      const { x, y, width, height } = one.getBoundingClientRect();
      found.push(x, y, width, height, one.dataset?.dpvizFrames, one.dataset?.dpvizDrawn, one.dataset?.testScriptState);
      if (one.shadowRoot) walk(one.shadowRoot);
    });
    walk(document);
    return found.join();
  };
  for (let before = null, same = 0; same < count;) {
    await new Promise((done) => requestAnimationFrame(done));
    const now = seen();
    same = now === before ? same + 1 : 0;
    before = now;
    if (performance.now() > end) throw new Error("The page never stands still.");
  }
}"""


def still(page: Page, n_frames: int = FEW_FRAMES) -> None:
    """Wait until nothing has moved on a page for some frames."""
    page.evaluate(STILL, [n_frames, SLOW])


def next_frame(page: Page) -> None:
    """Wait until the page has drawn the effect of the last event."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def at_rest(page: Page) -> None:
    """Wait until no script run is under way."""
    expect(page.locator("[data-test-script-state=running]")).to_have_count(0, timeout=SLOW)


def settled(page: Page) -> None:
    """Wait until the slider's moves are answered, no run is under way, and nothing moves."""
    expect(page.locator(".dpviz-stage[data-dpviz-ahead]")).to_have_count(0, timeout=SLOW)
    at_rest(page)
    still(page, MANY_FRAMES)
    expect(page.locator(".dpviz-stage[data-dpviz-ahead]")).to_have_count(0, timeout=SLOW)
    at_rest(page)


# True if the app is light, or dark, its components have followed, and no color is still fading.
FADED = """(dark) => {
  const isDark = (color) => color.match(/\\d+/g).slice(0, 3).every((shade) => shade < 128);
  const app = document.querySelector("[data-testid=stApp]");
  const tops = [...app.querySelectorAll("*")].flatMap(({ shadowRoot }) => [...shadowRoot?.children ?? []]);
  const moves = ({ playState, effect }) => playState === "running" && effect.getComputedTiming().endTime !== Infinity;
  return isDark(getComputedStyle(app).backgroundColor) === dark
    && tops.every((one) => isDark(getComputedStyle(one).color) !== dark)
    && !document.getAnimations().some(moves);
}"""


def faded(page: Page, *, dark: bool) -> None:
    """Wait until the page is in the colors of a scheme."""
    page.wait_for_function(FADED, arg=dark, timeout=SLOW)
    still(page)
    page.wait_for_function(FADED, arg=dark, timeout=SLOW)


def box_of(locator: Locator) -> tuple[float, float, float, float]:
    """Return left, top, width and height on the page."""
    box = locator.bounding_box()
    assert box is not None
    return box["x"], box["y"], box["width"], box["height"]


def hear_errors(page: Page) -> list[str]:
    """Return the list to which a page's refusals and errors are added."""
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: heard.append(error.message))
    return heard
