"""The k-means family in a browser: two modes step together, and a hidden layer is drawn on request."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.test_app import opened, redrawn, unfold

pytestmark = [pytest.mark.browser, pytest.mark.still]

# Milliseconds for work of the lowest priority on a busy machine.
PATIENCE = 120_000
SMALL = "n=300&n_clusters=3"

Server = Callable[[str], str]


def chart(page: Page, key: str) -> Locator:
    found = page.locator(f".dpviz-live[data-dpviz-key='{key}']")
    expect(found).to_have_attribute("data-dpviz-drawn", re.compile("[1-9]"), timeout=PATIENCE)
    return found


# Long runs only: tests/pages have the two modes in step, and test_live_pairs steps two pictures.
@pytest.mark.slow
def test_two_modes_step_together(page: Page, server: Server) -> None:
    picture = opened(page, server, f"{SMALL}&mode=both&tab=read&audience=curator")
    other = chart(page, "other")
    frames = int(other.get_attribute("data-dpviz-frames") or 0)
    for _ in range(3):
        page.get_by_role("slider", name="Step", exact=True).press("ArrowLeft")
    expect(other).not_to_have_attribute("data-dpviz-frames", str(frames))
    assert picture.bounding_box()["y"] == other.bounding_box()["y"]  # type: ignore[index]


# Long runs only: test_live and test_app_picture hide and show a layer, and it stays there while ε moves.
@pytest.mark.slow
def test_what_the_paper_rejects_is_drawn_when_it_is_asked_for(page: Page, server: Server) -> None:
    picture = opened(page, server, f"{SMALL}&tab=read&audience=curator")
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
    # The requested layer stays.
    expect(chip).to_have_attribute("aria-pressed", "true")
