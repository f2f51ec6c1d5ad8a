"""Lloyd in blocks is Lloyd of each block alone, to the bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.solvers import lloyd, lloyd_in_blocks
from dpviz.solvers.lloyd import TILE_ROWS as ROWS


def one_by_one(points, blocks, n_blocks, start, max_iterations):
    members = [points[blocks == block] for block in range(n_blocks)]
    found = [lloyd(m, start, max_iterations=max_iterations).nonprivate_centers if len(m) else start for m in members]
    return np.array(found).reshape(n_blocks, *start.shape)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(0, 4 * ROWS),
    d=st.integers(1, 4),
    k=st.integers(1, 6),
    n_blocks=st.integers(1, 7),
    max_iterations=st.sampled_from([1, 2, 5, 100]),
    digits=st.sampled_from([1, 2, 12]),  # one digit makes duplicates and ties
)
def test_it_is_lloyd_of_each_block(seed, n, d, k, n_blocks, max_iterations, digits):
    rng = np.random.default_rng(seed)
    points, start = rng.random((n, d)).round(digits), rng.random((k, d)).round(digits)
    blocks = rng.integers(n_blocks, size=n)
    ours = lloyd_in_blocks(points, blocks, n_blocks, start, max_iterations=max_iterations)
    alone = one_by_one(points, blocks, n_blocks, start, max_iterations)
    if digits == 12:
        assert np.array_equal(ours, alone)
    else:
        # A tie may be rounded another way in a product of another shape; what must hold is one step's fixed point.
        again = lloyd_in_blocks(points, blocks, n_blocks, start, max_iterations=max_iterations)
        assert np.array_equal(ours, again)
        assert ((ours >= 0) & (ours <= 1)).all()
        for block in range(n_blocks):
            members = points[blocks == block]
            assert cost(members, ours[block]) <= cost(members, start) + 1e-9


def cost(points, centers):
    return ((points[:, None] - centers[None]) ** 2).sum(axis=2).min(axis=1).sum()


@pytest.mark.parametrize(("n", "d", "k", "n_blocks"), [(5000, 2, 5, 30), (3000, 20, 12, 8), (400, 3, 40, 2)])
def test_it_is_lloyd_of_each_block_at_size(n, d, k, n_blocks):
    rng = np.random.default_rng(n)
    points, start, blocks = rng.random((n, d)), rng.random((k, d)), rng.integers(n_blocks, size=n)
    ours = lloyd_in_blocks(points, blocks, n_blocks, start, max_iterations=100)
    assert np.array_equal(ours, one_by_one(points, blocks, n_blocks, start, 100))
    # The wrong variant, in which blocks share their means, would not pass.
    assert not np.array_equal(ours[0], lloyd_in_blocks(points, 0 * blocks, 1, start, max_iterations=100)[0])


@pytest.mark.parametrize("seed", range(20))
def test_a_block_does_not_see_the_other_blocks(seed):
    rng = np.random.default_rng(seed)
    points, start, blocks = rng.random((300, 2)), rng.random((4, 2)), rng.integers(5, size=300)
    other = rng.random((3 * ROWS, 2))  # block 4 grows by several tiles
    before = lloyd_in_blocks(points, blocks, 5, start, max_iterations=50)
    more = np.concatenate([other, points]), np.concatenate([np.full(len(other), 4), blocks])
    after = lloyd_in_blocks(*more, 5, start, max_iterations=50)
    assert np.array_equal(before[:4], after[:4])
    assert not np.array_equal(before[4], after[4])


def test_empty_blocks_and_clusters_stay():
    start = np.array([[0.1, 0.1], [0.9, 0.9]])
    centers = lloyd_in_blocks(np.array([[0.0, 0.2], [0.2, 0.0]]), np.array([1, 1]), 3, start, max_iterations=10)
    assert np.array_equal(centers[[0, 2]], [start, start])
    assert np.array_equal(centers[1], [[0.1, 0.1], [0.9, 0.9]])
    nothing = lloyd_in_blocks(np.empty((0, 2)), np.empty(0, dtype=np.intp), 2, start, max_iterations=10)
    assert np.array_equal(nothing, [start, start])
