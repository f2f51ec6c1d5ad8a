"""The metrics of DPM's comparison, against their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.metrics import majority_accuracy, one_way_distance


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


def test_accuracy_of_nothing_is_no_number():
    assert math.isnan(majority_accuracy(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)))
