"""Repeated releases: the mean's error exactly, the geometric median's towards its limit, the median against SciPy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from dpviz.attacks import (
    mean_error,
    median_error,
    reconstruct_mean,
    reconstruct_median,
    spent,
)
from dpviz.core import Budget, PointsRelease
from dpviz.solvers import geometric_median

COARSE = st.integers(-3, 3).map(float)  # repeated and collinear points come up often


def draws(n_sets, m, n, epsilon, seed):
    """Gamma radius times a uniform direction, from the specification and not from the package."""
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((n_sets, m, n))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    return rng.gamma(n, 1 / epsilon, size=(n_sets, m, 1)) * directions


def rms(estimates):
    """Root mean squared length and its standard error: |e|^2 has the error s / sqrt(R), its root half of that."""
    squares = (estimates**2).sum(axis=-1)
    root = math.sqrt(squares.mean())
    return root, squares.std() / math.sqrt(len(squares)) / (2 * root)


@pytest.mark.parametrize(("n", "m", "epsilon"), [(1, 1, 1.0), (2, 50, 1.0), (3, 7, 0.1), (10, 4, 2.0)])
def test_the_mean_has_the_error_of_its_formula_and_half_the_noise_is_noticed(n, m, epsilon):
    measured, error = rms(draws(8000, m, n, epsilon, seed=n).mean(axis=1))
    assert abs(measured - mean_error(epsilon, n, m)) < 6 * error
    assert abs(measured / 2 - mean_error(epsilon, n, m)) > 6 * error


def test_the_median_beats_the_mean_as_measured_for_the_specification():
    """n = 2, m = 50: .346 and .297, the latter to its last digit and six standard errors."""
    sets = draws(8000, 50, 2, 1.0, seed=5)
    measured, error = rms(geometric_median(sets))
    of_mean, _ = rms(sets.mean(axis=1))
    assert float(mean_error(1.0, 2, 50)) == pytest.approx(0.346, abs=5e-4)
    assert abs(measured - 0.297) < 5e-4 + 6 * error
    assert abs(of_mean - 0.297) > 5e-4 + 6 * error, "the mean must not pass for the median"
    assert measured > median_error(1.0, 2, 50) - 6 * error


@pytest.mark.parametrize("n", [2, 5])
def test_the_median_tends_to_its_limit(n):
    excess = []
    for m in (10, 400):
        measured, error = rms(geometric_median(draws(1500, m, n, 1.0, seed=m)))
        limit = float(median_error(1.0, n, m))
        assert measured > limit - 6 * error
        excess.append(measured / limit)
    assert excess[1] < excess[0]
    assert abs(excess[1] - 1) < 0.02 + 6 * error / limit  # a tail of order 1 / sqrt(400) times 5 % at m = 50


@given(arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(1, 3)), elements=COARSE), st.data())
def test_no_other_place_has_a_smaller_sum_of_distances(points, data):
    weights = data.draw(arrays(np.float64, len(points), elements=st.integers(0, 3).map(float)))
    if not weights.sum():
        weights = np.ones(len(points))

    def cost(place):
        return float(weights @ np.linalg.norm(points - place, axis=1))

    found = geometric_median(points, weights)
    best = minimize(cost, points.mean(axis=0), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    others = [best.fun, *(cost(place) for place in points)]
    assert cost(found) <= min(others) + 1e-7 * (1 + weights.sum())


@given(arrays(np.float64, (4, 6, 2), elements=st.floats(-100, 100)))
def test_sets_do_not_touch_each_other(sets):
    together = geometric_median(sets)
    for one, alone in zip(together, sets, strict=True):
        cost_one = np.linalg.norm(alone - one, axis=1).sum()
        cost_alone = np.linalg.norm(alone - geometric_median(alone), axis=1).sum()
        assert cost_one == pytest.approx(cost_alone, rel=1e-8, abs=1e-8)


def test_a_heavy_point_is_the_median_to_the_bit_even_from_a_start_on_another_point():
    # The mean is (0, 0), itself a point but not the median: Weiszfeld's own iteration divides by 0 there.
    points = np.array([[0.0, 0.0], [3.0, 0.0], [-1.0, 1.0], [-1.0, -1.0], [-1.0, 0.0]])
    moved = geometric_median(points, [0.1, 1.0, 1.0, 1.0, 1.0])
    assert moved[1] == pytest.approx(0.0, abs=1e-12)
    assert -1 < moved[0] < -0.1
    assert np.array_equal(geometric_median(points, [0.1, 0.8, 1.0, 1.0, 1.0]), [-1.0, 0.0])
    assert np.array_equal(geometric_median(points, [1.0, 9.0, 1.0, 1.0, 1.0]), [3.0, 0.0])
    assert np.array_equal(geometric_median(points, [0.0, 0.0, 0.0, 0.0, 5.0]), [-1.0, 0.0])


def test_a_triangle_has_its_fermat_point():
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(3) / 2]])
    np.testing.assert_allclose(geometric_median(corners), corners.mean(axis=0), atol=1e-9)
    skew = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]])
    pulls = skew - geometric_median(skew)
    pulls /= np.linalg.norm(pulls, axis=1, keepdims=True)
    np.testing.assert_allclose(pulls @ pulls.T, 1.5 * np.eye(3) - 0.5, atol=1e-7)  # 120 degrees between all


def test_releases_are_reconstructed_and_pay_each_time():
    rows = draws(1, 9, 3, 0.5, seed=0)[0]
    release = PointsRelease(rows)
    assert np.array_equal(reconstruct_mean(release), rows.mean(axis=0))
    assert np.array_equal(reconstruct_median(release), geometric_median(rows))
    assert spent(0.5, 9) == Budget(4.5)


def test_one_release_is_its_own_reconstruction():
    release = PointsRelease(np.array([[0.1, 7.0]]))
    assert np.array_equal(reconstruct_mean(release), [0.1, 7.0])
    assert np.array_equal(reconstruct_median(release), [0.1, 7.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reconstruct_mean(PointsRelease(np.zeros((0, 2)))), "no rows"),
        (lambda: reconstruct_median(PointsRelease(np.zeros((0, 2)))), "no rows"),
        (lambda: geometric_median(np.zeros(3)), "shape"),
        (lambda: geometric_median([[math.nan]]), "finite"),
        (lambda: geometric_median([[0.0], [1.0]], [0.0, 0.0]), "weights"),
        (lambda: geometric_median([[0.0], [1.0]], [2.0, -1.0]), "weights"),
        (lambda: mean_error(0.0, 2, 1), "epsilon"),
        (lambda: median_error(1.0, 0, 1), "n_features"),
        (lambda: mean_error(1.0, 2, [1, 0]), "n_releases"),
        (lambda: spent(1.0, 0), "n_releases"),
    ],
)
def test_bad_input_is_refused_with_words(call, message):
    with pytest.raises(ValueError, match=message):
        call()
