"""Accessibility of every page: axe-core finds nothing serious, the keyboard suffices, motion rests, a phone will do."""

import re
from importlib.resources import files
from io import BytesIO
from typing import Any, Literal

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from dpviz.methods import CATALOGUE
from dpviz.navigation import HOME
from tests.browser.first_screen import check_edge
from tests.browser.servers import ROOT, Server
from tests.browser.test_app import APP, layers, picture_of
from tests.browser.waiting import MANY_FRAMES, SLOW, box_of, faded, next_frame, settled, still

PAGES = {path.stem for path in (ROOT / "pages").glob("*.py")}
# These pages' own tests open them and make the same checks.
WITH_A_STAGE = [HOME, *CATALOGUE, "compare", "audit"]
# test_app_course makes the same checks in every chapter.
COURSE = "learn"
AXE = files("axe_playwright_python").joinpath("axe.min.js")
PHONE = {"width": 360, "height": 780}
# Rules about properties that a color scheme can change.
COLORS = ["color-contrast", "link-in-text-block"]
# Faults in Streamlit's own elements, which dpviz cannot fix, as exact as possible: (rule, part of the element's HTML).
STREAMLITS: tuple[tuple[str, str], ...] = ()


def violations(page: Page, context: str | None = None, **options: object) -> list[str]:
    """Return the violations that axe-core rates serious or critical, one line per element; `context` is a selector."""
    found: list[dict[str, Any]] = page.evaluate(
        "([context, options]) => axe.run(context ?? document, options).then((result) => result.violations)",
        [context, {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}, **options}],
    )
    return [
        f"{rule['id']}: {node['target']} {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
        if not any(rule["id"] == name and part in node["html"] for name, part in STREAMLITS)
    ]


# Controls that are lower or narrower than a finger needs. A word within a sentence may be; Streamlit's icons and the
# slider's help have enough area around them.
SMALL = """([least, parts]) => {
  const found = [];
  const size = (one) => {
    const { width, height } = one.getBoundingClientRect();
    const around = getComputedStyle(one, "::after");
    const more = around.position === "absolute" ? Math.max(0, -parseFloat(around.top)) : 0;
    return [width + 2 * more, height + 2 * more];
  };
  const walk = (root) => root.querySelectorAll("*").forEach((one) => {
    if (one.shadowRoot) walk(one.shadowRoot);
    if (!one.matches("a[href], button, summary, input[type=range], .who input, [role=tab], [role=radio]")) return;
    if (one.closest(parts)) return;
    if (one.matches(`:is(p, li) .dpviz-word, ${least > 24 ? "p a," : ""} [data-testid=stSkipToContent]`)) return;
    if (!one.checkVisibility({ checkVisibilityCSS: true })) return;
    const [width, height] = size(one);
    if (width < least - 0.5 || height < least - 0.5)
      found.push(`${one.outerHTML.slice(0, 120)}: ${width} x ${height}`);
  });
  walk(document);
  return found;
}"""
NARROW_TARGET, TARGET = 44, 24  # CSS pixels
# Parts of Streamlit's widgets that are pressed as a whole, and parts that show only under a mouse.
PARTS = ", ".join(
    f"[data-testid={name}]"
    for name in ("stSidebar", "stNumberInput", "stSelectbox", "stSlider", "stElementToolbar", "stTabsScrollRight")
)


def tabs_violations(page: Page) -> dict[str, list[str]]:
    """Open each closed tab in turn, and return the violations that axe-core finds."""
    found = {}
    for tab in [tab for tab in page.get_by_role("tab").all() if tab.get_attribute("aria-selected") != "true"]:
        tab.click(timeout=SLOW)
        expect(tab).to_have_attribute("aria-selected", "true")
        panel = page.get_by_role("tabpanel").filter(visible=True).first
        expect(panel.locator("*").first).to_be_attached(timeout=SLOW)
        settled(page)
        found[tab.inner_text()] = violations(page, "[role=tabpanel]:not([hidden])")
    page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, 0)")
    return found


