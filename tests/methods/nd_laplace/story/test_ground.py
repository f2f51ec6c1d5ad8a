"""What games are played on: a part of the project's own map, in its coordinates, that gives away no place within it."""

import dataclasses

import numpy as np
import pytest

from dpviz.methods.nd_laplace.story import play, who
from dpviz.methods.nd_laplace.story.ground import SIDE, around, invented, playable
from dpviz.plots import Audience
from dpviz.stories import View
from tests.methods.nd_laplace.story.test_story import tell


def at(told, places):
    return dataclasses.replace(told, unit=np.asarray(places))


@pytest.mark.parametrize("unit", ["data", "range"])
def test_the_square_is_a_part_of_the_box_and_holds_the_place(unit):
    told = tell(unit=unit)
    for record in range(0, told.n, 37):
        ground = around(told, View(), record)
        low, high = ground.box.low, ground.box.high
        assert ground.here is not None
        assert ((ground.here >= low - 1e-9) & (ground.here <= high + 1e-9)).all()
        drawn = ground.drawn(ground.here)[0, 0]
        data = [
            axis.values[0] + place * (axis.values[1] - axis.values[0])
            for axis, place in zip(ground.axes, drawn, strict=True)
        ]
        expected = told.words.box.from_unit(told.unit[record])
        np.testing.assert_allclose(data, expected, atol=1e-6 * told.words.box.widths.max())
        assert ground.side <= SIDE * told.measure.radius * (1 + 1e-12)


def test_where_in_the_square_a_place_is_does_not_move_the_square():
    """The wrong variant, a square around the place, must move."""
    told = tell()
    ground = around(told, View(), 0)
    widths = told.words.box.widths
    others = np.array([[0.01, 0.02], [0.4, 0.9], [0.99, 0.98]])
    inside = (ground.box.low + others * ground.side) / widths
    squares = [around(at(told, inside), View(), i) for i in range(3)]
    assert all(np.allclose(square.box.low, ground.box.low) for square in squares)
    centered = [around(at(told, inside), View(), i, centered=True) for i in range(3)]
    assert not np.allclose(centered[0].box.low, centered[1].box.low)


def test_games_about_own_people_are_for_their_owners_eyes():
    told = tell(level=3.0)
    game = play.game_of(told.level, told.measure, around(told, View(), 5))
    played, secret = play.round_of(game, 0, 1)
    assert np.array_equal(secret.nonprivate_location, around(told, View(), 5).here)
    before = play.scene(game, played, None, None, None)
    assert before.is_empty is False
    assert before.public().layers == ()
    assert "Where it was" not in {layer.name for layer in before.layers}
    assert before.x.values != (0.0, game.ground.side), "in the map's own coordinates"
    other = who.TwoPlacesGame(told.level, told.measure, around(told, View(), 5, centered=True))
    pair = other.candidates
    assert np.array_equal(pair[0], other.ground.here)
    assert np.linalg.norm(pair[1] - pair[0]) == pytest.approx(told.measure.radius)
    assert who.scene(other, who.round_of(other, 0, 1)[0], None).public().layers == ()
    assert invented(told.measure).audience is Audience.PUBLIC


def test_two_features_side_by_side_are_needed():
    assert playable(tell(), View())
    assert not playable(tell(1), View())
    assert not playable(tell(3), View(principal=True))
