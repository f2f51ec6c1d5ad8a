"""The two-point game: the closed form against quadrature, brute-force play and the errata's error of 0.352."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpviz.attacks import laplace_total_variation, nearer_scores, two_point_success
from dpviz.core import PointsRelease, attacker_odds


def play(n_features, apart, epsilon, n, seed):
    """Return how often the likelier of two places is right, from Gamma radii and Gaussian directions."""
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((n, n_features))
    noise = rng.gamma(n_features, 1 / epsilon, (n, 1)) * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    here, there = np.zeros(n_features), np.full(n_features, apart / math.sqrt(n_features))
    coins = rng.random(n) < 0.5
    released = PointsRelease(np.where(coins[:, None], here, there) + noise)
    return float(np.mean((nearer_scores(released, here, there) > 0) == coins))


@pytest.mark.parametrize("n_features", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("apart", [0.5, 2.0, 8.0])
def test_brute_force_play_succeeds_as_often_as_the_formula_and_half_the_noise_more_often(n_features, apart):
    n = 60_000
    success = float(two_point_success(laplace_total_variation(0.7, apart, n_features)))
    error = math.sqrt(success * (1 - success) / n)
    assert abs(play(n_features, apart, 0.7, n, seed=n_features) - success) < 6 * error
    assert play(n_features, apart, 1.4, n, seed=n_features) - success > 6 * error


def by_quadrature(n_features, half):
    """P(|r u_1| <= half) for epsilon 1: r is Gamma(n), u_1 squared is Beta(1/2, (n - 1)/2)."""

    def beyond(logarithm):  # of r / half, from 0 on: no peak is too narrow to be seen
        radius = half * math.exp(logarithm)
        share = stats.beta.cdf(math.exp(-2 * logarithm), 0.5, (n_features - 1) / 2)
        return radius * stats.gamma.pdf(radius, n_features) * share

    end = math.log((max(half, n_features) + 60 * math.sqrt(n_features) + 200) / half)
    middle = min(max(math.log(n_features / half), 0.1), end)
    tail, _ = integrate.quad(beyond, 0.0, end, limit=500, epsabs=1e-15, epsrel=1e-11, points=[middle])
    return stats.gamma.cdf(half, n_features) + tail


@pytest.mark.parametrize("n_features", [2, 3, 6, 7, 10, 30, 100])
def test_the_closed_form_is_the_integral_along_the_axis(n_features):
    halves = np.array([1e-12, 1e-7, 1e-5, 9e-3, 1.1e-2, 0.3, 2.0, 10.0, 40.0, 300.0])
    exact = [by_quadrature(n_features, half) for half in halves]
    ours = laplace_total_variation(0.5, 4.0 * halves, n_features)
    np.testing.assert_allclose(ours, exact, rtol=1e-8, atol=1e-12)


def test_one_dimension_is_exact_and_agrees_with_the_general_formula():
    distances = np.array([0.0, 1e-9, 0.1, 3.0, 50.0])
    np.testing.assert_array_equal(laplace_total_variation(2.0, distances, 1), -np.expm1(-distances))
    # Two features on the plane's axis and one: a plane's noise hides less along a given axis than its length says.
    assert (laplace_total_variation(2.0, distances[1:4], 2) < laplace_total_variation(2.0, distances[1:4], 1)).all()


def test_the_error_of_the_errata_comes_out():
    """2-D, epsilon d = 1: averaged over z the error is .352, above its bound .269 = 1 / (1 + e)."""
    error = 1 - float(two_point_success(laplace_total_variation(1.0, 1.0, 2)))
    assert error == pytest.approx(0.352, abs=5e-4)
    assert error > 1 / (1 + math.e)


@pytest.mark.parametrize("n_features", [1, 2, 5, 50])
def test_success_grows_from_a_coin_to_certainty_and_stays_under_what_the_budget_allows(n_features):
    distances = np.geomspace(1e-3, 1e3, 60)
    success = two_point_success(laplace_total_variation(1.0, distances, n_features))
    allowed = np.array([attacker_odds(d) / 100 for d in distances])
    assert (np.diff(success) >= -1e-15).all()  # the last bit of a sum near 1
    assert (success <= allowed + 1e-15).all()
    assert two_point_success(laplace_total_variation(1.0, 0.0, n_features)) == 0.5
    assert two_point_success(laplace_total_variation(1.0, 1e6, n_features)) == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: laplace_total_variation(-1.0, 1.0, 2), "epsilon"),
        (lambda: laplace_total_variation(math.inf, 1.0, 2), "epsilon"),
        (lambda: laplace_total_variation(1.0, [1.0, -1.0], 2), "distance"),
        (lambda: laplace_total_variation(1.0, math.nan, 2), "distance"),
        (lambda: laplace_total_variation(1.0, 1.0, 101), "n_features"),
        (lambda: two_point_success(1.5), "outside"),
        (lambda: nearer_scores(PointsRelease(np.zeros((1, 2))), [0.0], [1.0]), "columns"),
    ],
)
def test_bad_input_is_refused_with_words(call, message):
    with pytest.raises(ValueError, match=message):
        call()
