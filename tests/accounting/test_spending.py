"""Totals of events by each account, against neighbors that are tried one by one with dp-accounting."""

import dataclasses
import itertools
import math
from functools import reduce

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st

import dpviz
from dpviz.accounting import (
    GaussianEvent,
    LaplaceEvent,
    ParallelEvent,
    PureEvent,
    Purpose,
    SequenceEvent,
    delta_of,
    epsilon_of,
    epsilon_share,
    gaussian_mu,
    gdp_epsilon,
    overspent,
    spent_epsilon,
    sums,
    zcdp_rho,
)
from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import Account, Adjacency, Box, Claim, Guarantee
from dpviz.core.limits import ROUNDING
from dpviz.estimators import ESTIMATORS
from dpviz.methods import ALGORITHMS
from dpviz.stories.label import Contents, label_of

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
BOX = Box.cube(0.0, 1.0, 2)
POINTS = np.random.default_rng(0).random((300, 2))
DELTA = 1e-5
# Tolerance of privacy loss, for distributions that are rounded down.
GRID = 5e-3
NEEDS = {"source_target": {"targets": np.random.default_rng(7).random((30, 2)), "epsilon": 1.0}}

sizes = st.floats(0.05, 2.0)
leaves = st.one_of(
    st.builds(LaplaceEvent, st.just("laplace"), sizes, st.just(1.0), st.integers(1, 2)),
    st.builds(GaussianEvent, st.just("gaussian"), sizes, st.just(1.0)),
    st.builds(PureEvent, st.just("pure"), sizes, st.booleans()),
)
trees = st.recursive(
    leaves,
    lambda inner: (
        st.builds(SequenceEvent, st.just("sequence"), st.lists(inner, min_size=1, max_size=3).map(tuple))
        | st.builds(
            ParallelEvent, st.just("parallel"), st.lists(inner, min_size=1, max_size=3).map(tuple), st.booleans()
        )
    ),
    max_leaves=5,
)


def ways(event, adjacency):
    """Yield all that one record can do to an event: leaves, each with how many times over it moves."""
    match event:
        case SequenceEvent():
            for parts in itertools.product(*(list(ways(each, adjacency)) for each in event.events)):
                yield tuple(itertools.chain(*parts))
        case ParallelEvent():
            added = [list(ways(part, ADD)) for part in event.parts]
            if adjacency is ADD:
                yield from itertools.chain(*added)
                return
            for one, other in itertools.combinations(added, 2):
                yield from (left + right for left, right in itertools.product(one, other))
            for part in event.parts:
                yield from [()] if event.membership_only else ways(part, REPLACE)
        case _:
            yield ((event, 1 if adjacency is ADD else 2),)


def shown(way, shift, delta):
    """Return the epsilon of one record's effect at `delta`, by dp-accounting and rounded down: below the truth.

    A step of bounded range is generalized randomized response, at `shift` of its range.
    """
    down = {"pessimistic_estimate": False, "value_discretization_interval": GRID}
    steps = []
    for leaf, times in way:
        match leaf:
            case LaplaceEvent():
                one = pld.from_laplace_mechanism(1.0, times * leaf.sensitivity, use_connect_dots=False, **down)
                steps += [one] * leaf.n_coordinates
            case GaussianEvent():
                sigma = 1.0 / (times * leaf.l2_sensitivity)
                steps.append(pld.from_gaussian_mechanism(sigma, use_connect_dots=False, **down))
            case PureEvent():
                size = times * leaf.epsilon
                up, other = (shift * size, (shift - 1.0) * size) if leaf.bounded_range else (size, -size)
                laws = two_points(up, other)
                steps.append(pld.from_two_probability_mass_functions(*laws, **down))
    return reduce(lambda left, right: left.compose(right), steps).get_epsilon_for_delta(delta) if steps else 0.0


def two_points(up, down):
    """Return two laws, in logarithms, of an answer whose log-ratio is `up` or `down`: the neighbor's, this one's."""
    rarer = -math.expm1(down) / (math.exp(up) - math.exp(down))
    laws = {0: math.log(rarer), 1: math.log1p(-rarer)}
    return laws, {0: laws[0] + up, 1: laws[1] + down}


@given(tree=trees, adjacency=st.sampled_from(Adjacency), shift=st.floats(0.05, 0.95), delta=st.floats(1e-6, 1e-2))
@settings(max_examples=25)
def test_no_account_says_less_than_any_neighbor_shows(tree, adjacency, shift, delta):
    found = [spent_epsilon((tree,), adjacency, delta, account) for account in Account]
    tried = max((shown(way, shift, delta) for way in itertools.islice(ways(tree, adjacency), 6)), default=0.0)
    assert min(found) >= tried * (1.0 - 1e-6) - 1e-9


