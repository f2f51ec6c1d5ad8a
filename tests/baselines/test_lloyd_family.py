"""The Lloyd-type baselines: spending, noise, Lloyd's steps without noise, and the release."""

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dpviz.accounting import pure_epsilon
from dpviz.baselines import _lloyd_family, blum, dplloyd, dwork, lloyd
from dpviz.core import Adjacency, Box, ceiled
from dpviz.solvers import su_iterations, su_split

PRIVATE = [blum, dwork, dplloyd]
DIMENSIONS = (1, 2, 5, 20, 100)
ADJACENCIES = {"add_remove": Adjacency.ADD_REMOVE, "replace": Adjacency.REPLACE}


def name_of(module):
    return module.__name__.rpartition(".")[2]


def data(d, n=60, seed=0):
    """Return records in a box that is not the unit box, some of them outside."""
    rng = np.random.default_rng(seed)
    return 4.2 * rng.random((n, d)) - 1.1, Box(np.full(d, -1.0), np.linspace(3.0, 4.0, d))


def run(module, points, box, *, seed=0, **options):
    return module.fit(points, box, module.Params(**options), rng=np.random.default_rng(seed))


def budget(module, epsilon, n_iterations):
    return epsilon * (1 - 0.5**n_iterations) if module is dwork else epsilon


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("module", PRIVATE, ids=name_of)
def test_the_events_add_up_to_the_claim(module, d, adjacency):
    points, box = data(d)
    for k, epsilon, n_iterations in itertools.product((1, 4), (1e-3, 1.0, 20.0), (None, 1, 7)):
        options = {"n_clusters": k, "epsilon": epsilon, "n_iterations": n_iterations, "adjacency": adjacency}
        result = run(module, points, box, start_seed=0, **options)
        spent = pure_epsilon(result.events, ADJACENCIES[adjacency])
        assert spent == pytest.approx(budget(module, epsilon, len(result.trace)), rel=1e-12)
        proved = result.guarantee.proved
        assert (proved.delta, proved.adjacency) == (0.0, ADJACENCIES[adjacency])
        assert proved.epsilon == pytest.approx(spent, rel=1e-12)
        shares = [step.epsilon_counts + d * step.epsilon_sums for step in result.trace]
        np.testing.assert_allclose(shares, [step.epsilon for step in result.trace], rtol=1e-12)
        if adjacency == "add_remove":
            assert pure_epsilon(result.events, Adjacency.REPLACE) == pytest.approx(2 * spent, rel=1e-12)
            assert any(f"{ceiled(2 * proved.epsilon)}-private" in caveat for caveat in result.guarantee.caveats)
        if module is dwork and n_iterations is None:
            assert spent == pytest.approx(epsilon * 31 / 32, rel=1e-12)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_counts_and_sums_of_the_joint_vector_share_one_scale(d):
    for adjacency, l1 in (("add_remove", 1 + d / 2), ("replace", 2 + d)):
        points, box = data(d)
        event = run(blum, points, box, start_seed=0, epsilon=2.0, adjacency=adjacency).events[0]
        count, total = event.events if adjacency == "replace" else event.parts[0].events
        assert count.scale == pytest.approx(l1 / (2.0 / 5), rel=1e-14)
        assert total.scale == pytest.approx(count.scale, rel=1e-14)


def centered(step):
    return (step.nonprivate_mean - 0.5) * step.nonprivate_counts[:, None]


def brute_lloyd(unit, centers, n_iterations):
    for _ in range(n_iterations):
        labels = cdist(unit, centers).argmin(axis=1)
        centers = np.array(
            [unit[labels == i].mean(axis=0) if (labels == i).any() else c for i, c in enumerate(centers)]
        )
    return centers


@pytest.mark.parametrize("d", [1, 2, 5, 20])
@pytest.mark.parametrize("module", [lloyd, *PRIVATE], ids=name_of)
def test_without_noise_it_is_lloyd(module, d):
    points, box = data(d, n=500)
    options = {} if module is lloyd else {"epsilon": math.inf}
    for seed in range(3):
        result = run(module, points, box, seed=seed, start_seed=seed, n_clusters=6, **options)
        unit = box.to_unit(box.clip(points))
        n_iterations = len(result.trace)
        assert module is lloyd or n_iterations == (7 if module is dplloyd else 5)
        expected = brute_lloyd(unit, result.release.start, n_iterations)
        np.testing.assert_allclose(result.release.path[-1], expected, atol=1e-12)
        np.testing.assert_allclose(result.release.centers, box.from_unit(expected), atol=1e-11)
        labels = cdist(unit, result.trace[-1].previous_centers).argmin(axis=1)
        for centers, costs in (
            (result.trace[-1].previous_centers, result.trace[-1].nonprivate_cost_before),
            (result.trace[-1].released_centers, result.trace[-1].nonprivate_cost_after),
        ):
            brute = [((unit[labels == i] - c) ** 2).sum() for i, c in enumerate(centers)]
            np.testing.assert_allclose(costs, brute, atol=1e-10)


