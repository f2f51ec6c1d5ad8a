"""Utility against its definitions, brute force and scikit-learn."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as peer

from dpviz.metrics import (
    adjusted_rand,
    internal_scores,
    majority_accuracy,
    matched_distance,
    matched_labels,
    mean_pair_error,
    nonprivate_agreement,
    nonprivate_cost,
    nonprivate_displacement,
    one_way_distance,
)

LABELS = st.lists(st.integers(-1, 3), min_size=2, max_size=30)


def brute_distance(centers, reference):
    """Try every matching."""
    gaps = [
        np.mean([np.linalg.norm(centers[i] - reference[j]) for i, j in enumerate(order)])
        for order in itertools.permutations(range(len(reference)))
    ]
    return min(gaps)


@pytest.mark.parametrize("k", range(1, 7))
@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_matched_distance_is_the_best_of_all_matchings(k, d):
    rng = np.random.default_rng([k, d])
    for _ in range(5):
        centers, reference = rng.random((2, k, d))
        assert matched_distance(centers, reference) == pytest.approx(brute_distance(centers, reference), abs=1e-12)


def test_order_does_not_matter_and_equal_sets_are_at_zero():
    rng = np.random.default_rng(0)
    # Both centers are nearest to 0, and only one may have it: 1 + 9, not 1 + 1.
    assert matched_distance(np.array([[1.0], [-1.0]]), np.array([[0.0], [10.0]])) == pytest.approx(5.0)
    centers, reference = rng.random((2, 9, 3))
    assert matched_distance(centers, centers[rng.permutation(9)]) == 0.0
    assert matched_distance(centers, reference) == pytest.approx(matched_distance(reference, centers))
    assert matched_distance(centers[::-1], reference) == pytest.approx(matched_distance(centers, reference))


def test_the_cost_is_the_sum_of_squared_distances():
    rng = np.random.default_rng(1)
    points, centers = rng.random((50, 3)), rng.random((4, 3))
    labels = rng.integers(4, size=50)
    by_hand = sum(
        sum((float(x) - float(c)) ** 2 for x, c in zip(point, centers[label], strict=True))
        for point, label in zip(points, labels, strict=True)
    )
    assert nonprivate_cost(points, centers, labels) == pytest.approx(by_hand, rel=1e-12)
    assert isinstance(nonprivate_cost(points, centers, labels), float)
    assert nonprivate_cost(np.zeros((0, 2)), np.zeros((3, 2)), np.zeros(0, dtype=np.intp)) == 0.0


@given(k=st.integers(1, 8), m=st.integers(1, 8), d=st.integers(1, 4), seed=st.integers(0, 10**6))
def test_one_way_distance_is_to_the_nearest(k, m, d, seed):
    rng = np.random.default_rng(seed)
    centers, reference = rng.random((k, d)), rng.random((m, d))
    nearest = [min(math.dist(center, other) for other in reference) for center in centers]
    assert one_way_distance(centers, reference) == pytest.approx(sum(nearest) / k)


def test_one_way_distance_does_not_see_what_is_missed():
    reference = np.array([[0.0, 0.0], [4.0, 0.0]])
    assert one_way_distance(reference[:1], reference) == 0.0
    assert one_way_distance(reference, reference[:1]) == 2.0


@given(pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=40))
def test_accuracy_is_that_of_the_majority(pairs):
    labels, truth = np.array(pairs, dtype=np.intp).T
    right = sum(np.bincount(truth[labels == cluster]).max() for cluster in set(labels.tolist()))
    assert majority_accuracy(labels, truth) == pytest.approx(right / len(pairs))
    assert math.isnan(majority_accuracy(labels[:0], truth[:0]))


def test_agreement_is_scikit_learns():
    one, two = np.random.default_rng(0).integers(4, size=(2, 100))
    found = nonprivate_agreement(one, two)
    assert math.isclose(found.ari, peer.adjusted_rand_score(two, one))
    assert math.isclose(found.ami, peer.adjusted_mutual_info_score(two, one))
    assert math.isclose(found.nmi, peer.normalized_mutual_info_score(two, one))
    pairs = itertools.combinations(range(100), 2)
    assert math.isclose(found.rand, np.mean([(one[i] == one[j]) == (two[i] == two[j]) for i, j in pairs]))
    assert nonprivate_agreement(one, one).ari == 1.0
    assert math.isnan(nonprivate_agreement(one[:0], two[:0]).ari)


def test_internal_scores_leave_noise_out():
    points = np.random.default_rng(1).random((60, 2))
    labels = np.random.default_rng(2).integers(-1, 3, 60)
    found, kept = internal_scores(points, labels), labels >= 0
    assert math.isclose(found.silhouette, peer.silhouette_score(points[kept], labels[kept]))
    assert math.isclose(found.davies_bouldin, peer.davies_bouldin_score(points[kept], labels[kept]))
    assert math.isnan(internal_scores(points, np.zeros(60, dtype=np.intp)).silhouette)


@given(LABELS, st.randoms(use_true_random=False))
def test_matching_is_the_best_renaming(labels, random):
    ours = np.array(labels, dtype=np.intp)
    theirs = np.array([random.randint(-1, 3) for _ in labels], dtype=np.intp)
    found = matched_labels(ours, theirs)
    names = [name for name in np.unique(ours) if name >= 0]
    targets = range(-2, 4)  # -2: no partner
    best = max(
        (
            sum(int(((ours == a) & (theirs == b)).sum()) for a, b in zip(names, chosen, strict=True) if b >= 0)
            for chosen in itertools.product(targets, repeat=len(names))
            if len({b for b in chosen if b >= 0}) == sum(b >= 0 for b in chosen)
        ),
        default=0,
    )
    assert int(((found == theirs) & (ours >= 0)).sum()) == best
    assert np.array_equal(found == -1, ours == -1)
    assert len(np.unique(found)) == len(np.unique(ours))


def test_displacement():
    points, released = np.zeros((2, 2)), np.array([[3.0, 4.0], [0.0, 0.0]])
    found = nonprivate_displacement(points, released)
    assert (found.mse, found.mae, found.distance) == (6.25, 1.75, 2.5)
    assert math.isnan(nonprivate_displacement(points[:0], points[:0]).mse)


@pytest.mark.parametrize("n", [2, 50, 1500])
def test_the_pair_error_is_the_mean_over_pairs(n):
    points = np.random.default_rng(3).random((n, 3))
    i, j = np.triu_indices(n, 1)
    brute = (1 / (1 + np.exp(2.0 * np.linalg.norm(points[i] - points[j], axis=1)))).mean()
    assert math.isclose(mean_pair_error(points, epsilon=2.0), brute, rel_tol=1e-9)
    assert math.isnan(mean_pair_error(points[:1], epsilon=2.0))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=40))
def test_the_rand_index_counts_pairs(pairs):
    labels, classes = np.array(pairs).T
    i, j = np.triu_indices(len(labels), 1)
    one, two = labels[i] == labels[j], classes[i] == classes[j]
    expected, most = one.sum() * two.sum() / len(i), (one.sum() + two.sum()) / 2
    by_hand = 1.0 if most == expected else ((one & two).sum() - expected) / (most - expected)
    assert adjusted_rand(classes, labels) == pytest.approx(by_hand, abs=1e-12)
    assert adjusted_rand(labels, labels) == adjusted_rand(labels[:1], classes[:1]) == 1.0
