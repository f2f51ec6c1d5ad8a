import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.core import Adjacency, Budget, Claim, Guarantee
from dpviz.core.privacy import attacker_odds


@pytest.mark.parametrize(("epsilon", "percent"), [(0.0, 50), (0.1, 52), (1.0, 73), (2.0, 88), (5.0, 99)])
def test_odds_at_epsilon(epsilon, percent):
    assert math.floor(attacker_odds(epsilon)) == percent


@given(st.floats(0, 30), st.floats(0, 1))
def test_odds_follow_the_formula(epsilon, delta):
    power = math.exp(epsilon)
    assert attacker_odds(epsilon, delta) == pytest.approx(100 * (power + delta) / (1 + power), rel=1e-12)


def test_odds_of_a_huge_epsilon_are_certain():
    assert attacker_odds(1e6) == 100.0
    assert attacker_odds(math.inf, 0.5) == 100.0
    assert attacker_odds(0.0, 1.0) == 100.0


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan])
def test_a_budget_needs_epsilon(epsilon):
    with pytest.raises(ValueError, match="must be above 0"):
        Budget(epsilon)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan])
def test_a_budget_needs_a_probability(delta):
    with pytest.raises(ValueError, match=r"must be in \[0, 1\)"):
        Budget(1.0, delta)


def test_a_budget_may_be_infinite():
    assert Budget(math.inf) == Budget(math.inf, 0.0)


@pytest.mark.parametrize(("epsilon", "delta"), [(-0.1, 0.0), (math.nan, 0.0), (1.0, -0.1), (1.0, 1.1), (1.0, math.nan)])
def test_a_claim_needs_numbers_that_mean_something(epsilon, delta):
    with pytest.raises(ValueError, match="epsilon of at least 0"):
        Claim(epsilon, delta, Adjacency.ADD_REMOVE, "nowhere")


def test_a_claim_may_say_nothing():
    assert Claim(math.inf, 1.0, Adjacency.REPLACE, "no privacy").epsilon == math.inf
    assert Claim(0.0, 0.0, Adjacency.REPLACE, "constant").epsilon == 0.0


def test_a_guarantee_keeps_both_accounts():
    claim = Claim(1.0, 0.0, Adjacency.ADD_REMOVE, "paper")
    guarantee = Guarantee(claim, None)
    assert guarantee.caveats == ()
    with pytest.raises(dataclasses.FrozenInstanceError):
        guarantee.proved = claim
