"""An SVG's ticks and images; a thumbnail's stops take turns, and a reader without motion sees the last."""

import dataclasses
import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from dpviz.plots import Audience, Axis, Frame, Kind, Layer, Role, Scene
from dpviz.plots.svg import MOST_POINTS, axis_ticks, png, thumbnail

AXIS = Axis("x")


def layer(name, rows, n_rows=1, n=3, *, kind=Kind.MARKS, shown=True):
    places = np.random.default_rng(0).random((n_rows, n, 2)).astype(np.float32)
    arrays = {"xy": places, "group": np.zeros((1, n), np.uint8)} if kind is Kind.POINTS else {"xy": places}
    rows = np.array(rows, np.int16)
    return Layer(name, kind, Role.RELEASED, Audience.RELEASED, arrays, rows, shown=shown)


def scene(*layers, n_frames=3):
    frames = tuple(Frame(str(i)) for i in range(n_frames))
    return Scene("A <title>", "alt", "caption", AXIS, AXIS, layers, frames)


def drawn(picture):
    return picture.count("<use") + len(re.findall(r"<path|<circle", picture))


def test_a_layer_that_never_changes_does_not_turn():
    still = thumbnail(scene(layer("still", [0, 0, 0])), [0, 1, 2], size=(100, 80))
    assert "@keyframes" not in still
    moving = thumbnail(scene(layer("moving", [0, 1, -1], 2)), [0, 1, 2], size=(100, 80))
    assert set(re.findall(r'<g class="(s\d+)"', moving)) == {"s100", "s010"}
    for name in ("s100", "s010"):
        assert f"@keyframes {name}{{" in moving


def test_it_is_xml_of_its_size_and_rests_on_the_last_stop():
    picture = thumbnail(scene(layer("a", [0, 1, 2], 3)), [0, 2], size=(100, 80))
    root = ElementTree.fromstring(picture)
    assert root.attrib["viewBox"] == "0 0 100 80"
    resting = picture[picture.index("prefers-reduced-motion") :]
    assert ".s01{animation:none;visibility:visible}" in resting
    assert ".s10{animation:none;visibility:hidden}" in resting
    assert "A &lt;title&gt;" in picture


def test_hidden_layers_and_most_points_are_left_out():
    plain = scene(layer("a", [0, 0, 0]), layer("b", [0, 0, 0]), layer("asleep", [0, 0, 0], shown=False))
    both, one = (thumbnail(plain, [0], size=(100, 80), hidden=hidden) for hidden in ((), ("b",)))
    assert drawn(both) == 2 * drawn(one) > 0
    few, many = (
        thumbnail(scene(layer("p", [0, 0, 0], n=n, kind=Kind.POINTS)), [0], size=(100, 80)) for n in (400, 40_000)
    )
    assert len(many) < 2 * len(few) * MOST_POINTS / 400


@pytest.mark.parametrize("frames", [[], [3], [-1]])
def test_stops_must_exist(frames):
    with pytest.raises(ValueError, match="frames must have"):
        thumbnail(scene(layer("a", [0, 0, 0])), frames, size=(100, 80))


def test_small_images_are_true_pngs():
    colors = np.random.default_rng(0).integers(0, 256, (5, 7, 4)).astype(np.uint8)
    read = np.array(Image.open(io.BytesIO(png(colors))))
    np.testing.assert_array_equal(read, colors)


@pytest.mark.parametrize(
    ("axis", "texts"),
    [
        (Axis("a", values=(0.0, 10.0)), ["0", "2", "4", "6", "8", "10"]),
        (Axis("a", values=(0.0, 3.0), whole=True), ["0", "1", "2", "3"]),
        (Axis("a", values=(0.0, 4.0), log=True), ["1", "10", "100", "1,000", "10,000"]),
        (Axis("a", view=(0.0, 2.0), names=("one", "two")), ["", "", "one", "two"]),
        (Axis("a", ticks=False), []),
        (Axis("a", values=(0.0, 900.0), log=True), None),
    ],
)
def test_ticks(axis, texts):
    found = [tick.text for tick in axis_ticks(axis, *axis.view, 5)]
    assert texts is None or found == texts


@pytest.mark.parametrize("kind", [Kind.MARKS, Kind.SEGMENTS])
def test_marks_of_one_opacity_are_one_group(kind):
    plain, name = layer("a", [0, 0, 0], n=4), {Kind.MARKS: "xy", Kind.SEGMENTS: "ends"}[kind]
    places = np.random.default_rng(1).random((1, 4, 2 if kind is Kind.MARKS else 4))
    faint = dataclasses.replace(
        plain, kind=kind, arrays={name: places, "alpha": np.array([[0.2, 1.0, 0.0, 0.2]])}, names=tuple("abcd")
    )
    picture = thumbnail(scene(faint), [0], size=(100, 80))
    assert re.findall(r'opacity="([\d.]+)"', picture) == ["0.2", "1"]
    marks = [
        group.count("<use") if kind is Kind.MARKS else group.count("M") for group in picture.split("<g opacity")[1:]
    ]
    assert marks == [2, 1]
