"""The attack that motivates everything, in a browser: step to the guess, click a new record, view more releases."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_app import APP, SLOW, Server, go_to, switch

pytestmark = [pytest.mark.browser, pytest.mark.still]
EXACT = re.compile(r"give the record away to whoever has the other 499: right to (\d+ digits|every digit)")


def test_a_click_attacks_another_record_and_noise_hides_it(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/convergent_kmeans?n=500&tab=attack&record=5")
    attack = page.locator(".dpviz-live[data-dpviz-key=attack][data-dpviz-drawn]")
    expect(page.get_by_text(EXACT)).to_be_visible(timeout=SLOW)
    go_to(attack, 0, "1: what the attacker has")
    go_to(attack, 2, "3: subtract")
    field = page.get_by_role("spinbutton", name="Record under attack")
    expect(field).to_have_value("5")
    canvas = attack.locator("canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    # A cluster in the middle of the box.
    canvas.click(position={"x": box["width"] * 0.5 + 12, "y": box["height"] * 0.5})
    expect(field).not_to_have_value("5", timeout=SLOW)
    expect(page.get_by_text(EXACT)).to_be_visible(timeout=SLOW)
    noisy = ("Noisy (repaired)", "With noise for ε = 1 in all")
    for name, said in (noisy, ("As published", "leave the record on one line")):
        switch(page, name)
        expect(page.get_by_text(said)).to_be_visible(timeout=SLOW)
    shown = re.compile("[?&]attacked=published")
    # The tab ran without the picture.
    expect(page).to_have_url(shown)
    before = page.url
    page.get_by_role("slider", name="ε").first.press("ArrowRight")
    expect(page).not_to_have_url(before, timeout=SLOW)
    # The picture ran without the tab.
    expect(page).to_have_url(shown)


# Long runs only: test_app_teach follows a link to a tab, and tests/pages follow the links on the home page.
@pytest.mark.slow
@pytest.mark.parametrize(("words", "key"), [("Find one record in exact centers", "attack"), ("Guess who", "game")])
def test_home_leads_to_the_attack_itself(page: Page, server: Server, words: str, key: str) -> None:
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(server(APP))
    page.get_by_role("button", name=words).click(timeout=SLOW)
    canvas = page.locator(f".dpviz-live[data-dpviz-key={key}][data-dpviz-drawn] canvas").first
    expect(canvas).to_be_in_viewport(ratio=0.9, timeout=SLOW)
    # Content drawn above the canvas later no longer moves it.
    page.wait_for_timeout(1_000)
    expect(canvas).to_be_in_viewport(ratio=0.9)
    page.mouse.move(683, 100)
    # The reader may leave at once.
    page.mouse.wheel(0, -5_000)
    page.wait_for_timeout(500)
    expect(canvas).not_to_be_in_viewport(ratio=0.9)
