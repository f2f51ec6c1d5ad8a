"""Texts of the live picture in a browser: its table, its tooltip, and its words for people who do not see it."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.apps.scenes import everything
from tests.browser.curves_page import Server
from tests.browser.live_page import centers, on_canvas, opened

pytestmark = [pytest.mark.browser, pytest.mark.stays]


def test_the_public_picture_knows_nothing_of_the_curator(page: Page, server: Server) -> None:
    picture = opened(page, server)
    picture.get_by_role("button", name="Data table").click()
    expect(picture.locator("caption").filter(has_text="True averages")).to_have_count(1)
    page.get_by_text("What the public sees").click()
    expect(picture).to_have_attribute("data-dpviz-drawn", "2")
    secret = [layer.name for layer in everything().layers if layer.audience.value == "curator"]
    text = picture.evaluate("root => root.outerHTML")
    assert not [name for name in secret if name in text]
    expect(picture.locator("[data-audience=curator]")).to_have_count(0)
    assert picture.locator("caption").all_text_contents() == [
        "Zones",
        "Path of the centers",
        "Pairs",
        "Released centers",
    ]


def test_the_table_says_what_the_picture_shows(page: Page, server: Server) -> None:
    picture = opened(page, server)
    expect(picture.locator("table")).to_have_count(0)
    picture.get_by_role("button", name="Data table").click()
    table = picture.locator("table").filter(has=page.locator("caption", has_text="Released centers"))
    assert table.locator("th").all_text_contents() == ["mark", "bill length (mm)", "flipper length (mm)"]
    x, y = centers()[0]
    first = table.locator("tbody tr").first.locator("td").all_text_contents()
    assert first[0] == "Center 1"
    assert float(first[1]) == pytest.approx(30 + 30 * x, rel=5e-3)
    assert float(first[2]) == pytest.approx(170 + 65 * y, rel=5e-3)
    points = picture.locator("table").filter(has=page.locator("caption", has_text="Records"))
    expect(points.locator("caption")).to_have_text("Records (first 200 of 600 rows)")
    expect(points.locator("tbody tr")).to_have_count(200)
    picture.get_by_role("button", name="Last step").click()
    expect(picture.locator("caption", has_text="A refused step")).to_have_count(1)


def test_the_picture_has_words_and_its_tooltip_names_the_nearest_mark(page: Page, server: Server) -> None:
    picture = opened(page, server)
    expect(picture.get_by_role("img", name="600 records in five clusters and five released centers.")).to_be_visible()
    expect(picture.locator("figcaption")).to_have_text("Five clusters. Gray is secret, blue is released.")
    page.mouse.move(*on_canvas(picture, 0.02, 0.02))
    page.mouse.move(*on_canvas(picture, *centers()[1]))
    tip = picture.locator(".tip")
    expect(tip).to_be_visible()
    lines = tip.locator("div").all_text_contents()
    assert lines[:2] == ["Released centers", "Center 2"]
    assert re.fullmatch(r"bill length [\d.]+ mm", lines[2])


def test_text_from_data_stays_text(page: Page, server: Server) -> None:
    picture = opened(page, server, "scene=hostile")
    picture.get_by_role("button", name="Data table").click()
    page.mouse.move(*on_canvas(picture, 0.4, 0.5))
    page.mouse.move(*on_canvas(picture, 0.5, 0.5))
    expect(picture.locator(".tip")).to_be_visible()
    assert picture.locator("img, script, b").count() == 0
    assert page.evaluate("globalThis.hacked") is None
    assert "<img" in (picture.locator("figcaption").text_content() or "")
