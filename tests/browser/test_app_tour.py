"""The tour of a first visit: three pop-overs that cover nothing they point at, and never come again."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_app import APP, SLOW, Server

pytestmark = pytest.mark.browser

STRIP = ".st-key-dpviz-strip"


def overlaps(one: dict[str, float] | None, other: dict[str, float] | None) -> bool:
    """Say whether two boxes share any of the screen."""
    assert one is not None
    assert other is not None
    return all(
        one[at] < other[at] + other[size] and other[at] < one[at] + one[size]
        for at, size in (("x", "width"), ("y", "height"))
    )


def arrived(page: Page, address: str) -> Any:
    page.goto(address)
    picture = page.locator(".dpviz-live[data-dpviz-key=picture]")
    expect(picture).to_have_attribute("data-dpviz-drawn", re.compile("[1-9]"), timeout=2 * SLOW)
    return picture


def test_a_first_visit_is_shown_around_once(browser: Browser, server: Server) -> None:
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    page = context.new_page()
    picture = arrived(page, f"{server(APP)}/dpm")
    tour = page.locator(".dpviz-tour")
    shared = context.new_page()  # what somebody was sent is to be seen, not covered
    arrived(shared, f"{server(APP)}/dpm?n=500")
    shared.wait_for_timeout(1500)
    expect(shared.locator(".dpviz-tour")).to_be_hidden()
    shared.close()
    for size, title, target in (
        ({"width": 1366, "height": 768}, "This is ε", page.locator(STRIP)),
        ({"width": 390, "height": 844}, "A lock means secret", picture.locator(".chip[data-audience=curator]").first),
        ({"width": 1280, "height": 720}, "Press play", picture.get_by_role("button", name="Play", exact=True)),
    ):
        expect(tour.locator(".title")).to_have_text(title)
        for each in ({"width": 390, "height": 844}, size):
            page.set_viewport_size(each)  # type: ignore[arg-type]
            page.wait_for_timeout(600)
            expect(tour).to_be_visible()
            assert not overlaps(tour.bounding_box(), target.bounding_box()), (title, each)
        if title == "This is ε":  # whoever moves it need not be told more
            page.get_by_role("slider", name="Privacy budget ε").press("ArrowRight")
        elif title == "A lock means secret":
            tour.get_by_role("button", name="Next").press("Enter")
        else:
            page.keyboard.press("Escape")
    expect(tour).to_be_hidden()
    arrived(page, f"{server(APP)}/morse")
    page.wait_for_timeout(1500)
    expect(page.locator(".dpviz-tour")).to_be_hidden()
    context.close()