@given(tree=trees, adjacency=st.sampled_from(Adjacency))
def test_gaussian_noise_is_that_of_the_worst_record(tree, adjacency):
    """Equal to the worst of all records tried by hand, as a tree of one kind of noise has one worst."""

    def squared(way):
        moved = (times * leaf.mu for leaf, times in way if isinstance(leaf, GaussianEvent))
        return math.fsum(each**2 for each in moved)

    only = _only_gaussians(tree)
    tried = [squared(way) for way in ways(only, adjacency)]
    found = gaussian_mu((tree,), adjacency)
    assert found == pytest.approx(gaussian_mu((only,), adjacency), rel=1e-12)
    # With only one part, no record moves, and the account keeps the removal.
    if not _has_single_part(only):
        assert found**2 == pytest.approx(max(tried, default=0.0), rel=1e-12)
    assert found**2 >= max(tried, default=0.0) * (1 - 1e-12)


def _only_gaussians(event):
    match event:
        case SequenceEvent():
            return SequenceEvent("s", tuple(_only_gaussians(each) for each in event.events))
        case ParallelEvent():
            return ParallelEvent("p", tuple(_only_gaussians(each) for each in event.parts), event.membership_only)
        case GaussianEvent():
            return event
    return GaussianEvent("nothing", 0.0, 1.0)


def _has_single_part(event):
    match event:
        case SequenceEvent():
            return any(_has_single_part(each) for each in event.events)
        case ParallelEvent():
            return len(event.parts) == 1 or any(_has_single_part(each) for each in event.parts)
    return False


def test_a_replaced_record_moves_gaussian_noise_twice_as_far():
    event = GaussianEvent("sums", 1.0, 1.0)
    assert spent_epsilon((event,), ADD, DELTA) == pytest.approx(4.377, abs=1e-3)
    assert spent_epsilon((event,), REPLACE, DELTA) == pytest.approx(9.997, abs=1e-3) == gdp_epsilon(2.0, DELTA)
    parts = ParallelEvent("clusters", (event, dataclasses.replace(event, sigma=2.0)))
    assert gaussian_mu((parts,), REPLACE) == 2.0
    counts = dataclasses.replace(parts, membership_only=True)
    assert gaussian_mu((counts,), REPLACE) == pytest.approx(math.hypot(1.0, 0.5), rel=1e-15)
    claim = Claim(gdp_epsilon(1.0, DELTA), DELTA, REPLACE, "forgot the neighbors")
    label = label_of(Guarantee(claim, claim), Contents("a record", (), ()), (event,))
    assert label.is_overspent
    assert "more than the 4.38" in label.account


def test_noise_for_replaced_records_proves_nothing_of_added_ones():
    event = GaussianEvent("sums", 1.0, 1.0, calibrated_for=REPLACE)
    claim = Claim(gdp_epsilon(1.0, DELTA), DELTA, ADD, "the other neighbors")
    label = label_of(Guarantee(claim, claim), Contents("a record", (), ()), (event,))
    assert label.is_overspent
    assert "prove nothing for one record added or removed" in label.account


def test_a_hair_more_than_stated_is_more():
    event = LaplaceEvent("count", 1.0, 1.0)
    for beyond, over in ((0.0, False), (1e-13, False), (1e-11, True), (1e-7, True)):
        assert overspent((event,), Claim(1.0 / (1.0 + beyond), 0.0, ADD, "a")) is over


@given(st.floats(-9.0, 2.0), st.floats(-12.0, -1.0))
def test_calibrated_gaussian_noise_is_as_stated_at_any_epsilon(log_epsilon, log_delta):
    epsilon, delta = 10.0**log_epsilon, 10.0**log_delta
    sigma = dpviz.accounting.gaussian_sigma(1.0, dpviz.core.Budget(epsilon, delta))
    claim = Claim(epsilon, delta, ADD, "a")
    assert not overspent((GaussianEvent("a", 1.0, sigma),), claim)
    assert overspent((GaussianEvent("a", 1.0, sigma * (1 - 1e-7)),), claim)


def test_a_claim_of_rho_is_held_to_its_epsilon_too():
    event = GaussianEvent("sums", 1.0, 1.0)
    right = Claim(gdp_epsilon(1.0, DELTA), DELTA, ADD, "a", rho=0.5)
    assert not overspent((event,), right)
    assert overspent((event,), dataclasses.replace(right, epsilon=1.0))
    assert overspent((event,), dataclasses.replace(right, rho=0.4))


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("adjacency", ["add_remove", "replace"])
def test_no_run_is_called_overspent_and_a_louder_one_is(name, adjacency):
    made = ALGORITHMS[name]
    own = {"adjacency": adjacency} if "adjacency" in made.parameters else {}
    result = made.fit(POINTS, BOX, made.Params(**{**NEEDS.get(name, {}), **own}), rng=np.random.default_rng(1))
    claim = result.guarantee.proved or result.guarantee.published
    if claim.per_distance or math.isinf(claim.epsilon):
        return
    assert not overspent(result.events, claim)
    assert overspent(result.events * 3, claim)
    assert all(each.total >= 0.85 * each.stated for each in sums(result.events, claim)), "and little is left over"


