import numpy as np
import pytest
from scipy.stats import kstest, ortho_group
from sklearn.cluster import KMeans

from dpviz.data import load
from dpviz.data.synthetic import (
    DISTRICTS,
    ELONGATION,
    HOUSE_SIGMA,
    INNER_RADIUS,
    N_ARMS,
    RIVER_HALF_WIDTH,
    SPIRAL_START,
    SPIRAL_TURNS,
    STREET_GAP,
    _rotations,
    city_ground,
    cluster_weights,
    river_middle,
)

SHAPES = ("spirals", "anisotropic", "nested", "outliers", "imbalanced", "mixture")


def sum_of_squares(dataset):
    """Return the sum of squared distances of records to the mean of their cluster."""
    members = [dataset.points[dataset.labels == label] for label in np.unique(dataset.labels)]
    return sum(((each - each.mean(axis=0)) ** 2).sum() for each in members)


def spread_of(dataset):
    """Return the root mean square distance per axis of records to the mean of their cluster."""
    return np.sqrt(sum_of_squares(dataset) / dataset.points.size)


def mean_distances(dataset):
    """Return the smallest distance of two cluster means, in within-cluster spreads."""
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


def test_a_knob_keeps_the_other_draws():
    first, second = load("blobs", overlap=0.2), load("blobs", overlap=0.3)
    np.testing.assert_array_equal(first.labels, second.labels)
    more = load("blobs", n=3000)
    np.testing.assert_array_equal(more.points[:2000], load("blobs", n=2000).points)
    np.testing.assert_array_equal(load("nested", spread=0.1).labels, load("nested", spread=0.3).labels)
    np.testing.assert_array_equal(load("anisotropic", stretch=0.1).labels, load("anisotropic").labels)


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


def test_moons_are_half_circles_and_far_noise_is_clipped():
    dataset = load("moons", noise=0.0)
    assert (dataset.points[dataset.labels == 0, 1] >= 0).all()
    assert (dataset.points[dataset.labels == 1, 1] <= 0.5).all()
    dataset = load("circles", noise=10.0)
    assert (np.abs(dataset.points) <= 1.5).all()
    assert (np.abs(dataset.points) == 1.5).any()


def test_null_is_uniform():
    dataset = load("null", n=100_000)
    counts = np.histogram2d(*dataset.points.T, bins=10, range=[[0, 10], [0, 10]])[0]
    assert (np.abs(counts - 1000) <= 6 * np.sqrt(1000 * 0.99)).all()
    assert dataset.labels is None


@pytest.mark.parametrize("name", SHAPES)
def test_walls_cut_next_to_nothing(name):
    dataset = load(name, n=20_000)
    on_wall = ((dataset.points == dataset.box.low) | (dataset.points == dataset.box.high)).any(axis=1)
    assert on_wall.mean() < 0.005


def test_without_noise_an_arm_is_a_spiral():
    dataset = load("spirals", noise=0.0)
    radii = np.linalg.norm(dataset.points, axis=1)
    along = (radii - SPIRAL_START) / (1 - SPIRAL_START)
    angles = 2 * np.pi * (SPIRAL_TURNS * along + dataset.labels / N_ARMS)
    np.testing.assert_allclose(dataset.points, radii[:, None] * np.column_stack([np.cos(angles), np.sin(angles)]))
    assert kstest(along, "uniform").pvalue > 1e-6
    assert kstest(along**2, "uniform").pvalue < 1e-6, "the test has power"


@pytest.mark.parametrize("name", ["spirals", "anisotropic"])
def test_the_best_centers_are_not_the_classes(name):
    dataset = load(name)
    best = KMeans(3, n_init=10, random_state=0).fit(dataset.points)
    assert best.inertia_ < 0.9 * sum_of_squares(dataset), "k-means is paid for cutting classes"


def test_stretch_goes_from_round_to_stripes():
    ratios = []
    for stretch in (0.0, 0.5, 1.0):
        dataset = load("anisotropic", n=20_000, stretch=stretch)
        residuals = (
            dataset.points
            - np.array([dataset.points[dataset.labels == c].mean(axis=0) for c in range(3)])[dataset.labels]
        )
        small, large = np.linalg.eigvalsh(np.cov(residuals.T))
        ratios.append(np.sqrt(large / small))
    assert ratios[0] < 1.1
    assert ratios[2] > 5
    assert np.diff(ratios).min() > 0


def test_nested_clusters_stand_in_groups():
    dataset = load("nested", n=9_000)
    means = np.array([dataset.points[dataset.labels == c].mean(axis=0) for c in range(9)])
    distances = np.linalg.norm(means[:, None] - means[None], axis=2)
    together = np.equal.outer(np.arange(9) // 3, np.arange(9) // 3)
    assert distances[together].max() < distances[~together].min()


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3])
def test_the_share_of_outliers(share):
    n = 50_000
    dataset = load("outliers", n=n, share=share)
    far = dataset.labels == 3
    assert abs(far.mean() - share) <= 6 * np.sqrt(share * (1 - share) / n)
    assert (np.abs(dataset.points[~far] - 50).max(axis=1) < 20).all(), "the others are in the middle"


