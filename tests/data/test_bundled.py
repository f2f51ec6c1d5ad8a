import inspect

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

from dpviz.data import bundled, load

REAL = ("iris", "breast_cancer", "wine", "digits", "diabetes", "gapminder", "carshare")


@pytest.mark.parametrize(
    ("name", "source"), [("iris", load_iris), ("breast_cancer", load_breast_cancer), ("wine", load_wine)]
)
def test_the_public_box_cuts_no_record_off(name, source):
    original = source()
    dataset = load(name)
    np.testing.assert_array_equal(dataset.points, original.data)
    np.testing.assert_array_equal(dataset.labels, original.target)


def test_features_are_named_in_the_order_of_their_columns():
    assert load("breast_cancer").feature_names == tuple(load_breast_cancer().feature_names)
    assert tuple(f"{name} (cm)" for name in load("iris").feature_names) == tuple(load_iris().feature_names)


def test_no_bound_is_an_extreme_of_the_records():
    for name in REAL:
        dataset = load(name)
        # The whole range of the file, 0 to 64, may well occur.
        assert (dataset.points.max(axis=0) < dataset.box.high).all() or dataset.bounds_note != bundled.OUTWARD
        # 0 is the natural end of a length or ratio; any other lower bound must be at a distance.
        low = dataset.points.min(axis=0)
        assert ((low > dataset.box.low) | (dataset.box.low == 0)).all()
    source = inspect.getsource(bundled)
    assert ".min(" not in source
    assert ".max(" not in source


def test_ink_is_added_up_in_blocks():
    dataset, original = load("digits"), load_digits()
    np.testing.assert_array_equal(dataset.labels, original.target)
    for feature, name in enumerate(dataset.feature_names):
        row, column = (int(word) - 1 for word in name.removeprefix("ink ").split("."))
        block = original.images[:, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
        np.testing.assert_array_equal(dataset.points[:, feature], block.sum(axis=(1, 2)))
    assert len(set(dataset.feature_names)) == 16


def test_patients_are_those_of_scikit_learn():
    dataset, original = load("diabetes"), load_diabetes(scaled=False)
    order = [
        original.feature_names.index(name) for name in ("age", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6", "sex")
    ]
    np.testing.assert_array_equal(dataset.points, original.data[:, order])


def test_tables_of_plotly_are_read_as_they_are_or_the_way_out_is_said(monkeypatch):
    gapminder = load("gapminder")
    # Afghanistan in 1952, the first row of the table; five continents.
    np.testing.assert_array_equal(gapminder.points[0], [779.4453145, 28.801, 8425333])
    assert len(np.unique(gapminder.labels)) == 5
    carshare = load("carshare")
    assert ((carshare.points > carshare.box.low)[:, :3]).all()
    assert carshare.labels is None
    monkeypatch.setattr(bundled, "find_spec", lambda _: None)
    with pytest.raises(ValueError, match=r"comes with Plotly, which is not installed\. Install"):
        load("gapminder")


@pytest.mark.parametrize("name", ["image", "flower"])
def test_image_labels_recolor_the_image(name):
    dataset = load(name)
    image = dataset.image
    assert (image.height, image.width) == (107, 160)
    np.testing.assert_array_equal(dataset.points.reshape(image.height, image.width, 3), image.colors)
    np.testing.assert_array_equal(dataset.box.high, [255.0] * 3)
    assert load(name, n=dataset.n).image is not None
    assert load(name, n=dataset.n - 1).image is None