@pytest.mark.parametrize("name", [name for name, each in BASELINES.items() if "delta" in each.parameters])
def test_the_defaults_fit_into_a_budget_of_their_own(name):
    with dpviz.budget(epsilon=1.0, delta=2.0**-15) as budget:
        ESTIMATORS[name](bounds=BOX, random_state=0).fit(POINTS)
        assert (budget.epsilon_spent, budget.delta_spent) == (1.0, 2.0**-15)


@pytest.mark.parametrize("epsilon", [1.0, 20.0])
def test_picks_of_bounded_range_are_not_taken_for_more(epsilon):
    made = ALGORITHMS["em_mc"]
    result = made.fit(POINTS, BOX, made.Params(epsilon=epsilon, delta=1e-6), rng=np.random.default_rng(0))
    assert epsilon_of(result.events, 1e-6, ADD) <= epsilon

    def plain(event):
        if isinstance(event, SequenceEvent):
            return SequenceEvent("s", tuple(plain(each) for each in event.events))
        return dataclasses.replace(event, bounded_range=False) if isinstance(event, PureEvent) else event

    if epsilon > 1:
        assert epsilon_of([plain(each) for each in result.events], 1e-6, ADD) > 1.05 * epsilon


@given(st.lists(st.tuples(st.floats(0.05, 2.0), st.floats(0.0, 1.0)), min_size=1, max_size=5), st.floats(0.0, 0.95))
@settings(max_examples=20)
def test_bounded_range_dominates_exponential_mechanisms_one_by_one(steps, share):
    """Exactly, over all outcomes: picks of two answers whose scores move as a neighbor likes, each its own way."""
    epsilon = share * math.fsum(each for each, _ in steps)
    outcomes = [(1.0, 1.0)]
    for size, way in steps:
        up, down = way * size, (way - 1.0) * size
        if up <= 1e-9 or down >= -1e-9:
            continue
        other = -math.expm1(down) / (math.exp(up) - math.exp(down))
        pairs = ((other * math.exp(up), other), ((1 - other) * math.exp(down), 1 - other))
        outcomes = [(p * a, q * b) for p, q in outcomes for a, b in pairs]
    events = [PureEvent("pick", each, bounded_range=True) for each, _ in steps]
    exact = math.fsum(max(p - math.exp(epsilon) * q, 0.0) for p, q in outcomes)
    assert delta_of(events, epsilon, ADD) >= exact * (1 - 1e-9) - 1e-14


def test_the_worst_pair_of_a_single_pick_is_attained():
    for size, epsilon in itertools.product((0.3, 2.0, 8.0), (0.0, 0.2)):
        at = (size + epsilon) / 2.0  # the loss that is worst at epsilon
        found = delta_of([PureEvent("pick", size, bounded_range=True)], epsilon, ADD)
        other = -math.expm1(at - size) / (math.exp(at) - math.exp(at - size))
        assert found == pytest.approx(other * (math.exp(at) - math.exp(epsilon)), rel=1e-3)
        assert found < delta_of([PureEvent("step", size)], epsilon, ADD)


def test_a_noisy_number_of_records_counts_by_itself():
    size = LaplaceEvent("number", 1.0, 10.0, purpose=Purpose.SIZE)
    rest = (PureEvent("pick", 0.5, bounded_range=True), GaussianEvent("sums", 1.0, 4.0))
    for account in (Account.ZCDP, Account.PLD):
        alone = spent_epsilon(rest, ADD, DELTA, account)
        assert spent_epsilon((size, *rest), ADD, DELTA, account) == pytest.approx(0.1 + alone, rel=1e-12)
    together = epsilon_of((size, *rest), DELTA, ADD)
    assert together < 0.1 + epsilon_of(rest, DELTA, ADD), "which holds only where no noise follows that number"


@given(st.lists(trees, min_size=1, max_size=3), st.sampled_from(Adjacency), st.sampled_from(Account))
@settings(max_examples=20)
def test_shares_add_up_to_the_whole(events, adjacency, account):
    whole = spent_epsilon(events, adjacency, DELTA, account)
    shares = [epsilon_share((each,), events, adjacency, DELTA, account) for each in events]
    if account is Account.BASIC or zcdp_rho(events, adjacency) > 0:
        assert math.fsum(shares) == pytest.approx(whole, rel=1e-9)
    assert whole * (1 + ROUNDING) >= max(shares)
