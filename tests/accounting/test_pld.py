"""The sharp account, against closed forms and against dp-accounting's own accountants."""

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting import rdp
from dp_accounting.pld import pld_privacy_accountant

from dpviz.accounting import (
    GaussianEvent,
    LaplaceEvent,
    ParallelEvent,
    PureEvent,
    SequenceEvent,
    delta_of,
    epsilon_of,
    gdp_delta,
    gdp_epsilon,
    pld,
    privacy_loss_distribution,
    pure_epsilon,
    zcdp_epsilon,
    zcdp_rho,
)
from dpviz.core import Adjacency

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
DISCRETIZATION = 1e-4  # relative; the distributions are pessimistic, so only upwards


@pytest.mark.parametrize("mu", [0.01, 0.5, 2.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-8])
def test_gaussians_against_the_closed_form(mu, delta):
    events = [GaussianEvent("step", l2_sensitivity=3.0, sigma=3.0 * math.sqrt(10) / mu)] * 10
    exact = gdp_epsilon(mu, delta)
    assert epsilon_of(events, delta, ADD) == pytest.approx(exact, rel=DISCRETIZATION)
    assert epsilon_of(events, delta, REPLACE) == pytest.approx(gdp_epsilon(2 * mu, delta), rel=DISCRETIZATION)
    assert delta_of(events, exact, ADD) == pytest.approx(delta, rel=1e-2)
    assert epsilon_of(events, delta, ADD) >= exact * (1 - 1e-9)


@pytest.mark.parametrize("ratio", [0.01, 0.5, 3.0])
def test_one_laplace_against_its_closed_form(ratio):
    event = LaplaceEvent("count", 2.0, 2.0 / ratio)
    for epsilon in np.linspace(0, ratio, 3, endpoint=False):
        exact = -math.expm1((epsilon - ratio) / 2)  # hockey-stick divergence of a shift by `ratio` scales
        assert delta_of([event], float(epsilon), ADD) == pytest.approx(exact, rel=1e-3)
    assert delta_of([event], ratio, ADD) == 0.0


@pytest.mark.parametrize("d", [1, 2, 5, 20, 100])
def test_a_mixed_run_against_the_accountant(d):
    events = [
        LaplaceEvent("count", 1.0, 4.0),
        LaplaceEvent("sums", 0.5, 0.5 * d / 0.5, n_coordinates=d),
        GaussianEvent("moments", math.sqrt(d), 3.0 * math.sqrt(d)),
    ]
    oracle = pld_privacy_accountant.PLDAccountant()
    oracle.compose(dp_accounting.LaplaceDpEvent(4.0))
    oracle.compose(dp_accounting.LaplaceDpEvent(d / 0.5), count=d)
    oracle.compose(dp_accounting.GaussianDpEvent(3.0))
    for delta in (1e-3, 1e-6):
        assert epsilon_of(events, delta, ADD) == pytest.approx(oracle.get_epsilon(delta), rel=1e-3)


def test_the_sharp_account_is_below_renyi_and_zcdp():
    events = [LaplaceEvent("sums", 1.0, 20.0, n_coordinates=40), GaussianEvent("moments", 1.0, 5.0)]
    oracle = rdp.RdpAccountant()
    oracle.compose(dp_accounting.LaplaceDpEvent(20.0), count=40)
    oracle.compose(dp_accounting.GaussianDpEvent(5.0))
    sharp, renyi = epsilon_of(events, 1e-6, ADD), oracle.get_epsilon(1e-6)
    assert 0.8 * renyi < sharp < renyi < zcdp_epsilon(zcdp_rho(events, ADD), 1e-6)


def test_randomised_responses_against_the_exact_binomial():
    n, epsilon, at = 8, 0.5, 1.0
    p = 1 / (1 + math.exp(-epsilon))
    losses = [(2 * k - n) * epsilon for k in range(n + 1)]
    masses = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    exact = sum(m * -math.expm1(at - x) for x, m in zip(losses, masses, strict=True) if x > at)
    assert delta_of([PureEvent("choice", epsilon)] * n, at, ADD) == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
def test_delta_zero_is_the_pure_sum(adjacency):
    events = [LaplaceEvent("sums", 0.5, 2.0, n_coordinates=3), PureEvent("choice", 0.2)]
    assert epsilon_of(events, 0.0, adjacency) == pure_epsilon(events, adjacency)
    assert epsilon_of(events, 1e-12, adjacency) <= pure_epsilon(events, adjacency)
    assert delta_of(events, pure_epsilon(events, adjacency), adjacency) == 0.0
    assert epsilon_of([GaussianEvent("g", 1.0, 1.0)], 0.0, adjacency) == math.inf


def step(fine=1.0):
    return SequenceEvent("step", (LaplaceEvent("count", 1.0, 2.0 / fine), GaussianEvent("sums", 1.0, 4.0 / fine)))


