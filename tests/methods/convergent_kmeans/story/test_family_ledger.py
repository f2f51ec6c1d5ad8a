"""Every ledger adds up to what is proved, and each of its rows follows from the method's own description."""

import dataclasses
import math

import numpy as np
import pytest

from dpviz.accounting import LaplaceEvent, ParallelEvent, PureEvent, SequenceEvent
from dpviz.baselines import CATALOGUE
from dpviz.core import Adjacency
from dpviz.methods.convergent_kmeans.story import family as story
from dpviz.methods.convergent_kmeans.story.family_runs import METHODS
from dpviz.plots import Audience, Role
from dpviz.stories.ledger import adjacency_of, ledger_rows
from dpviz.stories.panel import ceiled

PRIVATE = sorted(set(CATALOGUE) & set(METHODS) - {"lloyd"})
ADJACENCIES = ("add_remove", "replace")
GRID_AXES = 6  # the grid's own limit


def total(rows):
    return math.fsum(row.epsilon for row in rows)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize(("d", "epsilon"), [(2, 1.0), (20, 0.05)])
@pytest.mark.parametrize("name", PRIVATE)
def test_the_rows_add_up_to_what_is_proved(tell_family, name, epsilon, d, adjacency):
    try:
        told = tell_family(name, d, n=60, epsilon=epsilon, adjacency=adjacency)
    except ValueError:
        assert name == "eugkm"
        assert d > GRID_AXES
        return
    proved = told.result.guarantee.proved
    rows = ledger_rows(told.result, delta=proved.delta)
    assert total(rows) == pytest.approx(proved.epsilon, rel=1e-12)
    assert adjacency_of(told.result.events) is proved.adjacency
    # A ledger without one of its rows, or under the other adjacency, would not do.
    assert all(total(rows[:i] + rows[i + 1 :]) != pytest.approx(proved.epsilon, rel=1e-12) for i in range(len(rows)))
    drawn = [rect for layer in story.ledger_chart(told).layers for rect in layer.arrays["rect"][0]]
    assert math.fsum(top - low for _, low, _, top in drawn) == pytest.approx(proved.epsilon, rel=1e-12)
    assert f"Adds up to ε = {ceiled(proved.epsilon)}" in story.ledger_chart(told).caption


def columns(rows, purpose):
    return {row.column: row.epsilon for row in rows if row.purpose == purpose}


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_blum_spends_evenly_and_dwork_halves(tell_family, d, adjacency):
    for name, spent in (("blum", [0.4] * 5), ("dwork", [1.0, 0.5, 0.25, 0.125, 0.0625])):
        rows = ledger_rows(tell_family(name, d, epsilon=2.0, adjacency=adjacency).result)
        counts, sums = columns(rows, "Counts"), columns(rows, "Sums")
        assert list(counts) == list(sums) == [1, 2, 3, 4, 5]
        # One noise scale for count and centered sums: the count is 1 of the L1 sensitivity 1 + d/2.
        assert list(counts.values()) == pytest.approx([e / (1 + d / 2) for e in spent], rel=1e-12)
        assert list(sums.values()) == pytest.approx([e * d / (2 + d) for e in spent], rel=1e-12)
        assert {row.n_clusters for row in rows} == {4}


@pytest.mark.parametrize("d", [1, 2, 5])
def test_su_splits_by_the_error_each_part_causes(tell_family, d):
    told = tell_family("su", d, epsilon=2.0)
    rows = ledger_rows(told.result)
    n_steps, weight = len(told.result.trace), (4 * d * 0.225**2) ** (1 / 3)
    assert columns(rows, "Number of records") == pytest.approx({0: 0.04})
    each = 1.96 / n_steps
    assert columns(rows, "Counts") == pytest.approx(dict.fromkeys(range(1, n_steps + 1), each * weight / (d + weight)))
    assert columns(rows, "Sums") == pytest.approx(dict.fromkeys(range(1, n_steps + 1), each * d / (d + weight)))
    assert [row.n_clusters for row in rows if row.column == 0] == [1]


