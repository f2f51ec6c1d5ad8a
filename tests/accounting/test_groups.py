"""Claims for several records of one person, and events that others' accountants take."""

import math

import numpy as np
import pytest
from dp_accounting.dp_event import ComposedDpEvent
from dp_accounting.pld import PLDAccountant
from hypothesis import given
from hypothesis import strategies as st

from dpviz.accounting import (
    GaussianEvent,
    LaplaceEvent,
    ParallelEvent,
    PureEvent,
    dp_events,
    epsilon_of,
    for_group,
    privacy_loss_distribution,
    under_replace,
)
from dpviz.core import Adjacency, Claim

# Tolerance of ε: both sides discretize losses, each by at most 1e-4 per step, and round up.
LOOSE = 2e-3


@given(st.floats(0.01, 3.0), st.floats(1e-9, 1e-3), st.integers(1, 6))
def test_a_group_goes_through_one_record_after_the_other(epsilon, delta, rows):
    claim = Claim(epsilon, delta, Adjacency.ADD_REMOVE, "measured", rho=0.1)
    group = for_group(claim, rows)
    most = 0.0  # the bound by recursion: P <= e^ε P' + δ, `rows` times over, of an event that never happens
    for _ in range(rows):
        most = math.exp(epsilon) * most + delta
    assert group.epsilon == rows * epsilon
    assert group.delta == pytest.approx(min(1.0, most), rel=1e-9)
    assert group.rho == pytest.approx(rows**2 * 0.1)
    assert ("group privacy" in group.reference) == (rows > 1)


def test_a_replacement_is_a_group_of_two():
    claim = Claim(1.0, 1e-5, Adjacency.ADD_REMOVE, "measured", delta_in_run=1e-6)
    pair, replaced = for_group(claim, 2), under_replace(claim)
    assert (pair.epsilon, pair.delta, pair.delta_in_run) == (replaced.epsilon, replaced.delta, replaced.delta_in_run)
    assert for_group(Claim(800.0, 1e-300, Adjacency.REPLACE, "measured"), 9).delta == 1.0


EVENTS = (
    (LaplaceEvent("sums", 1.0, 2.0, n_coordinates=3), LaplaceEvent("counts", 1.0, 1.0)),
    (GaussianEvent("sums", 1.0, 2.0), GaussianEvent("sums", 1.0, 3.0), LaplaceEvent("counts", 1.0, 4.0)),
    (PureEvent("pick", 0.7), LaplaceEvent("counts", 1.0, 2.0)),
    (ParallelEvent("parts", (LaplaceEvent("a", 1.0, 1.0), LaplaceEvent("b", 1.0, 2.0))), GaussianEvent("c", 1.0, 4.0)),
)


@pytest.mark.parametrize("events", EVENTS)
@pytest.mark.parametrize("adjacency", [*Adjacency])
def test_another_s_accountant_finds_what_ours_finds(events, adjacency):
    made = dp_events(events, adjacency)
    assert isinstance(made, ComposedDpEvent)
    accountant = PLDAccountant()
    for ours, loose in ((events, LOOSE), ((*events, *events), 2 * LOOSE)):
        accountant = accountant.compose(made)
        for delta in (1e-2, 1e-6):
            assert accountant.get_epsilon(delta) == pytest.approx(epsilon_of(ours, delta, adjacency), abs=loose)


def test_a_choice_of_bounded_range_counts_as_no_less_than_it_is():
    events = (PureEvent("pick", 1.0, bounded_range=True),) * 4
    theirs = PLDAccountant().compose(dp_events(events, Adjacency.ADD_REMOVE))
    assert theirs.get_epsilon(1e-5) >= epsilon_of(events, 1e-5, Adjacency.ADD_REMOVE) - LOOSE


def test_no_noise_is_no_privacy():
    events = (GaussianEvent("exact", 1.0, 0.0),)
    made = dp_events(events, Adjacency.ADD_REMOVE)
    theirs = PLDAccountant().compose(made)
    assert np.isinf(theirs.get_epsilon(1e-5))


def test_distributions_of_one_interval_are_composed_with_others():
    """dp_accounting refuses distributions with different intervals, so the interval is an argument."""
    few, more = EVENTS[0], EVENTS[1]
    ours, theirs = (privacy_loss_distribution(each, Adjacency.ADD_REMOVE, 1e-4) for each in (few, more))
    together = ours.compose(theirs).get_epsilon_for_delta(1e-6)
    assert together == pytest.approx(epsilon_of((*few, *more), 1e-6, Adjacency.ADD_REMOVE), abs=LOOSE)
    with pytest.raises(ValueError, match=r"[Dd]iscretization"):
        ours.compose(privacy_loss_distribution(more, Adjacency.ADD_REMOVE, 2e-4))
    with pytest.raises(ValueError, match="interval must be positive"):
        privacy_loss_distribution(few, Adjacency.ADD_REMOVE, 0)
