"""Pixels of the canvas: fog and cloud, a line at a large ε and a haze at a small one, cells and bands."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

import dpviz
from dpviz.core import Box
from dpviz.plots import Kind, Layer, Scene, always
from dpviz.plots.scene import RELEASED
from dpviz.plots.theme import DARK, LIGHT, rgb
from dpviz.stories import ensemble
from tests.browser.apps.scenes import filled, tradeoff
from tests.browser.parts_page import BLUE, BLUE_ON_DARK, ORANGE, drawn

pytestmark = pytest.mark.stays

HOMES = np.array([[2.35, 2.3], [3.0, 7.75], [7.85, 7.35], [5.05, 4.75], [7.9, 2.55]])
# Shares of the box's pixels, of 256 parts of opacity: covered at all, half as opaque as the haze can be.
SHARES = """
  scene.layers = scene.layers.filter(({ kind, name }) => kept(kind, name));
  const scale = draw(live.HOME);
  const [x0, y1, x1, y0] = [scale.x(0), scale.y(0), scale.x(1), scale.y(1)].map(Math.round);
  const { data } = ctx.getImageData(x0, y0, x1 - x0, y1 - y0);
  const alphas = Array.from({ length: data.length / 4 }, (_, i) => data[4 * i + 3]);
  return [8, 64].map((least) => alphas.filter((alpha) => alpha >= least).length / alphas.length);
"""
ONLY_FOG = 'const kept = (kind, name) => kind === "ensemble" && name.startsWith("haze");'


@cache
def picture(epsilon: float, name: str = "convergent_kmeans", n: int = 2_000, **knobs: int) -> Scene:
    rng = np.random.default_rng(3)
    points = np.clip(HOMES[rng.integers(5, size=n)] + 0.72 * rng.standard_normal((n, 2)), 0.0, 10.0)
    run = dpviz.run(name, points, bounds=Box.cube(0.0, 10.0, 2), seed=2, epsilon=epsilon, **knobs)
    return at_the_end(run.picture())


def at_the_end(scene: Scene) -> Scene:
    """Return only the last stop."""
    layers = tuple(replace(layer, rows=layer.rows[-1:]) for layer in scene.layers)
    return replace(scene, layers=layers, frames=scene.frames[-1:], start_frame=0)


def test_fog_is_a_line_at_a_large_epsilon_and_a_haze_at_a_small_one(page: Page) -> None:
    shares = {}
    for epsilon in (0.1, 1.0, 10.0):
        for theme in ("light", "dark"):
            shares[epsilon, theme] = drawn(page, picture(epsilon), ONLY_FOG + SHARES, theme)
    for theme in ("light", "dark"):
        covered = [shares[epsilon, theme][0] for epsilon in (0.1, 1.0, 10.0)]
        assert covered[0] > 0.3, covered
        assert 0.005 < covered[2] < 0.06, covered
        assert covered[0] > 2.0 * covered[1] > 2.0 * covered[2], covered
        assert shares[0.1, theme][1] < 0.6, "a haze that hides what lies beneath says nothing"


def test_the_fog_of_cuts_widens_too_and_everyone_has_none(page: Page) -> None:
    near, far = (drawn(page, picture(epsilon, "dpm"), ONLY_FOG + SHARES)[0] for epsilon in (10.0, 0.1))
    assert far > 2.0 * near > 0.0
    assert drawn(page, picture(0.1, "dpm").public(), ONLY_FOG + SHARES)[0] == 0.0


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("n", [900, 9_000])
def test_records_lose_their_color_at_a_small_epsilon(page: Page, theme: Any, n: int) -> None:
    """Count pixels of records that are nearer to gray than to any cluster's color, for sprites and dots alike."""
    body = """
      scene.layers = scene.layers.filter(({ kind, arrays }) => kind === "points" || arrays.drain);
      const dots = scene.layers.find(({ kind }) => kind === "ensemble");
      dots.size = 0; // its dots are in the way
      draw(live.HOME);
      const { data } = ctx.getImageData(0, 0, width, height);
      const colors = [theme.drained, ...theme.clusters].map(live.parseColor);
      const far = (color, at) => color.reduce((sum, part, c) => sum + (part - data[at + c]) ** 2, 0);
      let [gray, all] = [0, 0];
      for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] < 120) continue;
        const nearest = colors.map((color) => far(color, at));
        all += 1;
        gray += nearest.indexOf(Math.min(...nearest)) === 0;
      }
      return gray / all;
    """
    found = [drawn(page, picture(epsilon, "dplloyd", n, n_clusters=5), body, theme.name) for epsilon in (0.02, 10.0)]
    assert found[0] > 0.2 > 0.08 > found[1], (theme.drained, rgb(theme.drained), found)


