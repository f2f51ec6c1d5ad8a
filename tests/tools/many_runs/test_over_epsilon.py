import dataclasses

import numpy as np
import pytest

from dpviz.core import Box
from dpviz.methods.convergent_kmeans import algorithm
from dpviz.metrics import nonprivate_cost
from dpviz.plots import Kind
from dpviz.solvers import assign, lloyd, nonprivate_kmeans
from dpviz.stories import View, Words
from dpviz.stories.ground_layers import MOST_DRAWN
from dpviz.tools.many_runs import runs as over_epsilon

STOPS = (0.1, 1.0, 3.0)
BOX = Box((0.0, 10.0), (4.0, 12.0))
WORDS = Words("Set", BOX, ("a", "b"), ("", "m"))


def records(n=300):
    rng = np.random.default_rng(1)
    homes = np.array([[0.2, 0.2], [0.8, 0.3], [0.5, 0.8]])
    return BOX.from_unit(np.clip(homes[rng.integers(0, 3, n)] + rng.normal(0, 0.05, (n, 2)), 0, 1))


def given(epsilon):
    params = algorithm.Params(n_clusters=3, epsilon=epsilon, start_seed=4)
    return tuple((field.name, getattr(params, field.name)) for field in dataclasses.fields(params))


def states(points, seed=7):
    return [over_epsilon.state_at(points, BOX, "convergent_kmeans", given(at), at, seed, len(STOPS)) for at in STOPS]


def drawn(points, start=1.0, lloyds=None):
    return over_epsilon.epsilon_scene(states(points), BOX.to_unit(points), lloyds, WORDS, View(), start=start)


def layer(scene, name):
    return next(one for one in scene.layers if one.name == name)


def test_each_stop_is_the_run_with_the_same_seed():
    points = records()
    for at, one in zip(STOPS, states(points), strict=True):
        params = algorithm.Params(n_clusters=3, epsilon=at, start_seed=4)
        result = algorithm.fit(points, BOX, params, rng=np.random.default_rng(7))
        unit, centers = BOX.to_unit(points), BOX.to_unit(result.release.centers)
        assert np.array_equal(one.centers, centers)
        nearest = np.square(unit[:, None] - centers).sum(axis=2).argmin(axis=1)
        assert np.array_equal(one.nonprivate_labels, nearest)
        assert one.nonprivate_cost == pytest.approx(np.square(unit - centers[nearest]).sum(), rel=1e-12)
        assert one.nonprivate_cost == pytest.approx(nonprivate_cost(unit, centers, assign(unit, centers)))


def test_lloyd_starts_where_the_runs_start():
    points = records()
    centers, cost = over_epsilon.lloyd_reference(points, BOX, "convergent_kmeans", given(1.0), 7)
    params = algorithm.Params(n_clusters=3, start_seed=4)
    first = algorithm.start_centers(points, BOX, params, rng=np.random.default_rng(0))
    wanted = lloyd(BOX.to_unit(points), first)
    assert np.array_equal(centers, wanted.nonprivate_centers)
    least = nonprivate_kmeans(BOX.to_unit(points), 3).nonprivate_costs[-1]
    assert cost == min(wanted.nonprivate_costs[-1], least)


def test_coordinates_travel_once_and_a_state_has_only_what_differs():
    scene = drawn(records())
    points = layer(scene, "person")
    assert points.arrays["xy"].shape == (1, 300, 2)
    assert points.arrays["group"].shape == (3, 300)
    assert points.arrays["group"].dtype == np.uint8
    assert [frame.label for frame in scene.frames] == ["ε = 0.1", "ε = 1", "ε = 3"]
    for frame, one in enumerate(states(records())):
        at = layer(scene, "center at this ε")
        assert np.array_equal(at.arrays["xy"][at.rows[frame]], one.centers)
        assert np.array_equal(points.arrays["group"][points.rows[frame]], one.nonprivate_labels)


def test_of_many_records_ten_thousand_are_drawn_and_all_are_computed_on():
    scene = drawn(records(40_000))
    assert layer(scene, "person").arrays["group"].shape == (3, MOST_DRAWN)
    assert scene.words.endswith("Drawing 10,000 of 40,000 points.")
    assert states(records(40_000))[0].nonprivate_cost > 3 * states(records(10_000))[0].nonprivate_cost


@pytest.mark.parametrize(("start", "frame"), [(0.01, 0), (0.9, 1), (2.0, 2), (99.0, 2), (0.0, 0)])
def test_it_begins_at_the_nearest_stop(start, frame):
    assert drawn(records(), start=start).start_frame == frame


def test_everything_is_the_curator_s():
    scene = drawn(records(), lloyds=np.full((3, 2), 0.5))
    for made in (scene, over_epsilon.cost_chart(states(records()), 1.0)):
        assert not made.public().layers


def test_the_chart_follows_the_stops_also_without_a_cost():
    found = states(records())
    chart = over_epsilon.cost_chart(found, 2.0)
    curve = layer(chart, "Cost").arrays["xy"][0, 0]
    low, high = chart.x.values
    assert 10 ** (low + curve[:, 0] * (high - low)) == pytest.approx(STOPS)
    assert 10 ** curve[:, 1] == pytest.approx([max(one.nonprivate_cost / 2.0, 1.0) for one in found])
    (cursor,) = (one for one in chart.layers if one.kind is Kind.CURSOR)
    assert cursor.arrays["x"][cursor.rows] == pytest.approx(curve[:, 0])
    assert chart.frames == drawn(records()).frames
    curve = layer(over_epsilon.cost_chart(states(records()), 0.0), "Cost").arrays["xy"]
    assert np.isfinite(curve).all()


@pytest.mark.parametrize("order", [(0,), (1, 0), (0, 0)])
def test_stops_must_grow(order):
    found = states(records())
    with pytest.raises(ValueError, match="at least two stops that grow"):
        over_epsilon.cost_chart([found[i] for i in order], 1.0)
