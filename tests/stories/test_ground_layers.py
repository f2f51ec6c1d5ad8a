"""A town's public map lies under pictures of it, where its places are, and nowhere else."""

import dataclasses

import numpy as np
import pytest

import dpviz
from dpviz.core import Box
from dpviz.data import load
from dpviz.data.synthetic import RIVER_HALF_WIDTH, river_middle
from dpviz.plots import Audience, pack
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
    words = Words.of(CITY)
    assert on_map(plain, words, View()).layers[0].name == MAP
    assert on_map(plain, words, View(1, 0)) is plain
    assert on_map(plain, dataclasses.replace(words, box_public=False), View()) is plain
    assert on_map(plain, Words("Set", Box.cube(0.0, 1.0, 2), ("a", "b"), ("", "")), View()) is plain
    assert on_map(dataclasses.replace(plain, solid=(30.0, 20.0)), words, View()).layers == plain.layers
