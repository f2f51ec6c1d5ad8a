"""The Audit page in a browser: runs go on in the background, can be stopped, and end in a verdict."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_app import APP, behind, switch

pytestmark = [pytest.mark.browser, pytest.mark.still]

Server = Callable[[str], str]
SLOW = 120_000  # ms


def test_runs_are_stopped_begun_again_and_judged(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/audit?audit_runs=20000")
    page.get_by_role("button", name="Stop").first.click(timeout=SLOW)
    expect(page.get_by_text("Nothing is shown of runs that are not complete.")).to_be_visible(timeout=SLOW)
    behind(page, "more")
    switch(page, "200")
    expect(page.get_by_text(re.compile("Violation found: ε is at least 2.8"))).to_be_visible(timeout=SLOW)
    expect(page.locator(".dpviz-live[data-dpviz-key='attack'] canvas").first).to_be_visible()
    expect(page).to_have_url(re.compile("audit_runs=200"))
