"""The live picture in a browser: the contents that it draws, keeps and reports."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from dpviz.plots import Role, pack, read_header
from dpviz.plots.theme import DARK, LIGHT, rgb
from tests.browser.apps.scenes import everything
from tests.browser.live_page import centers, number, on_canvas, opened, pixels, slide
from tests.browser.parts_page import Server

pytestmark = [pytest.mark.browser, pytest.mark.stays]


def test_each_new_scene_is_drawn_once_and_an_equal_one_not_at_all(page: Page, server: Server) -> None:
    picture = opened(page, server)
    length = page.evaluate("history.length")
    assert picture.get_attribute("data-dpviz-scene") == read_header(pack(everything()))["hash"]
    for press in range(1, 4):
        slide(page)
        expect(picture).to_have_attribute("data-dpviz-drawn", str(press + 1))
    assert picture.get_attribute("data-dpviz-scene") == read_header(pack(everything(seed=3)))["hash"]
    page.get_by_role("button", name="Again").click()
    page.wait_for_timeout(600)
    assert number(picture, "drawn") == 4
    assert number(picture, "frames") == 0
    # The URL follows without filling the history.
    assert page.url.endswith("?n=600&frames=7&seed=3")
    assert page.evaluate("history.length") == length


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


def test_play_runs_to_the_end_and_starts_again_from_the_start(page: Page, server: Server) -> None:
    picture = opened(page, server, "frames=3")
    picture.get_by_role("button", name="Play").click()
    expect(picture).to_have_attribute("data-dpviz-frame", "2", timeout=5000)
    expect(picture.get_by_role("button", name="Play")).to_be_visible(timeout=5000)
    picture.locator("canvas").focus()
    page.keyboard.press("Space")
    expect(picture).to_have_attribute("data-dpviz-frame", "0")
    page.keyboard.press("k")
    expect(picture.get_by_role("button", name="Play")).to_be_visible()


def test_moving_eases_unless_the_reader_wants_no_motion(page: Page, server: Server) -> None:
    page.emulate_media(reduced_motion="reduce")
    picture = opened(page, server)
    step = picture.get_by_role("button", name="One step forward")
    step.click()
    page.wait_for_timeout(700)
    assert number(picture, "frames") == 1
    page.emulate_media(reduced_motion="no-preference")
    step.click()
    page.wait_for_timeout(700)
    assert number(picture, "frames") >= 4


def test_a_chart_follows_the_picture_s_frames(page: Page, server: Server) -> None:
    picture = opened(page, server)
    follower = page.locator(".dpviz-live[data-dpviz-key=chart]")
    expect(follower).to_have_attribute("data-dpviz-drawn", "1")
    expect(follower.locator(".scrubber")).to_be_hidden()
    picture.locator("canvas").focus()
    page.keyboard.press("End")
    expect(follower).to_have_attribute("data-dpviz-frame", "6")
    slide(page)
    expect(picture).to_have_attribute("data-dpviz-drawn", "2")
    assert number(follower, "frame") == 6
    assert number(follower, "drawn") == 1

    # The last frame stays the last when the run gets shorter.
    page.get_by_text("Shorter").click()
    expect(picture).to_have_attribute("data-dpviz-drawn", "3")
    expect(picture).to_have_attribute("data-dpviz-frame", "3")


def test_a_click_isolates_a_cluster_and_tells_python(page: Page, server: Server) -> None:
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


def wheel(page: Page, canvas: Locator, pixels: float) -> None:
    """Turn the wheel over a picture with Ctrl held."""
    canvas.hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, pixels)
    page.keyboard.up("Control")


def test_zoom_and_pan_are_kept_between_updates(page: Page, server: Server) -> None:
    picture = opened(page, server)
    canvas = picture.locator("canvas")
    wheel(page, canvas, -400)
    expect(picture).to_have_attribute("data-dpviz-zoom", re.compile(r"^[12]\.[1-9]"))
    zoom = picture.get_attribute("data-dpviz-zoom")
    zoomed = pixels(picture)
    slide(page)
    expect(picture).to_have_attribute("data-dpviz-drawn", "2")
    assert picture.get_attribute("data-dpviz-zoom") == zoom
    slide(page, "ArrowLeft")
    expect(picture).to_have_attribute("data-dpviz-drawn", "3")
    page.mouse.move(5, 5)
    assert pixels(picture) == zoomed
    x, y = on_canvas(picture, 0.05, 0.05)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 20, steps=3)
    page.mouse.up()
    page.wait_for_timeout(100)
    assert pixels(picture) != zoomed
    page.keyboard.press("0")
    expect(picture).to_have_attribute("data-dpviz-zoom", "1.000")


def test_nothing_overflows_and_neither_a_resize_nor_the_dark_counts_as_new_data(page: Page, server: Server) -> None:
    picture = opened(page, server)
    picture.get_by_role("button", name="Data table").click()
    for width, inside in ((360, 328), (800, None), (1280, None)):
        page.set_viewport_size({"width": width, "height": 900})
        if inside:
            expect(picture.locator("canvas")).to_have_js_property("width", inside, timeout=5000)
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        wide = picture.evaluate(
            """root => [...root.querySelectorAll('*')].filter(e => !e.closest('.scroll') && !e.closest('.unseen')
                 && e.getBoundingClientRect().right > root.getBoundingClientRect().right + 1).map(e => e.className)"""
        )
        assert wide == [], width
    assert number(picture, "drawn") == 1

    blue = "canvas => { const d = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;"
    blue += " const seen = {}; for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255)"
    blue += " seen[[d[i], d[i + 1], d[i + 2]]] = (seen[[d[i], d[i + 1], d[i + 2]]] ?? 0) + 1; return seen; }"
    canvas = picture.locator("canvas")
    light, dark = (",".join(map(str, rgb(theme.roles[Role.RELEASED]))) for theme in (LIGHT, DARK))
    assert canvas.evaluate(blue).get(light, 0) > 100
    page.emulate_media(color_scheme="dark")
    expect(picture).to_have_class(re.compile("dark"))
    colors = canvas.evaluate(blue)
    assert colors.get(light, 0) == 0
    assert colors.get(dark, 0) > 100
    assert number(picture, "drawn") == 1


def test_ten_thousand_points_are_scrubbed_smoothly(page: Page, server: Server) -> None:
    picture = opened(page, server, "n=10000&frames=41")
    page.wait_for_timeout(500)
    per_second = picture.evaluate(
        """async (root) => {
          const range = root.querySelector("input");
          const [before, start] = [Number(root.dataset.dpvizFrames), performance.now()];
          await new Promise((done) => {
            const next = () => {
              if (performance.now() - start > 1000) return done();
              range.value = String((Number(range.value) + 1) % 41);
              range.dispatchEvent(new Event("input"));
              requestAnimationFrame(next);
            };
            next();
          });
          return (1000 * (Number(root.dataset.dpvizFrames) - before)) / (performance.now() - start);
        }"""
    )
    print(f"{per_second:.0f} frames per second at 10,000 points")
    assert per_second >= 15


def test_the_wheel_scrolls_the_page_and_zooms_only_with_ctrl(page: Page, server: Server) -> None:
    page.set_viewport_size({"width": 800, "height": 300})
    picture = opened(page, server)
    canvas = picture.locator("canvas")
    canvas.hover()
    top = picture.evaluate("root => root.getBoundingClientRect().top")
    page.mouse.wheel(0, 120)
    page.wait_for_function(
        "([root, top]) => root.getBoundingClientRect().top < top", arg=[picture.element_handle(), top]
    )
    assert picture.get_attribute("data-dpviz-zoom") in (None, "1.000")
    wheel(page, canvas, -120)
    expect(picture).to_have_attribute("data-dpviz-zoom", re.compile(r"^1\.[1-9]"))
