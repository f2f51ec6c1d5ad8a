"""Source-target clustering in a browser: the steps to S', a click on a source record, and the public's view."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_app import APP, SLOW, Server, go_to, picture_of, redrawn, switch, tables

pytestmark = [pytest.mark.browser, pytest.mark.still]


def test_steps_public_view_and_a_click_on_a_record(page: Page, server: Server) -> None:
    # One record on a place of its own in the middle: the click cannot miss it.
    page.goto(f"{server(APP)}/source_target?data=worst_case&n=200&n_centers=2&audience=public&noise_seed=1")
    picture = picture_of(page)
    go_to(picture, 0, "0: given")
    go_to(picture, 3, "3: release")
    assert "source record" not in "".join(tables(picture))
    with redrawn(picture):
        switch(page, "Curator")
    go_to(picture, 0, "0: given")
    assert any(name.startswith("source record") for name in tables(picture))
    # The menu with the table covers the picture.
    page.keyboard.press("Escape")
    canvas = picture.locator("canvas").first
    box = canvas.bounding_box()
    assert box is not None
    with redrawn(picture):
        canvas.click(position={"x": box["width"] * 0.5 + 12, "y": box["height"] * 0.5 - 8})
    expect(page).to_have_url(re.compile("below=record"))
    expect(page.locator(".dpviz-live[data-dpviz-key=record][data-dpviz-drawn]")).to_be_visible(timeout=SLOW)
