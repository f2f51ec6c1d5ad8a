import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.solvers import LloydBudget, su_iterations, su_split


@given(st.floats(1e-6, 1e3), st.integers(1, 1000))
def test_the_split_spends_all_of_it(epsilon, d):
    split = su_split(epsilon, d)
    assert split.count + d * split.sum_per_axis == pytest.approx(epsilon, rel=1e-12)
    assert split.count / split.sum_per_axis == pytest.approx((4 * d * 0.225**2) ** (1 / 3), rel=1e-12)


@pytest.mark.parametrize("d", [2, 5, 20, 100])
def test_a_swapped_split_does_not(d):
    split = su_split(1.0, d)
    swapped = LloydBudget(count=split.sum_per_axis, sum_per_axis=split.count)
    assert abs(swapped.count + d * swapped.sum_per_axis - 1.0) > 1e-3  # c passes 1 near d = 5


@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_the_split_has_the_least_error_of_all(d):
    # Su et al. minimise d / eps_sum^2 + 4 d rho^2 / eps_count^2 for a given eps_count + d eps_sum.
    def error(count):
        return d / ((1.0 - count) / d) ** 2 + 4 * d * 0.225**2 / count**2

    best = su_split(1.0, d).count
    assert error(best) < error(best * 1.02)
    assert error(best) < error(best * 0.98)


@pytest.mark.parametrize(
    ("epsilon", "n", "k", "d", "expected"),
    [
        (1.0, 100, 5, 2, 2),  # too small a set: the least
        (1e3, 10**6, 5, 2, 7),  # the most
        (math.inf, 10, 5, 2, 7),
        (1.0, -50.0, 5, 2, 2),  # a noisy count may be negative
        (1.0, 0.0, 5, 2, 2),
    ],
)
def test_iterations_stay_in_their_range(epsilon, n, k, d, expected):
    assert su_iterations(epsilon, n, k, d) == expected


@given(st.floats(0.01, 10), st.floats(1, 1e6), st.integers(1, 20), st.integers(1, 20))
def test_iterations_follow_the_formula(epsilon, n, k, d):
    least = math.sqrt(500 * k**3 / n**2 * (d + (4 * d * 0.225**2) ** (1 / 3)) ** 3)
    ratio = epsilon / least
    if abs(ratio - round(ratio)) > 1e-9:  # a rounding error may not decide
        assert su_iterations(epsilon, n, k, d) == min(max(math.floor(ratio), 2), 7)
