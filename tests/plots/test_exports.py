"""The same scene on paper: SVG, CSV and a Plotly figure contain the drawn marks, in their places, and nothing else."""

import csv
import dataclasses
import io
import itertools
import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.plots import Audience, Axis, Kind, Layer, Role, always, csv_text, rows_at, svg
from dpviz.plots.figure import figure_of
from dpviz.plots.page import build_page
from dpviz.plots.table import COLUMNS, defused
from dpviz.plots.theme import DARK, LIGHT
from tests.plots.test_scene import FRAMES, every_kind, layer, scene

EVIL = '</script><img src=x onerror="alert(1)"> & <b>"bold"</b> $x^2$ %{x}\x00\ud800'
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1+1", "＝1", "\n=1", '=HYPERLINK("http://x","y")']
NUMBERS = ("x", "y", "x_end", "y_end", "value")


def rows_of(*scenes, **options):
    return list(csv.DictReader(io.StringIO(csv_text(scenes, **options), newline="")))


def grouped(kind, **changes):
    """Return a layer whose marks or cells have their own groups."""
    made = layer(kind, **changes)
    shape = made.arrays["value"].shape if kind is Kind.GRID else next(iter(made.arrays.values())).shape[:2]
    groups = (np.arange(np.prod(shape)) % 4).reshape(shape).astype(np.uint8)
    return dataclasses.replace(made, arrays={**made.arrays, "group": groups}, role=Role.CLUSTER)


def hostile():
    names = tuple(EVIL for _ in range(4))
    layers = tuple(
        layer(kind, name=EVIL + kind.value, names=names, audience=audience)
        for kind, audience in zip(Kind, itertools.cycle(Audience))
    )
    axes = {"x": Axis(EVIL, EVIL), "y": Axis(EVIL, EVIL)}
    return scene(*layers, title=EVIL, alt=EVIL, caption=EVIL, group_names=(EVIL,) * 4, **axes)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
@pytest.mark.parametrize("frame", range(FRAMES))
def test_every_kind_is_drawn_at_every_stop(frame, theme):
    drawn = every_kind()
    root = ET.fromstring(svg([drawn], frame=frame, notes=["Proved: little."], theme=theme))
    said = [element.text for element in root.iter() if element.tag.endswith("title")]
    shown = [one for one in drawn.layers if one.rows[frame] >= 0]
    assert [title for title in said if title.startswith("a ")] == [one.layer.name for one in drawn.visible(frame)]
    assert len(shown) == len(drawn.visible(frame))
    assert "Proved: little." in "".join(root.itertext())
    assert theme.background in ET.tostring(root, "unicode")


def test_marks_stand_where_they_belong():
    places = np.array([[[0.0, 0.0], [1.0, 1.0], [0.25, np.nan]]])
    drawn = scene(Layer("m", Kind.MARKS, Role.PUBLIC, Audience.PUBLIC, {"xy": places}, always(FRAMES)))
    found = re.findall(r'<use href="#p0l0m0" x="([\d.]+)" y="([\d.]+)"', svg([drawn]))
    (left, bottom), (right, top) = [tuple(map(float, pair)) for pair in found]
    assert right - left == pytest.approx(bottom - top, abs=0.2), "units are equal"
    table = rows_of(drawn)
    assert [(row["x"], row["y"]) for row in table] == [("0.0", "0.0"), ("1.0", "1.0")]


def test_csv_has_data_values_and_log_axes():
    xy = np.array([[[0.5, 0.5]]])
    axes = {"x": Axis("a", values=(10.0, 30.0)), "y": Axis("b", values=(0.0, 4.0), log=True)}
    (row,) = rows_of(scene(Layer("m", Kind.MARKS, Role.PUBLIC, Audience.PUBLIC, {"xy": xy}, always(FRAMES)), **axes))
    assert (float(row["x"]), float(row["y"])) == (20.0, 100.0)


def test_csv_has_every_drawn_mark_and_only_numbers_where_numbers_are():
    for frame in (0, 4):
        drawn = every_kind()
        table = rows_of(drawn, frame=frame)
        assert {row["kind"] for row in table} == {one.layer.kind.value for one in drawn.visible(frame)}
        assert tuple(table[0]) == COLUMNS
        for row in table:
            assert all(np.isfinite(float(row[name])) for name in NUMBERS if row[name])
        points = [row for row in table if row["kind"] == "points"]
        np.testing.assert_allclose(
            [(float(row["x"]), float(row["y"])) for row in points], drawn.layers[0].arrays["xy"][0]
        )


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_defused(text):
    assert defused(text)[0] == "'"
    named = Layer(
        text, Kind.MARKS, Role.PUBLIC, Audience.PUBLIC, {"xy": -np.ones((1, 1, 2))}, always(FRAMES), names=(text,)
    )
    (row,) = rows_of(scene(named, group_names=(text,)))
    assert row["layer"][0] == row["name"][0] == "'"
    assert row["x"] == "-1.0", "a number stays one"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30))
