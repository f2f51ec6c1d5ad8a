"""Many runs in a real browser: they play and stop, are stepped one by one, and never move by themselves."""

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import Server, visitor

pytestmark = pytest.mark.browser


def opened(page: Page, server: Server) -> Locator:
    page.goto(f"{server('app.py')}/convergent_kmeans?n=400&tab=runs&n_outcomes=30")
    picture = page.locator(".dpviz-live[data-dpviz-key=outcomes]")
    expect(picture.locator(".frame-label")).to_have_text("Run 1 of 30", timeout=90_000)
    return picture


def test_runs_play_and_stop_and_are_stepped_without_the_server(page: Page, server: Server) -> None:
    picture = opened(page, server)
    dots = page.locator(".dpviz-live[data-dpviz-key=outcome-dots]")
    expect(dots).to_have_attribute("data-dpviz-frame", "0", timeout=30_000)
    page.context.set_offline(True)
    picture.get_by_role("button", name="Play").click()
    expect(picture.locator(".frame-label")).not_to_have_text("Run 1 of 30", timeout=20_000)
    picture.get_by_role("button", name="Pause").click()
    stopped = picture.get_attribute("data-dpviz-frame")
    page.wait_for_timeout(1200)
    assert picture.get_attribute("data-dpviz-frame") == stopped, "it stands still"
    picture.locator("canvas").focus()
    page.keyboard.press("ArrowRight")
    after = str(int(stopped or 0) + 1)
    expect(picture).to_have_attribute("data-dpviz-frame", after)
    expect(dots).to_have_attribute("data-dpviz-frame", after)
    page.keyboard.press("End")
    expect(picture.locator(".frame-label")).to_have_text("Run 30 of 30")


def test_nothing_moves_unless_it_is_asked_to(browser: Browser, server: Server) -> None:
    context = visitor(browser, viewport={"width": 1280, "height": 1000}, reduced_motion="reduce")
    page = context.new_page()
    picture = opened(page, server)
    page.wait_for_timeout(1500)
    expect(picture.locator(".frame-label")).to_have_text("Run 1 of 30")
    drawn = int(picture.get_attribute("data-dpviz-frames") or 0)
    picture.locator("canvas").focus()
    page.keyboard.press("ArrowRight")
    expect(picture.locator(".frame-label")).to_have_text("Run 2 of 30")
    page.wait_for_timeout(500)
    assert int(picture.get_attribute("data-dpviz-frames") or 0) <= drawn + 2, "a step is one picture, no glide"
    context.close()
