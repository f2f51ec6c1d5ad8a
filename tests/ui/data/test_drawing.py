"""Drawings: valid messages of a browser and of a settings file, and the file's exact reproduction of a drawing."""

import contextlib
import json
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpviz.core import frozen
from dpviz.ui.data import drawing
from dpviz.ui.data.drawing import CLASSES, MOST_POINTS, NOT_HERE, Drawing, DrawnPoints, edited, start_sheet
from dpviz.ui.export.settings import FORMAT, MOST_BYTES, VERSION, Settings, SettingsError, read, write

FIRST = Drawing("one", start_sheet("one"), number=5)
FLAT = [0.25, 0.5, 0, 0.75, 1.0, 3]


def test_an_edit_takes_the_place_of_the_points_and_keeps_those_before() -> None:
    after = edited(["one", 6, FLAT, False], FIRST)
    assert after is not None
    assert after.sheet.places.tolist() == [[0.25, 0.5], [0.75, 1.0]]
    assert after.sheet.classes.tolist() == [0, 3]
    assert after.before == (FIRST.sheet,)
    assert after.number == 6
    assert after.id == FIRST.id
    outside, empty = (edited(["one", 6, flat, False], FIRST) for flat in ([-1.0, 7.0, 1], []))
    assert outside is not None
    assert outside.sheet.places.tolist() == [[0.0, 1.0]], "on the wall"
    assert empty is not None
    assert empty.sheet.places.shape == (0, 2), "nothing left is a drawing, too"


def test_undo_goes_back_step_by_step_and_not_beyond_the_start() -> None:
    after = edited(["one", 6, FLAT, False], FIRST)
    assert after is not None
    again = edited(["one", 7, FLAT[:3], False], after)
    assert again is not None
    sent = again.sheet.places.ravel().tolist()
    back = edited(["one", 8, [*sent, 0], True], again)
    assert back is not None
    assert back.sheet is after.sheet
    back = edited(["one", 9, FLAT, True], back)
    assert back is not None
    assert back.sheet is FIRST.sheet
    assert back.before == ()
    back = edited(["one", 6, FLAT, True], FIRST)
    assert back is not None
    assert back.sheet is FIRST.sheet, "an edit that had not arrived is taken back"


@pytest.mark.parametrize(
    "sent",
    [
        None,
        "drawn",
        [],
        ["other", 6, FLAT, False],
        ["one", 5, FLAT, False],
        ["one", 6.5, FLAT, False],
        ["one", True, FLAT, False],
        ["one", float("inf"), FLAT, False],
        ["one", 6, FLAT[:-1], False],
        ["one", 6, "abc", False],
        ["one", 6, [0.1, float("nan"), 0], False],
        ["one", 6, [0.1, "0.2", 0], False],
        ["one", 6, [0.1, 10**400, 0], False],
        ["one", 10**400, FLAT, False],
        ["one", 6, [0.1, 0.2, 6], False],
        ["one", 6, [0.1, 0.2, -1], False],
        ["one", 6, [0.1, 0.2, 0.5], False],
        ["one", 6, [0.1, 0.2, 0] * (MOST_POINTS + 1), False],
        ["one", 6, FLAT],
    ],
    ids=str,
)
def test_what_makes_no_sense_changes_nothing(sent: object) -> None:
    assert edited(sent, FIRST) is None


@pytest.mark.parametrize("name", [name for name, _ in drawing.START.choices])
def test_start_sets_are_the_same_every_time_and_in_the_box(name: str) -> None:
    one, two = start_sheet(name), start_sheet(name)
    assert one.digest == two.digest
    assert one.places.min() >= 0
    assert one.places.max() <= 1
    assert set(one.classes.tolist()) <= set(range(CLASSES))
    assert np.array_equal(np.round(one.places, 4), one.places)


def test_history_has_an_end() -> None:
    now = FIRST
    for i in range(drawing.MOST_UNDO + 5):
        after = edited(["one", 10 + i, [i / 100, 0.5, 0], False], now)
        assert after is not None
        now = after
    assert len(now.before) == drawing.MOST_UNDO


DRAW = (("data", "draw"), ("drawing", "one"))
GOOD = {"format": FORMAT, "version": VERSION, "page": "dpm", "data": dict(DRAW)}
SHARES = st.floats(0.0, 1.0)
POINTS = st.lists(st.tuples(SHARES, SHARES, st.integers(0, CLASSES - 1)), max_size=40)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.just(10**400) | st.text(max_size=9),
    lambda c: st.lists(c, max_size=4) | st.dictionaries(st.text(max_size=9), c, max_size=4),
)


