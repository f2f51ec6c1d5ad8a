"""Two worlds in a browser: pick a record by a click, read the odds, and let the public look."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_app import APP, SLOW, Server, go_to, picture_of, switch

pytestmark = pytest.mark.browser
SAID = re.compile(
    r"An attacker who guesses from this release is (right \d+ times|not seen to do better than a coin \(.*) in 100\)?;"
)


# Long runs only: clicks choose records in test_app_attack and test_app_source_target, and tests/pages draw both worlds.
@pytest.mark.slow
def test_a_click_chooses_the_record_and_the_clouds_follow(page: Page, server: Server) -> None:
    # One record on a place of its own in the middle: the click cannot miss it.
    link = "data=worst_case&n=200&n_centers=2&noise_seed=1&below=worlds&record=5&n_world_runs=100"
    page.goto(f"{server(APP)}/source_target?{link}")
    clouds = page.locator(".dpviz-live[data-dpviz-key=worlds][data-dpviz-drawn]")
    expect(clouds).to_be_visible(timeout=SLOW)
    expect(page.get_by_text(SAID)).to_be_visible(timeout=SLOW)
    expect(clouds).to_contain_text("not a release")
    expect(clouds).to_contain_text("Rings: With record 5. Crosses: Without it.")
    picture = picture_of(page)
    go_to(picture, 0, "0: given")
    canvas = picture.locator("canvas").first
    box = canvas.bounding_box()
    assert box is not None
    canvas.click(position={"x": box["width"] * 0.5 + 12, "y": box["height"] * 0.5 - 8})
    expect(page).to_have_url(re.compile(r"[?&]record=0(&|$)"), timeout=SLOW)
    expect(page).to_have_url(re.compile("below=worlds"))
    expect(clouds).to_contain_text("Rings: With record 0.", timeout=SLOW)
    switch(page, "Everyone")
    expect(page.get_by_text("nothing for you to see here")).to_be_visible(timeout=SLOW)
    expect(clouds).to_have_count(0)
