"""The Compare page in a browser: it opens finished, a move changes all of it at once, and a map leads to its run."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from dpviz.tools.compare.runs import ENTRIES
from tests.browser.conftest import SIZE
from tests.browser.first_screen import WORDS_SEEN
from tests.browser.test_app import APP, behind, picture_of, switch
from tests.browser.test_app_access import accessible
from tests.browser.test_app_uploads import csv, uploaded

pytestmark = [pytest.mark.browser, pytest.mark.still]

Server = Callable[[str], str]
SLOW = 120_000  # ms
FEW = "&".join(["n=300", *(f"with_{key}={int(key in ('dplloyd', 'eugkm'))}" for key in ENTRIES)])

# px: least share of the screen that the five maps take together, and most words on the screen
SIZES = {(1366, 768): (0.28, 100), (1280, 720): (0.28, 100), (1920, 1080): (0.28, 100), (390, 844): (0.17, 60)}
# Parts that must be seen whole, on a phone as well.
PARTS = (".finding", ".maps", ".tool", ".thumb", ".why", ".seen")
SEEN = (
    f"(parts) => {{ {WORDS_SEEN}"
    + """
  const { shadowRoot: root } = [...document.querySelectorAll("*")]
    .find((element) => element.shadowRoot?.querySelector(".dpviz-compare"));
  const places = Object.fromEntries(parts.map((part) => {
    const { left, top, right, bottom } = root.querySelector(part).getBoundingClientRect();
    return [part, [left, top, right, bottom]];
  }));
  const boxes = [...root.querySelectorAll("[data-dpviz-box]")]
    .map((map) => map.dataset.dpvizBox.split(" ").map(Number));
  const words = wordsSeen(root);
  return { places, boxes, words };
}"""
)
# The texts under the first map, in the head and at the thumb, at every frame while ε is dragged.
FRAMES = """() => {
  const { shadowRoot: root } = [...document.querySelectorAll("*")]
    .find((element) => element.shadowRoot?.querySelector(".dpviz-compare"));
  window.frames_seen = [];
  const look = () => {
    const input = root.querySelector("input[type=range]");
    const text = (selector) => root.querySelector(selector).textContent;
    window.frames_seen.push([input.value, input.getAttribute("aria-valuetext"), text(".now"), text(".finding"),
      [...root.querySelectorAll(".number")].map((number) => number.textContent).join(" ")]);
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""

# True if no map has ink inside of its border.
BLANK = """() => {
  const { shadowRoot: root } = [...document.querySelectorAll("*")]
    .find((element) => element.shadowRoot?.querySelector(".dpviz-compare")) ?? {};
  return [...root?.querySelectorAll("canvas") ?? []].every((canvas) => {
    const [width, height] = [canvas.width - 20, canvas.height - 20];
    if (width < 1 || height < 1 || !canvas.checkVisibility()) return true;
    const { data } = canvas.getContext("2d").getImageData(10, 10, width, height);
    const blank = data.slice(0, 3);
    return data.every((value, i) => i % 4 === 3 || Math.abs(value - blank[i % 4]) <= 12);
  });
}"""


def stage_of(page: Page) -> Locator:
    """Return the stage, drawn."""
    stage = page.locator(".dpviz-compare")
    expect(stage.locator("[data-dpviz-box]").first).to_be_visible(timeout=SLOW)
    return stage


def fault(seen: dict[str, Any], width: int, height: int) -> str:
    """Return the fault of a first screen, or an empty string."""
    least, most = SIZES[width, height]
    for name, (left, top, right, bottom) in seen["places"].items():
        if left < -1 or top < -1 or right > width + 1 or bottom > height + 1:
            return f"{name} is not whole on the screen: {(left, top, right, bottom)}"
    share = sum(across * down for _, _, across, down in seen["boxes"]) / (width * height)
    if len(seen["boxes"]) != 5 or share < least:
        return f"{len(seen['boxes'])} maps take {share:.1%} of the screen, not 5 and {least:.0%}"
    if len(seen["words"]) > most:
        return f"{len(seen['words'])} words are on the screen, not {most}: {' '.join(seen['words'])}"
    return ""


def test_everything_shares_the_first_screen_and_all_numbers_are_those_of_one_epsilon_while_it_is_dragged(
    page: Page, server: Server
) -> None:
    page.goto(f"{server(APP)}/compare")
    stays_in_reach(page)
    dragged(page)
    on_the_first_screen(page)
    accessible(page, tabs="open")


def on_the_first_screen(page: Page) -> None:
    """See maps, numbers and chart whole, with few words, at every size, for the curator and for everyone."""
    faults = []
    for audience in ("Curator", "Everyone"):
        page.get_by_role("button", name=audience, exact=True).click()
        expect(page.get_by_role("button", name=audience, exact=True)).to_have_attribute(
            "aria-pressed", "true", timeout=SLOW
        )
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_timeout(200)
            for key in ("Home", "End"):
                page.get_by_role("slider").press(key)
                page.wait_for_timeout(100)
                if found := fault(page.evaluate(SEEN, PARTS), width, height):
                    faults.append(f"{width} x {height}, {audience}, {key}: {found}")
    page.set_viewport_size(SIZE)
    assert not faults, "\n".join(faults)


def test_the_number_of_the_law_does_not_stand_on_the_track(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/compare?compare_at=0.1&audience=public")
    stage = stage_of(page)
    for size in ({"width": 1366, "height": 768}, {"width": 390, "height": 844}):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        page.wait_for_timeout(200)
        number, thumb = (stage.locator(each).bounding_box() for each in (".law-number", ".thumb"))
        assert number is not None
        assert thumb is not None
        assert number["y"] + number["height"] < thumb["y"] + 8, size
    page.set_viewport_size(SIZE)


def stays_in_reach(page: Page) -> None:
    """Scroll on a phone: ε is in a dock whenever its own slider is out of sight."""
    page.set_viewport_size({"width": 390, "height": 844})
    stage = stage_of(page)
    # The visible slider: the other one is hidden.
    slider = stage.get_by_role("slider")
    expect(slider).to_have_count(1)
    expect(stage.locator(".dock")).to_be_hidden()
    page.locator('[data-testid="stMain"]').evaluate("(main) => main.scrollTo(0, main.scrollHeight)")
    expect(stage.locator(".dock")).to_be_in_viewport(ratio=1)
    before = stage.get_attribute("data-value")
    slider.and_(stage.locator(".dock input")).press("ArrowLeft")
    expect(stage).not_to_have_attribute("data-value", before or "")
    expect(stage.locator(".dock output")).to_have_text(f"ε = {stage.get_attribute('data-value')}")
    page.locator('[data-testid="stMain"]').evaluate("(main) => main.scrollTo(0, 0)")
    expect(stage.locator(".dock")).to_be_hidden()
    page.set_viewport_size({"width": 844, "height": 390})
    expect(stage.locator(".dock")).to_be_in_viewport(ratio=1)
    page.set_viewport_size(SIZE)
    expect(stage.locator(".dock")).to_be_hidden()


def test_a_screen_that_lacks_something_is_noticed() -> None:
    whole: dict[str, Any] = {
        "places": {part: [40, 60, 1300, 700] for part in PARTS},
        "boxes": [[40 + 250 * i, 100, 247, 247] for i in range(5)],
        "words": ["word"] * 100,
    }
    assert fault(whole, 1366, 768) == ""
    assert "whole" in fault(whole | {"places": whole["places"] | {".foot": [0, 740, 90, 790]}}, 1366, 768)
    assert "maps" in fault(whole | {"boxes": whole["boxes"][1:]}, 1366, 768)
    assert "words" in fault(whole | {"words": ["word"] * 101}, 1366, 768)


def dragged(page: Page) -> None:
    """Drag ε, see the same value of it throughout every frame, and open the help on valid comparisons."""
    stage = stage_of(page)
    chart = stage.locator(".tool").bounding_box()
    assert chart is not None
    page.evaluate(FRAMES)
    page.mouse.move(chart["x"] + 0.5 * chart["width"], chart["y"] + 60)
    page.mouse.down()
    for i in range(20):
        page.mouse.move(chart["x"] + (0.5 - 0.018 * i) * chart["width"], chart["y"] + 60)
        page.wait_for_timeout(30)
    page.mouse.up()
    seen = page.evaluate("() => window.frames_seen")
    said = {value: tuple(rest) for value, *rest in seen}
    assert len(said) > 5, "it was not dragged"
    for value, *rest in seen:
        spoken, now, finding, numbers = rest
        assert (spoken, now, finding, numbers) == said[value], "a frame shows two values of ε"
        assert spoken.startswith(now.replace("=", "").replace("  ", " ")), (spoken, now)
        assert all(number.rstrip("×") in spoken for number in numbers.split())
    at = stage.get_attribute("data-value")
    # The page follows when the slider rests.
    expect(page).to_have_url(re.compile(rf"compare_at={at}"), timeout=SLOW)

    page.get_by_role("button", name="What may be compared?").click()
    expect(page.get_by_role("dialog")).to_contain_text("Choosing ε")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


@pytest.mark.parametrize("size", [pytest.param((1366, 768), marks=pytest.mark.slow), (390, 844)])
def test_a_map_leads_to_the_picture_of_its_run_on_its_own_page(
    page: Page, server: Server, size: tuple[int, int]
) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{server(APP)}/compare?chosen=none")
    stage = stage_of(page)
    stage.get_by_role("button", name=re.compile("^DPM, repaired")).click()
    expect(page).to_have_url(re.compile("chosen=dpm"), timeout=SLOW)
    expect(page.get_by_text("Chosen: DPM, repaired, ε = 1")).to_be_visible(timeout=SLOW)
    # The button is far below the fold.
    page.get_by_role("button", name="Open it on its page").click(timeout=SLOW)
    expect(page).to_have_url(re.compile(r"/dpm\?.*noise_seed="), timeout=SLOW)
    box = picture_of(page).bounding_box()
    assert box is not None
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= size[1], "the whole picture is in sight"


# Long runs only: tests/pages stop a search, and test_app_audit stops runs in every run.
@pytest.mark.slow
def test_runs_are_stopped_go_on_and_one_is_opened_on_its_page(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/compare?{FEW}&compare_runs=30&compare_grid=many")
    page.get_by_role("button", name="Stop", exact=True).click(timeout=SLOW)
    expect(page.get_by_text(re.compile(r"Stopped: \d+ of \d+ parts"))).to_be_visible(timeout=SLOW)
    page.get_by_role("button", name="Go on").click()
    expect(page.locator(".dpviz-wait")).to_be_hidden(timeout=SLOW)
    stage_of(page).get_by_role("button", name=re.compile("^DPLloyd")).click()
    expect(page).to_have_url(re.compile("chosen=dplloyd"), timeout=SLOW)
    page.get_by_role("button", name="Open it on its page").click(timeout=SLOW)
    expect(page).to_have_url(re.compile(r"/convergent_kmeans\?.*mode=dplloyd"), timeout=SLOW)
    expect(page.get_by_role("heading", level=1)).to_have_text("Convergent k-means")
    expect(page).to_have_url(re.compile("n=300"))
    expect(page.locator("[data-testid=stException]")).to_have_count(0)


def test_what_the_public_opens_is_in_the_address(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/compare?{FEW}&audience=public")
    expect(page).to_have_url(re.compile("audience=public"), timeout=SLOW)
    behind(page, "more")
    switch(page, "100")
    expect(page).to_have_url(re.compile("compare_runs=100"), timeout=SLOW)
    expect(page.locator(".dpviz-live")).to_have_count(0)
    expect(page.locator("[data-testid=stException]")).to_have_count(0)


def test_a_k_that_is_taken_stands_on_the_whole_page_and_stays(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/compare?{FEW}&compare_runs=10&compare_tab=clusters&n_clusters=9&k_known=0&k_epsilon=1.0")
    stage_of(page)
    menu = page.locator(".st-key-dpviz-more button").first
    slider = page.get_by_role("slider", name="Clusters k")
    # From now on the browser knows the slider, even if it does not draw it.
    menu.click(timeout=SLOW)
    expect(slider).to_have_value("9")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Draw a private curve").click(timeout=SLOW)
    use = page.get_by_role("button", name=re.compile(r"^Use k = \d+$"))
    expect(use).to_be_visible(timeout=SLOW)
    k = re.sub(r"\D", "", use.inner_text())
    assert k != "9", "else this test shows nothing"
    use.click()
    said = page.get_by_text(f"k = {k} was read off a private curve, which spent ε = 1.")
    expect(said).to_be_visible(timeout=SLOW)
    # Another script run, with which a closed menu sends its values.
    page.get_by_role("tab", name="Numbers").click()
    # A link leaves out defaults: the tab, and a k that is the number of groups.
    expect(page).not_to_have_url(re.compile("compare_tab=|n_clusters=9"), timeout=SLOW)
    expect(page).to_have_url(re.compile("k_curve=1"))
    expect(said).to_be_visible()
    menu.click()
    expect(slider).to_have_value(k)


def test_of_an_upload_everyone_sees_no_center_that_the_curator_saw(page: Page, server: Server) -> None:
    """The maps keep their contents while an answer is on its way, and nothing appears that was not released."""
    uploaded(page, server, csv())
    page.get_by_role("link", name="Compare", exact=True).first.click()
    stage = stage_of(page)
    # The map with this number has its center.
    expect(stage.locator(".number").first).to_have_text(re.compile("×"), timeout=3 * SLOW)
    stage.get_by_role("button", name="Everyone", exact=True).click()
    expect(stage.get_by_role("button", name="Everyone", exact=True)).to_have_attribute(
        "aria-pressed", "true", timeout=SLOW
    )
    page.wait_for_function(BLANK, timeout=5_000)
