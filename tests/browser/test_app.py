"""The running app: its first page is there, cannot be embedded elsewhere, and is quiet on every kind of screen.

The other test_app files use the helpers at the top.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from tests.browser.conftest import visitor
from tests.browser.first_screen import check_edge
from tests.browser.parts_page import number
from tests.browser.servers import Server
from tests.browser.waiting import SLOW, faded, next_frame, settled

APP = "app.py"
PAGE = "convergent_kmeans"
# No work goes on behind the page.
QUIET = "tab=read&audience=curator"

NARROW: ViewportSize = {"width": 360, "height": 780}
# Viewport at a zoom of 150 %.
ZOOMED: ViewportSize = {"width": 853, "height": 667}


def picture_of(page: Page) -> Locator:
    """Return the page's main picture, drawn."""
    picture = page.locator(".dpviz-live[data-dpviz-key=picture]")
    expect(picture).to_have_attribute("data-dpviz-drawn", re.compile("[1-9]"), timeout=SLOW)
    return picture


def opened(page: Page, server: Server, query: str = "") -> Locator:
    """Open convergent k-means and return its picture; by default, few records at a tab that computes nothing."""
    tab = "" if "tab=" in query else "&tab=read"
    # A link that names only the tab opens at that tab.
    tab += "" if "audience=" in query else "&audience=curator"
    tab += "" if re.search(r"(^|&)n=", query) else "&n=300"
    page.goto(f"{server(APP)}/{PAGE}?{query}{tab}")
    return picture_of(page)


def scene_of(picture: Locator) -> str:
    return picture.get_attribute("data-dpviz-scene") or ""


@contextmanager
def redrawn(picture: Locator) -> Iterator[None]:
    """Wait until the actions inside the block have drawn a new scene."""
    drawn, scene = picture.get_attribute("data-dpviz-drawn") or "", scene_of(picture)
    yield
    expect(picture).not_to_have_attribute("data-dpviz-drawn", drawn, timeout=SLOW)
    expect(picture).not_to_have_attribute("data-dpviz-scene", scene)
    expect(picture).not_to_have_class(re.compile(r"\bgliding\b"))


def behind(page: Page, name: str) -> None:
    """Open a menu of the navigation, "data" or "more", if it is closed."""
    button = page.locator(f".st-key-dpviz-{name} button").first
    if button.get_attribute("aria-expanded") != "true":
        button.click(timeout=SLOW)


def unfolded(page: Page, name: str) -> None:
    """Open an expandable line of the menu "More", such as "Seeds"."""
    behind(page, "more")
    line = page.get_by_test_id("stPopoverBody").locator("summary").filter(has_text=re.compile(f"{re.escape(name)}$"))
    if line.locator("xpath=..").get_attribute("open") is None:
        line.click()


def switch(page: Page, name: str) -> None:
    """Select an option of a control that shows all of its options."""
    page.get_by_role("radio", name=name, exact=True).or_(
        page.get_by_role("button", name=name, exact=True)
    ).first.click()


def layers(page: Page) -> Locator:
    """Open the stage's menu of layers, if it is closed, and return it."""
    menu = page.locator(".dpviz-live.staged .layers").first
    if not menu.is_visible():
        page.get_by_role("button", name="Layers").click()
    expect(menu).to_be_visible()
    return menu


def unfold(picture: Locator) -> None:
    """Show the legend's entries beyond the first few; on a stage they are in the menu of layers."""
    if "staged" in (picture.get_attribute("class") or ""):
        layers(picture.page)
    more = picture.get_by_role("button", name=re.compile(r"^\d+ more$"))
    if more.count():
        more.first.click()


def press(page: Page, picture: Locator, name: str, *keys: str) -> None:
    """Press keys on the slider whose name contains `name`, and wait for the picture of each key."""
    slider = page.get_by_role("slider", name=name).first
    if not slider.count() or not slider.is_visible():
        behind(page, "more")
    for key in keys:
        with redrawn(picture):
            slider.press(key)


def go_to(picture: Locator, frame: int, label: str | re.Pattern[str]) -> None:
    """Move the scrubber to a frame (negative: from the end) and check that it is the one meant."""
    # A staged picture has its slider in the column of words.
    staged = "staged" in (picture.get_attribute("class") or "")
    step = (picture.page if staged else picture).get_by_role("slider", name="Step", exact=True).first
    last = int(step.get_attribute("max") or 0)
    step.fill(str(frame % (last + 1)))
    expect(step).to_have_attribute("aria-valuetext", label)


