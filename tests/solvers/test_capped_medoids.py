import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from dpviz.solvers import SOLVERS, cost, select_centers, select_several
from dpviz.solvers import capped_medoids as module
from dpviz.solvers.capped_medoids import capped_dissimilarities, greedy_medoids, nearest_distance


def plain_cost(targets, sources, centers):
    return np.mean([min(np.linalg.norm(x - y) for y in (*sources, *centers)) for x in targets])


def weighted_cost(targets, sources, chosen, weights):
    known = np.concatenate([sources, targets[chosen]])
    return float(weights @ cdist(targets, known).min(axis=1))


def best_cost(targets, sources, k, weights):
    every = itertools.combinations(range(len(targets)), k)
    return min(weighted_cost(targets, sources, list(chosen), weights) for chosen in every)


def instance(seed, n=9, m=3, d=2):
    rng = np.random.default_rng(seed)
    return rng.random((n, d)), rng.random((m, d)), rng.integers(1, 5, n).astype(float)


def chosen_by(solver, targets, sources, k, weights=None, seed=0):
    return select_centers(targets, sources, k, weights=weights, solver=solver, rng=np.random.default_rng(seed))


def test_the_cost_is_the_mean_distance_to_the_nearest_of_both():
    for seed in range(10):
        targets, sources, _ = instance(seed)
        assert cost(targets, sources, targets[:2]) == pytest.approx(plain_cost(targets, sources, targets[:2]))
    assert cost(targets, [], []) == np.inf
    assert cost(targets, sources, []) == pytest.approx(cost(targets, [], sources))


@given(st.integers(0, 10_000), st.integers(2, 12), st.integers(0, 6), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=80, deadline=None)
def test_the_reduction_equals_the_objective(seed, n, m, k, d):
    rng = np.random.default_rng(seed)
    # Integer coordinates: ties and duplicates are common.
    targets, sources = rng.integers(0, 4, (n, d)).astype(float), rng.integers(0, 4, (m, d)).astype(float)
    weights, chosen = rng.random(n), rng.choice(n, min(k, n), replace=False)
    ceilings = nearest_distance(targets, sources)
    matrix = capped_dissimilarities(targets, np.where(np.isinf(ceilings), 1e3, ceilings), weights)
    known = np.concatenate([sources, targets[chosen]])
    direct = weights @ cdist(targets, known).min(axis=1)
    assert matrix[:, chosen].min(axis=1).sum(dtype=float) == pytest.approx(direct, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(0, 6), st.integers(1, 14), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_the_indices_are_different_and_as_many_as_asked(solver, seed, n, m, k, d):
    rng = np.random.default_rng(seed)
    targets, sources = rng.integers(0, 3, (n, d)).astype(float), rng.integers(0, 3, (m, d)).astype(float)
    chosen = chosen_by(solver, targets, sources, k)
    assert len(chosen) == min(k, n)
    assert len(np.unique(chosen)) == len(chosen)
    assert ((chosen >= 0) & (chosen < n)).all()
    assert np.array_equal(chosen, chosen_by(solver, targets, sources, k))


def test_fasterpam_finds_the_best_of_small_instances():
    rng = np.random.default_rng(0)
    exact = []
    for seed in range(60):
        targets, sources, weights = instance(seed, m=int(rng.integers(4)))
        for k in (1, 2, 3):
            best = best_cost(targets, sources, k, weights)
            found = weighted_cost(targets, sources, chosen_by("fasterpam", targets, sources, k, weights), weights)
            assert found >= best - 1e-9
            assert found <= 1.35 * best + 1e-6  # a local optimum may stay above, never far
            exact.append(found <= best * (1 + 1e-6) + 1e-9)
            if k == 1:  # one swap reaches every single center: no local optimum but the best
                assert exact[-1]
    assert np.mean(exact) > 0.9


def test_fasterpam_and_akm_are_never_worse_than_greedy():
    for seed in range(150):
        targets, sources, weights = instance(seed, n=40, m=seed % 7)
        greedy, *others = (
            weighted_cost(targets, sources, chosen_by(solver, targets, sources, 4, weights), weights)
            for solver in ("greedy", "akm", "fasterpam")
        )
        assert max(others) <= greedy * (1 + 1e-6)


def test_the_lazy_choice_is_the_greedy_one():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        targets, sources = rng.random((150, 2)), rng.random((5, 2))
        ceilings = nearest_distance(targets, sources).astype(np.float32)
        matrix = capped_dissimilarities(targets, ceilings.astype(float), np.ones(150))
        current, plain = ceilings.astype(float), []
        for _ in range(6):
            gains = np.maximum(current[:, None] - matrix, 0.0).sum(axis=0)
            gains[plain] = -1.0
            plain.append(int(gains.argmax()))
            current = np.minimum(current, matrix[:, plain[-1]])
        assert list(greedy_medoids(matrix, ceilings, 6)) == plain


def test_a_weight_counts_a_point_several_times():
    for seed in range(20):
        targets, sources, weights = instance(seed)
        rows = np.repeat(np.arange(len(targets)), weights.astype(int))
        for solver in SOLVERS:
            weighted = weighted_cost(targets, sources, chosen_by(solver, targets, sources, 1, weights), weights)
            repeated = chosen_by(solver, targets[rows], sources, 1)
            again = weighted_cost(targets, sources, rows[repeated], weights)
            assert weighted == pytest.approx(again, rel=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_many_points_are_sampled_and_lose_little(solver, monkeypatch):
    rng = np.random.default_rng(0)
    targets, sources = rng.random((2500, 2)), rng.random((30, 2))
    full = cost(targets, sources, targets[chosen_by("fasterpam", targets, sources, 8)])
    monkeypatch.setattr(module, "FULL", 1000)
    monkeypatch.setattr(module, "SAMPLE", 1000)
    sampled = [chosen_by(solver, targets, sources, 8, seed=seed) for seed in range(2)]
    assert not np.array_equal(*sampled)
    assert max(cost(targets, sources, targets[one]) for one in sampled) < 1.04 * full


def test_bad_input_is_named():
    targets = np.random.default_rng(0).random((5, 2))
    for bad, words in (
        ({"targets": np.empty((0, 2))}, "targets had no rows"),
        ({"n_centers": 0}, "n_centers was 0"),
        ({"solver": "pam"}, "solver was 'pam'"),
        ({"weights": [1.0, -1, 1, 1, 1]}, "weights"),
        ({"source_points": [[np.nan, 0.0]]}, "source_points"),
    ):
        given_ = {"targets": targets, "source_points": [], "n_centers": 2, **bad}
        with pytest.raises(ValueError, match=words):
            select_centers(**given_, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="targets had no rows"):
        cost(np.empty((0, 2)), targets, targets)


@pytest.mark.parametrize("solver", SOLVERS)
def test_several_k_at_once_are_each_k_alone(solver):
    targets, sources, weights = instance(3, n=60, m=4)
    ks = (7, 1, 60, 3)
    together = select_several(targets, sources, ks, weights=weights, solver=solver, rng=np.random.default_rng(0))
    for k, found in zip(ks, together, strict=True):
        assert np.array_equal(found, chosen_by(solver, targets, sources, k, weights))
    with pytest.raises(ValueError, match="n_centers was 0"):
        select_several(targets, sources, (3, 0), rng=np.random.default_rng(0))
