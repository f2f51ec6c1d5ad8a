import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.core import Ball, Box, box_between, unit_projected

finite = st.floats(-1e6, 1e6)


@st.composite
def boxes_and_points(draw):
    d = draw(st.integers(1, 4))
    low = np.array(draw(st.lists(finite, min_size=d, max_size=d)))
    width = np.array(draw(st.lists(st.floats(1e-3, 1e6), min_size=d, max_size=d)))
    rows = draw(st.lists(st.lists(finite, min_size=d, max_size=d), max_size=5))
    width = np.maximum(width, 2.0**34 * np.spacing(np.abs(low)))
    return Box(low, low + width), np.array(rows).reshape(len(rows), d)


@given(boxes_and_points())
def test_clip_goes_to_the_nearest_place(drawn):
    box, points = drawn
    clipped = box.clip(points)
    assert (clipped >= box.low).all()
    assert (clipped <= box.high).all()
    inside = (points >= box.low) & (points <= box.high)
    assert (clipped[inside] == points[inside]).all()
    assert ((clipped == box.low) | (clipped == box.high) | inside).all()
    assert (box.clip(clipped) == clipped).all()


@given(boxes_and_points())
def test_units_are_inverse(drawn):
    box, points = drawn
    # Three roundings, of numbers no larger than the coordinates, the bounds and their width.
    size = np.abs(points) + np.abs(box.low) + np.abs(box.high)
    assert (np.abs(box.from_unit(box.to_unit(points)) - points) <= 8 * np.finfo(float).eps * size).all()
    unit = box.to_unit(box.clip(points))
    assert (unit >= 0).all()
    assert (unit <= 1).all()


@given(boxes_and_points())
def test_corners_are_zero_and_one(drawn):
    box, _ = drawn
    assert (box.to_unit(box.low[None]) == 0).all()
    assert (box.to_unit(box.high[None]) == 1).all()
    assert (box.from_unit(np.zeros((1, box.d))) == box.low).all()


def test_sizes():
    box = Box([0.0, -1.0], [3.0, 3.0])
    assert box.d == 2
    assert box.widths.tolist() == [3.0, 4.0]
    assert box.diagonal == 5.0
    assert Box.cube(-1, 2, 3) == Box([-1.0] * 3, [2.0] * 3)
    assert Box(0.0, 1.0).d == 1


def test_bounds_are_copied_and_read_only():
    low = np.zeros(2)
    box = Box(low, [1.0, 1.0])
    low[0] = 5.0
    assert box.low.tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        box.low[0] = 1.0
    with pytest.raises(AttributeError):
        box.low = low


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        ([0.0, 1.0], [1.0, 1.0], "axis 1, low must be .* got 1 to 1.*Widen"),
        ([0.0, 2.0], [1.0, 1.0], "axis 1, low must be .* got 2 to 1"),
        ([np.nan], [1.0], "axis 0, low must be .* got nan"),
        ([0.0], [np.nan], "to nan"),
        ([0.0], [np.inf], "to inf"),
        ([-np.inf], [0.0], "got -inf"),
        ([-1.7e308], [1.7e308], "axis 0"),
        ([0.0, 0.0], [1.0], "shape"),
        ([], [], "shape"),
        ([[0.0]], [[1.0]], "shape"),
    ],
)
def test_bounds_that_are_no_box(low, high, words):
    with pytest.raises(ValueError, match=words):
        Box(low, high)


def test_equal_boxes_share_a_hash():
    box = Box([0.0], [1.0])
    for equal in (Box([0.0], [1.0]), Box([-0.0], [1.0]), pickle.loads(pickle.dumps(box))):
        assert equal == box
        assert hash(equal) == hash(box)
    assert len({Box.cube(0, 1, 2), Box.cube(0, 1, 2), Box.cube(0, 1, 3), Box.cube(0, 2, 2)}) == 3
    assert Box([0.0], [1.0]) != "box"


@pytest.mark.parametrize(
    ("low", "high"),
    [(1.7e18, 1.7e18 + 1e7), (2.0**53, 2.0**53 + 16), (-1e9 - 1, -1e9), (0.0, 1e-320), (1.0, 1.0 + 1e-9)],
)
def test_a_box_in_which_rounding_moves_records_too_far_is_refused(low, high):
    with pytest.raises(ValueError, match=r"Box axis 1 must be at least .* wide, got .*Subtract one number"):
        Box([0.0, low], [1.0, high])


