"""A private start: its spending, its inputs, and its closeness to the records."""

import math

import numpy as np
import pytest

from dpviz.accounting import LaplaceEvent, Purpose, pure_epsilon
from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import Adjacency, Box
from dpviz.data import ArrayChunks
from dpviz.methods import ALGORITHMS
from dpviz.metrics import nonprivate_cost
from dpviz.solvers import assign
from dpviz.solvers.grids import CellGrid, even_grid, even_side
from dpviz.solvers.noisy_lloyd import steadied
from dpviz.solvers.weighted import SEED_SHARE, private_seeds

LLOYDS = ("blum", "dwork", "dplloyd")
METHODS = (*LLOYDS, "convergent_kmeans")
ADJACENCIES = {"add_remove": Adjacency.ADD_REMOVE, "replace": Adjacency.REPLACE}


def blobs(n=3000, d=2, k=8, seed=0):
    """Return round clusters in one corner of the box: a packing of the whole box has most of its centers elsewhere."""
    rng = np.random.default_rng(seed)
    middles = 0.35 * rng.random((k, d))
    return np.clip(middles[rng.integers(k, size=n)] + 0.01 * rng.standard_normal((n, d)), 0.0, 1.0)


def run(method, points, seed=0, **params):
    algorithm = ALGORITHMS[method]
    box = Box.cube(0.0, 1.0, points.d if isinstance(points, ArrayChunks) else points.shape[1])
    return algorithm.fit(points, box, algorithm.Params(**params), rng=np.random.default_rng(seed))


def cost(points, centers):
    return nonprivate_cost(points, centers, assign(points, centers))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("n_iterations", [None, 1, 4])