def test_fog_at_rest_is_painted_once(page: Page) -> None:
    strokes = drawn(
        page,
        picture(0.1),
        """const counts = [];
           const stroke = CanvasRenderingContext2D.prototype.stroke;
           let count = 0;
           CanvasRenderingContext2D.prototype.stroke = function (...given) { count += 1; stroke.apply(this, given); };
           scene.layers = scene.layers.filter(({ kind }) => kind === "ensemble");
           for (let i = 0; i < 3; i += 1) { count = 0; draw(live.HOME); counts.push(count); }
           CanvasRenderingContext2D.prototype.stroke = stroke;
           return counts;""",
    )
    assert strokes[0] >= 32 + strokes[1]
    assert strokes[1] == strokes[2]


def test_who_asks_for_less_gets_no_cloud(page: Page) -> None:
    body = "const kept = (kind) => kind === 'ensemble';" + SHARES
    assert drawn(page, picture(0.1), body)[0] > 0.1
    spare = "Object.defineProperty(navigator, 'connection', { value: { saveData: true }, configurable: true }); try {"
    assert drawn(page, picture(0.1), spare + body + "} finally { delete navigator.connection; }")[0] == 0.0


def test_the_pointer_finds_what_lies_beneath_a_cloud(page: Page) -> None:
    places = np.full((1, 64, 1, 2), 0.5)
    layers = (
        Layer.from_arrays("Released center", Kind.MARKS, RELEASED, np.full((1, 1, 2), 0.5), always(1)),
        Layer.from_arrays(ensemble.CLOUD, Kind.ENSEMBLE, RELEASED, places, always(1)),
    )
    scene = Scene("", "", "", picture(0.1).x, picture(0.1).y, layers)
    named = drawn(
        page,
        scene,
        """const scale = draw(live.HOME);
           const view = { frame: 0, hidden: new Set() };
           return live.hit(scene, view, scale, scale.x(0.5), scale.y(0.5)).layer.name;""",
    )
    assert named == "Released center"
    tables = drawn(page, scene, "return live.tablesOf(scene, 0, new Set()).map(({ caption }) => caption);")
    assert tables == ["Released center"]


def test_an_ensemble_has_as_many_marks_as_draws(page: Page) -> None:
    """The marks are not as many as the records, which it drains: a glide would carry ten thousand where 64 move."""
    body = """return scene.layers.filter(({ kind }) => kind === "ensemble")
                 .map((layer) => [layer.arrays.drain?.shape[1], live.markCount(layer), layer.arrays.xy.shape[1]]);"""
    found = drawn(page, picture(0.3), body)
    assert any(drained == 2_000 for drained, _, _ in found), found
    assert all(marks == draws == ensemble.MOST_DRAWS for _, marks, draws in found), found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_cells_are_crisp_and_as_strong_as_their_value(page: Page, theme: str) -> None:
    scene = filled()
    got = drawn(
        page,
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


def test_bands_are_filled_between_their_edges_and_behind_lines(page: Page) -> None:
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
    found = drawn(page, scene, body)
    assert min(alpha for *_, alpha in found[:2]) > 240
    assert [alpha for *_, alpha in found[2:4]] == pytest.approx([0.18 * 255] * 2, abs=1.5)
    assert [alpha for *_, alpha in found[4:]] == [0, 0, 0]
    assert found[0][:3] == pytest.approx(list(ORANGE), abs=2), "a band in front would lighten the line"
