"""A town's public map is under pictures of the town, at its own places, and nowhere else."""

import dataclasses

import numpy as np
import pytest

import dpviz
from dpviz.core import Box
from dpviz.data import Outline, load
from dpviz.data.dataset import Dataset
from dpviz.data.geography import map_of
from dpviz.data.synthetic import RIVER_HALF_WIDTH, river_middle
from dpviz.data.transforms import Scale
from dpviz.plots import Audience, Kind, csv_text, pack, svg
from dpviz.stories import View, Words
from dpviz.stories.ground_layers import MAP, SCALE, on_map

CITY = load("city", n=200)


@pytest.mark.parametrize("method", ["nd_laplace", "dpm"])
def test_the_map_is_public_and_lies_under_everything(method):
    run = dpviz.run(method, CITY, seed=1, epsilon=1.0 if method == "dpm" else 0.001)
    for scene in (run.picture(), run.picture().public()):
        under = [layer.name == MAP for layer in scene.layers]
        assert under[:3] == [True] * 3
        assert not any(under[3:])
        assert all(layer.audience is Audience.PUBLIC and not layer.legend for layer in scene.layers[:3])
        assert sum(layer.name.startswith(SCALE) for layer in scene.layers) == 1
        low, high = np.array([scene.x.values, scene.y.values]).T
        edges = scene.layers[0].arrays["edges"][0, 0]
        banks = low[1] + edges[:, 1:] * (high[1] - low[1])
        middle = river_middle(low[0] + edges[:, 0] * (high[0] - low[0]))
        assert banks == pytest.approx(np.column_stack([middle - RIVER_HALF_WIDTH, middle + RIVER_HALF_WIDTH]))


def test_other_homes_leave_the_map_as_it_is():
    maps = [pack_of_map(load("city", n=n, seed=seed)) for n, seed in ((50, 0), (300, 4))]
    assert maps[0] == maps[1]


def pack_of_map(dataset):
    scene = dpviz.run("nd_laplace", dataset, seed=1, epsilon=0.001).picture()
    return pack(dataclasses.replace(scene, layers=scene.layers[:3], alt="", caption="", stage=None))


def test_other_axes_a_turned_picture_and_secret_bounds_have_no_map():
    scene = dpviz.run("nd_laplace", CITY, seed=1, epsilon=0.001).picture()
    plain = dataclasses.replace(scene, layers=scene.layers[3:])
    words = Words.from_dataset(CITY)
    assert on_map(plain, words, View()).layers[0].name == MAP
    assert on_map(plain, words, View(1, 0)) is plain
    assert on_map(plain, dataclasses.replace(words, box_public=False), View()) is plain
    assert on_map(plain, Words("Set", Box.cube(0.0, 1.0, 2), ("a", "b"), ("", "")), View()) is plain
    assert on_map(dataclasses.replace(plain, solid=(30.0, 20.0)), words, View()).layers == plain.layers


COAST = np.array([[-900.0, -800.0], [0.0, 300.0], [np.nan, np.nan], [100.0, 100.0], [900.0, 850.0]])


@pytest.mark.parametrize("scaled", [False, True])
def test_an_own_outline_lies_under_the_map_in_meters_and_is_in_no_table(scaled):
    place, square = map_of(Box([48.0, 11.0], [48.02, 11.02]))
    box = Box.cube(0.0, 1.0, 2) if scaled else square
    scale = Scale(square, ("east", "north"), ("m", "m"), np.ones(2), place) if scaled else None
    points = box.from_unit(np.random.default_rng(0).random((200, 2)))
    whole = Dataset(points, None, box, ("east", "north"), "Mine", place=None if scaled else place, scale=scale)
    drawn = [
        dpviz.run("dpm", dataclasses.replace(whole, ground=ground), seed=1).picture()
        for ground in (None, Outline(COAST))
    ]
    for plain, scene in (drawn, [each.public() for each in drawn]):
        layer = scene.layers[0]
        assert (layer.name, layer.kind, layer.audience, layer.legend) == (MAP, Kind.LINES, Audience.PUBLIC, False)
        assert [each.name for each in scene.layers[1:]] == [each.name for each in plain.layers]
        meters = scene.x.data(layer.arrays["xy"][0, 0, :, 0]), scene.y.data(layer.arrays["xy"][0, 0, :, 1])
        assert np.column_stack(meters) == pytest.approx(COAST, abs=1e-6, nan_ok=True)
        assert csv_text([scene]) == csv_text([plain])
        assert svg([scene]) != svg([plain])
    private = dpviz.run("dpm", dataclasses.replace(whole, ground=Outline(COAST), bounds_from_data=True), seed=1)
    assert all(layer.name != MAP for layer in private.picture().layers)
