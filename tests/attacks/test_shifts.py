"""The rate of the best attacker against shifts of Laplace noise."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.accounting import LaplaceEvent
from dpviz.accounting.composition import delta_of
from dpviz.attacks.shifts import best_guess_rate, best_threshold_rate
from dpviz.core import Adjacency, attacker_odds

SHIFTS = st.lists(st.floats(0.0, 3.0), min_size=1, max_size=6)


@pytest.mark.parametrize("shift", [1e-6, 0.1, 1.0, 5.0, 40.0])
def test_one_shift_has_its_closed_form(shift):
    # The two densities cross in the middle, so that the error is half of exp(-shift / 2).
    assert math.isclose(best_guess_rate([shift]), 1.0 - math.exp(-shift / 2.0) / 2.0, abs_tol=shift / 8000.0)


@pytest.mark.parametrize(("shifts", "rate"), [([], 0.5), ([0.0, 0.0], 0.5), ([0.3, math.inf], 1.0)])
def test_equal_and_distinct_worlds(shifts, rate):
    assert best_guess_rate(shifts) == rate


@settings(max_examples=15, deadline=None)
@given(SHIFTS, st.integers(0, 2**32 - 1))
def test_likelihood_ratio_test_is_right_as_often(shifts, seed):
    rng, n = np.random.default_rng(seed), 20_000
    worlds = rng.random(n) < 0.5
    values = rng.laplace(size=(n, len(shifts))) + np.outer(worlds, shifts)
    scores = (np.abs(values) - np.abs(values - shifts)).sum(axis=1)
    # Ties are broken by a coin, as by an attacker who cannot tell.
    right = np.where(scores == 0.0, 0.5, (scores > 0.0) == worlds).mean()
    rate = best_guess_rate(shifts)
    # Five standard deviations of a mean of n numbers from 0 to 1, and half a step of the grid.
    tolerance = 2.5 / math.sqrt(n) + sum(shifts) / 8000.0
    assert abs(right - rate) < tolerance
    assert rate <= attacker_odds(sum(shifts)) + sum(shifts) / 8000.0


def test_privacy_loss_distributions_agree():
    events = [LaplaceEvent("count", 1.0, 2.0), LaplaceEvent("sums", 0.5, 0.4, n_coordinates=2)]
    delta = delta_of(events, 0.0, Adjacency.ADD_REMOVE)
    shifts = [0.5, 1.25, 1.25]
    assert math.isclose(best_guess_rate(shifts), 0.5 + delta / 2.0, abs_tol=1e-3)
    assert not math.isclose(best_guess_rate(shifts[1:]), 0.5 + delta / 2.0, abs_tol=1e-3), "without the count"


@pytest.mark.parametrize("shifts", [[0.1, 0.3, 0.2], [1.0, 0.5, 0.2], [4.0, 2.0, 1.0]])
def test_low_threshold_holds_nothing_back(shifts):
    assert math.isclose(best_threshold_rate(shifts, math.inf), best_guess_rate(shifts), abs_tol=1e-3)
    assert math.isclose(best_threshold_rate(shifts, -math.inf), 0.5)
