"""Searches through leaves: what brute force finds, to the bit, whatever is tied, far away, or alone."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from dpviz.methods.source_target.algorithm import averages, search
from dpviz.methods.source_target.algorithm.averages import cell_sums
from dpviz.methods.source_target.algorithm.search import WIDTH, Leaves, likely_cells, nearest_place, nearest_records

KINDS = ("uniform", "blobs", "tied", "equal", "constant", "tiny", "shifted", "outlier", "outside", "far")
PROBLEMS = (st.sampled_from(KINDS), st.integers(0, 10_000), st.integers(1, 3000), st.integers(1, 12))


@pytest.fixture(autouse=True)
def threaded(monkeypatch):
    """Let small problems be shared among threads, too."""
    monkeypatch.setattr(search, "ALONE", 256)
    monkeypatch.setattr(search, "CORES", 3)


def drawn(kind, seed, m, n, d):
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
    found, every = nearest_records(source, targets, t), distances(targets, source)
    least = np.sort(every, axis=1)[:, : t + 1]
    records = found.nonprivate_records
    assert np.array_equal(found.nonprivate_distances, least)
    assert np.array_equal(np.take_along_axis(every, records, axis=1), least[:, :t])
    assert all(len(set(row)) == t for row in records.tolist())
    assert found.nonprivate_means == pytest.approx(source[records].mean(axis=1), rel=1e-9, abs=1e-15)


@given(*PROBLEMS, st.integers(1, 300))
def test_sure_cells_are_right_and_the_others_are_the_trees(kind, seed, n, d, m):
    source, targets = drawn(kind, seed, m, n, d)
    found, every = likely_cells(source, Leaves.of(targets)), distances(source, targets)
    sure = np.setdiff1d(np.arange(m), found.nonprivate_close)
    assert np.array_equal(found.nonprivate_labels[sure], every.argmin(axis=1)[sure])
    if n > 1:
        two = np.sort(every, axis=1)[:, :2]
        assert (two[sure, 1] > two[sure, 0]).all()  # a tie is never sure
    tree = cKDTree(targets, leafsize=averages.TARGET_LEAF)
    assert np.array_equal(cell_sums(source, targets).nonprivate_labels, tree.query(source)[1])


@given(*PROBLEMS)
def test_every_point_has_one_place_and_lies_in_its_leafs_box(kind, seed, n, d):
    points = drawn(kind, seed, n, 1, d)[0]
    leaves = Leaves.of(points)
    assert np.array_equal(np.sort(leaves.order), np.arange(n))
    axes = leaves.blocks.reshape(len(leaves.blocks), -1, WIDTH)
    filled = axes.transpose(0, 2, 1).reshape(-1, axes.shape[1])
    assert np.array_equal(filled[:n, :d], points[leaves.order])
    assert not filled[:, d:].any()
    assert np.isinf(filled[n:, :d]).all()
    for boxes, size in ((leaves.boxes, WIDTH), (leaves.outer, WIDTH * search.FAN)):
        sides = boxes.reshape(len(boxes), -1, 2, search.FAN).transpose(2, 0, 3, 1).reshape(2, -1, axes.shape[1])
        for i, first in enumerate(range(0, n, size)):
            inside = points[leaves.order[first : first + size]]
            assert np.array_equal(sides[0, i, :d], inside.min(axis=0))
            assert np.array_equal(sides[1, i, :d], inside.max(axis=0))


@pytest.mark.parametrize("kind", ["uniform", "blobs", "shifted"])
def test_nearly_all_cells_are_sure_where_nothing_is_tied(kind):
    source, targets = drawn(kind, 0, 5000, 90, 8)
    assert len(likely_cells(source, Leaves.of(targets)).nonprivate_close) < len(source) / 20


def test_a_label_does_not_depend_on_the_other_records():
    source, targets = drawn("tied", 1, 900, 60, 4)
    labels = cell_sums(source, targets).nonprivate_labels
    for part in pairwise((0, 1, 70, 500, 900)):
        assert np.array_equal(cell_sums(source[slice(*part)], targets).nonprivate_labels, labels[slice(*part)])
    assert np.array_equal(cell_sums(source[::-1], targets).nonprivate_labels, labels[::-1])


def test_targets_beyond_all_squares_have_neighbours():
    source, targets = drawn("uniform", 0, 500, 3, 2)
    found = nearest_records(source, targets * 1e300, 20)
    assert np.isfinite(found.nonprivate_distances).all()
    assert all(len(set(row)) == 20 for row in found.nonprivate_records.tolist())


def test_boxes_that_are_too_far_lose_neighbours(monkeypatch):
    """The power of the first test: leaves are passed by that hold neighbors."""
    source, targets = drawn("uniform", 0, 5000, 200, 3)
    least = np.sort(distances(targets, source), axis=1)[:, :41]
    assert np.array_equal(nearest_records(source, targets, 40).nonprivate_distances, least)
    leaves = Leaves.of(source)
    monkeypatch.setattr(Leaves, "of", lambda _: replace(leaves, boxes=leaves.boxes + 0.02))
    assert (nearest_records(source, targets, 40).nonprivate_distances > least).any(axis=1).sum() > 20


def test_ties_that_count_as_sure_are_not_the_trees():
    """The power of the second test: with no allowance copies of a target win at random."""
    source, targets = drawn("uniform", 0, 2000, 80, 3)
    targets = np.concatenate([targets, targets[::-1]])
    leaves, places = Leaves.of(targets), np.empty(len(source), dtype=np.intp)
    given = (search._queries(source), leaves.blocks, leaves.boxes, leaves.outer)
    nearest_place(*given, search.NEAR_TIE, places)
    assert (places == -1).all()
    nearest_place(*given, -search.NEAR_TIE, places)
    assert (places >= 0).all()
    assert (leaves.order[places] != cell_sums(source, targets).nonprivate_labels).any()
