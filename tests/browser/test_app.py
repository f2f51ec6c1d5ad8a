"""The running app: its first page is there, cannot be embedded elsewhere, and is quiet on every kind of screen.

The other test_app files use the helpers at the top.
"""

import http.client
import re
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from tests.browser.conftest import visitor
from tests.browser.live_page import number

pytestmark = pytest.mark.browser

APP = "app.py"
PAGE = "convergent_kmeans"
# Milliseconds for a first picture on a busy machine.
SLOW = 60_000

Server = Callable[[str], str]

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


def test_every_answer_carries_the_security_headers(server: Server) -> None:
    for path in ("/", f"/{PAGE}", "/_stcore/health"):
        with urllib.request.urlopen(server(APP) + path, timeout=10) as answer:
            assert answer.status == 200
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["X-Frame-Options"] in ("SAMEORIGIN", "DENY")


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [(None, None, 101), ("rebound.example", "http://rebound.example", 403), (None, "http://rebound.example", 403)],
    ids=["own page", "rebound name", "foreign page"],
)
def test_only_the_own_page_may_talk_to_the_server(
    server: Server, host: str | None, origin: str | None, status: int
) -> None:
    address = server(APP)
    own = address.removeprefix("http://")
    asking = http.client.HTTPConnection(own, timeout=10)
    asking.putrequest("GET", "/_stcore/stream", skip_host=True)
    for name, value in (
        ("Host", host or own),
        ("Origin", origin or address),
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "MDAwMDAwMDAwMDAwMDAwMA=="),
    ):
        asking.putheader(name, value)
    asking.endheaders()
    assert asking.getresponse().status == status
    asking.close()


def lightness(page: Page) -> float:
    """Return the lightness of the page's background, from 0 to 1."""
    background: str = page.locator("[data-testid=stApp]").evaluate("app => getComputedStyle(app).backgroundColor")
    return sum(map(int, re.findall(r"\d+", background)[:3])) / (3 * 255)


def check_edge(page: Page) -> None:
    """Check that nothing is wider than the screen."""
    widths = page.evaluate(
        """() => [document.documentElement, document.querySelector("[data-testid=stMain]")]
          .map((element) => [element.scrollWidth, element.clientWidth])"""
    )
    assert all(content <= room for content, room in widths), widths


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
    page.wait_for_timeout(500)
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


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_new_scene_glides_unless_the_reader_wants_no_motion(page: Page, server: Server, motion: Any) -> None:
    page.emulate_media(reduced_motion=motion)
    picture = opened(page, server)
    picture.evaluate(
        """(root) => {
          globalThis.glided = 0;
          new MutationObserver(() => { globalThis.glided += Number(root.classList.contains("gliding")); })
            .observe(root, { attributes: true, attributeFilter: ["class"] });
        }"""
    )
    frames = number(picture, "frames")
    with redrawn(picture):
        page.get_by_role("slider", name="ε").first.press("ArrowRight")
    assert (page.evaluate("globalThis.glided") > 0) == (motion == "no-preference")
    # No step was taken.
    assert number(picture, "frames") == frames


def test_a_link_takes_the_last_move_of_epsilon_along(page: Page, server: Server) -> None:
    opened(page, server)
    slider = page.get_by_role("slider", name="ε").first
    slider.press("ArrowRight")
    moved = slider.get_attribute("aria-valuetext")
    assert moved is not None
    page.get_by_test_id("stTopNavLink").filter(has_text="DPM").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("DPM", timeout=SLOW)
    expect(slider).to_have_attribute("aria-valuetext", moved, timeout=SLOW)


def test_a_file_is_on_its_way_from_the_click_on(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/compare?audience=public")
    button = page.get_by_role("button", name="Save as HTML")
    with page.expect_download(timeout=SLOW):
        for _ in range(2):
            button.click(timeout=SLOW)
            expect(page.get_by_role("status").filter(has_text="The file is on its way.")).to_have_count(1)
