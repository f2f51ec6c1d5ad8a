"""Neighbors that are made up: in the box that is audited, with records in its corners, and as far apart as can be."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.audit import epsilon_lower_bound
from dpviz.core import Adjacency, Box, CentersRelease, Claim, Guarantee, Result
from dpviz.mechanisms import laplace
from dpviz.methods import own
from dpviz.tools.audit import cases as audit_cases
from dpviz.tools.audit.cases import AuditCase, cases_in, corner_moved, corner_record, own_pair, pairs_in, params_of
from dpviz.tools.audit.runs import worst
from dpviz.tools.audit.table import VIOLATION, verdict

BOXES = {
    "unit": Box.cube(0.0, 1.0, 2),
    "wide": Box.cube(0.0, 30.0, 2),
    "one axis": Box.cube(0.0, 30.0, 1),
    "below zero": Box(np.array([-50.0, -400.0]), np.array([10.0, 0.0])),
    "far away": Box(np.array([100.0, 7.0, 0.0]), np.array([130.0, 8.0, 500.0])),
}
RUNS, FEW = 500, 160  # as on the page; enough to catch worlds that never look alike


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
        changed = [pair.points[-1], *([pair.neighbour[-1]] if adjacency is Adjacency.REPLACE else [])]
        assert {*map(tuple, changed)} <= {*map(tuple, corners(box))}
        assert np.array_equal(pair.points[:-1], pair.neighbour[: len(pair.points) - 1])
        if adjacency is Adjacency.REPLACE:
            assert pair.distance == pytest.approx(box.diagonal)
            assert np.linalg.norm(changed[0] - changed[1]) == pytest.approx(box.diagonal)
        else:
            assert len(pair.points) == len(pair.neighbour) + 1
    if not alone:  # no sum of features moves by more, nor a distance to all others
        assert max(np.abs(pair.points[-1]).sum() for pair in pairs) == np.abs(corners(box)).sum(axis=1).max()
        gaps = [np.linalg.norm(pair.points[:-1] - pair.points[-1], axis=1).min() for pair in pairs]
        assert max(gaps) == pytest.approx(box.diagonal)
        assert len({pair.words for pair in pairs}) == len(pairs)


@given(boxes(), st.lists(st.floats(0.0, 1.0), min_size=5, max_size=5), st.booleans())
def test_a_record_that_is_replaced_goes_to_the_corner_farthest_from_it(box, shares, in_widths):
    points = np.stack([box.from_unit(np.resize(shares, box.d)), (box.low + box.high) / 2.0])
    pair = own_pair(points, box, 0, Adjacency.REPLACE, shares=in_widths)
    scale = box.widths if in_widths else np.ones(box.d)
    gaps = np.linalg.norm((corners(box) - box.clip(points)[0]) / scale, axis=1)
    assert pair.distance == pytest.approx(gaps.max())
    assert np.linalg.norm((pair.points[0] - pair.neighbour[0]) / scale) == pytest.approx(gaps.max())
    assert np.array_equal(pair.points[1:], pair.neighbour[1:])
    assert corner_moved().distance == pytest.approx(corner_record().box.diagonal)


def noisy_mean(points, box, params, rng, *, wide=True):
    """Release the mean of all records in data units: half of ε for the count, half for the sums of features."""
    records, half = box.clip(points), params.epsilon / 2.0
    moves = np.maximum(np.abs(box.low), np.abs(box.high)).sum() if wide else float(box.d)
    count = laplace(np.array([float(len(records))]), scale=1.0 / half, rng=rng)
    sums = laplace(records.sum(axis=0), scale=moves / half, rng=rng)
    claim = Claim(params.epsilon, 0.0, Adjacency.ADD_REMOVE, "Laplace noise on a count and on sums")
    return Result(CentersRelease(sums[None] / np.maximum(count, 1.0)), (), (), Guarantee(claim, claim))


def forgetful_mean(points, box, params, rng):
    """The same with noise for a box of width 1."""
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
    """In 250 runs of each world that count, events that always and never happen show 3.76: 3.4 is below it."""
    right = brought(noisy_mean)
    case, bound = worst(cases_in(right, BOXES[name]), runs=FEW, seed=0)
    assert verdict(case, bound) != VIOLATION
    assert bound.epsilon_lower <= 1.0
    wrong = brought(forgetful_mean)
    case, bound = worst(cases_in(wrong, BOXES[name]), runs=RUNS, seed=0)
    assert (verdict(case, bound) == VIOLATION) == (name != "unit"), "in the unit box there is nothing to forget"
    assert name == "unit" or bound.epsilon_lower > 3.4
    if name == "wide":  # records in the unit box's corners alone show nothing
        pair = corner_record()

        def run(points, rng):
            return forgetful_mean(points, pair.box, wrong.params, rng).release

        found = epsilon_lower_bound(run, pair.points, pair.neighbour, n_runs=RUNS, rng=np.random.default_rng(0))
        assert not found.violates(1.0)
