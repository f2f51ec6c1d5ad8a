"""The picture of a released mixture: public ellipses that contain half of each component, with those of the centers."""

import math

import numpy as np
import pytest

from dpviz.baselines import dp_em
from dpviz.core import Box
from dpviz.methods import run_class
from dpviz.plots import Audience
from dpviz.solvers import Mixture
from dpviz.stories import View, Words
from dpviz.stories.centers import CentersRun
from dpviz.stories.mixtures import MixtureRun, ellipses
from dpviz.stories.view import project

DRAWS = 20_000
VIEWS = [View(), View(2, 0), View(0, 1, z=2, yaw=30.0, pitch=20.0)]


def run_of(d, points=None, kind=MixtureRun):
    points = np.random.default_rng(d).random((400, d)) if points is None else points
    box, params = Box.cube(0.0, 1.0, d), dp_em.Params(n_clusters=3, epsilon=3.0, start_seed=0)
    words = Words("Set", box, tuple(f"x{i}" for i in range(d)), ("",) * d)
    result = dp_em.fit(points, box, params, rng=np.random.default_rng(1))
    return kind.from_result(result, params, points, words, kind.find_reference(points, words, result, params))


def half_inside(mixture, curves, plane):
    """Return True if half of each component's draws on the plane lie in its curve: six standard errors."""
    rng, found = np.random.default_rng(0), []
    for mean, covariance, curve in zip(mixture.means, mixture.covariances, curves, strict=True):
        draws = plane((rng.multivariate_normal(mean, covariance, DRAWS) + 1.0) / 2.0)
        middle = curve[:-1].mean(axis=0)
        angle = np.unwrap(np.arctan2(*(curve - middle).T[::-1]))
        order = np.argsort(angle)
        reach = np.interp(
            np.mod(np.arctan2(*(draws - middle).T[::-1]) - angle[order[0]], 2.0 * np.pi) + angle[order[0]],
            angle[order],
            np.linalg.norm(curve - middle, axis=1)[order],
        )
        found.append(np.mean(np.linalg.norm(draws - middle, axis=1) <= reach))
    # 0.005 allows for a polygon of 40 sides.
    return np.abs(np.array(found) - 0.5).max() <= 6.0 * math.sqrt(0.25 / DRAWS) + 0.005


@pytest.mark.parametrize("view", VIEWS)
def test_half_of_a_component_lies_in_its_ellipse(view):
    rng = np.random.default_rng(3)
    roots = 0.2 * rng.standard_normal((3, 3, 3))
    mixture = Mixture(
        [0.5, 0.3, 0.2], rng.uniform(-0.5, 0.5, (3, 3)), roots @ roots.transpose(0, 2, 1) + 0.01 * np.eye(3)
    )
    plane = project(view, Words("Set", Box.cube(0.0, 1.0, 3), ("a", "b", "c"), ("",) * 3), np.empty((0, 3)))
    curves = ellipses(mixture, plane)
    assert half_inside(mixture, curves, plane)
    middles = curves[:, :-1].mean(axis=1, keepdims=True)
    # The last factor forgets that the mixture lives in [-1, 1]^d.
    for wrong in (0.9, 1.1, 2.0):
        assert not half_inside(mixture, middles + wrong * (curves - middles), plane)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_ellipses_stand_beside_the_picture_of_centers_once_it_is_released(d):
    run, plain = run_of(d), run_of(d, kind=CentersRun)
    scene, other = (each.draw_scene(View()) for each in (run, plain))
    more = scene.layers[len(other.layers) :]
    assert [layer.name for layer in scene.layers[: len(other.layers)]] == [layer.name for layer in other.layers]
    assert len(more) == (d > 1)
    for layer in more:
        assert layer.audience is Audience.RELEASED
        assert layer.arrays["xy"].shape[:2] == (1, 3)
        assert [row >= 0 for row in layer.rows] == [False] * (len(scene.frames) - 1) + [True]


def test_what_the_public_sees_of_it_follows_from_the_release_alone():
    run = run_of(2)
    public = run.picture().public()
    (layer,) = [each for each in public.layers if each.name == "half of a component"]
    assert np.array_equal(layer.arrays["xy"][0], ellipses(run.release.mixture, run.plane(View())))
    assert run_class("dp_em") is MixtureRun
