"""FasterPAM: no exchange of one medoid is left that helps, and it is as good as the field's own implementation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from dpviz.solvers.capped_medoids import faster_pam

ROUNDING = 1e-5  # of a total of up to 60 numbers in single precision, each of which is held to 6e-8


def problem(seed, n, d, *, grid):
    """Return dissimilarities (n, n) under a cap, rows points; on a grid many are equal."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, (n, d)).astype(float) if grid else rng.random((n, d))
    cap = rng.random(n)[:, None] * 3.0
    return np.minimum(cdist(points, points), cap).astype(np.float32)


def total(matrix, medoids):
    return float(matrix[:, medoids].min(axis=1).sum(dtype=float))


def best_exchange(matrix, medoids):
    """Return the least total after one exchange, by trying all."""
    others = np.setdiff1d(np.arange(len(matrix)), medoids)
    return min(total(matrix, [*np.delete(medoids, i), other]) for i in range(len(medoids)) for other in others)


problems = st.tuples(st.integers(0, 10_000), st.integers(2, 40), st.integers(1, 3), st.booleans())


@given(problems, st.data())
def test_no_exchange_of_one_medoid_helps(made, data):
    seed, n, d, grid = made
    k = data.draw(st.integers(1, n - 1))
    matrix = problem(seed, n, d, grid=grid)
    start = np.random.default_rng(seed).choice(n, k, replace=False)
    found = faster_pam(matrix, start)
    assert len(set(found)) == k
    assert total(matrix, found) <= total(matrix, start) * (1 + ROUNDING)
    assert best_exchange(matrix, found) >= total(matrix, found) * (1 - ROUNDING) - 1e-9
    assert np.array_equal(found, faster_pam(matrix, start))


def test_the_start_is_seldom_left_with_nothing_to_gain():
    """Else the test above would pass for a search that does nothing."""
    left = []
    for seed in range(50):
        matrix, start = problem(seed, 30, 2, grid=False), np.random.default_rng(seed).choice(30, 4, replace=False)
        left.append(best_exchange(matrix, start) < total(matrix, start) * (1 - ROUNDING))
    assert np.mean(left) > 0.9


def test_one_medoid_is_the_best_one():
    matrix = problem(0, 50, 2, grid=False)
    assert list(faster_pam(matrix, np.array([3]))) == [np.argmin(matrix.sum(axis=0, dtype=float))]


def test_it_leaves_what_it_was_given_alone():
    matrix, start = problem(1, 30, 2, grid=False), np.arange(4)
    before = matrix.copy()
    faster_pam(matrix, start)
    assert np.array_equal(matrix, before)
    assert list(start) == [0, 1, 2, 3]


def test_it_finds_what_another_implementation_finds():
    kmedoids = pytest.importorskip(
        "kmedoids", reason="an independent implementation, which the project does not bring along"
    )
    same = 0
    for seed in range(200):
        matrix, k = problem(seed, 60, 2, grid=seed % 4 == 0), 2 + seed % 7
        start = np.random.default_rng(seed).choice(60, k, replace=False)
        theirs = kmedoids.fasterpam(matrix, start, max_iter=100, n_cpu=1).medoids
        ours = faster_pam(matrix, start)
        same += total(matrix, ours) == pytest.approx(total(matrix, theirs), rel=ROUNDING)
    assert same > 190  # where values are equal another local optimum may be met
