"""Clipping and its counts, and random projections with their distribution."""

import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.baselines import CATALOGUE
from dpviz.core import Box
from dpviz.data import Dataset, RandomProjection, TableError, load, read_table
from dpviz.data.transforms import LEAST_WEIGHT, clipping, map_weights, why_scaled

TEXT = "x,y,name\n1,10,b\n2,,a\n3,30,\n4,50,b\n"


def table(text=TEXT):
    return read_table(io.BytesIO(text.encode()))


def test_clipping_is_what_the_data_set_does():
    box = Box([1.5, 0.0], [3.0, 20.0])
    done = table().clipping(["x", "y"], box, missing="drop")
    assert done.nonprivate_n_moved == table().dataset(["x", "y"], box=box, missing="drop").nonprivate_n_clipped == 3
    assert done.nonprivate_below.tolist() == [1, 0]
    assert done.nonprivate_above.tolist() == [1, 2]
    np.testing.assert_array_equal(done.nonprivate_farthest, [1, 30])


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=6))
def test_clipping_of_any_numbers_counts_each_once(values):
    done = clipping(np.array(values).reshape(-1, 1), Box.cube(-1.0, 2.0, 1))
    assert done.nonprivate_below.tolist() == [sum(value < -1 for value in values)]
    assert done.nonprivate_above.tolist() == [sum(value > 2 for value in values)]
    assert done.nonprivate_n_moved == sum(not -1 <= value <= 2 for value in values)
    assert done.nonprivate_farthest[0] == max([0.0, *(max(-1 - value, value - 2) for value in values)])


def test_missing_values_go_to_the_middle_of_public_bounds():
    box = Box([0.0, 0.0], [10.0, 100.0])
    filled = table().dataset(["x", "y"], box=box, missing="middle")
    np.testing.assert_array_equal(filled.points, [[1, 10], [2, 50], [3, 30], [4, 50]])
    # Other records do not matter: each row is filled only from the bounds.
    more = table(TEXT + "9,99,c\n").dataset(["x", "y"], box=box, missing="middle")
    np.testing.assert_array_equal(more.points[:4], filled.points)
    labeled = table().dataset(["x", "y"], "name", box, "middle")
    np.testing.assert_array_equal(labeled.points[:, 0], [1, 2, 4])
    read = table("x,y\n1,nan\n2,inf\n")
    assert read.dataset(["x", "y"], box=Box.cube(0, 4, 2), missing="middle").points[:, 1].tolist() == [2, 2]


def test_scaling_maps_the_bounds_to_0_and_1_and_leads_back():
    box = Box([0.0, 0.0], [4.0, 100.0])
    dataset = table().dataset(["x", "y"], box=box, missing="drop", scaling="unit", units=("m", "kg"))
    assert dataset.box == Box.cube(0.0, 1.0, 2)
    np.testing.assert_allclose(dataset.points, [[0.25, 0.1], [0.75, 0.3], [1.0, 0.5]])
    assert dataset.units == ("", "")
    wide = table("x\n-1e308\n1e308\n").dataset(["x"], box=Box([-8e307], [8e307]), scaling="unit")
    np.testing.assert_array_equal(wide.points, [[0.0], [1.0]])
    box = Box([0.0, -50.0], [4.0, 100.0])
    dataset = table().dataset(["x", "y"], box=box, missing="drop", scaling="unit", units=("m", "kg"))
    plain = table().dataset(["x", "y"], box=box, missing="drop", units=("m", "kg"))
    np.testing.assert_allclose(dataset.scale.back(dataset.points), plain.points, rtol=1e-15)
    assert (dataset.scale.before, dataset.scale.walls, dataset.scale.units) == (box, box, ("m", "kg"))
    assert "so all have the same weight" in dataset.note
    assert plain.scale is None


