import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpviz.core import Box
from dpviz.stories import View, Words
from dpviz.stories.view import describe_region, find_inside

SQUARE = ((0.0, 0.0), (0.5, 0.0), (0.5, 0.5), (0.0, 0.5))


def winding(place, corners):
    """Add up the turns of the border around a place: an oracle that counts no crossings."""
    angles = np.arctan2(corners[:, 1] - place[1], corners[:, 0] - place[0])
    turns = (np.diff(np.append(angles, angles[0])) + np.pi) % (2 * np.pi) - np.pi
    return round(float(turns.sum()) / (2 * np.pi))


@given(arrays(float, (7, 2), elements=st.integers(0, 1000).map(lambda i: i / 1000)), st.integers(0, 10**6))
def test_a_polygon_holds_what_it_winds_around_an_odd_number_of_times(corners, seed):
    # The offset keeps places off the border.
    places = np.random.default_rng(seed).random((20, 2)) + 1e-7
    wanted = [winding(place, corners) % 2 == 1 for place in places]
    assert find_inside(places, corners).tolist() == wanted


@pytest.mark.parametrize("corners", [np.zeros((0, 2)), np.zeros((2, 2)), np.ones((5, 2))])
def test_no_area_holds_nothing(corners):
    assert not find_inside(np.random.default_rng(0).random((9, 2)), corners).any()
    assert find_inside(np.zeros((0, 2)), np.asarray(SQUARE)).shape == (0,)


def test_facts_are_those_of_all_records_inside():
    rng = np.random.default_rng(1)
    unit = rng.random((400, 3))
    classes = rng.integers(0, 9, 400)
    words = Words("Set", Box((0, 0, 10), (100, 1, 20)), ("a", "b", "c"), ("mm", "", ""))
    held = (unit[:, 2] < 0.5) & (unit[:, 0] < 0.5)
    lines = describe_region(SQUARE, unit, words, View(2, 0), classes)
    assert lines[0].startswith(f"Selected: {held.sum()} of 400 records (")
    values = 10 + 10 * unit[held, 2]
    assert lines[1] == f"c: {values.min():.3g} to {values.max():.3g}, mean {values.mean():.3g}"
    assert lines[2].startswith("a: ")
    assert " mm, mean " in lines[2]
    largest = np.bincount(classes[held]).argmax()
    assert lines[3].startswith(f"Known classes: class {largest + 1}: {np.bincount(classes[held]).max()}")
    assert lines[3].endswith(" and 3 more")


def test_nothing_selected_is_said_without_numbers_of_it():
    words = Words("Set", Box((0, 0), (1, 1)), ("a", "b"), ("", ""))
    assert describe_region(SQUARE, np.full((5, 2), 0.9), words, View()) == ("Selected: 0 of 5 records (0 %)",)
    assert describe_region(SQUARE, np.zeros((0, 2)), words, View()) == ("Selected: 0 of 0 records",)
