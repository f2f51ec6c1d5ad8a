"""Play the attacker: fair rounds, scores that the best adversary reaches and no one beats, and separate secrets."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from dpviz.attacks import (
    LOSSES,
    LocationRound,
    LocationSecret,
    MembershipRound,
    MembershipSecret,
    best_guess,
    is_correct,
    laplace_total_variation,
    location_adversary,
    location_rounds,
    membership_rounds,
    nearer_scores,
    posterior,
    score_location,
    tally_locations,
    tally_memberships,
    uniform_prior,
)
from dpviz.core import Box, PointsRelease, Release, Step
from dpviz.mechanisms import nd_laplace

EPSILON = 3.0
PRIOR = uniform_prior(Box.cube(0.0, 1.0, 2), (9, 9))
ADVERSARY = location_adversary(PRIOR, epsilon=EPSILON)


def mechanism(epsilon):
    return lambda records, rng: PointsRelease(nd_laplace(records, epsilon=epsilon, rng=rng))


def locations(n_rounds, *, epsilon=EPSILON, n_releases=1, seed=0):
    rng = np.random.default_rng(seed)
    return list(location_rounds(mechanism(epsilon), ADVERSARY, n_rounds=n_rounds, n_releases=n_releases, rng=rng))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_best_adversary_meets_his_expectation_and_another_noise_does_not(loss):
    def surprise(epsilon):
        rounds = locations(400, epsilon=epsilon)
        scores = [score_location(shown, secret, [0.5, 0.5], ADVERSARY, loss) for shown, secret in rounds]
        tally = tally_locations(scores)
        surprises = [score.adversary_loss - score.expected_loss for score in scores]
        assert tally.expected_loss == np.mean([score.expected_loss for score in scores])
        return abs(np.mean(surprises)) / stats.sem(surprises)

    assert surprise(EPSILON) < 6
    assert surprise(10 * EPSILON) > 6, "a tenth of the noise must be noticed"


@pytest.mark.parametrize("loss", LOSSES)
def test_a_naive_player_loses_more_than_the_adversary_expects(loss):
    scores = [score_location(r, s, r.release.points.mean(axis=0), ADVERSARY, loss) for r, s in locations(400, seed=1)]
    tally = tally_locations(scores)
    assert tally.mean_loss > tally.expected_loss
    assert tally.n_rounds == 400


def test_the_optimal_player_scores_as_the_adversary_does():
    for shown, secret in locations(5, n_releases=3):
        guess = best_guess(PRIOR, posterior(shown.release, ADVERSARY), "distance")
        score = score_location(shown, secret, guess, ADVERSARY, "distance")
        assert score.player_loss == score.adversary_loss
        assert np.array_equal(score.adversary_guess, guess)


def test_more_releases_leave_the_adversary_a_smaller_error():
    def expected(n_releases):
        rounds = locations(100, n_releases=n_releases)
        return tally_locations([score_location(r, s, [0, 0], ADVERSARY, "distance") for r, s in rounds]).expected_loss

    assert expected(30) < 0.5 * expected(1)


def test_rounds_are_made_by_the_seed_alone_and_the_first_do_not_change_when_more_are_played():
    few, many, other = locations(3), locations(6), locations(3, seed=1)
    for (one, secret), (two, same) in zip(few, many, strict=False):
        assert np.array_equal(one.release.points, two.release.points)
        assert np.array_equal(secret.nonprivate_location, same.nonprivate_location)
    assert not np.array_equal(few[0][0].release.points, other[0][0].release.points)


def test_places_follow_the_prior():
    drawn = np.array([secret.nonprivate_location for _, secret in locations(3000)])
    counts = np.array([(drawn == place).all(axis=1).sum() for place in PRIOR.locations])
    assert counts.sum() == 3000
    # Chi-square of 81 cells: mean 80, standard deviation sqrt(160).
    assert ((counts - 3000 / 81) ** 2 / (3000 / 81)).sum() < 80 + 6 * math.sqrt(160)


HERE, THERE = np.array([0.2, 0.2]), np.array([0.9, 0.2])


def members(n_rounds, epsilon=EPSILON, seed=0):
    rng = np.random.default_rng(seed)
    points = np.array([HERE, [0.5, 0.5]])
    return list(membership_rounds(mechanism(epsilon), points, THERE, n_rounds=n_rounds, rng=rng))


def test_the_nearer_candidate_is_right_as_often_as_anybody_can_be_and_half_the_noise_is_noticed():
    n, variation = 4000, float(laplace_total_variation(EPSILON, 0.7, 2))

    def tally(epsilon):
        correct = 0
        for shown, secret in members(n, epsilon):
            row = PointsRelease(shown.release.points[:1])
            correct += is_correct(secret, int(nearer_scores(row, *shown.candidates)[0] < 0))
        return tally_memberships(correct, n, variation)

    error = math.sqrt(1 - variation**2) / (2 * math.sqrt(n))  # sqrt(p (1 - p) / n), p = (1 + TV) / 2
    right, wrong = tally(EPSILON), tally(2 * EPSILON)
    assert abs(right.n_correct / n - right.best_rate) < 6 * error
    assert wrong.n_correct / n - wrong.best_rate > 6 * error
    assert right.low <= right.n_correct / n <= right.high


def test_the_coin_is_fair_and_the_world_holds_the_candidate_it_names():
    seen = []

    def run(records, _):
        seen.append(records.copy())
        return PointsRelease(np.zeros((1, 2)))

    points = np.array([[0.5, 0.5], HERE])
    rng = np.random.default_rng(0)
    rounds = list(membership_rounds(run, points, THERE, target=1, n_rounds=1000, rng=rng))
    indices = np.array([secret.nonprivate_index for _, secret in rounds])
    assert abs(indices.mean() - 0.5) < 6 * 0.5 / math.sqrt(1000)
    for world, index in zip(seen, indices, strict=True):
        assert np.array_equal(world, [[0.5, 0.5], THERE if index else HERE])
    assert np.array_equal(points[1], HERE)


def test_no_public_part_holds_its_secret():
    assert issubclass(LocationRound, Release)
    assert issubclass(MembershipRound, Release)
    for secret in (LocationSecret, MembershipSecret):
        assert issubclass(secret, Step)
        assert not issubclass(secret, Release)
    assert [field.name for field in dataclasses.fields(LocationRound)] == ["release"]
    assert [field.name for field in dataclasses.fields(MembershipRound)] == ["candidates", "release"]
    # Two worlds that release the same show the same.
    constant = lambda records, rng: PointsRelease(np.zeros((1, 2)))  # noqa: ARG005, E731 a mechanism that says nothing
    rounds = membership_rounds(constant, [HERE], THERE, n_rounds=50, rng=np.random.default_rng(0))
    shown = {(r.candidates.tobytes(), r.release.points.tobytes()) for r, _ in rounds}
    assert len(shown) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: locations(0), "n_rounds"),
        (lambda: locations(1, n_releases=0), "n_releases"),
        (lambda: score_location(*locations(1)[0], [0.0], ADVERSARY, "cell"), "shape"),
        (lambda: score_location(*locations(1)[0], [0.0, 0.0], ADVERSARY, "mean"), "loss"),
        (lambda: tally_locations([]), "no scores"),
        (lambda: members(0), "n_rounds"),
        (lambda: is_correct(MembershipSecret(0), 2), "guess"),
        (lambda: tally_memberships(3, 2, 0.5), "hits"),
        (lambda: tally_memberships(1, 2, 1.5), r"in \[0, 1\]"),
    ],
)
def test_bad_input_is_refused_with_words(call, message):
    with pytest.raises(ValueError, match=message):
        call()
