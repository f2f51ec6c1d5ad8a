"""Sharing in the running app: the link is copied, opens the same picture without its hidden parts, keeps its frame."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import visitor
from tests.browser.servers import Server
from tests.browser.test_app import APP, behind, picture_of, scene_of, switch, unfolded
from tests.browser.waiting import MANY_FRAMES, SLOW, settled, still

pytestmark = pytest.mark.still

# No work continues behind the page.
QUIET = "data=blobs&n=200&tab=read&audience=curator"


def inked(page: Page) -> float:
    """Return the share of the picture that marks and names cover: regions are faint."""
    picture = picture_of(page)
    settled(page)
    share: float = picture.locator("canvas").evaluate(
        """canvas => {
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          return data.filter((value, i) => i % 4 === 3 && value > 128).length / (data.length / 4);
        }"""
    )
    return share


def test_a_copied_link_opens_the_picture_and_a_term_opens_by_keyboard(page: Page, server: Server) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{server(APP)}/dpm?{QUIET}&epsilon=0.5")
    scene = scene_of(picture_of(page))
    word = page.locator(".dpviz-word").first
    expect(word).to_be_visible(timeout=SLOW)
    word.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".dpviz-meaning:popover-open")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator(".dpviz-meaning:popover-open")).to_have_count(0)
    expect(page.locator(".katex-display").first).to_be_visible(timeout=SLOW)
    unfolded(page, "Share")
    page.get_by_role("button", name="Copy link").click(timeout=SLOW)
    expect(page.get_by_text("The link is copied.")).to_be_visible(timeout=SLOW)
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.url
    page.get_by_text("Code for a web page").click()
    page.get_by_role("button", name="Copy code").click()
    expect(page.get_by_text("The code is copied.")).to_be_visible()
    framed = page.evaluate("navigator.clipboard.readText()")
    assert framed.startswith('<iframe src="https://example.org/dpm/?embed&amp;data=blobs&amp;eps=0.5&amp;')
    assert 'title="DPM"' in framed
    code = page.locator("img.dpviz-qr").first
    expect(code).to_be_visible(timeout=SLOW)
    assert code.evaluate("image => image.naturalWidth > 100 && image.naturalWidth === image.naturalHeight")
    page.get_by_role("button", name="Show it to the whole room").click()
    wall = page.locator(".dpviz-wall .dpviz-qr")
    expect(wall).to_be_visible()
    assert wall.evaluate("image => image.getBoundingClientRect().height > 0.8 * innerHeight"), "from the last row"
    assert code.get_attribute("alt") == f"QR code of {copied}"
    # Close the wall and the menu.
    for _ in range(2):
        page.keyboard.press("Escape")
    switch(page, "Everyone")
    expect(page).to_have_url(re.compile("audience=public"), timeout=SLOW)
    behind(page, "more")
    # The curator's earlier link is gone.
    expect(page.get_by_label("Link to this picture")).to_have_value(page.url)
    page.goto(f"{copied}&hide=knobs,tabs&size=projector&embed=true")
    assert scene_of(picture_of(page)) == scene
    expect(page.get_by_role("button", name="New noise")).to_be_visible(timeout=SLOW)
    behind(page, "more")
    menu = page.get_by_test_id("stPopoverBody")
    expect(menu.get_by_text("Share", exact=True)).to_be_visible()
    expect(menu.locator(".st-key-dpviz-knobs")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.locator(".katex-display")).to_have_count(0)
    page.wait_for_function("location.search.includes('hide=knobs%2Ctabs') && location.search.includes('embed=true')")
    large = inked(page)
    page.goto(f"{copied}&hide=knobs,tabs&embed=true")
    assert scene_of(picture_of(page)) == scene
    assert large > 1.2 * inked(page), "marks and their names grow with the type"


def test_menus_open_by_a_finger_on_a_slow_phone(browser: Browser, server: Server) -> None:
    """If a click's target goes away while the menu opens, Streamlit counts it as a click outside the menu."""
    context = visitor(browser, viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto(f"{server(APP)}/dpm?{QUIET}")
    picture_of(page)
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 3})
    for name in ("data", "more"):
        page.locator(f".st-key-dpviz-{name} button").first.tap()
        expect(page.get_by_test_id("stPopoverBody")).to_be_visible()
        still(page, MANY_FRAMES)
        expect(page.get_by_test_id("stPopoverBody")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)
    page.get_by_test_id("stExpandSidebarButton").tap()
    # Nothing in the page's bar covers the button.
    page.get_by_test_id("stSidebarCollapseButton").locator("button").tap()
    expect(page.get_by_test_id("stSidebarNavLink").first).not_to_be_in_viewport(timeout=SLOW)
    context.close()
