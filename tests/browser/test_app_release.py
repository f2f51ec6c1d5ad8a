"""A release in a browser: asked once, saved, and in the ledger after a reload; the tab keeps nothing exact."""

import csv as tables_of_text
import io
import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_app import SLOW, Server, picture_of
from tests.browser.test_app_uploads import csv, give, uploaded

pytestmark = [pytest.mark.browser, pytest.mark.still]


def test_a_release_is_asked_for_once_saved_and_remembered_after_a_reload(page: Page, server: Server) -> None:
    content = csv()
    uploaded(page, server, content)
    stage = page.locator(".dpviz-stage")
    expect(stage.get_by_text("A teaching run, no release")).to_be_visible()
    expect(page.get_by_text("Nothing of these records has been released.")).to_be_visible()
    page.keyboard.press("Escape")  # the form lies over the page
    page.locator("[data-testid=stExpander] summary").get_by_text("Release", exact=True).click()
    button = page.get_by_role("button", name="Release", exact=True)
    expect(button).to_be_disabled()
    page.get_by_text("I release it").click()
    expect(button).to_be_enabled(timeout=SLOW)
    button.click()
    expect(page.get_by_text("1 release of these records")).to_be_visible(timeout=SLOW)
    expect(stage.get_by_text("This is your release.")).to_be_visible()
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save table (CSV)").click()
    head, *rows = tables_of_text.reader(io.StringIO(Path(saving.value.path()).read_text("utf-8")))
    assert {"height", "weight"} <= set(head)
    assert len(rows) == 5

    kept = page.evaluate("sessionStorage.getItem('dpviz:ledger')")
    cells = {cell for line in content.decode().splitlines()[1:] for cell in line.split(",")}
    numbers = set(re.findall(r"\d+\.\d+", kept))
    assert not cells & numbers
    assert parse_qs(urlsplit(page.url).query)["data"][0].removeprefix("upload:") not in kept
    (entries,) = json.loads(kept).values()
    assert len(entries) == 1

    page.reload()
    give(page, content)
    picture_of(page)
    expect(page.get_by_text("1 release of these records")).to_be_visible(timeout=SLOW)
    expect(stage.get_by_text("A teaching run, no release")).to_be_visible()
