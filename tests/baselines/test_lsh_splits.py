"""LSH-Splits: its spending, the distribution of its noise, the tree against a recursive one, and its results."""

import math

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dpviz.accounting import delta_of, gdp_delta, pure_epsilon
from dpviz.baselines._base import SIZE_SHARE
from dpviz.baselines.lsh_splits import (
    CENTER_SHARE,
    COUNT_RATIO,
    LshLevelStep,
    Params,
    fit,
)
from dpviz.core import Adjacency, Box
from dpviz.solvers import assign

DELTA = 1e-6
ADJACENCIES = {"add_remove": Adjacency.ADD_REMOVE, "replace": Adjacency.REPLACE}


def generator(seed=0):
    return np.random.default_rng(seed)


def run(points, seed=0, **options):
    params = Params(**{"n_clusters": 3, "delta": DELTA, "start_seed": 0} | options)
    return fit(points, Box.cube(0, 1, points.shape[1]), params, rng=generator(seed))


@pytest.mark.parametrize("d", [1, 2, 5, 20, 100])
@pytest.mark.parametrize("name", ADJACENCIES)
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 50.0])
def test_the_parts_add_up_to_the_budget(d, name, epsilon):
    adjacency, points = ADJACENCIES[name], generator(d).random((400, d))
    result = run(points, epsilon=epsilon, adjacency=name)
    counted = adjacency is Adjacency.ADD_REMOVE
    size, (mean, *rest) = result.events[:counted], result.events[counted:]
    assert pure_epsilon(size, adjacency) == pytest.approx(SIZE_SHARE * epsilon * counted, rel=1e-12)
    left = epsilon * (1 - SIZE_SHARE * counted)
    assert gdp_delta(mean.mu, CENTER_SHARE * left) == pytest.approx(CENTER_SHARE * DELTA, rel=1e-9)
    spent = delta_of(rest, (1 - CENTER_SHARE) * left, adjacency)
    assert 0.9 * (1 - CENTER_SHARE) * DELTA < spent <= (1 - CENTER_SHARE) * DELTA
    # All levels are in the account, reached or not, and leaving one out would show.
    *levels, averages = rest
    assert len(levels) == 20
    times = 1 if counted else 2
    assert pure_epsilon(levels, adjacency) == pytest.approx(20 * times * averages.mu / COUNT_RATIO, rel=1e-12)
    for event in (mean, averages):
        assert event.l2_sensitivity == pytest.approx(math.sqrt(d) / (2 if counted else 1))
    claim = result.guarantee.proved
    assert (claim.epsilon, claim.delta, claim.adjacency) == (epsilon, DELTA, adjacency)


def recursive(records, planes, leaf_minimum, branch_minimum, level=0):
    """Return the leaves as lists of records: the tree of the docstring, without noise."""
    if len(records) < branch_minimum or level == len(planes):
        return [records]
    front = records @ planes[level] > 0
    kept = [part for part in (records[~front], records[front]) if len(part) >= leaf_minimum]
    if not kept:
        return [records]
    return [leaf for part in kept for leaf in recursive(part, planes, leaf_minimum, branch_minimum, level + 1)]


@pytest.mark.parametrize(("n", "d", "depth"), [(300, 2, 6), (500, 5, 20), (40, 1, 3), (1000, 3, 9)])
def test_without_noise_it_is_the_recursive_tree_and_kmeans_on_its_means(n, d, depth):
    points = generator(n).random((n, d)) ** 2
    k = 2 if d == 1 else 3  # all planes through the mean of one column are one
    result = run(points, epsilon=math.inf, max_depth=depth, n_clusters=k)
    first, last, mean = result.trace[0], result.trace[-1], points.mean(axis=0)
    assert np.allclose(result.release.mean, mean, atol=1e-12)
    leaves = recursive(points - mean, first.planes, first.plan.leaf_minimum, first.plan.branch_minimum)
    wanted = sorted((len(leaf), *(leaf.mean(axis=0) + mean)) for leaf in leaves)
    found = sorted((w, *place) for w, place in zip(last.weights, result.release.places, strict=True))
    assert np.allclose(found, wanted, atol=1e-9)
    peer = KMeans(k, n_init=20, random_state=0, tol=0).fit(result.release.places, sample_weight=last.weights)
    gaps = np.linalg.norm(result.release.places[:, None] - result.release.centers, axis=2).min(axis=1)
    assert last.weights @ gaps**2 <= 1.05 * peer.inertia_ + 1e-9  # k-means++ from 9 starts against 20
    assert result.release.noisy_counts.sum() == pytest.approx(last.weights.sum())


def test_the_minima_are_the_librarys():
    plan = run(generator(0).random((1000, 5)), n_public=9000, n_clusters=4).trace[0].plan
    low_noise = 10 * math.sqrt(5) * plan.averages.sigma / plan.averages.l2_sensitivity
    assert plan.leaf_minimum == math.floor(low_noise) < 9000 / 8
    many = run(generator(0).random((1000, 5)), n_public=900, n_clusters=50).trace[0].plan
    assert (many.leaf_minimum, many.branch_minimum) == (9, 27)
    few = run(generator(0).random((10, 5)), n_public=3).trace[0].plan
    assert (few.leaf_minimum, few.branch_minimum) == (1, 3)


def test_the_trace_is_one_tree():
    points = generator(3).random((3000, 4))
    result = run(points, epsilon=20.0)
    levels = [step for step in result.trace if isinstance(step, LshLevelStep)]
    last = result.trace[-1]
    assert [step.level for step in levels] == list(range(1, len(levels) + 1))
    for step in levels:
        seen = np.bincount(step.nonprivate_nodes[step.nonprivate_nodes >= 0], minlength=len(step.node_sides))
        assert np.array_equal(seen, step.nonprivate_counts[step.node_sides])
    inside = last.nonprivate_leaves[last.nonprivate_leaves >= 0]
    assert np.array_equal(np.bincount(inside, minlength=len(last.weights)), last.nonprivate_counts)
    assert np.all(last.nonprivate_counts[last.weights > 500] > 0)
    assert last.depths.max() <= len(levels)


def test_at_epsilon_one_it_finds_blobs():
    points, truth = make_blobs(10_000, 10, centers=16, center_box=(-100, 100), random_state=0)
    params, box = Params(n_clusters=16, delta=DELTA), Box.cube(-100, 100, 10)
    found = [fit(points, box, params, rng=generator(seed)).release.centers for seed in range(5)]
    assert np.median([adjusted_rand_score(truth, assign(points, centers)) for centers in found]) >= 0.85


def test_delta_follows_a_noisy_number_and_says_so():
    points = generator(0).random((4000, 2))
    noisy = run(points, delta=None, start_seed=None)
    assert 4000**-1.5 / 4 < noisy.guarantee.proved.delta_in_run < 4000**-1.5 * 2
    assert noisy.guarantee.proved.delta == 2.0**-15 <= 1000**-1.5
    assert any("noisy number" in caveat for caveat in noisy.guarantee.caveats)
    for options in ({"n_public": 4000}, {"adjacency": "replace"}):
        public = run(points, delta=None, **options)
        assert not any("noisy number" in caveat for caveat in public.guarantee.caveats)
        assert 4000**-1.5 / 2 < public.guarantee.proved.delta <= 4000**-1.5
