"""Clusters of moved points, and the curves that their parameters are read from."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from sklearn.cluster import DBSCAN, AffinityPropagation

from dpviz.metrics import nonprivate_agreement
from dpviz.solvers.local_clustering import (
    METHODS,
    MOST_RECORDS,
    cluster,
    k_curves,
    k_distances,
    knee_radius,
    median_preference,
    standard_scaled,
)

MIDDLES = np.array([[0.0, 0.0], [40.0, 0.0], [0.0, 40.0]])
CLASSES = np.repeat(np.arange(3), 40)
POINTS = MIDDLES[CLASSES] + np.random.default_rng(0).standard_normal((120, 2))


def rng():
    return np.random.default_rng(1)


def test_clear_clusters_are_found():
    assert nonprivate_agreement(cluster(POINTS, "kmeans", 3, rng=rng()), CLASSES).ari == 1.0


def test_the_others_are_scikit_learns_with_the_parameters_that_the_page_names():
    cloud = np.random.default_rng(0).standard_normal((60, 2))
    rows, seed = standard_scaled(cloud), int(rng().integers(2**31))
    preference = -np.median(cdist(rows, rows, "sqeuclidean"))
    affinity = AffinityPropagation(damping=0.5, preference=preference, random_state=seed).fit_predict(rows)
    assert len(set(affinity)) == 8
    assert np.array_equal(cluster(cloud, "affinity", 3, rng=rng()), affinity)
    dense = DBSCAN(eps=knee_radius(rows), min_samples=4).fit_predict(rows)
    assert set(dense) == {-1, 0}
    assert np.array_equal(cluster(cloud, "dbscan", 3, rng=rng()), dense)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("points", [np.zeros((0, 2)), np.zeros((1, 2)), np.ones((20, 3))])
def test_nothing_and_equal_points(method, points):
    assert cluster(points, method, 4, rng=rng()).shape == (len(points),)


def test_limits_and_unknown_methods_are_refused():
    with pytest.raises(ValueError, match="sample"):
        cluster(np.zeros((MOST_RECORDS["affinity"] + 1, 2)), "affinity", 4, rng=rng())
    with pytest.raises(ValueError, match="one of"):
        cluster(POINTS, "birch", 4, rng=rng())


def test_scaling():
    scaled = standard_scaled(np.column_stack([POINTS, np.full(120, 0.1)]))
    assert np.allclose(scaled.mean(axis=0), 0.0)
    assert np.allclose(scaled.std(axis=0), [1.0, 1.0, 0.0])


def test_the_curves_agree_on_three_clusters():
    curves = k_curves(standard_scaled(POINTS), most=8, rng=rng())
    assert curves.by_elbow == curves.by_silhouette == curves.by_gap == 3
    assert (np.diff(curves.inertia) < 1e-9).all()
    assert np.isnan(curves.silhouette[0])
    assert k_curves(np.ones((5, 2)), most=10, rng=rng()).n_clusters.tolist() == [1]


def test_k_distances_and_preference_are_brute_force():
    distances = np.sort(cdist(POINTS, POINTS), axis=1)[:, 3]  # k = 2 d - 1; column 0 is the point itself
    assert np.allclose(k_distances(POINTS), np.sort(distances))
    assert knee_radius(POINTS) in k_distances(POINTS)
    assert np.isclose(median_preference(POINTS, rng=rng()), -np.median(pdist(POINTS) ** 2))
    assert k_distances(POINTS[:1]).tolist() == [0.0]
