"""What a page believes of what a browser says that the reader has drawn."""

import numpy as np
import pytest

from dpviz.ui.data import drawing
from dpviz.ui.data.drawing import Drawing, read, started
from dpviz.ui.data.drawn_points import CLASSES, MOST_POINTS

FIRST = Drawing("one", started("one"), number=5)
POINTS = [0.25, 0.5, 0, 0.75, 1.0, 3]


def test_an_edit_takes_the_place_of_the_points_and_keeps_those_before() -> None:
    edited = read(["one", 6, POINTS, False], FIRST)
    assert edited is not None
    assert edited.sheet.places.tolist() == [[0.25, 0.5], [0.75, 1.0]]
    assert edited.sheet.classes.tolist() == [0, 3]
    assert edited.before == (FIRST.sheet,)
    assert edited.number == 6
    assert edited.id == FIRST.id


def test_undo_goes_back_step_by_step_and_not_beyond_the_start() -> None:
    edited = read(["one", 6, POINTS, False], FIRST)
    assert edited is not None
    again = read(["one", 7, POINTS[:3], False], edited)
    assert again is not None
    sent = again.sheet.places.ravel().tolist()
    back = read(["one", 8, [*sent, 0], True], again)
    assert back is not None
    assert back.sheet is edited.sheet
    back = read(["one", 9, POINTS, True], back)
    assert back is not None
    assert back.sheet is FIRST.sheet
    assert back.before == ()


def test_undo_with_an_edit_that_had_not_arrived_takes_that_edit_back() -> None:
    back = read(["one", 6, POINTS, True], FIRST)
    assert back is not None
    assert back.sheet is FIRST.sheet


def test_places_outside_the_box_are_moved_onto_its_wall() -> None:
    edited = read(["one", 6, [-1.0, 7.0, 1], False], FIRST)
    assert edited is not None
    assert edited.sheet.places.tolist() == [[0.0, 1.0]]


def test_nothing_left_is_a_drawing_too() -> None:
    edited = read(["one", 6, [], False], FIRST)
    assert edited is not None
    assert edited.sheet.places.shape == (0, 2)


@pytest.mark.parametrize(
    "sent",
    [
        None,
        "drawn",
        [],
        ["other", 6, POINTS, False],
        ["one", 5, POINTS, False],
        ["one", 6.5, POINTS, False],
        ["one", True, POINTS, False],
        ["one", float("inf"), POINTS, False],
        ["one", 6, POINTS[:-1], False],
        ["one", 6, "abc", False],
        ["one", 6, [0.1, float("nan"), 0], False],
        ["one", 6, [0.1, "0.2", 0], False],
        ["one", 6, [0.1, 10**400, 0], False],
        ["one", 10**400, POINTS, False],
        ["one", 6, [0.1, 0.2, 6], False],
        ["one", 6, [0.1, 0.2, -1], False],
        ["one", 6, [0.1, 0.2, 0.5], False],
        ["one", 6, [0.1, 0.2, 0] * (MOST_POINTS + 1), False],
        ["one", 6, POINTS],
    ],
    ids=str,
)
def test_what_makes_no_sense_changes_nothing(sent: object) -> None:
    assert read(sent, FIRST) is None


@pytest.mark.parametrize("name", [name for name, _ in drawing.START.choices])
def test_start_sets_are_the_same_every_time_and_in_the_box(name: str) -> None:
    one, two = started(name), started(name)
    assert one.digest == two.digest
    assert one.places.min() >= 0
    assert one.places.max() <= 1
    assert set(one.classes.tolist()) <= set(range(CLASSES))
    assert np.array_equal(np.round(one.places, 4), one.places)


def test_history_has_an_end() -> None:
    now = FIRST
    for i in range(drawing.MOST_UNDO + 5):
        edited = read(["one", 10 + i, [i / 100, 0.5, 0], False], now)
        assert edited is not None
        now = edited
    assert len(now.before) == drawing.MOST_UNDO
