"""EM-MC: its spending, its covers by brute force, the distribution of its picks, the greedy limit, and its results."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dpviz.accounting import pure_epsilon, zcdp_epsilon, zcdp_rho, zcdp_rho_for
from dpviz.baselines._base import SIZE_SHARE
from dpviz.baselines.em_mc import (
    AVERAGE_SHARE,
    AXES_CAVEAT,
    COUNT_SHARE,
    PICK_SHARE,
    Params,
    ScaleStep,
    covers,
    fit,
    shares_of,
)
from dpviz.core import Adjacency, Box, Budget, public_axes
from dpviz.solvers import assign

DELTA = 1e-6
ADJACENCIES = {"add_remove": Adjacency.ADD_REMOVE, "replace": Adjacency.REPLACE}


def generator(seed=0):
    return np.random.default_rng(seed)


def run(points, seed=0, **options):
    params = Params(**{"n_clusters": 3, "delta": DELTA, "start_seed": 0} | options)
    return fit(points, Box.cube(0, 1, points.shape[1]), params, rng=generator(seed))


@pytest.mark.parametrize("d", [1, 2, 5, 20, 100])
@pytest.mark.parametrize("name", ADJACENCIES)
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 50.0])
def test_the_parts_add_up_to_the_budget(d, name, epsilon):
    adjacency, points = ADJACENCIES[name], generator(d).random((200, d))
    result = run(points, epsilon=epsilon, adjacency=name)
    counted = adjacency is Adjacency.ADD_REMOVE
    size, (*grids, counts, averages) = result.events[:counted], result.events[counted:]
    assert pure_epsilon(size, adjacency) == pytest.approx(SIZE_SHARE * epsilon * counted, rel=1e-12)
    left = Budget(epsilon * (1 - SIZE_SHARE * counted), DELTA)
    rho = zcdp_rho_for(left)
    parts = ((grids, PICK_SHARE), ((counts,), COUNT_SHARE), ((averages,), AVERAGE_SHARE))
    for events, share in parts:
        assert zcdp_rho(events, adjacency) == pytest.approx(share * rho, rel=1e-12)
    assert zcdp_epsilon(zcdp_rho((*grids, counts, averages), adjacency), DELTA) == pytest.approx(left.epsilon, rel=1e-9)
    assert [len(grid.events) for grid in grids] == [3] * 4
    assert averages.l2_sensitivity == pytest.approx(math.sqrt(d) / (2 if counted else 1))
    claim = result.guarantee.proved
    assert (claim.epsilon, claim.delta, claim.adjacency) == (epsilon, DELTA, adjacency)
    assert (AXES_CAVEAT in result.guarantee.caveats) is (d > 3)


def brute(places, candidates, reach, side):
    """Return (M, n): whether the ball round each grid point holds each record."""
    radius = np.linalg.norm(2 * reach / side) / 2
    return cdist(candidates, places) <= radius * (1 + 1e-9)


@given(
    n=st.integers(0, 40), d=st.integers(1, 7), p=st.integers(1, 3), side=st.integers(1, 8), seed=st.integers(0, 10**6)
)
@settings(max_examples=60)
def test_covers_are_balls_round_the_grid_and_leave_nobody_out(n, d, p, side, seed):
    rng = generator(seed)
    axes = public_axes(d, p, rng=rng)
    assert np.allclose(axes @ axes.T, np.eye(len(axes)))
    unit = np.concatenate([rng.random((n, d)), rng.integers(2, size=(3, d))])  # corners of the box, too
    places, reach = (unit - 0.5) @ axes.T, np.abs(axes).sum(axis=1) / 2
    cover = covers(places, reach, side)
    wanted = brute(places, cover.candidates, reach, side)
    for lists, pairs in ((cover.by_candidate, wanted), (cover.by_record, wanted.T)):
        assert [sorted(lists.row(i)) for i in range(len(pairs))] == [list(np.flatnonzero(row)) for row in pairs]
    assert np.array_equal(cover.scores, wanted.sum(axis=1))
    assert wanted.any(axis=0).all()
    left = rng.integers(2, size=len(places)).astype(float)
    candidate = int(rng.integers(len(cover.candidates)))
    fresh = cover.fresh(candidate, left)
    assert np.array_equal(fresh, np.flatnonzero(wanted[candidate] & (left > 0)))
    assert np.array_equal(cover.lost(fresh), wanted[:, fresh].sum(axis=1))


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_without_noise_it_is_greedy_max_cover_and_exact_means(d):
    points = generator(d).random((400, d)) ** 2
    result = run(points, epsilon=math.inf)
    axes, last = result.release.axes, result.trace[-1]
    places, reach = (points - 0.5) @ axes.T, np.abs(axes).sum(axis=1) / 2
    for step in (step for step in result.trace if isinstance(step, ScaleStep)):
        wanted = brute(places, step.candidates, reach, step.side)
        left = np.ones(len(points), dtype=bool)
        for pick, covered in zip(step.picks, step.nonprivate_covered, strict=True):
            gains = (wanted & left).sum(axis=1)
            assert gains[pick] == gains.max() == covered
            left &= ~wanted[pick]
    groups = last.groups[cdist(places, last.picked).argmin(axis=1)]
    for group in range(3):
        members = points[groups == group]
        if len(members):
            assert np.allclose(result.release.centers[group], members.mean(axis=0), atol=1e-9)
            assert result.release.noisy_counts[group] == len(members)


def test_a_group_that_looks_empty_stays_at_its_picks():
    result = run(generator(0).random((200, 6)), epsilon=1.0, n_public=200, n_clusters=10)
    last, count_epsilon = result.trace[-1], shares_of(Budget(1.0, DELTA), 40, Adjacency.ADD_REMOVE).count_epsilon
    empty = last.cluster_counts < 2 / count_epsilon
    assert 0 < empty.sum() < 10
    assert np.array_equal((last.released_centers == last.lifted_centers).all(axis=1), empty)


def test_at_epsilon_one_it_finds_blobs():
    points, truth = make_blobs(10_000, 2, centers=16, center_box=(-100, 100), random_state=42)
    params, box = Params(n_clusters=16, delta=DELTA), Box.cube(-100, 100, 2)
    found = [fit(points, box, params, rng=generator(seed)).release.centers for seed in range(5)]
    assert np.median([adjusted_rand_score(truth, assign(points, centers)) for centers in found]) >= 0.75
