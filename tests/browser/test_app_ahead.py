"""The picture comes ahead of the page's rerun, which brings the same one; without it, the rerun is enough."""

import re
import time

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.test_app import APP, SLOW, Server, opened, picture_of, press, redrawn, scene_of

pytestmark = pytest.mark.browser

WAY = "**/dpviz-ahead/**"
# What stands beside the picture at the moment at which it is drawn next.
WHEN_DRAWN = """() => addEventListener("dpviz:drawn", () => {
  const words = document.querySelector(".dpviz-sentence");
  window.dpvizSeen = [words.innerText, getComputedStyle(words).opacity];
}, { once: true })"""
PAGES = ("convergent_kmeans", "dpm", "morse", "nd_laplace", "source_target")


def settled(page: Page) -> None:
    """Wait until the slider's moves are answered and nothing is on its way."""
    expect(page.locator("html[data-dpviz-moving]")).to_have_count(0, timeout=SLOW)
    expect(page.locator("[data-test-script-state=running]")).to_have_count(0, timeout=SLOW)
    page.wait_for_timeout(700)


def again(page: Page) -> str:
    """Open the link of the picture in a new page and return its scene."""
    other = page.context.new_page()
    other.goto(page.url)
    scene = scene_of(picture_of(other))
    other.close()
    return scene


@pytest.mark.parametrize("name", PAGES)
def test_a_move_is_drawn_once_and_is_the_picture_of_its_link(page: Page, server: Server, name: str) -> None:
    page.goto(f"{server(APP)}/{name}?epsilon=1")
    picture = picture_of(page)
    settled(page)
    drawn = int(picture.get_attribute("data-dpviz-drawn") or 0)
    with page.expect_response(WAY) as answer:
        press(page, picture, "ε", "ArrowRight")
    assert answer.value.status == 200
    settled(page)
    assert int(picture.get_attribute("data-dpviz-drawn") or 0) == drawn + 1
    assert "epsilon=1.2" in page.url
    assert scene_of(picture) == again(page)


@pytest.mark.parametrize("mode", ["published", "both", "su"])
def test_every_mode_comes_ahead(page: Page, server: Server, mode: str) -> None:
    picture = opened(page, server, f"mode={mode}")
    with page.expect_response(WAY) as answer:
        press(page, picture, "ε", "ArrowLeft")
    assert answer.value.status == 200
    settled(page)
    assert scene_of(picture) == again(page)


def test_the_words_follow_when_the_slider_rests_and_are_dimmed_until_then(page: Page, server: Server) -> None:
    picture = opened(page, server, "epsilon=1")
    settled(page)
    words = page.locator(".dpviz-sentence")
    before = words.inner_text()
    page.evaluate(WHEN_DRAWN)
    press(page, picture, "ε", "ArrowRight")
    settled(page)
    assert page.evaluate("dpvizSeen") == [before, "0.45"], "the picture is ahead"
    assert words.inner_text() != before
    assert words.evaluate("words => getComputedStyle(words).opacity") == "1"


def test_without_the_short_way_the_rerun_brings_the_picture(page: Page, server: Server) -> None:
    page.route(WAY, lambda route: route.abort())
    picture = opened(page, server, "epsilon=1")
    press(page, picture, "ε", "ArrowRight", "ArrowRight")
    settled(page)
    assert "epsilon=1.5" in page.url
    assert scene_of(picture) == again(page)


def test_an_answer_that_is_late_changes_nothing(page: Page, server: Server) -> None:
    def late(route: Route) -> None:
        answer = route.fetch()
        time.sleep(1.5)
        route.fulfill(response=answer)

    page.route(WAY, late)
    picture = opened(page, server, "epsilon=1")
    press(page, picture, "ε", "ArrowRight")
    expect(page).to_have_url(re.compile("epsilon=1.2"), timeout=SLOW)
    scene = scene_of(picture)
    page.wait_for_timeout(2000)
    assert scene_of(picture) == scene == again(page)


def test_of_many_moves_the_last_one_stays(page: Page, server: Server) -> None:
    picture = opened(page, server, "epsilon=0.5")
    settled(page)
    slider = page.get_by_role("slider", name="ε").first
    slider.focus()
    with redrawn(picture):
        for _ in range(12):
            page.keyboard.press("ArrowRight")
            page.wait_for_timeout(15)
    page.wait_for_timeout(1000)
    last = float(slider.get_attribute("aria-valuetext") or "nan")
    assert last > 2
    expect(page).to_have_url(re.compile(rf"epsilon={last:g}(\.0)?(&|$)"), timeout=SLOW)
    settled(page)
    assert scene_of(picture) == again(page)


def test_secret_noise_is_not_drawn_ahead(page: Page, server: Server) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    picture = opened(page, server, "secret=1")
    press(page, picture, "ε", "ArrowRight")
    assert not [url for url in asked if "dpviz-ahead" in url]
