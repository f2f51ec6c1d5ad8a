"""The app in a frame of another origin's page, if the operator allows it: without navigation, and its ε moves."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.servers import Apart
from tests.browser.test_app import SLOW

pytestmark = pytest.mark.browser


def test_a_frame_on_another_origin(page: Page, apart: Apart) -> None:
    """The frame is on a university's page, which the operator's environment names."""
    address = f"{apart.address}/learn?chapter=coin&embed=true"
    frame = f'<iframe src="{address}" width="900" height="700" title="dpviz"></iframe>'
    (apart.course / "course.html").write_text(f"<!doctype html><title>Moodle</title>{frame}", "utf-8")
    page.goto(f"{apart.origin}/course.html")
    app = page.frame_locator("iframe")
    expect(app.get_by_role("heading", level=1)).to_be_visible(timeout=SLOW)
    assert app.get_by_role("link", name="Compare").count() == 0, "no navigation, not even for a moment"
    app.get_by_role("button", name="70 to 80").click()
    expect(app.get_by_text("✓ Your guess is right")).to_be_visible(timeout=SLOW)
    slider = app.get_by_role("slider", name=re.compile("ε"))
    before = slider.get_attribute("aria-valuetext")
    slider.press("ArrowRight")
    expect(slider).not_to_have_attribute("aria-valuetext", before or "")
