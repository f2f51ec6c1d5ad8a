"""nD-Laplace's picture: the public view follows from the release, and every ring and bar has its stated length."""

import dataclasses
import math

import numpy as np
import pytest

from dpviz.core import Box
from dpviz.mechanisms import nd_laplace_noise, radius_quantile
from dpviz.methods.nd_laplace import algorithm
from dpviz.methods.nd_laplace import attacks as laplace_attacks
from dpviz.methods.nd_laplace.layers import MOST_THREADS, N_FULL, THREAD, outlines, thread_opacity, threaded
from dpviz.methods.nd_laplace.run import NDLaplaceRun, PointsLook, has_one_unit
from dpviz.plots import pack
from dpviz.stories import View, Words, center_facts
from dpviz.stories.ground_layers import MOST_DRAWN
from tests.stories.conftest import records_of, words_of
from tests.stories.test_public_replay import worlds

DOMAINS = ("none", "clamp", "redraw", "remap")
RADIUS = 1.5


def tell(d=2, n=200, *, domain="none", unit="data", level=2.0, seed=0, words=None, record=3):
    words = words or words_of(d)
    params = algorithm.Params(epsilon=level / RADIUS, domain=domain, unit=unit)
    points = words.box.clip(records_of(d, n, seed))
    result = algorithm.fit(points, words.box, params, rng=np.random.default_rng(seed))
    run = NDLaplaceRun.from_result(result, params, points, words)
    look = PointsLook.from_params(words.units, params, RADIUS)
    return dataclasses.replace(run, look=dataclasses.replace(look, record=record))


def draw(run, view=None):
    return run.draw_scene(view or View())


def test_the_attackers_pictures_follow_from_the_release_but_for_the_true_place():
    run, changed = worlds("nd_laplace")
    found = [laplace_attacks.posterior_of(world) for world in (run, changed)]
    scenes = [laplace_attacks.posterior_scene(world, each) for world, each in zip((run, changed), found, strict=True)]
    assert pack(scenes[0].public()) == pack(scenes[1].public())
    assert {layer.name for layer in scenes[0].layers} - {layer.name for layer in scenes[0].public().layers} == {
        "Where it is"
    }


def test_the_public_sees_released_points_walls_and_scale_only():
    names = {layer.name for layer in draw(tell()).public().layers}
    scale = "Scale: 1.5 m (the distance ε is for)"
    assert names == {"public bounds", scale, "Density of sent points", "sent point", "what they send"}


def test_rings_hold_the_share_of_releases_that_they_say():
    run = tell(level=3.0)
    law = nd_laplace_noise(20_000, 2, epsilon=run.params.epsilon, rng=np.random.default_rng(1)).radius
    for level, radius in zip(run.area.levels, run.area.radii, strict=True):
        error = math.sqrt(level * (1 - level) / len(law))
        assert abs((law <= radius).mean() - level) < 6 * error
        # One of three features.
        wrong = radius_quantile(level, 3, epsilon=run.params.epsilon)
        assert abs((law <= wrong).mean() - level) > 6 * error


@pytest.mark.parametrize("unit", ["data", "range"])
def test_the_expected_move_and_its_band_are_those_of_many_moves(unit):
    """Six standard errors: 8 in 10 moves are in the band. The law of three features is refused."""
    run = tell(2, 20_000, unit=unit, level=3.0)
    times, expected = 100.0 if unit == "range" else 1.0, run.losses()[1]
    moves = times * run.step.radius
    low, middle, high = {row[0]: row[1:] for row in expected.law}[1.0]
    error = 6.0 * math.sqrt(0.16 / len(moves))
    assert abs(((low <= moves) & (moves <= high)).mean() - 0.8) < error
    wrong = times * radius_quantile(np.array(center_facts.BAND), 3, epsilon=run.params.epsilon)
    assert abs(((wrong[0] <= moves) & (moves <= wrong[1])).mean() - 0.8) > error
    assert middle == pytest.approx(expected.value, rel=1e-3)
    assert abs(moves.mean() - expected.value) < 6.0 * moves.std() / math.sqrt(len(moves))


@pytest.mark.parametrize("unit", ["data", "range"])
@pytest.mark.parametrize("view", [View(), View(2, 0), View(0, 1, z=2, yaw=40.0, pitch=35.0)])
def test_an_outline_is_the_picture_of_a_ball(unit, view):
    """No point of the ball is outside of its outline, and each of the outline's vertices is reached."""
    run = tell(3, unit=unit)
    plane = run.plane(view)
    (ring,) = outlines(np.zeros((1, 2)), np.array([RADIUS]), run.scales, plane)
    sphere = nd_laplace_noise(40_000, 3, epsilon=1.0, rng=np.random.default_rng(2)).direction
    drawn = RADIUS * sphere * run.scales @ plane.matrix
    turns = np.linspace(0.0, 2.0 * np.pi, 40)
    ways = np.column_stack([np.cos(turns), np.sin(turns)])
    reach, outline = (drawn @ ways.T).max(axis=0), (ring @ ways.T).max(axis=0)
    assert (reach <= outline * 1.002).all()  # 97 vertices are within 0.06 % of the curve
    assert (reach >= 0.99 * outline).all()


