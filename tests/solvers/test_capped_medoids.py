"""k-medoids under a cap, compared with brute force; FasterPAM compared with the field's own implementation."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from dpviz.solvers import SOLVERS, best_centers, cost, select_centers, select_several
from dpviz.solvers import capped_medoids as module
from dpviz.solvers.capped_medoids import capped_dissimilarities, faster_pam, greedy_medoids, nearest_distance


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
        ({"targets": np.empty((0, 2))}, "targets must have at least one row"),
        ({"n_centers": 0}, "n_centers must be .*got 0"),
        ({"solver": "pam"}, "solver must be .*got 'pam'"),
        ({"weights": [1.0, -1, 1, 1, 1]}, "weights"),
        ({"source_points": [[np.nan, 0.0]]}, "source_points"),
    ):
        given_ = {"targets": targets, "source_points": [], "n_centers": 2, **bad}
        with pytest.raises(ValueError, match=words):
            select_centers(**given_, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="targets must have at least one row"):
        cost(np.empty((0, 2)), targets, targets)


@pytest.mark.parametrize("solver", SOLVERS)
def test_several_k_at_once_are_each_k_alone(solver):
    targets, sources, weights = instance(3, n=60, m=4)
    ks = (7, 1, 60, 3)
    together = select_several(targets, sources, ks, weights=weights, solver=solver, rng=np.random.default_rng(0))
    for k, found in zip(ks, together, strict=True):
        assert np.array_equal(found, chosen_by(solver, targets, sources, k, weights))
    with pytest.raises(ValueError, match=r"n_centers must be .*got 0"):
        select_several(targets, sources, (3, 0), rng=np.random.default_rng(0))


# Relative error of a total of up to 60 numbers in single precision, each of which is accurate to 6e-8.
ROUNDING = 1e-5


def problem(seed, n, d, *, grid):
    """Return dissimilarities (n, n) under a cap, rows points; on a grid many are equal."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, (n, d)).astype(float) if grid else rng.random((n, d))
    cap = rng.random(n)[:, None] * 3.0
    return np.minimum(cdist(points, points), cap).astype(np.float32)


def total(matrix, medoids):
    return float(matrix[:, medoids].min(axis=1).sum(dtype=float))


def best_exchange(matrix, medoids):
    """Return the least total after one exchange, by trying all."""
    others = np.setdiff1d(np.arange(len(matrix)), medoids)
    return min(total(matrix, [*np.delete(medoids, i), other]) for i in range(len(medoids)) for other in others)


problems = st.tuples(st.integers(0, 10_000), st.integers(2, 40), st.integers(1, 3), st.booleans())


@given(problems, st.data())
def test_no_exchange_of_one_medoid_helps(made, data):
    seed, n, d, grid = made
    k = data.draw(st.integers(1, n - 1))
    matrix = problem(seed, n, d, grid=grid)
    start = np.random.default_rng(seed).choice(n, k, replace=False)
    found = faster_pam(matrix, start)
    assert len(set(found)) == k
    assert total(matrix, found) <= total(matrix, start) * (1 + ROUNDING)
    assert best_exchange(matrix, found) >= total(matrix, found) * (1 - ROUNDING) - 1e-9
    assert np.array_equal(found, faster_pam(matrix, start))


@given(st.integers(0, 10_000), st.integers(2, 40), st.integers(0, 9), st.integers(1, 6), st.sampled_from([20, 3000]))
@settings(max_examples=60, deadline=None)
def test_no_selection_that_is_known_is_cheaper_than_the_reference(seed, n, m, k, full):
    with pytest.MonkeyPatch.context() as patch:  # hypothesis takes no fixture of one test
        patch.setattr(module, "FULL", full)
        rng = np.random.default_rng(seed)
        targets, sources = rng.random((n, 2)), rng.random((m, 2))
        known = [np.sort(rng.choice(n, min(k, n), replace=False)) for _ in range(2)]
        known += [chosen_by(solver, targets, sources, k) for solver in SOLVERS]
        best = best_centers(targets, sources, k, known, rng=np.random.default_rng(seed))
    assert list(best) == sorted(set(best.tolist()))
    assert len(best) == min(k, n)
    least = min(cost(targets, sources, targets[each]) for each in known)
    assert cost(targets, sources, targets[best]) <= least


def test_several_starts_find_what_one_misses():
    better = 0
    for seed in range(40):
        targets, sources, _ = instance(seed, n=60, m=4)
        one = cost(targets, sources, targets[chosen_by("fasterpam", targets, sources, 6)])
        best = cost(targets, sources, targets[best_centers(targets, sources, 6, rng=np.random.default_rng(0))])
        assert best <= one
        better += best < one
    assert better > 0, "else the starts would be for nothing"


def test_it_leaves_what_it_was_given_alone():
    matrix, start = problem(1, 30, 2, grid=False), np.arange(4)
    before = matrix.copy()
    faster_pam(matrix, start)
    assert np.array_equal(matrix, before)
    assert list(start) == [0, 1, 2, 3]


def test_it_finds_what_another_implementation_finds():
    kmedoids = pytest.importorskip(
        "kmedoids", reason="an independent implementation, which the project does not bring along"
    )
    same = 0
    for seed in range(200):
        matrix, k = problem(seed, 60, 2, grid=seed % 4 == 0), 2 + seed % 7
        start = np.random.default_rng(seed).choice(60, k, replace=False)
        theirs = kmedoids.fasterpam(matrix, start, max_iter=100, n_cpu=1).medoids
        ours = faster_pam(matrix, start)
        same += total(matrix, ours) == pytest.approx(total(matrix, theirs), rel=ROUNDING)
    # If values are equal, a different local optimum may be found.
    assert same > 190
