"""What is under the pointer, on scenes made by hand: only what is drawn there, and the nearest of it."""

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.curves_page import Server, evaluate

pytestmark = pytest.mark.browser
# `layer(kind, name, arrays, more)` makes a layer whose arrays have one row; `at(scene, px, py, view)` says what is hit
# by layer and number, "" for nothing. A pixel is a scene unit times 100, counted from the top left.
MADE = """
    const array = (shape, data) => ({ shape, data: Float32Array.from(data.flat(9)) });
    const layer = (kind, name, arrays, more = {}) => ({ kind, name, arrays, rows: [0, 0, -1], names: [], isolate: true,
      role: "released", hue: 0, pick: "", ...more });
    const marks = (name, places, more) => layer("marks", name, { xy: array([1, places.length, 2], places) }, more);
    const points = (name, places, more) => layer("points", name, { xy: array([1, places.length, 2], places) }, more);
    const circles = (name, places, radii, more) => layer("circles", name,
      { center: array([1, places.length, 2], places), radius: array([1, radii.length], radii) }, more);
    const lines = (name, places, more) => layer("lines", name, { xy: array([1, 1, places.length, 2], places) }, more);
    const bars = (name, rects, more) => layer("bars", name, { rect: array([1, rects.length, 4], rects) }, more);
    const [to, from] = [(place) => 100 * place, (pixel) => pixel / 100];
    const scale = { x: to, y: to, left: from, up: from, kx: 100, ky: 100 };
    const scene = (...layers) => ({ layers, x: { ticks: true }, y: { ticks: true }, group_names: [] });
    const seen = (hidden = [], frame = 0) => ({ frame, hidden: new Set(hidden), isolated: null });
    const at = (made, px, py, view = seen(), given = {}) => {
      const found = live.hit(made, view, scale, px, py, given);
      return found === null ? "" : `${found.layer.name} ${found.i}`;
    };
"""


def asked(page: Page, server: Server, body: str) -> Any:
    """Return what `body` returns over layers made by hand."""
    return evaluate(page, server, MADE + body)


def test_nothing_is_hit_that_is_not_drawn(page: Page, server: Server) -> None:
    """Each kind by itself: at its place, switched off, in a frame without it, and far away."""
    found = asked(
        page,
        server,
        """const every = { marks: marks("m", [[1, 1]]), points: points("p", [[1, 1]]),
             circles: circles("c", [[1, 1]], [0.1]), lines: lines("l", [[0, 1], [2, 1]]),
             bars: bars("b", [[0.9, 0, 1.1, 1]]) };
           const here = (one, ...given) => at(scene(one), 100, 98, ...given);
           return Object.fromEntries(Object.entries(every).map(([kind, one]) => [kind, [
             here(one), here(one, seen([one.name])), here(one, seen(["other"])), here(one, seen([], 2)),
             at(scene(one), 400, 300), here(one, seen([one.name]), { clusters: true })]]));""",
    )
    for kind, (hit, hidden, other, later, away, clicked) in found.items():
        assert hit == other == f"{kind[0]} 0", kind
        assert hidden == later == away == clicked == "", kind


def test_what_is_switched_off_hides_nothing_that_is_there(page: Page, server: Server) -> None:
    found = asked(
        page,
        server,
        """const [one, other] = [marks("above", [[1, 1]]), marks("below", [[1.03, 1]])];
           const made = scene(other, one);
           return [[], ["above"], ["above", "below"]].map((hidden) => at(made, 100, 100, seen(hidden)));""",
    )
    assert found == ["above 0", "below 0", ""]


def test_the_nearest_mark_wins_and_marks_win_over_points(page: Page, server: Server) -> None:
    found = asked(
        page,
        server,
        """const three = marks("m", [[1, 1], [1.1, 1], [3, 3]]);
           return [[103, 100], [107, 100], [300, 312], [300, 313]].map((place) => at(scene(three), ...place)).concat([
             at(scene(points("p", [[1, 1]]), marks("m", [[1.02, 1]])), 100, 100),
             at(scene(marks("m", [[1.02, 1]]), points("p", [[1, 1]])), 100, 100),
             at(scene(points("p", [[1, 1]]), marks("m", [[1.1, 1]])), 100, 100)]);""",
    )
    assert found == ["m 0", "m 1", "m 2", "", "m 0", "m 0", "p 0"]


def test_what_lies_beneath_is_named_second_and_a_ring_hides_nothing(page: Page, server: Server) -> None:
    found = asked(
        page,
        server,
        """const ring = marks("True average", [[1, 1]], { symbol: "ring", role: "exact", size: 7.5 });
           const disc = marks("Released center", [[1.02, 1]], { size: 18 });
           const records = points("Records", [[1, 1], [1.05, 1], [3, 3]], { size: 4 });
           const said = (layers, px) => {
             const made = { ...scene(...layers), x: { ticks: false }, y: { ticks: false } };
             return live.tooltipLines(made, live.hit(made, seen(), scale, px, 100)).slice(0, 2);
           };
           return [said([records, disc, ring], 100), said([records, disc, ring], 109), said([ring, records, disc], 100),
             said([records, ring], 100), said([records], 105)];""",
    )
    assert found[0] == ["Released center", "beneath: True average"]
    assert found[1][0] == "Released center"
    assert found[2] == ["Released center", "beneath: Records"]
    assert found[3] == ["True average", "beneath: Records"]
    assert found[4][0] == "Records"
    assert not any("beneath" in line for line in found[4])


def test_a_circle_is_hit_at_its_edge_and_clicked_inside_the_smallest(page: Page, server: Server) -> None:
    found = asked(
        page,
        server,
        """const two = scene(circles("c", [[2, 2], [2, 2.2]], [1, 0.5]));
           const clicked = (px, py, hidden = []) => at(two, px, py, seen(hidden), { clusters: true });
           return [at(two, 300, 200), at(two, 230, 210), clicked(205, 215), clicked(110, 195),
             clicked(110, 195, ["c"])];""",
    )
    assert found == ["c 0", "", "c 1", "c 0", ""]
