"""The live picture in a browser: what it reads, draws, keeps, reports and says to people who do not see it."""

import base64
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from dpviz.plots import Scene, pack, read_header
from dpviz.ui.live import wrap
from dpviz.ui.served import script
from tests.browser.apps.scenes import chart, everything, hostile

pytestmark = pytest.mark.browser

APP = "tests/browser/apps/picture.py"
SCRIPT = script("live", "live_draw")
IMPORT = "const live = await import(URL.createObjectURL(new Blob([script], {type: 'text/javascript'})));"

Server = Callable[[str], str]


def opened(page: Page, server: Server, query: str = "") -> Locator:
    page.goto(f"{server(APP)}/?{query}")
    picture = page.locator(".dpviz-live[data-dpviz-key=picture]")
    expect(picture).to_have_attribute("data-dpviz-drawn", "1", timeout=20_000)
    return picture


def number(picture: Locator, name: str) -> int:
    return int(picture.get_attribute(f"data-dpviz-{name}") or 0)


def slide(page: Page, key: str = "ArrowRight") -> None:
    page.get_by_role("slider", name="Seed").press(key)


def on_canvas(picture: Locator, x: float, y: float) -> tuple[float, float]:
    """Return the page position of scene coordinates, measured on the axes' own scale in the picture."""
    box = picture.locator("canvas").bounding_box()
    assert box is not None
    # the plot rectangle of the test scene: see plotOf in live.js; the view is -0.04..1.04 on both axes
    left, right, top, bottom = 35.0, 16.0, 26.0, 44.0
    width, height = box["width"] - left - right, box["height"] - top - bottom
    unit = min(width, height) / 1.08
    return box["x"] + left + width / 2 + (x - 0.5) * unit, box["y"] + top + height / 2 - (y - 0.5) * unit


def centers(seed: int = 0, frame: int = 0) -> Any:
    return next(layer for layer in everything(seed=seed).layers if layer.name == "Released centers").arrays["xy"][frame]


def pixels(picture: Locator) -> str:
    text: str = picture.locator("canvas").evaluate("canvas => canvas.toDataURL()")
    return text


@pytest.mark.parametrize("scene", [everything(), chart(), hostile()], ids=["scatter", "chart", "hostile"])
def test_the_browser_reads_what_was_packed(page: Page, server: Server, scene: Scene) -> None:
    page.goto(f"{server(APP)}/_stcore/health")
    data = wrap({"key": "ε"}, pack(scene))
    read = page.evaluate(
        f"""async ([script, text]) => {{
          {IMPORT}
          const all = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
          const odd = new Uint8Array(all.length + 3); // as inside a message: at an offset that no array accepts
          odd.set(all, 3);
          const {{ header, body }} = live.readHeader(odd.subarray(3));
          const scene = live.unpack(body);
          const plain = ({{ shape, data }}) => ({{ shape, data: Array.from(data, (v) => (v === v ? v : null)) }});
          const layers = scene.layers.map(({{ arrays }}) => Object.fromEntries(
            Object.entries(arrays).map(([name, array]) => [name, plain(array)])));
          return {{ key: header.key, hash: scene.hash, layers }};
        }}""",
        [SCRIPT, base64.b64encode(data).decode()],
    )
    assert read["key"] == "ε"
    assert read["hash"] == read_header(pack(scene))["hash"]
    for layer, arrays in zip(scene.layers, read["layers"], strict=True):
        assert set(arrays) == set(layer.arrays)
        for name, array in layer.arrays.items():
            got = np.array([np.nan if v is None else v for v in arrays[name]["data"]]).reshape(arrays[name]["shape"])
            wanted = array.astype(np.float32) if array.dtype.kind == "f" else array
            np.testing.assert_array_equal(got, wanted)


