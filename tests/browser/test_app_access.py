"""Every page for everybody: axe-core finds nothing serious, the keyboard is enough, motion rests, a phone will do."""

from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from dpviz.navigation import HOME
from tests.browser.conftest import ROOT
from tests.browser.test_app import APP, SLOW, Server

pytestmark = pytest.mark.browser

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
AXE = files("axe_playwright_python").joinpath("axe.min.js")
ADDRESS = {HOME: ""}  # of a page that has none by its name
PHONE = {"width": 360, "height": 780}
COLORS = ["color-contrast", "link-in-text-block"]  # the rules on what a color scheme can change
# What is Streamlit's own and not ours to mend, as exactly as it can be said: (rule, part of the element's HTML).
STREAMLITS: tuple[tuple[str, str], ...] = ()


def settled(page: Page) -> None:
    """Wait until the page has its title and no run is under way."""
    expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=SLOW)
    page.wait_for_function(
        "() => !document.querySelector('[data-testid=stApp][data-test-script-state=running]')", timeout=SLOW
    )
    page.wait_for_timeout(800)  # pictures are drawn, colors have faded over


def violations(page: Page, **options: object) -> list[str]:
    """Return what axe-core calls serious or critical, one line for each element."""
    found: list[dict[str, Any]] = page.evaluate(
        "(options) => axe.run(document, options).then((result) => result.violations)",
        {"resultTypes": ["violations"], **options},
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
    page.goto(f"{server(APP)}/{ADDRESS.get(name, f'{name}?n=200')}")
    settled(page)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.wait_for_timeout(500)
    found = {"light": violations(page)}
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")  # the app follows, without being loaded again
    page.wait_for_timeout(500)
    found["dark"] = violations(page, runOnly={"type": "rule", "values": COLORS})  # names, roles and order are the same
    page.set_viewport_size(PHONE)
    page.wait_for_timeout(500)
    widths = page.evaluate(
        """() => [document.documentElement, document.querySelector("[data-testid=stMain]")]
          .map((element) => [element.scrollWidth, element.clientWidth])"""
    )
    assert found == {"light": [], "dark": []}
    assert all(content <= room for content, room in widths), f"at 360 px the page is wider than the screen: {widths}"


# The element that has the focus, also inside of components; what it is called; whether anything shows that it has it.
FOCUSED = """(accents) => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  if (!at || at === document.body) return null;
  const shows = (one) => {
    const style = getComputedStyle(one);
    const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    return ring || style.boxShadow !== "none" || accents.includes(style.borderTopColor);
  };
  const around = [at, at.parentElement, at.parentElement?.parentElement, ...at.querySelectorAll("*")].filter(Boolean);
  const name = at.getAttribute("aria-label") || at.labels?.[0]?.textContent || at.textContent || at.title || at.type;
  return { name: (name ?? "").trim().slice(0, 60), tag: at.tagName, shown: around.some(shows) };
}"""
MOVING = """() => {
  const found = [];
  const walk = (root) => root.querySelectorAll("*").forEach((one) => {
    if (one.shadowRoot) walk(one.shadowRoot);
    const style = getComputedStyle(one);
    const ours = [...one.classList].some((name) => name.startsWith("dpviz")) || one.getRootNode() !== document;
    const long = (text) => text.split(",").some((part) => parseFloat(part) > 0.01);
    if (ours && (long(style.transitionDuration) || (style.animationName !== "none" && long(style.animationDuration))))
      found.push(`${one.tagName}.${one.className}`);
  });
  walk(document);
  return [...new Set(found)];
}"""
ACCENTS = [
    "rgb(11, 92, 173)",
    "rgb(10, 82, 153)",
]  # primary colors of config.toml: borders of lists
MOST_STOPS = 120


def test_the_keyboard_reaches_every_control_and_shows_where_it_is(page: Page, server: Server) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{server(APP)}/convergent_kmeans?tab=budgets")
    settled(page)
    assert page.evaluate(MOVING) == [], "whoever asks for less motion gets none"
    stops: list[dict[str, Any]] = []
    page.locator("body").press("Tab")
    for _ in range(MOST_STOPS):
        stop = page.evaluate(FOCUSED, ACCENTS)
        if stop is None:
            break
        stops.append(stop)
        page.keyboard.press("Tab")
    names = " | ".join(stop["name"] for stop in stops)
    for control in ("Data: ", "Method: ", "View as", "ε", "New noise", "Step", "Export", "Data table"):
        assert control in names, f"{control} is not reached: {names}"
    assert [stop for stop in stops if not stop["shown"]] == []