def test_identical_and_dominated_parts_cost_one():
    one = epsilon_of([step()], 1e-6, ADD)
    assert epsilon_of([ParallelEvent("cells", (step(),) * 9)], 1e-6, ADD) == one
    assert epsilon_of([ParallelEvent("cells", (step(0.5), step(), step(0.1)))], 1e-6, ADD) == one
    relabelled = LaplaceEvent("same noise, other words", 2.0, 4.0), GaussianEvent("", 2.0, 8.0)
    assert epsilon_of([ParallelEvent("cells", (step(), SequenceEvent("", relabelled)))], 1e-6, ADD) == one


def test_parts_without_an_order_cost_at_least_each_of_them():
    parts = (LaplaceEvent("wide", 1.0, 1.0), LaplaceEvent("many", 1.0, 3.0, n_coordinates=2), step(0.2))
    for epsilon in (0.0, 0.3, 0.8):
        together = delta_of([ParallelEvent("cells", parts)], epsilon, ADD)
        assert together >= max(delta_of([part], epsilon, ADD) for part in parts)
    assert delta_of([ParallelEvent("cells", parts[:2])], 1.0, ADD) == 0.0


@pytest.mark.parametrize("size", [0.1, 1.0, 3.0])
def test_one_doubled_shift_covers_a_shift_in_each_of_two_parts(size):
    """A record that moves shifts one Laplace in each of two parts; one that stays, one Laplace doubly."""
    moved = [LaplaceEvent("leaves and enters", size, 1.0, n_coordinates=2)]
    cells = [ParallelEvent("cells", (LaplaceEvent("cell", size, 1.0),) * 4)]
    counts = [ParallelEvent("cells", (LaplaceEvent("cell", size, 1.0),) * 4, membership_only=True)]
    for epsilon in np.linspace(0, 2 * size, 4):
        needed = delta_of(moved, float(epsilon), ADD)
        assert delta_of(cells, float(epsilon), REPLACE) >= needed * (1 - 1e-6)
        assert delta_of(counts, float(epsilon), REPLACE) == pytest.approx(needed, rel=1e-6)


def test_a_gaussian_histogram_under_replace():
    cells = tuple(GaussianEvent("cell", 1.0, 3.0) for _ in range(4))
    moved = gdp_epsilon(math.sqrt(2) / 3, 1e-5)
    assert epsilon_of([ParallelEvent("counts", cells, membership_only=True)], 1e-5, REPLACE) == pytest.approx(
        moved, rel=DISCRETIZATION
    )
    assert epsilon_of([ParallelEvent("sums", cells)], 1e-5, REPLACE) == pytest.approx(
        gdp_epsilon(2 / 3, 1e-5), rel=DISCRETIZATION
    )


def test_no_noise_and_no_events():
    silent = [LaplaceEvent("no noise", 1.0, 0.0)]
    assert delta_of(silent, 3.0, ADD) == 1.0
    assert epsilon_of(silent, 0.1, ADD) == math.inf
    with pytest.raises(ValueError, match="add noise"):
        privacy_loss_distribution(silent, ADD)
    assert delta_of([], 0.0, ADD) == 0.0
    assert epsilon_of([], 1e-5, ADD) == 0.0
    assert delta_of([GaussianEvent("g", 1.0, 1.0)], math.inf, ADD) == 0.0


def test_beyond_reach_the_bound_is_pure_plus_gaussian():
    events = [PureEvent("loud", 600.0), GaussianEvent("g", 1.0, 1.0)]
    assert epsilon_of(events, 1e-5, ADD) == pytest.approx(600 + gdp_epsilon(1.0, 1e-5))
    assert delta_of(events, 602.0, ADD) == pytest.approx(gdp_delta(1.0, 2.0))
    assert delta_of(events, 599.0, ADD) == 1.0


@pytest.mark.parametrize("epsilon", [-1.0, math.nan])
def test_negative_epsilon_is_refused(epsilon):
    with pytest.raises(ValueError, match="epsilon"):
        delta_of([], epsilon, ADD)


@pytest.mark.parametrize("delta", [-0.1, 1.0, math.nan])
def test_delta_outside_its_range_is_refused(delta):
    with pytest.raises(ValueError, match="delta"):
        epsilon_of([], delta, ADD)


def test_a_distribution_is_made_once_and_few_are_kept():
    events = (LaplaceEvent("counts", 1.0, 3.0), GaussianEvent("sums", 1.0, 2.0))
    first = delta_of(events, 0.4, ADD)
    hits = pld._distribution.cache_info().hits
    assert delta_of(events[::-1], 0.4, ADD) == first, "order is immaterial"
    assert pld._distribution.cache_info().hits == hits + 1
    anew = pld._distribution.__wrapped__(pld._sequence(events, ADD))
    assert anew.get_delta_for_epsilon(0.4) == first
    assert pld._distribution.cache_info().maxsize == pld.KEPT
