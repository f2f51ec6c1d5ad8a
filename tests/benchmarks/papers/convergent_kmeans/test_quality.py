"""Closeness of runs to Lloyd's, by hand and by the paper's own figures."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.papers.convergent_kmeans.quality import convergence_degree, cost_gap, iteration_ratio


def test_the_iteration_ratio_is_of_the_averages():
    # (2 + 8) / (4 + 1) = 2; the average of the ratios 0.5 and 8 would be 4.25.
    assert iteration_ratio([2, 8], [4, 1]) == 2.0
    assert iteration_ratio(np.array([5.89]), np.array([6.07])) == pytest.approx(0.97, abs=0.005)  # figure 9b, Iris


@pytest.mark.parametrize(("measured", "lloyds"), [([], []), ([1, 2], [1]), ([[1]], [[1]]), (3, 3), ([1, 2], [0, 0])])
def test_an_iteration_ratio_needs_paired_runs(measured, lloyds):
    with pytest.raises(ValueError, match="iterations"):
        iteration_ratio(measured, lloyds)


def test_a_run_counts_only_with_every_coordinate_of_every_center():
    lloyds = np.tile([[0.5, 0.2], [0.9, 1.0]], (4, 1, 1))
    ours = lloyds.copy()
    ours[1] *= 1.0099  # all within 1 %
    ours[2, 1, 1] *= 1.011  # one coordinate of four is not
    ours[3] *= 0.9899  # none is
    assert convergence_degree(ours, lloyds) == 0.5
    # The other readings, shares of centers and of coordinates, would be 0.625 and 0.6875.
    within = np.abs(ours - lloyds) <= 0.01 * lloyds
    assert (within.all(axis=2).mean(), within.mean()) == (0.625, 0.6875)
    assert convergence_degree(ours, lloyds, tolerance=0.02) == 1.0
    assert convergence_degree(ours, lloyds, tolerance=0.0) == 0.25


def test_the_tolerance_is_relative_to_lloyds_and_a_zero_must_be_met():
    assert convergence_degree([[[0.0]]], [[[0.0]]]) == 1.0
    assert convergence_degree([[[1e-9]]], [[[0.0]]]) == 0.0
    assert convergence_degree([[[-0.504]]], [[[-0.5]]]) == 1.0
    # |100 - 99| is within 1 % of 100, not of 99: Lloyd's is the second argument.
    assert convergence_degree([[[99.0]]], [[[100.0]]]) == 1.0
    assert convergence_degree([[[100.0]]], [[[99.0]]]) == 0.0


@given(st.integers(0, 2**32 - 1))
def test_the_degree_is_a_share_of_runs_whatever_the_order_of_the_runs(seed):
    rng = np.random.default_rng(seed)
    n_runs, k, d = rng.integers(1, 6, size=3)
    lloyds = rng.random((n_runs, k, d))
    ours = lloyds * rng.choice([1.0, 1.0, 1.0, 1.2], size=(n_runs, k, d))
    by_hand = sum(np.allclose(a, b, rtol=0.05, atol=0.0) for a, b in zip(ours, lloyds, strict=True)) / n_runs
    order = rng.permutation(n_runs)
    assert convergence_degree(ours, lloyds) == pytest.approx(by_hand)
    assert convergence_degree(ours[order], lloyds[order]) == convergence_degree(ours, lloyds)


@pytest.mark.parametrize(("measured", "lloyds"), [((2, 3, 2), (2, 3, 1)), ((0, 3, 2), (0, 3, 2)), ((3, 2), (3, 2))])
def test_a_degree_needs_runs_of_one_shape(measured, lloyds):
    with pytest.raises(ValueError, match=r"\(R, k, d\)"):
        convergence_degree(np.zeros(measured), np.zeros(lloyds))
    with pytest.raises(ValueError, match="tolerance"):
        convergence_degree(np.zeros((1, 1, 1)), np.zeros((1, 1, 1)), tolerance=-0.1)


def test_the_cost_gap_counts_a_better_cost_too():
    assert cost_gap(3.0, 2.0) == pytest.approx(0.5)
    assert cost_gap(1.0, 2.0) == pytest.approx(0.5)
    assert cost_gap(2.0, 2.0) == 0.0
    assert cost_gap(0.0, 0.0) == 0.0
    assert cost_gap(1.0, 0.0) == math.inf
    for bad in [(-1.0, 1.0), (1.0, -1.0), (math.nan, 1.0)]:
        with pytest.raises(ValueError, match="cost"):
            cost_gap(*bad)


@given(st.floats(0, 1e6), st.floats(1e-6, 1e6), st.floats(1e-3, 1e3))
def test_the_cost_gap_has_no_unit(cost, lloyd_cost, factor):
    assert cost_gap(factor * cost, factor * lloyd_cost) == pytest.approx(cost_gap(cost, lloyd_cost), rel=1e-9, abs=1e-9)