@pytest.mark.parametrize("low", [0.0, 1.0, -2000.0, 2.0**53, 1.7e18, -1e300])
def test_the_narrowest_box_that_will_do(low):
    apart = float(np.spacing(abs(low)))
    assert Box(low, low + 2.0**34 * apart).d == 1
    with pytest.raises(ValueError, match=r"must be at least .* wide, .* rounding"):
        Box(low, low + 2.0**32 * apart) if low else Box(0.5, 0.5 + 2.0**-25)


def test_the_ball_around_a_box_holds_its_corners_and_no_smaller_one_does():
    for d in (1, 2, 5):
        box = Box(np.arange(d) - 3.0, np.arange(d) * 2.0 + 1.0)
        ball = Ball.around(box)
        corners = np.stack([box.low, box.high])
        assert np.linalg.norm(corners - ball.center, axis=1) == pytest.approx(ball.radius)
        assert np.linalg.norm(ball.to_unit(corners), axis=1) == pytest.approx(0.5)


def test_projection_is_the_nearest_place_in_the_ball():
    rng = np.random.default_rng(0)
    ball, points = Ball([1.0, -2.0, 0.5], 2.0), 4 * rng.standard_normal((300, 3))
    moved = ball.project(points)
    distance = np.linalg.norm(points - ball.center, axis=1)
    assert np.linalg.norm(points - moved, axis=1) == pytest.approx(np.maximum(distance - 2.0, 0.0))
    assert np.linalg.norm(ball.to_unit(moved), axis=1).max() <= 0.5 + 1e-12
    assert ball.from_unit(ball.to_unit(points)) == pytest.approx(points)
    inside = ball.to_unit(points)[distance <= 2.0]
    # Equal to the bit.
    assert np.array_equal(unit_projected(inside), inside)
    assert unit_projected(np.empty((0, 3))).shape == (0, 3)


def test_equal_balls_share_a_cache_entry():
    assert Ball([0.0, -0.0], 1) == Ball([0.0, 0.0], 1.0)
    assert hash(Ball([0.0, -0.0], 1)) == hash(Ball([0.0, 0.0], 1.0))
    assert Ball([0.0], 1.0) != Ball([0.0], 2.0)
    assert Ball([0.0], 1.0) != "ball"


@pytest.mark.parametrize(("center", "radius"), [([np.nan], 1.0), ([0.0], 0.0), ([0.0], np.inf), ([[0.0]], 1.0)])
def test_a_ball_that_cannot_be_is_refused(center, radius):
    with pytest.raises(ValueError, match="ball"):
        Ball(center, radius)


@given(st.lists(st.floats(-100, 100), min_size=4, max_size=4, unique=True))
def test_bounds_of_two_axes_are_refused_where_they_can_be_read_in_two_ways(ends):
    a, b, c, e = ends
    try:
        boxes = {Box((a, b), (c, e)), Box((a, c), (b, e))}
    except ValueError:
        boxes = set()
    if len(boxes) == 2:
        with pytest.raises(ValueError, match="can be read in two ways") as refused:
            box_between([(a, b), (c, e)])
        assert all(f"low=({a:g}, {each:g})" in str(refused.value) for each in (b, c))
    elif a < c and b < e:
        assert box_between([(a, b), (c, e)]) == Box((a, b), (c, e))


def test_bounds_that_can_only_be_a_pair_for_each_axis_are_refused_with_the_right_ones():
    with pytest.raises(ValueError, match=r"from 0 to 10 and from 0 to 5 have \(\(0, 0\), \(10, 5\)\)"):
        box_between([(0, 10), (0, 5)])


def test_bounds_that_say_the_same_in_both_ways_are_taken():
    assert box_between([(0, 10), (10, 20)]) == Box((0, 10), (10, 20))
    assert box_between((0, 1), 3) == Box.cube(0, 1, 3)
    assert box_between([(0, 10, 1), (30, 120, 2)]).d == 3
    with pytest.raises(ValueError, match=r"bounds must be .*got of type list"):
        box_between([(0, 10), (30, 120), (1, 2)])
