"""The nearest records found by a lattice of the plane: as near as brute force finds them, whatever is tied."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from dpviz.algorithms import _stc_plane as plane
from dpviz.algorithms._stc_plane import plane_neighbors

KINDS = ("uniform", "blobs", "tied", "equal", "constant", "tiny", "shifted", "outside", "far")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Let small problems have several blocks."""
    monkeypatch.setattr(plane, "ROWS", 8)


def drawn(kind, seed, m, n):
    rng = np.random.default_rng(seed)
    both = rng.uniform(-0.35, 0.35, (m + n, 2))
    if kind == "blobs":
        both = rng.uniform(-0.3, 0.3, (4, 2))[rng.integers(4, size=m + n)] + 10.0 ** -rng.integers(1, 8) * both
    if kind == "tied":
        both = rng.integers(-2, 3, (m + n, 2)) / 8
    if kind == "equal":
        both = np.full((m + n, 2), 0.125)
    if kind == "constant":
        both[:m, rng.integers(2)] = 0.1
    if kind == "tiny":
        both *= 10.0 ** -rng.integers(4, 100)
    if kind == "shifted":
        both = 0.3 + 1e-12 * both
    if kind == "outside":  # targets need not lie among the records
        both[m:] = rng.uniform(-2.0, 2.0, (n, 2))
    if kind == "far":
        both[m:] *= 10.0 ** rng.integers(0, 160, (n, 1))
    return both[:m], both[m:]


@given(st.sampled_from(KINDS), st.integers(0, 10_000), st.integers(1, 400), st.integers(1, 30), st.integers(1, 80))
@settings(max_examples=60, deadline=None)
def test_what_is_found_is_as_near_as_brute_force_finds(kind, seed, m, n, t):
    t = min(t, m)
    source, targets = drawn(kind, seed, m, n)
    found = plane_neighbors(source, targets, t)
    sure = np.setdiff1d(np.arange(n), found.nonprivate_unsure)
    distances = cdist(targets, source)
    least = np.sort(distances, axis=1)[sure, :t]
    records = found.nonprivate_records[sure]
    assert found.nonprivate_distances[sure] == pytest.approx(least, rel=1e-12, abs=1e-200)
    assert np.take_along_axis(distances[sure], records, axis=1) == pytest.approx(least, rel=1e-12, abs=1e-200)
    assert all(len(set(row)) == t for row in records.tolist())


def test_nothing_is_unsure_where_records_spread():
    source, targets = drawn("uniform", 0, 5000, 200)
    assert len(plane_neighbors(source, targets, 100).nonprivate_unsure) == 0


def test_a_crowd_of_equal_records_leaves_only_its_neighbourhood_unsure():
    source, targets = drawn("uniform", 0, 5000, 200)
    source[:500] = targets[0]
    unsure = plane_neighbors(source, targets, 100).nonprivate_unsure
    assert 0 in unsure
    assert len(unsure) < 20


def test_crowds_nearly_everywhere_are_left_to_the_tree():
    source, targets = drawn("equal", 0, 3000, 50)
    assert np.array_equal(plane_neighbors(source, targets, 40).nonprivate_unsure, np.arange(50))


def test_a_reach_that_is_too_short_loses_neighbours(monkeypatch):
    """The power of the tests above: half the farthest corner is not far enough."""
    usual = plane._squares

    def halved(*given):
        found = usual(*given)
        return plane._Squares(found.counts, found.reaches / 2.0)

    monkeypatch.setattr(plane, "_squares", halved)
    source, targets = drawn("uniform", 0, 5000, 200)
    least = np.sort(cdist(targets, source), axis=1)[:, :40]
    found = plane_neighbors(source, targets, 40).nonprivate_distances
    assert (found > 1.001 * least).any(axis=1).sum() > 20
