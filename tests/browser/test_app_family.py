"""The k-means family in a browser: runs arrive by themselves, follow ε, and a click shows a method's picture."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.test_app import opened, redrawn, scene_of, unfold

pytestmark = [pytest.mark.browser, pytest.mark.still]

PATIENCE = 120_000  # ms; work of the lowest priority on a busy machine
SMALL = "n=300&n_clusters=3&n_runs=5"

Server = Callable[[str], str]


def chart(page: Page, key: str) -> Locator:
    found = page.locator(f".dpviz-live[data-dpviz-key='{key}']")
    expect(found).to_have_attribute("data-dpviz-drawn", re.compile("[1-9]"), timeout=PATIENCE)
    return found


def all_done(page: Page) -> None:
    """Wait until nothing is computed any more."""
    expect(page.locator(".dpviz-wait")).to_be_hidden(timeout=PATIENCE)


@pytest.mark.slow  # tests/pages draw and click them, test_wait sees that a new picture is followed
def test_runs_arrive_and_follow_the_slider_and_a_click_on_a_method_shows_its_picture_and_its_link(
    page: Page, server: Server
) -> None:
    picture = opened(page, server, f"{SMALL}&tab=methods")
    steps, against = chart(page, "steps"), chart(page, "against")
    all_done(page)
    before, sweep = scene_of(steps), scene_of(against)
    slider = page.get_by_role("slider", name="ε").first
    with redrawn(picture):
        slider.press("ArrowLeft")
    expect(steps).not_to_have_attribute("data-dpviz-scene", before, timeout=PATIENCE)
    all_done(page)
    assert scene_of(against) != sweep  # the rule has moved
    with redrawn(picture):
        slider.press("ArrowRight")
    expect(steps).to_have_attribute("data-dpviz-scene", before, timeout=PATIENCE)
    all_done(page)
    with redrawn(picture):
        steps.get_by_role("button", name="Show DWORK").click()
    expect(page.locator(".dpviz-sentence")).to_contain_text("DWORK.")
    expect(page).to_have_url(re.compile("mode=dwork"))
    with redrawn(picture):
        unfold(chart(page, "against"))
        chart(page, "against").get_by_role("button", name="Show EUGkM (grid)").click()
    expect(page.locator(".dpviz-sentence")).to_contain_text("EUGkM (grid).")
    page.reload()
    expect(page.locator(".dpviz-sentence")).to_contain_text("EUGkM (grid).", timeout=PATIENCE)
    page.get_by_role("tab", name="Reproduction").click()
    chart(page, "convergent_kmeans:gap_total")
    expect(page).to_have_url(re.compile("tab=reproduction"))


@pytest.mark.slow  # tests/pages have them in step, test_live_pairs steps two pictures
def test_two_modes_step_together(page: Page, server: Server) -> None:
    picture = opened(page, server, f"{SMALL}&mode=both&tab=budgets&audience=curator")
    other = chart(page, "other")
    frames = int(other.get_attribute("data-dpviz-frames") or 0)
    for _ in range(3):
        page.get_by_role("slider", name="Step", exact=True).press("ArrowLeft")
    expect(other).not_to_have_attribute("data-dpviz-frames", str(frames))
    assert picture.bounding_box()["y"] == other.bounding_box()["y"]  # type: ignore[index]


@pytest.mark.slow  # a layer is hidden and shown in test_live and test_app_picture, where it stays while ε moves
def test_what_the_paper_rejects_is_drawn_when_it_is_asked_for(page: Page, server: Server) -> None:
    picture = opened(page, server, f"{SMALL}&tab=budgets&audience=curator")
    step = page.get_by_role("slider", name="Step", exact=True)
    step.fill(str(int(step.get_attribute("max") or 0) - 1))
    unfold(picture)
    chip = picture.get_by_role("button", name="clamped noise")
    expect(chip).to_have_attribute("aria-pressed", "false")
    canvas = picture.locator("canvas").first
    without = canvas.screenshot()
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
    page.mouse.move(0, 0)
    assert canvas.screenshot() != without
    slider = page.get_by_role("slider", name="ε").first
    with redrawn(picture):
        slider.press("ArrowLeft")
    expect(chip).to_have_attribute("aria-pressed", "true")  # what was asked for stays
