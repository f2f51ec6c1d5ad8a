import numpy as np
import pytest

from dpviz.core import as_points, fingerprint, frozen


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
        ([1.0, 2.0], r"shape \(2,\).*reshape"),
        (3.0, r"shape \(\).*reshape"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        (np.zeros((4, 0)), r"d >= 1"),
        ([["a", "b"]], "could not be read as numbers"),
        ([[1.0, 2.0], [3.0]], "could not be read as numbers"),
        ([[1.0, None]], "NaN or infinity in 1 of 1 rows"),
        ([[1.0, np.nan], [2.0, 3.0], [np.inf, -np.inf]], "NaN or infinity in 2 of 3 rows"),
    ],
)
def test_an_error_says_what_was_given(values, words):
    with pytest.raises(ValueError, match=words):
        as_points(values)


def test_the_number_of_columns_must_fit_the_box():
    assert as_points([[1.0, 2.0]], n_features=2).shape == (1, 2)
    with pytest.raises(ValueError, match="centers had 2 columns, but the box has 3"):
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
