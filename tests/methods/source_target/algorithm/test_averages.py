"""Exact averages against brute force, their sensitivity by neighbors, and the coreset."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from dpviz.methods.source_target.algorithm import averages
from dpviz.methods.source_target.algorithm.averages import cell_sums, nearest_means
from dpviz.methods.source_target.algorithm.coreset_cells import coreset


def by_hand(source, target, t):
    """Return the t nearest records, ties by coordinates."""
    key = lambda i: (np.sqrt(((source[i] - target) ** 2).sum()), *source[i])  # noqa: E731
    return sorted(range(len(source)), key=key)[:t]


def tied(seed, m, d):
    rng = np.random.default_rng(seed)
    # Multiples of 1/8 in the ball: many equal records, many equal distances, all exact in binary.
    shrink = 1 if d == 1 else 2
    return rng.integers(-2, 3, (m, d)) / 8 / shrink, rng.integers(-4, 5, (7, d)) / 16 / shrink, rng


@given(st.integers(0, 10_000), st.integers(0, 60), st.integers(1, 20), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_the_means_are_those_of_the_t_nearest_with_ties_by_coordinates(seed, m, t, d):
    source, targets, _ = tied(seed, m, d)
    found = nearest_means(source, targets, t)
    assert found.nonprivate_neighbors.shape == (7, min(t, m))
    for i, target in enumerate(targets):
        nearest = by_hand(source, target, t)
        assert source[nearest].sum(axis=0) / t == pytest.approx(found.nonprivate_means[i], abs=1e-14)
        reach = cdist(target[None], source[nearest]).sum() + (t - len(nearest)) * np.linalg.norm(target)
        assert found.nonprivate_distances[i] == pytest.approx(reach / t, abs=1e-12)
        chosen = found.nonprivate_neighbors[i]
        assert len(set(chosen)) == len(chosen)
        assert np.array_equal(np.unique(source[chosen], axis=0), np.unique(source[nearest], axis=0))


@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(1, 20), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_one_record_removed_moves_a_mean_by_at_most_one_over_t(seed, m, t, d):
    source, targets, rng = tied(seed, m, d)
    fewer = np.delete(source, rng.integers(m), axis=0)
    gap = nearest_means(source, targets, t).nonprivate_means - nearest_means(fewer, targets, t).nonprivate_means
    assert np.linalg.norm(gap, axis=1).max() <= 1.0 / t + 1e-12


def test_an_order_of_ties_that_follows_the_number_of_records_breaks_that():
    """The power of the test above: the t records that a partition happens to keep move the mean by more than 1/t.

    NumPy's partition also orders ties by processor, so a shuffle represents it.
    """

    def partition(records):
        shuffled = np.random.default_rng(len(records)).permutation(len(records))
        return records[np.lexsort((shuffled, (records**2).sum(axis=1)))[:200]]

    worst, middle = 0.0, np.zeros((1, 2))
    for seed in range(40):
        rng = np.random.default_rng(seed)
        source = rng.choice([-0.25, 0.25], (600, 2))  # all equally far from the middle
        fewer = np.delete(source, rng.integers(600), axis=0)
        kept = [partition(one) for one in (source, fewer)]
        worst = max(worst, 200 * np.linalg.norm(kept[0].mean(axis=0) - kept[1].mean(axis=0)))
        ours = [nearest_means(one, middle, 200).nonprivate_means for one in (source, fewer)]
        assert 200 * np.linalg.norm(ours[0] - ours[1]) <= 1.0
    assert worst > 1.2


def test_the_order_of_the_records_does_not_matter():
    source, targets, rng = tied(3, 400, 2)
    one, other = (nearest_means(records, targets, 50) for records in (source, rng.permutation(source)))
    assert one.nonprivate_means == pytest.approx(other.nonprivate_means, abs=1e-15)


KINDS = ("uniform", "blobs", "tied", "equal", "constant", "tiny", "shifted", "outlier", "outside", "far")
PROBLEMS = (st.sampled_from(KINDS), st.integers(0, 10_000), st.integers(1, 3000), st.integers(1, 12))


def drawn(kind, seed, m, n, d):
    """Return m records and n targets."""
    rng = np.random.default_rng(seed)
    both = rng.uniform(-0.5, 0.5, (m + n, d)) / np.sqrt(d)
    if kind == "blobs":
        both = rng.uniform(-0.3, 0.3, (4, d))[rng.integers(4, size=m + n)] + 10.0 ** -rng.integers(1, 6) * both
    if kind == "tied":
        both = rng.integers(-2, 3, (m + n, d)) / 8
    if kind == "equal":
        both = np.full((m + n, d), 0.125)
    if kind == "constant":
        both[:, rng.integers(d)] = 0.1
    if kind == "tiny":
        both *= 10.0 ** -rng.integers(4, 200)
    if kind == "shifted":
        both = 0.3 + 1e-9 * both
    if kind == "outlier":
        both[rng.integers(m + n)] *= 1e6
    if kind == "outside":  # targets need not lie in the ball
        both[m:] = 3.0 + 0.1 * both[m:]
    if kind == "far":
        both[m:] *= 10.0 ** rng.integers(0, 149, (n, 1))
    return both[:m], both[m:]


def distances(queries, points):
    """Return all distances (q, n), axes added up in their order."""
    squares = np.zeros((len(queries), len(points)))
    for one, other in zip(queries.T, points.T, strict=True):
        squares += np.subtract.outer(one, other) ** 2
    return np.sqrt(squares)


@given(*PROBLEMS, st.integers(1, 20), st.integers(1, 200))
def test_the_nearest_records_are_those_of_brute_force_to_the_bit(kind, seed, m, d, n, t):
    source, targets = drawn(kind, seed, m + 1, n, d)
    t = min(t, m)
    found, every = nearest_means(source, targets, t), distances(targets, source)
    records = found.nonprivate_neighbors
    assert np.array_equal(np.take_along_axis(every, records, axis=1), np.sort(every, axis=1)[:, :t])
    assert all(len(set(row)) == t for row in records.tolist())
    assert found.nonprivate_means == pytest.approx(source[records].mean(axis=1), rel=1e-9, abs=1e-15)
    for i in range(0, n, 7):
        alone = nearest_means(source, targets[i : i + 1], t)
        assert np.array_equal(alone.nonprivate_neighbors[0], records[i])
        assert np.array_equal(alone.nonprivate_means[0], found.nonprivate_means[i])


def test_a_tree_that_rounds_distances_loses_neighbors(monkeypatch):
    """The power of the first test."""

    class Rough(cKDTree):
        def query(self, x, k=1, **options):
            return super().query(x, k, eps=0.5, **options)

    source, targets = drawn("uniform", 0, 5000, 200, 3)
    every = distances(targets, source)
    monkeypatch.setattr(averages.scipy.spatial, "cKDTree", Rough)
    records = nearest_means(source, targets, 40).nonprivate_neighbors
    assert (np.take_along_axis(every, records, axis=1) > np.sort(every, axis=1)[:, :40]).any(axis=1).sum() > 20


@given(*PROBLEMS, st.integers(1, 300))
def test_each_record_is_in_the_cell_of_its_nearest_target(kind, seed, n, d, m):
    source, targets = drawn(kind, seed, m, n, d)
    labels, every = cell_sums(source, targets).nonprivate_labels, distances(source, targets)
    rounding = 16.0 * (d + 2) * 2.0**-53
    assert (every[np.arange(m), labels] <= every.min(axis=1) * (1.0 + rounding)).all()
    for i in range(0, m, 41):
        assert cell_sums(source[i : i + 1], targets).nonprivate_labels[0] == labels[i]


def test_targets_beyond_all_squares_have_neighbors():
    source, targets = drawn("uniform", 0, 500, 3, 2)
    found = nearest_means(source, targets * 1e300, 20)
    assert np.isfinite(found.nonprivate_distances).all()
    assert all(len(set(row)) == 20 for row in found.nonprivate_neighbors.tolist())
    assert cell_sums(source, targets * 1e300).nonprivate_counts.sum() == 500


def test_copies_of_one_record_are_cheap_and_right():
    source = np.repeat([[0.1, 0.2], [0.3, -0.1]], 20_000, axis=0)
    found = nearest_means(source, np.array([[0.1, 0.2], [0.3, -0.1]]), 150)
    assert found.nonprivate_means == pytest.approx(np.array([[0.1, 0.2], [0.3, -0.1]]))
    assert found.nonprivate_distances == pytest.approx([0.0, 0.0])


@given(st.integers(0, 10_000), st.integers(0, 60), st.integers(1, 4))
@settings(max_examples=50, deadline=None)
def test_cells_are_disjoint_and_one_record_moves_one_of_them(seed, m, d):
    source, targets, rng = tied(seed, m, d)
    found = cell_sums(source, targets)
    assert found.nonprivate_counts.sum() == m
    assert found.nonprivate_sums.sum(axis=0) == pytest.approx(source.sum(axis=0), abs=1e-12)
    distances = cdist(source, targets)
    if m:
        nearest = distances[np.arange(m), found.nonprivate_labels]
        assert nearest == pytest.approx(distances.min(axis=1), abs=1e-15)
        removed = int(rng.integers(m))
        fewer = cell_sums(np.delete(source, removed, axis=0), targets)
        counts = found.nonprivate_counts - fewer.nonprivate_counts
        sums = found.nonprivate_sums - fewer.nonprivate_sums
        assert np.abs(counts).sum() == 1
        assert np.array_equal(np.flatnonzero(np.abs(sums).sum(axis=1) > 1e-9), np.flatnonzero(counts)) or not np.any(
            source[removed]
        )
        l1, l2 = np.abs(counts).sum() + np.abs(sums).sum(), np.hypot(1.0, np.linalg.norm(sums))
        assert l1 <= 1 + np.sqrt(d) / 2 + 1e-9
        assert l2 <= np.sqrt(1.25) + 1e-9
        assert np.array_equal(np.delete(found.nonprivate_labels, removed), fewer.nonprivate_labels)


@given(st.integers(0, 10_000), st.integers(1, 300), st.integers(1, 8), st.floats(0.001, 0.6))
@settings(max_examples=50, deadline=None)
def test_every_target_is_within_the_radius_of_its_representative(seed, n, d, radius):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 6, (n, d)) / 10 if seed % 2 else rng.random((n, d))
    found = coreset(points, radius)
    assert np.linalg.norm(points - points[found.representatives][found.owners], axis=1).max() <= radius + 1e-12
    assert found.weights.sum() == n
    assert np.array_equal(found.weights, np.bincount(found.owners, minlength=len(found.representatives)))
    assert np.array_equal(found.owners[found.representatives], np.arange(len(found.representatives)))
    assert len(np.unique(found.representatives)) == len(found.representatives)


def cells_by_recursion(points, rows, radius, cut):
    """Return the k-d cells as sets of rows; `cut` makes the size of the lower half from sorted values."""
    inside = points[rows]
    middle = inside[np.linalg.norm(inside - inside.mean(axis=0), axis=1).argmin()]
    if np.linalg.norm(inside - middle, axis=1).max() <= radius:
        return {frozenset(rows.tolist())}
    values = inside[:, np.ptp(inside, axis=0).argmax()]
    order = rows[np.argsort(values, kind="stable")]
    size = cut(np.sort(values))
    lower, upper = (cells_by_recursion(points, part, radius, cut) for part in (order[:size], order[size:]))
    return lower | upper


@pytest.mark.parametrize(("n", "d", "radius"), [(1, 2, 0.1), (60, 1, 0.05), (200, 2, 0.1), (300, 3, 0.3)])
def test_cells_are_halved_at_the_median(n, d, radius):
    points = np.random.default_rng(n).random((n, d))
    owners = coreset(points, radius).owners
    found = {frozenset(np.flatnonzero(owners == cell).tolist()) for cell in np.unique(owners)}
    assert found == cells_by_recursion(points, np.arange(n), radius, lambda values: len(values) // 2)
    if n > 1:  # halved in the middle they are others
        middle = cells_by_recursion(
            points, np.arange(n), radius, lambda values: int(np.sum(values <= (values[0] + values[-1]) / 2))
        )
        assert found != middle


def test_a_coreset_shrinks_the_plane_and_hardly_eight_dimensions():
    rng = np.random.default_rng(0)
    plane, wide = rng.random((5000, 2)) / np.sqrt(2), rng.random((5000, 8)) / np.sqrt(8)
    assert len(coreset(plane, 0.05).representatives) < 400
    assert len(coreset(wide, 0.05).representatives) > 4000
    assert len(coreset(plane, 0.0).representatives) == 5000
    assert len(coreset(np.zeros((50, 2)), 0.01).representatives) == 1


@pytest.mark.parametrize("kind", ["spread", "tied", "equal"])
@pytest.mark.parametrize(("m", "d"), [(900, 6), (3000, 2)])
def test_many_records_give_the_means_of_brute_force(m, d, kind):
    rng = np.random.default_rng(3)
    both = {
        "spread": rng.uniform(-0.5, 0.5, (m + 9, d)) / np.sqrt(d),
        "tied": rng.integers(-2, 3, (m + 9, d)) / 8,
        "equal": np.full((m + 9, d), 0.125),
    }[kind]
    source, targets = both[:m], both[m:]
    found = nearest_means(source, targets, 30)
    for i, target in enumerate(targets):
        nearest = source[by_hand(source, target, 30)]
        assert found.nonprivate_means[i] == pytest.approx(nearest.mean(axis=0), abs=1e-14)
        assert found.nonprivate_distances[i] == pytest.approx(cdist(target[None], nearest).mean(), abs=1e-14)
