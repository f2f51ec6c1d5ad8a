"""Laplace and Gaussian noise: laws, with wrong samplers that must fail, and exactness in the scale.

The exponential mechanism: its law, its extremes, and its steadiness in epsilon.

Randomized response against its distribution: the frequency of the truth, and the crowd's estimate.
"""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from dpviz.mechanisms import (
    estimated_share,
    exponential,
    exponential_probabilities,
    gaussian,
    laplace,
    randomized_response,
    truth_probability,
)

N_DRAWS = 100_000
P_VALUE = 1e-6  # a right sampler fails once in a million seeds; these seeds are fixed


def add_laplace(value, scale, rng):
    return laplace(value, scale=scale, rng=rng)


def add_gaussian(value, scale, rng):
    return gaussian(value, sigma=scale, rng=rng)


BOTH = pytest.mark.parametrize(
    ("add", "law"), [(add_laplace, stats.laplace), (add_gaussian, stats.norm)], ids=["laplace", "gaussian"]
)


@BOTH
def test_noise_follows_its_law_and_half_the_scale_is_noticed(add, law):
    noisy = add(np.full(N_DRAWS, 3.0), 2.0, np.random.default_rng(1))
    wrong = add(np.full(N_DRAWS, 3.0), 1.0, np.random.default_rng(1))
    assert stats.kstest(noisy, law(loc=3.0, scale=2.0).cdf).pvalue > P_VALUE
    assert stats.kstest(wrong, law(loc=3.0, scale=2.0).cdf).pvalue < P_VALUE


@BOTH
def test_coordinates_are_independent(add, law):  # noqa: ARG001 the law does not matter here
    noise = add(np.zeros((N_DRAWS, 2)), 1.0, np.random.default_rng(3))
    assert abs(np.corrcoef(noise.T)[0, 1]) < 6 / math.sqrt(N_DRAWS)
    assert abs(np.corrcoef(noise[:-1, 0], noise[1:, 0])[0, 1]) < 6 / math.sqrt(N_DRAWS)


@BOTH
def test_scale_zero_returns_the_value_exactly_as_a_copy(add, law):  # noqa: ARG001
    value = np.array([[0.1, -1e300], [5e-324, 7.0]])
    result = add(value, 0.0, np.random.default_rng(0))
    assert np.array_equal(result, value)
    assert not np.shares_memory(result, value)


@BOTH
@given(low=st.floats(0, 1e3), high=st.floats(0, 1e3), shape=st.sampled_from([(), (0,), (3,), (2, 3), (2, 1, 4)]))
@settings(max_examples=50, deadline=None)
def test_one_seed_moves_linearly_with_the_scale_and_draws_as_much(add, law, low, high, shape):  # noqa: ARG001
    first, second, unit = (np.random.default_rng(4) for _ in range(3))
    value = np.ones(shape)
    noise = add(np.zeros(shape), 1.0, unit)
    at_low, at_high = add(value, low, first), add(value, high, second)
    assert at_low.shape == shape
    # Continuous in the scale, with the standard draw as the slope; the tolerance is rounding of the sum.
    np.testing.assert_allclose(at_high - at_low, (high - low) * noise, rtol=0, atol=1e-11)
    assert first.bit_generator.state == second.bit_generator.state


@BOTH
def test_scales_broadcast_over_coordinates(add, law):  # noqa: ARG001
    value = np.zeros((4, 3))
    per_column = add(value, [0.0, 1.0, 10.0], np.random.default_rng(5))
    standard = add(value, 1.0, np.random.default_rng(5))
    assert np.array_equal(per_column, standard * [0.0, 1.0, 10.0])


@BOTH
@pytest.mark.parametrize(
    ("value", "scale", "words"),
    [
        *((np.zeros(2), scale, r"scale|sigma") for scale in (-1.0, math.nan, math.inf, [1.0, -1.0])),
        (np.zeros(2), [1.0, 1.0, 1.0], "shape"),
        (0.0, [1.0, 2.0], "must broadcast to the value's shape"),
        ([math.nan], 1.0, "finite"),
        ([math.inf], 1.0, "finite"),
    ],
)
def test_impossible_scales_and_values_are_refused(add, law, value, scale, words):  # noqa: ARG001
    with pytest.raises(ValueError, match=words):
        add(value, scale, np.random.default_rng(0))


