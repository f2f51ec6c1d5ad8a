import io

import numpy as np
import pytest
from sklearn.decomposition import PCA

from dpviz.core import Box
from dpviz.data import Choices, read_table
from dpviz.plots import Axis
from dpviz.stories import View, Words
from dpviz.stories.view import project, spread


def words(d):
    low = np.linspace(-3.0, 2.0, d)
    return Words("title", Box(low, low + 4.0), tuple(f"f{i}" for i in range(d)), tuple(f"u{i}" for i in range(d)))


def records(d, n=200, seed=0):
    """Draw records whose directions differ in variance and are not axes."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return 0.5 + 0.1 * rng.standard_normal((n, d)) * 2.0 ** -np.arange(d) @ turn.T


VIEWS = [(2, View()), (5, View(3, 1)), (3, View(principal=True)), (5, View(principal=True)), (2, View(principal=True))]


@pytest.mark.parametrize(("d", "view"), VIEWS)
def test_columns_are_orthonormal_so_that_balls_stay_round(d, view):
    plane = project(view, words(d), records(d))
    assert plane.matrix.shape == (d, 2)
    assert plane.matrix.T @ plane.matrix == pytest.approx(np.eye(2), abs=1e-12)
    assert plane.d == d
    assert not plane.matrix.flags.writeable


@pytest.mark.parametrize("d", [1, 2, 5])
def test_features_are_projected_as_they_are(d):
    unit = records(d)
    view = View(d - 1, 0)
    plane = project(view, words(d), unit)
    drawn = plane(unit)
    assert np.array_equal(drawn[:, 0], unit[:, d - 1])
    assert np.array_equal(drawn[:, 1], np.full(len(unit), 0.5) if d == 1 else unit[:, 0])
    assert not plane.nonprivate
    box = words(d).box
    assert plane.x.label == f"f{d - 1}"
    assert plane.x.unit == f"u{d - 1}"
    assert plane.x.values == (box.low[d - 1], box.high[d - 1])
    assert plane.y.ticks is (d > 1)
    assert project(view, words(d), records(d, n=7, seed=9)).x == plane.x, "the axes are public"


@pytest.mark.parametrize("d", [3, 5, 20])
@pytest.mark.parametrize("seed", range(3))
def test_principal_directions_are_those_of_pca_up_to_sign(d, seed):
    unit = records(d, seed=seed)
    plane = project(View(principal=True), words(d), unit)
    pca = PCA(n_components=2).fit(unit)
    for ours, theirs in zip(plane.matrix.T, pca.components_, strict=True):
        assert abs(ours @ theirs) == pytest.approx(1.0, abs=1e-9)
        assert ours[np.abs(ours).argmax()] > 0, "the sign is fixed"
    assert plane.nonprivate
    assert plane.corners is None
    for axis, share in zip((plane.x, plane.y), pca.explained_variance_ratio_, strict=True):
        assert f"({100 * share:.0f} % of the variance)" in axis.label


def test_principal_views_hold_every_record_around_the_middle_of_the_box():
    unit = records(5)
    plane = project(View(principal=True), words(5), unit)
    drawn = plane(unit)
    for i, axis in enumerate((plane.x, plane.y)):
        assert axis.view[0] < drawn[:, i].min()
        assert axis.view[1] > drawn[:, i].max()
    assert plane(np.full(5, 0.5)) == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("unit", [np.zeros((0, 4)), np.full((1, 4), 0.3), np.full((9, 4), 0.3), np.eye(4)[:2]], ids=str)
def test_principal_directions_of_hardly_anything(unit):
    plane = project(View(principal=True), words(4), unit)
    assert plane.matrix.T @ plane.matrix == pytest.approx(np.eye(2), abs=1e-12)
    for axis in (plane.x, plane.y):
        assert isinstance(axis, Axis)
        assert np.isfinite(axis.view).all()
        assert axis.view[0] < axis.view[1]
        assert "nan" not in axis.label
    assert np.isfinite(plane(unit)).all()


def test_one_feature_is_a_strip_filled_evenly():
    unit = records(1, n=400)
    plane = project(View(), words(1), unit)
    drawn = spread(unit, plane)
    assert np.array_equal(drawn[:, 0], unit[:, 0])
    counts = np.histogram(drawn[:, 1], bins=10, range=(0, 1))[0]
    assert counts.sum() == 400
    assert abs(counts - 40).max() <= 2, "multiples of the golden ratio leave no gaps"
    assert spread(np.zeros((0, 1)), plane).shape == (0, 2)
    assert np.array_equal(spread(unit[:50], plane), drawn[:50])


def test_two_features_are_never_turned():
    assert not project(View(principal=True), words(2), records(2)).nonprivate
    assert np.array_equal(spread(records(2), project(View(), words(2), records(2))), records(2))


def test_what_lies_outside_is_pinned_to_the_edge_on_its_way_to_the_middle():
    plane = project(View(), words(2), np.empty((0, 2)))
    places = np.random.default_rng(0).uniform(-3.0, 4.0, (500, 2))
    inside = ((places >= 0.0) & (places <= 1.0)).all(axis=1)
    pinned = plane.pinned(places)
    assert pinned[inside] == pytest.approx(places[inside])
    edge = np.abs(pinned[~inside] - 0.5).max(axis=1)
    assert edge == pytest.approx(0.5)
    ways = [each - 0.5 for each in (places[~inside], pinned[~inside])]
    assert ways[0][:, 0] * ways[1][:, 1] == pytest.approx(ways[0][:, 1] * ways[1][:, 0])
    assert (np.sign(ways[0]) == np.sign(ways[1])).all()


def test_axes_of_a_scaled_set_show_the_features_own_units():
    text = "lat,lon,age\n48.1,11.1,30\n48.15,11.2,60\n"
    choices = Choices(
        ("lat", "lon", "age"),
        scaling="unit",
        bounds=((48.0, 48.2), (11.0, 11.3), (20.0, 80.0)),
        units=("", "", "years"),
        place=("lat", "lon"),
        per_kilometer=(None, None, 10.0),
    )
    dataset = choices.dataset(read_table(io.BytesIO(text.encode())))
    words = Words.from_dataset(dataset)
    plane = project(View(0, 2), words, np.empty((0, 3)))
    meters = dataset.scale.before.high[0]
    assert (plane.x.unit, plane.x.values) == ("m", pytest.approx((-meters, meters)))
    assert plane.y.unit == "years"
    low, high = plane.y.values
    assert high - low == pytest.approx(2.0 * meters / 1000.0 * 10.0), "a kilometer is as long as 10 years"
    assert (low + high) / 2.0 == pytest.approx(50.0)
    assert words.along(2, 0.5) == pytest.approx(50.0)
    mixed = Words.from_dataset(dataset.projected(2))
    assert project(View(), mixed, np.empty((0, 2))).x.unit == "", "a mix has no unit"
