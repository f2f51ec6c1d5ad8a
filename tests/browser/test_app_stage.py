"""The stage: ε, finding, whole picture, both numbers, guarantee and play share the first screen, at every size."""

import re
from collections.abc import Iterable
from itertools import cycle, pairwise
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from dpviz.methods import CATALOGUE
from dpviz.stories.method import SHORT
from tests.browser.conftest import SIZE, visitor
from tests.browser.first_screen import WORDS_SEEN
from tests.browser.test_app import APP, SLOW, Server, check_edge, picture_of
from tests.browser.test_app_access import accessible, settled

pytestmark = [pytest.mark.browser, pytest.mark.still]

# px: least share of the screen that the public box takes, and most words on the screen
SIZES = {
    (1366, 768): (0.33, 100),
    (1280, 720): (0.33, 100),
    (1920, 1080): (0.40, 100),
    (390, 844): (0.37, 60),
    (844, 390): (0.24, 70),  # share limited by the height, with the whole navigation
}
PHONE = (390, 844)
# Color schemes change no place, so each size is tested in one scheme.
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
# Parts that must be seen whole.
PARTS = {
    "ε": ".epsilon",
    "finding": ".finding",
    "picture": "canvas",
    "risk": ".risk-value",
    "loss": ".loss-value",
    "guarantee": ".guarantee",
    "play": "button.play",
}
SEEN = (
    f"(parts) => {{ {WORDS_SEEN}"
    + """
  const { shadowRoot: root } = [...document.querySelectorAll("*")]
    .find((element) => element.shadowRoot?.querySelector(".dpviz-stage"));
  const places = {};
  for (const [name, selector] of Object.entries(parts)) {
    const { left, top, right, bottom } = root.querySelector(selector)?.getBoundingClientRect() ?? {};
    places[name] = [left, top, right, bottom];
  }
  const box = root.querySelector("[data-dpviz-box]").dataset.dpvizBox.split(" ").map(Number);
  const words = wordsSeen(root);
  return { places, box, words };
}"""
)
# While ε is dragged: the words on the screen at each frame, and the words that came with the visible picture.
FRAMES = """() => {
  const { shadowRoot: root } = [...document.querySelectorAll("*")]
    .find((element) => element.shadowRoot?.querySelector(".dpviz-stage"));
  window.frames_seen = [];
  const told = new Map();
  root.addEventListener("dpviz:drawn", ({ detail }) => {
    const scene = root.querySelector("[data-dpviz-scene]").dataset.dpvizScene;
    told.set(scene, detail.stage);
  });
  const text = (selector) => root.querySelector(selector)?.firstChild?.textContent ?? "";
  const look = () => {
    const scene = root.querySelector("[data-dpviz-scene]").dataset.dpvizScene;
    const words = told.get(scene);
    const agree = (said, selector) => said === text(selector);
    if (words) {
      window.frames_seen.push([scene, agree(words.finding, ".finding"), agree(words.risk.text, ".risk-value"),
        agree(words.loss.text, ".loss-value"), text(".epsilon")]);
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""

PLACE = '(dot) => ["cx", "cy"].map((name) => Number(dot.getAttribute(name)))'
# True if ε has swept to 10.
EXACT = """() => [...document.querySelectorAll("*")]
  .some(({ shadowRoot }) => shadowRoot?.querySelector(".dpviz-instrument")?.dataset.value === "10")"""


def opened(page: Page, server: Server, name: str, query: str = "") -> None:
    """Open a page and wait until nothing moves."""
    page.goto(f"{server(APP)}/{name}?{query}")
    picture_of(page)
    settled(page)


def followed(page: Page) -> None:
    """Wait until the page has followed the slider, and nothing moves."""
    value = float(page.locator(".dpviz-instrument").get_attribute("data-value") or "nan")
    expect(page).to_have_url(re.compile(rf"[?&]epsilon={value:g}(\.0)?(&|$)"), timeout=SLOW)
    settled(page)


def fault(seen: dict[str, Any], width: int, height: int, limits: tuple[float, int] | None = None) -> str:
    """Return the fault of a first screen, or an empty string."""
    least, most = limits or SIZES[width, height]
    for name, place in seen["places"].items():
        if None in place:
            return f"{name} is not there"
        left, top, right, bottom = place
        if left < -1 or top < -1 or right > width + 1 or bottom > height + 1:
            return f"{name} is not whole on the screen: {place}"
    _, top, across, down = seen["box"]
    share = across * down / (width * height)
    if share < least:
        return f"the box takes {share:.1%} of the screen, not {least:.0%}"
    if top < 0 or top + down > height:
        return f"the box is cut off: {seen['box']}"
    if len(seen["words"]) > most:
        return f"{len(seen['words'])} words are on the screen, not {most}: {' '.join(seen['words'])}"
    return ""


def check_screens(page: Page, name: str, sizes: Iterable[tuple[int, int]] = SIZES) -> None:
    """Check the first screen of an open page at some sizes."""
    wrong = {}
    for (width, height), scheme in zip(sizes, cycle(SCHEMES), strict=False):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(150)
        if said := fault(page.evaluate(SEEN, PARTS), width, height):
            wrong[f"{name}, {width} x {height}, {scheme}"] = said
        check_edge(page)
    page.set_viewport_size(SIZE)
    assert wrong == {}


def stays_in_sight(page: Page) -> None:
    """Scroll to the end on a phone, where ε stays in view."""
    page.set_viewport_size(dict(zip(("width", "height"), PHONE, strict=True)))
    page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, main.scrollHeight)")
    page.wait_for_timeout(300)
    _, top, _, bottom = page.evaluate(SEEN, PARTS)["places"]["ε"]
    assert 0 <= top < bottom <= 844, "ε has scrolled away on a phone"
    page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, 0)")
    page.set_viewport_size(SIZE)


def test_one_screen_has_it_all_of_every_method(page: Page, server: Server) -> None:
    """One reader goes from page to page, so that nothing loads again; axe checks the first page; one page is stepped.

    The first page is checked at every size, and each other page at the smallest size and at one more.
    """
    first, *others = CATALOGUE
    opened(page, server, first)
    check_screens(page, first)
    stays_in_sight(page)
    accessible(page, tabs="open")
    for name, size in zip(others, cycle(size for size in SIZES if size != PHONE), strict=False):
        page.set_viewport_size(SIZE)
        method = CATALOGUE[name]
        if method.targets is None:
            page.get_by_role("link", name=SHORT.get(name, method.title), exact=True).first.click()
            expect(page.get_by_role("heading", level=1)).to_have_text(method.title, timeout=SLOW)
            picture_of(page)
            settled(page)
        else:
            # The page opens with its own records if no others were chosen.
            opened(page, server, name)
        check_screens(page, name, (PHONE, size))
        if name == "dpm":
            step_back(page)


@pytest.mark.parametrize(
    ("name", "query", "sizes"),
    [
        ("dpm", "epsilon=10&audience=public", [(390, 844), (1920, 1080)]),
        ("source_target", "epsilon=0.1", [(390, 844), (1280, 720), (1366, 768), (1920, 1080)]),
    ],
)
def test_the_ends_of_epsilon_have_no_more_words(
    page: Page, server: Server, name: str, query: str, sizes: list[tuple[int, int]]
) -> None:
    opened(page, server, name, query)
    wrong = {}
    for width, height in sizes:
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(150)
        if said := fault(page.evaluate(SEEN, PARTS), width, height):
            wrong[f"{width} x {height}"] = said
        step = page.locator(".dpviz-stage .step")
        if step.is_visible() and not step.evaluate("step => step.scrollWidth <= step.clientWidth"):
            wrong[f"step, {width} x {height}"] = step.inner_text()
    page.set_viewport_size(SIZE)
    assert wrong == {}


def test_on_paper_the_picture_stands_below_the_words_which_have_the_whole_width(page: Page, server: Server) -> None:
    opened(page, server, "convergent_kmeans", "n=200")
    page.set_viewport_size({"width": 794, "height": 1123})  # A4
    page.emulate_media(media="print")
    finding, guarantee, picture = (
        page.locator(f".dpviz-stage {each}").first.bounding_box() for each in (".finding", ".guarantee", ".pic")
    )
    assert finding is not None
    assert guarantee is not None
    assert picture is not None
    assert finding["width"] > 600
    assert finding["height"] < 100, "two lines"
    assert guarantee["y"] + guarantee["height"] < picture["y"] + 1
    expect(page.locator(".dpviz-stage .ends")).to_be_hidden()
    page.emulate_media(media="null")
    page.set_viewport_size(SIZE)


def test_the_public_law_is_a_straight_line_to_both_ends_of_the_slider(page: Page, server: Server) -> None:
    opened(page, server, "nd_laplace", "epsilon=10&audience=public")
    path = page.locator(".dpviz-instrument .middle").get_attribute("d") or ""
    heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", path)]
    assert len(heights) > 20
    assert all(low < high for low, high in pairwise(heights)), "1/ε has no flat end"


HOME = {(1366, 768): (0.28, 80), (1280, 720): (0.28, 80), (1920, 1080): (0.33, 80), (390, 844): (0.35, 60)}


def test_home_shows_its_question_its_picture_and_a_way_to_begin_on_one_screen(page: Page, server: Server) -> None:
    opened(page, server, "")
    parts = {name: PARTS[name] for name in ("ε", "finding", "picture")}
    parts |= {"begin": ".begin", "attackers": ".people", "lens": ".lens"}
    wrong = {}
    for (width, height), limits in HOME.items():
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(150)
        if said := fault(page.evaluate(SEEN, parts), width, height, limits):
            wrong[f"{width} x {height}"] = said
    assert wrong == {}
    page.set_viewport_size(SIZE)
    accessible(page)


def test_what_stands_below_the_stage_is_not_seen_in_its_place_before_it_is_there(
    browser: Browser, server: Server
) -> None:
    # A new page does not have the stage's script yet.
    page = visitor(browser, viewport={"width": 1366, "height": 768}).new_page()
    held: list[Route] = []
    freed: list[bool] = []
    page.route(re.compile(r"/stage\.js"), lambda route: route.continue_() if freed else held.append(route))
    page.goto(server(APP))
    methods, first = page.locator(".st-key-home-methods"), page.locator("#dpviz-first")
    expect(methods).to_be_attached(timeout=SLOW)
    page.wait_for_function("() => !document.querySelector('[data-test-script-state=running]')", timeout=SLOW)
    page.wait_for_timeout(300)
    expect(first).to_be_visible()
    assert held, "the stage is on its way"
    waiting, screen = methods.bounding_box(), page.locator(".st-key-home-top").bounding_box()
    assert waiting is not None
    assert screen is not None
    assert waiting["y"] > screen["y"] + 500, "nor in its place where the reader comes from another page"
    for route in held:
        route.continue_()
    freed.append(True)
    picture_of(page)
    expect(first).to_be_hidden()
    there = methods.bounding_box()
    assert there is not None
    assert abs(there["y"] - waiting["y"]) < 12, "it stays where it was"
    # No stage comes, so the page waits for none.
    page.goto(f"{server(APP)}/dpm?data=upload")
    expect(page.locator(".st-key-dpviz-form")).to_be_attached(timeout=SLOW)
    expect(first).to_be_hidden(timeout=8_000)
    expect(page.locator(".st-key-dpviz-form")).to_be_visible()
    page.context.close()


# Long runs only: methods' pages have the same parts, which axe sees above. This test opens every chart of every tab.
@pytest.mark.slow
@pytest.mark.parametrize("name", CATALOGUE)
def test_axe_finds_nothing_serious_in_any_tab_of_any_method(page: Page, server: Server, name: str) -> None:
    opened(page, server, name)
    accessible(page, tabs="all")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "morse" else pytest.mark.slow) for name in CATALOGUE]
)
def test_a_room_sees_it_all_on_one_screen(page: Page, server: Server, name: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    opened(page, server, name, "size=projector")
    assert fault(page.evaluate(SEEN, PARTS), 1280, 720) == ""
    check_edge(page)


def test_what_is_cut_off_is_noticed() -> None:
    whole: dict[str, Any] = {
        "places": {name: [10, 10, 100, 100] for name in PARTS},
        "box": [600, 60, 612, 612],
        "words": ["word"] * 100,
    }
    assert fault(whole, 1366, 768) == ""
    for name in PARTS:
        assert fault({**whole, "places": {**whole["places"], name: [10, 700, 100, 780]}}, 1366, 768)
        assert fault({**whole, "places": {**whole["places"], name: [None] * 4}}, 1366, 768)
    assert "30.5%" in fault({**whole, "box": [600, 60, 566, 566]}, 1366, 768)
    assert "cut off" in fault({**whole, "box": [600, 200, 612, 612]}, 1366, 768)
    assert "101 words" in fault({**whole, "words": ["word"] * 101}, 1366, 768)


def test_words_numbers_and_picture_agree_in_every_frame_of_a_drag_and_k_and_audience_stand_on_the_stage(
    page: Page, server: Server
) -> None:
    opened(page, server, "convergent_kmeans", "tab=read&audience=curator")
    page.evaluate(FRAMES)
    drawing = page.locator(".dpviz-instrument svg")
    box = drawing.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] - 60
    page.mouse.move(box["x"] + 0.5 * box["width"], y)
    page.mouse.down()
    for step in range(24):
        page.mouse.move(box["x"] + (0.5 - 0.015 * step) * box["width"], y)
        page.wait_for_timeout(60)
        if page.evaluate("new Set(window.frames_seen.map(([scene]) => scene)).size") > 8:
            # A quiet machine gets here early.
            break
    page.mouse.up()
    followed(page)
    frames = page.evaluate("() => window.frames_seen")
    assert len({scene for scene, *_ in frames}) > 5, "the picture has followed"
    assert len({epsilon for *_, epsilon in frames}) > 5
    assert [each for each in frames if not all(each[1:4])] == []
    at, _ = page.locator(".dpviz-instrument .dot.released").evaluate(PLACE)
    page.get_by_role("slider", name="ε").press("End")
    expect(page.locator(".dpviz-instrument")).to_have_attribute("data-value", "20")
    followed(page)
    _, foot = page.locator(".dpviz-instrument .dot.released").evaluate(PLACE)
    been = dict(page.locator(".dpviz-instrument .been").evaluate_all(f"dots => dots.map({PLACE})"))
    assert been[at] < foot - 10, "what was lost at an ε stays there"

    picture = picture_of(page)
    before = picture.get_attribute("data-dpviz-scene")
    page.get_by_role("button", name="More: k").click()
    expect(picture).not_to_have_attribute("data-dpviz-scene", before or "", timeout=SLOW)
    expect(page.locator(".dpviz-stage .count output")).to_have_text("k = 6")
    expect(page).to_have_url(re.compile("n_clusters=6"))

    before = picture.get_attribute("data-dpviz-scene")
    page.get_by_role("radio", name="Everyone").click()
    expect(picture).not_to_have_attribute("data-dpviz-scene", before or "", timeout=SLOW)
    expect(page).to_have_url(re.compile("audience=public"))
    expect(page.get_by_role("radio", name="Everyone")).to_be_checked()
    assert "secret" not in picture.inner_text().lower()


def step_back(page: Page) -> None:
    """Step back, which changes the finding, and open the card with the reason."""
    finding = page.locator(".dpviz-stage .finding")
    at_the_end = finding.inner_text()
    step = page.get_by_role("slider", name="Step")
    step.press("Home")
    expect(finding).not_to_have_text(at_the_end)
    expect(page.locator(".loss-value")).to_contain_text("at the end")
    step.press("End")
    expect(finding).to_have_text(at_the_end)
    card = page.locator("#dpviz-why")
    expect(card).to_be_hidden()
    page.get_by_role("button", name="Details of the guarantee").click()
    expect(card).to_be_visible()
    expect(card).to_contain_text("Guarantee")
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()


def test_epsilon_sweeps_once_on_a_first_visit_and_a_touch_ends_it(browser: Browser, server: Server) -> None:
    # The page of a visitor who was never here.
    page = browser.new_context(viewport=SIZE).new_page()
    page.goto(f"{server(APP)}/dpm")
    picture_of(page)
    instrument = page.locator(".dpviz-instrument")
    # Test at every frame, because the sweep is over in a moment.
    page.wait_for_function(EXACT, timeout=SLOW)
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press("Tab")
    page.locator(".dpviz-instrument .reading").click()
    expect(page.get_by_role("button", name="Pause")).to_be_hidden()
    stopped = instrument.get_attribute("data-value")
    page.wait_for_timeout(1000)
    assert instrument.get_attribute("data-value") == stopped
    page.goto(f"{server(APP)}/convergent_kmeans")
    picture_of(page)
    page.wait_for_timeout(2000)
    expect(page.locator(".dpviz-instrument")).to_have_attribute("data-value", "1")
    page.context.close()
