"""The ledger of a file: what adds up, by equality, and what a file's ledger may be."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from dpviz.accounting import PureEvent, epsilon_of, zcdp_epsilon
from dpviz.core import Adjacency, Box, Claim, Guarantee, attacker_odds
from dpviz.methods.dpm import algorithm as dpm
from dpviz.methods.nd_laplace import algorithm as nd_laplace
from dpviz.tools import release
from dpviz.tools.release import Ledger, LedgerError, ReleaseEntry, ledger_from_file, ledger_to_file

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
POINTS = np.random.default_rng(3).random((300, 2))
BOX = Box.cube(0, 1, 2)


def entry(epsilon=1.0, delta=0.0, adjacency=ADD, *, proved=True, rho=None, number=0, **fields):
    claim = Claim(epsilon, delta, adjacency, "a proof", rho=rho) if proved else None
    given_fields = {"what": "5 centers", "method": "dpm", "title": "DPM", "day": "2026-01-31", "origin": "release"}
    return ReleaseEntry(
        **{**given_fields, **fields},
        epsilon=epsilon,
        delta=delta,
        neighbors=adjacency,
        proved=claim,
        id=f"{number:016x}",
    )


def ledger(*entries):
    return Ledger(tuple(dataclasses.replace(each, id=f"{i:016x}") for i, each in enumerate(entries)))


budgets = some.floats(0.01, 5.0)


@given(some.lists(some.tuples(budgets, some.sampled_from([0.0, 1e-6])), max_size=8))
def test_the_basic_total_is_the_sum(pairs):
    total = ledger(*(entry(*pair) for pair in pairs)).total_basic()
    assert total.epsilon == math.fsum(epsilon for epsilon, _ in pairs)
    assert total.delta == math.fsum(delta for _, delta in pairs)
    assert total.uncounted == ()


@given(some.lists(budgets, min_size=2, max_size=30))
def test_the_best_total_is_never_more_and_is_that_of_the_accountant(epsilons):
    best = ledger(*map(entry, epsilons)).total_best()
    sharp = epsilon_of([PureEvent("", each) for each in epsilons], release.EXTRA_DELTA, ADD)
    rho = math.fsum(each**2 / 2 for each in epsilons)
    assert best.epsilon == min(math.fsum(epsilons), sharp, zcdp_epsilon(rho, release.EXTRA_DELTA))
    assert best.delta == (release.EXTRA_DELTA if best.epsilon < math.fsum(epsilons) else 0.0)


def test_a_hundred_small_releases_compose_better_than_they_add_up():
    many = ledger(*(entry(0.1) for _ in range(100)))
    assert many.total_best().epsilon < 0.6 * many.total_basic().epsilon


def test_zcdp_adds_up_by_rho():
    delta = 1e-6
    one = entry(zcdp_epsilon(0.1, delta), delta, rho=0.1)
    assert ledger(one, one, one).total_best().epsilon == zcdp_epsilon(math.fsum([0.1] * 3), release.EXTRA_DELTA)


def test_a_replaced_record_costs_two_removals_and_the_other_way_nothing_follows():
    both = ledger(entry(1.0), entry(0.5, adjacency=REPLACE))
    assert both.total_basic(REPLACE).epsilon == 2 * 1.0 + 0.5
    assert both.total_basic(ADD).epsilon == 1.0
    assert both.total_basic(ADD).uncounted == both.entries[1:]
    assert both.odds(REPLACE) == attacker_odds(2.5)
    assert both.odds(ADD) is None, "a limit of a part is no limit"
    assert ledger(entry(1.0)).odds(ADD) == attacker_odds(1.0)


def test_what_nothing_is_proved_of_is_named_and_not_summed_away():
    total = ledger(entry(1.0), entry(0.1, proved=False)).total_basic()
    assert (total.epsilon, len(total.uncounted)) == (1.0, 1)


def test_nothing_released_is_nothing_spent():
    assert Ledger().total_basic().epsilon == Ledger().total_best().epsilon == 0.0
    assert Ledger().odds() == 50.0


def of_run(algorithm, params):
    result = algorithm.fit(POINTS, BOX, params, rng=np.random.default_rng(0))
    fields = {"what": "", "method": "", "title": "", "day": "2026-01-31", "origin": "release"}
    return result, ReleaseEntry.of(result.guarantee, result.events, **fields)


def test_a_proved_run_is_counted_with_its_proved_epsilon():
    result, made = of_run(dpm, dpm.Params(epsilon=0.7, calibration="repaired"))
    assert made.proved == result.guarantee.proved
    assert made.epsilon == result.guarantee.stated.epsilon


def test_an_unproved_run_is_not_counted():
    _, made = of_run(dpm, dpm.Params(epsilon=0.7, calibration="published"))
    assert made.proved is None


def test_an_epsilon_per_distance_is_counted_for_the_whole_box():
    _, made = of_run(nd_laplace, nd_laplace.Params(epsilon=0.7, domain="clamp"))
    assert made.per_distance
    assert made.proved.adjacency is REPLACE
    assert made.proved.epsilon == pytest.approx(0.7 * math.sqrt(2.0), rel=1e-12)


def test_events_that_cost_more_than_is_claimed_prove_nothing():
    claim = Claim(0.5, 0.0, ADD, "a proof")
    fields = {"what": "", "method": "", "title": "", "day": "2026-01-31", "origin": "release"}
    made = ReleaseEntry.of(Guarantee(claim, claim), (PureEvent("", 1.0),), **fields)
    assert made.proved is None


FULL = ledger(
    entry(1.0, 1e-6, rho=0.2), entry(math.inf, proved=False), entry(0.5, adjacency=REPLACE, fingerprint="a" * 64)
)


def test_a_ledger_comes_back_from_a_file():
    assert ledger_from_file(json.loads(json.dumps(ledger_to_file(FULL), allow_nan=False))) == FULL


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": -1.0},
        {"epsilon": True},
        {"epsilon": "much"},
        {"delta": 2},
        {"neighbors": "all"},
        {"origin": "hearsay"},
        {"day": "today"},
        {"fingerprint": "x"},
        {"id": "1"},
        {"what": "a\nb"},
        {"what": "a" * 601},
        {"proved": []},
        {"proved": {"epsilon": 1, "delta": 0, "neighbors": "all", "reference": ""}},
        {"proved": {"epsilon": None, "delta": 0, "neighbors": "replace", "reference": ""}},
        {"proved": {"epsilon": 1, "delta": 0, "neighbors": "replace"}},
    ],
)
def test_a_ledger_that_cannot_be_is_refused(change):
    written = ledger_to_file(FULL)
    with pytest.raises(LedgerError, match="Release 2 of the file's ledger"):
        ledger_from_file([written[0], {**written[1], **change}, written[2]])


@pytest.mark.parametrize("written", [None, {}, "x", [1], [{}], [ledger_to_file(FULL)[0]] * 2])
def test_what_is_no_ledger_is_refused(written):
    with pytest.raises(LedgerError):
        ledger_from_file(written)


def test_joined_ledgers_have_each_release_once():
    first, second = Ledger(FULL.entries[:2]), Ledger(FULL.entries[1:])
    assert set(first.joined(second).entries) == set(FULL.entries)
    assert len(first.joined(second).entries) == 3
    assert {each.origin for each in FULL.carried().entries} == {"last year's settings"}
