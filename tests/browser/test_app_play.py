"""Play over ε, on the page of convergent k-means."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Server
from tests.browser.test_app import switch

pytestmark = pytest.mark.browser


def opened(page: Page, server: Server, more: str = "") -> Locator:
    page.goto(f"{server('app.py')}/convergent_kmeans?n=200&tab=play{more}")
    picture = page.locator(".dpviz-live[data-dpviz-key=over]")
    expect(picture).to_have_attribute("data-dpviz-drawn", "1", timeout=60_000)
    return picture


def test_epsilon_is_scrubbed_played_and_stepped_without_the_server(page: Page, server: Server) -> None:
    picture = opened(page, server)
    main = page.locator(".dpviz-live[data-dpviz-key=picture]")
    before = int(main.get_attribute("data-dpviz-drawn") or 0)
    # The page's own ε: nothing is sent again.
    page.get_by_role("slider", name="ε").first.press("ArrowRight")
    expect(main).to_have_attribute("data-dpviz-drawn", str(before + 1))
    expect(page).to_have_url(re.compile("epsilon=1.[1-9]"))
    expect(page.locator("[data-test-script-state=running]")).to_have_count(0)
    page.wait_for_timeout(500)
    chart = page.locator(".dpviz-live[data-dpviz-key=over-cost]")
    label = picture.locator(".frame-label")
    expect(label).to_have_text("ε = 1")
    expect(picture).to_have_attribute("data-dpviz-drawn", "1")
    page.context.set_offline(True)
    step = picture.get_by_role("slider", name="Step")
    step.press("End")
    expect(label).to_have_text("ε = 20")
    last = picture.get_attribute("data-dpviz-frame") or ""
    expect(chart).to_have_attribute("data-dpviz-frame", last)
    picture.locator("canvas").focus()
    page.keyboard.press("ArrowLeft")
    expect(picture).to_have_attribute("data-dpviz-frame", str(int(last) - 1))
    page.keyboard.press("Home")
    expect(label).to_have_text("ε = 0.05")
    page.keyboard.press("Space")
    expect(label).to_have_text("ε = 20", timeout=20_000)
    expect(picture).to_have_attribute("data-dpviz-drawn", "1")


# Long runs only: tests/pages have the play of every stop, and no play for the public.
@pytest.mark.slow
def test_the_published_method_plays_its_steps_budget_and_the_public_sees_no_release_that_nobody_paid_for(
    page: Page, server: Server
) -> None:
    picture = opened(page, server, "&mode=published")
    expect(picture.locator(".frame-label")).to_have_text(re.compile(r"^ε = [\d.]+$"))
    switch(page, "Everyone")
    expect(page.get_by_text("Each ε is a separate release")).to_be_visible(timeout=30_000)
    expect(picture).to_have_count(0)
