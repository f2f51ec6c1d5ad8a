"""Plays over many runs and over ε: without the server, one step after the other, and never by themselves."""

import re

from playwright.sync_api import Page, expect

from tests.browser.parts_page import number
from tests.browser.servers import Server
from tests.browser.test_app import APP, PAGE
from tests.browser.waiting import MANY_FRAMES, SLOW, settled, still


def test_runs_play_and_stop_only_on_request_and_without_the_server(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/{PAGE}?n=400&tab=runs&n_outcomes=30")
    picture = page.locator(".dpviz-live[data-dpviz-key=outcomes]")
    # The runs start when their tab, which is below the fold, becomes visible.
    waiting = page.get_by_role("progressbar", name="batches of runs")
    picture.or_(waiting).first.scroll_into_view_if_needed(timeout=SLOW)
    label = picture.locator(".frame-label")
    expect(label).to_have_text("Run 1 of 30", timeout=SLOW)
    # Longer than a step of the play.
    page.wait_for_timeout(1200)
    expect(label).to_have_text("Run 1 of 30")
    dots = page.locator(".dpviz-live[data-dpviz-key=outcome-dots]")
    expect(dots).to_have_attribute("data-dpviz-frame", "0", timeout=SLOW)
    page.context.set_offline(True)
    picture.get_by_role("button", name="Play").click()
    expect(label).not_to_have_text("Run 1 of 30")
    picture.get_by_role("button", name="Pause").click()
    stopped = number(picture, "frame")
    page.wait_for_timeout(1200)
    assert number(picture, "frame") == stopped
    picture.locator("canvas").focus()
    page.keyboard.press("ArrowRight")
    for each in (picture, dots):
        expect(each).to_have_attribute("data-dpviz-frame", str(stopped + 1))
    page.keyboard.press("End")
    expect(label).to_have_text("Run 30 of 30")
    page.emulate_media(reduced_motion="reduce")
    still(page, MANY_FRAMES)
    drawn = number(picture, "frames")
    page.keyboard.press("ArrowLeft")
    expect(label).to_have_text("Run 29 of 30")
    still(page, MANY_FRAMES)
    assert number(picture, "frames") <= drawn + 2, "a step is one picture, no glide"


def test_epsilon_is_scrubbed_played_and_stepped_without_the_server(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/{PAGE}?n=200&tab=play")
    picture, main = (page.locator(f".dpviz-live[data-dpviz-key={key}]") for key in ("over", "picture"))
    expect(picture).to_have_attribute("data-dpviz-drawn", "1", timeout=SLOW)
    before = number(main, "drawn")
    # The page's own ε: nothing is sent again.
    page.get_by_role("slider", name="ε").first.press("ArrowRight")
    expect(main).to_have_attribute("data-dpviz-drawn", str(before + 1), timeout=SLOW)
    expect(page).to_have_url(re.compile("epsilon=1.[1-9]"))
    settled(page)
    chart = page.locator(".dpviz-live[data-dpviz-key=over-cost]")
    label = picture.locator(".frame-label")
    expect(label).to_have_text("ε = 1")
    expect(picture).to_have_attribute("data-dpviz-drawn", "1")
    page.context.set_offline(True)
    picture.get_by_role("slider", name="Step").press("End")
    expect(label).to_have_text("ε = 20")
    last = number(picture, "frame")
    expect(chart).to_have_attribute("data-dpviz-frame", str(last))
    picture.locator("canvas").focus()
    page.keyboard.press("ArrowLeft")
    expect(picture).to_have_attribute("data-dpviz-frame", str(last - 1))
    page.keyboard.press("Home")
    expect(label).to_have_text("ε = 0.05")
    page.keyboard.press("Space")
    expect(label).to_have_text("ε = 20", timeout=SLOW)
    expect(picture).to_have_attribute("data-dpviz-drawn", "1")