def file_with(drawing, **changes):
    return json.dumps({**GOOD, "drawing": drawing, **changes}).encode()


@given(POINTS)
def test_what_is_drawn_comes_back_to_the_bit(points):
    table = np.array(points, dtype=np.float64).reshape(-1, 3)
    drawn = DrawnPoints(frozen(table[:, :2].copy()), frozen(table[:, 2].astype(np.intp)))
    found = read(write(Settings("dpm", DRAW, sheet=drawn), guarantees=[]).encode()).sheet
    assert found is not None
    assert found.digest == drawn.digest


def test_the_largest_drawing_fits_into_a_file():
    rng = np.random.default_rng(0)
    places, classes = rng.random((MOST_POINTS, 2)) / 3.0, rng.integers(0, CLASSES, MOST_POINTS).astype(np.intp)
    text = write(Settings("dpm", DRAW, sheet=DrawnPoints(frozen(places), frozen(classes))), guarantees=[]).encode()
    assert len(text) < 0.8 * MOST_BYTES
    found = read(text).sheet
    assert found is not None
    assert np.array_equal(found.places, places)
    assert np.array_equal(found.classes, classes)
    assert not found.places.flags.writeable


def test_only_a_drawing_has_points_or_says_that_they_are_not_here():
    text = write(Settings("dpm", DRAW), guarantees=[])
    assert json.loads(text)["drawing"] == {"note": NOT_HERE}
    found = read(text.encode())
    assert found.is_drawn
    assert found.sheet is None
    assert "drawing" not in json.loads(write(Settings("dpm", (("data", "iris"),)), guarantees=[]))
    with pytest.raises(SettingsError, match="its data are not"):
        read(file_with({"points": [[0.5, 0.5, 0]]}, data={"data": "iris"}))


@pytest.mark.parametrize(
    "point",
    [
        [0.5, 0.5],
        [0.5, 0.5, 0, 0],
        [0.5, 1.0000001, 0],
        [-1e-300, 0.5, 0],
        [0.5, 0.5, CLASSES],
        [0.5, 0.5, -1],
        [0.5, 0.5, 0.5],
        [0.5, "0.5", 0],
        [True, 0.5, 0],
        [0.5, 0.5, False],
        [None, 0.5, 0],
        [[0.5], 0.5, 0],
        [10**400, 0.5, 0],
        [0.5, 0.5, 10**400],
        {"0": 0.5},
        "abc",
        None,
        7,
    ],
    ids=repr,
)
def test_a_wrong_point_is_named(point):
    with pytest.raises(SettingsError, match=r"drawn point 2 must be \[across, up, class\]"):
        read(file_with({"points": [[0.5, 0.5, 0], point]}))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 5000])
def test_a_number_that_is_none_is_refused(number):
    with pytest.raises(SettingsError):
        read(file_with({"points": [[0.5, 0.25, 0]]}).replace(b"0.25", number.encode()))


def test_too_many_points_are_refused():
    assert read(file_with({"points": [[0.5, 0.5, 0]] * MOST_POINTS})).sheet is not None
    with pytest.raises(SettingsError, match="A drawing has at most 5,000 points, but the file has 5,001"):
        read(file_with({"points": [[0.5, 0.5, 0]] * (MOST_POINTS + 1)}))


@pytest.mark.parametrize("drawing", [None, [], "points", 7, {"points": {}}, {"points": "abc"}, {"points": 7}])
def test_a_drawing_of_another_shape_is_refused(drawing):
    with pytest.raises(SettingsError, match=r"^The file's drawing must|^The file's drawn points must"):
        read(file_with(drawing))


@given(ANY | st.fixed_dictionaries({"points": ANY | st.lists(st.lists(ANY, min_size=3, max_size=3), max_size=4)}))
@example({"points": [[10**400, math.nan, math.inf]]})
def test_nothing_else_than_a_refusal_or_a_drawing_in_the_box_comes_of_any_json(drawing):
    with contextlib.suppress(SettingsError):
        found = read(file_with(drawing)).sheet
        if found is not None:
            assert len(found.places) <= MOST_POINTS
            assert ((found.places >= 0) & (found.places <= 1)).all()
            assert set(found.classes.tolist()) <= set(range(CLASSES))
