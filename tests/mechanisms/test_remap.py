"""The table of moves against the whole posterior, whose masses come from the law that attackers use.

Medians by Newton's steps against Weiszfeld's iteration, smoothed and run to its end: slow, and it cannot go wrong.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from dpviz.core import Box
from dpviz.mechanisms import default_grid, release_law, remap, remap_cells, remap_table
from dpviz.solvers import geometric_median

# Share of the extent, so that Weiszfeld's iteration never divides by 0.
SMOOTH = 1e-6
STEPS = (np.array([0.0, 0.4, 1.0, 3.5]), np.array([-1.0, 0.0, 2.0]), np.array([5.0, 5.1]))  # uneven on purpose


def uneven(d):
    return np.stack(np.meshgrid(*STEPS[:d], indexing="ij"), axis=-1).reshape(-1, d)


def means_of(grid, epsilon, prior):
    """Posterior means from one likelihood after another."""
    law = release_law(grid, epsilon=epsilon, domain="remap", cells=remap_cells(grid, grid))
    weights = prior * np.exp([law.log_likelihood(place) for place in grid])
    return weights @ grid / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [1e-3, 0.3, 2.0, 40.0])
@pytest.mark.parametrize("uniform", [True, False])
def test_means_are_those_of_the_whole_posterior(d, epsilon, uniform):
    rng = np.random.default_rng(d)
    grid = uneven(d)
    grid = grid[rng.permutation(len(grid))]
    prior = None if uniform else rng.random(len(grid)) ** 4
    found = remap_table(grid, epsilon=epsilon, prior=prior)
    np.testing.assert_allclose(found, means_of(grid, epsilon, np.ones(len(grid)) if uniform else prior), atol=1e-12)
    other = remap_table(grid, epsilon=2 * epsilon, prior=prior)
    assert epsilon == 40.0 or np.abs(found - other).max() > 1e-9


@pytest.mark.parametrize("d", [2, 4])
def test_the_default_grids_means_too(d):
    grid = default_grid(Box.cube(-1.0, 3.0, d))
    rows = np.random.default_rng(0).integers(len(grid), size=8)
    law = release_law(grid, epsilon=1.5, domain="remap", cells=remap_cells(grid, grid))
    weights = np.exp([law.log_likelihood(grid[row]) for row in rows])
    expected = weights @ grid / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(remap_table(grid, epsilon=1.5)[rows], expected, atol=1e-12)


@pytest.mark.parametrize("rule", ["mean", "median"])
def test_far_places_underflow_and_the_near_ones_decide(rule):
    grid = default_grid(Box.cube(0.0, 1.0, 2))
    np.testing.assert_allclose(remap_table(grid, epsilon=1e6, rule=rule), grid, atol=2e-6)
    assert remap_table(grid, epsilon=700.0, rule=rule)[500] == pytest.approx(grid[500], abs=1e-3)


@pytest.mark.parametrize("rule", ["mean", "median"])
def test_a_prior_that_rules_out_what_is_near_leaves_its_nearest(rule):
    grid = default_grid(Box.cube(0.0, 1.0, 2))
    prior = np.zeros(len(grid))
    prior[[0, -1]] = 1.0
    found = remap_table(grid, epsilon=1e5, prior=prior, rule=rule)
    np.testing.assert_allclose(found[[0, 1, -2, -1]], grid[[0, 0, -1, -1]], atol=2e-6)


def test_tables_are_kept_apart_and_cannot_be_written():
    grid = uneven(2)
    one, again, other = (
        remap_table(grid, epsilon=1.0),
        remap_table(grid.copy(), epsilon=1.0),
        remap_table(grid, epsilon=2.0),
    )
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    with pytest.raises(ValueError, match="read-only"):
        one[0] = 0.0


def weiszfeld(weights, places, rounds=20_000):
    """The smoothed iteration, until a step is as short as rounding."""
    extent = np.ptp(places, axis=0).max()
    current = weights @ places / weights.sum(axis=1, keepdims=True)
    for _ in range(rounds):
        pull = weights / np.sqrt(cdist(current, places, "sqeuclidean") + (SMOOTH * extent) ** 2)
        following = pull @ places / pull.sum(axis=1, keepdims=True)
        moved, current = np.abs(following - current).max(), following
        if moved <= 1e-14 * extent:
            break
    return current


def sums(weights, places, middles):
    return (weights * cdist(middles, places)).sum(axis=1)


@given(st.integers(0, 10_000), st.integers(3, 30), st.integers(2, 4))
@settings(max_examples=40, deadline=None)
def test_no_place_nearby_has_a_smaller_sum(seed, m, d):
    rng = np.random.default_rng(seed)
    places = np.unique(rng.integers(0, 5, (m, d)).astype(float), axis=0)
    weights = rng.random((6, len(places))) ** rng.integers(1, 12)
    found = geometric_median(places, weights)
    least = sums(weights, places, found)
    # Rounding error of sums of 30 distances in floating point.
    slack = 1e-12 * np.ptp(places, axis=0).max() * weights.sum(axis=1)
    for size in (1e-3, 0.1, 1.0):
        near = found + size * rng.standard_normal(found.shape)
        assert (sums(weights, places, near) >= least - slack).all()
    at_places = np.min([sums(weights, places, np.broadcast_to(place, found.shape)) for place in places], axis=0)
    assert (at_places >= least - slack).all()


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("epsilon", [0.3, 2.0, 8.0, 40.0])
@pytest.mark.parametrize("uniform", [True, False])
def test_the_table_is_weiszfelds(d, epsilon, uniform):
    grid = default_grid(Box.cube(-1.0, 1.0, d))
    inside = (np.abs(grid) < (0.35 if d == 2 else 0.6)).all(axis=1)  # a smaller grid, the same everywhere
    grid = grid[inside] * [1.0, *[0.7] * (d - 1)]
    rng = np.random.default_rng(d)
    prior = np.ones(len(grid)) if uniform else rng.random(len(grid)) ** 3
    law = release_law(grid, epsilon=epsilon, domain="remap", cells=remap_cells(grid, grid))
    rows = rng.integers(len(grid), size=40)
    weights = prior * np.exp([law.log_likelihood(place) for place in grid[rows]])
    expected = weiszfeld(weights, grid)
    found = remap_table(grid, epsilon=epsilon, prior=None if uniform else prior, rule="median")[rows]
    # The smoothed sum is no more than SMOOTH of the extent above the true one, whose least value ours must be.
    least = sums(weights, grid, found)
    assert (least <= sums(weights, grid, expected) * (1.0 + 1e-12)).all()
    slack = 1.1 * SMOOTH * np.ptp(grid, axis=0).max() * weights.sum(axis=1)
    assert (least >= sums(weights, grid, expected) - slack).all()
    means = remap_table(grid, epsilon=epsilon, prior=None if uniform else prior)[rows]
    assert (sums(weights, grid, means) > least + 1e-9 * weights.sum(axis=1)).any()  # the mean would fail


@pytest.mark.parametrize("n", [640, 1024])  # 20 lines of 32 places, and all of the square
@pytest.mark.parametrize("prior", ["uniform", "diagonal", "none"])
def test_a_folded_grid_gives_what_the_whole_one_does(monkeypatch, n, prior):
    grid = default_grid(Box(np.array([-3.0, 2.0]), np.array([-2.0, 3.0])))[:n]
    east, north = (grid - grid.mean(axis=0)).T
    # Its own image along no axis, but on the diagonal; and without any image.
    weights = {"uniform": np.ones(n), "diagonal": np.exp(-np.maximum(east, north)), "none": 2.0 + east}[prior]
    folded = [rule(grid, weights / n, 5.0) for rule in (remap.posterior_medians, remap.posterior_means)]
    monkeypatch.setattr(remap, "MIRROR", -1.0)
    whole = [rule(grid, weights / n, 5.0) for rule in (remap.posterior_medians, remap.posterior_means)]
    np.testing.assert_allclose(folded, whole, atol=1e-9)


def test_places_and_lines_that_hold_everything():
    places = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [0.0, 5.0]])
    weights = np.array([[1.0, 0.0, 0.0, 0.0], [1.0, 3.0, 1.0, 0.0], [0.2, 0.5, 0.2, 0.1]])
    found = geometric_median(places, weights)
    np.testing.assert_array_equal(found, [[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    line = geometric_median(places[:3, :1], weights[:, :3])
    assert line.ravel().tolist() == [0.0, 1.0, 1.0]