MAP = Box([48.0, 11.0, 18.0, 0.0], [48.2, 11.3, 98.0, 50_000.0])
PLACED = {"place": ("lat", "lon"), "scaling": "unit", "units": ("", "", "years", "€")}
EARTH = "lat,lon,age,income\n48.1,11.1,30,20000\n48.19,11.29,60,45000\n48.01,11.02,18,0\n48.1,11.15,98,50000\n"


def on_earth(per_kilometer, box=MAP):
    columns = ["lat", "lon", "age", "income"]
    return table(EARTH).dataset(columns, box=box, per_kilometer=per_kilometer, **PLACED)


@given(st.floats(0.5, 50.0), st.floats(200.0, 1e5))
def test_as_many_years_as_were_asked_for_are_as_far_as_a_kilometer(years, euros):
    """Only rounding separates the two lengths: a few steps of doubles at 1, through some ten operations."""
    made = on_earth((None, None, years, euros))
    assert made.box == Box.cube(0.0, 1.0, 4)
    start = made.scale.before.low + made.scale.before.widths / 2.0
    one = made.scale.places(start[None])[0]
    for feature, amount in ((0, 1000.0), (1, 1000.0), (2, years), (3, euros)):
        there = start.copy()
        # Stay inside the bounds.
        there[feature] += amount * 1e-3
        moved = np.abs(made.scale.places(there[None])[0] - one)
        expected = 1e-3 * made.scale.weights[0] / (made.scale.before.widths[0] / 1000.0)
        assert moved[feature] == pytest.approx(expected, rel=1e-9, abs=4e-16)
        assert np.delete(moved, feature).max() == 0.0
    np.testing.assert_allclose(made.scale.back(made.points)[:, 2], [30, 60, 18, 98], rtol=1e-9)
    wrong = on_earth((None, None, 2.0 * years, euros))
    ratio = wrong.scale.weights[2] / wrong.scale.weights[0] / (made.scale.weights[2] / made.scale.weights[0])
    assert ratio == pytest.approx(0.5)


def test_weights_follow_from_public_inputs_alone():
    assert on_earth(()).scale.weights.tolist() == [1.0] * 4
    assert on_earth((None, None, None, None)).scale.weights.tolist() == [1.0] * 4
    heavy = on_earth((None, None, 0.5, None))
    assert heavy.scale.weights[2] == 1.0
    assert heavy.scale.weights[0] == heavy.scale.weights[1] == heavy.scale.weights[3] < 0.2
    assert "One kilometer weighs as much as 0.5 years or" in heavy.note
    other = table("lat,lon,age,income\n48.1,11.1,19,3\n").dataset(
        ["lat", "lon", "age", "income"], box=MAP, per_kilometer=(None, None, 2.0, None), **PLACED
    )
    made = on_earth((None, None, 2.0, None))
    assert other.scale.before == made.scale.before
    assert other.scale.weights.tolist() == made.scale.weights.tolist()
    assert other.box == made.box
    weights = map_weights(np.array([2e4, 2e4, 100.0]), (0, 1), (None, None, 10.0))
    np.testing.assert_allclose(weights, [1.0, 1.0, 0.5])
    np.testing.assert_allclose(map_weights(np.array([2e4, 2e4, 100.0]), (0, 1), (7.0, None, 1.0)), [0.2, 0.2, 1.0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"per_kilometer": (None, None, 0.0, None)}, "must be a number above 0, got '0.0'"),
        ({"per_kilometer": (None, None, float("nan"), None)}, "got 'nan'"),
        ({"per_kilometer": (None, None, 1e9, None)}, f"at least {LEAST_WEIGHT:g} is needed"),
        ({"per_kilometer": (None, 1.0)}, "or none, got 2"),
        ({"per_kilometer": (None, None, 1.0, None), "scaling": "none"}, "or none, got 4"),
        ({"per_kilometer": (None, None, 1.0, None), "place": None}, "or none, got 4"),
    ],
)
def test_amounts_that_weigh_nothing_are_refused_with_a_way_out(arguments, message):
    with pytest.raises(TableError, match=message):
        table(EARTH).dataset(["lat", "lon", "age", "income"], box=MAP, **{**PLACED, **arguments})


