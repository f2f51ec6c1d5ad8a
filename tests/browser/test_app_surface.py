"""The landscape as a surface: it is drawn, it turns, and its basins change color while the cut is scrubbed."""

import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_app import APP, go_to, picture_of, redrawn, switch, unfolded
from tests.browser.test_app_ahead import QUIET

pytestmark = [pytest.mark.browser, pytest.mark.still]

Server = Callable[[str], str]
SECONDS = 15  # until a frame is drawn, on a busy machine


def test_a_surface_is_drawn_and_turns(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/morse?n=2000&epsilon=5&relief=surface&yaw=30&pitch=50&{QUIET}")
    picture = picture_of(page)
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
    unfolded(page, "What play shows")
    with redrawn(picture):
        switch(page, "Flat")
    expect(page).to_have_url(re.compile("relief=flat"))
