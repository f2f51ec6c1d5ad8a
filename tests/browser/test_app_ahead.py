"""Pictures ahead of the page's rerun, which brings the same picture; without them, the rerun is enough."""

import json
import re
import time
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, WebSocket, WebSocketRoute, expect

from tests.browser.conftest import SIZE, visitor
from tests.browser.servers import Server
from tests.browser.test_app import APP, QUIET, opened, picture_of, press, redrawn, scene_of
from tests.browser.waiting import MANY_FRAMES, SLOW, next_frame, settled, still

WAY = "**/dpviz-ahead/**"
# The text next to the picture at its next drawing, before the browser shows either.
WHEN_DRAWN = """() => addEventListener("dpviz:drawn", (event) => {
  const stage = event.composedPath()[0].closest(".dpviz-stage");
  queueMicrotask(() => {
    window.dpvizSeen = [".epsilon", ".loss-value"].map((name) => stage.querySelector(name).textContent);
  });
}, { once: true })"""
# Every connection of a short way, and the number of pictures that it brought.
COUNTED = """const Plain = WebSocket;
  window.dpvizLines = [];
  window.dpvizHeard = 0;
  window.WebSocket = class extends Plain {
    constructor(...given) {
      super(...given);
      if (!this.url.includes("/dpviz-ahead/")) return;
      dpvizLines.push(this);
      this.addEventListener("message", ({ data }) => { if (typeof data !== "string") dpvizHeard += 1; });
    }
  };"""
LATER = ("dpm", "morse", "nd_laplace", "source_target")
# A picture ahead equals the picture of the rerun: tests/pages check that on every page and in every mode, to the byte.
# One page here checks that it is drawn once; the other pages are left to long runs.
PAGES = ("convergent_kmeans", *(pytest.param(name, marks=pytest.mark.slow) for name in LATER))


@pytest.fixture
def other(page: Page) -> Page:
    """Give a page for this test only: scripts installed before its sockets stay there."""
    return page.context.new_page()


def is_short_way(line: WebSocket) -> bool:
    """Return True if a socket is the picture's own."""
    return "/dpviz-ahead/" in line.url


def is_picture(message: str | bytes) -> bool:
    """Return True if a message is a picture. Words end an answer, and bands come between."""
    return isinstance(message, bytes)


@pytest.mark.parametrize("name", PAGES)
def test_a_move_is_drawn_once_with_its_words_also_after_a_cut(other: Page, server: Server, name: str) -> None:
    page = other
    page.add_init_script(COUNTED)
    with page.expect_websocket(is_short_way) as opening:
        page.goto(f"{server(APP)}/{name}?epsilon=1&{QUIET}")
    picture, line = picture_of(page), opening.value
    settled(page)
    drawn, stage = int(picture.get_attribute("data-dpviz-drawn") or 0), page.locator(".dpviz-stage")
    before = stage.locator(".epsilon").inner_text()
    page.evaluate(WHEN_DRAWN)
    with line.expect_event("framereceived", is_picture) as answer:
        press(page, picture, "ε", "ArrowRight")
    assert len(answer.value) > 1000
    settled(page)
    assert int(picture.get_attribute("data-dpviz-drawn") or 0) == drawn + 1
    after = [stage.locator(name).text_content() for name in (".epsilon", ".loss-value")]
    assert page.evaluate("dpvizSeen") == after, "words and numbers come with the picture"
    assert (before, after[0]) == ("ε = 1", "ε = 1.2")
    assert "epsilon=1.2" in page.url
    many_moves(page, picture)
    scene, link = scene_of(picture), page.url
    # A page that was left keeps no connection.
    with line.expect_event("close"):
        page.get_by_role("link", name="Audit", exact=True).first.click()
    page.goto("about:blank")
    page.goto(link)
    assert scene_of(picture_of(page)) == scene

    # A line that was cut is opened again.
    settled(page)
    page.evaluate("dpvizLines.at(-1).close()")
    page.wait_for_function("dpvizLines.some((line) => line.readyState === WebSocket.CLOSED)")
    press(page, picture, "ε", "ArrowLeft", "ArrowLeft")
    settled(page)
    assert page.evaluate("dpvizHeard") == 2
    assert page.evaluate("dpvizLines.filter((line) => line.readyState === WebSocket.OPEN).length") == 1
    assert page.url != link


def test_two_pictures_come_one_after_the_other(page: Page, server: Server) -> None:
    with page.expect_websocket(is_short_way) as opening:
        opened(page, server, "mode=both")
    pictures = [page.locator(f".dpviz-live[data-dpviz-key={key}]") for key in ("picture", "other")]
    settled(page)
    before = [int(picture.get_attribute("data-dpviz-drawn") or 0) for picture in pictures]
    heard: list[str | bytes] = []
    opening.value.on("framereceived", lambda each: heard.append(each) if each[:1] != "{" else None)
    press(page, pictures[0], "ε", "ArrowRight")
    settled(page)
    assert [isinstance(message, bytes) for message in heard] == [True, True, False]
    assert heard[-1] == "drawn"
    assert [int(picture.get_attribute("data-dpviz-drawn") or 0) for picture in pictures] == [n + 1 for n in before]
    shown = [scene_of(picture) for picture in pictures]
    page.reload()
    for picture, scene in zip(pictures, shown, strict=True):
        expect(picture).to_have_attribute("data-dpviz-scene", scene, timeout=SLOW)