def test_the_scale_bar_is_as_long_as_the_radius_and_a_map_keeps_lengths():
    box = Box([0.0, 0.0], [8.0, 4.0])
    words = Words("map", box, ("east", "north"), ("m", "m"))
    run = tell(words=words)
    scene = draw(run)
    (bar,) = [layer for layer in scene.layers if layer.name.startswith("Scale")]
    x0, _, x1, _ = bar.arrays["ends"][0, 0]
    low, high = scene.x.values
    assert (x1 - x0) * (high - low) == pytest.approx(RADIUS)
    assert scene.x.values[1] - scene.x.values[0] == pytest.approx(scene.y.values[1] - scene.y.values[0])
    (mean,) = [layer for layer in scene.layers if layer.name.startswith("Perturbation area")]
    spans = np.ptp(mean.arrays["xy"][0, 0], axis=0) * (high - low)
    assert spans == pytest.approx([2 * run.area.mean_radius] * 2, rel=1e-3)


@pytest.mark.parametrize("domain", DOMAINS)
def test_moves_end_where_the_release_is(domain):
    run = tell(domain=domain, level=20.0)
    layers = {layer.name.split(" of ")[0]: layer for layer in draw(run).layers}
    plane, rows = run.plane(View()), threaded(run.n)
    assert len(rows) <= MOST_THREADS
    ends = layers["noise"].arrays["ends"]
    assert np.allclose(ends[1, :, 2:], plane.pinned(plane(run.released[rows])))
    assert np.allclose(ends[0, :, 2:], plane.pinned(plane(run.words.box.to_unit(run.step.before_domain[rows]))))
    assert np.allclose(ends[:, :, :2], plane(run.unit[rows]))
    frames = [frame.label for frame in draw(run).frames]
    middle = ["Before the box"] if domain in ("clamp", "remap") else []
    assert frames == ["Before", "Radius", "Direction", *middle, "Release"]


def test_epsilon_never_comes_without_its_distance():
    run = tell()
    for said in run.stage_words():
        assert "as from 1.5 m away" in said.guarantee
        assert "two places 1.5 m apart" in said.risk_label
    assert (run.measure.radius, run.measure.radius_words) == (RADIUS, "1.5 m")
    shares = tell(unit="range")
    assert "as from 150 % of the range away" in shares.stage_words()[1].guarantee


def test_features_of_different_units_have_no_common_distance():
    cube = Box.cube(0.0, 1.0, 2)
    assert has_one_unit(cube, ("m", "m"))
    assert has_one_unit(cube, ("", ""))
    assert not has_one_unit(cube, ("m", "s"))
    assert not has_one_unit(Box([0.0, 0.0], [1.0, 100.0]), ("", ""))


@pytest.mark.parametrize("n", [0, 1])
def test_hardly_any_records_have_a_picture(n):
    run = tell(n=n, record=0)
    assert draw(run).layers
    assert run.finding().curator
    assert run.utility()
    assert run.risk()
    assert [(chart.key, chart.scene) for chart in run.charts()]


def test_of_many_points_a_sample_is_drawn_and_said():
    run = tell(n=MOST_DRAWN + 500)
    drawn = draw(run)
    assert "Drawing 10,000 of 10,500 points." in drawn.words
    assert "Drawing 10,000 of 10,500 points." in drawn.public().words
    assert "Drawing" not in draw(tell()).words


def test_threads_fade_with_their_length_and_the_same_few_are_full():
    few, many = (draw(tell(n=n, level=level)) for n, level in ((300, 0.1), (MOST_THREADS + 400, 0.1)))
    for scene in (few, many):
        (threads,) = [layer for layer in scene.layers if layer.name == "noise"]
        assert threads.n_marks <= MOST_THREADS
        opacity = threads.arrays["alpha"]
        assert N_FULL / 2 <= (opacity[1] > THREAD).sum() <= N_FULL
    rng = np.random.default_rng(4)
    near, far = (np.concatenate([np.zeros((1, 90, 2)), size * rng.random((1, 90, 2))], axis=2) for size in (0.1, 4.0))
    of = [thread_opacity(ends)[0] for ends in (near, far)]
    assert (of[0] >= of[1]).all()
    assert np.array_equal(np.sort(np.argsort(of[0])[-18:]), np.sort(np.argsort(of[1])[-18:])), "whoever is followed"


def test_many_points_are_drawn_and_their_density_waits_in_the_menu():
    many = draw(tell(n=2_000))
    drawn = {layer.name: layer for layer in many.layers}
    assert all(drawn[name].shown for name in ("person", "sent point", "noise"))
    density = drawn["Density of sent points"]
    assert not density.shown
    assert density.name in {layer.name for layer in many.public().layers}
    # Blurring moves no mass and shifts no middle: squared cells weigh as the points do, up to a cell's width.
    values = density.arrays["value"][0, 0].astype(float) ** 2
    (x0, y0), (x1, y1) = density.arrays["center"][0, 0] + density.arrays["radius"][0, 0] * np.array([[-1], [1]])
    side = (x1 - x0) / values.shape[1]
    middles = np.arange(values.shape[0]) * side + y0 + side / 2
    xy = drawn["sent point"].arrays["xy"][0]
    kept = xy[((xy > [x0, y0]) & (xy < [x1, y1])).all(axis=1)]
    weighed = np.array([values.sum(axis=0) @ middles, values.sum(axis=1) @ middles]) / values.sum()
    np.testing.assert_allclose(weighed, kept.mean(axis=0), atol=side)
