"""Spending of convergent k-means: the events against the budget, and the noise against the events."""

import math

import numpy as np
import pytest
from scipy.stats import kstest

from dpviz.accounting import LaplaceEvent, ParallelEvent, pure_epsilon
from dpviz.baselines import _lloyd_family
from dpviz.core import Adjacency, Box
from dpviz.methods.convergent_kmeans.algorithm import Params, fit
from dpviz.methods.convergent_kmeans.algorithm import step as _zone_step
from dpviz.solvers import LloydBudget, su_split

P_VALUE = 1e-6
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


def test_changing_a_record_costs_double():
    assert spent(2, Adjacency.REPLACE, epsilon=1.0) == pytest.approx(2.0, rel=1e-12)


# On a line there is one sum, so that the swap costs the same.
@pytest.mark.parametrize("d", DIMENSIONS[1:])
def test_a_swapped_split_is_noticed(d, monkeypatch):
    def swapped(epsilon, d):
        split = su_split(epsilon, d)
        return LloydBudget(count=split.sum_per_axis, sum_per_axis=split.count)

    monkeypatch.setattr(_zone_step, "su_split", swapped)
    assert spent(d, epsilon=1.0) != pytest.approx(1.0, rel=1e-3)


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


# The noise itself: two full clusters and an empty one, the same records under many seeds.
STARTS = np.array([[0.2, 0.2], [0.8, 0.8], [0.0, 1.0]])
N_SEEDS = 1200


def noise_of_runs(n_seeds=N_SEEDS, n_iterations=2):
    """Return (noise of counts (seeds, T, k), noise of the full clusters' sums (seeds, T, 2, d), events of a step)."""
    rng = np.random.default_rng(0)
    points = np.concatenate([c + 0.04 * rng.uniform(-1, 1, (150, 2)) for c in STARTS[:2]])
    box = Box.cube(0.0, 1.0, 2)
    params = Params(n_clusters=3, initial_centers=STARTS, epsilon=4.0, n_iterations=n_iterations)
    counts, sums = [], []
    for seed in range(n_seeds):
        trace = fit(points, box, params, rng=np.random.default_rng(seed)).trace
        counts.append([step.noisy_counts - step.nonprivate_counts for step in trace])
        sums.append(
            [
                (step.zone_mean[:2] - 0.5) * step.noisy_counts[:2, None]
                - (step.nonprivate_mean[:2] - 0.5) * step.nonprivate_counts[:2, None]
                for step in trace
            ]
        )
    return np.array(counts), np.array(sums), trace[0].events[0].parts[0].events


def noise_p_values(noise, scale):
    """Return p-values for Laplace noise of `scale` in each column, and for independent columns."""
    table = noise.reshape(len(noise), -1)
    laws = [kstest(column, "laplace", args=(0, scale)).pvalue for column in table.T]
    # Correlations of independent columns have standard error 1 / sqrt(seeds), whatever the law.
    correlations = np.corrcoef(table.T)[np.triu_indices(table.shape[1], 1)]
    return min(laws), np.abs(correlations).max() * math.sqrt(len(table))


def test_noise_is_fresh_laplace_for_every_cluster_also_the_empty_one():
    counts, sums, (count, total) = noise_of_runs()
    assert counts.shape[1:] == (2, 3)
    for noise, event in ((counts, count), (sums, total)):
        law, correlation = noise_p_values(noise, event.scale)
        assert law > P_VALUE
        assert correlation < 6
        # The power to see 1.5 times the noise, or the same noise twice.
        assert noise_p_values(noise, 1.5 * event.scale)[0] < P_VALUE
        assert noise_p_values(np.repeat(noise, 2, axis=-1), event.scale)[1] > 6
    between = np.corrcoef(counts.reshape(N_SEEDS, -1).T, sums.reshape(N_SEEDS, -1).T)[:6, 6:]
    assert np.abs(between).max() * math.sqrt(N_SEEDS) < 6


def shared_noise(value, *, scale, rng):
    return value + scale * rng.laplace()


def no_noise_where_empty(value, *, scale, rng):
    return value + scale * rng.laplace(size=value.shape) * (value != 0)


@pytest.mark.parametrize("broken", [shared_noise, no_noise_where_empty])
def test_broken_noise_is_noticed(broken, monkeypatch):
    monkeypatch.setattr(_lloyd_family, "laplace", broken)
    with np.errstate(invalid="ignore"):
        counts, _, (count, _) = noise_of_runs(300)
        law, correlation = noise_p_values(counts, count.scale)
    assert law < P_VALUE or correlation > 6


def test_the_noisy_size_pays_for_itself():
    points, box = uniform(2, n=400)
    params = Params(epsilon=2.0, n_clusters=2, max_iterations=1)
    event = fit(points, box, params, rng=np.random.default_rng(0)).events[0]
    assert isinstance(event, LaplaceEvent)
    assert event.epsilon == pytest.approx(0.02 * 2.0)
    assert event.sensitivity == 1.0


def test_every_iteration_is_one_parallel_event():
    points, box = uniform(2)
    result = fit(points, box, Params(epsilon=1.0, n_iterations=4, n_clusters=3), rng=np.random.default_rng(0))
    assert len(result.events) == 4
    assert all(isinstance(event, ParallelEvent) and len(event.parts) == 3 for event in result.events)
    shares = [pure_epsilon([event], Adjacency.ADD_REMOVE) for event in result.events]
    np.testing.assert_allclose(shares, 0.25, rtol=1e-12)


def test_final_counts_of_published_mode_have_their_noise():
    # One cluster on a line: center = sum / (n + noise), so the noise can be read off the release.
    points, box = np.full((200, 1), 0.5), Box.cube(0.0, 1.0, 1)
    params = Params(n_clusters=1, mode="published", epsilon_counts=0.5)
    centers = [fit(points, box, params, rng=np.random.default_rng(s)).release.centers[0, 0] for s in range(1000)]
    noise = 100.0 / np.array(centers) - 200.0
    assert kstest(noise, "laplace", args=(0, 2.0)).pvalue > P_VALUE
    assert kstest(noise, "laplace", args=(0, 4.0)).pvalue < P_VALUE