@pytest.mark.slow
@BOTH
def test_law_with_more_power(add, law):
    n = 20_000_000
    noisy = add(np.zeros(n), 1.0, np.random.default_rng(6))
    assert stats.kstest(noisy, law.cdf).pvalue > P_VALUE
    assert stats.kstest(1.005 * noisy, law.cdf).pvalue < P_VALUE


SCORES = np.array([0.0, 3.0, -2.0, 3.0, 1.0, -np.inf])

any_scores = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=1, max_dims=3, max_side=6),
    elements=st.floats(-1e300, 1e300) | st.floats(-5, 5),
)
any_epsilon = st.floats(0, 1e6) | st.just(math.inf)


def chi_square_p(scores, *, epsilon, sampled_epsilon, seed):
    """p-value that draws at `sampled_epsilon` follow exp(epsilon score / (2 sensitivity)), sensitivity 3/2."""
    rng = np.random.default_rng(seed)
    tiled = np.broadcast_to(scores, (100_000, scores.size))
    chosen = exponential(tiled, epsilon=sampled_epsilon, sensitivity=1.5, rng=rng)
    possible = np.isfinite(scores) & (epsilon * np.where(np.isfinite(scores), scores.max() - scores, 0.0) < 700)
    weights = np.where(possible, np.exp(epsilon * np.where(possible, scores - scores.max(), 0) / (2 * 1.5)), 0.0)
    counts = np.bincount(chosen, minlength=scores.size)
    assert counts[~possible].sum() == 0
    return stats.chisquare(counts[possible], len(tiled) * weights[possible] / weights.sum()).pvalue


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 3.0])
def test_choices_follow_the_law(epsilon):
    assert chi_square_p(SCORES, epsilon=epsilon, sampled_epsilon=epsilon, seed=1) > P_VALUE


def test_an_exponent_without_the_factor_two_is_noticed():
    assert chi_square_p(SCORES, epsilon=1.0, sampled_epsilon=2.0, seed=1) < P_VALUE


def test_probabilities_are_the_formula():
    weights = np.exp(0.8 * SCORES / (2 * 1.5))
    expected = weights / weights.sum()
    np.testing.assert_allclose(exponential_probabilities(SCORES, epsilon=0.8, sensitivity=1.5), expected, rtol=1e-14)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0])
def test_neighbors_differ_by_at_most_epsilon_and_the_range_is_epsilon(epsilon):
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(1000, 8))
    moved = scores + 0.5 * rng.choice([-1.0, 1.0], size=scores.shape)
    ratio = np.log(
        exponential_probabilities(scores, epsilon=epsilon, sensitivity=0.5)
        / exponential_probabilities(moved, epsilon=epsilon, sensitivity=0.5)
    )
    assert np.abs(ratio).max() <= epsilon * (1 + 1e-12)
    spread = ratio.max(axis=-1) - ratio.min(axis=-1)
    assert spread.max() == pytest.approx(epsilon)  # attained, so half the sensitivity would not do
    assert spread.max() <= epsilon * (1 + 1e-12)


@given(scores=any_scores, epsilon=any_epsilon, sensitivity=st.floats(1e-6, 1e6))
@settings(max_examples=80, deadline=None)
def test_probabilities_are_probabilities_whatever_the_scores(scores, epsilon, sensitivity):
    probabilities = exponential_probabilities(scores, epsilon=epsilon, sensitivity=sensitivity)
    assert probabilities.shape == scores.shape
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=-1), 1.0, rtol=1e-14)
    best = np.take_along_axis(probabilities, scores.argmax(axis=-1)[..., None], axis=-1)
    assert (best == probabilities.max(axis=-1, keepdims=True)).all()


@given(scores=any_scores, low=any_epsilon, high=any_epsilon, seed=st.integers(0, 2**32))
@example(scores=np.array([[0.0, 0.0], [-1.0, 0.0]]), low=0.0, high=1.0, seed=1)
@settings(max_examples=80, deadline=None)
def test_for_one_seed_the_chosen_score_never_falls_as_epsilon_grows(scores, low, high, seed):
    low, high = sorted((low, high))
    first, second = np.random.default_rng(seed), np.random.default_rng(seed)
    at_low = exponential(scores, epsilon=low, sensitivity=1.0, rng=first)
    at_high = exponential(scores, epsilon=high, sensitivity=1.0, rng=second)
    assert at_low.shape == scores.shape[:-1]
    assert at_low.dtype == np.intp
    gained = np.take_along_axis(scores, at_high[..., None], -1) - np.take_along_axis(scores, at_low[..., None], -1)
    # Scores this close share their rounded weight, and so their place.
    assert (gained >= -1e-9).all()
    assert first.bit_generator.state == second.bit_generator.state


