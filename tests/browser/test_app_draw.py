"""Draw your own, and select, on a method's page."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.servers import Server
from tests.browser.test_app import QUIET, behind, layers, redrawn, switch
from tests.browser.waiting import box_of, settled

pytestmark = pytest.mark.still


def opened(
    page: Page, server: Server, query: str = "data=draw&drawing=one", name: str = "convergent_kmeans"
) -> Locator:
    page.goto(f"{server('app.py')}/{name}?{query}&{QUIET}")
    picture = page.locator(".dpviz-live[data-dpviz-key=picture]")
    expect(picture).to_have_attribute("data-dpviz-drawn", re.compile(r"\d+"), timeout=60_000)
    # A page is built in several passes, and a reader's action in between can be lost.
    settled(page)
    return picture


def at(picture: Locator, across: float, down: float) -> tuple[float, float]:
    """Return the position in the window of a share of the picture's size."""
    left, top, width, height = box_of(picture.locator("canvas"))
    return left + across * width, top + down * height


def drag(page: Page, picture: Locator, *places: tuple[float, float]) -> None:
    first, *others = [at(picture, *place) for place in places]
    page.mouse.move(*first)
    page.mouse.down()
    for other in others:
        page.mouse.move(*other, steps=5)
    page.mouse.up()


def counted(page: Page, n: int, words: str = "records") -> None:
    """Wait until the page has this number of records and reports it with its data."""
    behind(page, "data")
    described = page.get_by_test_id("stPopoverBody").get_by_text(re.compile(rf"^{n} records"))
    expect(described).to_contain_text(words, timeout=15_000)
    page.keyboard.press("Escape")
    expect(described).to_be_hidden()


def test_points_are_added_moved_deleted_and_taken_back_by_hand_and_by_keyboard_but_not_by_the_public(
    page: Page, server: Server
) -> None:
    picture = opened(page, server)
    counted(page, 12)
    spray = picture.get_by_role("button", name="Spray")
    # Spray is the selected tool at first.
    expect(spray).to_have_attribute("aria-pressed", "true")
    picture.get_by_role("button", name="Draw: click adds").click()
    page.mouse.click(*at(picture, 0.3, 0.3))
    counted(page, 13)
    drag(page, picture, (0.3, 0.3), (0.25, 0.75))
    picture.get_by_role("button", name="Erase").click()
    # Erase at the point's old place.
    drag(page, picture, (0.2, 0.2), (0.4, 0.2), (0.4, 0.4), (0.2, 0.4))
    settled(page)
    counted(page, 13)
    # Erase at the point's new place.
    drag(page, picture, (0.2, 0.65), (0.35, 0.65), (0.35, 0.85), (0.2, 0.85))
    counted(page, 12)
    # Undo the deletion, the move and the point.
    for n in (13, 13, 12):
        picture.get_by_role("button", name="Undo").click()
        counted(page, n)
        settled(page)
    expect(picture).to_have_attribute("data-dpviz-points", "12")
    assert "data=draw&drawing=one" in page.url

    erase = picture.get_by_role("button", name="Erase")
    # Erase may still be the selected tool.
    if erase.get_attribute("aria-pressed") != "true":
        erase.click()
    drag(page, picture, (0.05, 0.05), (0.99, 0.05), (0.99, 0.99), (0.05, 0.99))
    counted(page, 0)
    behind(page, "data")
    # An emptied drawing can be undone.
    page.get_by_role("button", name="Undo", exact=True).first.click()
    page.keyboard.press("Escape")
    counted(page, 12)

    draw_by_keyboard(page, picture)
    spray.click()
    picture.get_by_role("button", name="Class 3").click()
    page.mouse.move(*at(picture, 0.3, 0.3))
    page.mouse.down()
    # Points appear as long as the button is held.
    expect(picture).to_have_attribute("data-dpviz-points", re.compile("1[7-9]|[2-9][0-9]"))
    page.mouse.up()
    n = int(picture.get_attribute("data-dpviz-points") or 0)
    counted(page, n, "2 known classes")

    # The Everyone view neither draws nor selects.
    switch(page, "Everyone")
    expect(picture.locator(".tools")).to_be_hidden(timeout=15_000)
    expect(picture).not_to_have_attribute("data-dpviz-points", re.compile("."))


def draw_by_keyboard(page: Page, picture: Locator) -> None:
    """Add a point to twelve, move it, delete it, and take the deletion back."""
    picture.get_by_role("button", name="Draw: click adds").press("Enter")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Shift+ArrowUp")
    with redrawn(picture):
        page.keyboard.press("Enter")
    expect(picture).to_have_attribute("data-dpviz-points", "13")
    page.keyboard.press("m")
    page.keyboard.press("Shift+ArrowLeft")
    with redrawn(picture):
        page.keyboard.press("m")
    with redrawn(picture):
        page.keyboard.press("Delete")
    expect(picture).to_have_attribute("data-dpviz-points", "12")
    with redrawn(picture):
        page.keyboard.press("Control+z")
    expect(picture).to_have_attribute("data-dpviz-points", "13")
    page.keyboard.press("Escape")
    expect(picture).to_have_attribute("data-dpviz-tool", "")
    counted(page, 13)


def test_box_lasso_and_keyboard_count_all_records_inside(page: Page, server: Server) -> None:
    picture = opened(page, server, "data=blobs&n=12000")
    expect(layers(page).locator("figcaption")).to_contain_text("Drawing 10,000 of 12,000 points.")
    picture.get_by_role("button", name="Select a box").click()
    drag(page, picture, (0.002, 0.002), (0.998, 0.998))
    said = picture.locator(".inspector")
    expect(said).to_contain_text("Selected: 12,000 of 12,000 records (100 %)", timeout=15_000)
    expect(said).to_contain_text("Known classes: class")
    layers(page)
    picture.get_by_role("button", name="Select with a lasso").click()
    drag(page, picture, (0.1, 0.1), (0.5, 0.1), (0.3, 0.5))
    expect(said).to_contain_text(re.compile(r"Selected: \d,?\d* of 12,000"), timeout=15_000)
    drawn = int(picture.get_attribute("data-dpviz-region") or 0)
    selected = int(re.sub(r"Selected: ([\d,]+) of.*", r"\1", said.inner_text().split("\n")[0]).replace(",", ""))
    assert abs(selected / 1.2 - drawn) < 0.05 * selected + 20, "an even sample of what is selected"
    page.keyboard.press("Escape")
    expect(said).not_to_contain_text("Selected")
    layers(page)
    picture.get_by_role("button", name="Select a box").press("Enter")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    for _ in range(8):
        page.keyboard.press("Shift+ArrowLeft")
        page.keyboard.press("Shift+ArrowUp")
    page.keyboard.press("Enter")
    expect(said).to_contain_text(re.compile(r"Selected: [\d,]+ of 12,000"), timeout=15_000)
