"""Morse processing in a browser: the scrubber cuts picture and dendrogram, a click shows a search."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_app import APP, go_to, layers, picture_of, redrawn, switch, unfolded

pytestmark = [pytest.mark.browser, pytest.mark.still]

Server = Callable[[str], str]


def test_the_picture_shows_cut_level_and_search(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/morse?n=2000&epsilon=5&audience=public")
    picture = picture_of(page)
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
