"""Charts of many runs: what is drawn against percentiles by hand, and what nobody but the curator may see."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.methods.convergent_kmeans.story.budget_chart import MethodLedger, budget_chart
from dpviz.plots import Audience, Kind, Role
from dpviz.stories.curves import Curve, curve_chart
from dpviz.stories.family_charts import CostSpread, cost_by_epsilon, cost_by_iteration
from dpviz.stories.ledger import LedgerRow


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
    logs = np.log10(values / floor)
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


def test_the_chosen_line_is_thick_a_click_reports_its_key_and_lloyd_is_grey():
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
