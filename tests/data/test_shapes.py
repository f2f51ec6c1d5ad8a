import numpy as np
import pytest
from scipy.stats import kstest, ortho_group
from sklearn.cluster import KMeans

from dpviz.data import load
from dpviz.data import shapes as made
from dpviz.data.shapes import N_ARMS, SPIRAL_START, SPIRAL_TURNS, _rotations

NAMES = ("spirals", "anisotropic", "nested", "outliers", "imbalanced", "mixture")


def sum_of_squares(dataset):
    return sum(
        ((dataset.points[dataset.labels == c] - dataset.points[dataset.labels == c].mean(axis=0)) ** 2).sum()
        for c in np.unique(dataset.labels)
    )


@pytest.mark.parametrize("name", NAMES)
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
    found = KMeans(3, n_init=10, random_state=0).fit(dataset.points)
    assert found.inertia_ < 0.9 * sum_of_squares(dataset), "k-means is paid for cutting classes"


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
        assert np.sqrt(values[-1] / values[0]) == pytest.approx(made.ELONGATION, rel=0.1)
        directions.append(vectors[:, -1])
    likeness = np.abs(np.array(directions) @ np.array(directions).T)[np.triu_indices(4, 1)]
    assert likeness.max() < 0.99


def test_rotations_are_uniform_orthogonal_matrices():
    drawn = _rotations(4_000, 3, rng=np.random.default_rng(0))
    np.testing.assert_allclose(drawn @ drawn.transpose(0, 2, 1), np.broadcast_to(np.eye(3), drawn.shape), atol=1e-12)
    # A coordinate of a uniform direction in three dimensions is uniform in [-1, 1] (Archimedes).
    for entry in np.ndindex(3, 3):
        assert kstest(drawn[:, *entry], "uniform", args=(-1, 2)).pvalue > 1e-6
    assert (
        kstest(
            np.linalg.qr(np.random.default_rng(0).standard_normal((4_000, 3, 3)))[0][:, 0, 0], "uniform", args=(-1, 2)
        ).pvalue
        < 1e-6
    )
    traces = np.trace(ortho_group.rvs(3, 4_000, random_state=0), axis1=1, axis2=2)
    assert abs(np.trace(drawn, axis1=1, axis2=2).mean() - traces.mean()) < 6 * np.sqrt(2 / 4_000)


def test_one_knob_keeps_the_other_draws():
    np.testing.assert_array_equal(load("nested", spread=0.1).labels, load("nested", spread=0.3).labels)
    np.testing.assert_array_equal(load("anisotropic", stretch=0.1).labels, load("anisotropic").labels)
