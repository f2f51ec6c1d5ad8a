"""Sums of events: equality in many dimensions, parallel parts under both adjacencies, group privacy."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.accounting import (
    GaussianEvent,
    LaplaceEvent,
    ParallelEvent,
    PureEvent,
    SequenceEvent,
    pure_epsilon,
    under_replace,
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
