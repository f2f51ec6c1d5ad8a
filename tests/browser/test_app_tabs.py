"""The browser's tabs: what a reload takes away, what two tabs do not share, and where a run opens on its page."""

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from dpviz.ui import tabs
from tests.browser.conftest import visitor
from tests.browser.test_app import APP, SLOW, Server, picture_of
from tests.browser.test_app_compare import stage_of
from tests.browser.test_app_uploads import csv, give

pytestmark = [pytest.mark.browser, pytest.mark.still]

DESCRIBED = "data=upload:&data_columns=height,weight&data_bounds=0:90,0:100"


def beginning(words: str) -> re.Pattern[str]:
    return re.compile(f"^{re.escape(words[:60])}")


def line_of(page: Page) -> Locator:
    return page.locator(".dpviz-tabs")


def test_a_reload_says_what_is_still_there_and_the_same_file_brings_the_picture_back(
    page: Page, browser: Browser, server: Server
) -> None:
    page.goto(f"{server(APP)}/dpm?{DESCRIBED}")
    give(page, csv())
    picture_of(page)
    expect(page).to_have_url(re.compile("data=upload%3A"), timeout=SLOW)
    link = page.url

    page.reload()
    expect(page.get_by_text(beginning(tabs.RELOADED))).to_be_visible(timeout=SLOW)
    expect(page.get_by_text(beginning(tabs.LINKED))).to_have_count(0)
    page.evaluate("sessionStorage.setItem('dpviz:renewed', '1')")  # as the app does for a new session
    page.reload()
    expect(page.get_by_text(beginning(tabs.RESTARTED))).to_be_visible(timeout=SLOW)
    give(page, csv())
    picture_of(page)
    expect(page.get_by_text(beginning(tabs.RESTARTED))).to_have_count(0)
    expect(page).to_have_url(re.compile(re.escape("data_bounds=0.0%3A90.0%2C0.0%3A100.0")), timeout=SLOW)

    other = visitor(browser)
    theirs = other.new_page()
    theirs.goto(link)
    expect(theirs.get_by_text(beginning(tabs.LINKED))).to_be_visible(timeout=SLOW)
    expect(theirs.get_by_text(beginning(tabs.RELOADED))).to_have_count(0)
    other.close()


def test_two_tabs_say_which_has_the_records_and_only_then(browser: Browser, server: Server) -> None:
    context = visitor(browser)
    first, second = context.new_page(), context.new_page()
    first.goto(f"{server(APP)}/dpm")
    picture_of(first)
    second.goto(f"{server(APP)}/")
    expect(second.get_by_role("heading", level=1)).to_be_visible(timeout=SLOW)
    expect(line_of(second)).to_be_attached(timeout=SLOW)
    first.wait_for_timeout(500)
    for each in (first, second):
        expect(line_of(each)).to_be_hidden()  # neither has records of its own
    first.goto(f"{server(APP)}/dpm?{DESCRIBED}")
    give(first, csv())
    expect(line_of(first)).to_have_text(tabs.HERE, timeout=SLOW)
    expect(line_of(second)).to_have_text(tabs.THERE, timeout=SLOW)
    second.close()
    expect(line_of(first)).to_be_hidden(timeout=SLOW)
    alone = visitor(browser)  # another profile is another person
    theirs = alone.new_page()
    theirs.goto(f"{server(APP)}/")
    expect(line_of(theirs)).to_be_attached(timeout=SLOW)
    theirs.wait_for_timeout(500)
    expect(line_of(theirs)).to_be_hidden()
    alone.close()
    context.close()


@pytest.mark.parametrize("size", [pytest.param((1366, 768), marks=pytest.mark.slow), (390, 844)])
def test_open_it_on_its_page_arrives_at_the_picture(page: Page, server: Server, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{server(APP)}/compare?chosen=dpm&chosen_epsilon=1.0")
    stage_of(page)
    page.get_by_role("button", name="Open it on its page").click(timeout=SLOW)  # far below the fold
    expect(page).to_have_url(re.compile(r"/dpm\?.*noise_seed="), timeout=SLOW)
    box = picture_of(page).bounding_box()
    assert box is not None
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= size[1], "the whole picture is in sight"
