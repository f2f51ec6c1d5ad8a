"""Laplace and Gaussian noise: laws, with wrong samplers that must fail, and exactness in the scale."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpviz.mechanisms import gaussian, laplace

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
def test_variance_is_within_six_standard_errors(add, law):
    noise = add(np.zeros(N_DRAWS), 0.7, np.random.default_rng(2))
    variance, kurtosis = (float(m) for m in law(scale=0.7).stats(moments="vk"))
    # Var of the sample variance of a law of known mean: (kurtosis + 2) variance^2 / n, kurtosis in excess.
    error = variance * math.sqrt((kurtosis + 2) / N_DRAWS)
    assert abs(np.mean(noise**2) - variance) < 6 * error
    assert abs(np.mean((noise / 2) ** 2) - variance) > 6 * error


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
@pytest.mark.parametrize("scale", [-1.0, math.nan, math.inf, [1.0, -1.0], [1.0, 1.0, 1.0]])
def test_impossible_scales_are_refused(add, law, scale):  # noqa: ARG001
    with pytest.raises(ValueError, match=r"scale|sigma|shape"):
        add(np.zeros(2), scale, np.random.default_rng(0))


@BOTH
def test_a_scale_may_not_add_coordinates(add, law):  # noqa: ARG001
    with pytest.raises(ValueError, match="must broadcast to the value's shape"):
        add(0.0, [1.0, 2.0], np.random.default_rng(0))


@BOTH
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_values_that_noise_cannot_hide_are_refused(add, law, value):  # noqa: ARG001
    with pytest.raises(ValueError, match="finite"):
        add([value], 1.0, np.random.default_rng(0))


@pytest.mark.slow
@BOTH
def test_law_with_more_power(add, law):
    n = 20_000_000
    noisy = add(np.zeros(n), 1.0, np.random.default_rng(6))
    assert stats.kstest(noisy, law.cdf).pvalue > P_VALUE
    assert stats.kstest(1.005 * noisy, law.cdf).pvalue < P_VALUE
