"""Curves, grids and bars that are chosen, pictures that are hidden at first or follow another one, and messages."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.apps.scenes import filled
from tests.browser.parts_page import BLUE, BLUE_ON_DARK, GREEN, ORANGE, RED, opened, pixels, place_of, show
from tests.browser.servers import Server
from tests.browser.waiting import at_rest, box_of, next_frame, still

pytestmark = pytest.mark.stays


def point(page: Page, at: tuple[float, float]) -> None:
    page.mouse.move(at[0] + 1, at[1] + 40)
    page.mouse.move(*at)


def test_hovering_names_and_a_click_chooses_curve_mark_and_bar(page: Page, server: Server) -> None:
    picture = opened(page, server, "curves")
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
    left, top, _, height = box_of(grid.locator("canvas"))
    # The first cell, with the value 255.
    point(page, (left + 50, top + height - 60))
    assert grid.locator(".tip div").all_text_contents() == [
        "Counts",
        "iteration 0 to 0.6",
        "share 0 to 0.133",
        "filled 100 %",
    ]

    expect(page.get_by_text("picked: None False")).to_be_visible()
    next_frame(page)
    before = pixels(picture)
    point(page, place_of(picture, BLUE, 0.4))
    expect(picture).to_have_attribute("data-dpviz-lifted", "F")
    expect(picture.locator("canvas")).to_have_css("cursor", "pointer")
    next_frame(page)
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
    next_frame(page)
    assert pixels(picture) == before
    page.mouse.click(*place_of(picture, ORANGE, 0.9))
    expect(page.get_by_text("picked: S True")).to_be_visible()
    expect(page.get_by_text("clicks: 3")).to_be_visible()
    expect(page.get_by_text("selected: None")).to_be_visible()
    assert picture.get_attribute("data-dpviz-drawn") == "1"

    page.mouse.click(*place_of(grid, RED))
    expect(grid).to_have_attribute("data-dpviz-picked", "stop")
    x, y = place_of(grid, GREEN, 0.75)
    page.mouse.click(x, y + 30)
    expect(grid).to_have_attribute("data-dpviz-picked", "bars")
    left, top, _, height = box_of(grid.locator("canvas"))
    page.mouse.move(left + 80, top + 60)
    expect(grid).to_have_attribute("data-dpviz-lifted", "")
    expect(grid.locator("canvas")).not_to_have_css("cursor", "pointer")


def test_legend_and_tables_of_curves_bands_and_cells_on_every_screen(page: Page, server: Server) -> None:
    picture = opened(page, server, "curves")
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
    next_frame(page)
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

    # A small screen in the dark has room for all.
    page.set_viewport_size({"width": 360, "height": 900})
    page.emulate_media(color_scheme="dark")
    still(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    place_of(picture, BLUE_ON_DARK)


def test_a_picture_hidden_at_first_is_drawn_when_it_is_seen(page: Page, server: Server) -> None:
    show(page, server, "curves?case=hidden")
    expect(page.get_by_text("Nothing to see.")).to_be_visible(timeout=20_000)
    at_rest(page)
    for opener, key in (
        (page.get_by_role("tab", name="Picture"), "curves"),
        (page.get_by_text("More", exact=True), "grid"),
    ):
        picture = page.locator(f".dpviz-live[data-dpviz-key={key}]")
        assert not picture.is_visible()
        opener.click()
        expect(picture).to_have_attribute("data-dpviz-drawn", "1")
        assert box_of(picture.locator("canvas"))[2] > 300
        place_of(picture, {"curves": BLUE, "grid": RED}[key])
    page.get_by_role("tab", name="Words").click()
    page.get_by_role("tab", name="Picture").click()
    place_of(page.locator(".dpviz-live[data-dpviz-key=curves]"), BLUE)


def test_two_pictures_are_scrubbed_together(page: Page, server: Server) -> None:
    leader = opened(page, server, "curves?case=pair", "leader")
    follower = page.locator(".dpviz-live[data-dpviz-key=follower]")
    expect(follower).to_have_attribute("data-dpviz-drawn", "1")
    still(page)
    rates = page.evaluate(
        """async () => {
          const find = (root, key) => {
            for (const element of root.querySelectorAll("*")) {
              if (element.dataset?.dpvizKey === key) return element;
              const inside = element.shadowRoot && find(element.shadowRoot, key);
              if (inside) return inside;
            }
            return null;
          };
          const both = ["leader", "follower"].map((key) => find(document, key));
          const range = both[0].querySelector("input");
          const frames = () => both.map((root) => Number(root.dataset.dpvizFrames ?? 0));
          const [before, start] = [frames(), performance.now()];
          await new Promise((done) => {
            const next = () => {
              if (performance.now() - start > 1000) return done();
              range.value = String((Number(range.value) + 1) % 41);
              range.dispatchEvent(new Event("input"));
              requestAnimationFrame(next);
            };
            next();
          });
          const [after, passed] = [frames(), performance.now() - start];
          return after.map((count, i) => (1000 * (count - before[i])) / passed);
        }"""
    )
    print("frames per second at 2 x 10,000 points:", [round(rate) for rate in rates])
    assert min(rates) >= 15
    assert rates[0] == pytest.approx(rates[1], rel=0.1)
    expect(follower).to_have_attribute("data-dpviz-frame", leader.get_attribute("data-dpviz-frame") or "")
    assert (leader.get_attribute("data-dpviz-drawn"), follower.get_attribute("data-dpviz-drawn")) == ("1", "1")


@pytest.mark.parametrize("other", [3, pytest.param(9, marks=pytest.mark.slow)])
def test_a_follower_with_more_or_fewer_frames_stops_at_its_last(page: Page, server: Server, other: int) -> None:
    leader = opened(page, server, f"curves?case=pair&n=100&frames=6&other={other}", "leader")
    follower = page.locator(".dpviz-live[data-dpviz-key=follower]")
    expect(follower).to_have_attribute("data-dpviz-drawn", "1")
    leader.get_by_role("button", name="Last step").click()
    expect(leader).to_have_attribute("data-dpviz-frame", "5")
    expect(follower).to_have_attribute("data-dpviz-frame", str(min(5, other - 1)))
    leader.get_by_role("button", name="First step").click()
    expect(follower).to_have_attribute("data-dpviz-frame", "0")


def test_a_message_carries_the_scene_and_not_the_script(page: Page, server: Server) -> None:
    other = page.context.new_page()
    sizes: list[int] = []
    other.on("websocket", lambda socket: socket.on("framereceived", lambda frame: sizes.append(len(frame))))
    fetched: list[str] = []
    other.on("request", lambda request: fetched.append(request.url.rsplit("/", 1)[-1]))
    opened(other, server, "curves")
    assert {"live.js", "live_draw.js"} <= set(fetched)
    # Bytes of the scene and of the component's styles. The script has 80,000 bytes.
    assert 10_000 < max(sizes) < 30_000
