"""Every method on one question: costs that an independent oracle confirms, and charts against percentiles by hand."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import pairwise_distances_argmin_min

from dpviz.core import Box
from dpviz.methods.convergent_kmeans.comparison import (
    METHODS,
    FamilyQuestion,
    MethodLedger,
    budget_chart,
    configure,
    path,
    run_many,
    spent,
    with_steps,
)
from dpviz.plots import Audience, Kind, Role
from dpviz.stories.charts import CostSpread, Curve, cost_by_epsilon, cost_by_iteration, curve_chart
from dpviz.stories.ledger import LedgerRow

BOX = Box.cube(-2.0, 3.0, 2)
STARTED = ("lloyd", "repaired", "past", "future", "blum", "dwork", "su")


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(3).normal([0.5, 0.5], 0.7, size=(300, 2))


def test_the_list_of_methods_holds_all_baselines_and_both_modes():
    modules = {configure(name, FamilyQuestion(3, 1.0, n_steps=4))[0].fit for name in METHODS}
    assert len(modules) == len(METHODS) - 2  # one module has three of them


@pytest.mark.parametrize("method", METHODS)
def test_costs_are_those_of_the_released_path(points, method):
    question = FamilyQuestion(3, 1.0, n_steps=4, start_seed=1)
    runs = run_many(points, BOX, method, question, n_runs=3, seed=7)
    module, params = configure(method, question)
    unit = BOX.to_unit(BOX.clip(points))
    for i, stream in enumerate(np.random.SeedSequence(7).spawn(3)):
        result = module.fit(points, BOX, params, rng=np.random.default_rng(stream))
        wanted = [
            np.mean(pairwise_distances_argmin_min(unit, centers)[1] ** 2)
            for centers in path(result, BOX)
            if np.isfinite(centers).all()
        ]
        found = runs.nonprivate_costs[i]
        np.testing.assert_allclose(found[np.isfinite(found)], wanted, rtol=1e-9)
        assert runs.nonprivate_final[i] == pytest.approx(wanted[-1])
        assert runs.spent[i] == pytest.approx(spent(result))
        assert runs.n_iterations[i] == len(path(result, BOX)) - 1


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_bits_and_another_does_not(points, method):
    question = FamilyQuestion(3, 1.0, n_steps=4, start_seed=1)
    one, again, other = (run_many(points, BOX, method, question, n_runs=4, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.nonprivate_costs, again.nonprivate_costs)
    assert np.array_equal(one.nonprivate_final, other.nonprivate_final) == (method == "lloyd")
    assert (len(set(one.nonprivate_final)) == 1) == (method == "lloyd")


def test_lloyd_type_methods_start_from_the_same_centers_in_every_run(points):
    question = FamilyQuestion(4, 1.0, n_steps=5)  # no start seed: each run draws its own start
    first = [run_many(points, BOX, name, question, n_runs=3, seed=0).nonprivate_costs[:, 0] for name in STARTED]
    for costs in first[1:]:
        np.testing.assert_allclose(costs, first[0], rtol=1e-12)
    assert len(set(np.round(first[0], 9))) == 3


@given(
    epsilon=st.floats(0.01, 50), n_steps=st.integers(1, 60), k=st.integers(1, 8), method=st.sampled_from(list(METHODS))
)
@settings(max_examples=60, deadline=None)
def test_both_axes_of_the_comparison_spend_what_they_say(epsilon, n_steps, k, method):
    """Equal totals: everybody has epsilon. Equal steps: the published method has it n_steps + 1 times, so all do."""
    total = FamilyQuestion(k, epsilon, "total", n_steps)
    step = FamilyQuestion(k, epsilon, "step", n_steps)
    for question, all_in_all in ((total, epsilon), (step, epsilon * (n_steps + 1))):
        _, params = configure(method, question)
        if method in ("past", "future"):
            spends = params.epsilon_per_iteration * n_steps + params.epsilon_counts
        elif method == "lloyd":
            assert not hasattr(params, "epsilon")
            continue
        else:
            spends = params.epsilon
        assert math.isclose(spends, all_in_all, rel_tol=1e-12)


def test_a_number_of_steps_that_was_not_given_is_lloyds(points):
    question = with_steps(points, BOX, FamilyQuestion(3, 1.0, start_seed=1), rng=np.random.default_rng(0))
    module, params = configure("lloyd", question)
    assert question.n_steps == len(module.fit(points, BOX, params, rng=np.random.default_rng(5)).trace)
    runs = run_many(points, BOX, "past", FamilyQuestion(3, 1.0, start_seed=1), n_runs=1, seed=0)
    assert runs.question == question
    with pytest.raises(ValueError, match="n_steps was None"):
        _ = FamilyQuestion(3, 1.0).epsilon_step


def test_a_run_that_has_stopped_keeps_its_last_cost(points):
    runs = run_many(points, BOX, "past", FamilyQuestion(3, 1.0, n_steps=4, start_seed=1), n_runs=12, seed=0)
    assert len(set(runs.n_iterations)) > 1  # else the test shows nothing
    held = runs.nonprivate_lasting
    assert np.isfinite(held).all()
    np.testing.assert_array_equal(held[:, -1], runs.nonprivate_final)
    there = np.isfinite(runs.nonprivate_costs)
    np.testing.assert_array_equal(held[there], runs.nonprivate_costs[there])


def test_options_reach_their_method_and_no_other():
    options = (("su", "n_iterations", 9), ("eugkm", "cells_per_axis", 4))
    question = FamilyQuestion(3, 1.0, n_steps=2, options=options)
    assert configure("su", question)[1].n_iterations == 9
    assert configure("blum", question)[1].n_iterations is None
    assert configure("eugkm", question)[1].cells_per_axis == 4


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("method", METHODS)
def test_hardly_any_records_are_no_error(method, n):
    runs = run_many(np.zeros((n, 2)), BOX, method, FamilyQuestion(3, 1.0, start_seed=0), n_runs=2, seed=0)
    assert np.isfinite(runs.nonprivate_final).all()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epsilon": 0.0}, "epsilon was 0.0"),
        ({"epsilon": float("nan")}, "epsilon was nan"),
        ({"spend": "both"}, "spend was 'both'"),
        ({"n_steps": 0}, "n_steps was 0"),
    ],
)
def test_a_question_that_makes_no_sense_says_so(values, message):
    with pytest.raises(ValueError, match=message):
        FamilyQuestion(**{"n_clusters": 3, "epsilon": 1.0, **values})


def test_a_method_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="method was 'kmeans', but it must be one of lloyd"):
        configure("kmeans", FamilyQuestion(3, 1.0, n_steps=1))


def spread(name="a", values=((2.0, 1.5, 1.0), (4.0, 1.2, 1.1)), x=(0.0, 1.0, 2.0), **options):
    return CostSpread(name, f"Method {name}", 3, np.array(x), np.array(values, dtype=float), **options)


def layer(scene, name, kind):
    (found,) = [each for each in scene.layers if each.name == name and each.kind is kind]
    return found


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_lines_are_medians_and_bands_the_middle_ninety_percent(data):
    n_runs, n_points = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 6))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    values, floor = rng.uniform(0.1, 9.0, (n_runs, n_points)), 0.7
    chart = cost_by_iteration([spread(values=values, x=np.arange(n_points))], floor, longest=5.0)
    line = layer(chart, "Method a", Kind.LINES).arrays["xy"][0, 0]
    band = layer(chart, "Method a", Kind.BANDS).arrays["edges"][0, 0]
    logs = np.log10(np.maximum(values / floor, 1.0))  # nothing is better than without privacy
    np.testing.assert_allclose(line[:, 1], np.median(logs, axis=0))
    np.testing.assert_allclose(band[:, 1:], np.percentile(logs, [5, 95], axis=0).T)
    np.testing.assert_array_equal(line[:, 0], np.arange(n_points))


def test_iterations_that_no_run_has_break_the_line():
    chart = cost_by_iteration([spread(values=((np.nan, 2.0, 1.0), (np.nan, 3.0, 1.0)))], 1.0, longest=2.0)
    line = layer(chart, "Method a", Kind.LINES).arrays["xy"][0, 0, :, 1]
    assert np.isnan(line[0])
    assert np.isfinite(line[1:]).all()


def test_epsilon_is_drawn_on_a_logarithmic_axis_with_a_rule_where_it_stands():
    chart = cost_by_epsilon([spread(x=(0.1, 1.0, 10.0))], 1.0, epsilon=2.0, label="ε")
    assert chart.x.log
    assert chart.y.log
    np.testing.assert_allclose(layer(chart, "Method a", Kind.LINES).arrays["xy"][0, 0, :, 0], [-1, 0, 1])
    assert layer(chart, "Now", Kind.CURSOR).arrays["x"][0] == pytest.approx(np.log10(2.0))


def test_the_chosen_line_is_thick_a_click_reports_its_key_and_lloyd_is_gray():
    chart = cost_by_iteration([spread("a"), spread("b"), spread("lloyd", exact=True)], 1.0, longest=3.0, chosen="b")
    lines = {each.pick: each for each in chart.layers if each.pick}
    assert set(lines) == {"a", "b", "lloyd"}
    assert lines["b"].size > lines["a"].size
    assert (lines["lloyd"].role, lines["lloyd"].dash) == (Role.EXACT, True)


def test_costs_are_the_curators_and_their_axes_too():
    for chart in (
        cost_by_iteration([spread()], 1.0, longest=3.0),
        cost_by_epsilon([spread(x=(0.1, 1.0, 10.0))], 1.0, epsilon=1.0, label="ε"),
    ):
        assert {each.audience for each in chart.layers} == {Audience.CURATOR}
        assert chart.public().layers == ()
        assert chart.public().y.label == ""


@pytest.mark.parametrize("floor", [0.0, 1e-300, 1e300])
def test_any_cost_of_lloyd_leaves_a_finite_picture(floor):
    chart = cost_by_iteration([spread(), spread("b", values=((0.0, 0.0, 0.0),))], floor, longest=3.0)
    assert np.isfinite(chart.y.view).all()
    for each in chart.layers:
        for array in each.arrays.values():
            assert np.isfinite(array).all()


def test_public_curves_keep_their_colors_and_their_view_holds_them():
    curve = Curve("a", 4, np.array([-1.0, 0.0]), np.array([0.1, 0.2]), np.array([0.2, 0.3]), np.array([0.5, np.nan]))
    chart = curve_chart("title", [curve], x="ε", y="gap", caption="")
    assert all(each.hue == 4 for each in chart.layers)
    assert chart.public().layers == chart.layers
    assert chart.y.view[0] < 0.1
    assert chart.y.view[1] > 0.5


ROWS = (
    LedgerRow(0, "Number of records", 0.02, 1),
    LedgerRow(1, "Sums", 0.3, 5),
    LedgerRow(1, "Counts", 0.1, 5),
    LedgerRow(2, "Sums", 0.4, 5),
)


def rects(chart, proved=True):
    role = Role.RELEASED if proved else Role.VIOLATION
    return [rect for each in chart.layers if each.role is role for rect in each.arrays["rect"][0]]


def test_bars_have_one_scale_and_stand_in_their_methods_lane():
    chart = budget_chart([MethodLedger("A", ROWS, True), MethodLedger("B", (LedgerRow(1, "Cells", 0.8, 1),), True)])
    assert chart.y.names == ("B", "A")  # the first one on top
    heights = {}
    for x0, y0, _, y1 in rects(chart):
        heights.setdefault((int(y0 + 1e-9), round(x0 + 0.36)), []).append(y1 - y0)
    totals = {place: sum(parts) for place, parts in heights.items()}
    unit = totals[(0, 1)] / 0.8  # B's only bar
    expected = {(0, 1): 0.8, (1, 0): 0.02, (1, 1): 0.4, (1, 2): 0.4}
    assert totals == pytest.approx({place: unit * epsilon for place, epsilon in expected.items()})
    assert max(totals.values()) < 1.0  # no lane reaches into the next


def test_what_is_only_claimed_is_red_and_says_for_how_many_clusters():
    chart = budget_chart([MethodLedger("A", ROWS, True), MethodLedger("B", ROWS, False)])
    assert len(rects(chart)) == len(rects(chart, proved=False)) == len(ROWS)
    names = [name for each in chart.layers for name in each.names]
    assert "A, iteration 1: Sums, ε = 0.3 for each of 5 clusters" in names
    assert "B, before: Number of records, ε = 0.02" in names
    assert chart.public().layers == chart.layers


def test_a_budget_without_end_has_no_bars():
    endless = tuple(dataclasses.replace(row, epsilon=np.inf) for row in ROWS)
    chart = budget_chart([MethodLedger("A", endless, False), MethodLedger("B", ROWS, True)])
    assert chart.y.names == ("B",)
    assert budget_chart([]).layers == ()
