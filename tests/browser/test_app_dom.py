"""Every selector into Streamlit's private page matches an element of some page: new versions break them one by one.

An element that `tests/ui/test_streamlit_dom.py` finds by name alone may still have moved out of its parent.
"""

import re

import pytest
from playwright.sync_api import Page, expect

from dpviz.assets import text
from dpviz.ui.hiding import STYLES
from tests.browser.servers import Server
from tests.browser.test_app import APP
from tests.browser.waiting import SLOW, settled

SHEETS = ("style", "learn", "projector")
PRIVATE = re.compile(r"data-testid|data-baseweb|\.st[A-Z]")
# A pressed button of a group, for which the test looks only by name.
PRESSED = {'.stApp [data-testid$="Active"]'}
# The parts of the selectors of all rules in a sheet, without conditions that need a pointer or the keyboard first.
PARTS = """(text) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  const found = [];
  const walk = (rules) => [...rules].forEach((rule) => {
    if (rule.cssRules) walk(rule.cssRules);
    if (!rule.selectorText) return;
    let depth = 0, part = "";
    for (const sign of rule.selectorText + ",") {
      depth += sign === "(" ? 1 : sign === ")" ? -1 : 0;
      if (sign === "," && !depth) { found.push(part.trim()); part = ""; } else part += sign;
    }
  });
  walk(sheet.cssRules);
  return found.map((part) => part.replaceAll(/::[\\w-]+|:(hover|active|focus(-visible|-within)?)(?![\\w-])/g, ""));
}"""
WIDE, PHONE = {"width": 1366, "height": 900}, {"width": 390, "height": 844}
PLACES = (
    ("/", WIDE),
    ("/", PHONE),
    ("/convergent_kmeans?n=300&tab=read&audience=curator", WIDE),
    ("/convergent_kmeans?n=300&size=projector", WIDE),
    ("/convergent_kmeans?n=300&data=upload", WIDE),
    ("/convergent_kmeans?n=300&tab=read&below=read&under=read", WIDE),
    ("/convergent_kmeans?n=300&tab=runs&audience=curator", WIDE),
    ("/dpm?n=300&shares=own&audience=curator", WIDE),
    ("/compare", WIDE),
    ("/audit", WIDE),
    ("/learn", WIDE),
    ("/teach", WIDE),
    ("/glossary", WIDE),
    ("/quiz", WIDE),
)


@pytest.mark.slow
def test_every_selector_into_streamlits_page_meets_something(page: Page, server: Server) -> None:
    address = server(APP)
    page.goto(address)
    sheets = [text(f"{name}.css") for name in SHEETS] + list(STYLES.values())
    ours = {part for sheet in sheets for part in page.evaluate(PARTS, sheet) if PRIVATE.search(part)}
    assert len(ours) > 40
    waiting = ours - PRESSED
    assert len(waiting) == len(ours) - 1
    for place, size in PLACES:
        page.set_viewport_size(size)  # type: ignore[arg-type]
        page.goto(address + place)
        settled(page)
        for opened in (None, *page.get_by_test_id("stPopoverButton").all()):
            if opened is not None and opened.is_visible():
                opened.click()
                expect(page.get_by_test_id("stPopoverBody").first).to_be_visible(timeout=SLOW)
            waiting -= {part for part in waiting if page.evaluate("(part) => !!document.querySelector(part)", part)}
            if opened is not None:
                page.keyboard.press("Escape")
    assert not waiting, "\n".join(sorted(waiting))
