"""Cells found by matrix products: sure where brute force has one nearest target, the tree's answer where it has not."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from dpviz.algorithms import _stc_averages as averages
from dpviz.algorithms import _stc_cells as cells
from dpviz.algorithms import _stc_groups as groups
from dpviz.algorithms._stc_averages import cell_sums
from dpviz.algorithms._stc_cells import likely_cells

KINDS = ("uniform", "blobs", "tied", "equal", "tiny", "shifted", "far")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Let small problems have many groups and several rounds each."""
    for name, value in (("GROUP", 64), ("FIRST", 8), ("LATER", 16)):
        monkeypatch.setattr(cells, name, value)
    monkeypatch.setattr(averages, "GROUPED_ROWS", 0)
    monkeypatch.setattr(averages, "GROUPED_AXES", 1)


def drawn(kind, seed, m, n, d):
    rng = np.random.default_rng(seed)
    both = rng.uniform(-0.5, 0.5, (m + n, d)) / np.sqrt(d)
    if kind == "blobs":
        both = rng.uniform(-0.3, 0.3, (4, d))[rng.integers(4, size=m + n)] + 0.01 * both
    if kind == "tied":
        both = rng.integers(-2, 3, (m + n, d)) / 8
    if kind == "equal":
        both = np.full((m + n, d), 0.125)
    if kind == "tiny":
        both *= 10.0 ** -rng.integers(4, 40)
    if kind == "shifted":
        both = 0.3 + 1e-9 * both
    if kind == "far":  # targets need not lie in the ball
        both[m:] *= 10.0 ** rng.integers(0, 60, (n, 1))
    return both[:m], both[m:]


@given(st.sampled_from(KINDS), st.integers(0, 10_000), st.integers(1, 400), st.integers(1, 90), st.integers(1, 9))
@settings(max_examples=150, deadline=None)
def test_sure_answers_are_right_and_the_others_are_the_trees(kind, seed, m, n, d):
    source, targets = drawn(kind, seed, m, n, d)
    found = likely_cells(source, targets)
    distances = cdist(source, targets)
    two = np.sort(distances, axis=1)[:, :2]
    sure = np.setdiff1d(np.arange(m), found.nonprivate_close)
    assert np.array_equal(found.nonprivate_labels[sure], distances.argmin(axis=1)[sure])
    if n > 1:
        assert (two[sure, 1] > two[sure, 0]).all()  # a tie is never sure
    tree = cKDTree(targets, leafsize=averages.TARGET_LEAF)
    assert np.array_equal(cell_sums(source, targets).nonprivate_labels, tree.query(source)[1])


def test_nearly_all_are_sure_where_nothing_is_tied():
    for kind in ("uniform", "blobs", "shifted"):
        source, targets = drawn(kind, 0, 5000, 90, 8)
        assert len(likely_cells(source, targets).nonprivate_close) < len(source) / 20


def test_a_bound_without_rounding_lets_wrong_answers_stand(monkeypatch):
    """The power of the tests above: with no allowance for rounding, ties and near ties count as sure."""
    monkeypatch.setattr(cells, "_rate", lambda _: 0.0)
    rng = np.random.default_rng(0)
    source, targets = rng.uniform(-0.2, 0.2, (20_000, 8)), rng.uniform(-0.2, 0.2, (50, 8))
    targets = np.concatenate([targets, targets + 1e-9])
    found = likely_cells(source, targets)
    sure = np.setdiff1d(np.arange(len(source)), found.nonprivate_close)
    assert (found.nonprivate_labels[sure] != cdist(source, targets).argmin(axis=1)[sure]).any()


def test_a_label_does_not_hang_on_the_other_records():
    source, targets = drawn("tied", 1, 900, 60, 4)
    labels = cell_sums(source, targets).nonprivate_labels
    for part in pairwise((0, 1, 70, 500, 900)):
        assert np.array_equal(cell_sums(source[slice(*part)], targets).nonprivate_labels, labels[slice(*part)])
    assert np.array_equal(cell_sums(source[::-1], targets).nonprivate_labels, labels[::-1])


def test_small_products_start_no_threads_and_change_nothing(monkeypatch):
    source, targets = drawn("uniform", 2, 300, 90, 8)
    found = likely_cells(source, targets)
    monkeypatch.setattr(groups, "ALONE", 200)  # one row at a time
    other = likely_cells(source, targets)
    assert np.array_equal(found.nonprivate_labels, other.nonprivate_labels)
