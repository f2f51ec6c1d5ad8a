"""How marks glide from the places of one scene to those of the next: each to its own, and only where it is the same."""

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.curves_page import Server, evaluate
from tests.browser.live_page import number
from tests.browser.test_app import opened, redrawn

pytestmark = pytest.mark.browser

# A scene of one layer, and how far its marks are drawn after a share of the way: [place, how visible] each.
WORLD = """
  const axis = { label: "x", values: [0, 1], view: [0, 1] };
  const layer = (xs, more = {}) => ({
    kind: "marks", role: "center", audience: "public", name: "Centers", rows: [0],
    arrays: { xy: { shape: [1, xs.length, 2], data: Float32Array.from(xs.flatMap((x) => [x, 0])) } }, ...more });
  const scene = (layers, more = {}) => ({ title: "t", x: axis, y: axis, equal: true, layers, ...more });
  const read = (layer) => live.reader(layer.arrays.xy, 0);
  const way = (old, next, now = 0, glide = null) => live.glideTo(next, 0, { scene: old, frame: 0, glide, now });
  const drawn = (layer, glide, t) => {
    const look = live.onTheWay(layer, glide, t);
    const at = live.placed(read(layer), look.starts?.xy, 2, t);
    return Array.from({ length: live.markCount(layer) }, (_, i) => [at(i, 0), look.there(i) * look.fade]);
  };
  const leaving = (glide, t) => glide.leaving.map((gone) => {
    const { there, fade } = live.onTheWayOut(gone, t);
    return Array.from({ length: live.markCount(gone.layer) }, (_, i) => there(i) * fade);
  });
"""


def measured(page: Page, server: Server, body: str) -> Any:
    """Run JavaScript that returns plain values, with the live picture's functions as `live`."""
    return evaluate(page, server, WORLD + body)


def test_a_mark_glides_from_where_it_was(page: Page, server: Server) -> None:
    got = measured(
        page,
        server,
        """const [old, next] = [layer([0, 0.5]), layer([0.25, 1])];
           const glide = way(scene([old]), scene([next]));
           return [0, 0.5, 1].map((t) => drawn(next, glide, t));""",
    )
    assert got == [[[0, 1], [0.5, 1]], [[0.125, 1], [0.75, 1]], [[0.25, 1], [1, 1]]]


def test_ids_say_which_mark_is_which_and_what_is_new_or_gone_fades(page: Page, server: Server) -> None:
    got = measured(
        page,
        server,
        """const [old, next] = [layer([0, 0.5, 1], { ids: ["a", "b", "c"] }), layer([0.75, 0.25], { ids: ["c", "d"] })];
           const glide = way(scene([old]), scene([next]));
           return [drawn(next, glide, 0.5), leaving(glide, 0.25)];""",
    )
    assert got == [[[0.875, 1], [0.25, 0.5]], [[0.75, 0.75, 0]]]  # by index, the first would start at 0


def test_nothing_of_the_curators_is_left_to_fade_where_everyone_looks(page: Page, server: Server) -> None:
    got = measured(
        page,
        server,
        """const secret = (name) => layer([0.5], { audience: "curator", name });
           const old = scene([layer([0]), layer([0.25], { name: "Cuts" }), secret("Averages")]);
           const names = (next) => way(old, scene(next)).leaving.map(({ layer: { name } }) => name);
           return [names([layer([1])]), names([layer([1]), secret("Noise")])];""",
    )
    assert got == [["Cuts"], ["Cuts", "Averages"]]


def test_without_ids_another_number_of_marks_has_no_partners(page: Page, server: Server) -> None:
    got = measured(
        page,
        server,
        """const [old, next] = [layer([0, 0.5]), layer([0.25, 0.75, 1])];
           const glide = way(scene([old]), scene([next]));
           return [drawn(next, glide, 0.5), leaving(glide, 0.5)];""",
    )
    assert got == [[[0.25, 0.5], [0.75, 0.5], [1, 0.5]], [[0.5, 0.5]]]


