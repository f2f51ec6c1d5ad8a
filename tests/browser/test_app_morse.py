"""Morse processing in a browser: a surface turns, the scrubber cuts picture and dendrogram, a click shows a search."""

import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.test_app import APP, go_to, layers, picture_of, redrawn, switch, unfolded

pytestmark = [pytest.mark.browser, pytest.mark.still]

Server = Callable[[str], str]
SECONDS = 15  # until a frame is drawn, on a busy machine


def test_a_surface_turns_and_the_flat_picture_shows_cut_level_and_search(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/morse?n=2000&epsilon=5&audience=public&relief=surface&yaw=30&pitch=50")
    picture = picture_of(page)
    turn_the_surface(page, picture)
    unfolded(page, "What play shows")
    with redrawn(picture):
        switch(page, "Flat")
    expect(page).to_have_url(re.compile("relief=flat"))
    page.keyboard.press("Escape")

    dendrogram = page.locator(".dpviz-live[data-dpviz-key='dendrogram']")
    canvas = picture.locator("canvas").first
    go_to(picture, 0, "1 cluster")
    whole = canvas.screenshot()
    before = dendrogram.get_attribute("data-dpviz-frames")
    go_to(picture, 1, "2 clusters")
    expect(dendrogram).to_have_attribute("data-dpviz-frame", "1")
    expect(dendrogram).not_to_have_attribute("data-dpviz-frames", before or "")
    assert canvas.screenshot() != whole, "regions part without the server"
    unfolded(page, "What play shows")
    with redrawn(picture):
        switch(page, "Level")
    go_to(picture, 0, re.compile("Level: 100 % of the highest peak"))
    expect(picture.locator(".frame-detail")).to_have_text("A peak comes up: 1 island.")
    with redrawn(picture):
        layers(page).get_by_role("button", name="Show pass").first.click()
    expect(page).to_have_url(re.compile("moves=search"))
    expect(picture.locator(".frame-detail")).to_contain_text(re.compile(r"components \d+ and \d+", re.IGNORECASE))
    go_to(picture, 0, re.compile("String 0"))


def turn_the_surface(page: Page, picture: Locator) -> None:
    """See it drawn, its basins change color while the cut is scrubbed, and the link follow where it is turned to."""
    canvas = picture.locator("canvas").first
    go_to(picture, 0, "1 cluster")
    one = canvas.screenshot()
    go_to(picture, 1, "2 clusters")
    end = time.monotonic() + SECONDS
    while canvas.screenshot() == one:
        assert time.monotonic() < end, "basins part without the server"
    canvas.focus()
    page.keyboard.press("Shift+ArrowRight")
    expect(picture).to_have_attribute("data-dpviz-turned", "25.0 50.0")
    page.wait_for_url(re.compile(r"yaw=25&pitch=50"), timeout=15_000)
