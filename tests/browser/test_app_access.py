"""Every page for everybody: axe-core finds nothing serious, focus is seen, motion rests, and a phone scrolls one way."""

import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import FLAGS, ROOT
from tests.browser.test_app import APP, SLOW, Server

pytestmark = pytest.mark.browser

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
AXE = files("axe_playwright_python").joinpath("axe.min.js")
PHONE = {"width": 360, "height": 780}
# What is Streamlit's own and not ours to mend, as exactly as it can be said: (rule, part of the element's HTML).
STREAMLITS: tuple[tuple[str, str], ...] = ()


def settled(page: Page) -> None:
    """Wait until the page has its title and no run is under way."""
    expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=SLOW)
    page.wait_for_function(
        "() => !document.querySelector('[data-testid=stApp][data-test-script-state=running]')", timeout=SLOW
    )
    page.wait_for_timeout(800)  # pictures are drawn, colors have faded over


def violations(page: Page) -> list[str]:
    """Return what axe-core calls serious or critical, one line for each element."""
    found: list[dict[str, Any]] = page.evaluate(
        "() => axe.run(document, {resultTypes: ['violations']}).then((result) => result.violations)"
    )
    return [
        f"{rule['id']}: {node['target']} {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
        if not any(rule["id"] == name and part in node["html"] for name, part in STREAMLITS)
    ]


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(page: Page, server: Server, name: str) -> None:
    page.goto(f"{server(APP)}/{name}?n=200")
    settled(page)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # the app follows, without being loaded again
        page.wait_for_timeout(500)
        found[scheme] = violations(page)
    page.set_viewport_size(PHONE)
    page.wait_for_timeout(500)
    widths = page.evaluate(
        """() => [document.documentElement, document.querySelector("[data-testid=stMain]")]
          .map((element) => [element.scrollWidth, element.clientWidth])"""
    )
    assert found == {"light": [], "dark": []}
    assert all(content <= room for content, room in widths), f"at 360 px the page is wider than the screen: {widths}"
