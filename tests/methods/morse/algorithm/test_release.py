"""Releases of the Morse step: its ancestors without noise, its limits, its degenerate ends."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from dpviz.core import Box, frozen
from dpviz.methods.morse.algorithm import (
    Mixture,
    Params,
    assign,
    disagreement,
    fit,
    merge_tree,
    signed_points,
)
from dpviz.solvers import assign as nearest_center
from dpviz.solvers import landscape

BASES = ("dpmog_hard", "dpmog", "dplloyd_mog", "dpcube")
FLOOR = 0.01


def data(d, n=300, seed=0):
    rng = np.random.default_rng([seed, d])
    points = rng.random((4, d))[rng.integers(4, size=n)] + 0.08 * rng.standard_normal((n, d))
    return points, Box.cube(0.0, 1.0, d)


def run(points, box, *, seed=0, **options):
    return fit(points, box, Params(**options), rng=np.random.default_rng(seed))


def plain_em(signed, means, n_iterations, *, soft):
    """EM with hard or soft responsibilities by SciPy, component by component: the non-private ancestor."""
    k, d = means.shape
    variance = max((2 / k ** (1 / d)) ** 2 / 12, FLOOR)
    weights, covariances = np.full(k, 1 / k), np.tile(variance * np.eye(d), (k, 1, 1))
    for _ in range(n_iterations):
        logs = np.stack(
            [
                np.log(w) + np.atleast_1d(multivariate_normal(m, c).logpdf(signed))
                for w, m, c in zip(weights, means, covariances, strict=True)
            ],
            axis=1,
        )
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        if not soft:
            shares = np.eye(k)[logs.argmax(axis=1)]
        totals = np.maximum(shares.sum(axis=0), 1.0)
        filled = shares.sum(axis=0) > 0
        means = np.where(filled[:, None], shares.T @ signed / totals[:, None], means)
        covariances = np.stack(
            [
                (s[:, None] * signed).T @ signed / t - np.outer(m, m)
                for s, t, m in zip(shares.T, totals, means, strict=True)
            ]
        )
        values, vectors = np.linalg.eigh(covariances)
        covariances = (vectors * np.maximum(values, FLOOR)[:, None]) @ vectors.transpose(0, 2, 1)
        weights = totals / totals.sum()
    return weights, means, covariances


@pytest.mark.parametrize("estimator", ["plain", "steady"])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_without_noise_it_is_hard_em(d, estimator):
    points, box = data(d)
    options = {"n_components": 4, "epsilon": math.inf, "n_iterations": 6, "estimator": estimator}
    result = run(points, box, **options)
    weights, means, covariances = plain_em(signed_points(points, box), result.release.start, 6, soft=False)
    last = result.trace[-1].mixture
    np.testing.assert_allclose(last.means, means, atol=1e-9)
    np.testing.assert_allclose(last.covariances, covariances, atol=1e-9)
    np.testing.assert_allclose(last.weights, weights, atol=1e-9)


@pytest.mark.parametrize("base", ["dpmog_hard", "dpmog"])
def test_records_that_are_ready_from_an_earlier_run_give_the_same_bits(base):
    """Records are recognized if they are the same array, in the same box, and only if no one can change them."""
    points, box = data(2)
    other = Box.cube(-1.0, 2.0, 2)
    held = frozen(points.copy())
    for bounds in (box, other, box):
        fresh = run(points.copy(), bounds, n_components=4, base=base).trace[-1]
        again = run(held, bounds, n_components=4, base=base).trace[-1]
        np.testing.assert_array_equal(again.nonprivate_moments, fresh.nonprivate_moments)
        np.testing.assert_array_equal(again.mixture.means, fresh.mixture.means)
    before = run(points, box, n_components=4, base=base).trace[-1].nonprivate_moments
    points[:150] = 0.5
    assert not np.array_equal(run(points, box, n_components=4, base=base).trace[-1].nonprivate_moments, before)


def test_without_noise_dpmog_is_em_and_dplloyd_is_lloyd():
    points, box = data(2)
    signed = signed_points(points, box)
    soft = run(points, box, n_components=4, epsilon=math.inf, n_iterations=5, base="dpmog", estimator="plain")
    weights, means, covariances = plain_em(signed, soft.release.start, 5, soft=True)
    np.testing.assert_allclose(soft.trace[-1].mixture.means, means, atol=1e-9)
    np.testing.assert_allclose(soft.trace[-1].mixture.covariances, covariances, atol=1e-9)
    np.testing.assert_allclose(soft.trace[-1].mixture.weights, weights, atol=1e-9)
    lloyd = run(points, box, n_components=4, epsilon=math.inf, n_iterations=5, base="dplloyd_mog")
    centers = lloyd.release.start
    for _ in range(5):
        labels = nearest_center(signed, centers)
        centers = np.stack(
            [signed[labels == i].mean(axis=0) if (labels == i).any() else c for i, c in enumerate(centers)]
        )
    np.testing.assert_allclose(lloyd.trace[-1].centers, centers, atol=1e-9)
    for i in range(4):
        if (labels == i).sum() > 1:
            values = np.linalg.eigvalsh(np.cov(signed[labels == i].T, bias=True))
            found = np.linalg.eigvalsh(lloyd.trace[-1].mixture.covariances[i])
            np.testing.assert_allclose(found, np.maximum(values, FLOOR), atol=1e-9)


def test_without_noise_a_swap_never_costs_more():
    points, box = data(2)
    signed = signed_points(points, box)
    trace = run(points, box, n_components=4, epsilon=math.inf, n_iterations=5, base="dpcube").trace
    costs = [
        ((signed[:, None] - step.centers[None]) ** 2).sum(axis=2).min(axis=1).sum()
        for step in trace
        if step.stage == "swap"
    ]
    assert len(costs) == 5
    assert (np.diff(costs) <= 1e-9).all()
    assert costs[-1] < costs[0]


def test_epsilon_moves_scales_and_nothing_else_of_the_first_pass():
    points, box = data(2)
    few, many = (run(points, box, epsilon=epsilon).trace[0] for epsilon in (1.0, 10.0))
    noise = [(step.noisy_moments - step.nonprivate_moments) / step.sigma for step in (few, many)]
    np.testing.assert_allclose(*noise, atol=1e-9)


@pytest.mark.parametrize("base", BASES)
def test_the_release_is_a_function_of_noisy_statistics(base):
    points, box = data(2)
    result = run(points, box, base=base, n_components=6, epsilon=5.0)
    release = result.release
    assert sorted([*release.kept.tolist(), *release.dropped.tolist()]) == list(range(6))
    assert len(release.centers) == len(release.noisy_counts) == release.mixture.n_components == len(release.kept)
    assert np.linalg.eigvalsh(release.mixture.covariances).min() >= FLOOR * (1 - 1e-9)
    np.testing.assert_allclose(box.to_unit(release.centers) * 2 - 1, release.mixture.means, atol=1e-12)
    assert (release.noisy_counts >= 4 * release.sigma).all() or len(release.kept) == 1
    assert len(release.component_clusters) == len(release.kept)
    assert len(set(release.component_clusters.tolist())) <= result.release.n_clusters


def test_cutting_the_hierarchy_touches_nothing_private():
    points, box = data(2, n=2000)
    two, five = (run(points, box, n_clusters=k, epsilon=5.0) for k in (2, 5))
    assert np.array_equal(two.release.mixture.means, five.release.mixture.means)
    assert two.guarantee == five.guarantee
    assert two.events == five.events


def test_a_record_in_two_basins_is_told_by_the_flow_and_the_cheap_way_differs_somewhere():
    mixture = Mixture([0.5, 0.5], [[-1.0, 0.0], [1.0, 0.0]], [np.diag([0.05, 1.0]), np.diag([1.0, 0.05])])
    points = np.random.default_rng(0).uniform(-2, 2, (500, 2))
    assert 0 < disagreement(mixture, points, 2) < 0.5
    assert disagreement(mixture, points, 1) == 0.0
    assert math.isnan(disagreement(mixture, np.empty((0, 2)), 2))


@pytest.mark.parametrize("base", BASES)
def test_many_columns_work(base):
    points, box = data(60, n=200)
    result = run(points, box, base=base, n_components=4, epsilon=50.0, n_iterations=2)
    assert len(merge_tree(result.release.mixture).births) >= 1
    assert result.release.centers.shape[1] == 60


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_released_landscapes_hang_together(seed):
    points, box = data(2, n=3000, seed=seed)
    release = run(points, box, seed=seed, n_components=12, epsilon=3.0, n_iterations=3).release
    tree = release.tree
    assert tree.n_unreachable == 0
    assert len(landscape(release.mixture).transitions) >= tree.n_leaves - 1
    for k in range(1, tree.n_leaves + 2):
        labels = assign(release.mixture, release.mixture.means, k)
        assert labels.max() < min(k, tree.n_leaves)
