"""The table of moves against the whole posterior, whose masses come from the law that attackers use."""

import numpy as np
import pytest

from dpviz.core import Box
from dpviz.mechanisms import default_grid, release_law, remap_cells, remap_table

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