@pytest.mark.parametrize("share", [0.0, 0.08, 0.6])
def test_small_clusters_hold_their_share(share):
    n = 50_000
    counts = np.bincount(load("imbalanced", n=n, small_share=share).labels, minlength=8) / n
    expected = np.repeat([(1 - share) / 3, share / 5], [3, 5])
    assert (np.abs(counts - expected) <= 6 * np.sqrt(expected * (1 - expected) / n)).all()


def test_a_cluster_of_the_mixture_is_long_in_its_own_direction():
    dataset = load("mixture", n=40_000, n_clusters=4, n_features=5)
    directions = []
    for cluster in range(4):
        values, vectors = np.linalg.eigh(np.cov(dataset.points[dataset.labels == cluster].T))
        assert np.sqrt(values[-1] / values[0]) == pytest.approx(ELONGATION, rel=0.1)
        directions.append(vectors[:, -1])
    likeness = np.abs(np.array(directions) @ np.array(directions).T)[np.triu_indices(4, 1)]
    assert likeness.max() < 0.99


def test_rotations_are_uniform_orthogonal_matrices():
    turns = _rotations(4_000, 3, rng=np.random.default_rng(0))
    np.testing.assert_allclose(turns @ turns.transpose(0, 2, 1), np.broadcast_to(np.eye(3), turns.shape), atol=1e-12)
    # A coordinate of a uniform direction in three dimensions is uniform in [-1, 1] (Archimedes).
    for entry in np.ndindex(3, 3):
        assert kstest(turns[:, *entry], "uniform", args=(-1, 2)).pvalue > 1e-6
    wrong = np.linalg.qr(np.random.default_rng(0).standard_normal((4_000, 3, 3)))[0]
    assert kstest(wrong[:, 0, 0], "uniform", args=(-1, 2)).pvalue < 1e-6
    traces = np.trace(ortho_group.rvs(3, 4_000, random_state=0), axis1=1, axis2=2)
    assert abs(np.trace(turns, axis1=1, axis2=2).mean() - traces.mean()) < 6 * np.sqrt(2 / 4_000)


def test_nobody_lives_in_the_river_or_on_the_wall():
    city = load("city", n=20_000)
    assert (np.abs(city.points[:, 1] - river_middle(city.points[:, 0])) > RIVER_HALF_WIDTH).all()
    assert ((city.points > 0) & (city.points < 10_000)).all()
    assert city.units == ("m", "m")


def test_districts_and_both_banks_are_inhabited():
    city = load("city", n=20_000)
    assert sum(district.share for district in DISTRICTS) == pytest.approx(1.0)
    for label, district in enumerate(DISTRICTS):
        homes = city.points[city.labels == label]
        # The river and the walls cut off a little, so the mean may move by a fraction of the size.
        offset = np.linalg.norm(homes.mean(axis=0) - [district.east, district.north])
        assert offset < 0.1 * district.sigma_along
    assert (city.labels == len(DISTRICTS)).any()
    north = city.points[:, 1] > river_middle(city.points[:, 0])
    assert 0.3 < north.mean() < 0.8


def test_homes_stand_on_the_streets_of_their_district():
    city = load("city", n=20_000)
    district = city.labels < len(DISTRICTS)
    near = np.zeros(city.n, dtype=bool)
    for label, each in enumerate(DISTRICTS):
        here = city.labels == label
        local = (city.points[here] - each.middle) @ each.axes.T
        off = np.abs(local - STREET_GAP * np.rint(local / STREET_GAP))
        near[here] = (off < 3 * HOUSE_SIGMA).any(axis=1)
    # Share of a normal distribution beyond 3 standard deviations.
    outside = 0.0027
    assert 1.0 - near[district].mean() < outside + 6 * np.sqrt(outside / district.sum())
    anywhere = np.random.default_rng(0).random((20_000, 2))
    wrong = (np.abs(anywhere - np.rint(anywhere)) < 3 * HOUSE_SIGMA / STREET_GAP).any(axis=1)
    assert 1.0 - wrong.mean() > 0.3, "homes off the streets would be noticed"


def test_streets_end_at_the_river_and_the_edge_of_the_map():
    ground = city_ground()
    ends = ground.streets.reshape(-1, 2, 2)
    along = ends[:, :1] + np.linspace(0.0, 1.0, 30)[:, None] * (ends[:, 1:] - ends[:, :1])
    assert ((along >= 0.0) & (along <= 10_000.0)).all()
    assert (np.abs(along[..., 1] - river_middle(along[..., 0])) > RIVER_HALF_WIDTH - 1e-6).all()
    assert (np.hypot(*(ends[:, 1] - ends[:, 0]).T) >= 100.0).all()
