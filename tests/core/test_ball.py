import numpy as np
import pytest

from dpviz.core import Ball, Box, unit_projected


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
    assert np.array_equal(unit_projected(inside), inside)  # to the bit
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
