"""The hierarchy: SciPy's form, cuts, parts that nothing connects, and mixtures at the edge of having one."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, is_valid_linkage
from scipy.optimize import brentq

from dpviz.solvers import Mixture, assign_clusters, landscape, merge_tree

SEEDS = st.integers(0, 10**6)


def drawn(seed, d, *, most=7):
    rng = np.random.default_rng([seed, d])
    n = int(rng.integers(2, most + 1))
    roots = rng.standard_normal((n, d, d)) * 0.5 + np.eye(d)
    spread = rng.choice([0.15, 0.25, 0.35]) ** 2
    covariances = spread * roots @ roots.transpose(0, 2, 1) / (1 + d / 4) + 1e-3 * np.eye(d)
    return Mixture(rng.dirichlet(np.full(n, 3.0)), rng.uniform(-1, 1, (n, d)), covariances)


@settings(max_examples=20)
@given(SEEDS, st.integers(1, 3))
def test_the_linkage_is_scipys(seed, d):
    tree = merge_tree(drawn(seed, d))
    if tree.n_leaves < 2 or tree.n_unreachable:
        return
    assert is_valid_linkage(tree.linkage.copy())
    for k in range(1, tree.n_leaves + 1):
        ours, theirs = tree.cut(k), fcluster(tree.linkage, k, "maxclust")
        assert len(set(ours.tolist())) == k
        assert len(set(zip(ours.tolist(), theirs.tolist(), strict=True))) == k
    heights = tree.linkage[:, 2]
    assert (heights >= 0).all()
    assert (np.diff(heights) >= 0).all()


def test_parts_without_a_pass_join_last_at_infinite_height(monkeypatch):
    mixture = Mixture(np.full(3, 1 / 3), [[-3.0, 0.0], [0.0, 0.0], [3.0, 0.0]], [0.2 * np.eye(2)] * 3)
    land = landscape(mixture)
    kept = tuple(t for t in land.transitions if 2 not in t.minima)
    assert len(kept) == 1
    cutoff = type(land)(
        land.minima,
        land.log_densities,
        kept,
        land.component_minima,
        land.candidates,
        land.strings,
        land.string_candidates,
    )
    monkeypatch.setattr("dpviz.solvers.landscapes.merge.landscape", lambda _: cutoff)
    tree = merge_tree(mixture)
    assert tree.n_unreachable == 1
    assert np.isinf(tree.linkage[-1, 2])
    assert np.isfinite(tree.linkage[0, 2])
    assert [len(set(tree.cut(k).tolist())) for k in (1, 2, 3, 9)] == [1, 2, 3, 3]
    assert len(set(tree.cut_at(1e9).tolist())) == 2


@pytest.mark.parametrize(
    ("mixture", "n_minima"),
    [
        (Mixture([1.0], [[0.0, 0.0]], [np.eye(2)]), 1),
        (Mixture([0.5, 0.5], [[0.0, 0.0]] * 2, [np.eye(2)] * 2), 1),
        (Mixture([0.5, 0.5], [[0.0, 0.0]] * 2, [np.eye(2), 4 * np.eye(2)]), 1),
        (Mixture([1.0, 0.0], [[0.0, 0.0], [3.0, 3.0]], [np.eye(2)] * 2), 1),
        (Mixture(np.full(3, 1 / 3), [[-3.0, 0.0], [3.0, 0.0], [0.0, 0.0]], [np.eye(2)] * 3), 3),
        (Mixture([0.5, 0.5], [[-1e4, 0.0], [1e4, 0.0]], [np.eye(2)] * 2), 2),
        (Mixture([0.5, 0.5], [[-2.0] * 50, [2.0] * 50], [np.eye(50)] * 2), 2),
        (Mixture([0.25] * 4, list(itertools.product([-1.0, 1.0], repeat=2)), [0.3 * np.eye(2)] * 4), 4),
    ],
)
def test_degenerate_mixtures_have_a_clear_result(mixture, n_minima):
    tree = merge_tree(mixture)
    assert tree.n_leaves == n_minima
    assert tree.n_unreachable == 0
    labels = assign_clusters(mixture, mixture.means, 2)
    assert labels.max() + 1 <= min(2, n_minima)
    assert assign_clusters(mixture, np.empty((0, mixture.d)), 2).shape == (0,)


def pair_at(distance, d=2, scale=1.0):
    """Return two equal Gaussians of standard deviation `scale`, `distance` of them apart: two modes from 2 on."""
    turn = np.linalg.qr(np.random.default_rng(d).standard_normal((d, d)))[0]
    return Mixture([0.5, 0.5], [np.zeros(d), distance * scale * turn[0]], [scale**2 * np.eye(d)] * 2)


@pytest.mark.parametrize("scale", [1.0, 1e-2])
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_two_modes_that_are_just_becoming_two_are_one_minimum(d, scale):
    # Exactly at 2 the bottom is flat to fourth order; a millionth further the true dip is below 1e-12.
    for distance in (1.9999, 2.0, 2.000001):
        mixture = pair_at(distance, d, scale)
        tree = merge_tree(mixture)
        assert tree.n_leaves == 1
        assert tree.n_unreachable == 0
        assert set(assign_clusters(mixture, mixture.means, 2).tolist()) == {0}


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("distance", [2.0001, 2.001, 2.05])
def test_two_modes_that_have_just_parted_join_at_the_true_height(distance, d):
    # With half the distance a, ln p along the axis is ln cosh(a x) - x^2 / 2 + const: its mode solves x = a tanh(a x).
    a = distance / 2
    mode = brentq(lambda x: x - a * np.tanh(a * x), 1e-3, a)
    dip = np.log(np.cosh(a * mode)) - mode**2 / 2
    tree = merge_tree(pair_at(distance, d))
    assert tree.n_leaves == 2
    assert tree.n_unreachable == 0
    assert tree.linkage[0, 2] == pytest.approx(dip, rel=1e-3, abs=1e-12)


def test_a_nearly_flat_ring_has_its_modes_and_no_more():
    # 16 Gaussians on a circle: the valley is flat to a few millionths of ln p, and descents along it are slow.
    turns = 2 * np.pi * np.arange(16) / 16
    means = 2.0 * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    tree = merge_tree(Mixture(np.full(16, 1 / 16), means, [0.5 * np.eye(2)] * 16))
    assert tree.n_leaves == 16
    assert tree.n_unreachable == 0
    np.testing.assert_allclose(tree.linkage[:, 2], tree.linkage[0, 2], rtol=1e-3)


def test_too_few_clusters_are_refused():
    with pytest.raises(ValueError, match=r"n_clusters .*got 0"):
        merge_tree(drawn(0, 2)).cut(0)
