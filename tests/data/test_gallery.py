import numpy as np
import pytest

from dpviz.core import KnobError
from dpviz.data import DATASETS, data_knobs, known_groups, load, size_limits

SHAPES = ("spirals", "anisotropic", "nested", "outliers", "imbalanced", "mixture")
SYNTHETIC = ("blobs", "moons", "circles", *SHAPES, "null", "city")
REAL = {
    "iris": (150, 4),
    "breast_cancer": (569, 30),
    "wine": (178, 13),
    "digits": (1_797, 16),
    "diabetes": (442, 10),
    "gapminder": (1_704, 3),
    "carshare": (249, 4),
    "image": (17_120, 3),
    "flower": (17_120, 3),
}


def test_gallery_order():
    assert [name for name in DATASETS if name in (*SYNTHETIC, *REAL)] == [*SYNTHETIC, *REAL]


@pytest.mark.parametrize("name", DATASETS)
def test_every_set_is_well_formed(name):
    dataset = load(name)
    assert dataset.n == size_limits(name).default
    assert dataset.points.dtype == np.float64
    assert not dataset.points.flags.writeable
    assert (dataset.points >= dataset.box.low).all()
    assert (dataset.points <= dataset.box.high).all()
    assert len(dataset.feature_names) == len(dataset.units) == dataset.d == dataset.box.d
    assert dataset.note.endswith(".")
    assert dataset.bounds_note.endswith(".")
    assert not dataset.bounds_from_data
    if dataset.labels is not None:
        assert dataset.labels.dtype == np.intp
        classes = np.unique(dataset.labels)
        np.testing.assert_array_equal(classes, np.arange(len(classes)))


@pytest.mark.parametrize("name", DATASETS)
def test_the_known_groups_are_those_of_the_classes(name):
    """Records that are scattered on purpose are a class and not a group."""
    labels = load(name).labels
    scattered = name in ("city", "outliers")
    assert known_groups(name) == (None if labels is None else len(np.unique(labels)) - scattered)


def test_the_known_groups_follow_the_knob_that_makes_them():
    assert known_groups("blobs", n_clusters=8, overlap=0.1) == 8
    with pytest.raises(KnobError, match="no parameters"):
        known_groups("iris", n_clusters=8)


@pytest.mark.parametrize("name", DATASETS)
def test_a_seed_decides_the_records_and_not_the_box(name):
    first, again, other = (load(name, n=100, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.points, again.points)
    if first.labels is not None:
        np.testing.assert_array_equal(first.labels, again.labels)
    assert not np.array_equal(first.points, other.points)
    for seed, n in enumerate((0, 1, np.int64(7))):
        few = load(name, n=n, seed=seed)
        assert (few.n, few.box) == (n, load(name).box)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if i % 2 else ()) for i, name in enumerate(SYNTHETIC)]
)
def test_a_million_records(name):
    n = 1_000_000
    assert load(name, n=n).n == n


@pytest.mark.parametrize(("name", "shape"), REAL.items())
def test_real_sets_are_subsampled_in_their_order(name, shape):
    whole, part = load(name), load(name, n=40, seed=2)
    assert len(whole.points) == size_limits(name).maximum
    assert whole.points.shape == shape
    assert part.points.shape == (40, shape[1])
    assert part.image is None
    # Each record of the part is found after the record before it.
    place = -1
    for record in part.points:
        later = np.flatnonzero((whole.points[place + 1 :] == record).all(axis=1))
        assert later.size
        place += 1 + int(later[0])


def test_subsample_is_without_replacement():
    part = load("image", n=17_119)
    whole = load("image")
    assert part.n == whole.n - 1
    # Dropping one record only: the two agree up to it and, moved by one, after it.
    agree = (part.points == whole.points[:-1]).all(axis=1)
    gone = part.n if agree.all() else int(np.argmin(agree))
    np.testing.assert_array_equal(part.points[gone:], whole.points[gone + 1 :])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "nope"}, "data set must be one of blobs, moons.*got 'nope'"),
        ({"name": ["blobs"]}, "must be one of"),
        ({"name": "iris", "n": 151}, "n must be from 0 to 150 for iris, got 151. Pass n=None"),
        ({"name": "blobs", "n": -1}, "n must be from 0 to 1000000 for blobs, got -1"),
        ({"name": "blobs", "n": 10**400}, "n must be from 0 to 1000000 for blobs"),
        ({"name": "blobs", "n": 2.0}, "n must be a whole number, got 2.0"),
        ({"name": "blobs", "n": True}, "n must be a whole number, got True"),
        ({"name": "blobs", "seed": -1}, "seed must be .*got -1"),
        ({"name": "blobs", "seed": "0"}, "seed must be .*got '0'"),
        ({"name": "blobs", "n": 1_000_000, "n_features": 50}, "Lower n to 200000"),
        ({"name": "null", "n": 1_000_000, "n_features": 50}, "Lower n to 200000"),
    ],
)
def test_errors_say_the_way_out(arguments, message):
    with pytest.raises(ValueError, match=message):
        load(**arguments)


@pytest.mark.parametrize(
    ("name", "knobs", "message"),
    [
        ("blobs", {"noise": 1.0}, "blobs does not have the parameter 'noise': its parameters are n_clusters, overlap"),
        ("iris", {"noise": 1.0}, "it has no parameters"),
        ("city", {"noise": 1.0}, "it has no parameters"),
        ("blobs", {"overlap": 1.5}, "overlap must be from 0 to 1, got 1.5"),
        ("blobs", {"n_clusters": 2.5}, "n_clusters must be a whole number.*got 2.5"),
        ("blobs", {"imbalance": 0.96}, "imbalance must be .*got 0.96"),
        ("moons", {"noise": -0.1}, "noise must be .*got -0.1"),
        ("circles", {"noise": "much"}, "noise must be .*got 'much'"),
        ("null", {"n_features": 51}, "n_features must be .*got 51"),
    ],
)
def test_knob_errors(name, knobs, message):
    with pytest.raises(KnobError, match=message):
        load(name, **knobs)


@pytest.mark.parametrize("name", DATASETS)
def test_knobs_at_their_ends_load(name):
    for made in data_knobs(name):
        for value in (made.low, made.high):
            value = int(value) if made.kind == "int" else value
            assert made.parse(made.format(value)) == value
            assert load(name, n=50, **{made.name: value}).n == 50


@pytest.mark.parametrize("function", [data_knobs, size_limits])
def test_other_lookups_refuse_unknown_names(function):
    with pytest.raises(ValueError, match="one of blobs"):
        function("nope")


def test_a_set_of_many_features_can_be_projected():
    whole = load("digits", n=50, seed=3)
    fewer = load("digits", n=50, seed=3, n_projected=4, projection_seed=7)
    np.testing.assert_array_equal(fewer.points, whole.projected(4, seed=7).points)
    assert (fewer.d, load("digits", n=50, seed=3, projection_seed=7).d) == (4, whole.d)
    assert [knob.name for knob in data_knobs("breast_cancer")] == ["n_projected", "projection_seed"]
