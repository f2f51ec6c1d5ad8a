import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.core import Box
from dpviz.data import TableError, read_table
from dpviz.data.bounds import clipping

TEXT = "x,y,name\n1,10,b\n2,,a\n3,30,\n4,50,b\n"


def table(text=TEXT):
    return read_table(io.BytesIO(text.encode()))


def test_clipping_is_what_the_data_set_does():
    box = Box([1.5, 0.0], [3.0, 20.0])
    done = table().clipping(["x", "y"], box, missing="drop")
    assert done.nonprivate_n_moved == table().dataset(["x", "y"], box=box, missing="drop").nonprivate_n_clipped == 3
    assert done.nonprivate_below.tolist() == [1, 0]
    assert done.nonprivate_above.tolist() == [1, 2]
    np.testing.assert_array_equal(done.nonprivate_farthest, [1, 30])


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=6))
def test_clipping_of_any_numbers_counts_each_once(values):
    done = clipping(np.array(values).reshape(-1, 1), Box.cube(-1.0, 2.0, 1))
    assert done.nonprivate_below.tolist() == [sum(value < -1 for value in values)]
    assert done.nonprivate_above.tolist() == [sum(value > 2 for value in values)]
    assert done.nonprivate_n_moved == sum(not -1 <= value <= 2 for value in values)
    assert done.nonprivate_farthest[0] == max([0.0, *(max(-1 - value, value - 2) for value in values)])


def test_missing_values_can_go_to_the_middle_of_public_bounds():
    box = Box([0.0, 0.0], [10.0, 100.0])
    filled = table().dataset(["x", "y"], box=box, missing="middle")
    np.testing.assert_array_equal(filled.points, [[1, 10], [2, 50], [3, 30], [4, 50]])
    # Other records do not matter: each row is filled by the bounds alone.
    more = table(TEXT + "9,99,c\n").dataset(["x", "y"], box=box, missing="middle")
    np.testing.assert_array_equal(more.points[:4], filled.points)
    labelled = table().dataset(["x", "y"], "name", box, "middle")
    np.testing.assert_array_equal(labelled.points[:, 0], [1, 2, 4])


def test_an_empty_column_in_the_middle_needs_typed_bounds():
    read = table("x,y\n1,nan\n2,inf\n")
    with pytest.raises(TableError, match="'y' had no number to take bounds from"):
        read.dataset(["x", "y"], missing="middle")
    assert read.dataset(["x", "y"], box=Box.cube(0, 4, 2), missing="middle").points[:, 1].tolist() == [2, 2]


def test_scaling_maps_the_bounds_to_0_and_1():
    box = Box([0.0, 0.0], [4.0, 100.0])
    dataset = table().dataset(["x", "y"], box=box, missing="drop", scaling="unit", units=("m", "kg"))
    assert dataset.box == Box.cube(0.0, 1.0, 2)
    np.testing.assert_allclose(dataset.points, [[0.25, 0.1], [0.75, 0.3], [1.0, 0.5]])
    assert dataset.units == ("", "")
    wide = table("x\n-1e308\n1e308\n").dataset(["x"], box=Box([-8e307], [8e307]), scaling="unit")
    np.testing.assert_array_equal(wide.points, [[0.0], [1.0]])


def test_units_are_kept_short_and_printable():
    dataset = table().dataset(["x"], box=Box.cube(0, 9, 1), units=("c\x07m" + "x" * 99,))
    assert dataset.units == ("cm" + "x" * 10,)
    assert table().dataset(["x"], box=Box.cube(0, 9, 1)).units == ("",)


def test_some_bounds_from_the_data_mark_them_all():
    dataset = table().dataset(["x"], box=Box.cube(0, 9, 1), bounds_from_data=True)
    assert dataset.bounds_from_data
    assert "not private" in dataset.bounds_note
    assert table().dataset(["x"], box=Box.cube(0, 9, 1)).bounds_note == "Typed by you."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scaling": "log"}, "scaling was 'log', but it must be one of none, unit"),
        ({"units": ("a", "b")}, "There were 2 units for 1 columns"),
        ({"share": 0.0}, "share of rows was 0.0, but it must be above 0 and at most 1"),
        ({"share": float("nan")}, "share of rows was nan"),
        ({"share": 1e-9}, "No row was kept: the share of rows was 1e-09. Keep a larger share"),
        ({"missing": "mean"}, "missing was 'mean', but it must be one of error, drop, middle"),
    ],
)
def test_errors_say_the_way_out(arguments, message):
    with pytest.raises(TableError, match=message):
        table().dataset(["x"], box=Box.cube(0, 9, 1), **arguments)


def test_no_label_at_all_is_no_row():
    with pytest.raises(TableError, match="No row was complete"):
        table("x,c\n1,\n2,\n").dataset(["x"], "c", Box.cube(0, 9, 1), "middle")
