"""Audits of every method and mode in a catalog: proved claims are not caught, broken claims are.

Each method gets enough runs per data set to see worlds that never look alike. Tests marked slow cover half of
the noise, a method's other modes, and 2,000 and 20,000 runs of all methods.

Synthetic neighbors are in the audited box, with records in its corners, as far apart as possible. The cards' statements
about floating point must be true of secret runs: a method that adds noise draws it exactly, and a method that chooses
says so.
"""

import functools
import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.audit import Batch, BoundOptions, EpsilonBound, Outcomes, epsilon_lower_bound
from dpviz.audit.bound import AuditEvent
from dpviz.baselines import _lloyd_family
from dpviz.core import Adjacency, Box, CentersRelease, Claim, Guarantee, Result
from dpviz.mechanisms import CHOICES_CAVEAT, POINTS_CAVEAT, SUMS_CAVEAT, OsBits, SecretGenerator, basic, laplace
from dpviz.methods import ALGORITHMS, own
from dpviz.methods.dpm.algorithm import interval_size
from dpviz.tools.audit import cases as audit_cases
from dpviz.tools.audit.cases import AUDITED, UNIT, AuditCase, cases, judged, own_case, pairs_in, params_of, scaled
from dpviz.tools.audit.runs import counted_of, worst
from dpviz.tools.audit.table import NONE_FOUND, NOTHING_CLAIMED, UNDECIDED, VIOLATION, row_of, verdict

CASES = cases()
PROVED = [key for key, case in CASES.items() if case.guarantee.proved is not None]
ONE_OF_EACH = {CASES[key].method: key for key in reversed(PROVED)}.values()
FEW = 100
# Enough runs to catch a broken mode.
ENOUGH = 320
MANY = 2_000
CAUGHT = (
    "convergent_kmeans:mode=published",
    "convergent_kmeans:mode=published,orientation=future",
    "dpm:calibration=published:gaps",
)


def bound_of(case, *, runs, seed):
    """Audit one case on its own pair."""
    return worst([case], runs=runs, seed=seed)[1]


def test_every_method_is_audited_on_pairs_of_neighbors_under_the_claim_that_is_judged():
    assert {case.method for case in CASES.values()} == set(AUDITED)
    assert all(CASES[name].title == algorithm.title for name, algorithm in AUDITED.items()), "its defaults"
    for key, case in CASES.items():
        assert key == case.key
        pair, claim = case.pair, judged(case.guarantee)
        assert claim.adjacency is pair.adjacency
        if pair.adjacency is Adjacency.REPLACE:
            assert len(pair.points) == len(pair.neighbor)
            assert (pair.points != pair.neighbor).any(axis=1).sum() == 1
        else:
            assert len(pair.points) == len(pair.neighbor) + 1
            assert {*map(tuple, pair.neighbor)} <= {*map(tuple, pair.points)}
        assert np.array_equal(pair.box.clip(pair.points), pair.points)


def test_a_case_at_four_times_its_budgets_claims_four_times_as_much():
    for case in CASES.values():
        other = scaled(case, 4.0)
        before, after = (judged(each.guarantee) for each in (case, other))
        assert after.adjacency is before.adjacency
        if before.delta or not math.isfinite(before.epsilon):
            continue
        assert after.epsilon == pytest.approx(4.0 * before.epsilon, rel=1e-12)
    # The ε of this case is in two budgets, and one of them is not enough.
    published = CASES["convergent_kmeans:mode=published"]
    half = replace(published, params=replace(published.params, epsilon_counts=2.0))
    assert judged(half.guarantee).epsilon == pytest.approx(2.5)
    assert judged(scaled(published, 4.0).guarantee).epsilon == pytest.approx(4.0)