@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_start_and_the_steps_together_spend_epsilon(method, adjacency, n_iterations, d):
    own = {} if method == "convergent_kmeans" else {"adjacency": adjacency}
    under = ADJACENCIES[adjacency] if own else Adjacency.ADD_REMOVE
    points = blobs(d=d)
    result = run(method, points, epsilon=0.7, start="private", n_iterations=n_iterations, **own)
    spent = pure_epsilon(result.events, under)
    assert spent == pytest.approx(result.guarantee.proved.epsilon, rel=1e-12)
    seeds = [each for each in result.events if isinstance(each, LaplaceEvent) and each.purpose is Purpose.START]
    assert [event.label for event in seeds] == ["marginals of the start", "cells of the start"]
    size = [each for each in result.events if isinstance(each, LaplaceEvent) and each.purpose is Purpose.SIZE]
    left = 0.7 - pure_epsilon(tuple(size), under)
    assert pure_epsilon(tuple(seeds), under) == pytest.approx(SEED_SHARE * left, rel=1e-12)
    assert pure_epsilon(tuple(seeds[:1]), under) == pytest.approx(SEED_SHARE * left / 5.0, rel=1e-12)
    if method == "dwork":  # it keeps something back for ever
        left *= 1.0 - SEED_SHARE
        assert spent == pytest.approx(0.7 - left * 0.5 ** len(result.trace), rel=1e-12)
    else:
        assert spent == pytest.approx(0.7, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_the_start_follows_from_what_is_released(method):
    points = blobs()
    result = run(method, points, epsilon=2.0, start="private", n_clusters=8)
    release, first = result.release, result.trace[0]
    assert (release.start == first.previous_centers).all()
    assert release.start_packing is not None
    _, event = (e for e in result.events if isinstance(e, LaplaceEvent) and e.purpose is Purpose.START)
    grid = CellGrid(release.start_cell_edges, tuple(edges[1:] for edges in release.start_cell_edges))
    noise = release.start_cell_counts - grid.counts(points)
    assert abs(noise).mean() == pytest.approx(event.scale, rel=5.0 / math.sqrt(len(noise))), "5 standard errors"
    other = run(method, blobs(seed=1), seed=0, epsilon=2.0, start="private", n_clusters=8).release
    assert (other.start_packing == release.start_packing).all(), "no record is read for the packing"
    assert (other.start != release.start).any()


def test_without_noise_the_seeds_are_near_the_best_and_numbered_as_the_packing():
    points, rng = blobs(), np.random.default_rng(0)
    packing = rng.random((8, 2))
    bought = []

    def exact(name, _, grids, counts):
        bought.append((name, grids))
        return counts(points)

    seeds = private_seeds(exact, packing, np.ones(2), epsilon=math.inf, n_records=3000, sensitivity=1, rng=rng)
    assert bought == [("marginals of the start", 2), ("cells of the start", 1)]
    assert cost(points, seeds.centers) < 3000 * 2 * 0.01**2 * 1.5, "one center for each cluster"
    moved = ((packing - seeds.centers) ** 2).sum()
    for _ in range(50):
        assert moved <= ((packing - seeds.centers[rng.permutation(8)]) ** 2).sum() + 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_it_is_worth_its_share_where_records_fill_a_corner(method):
    points = blobs(n=5000)
    medians = [
        np.median(
            [
                cost(points, run(method, points, seed, epsilon=1.0, start=start, n_clusters=8).release.centers)
                for seed in range(5)
            ]
        )
        for start in ("private", "packing")
    ]
    assert medians[0] < 0.7 * medians[1]


@pytest.mark.parametrize("method", LLOYDS)
def test_chunks_start_from_the_same_seeds_to_the_bit(method):
    points = blobs()
    one, other = (run(method, given, epsilon=1.0, start="private").release for given in (points, ArrayChunks(points)))
    for name in ("centers", "start", "start_cell_counts"):
        assert (getattr(one, name) == getattr(other, name)).all()


def test_given_centers_override_it_and_lloyd_has_none():
    points = blobs()
    result = run("dplloyd", points, start="private", initial_centers=points[:5])
    assert result.release.start is None
    assert result.release.start_packing is None
    with pytest.raises(ValueError, match=r"start must be .*got 'private'"):
        BASELINES["lloyd"].Params(start="private")


def test_a_center_goes_as_far_as_noise_does_not_explain():
    """The noise's own square is v on average, within 5 standard errors, and a half of it is not."""
    rng = np.random.default_rng(0)
    before, scales = np.full((4000, 3), 0.4), {"count_scale": 2.0, "sum_scale": 5.0}
    counts = 100.0 + rng.laplace(scale=2.0, size=4000)
    noisy = 0.5 + (100.0 * (before - 0.5) + rng.laplace(scale=5.0, size=(4000, 3))) / counts[:, None]
    squares = ((noisy - before) ** 2).sum(axis=1)
    v = (2 * 3 * 25 + 2 * 4 * ((noisy - 0.5) ** 2).sum(axis=1)) / counts**2
    error = 5.0 * squares.std() / math.sqrt(4000)
    assert squares.mean() == pytest.approx(v.mean(), abs=error)
    assert squares.mean() != pytest.approx(v.mean() / 2.0, abs=error)
    way = np.maximum(1.0 - v / squares, 0.0)[:, None]
    np.testing.assert_allclose(steadied(noisy, before, counts, **scales), before + way * (noisy - before), atol=1e-12)
    assert 0.4 < (way == 0).mean() < 0.8, "most moves are noise"
    assert (steadied(before, before, counts, count_scale=0.0, sum_scale=0.0) == before).all()


def test_a_grid_of_one_cell_is_not_paid_for():
    assert even_side(0.01, 100.0, 2) == (1, False)
    assert even_grid((1, 1)).counts(blobs(n=60)) == [60]
    result = run("dplloyd", blobs(n=60), epsilon=0.05, start="private", n_public=60)
    assert result.release.start_packing is None
    assert pure_epsilon(result.events, Adjacency.ADD_REMOVE) == pytest.approx(0.05, rel=1e-12)
