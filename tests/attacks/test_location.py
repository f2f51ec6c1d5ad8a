"""The Bayes adversary: the posterior against brute force and calibration, its bound attained, guesses that are best.

The two-point game: the closed form against quadrature, brute-force play and the errata's error of 0.352.

Repeated releases: the mean's error exactly, the geometric median's towards its limit, the median against SciPy.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import integrate, stats
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from dpviz.attacks import (
    LOSSES,
    best_guess,
    error_of,
    expected_error,
    laplace_total_variation,
    location_adversary,
    mean_error,
    median_error,
    nearer_scores,
    posterior,
    posterior_bound,
    reconstruct_mean,
    reconstruct_median,
    spent,
    two_point_success,
    uniform_prior,
)
from dpviz.core import Box, Budget, PointsRelease, attacker_odds
from dpviz.mechanisms import nd_laplace
from dpviz.mechanisms.remap import remap_cells, remap_table
from dpviz.solvers import geometric_median

BOX = Box([0.0, -1.0], [2.0, 1.0])
SEEDS = st.integers(0, 10_000)


def counted(box, shape, points, smoothing=0.0):
    """Return the prior that counts public points in the cells, `smoothing` more in each."""
    even, edges = (
        uniform_prior(box, shape),
        [np.linspace(*ends, n + 1) for *ends, n in zip(box.low, box.high, shape, strict=True)],
    )
    counts = np.histogramdd(box.clip(np.asarray(points)), edges)[0].ravel() + smoothing
    return replace(even, weights=counts / counts.sum())


def uneven(shape, seed=0, box=BOX):
    points = box.from_unit(np.random.default_rng(seed).beta(0.5, 1.5, (300, box.d)))
    return counted(box, shape, points, smoothing=0.01)


def release_of(*rows):
    return PointsRelease(np.array(rows, dtype=np.float64))


@given(SEEDS, st.floats(0.1, 20.0), st.integers(1, 4))
def test_the_posterior_is_bayes_rule_with_the_planar_density(seed, epsilon, m):
    prior = uneven((7, 5), seed)
    rows = np.random.default_rng(seed).normal(size=(m, 2))
    found = posterior(PointsRelease(rows), location_adversary(prior, epsilon=epsilon))
    logs = np.log(prior.weights) - epsilon * cdist(prior.locations, rows).sum(axis=1)
    expected = np.exp(logs - logs.max())
    np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("domain", ["none", "clamp", "redraw"])
def test_posteriors_average_to_the_prior(domain):
    """E pi(x | z) = pi(x) for every x when z is drawn by the same law, and not when it is drawn by another."""
    prior, epsilon, n = uneven((4, 3)), 1.5, 1500
    rng = np.random.default_rng(3)

    def mean_error_in_standard_errors(epsilon_of_draws):
        truths = prior.locations[rng.choice(len(prior.weights), p=prior.weights, size=n)]
        released = nd_laplace(truths, epsilon=epsilon_of_draws, rng=rng)
        if domain == "clamp":
            released = BOX.clip(released)
        if domain == "redraw":
            while (out := (released != BOX.clip(released)).any(axis=1)).any():
                released[out] = nd_laplace(truths[out], epsilon=epsilon_of_draws, rng=rng)
        adversary = location_adversary(prior, epsilon=epsilon, domain=domain)
        found = np.array([posterior(release_of(z), adversary) for z in released])
        errors = found.mean(axis=0) - prior.weights
        return np.abs(errors / (found.std(axis=0) / math.sqrt(len(found)))).max()

    assert mean_error_in_standard_errors(epsilon) < 6
    assert mean_error_in_standard_errors(epsilon / 4) > 6, "four times the noise must be noticed"


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_bound_is_attained_at_z_equal_x(d):
    box = Box.cube(-1.0, 1.0, d)
    prior, epsilon = uneven((6,) * d, box=box), 2.0
    bound, adversary = posterior_bound(prior, epsilon), location_adversary(prior, epsilon=epsilon)
    at_itself = [posterior(release_of(x), adversary)[i] for i, x in enumerate(prior.locations)]
    np.testing.assert_allclose(at_itself, bound, rtol=1e-9)
    wrong = location_adversary(prior, epsilon=2 * epsilon)
    assert (posterior(release_of(prior.locations[0]), wrong)[0] > 1.01 * bound[0]).all(), "half the noise exceeds it"


@pytest.mark.parametrize("domain", ["none", "clamp", "redraw"])
@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_no_release_lifts_a_place_above_the_bound(domain, smoothing):
    prior = counted(BOX, (8, 8), [[0.2, 0.3], [0.25, 0.3], [2.0, 1.0]], smoothing=smoothing)
    epsilon, rng = 3.0, np.random.default_rng(0)
    adversary = location_adversary(prior, epsilon=epsilon, domain=domain)
    rows = [BOX.from_unit(rng.random(2)) for _ in range(40)] + [[0.0, -1.0], [2.0, 0.3], [1.1, 1.0]]
    highest = np.max([posterior(release_of(row), adversary) for row in rows], axis=0)
    proved = 2 * epsilon if domain == "redraw" else epsilon
    assert (highest <= posterior_bound(prior, proved) * (1 + 1e-9)).all()


@pytest.mark.parametrize("rule", ["nearest", "mean", "median"])
def test_remapped_releases_stay_under_the_bound_and_a_smaller_epsilon_would_not_hold(rule):
    prior, epsilon = uneven((6, 5)), 4.0
    grid = uniform_prior(BOX, (12, 12)).locations
    cells = remap_cells(grid, remap_table(grid, epsilon=epsilon, rule=rule))
    adversary = location_adversary(prior, epsilon=epsilon, domain="remap", cells=cells)
    found = np.array([posterior(release_of(place), adversary) for place in np.unique(cells.outputs, axis=0)])
    assert (found.max(axis=0) <= posterior_bound(prior, epsilon) * (1 + 1e-9)).all()
    assert (found.max(axis=0) > posterior_bound(prior, epsilon / 2)).any()
    # Outcomes weighed by how often they come give the prior back: no mass of the law is lost or counted twice.
    laws = np.array([np.exp(adversary.law.log_likelihood(place)) for place in np.unique(cells.outputs, axis=0)])
    np.testing.assert_allclose((laws @ prior.weights) @ found, prior.weights, rtol=1e-6)


def test_redrawing_exceeds_the_mechanisms_own_bound_at_the_wall():
    prior, epsilon = uniform_prior(BOX, (40, 40)), 3.0
    corner = prior.locations[0]
    found = posterior(release_of(corner), location_adversary(prior, epsilon=epsilon, domain="redraw"))[0]
    assert posterior_bound(prior, epsilon)[0] < found <= posterior_bound(prior, 2 * epsilon)[0]


def test_releases_add_up_to_m_epsilon():
    prior, x = uneven((6, 6)), uneven((6, 6)).locations[8]
    together = posterior(release_of(x, x, x), location_adversary(prior, epsilon=1.0))[8]
    assert together == pytest.approx(posterior_bound(prior, 3.0)[8], rel=1e-9)


@given(SEEDS, st.sampled_from(LOSSES))
def test_no_other_guess_expects_less(seed, loss):
    prior, rng = uneven((6, 5), seed), np.random.default_rng(seed)
    weights = posterior(PointsRelease(rng.normal(0.5, 0.7, (1, 2))), location_adversary(prior, epsilon=2.0))
    least = expected_error(prior, weights, best_guess(prior, weights, loss), loss)
    others = [*prior.locations, *BOX.from_unit(rng.random((30, 2)))]
    if loss != "cell":
        start = weights @ prior.locations
        others.append(minimize(lambda g: expected_error(prior, weights, g, loss), start, method="Nelder-Mead").x)
    assert least <= min(expected_error(prior, weights, other, loss) for other in others) + 1e-9


@given(SEEDS, st.sampled_from(LOSSES))
def test_the_expected_error_is_the_mean_of_the_errors(seed, loss):
    prior, rng = uneven((4, 3), seed), np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(12))
    guess = BOX.from_unit(rng.random(2) * 1.2 - 0.1)
    errors = [error_of(prior, guess, place, loss) for place in prior.locations]
    assert expected_error(prior, weights, guess, loss) == pytest.approx(weights @ errors)


def test_priors_hold_the_middles_of_their_cells():
    prior = uniform_prior(Box.cube(0, 3, 1), (3,))
    assert np.array_equal(prior.locations[:, 0], [0.5, 1.5, 2.5])
    even = uniform_prior(BOX, (3, 2))
    assert np.array_equal(even.locations[:2], [[1 / 3, -0.5], [1 / 3, 0.5]])
    np.testing.assert_allclose(even.weights, 1 / 6)


def test_far_releases_and_places_without_weight_stay_numbers():
    prior = counted(BOX, (20, 20), [[0.1, 0.1]])
    for epsilon in (1e-6, 1.0, 5e3):
        found = posterior(release_of([2.0, -1.0], [-900.0, 5.0]), location_adversary(prior, epsilon=epsilon))
        assert found.sum() == pytest.approx(1.0)
        assert found.max() == 1.0
    assert np.array_equal(
        posterior(PointsRelease(np.zeros((0, 2))), location_adversary(prior, epsilon=1.0)), prior.weights
    )


def play(n_features, apart, epsilon, n, seed):
    """Return the share of right guesses at the likelier of two places, from Gamma radii and Gaussian directions."""
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

    # Places in units of r / half, from 0 on. No peak is too narrow to be seen.
    def beyond(logarithm):
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


@pytest.mark.parametrize("n_features", [1, 2, 5, 50])
def test_success_grows_from_a_coin_to_certainty_and_stays_under_what_the_budget_allows(n_features):
    distances = np.geomspace(1e-3, 1e3, 60)
    success = two_point_success(laplace_total_variation(1.0, distances, n_features))
    allowed = np.array([attacker_odds(d) / 100 for d in distances])
    assert (np.diff(success) >= -1e-15).all()  # the last bit of a sum near 1
    assert (success <= allowed + 1e-15).all()
    assert two_point_success(laplace_total_variation(1.0, 0.0, n_features)) == 0.5
    assert two_point_success(laplace_total_variation(1.0, 1e6, n_features)) == 1.0


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


def test_releases_are_reconstructed_and_pay_each_time():
    rows = draws(1, 9, 3, 0.5, seed=0)[0]
    release = PointsRelease(rows)
    assert np.array_equal(reconstruct_mean(release), rows.mean(axis=0))
    assert np.array_equal(reconstruct_median(release), geometric_median(rows))
    assert spent(0.5, 9) == Budget(4.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: uniform_prior(BOX, (3,)), "axes"),
        (lambda: uniform_prior(BOX, (3, 0)), "one cell"),
        (lambda: uniform_prior(BOX, (1 << 12, 1 << 12)), "in all"),
        (lambda: best_guess(uniform_prior(BOX, (1, 1)), np.ones(1), "median"), "loss must be .*got 'median'"),
        (lambda: expected_error(uniform_prior(BOX, (1, 1)), np.ones(1), [0.0], "cell"), "guess"),
        (lambda: error_of(uniform_prior(BOX, (1, 1)), [0.0], [0.0, 0.0], "cell"), "shape"),
        (lambda: posterior_bound(uniform_prior(BOX, (1, 1)), 0.0), "epsilon"),
        (lambda: location_adversary(uniform_prior(BOX, (1, 1)), epsilon=math.inf), "epsilon"),
        (
            lambda: posterior(
                release_of([5.0, 5.0]), location_adversary(uniform_prior(BOX, (2, 2)), epsilon=1.0, domain="clamp")
            ),
            "No place",
        ),
        (lambda: laplace_total_variation(-1.0, 1.0, 2), "epsilon"),
        (lambda: laplace_total_variation(math.inf, 1.0, 2), "epsilon"),
        (lambda: laplace_total_variation(1.0, [1.0, -1.0], 2), "distance"),
        (lambda: laplace_total_variation(1.0, math.nan, 2), "distance"),
        (lambda: laplace_total_variation(1.0, 1.0, 101), "n_features"),
        (lambda: two_point_success(1.5), r"in \[0, 1\]"),
        (lambda: nearer_scores(PointsRelease(np.zeros((1, 2))), [0.0], [1.0]), "columns"),
        (lambda: reconstruct_mean(PointsRelease(np.zeros((0, 2)))), "at least one row"),
        (lambda: reconstruct_median(PointsRelease(np.zeros((0, 2)))), "at least one row"),
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
