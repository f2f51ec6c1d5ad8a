"""Memory about an array: found by identity, gone with the array, and never stale."""

import numpy as np
import pytest

from dpviz.core import Box, as_points, fingerprint, frozen, unit_records
from dpviz.core.arrays import array_cache


def test_points_are_contiguous_floats():
    points = as_points(np.asfortranarray(np.arange(6).reshape(3, 2)))
    assert points.dtype == np.float64
    assert points.flags.c_contiguous
    assert points.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_no_records_are_records():
    assert as_points(np.empty((0, 3))).shape == (0, 3)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, 2.0], r"got \(2,\).*reshape"),
        (3.0, r"got \(\).*reshape"),
        (np.zeros((2, 2, 2)), r"\(2, 2, 2\)"),
        (np.zeros((4, 0)), r"d at least 1"),
        ([["a", "b"]], "could not be read as numbers"),
        ([[1.0, 2.0], [3.0]], "could not be read as numbers"),
        (np.ma.masked_array([[1.0, 2.0]], [[False, True]]), "masked cells"),
        (np.array([[1.0 + 0j, 2.0]]), "complex numbers"),
        ([[1.0, None]], "NaN or infinity in 1 of 1 rows"),
        ([[1.0, np.nan], [2.0, 3.0], [np.inf, -np.inf]], "NaN or infinity in 2 of 3 rows"),
    ],
)
def test_an_error_says_what_was_given(values, words):
    with pytest.raises(ValueError, match=words):
        as_points(values)


def test_the_number_of_columns_must_fit_the_box():
    assert as_points([[1.0, 2.0]], n_features=2).shape == (1, 2)
    with pytest.raises(ValueError, match="centers must have 3 columns like the box, got 2"):
        as_points([[1.0, 2.0]], n_features=3, name="centers")


def test_a_frozen_array_cannot_be_written():
    array = frozen(np.zeros(3))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1.0


def test_a_fingerprint_stands_for_shape_type_and_bits():
    array = np.arange(6.0).reshape(2, 3)
    assert fingerprint(array) == fingerprint(array.copy()) == fingerprint(np.asfortranarray(array))
    others = [array.T, array.ravel(), array.astype(np.float32), array + 1e-15, np.arange(6), array[:1]]
    assert len({fingerprint(other) for other in [array, *others]}) == 1 + len(others)


@pytest.fixture
def counted():
    """Return a cached sum and the list of its actual calls."""
    asked = []

    @array_cache(2)
    def total(array, power=1):
        asked.append((array.tolist(), power))
        return float((array**power).sum())

    return total, asked


def test_the_same_array_is_answered_once(counted):
    total, asked = counted
    array = frozen(np.array([1.0, 2.0]))
    assert [total(array), total(array), total(array, 2), total(array, 2)] == [3.0, 3.0, 5.0, 5.0]
    assert asked == [([1.0, 2.0], 1), ([1.0, 2.0], 2)]


@pytest.mark.parametrize("made", ["writable", "view"])
def test_an_array_that_can_change_is_answered_anew(counted, made):
    total, _ = counted
    owner = np.array([1.0, 2.0])
    array = owner if made == "writable" else frozen(owner[:])
    assert total(array) == 3.0
    owner[0] = 5.0
    assert total(array) == 7.0


def test_an_answer_goes_with_its_array(counted):
    total, asked = counted
    for i in range(20):  # a new array is likely to be put where an old one was
        array = frozen(np.full(3, float(i)))
        assert total(array) == 3.0 * i
        del array
    assert len(asked) == 20


def test_only_the_latest_are_kept(counted):
    total, asked = counted
    arrays = [frozen(np.array([float(i)])) for i in range(3)]
    for array in (*arrays, arrays[2], arrays[1], arrays[0]):
        assert total(array) == array[0]
    assert [values for values, _ in asked] == [[0.0], [1.0], [2.0], [0.0]]


def test_records_in_box_units_are_remembered_by_their_box():
    points = frozen(np.array([[0.0, 5.0], [2.0, -7.0]]))
    small, large = Box.cube(0.0, 1.0, 2), Box.cube(-10.0, 10.0, 2)
    for box in (small, large, small):
        unit = unit_records(points, box)
        np.testing.assert_array_equal(unit, box.to_unit(box.clip(points)))
        assert not unit.flags.writeable
    assert unit_records(points, Box.cube(0.0, 1.0, 2)) is unit
    with pytest.raises(ValueError, match="got 3"):
        unit_records(np.zeros((2, 3)), small)