def test_no_text_of_a_csv_is_ever_a_formula(text):
    named = Layer(text, Kind.MARKS, Role.PUBLIC, Audience.PUBLIC, {"xy": np.zeros((1, 1, 2))}, always(1), names=(text,))
    (row,) = rows_of(scene(named, frames=scene().frames[:1]))
    for name in ("layer", "name"):
        assert row[name].lstrip()[:1] not in set("=+-@\t\r")
        assert row[name].removeprefix("'") == defused(text).removeprefix("'")


def test_hostile_words_stay_words():
    drawn = hostile()
    for frame in range(FRAMES):
        text = svg([drawn], frame=frame, notes=[EVIL])
        root = ET.fromstring(text)
        kinds = {element.tag.rsplit("}", 1)[1] for element in root.iter()}
        assert not kinds & {"script", "img", "b", "foreignObject", "a"}
        assert "onerror" not in {name for element in root.iter() for name in element.attrib}
    written = build_page([drawn], frame=0, notes=[EVIL], title=EVIL).encode("utf-8", "replace").decode()
    assert written.count("</script>") == 2, "the page's own and its data"
    assert "<img" not in written[: written.index("<script>")]
    figure = figure_of(drawn, notes=[EVIL])
    assert "<img" not in f"{figure.layout.title.text}{figure.layout.annotations}{[each.name for each in figure.data]}"
    csv_text([drawn], frame=0).encode("utf-8", "replace")


@pytest.mark.parametrize("frame", [None, 0, 1, 4])
def test_a_figure_passes_plotlys_own_check_and_has_every_layer(frame, monkeypatch):
    drawn = scene(*every_kind().layers, grouped(Kind.MARKS, name="g"), grouped(Kind.GRID, name="h"), layer(shown=False))
    for steps in (True, False):
        monkeypatch.setattr("dpviz.plots.figure.MOST_STEP_VALUES", 500_000 if steps else -1)
        made = figure_of(drawn, frame=frame, notes=["note"])
        go.Figure(json.loads(made.to_json()))
        listed = {trace.name for trace in made.data if trace.showlegend}
        assert listed >= {one.name for one in drawn.layers if one.audience is not Audience.CURATOR}
        assert len(made.frames) == (FRAMES if steps else 0)
        assert "note" in made.layout.annotations[0].text
        assert made.layout.yaxis.scaleanchor == "x"


def test_a_figure_is_in_data_units_and_its_units_are_equal():
    axes = {"x": Axis("a", values=(10.0, 30.0)), "y": Axis("b", values=(0.0, 5.0))}
    center, radius = np.array([[[0.5, 0.5]]]), np.array([[0.1]])
    drawn = scene(
        Layer("c", Kind.CIRCLES, Role.PUBLIC, Audience.PUBLIC, {"center": center, "radius": radius}, always(FRAMES)),
        **axes,
    )
    (trace,) = figure_of(drawn).data
    assert (np.nanmin(trace.x), np.nanmax(trace.x)) == pytest.approx((18.0, 22.0))
    assert (np.nanmin(trace.y), np.nanmax(trace.y)) == pytest.approx((2.0, 3.0), rel=1e-3)
    assert figure_of(drawn).layout.yaxis.scaleratio == pytest.approx(4.0)


def test_what_is_switched_off_is_not_drawn():
    drawn = scene(layer(name="kept"), layer(name="gone"), layer(name="asleep", shown=False))
    assert {row["layer"] for row in rows_of(drawn)} == {"kept", "gone"}
    assert {row["layer"] for row in rows_of(drawn, hidden={"gone"})} == {"kept", "asleep"}
    assert "gone" not in svg([drawn], hidden={"gone"})
    off = {trace.name: trace.visible for trace in figure_of(drawn, hidden={"gone"}).data}
    assert off == {"kept": True, "gone": "legendonly", "asleep": True}


def test_pairs_stand_beside_each_other():
    both = (scene(layer(), title="one"), scene(layer(), title="two"))
    root = ET.fromstring(svg(both))
    assert {"one", "two"} <= {element.text for element in root.iter() if element.tag.endswith("text")}
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    assert {row["picture"] for row in rows_of(*both)} == {"1", "2"}
    assert build_page(both).count("dpvizData('0.0.0.0'") == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda s: svg([s], frame=99),
        lambda s: csv_text([s], frame=-1),
        lambda s: figure_of(s, frame=5),
        lambda s: build_page([s], frame=5),
    ],
)
def test_a_stop_that_does_not_exist_is_refused(call):
    with pytest.raises(ValueError, match="frame must be"):
        call(scene(layer()))


def test_a_hundred_thousand_points_are_drawn():
    rng = np.random.default_rng(0)
    arrays = {"xy": rng.random((1, 100_000, 2)), "group": np.zeros((1, 100_000), np.uint8)}
    many = scene(Layer("r", Kind.POINTS, Role.CLUSTER, Audience.CURATOR, arrays, rows_at(FRAMES, {0: 0})))
    assert svg([many]).count("h0") == 100_000
    assert csv_text([many]).count("\n") == 100_001