def accessible(page: Page, *, tabs: Literal["all", "open"] = "all") -> None:
    """Fail unless the page suits axe-core and fingers, in both schemes and in closed tabs."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    faded(page, dark=False)
    found = {"light": violations(page), **({} if tabs == "open" else tabs_violations(page))}
    # The app follows without a reload.
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    faded(page, dark=True)
    # Names, roles and order are the same in both schemes.
    found["dark"] = violations(page, runOnly={"type": "rule", "values": COLORS})
    found["small"] = page.evaluate(SMALL, [TARGET, PARTS])
    page.set_viewport_size(PHONE)
    still(page)
    found["small for a finger"] = page.evaluate(SMALL, [NARROW_TARGET, PARTS])
    faults = [f"{state}: {fault}" for state, faults in found.items() for fault in faults]
    assert not faults, "\n".join(faults)
    check_edge(page)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in ("quiz", "teach") else name
        for name in sorted(PAGES - {*WITH_A_STAGE, COURSE})
    ],
)
def test_axe_finds_nothing_serious(page: Page, server: Server, name: str) -> None:
    page.goto(f"{server(APP)}/{name}")
    settled(page)
    accessible(page)


# The element that has the focus, even inside a component; its name; and whether its focus is visible.
FOCUSED = """(accents) => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  if (!at || at === document.body) return null;
  const shows = (one) => {
    const style = getComputedStyle(one);
    const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    const edge = parseFloat(style.borderTopWidth) > 0 && accents.includes(style.borderTopColor);
    return ring || style.boxShadow !== "none" || edge;
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
# The primary color of config.toml: borders of lists that have the focus.
ACCENTS = ["rgb(27, 35, 48)"]
MOST_STOPS = 120
MOST_STOPS_IN_MENU = 20
MOST_STOPS_TO_PICTURE = 10


def test_the_keyboard_reaches_every_control_and_a_way_past_the_menu_leads_to_the_slider_and_the_picture(
    page: Page, server: Server
) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{server(APP)}/convergent_kmeans?tab=read&audience=curator&n=500")
    picture = picture_of(page)
    settled(page)
    assert page.evaluate(MOVING) == [], "whoever asks for less motion gets none"
    past_the_menu(page, picture)
    terms_open(page)
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    all_reached(page)


def all_reached(page: Page) -> None:
    """Reach every control by the Tab key, also in the menus, and check each time that its place is visible."""
    stops: list[dict[str, Any]] = []
    # The first stop, which is checked above.
    page.get_by_test_id("stSkipToContent").first.focus()
    page.keyboard.press("Tab")
    for _ in range(MOST_STOPS):
        stop = page.evaluate(FOCUSED, ACCENTS)
        if stop is None:
            break
        stops.append(stop)
        page.keyboard.press("Tab")
    names = " | ".join(stop["name"] for stop in stops)
    for control in (
        "k-means",
        "Data: ",
        "New noise",
        "More",
        "ε",
        "Details of the guarantee",
        "Play",
        "Step",
        "Curator",
        "Layers",
        "Data table",
    ):
        assert control in names, f"{control} is not reached: {names}"
    assert [stop for stop in stops if not stop["shown"]] == []
    for menu, held in (
        ("More", ("Method", "Seeds", "How to read it", "Export", "Share")),
        ("Layers", ("Zoom in", "Select a box", "Data table")),
    ):
        button = page.get_by_role("button", name=menu, exact=True)
        button.press("Enter")
        still(page, MANY_FRAMES)
        inside: list[dict[str, Any]] = []
        for _ in range(MOST_STOPS_IN_MENU):
            page.keyboard.press("Tab")
            inside.append(page.evaluate(FOCUSED, ACCENTS) or {"name": "", "shown": True})
            if held[-1] in inside[-1]["name"]:
                break
        names = " | ".join(stop["name"] for stop in inside)
        for control in held:
            assert control in names, f"{control} is not reached in {menu}: {names}"
        assert [stop for stop in inside if not stop["shown"]] == []
        page.keyboard.press("Escape")


def past_the_menu(page: Page, picture: Locator) -> None:
    """Go past the menu, move ε, hear of it once without the curator's words, and reach picture and legend."""
    said, finding = page.locator(".dpviz-said"), page.locator(".dpviz-stage .finding")
    expect(said).to_have_text(finding.inner_text())
    page.locator("body").press("Tab")
    expect(page.get_by_test_id("stSkipToContent").first).to_be_focused()
    assert page.evaluate(FOCUSED, ACCENTS)["shown"]
    page.keyboard.press("Enter")
    expect(page.get_by_role("slider", name="ε").first).to_be_focused()
    said.evaluate(
        """(node) => {
          window.said = [];
          new MutationObserver(() => window.said.push(node.textContent)).observe(node, { childList: true });
        }"""
    )
    before = finding.inner_text()
    for _ in range(12):
        page.keyboard.press("ArrowLeft")
        next_frame(page)
    expect(page.get_by_role("slider", name="ε").first).to_have_attribute("aria-valuetext", re.compile("^ε 0.1,"))
    expect(finding).not_to_have_text(before, timeout=SLOW)
    expect(said).not_to_have_text(before, timeout=SLOW)
    # Not one message for each value. A rerun may come late on a busy machine.
    assert page.evaluate("window.said.length") <= 2
    expect(said).to_have_text(finding.inner_text(), timeout=SLOW)
    page.evaluate("window.said.length = 0")
    page.get_by_role("radio", name="Everyone").click()
    page.wait_for_function("() => window.said.length > 0", timeout=SLOW)
    # The public does not hear the curator's sentence.
    assert page.evaluate("window.said[0]") == ""
    expect(page.get_by_role("radio", name="Everyone")).to_be_checked()
    page.get_by_role("radio", name="Curator").click()
    page.get_by_role("slider", name="ε").first.focus()
    # The skip link past the menu, and the slider.
    stops = 2
    while (page.evaluate(FOCUSED, ACCENTS) or {}).get("tag") != "CANVAS":
        page.keyboard.press("Tab")
        stops += 1
        assert stops <= MOST_STOPS_TO_PICTURE
    layers(page)
    legends = picture.locator(".legend")
    for legend in legends.all():
        expect(legend.locator("button[tabindex='0']")).to_have_count(1)
    first = legends.first.locator("button").first
    first.focus()
    page.keyboard.press("ArrowDown")
    expect(legends.first.locator("button").nth(1)).to_be_focused()
    page.keyboard.press("Escape")


def terms_open(page: Page) -> None:
    """Open the meaning of a term by mouse, keyboard and finger."""
    word = page.locator(".dpviz-facts .dpviz-word").first
    word.click()
    expect(page.locator(".dpviz-meaning:popover-open")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator(".dpviz-meaning:popover-open")).to_have_count(0)
    page.get_by_role("button", name="Details of the guarantee").click()
    term = page.locator("#dpviz-why [popovertarget=dpviz-term-record]").first
    meaning = page.locator("#dpviz-term-record")
    term.focus()
    page.keyboard.press("Enter")
    expect(meaning).to_be_visible()
    page.keyboard.press("Escape")
    expect(meaning).to_be_hidden()
    # The card stays open.
    expect(term).to_be_visible()
    left, top, width, height = box_of(term)
    touch = page.context.new_cdp_session(page)
    finger = {"x": left + width / 2, "y": top + height / 2}
    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [finger]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(meaning.get_by_role("link")).to_have_attribute("href", "glossary?term=record")
    expect(meaning).to_be_visible()
    touch.detach()


def drawn_pixels(element: Locator) -> int:
    """Return the number of an element's pixels whose color differs from its corner."""
    image = np.asarray(Image.open(BytesIO(element.screenshot())).convert("RGB"))
    return int((image != image[0, 0]).any(axis=2).sum())


def darkness(element: Locator) -> float:
    """Return the share of an element's pixels that is dark."""
    image = np.asarray(Image.open(BytesIO(element.screenshot())).convert("L"))
    return float((image < 128).mean())


def test_forced_colors_and_paper_keep_what_matters(page: Page, server: Server) -> None:
    page.emulate_media(forced_colors="active")
    page.goto(f"{server(APP)}/convergent_kmeans?tab=read&audience=curator&n=500")
    picture = picture_of(page)
    settled(page)
    slider, lock = page.get_by_role("slider", name="ε").first, page.locator(".dpviz-facts .dpviz-lock").first
    width = slider.evaluate("input => input.clientWidth")
    assert drawn_pixels(slider) > 2 * width, "the track is not drawn"
    assert drawn_pixels(lock) > 20, "the lock is not drawn"
    chosen = page.get_by_role("radiogroup", name="View as").get_by_role("radio")
    grounds = {each.is_checked(): darkness(each) for each in chosen.all()}
    assert grounds[True] > 0.5 > grounds[False], f"the chosen option looks like the other: {grounds}"
    assert picture.evaluate("root => getComputedStyle(root).color") == "rgb(0, 0, 0)"
    # If left to the system, which takes every background away, both would be gone.
    page.add_style_tag(content=".dpviz-lock { background: Canvas !important; forced-color-adjust: auto !important; }")
    assert drawn_pixels(lock) == 0

    page.emulate_media(forced_colors="none", media="print")
    # A4 at 96 dots per inch, less its margins.
    page.set_viewport_size({"width": 718, "height": 1000})
    still(page)
    for gone in ("[data-testid=stHeader]", "[data-testid=stSidebar]", ".st-key-dpviz-row button", "[role=tablist]"):
        assert not any(each.is_visible() for each in page.locator(gone).all()), f"{gone} is printed"
    # These words are buttons, and parts of sentences.
    words = page.locator(".dpviz-claim .dpviz-word").all()
    assert words
    assert all(each.is_visible() for each in words), "a sentence is printed with a gap"
    for part in (".play", ".steps", ".who", ".count", ".more-layers", ".why"):
        expect(page.locator(f".dpviz-stage .{part[1:]}").first).to_be_hidden()
    for part in (".bar", ".views", ".table-button"):
        expect(picture.locator(part)).to_be_hidden()
    left, top, width, height = box_of(picture.locator("canvas"))
    assert left + width <= 719
    _, below, across, _ = box_of(picture.locator(".legend").first)
    assert across > 300
    assert below >= top + height - 1

    # The words above the picture have the whole width.
    stage = page.locator(".dpviz-stage")
    _, _, across, two_lines = box_of(stage.locator(".finding"))
    assert across > 600
    assert two_lines < 100
    _, top, _, height = box_of(stage.locator(".guarantee").first)
    assert top + height < box_of(stage.locator(".pic"))[1] + 1
    expect(stage.locator(".ends")).to_be_hidden()