def test_a_draw_costs_exactly_one_uniform():
    rng, counter = np.random.default_rng(3), np.random.default_rng(3)
    exponential(np.zeros((5, 2, 7)), epsilon=1.0, sensitivity=1.0, rng=rng)
    counter.random(10)
    assert rng.bit_generator.state == counter.bit_generator.state


def test_huge_scores_and_differences():
    for offset in (0.0, 1e300, -1e300):
        np.testing.assert_allclose(
            exponential_probabilities(np.zeros(4) + offset, epsilon=1.0, sensitivity=1.0), np.full(4, 0.25)
        )
    assert exponential_probabilities([0.0, 1e6], epsilon=1.0, sensitivity=1.0).tolist() == [0.0, 1.0]
    assert exponential_probabilities([-1.7e308, 1.7e308], epsilon=1.0, sensitivity=1.0).tolist() == [0.0, 1.0]
    assert exponential_probabilities([-1.7e308, 1.7e308], epsilon=0.0, sensitivity=1.0).tolist() == [0.5, 0.5]


def test_infinite_epsilon_is_argmax_with_ties_uniform():
    expected = [0.0, 0.5, 0.0, 0.5, 0.0, 0.0]
    assert exponential_probabilities(SCORES, epsilon=math.inf, sensitivity=1.0).tolist() == expected
    assert chi_square_p(SCORES, epsilon=1e3, sampled_epsilon=math.inf, seed=4) > P_VALUE


def test_epsilon_zero_is_uniform_over_what_is_not_excluded():
    expected = [0.2, 0.2, 0.2, 0.2, 0.2, 0.0]
    np.testing.assert_allclose(exponential_probabilities(SCORES, epsilon=0.0, sensitivity=1.0), expected, rtol=1e-15)


@pytest.mark.parametrize("u", [0.0, np.nextafter(1.0, 0.0)])
def test_the_ends_of_the_uniform_choose_a_possible_candidate(u):
    class Stuck(np.random.Generator):
        def random(self, size=None):
            return np.full(size, u)

    scores = np.array([[-np.inf, 0.0, -1e9, 1e-3, -np.inf]] * 3)
    for epsilon in (0.0, 1.0, math.inf):
        chosen = exponential(scores, epsilon=epsilon, sensitivity=1.0, rng=Stuck(np.random.PCG64(0)))
        assert (np.take_along_axis(exponential_probabilities(scores, epsilon=epsilon, sensitivity=1.0),
                                   chosen[:, None], -1) > 0).all()  # fmt: skip


@pytest.mark.parametrize(
    ("scores", "epsilon", "sensitivity", "message"),
    [
        ([0.0, math.nan], 1.0, 1.0, "NaN"),
        ([0.0, math.inf], 1.0, 1.0, r"\+inf"),
        ([[0.0, 1.0], [-math.inf, -math.inf]], 1.0, 1.0, "excluded"),
        ([], 1.0, 1.0, "at least 1"),
        (0.0, 1.0, 1.0, "at least 1"),
        ([0.0], -1.0, 1.0, "epsilon"),
        ([0.0], math.nan, 1.0, "epsilon"),
        ([0.0], 1.0, 0.0, "sensitivity"),
        ([0.0], 1.0, math.inf, "sensitivity"),
        ([0.0], 1.0, math.nan, "sensitivity"),
    ],
)
def test_what_has_no_answer_is_refused(scores, epsilon, sensitivity, message):
    with pytest.raises(ValueError, match=message):
        exponential(scores, epsilon=epsilon, sensitivity=sensitivity, rng=np.random.default_rng(0))


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
    # Noise of one answer, mapped back.
    error = math.sqrt(p * (1 - p) / N) / (2 * p - 1)
    found = estimated_share(randomized_response(truth, epsilon=1.0, rng=np.random.default_rng(2)), epsilon=1.0)
    assert abs(found - 0.3) <= SIX * error
    assert abs(found - 0.4) > SIX * error


@pytest.mark.parametrize("epsilon", [-1.0, math.nan])
def test_no_negative_budget(epsilon):
    with pytest.raises(ValueError, match="at least 0"):
        truth_probability(epsilon)


def test_nothing_can_be_learned_from_nothing():
    with pytest.raises(ValueError, match="epsilon"):
        estimated_share([], epsilon=1.0)
    with pytest.raises(ValueError, match="epsilon"):
        estimated_share([True], epsilon=0.0)
