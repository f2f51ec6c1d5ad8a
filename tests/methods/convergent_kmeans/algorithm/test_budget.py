"""Spending of convergent k-means: the events against the budget, and the noise against the events."""

import numpy as np
import pytest

from dpviz.accounting import ParallelEvent, pure_epsilon
from dpviz.core import Adjacency, Box
from dpviz.methods.convergent_kmeans.algorithm import Params, fit

DIMENSIONS = (1, 2, 5, 20, 100)


def uniform(d, n=50):
    return np.random.default_rng(d).random((n, d)), Box.cube(0.0, 1.0, d)


def spent(d, adjacency=Adjacency.ADD_REMOVE, **options):
    points, box = uniform(d)
    return pure_epsilon(fit(points, box, Params(**options), rng=np.random.default_rng(0)).events, adjacency)


@pytest.mark.parametrize("n_iterations", [None, 1, 2, 7, 30])
@pytest.mark.parametrize("d", DIMENSIONS)
def test_repaired_mode_spends_epsilon_and_no_more(d, n_iterations):
    for k, epsilon in ((1, 1e-3), (5, 1.0), (20, 20.0)):
        options = {"n_clusters": k, "epsilon": epsilon, "n_iterations": n_iterations}
        assert spent(d, **options) == pytest.approx(epsilon, rel=1e-12)


def test_the_guarantee_says_what_was_spent():
    points, box = uniform(3)
    result = fit(points, box, Params(epsilon=0.7), rng=np.random.default_rng(0))
    proved = result.guarantee.proved
    assert (proved.epsilon, proved.delta, proved.adjacency) == (0.7, 0.0, Adjacency.ADD_REMOVE)
    assert pure_epsilon(result.events, Adjacency.ADD_REMOVE) == pytest.approx(proved.epsilon, rel=1e-12)


@pytest.mark.parametrize("orientation", ["past", "future"])
@pytest.mark.parametrize("seed", range(3))
def test_published_mode_claims_what_its_steps_add_up_to(orientation, seed):
    points, box = uniform(2, n=300)
    params = Params(mode="published", orientation=orientation, epsilon_per_iteration=0.3, epsilon_counts=0.7)
    result = fit(points, box, params, rng=np.random.default_rng(seed))
    total = 0.7 + 0.3 * len(result.trace)
    assert result.guarantee.published.epsilon == pytest.approx(total, rel=1e-12)
    assert pure_epsilon(result.events, Adjacency.ADD_REMOVE) == pytest.approx(total, rel=1e-12)
    assert len(result.trace) > 1
    assert result.guarantee.proved is None


def test_every_iteration_is_one_parallel_event():
    points, box = uniform(2)
    result = fit(points, box, Params(epsilon=1.0, n_iterations=4, n_clusters=3), rng=np.random.default_rng(0))
    assert len(result.events) == 4
    assert all(isinstance(event, ParallelEvent) and len(event.parts) == 3 for event in result.events)
    shares = [pure_epsilon([event], Adjacency.ADD_REMOVE) for event in result.events]
    np.testing.assert_allclose(shares, 0.25, rtol=1e-12)