def test_runs_are_held_against_what_is_proved_wherever_something_is():
    """The proof allows twice the published ε for redrawing: a record's chance to be inside reveals something, too."""
    case = CASES["nd_laplace:domain=redraw"]
    guarantee = case.guarantee
    assert guarantee.proved.epsilon == pytest.approx(2.0 * guarantee.published.epsilon)
    assert case.epsilon_of(judged(guarantee)) == pytest.approx(2.0)
    bare = EpsilonBound(1.5, (), 20, 10, BoundOptions(), np.zeros(10), np.zeros(10))
    for other in CASES.values():
        guarantee = other.guarantee
        assert judged(guarantee) is (guarantee.published if guarantee.proved is None else guarantee.proved)
        assert row_of(other, bare)["delta"] == judged(guarantee).delta
    # A bound between the published and the doubled ε is not a violation, and a bound above the doubled ε is one.
    low, high = (replace(bare, events=(event,), n_estimating=1_000) for event in (_seen(1_000, 100), _seen(1_000, 0)))
    assert 1.0 < low.lower_at(0.9999) < 2.0 < high.lower_at(0.9999)
    assert [verdict(case, each) for each in (low, high)] == [NONE_FOUND, VIOLATION]


def _seen(hits, others):
    return AuditEvent("value", 0.0, True, True, hits, others, 0.0)


def test_the_pair_that_is_counted_was_chosen_by_other_runs():
    """In one pair only the choosing runs differ; in the other, the counting runs and a few choosing runs differ."""
    same, even, odd = (np.zeros(400) for _ in range(3))
    even[::2] = 5.0
    odd[1::2] = odd[:100:2] = 5.0
    worlds = [tuple(Outcomes(400, {"value": values}) for values in (each, same)) for each in (odd, even)]
    found = [CASES["eugkm"], replace(CASES["eugkm"], mode="another")]
    case, bound = counted_of(found, worlds)
    assert case is found[1]
    assert bound.epsilon_lower == 0.0
    assert counted_of(found[:1], worlds[:1])[1].epsilon_lower > 3.0
    # The first case is farther above its claim.
    case, bound = counted_of([scaled(found[0], 0.1), scaled(found[1], 10.0)], worlds)
    assert case.mode == found[0].mode
    assert bound.violates(0.1)


def test_the_table_says_where_runs_are_too_few():
    case = CASES["eugkm:grid=even"]
    few, many = (bound_of(scaled(case, 10.0), runs=runs, seed=0) for runs in (20, 40))
    assert few.ceiling_at(0.9999) < 10.0
    assert verdict(scaled(case, 10.0), few) == verdict(scaled(case, 10.0), many) == UNDECIDED
    assert row_of(scaled(case, 10.0), few)["verdict"] == UNDECIDED


@pytest.mark.parametrize("key", ONE_OF_EACH)
def test_what_is_proved_is_not_caught(key):
    case = CASES[key]
    found = bound_of(case, runs=FEW, seed=11)
    assert verdict(case, found) == NONE_FOUND
    # With this number of runs, worlds that never look alike would be caught.
    assert found.lower_at(0.9999, ((found.n_estimating, 0),)) > case.epsilon_of(case.guarantee.proved)


@pytest.mark.slow
@pytest.mark.parametrize("runs", [MANY, 20_000])
@pytest.mark.parametrize("key", PROVED)
def test_what_is_proved_is_not_caught_in_many_runs(key, runs):
    case = CASES[key]
    assert verdict(case, bound_of(case, runs=runs, seed=12)) == NONE_FOUND


@pytest.mark.parametrize("key", CAUGHT)
def test_what_is_broken_is_caught(key):
    case = CASES[key]
    assert case.guarantee.proved is None
    found = bound_of(case, runs=ENOUGH, seed=13)
    assert verdict(case, found) == VIOLATION
    if key.startswith("convergent"):
        assert found.at_ceiling


def test_noise_in_floating_point_is_caught_by_its_last_bits_and_exact_noise_is_not():
    """The last bit is below 2^-53 with chance 0.27 without the record (400,000 draws) and never with it.

    At 99.99 %, 1,000 held-out runs show at least 0.21 against at most 0.01, log 21 > 1; 160 runs, at least 0.15 against
    at most 0.06, log 2.5 < 1, could not show it.
    """
    quick, exact = (CASES[key] for key in ("noisy_count:sampler=quick", "noisy_count"))
    assert quick.params.epsilon == exact.params.epsilon == 1.0
    found = bound_of(quick, runs=MANY, seed=13)
    assert verdict(quick, found) == VIOLATION
    assert found.epsilon_lower > 2.0
    assert verdict(exact, bound_of(exact, runs=MANY, seed=13)) == NONE_FOUND


