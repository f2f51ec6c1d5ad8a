"""DPM's page in a browser: the scrubber, a click on the tree and on a cut."""

import re
from contextlib import suppress

import pytest
from playwright.sync_api import Locator, Page, expect
from playwright.sync_api import TimeoutError as NothingCame

from tests.browser.test_app import APP, SLOW, Server, go_to, layers, picture_of, redrawn, switch, tables

pytestmark = [pytest.mark.browser, pytest.mark.still]


def opened(page: Page, server: Server, query: str = "") -> Locator:
    page.goto(f"{server(APP)}/dpm?{query}")
    return picture_of(page)


def click_a_node(page: Page, chart: Locator, rows: tuple[float, ...]) -> None:
    """Move over the chart until something can be picked there, and click it; `rows` are heights, from the top."""
    canvas = chart.locator("canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box
    for row in rows:
        for x in range(10, int(box["width"]) - 10, 8):
            page.mouse.move(box["x"] + x, box["y"] + row * box["height"])
            # A frame, in which the picture finds the mark under the pointer.
            page.wait_for_timeout(20)
            if chart.get_attribute("data-dpviz-lifted") == "node":
                page.mouse.down()
                page.mouse.up()
                return
    raise AssertionError("nothing to pick")


def check_levels(page: Page, picture: Locator) -> None:
    """Scrub through the first level to the release; curator-only marks disappear for everyone."""
    go_to(picture, 1, re.compile("Level 1: score"))
    expect(layers(page).locator("[data-layer=person]")).to_be_visible()
    assert any(caption.startswith("chance of each cut") for caption in tables(picture))
    go_to(picture, 2, re.compile("Level 1: choose"))
    assert {"drawn cut", "best cut"} <= set(tables(picture))
    assert len({row[0] for row in tables(picture)["drawn cut"]}) == 1, "the first level has one subset"
    go_to(picture, 3, re.compile("Level 1: count"))
    assert {"cut", "noisy count"} <= set(tables(picture))
    assert not any("NaN" in cell for rows in tables(picture).values() for row in rows for cell in row)
    go_to(picture, -1, "Release")
    assert {"released average", "true average", "refused"} <= set(tables(picture))
    switch(page, "Everyone")
    expect(picture.locator("[data-audience=curator]")).to_have_count(0)
    go_to(picture, 2, re.compile("Level 1: choose"))
    assert "best cut" not in tables(picture)


def test_the_scrubber_goes_level_by_level_and_a_click_on_the_tree_or_on_a_cut_looks_into_it(
    page: Page, server: Server
) -> None:
    picture = opened(page, server, "n=500")
    tree = page.locator(".dpviz-live[data-dpviz-key=tree]")
    expect(tree).to_have_attribute("data-dpviz-drawn", re.compile("[1-9]"), timeout=SLOW)
    with redrawn(picture):
        click_a_node(page, tree, (0.4, 0.45, 0.5, 0.55, 0.6, 0.65))
    expect(page).to_have_url(re.compile(r"node=[1-9]"))
    expect(page.get_by_role("heading", name=re.compile(r"Subset \d+"))).to_be_visible()
    assert "chosen box" in tables(picture)
    node = re.search(r"node=(\d+)", page.url)
    assert node
    same = re.compile(rf"node={node[1]}(&|$)")
    # The menu with the table covers the picture.
    page.keyboard.press("Escape")
    expect(page.locator(".dpviz-live.staged .layers").first).to_be_hidden()
    # Scroll out from under the parts that stay in view.
    page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, 0)")
    # One of these may be a cut of the subset that is already open.
    for place in (0.15, 0.75, 0.3, 0.6):
        click_a_node(page, picture, (place,))
        with suppress(NothingCame):
            page.wait_for_url(lambda url: not same.search(url), timeout=1500)
            break
    expect(page).not_to_have_url(same)
    check_levels(page, picture)
