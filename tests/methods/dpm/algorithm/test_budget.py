"""Spending of DPM: level by level, in total, and the noise against the events."""

import itertools
import math

import numpy as np
import pytest

from dpviz.accounting import GaussianEvent, LaplaceEvent, ParallelEvent, PureEvent, gdp_epsilon, pure_epsilon
from dpviz.core import Adjacency, Box
from dpviz.methods.dpm.algorithm import LevelStep, Params, Shares, fit, level_epsilons
from dpviz.methods.dpm.algorithm import centers as _dpm_centers
from dpviz.methods.dpm.algorithm.plan import delta_for, free_levels_for, levels_for, make_plan, shares_for
from dpviz.solvers import cluster_sums

DIMENSIONS = (1, 2, 5, 20, 100)
EPSILONS = (1e-3, 0.1, 1.0, 20.0)
PAPER = Shares(0.04, 0.18, 0.18, 0.60)


def uniform(d, n=300):
    return np.random.default_rng(d).random((n, d)), Box.cube(0.0, 1.0, d)


def pure_and_gaussian(events):
    """Return the pure epsilon of all but the averages, and the mu of all averages of each leaf together."""
    rounds = [event for event in events if event.label == "averages"]
    assert all(isinstance(each, ParallelEvent) for each in rounds)
    assert tuple(rounds) == events[-len(rounds) :]
    assert all(isinstance(part, GaussianEvent) for each in rounds for part in each.parts)
    of_leaves = zip(*(each.parts for each in rounds), strict=True)
    mus = [math.sqrt(math.fsum(part.mu**2 for part in parts)) for parts in of_leaves]
    return pure_epsilon(events[: -len(rounds)], Adjacency.ADD_REMOVE), mus


@pytest.mark.parametrize("n_levels", [1, 2, 5, 7, 20])
def test_level_epsilons_add_up_and_grow_with_the_root_of_two(n_levels):
    for epsilon in EPSILONS:
        levels = level_epsilons(epsilon, n_levels)
        assert levels.shape == (n_levels,)
        assert math.fsum(levels) == pytest.approx(epsilon, rel=1e-14)
        np.testing.assert_allclose(levels[1:] / levels[:-1], math.sqrt(2), rtol=1e-14)
    assert np.isinf(level_epsilons(math.inf, n_levels)).all()


def test_level_epsilons_are_the_best_for_halving_subsets():
    """Equation 2: among budgets with the same sum, these minimise sum_i 2^i / eps_i; 1,000 others are worse."""
    ours = level_epsilons(1.0, 8)
    cost = (2.0 ** np.arange(8) / ours).sum()
    others = np.random.default_rng(0).dirichlet(np.full(8, 3.0), 1000)
    assert (cost <= (2.0 ** np.arange(8) / others).sum(axis=1)).all()


def plan_of(epsilon, n_levels, n_public, *, published):
    budget = {"epsilon": epsilon, "delta": 1e-6, "n_levels": n_levels, "shares": None, "n_public": n_public}
    return make_plan(5000, 2, **budget, published=published, rng=np.random.default_rng(0))


def test_the_plan_divides_epsilon_and_delta():
    for epsilon, published, depth, size in itertools.product(EPSILONS, (True, False), (None, 1, 6), (None, 5000)):
        plan = plan_of(epsilon, depth, size, published=published)
        before = pure_epsilon(plan.events[:-1], Adjacency.ADD_REMOVE)  # the number of records, without the root
        levels = (*plan.count_epsilons, *plan.gap_epsilons, *plan.split_epsilons)
        parts = (before, plan.interval_epsilon, *levels, plan.averages.epsilon)
        assert math.fsum(parts) == pytest.approx(epsilon, rel=1e-12)
        deltas = (plan.averages.delta, *[plan.count_delta] * len(plan.count_epsilons))
        assert math.fsum(deltas) == pytest.approx(1e-6, rel=1e-12)
        assert len(plan.count_epsilons) == plan.n_levels + 1 == len(plan.split_epsilons) + 1
        assert plan.minimum_count == plan.root_count / 2**plan.free_levels
        assert plan.free_levels <= max(plan.n_levels, 2)
        assert plan.n_levels == len(plan.gap_epsilons)
        assert plan.gap_epsilons.any() == (not published)
        assert (before > 0) == (not published and size is None)
        if published:
            assert plan.shares == PAPER
            assert plan.averages.delta == pytest.approx(0.8e-6)
            assert plan.n_levels == (depth or 7)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_run_spends_epsilon_and_delta_however_deep_it_got(d):
    points, box = uniform(d)
    for epsilon, depth, seed in itertools.product(EPSILONS, (None, 1, 4), range(2)):
        params = Params(epsilon=epsilon, n_levels=depth, delta=1e-6)
        result = fit(points, box, params, rng=np.random.default_rng(seed))
        pure, averages = pure_and_gaussian(result.events)
        for mu in averages:
            assert pure + gdp_epsilon(mu, 1e-6) == pytest.approx(epsilon, rel=1e-9)
        assert (result.guarantee.proved.epsilon, result.guarantee.proved.delta) == (epsilon, 1e-6)
        assert result.guarantee.proved.adjacency is Adjacency.ADD_REMOVE


