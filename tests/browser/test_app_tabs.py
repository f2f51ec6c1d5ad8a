"""The browser's tabs: losses after a reload, state that two tabs do not share, and a release that survives a reload."""

import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from dpviz.ui import tabs
from dpviz.ui.release_ledger import NOTHING
from tests.browser.conftest import visitor
from tests.browser.servers import Server
from tests.browser.test_app import APP, PAGE, QUIET, picture_of
from tests.browser.test_app_story import released, rows_of
from tests.browser.test_app_uploads import behind_data, csv, give
from tests.browser.waiting import SLOW, settled

pytestmark = pytest.mark.still

DESCRIBED = "data=upload:&data_columns=height,weight&data_bounds=0:90,0:100"


def beginning(words: str) -> re.Pattern[str]:
    return re.compile(f"^{re.escape(words[:60])}")


def line_of(page: Page) -> Locator:
    return page.locator(".dpviz-tabs")


def test_two_tabs_say_which_has_the_records_share_releases_and_a_reload_says_what_is_gone(
    page: Page, browser: Browser, server: Server
) -> None:
    content = csv()
    second = page.context.new_page()
    for each in (second, page):
        each.goto(f"{server(APP)}/{PAGE}?{DESCRIBED}&{QUIET}")
        expect(each.get_by_role("heading", level=1)).to_be_visible(timeout=SLOW)
        expect(line_of(each)).to_be_attached(timeout=SLOW)
    settled(page)
    for each in (page, second):
        # Neither tab has its own records.
        expect(line_of(each)).to_be_hidden()
    # A browser draws no frames in a window behind others.
    page.bring_to_front()
    give(page, content)
    picture_of(page)
    expect(page).to_have_url(re.compile("data=upload%3A"), timeout=SLOW)
    link = page.url
    expect(line_of(page)).to_have_text(tabs.HERE, timeout=SLOW)
    expect(line_of(second)).to_have_text(tabs.THERE, timeout=SLOW)

    # Another profile is another person.
    other = visitor(browser)
    theirs = other.new_page()
    theirs.goto(link)
    expect(theirs.get_by_text(beginning(tabs.LINKED))).to_be_visible(timeout=SLOW)
    expect(theirs.get_by_text(beginning(tabs.RELOADED))).to_have_count(0)
    expect(line_of(theirs)).to_be_attached(timeout=SLOW)
    settled(theirs)
    expect(line_of(theirs)).to_be_hidden()
    other.close()

    # A release in one tab counts in the other at once, where nothing was released and nothing is reloaded.
    second.bring_to_front()
    give(second, content)
    picture_of(second)
    page.bring_to_front()
    release(page, content)
    second.bring_to_front()
    behind_data(second, second.get_by_text("1 release of these records: ε = 1"))
    second.close()
    expect(line_of(page)).to_be_hidden(timeout=SLOW)
    page.reload()
    expect(page.get_by_text(beginning(tabs.RELOADED))).to_be_visible(timeout=SLOW)
    expect(page.get_by_text(beginning(tabs.LINKED))).to_have_count(0)
    # The app does the same for a new session.
    page.evaluate("sessionStorage.setItem('dpviz:renewed', '1')")
    page.reload()
    expect(page.get_by_text(beginning(tabs.RESTARTED))).to_be_visible(timeout=SLOW)
    give(page, content)
    picture_of(page)
    expect(page.get_by_text(beginning(tabs.RESTARTED))).to_have_count(0)
    expect(page).to_have_url(re.compile(re.escape("data_bounds=0.0%3A90.0%2C0.0%3A100.0")), timeout=SLOW)
    behind_data(page, page.get_by_text("1 release of these records"))
    expect(page.locator(".dpviz-stage").get_by_text("A teaching run, not a release")).to_be_visible()


def release(page: Page, content: bytes) -> None:
    """Release what the page shows and save it; the tab keeps nothing exact from it."""
    stage = page.locator(".dpviz-stage")
    expect(stage.get_by_text("A teaching run, not a release")).to_be_visible()
    behind_data(page, page.get_by_text(NOTHING))
    # The form covers the page.
    page.keyboard.press("Escape")
    _, table, _ = released(page, 0.0)
    expect(stage.get_by_text("This is your release.")).to_be_visible()
    rows = rows_of(table)
    assert {"height", "weight"} <= set(rows[0])
    assert len(rows) == 5

    kept = page.evaluate("localStorage.getItem('dpviz:ledger')")
    cells = {cell for line in content.decode().splitlines()[1:] for cell in line.split(",")}
    assert not cells & set(re.findall(r"\d+\.\d+", kept))
    assert parse_qs(urlsplit(page.url).query)["data"][0].removeprefix("upload:") not in kept
    assert len(json.loads(kept)) == 1
