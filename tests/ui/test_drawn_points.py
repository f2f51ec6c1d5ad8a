"""A drawing in a file of settings: what is written is read again to the bit, and every number of another is checked."""

import contextlib
import json
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpviz.core import frozen
from dpviz.ui.data.drawn_points import CLASSES, MOST_POINTS, NOT_HERE, DrawnPoints
from dpviz.ui.export.config import FORMAT, MOST_BYTES, VERSION, Config, ConfigError, read, write

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


def hand_made(points):
    table = np.array(points, dtype=np.float64).reshape(-1, 3)
    return DrawnPoints(frozen(table[:, :2].copy()), frozen(table[:, 2].astype(np.intp)))


@given(POINTS)
def test_what_is_drawn_comes_back_to_the_bit(points):
    drawn = hand_made(points)
    found = read(write(Config("dpm", DRAW, sheet=drawn), guarantees=[]).encode()).sheet
    assert found is not None
    assert found.digest == drawn.digest


def test_the_largest_drawing_fits_into_a_file():
    rng = np.random.default_rng(0)
    places, classes = rng.random((MOST_POINTS, 2)) / 3.0, rng.integers(0, CLASSES, MOST_POINTS).astype(np.intp)
    text = write(Config("dpm", DRAW, sheet=DrawnPoints(frozen(places), frozen(classes))), guarantees=[]).encode()
    assert len(text) < 0.8 * MOST_BYTES
    found = read(text).sheet
    assert found is not None
    assert np.array_equal(found.places, places)
    assert np.array_equal(found.classes, classes)
    assert not found.places.flags.writeable


def test_a_file_without_points_says_so_and_asks_for_nothing():
    text = write(Config("dpm", DRAW), guarantees=[])
    assert json.loads(text)["drawing"] == {"note": NOT_HERE}
    found = read(text.encode())
    assert found.is_drawn
    assert found.sheet is None


def test_no_other_data_have_a_drawing():
    assert "drawing" not in json.loads(write(Config("dpm", (("data", "iris"),)), guarantees=[]))
    with pytest.raises(ConfigError, match="its data are not"):
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
    with pytest.raises(ConfigError, match=r"drawn point 2 must be \[across, up, class\]"):
        read(file_with({"points": [[0.5, 0.5, 0], point]}))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 5000])
def test_a_number_that_is_none_is_refused(number):
    with pytest.raises(ConfigError):
        read(file_with({"points": [[0.5, 0.25, 0]]}).replace(b"0.25", number.encode()))


def test_too_many_points_are_refused():
    assert read(file_with({"points": [[0.5, 0.5, 0]] * MOST_POINTS})).sheet is not None
    with pytest.raises(ConfigError, match="has 5,001 drawn points, but a drawing has at most 5,000"):
        read(file_with({"points": [[0.5, 0.5, 0]] * (MOST_POINTS + 1)}))


@pytest.mark.parametrize("drawing", [None, [], "points", 7, {"points": {}}, {"points": "abc"}, {"points": 7}])
def test_a_drawing_of_another_shape_is_refused(drawing):
    with pytest.raises(ConfigError, match=r"^The file's drawing must|^The file's drawn points must"):
        read(file_with(drawing))


@given(ANY | st.fixed_dictionaries({"points": ANY | st.lists(st.lists(ANY, min_size=3, max_size=3), max_size=4)}))
@example({"points": [[10**400, math.nan, math.inf]]})
def test_nothing_else_than_a_refusal_or_a_drawing_in_the_box_comes_of_any_json(drawing):
    with contextlib.suppress(ConfigError):
        found = read(file_with(drawing)).sheet
        if found is not None:
            assert len(found.places) <= MOST_POINTS
            assert ((found.places >= 0) & (found.places <= 1)).all()
            assert set(found.classes.tolist()) <= set(range(CLASSES))
