import numpy as np
import pytest

from dpviz.core import Box
from dpviz.data import load
from dpviz.data.synthetic import INNER_RADIUS, cluster_weights


def spread_of(dataset):
    """Root mean square distance per axis of records to the mean of their cluster."""
    squares = 0.0
    for label in np.unique(dataset.labels):
        members = dataset.points[dataset.labels == label]
        squares += ((members - members.mean(axis=0)) ** 2).sum()
    return np.sqrt(squares / dataset.points.size)


@pytest.mark.parametrize("d", [1, 2, 10])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_overlap_raises_the_spread(d, seed):
    spreads = [spread_of(load("blobs", seed=seed, overlap=o, n_features=d)) for o in np.linspace(0, 1, 11)]
    assert (np.diff(spreads) > 0).all()


def mean_distances(dataset):
    """Smallest distance of two cluster means, in within-cluster spreads."""
    means = np.array([dataset.points[dataset.labels == label].mean(axis=0) for label in np.unique(dataset.labels)])
    distances = np.linalg.norm(means[:, None] - means[None], axis=2)
    return distances[np.triu_indices(len(means), 1)].min() / spread_of(dataset)


@pytest.mark.parametrize("d", [2, 10, 50])
def test_overlap_goes_from_separate_to_merged(d):
    assert mean_distances(load("blobs", overlap=0.0, n_features=d)) > 9
    assert 4.5 < mean_distances(load("blobs", n_features=d)) < 5.6
    # Below 2 sigma the sum of two Gaussians has one peak.
    assert mean_distances(load("blobs", overlap=1.0, n_features=d)) < 2


@pytest.mark.parametrize("n_clusters", [1, 5, 20])
@pytest.mark.parametrize("overlap", [0.0, 0.35, 1.0])
@pytest.mark.parametrize("d", [2, 50])
def test_no_cluster_is_cut_by_a_wall(n_clusters, overlap, d):
    dataset = load("blobs", n=4000, n_clusters=n_clusters, overlap=overlap, n_features=d)
    on_wall = (dataset.points == dataset.box.low) | (dataset.points == dataset.box.high)
    # At worst every center is 3.5 sigma from both walls of every axis: 2 * 2.33e-4 of the values are beyond.
    expected = 2 * 2.33e-4 * dataset.points.size
    assert on_wall.sum() <= expected + 6 * np.sqrt(expected)


def test_the_first_picture_fills_its_box():
    dataset = load("blobs")
    assert dataset.box == Box.cube(0.0, 10.0, 2)
    assert np.ptp(dataset.points, axis=0).min() > 7.5
    assert len(np.unique(dataset.labels)) == 5


def test_weights_are_geometric():
    np.testing.assert_allclose(cluster_weights(4, 0.0), 0.25)
    weights = cluster_weights(5, 0.6)
    np.testing.assert_allclose(weights[1:] / weights[:-1], 0.4)
    assert weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("imbalance", [0.0, 0.3, 0.95])
def test_cluster_sizes_follow_the_weights(imbalance):
    n = 100_000
    labels = load("blobs", n=n, imbalance=imbalance).labels
    weights = cluster_weights(5, imbalance)
    shares = np.bincount(labels, minlength=5) / n
    assert (np.abs(shares - weights) <= 6 * np.sqrt(weights * (1 - weights) / n)).all()
    # The test has power: the weights of an imbalance 0.05 away fail it.
    wrong = cluster_weights(5, abs(imbalance - 0.05))
    assert (np.abs(shares - wrong) > 6 * np.sqrt(wrong * (1 - wrong) / n)).any()


def test_one_knob_keeps_the_other_draws():
    first, second = load("blobs", overlap=0.2), load("blobs", overlap=0.3)
    np.testing.assert_array_equal(first.labels, second.labels)
    more = load("blobs", n=3000)
    np.testing.assert_array_equal(more.points[:2000], load("blobs", n=2000).points)


@pytest.mark.parametrize("name", ["moons", "circles"])
def test_noise_raises_the_distance_from_the_curve(name):
    distances = [_distance_from_curve(name, load(name, noise=noise)) for noise in (0.0, 0.05, 0.1, 0.3)]
    assert distances[0] == pytest.approx(0.0, abs=1e-12)
    assert (np.diff(distances) > 0).all()


def _distance_from_curve(name, dataset):
    first = (dataset.labels == 0)[:, None]
    middle = np.where(first, [0.0, 0.0], [1.0, 0.5] if name == "moons" else [0.0, 0.0])
    radius = 1.0 if name == "moons" else np.where(first[:, 0], 1.0, INNER_RADIUS)
    return np.abs(np.linalg.norm(dataset.points - middle, axis=1) - radius).mean()


def test_without_noise_each_moon_is_half_a_circle():
    dataset = load("moons", noise=0.0)
    assert (dataset.points[dataset.labels == 0, 1] >= 0).all()
    assert (dataset.points[dataset.labels == 1, 1] <= 0.5).all()


def test_far_too_much_noise_is_clipped_onto_the_walls():
    dataset = load("circles", noise=10.0)
    assert (np.abs(dataset.points) <= 1.5).all()
    assert (np.abs(dataset.points) == 1.5).any()


def test_null_is_uniform():
    dataset = load("null", n=100_000)
    counts = np.histogram2d(*dataset.points.T, bins=10, range=[[0, 10], [0, 10]])[0]
    assert (np.abs(counts - 1000) <= 6 * np.sqrt(1000 * 0.99)).all()
    assert dataset.labels is None
