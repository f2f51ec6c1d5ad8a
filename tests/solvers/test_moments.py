"""Statistics of clusters against sums by definition."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.solvers import Mixture, hard_moments, label_moments, records
from dpviz.solvers.moments import features, moment_length


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 9), st.integers(0, 300))
def test_every_record_counts_for_the_component_that_wins_it(seed, d, n_components, n):
    rng = np.random.default_rng(seed)
    roots = 0.3 * rng.standard_normal((n_components, d, d))
    covariances = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(d)
    means = rng.uniform(-1.0, 1.0, (n_components, d))
    mixture = Mixture(rng.dirichlet(np.ones(n_components)), means, covariances)
    points = rng.uniform(-1.0, 1.0, (n, d))
    moments, labels = hard_moments(records(points), mixture)
    np.testing.assert_array_equal(labels, mixture.log_terms(points).argmax(axis=1))
    expected = np.zeros((n_components, moment_length(d)))
    np.add.at(expected, labels, features(points))
    np.testing.assert_allclose(moments, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(label_moments(features(points), labels, n_components), moments)


def test_of_components_that_are_alike_the_first_wins():
    mixture = Mixture(np.full(3, 1 / 3), np.zeros((3, 2)), [np.eye(2)] * 3)
    _, labels = hard_moments(records(np.random.default_rng(0).uniform(-1.0, 1.0, (130, 2))), mixture)
    np.testing.assert_array_equal(labels, 0)
