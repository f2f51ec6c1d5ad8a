import itertools

import numpy as np
import pytest

from dpviz.metrics import matched_distance, nonprivate_cost


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


def test_the_nearest_matching_is_not_always_the_best():
    # Both centers are nearest to 0, and only one may have it: 1 + 9, not 1 + 1.
    assert matched_distance(np.array([[1.0], [-1.0]]), np.array([[0.0], [10.0]])) == pytest.approx(5.0)


def test_order_does_not_matter_and_equal_sets_are_at_zero():
    rng = np.random.default_rng(0)
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


def test_no_records_cost_nothing():
    assert nonprivate_cost(np.zeros((0, 2)), np.zeros((3, 2)), np.zeros(0, dtype=np.intp)) == 0.0
