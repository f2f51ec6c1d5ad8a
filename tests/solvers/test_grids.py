"""Grids whose full cells are cut again: they tile the box, count correctly, and agree with both counts."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from dpviz.accounting import LaplaceEvent
from dpviz.baselines.eugkm import Params, fit
from dpviz.core import Box
from dpviz.solvers.grids import (
    LEAST_SPREAD,
    MAX_CELLS,
    SPREAD,
    NestedGrid,
    cut_again,
    even_grid,
    grid_of,
    marginal_counts,
    spread_within,
)


def nested(points, *, bins=16, most=40.0, epsilon=1.0, units=None):
    """Return a grid that is cut twice by the exact counts of `points`, and the outer cells' counts."""
    units = np.ones(points.shape[1]) if units is None else units
    marginals = marginal_counts(points, bins)
    outer = grid_of(marginals, most, units, scale=0.0)
    counts = outer.counts(points)
    return cut_again(outer, counts, marginals, units, epsilon=epsilon, scale=0.0), counts


@given(st.integers(1, 4), st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 10.0, math.inf]))
def test_cells_tile_the_box_and_count_what_lies_in_them(d, seed, epsilon):
    rng = np.random.default_rng(seed)
    points = np.vstack([rng.beta(0.5, 3.0, (300, d)), np.zeros((1, d)), np.ones((1, d))])
    grid, outer = nested(points, epsilon=epsilon)
    low, high = grid.walls()
    assert len(low) <= MAX_CELLS
    assert (high > low).all()
    assert np.prod(high - low, axis=1).sum() == pytest.approx(1.0, rel=1e-9)
    assert (low <= grid.places()).all()
    assert (grid.places() <= high).all()
    counts = grid.counts(points)
    assert np.array_equal(np.add.reduceat(counts, grid.first[:-1]), outer)
    parts = sum(grid.counts(part) for part in np.array_split(rng.permutation(points), 7))
    assert np.array_equal(parts, counts)


@given(st.integers(1, 3), st.integers(0, 10**6), st.sampled_from(["even", "fitted", "nested"]))
def test_each_record_is_in_one_cell_also_on_and_beside_its_walls(d, seed, kind):
    rng = np.random.default_rng(seed)
    points = rng.beta(0.5, 3.0, (200, d))
    fitted = (
        nested(points)[0] if kind == "nested" else grid_of(marginal_counts(points, 16), 40.0, np.ones(d), scale=0.0)
    )
    grid = even_grid(tuple(rng.integers(1, 6, d))) if kind == "even" else fitted
    low, high = grid.walls()
    # Each coordinate is a wall of some cell, or its neighbor among floating-point numbers.
    walls = np.column_stack([rng.choice(np.concatenate([low, high])[:, axis], 300) for axis in range(d)])
    beside = np.nextafter(walls, rng.choice([-1.0, 2.0], walls.shape)).clip(0.0, 1.0)
    records = np.vstack([points, walls, beside, np.where(rng.random(walls.shape) < 0.5, walls, beside)])
    # Only the last cell of an axis contains its high wall.
    top = np.where(high == 1.0, 2.0, high)
    inside = ((records[:, None] >= low) & (records[:, None] < top)).all(axis=2)
    assert (inside.sum(axis=1) == 1).all()
    assert np.array_equal(grid.counts(records), inside.sum(axis=0))


@given(st.integers(0, 10**6), st.floats(0.1, 5.0), st.floats(0.1, 5.0))
def test_two_noisy_counts_are_reconciled_by_least_squares(seed, scale, outer_scale):
    rng = np.random.default_rng(seed)
    grid, exact = nested(rng.beta(0.5, 3.0, (300, 2)), most=6.0)
    outer = exact + rng.laplace(0.0, outer_scale, len(exact))
    noisy = rng.laplace(3.0, scale, len(grid.places()))
    member = np.repeat(np.arange(len(exact)), np.diff(grid.first)) == np.arange(len(exact))[:, None]
    rows = np.vstack([np.eye(len(noisy)) / scale, member / outer_scale])
    wanted = np.linalg.lstsq(rows, np.concatenate([noisy / scale, outer / outer_scale]))[0]
    found = grid.consistent(noisy, outer, scale=scale, outer_scale=outer_scale)
    assert found == pytest.approx(wanted, rel=1e-6, abs=1e-6)
    exchanged = grid.consistent(noisy, outer, scale=outer_scale, outer_scale=scale)  # a wrong variant
    assert abs(scale - outer_scale) < 0.05 or exchanged != pytest.approx(wanted, rel=1e-6, abs=1e-6)