def tables(picture: Locator) -> dict[str, list[list[str]]]:
    """Return the data table: caption -> rows of texts."""
    if "staged" in (picture.get_attribute("class") or ""):
        layers(picture.page)
    button = picture.get_by_role("button", name="Data table")
    if button.get_attribute("aria-expanded") == "false":
        button.click()
    expect(picture.locator("table").first).to_be_visible()
    found: dict[str, list[list[str]]] = picture.evaluate(
        """root => Object.fromEntries([...root.querySelectorAll("table")].map((table) => [
          table.caption.textContent,
          [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)),
        ]))"""
    )
    return found


def choose_data(page: Page, title: str) -> None:
    """Choose an entry of the data list by typing its title, because a long list holds only the nearest entries."""
    # At the last option's place, another element may show its help over the list.
    page.mouse.move(0, 0)
    behind(page, "data")
    page.get_by_role("combobox", name="Data").click()
    page.keyboard.type(title)
    page.get_by_role("option", name=title, exact=True).click()


def lightness(page: Page) -> float:
    """Return the lightness of the page's background, from 0 to 1."""
    background: str = page.locator("[data-testid=stApp]").evaluate("app => getComputedStyle(app).backgroundColor")
    return sum(map(int, re.findall(r"\d+", background)[:3])) / (3 * 255)


def test_the_bare_address_leads_to_a_page_that_is_quiet_on_every_screen_and_runs_over_no_edge(
    browser: Browser, server: Server
) -> None:
    context = visitor(browser, viewport=NARROW, color_scheme="dark", device_scale_factor=1.5)
    page = context.new_page()
    asked: list[str] = []
    missing: list[str] = []
    wrong: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("response", lambda response: missing.append(response.url) if response.status >= 400 else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.goto(f"{server(APP)}/?n_clusters=7&epsilon=2.0&tab=read&audience=curator")
    picture = picture_of(page)
    assert urlsplit(page.url).path == f"/{PAGE}", "the first page, with the query"
    query = parse_qs(urlsplit(page.url).query)
    assert (query["n_clusters"], query["epsilon"]) == (["7"], ["2.0"])
    page.wait_for_load_state("networkidle")
    tables(picture)
    assert lightness(page) < 0.2
    check_edge(page)
    page.set_viewport_size(ZOOMED)
    page.emulate_media(color_scheme="light")
    faded(page, dark=False)
    assert lightness(page) > 0.9
    check_edge(page)
    with redrawn(picture):
        page.get_by_role("slider", name="ε").first.press("ArrowRight")
    page.wait_for_load_state("networkidle")

    local = ("http://localhost:", "ws://localhost:", "data:", "blob:")
    assert [url for url in asked if not url.startswith(local)] == []
    for other in ("learn", "quiz"):
        page.goto(f"{server(APP)}/{other}")
        expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=SLOW)
    assert missing == []
    assert wrong == []
    context.close()


# Counts the changes to a picture during which it glides.
GLIDED = """(root) => {
  globalThis.glided = 0;
  new MutationObserver(() => { globalThis.glided += Number(root.classList.contains("gliding")); })
    .observe(root, { attributes: true, attributeFilter: ["class"] });
}"""


def test_a_scene_glides_unless_motion_is_unwanted_and_a_link_takes_the_last_move_along(
    page: Page, server: Server
) -> None:
    picture, slider = opened(page, server), page.get_by_role("slider", name="ε").first
    picture.evaluate(GLIDED)
    for motion in ("no-preference", "reduce"):
        page.emulate_media(reduced_motion=motion)
        next_frame(page)
        frames = number(picture, "frames")
        page.evaluate("globalThis.glided = 0")
        with redrawn(picture):
            slider.press("ArrowRight")
        assert (page.evaluate("globalThis.glided") > 0) == (motion == "no-preference")
        assert number(picture, "frames") == frames, "no step was taken"
    settled(page)
    slider.press("ArrowRight")
    moved = slider.get_attribute("aria-valuetext")
    assert moved is not None
    page.get_by_test_id("stTopNavLink").filter(has_text="DPM").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("DPM", timeout=SLOW)
    expect(slider).to_have_attribute("aria-valuetext", moved, timeout=SLOW)
