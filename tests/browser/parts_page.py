"""Common parts of the browser tests of parts: a page with the picture, curves or slider, as if just opened."""

from collections.abc import Callable
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect

APP = "tests/browser/apps/shown.py"

Server = Callable[[str], str]


def show(page: Page, server: Server, asked: str) -> None:
    """Show the part named by `asked`, such as "curves?case=hidden". A part already on the page is put away first."""
    address = server(APP)
    if not (page.url.startswith(address) and urlsplit(page.url).path == "/"):
        page.goto(address)
    field = page.get_by_role("textbox", name="Shown", exact=True)
    if field.input_value(timeout=20_000):
        field.fill("")
        field.press("Enter")
    expect(page.get_by_text("Nothing is shown.")).to_be_visible(timeout=20_000)
    expect(page.locator(".dpviz-live, .dpviz-epsilon")).to_have_count(0)
    # The URL may name a step, which the next picture would take.
    page.evaluate("history.replaceState(null, '', '/')")
    field.fill(asked)
    field.press("Enter")