def test_the_published_interval_is_caught_by_its_size_alone_and_the_repaired_one_is_not():
    """Liebenow et al., lemma 1: at ε = 1 an event goes from 3.65e-5 to 0.768."""
    pair = CASES["dpm:gaps"].pair
    for estimator, broken in (("published", True), ("repaired", False)):

        def size(points, rng, estimator=estimator):
            # 4 % of ε = 1, the interval's share; the published one takes n as released before.
            return interval_size(points, pair.box, 0.04, estimator=estimator, noisy_count=4001.0, rng=rng)

        rng = np.random.default_rng(5)
        found = epsilon_lower_bound(size, pair.points, pair.neighbor, n_runs=600, rng=rng)
        assert found.violates(1.0) == broken
        assert found.violates(0.04) == broken


@pytest.mark.parametrize(
    ("share", "runs", "seed"), [(0.02, ENOUGH // 2, 14), pytest.param(0.5, 20_000, 15, marks=pytest.mark.slow)]
)
def test_too_little_noise_is_caught_in_a_proved_mode(monkeypatch, share, runs, seed):
    def less(value, *, scale, rng):
        return value + share * scale * rng.laplace(size=np.shape(value))

    monkeypatch.setattr(_lloyd_family, "laplace", less)
    case = CASES["convergent_kmeans"]
    assert verdict(case, bound_of(case, runs=runs, seed=seed)) == VIOLATION


def test_a_cheap_method_is_audited_with_more_runs_and_reaches_its_epsilon():
    case = CASES["nd_laplace"]
    assert isinstance(case.runner, Batch)
    assert case.epsilon_of(judged(case.guarantee)) == pytest.approx(1.0)
    found = bound_of(case, runs=2_000, seed=16)
    assert found.n_runs == 20_000
    assert 0.5 < found.epsilon_lower <= 1.0
    # The batch and single runs have one distribution: the same bound within the scatter of 1,000 runs.
    single = epsilon_lower_bound(
        case.run, case.pair.points, case.pair.neighbor, n_runs=1_000, rng=np.random.default_rng(0)
    )
    assert 0.2 < single.epsilon_lower <= 1.0


def test_rows_say_what_was_found_and_never_that_it_is_verified():
    case = CASES["lloyd"]
    row = row_of(case, bound_of(case, runs=40, seed=0))
    assert row["verdict"] == NOTHING_CLAIMED
    assert row["published"] is None
    assert row["proved"] is None
    moved = CASES["nd_laplace"]
    row = row_of(moved, bound_of(moved, runs=40, seed=0))
    assert row["verdict"] == NONE_FOUND
    assert row["published"] == pytest.approx(1.0)
    assert "verified" not in str(row)


@pytest.mark.parametrize("key", ["blum", "blum:adjacency=replace", "nd_laplace", "source_target"])
def test_somebody_s_own_record_can_be_audited(key):
    rng = np.random.default_rng(0)
    box = UNIT
    points = rng.random((30, 2))
    case = own_case(CASES[key], points, box, 7)
    claim = judged(case.guarantee)
    if key == "nd_laplace":
        assert np.array_equal(case.pair.points, points[[7]])
        far = np.linalg.norm(case.pair.points - case.pair.neighbor)
        assert case.epsilon_of(claim) == pytest.approx(claim.epsilon * far)
    elif claim.adjacency is Adjacency.REPLACE:
        assert np.array_equal(np.delete(case.pair.neighbor, 7, axis=0), np.delete(points, 7, axis=0))
        assert {*case.pair.neighbor[7]} <= {0.0, 1.0}
    else:
        assert np.array_equal(case.pair.neighbor, np.delete(points, 7, axis=0))
    assert not bound_of(case, runs=40, seed=1).violates(case.epsilon_of(claim))
    with pytest.raises(ValueError, match="row from 0 to 29"):
        own_case(CASES[key], points, box, 30)
    assert math.isfinite(case.epsilon_of(claim))


BOXES = {
    "unit": Box.cube(0.0, 1.0, 2),
    "wide": Box.cube(0.0, 30.0, 2),
    "one axis": Box.cube(0.0, 30.0, 1),
    "below zero": Box(np.array([-50.0, -400.0]), np.array([10.0, 0.0])),
    "far away": Box(np.array([100.0, 7.0, 0.0]), np.array([130.0, 8.0, 500.0])),
}
# Number of runs on the page, and number of runs that catches worlds that never look alike.
PAGE_RUNS, QUICK_RUNS = 500, 160


@st.composite
def boxes(draw):
    d = draw(st.integers(1, 5))
    low = np.array(draw(st.lists(st.floats(-1e5, 1e5), min_size=d, max_size=d)))
    return Box(low, low + np.array(draw(st.lists(st.floats(1.0, 1e6), min_size=d, max_size=d))))


def corners(box):
    return np.array(list(itertools.product(*zip(box.low, box.high, strict=True))))


@given(boxes(), st.sampled_from(Adjacency), st.booleans())
def test_made_up_worlds_are_neighbors_in_the_box_with_the_changed_record_in_corners(box, adjacency, alone):
    pairs = pairs_in(box, adjacency, alone=alone)
    assert len(pairs) == (1 if alone else 4)
    for pair in pairs:
        assert pair.box is box
        assert np.array_equal(box.clip(pair.points), pair.points)
        changed = [pair.points[-1], *([pair.neighbor[-1]] if adjacency is Adjacency.REPLACE else [])]
        assert {*map(tuple, changed)} <= {*map(tuple, corners(box))}
        assert np.array_equal(pair.points[:-1], pair.neighbor[: len(pair.points) - 1])
        if adjacency is Adjacency.REPLACE:
            assert pair.distance == pytest.approx(box.diagonal)
            assert np.linalg.norm(changed[0] - changed[1]) == pytest.approx(box.diagonal)
        else:
            assert len(pair.points) == len(pair.neighbor) + 1
    # The largest moves: of the sum of features, and of the distance to all other records.
    if not alone:
        assert max(np.abs(pair.points[-1]).sum() for pair in pairs) == np.abs(corners(box)).sum(axis=1).max()
        gaps = [np.linalg.norm(pair.points[:-1] - pair.points[-1], axis=1).min() for pair in pairs]
        assert max(gaps) == pytest.approx(box.diagonal)
        assert len({pair.words for pair in pairs}) == len(pairs)


@given(boxes(), st.lists(st.floats(0.0, 1.0), min_size=5, max_size=5), st.booleans())
def test_a_record_that_is_replaced_goes_to_the_corner_farthest_from_it(box, shares, in_widths):
    points = np.stack([box.from_unit(np.resize(shares, box.d)), (box.low + box.high) / 2.0])
    pair = audit_cases.own_pair(points, box, 0, Adjacency.REPLACE, shares=in_widths)
    scale = box.widths if in_widths else np.ones(box.d)
    gaps = np.linalg.norm((corners(box) - box.clip(points)[0]) / scale, axis=1)
    assert pair.distance == pytest.approx(gaps.max())
    assert np.linalg.norm((pair.points[0] - pair.neighbor[0]) / scale) == pytest.approx(gaps.max())
    assert np.array_equal(pair.points[1:], pair.neighbor[1:])
    assert pairs_in(UNIT, Adjacency.REPLACE)[0].distance == pytest.approx(UNIT.diagonal)


def noisy_mean(points, box, params, rng, *, wide=True):
    """Release the mean of all records in data units: half of ε for the count, half for the sums of features."""
    records, half = box.clip(points), params.epsilon / 2.0
    moves = np.maximum(np.abs(box.low), np.abs(box.high)).sum() if wide else float(box.d)
    count = laplace(np.array([float(len(records))]), scale=1.0 / half, rng=rng)
    sums = laplace(records.sum(axis=0), scale=moves / half, rng=rng)
    claim = Claim(params.epsilon, 0.0, Adjacency.ADD_REMOVE, "Laplace noise on a count and on sums")
    return Result(CentersRelease(sums[None] / np.maximum(count, 1.0)), (), (), Guarantee(claim, claim))


def forgetful_mean(points, box, params, rng):
    """Release the same with noise for a box of width 1."""
    return noisy_mean(points, box, params, rng, wide=False)


@pytest.fixture
def brought(monkeypatch):
    """Return the case of a method from a person's own file."""

    def case(fit):
        method = own.method_of(fit.__name__, {"fit": fit}, Path(f"{fit.__name__}.py"))
        monkeypatch.setattr(audit_cases, "AUDITED", {method.name: method})
        monkeypatch.setattr(audit_cases, "OUTSIDE", {method.name})
        return AuditCase(method.name, method.name, method.title, "", {}, params_of(method.name, {}, BOXES["unit"]))

    return case


@pytest.mark.parametrize("name", BOXES)
def test_noise_that_forgets_the_boxs_width_is_caught_in_the_boxs_own_corners(brought, name):
    """In 250 counted runs of each world, events that always and never happen show 3.76, and 3.4 is below it."""
    right = brought(noisy_mean)
    case, bound = worst(audit_cases.cases_in(right, BOXES[name]), runs=QUICK_RUNS, seed=0)
    assert verdict(case, bound) != VIOLATION
    assert bound.epsilon_lower <= 1.0
    wrong = brought(forgetful_mean)
    case, bound = worst(audit_cases.cases_in(wrong, BOXES[name]), runs=PAGE_RUNS, seed=0)
    assert (verdict(case, bound) == VIOLATION) == (name != "unit"), "in the unit box there is nothing to forget"
    assert name == "unit" or bound.epsilon_lower > 3.4
    # With records only in the unit box's corners, the audit shows nothing.
    if name == "wide":
        pair = pairs_in(UNIT, Adjacency.ADD_REMOVE)[0]

        def run(points, rng):
            return forgetful_mean(points, pair.box, wrong.params, rng).release

        found = epsilon_lower_bound(run, pair.points, pair.neighbor, n_runs=PAGE_RUNS, rng=np.random.default_rng(0))
        assert not found.violates(1.0)


# The audit's own modes, without those that only differ in pairs, and without the noise itself, which is on no card.
CARDS = {key: case for key, case in cases().items() if case.method in ALGORITHMS and not case.pair_name}


@functools.cache
def drawn(key):
    """Return a secret run's number of exact draws, its number of choices in floating point, and its caveats."""
    case, exact, chosen = CARDS[key], [], []
    rounded, weights = SecretGenerator._rounded, basic._weights
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SecretGenerator, "_rounded", lambda *given: (exact.append(1), rounded(*given))[1])
        patched.setattr(basic, "_weights", lambda *given: (chosen.append(1), weights(*given))[1])
        result = case.result(case.pair.points, SecretGenerator(OsBits(np.random.default_rng(0).bytes)))
    return len(exact), len(chosen), result.guarantee


@pytest.mark.parametrize("key", CARDS)
def test_a_card_says_of_secret_noise_what_the_run_does(key):
    n_exact, n_chosen, guarantee = drawn(key)
    if guarantee.proved is None:
        # Without a proof, there are no limits to report.
        return
    caveats = guarantee.caveats
    assert (SUMS_CAVEAT in caveats) == (n_exact > 0)
    assert n_chosen == 0 or CHOICES_CAVEAT in caveats
    assert {SUMS_CAVEAT, CHOICES_CAVEAT, POINTS_CAVEAT} & {*caveats}


@pytest.mark.parametrize("method", sorted({case.method for case in CARDS.values()}))
def test_nobody_warns_of_choices_that_no_mode_makes(method):
    found = [drawn(key) for key, case in CARDS.items() if case.method == method]
    warned = any(CHOICES_CAVEAT in guarantee.caveats for *_, guarantee in found)
    assert warned == any(n_chosen for _, n_chosen, _ in found)
