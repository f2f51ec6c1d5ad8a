"""nD-Laplace's games: no answer before the guess, no one beats the best attacker, and no map reveals a place."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from dpviz import attacks
from dpviz.methods.nd_laplace.games import (
    SIDE,
    LocationGame,
    TwoPlacesGame,
    around,
    invented,
    membership_facts,
    playable,
)
from dpviz.methods.nd_laplace.layers import Measure
from dpviz.plots import Audience
from dpviz.stories import View
from tests.methods.nd_laplace.test_run import tell


class TestLocations:
    game = LocationGame(3.0, Measure(100.0, "m"))

    def test_one_unit_is_one(self):
        assert [Measure(radius, "").radius_words for radius in (1.0, 2.0)] == ["1 unit", "2 units"]

    def test_the_answer_is_not_drawn_before_the_guess(self):
        played, secret = self.game.play(0, 1)
        before = {layer.name for layer in self.game.scene(played).layers}
        assert before == {"Map", "Places to guess", "Released point"}
        score = self.game.score(played, secret, 7)
        after = {layer.name for layer in self.game.scene(played, 7, secret, score).layers}
        assert after - before == {"Your guess", "Best attacker's guess", "Where it was"}

    def test_rounds_are_made_again_from_their_seed(self):
        one, two, other = (self.game.play(i, 1)[0].release.points for i in (4, 4, 5))
        assert np.array_equal(one, two)
        assert not np.array_equal(one, other)

    def test_nobody_beats_the_best_attacker_in_the_long_run(self):
        """Guessing the place next to the release: its loss cannot be below the expectation by six standard errors."""
        scores = []
        for i in range(150):
            played, secret = self.game.play(i, 2)
            gaps = self.game.adversary.prior.locations - played.release.points[0]
            scores.append(self.game.score(played, secret, int((gaps**2).sum(axis=1).argmin())))
        tally = attacks.tally_locations(scores)
        surprises = [score.adversary_loss - score.expected_loss for score in scores]
        error = 6 * stats.sem(surprises)
        assert tally.mean_loss > tally.expected_loss - error
        assert abs(np.mean(surprises)) < error


def at(run, places):
    return dataclasses.replace(run, unit=np.asarray(places))


@pytest.mark.parametrize("unit", ["data", "range"])
def test_the_square_is_a_part_of_the_box_and_holds_the_place(unit):
    run = tell(unit=unit)
    for record in range(0, run.n, 37):
        ground = around(run, View(), record)
        low, high = ground.box.low, ground.box.high
        assert ground.here is not None
        assert ((ground.here >= low - 1e-9) & (ground.here <= high + 1e-9)).all()
        drawn = ground.project(ground.here)[0, 0]
        data = [
            axis.values[0] + place * (axis.values[1] - axis.values[0])
            for axis, place in zip(ground.axes, drawn, strict=True)
        ]
        expected = run.words.box.from_unit(run.unit[record])
        np.testing.assert_allclose(data, expected, atol=1e-6 * run.words.box.widths.max())
        assert ground.side <= SIDE * run.measure.radius * (1 + 1e-12)


def test_where_in_the_square_a_place_is_does_not_move_the_square():
    """The wrong variant, a square around the place, must move."""
    run = tell()
    ground = around(run, View(), 0)
    widths = run.words.box.widths
    others = np.array([[0.01, 0.02], [0.4, 0.9], [0.99, 0.98]])
    inside = (ground.box.low + others * ground.side) / widths
    squares = [around(at(run, inside), View(), i) for i in range(3)]
    assert all(np.allclose(square.box.low, ground.box.low) for square in squares)
    centered = [around(at(run, inside), View(), i, centered=True) for i in range(3)]
    assert not np.allclose(centered[0].box.low, centered[1].box.low)


def test_games_about_own_people_are_for_their_owners_eyes():
    run = tell(level=3.0)
    game = LocationGame(run.level, run.measure, around(run, View(), 5))
    played, secret = game.play(0, 1)
    assert np.array_equal(secret.nonprivate_location, around(run, View(), 5).here)
    before = game.scene(played)
    assert before.is_empty is False
    assert before.public().layers == ()
    assert "Where it was" not in {layer.name for layer in before.layers}
    assert before.x.values != (0.0, game.ground.side), "in the map's own coordinates"
    other = TwoPlacesGame(run.level, run.measure, around(run, View(), 5, centered=True))
    pair = other.candidates
    assert np.array_equal(pair[0], other.ground.here)
    assert np.linalg.norm(pair[1] - pair[0]) == pytest.approx(run.measure.radius)
    assert other.scene(other.play(0, 1)[0], None).public().layers == ()
    assert invented(run.measure).audience is Audience.PUBLIC


def test_two_features_side_by_side_are_needed():
    assert playable(tell(), View())
    assert not playable(tell(1), View())
    assert not playable(tell(3), View(principal=True))


GAME = TwoPlacesGame(1.5, Measure(200.0, "m"))


def best_guess(played):
    """Return who is likelier, 0 or 1: the nearer of the two."""
    return int(attacks.nearer_scores(played.release, *played.candidates)[0] <= 0)


class TestPlaces:
    def test_the_answer_is_not_drawn_before_the_guess(self):
        played, secret = GAME.play(0, 1)
        before, after = (GAME.scene(played, known) for known in (None, secret))
        assert [layer.name for layer in before.layers] == ["A", "B", "Released point"]
        assert after.layers[-1].name == "Who sent it"
        assert np.array_equal(after.layers[-1].arrays["xy"], before.layers[secret.nonprivate_index].arrays["xy"])
        assert "It was" not in before.caption
        assert np.linalg.norm(np.diff(played.candidates, axis=0)) == pytest.approx(200.0)

    def test_rounds_are_made_again_from_their_seed(self):
        one, two, other = (GAME.play(i, 1)[0].release.points for i in (4, 4, 5))
        assert np.array_equal(one, two)
        assert not np.array_equal(one, other)

    def test_the_best_guess_is_right_as_often_as_the_score_says(self):
        """Six standard errors; a level of twice as much must be outside them."""
        n = 2000

        def share(game):
            rounds = (game.play(i, 3) for i in range(n))
            return np.mean([attacks.is_correct(secret, best_guess(played)) for played, secret in rounds])

        best = attacks.tally_memberships(0, 1, GAME.total_variation).best_rate
        error = math.sqrt(best * (1 - best) / n)
        assert abs(share(GAME) - best) < 6 * error
        assert abs(share(TwoPlacesGame(3.0, GAME.measure)) - best) > 6 * error

    def test_a_point_off_the_map_stays_on_its_side(self):
        wild = TwoPlacesGame(0.001, GAME.measure)
        for i in range(20):
            played, _ = wild.play(i, 0)
            drawn = wild.scene(played, None).layers[2].arrays["xy"][0, 0]
            assert (drawn >= -0.1).all()
            assert (drawn <= 1.1).all()
            assert (drawn[0] < 0.5) == (best_guess(played) == 0)

    def test_the_score_stands_beside_the_best(self):
        facts = membership_facts(attacks.tally_memberships(7, 10, GAME.total_variation))
        assert facts[1].value.startswith("70 in 100 (34 to 94)")
        assert facts[2].value == f"{round(50 + 50 * GAME.total_variation)} in 100"
