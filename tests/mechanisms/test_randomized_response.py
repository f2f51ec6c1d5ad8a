"""Randomised response against its own law: how often the truth is told, and what the crowd tells."""

import math

import numpy as np
import pytest

from dpviz.mechanisms import estimated_share, randomized_response, truth_probability

N = 40_000
SIX = 6.0  # standard errors


@pytest.mark.parametrize(("epsilon", "said"), [(0.0, 0.5), (math.log(3.0), 0.75), (math.log(9.0), 0.9), (math.inf, 1)])
def test_the_truth_is_as_likely_as_epsilon_says(epsilon, said):
    assert truth_probability(epsilon) == pytest.approx(said)
    answers = randomized_response(np.ones(N), epsilon=epsilon, rng=np.random.default_rng(1))
    assert abs(answers.mean() - said) <= SIX * math.sqrt(said * (1 - said) / N)
    if epsilon > 0:
        assert abs(answers.mean() - 0.5) > SIX * 0.5 / math.sqrt(N), "a fair coin would fail"


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_either_answer_is_at_most_e_to_the_epsilon_times_as_likely(epsilon):
    p = truth_probability(epsilon)
    assert p / (1.0 - p) == pytest.approx(math.exp(epsilon))


def test_the_share_is_found_without_bias():
    truth = np.arange(N) < 0.3 * N
    p = truth_probability(1.0)
    error = math.sqrt(p * (1 - p) / N) / (2 * p - 1)  # of one answer's noise, turned around
    found = estimated_share(randomized_response(truth, epsilon=1.0, rng=np.random.default_rng(2)), epsilon=1.0)
    assert abs(found - 0.3) <= SIX * error
    assert abs(found - 0.4) > SIX * error


@pytest.mark.parametrize("epsilon", [-1.0, math.nan])
def test_no_negative_budget(epsilon):
    with pytest.raises(ValueError, match=">= 0"):
        truth_probability(epsilon)


def test_nothing_can_be_learned_from_nothing():
    with pytest.raises(ValueError, match="epsilon"):
        estimated_share([], epsilon=1.0)
    with pytest.raises(ValueError, match="epsilon"):
        estimated_share([True], epsilon=0.0)
