"""The stage: ε, finding, whole picture, both numbers, guarantee and play share the first screen, at every size."""

import re
from dataclasses import replace
from itertools import cycle

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from dpviz.methods import CATALOGUE
from dpviz.stories.method import SHORT
from tests.browser.conftest import SIZE, visitor
from tests.browser.first_screen import FirstScreen, Size
from tests.browser.servers import Server
from tests.browser.test_app import APP, picture_of
from tests.browser.test_app_access import accessible
from tests.browser.waiting import MANY_FRAMES, SLOW, at_rest, box_of, next_frame, settled, still

pytestmark = pytest.mark.still

PHONE = (390, 844)
SCREEN = FirstScreen(
    ".dpviz-stage",
    (".epsilon", ".finding", "canvas", ".risk-value", ".loss-value", ".guarantee", "button.play"),
    {
        (1366, 768): (0.33, 100),
        (1280, 720): (0.33, 100),
        (1920, 1080): (0.40, 100),
        PHONE: (0.37, 60),
        # The height limits the share, and the navigation is whole.
        (844, 390): (0.24, 70),
    },
)
HOME = FirstScreen(
    ".dpviz-stage",
    (".epsilon", ".finding", "canvas", ".begin", ".people", ".lens"),
    {(1366, 768): (0.28, 80), (1280, 720): (0.28, 80), (1920, 1080): (0.33, 80), PHONE: (0.35, 60)},
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


def stays_in_sight(page: Page) -> None:
    """Scroll to the end on a phone, where ε stays in view."""
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, main.scrollHeight)")
    still(page)
    _, top, _, bottom = SCREEN.look(page)["places"][".epsilon"]
    assert 0 <= top < bottom <= 844, "ε has scrolled away on a phone"
    page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, 0)")
    page.set_viewport_size(SIZE)


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


def test_one_screen_has_it_all_of_every_method(page: Page, server: Server) -> None:
    """One reader goes from page to page, so that nothing loads again; axe checks the first page; one page is stepped.

    The first page is checked at every size, and each other page at the smallest size and at one more.
    """
    first, *others = CATALOGUE
    opened(page, server, first)
    SCREEN.check(page)
    stays_in_sight(page)
    accessible(page, tabs="open")
    for name, size in zip(others, cycle(size for size in SCREEN.sizes if size != PHONE), strict=False):
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
        SCREEN.check(page, (PHONE, size))
        if name == "dpm":
            step_back(page)


@pytest.mark.parametrize(
    ("name", "query", "sizes"),
    [
        ("dpm", "epsilon=10&audience=public", [PHONE, (1920, 1080)]),
        ("source_target", "epsilon=0.1", [PHONE, (1280, 720), (1366, 768), (1920, 1080)]),
    ],
)
def test_the_ends_of_epsilon_have_no_more_words(
    page: Page, server: Server, name: str, query: str, sizes: list[Size]
) -> None:
    opened(page, server, name, query)
    for size in sizes:
        SCREEN.check(page, [size])
        page.set_viewport_size({"width": size[0], "height": size[1]})
        still(page)
        step = page.locator(".dpviz-stage .step")
        assert not step.is_visible() or step.evaluate("step => step.scrollWidth <= step.clientWidth"), size


def test_home_shows_its_question_its_picture_and_a_way_to_begin_on_one_screen(page: Page, server: Server) -> None:
    opened(page, server, "")
    HOME.check(page)
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
    at_rest(page)
    still(page, MANY_FRAMES)
    expect(first).to_be_visible()
    assert held, "the stage is on its way"
    waiting = box_of(methods)[1]
    assert waiting > box_of(page.locator(".st-key-home-top"))[1] + 500, (
        "nor in its place where the reader comes from another page"
    )
    for route in held:
        route.continue_()
    freed.append(True)
    picture_of(page)
    expect(first).to_be_hidden()
    assert abs(box_of(methods)[1] - waiting) < 12, "it stays where it was"
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
    opened(page, server, name, "size=projector")
    SCREEN.check(page, [(1280, 720)])


def test_a_first_screen_that_lacks_something_is_noticed() -> None:
    screen = replace(SCREEN, n_boxes=2)
    places = {name: [10, 10, 100, 100] for name in screen.parts}
    whole = {"places": places, "boxes": [[600, 60, 306, 612], [906, 60, 306, 612]], "words": ["word"] * 100}
    wrong = [("places", {**places, name: place}) for name in places for place in ([10, 700, 100, 780], [None] * 4)]
    wrong += [("boxes", [[600, 60, 283, 566], [900, 60, 283, 566]]), ("boxes", [[600, 200, 612, 612], [0, 0, 0, 0]])]
    wrong += [("boxes", [[600, 60, 612, 612]]), ("words", ["word"] * 101)]
    assert screen.fault(whole, (1366, 768)) == ""
    for name, value in wrong:
        assert screen.fault({**whole, name: value}, (1366, 768)), (name, value)


def test_words_numbers_and_picture_agree_in_every_frame_of_a_drag_and_k_and_audience_stand_on_the_stage(
    page: Page, server: Server
) -> None:
    opened(page, server, "convergent_kmeans", "tab=read&audience=curator")
    page.evaluate(FRAMES)
    left, top, width, height = box_of(page.locator(".dpviz-instrument svg"))
    page.mouse.move(left + 0.5 * width, top + height - 60)
    page.mouse.down()
    step = 0
    while page.evaluate("new Set(window.frames_seen.map(([scene]) => scene)).size") <= 8:
        # To and fro: a busy machine draws fewer pictures on the way.
        step += 1
        page.mouse.move(left + (0.5 - 0.015 * abs((step + 24) % 48 - 24)) * width, top + height - 60)
        next_frame(page)
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
    # Longer than a step of the sweep.
    page.wait_for_timeout(1000)
    assert instrument.get_attribute("data-value") == stopped
    page.goto(f"{server(APP)}/convergent_kmeans")
    picture_of(page)
    # Longer than the pause before a sweep.
    page.wait_for_timeout(2000)
    expect(page.locator(".dpviz-instrument")).to_have_attribute("data-value", "1")
    page.context.close()
