"""Many runs in a real browser: they play and stop, are stepped one by one, and never move by themselves."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Server

pytestmark = pytest.mark.browser


def opened(page: Page, server: Server) -> Locator:
    page.goto(f"{server('app.py')}/convergent_kmeans?n=400&tab=runs&n_outcomes=30")
    picture = page.locator(".dpviz-live[data-dpviz-key=outcomes]")
    # The runs start when their tab, which is below the fold, becomes visible.
    waiting = page.get_by_role("progressbar", name="batches of runs")
    picture.or_(waiting).first.scroll_into_view_if_needed(timeout=90_000)
    expect(picture.locator(".frame-label")).to_have_text("Run 1 of 30", timeout=90_000)
    return picture


def test_runs_play_and_stop_only_when_asked_to_and_without_the_server(page: Page, server: Server) -> None:
    picture = opened(page, server)
    page.wait_for_timeout(1500)
    # Nothing moves by itself.
    expect(picture.locator(".frame-label")).to_have_text("Run 1 of 30")
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
    page.emulate_media(reduced_motion="reduce")
    page.wait_for_timeout(500)
    drawn = int(picture.get_attribute("data-dpviz-frames") or 0)
    page.keyboard.press("ArrowLeft")
    expect(picture.locator(".frame-label")).to_have_text("Run 29 of 30")
    page.wait_for_timeout(500)
    assert int(picture.get_attribute("data-dpviz-frames") or 0) <= drawn + 2, "a step is one picture, no glide"
