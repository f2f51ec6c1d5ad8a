"""Bands, grids, logarithmic axes, and curves that are chosen."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.apps.scenes import filled, tradeoff
from tests.browser.curves_page import (
    BLUE,
    BLUE_ON_DARK,
    GREEN,
    ORANGE,
    RED,
    drawn,
    opened,
    pixels,
    place_of,
    point,
)
from tests.browser.parts_page import Server

pytestmark = [pytest.mark.browser, pytest.mark.stays]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_cells_are_crisp_and_as_strong_as_their_value(page: Page, server: Server, theme: str) -> None:
    scene = filled()
    got = drawn(
        page,
        server,
        scene,
        """const found = [];
           for (const zoom of [{ k: 1, x: 0.5, y: 0.5 }, { k: 3, x: 0.2, y: 0.3 }]) {
             const at = draw(zoom);
             const [plotLeft, plotRight] = [at.x(at.window[0][0]), at.x(at.window[0][1])];
             for (let row = 0; row < 6; row += 1) for (let column = 0; column < 10; column += 1) {
               const [x0, x1] = [at.x(0.06 * column), at.x(0.06 * (column + 1))];
               const [y0, y1] = [at.y((0.8 * (row + 1)) / 6), at.y((0.8 * row) / 6)];
               if (x0 < plotLeft - 1 || x1 > plotRight + 1 || y0 < 25 || y1 > 377) continue;
               const spots = [[x0 + 2, y0 + 2], [(x0 + x1) / 2, (y0 + y1) / 2], [x1 - 2, y1 - 2]];
               for (const spot of spots) found.push([zoom.k, row, column, ...pixel(...spot)]);
             }
           }
           return found;""",
        theme,
    )
    value = scene.layers[0].arrays["value"][0, 0]
    color = {"light": BLUE, "dark": BLUE_ON_DARK}[theme]
    assert {zoom for zoom, *_ in got} == {1, 3}
    assert len(got) > 200
    for _, row, column, red, green, blue, alpha in got:
        assert alpha == pytest.approx(0.75 * value[row, column], abs=1.5), (row, column)
        # A canvas keeps few digits of a color that is nearly transparent.
        if alpha > 100:
            assert (red, green, blue) == pytest.approx(color, abs=3)


def test_bands_are_filled_between_their_edges_and_behind_lines(page: Page, server: Server) -> None:
    scene = tradeoff()
    line, band = scene.layers[2:4]
    x = line.arrays["xy"][0, 0, :, 0]
    middle, high = line.arrays["xy"][0, 0, :, 1], band.arrays["edges"][0, 0, :, 2]
    spots = [
        # Places on the line, which comes before the band in the scene.
        *((x[v], middle[v]) for v in (4, 9)),
        *((x[v], high[v] * 0.8 + middle[v] * 0.2) for v in (4, 9)),
        *((x[v], high[v] + 0.03) for v in (4, 9)),
        # A place at the gap of the band.
        (x[6], middle[6] + 0.03),
    ]
    listed = [[float(x), float(y)] for x, y in spots]
    body = f"const at = draw({{k: 1, x: .5, y: .5}}); return {listed}.map(([x, y]) => pixel(at.x(x), at.y(y)));"
    found = drawn(page, server, scene, body)
    assert min(alpha for *_, alpha in found[:2]) > 240
    assert [alpha for *_, alpha in found[2:4]] == pytest.approx([0.18 * 255] * 2, abs=1.5)
    assert [alpha for *_, alpha in found[4:]] == [0, 0, 0]
    assert found[0][:3] == pytest.approx(list(ORANGE), abs=2), "a band in front would lighten the line"


def test_a_click_on_a_curve_tells_python_each_time(page: Page, server: Server) -> None:
    picture = opened(page, server)
    expect(page.get_by_text("picked: None False")).to_be_visible()
    before = pixels(picture)
    point(page, place_of(picture, BLUE, 0.4))
    expect(picture).to_have_attribute("data-dpviz-lifted", "F")
    expect(picture.locator("canvas")).to_have_css("cursor", "pointer")
    page.wait_for_timeout(50)
    assert pixels(picture) != before, "the curve gets thicker"
    page.mouse.down()
    page.mouse.up()
    expect(page.get_by_text("picked: F True")).to_be_visible()
    expect(page.get_by_text("clicks: 1")).to_be_visible()
    page.mouse.down()
    page.mouse.up()
    expect(page.get_by_text("clicks: 2")).to_be_visible()
    page.mouse.move(5, 5)
    expect(picture).to_have_attribute("data-dpviz-lifted", "")
    page.wait_for_timeout(50)
    assert pixels(picture) == before
    page.mouse.click(*place_of(picture, ORANGE, 0.9))
    expect(page.get_by_text("picked: S True")).to_be_visible()
    expect(page.get_by_text("clicks: 3")).to_be_visible()
    expect(page.get_by_text("selected: None")).to_be_visible()
    assert picture.get_attribute("data-dpviz-drawn") == "1"


def test_the_legend_chooses_by_its_words_and_hides_by_its_symbol(page: Page, server: Server) -> None:
    picture = opened(page, server)
    before = pixels(picture)
    show = picture.get_by_role("button", name="Show Second method", exact=True)
    show.focus()
    expect(picture).to_have_attribute("data-dpviz-lifted", "S")
    page.keyboard.press("Enter")
    expect(page.get_by_text("picked: S True")).to_be_visible()
    page.keyboard.press("Space")
    expect(page.get_by_text("clicks: 2")).to_be_visible()
    expect(show).to_be_focused()
    show.blur()
    page.wait_for_timeout(50)
    assert pixels(picture) == before
    switch = picture.get_by_role("button", name="Second method", exact=True)
    switch.click()
    assert switch.get_attribute("aria-pressed") == "false"
    assert pixels(picture) != before
    switch.press("Enter")
    assert switch.get_attribute("aria-pressed") == "true"
    assert pixels(picture) == before
    expect(page.get_by_text("clicks: 2")).to_be_visible()
    plain = picture.get_by_role("button", name="No noise")
    expect(plain).to_have_count(1)
    plain.click()
    assert plain.get_attribute("aria-pressed") == "false"


def test_marks_and_bars_are_chosen_and_the_empty_plane_is_not(page: Page, server: Server) -> None:
    picture = opened(page, server, "grid")
    page.mouse.click(*place_of(picture, RED))
    expect(picture).to_have_attribute("data-dpviz-picked", "stop")
    x, y = place_of(picture, GREEN, 0.75)
    page.mouse.click(x, y + 30)
    expect(picture).to_have_attribute("data-dpviz-picked", "bars")
    box = picture.locator("canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 80, box["y"] + 60)
    expect(picture).to_have_attribute("data-dpviz-lifted", "")
    expect(picture.locator("canvas")).not_to_have_css("cursor", "pointer")


def test_hovering_says_curve_band_and_cell(page: Page, server: Server) -> None:
    picture = opened(page, server)
    tip = picture.locator(".tip")
    point(page, place_of(picture, BLUE, 0.4))
    expect(tip.locator(".name")).to_have_text("First method")
    lines = tip.locator("div").all_text_contents()
    assert lines[1] == "First method, 40 runs"
    assert re.fullmatch(r"\u03b5 0\.\d+", lines[2])
    epsilon = float(lines[2].split()[1])
    cost = float(lines[3].split()[1])
    assert lines[3].endswith(" mm\u00b2")
    assert cost == pytest.approx(1.5 / epsilon + 0.02, rel=0.02)
    x, y = place_of(picture, BLUE, 0.4)
    point(page, (x, y + 14))
    expect(tip.locator(".name")).to_have_text("First method: 8 runs in 10")
    said = re.fullmatch(r"cost ([\d.]+) to ([\d.]+) mm\u00b2", tip.locator("div").last.text_content() or "")
    assert said is not None
    assert float(said[2]) / float(said[1]) == pytest.approx(10**0.45, rel=0.02)
    grid = page.locator(".dpviz-live[data-dpviz-key=grid]")
    box = grid.locator("canvas").bounding_box()
    assert box is not None
    # The first cell, with the value 255.
    point(page, (box["x"] + 50, box["y"] + box["height"] - 60))
    assert grid.locator(".tip div").all_text_contents() == [
        "Counts",
        "iteration 0 to 0.6",
        "share 0 to 0.133",
        "filled 100 %",
    ]


def test_tables_hold_bands_and_the_fullest_cells(page: Page, server: Server) -> None:
    picture = opened(page, server)
    for key in ("curves", "grid"):
        page.locator(f".dpviz-live[data-dpviz-key={key}]").get_by_role("button", name="Data table").click()
    table = picture.locator("table").filter(has=page.locator("caption", has_text="Second method: 8 runs in 10"))
    assert table.locator("th").all_text_contents() == [
        "band",
        "\u03b5",
        "low: cost (mm\u00b2)",
        "high: cost (mm\u00b2)",
    ]
    # Thirteen vertices, one of them broken.
    expect(table.locator("tbody tr")).to_have_count(12)
    first = [float(text) for text in table.locator("tbody tr").first.locator("td").all_text_contents()]
    middle = 6 / 0.05 + 0.02
    assert first[1:] == pytest.approx([0.05, middle * 10**-0.2, middle * 10**0.25], rel=0.01)
    tables = page.locator(".dpviz-live[data-dpviz-key=grid] table")
    expect(tables.nth(1).locator("caption")).to_have_text(re.compile(r"^Fine \(fullest 200 of 15\d\d rows\)$"))
    cells = [row.split("|") for row in tables.first.locator("tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent).join('|'))")]  # fmt: skip
    value = filled().layers[0].arrays["value"]
    assert len(cells) == (value > 0).sum()
    shares = [float(cell[5]) for cell in cells]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == 100
    assert [float(text) for text in cells[0][1:5]] == pytest.approx([0, 0, 0.6, 0.133])
