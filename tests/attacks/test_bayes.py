"""The Bayes adversary: the posterior against brute force and calibration, its bound attained, guesses that are best."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from dpviz.attacks import (
    LOSSES,
    best_guess,
    empirical_prior,
    error_of,
    expected_error,
    location_adversary,
    posterior,
    posterior_bound,
    uniform_prior,
)
from dpviz.core import Box, PointsRelease
from dpviz.mechanisms import nd_laplace
from dpviz.mechanisms.remap import remap_cells, remap_table

BOX = Box([0.0, -1.0], [2.0, 1.0])
SEEDS = st.integers(0, 10_000)


def uneven(shape, seed=0, box=BOX):
    points = box.from_unit(np.random.default_rng(seed).beta(0.5, 1.5, (300, box.d)))
    return empirical_prior(box, shape, points, smoothing=0.01)


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


def brute_bound(prior, epsilon):
    sums = np.exp(-epsilon * cdist(prior.locations, prior.locations)) @ prior.weights
    return prior.weights / sums


@given(SEEDS, st.floats(0.01, 50.0), st.tuples(st.integers(1, 6), st.integers(1, 6)))
def test_the_bound_is_its_sum(seed, epsilon, shape):
    prior = uneven(shape, seed)
    np.testing.assert_allclose(posterior_bound(prior, epsilon), brute_bound(prior, epsilon), rtol=1e-9)


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
    prior = empirical_prior(BOX, (8, 8), [[0.2, 0.3], [0.25, 0.3], [2.0, 1.0]], smoothing=smoothing)
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


def test_priors_count_public_points_in_cells_whose_middles_they_hold():
    prior = empirical_prior(Box.cube(0, 3, 1), (3,), [[0.0], [0.99], [1.0], [3.0], [77.0]])
    assert np.array_equal(prior.locations[:, 0], [0.5, 1.5, 2.5])
    np.testing.assert_allclose(prior.weights, [0.4, 0.2, 0.4])
    even = uniform_prior(BOX, (3, 2))
    assert np.array_equal(even.locations[:2], [[1 / 3, -0.5], [1 / 3, 0.5]])
    np.testing.assert_allclose(even.weights, 1 / 6)


def test_far_releases_and_places_without_weight_stay_numbers():
    prior = empirical_prior(BOX, (20, 20), [[0.1, 0.1]])
    for epsilon in (1e-6, 1.0, 5e3):
        found = posterior(release_of([2.0, -1.0], [-900.0, 5.0]), location_adversary(prior, epsilon=epsilon))
        assert found.sum() == pytest.approx(1.0)
        assert found.max() == 1.0
    assert np.array_equal(
        posterior(PointsRelease(np.zeros((0, 2))), location_adversary(prior, epsilon=1.0)), prior.weights
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: uniform_prior(BOX, (3,)), "axes"),
        (lambda: uniform_prior(BOX, (3, 0)), "one cell"),
        (lambda: uniform_prior(BOX, (1 << 12, 1 << 12)), "in all"),
        (lambda: empirical_prior(BOX, (2, 2), np.zeros((0, 2))), "positive when"),
        (lambda: empirical_prior(BOX, (2, 2), [[0.0, 0.0]], smoothing=-1.0), "smoothing"),
        (lambda: empirical_prior(BOX, (2, 2), [[0.0, math.nan]]), "NaN"),
        (lambda: best_guess(uniform_prior(BOX, (1, 1)), np.ones(1), "median"), "loss was 'median'"),
        (lambda: expected_error(uniform_prior(BOX, (1, 1)), np.ones(1), [0.0], "cell"), "guess"),
        (lambda: error_of(uniform_prior(BOX, (1, 1)), [0.0], [0.0, 0.0], "cell"), "shapes"),
        (lambda: posterior_bound(uniform_prior(BOX, (1, 1)), 0.0), "epsilon"),
        (lambda: location_adversary(uniform_prior(BOX, (1, 1)), epsilon=math.inf), "epsilon"),
        (
            lambda: posterior(
                release_of([5.0, 5.0]), location_adversary(uniform_prior(BOX, (2, 2)), epsilon=1.0, domain="clamp")
            ),
            "No place",
        ),
    ],
)
def test_bad_input_is_refused_with_words(call, message):
    with pytest.raises(ValueError, match=message):
        call()
