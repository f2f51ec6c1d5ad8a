"""Sums of events: equality in many dimensions, parallel parts under both adjacencies, group privacy.

The sharp account, against closed forms and against dp-accounting's own accountants.
"""

import math
from dataclasses import dataclass

import dp_accounting
import numpy as np
import pytest
from dp_accounting import rdp
from dp_accounting.pld import pld_privacy_accountant
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.accounting import (
    GaussianEvent,
    LaplaceEvent,
    ParallelEvent,
    PureEvent,
    SequenceEvent,
    composition,
    delta_of,
    epsilon_of,
    gdp_delta,
    gdp_epsilon,
    privacy_loss_distribution,
    pure_epsilon,
    under_replace,
    zcdp_epsilon,
    zcdp_rho,
)
from dpviz.core import Adjacency, Claim, Event

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
DIMENSIONS = [1, 2, 5, 20, 100]
ROUNDING = 1e-14


def lloyd_iteration(d, epsilon_count, epsilon_sum):
    """One cluster of one iteration: a count, and d sums of coordinates in [-1/2, 1/2]."""
    return SequenceEvent(
        "iteration",
        (
            LaplaceEvent("count", sensitivity=1.0, scale=1 / epsilon_count),
            LaplaceEvent("sums", sensitivity=0.5, scale=0.5 / epsilon_sum, n_coordinates=d),
        ),
    )


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.3])
def test_a_lloyd_split_adds_up_to_its_budget_and_the_swapped_one_does_not(d, epsilon):
    n_clusters, n_iterations = 5, 7
    epsilon_count = epsilon / n_iterations / (1 + math.sqrt(3 * d * d))  # any share; DPLloyd's is of this form
    epsilon_sum = (epsilon / n_iterations - epsilon_count) / d

    def run(count, sums):
        return [ParallelEvent("clusters", (lloyd_iteration(d, count, sums),) * n_clusters)] * n_iterations

    assert pure_epsilon(run(epsilon_count, epsilon_sum), ADD) == pytest.approx(epsilon, rel=ROUNDING)
    assert pure_epsilon(run(epsilon_count, epsilon_sum), REPLACE) == pytest.approx(2 * epsilon, rel=ROUNDING)
    swapped = pure_epsilon(run(epsilon_sum, epsilon_count), ADD)
    if d == 1:  # one count and one sum: a swap permutes the terms
        assert swapped == pytest.approx(epsilon, rel=ROUNDING)
    else:
        assert swapped != pytest.approx(epsilon, rel=1e-3)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_budget_of_zcdp_adds_up(d):
    rho = 0.3
    sigma = math.sqrt((1 + d) / (2 * rho / 3))  # count and d sums, squared sensitivity 1 + d, a third of rho
    choose = PureEvent("choose", epsilon=math.sqrt(8 * rho / 3), bounded_range=True)
    pure = LaplaceEvent("count", 1.0, 1 / math.sqrt(2 * rho / 3))
    events = [GaussianEvent("moments", math.sqrt(1 + d), sigma), choose, pure]
    assert zcdp_rho(events, ADD) == pytest.approx(rho, rel=ROUNDING)
    assert zcdp_rho(events, REPLACE) == pytest.approx(4 * rho, rel=ROUNDING)
    wrong = [GaussianEvent("moments", math.sqrt(1 + d), sigma), PureEvent("choose", choose.epsilon), pure]
    assert zcdp_rho(wrong, ADD) == pytest.approx(2 * rho, rel=ROUNDING)  # epsilon^2/2 where 1/8 was meant


def test_hundred_shares_of_a_budget_are_the_budget():
    assert pure_epsilon([PureEvent("share", 0.1)] * 10, ADD) == 1.0


@pytest.mark.parametrize("adjacency", [ADD, REPLACE])
def test_ends(adjacency):
    assert pure_epsilon([], adjacency) == 0.0
    assert pure_epsilon([ParallelEvent("none", ()), SequenceEvent("none", ())], adjacency) == 0.0
    assert pure_epsilon([GaussianEvent("g", 1.0, 5.0)], adjacency) == math.inf
    assert pure_epsilon([GaussianEvent("nothing moves", 0.0, 5.0)], adjacency) == 0.0
    assert pure_epsilon([LaplaceEvent("no noise", 1.0, 0.0)], adjacency) == math.inf
    assert zcdp_rho([LaplaceEvent("no noise", 1.0, 0.0)], adjacency) == math.inf