# Long runs only: tests/pages have no other way, and a test below opens a cut line again.
@pytest.mark.slow
def test_without_the_short_way_the_rerun_brings_the_picture(other: Page, server: Server) -> None:
    other.route_web_socket(WAY, lambda line: line.close())
    picture = opened(other, server, "epsilon=1")
    press(other, picture, "ε", "ArrowRight", "ArrowRight")
    settled(other)
    assert "epsilon=1.5" in other.url
    scene, link = scene_of(picture), other.url
    other.goto("about:blank")
    other.goto(link)
    assert scene_of(picture_of(other)) == scene


def test_an_answer_that_is_late_changes_nothing(other: Page, server: Server) -> None:
    given: list[str | bytes] = []

    def late(line: WebSocketRoute) -> None:
        far = line.connect_to_server()

        def give(answer: str | bytes) -> None:
            # Longer than the page waits for a picture ahead.
            time.sleep(1.5)
            line.send(answer)
            given.append(answer)

        far.on_message(give)

    other.route_web_socket(WAY, late)
    picture = opened(other, server, "epsilon=1")
    press(other, picture, "ε", "ArrowRight")
    expect(other).to_have_url(re.compile("epsilon=1.2"), timeout=SLOW)
    scene = scene_of(picture)
    end = time.monotonic() + SLOW / 1000
    while not any(map(is_picture, given)):
        assert time.monotonic() < end
        next_frame(other)
    still(other, MANY_FRAMES)
    assert scene_of(picture) == scene


def many_moves(page: Page, picture: Locator) -> None:
    """Move the slider faster than pictures come: the last value remains, in the words and in the link."""
    slider = page.get_by_role("slider", name="ε").first
    slider.focus()
    with redrawn(picture):
        for _ in range(12):
            page.keyboard.press("ArrowRight")
            next_frame(page)
    settled(page)
    said = re.match(r"ε ([0-9.]+)[,.]", slider.get_attribute("aria-valuetext") or "")
    assert said
    last = float(said[1])
    assert last > 2
    expect(page).to_have_url(re.compile(rf"epsilon={last:g}(\.0)?(&|$)"), timeout=SLOW)
    settled(page)
    expect(slider).to_have_attribute("aria-valuetext", re.compile(rf"^ε {last:g}[,.]"))


def test_secret_noise_is_not_drawn_ahead(page: Page, server: Server) -> None:
    lines: list[WebSocket] = []
    page.on("websocket", lambda line: lines.append(line))
    picture = opened(page, server, "secret=1")
    press(page, picture, "ε", "ArrowRight")
    assert lines
    assert not [line for line in lines if is_short_way(line)]


def test_a_move_survives_back_and_reload_before_the_page_answers(page: Page, server: Server) -> None:
    opened(page, server, f"epsilon=1&{QUIET}")
    settled(page)
    page.get_by_role("link", name="DPM", exact=True).first.click()
    expect(page).to_have_url(re.compile("/dpm"), timeout=SLOW)
    picture = picture_of(page)
    settled(page)
    press(page, picture, "ε", "ArrowRight", "ArrowRight")
    settled(page)
    slider = page.get_by_role("slider", name="ε").first
    slider.focus()
    page.keyboard.press("ArrowRight")
    moved = re.compile(r"^ε 2,")
    expect(slider).to_have_attribute("aria-valuetext", moved)
    page.go_back()
    expect(page).to_have_url(re.compile("/convergent_kmeans.*epsilon=2.0"), timeout=SLOW)
    expect(slider).to_have_attribute("aria-valuetext", moved, timeout=SLOW)
    settled(page)
    page.go_forward()
    expect(page).to_have_url(re.compile("/dpm.*epsilon=2.0"), timeout=SLOW)
    expect(slider).to_have_attribute("aria-valuetext", moved, timeout=SLOW)
    settled(page)
    # A document that is left at once finds the move in its URL.
    slider.focus()
    page.keyboard.press("ArrowRight")
    # Long enough for the URL, and too short for an answer.
    page.wait_for_timeout(150)
    page.reload()
    expect(slider).to_have_attribute("aria-valuetext", re.compile(r"^ε 2\.5,"), timeout=SLOW)


def test_bands_grow_while_the_page_is_idle_from_the_current_value_on(browser: Browser, server: Server) -> None:
    """Other values, drags and audiences need no page: see tests/scripts/bands.test.js and tests/pages/test_ahead.py."""
    context = visitor(browser, bands=True, viewport=SIZE, reduced_motion="reduce")
    page = context.new_page()
    errors, asked = list[str](), list[str]()
    bands: list[dict[str, Any]] = []

    def hear(message: str | bytes) -> None:
        if isinstance(message, str) and message.startswith("{"):
            bands.append(json.loads(message))

    def listen(line: WebSocket) -> None:
        if is_short_way(line):
            line.on("framesent", lambda question: asked.append(str(question)))
            line.on("framereceived", hear)

    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("websocket", listen)
    # Nobody has looked at these records before.
    page.goto(f"{server(APP)}/convergent_kmeans?epsilon=1&data_seed=7&{QUIET}")
    stage = page.locator(".dpviz-stage")
    expect(stage).to_be_visible(timeout=SLOW)
    end = time.monotonic() + SLOW / 1000
    while len(bands) < 3:
        assert time.monotonic() < end, f"{len(bands)} bands came."
        next_frame(page)
    expect(stage.locator("path.band")).to_have_count(1)
    expect(stage.locator(".dpviz-instrument")).to_contain_text("line: median")
    assert all(low <= middle <= high for low, middle, high in (band["values"] for band in bands))
    slider = stage.get_by_role("slider", name="ε")
    assert asked[0] == f"band:{slider.input_value()}"
    # A move rests them: pictures come first.
    slider.press("ArrowRight")
    settled(page)
    assert [each for each in asked if not each.startswith("band:")]
    assert errors == []
    context.close()