def test_the_others_spend_at_once_or_by_rounds(tell_family):
    for name, purpose in (("eugkm", "Cells"), ("gupt", "Mean of the blocks")):
        even = {"grid": "even"} if name == "eugkm" else {}
        rows = ledger_rows(tell_family(name, epsilon=2.0, **even).result)
        assert [(row.column, row.purpose, row.n_clusters) for row in rows] == [
            (1, purpose, 1),
            (0, "Number of records", 1),
        ]
        assert [row.epsilon for row in rows] == pytest.approx([1.96, 0.04])
        public = ledger_rows(tell_family(name, epsilon=2.0, n_public=300, **even).result)
        assert [(row.column, row.epsilon) for row in public] == [(1, pytest.approx(2.0))]
    fitted = {row.purpose: row.epsilon for row in ledger_rows(tell_family("eugkm", epsilon=2.0, n_public=300).result)}
    assert fitted == pytest.approx({"Marginals": 0.4, "Cells": 1.6})
    rounds = ledger_rows(tell_family("privgene", epsilon=2.0, n_rounds=4).result)
    assert [row.column for row in rounds] == [1, 2, 3, 4]
    assert [row.epsilon for row in rounds] == pytest.approx([0.5] * 4)


def test_without_privacy_there_is_one_row_and_no_bar(tell_family):
    for d, n in ((1, 300), (2, 30), (5, 300)):
        told = tell_family("lloyd", d, n=n)
        (row,) = ledger_rows(told.result)
        assert (row.column, row.epsilon) == (1, math.inf)
        assert story.ledger_chart(told).is_empty
        assert "No limit" in story.ledger_chart(told).caption


@pytest.mark.parametrize("name", PRIVATE)
def test_infinite_budgets_have_no_bars(tell_family, name):
    told = tell_family(name, epsilon=math.inf, n_public=300) if name in ("su", "gupt", "eugkm") else None
    told = told or tell_family(name, epsilon=math.inf, **({"n_rounds": 3} if name == "privgene" else {}))
    assert total(ledger_rows(told.result)) == math.inf
    assert story.ledger_chart(told).is_empty
    assert np.isfinite(story.ledger_chart(told).y.view).all()


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_an_unproved_ledger_is_red_and_keeps_its_sum(tell_family, name, adjacency):
    """Bounds from the data take the proof away; the claim in print can name the other adjacency."""
    told = tell_family(name, epsilon=1.0, adjacency=adjacency)
    spent = told.result.guarantee.proved.epsilon
    guarantee = dataclasses.replace(told.result.guarantee, proved=None)
    unproved = dataclasses.replace(told, result=dataclasses.replace(told.result, guarantee=guarantee))
    chart = story.ledger_chart(unproved)
    assert {layer.role for layer in chart.layers} == {Role.VIOLATION}
    assert {layer.audience for layer in chart.layers} == {Audience.PUBLIC}
    assert f"not established: ε = {ceiled(spent)}" in chart.caption
    assert total(ledger_rows(unproved.result, delta=guarantee.published.delta)) == pytest.approx(spent, rel=1e-12)


@pytest.mark.parametrize("d", [1, 2, 20])
def test_convergent_kmeans_has_a_ledger_too(tell, d):
    repaired = tell(d, mode="repaired", epsilon=2.0)
    rows, n_steps = ledger_rows(repaired.result), len(repaired.result.trace)
    assert total(rows) == pytest.approx(2.0, rel=1e-12)
    assert set(columns(rows, "Counts")) == set(columns(rows, "Sums")) == set(range(1, n_steps + 1))
    assert columns(rows, "Number of records") == pytest.approx({0: 0.04})
    published = tell(d, mode="published", epsilon_counts=0.7, epsilon_per_iteration=0.3)
    rows, n_steps = ledger_rows(published.result), len(published.result.trace)
    assert columns(rows, "Draws (claimed)") == pytest.approx(dict.fromkeys(range(1, n_steps + 1), 0.3))
    assert columns(rows, "Final counts (claimed)") == pytest.approx({n_steps + 1: 0.7})
    assert {row.n_clusters for row in rows} == {4}
    assert total(rows) == pytest.approx(published.result.guarantee.published.epsilon, rel=1e-12)


def test_events_of_other_methods_are_read_as_they_are(tell_family):
    told = tell_family("su")

    def rows(*events):
        return ledger_rows(dataclasses.replace(told.result, events=events))

    (one,) = rows(PureEvent("round 7: a vote", 0.3))
    assert one == dataclasses.replace(one, column=1, purpose="Round 7: a vote", epsilon=0.3, n_clusters=1)
    leaf = LaplaceEvent("counts", 1.0, 2.0)
    # Three clusters, one record in one of them: paid once, by each of the three.
    (counts,) = rows(ParallelEvent("iteration 1", (SequenceEvent("one cluster", (leaf,)),) * 3))
    assert counts.epsilon == pytest.approx(0.5)
    replaced = LaplaceEvent("sums", 1.0, 2.0, calibrated_for=Adjacency.REPLACE)
    (sums,) = rows(SequenceEvent("iteration 1", (replaced,)))
    assert sums.epsilon == pytest.approx(0.5), "no doubling of what was calibrated for changed records"
