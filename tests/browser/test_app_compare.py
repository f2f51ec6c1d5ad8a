"""The Compare page in a browser: runs stop and go on, and a method's name leads to a run and to its own page."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from dpviz.tools.compare.runs import ENTRIES
from tests.browser.test_app import APP, behind, switch

pytestmark = [pytest.mark.browser, pytest.mark.still]

Server = Callable[[str], str]
SLOW = 120_000  # ms
FEW = "&".join(["n=300", *(f"with_{key}={int(key in ('su', 'eugkm'))}" for key in ENTRIES)])


@pytest.mark.slow  # tests/pages stop a search, and test_app_audit stops runs in every run
def test_runs_are_stopped_go_on_and_one_is_opened_on_its_page(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/compare?{FEW}&compare_runs=30&compare_grid=many")
    page.get_by_role("button", name="Stop", exact=True).click(timeout=SLOW)
    expect(page.get_by_text(re.compile(r"Stopped: \d+ of \d+ parts"))).to_be_visible(timeout=SLOW)
    page.get_by_role("button", name="Go on").click()
    expect(page.locator(".dpviz-wait")).to_be_hidden(timeout=SLOW)
    picture = page.locator(".dpviz-live[data-dpviz-key='picture']")
    picture.get_by_role("button", name="Show DPLloyd (SU)").click()
    expect(page).to_have_url(re.compile("chosen=su"), timeout=SLOW)
    page.get_by_role("button", name="Open it on its page").click(timeout=SLOW)
    expect(page).to_have_url(re.compile(r"/convergent_kmeans\?.*mode=su"), timeout=SLOW)
    expect(page.get_by_role("heading", level=1)).to_have_text("Convergent k-means")
    expect(page).to_have_url(re.compile("n=300"))
    expect(page.locator("[data-testid=stException]")).to_have_count(0)


def test_what_the_public_opens_is_in_the_address_though_there_is_no_picture(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/compare?{FEW}&audience=public")
    expect(page).to_have_url(re.compile(r"compare_runs=30.*audience=public"), timeout=SLOW)
    behind(page, "more")
    switch(page, "100")
    expect(page).to_have_url(re.compile("compare_runs=100"), timeout=SLOW)
    expect(page.locator(".dpviz-live")).to_have_count(0)
    expect(page.locator("[data-testid=stException]")).to_have_count(0)


def test_a_k_that_is_taken_stands_on_the_whole_page_and_stays(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/compare?{FEW}&compare_runs=10&compare_tab=clusters&n_clusters=9&k_known=0&k_epsilon=1.0")
    menu = page.locator(".st-key-dpviz-method button").first
    slider = page.get_by_role("slider", name="Clusters k")
    menu.click(timeout=SLOW)  # the browser knows the slider from now on, also where it does not draw it
    expect(slider).to_have_value("9")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Draw a private curve").click(timeout=SLOW)
    use = page.get_by_role("button", name=re.compile(r"^Use k = \d+$"))
    expect(use).to_be_visible(timeout=SLOW)
    k = re.sub(r"\D", "", use.inner_text())
    assert k != "9", "else this test shows nothing"
    use.click()
    said = page.get_by_text(f"k = {k} was read off a private curve, which spent ε = 1.")
    expect(said).to_be_visible(timeout=SLOW)
    page.get_by_role("tab", name="Numbers").click()  # another run, with which a closed menu sends what it knows
    expect(page).to_have_url(re.compile("compare_tab=numbers"), timeout=SLOW)
    expect(page).to_have_url(re.compile(rf"n_clusters={k}&.*k_curve=1"))
    expect(said).to_be_visible()
    menu.click()
    expect(slider).to_have_value(k)