@pytest.mark.parametrize(
    ("bounds", "units", "on_map", "why"),
    [
        (((0, 120), (0, 1000)), (), False, ""),
        (((0, 100), (0, 1000)), (), False, ""),
        (((0, 100), (0, 1001)), (), False, "their ranges differ by a factor of 10"),
        (((0, 120), (0, 60_000)), ("years", ""), False, "their ranges differ by a factor of 500"),
        (((0, 1), (0, 2)), ("years", "€"), False, "their units differ (years, €)"),
        (((0, 1), (0, 2)), ("Years", "years "), False, ""),
        (((0, 1), (0, 2)), ("years", ""), False, ""),
        (((0, 120),), ("years",), True, "a map appears with other columns"),
        ((), (), True, ""),
        (((0, 120), None), (), False, ""),
        (((0, 120), None, (0, 1e6)), (), False, "their ranges differ by a factor of 8,333"),
        (((5, 1), (0, 1e6)), (), False, ""),
        (((-1e300, 1e300), (0, 1e-300)), (), False, "their ranges differ extremely"),
    ],
)
def test_scaling_is_decided_from_public_bounds_and_units(bounds, units, on_map, why):
    assert why_scaled(bounds, units, on_map=on_map) == why


def test_units_are_printable_and_some_bounds_from_the_data_mark_all():
    dataset = table().dataset(["x"], box=Box.cube(0, 9, 1), units=("c\x07m" + "x" * 99,))
    assert dataset.units == ("cm" + "x" * 10,)
    assert table().dataset(["x"], box=Box.cube(0, 9, 1)).units == ("",)
    dataset = table().dataset(["x"], box=Box.cube(0, 9, 1), bounds_from_data=True)
    assert dataset.bounds_from_data
    assert "not private" in dataset.bounds_note
    assert table().dataset(["x"], box=Box.cube(0, 9, 1)).bounds_note == "Typed by you."


D, P = 40, 6
BOX = Box(np.arange(D) - 100.0, np.arange(D) + np.linspace(1.0, 50.0, D))


def records(n, seed=0):
    return BOX.from_unit(np.random.default_rng(seed).random((n, D)))


def made(points, box=BOX):
    return Dataset(points, None, box, tuple(f"x{i}" for i in range(box.d)), "wide", nonprivate_n_clipped=2)


def test_records_become_orthonormal_mixes_inside_a_box_that_knows_no_record():
    corners = np.where(np.random.default_rng(1).random((500, D)) < 0.5, BOX.low, BOX.high)
    found = made(corners).projected(P, seed=3)
    axes, reach = found.projection.axes, found.box.high
    np.testing.assert_allclose(axes @ axes.T, np.eye(P), atol=1e-12)
    mixes = (2.0 * BOX.to_unit(corners) - 1.0) @ axes.T
    np.testing.assert_allclose(found.points, np.clip(mixes, -reach, reach), atol=1e-12)
    assert (reach <= 3.0).all()
    assert found.nonprivate_n_clipped == 2 + (np.abs(mixes) > reach).any(axis=1).sum() > 2
    other = made(records(9)).projected(P, seed=3)
    assert other.box == found.box
    assert np.abs(made(corners).projected(P, seed=4).points - found.points).max() > 1.0
    assert (found.feature_names[0], found.units, found.projection.before) == ("projection 1", ("",) * P, BOX)
    assert found.note == "40 features became 6, projected at random with the public seed 3."
    # Nothing is cut off if the corners are near.
    few = RandomProjection.from_seed(Box.cube(0.0, 1.0, 3), 2, 0)
    np.testing.assert_array_equal(few.box.high, np.abs(few.axes).sum(axis=1))


