import time

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import binomtest

from dpviz.solvers import packing, sphere_packing

SHAPES = [(1, 1), (1, 2), (2, 1), (5, 2), (15, 2), (64, 1), (64, 2), (30, 3), (20, 20), (3, 20)]


def radius(centers):
    """Return the largest r for which every center is r from each wall and 2r from each other center."""
    walls = min(centers.min(), (1 - centers).min())
    return min(walls, pdist(centers).min() / 2) if len(centers) > 1 else walls


def random_placement(k, d, *, rng):
    return rng.random((k, d))


def p_value_of_wins(place, k, d):
    """Return the chance to win that often against random placements, if `place` were one itself."""
    n = 60 if k <= 5 else 22  # 2^-22 is below 1e-6
    rng = np.random.default_rng(1)
    pairs = [(place(k, d, rng=np.random.default_rng(seed)), rng.random((k, d))) for seed in range(n)]
    return binomtest(sum(radius(a) > radius(b) for a, b in pairs), n, 0.5, "greater").pvalue


@pytest.mark.parametrize(("k", "d"), SHAPES)
def test_packing_beats_random_placement(k, d):
    assert p_value_of_wins(sphere_packing, k, d) < 1e-6


@pytest.mark.parametrize(("k", "d"), SHAPES)
def test_random_placement_does_not(k, d):
    assert p_value_of_wins(random_placement, k, d) > 1e-6


@pytest.mark.parametrize(("k", "d"), SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_packing_stays_in_the_box(k, d, seed):
    centers = sphere_packing(k, d, rng=np.random.default_rng(seed))
    assert centers.shape == (k, d)
    assert 0 < radius(centers) <= 0.5


def test_one_center_stands_in_the_middle():
    for d in (1, 2, 20):
        # The search halves [0, 1/2] twelve times.
        np.testing.assert_allclose(sphere_packing(1, d, rng=np.random.default_rng(0)), 0.5, atol=0.5 / 2**12)


@pytest.mark.parametrize(("k", "d"), [(1, 1), (5, 2), (64, 2)])
def test_packing_depends_on_its_seed_alone(k, d):
    first = sphere_packing(k, d, rng=np.random.default_rng(3))
    assert (sphere_packing(k, d, rng=np.random.default_rng(3)) == first).all()
    assert (sphere_packing(k, d, rng=np.random.default_rng(4)) != first).any()


def test_packing_is_a_click_not_a_wait():
    start = time.perf_counter()
    sphere_packing(64, 2, rng=np.random.default_rng(0))
    assert time.perf_counter() - start < 1.0


def searched(candidates):
    """Return the packing by NumPy's arithmetic, all candidates of a center at a time."""

    def packed(radius):
        placed = np.empty((len(candidates), candidates.shape[2]))
        for i, offered in enumerate(candidates):
            inside = radius + offered * (1.0 - 2.0 * radius)
            gaps = inside[:, None] - placed[:i]
            free = (np.sqrt((gaps * gaps).sum(axis=2)) >= 2.0 * radius).all(axis=1)
            if not free.any():
                return None
            placed[i] = inside[free.argmax()]
        return placed

    low, high, best = 0.0, 0.5, packed(0.0)
    for _ in range(packing.HALVINGS):
        radius = 0.5 * (low + high)
        if (found := packed(radius)) is None:
            high = radius
        else:
            low, best = radius, found
    return best


@pytest.mark.parametrize(("k", "d"), [(1, 1), (22, 2), (7, 3), (5, 9)])
def test_the_search_is_that_of_all_candidates_at_a_time(k, d):
    for seed in range(3):
        rng, candidates = (np.random.default_rng(seed) for _ in range(2))
        wanted = searched(candidates.random((k, packing.ATTEMPTS, d)))
        assert np.array_equal(sphere_packing(k, d, rng=rng), wanted)
        assert rng.random() == candidates.random(), "it draws its candidates and nothing else"
