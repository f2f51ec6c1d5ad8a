from dataclasses import replace

import numpy as np
import pytest

from dpviz.core import Box
from dpviz.methods.dpm import algorithm
from dpviz.methods.dpm import run as dpm
from dpviz.plots import Audience, Kind, Layer, Role
from dpviz.stories import View, Words
from dpviz.stories import view as solid
from dpviz.stories.view import project

WORDS = Words("Set", Box.cube(-1.0, 2.0, 4), ("a", "b", "c", "d"), ("",) * 4)


def told(n=300):
    rng = np.random.default_rng(3)
    points = np.clip(rng.choice([-0.4, 1.2], (n, 4)) + 0.2 * rng.standard_normal((n, 4)), -1, 2)
    params = algorithm.Params(epsilon=5.0)
    result = algorithm.fit(points, WORDS.box, params, rng=np.random.default_rng(1))
    return dpm.DPMRun.from_result(result, params, points, WORDS)


def drawn(run, view):
    made = [run.draw_scene(each) for each in (view, solid.from_above(view))]
    return solid.with_depth(*made, view)


def turned(places, depths, view, other):
    """Turn picture coordinates back into the three features, and into the other picture's plane."""
    unit = np.zeros((1, 4))

    def axes(one):
        return np.concatenate(
            [project(one, WORDS, unit).matrix, project(solid.from_above(one), WORDS, unit).matrix[:, 1:]], axis=1
        )

    seen = np.concatenate([places, depths], axis=-1) - 0.5
    return (seen @ axes(view).T @ axes(other))[..., :2] + 0.5


@pytest.mark.parametrize("angles", [(30.0, 25.0), (-170.0, -80.0), (0.0, 90.0), (90.0, 0.0)])
def test_right_up_and_depth_are_a_right_handed_frame(angles):
    view = View(0, 2, z=1, yaw=angles[0], pitch=angles[1])
    flat, above = (project(each, WORDS, np.zeros((1, 4))).matrix for each in (view, solid.from_above(view)))
    frame = np.concatenate([flat, above[:, 1:]], axis=1)[[0, 2, 1]]
    assert frame.T @ frame == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.det(frame) == pytest.approx(1.0)


def test_turning_in_the_browser_is_what_the_server_draws():
    run = told()
    view, other = View(0, 1, z=2, yaw=30.0, pitch=25.0), View(0, 1, z=2, yaw=-100.0, pitch=-40.0)
    first, second = drawn(run, view), drawn(run, other)
    assert first.solid == (30.0, 25.0)
    n_turned = n_facing = 0
    for one, wanted in zip(first.layers, second.layers, strict=True):
        if one.name in solid.FACING:
            assert not any(name.endswith(solid.DEPTH) for name in one.arrays)
            middle = one.arrays[f"xy{solid.MIDDLE}"].reshape(-1, 3)
            got = turned(middle[:, :2], middle[:, 2:], view, other)
            ring = wanted.arrays["xy"].reshape(len(middle), -1, 2)
            assert got == pytest.approx(ring[:, :-1].mean(axis=1), abs=1e-9, nan_ok=True)
            assert np.isfinite(got).any()
            n_facing += 1
            continue
        for name in solid.PLACES[one.kind]:
            shape = one.arrays[name].shape
            places = one.arrays[name].reshape(-1, 2)
            got = turned(places, one.arrays[f"{name}{solid.DEPTH}"].reshape(-1, 1), view, other)
            assert got.reshape(shape) == pytest.approx(wanted.arrays[name], abs=1e-9, nan_ok=True)
            n_turned += 1
    assert n_turned > 8
    assert n_facing == 1


def test_depth_of_records_is_as_long_as_they_are():
    scene = drawn(told(), View(0, 1, z=2))
    records = next(layer for layer in scene.layers if layer.kind is Kind.POINTS)
    assert records.arrays["xy_depth"].shape == (1, 300, 1)
    assert not [name for layer in scene.public().layers for name in layer.arrays if layer is records]


def test_a_balls_middle_turns_and_its_radius_stays():
    arrays = {"center": np.array([[[0.2, 0.3]]]), "radius": np.array([[0.1]])}
    one = Layer("Ball", Kind.CIRCLES, Role.NOISE, Audience.NOISE, arrays, np.array([0]))
    above = replace(one, arrays={**arrays, "center": np.array([[[0.2, 0.9]]])})
    scene = drawn(told(60), View(0, 1, z=2))
    made = [replace(scene, layers=(layer,)) for layer in (one, above)]
    (ball,) = solid.with_depth(*made, View(0, 1, z=2)).layers
    assert ball.arrays["center_depth"].tolist() == [[[0.9]]]
    assert ball.arrays["radius"] is arrays["radius"]
