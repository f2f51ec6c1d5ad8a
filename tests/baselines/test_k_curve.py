"""The private curve of cost against k: its spending, its inputs, and its knee."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.accounting import spent_epsilon
from dpviz.baselines import eugkm
from dpviz.baselines.k_curve import MOST_K, curve_of, knee, private_curve
from dpviz.core import Adjacency, Box
from dpviz.data import load


@given(st.integers(1, 6), st.floats(0.05, 20.0), st.sampled_from(["add_remove", "replace"]))
@settings(max_examples=20, deadline=None)
def test_the_curve_for_all_k_spends_what_was_asked_for_and_not_a_bit_more(d, epsilon, adjacency):
    points = np.random.default_rng(0).random((60, d))
    found = private_curve(points, Box.cube(0.0, 1.0, d), epsilon, adjacency, rng=np.random.default_rng(1))
    spent = spent_epsilon(found.events, Adjacency[adjacency.upper()])
    assert spent == pytest.approx(epsilon, rel=1e-15)  # a sum of two doubles
    assert found.guarantee.proved.epsilon == epsilon
    assert found.guarantee.proved.adjacency is Adjacency[adjacency.upper()]
    # A curve bought k by k would cost that much each time.
    assert spent_epsilon(found.events * MOST_K, Adjacency[adjacency.upper()]) > 15 * epsilon


def test_records_reach_the_curve_through_the_released_grid_alone():
    data = load("blobs", n=2000)
    found = private_curve(data.points, data.box, 0.5, "add_remove", rng=np.random.default_rng(3))
    release, scale = found.release, found.events[-1].scale
    again = curve_of(release.noisy_cell_counts, release.shape, scale)
    assert np.array_equal(again, release.costs), "a function of the release"
    assert release.suggested == knee(again)
    params = eugkm.Params(n_clusters=1, epsilon=0.5, grid="even")
    grid = eugkm.fit(data.points, data.box, params, rng=np.random.default_rng(3)).release
    assert np.array_equal(grid.noisy_cell_counts, release.noisy_cell_counts), "EUGkM's own grid"


@pytest.mark.parametrize("groups", [3, 5, 8])
def test_with_little_noise_the_knee_is_where_the_groups_are(groups):
    data = load("blobs", n=4000, n_clusters=groups, overlap=0.35)
    found = private_curve(data.points, data.box, 1.0, "add_remove", rng=np.random.default_rng(0)).release
    assert found.suggested == groups
    assert (np.diff(found.costs) <= 0).all()
    assert found.costs[0] == 1.0


def test_a_grid_that_says_nothing_suggests_one():
    assert knee(curve_of(np.array([7.0]), (1, 1), 1.0)) == 1
    assert knee(np.array([1.0, 0.2, 0.1, 0.05])) == 2
