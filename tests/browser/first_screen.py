"""The first screen of a page with a stage: parts whole, a large picture, and few words, at every size."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Literal

from playwright.sync_api import Page

from tests.browser.conftest import SIZE
from tests.browser.waiting import still

Size = tuple[int, int]
# Color schemes change no place, so each size is tested in one scheme.
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
# Places of a stage's parts, boxes of its pictures, and the words that a reader sees, in every shadow root.
# Content under a phone's docked slider is not seen.
SEEN = """([stage, parts]) => {
  const { shadowRoot: root } = [...document.querySelectorAll("*")]
    .find((element) => element.shadowRoot?.querySelector(stage));
  const dock = root.querySelector(".docked .tool");
  const words = [];
  const count = (tree) => {
    for (const element of tree.querySelectorAll("*")) {
      if (element.shadowRoot) count(element.shadowRoot);
      if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      if (element.closest("style, script, .unseen, .dpviz-said, [data-testid=stIconMaterial]")) continue;
      if (element.closest("[data-testid=stSkipToContent], .st-key-dpviz-title")) continue;
      for (const text of element.childNodes) {
        if (text.nodeType !== Node.TEXT_NODE || !text.data.trim()) continue;
        const range = document.createRange();
        range.selectNodeContents(text);
        const at = range.getBoundingClientRect();
        const across = at.width > 1 && at.right > 0 && at.left < innerWidth;
        const end = dock && !dock.contains(element) ? dock.getBoundingClientRect().top : innerHeight;
        const down = at.height > 1 && at.bottom > 0 && at.top < end;
        if (across && down) words.push(...text.data.trim().split(/\\s+/));
      }
    }
  };
  count(document);
  const places = Object.fromEntries(parts.map((part) => {
    const { left, top, right, bottom } = root.querySelector(part)?.getBoundingClientRect() ?? {};
    return [part, [left, top, right, bottom]];
  }));
  const boxes = [...root.querySelectorAll("[data-dpviz-box]")]
    .map((one) => one.dataset.dpvizBox.split(" ").map(Number));
  return { places, boxes, words };
}"""


def check_edge(page: Page) -> None:
    """Check that nothing is wider than the screen."""
    widths = page.evaluate(
        """() => [document.documentElement, document.querySelector("[data-testid=stMain]")]
          .map((element) => [element.scrollWidth, element.clientWidth])"""
    )
    assert all(content <= room for content, room in widths), widths


@dataclass(frozen=True)
class FirstScreen:
    """Requirements of a stage's first screen."""

    # Selector of the stage.
    stage: str
    # Selectors of parts that must be seen whole.
    parts: tuple[str, ...]
    # Least share of the screen that the pictures' public boxes take together, and most words, by size in pixels.
    sizes: Mapping[Size, tuple[float, int]]
    n_boxes: int = 1

    def look(self, page: Page) -> dict[str, Any]:
        seen: dict[str, Any] = page.evaluate(SEEN, [self.stage, self.parts])
        return seen

    def fault(self, seen: Mapping[str, Any], size: Size) -> str:
        """Return the fault of a first screen, or an empty string."""
        (width, height), (least, most) = size, self.sizes[size]
        for name, place in seen["places"].items():
            if None in place:
                return f"{name} is missing"
            left, top, right, bottom = place
            if left < -1 or top < -1 or right > width + 1 or bottom > height + 1:
                return f"{name} is not whole on the screen: {place}"
        boxes = seen["boxes"]
        share = sum(across * down for _, _, across, down in boxes) / (width * height)
        if len(boxes) != self.n_boxes or share < least:
            return f"{len(boxes)} boxes take {share:.1%} of the screen, not {self.n_boxes} and {least:.0%}"
        for left, top, across, down in boxes:
            if left < 0 or top < 0 or left + across > width or top + down > height:
                return f"a box is cut off: {(left, top, across, down)}"
        if len(seen["words"]) > most:
            return f"{len(seen['words'])} words are on the screen, not {most}: {' '.join(seen['words'])}"
        return ""

    def check(self, page: Page, sizes: Iterable[Size] = (), keys: Iterable[str] = ("",)) -> None:
        """Check the open page at some sizes, or at all; after each key on its slider."""
        wrong = {}
        for size, scheme in zip(sizes or self.sizes, cycle(SCHEMES), strict=False):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": size[0], "height": size[1]})
            for key in keys:
                if key:
                    page.get_by_role("slider").first.press(key)
                still(page)
                if fault := self.fault(self.look(page), size):
                    wrong[f"{size}, {scheme}, {key}"] = fault
                check_edge(page)
        page.set_viewport_size(SIZE)
        assert wrong == {}, wrong
