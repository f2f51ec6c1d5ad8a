"""Agreement, internal scores, flips and displacement: against scikit-learn and brute force."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as peer

from dpviz.metrics import (
    internal_scores,
    matched_labels,
    mean_pair_error,
    nonprivate_agreement,
    nonprivate_displacement,
)

LABELS = st.lists(st.integers(-1, 3), min_size=2, max_size=30)


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
