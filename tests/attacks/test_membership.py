"""Membership games: rates stay under the bound of a replacement, and a mechanism with half its noise is found out."""

import math

import numpy as np
import pytest

from dpviz.attacks import (
    center_fit_scores,
    empirical_roc,
    exceeds,
    laplace_total_variation,
    membership_game,
    nearer_scores,
    replacement_budget,
    row_fit_scores,
    two_point_success,
    yeom_guesses,
)
from dpviz.core import CentersRelease, PointsRelease
from dpviz.mechanisms import nd_laplace
from dpviz.solvers import lloyd

ONE_IN_A_MILLION = 1 - 1e-6  # a right mechanism is accused once in a million seeds; these seeds are fixed
HERE, THERE = np.array([[0.0, 0.0]]), np.array([[1.0, 0.0]])
LEFT, RIGHT = np.array([[0.0]]), np.array([[1.0]])  # one dimension, where Laplace noise reaches the bound


def released_rows(epsilon):
    return lambda records, rng: PointsRelease(nd_laplace(records, epsilon=epsilon, rng=rng))


def one_center(epsilon):
    """A clustering with k = 1 of a single perturbed record: its center is the row."""
    return lambda records, rng: CentersRelease(nd_laplace(records, epsilon=epsilon, rng=rng))


def nearer(release, records):
    other = RIGHT[0] if len(records[0]) == 1 else THERE[0]
    return nearer_scores(release, records[0], other)


def roc_of(run, score, n_runs):
    game = membership_game(run, LEFT, RIGHT, score, n_runs=n_runs, rng=np.random.default_rng(0))
    return empirical_roc(game.inside, game.outside)


ATTACKS = pytest.mark.parametrize(
    ("world", "score"),
    [(released_rows, nearer), (released_rows, row_fit_scores), (one_center, center_fit_scores)],
    ids=["likelihood", "nearest row", "nearest center"],
)


@ATTACKS
def test_attacks_stay_under_the_bound_and_half_the_noise_is_found_out(world, score):
    epsilon = 2.0
    budget = replacement_budget(epsilon, LEFT, RIGHT)
    assert not exceeds(roc_of(world(epsilon), score, 8000), budget, confidence=ONE_IN_A_MILLION)
    assert exceeds(roc_of(world(2 * epsilon), score, 8000), budget, confidence=ONE_IN_A_MILLION)


def test_the_best_attack_is_right_as_often_as_the_two_point_game_allows():
    """Threshold 0 on |z - x'| - |z - x|; six standard errors, and half the noise must be outside them."""
    n, expected = 10_000, float(two_point_success(laplace_total_variation(1.5, 1.0, 2)))

    def success(epsilon):
        game = membership_game(released_rows(epsilon), HERE, THERE, nearer, n_runs=n, rng=np.random.default_rng(1))
        return (np.sum(game.inside > 0) + np.sum(game.outside <= 0)) / n

    error = math.sqrt(expected * (1 - expected) / n)
    assert abs(success(1.5) - expected) < 6 * error
    assert success(3.0) - expected > 6 * error


def clusterer(epsilon):
    """Lloyd's algorithm after local noise, from a public start: centers are published; epsilon None: non-private."""

    def run(records, rng):
        seen = records if epsilon is None else nd_laplace(records, epsilon=epsilon, rng=rng)
        return CentersRelease(lloyd(seen, np.array([[0.0, 0.0], [1.0, 1.0]])).nonprivate_centers)

    return run


def test_yeoms_attack_on_centers_reads_a_clear_clustering_and_not_a_noisy_one():
    rng = np.random.default_rng(4)
    points = np.concatenate([rng.normal(0, 0.05, (6, 2)), rng.normal(1, 0.05, (6, 2))])
    others = points.copy()
    others[0] = [1.0, 1.0]
    points[0] = [0.2, 0.0]

    def play(epsilon, n_runs):
        rng = np.random.default_rng(5)
        run = clusterer(epsilon)
        return membership_game(run, points, others, center_fit_scores, targets=[0], n_runs=n_runs, rng=rng)

    clear, noisy = play(None, 20), play(1.0, 1000)
    # Loss of the record inside, known to the attacker; non-private centers are the same whenever the coin is.
    threshold = -float(clear.inside.min())
    assert yeom_guesses(clear.inside, threshold).all()
    assert not yeom_guesses(clear.outside, threshold).any()
    roc = empirical_roc(noisy.inside, noisy.outside)
    assert not exceeds(roc, replacement_budget(1.0, points, others), confidence=ONE_IN_A_MILLION)
    assert roc.auc < empirical_roc(clear.inside, clear.outside).auc == 1.0


def test_targets_play_and_the_rest_stay():
    points, others, seen = np.arange(8.0).reshape(4, 2), -np.arange(8.0).reshape(4, 2) - 1, []

    def run(records, _):
        seen.append(records.copy())
        return PointsRelease(records)

    game = membership_game(run, points, others, row_fit_scores, targets=[1, 3], n_runs=40, rng=np.random.default_rng(0))
    worlds = np.array(seen)
    assert (worlds[:, [0, 2]] == points[[0, 2]]).all()
    here, there = (worlds[:, [1, 3]] == points[[1, 3]]).all(axis=2), (worlds[:, [1, 3]] == others[[1, 3]]).all(axis=2)
    assert (here ^ there).all()
    assert (game.inside == 0).all()  # minus the distance to its own row
    assert (game.outside < 0).all()
    assert len(game.inside) == here.sum()
    assert len(game.inside) + len(game.outside) == 80
    assert len({tuple(row) for row in here}) == 4, "coins of two targets are tossed apart"


def test_a_seed_decides_the_game_and_the_data_are_left_alone():
    points, others = HERE.copy(), THERE.copy()
    run = released_rows(1.0)
    first, again = (
        membership_game(run, points, others, row_fit_scores, n_runs=20, rng=np.random.default_rng(2)) for _ in range(2)
    )
    assert np.array_equal(first.inside, again.inside)
    assert np.array_equal(points, HERE)
    assert np.array_equal(others, THERE)


def test_fits_are_distances_to_the_nearest_place():
    places, records = np.random.default_rng(0).random((7, 3)), np.random.default_rng(1).random((5, 3))
    expected = -np.linalg.norm(records[:, None] - places, axis=2).min(axis=1)
    np.testing.assert_allclose(center_fit_scores(CentersRelease(places), records), expected)
    np.testing.assert_allclose(row_fit_scores(PointsRelease(places), records), expected)
    assert (center_fit_scores(CentersRelease(np.zeros((0, 3))), records) == -np.inf).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rng: membership_game(None, HERE, np.zeros((2, 2)), None, n_runs=2, rng=rng), "own x'"),
        (lambda rng: membership_game(None, HERE, THERE, None, targets=[1], n_runs=2, rng=rng), "targets"),
        (lambda rng: membership_game(None, HERE, THERE, None, targets=[], n_runs=2, rng=rng), "targets"),
        (lambda rng: membership_game(None, HERE, THERE, None, n_runs=1, rng=rng), "n_runs"),
        (lambda _: center_fit_scores(CentersRelease(np.zeros((1, 3))), HERE), "columns"),
        (lambda _: yeom_guesses([0.0], math.nan), "NaN"),
    ],
)
def test_bad_input_is_refused_with_words(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.random.default_rng(0))
