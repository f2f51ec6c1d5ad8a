"""What the pointer is on is what is drawn in front there, whatever lies beneath and wherever its middle is."""

from itertools import permutations
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.curves_page import Server, evaluate

pytestmark = pytest.mark.browser

# Layers by name on a plot of 100 x 100 pixels, one a unit, and what is named at a pixel (y upward).
WORLD = """
  const array = (values, ...shape) => ({ shape, data: Float32Array.from(values.flat(2)) });
  const group = (n, own = 0) => ({ shape: [1, n], data: new Uint8Array(n).fill(own) });
  const of = (kind, name, arrays, more = {}) => ({ kind, name, arrays, role: "center", symbol: "circle", rows: [0],
    audience: "public", size: 11, fill: 0, isolate: false, names: [], pick: "", ...more });
  const marks = (name, xy, more) => of("marks", name, { xy: array(xy, 1, xy.length, 2) }, more);
  const points = (name, xy, more) => of("points", name, { xy: array(xy, 1, xy.length, 2), group: group(xy.length) },
    { size: 6.5, role: "cluster", ...more });
  const lines = (name, xy, more) => of("lines", name, { xy: array(xy, 1, 1, xy.length, 2) }, { size: 1.75, ...more });
  const arrow = (name, [tail, head]) => of("arrows", name,
    { tail: array(tail, 1, 1, 2), head: array(head, 1, 1, 2) }, { size: 1.75 });
  const bars = (name, rect) => of("bars", name, { rect: array(rect, 1, 1, 4) });
  const scale = { x: (at) => at, y: (at) => 100 - at, left: (px) => px, up: (px) => 100 - px, kx: 1, ky: 1 };
  const named = (layers, x, y, hidden = []) => {
    const view = { frame: 0, hidden: new Set(hidden) };
    const found = live.hit({ layers, group_names: [] }, view, scale, x, 100 - y);
    return found && [found.layer.name, found.i];
  };
"""


def got(page: Page, server: Server, body: str, given: Any = None) -> Any:
    return evaluate(page, server, WORLD + body, given)


def test_of_marks_that_overlap_the_one_drawn_last_is_named_wherever_on_it_the_pointer_is(
    page: Page, server: Server
) -> None:
    """Discs of radius 5.5 whose middles are 3 apart: at any pixel of the last one it is named, else the one before."""
    order = [list(each) for each in permutations([50.0, 53.0, 56.0])]
    found = got(
        page,
        server,
        """return a.map((xs) => {
             const layers = xs.map((x) => marks(`at ${x}`, [[x, 50]]));
             return Array.from({ length: 21 }, (_, k) => named(layers, 43 + k, 50)?.[0] ?? null);
           });""",
        order,
    )
    for xs, names in zip(order, found, strict=True):
        for k, name in enumerate(names):
            covering = [x for x in xs if abs(43 + k - x) <= 6.5]  # with their halo
            if covering:
                assert name == f"at {covering[-1]:g}", (xs, 43 + k)


def test_a_released_center_is_named_above_records_paths_arrows_and_true_means(page: Page, server: Server) -> None:
    found = got(
        page,
        server,
        """const center = marks("Released center", [[50, 50]]);
           const under = [points("Records", [[50, 50], [52, 50], [54, 53]]),
             lines("Path", [[20, 50], [54, 50], [54, 80]]), arrow("Noise", [[30, 52], [53, 52]]),
             marks("True average", [[53, 52]], { role: "exact" }),
             marks("No privacy", [[53, 48]], { symbol: "x" }), bars("Bar", [[40, 40, 60, 60]])];
           const around = [[50, 50], [53, 52], [54, 50], [52, 50], [53, 48], [46, 53]];
           return [
             around.map(([x, y]) => named([...under, center], x, y)[0]),
             around.map(([x, y]) => named([center, ...under], x, y)[0]),
             around.map(([x, y]) => named([...under, center], x, y, ["Released center"])[0]),
           ];""",
    )
    assert found[0] == ["Released center"] * 6
    assert found[1] == ["Bar"] * 6
    assert "Released center" not in found[2]


def test_within_a_layer_the_last_mark_and_of_points_the_last_group_is_in_front(page: Page, server: Server) -> None:
    assert got(
        page,
        server,
        """const two = marks("Centers", [[50, 50], [53, 50]]);
           const records = points("Records", [[50, 50], [51, 50]]);
           records.arrays.group.data.set([1, 0]); // so that the first one is painted last
           return [named([two], 50, 50), named([two], 48, 50), named([two], 45, 50), named([records], 51, 50)];""",
    ) == [["Centers", 1], ["Centers", 1], ["Centers", 0], ["Records", 0]]


def test_where_nothing_is_drawn_the_nearest_mark_within_reach_is_named(page: Page, server: Server) -> None:
    assert got(
        page,
        server,
        """const layers = [marks("One", [[50, 50]]), marks("Other", [[70, 50]]), points("Records", [[58.5, 50]])];
           const curve = lines("Curve", [[50, 62], [70, 62]]);
           const more = [...layers, curve];
           return [named(layers, 57.6, 57), named(layers, 62.9, 57), named(layers, 20, 20), named(more, 60, 61.5),
             named(more, 59, 52.8)];""",
    ) == [["One", 0], ["Other", 0], None, ["Curve", 0], ["Records", 0]]


def test_what_belongs_to_the_mark_under_the_pointer_is_full_and_the_rest_steps_back(page: Page, server: Server) -> None:
    found = got(
        page,
        server,
        """const spokes = of("segments", "Spokes", { ends: array([[0, 0, 1, 1], [0, 0, 2, 2], [0, 0, 3, 3]], 1, 3, 4),
             alpha: array([0.2, 0.2, 0.4], 1, 3), hub: array([0, 1, 1], 1, 3) }, { hub: "Center" });
           const seen = (pointed) => {
             const opacity = live.opacityOf(spokes, 0, pointed);
             return [0, 1, 2].map((i) => +opacity(i).toFixed(3));
           };
           return [null, { name: "Center", i: 1 }, { name: "Center", i: 0 }, { name: "Average", i: 1 }].map(seen);""",
    )
    own = [0.2, 0.2, 0.4]
    assert found[0] == found[3] == own
    assert found[1] == [0.1, 0.8, 0.8]
    assert found[2] == [0.8, 0.1, 0.2]
