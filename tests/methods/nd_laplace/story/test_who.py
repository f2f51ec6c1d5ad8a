"""The game of who was in: no answer before the guess, and the nearer of the two is right (1 + TV)/2 of the time."""

import math

import numpy as np
import pytest

from dpviz import attacks
from dpviz.methods.nd_laplace.story import who as play
from dpviz.methods.nd_laplace.story.told import Measure

GAME = play.TwoPlacesGame(1.5, Measure(200.0, "m"))


def test_the_answer_is_not_drawn_before_the_guess():
    played, secret = play.round_of(GAME, 0, 1)
    before, after = (play.scene(GAME, played, known) for known in (None, secret))
    assert [layer.name for layer in before.layers] == ["A", "B", "Released point"]
    assert after.layers[-1].name == "Who sent it"
    assert np.array_equal(after.layers[-1].arrays["xy"], before.layers[secret.nonprivate_index].arrays["xy"])
    assert "It was" not in before.caption
    assert np.linalg.norm(np.diff(played.candidates, axis=0)) == pytest.approx(200.0)


def test_rounds_are_made_again_from_their_seed():
    one, two, other = (play.round_of(GAME, i, 1)[0].release.points for i in (4, 4, 5))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_the_best_guess_is_right_as_often_as_the_score_says():
    """Six standard errors; a level of twice as much must be outside them."""
    n = 2000

    def share(game):
        rounds = (play.round_of(game, i, 3) for i in range(n))
        return np.mean([attacks.is_correct(secret, play.best_guess(played)) for played, secret in rounds])

    best = attacks.tally_memberships(0, 1, GAME.total_variation).best_rate
    error = math.sqrt(best * (1 - best) / n)
    assert abs(share(GAME) - best) < 6 * error
    assert abs(share(play.TwoPlacesGame(3.0, GAME.measure)) - best) > 6 * error


def test_a_point_off_the_map_stays_on_its_side():
    wild = play.TwoPlacesGame(0.001, GAME.measure)
    for i in range(20):
        played, _ = play.round_of(wild, i, 0)
        drawn = play.scene(wild, played, None).layers[2].arrays["xy"][0, 0]
        assert (drawn >= -0.1).all()
        assert (drawn <= 1.1).all()
        assert (drawn[0] < 0.5) == (play.best_guess(played) == 0)


def test_the_score_stands_beside_the_best():
    facts = play.tally_facts(attacks.tally_memberships(7, 10, GAME.total_variation))
    assert facts[1].value.startswith("70 in 100 (35 to 93)")
    assert facts[2].value == f"{round(50 + 50 * GAME.total_variation)} in 100"
