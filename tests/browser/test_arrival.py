"""A page arrives from top to bottom: nothing that a reader sees moves."""

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import visitor
from tests.browser.servers import Server
from tests.browser.test_app import APP
from tests.browser.waiting import SLOW, at_rest

pytestmark = pytest.mark.still

# Chrome's sum of layout shifts. Below 0.1, a page counts as steady.
MOST_SHIFT = 0.05
WATCH = """window.shifts = [];
new PerformanceObserver((list) => window.shifts.push(...list.getEntries().filter((each) => !each.hadRecentInput)
  .map(({ value }) => value))).observe({ type: "layout-shift", buffered: true });"""
HIDDEN = """() => [...document.querySelectorAll("[data-testid=stMain] [data-testid=stElementContainer]")]
  .filter((element) => getComputedStyle(element).visibility !== "visible").length"""
VISITS = [
    ("", 1366, 768),
    ("source_target", 1366, 768),
    ("compare", 390, 844),
    ("nd_laplace", 390, 844),
    ("audit", 390, 844),
]


@pytest.mark.parametrize(("path", "width", "height"), VISITS)
def test_nothing_moves_while_a_page_arrives(
    browser: Browser, server: Server, path: str, width: int, height: int
) -> None:
    page = visitor(browser, viewport={"width": width, "height": height}).new_page()
    page.add_init_script(WATCH)
    page.goto(f"{server(APP)}/{path}")
    expect(page.locator("html")).to_have_attribute("data-dpviz-arrived", "", timeout=SLOW)
    at_rest(page)
    assert sum(page.evaluate("window.shifts")) <= MOST_SHIFT
    # What follows the stage is there, too.
    assert page.evaluate(HIDDEN) == 0
    page.context.close()