def test_without_noise_counts_stay_exact():
    points = np.random.default_rng(0).random((500, 2))
    grid, outer = nested(points)
    counts = grid.counts(points)
    assert np.array_equal(grid.consistent(counts, outer, scale=0.0, outer_scale=0.0), counts)


@pytest.mark.parametrize("adjacency", ["add_remove", "replace"])
def test_both_levels_move_by_no_more_than_their_events_say(adjacency):
    rng, d = np.random.default_rng(4), 2
    points = rng.random((60, d))
    others = [np.delete(points, i, axis=0) for i in range(60)]
    if adjacency == "replace":
        others = [np.vstack([other, rng.random((1, d))]) for other in others]
    result = fit(points, Box.cube(0, 1, d), Params(epsilon=200.0, adjacency=adjacency), rng=rng)
    large, cells = (event for event in result.events[-2:] if isinstance(event, LaplaceEvent))
    grid = result.release.grid
    assert isinstance(grid, NestedGrid)
    for event, counted in ((large, grid.outer.counts), (cells, grid.counts)):
        moved = max(np.abs(counted(points) - counted(other)).sum() for other in others)
        assert moved == event.sensitivity * event.n_coordinates
        assert event.scale == pytest.approx(moved / event.epsilon)


def test_many_thin_clusters_get_cells_of_their_own():
    """A hundred clusters along a curve: cells cut once are too wide for them."""
    ratios: dict[str, list[float]] = {"nested": [], "fitted": []}
    across = (np.arange(100) + 0.5) / 100
    middles = np.column_stack([across, 0.5 + 0.4 * np.sin(2.0 * np.pi * across)])
    for seed in range(5):
        rng = np.random.default_rng(seed)
        points = np.clip(middles[rng.integers(100, size=12_000)] + 0.002 * rng.standard_normal((12_000, 2)), 0.0, 1.0)
        best = float(KMeans(100, init=middles, n_init=1).fit(points).inertia_)
        for grid, found in ratios.items():
            centers = fit(points, Box.cube(0, 1, 2), Params(n_clusters=100, grid=grid), rng=rng).release.centers
            found.append(float(((points[:, None] - centers) ** 2).sum(axis=2).min(axis=1).sum()) / best)
    assert np.median(ratios["nested"]) < 0.7 * np.median(ratios["fitted"])


@given(st.integers(1, 520), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_a_few_cells_records_are_spread_over_them(m, d, seed):
    rng = np.random.default_rng(seed)
    low = rng.random((m, d))
    high = low + rng.random((m, d)) * (rng.random((m, d)) < 0.9)  # some have no width
    places = low + (high - low) * rng.uniform(0.02, 0.98, (m, d))
    spread = spread_within(places, low, high)
    each, rest = divmod(len(spread), m)
    assert rest == 0
    if m > SPREAD // LEAST_SPREAD:
        assert spread is places
        return
    assert each % 2 == 0
    assert LEAST_SPREAD <= each <= SPREAD / m
    cells = spread.reshape(m, each, d)
    slack = 1e-12
    assert ((cells >= low[:, None] - slack) & (cells <= high[:, None] + slack)).all()
    # Each axis is filled in each / 2 strata: a mean is off by half a stratum of the wider part at most.
    assert (np.abs(cells.mean(axis=1) - places) <= (high - low) / each + slack).all()


def test_middles_stay_middles_and_every_half_has_half():
    low, high = np.zeros((3, 2)), np.array([[1.0, 2.0], [1.0, 1.0], [0.5, 4.0]])
    cells = spread_within(high / 2.0, low, high).reshape(3, -1, 2)
    assert cells.mean(axis=1) == pytest.approx(high / 2.0, rel=1e-12)
    assert ((cells < high[:, None] / 2.0).mean(axis=1) == 0.5).all()


def test_few_cells_no_longer_leave_centers_over():
    """Eight clusters in four cells: from their middles alone, four centers find no record and stay where they began."""
    rng = np.random.default_rng(0)
    points = rng.uniform(0.0, 1.0, (400, 2))
    costs = {"even": [], "nested": []}
    for seed in range(20):
        for grid, found in costs.items():
            params = Params(n_clusters=8, epsilon=0.1, grid=grid, n_public=400)
            centers = fit(points, Box.cube(0.0, 1.0, 2), params, rng=np.random.default_rng(seed)).release.centers
            found.append(((points[:, None] - centers) ** 2).sum(axis=2).min(axis=1).sum())
    assert np.median(costs["nested"]) < 0.9 * np.median(costs["even"])