def test_the_way_back_leads_to_a_place_that_projects_there():
    projection = RandomProjection.from_seed(BOX, P, 0)
    places = 0.2 * np.random.default_rng(0).standard_normal((50, P))
    back = projection.back(places)
    np.testing.assert_allclose(projection.places(back), places, atol=1e-12)
    middle = BOX.from_unit(np.full((1, D), 0.5))
    longer = BOX.to_unit(back - middle + BOX.low) @ (np.eye(D) - projection.axes.T @ projection.axes)
    np.testing.assert_allclose(longer, 0.0, atol=1e-12), "nothing that the projection does not see is added"
    far = projection.back(100.0 * places)
    assert ((far >= BOX.low) & (far <= BOX.high)).all()


def squared_lengths(axes_of, n_seeds=2_000):
    """Return |A u|^2 of one public u of length 1 for many seeds."""
    u = np.eye(D)[7]
    return np.array([float(((axes_of(seed) @ u) ** 2).sum()) for seed in range(n_seeds)])


def test_lengths_follow_the_law_of_random_subspaces():
    # |A u|^2 of a uniform p-dimensional subspace is Beta(p/2, (d-p)/2).
    mean, deviation = P / D, math.sqrt(2.0 * P * (D - P) / (D**2 * (D + 2)))
    found = squared_lengths(lambda seed: RandomProjection.from_seed(BOX, P, seed).axes)
    tolerance = 6.0 / math.sqrt(len(found))
    assert abs(found.mean() - mean) < tolerance * deviation
    # The fourth moment is close to a normal distribution's fourth moment.
    assert abs(found.std() / deviation - 1.0) < tolerance
    wrong = squared_lengths(lambda seed: np.random.default_rng(seed).permutation(np.eye(D))[:P])
    assert abs(wrong.std() / deviation - 1.0) > tolerance, "features that are only picked do not mix"


def test_distances_kept_are_those_of_pairs():
    points = records(101)
    projection = RandomProjection.from_seed(BOX, P, 0)
    u, y = 2.0 * BOX.to_unit(points) - 1.0, projection.box.clip(projection.places(points))
    wanted = [np.linalg.norm(y[i] - y[i + 50]) / np.linalg.norm(u[i] - u[i + 50]) for i in range(50)]
    np.testing.assert_allclose(projection.nonprivate_distance_ratios(points), np.array(wanted) * math.sqrt(D / P))
    assert projection.nonprivate_distance_ratios(np.vstack([points[:1]] * 2)).size == 0


def test_without_noise_a_method_is_k_means_on_the_projected_records():
    data = load("digits").projected(3, seed=1)
    private, plain = CATALOGUE["dplloyd"], CATALOGUE["lloyd"]
    asked = {"n_clusters": 10, "n_iterations": 6, "start_seed": 5}
    found = private.fit(data.points, data.box, private.Params(**asked, epsilon=math.inf), rng=np.random.default_rng(0))
    wanted = plain.fit(data.points, data.box, plain.Params(**asked), rng=np.random.default_rng(0))
    np.testing.assert_allclose(found.release.centers, wanted.release.centers, atol=1e-9)


@pytest.mark.parametrize(("n_features", "seed"), [(0, 0), (D, 0), (2.0, 0), (True, 0), (2, -1), (2, 10**7), (2, None)])
def test_what_is_no_projection_is_told_why(n_features, seed):
    with pytest.raises(TableError, match="must be a whole number"):
        made(records(3)).projected(n_features, seed=seed)


def test_a_share_of_a_file_keeps_each_row_by_its_own_values():
    rows = [f"{a!r},{b!r}" for a, b in np.random.default_rng(4).random((60, 2)).tolist()]

    def keep(rows):
        table = read_table(io.BytesIO("\n".join(("a,b", *rows)).encode()))
        return {
            f"{a!r},{b!r}" for a, b in table.dataset(("a", "b"), box=Box.cube(0.0, 1.0, 2), share=0.5).points.tolist()
        }

    kept = keep(rows)
    assert 15 < len(kept) < 45
    assert keep(rows[::-1]) == kept
    for i, row in enumerate(rows):
        assert keep([*rows[:i], *rows[i + 1 :]]) == kept - {row}