def parts(*epsilons):
    return tuple(PureEvent(f"part {i}", e) for i, e in enumerate(epsilons))


def test_parallel_parts():
    event = ParallelEvent("cells", parts(0.2, 1.0, 0.7))
    assert pure_epsilon([event], ADD) == 1.0
    # A record may change within the part of epsilon 1.
    assert pure_epsilon([event], REPLACE) == 2.0
    counts_only = ParallelEvent("cells", parts(0.2, 1.0, 0.7), membership_only=True)
    assert pure_epsilon([counts_only], ADD) == 1.0
    assert pure_epsilon([counts_only], REPLACE) == 1.7
    assert zcdp_rho([event], REPLACE) == pytest.approx(4 * 0.5)
    assert zcdp_rho([counts_only], REPLACE) == pytest.approx(0.5 + 0.7**2 / 2)


def test_one_part_with_every_record_is_sequential_composition():
    assert pure_epsilon([ParallelEvent("all", parts(1.0))], REPLACE) == pure_epsilon(parts(1.0), REPLACE) == 2.0


def test_the_two_largest_are_not_enough_for_a_record_that_stays():
    """Two parts, sums of values in [-1, 1] at scales 1 and 100: one record of part one goes from 1 to -1."""
    event = ParallelEvent("parts", (LaplaceEvent("fine", 1.0, 1.0), LaplaceEvent("coarse", 1.0, 100.0)))
    output = -50.0  # beyond both centers, where the Laplace ratio is attained
    realized = abs(output - 1.0) - abs(output + 1.0)
    assert realized == 2.0
    assert pure_epsilon([event], ADD) + 0.01 < realized == pure_epsilon([event], REPLACE)


def test_nested_parallel_parts():
    inner = ParallelEvent("cells", parts(1.0, 0.1), membership_only=True)
    outer = ParallelEvent("halves", (SequenceEvent("left", (inner, PureEvent("more", 0.5))), PureEvent("right", 1.4)))
    assert pure_epsilon([outer], ADD) == 1.5
    # Staying left 1.1 + 1.0, staying right 2.8, moving 1.5 + 1.4.
    assert pure_epsilon([outer], REPLACE) == pytest.approx(2.9, rel=ROUNDING)


def test_own_calibration_for_replace_is_used_as_it_is():
    direct = LaplaceEvent("histogram", 2.0, 4.0, calibrated_for=REPLACE)
    assert pure_epsilon([direct], REPLACE) == 0.5
    with pytest.raises(ValueError, match="calibrated for REPLACE"):
        pure_epsilon([direct], ADD)
    with pytest.raises(ValueError, match="calibrated for REPLACE"):
        pure_epsilon([ParallelEvent("cells", (direct, direct))], REPLACE)


leaves = st.builds(PureEvent, st.just("leaf"), st.floats(0, 10))
trees = st.recursive(
    leaves,
    lambda inner: (
        st.builds(SequenceEvent, st.just("sequence"), st.lists(inner, max_size=3).map(tuple))
        | st.builds(ParallelEvent, st.just("parallel"), st.lists(inner, max_size=3).map(tuple), st.booleans())
    ),
    max_leaves=12,
)


@given(tree=trees)
@settings(max_examples=80, deadline=None)
def test_replacing_costs_between_one_and_two_removals(tree):
    one, two = pure_epsilon([tree], ADD), pure_epsilon([tree], REPLACE)
    assert one * (1 - ROUNDING) <= two <= 2 * one * (1 + ROUNDING)
    assert zcdp_rho([tree], REPLACE) <= 4 * zcdp_rho([tree], ADD) * (1 + ROUNDING)


def cost_of_replacing(event, place, new_place):
    """Price one replacement from a leaf to a leaf by hand: the removal's steps plus the addition's."""
    if isinstance(event, PureEvent):
        return 2 * event.epsilon
    if isinstance(event, SequenceEvent):
        return sum(cost_of_replacing(e, p, q) for e, p, q in zip(event.events, place, new_place, strict=True))
    (i, inner), (j, new_inner) = place, new_place
    if i == j:
        return 0.0 if event.membership_only else cost_of_replacing(event.parts[i], inner, new_inner)
    return cost_of_adding(event.parts[i], inner) + cost_of_adding(event.parts[j], new_inner)