def test_lloyd_stops_when_no_record_moves_and_promises_nothing():
    points, box = data(2, n=300)
    result = run(lloyd, points, box)
    assert result.trace[-1].outcome == "converged"
    assert (cdist(box.to_unit(box.clip(points)), result.release.path[-1]).argmin(axis=1)).tolist() == result.trace[
        -1
    ].nonprivate_labels.tolist()
    assert result.guarantee.proved is None
    assert result.guarantee.published.epsilon == math.inf
    assert result.guarantee.caveats
    assert pure_epsilon(result.events, Adjacency.ADD_REMOVE) == math.inf
    assert result.release.noisy_counts is None
    short = run(lloyd, points, box, n_iterations=2)
    assert [step.outcome for step in short.trace] == ["moving", "max_iterations"]
    assert np.array_equal(short.release.path, result.release.path[:2])


@pytest.mark.parametrize("module", PRIVATE, ids=name_of)
def test_epsilon_changes_scales_and_nothing_else(module):
    points, box = data(2, n=300)
    few, many = (run(module, points, box, epsilon=epsilon, n_iterations=4) for epsilon in (2.0, 20.0))
    assert np.array_equal(few.release.start, many.release.start)
    for a, b in zip(few.trace, many.trace, strict=True):
        counts = [step.noisy_counts - step.nonprivate_counts for step in (a, b)]
        np.testing.assert_allclose(counts[0], 10 * counts[1], atol=1e-10)
        sums = [step.noisy_sums - centered(step) for step in (a, b)]
        np.testing.assert_allclose(sums[0], 10 * sums[1], atol=1e-10)
    starts = [run(other, points, box).release.start for other in (lloyd, *PRIVATE)]
    assert all(np.array_equal(start, few.release.start) for start in starts)


def test_su_takes_its_iterations_from_a_public_or_noisy_number():
    points, box = data(2, n=2000)
    for adjacency, n_public, known in (("add_remove", 700, 700), ("replace", None, 2000), ("replace", 700, 700)):
        result = run(dplloyd, points, box, adjacency=adjacency, n_public=n_public)
        assert len(result.trace) == len(result.events) == su_iterations(1.0, known, 5, 2)
    noisy = run(dplloyd, points, box)
    size, *iterations = noisy.events
    assert size.epsilon == pytest.approx(0.02)
    assert len(iterations) == len(noisy.trace)
    np.testing.assert_allclose([step.epsilon for step in noisy.trace], 0.98 / len(noisy.trace))
    assert noisy.trace[0].epsilon_counts == pytest.approx(su_split(0.98 / len(noisy.trace), 2).count)


@pytest.mark.parametrize("module", PRIVATE, ids=name_of)
def test_a_cluster_that_looks_empty_stays(module):
    points, box = data(2, n=40)
    kept = moved = 0
    for seed in range(20):
        for step in run(module, points, box, seed=seed, epsilon=3.0, start_seed=0).trace:
            event = step.events[-1].parts[0].events[0]
            seen = step.noisy_counts >= max(1.0, 2 * event.scale)
            assert (step.released_centers[~seen] == step.previous_centers[~seen]).all()
            mean = np.clip(0.5 + step.noisy_sums[seen] / step.noisy_counts[seen, None], 0, 1)
            np.testing.assert_allclose(step.released_centers[seen], mean, atol=1e-15)
            kept, moved = kept + (~seen).sum(), moved + seen.sum()
    assert kept > 10
    assert moved > 10


@pytest.mark.parametrize("module", [lloyd, *PRIVATE], ids=name_of)
def test_a_start_of_records_turns_the_guarantee_off(module):
    points, box = data(2)
    result = run(module, points, box, start="records")
    assert result.guarantee.proved is None
    assert _lloyd_family.RECORDS_CAVEAT in result.guarantee.caveats
    assert result.release.start is None
    rows = box.to_unit(box.clip(points))
    assert all((row == rows).all(axis=1).any() for row in result.trace[0].previous_centers)
    given = run(module, points, box, start="records", initial_centers=points[:5])
    assert _lloyd_family.GIVEN_START_CAVEAT in given.guarantee.caveats
    assert (given.guarantee.proved is None) == (module is lloyd)
    assert given.release.start is None
    with pytest.raises(ValueError, match="must be at most n_records=3"):
        run(module, points[:3], box, start="records")
    with pytest.raises(ValueError, match=r"initial_centers must have .* got 2"):
        run(module, points, box, initial_centers=points[:2])
