"""The stage: ε, headline, picture, steps and odds share the first screen of every page, on every size of it."""

import re
from itertools import cycle
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, expect

from dpviz.methods import CATALOGUE
from tests.browser.conftest import SIZE
from tests.browser.test_app import APP, SLOW, Server
from tests.browser.test_app_access import WITH_A_STAGE, accessible, settled

pytestmark = [pytest.mark.browser, pytest.mark.still]

SIZES = {(1366, 768): 0.33, (1280, 720): 0.30, (1920, 1080): 0.30, (390, 844): 0.0}  # px: least share of the canvases
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")  # change no place: each size is looked at in one
# What must be seen whole, and where: each is [name, left, top, right, bottom] in CSS pixels of the screen.
SEEN = """() => {
  const found = [];
  const add = (name, box) => {
    if (box.width && box.height) found.push([name, box.left, box.top, box.right, box.bottom]);
  };
  const walk = (root) => {
    root.querySelectorAll("*").forEach((one) => {
      if (one.shadowRoot) walk(one.shadowRoot);
      if (one.matches(".st-key-dpviz-strip, .dpviz-sentence, .scrubber, .st-key-dpviz-row h1"))
        add(one.className || one.tagName, one.getBoundingClientRect());
      if (one.matches("canvas") && one.closest(".dpviz-live[data-dpviz-key]")) add(
        `canvas ${one.closest(".dpviz-live").dataset.dpvizKey}`, one.getBoundingClientRect());
      for (const text of one.childNodes) {
        if (text.nodeType !== Node.TEXT_NODE || !/in 100/.test(text.data) || !one.checkVisibility()) continue;
        if (one.closest("table, .unseen, script, style")) continue;
        const range = document.createRange();
        range.selectNodeContents(text);
        add("in 100", range.getBoundingClientRect());
      }
    });
  };
  walk(document);
  return found;
}"""
WIDTHS = """() => [document.documentElement, document.querySelector("[data-testid=stMain]")]
  .map((element) => [element.scrollWidth, element.clientWidth])"""
# With many clusters the legend is long, and the steps must stay where they are.
QUERIES = {
    "audit": "audit_runs=200",
    "compare": "n=600&compare_runs=10",
    "convergent_kmeans": "n=600&n_clusters=30&tab=budgets",
}
LATER = ("dpm", "source_target")  # one picture and its steps, as on morse's page: left to long runs
STAGED = {"picture", "other", "attack"}  # keys of the canvases that are the stage's


def seen(page: Page, width: int, height: int) -> dict[str, list[tuple[bool, float]]]:
    """Return what is on the page: name -> (whether all of it is on the screen, its share of the screen)."""
    found: dict[str, list[tuple[bool, float]]] = {}
    for name, left, top, right, bottom in page.evaluate(SEEN):
        inside = left >= -1 and top >= -1 and right <= width + 1 and bottom <= height + 1
        found.setdefault(name, []).append((inside, (right - left) * (bottom - top) / (width * height)))
    return found


def fault(found: dict[str, list[tuple[bool, float]]], least: float, *, steps: bool) -> str:
    """Return what a first screen lacks, or nothing; without a least share, a second picture may stand below."""
    wanted = ["st-key-dpviz-strip", "dpviz-sentence", "canvas picture", *(["scrubber"] if steps else [])]
    for each in wanted:
        places = [places for name, places in found.items() if each in name]
        if not places or not places[0][0][0]:
            return f"{each} is not on the first screen: {found}"
    if not any(inside for inside, _ in found.get("in 100", ())):
        return f"no odds are on the first screen: {found}"
    staged = [places[0] for name, places in found.items() if name.removeprefix("canvas ") in STAGED]
    if least > 0 and not all(inside for inside, _ in staged):
        return f"a picture is cut off: {found}"
    share = sum(share for _, share in staged)
    return "" if share >= least else f"the pictures fill {share:.1%} of the screen, not {least:.0%}"


@pytest.mark.parametrize(
    ("name", "tabs"),
    [
        *((name, "open") for name in WITH_A_STAGE if name not in LATER),
        *(pytest.param(name, "open", marks=pytest.mark.slow) for name in LATER),
        *(pytest.param(name, "all", marks=pytest.mark.slow) for name in WITH_A_STAGE),
    ],
)
def test_one_screen_has_it_all_and_axe_finds_nothing_serious(
    page: Page, server: Server, name: str, tabs: Literal["all", "open"]
) -> None:
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(f"{server(APP)}/{name}?{QUERIES.get(name, 'n=600')}")  # enough for two clusters
    expect(page.locator(".dpviz-live[data-dpviz-key=picture]").first).to_have_attribute(
        "data-dpviz-drawn", re.compile("[1-9]"), timeout=2 * SLOW
    )
    settled(page)
    heading = page.get_by_role("heading", level=1).inner_text()
    expect(page).to_have_title(f"{heading} · dpviz")
    wrong = {}
    for (width, height), scheme in zip(SIZES, cycle(SCHEMES), strict=False):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(300)
        said = fault(seen(page, width, height), SIZES[width, height], steps=name in CATALOGUE)
        content, room = max(page.evaluate(WIDTHS), key=lambda pair: pair[0] - pair[1])
        if said or content > room:
            wrong[f"{width} x {height}, {scheme}"] = said or f"scrolls sideways: {content} in {room}"
    assert wrong == {}
    for width, height in ((390, 844), (1366, 768)):
        page.set_viewport_size({"width": width, "height": height})
        page.locator("[data-testid=stMain]").evaluate("main => main.scrollTo(0, main.scrollHeight)")
        page.wait_for_timeout(300)
        strip = next(found for each, found in seen(page, width, height).items() if "st-key-dpviz-strip" in each)
        assert all(inside for inside, _ in strip), f"ε has scrolled away at {width} px"
    page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, 0)")
    page.set_viewport_size(SIZE)
    accessible(page, tabs=tabs)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "morse" else pytest.mark.slow) for name in CATALOGUE]
)
def test_a_room_sees_it_all_on_one_screen(page: Page, server: Server, name: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{server(APP)}/{name}?size=projector")
    expect(page.locator(".dpviz-live[data-dpviz-key=picture]").first).to_have_attribute(
        "data-dpviz-drawn", re.compile("[1-9]"), timeout=2 * SLOW
    )
    settled(page)
    assert fault(seen(page, 1280, 720), 0.0, steps=True) == ""
    content, room = page.locator(".st-key-dpviz-row").evaluate("row => [row.scrollWidth, row.clientWidth]")
    assert content <= room, "a control is cut off"


def test_what_is_cut_off_is_noticed() -> None:
    whole: dict[str, Any] = {
        "st-key-dpviz-strip": [(True, 0.1)],
        "dpviz-sentence": [(True, 0.1)],
        "canvas picture": [(True, 0.4)],
        "scrubber": [(True, 0.05)],
        "in 100": [(False, 0.01), (True, 0.01)],
    }
    assert fault(whole, 0.33, steps=True) == ""
    for name in whole:
        assert fault({**whole, name: [(False, 0.4)]}, 0.33, steps=True)
        assert fault({each: places for each, places in whole.items() if each != name}, 0.33, steps=True)
    assert "40.0%" in fault(whole, 0.41, steps=True)
    assert "cut off" in fault({**whole, "canvas attack": [(False, 0.2)]}, 0.33, steps=True)
