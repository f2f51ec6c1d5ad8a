"""The lower bound: sharp on correct mechanisms, sound by its level, and deaf to nothing that it should hear."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpviz.accounting import gaussian_sigma, gdp_epsilon
from dpviz.audit import (
    Batch,
    BoundOptions,
    Outcomes,
    chances,
    chosen_events,
    epsilon_lower_bound,
    least_epsilons,
)
from dpviz.audit.bound import allowed_hits
from dpviz.core import Adjacency, Budget

POINTS, NEIGHBOR = np.zeros((10, 1)), np.zeros((9, 1))


def rng(seed=0):
    return np.random.default_rng(seed)


def laplace_count(scale=1.0):
    return Batch(lambda points, n_runs, rng: len(points) + rng.laplace(scale=scale, size=n_runs))


def audit(run, n_runs, seed=0, **options):
    return epsilon_lower_bound(run, POINTS, NEIGHBOR, n_runs=n_runs, rng=rng(seed), **options)


AUDITS = {
    "bare": audit(Batch(lambda points, n, _: np.full(n, float(len(points)))), 500),
    "noisy": audit(laplace_count(scale=0.4), 500),
}


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_the_bounds_of_many_counts_at_once_are_those_of_one(delta):
    n, level = 40, 0.003
    low, high = chances(n, level)
    pairs = [(a, b) for a in range(n + 1) for b in range(n + 1)]
    hits, others = np.array(pairs).T
    with np.errstate(divide="ignore"):
        expected = [np.log(max(low[a] - delta, 0.0)) - np.log(high[b]) for a, b in pairs]
    assert np.array_equal(least_epsilons(hits, others, n, level, delta), expected)
    sizes = np.array([1, 5, 40])
    most = least_epsilons(sizes, 0, sizes, level, 0.0)
    assert np.all(np.diff(most) > 0), "more runs can show more"
    assert most[2] == np.log(low[n]) - np.log(high[0])


def test_a_correct_count_is_measured_just_below_its_epsilon():
    assert all(0.8 < audit(laplace_count(), 20_000, seed).epsilon_lower <= 1.0 for seed in range(3))
    found = [audit(laplace_count(), 2_000, seed).epsilon_lower for seed in range(20)]
    assert all(0.5 < value <= 1.0 for value in found)
    assert 0.7 < np.median(found) < 0.85  # specification: .75


@pytest.mark.slow
def test_a_correct_count_keeps_these_limits_over_many_audits():
    found = [audit(laplace_count(), 20_000, seed).epsilon_lower for seed in range(200)]
    assert 0.84 < np.quantile(found, 0.01) < 0.88  # specification: .86
    assert 0.90 < np.median(found) < 0.94  # .92
    # At level .95 at most 5 % lie above 1; six standard errors of that share.
    assert np.mean(np.array(found) > 1.0) < 0.05 + 6 * math.sqrt(0.05 * 0.95 / 200)


@pytest.mark.parametrize("n_runs", [2_000, 20_000])
def test_half_the_noise_is_caught(n_runs):
    assert audit(laplace_count(scale=0.5), n_runs).violates(1.0)
    assert not audit(laplace_count(), n_runs).violates(1.0)


@pytest.mark.parametrize(("n_runs", "ceiling"), [(20_000, 7.5), (2_000, 5.2)])
def test_a_deterministic_mechanism_reaches_the_ceiling_of_its_runs(n_runs, ceiling):
    found = audit(Batch(lambda points, n, _: np.full(n, float(len(points)))), n_runs)
    assert found.at_ceiling
    assert found.epsilon_lower == pytest.approx(ceiling, abs=0.06)
    # (beta / 2K)^(2 / R) is the low end of "always", one less that the high end of "never".
    low = (0.05 / 16) ** (2 / n_runs)
    assert found.epsilon_lower == pytest.approx(math.log(low / (1 - low)))
    assert not audit(laplace_count(), n_runs).at_ceiling


def test_rounding_in_the_last_digit_hides_nothing():
    def wobbling(points, n_runs, rng):
        return len(points) / 10.0 * (1.0 + 1e-15 * rng.integers(-3, 4, n_runs))

    assert audit(Batch(wobbling), 2_000).at_ceiling


def test_the_same_law_in_both_worlds_shows_nothing():
    for seed in range(20):
        found = audit(Batch(lambda _, n, rng: rng.normal(size=(n, 4))), 500, seed)
        assert found.epsilon_lower < 0.2
    assert audit(Batch(lambda _points, n, _: np.zeros(n)), 500).events == ()


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 400), data=st.data(), beta=st.floats(1e-6, 0.2))
def test_the_ends_are_those_of_the_binomial_law(n, data, beta):
    hits = data.draw(st.integers(0, n))
    low, high = chances(n, beta)
    if hits:
        assert stats.binom.sf(hits - 1, n, low[hits]) == pytest.approx(beta, rel=1e-6)
    else:
        assert low[0] == 0.0
    if hits < n:
        assert stats.binom.cdf(hits, n, high[hits]) == pytest.approx(beta, rel=1e-6)
    else:
        assert high[n] == 1.0


def test_it_is_above_the_truth_no_more_often_than_its_level_says():
    """At 90 % confidence errors can be counted; the plain ratio of shares is not sound."""
    n_runs, level = 400, 0.1
    sound = [audit(laplace_count(), n_runs, seed, confidence=1 - level).epsilon_lower for seed in range(80)]
    assert np.mean(np.array(sound) > 1.0) <= level + 6 * math.sqrt(level * (1 - level) / 80)

    def careless(seed):
        generator = rng(seed)
        one, two = (generator.laplace(size=n_runs) + shift for shift in (1.0, 0.0))
        thresholds = np.concatenate([one, two])
        hits, others = ((values[:, None] > thresholds).sum(axis=0) for values in (one, two))
        both = (hits > 0) & (others > 0)
        return np.log(hits[both] / others[both]).max()

    assert np.mean([careless(seed) > 1.0 for seed in range(80)]) > level + 6 * math.sqrt(level * (1 - level) / 80)


def test_delta_is_subtracted():
    budget = Budget(1.0, 0.05)
    sigma = gaussian_sigma(1.0, budget)
    noisy = Batch(lambda points, n, rng: len(points) + rng.normal(scale=sigma, size=n))
    allowed = audit(noisy, 20_000, delta=budget.delta)
    assert 0.6 < allowed.epsilon_lower <= 1.0
    # Without its delta a Gaussian has no epsilon, and more is seen than (1, 0).
    assert audit(noisy, 20_000).epsilon_lower > 1.0
    weak = Batch(lambda points, n, rng: len(points) + rng.normal(scale=sigma / 2, size=n))
    assert audit(weak, 20_000, delta=budget.delta).violates(1.0)
    assert gdp_epsilon(2 / sigma, budget.delta) > 1.0


def test_a_broken_delta_is_found():
    """With chance .1 the count comes out bare: (epsilon, .1)-DP, and not (1, .01)-DP."""

    def leaking(points, n_runs, rng):
        bare = rng.random(n_runs) < 0.1
        return np.where(bare, float(len(points)), len(points) + rng.laplace(size=n_runs))

    assert audit(Batch(leaking), 20_000, delta=0.01).violates(1.0)
    assert not audit(Batch(leaking), 20_000, delta=0.1).violates(1.0)


def test_the_runs_that_choose_are_not_the_runs_that_count():
    same = Outcomes(400, {"value": np.zeros(400)})
    for start, chosen in ((0, True), (1, False)):
        differs = np.zeros(400)
        differs[start::2] = 5.0
        for worlds in ((Outcomes(400, {"value": differs}), same), (same, Outcomes(400, {"value": differs}))):
            found = chosen_events(*worlds)
            assert (found.promise > 3.0) == chosen
            assert found.counted().epsilon_lower == 0.0
            assert all(event.hits == event.other_hits for event in found.counted().events)


def test_of_several_pairs_the_one_that_looks_worst_is_as_sound_as_one():
    """At 50 % confidence errors can be counted; the largest bound of all pairs is not sound."""
    level, n_audits, n_pairs, n_runs = 0.5, 60, 20, 200
    generator = rng(1)
    chosen, largest = [], []
    for _ in range(n_audits):
        seen = generator.random((n_pairs, 2, n_runs)) < np.array([0.5, 0.5 * math.exp(-1.0)])[:, None]
        worlds = [[Outcomes(n_runs, {"value": values.astype(float)}) for values in pair] for pair in seen]
        found = [chosen_events(*each, options=BoundOptions(confidence=1 - level, n_events=1)) for each in worlds]
        chosen.append(max(found, key=lambda each: each.promise).counted().epsilon_lower)
        largest.append(max(each.counted().epsilon_lower for each in found))
    error = 6 * math.sqrt(level * (1 - level) / n_audits)
    assert np.mean(np.array(chosen) > 1.0) <= level + error
    assert np.mean(np.array(largest) > 1.0) > level + error


@given(st.floats(0.0, 12.0))
def test_a_claim_is_refuted_at_the_verdicts_confidence_and_undecided_where_nothing_could_refute_it(claim):
    for found in (AUDITS["bare"], AUDITS["noisy"]):
        assert found.violates(claim) == (found.lower_at(0.9999) > claim)
        assert found.is_undecided(claim) == (AUDITS["bare"].lower_at(0.9999) <= claim)
        assert not (found.violates(claim) and found.is_undecided(claim))


@given(st.data())
def test_data_sets_that_are_no_neighbors_are_refused_whatever_their_order(data):
    generator = rng(data.draw(st.integers(0, 10**6)))
    points = generator.integers(0, 3, (data.draw(st.integers(1, 8)), 2)).astype(float)
    n_gone, n_come = data.draw(st.integers(0, min(2, len(points)))), data.draw(st.integers(0, 2))
    fresh = 10.0 + generator.random((n_come, 2))
    neighbor = generator.permutation(np.vstack([points[n_gone:], fresh]))
    found = {(1, 0): Adjacency.ADD_REMOVE, (0, 1): Adjacency.ADD_REMOVE, (1, 1): Adjacency.REPLACE}.get(
        (n_gone, n_come)
    )
    for adjacency in (None, *Adjacency):
        options = {"n_runs": 20, "adjacency": adjacency, "rng": rng()}
        run = Batch(lambda _, n, rng: rng.random(n))
        if found is not None and adjacency in (None, found):
            assert epsilon_lower_bound(run, points, neighbor, **options).n_runs == 20
            continue
        gone, come = f"{n_gone} of the {len(points)} records", f"{n_come} of the {len(neighbor)} records"
        said = f"differ by one.* {gone} of points .* {come} of neighbor"
        with pytest.raises(ValueError, match=said):
            epsilon_lower_bound(run, points, neighbor, **options)


def test_data_sets_of_other_features_are_refused():
    with pytest.raises(ValueError, match="neighbor"):
        epsilon_lower_bound(laplace_count(), np.zeros((3, 2)), np.zeros((2, 3)), n_runs=20, rng=rng())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_runs": 10}, "n_runs must be .*got 10"),
        ({"delta": 1.0}, "delta must be"),
        ({"confidence": 1.0}, "confidence must be"),
    ],
)
def test_bad_input_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        epsilon_lower_bound(laplace_count(), POINTS, NEIGHBOR, **{"n_runs": 100, **options}, rng=rng())


@given(
    st.integers(1, 400).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))),
    st.floats(0.0, 8.0),
    st.sampled_from([0.0, 1e-3]),
)
@settings(deadline=None, max_examples=60)
def test_one_hit_more_than_allowed_shows_more_than_the_limit(counts, limit, delta):
    n, others = counts
    (most,) = allowed_hits(np.array([others]), np.array([n]), 1e-3, limit, delta)
    bounds = least_epsilons(np.arange(n + 1), others, n, 1e-3, delta)
    assert np.array_equal(bounds <= limit, np.arange(n + 1) <= most)
