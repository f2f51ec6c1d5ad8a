import inspect

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from dpviz.data import bundled, load


@pytest.mark.parametrize(("name", "source"), [("iris", load_iris), ("breast_cancer", load_breast_cancer)])
def test_the_public_box_cuts_no_record_off(name, source):
    original = source()
    dataset = load(name)
    np.testing.assert_array_equal(dataset.points, original.data)
    np.testing.assert_array_equal(dataset.labels, original.target)


def test_features_are_named_in_the_order_of_their_columns():
    assert load("breast_cancer").feature_names == tuple(load_breast_cancer().feature_names)
    assert tuple(f"{name} (cm)" for name in load("iris").feature_names) == tuple(load_iris().feature_names)


def test_no_bound_is_an_extreme_of_the_records():
    for name in ("iris", "breast_cancer"):
        dataset = load(name)
        assert (dataset.points.max(axis=0) < dataset.box.high).all()
        # 0 is the natural end of a length or ratio; any other lower bound must keep away.
        low = dataset.points.min(axis=0)
        assert ((low > dataset.box.low) | (dataset.box.low == 0)).all()
    source = inspect.getsource(bundled)
    assert ".min(" not in source
    assert ".max(" not in source


def test_image_labels_recolour_the_image():
    dataset = load("image")
    image = dataset.image
    assert (image.height, image.width) == (107, 160)
    np.testing.assert_array_equal(dataset.points.reshape(image.height, image.width, 3), image.colours)
    np.testing.assert_array_equal(dataset.box.high, [255.0] * 3)
    assert load("image", n=dataset.n).image is not None
    assert load("image", n=dataset.n - 1).image is None
