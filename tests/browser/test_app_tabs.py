"""The browser's tabs: losses after a reload, state that two tabs do not share, and a release that survives a reload."""

import csv as tables_of_text
import io
import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from dpviz.ui import tabs
from dpviz.ui.release_ledger import NOTHING
from tests.browser.conftest import visitor
from tests.browser.test_app import APP, SLOW, Server, picture_of
from tests.browser.test_app_story import release_step
from tests.browser.test_app_uploads import behind_data, csv, give

pytestmark = [pytest.mark.browser, pytest.mark.still]

DESCRIBED = "data=upload:&data_columns=height,weight&data_bounds=0:90,0:100"


def beginning(words: str) -> re.Pattern[str]:
    return re.compile(f"^{re.escape(words[:60])}")


def line_of(page: Page) -> Locator:
    return page.locator(".dpviz-tabs")


def test_two_tabs_say_which_has_the_records_and_a_reload_what_is_gone_and_what_was_released(
    page: Page, browser: Browser, server: Server
) -> None:
    content = csv()
    second = page.context.new_page()
    for each, name in ((second, "teach"), (page, f"convergent_kmeans?{DESCRIBED}&tab=read&audience=curator")):
        each.goto(f"{server(APP)}/{name}")
        expect(each.get_by_role("heading", level=1)).to_be_visible(timeout=SLOW)
        expect(line_of(each)).to_be_attached(timeout=SLOW)
    page.wait_for_timeout(500)
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
    theirs.wait_for_timeout(500)
    expect(line_of(theirs)).to_be_hidden()
    other.close()

    second.close()
    expect(line_of(page)).to_be_hidden(timeout=SLOW)
    release(page, content)
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
    expect(page.locator(".dpviz-stage").get_by_text("A teaching run, no release")).to_be_visible()


def test_two_open_tabs_share_one_list_of_releases(page: Page, server: Server) -> None:
    """A release in one tab counts in the other at once, where nothing was released and nothing is reloaded."""
    content, second = csv(), page.context.new_page()
    for each in (second, page):
        each.bring_to_front()
        each.goto(f"{server(APP)}/convergent_kmeans?{DESCRIBED}&tab=read&audience=curator")
        expect(each.get_by_role("heading", level=1)).to_be_visible(timeout=SLOW)
        give(each, content)
        picture_of(each)
    release(page, content)
    second.bring_to_front()
    behind_data(second, second.get_by_text("1 release of these records: ε = 1"))
    second.close()


def release(page: Page, content: bytes) -> None:
    """Release what the page shows, after one confirmation, and save it; the tab keeps nothing exact from it."""
    stage = page.locator(".dpviz-stage")
    expect(stage.get_by_text("A teaching run, no release")).to_be_visible()
    behind_data(page, page.get_by_text(NOTHING))
    # The form covers the page.
    page.keyboard.press("Escape")
    release_step(page)
    button = page.get_by_role("button", name="Release", exact=True)
    expect(button).to_be_disabled()
    # Wait until nothing moves.
    expect(page.locator("[data-test-script-state=running]")).to_have_count(0, timeout=SLOW)
    page.get_by_text("I release it").click()
    expect(button).to_be_enabled(timeout=SLOW)
    button.click()
    expect(page.get_by_text("1 release of these records")).to_be_visible(timeout=SLOW)
    expect(stage.get_by_text("This is your release.")).to_be_visible()
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save table (CSV)").click()
    head, *rows = tables_of_text.reader(io.StringIO(saving.value.path().read_text("utf-8")))
    assert {"height", "weight"} <= set(head)
    assert len(rows) == 5

    kept = page.evaluate("localStorage.getItem('dpviz:ledger')")
    cells = {cell for line in content.decode().splitlines()[1:] for cell in line.split(",")}
    numbers = set(re.findall(r"\d+\.\d+", kept))
    assert not cells & numbers
    assert parse_qs(urlsplit(page.url).query)["data"][0].removeprefix("upload:") not in kept
    entries = json.loads(kept)
    assert len(entries) == 1
