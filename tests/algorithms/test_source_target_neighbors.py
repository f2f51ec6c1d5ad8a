"""The nearest records found by matrix products: as near as brute force finds them, whatever is tied."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from dpviz.algorithms import _stc_neighbors as neighbors
from dpviz.algorithms._stc_neighbors import likely_neighbors

KINDS = ("uniform", "blobs", "tied", "equal", "constant", "tiny", "shifted", "outside", "far")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Let small problems have many leaves, shares and blocks."""
    for name, value in (("LEAF", 16), ("NEAREST", 2), ("SHARE", 24), ("TOGETHER", 4), ("ROWS", 5)):
        monkeypatch.setattr(neighbors, name, value)


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
        both *= 10.0 ** -rng.integers(4, 40)
    if kind == "shifted":
        both = 0.3 + 1e-7 * both
    if kind == "outside":  # targets need not lie in the ball
        both[m:] = 3.0 + 0.1 * both[m:]
    if kind == "far":
        both[m:] *= 10.0 ** rng.integers(0, 60, (n, 1))
    return both[:m], both[m:]


@given(
    st.sampled_from(KINDS),
    st.integers(0, 10_000),
    st.integers(1, 400),
    st.integers(1, 60),
    st.integers(1, 9),
    st.integers(1, 80),
)
@settings(max_examples=50, deadline=None)
def test_what_is_found_is_as_near_as_brute_force_finds(kind, seed, m, n, d, t):
    t = min(t, m)
    source, targets = drawn(kind, seed, m, n, d)
    found = likely_neighbors(source, targets, t)
    sure = np.setdiff1d(np.arange(n), found.nonprivate_unsure)
    distances = cdist(targets, source)
    least = np.sort(distances, axis=1)[sure, :t]
    records = found.nonprivate_records[sure]
    assert found.nonprivate_distances[sure] == pytest.approx(least, rel=1e-12, abs=1e-300)
    assert np.take_along_axis(distances[sure], records, axis=1) == pytest.approx(least, rel=1e-12, abs=1e-300)
    assert all(len(set(row)) == t for row in records.tolist())


@pytest.mark.parametrize("kind", ["uniform", "blobs", "constant", "outside"])
def test_nothing_is_unsure_where_records_differ(kind):
    source, targets = drawn(kind, 0, 3000, 200, 8)
    assert len(likely_neighbors(source, targets, 40).nonprivate_unsure) == 0


def test_a_crowd_of_equal_records_leaves_only_its_neighbourhood_unsure():
    source, targets = drawn("uniform", 0, 3000, 200, 8)
    source[:500] = targets[0]
    unsure = likely_neighbors(source, targets, 10).nonprivate_unsure
    assert 0 in unsure
    assert len(unsure) < 100


def test_errors_that_are_left_out_lose_neighbours(monkeypatch):
    """The power of the tests above: with no allowance for rounding, some records of a thin ring are overlooked."""
    rng = np.random.default_rng(0)
    angles, targets = rng.uniform(0.0, 2.0 * np.pi, (300, 1)), np.array([[0.3, 0.3]])
    ring = targets + (1.0 + 1e-9 * rng.random((300, 1))) * 0.1 * np.hstack([np.cos(angles), np.sin(angles)])
    least = np.sort(cdist(targets, ring), axis=1)[:, :40]
    assert np.array_equal(likely_neighbors(ring, targets, 40).nonprivate_unsure, [])
    assert likely_neighbors(ring, targets, 40).nonprivate_distances == pytest.approx(least, rel=1e-12)
    monkeypatch.setattr(neighbors, "UNIT", 0.0)
    monkeypatch.setattr(neighbors, "NEAREST", 300)
    with pytest.raises(ValueError, match="out of bounds"):
        likely_neighbors(ring, targets, 40)