@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_published_run_spends_its_levels(d):
    points, box = uniform(d)
    for epsilon in EPSILONS:
        params = Params(epsilon=epsilon, delta=1e-6, calibration="published")
        result = fit(points, box, params, rng=np.random.default_rng(0))
        reached = sum(isinstance(step, LevelStep) for step in result.trace)
        levels = (
            level_epsilons(0.18 * epsilon, 7)[:reached].sum() + level_epsilons(0.18 * epsilon, 8)[: reached + 1].sum()
        )
        pure, averages = pure_and_gaussian(result.events)
        assert pure == pytest.approx(0.04 * epsilon + levels, rel=1e-12)
        assert gdp_epsilon(averages[0], 0.8e-6) == pytest.approx(0.6 * epsilon, rel=1e-9)
        assert (result.guarantee.published.epsilon, result.guarantee.published.delta) == (epsilon, 1e-6)
        assert (result.guarantee.proved is None) == (d > 1)


def test_a_trace_tells_the_probabilities_it_drew_from():
    points, box = uniform(3, n=2000)
    for calibration in ("repaired", "published"):
        result = fit(points, box, Params(calibration=calibration, epsilon=30.0), rng=np.random.default_rng(0))
        for step in result.trace[1:-1]:
            for split in step.splits:
                probabilities = split.probabilities
                assert probabilities.sum() == pytest.approx(1.0)
                score = np.where(split.exists, split.score, -np.inf)
                weights = np.exp(split.epsilon * (score - score.max()) / (2 * split.sensitivity))
                np.testing.assert_allclose(probabilities, weights / weights.sum(), rtol=1e-9, atol=1e-300)
                assert split.score[split.nonprivate_best] == np.nanmax(split.score)


def test_the_papers_offset_is_under_the_published_sensitivity_alone():
    points, box = uniform(2, n=20_000)
    result = fit(points, box, Params(calibration="published", delta=1e-6), rng=np.random.default_rng(0))
    root = result.trace[1].splits[0]
    epsilon = level_epsilons(0.18, 8)[0]
    offset = math.log(1 / (2 * 0.2e-6 / 8)) / epsilon
    assert root.shifted_count == pytest.approx(root.noisy_count - offset)
    assert root.sensitivity == pytest.approx(8.6 / root.shifted_count)
    assert 3000 < offset < 4000  # the specification: about 3,400


def test_events_are_one_parallel_event_a_level():
    points, box = uniform(2, n=5000)
    result = fit(points, box, Params(epsilon=5.0), rng=np.random.default_rng(0))
    levels = [step for step in result.trace if isinstance(step, LevelStep)]
    assert [step.level for step in levels] == list(range(len(levels)))
    for step in levels:
        splits, gaps, counts = step.events
        assert [type(part) for part in splits.parts] == [PureEvent] * len(step.splits)
        assert all(part.bounded_range and part.epsilon == step.epsilon_splits for part in splits.parts)
        assert [type(part) for part in gaps.parts] == [LaplaceEvent] * len(step.splits)
        assert [type(part) for part in counts.parts] == [LaplaceEvent] * (2 * len(step.splits))
    assert tuple(event for step in result.trace for event in step.events) == result.events


def test_delta_follows_the_noisy_number_and_says_so():
    points, box = uniform(2, n=4000)
    result = fit(points, box, Params(), rng=np.random.default_rng(0))
    plan = result.trace[0].plan
    assert result.guarantee.proved.delta_in_run == plan.root_count**-1.5 == delta_for(plan.root_count)
    assert result.guarantee.proved.delta == 1000**-1.5
    assert any("noisy number" in caveat for caveat in result.guarantee.caveats)
    public = fit(points, box, Params(n_public=4000), rng=np.random.default_rng(0))
    assert public.guarantee.proved.delta == 4000**-1.5
    assert any("given as public" in caveat for caveat in public.guarantee.caveats)
    assert not any("noisy number" in caveat for caveat in public.guarantee.caveats)
    assert delta_for(3.0) == delta_for(-1e9) == 1000**-1.5


