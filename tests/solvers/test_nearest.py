"""Nearest centers by cells of a lattice are those by looking at every record, to the bit."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.core import frozen
from dpviz.solvers import assign, cluster_sums, cluster_totals, nearest, nearest_among
from dpviz.solvers.nearest import MOST_CENTERS, OPEN, SIDES, WORTH_ROWS


@pytest.fixture(autouse=True)
def every_size(monkeypatch):
    """Also use the lattice for few records."""
    monkeypatch.setattr(nearest, "WORTH_ROWS", 1)


def side(d):
    """Return the number of cells along each axis of the whole box."""
    n_blocks, n_cells = SIDES[d]
    return n_blocks * n_cells


def grid_records(rng, n, d):
    """Return records, many on the lattice's own lines and on the walls, where rounding would matter."""
    points = np.clip(rng.normal(rng.random((4, d))[rng.integers(0, 4, n)], 0.1), 0.0, 1.0)
    snapped = rng.random(n) < 0.5
    points[snapped] = np.round(points[snapped] * side(d)) / side(d)
    return frozen(points)


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(1, 400), k=st.integers(1, MOST_CENTERS), d=st.sampled_from([1, 2, 3])
)
def test_cells_decide_as_assign_does(seed, n, k, d):
    rng = np.random.default_rng(seed)
    points = grid_records(rng, n, d)
    centers = np.concatenate(
        [
            rng.normal(0.5, 1.0, (k, d)),  # some outside of the box
            np.round(rng.random((k, d)) * side(d)) / side(d),  # their borders run along the lattice's lines
            points[:2],  # and some twice
            points[:2],
        ]
    )[rng.permutation(2 * k + 2 * min(2, n))[:k]]
    near, labels = nearest_among(points), assign(points, centers)
    found = near(centers)
    assert found.dtype == np.intp
    np.testing.assert_array_equal(found, labels)
    # Cells are added as one, in another order: a sum of n numbers up to 1 may lose n roundings.
    clusters, slack = near.partition(centers), 2 * len(points) * len(points) * np.finfo(float).eps
    exact, squares = cluster_sums(points, labels, k), cluster_totals((points**2).sum(axis=1), labels, k)
    np.testing.assert_array_equal(clusters.nonprivate_labels, labels)
    np.testing.assert_array_equal(clusters.sums.nonprivate_counts, exact.nonprivate_counts)
    np.testing.assert_allclose(clusters.sums.nonprivate_sums, exact.nonprivate_sums, rtol=0, atol=slack)
    np.testing.assert_allclose(clusters.nonprivate_squares, squares, rtol=0, atol=d * slack)


@pytest.mark.parametrize("k", [4, MOST_CENTERS + 1])
@pytest.mark.parametrize("d", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [256, 257, 700, 720])  # one block; and with a last one that is worth a lattice, or not
def test_blocks_are_added_in_order_as_if_each_were_alone(n, d, k, monkeypatch):
    monkeypatch.setattr(nearest, "BLOCK_ROWS", 256)
    monkeypatch.setattr(nearest, "WORTH_ROWS", 200)
    rng = np.random.default_rng([n, d])
    points, centers = frozen(rng.random((n, d))), rng.random((k, d))
    found, alone = nearest_among(points).partition(centers), [np.zeros(k), np.zeros((k, d)), np.zeros(k)]
    for first in range(0, n, 256):
        part = nearest_among(points[first : first + 256]).partition(centers)
        parts = (part.sums.nonprivate_counts, part.sums.nonprivate_sums, part.nonprivate_squares)
        alone = [total + each for total, each in zip(alone, parts, strict=True)]
    for one, other in zip(
        (found.sums.nonprivate_counts, found.sums.nonprivate_sums, found.nonprivate_squares), alone, strict=True
    ):
        assert one.tobytes() == other.tobytes()
    np.testing.assert_array_equal(found.nonprivate_labels, assign(points, centers))
    np.testing.assert_array_equal(nearest_among(points).opening(centers).nonprivate_labels, found.nonprivate_labels)


def test_more_cells_than_sixteen_bits_can_count(monkeypatch):
    monkeypatch.setattr(nearest, "BLOCK_ROWS", 64)
    points = frozen(np.random.default_rng(8).random((80_000, 3)))
    near, centers = nearest_among(points), points[:4]
    assert near.lattices.cell_of.max() >= 2**16
    np.testing.assert_array_equal(near(centers), assign(points, centers))


def test_cells_leave_few_records_open():
    """The lattice must be of use: away from the borders, no record is examined by itself."""
    points = frozen(np.random.default_rng(0).random((20_000, 2)))
    centers = np.array([[0.2, 0.2], [0.8, 0.3], [0.5, 0.9]])
    members = nearest_among(points).members(centers)
    looked_at = (members.winners[members.cell_of] == OPEN).sum()
    # A border is at most sqrt(2) long and meets at most 2 side + 1 cells of side^2; three of them at most.
    assert 0 < looked_at < 20_000 * 3 * (2 * side(2) + 1) / side(2) ** 2 * 1.1


@pytest.mark.parametrize("rows", [7, slice(3, 40, 2), np.array([5, 5, 0]), np.array([], dtype=np.intp)])
def test_those_who_are_asked_for_are_named(rows):
    points = frozen(np.random.default_rng(0).random((50, 2)))
    centers = points[:4]
    np.testing.assert_array_equal(nearest_among(points).members(centers)[rows], assign(points, centers)[rows])


def test_few_records_are_added_one_by_one(monkeypatch):
    monkeypatch.setattr(nearest, "WORTH_ROWS", WORTH_ROWS)
    points, centers = np.random.default_rng(5).random((300, 3)), np.random.default_rng(6).random((4, 3))
    labels, clusters = assign(points, centers), nearest_among(points).partition(centers)
    exact = cluster_sums(points, labels, 4)
    assert (clusters.nonprivate_labels == labels).all()
    assert (clusters.sums.nonprivate_sums == exact.nonprivate_sums).all()
    np.testing.assert_allclose(clusters.nonprivate_squares, np.bincount(labels, (points**2).sum(axis=1), 4), rtol=1e-12)


@pytest.mark.parametrize(
    ("points", "k"),
    [
        (np.full((50, 2), 1.5), 3),
        (np.full((50, 4), 0.5), 3),
        (np.empty((0, 2)), 3),
        (np.random.default_rng(2).random((500, 2)), 300),  # more centers than a cell can name
    ],
)
def test_other_records_are_looked_at_one_by_one(points, k):
    centers = np.random.default_rng(1).random((k, points.shape[1]))
    assert nearest_among(frozen(points))(centers).tolist() == assign(points, centers).tolist()


def test_the_lattice_does_not_keep_the_records():
    points = frozen(np.random.default_rng(3).random((100, 2)))
    nearest_among(points)(np.array([[0.1, 0.1], [0.9, 0.9]]))
    gone = weakref.ref(points)
    del points
    gc.collect()  # a call that has just been compiled leaves what it was called with to the collector
    assert gone() is None


def test_few_records_are_not_worth_a_lattice(monkeypatch):
    monkeypatch.setattr(nearest, "WORTH_ROWS", WORTH_ROWS)
    monkeypatch.setattr(nearest, "_lattice", None)  # must not be called
    points = frozen(np.random.default_rng(4).random((WORTH_ROWS - 1, 2)))
    assert nearest_among(points)(points[:3]).tolist()[:3] == [0, 1, 2]