def test_marks_without_names_are_found_by_their_places_nearest_first(page: Page, server: Server) -> None:
    got = measured(
        page,
        server,
        """const place = { glides: "place" };
           const [old, next] = [layer([0, 0.5, 1], place), layer([0.875, 0.125, 0.25], place)];
           const glide = way(scene([old]), scene([next]));
           return [drawn(next, glide, 0), leaving(glide, 0)];""",
    )
    assert got == [[[1, 1], [0, 1], [0.25, 0]], [[0, 1, 0]]]  # the last is too far from 0.5, and 0 is taken


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("another title", "scene([next], { title: 'other' })"),
        ("other bounds", "scene([next], { x: { ...axis, view: [0, 2] } })"),
        ("a solid picture", "scene([next], { solid: [30, 20] })"),
        ("other records", "scene([next, { ...record, arrays: layer([0.75]).arrays }])"),
        ("fewer records", "scene([next, { ...record, arrays: layer([]).arrays }])"),
    ],
)
def test_nothing_glides_where_a_place_means_something_else(page: Page, server: Server, what: str, change: str) -> None:
    got = measured(
        page,
        server,
        f"""const [old, next] = [layer([0]), layer([1])];
            const record = layer([0.5], {{ kind: "points", audience: "curator", name: "Records" }});
            return [way(scene([old, record]), scene([next, record])) === null, way(scene([old, record]), {change})];""",
    )
    assert got == [False, None], what


def test_a_glide_that_is_interrupted_goes_on_from_where_it_is(page: Page, server: Server) -> None:
    got = measured(
        page,
        server,
        """const [first, second, third] = [layer([0]), layer([1]), layer([0])];
           const glide = way(scene([first]), scene([second]));
           const again = way(scene([second]), scene([third]), 60, glide);
           const t = live.progress(glide, 60);
           return [t, drawn(second, glide, t)[0][0], drawn(third, again, 0)[0][0], live.progress(again, 60),
             live.progress(again, 60 + live.GLIDE_MS)];""",
    )
    share, shown, start, at_once, end = got
    assert 0.5 < share < 1
    assert shown == start == pytest.approx(share)
    assert 0 < at_once < share  # the first frame moves already
    assert end == 1


def test_records_never_move_and_curves_only_where_they_are_named(page: Page, server: Server) -> None:
    got = measured(
        page,
        server,
        """const lines = (x, more) => ({ ...layer([x]), kind: "lines", name: "Curve", ...more,
             arrays: { xy: { shape: [1, 1, 2, 2], data: Float32Array.from([0, 0, x, 1]) } } });
           const kinds = (before, after) => {
             const glide = way(scene([before]), scene([after]));
             const found = glide.ways.get(after);
             return [typeof found === "object" ? "glides" : found ?? "at once", glide.leaving.length];
           };
           const points = (x) => ({ ...layer([x]), kind: "points", name: "Sent" });
           return [kinds(points(0), points(1)), kinds(lines(0), lines(1)), kinds(lines(0), lines(0)),
             kinds(lines(0, { ids: ["a"] }), lines(1, { ids: ["a"] }))];""",
    )
    assert got == [["at once", 0], ["new", 1], ["at once", 0], ["glides", 0]]


def test_a_place_that_is_not_drawn_in_one_scene_is_no_start(page: Page, server: Server) -> None:
    got = measured(
        page,
        server,
        """const [old, next] = [layer([NaN, 0]), layer([0.5, 1])];
           return drawn(next, way(scene([old]), scene([next])), 0.5);""",
    )
    assert got == [[0.5, 0.5], [0.5, 1]]


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_new_scene_glides_unless_the_reader_wants_no_motion(page: Page, server: Server, motion: Any) -> None:
    page.emulate_media(reduced_motion=motion)
    picture = opened(page, server)
    picture.evaluate(
        """(root) => {
          globalThis.glided = 0;
          new MutationObserver(() => { globalThis.glided += Number(root.classList.contains("gliding")); })
            .observe(root, { attributes: true, attributeFilter: ["class"] });
        }"""
    )
    frames = number(picture, "frames")
    with redrawn(picture):
        page.get_by_role("slider", name="ε").first.press("ArrowRight")
    assert (page.evaluate("globalThis.glided") > 0) == (motion == "no-preference")
    assert number(picture, "frames") == frames  # no step was taken
