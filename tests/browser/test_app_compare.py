"""The Compare page in a browser: it opens finished, a move changes all of it at once, and a map leads to its run."""

import re
from dataclasses import replace

import pytest
from playwright.sync_api import Locator, Page, expect

from dpviz.tools.compare.runs import ENTRIES
from tests.browser.conftest import SIZE
from tests.browser.first_screen import FirstScreen
from tests.browser.servers import Server
from tests.browser.test_app import APP, behind, picture_of, switch
from tests.browser.test_app_access import accessible
from tests.browser.test_app_uploads import csv, uploaded
from tests.browser.waiting import SLOW, box_of, next_frame

pytestmark = pytest.mark.still

FEW = "&".join(["n=300", *(f"with_{key}={int(key in ('dplloyd', 'eugkm'))}" for key in ENTRIES)])

SCREEN = FirstScreen(
    ".dpviz-compare",
    (".finding", ".maps", ".frame", ".why", ".seen"),
    {(1366, 768): (0.33, 100), (1280, 720): (0.33, 100), (1920, 1080): (0.4, 100), (390, 844): (0.37, 60)},
    n_boxes=35,
)
# The texts beside the rows and in the head, and the framed column, at every frame while ε is dragged.
FRAMES = """() => {
  const { shadowRoot: root } = [...document.querySelectorAll("*")]
    .find((element) => element.shadowRoot?.querySelector(".dpviz-compare"));
  window.frames_seen = [];
  const look = () => {
    const input = root.querySelector("input[type=range]");
    const text = (selector) => root.querySelector(selector).textContent;
    window.frames_seen.push([input.value, input.getAttribute("aria-valuetext"), text(".now"), text(".finding"),
      [...root.querySelectorAll(".number")].map((number) => number.textContent).join(" "),
      root.querySelector(".price.here").textContent]);
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""

# The box of a row's map at ε = 1.
MAP_AT_ONE = """(button) => {
  let cell = button;
  for (let i = 0; i < 4; i += 1) cell = cell.nextElementSibling;
  return cell.dataset.dpvizBox.split(" ").map(Number);
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


def test_everything_shares_the_first_screen_and_all_numbers_are_those_of_one_epsilon_while_it_is_dragged(
    page: Page, server: Server
) -> None:
    page.goto(f"{server(APP)}/compare")
    stays_in_reach(page)
    dragged(page)
    on_the_first_screen(page)
    accessible(page, tabs="open")


def on_the_first_screen(page: Page) -> None:
    """See all maps, numbers and prices whole, with few words, for both audiences; a phone has four of the columns."""
    for audience in ("Curator", "Everyone"):
        button = page.get_by_role("button", name=audience, exact=True)
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true", timeout=SLOW)
        *large, phone = SCREEN.sizes
        SCREEN.check(page, large, keys=("End", "Home"))
        replace(SCREEN, n_boxes=20).check(page, [phone], keys=("End", "Home"))


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


def dragged(page: Page) -> None:
    """Drag ε, see the same value of it throughout every frame, and open the help on valid comparisons."""
    stage = stage_of(page)
    slider = stage.get_by_role("slider")
    slider.press("End")
    columns = [box_of(each) for each in stage.locator(".price").all()]
    page.evaluate(FRAMES)
    end, top, _, _ = columns[-1]
    page.mouse.move(end + 10, top - 60)
    page.mouse.down()
    for i in range(20):
        page.mouse.move(end + 10 - (end - columns[0][0]) * i / 19, top - 60)
        next_frame(page)
    page.mouse.up()
    seen = page.evaluate("() => window.frames_seen")
    said = {value: tuple(rest) for value, *rest in seen}
    assert len(said) == len(columns), "it was not dragged across all columns"
    for value, *rest in seen:
        spoken, now, _, numbers, price = rest
        assert tuple(rest) == said[value], "a frame shows two values of ε"
        assert price.endswith(now.removeprefix("ε = ")), "the frame is around another column"
        assert spoken.startswith(now.replace("=", "").replace("  ", " ")), (spoken, now)
        assert all(number.rstrip("×") in spoken for number in numbers.split())
    framed, column = box_of(stage.locator(".frame")), box_of(stage.locator(".price.here"))
    assert abs(framed[0] + framed[2] / 2 - column[0] - column[2] / 2) < 2
    assert stage.get_attribute("data-index") == "0"
    slider.press("ArrowRight")
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
    # A click on a map chooses its column and its row.
    left, top, across, down = stage.get_by_role("button", name=re.compile("^DPM, repaired")).evaluate(MAP_AT_ONE)
    page.mouse.click(left + across / 2, top + down / 2)
    expect(page).to_have_url(re.compile("chosen=dpm"), timeout=SLOW)
    expect(page.get_by_text("Chosen: DPM, repaired, ε = 1")).to_be_visible(timeout=SLOW)
    # The button is far below the fold.
    page.get_by_role("button", name="Open it on its page").click(timeout=SLOW)
    expect(page).to_have_url(re.compile(r"/dpm\?.*noise_seed="), timeout=SLOW)
    _, top, _, high = box_of(picture_of(page))
    assert 0 <= top < top + high <= size[1], "the whole picture is in sight"


def test_what_the_public_opens_is_in_the_address_and_a_file_is_under_way_from_the_click_on(
    page: Page, server: Server
) -> None:
    page.goto(f"{server(APP)}/compare?{FEW}&audience=public")
    save = page.get_by_role("button", name="Save as HTML")
    with page.expect_download(timeout=SLOW):
        for _ in range(2):
            save.click(timeout=SLOW)
            expect(page.get_by_role("status").filter(has_text="The file is on its way.")).to_have_count(1)
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
    said = page.get_by_text(f"k = {k} comes from a private curve, which spent ε = 1.")
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
