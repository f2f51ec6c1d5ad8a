import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dpviz.accounting import pure_epsilon, zcdp_rho
from dpviz.baselines import source_target_rivals as rivals
from dpviz.core import Adjacency, Ball
from dpviz.data.target_pairs import synthetic
from dpviz.solvers import cost

AR = Adjacency.ADD_REMOVE


def rng(seed=0):
    return np.random.default_rng(seed)


def blobs(d, m=4000, k=6):
    centers = rng(1).uniform(-0.3, 0.3, (k, d)) / np.sqrt(d)
    return centers[rng(2).integers(k, size=m)] + 0.01 * rng(3).standard_normal((m, d)), centers


@pytest.mark.parametrize("d", [1, 2, 3, 8])
@pytest.mark.parametrize("n_clusters", [1, 5, 100])
def test_private_kmeans_spends_at_most_its_budget(d, n_clusters):
    points, _ = blobs(d)
    found = rivals.private_candidate_kmeans(points, Ball(np.zeros(d), 0.5), n_clusters, 3.0, rng=rng())
    spent = pure_epsilon(found.events, AR)
    searched = len(found.events) > rivals.LEVELS + 1
    assert spent == pytest.approx(3.0 if searched else 2.0)
    assert 1 <= len(found.centers) <= n_clusters
    assert np.linalg.norm(found.centers, axis=1).max() <= math.sqrt(d) / 2 + 1e-12


def test_a_swaps_cost_is_that_of_the_solution():
    points, candidates = rng().random((50, 2)), rng(1).random((9, 2))
    squares, chosen = cdist(candidates, points, "sqeuclidean"), np.array([2, 5, 7])
    outside = np.setdiff1d(np.arange(9), chosen)
    found = rivals._swap_costs(squares, outside, chosen)
    for row, candidate in enumerate(outside):
        for j in range(3):
            swapped = chosen.copy()
            swapped[j] = candidate
            assert found[row, j] == pytest.approx(squares[swapped].min(axis=0).sum())
    alone = rivals._swap_costs(squares, outside, chosen[:1])
    assert alone[:, 0] == pytest.approx(squares[outside].sum(axis=1))


def test_a_record_moves_a_swaps_cost_by_at_most_one():
    points = rng().uniform(-0.5, 0.5, (40, 2)) / np.sqrt(2)
    candidates, chosen, outside = rng(1).uniform(-0.35, 0.35, (9, 2)), np.array([2, 5]), np.array([0, 1, 8])
    gaps = [
        rivals._swap_costs(cdist(candidates, part, "sqeuclidean"), outside, chosen) for part in (points, points[1:])
    ]
    assert np.abs(gaps[0] - gaps[1]).max() <= 1.0


def test_with_much_budget_the_candidates_are_where_the_records_are():
    points, centers = blobs(2)
    found = rivals.private_candidate_kmeans(points, Ball(np.zeros(2), 0.5), 100, 1e6, rng=rng())
    assert cdist(centers, found.centers).min(axis=1).max() < 0.02
    candidates, _ = rivals.private_candidates(points, math.inf, rng=rng())
    # Without noise exactly the cubes that hold a record are opened.
    smallest = candidates[-len(found.centers) // 2 :]
    assert cdist(smallest, points, "chebyshev").min(axis=1).max() <= 0.5**rivals.LEVELS


@pytest.mark.parametrize("m", [0, 1, 3])
def test_nothing_about_the_source_raises(m):
    points = 1e9 * np.ones((m, 2))
    found = rivals.private_candidate_kmeans(points, Ball(np.zeros(2), 0.5), 10, 1.0, rng=rng())
    assert np.isfinite(found.centers).all()


def test_the_rivals_stand_in_their_order():
    pair = synthetic(2, m=4000, n_targets=400, rng=rng())
    chosen = {
        "cluster_t": rivals.cluster_targets(pair.targets, 10, rng=rng()),
        "nonprivate": rivals.nonprivate_stc(pair.source, pair.targets, 10, rng=rng()),
    }
    costs = {name: cost(pair.targets, pair.source, pair.targets[one]) for name, one in chosen.items()}
    assert costs["cluster_t"] > 2 * costs["nonprivate"]
    assert list(rivals.RIVALS) == ["nonprivate", "cluster_t", "private_kmeans", "dp_gan"]
    assert "absent" in rivals.ABSENT


def test_a_budget_of_rho_is_epsilon_root_two_rho():
    points, _ = blobs(2)
    found = rivals.private_kmeans_points(points, Ball(np.zeros(2), 0.5), rho=3.0, rng=rng())
    assert pure_epsilon(found.events, AR) <= math.sqrt(6.0) + 1e-9
    assert zcdp_rho(found.events, AR) <= 3.0
    with pytest.raises(ValueError, match="Exactly one"):
        rivals.private_kmeans_points(points, Ball(np.zeros(2), 0.5), rng=rng())
    with pytest.raises(ValueError, match="got 0"):
        rivals.private_candidate_kmeans(points, Ball(np.zeros(2), 0.5), 0, 1.0, rng=rng())