def cost_of_adding(event, place):
    if isinstance(event, PureEvent):
        return event.epsilon
    if isinstance(event, SequenceEvent):
        return sum(cost_of_adding(e, p) for e, p in zip(event.events, place, strict=True))
    return cost_of_adding(event.parts[place[0]], place[1])


def random_tree(rng, depth):
    kind = rng.integers(3) if depth else 0
    if kind == 0:
        return PureEvent("leaf", float(rng.integers(1, 5)))
    children = tuple(random_tree(rng, depth - 1) for _ in range(rng.integers(1, 4)))
    if kind == 1:
        return SequenceEvent("sequence", children)
    return ParallelEvent("parallel", children, membership_only=bool(rng.integers(2)))


def random_place(event, rng):
    """A record's place: which part it falls in, at every parallel event it meets."""
    if isinstance(event, PureEvent):
        return None
    if isinstance(event, SequenceEvent):
        return [random_place(e, rng) for e in event.events]
    i = int(rng.integers(len(event.parts)))
    return (i, random_place(event.parts[i], rng))


def test_nesting_against_replacements_priced_one_by_one():
    rng = np.random.default_rng(0)
    n_attained = 0
    for _ in range(150):
        tree = random_tree(rng, 3)
        prices = [cost_of_replacing(tree, random_place(tree, rng), random_place(tree, rng)) for _ in range(300)]
        bound = pure_epsilon([tree], REPLACE)
        assert max(prices) <= bound
        n_attained += max(prices) == bound
    assert n_attained > 100  # the bound is the worst record's price, not something above it


def test_group_privacy_of_a_claim():
    claim = under_replace(Claim(1.0, 1e-5, ADD, "a proof", rho=0.1))
    assert claim.epsilon == 2.0
    assert claim.delta == pytest.approx((1 + math.e) * 1e-5)
    assert claim.rho == pytest.approx(0.4)
    assert claim.adjacency is REPLACE
    assert under_replace(claim) is claim
    assert under_replace(Claim(math.inf, 0.0, ADD, "none")).delta == 0.0
    assert under_replace(Claim(math.inf, 1e-5, ADD, "none")).delta == 1.0
    with pytest.raises(ValueError, match="distance"):
        under_replace(Claim(1.0, 0.0, ADD, "geo", per_distance=True))


@dataclass(frozen=True, slots=True)
class StrangeEvent(Event):
    pass


@pytest.mark.parametrize(
    "make",
    [
        lambda: LaplaceEvent("x", -1.0, 1.0),
        lambda: LaplaceEvent("x", math.inf, 1.0),
        lambda: LaplaceEvent("x", 1.0, math.nan),
        lambda: LaplaceEvent("x", 1.0, 1.0, 0),
        lambda: GaussianEvent("x", math.nan, 1.0),
        lambda: GaussianEvent("x", 1.0, -1.0),
        lambda: PureEvent("x", -1.0),
        lambda: PureEvent("x", math.nan),
    ],
)
def test_facts_that_cannot_be_are_refused(make):
    with pytest.raises(ValueError, match="must be"):
        make()


def test_an_unknown_fact_is_never_free():
    with pytest.raises(TypeError, match="StrangeEvent"):
        pure_epsilon([StrangeEvent()], ADD)


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


def test_randomized_responses_against_the_exact_binomial():
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
    relabeled = LaplaceEvent("same noise, other words", 2.0, 4.0), GaussianEvent("", 2.0, 8.0)
    assert epsilon_of([ParallelEvent("cells", (step(), SequenceEvent("", relabeled)))], 1e-6, ADD) == one


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
    with pytest.raises(ValueError, match="add more noise"):
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
    hits = composition._distribution.cache_info().hits
    assert delta_of(events[::-1], 0.4, ADD) == first, "order is immaterial"
    assert composition._distribution.cache_info().hits == hits + 1
    anew = composition._distribution.__wrapped__(composition._sequence(events, ADD))
    assert anew.get_delta_for_epsilon(0.4) == first
    assert composition._distribution.cache_info().maxsize == composition.CACHED_DISTRIBUTIONS