def test_numbers_are_written_as_people_write_them(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/_stcore/health")
    got = page.evaluate(
        f"""async (script) => {{
          {IMPORT}
          const axis = (from, to) => ({{ values: [from, to], ticks: true }});
          const texts = (from, to, n) => live.axisTicks(axis(from, to), [0, 1], n).map(({{ text }}) => text);
          return [[0, 1.2345, -1234.5, 0.00012345, 1.5e7, NaN].map(live.threeDigits), texts(0, 1, 5),
            texts(0, 12000, 4), texts(-0.02, 0.02, 4), texts(60, 30, 3), texts(0, 3e6, 3)];
        }}""",
        SCRIPT,
    )
    assert got == [
        ["0", "1.23", "\u22121230", "1.23e\u22124", "1.5e7", "none"],
        ["0", "0.2", "0.4", "0.6", "0.8", "1.0"],
        ["0", "5k", "10k"],
        ["\u22120.02", "\u22120.01", "0", "0.01", "0.02"],
        ["30", "40", "50", "60"],
        ["0", "1M", "2M", "3M"],
    ]


def test_the_frame_survives_new_data_where_it_can(page: Page, server: Server) -> None:
    page.goto(f"{server(APP)}/_stcore/health")
    got = page.evaluate(
        f"""async (script) => {{
          {IMPORT}
          const frames = (n, word) => Array.from({{ length: n }}, (_, i) => [`${{word}} ${{i}}`, ""]);
          const scene = (n, {{ word = "step", start_frame = 0 }} = {{}}) =>
            ({{ start_frame, frames: frames(n, word) }});
          const after = live.frameAfter;
          return [
            after(null, scene(4, {{ start_frame: 3 }}), 0, false),
            after(scene(4), scene(9), 3, true),
            after(scene(9), scene(4), 7, true),
            after(scene(9), scene(12), 5, true),
            after(scene(9), scene(9, {{ word: "other" }}), 5, true),
            after(scene(4), scene(9, {{ start_frame: 8 }}), 0, false),
          ];
        }}""",
        SCRIPT,
    )
    assert got == [3, 8, 3, 5, 5, 8]


def test_each_new_scene_is_drawn_once_and_an_equal_one_not_at_all(page: Page, server: Server) -> None:
    picture = opened(page, server)
    assert picture.get_attribute("data-dpviz-scene") == read_header(pack(everything()))["hash"]
    for press in range(1, 4):
        slide(page)
        expect(picture).to_have_attribute("data-dpviz-drawn", str(press + 1))
    assert picture.get_attribute("data-dpviz-scene") == read_header(pack(everything(seed=3)))["hash"]
    page.get_by_role("button", name="Again").click()
    page.wait_for_timeout(600)
    assert number(picture, "drawn") == 4
    assert number(picture, "frames") == 0
    assert "seed=3" in page.url


def test_the_address_follows_without_filling_the_history(page: Page, server: Server) -> None:
    picture = opened(page, server)
    length = page.evaluate("history.length")
    for press in range(3):
        slide(page)
        expect(picture).to_have_attribute("data-dpviz-drawn", str(press + 2))
    assert page.url.endswith("?n=600&frames=7&seed=3")
    assert page.evaluate("history.length") == length


def test_steps_go_by_button_key_and_range(page: Page, server: Server) -> None:
    picture = opened(page, server)
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


def test_moving_eases_unless_the_reader_wants_no_motion(browser: Browser, server: Server) -> None:
    frames = {}
    for motion in ("no-preference", "reduce"):
        context = browser.new_context(viewport={"width": 1280, "height": 1000}, reduced_motion=motion)
        picture = opened(context.new_page(), server)
        picture.get_by_role("button", name="One step forward").click()
        picture.page.wait_for_timeout(700)
        frames[motion] = number(picture, "frames")
        context.close()
    assert frames["reduce"] == 1
    assert frames["no-preference"] >= 3


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


def test_the_last_frame_stays_the_last_when_the_run_gets_shorter(page: Page, server: Server) -> None:
    picture = opened(page, server)
    picture.get_by_role("button", name="Last step").click()
    page.get_by_text("Shorter").click()
    expect(picture).to_have_attribute("data-dpviz-drawn", "2")
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


def test_zoom_and_pan_are_kept_between_updates(page: Page, server: Server) -> None:
    picture = opened(page, server)
    canvas = picture.locator("canvas")
    canvas.hover()
    page.mouse.wheel(0, -400)
    expect(picture).to_have_attribute("data-dpviz-zoom", re.compile(r"^1\.[1-9]"))
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


def test_a_legend_chip_hides_its_layer(page: Page, server: Server) -> None:
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
    expect(picture.get_by_role("button", name="What may come out")).to_have_count(0)  # not in this frame
    picture.get_by_role("button", name="Last step").click()
    expect(picture.get_by_role("button", name="What may come out")).to_be_visible()


def test_the_public_picture_knows_nothing_of_the_curator(page: Page, server: Server) -> None:
    picture = opened(page, server)
    picture.get_by_role("button", name="Data table").click()
    expect(picture.locator("caption").filter(has_text="True means")).to_have_count(1)
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


def test_the_tooltip_names_the_nearest_mark(page: Page, server: Server) -> None:
    picture = opened(page, server)
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


@pytest.mark.parametrize("width", [360, 800, 1280])
def test_nothing_overflows(page: Page, server: Server, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    picture = opened(page, server)
    picture.get_by_role("button", name="Data table").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    box = picture.bounding_box()
    assert box is not None
    wide = picture.evaluate(
        """root => [...root.querySelectorAll('*')].filter(e => !e.closest('.scroll') && !e.closest('.unseen')
             && e.getBoundingClientRect().right > root.getBoundingClientRect().right + 1).map(e => e.className)"""
    )
    assert wide == []


def test_a_resize_is_drawn_without_counting_as_new_data(page: Page, server: Server) -> None:
    picture = opened(page, server)
    page.set_viewport_size({"width": 360, "height": 900})
    expect(picture.locator("canvas")).to_have_js_property("width", 328, timeout=5000)
    assert number(picture, "drawn") == 1


def test_dark_and_light_have_their_own_colours(page: Page, server: Server) -> None:
    picture = opened(page, server)
    blue = "canvas => { const d = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;"
    blue += " const seen = {}; for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255)"
    blue += " seen[[d[i], d[i + 1], d[i + 2]]] = (seen[[d[i], d[i + 1], d[i + 2]]] ?? 0) + 1; return seen; }"
    canvas = picture.locator("canvas")
    assert canvas.evaluate(blue).get("0,114,178", 0) > 100
    page.emulate_media(color_scheme="dark")
    expect(picture).to_have_class(re.compile("dark"))
    colours = canvas.evaluate(blue)
    assert colours.get("0,114,178", 0) == 0
    assert colours.get("74,168,224", 0) > 100
    assert number(picture, "drawn") == 1


def test_the_picture_has_words(page: Page, server: Server) -> None:
    picture = opened(page, server)
    expect(picture.get_by_role("img", name="600 records in five clusters and five released centers.")).to_be_visible()
    expect(picture.locator("figcaption")).to_have_text("Five clusters. Grey is secret, blue is released.")


def test_ten_thousand_points_are_scrubbed_smoothly(page: Page, server: Server) -> None:
    picture = opened(page, server, "n=10000&frames=41")
    page.wait_for_timeout(500)
    per_second = picture.evaluate(
        """async (root) => {
          const range = root.querySelector("input");
          const [before, start] = [Number(root.dataset.dpvizFrames), performance.now()];
          await new Promise((done) => {
            const next = () => {
              if (performance.now() - start > 2000) return done();
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


def test_scroll_goes_on_over_the_picture_and_a_wheel_of_its_own_zooms(page: Page, server: Server) -> None:
    page.set_viewport_size({"width": 800, "height": 500})
    picture = opened(page, server)
    picture.locator("canvas").hover()
    page.mouse.wheel(0, 120)  # outwards at full view: the page scrolls
    page.mouse.wheel(0, -120)  # still the same scroll
    page.wait_for_timeout(200)
    assert picture.get_attribute("data-dpviz-zoom") in (None, "1.000")
    page.wait_for_timeout(400)
    picture.locator("canvas").hover()
    page.mouse.wheel(0, -120)
    expect(picture).to_have_attribute("data-dpviz-zoom", re.compile(r"^1\.[1-9]"))
