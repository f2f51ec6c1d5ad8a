"""The live picture in a browser: the contents that it draws, keeps and reports, and its words and tables."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from dpviz.plots import Role, pack, read_header
from dpviz.plots.theme import DARK, LIGHT, rgb
from tests.browser.apps.scenes import everything
from tests.browser.parts_page import centers, number, on_canvas, opened, pixels
from tests.browser.servers import Server
from tests.browser.waiting import MANY_FRAMES, next_frame, settled, still

pytestmark = pytest.mark.stays

# Number of opaque pixels by color.
COLORS = """canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const seen = {};
  for (let i = 0; i < data.length; i += 4) {
    const color = data.slice(i, i + 3);
    if (data[i + 3] === 255) seen[color] = (seen[color] ?? 0) + 1;
  }
  return seen;
}"""


def slide(page: Page, key: str = "ArrowRight") -> None:
    page.get_by_role("slider", name="Seed").press(key)


def test_new_scenes_are_drawn_once_and_a_chart_follows_the_frames(page: Page, server: Server) -> None:
    picture = opened(page, server)
    length = page.evaluate("history.length")
    assert picture.get_attribute("data-dpviz-scene") == read_header(pack(everything()))["hash"]
    for press in range(1, 4):
        slide(page)
        expect(picture).to_have_attribute("data-dpviz-drawn", str(press + 1))
    assert picture.get_attribute("data-dpviz-scene") == read_header(pack(everything(seed=3)))["hash"]
    page.get_by_role("button", name="Again").click()
    settled(page)
    assert number(picture, "drawn") == 4, "an equal scene is not drawn"
    assert number(picture, "frames") == 0
    # The URL follows without filling the history.
    assert page.url.endswith("?n=600&frames=7&seed=3")
    assert page.evaluate("history.length") == length

    follower = page.locator(".dpviz-live[data-dpviz-key=chart]")
    expect(follower).to_have_attribute("data-dpviz-drawn", "1")
    expect(follower.locator(".scrubber")).to_be_hidden()
    picture.locator("canvas").focus()
    page.keyboard.press("End")
    expect(follower).to_have_attribute("data-dpviz-frame", "6")
    slide(page)
    expect(picture).to_have_attribute("data-dpviz-drawn", "5")
    assert (number(follower, "frame"), number(follower, "drawn")) == (6, 1)
    # The last frame stays the last when the run gets shorter.
    page.get_by_text("Shorter").click()
    expect(picture).to_have_attribute("data-dpviz-drawn", "6")
    expect(picture).to_have_attribute("data-dpviz-frame", "3")


def test_a_legend_chip_hides_its_layer_and_steps_go_by_button_key_and_range(page: Page, server: Server) -> None:
    picture = opened(page, server)
    chip = picture.get_by_role("button", name="Records")
    before = pixels(picture)
    chip.click()
    assert chip.get_attribute("aria-pressed") == "false"
    without = pixels(picture)
    assert without != before
    chip.press("Enter")
    assert chip.get_attribute("aria-pressed") == "true"
    assert pixels(picture) == before
    assert picture.locator(".chip[data-audience=curator] .lock").count() == 3
    # The button is not in this frame.
    expect(picture.get_by_role("button", name="What may come out")).to_have_count(0)
    picture.get_by_role("button", name="Last step").click()
    expect(picture.get_by_role("button", name="What may come out")).to_be_visible()
    picture.get_by_role("button", name="First step").click()
    expect(picture).to_have_attribute("data-dpviz-frame", "0")

    canvas = picture.locator("canvas")
    picture.get_by_role("button", name="One step forward").click()
    expect(picture).to_have_attribute("data-dpviz-frame", "1")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    expect(picture).to_have_attribute("data-dpviz-frame", "2")
    page.keyboard.press("End")
    expect(picture).to_have_attribute("data-dpviz-frame", "6")
    page.keyboard.press("ArrowLeft")
    expect(picture).to_have_attribute("data-dpviz-frame", "5")
    picture.get_by_role("button", name="First step").click()
    expect(picture).to_have_attribute("data-dpviz-frame", "0")
    step = picture.get_by_role("slider", name="Step")
    step.press("ArrowRight")
    expect(picture).to_have_attribute("data-dpviz-frame", "1")
    assert step.get_attribute("aria-valuetext") == "Iteration 1 of 6"
    expect(picture.locator(".frame-label")).to_have_text("Iteration 1 of 6")
    expect(picture.locator(".frame-detail")).to_have_text("The centers have moved 1 times.")
    assert number(picture, "frames") > 0
    assert number(picture, "drawn") == 1


def test_steps_ease_unless_motion_is_unwanted_and_play_starts_again(page: Page, server: Server) -> None:
    page.emulate_media(reduced_motion="reduce")
    picture = opened(page, server, "picture?frames=3")
    step = picture.get_by_role("button", name="One step forward")
    step.click()
    still(page, MANY_FRAMES)
    assert number(picture, "frames") == 1
    page.emulate_media(reduced_motion="no-preference")
    step.click()
    still(page, MANY_FRAMES)
    assert number(picture, "frames") >= 4
    picture.get_by_role("button", name="First step").click()
    picture.get_by_role("button", name="Play").click()
    expect(picture).to_have_attribute("data-dpviz-frame", "2")
    expect(picture.get_by_role("button", name="Play")).to_be_visible()
    picture.locator("canvas").focus()
    page.keyboard.press("Space")
    expect(picture).to_have_attribute("data-dpviz-frame", "0")
    page.keyboard.press("k")
    expect(picture.get_by_role("button", name="Play")).to_be_visible()


def wheel(page: Page, canvas: Locator, pixels: float) -> None:
    """Turn the wheel over a picture with Ctrl held."""
    canvas.hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, pixels)
    page.keyboard.up("Control")


def test_a_click_isolates_a_cluster_and_updates_keep_zoom_and_pan(page: Page, server: Server) -> None:
    picture = opened(page, server)
    before = pixels(picture)
    page.mouse.click(*on_canvas(picture, *centers()[2]))
    expect(page.get_by_text("selected: 2")).to_be_visible()
    assert pixels(picture) != before
    slide(page)
    expect(picture).to_have_attribute("data-dpviz-drawn", "2")
    expect(page.get_by_text("selected: 2")).to_be_visible()
    page.mouse.click(*on_canvas(picture, *centers(seed=1)[2]))
    expect(page.get_by_text("selected: None")).to_be_visible()
    picture.get_by_role("button", name="Cluster 4", exact=True).click()
    expect(page.get_by_text("selected: 3")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("selected: None")).to_be_visible()

    canvas = picture.locator("canvas")
    wheel(page, canvas, -400)
    expect(picture).to_have_attribute("data-dpviz-zoom", re.compile(r"^[12]\.[1-9]"))
    zoom = picture.get_attribute("data-dpviz-zoom")
    zoomed = pixels(picture)
    slide(page)
    expect(picture).to_have_attribute("data-dpviz-drawn", "3")
    assert picture.get_attribute("data-dpviz-zoom") == zoom
    slide(page, "ArrowLeft")
    expect(picture).to_have_attribute("data-dpviz-drawn", "4")
    page.mouse.move(5, 5)
    assert pixels(picture) == zoomed
    x, y = on_canvas(picture, 0.05, 0.05)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 20, steps=3)
    page.mouse.up()
    next_frame(page)
    assert pixels(picture) != zoomed
    page.keyboard.press("0")
    expect(picture).to_have_attribute("data-dpviz-zoom", "1.000")


def test_nothing_overflows_a_resize_draws_no_data_and_the_wheel_scrolls(page: Page, server: Server) -> None:
    picture = opened(page, server)
    picture.get_by_role("button", name="Data table").click()
    for width, inside in ((360, 328), (800, None), (1280, None)):
        page.set_viewport_size({"width": width, "height": 900})
        if inside:
            expect(picture.locator("canvas")).to_have_js_property("width", inside)
        still(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        wide = picture.evaluate(
            """root => [...root.querySelectorAll('*')].filter(e => !e.closest('.scroll') && !e.closest('.unseen')
                 && e.getBoundingClientRect().right > root.getBoundingClientRect().right + 1).map(e => e.className)"""
        )
        assert wide == [], width
    assert number(picture, "drawn") == 1

    canvas = picture.locator("canvas")
    light, dark = (",".join(map(str, rgb(theme.roles[Role.RELEASED]))) for theme in (LIGHT, DARK))
    assert canvas.evaluate(COLORS).get(light, 0) > 100
    page.emulate_media(color_scheme="dark")
    expect(picture).to_have_class(re.compile("dark"))
    colors = canvas.evaluate(COLORS)
    assert colors.get(light, 0) == 0
    assert colors.get(dark, 0) > 100
    assert number(picture, "drawn") == 1

    page.set_viewport_size({"width": 800, "height": 300})
    canvas.hover()
    top = picture.evaluate("root => root.getBoundingClientRect().top")
    page.mouse.wheel(0, 120)
    page.wait_for_function(
        "([root, top]) => root.getBoundingClientRect().top < top", arg=[picture.element_handle(), top]
    )
    assert picture.get_attribute("data-dpviz-zoom") in (None, "1.000")
    wheel(page, canvas, -120)
    expect(picture).to_have_attribute("data-dpviz-zoom", re.compile(r"^1\.[1-9]"))


def test_words_tooltip_and_table_describe_the_picture_for_each_audience(page: Page, server: Server) -> None:
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
    picture.get_by_role("button", name="Last step").click()
    expect(picture.locator("caption", has_text="A refused step")).to_have_count(1)


def test_text_from_data_stays_text(page: Page, server: Server) -> None:
    picture = opened(page, server, "picture?scene=hostile")
    picture.get_by_role("button", name="Data table").click()
    page.mouse.move(*on_canvas(picture, 0.4, 0.5))
    page.mouse.move(*on_canvas(picture, 0.5, 0.5))
    expect(picture.locator(".tip")).to_be_visible()
    assert picture.locator("img, script, b").count() == 0
    assert page.evaluate("globalThis.hacked") is None
    assert "<img" in (picture.locator("figcaption").text_content() or "")
