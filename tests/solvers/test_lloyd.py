"""Lloyd's algorithm compared with brute force and scikit-learn; blocks equal their own runs, to the bit."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs

from dpviz.solvers import assign, cluster_costs, cluster_sums, cluster_totals, lloyd, lloyd_in_blocks, means
from dpviz.solvers.lloyd import BLOCK, argmax_in_boxes, nearness

problems = st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 60), st.integers(1, 12), st.integers(1, 6))


def draw_problem(problem):
    """Return random points (n, d) and centers (k, d) of the unit box, some of which coincide."""
    seed, n, k, d = problem
    rng = np.random.default_rng(seed)
    points = rng.random((n, d))
    return points, np.concatenate([rng.random((k, d)), points[: n // 10]])


def brute_costs(points, labels, centers):
    return np.array([((points[labels == i] - c) ** 2).sum() for i, c in enumerate(centers)])


@given(problems)
def test_assign_is_the_nearest_center(problem):
    points, centers = draw_problem(problem)
    labels = assign(points, centers)
    squares = cdist(points, centers, "sqeuclidean")
    assert labels.dtype == np.intp
    chosen = squares[np.arange(len(points)), labels]
    # |c|^2 - 2 x.c adds d products of size <= 2; a near tie may fall either way, nothing else may.
    slack = 16 * (centers.shape[1] + 2) * np.finfo(float).eps
    assert (chosen <= squares.min(axis=1, initial=np.inf) + slack).all()
    ordered = np.sort(squares, axis=1)
    clear = ordered[:, 1] - ordered[:, 0] > slack if ordered.shape[1] > 1 else np.ones(len(points), dtype=bool)
    assert (labels[clear] == squares.argmin(axis=1)[clear]).all()


def test_a_tie_goes_to_the_first():
    centers = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    for more in (0, 60):
        known = np.concatenate([centers, np.full((more, 2), 9.0)])
        assert assign(np.array([[0.5, 0.0], [1.0, 0.0], [0.5, 0.5]]), known).tolist() == [0, 1, 0]


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8])
def test_centers_that_are_left_out_of_a_box_win_nowhere_in_it(d):
    """To the bit, with records halfway between centers; in too small boxes, some records get a different one."""
    rng = np.random.default_rng(d)
    lattice = rng.integers(0, 9, (20, d)) / 8.0
    corners = np.repeat(rng.integers(0, 8, (12, d)) / 8.0, BLOCK, axis=0)
    records = np.where(rng.random((len(corners), 1)) < 0.5, corners + rng.random(corners.shape) / 8.0, corners)
    blocks = np.ascontiguousarray(records.reshape(-1, BLOCK, d).transpose(0, 2, 1))
    low, high = (np.ascontiguousarray(ends.T) for ends in (blocks.min(axis=2), blocks.max(axis=2)))
    for centers in (lattice, rng.random((20, d)), np.repeat(lattice[:3], 2, axis=0)):
        wanted = assign(records, centers)
        assert np.array_equal(argmax_in_boxes(blocks, low, high, *nearness(centers)), wanted)
    middle = (low + high) / 2.0
    assert not np.array_equal(argmax_in_boxes(blocks, middle, middle, *nearness(lattice)), assign(records, lattice))


@pytest.mark.parametrize("k", [1, 5, 17, 64])
@pytest.mark.parametrize("n", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7])
def test_blocks_cover_every_row(n, k):
    rng = np.random.default_rng(n)
    points, centers = rng.random((n, 3)), rng.random((k, 3))
    assert assign(points, centers).tolist() == cdist(points, centers).argmin(axis=1).tolist()


@given(problems)
def test_sums_means_and_costs_are_those_of_a_loop(problem):
    points, centers = draw_problem(problem)
    k = len(centers)
    labels = assign(points, centers)
    sums = cluster_sums(points, labels, k)
    members = [points[labels == i] for i in range(k)]
    assert sums.nonprivate_counts.tolist() == [len(m) for m in members]
    np.testing.assert_allclose(sums.nonprivate_sums, [m.sum(axis=0) for m in members], rtol=1e-13, atol=1e-13)
    exact = means(sums, centers)
    for i, m in enumerate(members):
        if len(m):
            np.testing.assert_allclose(exact[i], m.mean(axis=0), rtol=1e-13, atol=1e-15)
        else:
            assert (exact[i] == centers[i]).all()
    squares = cluster_totals((points**2).sum(axis=1), labels, k)
    np.testing.assert_allclose(
        cluster_costs(sums, squares, centers), brute_costs(points, labels, centers), rtol=1e-11, atol=1e-12
    )


def test_a_cost_is_never_negative():
    points = np.full((1000, 3), 0.1)
    sums = cluster_sums(points, np.zeros(1000, dtype=np.intp), 1)
    cost = cluster_costs(sums, np.array([(points**2).sum()]), points[:1])
    assert 0 <= cost[0] < 1e-11


def sets():
    rng = np.random.default_rng(0)
    iris = load_iris().data
    return {
        "iris": (iris, 3),
        "uniform": (rng.random((800, 2)), 7),
        "blobs": (make_blobs(1500, 5, centers=9, cluster_std=3.0, random_state=1)[0], 9),
        "heavy tails": (rng.standard_t(3, (1000, 3)), 12),
        "line": (rng.random((300, 1)), 4),
        "wide": (rng.random((400, 30)), 5),
        "one cluster": (rng.random((100, 2)), 1),
    }


def peer(points, start, n_iterations=300):
    model = KMeans(len(start), init=start, n_init=1, tol=0, max_iter=n_iterations, algorithm="lloyd")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(points)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", sets())
def test_lloyd_is_scikit_learns(name, seed):
    points, k = sets()[name]
    start = points[np.random.default_rng(seed).choice(len(points), k, replace=False)]
    run, model = lloyd(points, start), peer(points, start)
    assert run.converged
    assert (run.nonprivate_labels == model.labels_).all()
    np.testing.assert_allclose(run.nonprivate_centers, model.cluster_centers_, rtol=1e-9, atol=1e-9)
    # scikit-learn averages once more before it sees that the labels repeat; with one cluster they repeat at once.
    assert run.n_iterations == model.n_iter_ - 1
    assert run.nonprivate_costs[-1] == pytest.approx(model.inertia_, rel=1e-9)


@pytest.mark.parametrize("n_iterations", [1, 2, 4])
def test_a_short_run_is_scikit_learns(n_iterations):
    points, k = sets()["uniform"]
    run, model = lloyd(points, points[:k], max_iterations=n_iterations), peer(points, points[:k], n_iterations)
    assert not run.converged
    assert run.n_iterations == n_iterations
    assert (run.nonprivate_labels == model.labels_).all()
    np.testing.assert_allclose(run.nonprivate_centers, model.cluster_centers_, rtol=1e-12)


@given(problems)
def test_costs_fall_and_the_last_is_the_cost(problem):
    points, centers = draw_problem(problem)
    run = lloyd(points, centers)
    assert run.converged
    assert (np.diff(run.nonprivate_costs) <= 1e-12).all()
    last = brute_costs(points, run.nonprivate_labels, run.nonprivate_centers).sum()
    assert run.nonprivate_costs[-1] == pytest.approx(last, rel=1e-10, abs=1e-11)
    first = cdist(points, centers, "sqeuclidean").min(axis=1, initial=np.inf).sum()
    assert run.nonprivate_costs[0] == pytest.approx(first, rel=1e-10, abs=1e-11)


def test_an_empty_cluster_keeps_its_center():
    points = np.random.default_rng(0).random((50, 2))
    run = lloyd(points, np.array([[0.2, 0.2], [0.8, 0.8], [50.0, 50.0]]))
    assert run.nonprivate_centers[2].tolist() == [50.0, 50.0]
    assert not (run.nonprivate_labels == 2).any()


def test_no_records_leave_the_centers():
    centers = np.array([[0.2, 0.2], [0.8, 0.8]])
    run = lloyd(np.empty((0, 2)), centers)
    assert run.converged
    assert (run.nonprivate_centers == centers).all()
    assert run.nonprivate_costs.tolist() == [0.0, 0.0]


def one_by_one(points, blocks, n_blocks, start, max_iterations):
    members = [points[blocks == block] for block in range(n_blocks)]
    found = [lloyd(m, start, max_iterations=max_iterations).nonprivate_centers if len(m) else start for m in members]
    return np.array(found).reshape(n_blocks, *start.shape)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(0, 4 * BLOCK),
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
    assert np.array_equal(ours, one_by_one(points, blocks, n_blocks, start, max_iterations))


@pytest.mark.parametrize(("n", "d", "k", "n_blocks"), [(5000, 2, 5, 30), (3000, 20, 12, 8), (400, 3, 40, 2)])
def test_it_is_lloyd_of_each_block_at_size(n, d, k, n_blocks):
    rng = np.random.default_rng(n)
    points, start, blocks = rng.random((n, d)), rng.random((k, d)), rng.integers(n_blocks, size=n)
    ours = lloyd_in_blocks(points, blocks, n_blocks, start, max_iterations=100)
    assert np.array_equal(ours, one_by_one(points, blocks, n_blocks, start, 100))
    # The wrong variant, with means shared by the blocks, fails.
    assert not np.array_equal(ours[0], lloyd_in_blocks(points, 0 * blocks, 1, start, max_iterations=100)[0])


@pytest.mark.parametrize("seed", range(20))
def test_a_block_does_not_see_the_other_blocks(seed):
    rng = np.random.default_rng(seed)
    points, start, blocks = rng.random((300, 2)), rng.random((4, 2)), rng.integers(5, size=300)
    other = rng.random((3 * BLOCK, 2))  # block 4 grows by several tiles
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
