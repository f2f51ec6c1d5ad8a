"""If delta follows a noisy number, the guarantee's is the largest, and the delta of this run's number is not proved."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from dpviz.accounting import gaussian_sigma, gdp_delta, under_replace
from dpviz.baselines import _base
from dpviz.core import Adjacency, Box, Budget, Claim, Guarantee, attacker_odds
from dpviz.methods import ALGORITHMS
from dpviz.methods.dpm.algorithm import plan
from dpviz.stories.label import Contents, described, label_of, numbers_of, promise

BOX = Box.cube(0.0, 1.0, 2)
POINTS = np.random.default_rng(0).random((2000, 2))
FOLLOWING = tuple(name for name, each in ALGORITHMS.items() if {"delta", "n_public"} <= set(each.parameters))
LARGEST = dict.fromkeys(FOLLOWING, 2.0**-15) | {"dpm": plan.LEAST_RECORDS**-1.5}


def leak(n, size_epsilon, epsilon, delta_of):
    """Return the least delta at `size_epsilon + epsilon` of a run that releases a noisy n, then Gaussian noise for it.

    The noisy number N is n + Laplace(1 / size_epsilon). The next release moves by 1 and keeps (epsilon, delta_of(N)).
    The neighbor has n + 1 records: for each N, log(p/p') of N is left out of the epsilon of what follows.
    """

    def at(number):
        mu = 1.0 / gaussian_sigma(1.0, Budget(epsilon, delta_of(number)))
        lost = size_epsilon * (abs(number - n - 1.0) - abs(number - n))
        density = 0.5 * size_epsilon * math.exp(-size_epsilon * abs(number - n))
        return density * gdp_delta(mu, size_epsilon + epsilon - lost)

    reach = 30.0 / size_epsilon
    kinks = [n, n + 1.0, *(each for each in (1000.0,) if abs(each - n) < reach)]
    return integrate.quad(at, n - reach, n + reach, points=sorted(set(kinks)), limit=400)[0]


def dpm_delta(number):
    return float(plan.delta_for(number))


@pytest.mark.parametrize(("n", "size_epsilon"), [(0, 0.01), (900, 0.01), (2000, 0.001), (2000, 0.01), (50_000, 0.01)])
def test_the_largest_holds_for_every_number_of_records(n, size_epsilon):
    found = leak(n, size_epsilon, 0.5, dpm_delta)
    assert found <= LARGEST["dpm"]
    if n <= 900:  # and nothing much less does: the number's noise costs the rest
        assert found >= 0.3 * LARGEST["dpm"]


def test_what_a_run_s_own_number_makes_of_it_is_exceeded():
    """With 2,000 records and wide noise: the released number's delta and the mean around it used to count as proved."""
    n, scale = 2000, 1000.0
    found = leak(n, 1 / scale, 0.05, dpm_delta)
    released = n + scale * np.random.default_rng(0).laplace(size=400)
    means = [plan.delta_for(number + scale * np.random.default_rng(1).laplace(size=2000)).mean() for number in released]
    assert np.mean(plan.delta_for(released) < found) > 0.2
    assert np.mean(np.array(means) < found) > 0.2


@pytest.mark.parametrize("name", FOLLOWING)
def test_runs_of_any_number_of_records_state_the_same_delta(name):
    made, found = ALGORITHMS[name], set()
    for seed, points in enumerate((POINTS, POINTS, POINTS[:3], POINTS[:0])):
        result = made.fit(points, BOX, made.Params(epsilon=0.5), rng=np.random.default_rng(seed))
        for claim in (result.guarantee.published, result.guarantee.proved):
            if claim is None:
                continue
            assert claim.delta == pytest.approx(LARGEST[name], rel=1e-12)
            assert claim.calibrated_delta <= claim.delta
            found.add(claim.calibrated_delta)
    assert len(found) > 1, "noise is made for what the number makes of it"


@pytest.mark.parametrize("name", FOLLOWING)
def test_words_keep_the_proof_apart_from_this_run(name):
    made = ALGORITHMS[name]
    result = made.fit(POINTS, BOX, made.Params(epsilon=2.0), rng=np.random.default_rng(2))
    claim = result.guarantee.published
    assert claim.calibrated_delta < 0.9 * claim.delta
    for said in (numbers_of(claim), promise(result.guarantee)):
        assert "whatever the noisy count (in this run " in said
    assert described(result.guarantee)["published"]["delta"] == claim.delta
    assert any("The δ of this run proves nothing" in each for each in result.guarantee.caveats)


@pytest.mark.parametrize("name", FOLLOWING)
@pytest.mark.parametrize("given", [{"delta": 1e-5}, {"n_public": 1200}])
def test_a_delta_that_follows_nothing_is_the_guarantee_s(name, given):
    made = ALGORITHMS[name]
    claim = made.fit(POINTS[:1200], BOX, made.Params(**given), rng=np.random.default_rng(3)).guarantee.published
    assert claim.delta == claim.calibrated_delta
    assert "in this run" not in numbers_of(claim)


@given(st.floats(0.0, 3.0), st.floats(1e-9, 0.02), st.floats(0.0, 1.0))
def test_claims_for_one_replaced_record_are_two_steps_between_neighbors(epsilon, delta, share):
    """Both deltas grow: P <= e^eps P' + delta <= e^(2 eps) P'' + (1 + e^eps) delta."""
    claim = Claim(epsilon, delta, Adjacency.ADD_REMOVE, "a", delta_in_run=share * delta)
    found = under_replace(claim)
    assert found.epsilon == 2.0 * epsilon
    for part in ("delta", "delta_in_run", "calibrated_delta"):
        assert getattr(found, part) == pytest.approx((1.0 + math.exp(epsilon)) * getattr(claim, part), rel=1e-12)
    assert under_replace(dataclasses.replace(claim, delta_in_run=None)).delta_in_run is None


@given(st.floats(0.1, 3.0), st.floats(0.05, 0.3))
def test_odds_are_those_of_the_guarantee_s_delta(epsilon, delta):
    claim = Claim(epsilon, delta, Adjacency.ADD_REMOVE, "a", delta_in_run=delta / 10)
    label = label_of(Guarantee(claim, claim), Contents("a record", (), ()))
    alone = label_of(Guarantee(*[dataclasses.replace(claim, delta_in_run=None)] * 2), Contents("a record", (), ()))
    assert label.proved.odds == alone.proved.odds
    assert float(label.proved.odds.split()[2]) >= attacker_odds(epsilon, delta) * (1 - 1e-12)


def test_a_claim_s_run_cannot_have_more_than_the_claim():
    with pytest.raises(ValueError, match=r"delta_in_run must be .*got 0\.2"):
        Claim(1.0, 0.1, Adjacency.ADD_REMOVE, "a", delta_in_run=0.2)


def test_rounding_down_to_a_power_of_two_is_part_of_the_largest():
    assert float(_base.delta_for(0.0)) == LARGEST["em_mc"] <= LARGEST["dpm"]
