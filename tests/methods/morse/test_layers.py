"""The surface of f: its heights are the mixture's, near faces come last, and nothing in it is secret."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.core import Box
from dpviz.methods.morse import landscape as land
from dpviz.methods.morse import layers
from dpviz.methods.morse.landscape import NO_GROUP
from dpviz.methods.morse.run import LandscapeLook
from dpviz.plots import Audience, Kind, pack
from dpviz.plots.svg import svg
from dpviz.solvers import Mixture, merge_tree
from dpviz.stories import View, Words
from dpviz.stories.view import project
from tests.methods.morse.test_run import MOVES, other_world, tell
from tests.stories.conftest import words_of

WORDS = Words("Set", Box.cube(0.0, 1.0, 2), ("a", "b"), ("", ""))


def scene(run, moves="cut", **view):
    run = dataclasses.replace(run, look=LandscapeLook(moves))
    return run.draw(View(surface=True, **view), rng=np.random.default_rng(0))


def layer(picture, name):
    return next(one for one in picture.layers if one.name == name)


@st.composite
def mixtures(draw):
    """Return up to eight Gaussians in [-1, 1]^2, also thin and turned ones."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k = draw(st.integers(1, 8))
    roots = rng.normal(0, 0.3, (k, 2, 2))
    covariances = roots @ roots.transpose(0, 2, 1) + 0.01 * np.eye(2)
    return Mixture(rng.dirichlet(np.ones(k)), rng.uniform(-1, 1, (k, 2)), covariances)


class MixtureRun:
    """What `Surface.of` needs of a run, of any mixture."""

    def __init__(self, mixture):
        self.tree, self.result = merge_tree(mixture), self
        self.release, self.mixture = self, mixture


@settings(max_examples=25, deadline=None)
@given(mixtures())
def test_heights_are_those_of_the_mixture(mixture):
    surface = layers.Surface.of(MixtureRun(mixture), project(View(), WORDS, np.empty((0, 2))))
    places = 2 * surface.at.reshape(-1, 2) - 1
    assert surface.f.ravel() == pytest.approx(-mixture.log_density(places), rel=1e-9, abs=1e-9)
    assert surface.low <= surface.f.min()
    wrong = -mixture.log_density(surface.at.reshape(-1, 2))
    assert not np.allclose(surface.f.ravel(), wrong), "box units for the mixture's would be noticed"
    box = surface.place(surface.at)
    assert (box[..., :2] == surface.at).all()
    share = (box[..., 2] - 0.5 + layers.TALL / 2) / layers.TALL
    expected = np.minimum(surface.f, surface.cut)
    assert surface.cut - share * (surface.cut - surface.low) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(mixtures())
def test_every_minimum_and_pass_stands_under_the_cut_unless_it_is_out_of_reach(mixture):
    run = MixtureRun(mixture)
    surface, landscape = layers.Surface.of(run, project(View(), WORDS, np.empty((0, 2)))), run.tree.landscape
    events = -np.array([*landscape.log_densities, *(each.log_density for each in landscape.transitions)])
    assert surface.low == pytest.approx(events.min(), abs=1e-6)
    highest = events.max() - surface.low
    assert surface.cut - surface.low == pytest.approx(np.clip(layers.HEADROOM * highest, layers.LEAST, layers.MOST))
    if layers.HEADROOM * highest < layers.MOST:
        assert (events < surface.cut).all()


@pytest.mark.parametrize("angles", [(30.0, 50.0), (-170.0, -80.0), (0.0, 90.0)])
def test_near_faces_come_after_far_ones_with_the_color_of_their_basin(angles):
    run = tell()
    picture = scene(run, yaw=angles[0], pitch=angles[1])
    mesh = layer(picture, layers.NAME)
    assert picture.solid == angles
    depth = mesh.arrays["xy_depth"][0, :, :4, 0].mean(axis=1)
    assert (np.diff(depth) >= 0).all()
    assert np.ptp(depth) > 0.1
    # Turned back, each face is over a cell of the landscape's grid, and wears its basin's color at each cut.
    yaw, pitch = np.deg2rad(angles)
    axes = np.array([
        [np.cos(yaw), np.sin(yaw), 0.0],
        [-np.sin(yaw) * np.sin(pitch), np.cos(yaw) * np.sin(pitch), np.cos(pitch)],
        [np.sin(yaw) * np.cos(pitch), -np.cos(yaw) * np.cos(pitch), np.sin(pitch)],
    ])  # fmt: skip
    faces = np.concatenate([mesh.arrays["xy"], mesh.arrays["xy_depth"]], axis=-1)[0, :, :4].mean(axis=1)
    box = (faces - 0.5) @ axes + 0.5
    column, row = (box[:, :2] * land.LABELLED).astype(int).T
    assert (mesh.arrays["group"] == run.cut_colors[:, run.regions.cells[row, column]]).all()
    assert len(mesh.arrays["group"]) == len(picture.frames) == run.n_cuts


