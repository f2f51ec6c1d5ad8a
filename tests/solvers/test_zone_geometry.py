"""Places of zones, directions of their draws, and the motion of a draw with epsilon."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.solvers import draw_in_zone, past_controller, sample_in_zone

DIMENSIONS = (1, 2, 3, 5, 20)
EPSILONS = (0.0, 1e-9, 0.05, 0.5, 1.0, 10.0, 300.0, 1e6, math.inf)


def zones(k, d, seed=0):
    """Return k random zones: mean, controller, lam."""
    rng = np.random.default_rng(seed)
    return rng.random((k, d)), rng.random((k, d)), rng.uniform(0.5, 1.0, k)


def span(a, b):
    return np.linalg.norm(a - b, axis=1)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("d", DIMENSIONS)
def test_draws_stay_in_their_zone(d, epsilon):
    mean, controller, lam = zones(2000, d)
    drawn = draw_in_zone(mean, controller, lam, epsilon, rng=np.random.default_rng(1))
    length = span(controller, mean)
    center = mean + lam[:, None] * (controller - mean)
    assert (span(drawn.points, center) <= (1 - lam) * length + 1e-14).all()
    # The zone lies inside ball(S, |X - S|) and never holds S.
    assert (span(drawn.points, mean) <= length + 1e-14).all()
    assert (span(drawn.points, mean) >= (2 * lam - 1) * length - 1e-14).all()
    assert (span(drawn.points, mean) > 0).all()
    # delta and alpha match their definitions.
    np.testing.assert_allclose(drawn.reach, span(drawn.points, mean) / length, rtol=1e-9)
    cosine = ((drawn.points - mean) * (controller - mean)).sum(axis=1) / (span(drawn.points, mean) * length)
    np.testing.assert_allclose(np.cos(drawn.angle), cosine, atol=1e-9)
    assert (drawn.angle >= 0).all()


@pytest.mark.parametrize("d", DIMENSIONS)
def test_without_noise_a_draw_is_the_nearest_point_to_the_mean(d):
    mean, controller, lam = zones(500, d)
    nearest = mean + (2 * lam - 1)[:, None] * (controller - mean)
    points = sample_in_zone(mean, controller, lam, math.inf, rng=np.random.default_rng(0))
    np.testing.assert_allclose(points, nearest, atol=1e-15)
    almost = sample_in_zone(mean, controller, lam, 1e12, rng=np.random.default_rng(0))
    np.testing.assert_allclose(almost, nearest, atol=1e-5)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_draw_is_continuous_in_epsilon(d):
    mean, controller, lam = zones(500, d)

    def draw(epsilon):
        return sample_in_zone(mean, controller, lam, epsilon, rng=np.random.default_rng(5))

    for epsilon in np.geomspace(1e-6, 1e4, 21):
        # Log epsilon moves by 1e-7; a draw that jumped would move by about a zone's size, 0.1.
        assert np.abs(draw(epsilon * (1 + 1e-7)) - draw(epsilon)).max() < 1e-5
    assert np.abs(draw(1e-12) - draw(0.0)).max() < 1e-10


@pytest.mark.parametrize("d", DIMENSIONS)
def test_epsilon_does_not_move_the_generator(d):
    mean, controller, lam = zones(7, d)
    states = []
    for epsilon in EPSILONS:
        rng = np.random.default_rng(3)
        sample_in_zone(mean, controller, lam, epsilon, rng=rng)
        states.append(rng.bit_generator.state)
    assert all(state == states[0] for state in states)


@pytest.mark.parametrize("epsilon", [0.0, 1.0, math.inf])
@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_zone_of_no_size_stays_at_its_mean(d, epsilon):
    mean, controller, lam = zones(6, d)
    controller[::2] = mean[::2]
    points = sample_in_zone(mean, controller, lam, epsilon, rng=np.random.default_rng(0))
    assert (points[::2] == mean[::2]).all()
    assert (points[1::2] != mean[1::2]).any(axis=1).all()
    assert np.isfinite(points).all()


@pytest.mark.parametrize("lam", [0.5, 1.0])
def test_the_ends_of_lambda_are_allowed(lam):
    mean, controller, _ = zones(200, 2)
    points = sample_in_zone(mean, controller, lam, 1.0, rng=np.random.default_rng(0))
    center = mean + lam * (controller - mean)
    assert (span(points, center) <= (1 - lam) * span(controller, mean) + 1e-14).all()


@pytest.mark.parametrize(
    ("lam", "epsilon", "words"),
    [(0.4, 1.0, "lam"), (1.1, 1.0, "lam"), (math.nan, 1.0, "lam"), (0.7, -1.0, "epsilon"), (0.7, math.nan, "epsilon")],
)
def test_what_is_no_zone_is_refused(lam, epsilon, words):
    mean, controller, _ = zones(3, 2)
    with pytest.raises(ValueError, match=words):
        sample_in_zone(mean, controller, lam, epsilon, rng=np.random.default_rng(0))


def test_no_zones_give_no_points():
    assert sample_in_zone(np.empty((0, 2)), np.empty((0, 2)), 0.7, 1.0, rng=np.random.default_rng(0)).shape == (0, 2)


@given(st.integers(2, 20), st.floats(0, math.pi / 2), st.integers(0, 1000))
def test_the_past_controller_is_a_rotation(d, gamma, seed):
    rng = np.random.default_rng(seed)
    mean, previous = rng.random((4, d)), rng.random((4, d))
    far = 2 * mean - previous
    controller = past_controller(mean, far, np.full(4, gamma), rng.standard_normal((4, d)))
    np.testing.assert_allclose(span(controller, mean), span(mean, previous), rtol=1e-12)
    cosine = ((controller - mean) * (far - mean)).sum(axis=1) / span(mean, previous) ** 2
    np.testing.assert_allclose(cosine, math.cos(gamma), atol=1e-12)


def test_on_a_line_there_is_nothing_to_rotate():
    mean, far = np.array([[0.2], [0.5]]), np.array([[0.9], [0.5]])
    assert (past_controller(mean, far, np.array([1.0, 1.0]), np.ones((2, 1))) == far).all()


def complement(axis):
    """Return an orthonormal basis (d - 1, d) of the space orthogonal to `axis`."""
    return np.linalg.svd(axis[None])[2][1:]


def off_axis(d, n, draw):
    """Return the points where `n` draws leave one axis, as unit vectors (n, d - 1) of its complement."""
    axis = np.random.default_rng(9).standard_normal(d)
    axis /= np.linalg.norm(axis)
    mean, controller = np.full((n, d), 0.3), np.full((n, d), 0.3) + 0.7 * axis
    moved = (draw(mean, controller) - mean) @ complement(axis).T
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)


def sphere_errors(directions):
    """Return the first two moments' errors against the uniform law on the sphere, in standard errors."""
    n, m = directions.shape
    first = np.abs(directions.mean(axis=0)) / math.sqrt(1 / m / n)  # E v_i^2 = 1/m
    products = directions.T @ directions / n
    fourth = 3 / (m * (m + 2))  # E v_i^4; E v_i^2 v_j^2 is a third of it
    deviation = np.where(np.eye(m) > 0, fourth - 1 / m**2, fourth / 3)
    second = np.abs(products - np.eye(m) / m) / np.sqrt(np.maximum(deviation, 1e-300) / n)
    return max(first.max(), second.max() if m > 1 else 0.0)


def drawn(mean, controller):
    return sample_in_zone(mean, controller, 0.6, 1.0, rng=np.random.default_rng(4))


def turned(mean, controller):
    rng = np.random.default_rng(4)
    return past_controller(mean, controller, np.full(len(mean), 1.0), rng.standard_normal(mean.shape))


def one_sided(mean, controller):
    """Turn by vectors of positive coordinates only."""
    rng = np.random.default_rng(4)
    return past_controller(mean, controller, np.full(len(mean), 1.0), rng.random(mean.shape))


@pytest.mark.parametrize("d", [2, 3, 5, 20])
def test_every_direction_off_the_axis_is_alike(d):
    assert sphere_errors(off_axis(d, 20_000, drawn)) < 6
    assert sphere_errors(off_axis(d, 20_000, turned)) < 6
    assert sphere_errors(off_axis(d, 20_000, one_sided)) > 6
