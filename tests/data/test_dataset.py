import dataclasses

import numpy as np
import pytest

from dpviz.core import Box
from dpviz.data import Dataset, Image

BOX = Box.cube(0.0, 1.0, 2)
POINTS = np.array([[0.0, 0.5], [1.0, 0.25]])


def test_arrays_are_copies_and_read_only():
    points = POINTS.copy()
    dataset = Dataset(points, np.array([0, 1], dtype=np.int32), BOX, ("a", "b"), "T")
    points[0, 0] = 9.0
    assert dataset.points[0, 0] == 0.0
    assert dataset.points.dtype == np.float64
    assert dataset.labels.dtype == np.intp
    for array in (dataset.points, dataset.labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert points.flags.writeable


def test_defaults_and_sizes_also_without_records():
    dataset = Dataset(POINTS, None, BOX, ("a", "b"), "T")
    assert (dataset.n, dataset.d, dataset.units) == (2, 2, ("", ""))
    assert dataset.image is None
    assert not dataset.bounds_from_data
    with pytest.raises(dataclasses.FrozenInstanceError):
        dataset.title = "other"
    dataset = Dataset(np.empty((0, 2)), np.empty(0), BOX, ("a", "b"), "T")
    assert dataset.n == 0
    assert dataset.labels.dtype == np.intp


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"points": POINTS + 0.5}, "1 of 2 are outside"),
        ({"points": np.full((2, 2), np.nan)}, "NaN or infinity"),
        ({"points": np.zeros((2, 3))}, "must have 2 columns like the box, got 3"),
        ({"labels": np.array([0])}, r"labels must have shape \(2,\), got \(1,\)"),
        ({"labels": np.array([0.0, 1.0])}, "must be integers"),
        ({"labels": np.array([-1, 0])}, "down to -1"),
        ({"feature_names": ("a",)}, "feature_names must have one entry for each of the 2 features, got 1"),
        ({"units": ("m",)}, "units must have one entry for each of the 2 features, got 1"),
        ({"image": Image(1, 1, np.zeros((1, 1, 3)))}, "each of the 2 records, got 1 x 1 pixels"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes, message):
    parts = {"points": POINTS, "labels": None, "box": BOX, "feature_names": ("a", "b"), "title": "T"}
    with pytest.raises(ValueError, match=message):
        Dataset(**(parts | changes))


def test_image_checks_and_freezes_its_colors():
    image = Image(2, 1, np.full((2, 1, 3), 255))
    assert image.colors.dtype == np.uint8
    assert not image.colors.flags.writeable
    with pytest.raises(ValueError, match=r"colors must .* got shape \(1, 2, 3\)"):
        Image(2, 1, np.zeros((1, 2, 3)))