def test_marks_stand_on_the_surface():
    run = tell()
    picture = scene(run, yaw=0.0, pitch=0.0)  # from the side: up is the height alone
    surface = layers.Surface.of(run, project(View(), words_of(2), run.unit))
    landscape = run.tree.landscape
    share = (surface.cut + landscape.log_densities) / (surface.cut - surface.low)
    peaks = layer(picture, "hilltop").arrays["xy"][0, :, 1]
    assert peaks == pytest.approx(0.5 + layers.TALL * (share - 0.5), abs=1e-9)
    ticks = next(one for one in picture.layers if one.name == layers.EDGE and one.kind is Kind.SEGMENTS)
    values = [float(name.rpartition("= ")[2].replace("−", "-")) for name in ticks.names]
    assert np.diff(values) == pytest.approx(1.0)
    slope = layers.TALL / (surface.cut - surface.low)
    expected = [0.5 + layers.TALL / 2 - slope * (-surface.low - value) for value in values]
    assert ticks.arrays["ends"][0, :, 1] == pytest.approx(expected, abs=1e-9)
    assert max(expected) > 0.5 + layers.TALL / 2 - slope, "the topmost whole number has one"
    flat = run.draw(View(), rng=np.random.default_rng(0))
    for name in ("hilltop", "pass"):
        marks = [[(one.names, one.pick) for one in each.layers if one.name == name] for each in (picture, flat)]
        assert marks[0] == marks[1], "with the labels of the flat picture"


def test_a_level_colors_what_is_denser():
    run = tell()
    stops = run.levels
    groups = layer(scene(run, "level"), layers.NAME).arrays["group"]
    bare = (groups == NO_GROUP).sum(axis=1)
    assert (np.diff(bare) <= 0).all()
    assert len(groups) == len(stops)
    assert bare[0] > bare[-1]


@pytest.mark.parametrize("moves", MOVES)
@pytest.mark.parametrize(("d", "view"), [(2, {}), (4, {}), (4, {"x": 3, "y": 1}), (4, {"principal": True})])
def test_the_public_surface_follows_from_the_release(d, view, moves):
    run = tell(d)
    here, there = scene(run, moves, **view), scene(other_world(run, 77), moves, **view)
    assert pack(here.public()) == pack(there.public())
    if "principal" in view:
        assert pack(here) != pack(there)
        assert here.public().layers == ()
    else:
        assert pack(here) == pack(there), "nothing in it is exact"
        assert {one.audience for one in here.layers} <= {Audience.RELEASED, Audience.PUBLIC}
    for one in here.layers:
        assert any(name.endswith("_depth") for name in one.arrays), "all of it turns"


@pytest.mark.parametrize("moves", MOVES)
@pytest.mark.parametrize(
    "options",
    [
        {"n": 0},
        {"n_components": 1},
        {"n_components": 2, "epsilon": 1e-6},
        {"d": 1},
        {"d": 12, "epsilon": 20.0, "n": 3000},
        {"epsilon": float("inf"), "n_components": 30},
    ],
    ids=str,
)
def test_degenerate_runs_have_a_surface(moves, options):
    run = tell(**options)
    picture = scene(run, moves)
    pack(picture)
    assert (picture.solid is None) == (options.get("d") == 1), "a single feature has none"
    for one in picture.layers:
        assert one.rows.shape == (len(picture.frames),)
        assert all(np.isfinite(array).any() for array in one.arrays.values() if one.kind is not Kind.TRAILS)
    assert "nan" not in picture.caption


def test_an_export_hides_what_is_behind():
    run = tell()
    picture = scene(run)
    mesh = layer(picture, layers.NAME)
    text = svg((picture,), hidden=[one.name for one in picture.layers if one is not mesh])
    assert text.count("<path") >= mesh.arrays["xy"].shape[1], "each face alone, from far to near"