def test_depth_and_shares_follow_the_number_of_records():
    assert [levels_for(n, 1.0) for n in (0, 50, 2000, 10_000, 30_000, 100_000, 1e12)] == [1, 1, 4, 6, 7, 8, 10]
    assert levels_for(10_000, 0.1) == levels_for(1000, 1.0) < levels_for(1000, 10.0) < levels_for(1000, math.inf) == 10
    assert [free_levels_for(n, 1.0) for n in (0, 2000, 10_000, 100_000, 1e12)] == [2, 3, 5, 7, 10]
    assert free_levels_for(10_000, 0.1) == free_levels_for(1000, 1.0) == free_levels_for(1000, math.inf)
    assert shares_for(500, 1.0, 2) == shares_for(10_000, 1.0, 6) != shares_for(10_000, 1.0, 7)
    assert shares_for(1e5, 1.0, 2) == shares_for(1e9, 1.0, 20)
    for d in (2, 20):
        few, some, many = (shares_for(n, 1.0, d) for n in (1e4, 3e4, 1e5))
        assert few.splits > some.splits > many.splits
        assert few.averages < some.averages < many.averages


@pytest.mark.parametrize(
    "parts", [(0.04, 0.18, 0.18, 0.5), (0.0, 0.4, 0.3, 0.3), (-0.1, 0.5, 0.3, 0.3), (math.nan, 0.3, 0.3, 0.3)]
)
def test_shares_that_are_none_are_refused(parts):
    with pytest.raises(ValueError, match="add up to 1"):
        Shares(*parts)


@pytest.mark.parametrize("copies", [False, True])
def test_sums_of_a_narrow_leaf_round_by_no_more_than_secret_noise_allows_for(copies):
    """By n^2 2^-53 of half of the leaf's side at most, see `mechanisms.secret`: its scale follows from that side."""
    n, half, origin = 16_000, 2.0**-10, np.array([[0.9, 0.1]])
    moved = half * np.random.default_rng(0).uniform(-1.0, 1.0, (1 if copies else n, 2))
    points, labels = np.repeat(origin + moved, n if copies else 1, axis=0), np.zeros(n, dtype=np.intp)
    exact = [math.fsum([*points[:, axis], *np.full(n, -origin[0, axis])]) for axis in range(2)]
    sums, counts = _dpm_centers._centered_sums([(points, labels)], origin)
    limit = n**2 * 2.0**-53 * half
    assert counts.tolist() == [n]
    assert np.abs(sums[0] - exact).max() <= limit
    # The former value.
    about_the_box = cluster_sums(points - 0.5, labels, 1).nonprivate_sums - n * (origin - 0.5)
    assert not copies or np.abs(about_the_box[0] - exact).max() > limit


@pytest.mark.parametrize("levels", [1, 2, 5])
def test_what_a_cut_needs_is_measured_by_the_noise_of_its_own_level(levels):
    """Sides of level i are counted with the noise of level i + 1's counts, and gaps with that of level i's gaps."""
    plan = plan_of(1.0, levels, 5000, published=False)
    points, box = uniform(2)
    trace = fit(points, box, Params(n_levels=levels, epsilon=1e4), rng=np.random.default_rng(0)).trace
    for level in range(levels):
        count_scale = 1.0 / plan.count_epsilons[level + 1]
        assert plan.count_epsilons[level + 1] == pytest.approx(math.sqrt(2.0) * plan.count_epsilons[level])
        assert plan.least(level) == pytest.approx(2.0 * count_scale, rel=1e-12)
        assert plan.clear(level, 400.0) == pytest.approx(2.0 * 20.0 + 1.0 / plan.gap_epsilons[level], rel=1e-12)
    for step in trace[1:-1]:
        sides = [event for event in step.events if "counts" in event.label]
        gaps = [event for event in step.events if "gaps" in event.label]
        spent = trace[0].plan
        assert spent.least(step.level) == 2.0 * sides[0].parts[0].scale, "of the very noise that the sides have"
        assert spent.clear(step.level, 1.0) == pytest.approx(2.0 + gaps[0].parts[0].scale)
