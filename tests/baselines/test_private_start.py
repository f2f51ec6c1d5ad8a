"""A private start: what it spends, what it is made of, and that it is where the records are."""

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
from dpviz.solvers.cells import SEED_SHARE, cell_centers, cell_counts, seed_side, seeds_on_cells

LLOYDS = ("blum", "dwork", "su")
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
    assert len(seeds) == (d <= 3), "a grid of many columns is too coarse: the packing is free"
    size = [each for each in result.events if isinstance(each, LaplaceEvent) and each.purpose is Purpose.SIZE]
    left = 0.7 - pure_epsilon(tuple(size), under)
    for event in seeds:
        assert pure_epsilon((event,), under) == pytest.approx(SEED_SHARE * left, rel=1e-12)
    if method == "dwork":  # it keeps something back for ever
        left *= 1.0 - SEED_SHARE * bool(seeds)
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
    (event,) = (e for e in result.events if isinstance(e, LaplaceEvent) and e.purpose is Purpose.START)
    side = math.isqrt(len(release.start_cell_counts))
    noise = release.start_cell_counts - cell_counts(points, side)
    assert abs(noise).mean() == pytest.approx(event.scale, rel=5.0 / math.sqrt(len(noise))), "5 standard errors"
    other = run(method, blobs(seed=1), seed=0, epsilon=2.0, start="private", n_clusters=8).release
    assert (other.start_packing == release.start_packing).all(), "no record is read for the packing"
    assert (other.start != release.start).any()


def test_without_noise_the_seeds_are_near_the_best_and_numbered_as_the_packing():
    points, rng = blobs(), np.random.default_rng(0)
    packing = rng.random((8, 2))
    exact = cell_counts(points, 128)
    seeds = seeds_on_cells(exact, 128, packing, scale=1e-12, rng=rng)
    cells = cell_centers((128, 128))
    best = cost(np.repeat(cells, exact.astype(int), axis=0), seeds.centers)
    assert best < 3000 * (2 * 0.01**2 + 2 / 12 / 128**2) * 1.5, "one center for each cluster: its spread and a cell's"
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
    result = run("su", points, start="private", initial_centers=points[:5])
    assert result.release.start is None
    assert result.release.start_packing is None
    with pytest.raises(ValueError, match="start was 'private'"):
        BASELINES["lloyd"].Params(start="private")


def test_a_grid_of_one_cell_is_not_paid_for():
    assert seed_side(0.01, 100.0, 2) == 1
    result = run("su", blobs(n=60), epsilon=0.05, start="private", n_public=60)
    assert result.release.start_packing is None
    assert pure_epsilon(result.events, Adjacency.ADD_REMOVE) == pytest.approx(0.05, rel=1e-12)
