"""Figures on DPM's page, against brute force or a different library."""

import dataclasses
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.methods.dpm import algorithm as dpm
from dpviz.methods.dpm import charts as dpm_many
from dpviz.methods.dpm.algorithm.plan import FEW_SHARES
from dpviz.methods.dpm.cells import Cells
from dpviz.methods.dpm.charts import ManyCuts, again, comparison, heat, places, run_many, strips, tree_chart
from dpviz.metrics import adjusted_rand
from dpviz.plots import pack
from dpviz.solvers import lloyd, nonprivate_kmeans
from dpviz.stories import View
from dpviz.stories.view import Plane
from tests.stories.test_public_replay import worlds


@pytest.mark.parametrize("calibration", ["repaired", "published"])
@pytest.mark.parametrize("d", [1, 2, 5, 20, 100])
def test_the_spending_adds_up_to_epsilon(tell_dpm, d, calibration):
    """Repaired spends all of epsilon whatever was cut; published never more, as levels not reached are not spent."""
    for epsilon in (0.1, 1.0, 8.0):
        told = tell_dpm(d, n=400, calibration=calibration, epsilon=epsilon, n_levels=None)
        rows = told.spending()
        total = math.fsum(row.epsilon for row in rows)
        averages = [row.epsilon for row in rows if row.purpose == "Averages"]
        assert len(averages) == told.last.n_rounds
        bar = {row.column for row in rows if row.purpose == "Averages"}.pop()
        assert f" Bar {bar}: the averages" in told.spending_chart().caption
        assert averages == pytest.approx([told.last.budget.epsilon / told.last.n_rounds] * len(averages), rel=1e-9)
        if calibration == "repaired":
            assert total == pytest.approx(epsilon, rel=1e-12)
        else:
            assert total <= epsilon * (1.0 + 1e-12)
        by_level = {(row.column, row.purpose): row.epsilon for row in rows}
        for step in told.levels:
            assert by_level[step.level + 1, "Splits"] == step.epsilon_splits
            assert by_level[step.level + 1, "Counts"] == pytest.approx(step.epsilon_counts, rel=1e-12)


def test_given_shares_are_the_spending(tell_dpm):
    told = tell_dpm(2, shares=FEW_SHARES, epsilon=2.0, n_levels=1)
    spent = {}
    for row in told.spending():
        spent[row.purpose] = spent.get(row.purpose, 0.0) + row.epsilon
    for purpose, share in (
        ("Interval size", 0.04),
        ("Counts", 0.187),
        ("Gaps", 0.153),
        ("Splits", 0.40),
        ("Averages", 0.22),
    ):
        assert spent[purpose] == pytest.approx(2.0 * share, rel=1e-12)
    assert "Number of records" not in spent, "nothing has to follow it"


def test_the_yardstick_is_k_means(tell_dpm):
    unit = tell_dpm().unit
    run = nonprivate_kmeans(unit, 3)
    assert nonprivate_kmeans(unit, 3) is run, "found once, whatever ε is"
    again_from = lloyd(unit, run.nonprivate_centers)
    assert again_from.nonprivate_costs[-1] == pytest.approx(run.nonprivate_costs[-1], rel=1e-9), "it has converged"
    from sklearn.cluster import KMeans

    best = KMeans(3, n_init=10, random_state=0).fit(unit).inertia_
    assert run.nonprivate_costs[-1] <= 1.02 * best, "three clouds apart: every good start finds them"


@pytest.mark.parametrize("n", [0, 1, 2])
def test_the_yardstick_needs_no_records(n):
    run = nonprivate_kmeans(np.full((n, 2), 0.25), 5)
    assert run.nonprivate_centers.shape == (5, 2)
    assert run.nonprivate_costs[-1] == 0.0


def test_delta_says_where_it_comes_from(tell_dpm):
    """The other facts are held against oracles in tests/stories/test_facts.py."""

    def said(**options):
        return next(fact.value for fact in tell_dpm(**options).utility() if fact.label == "δ")

    assert re.fullmatch(r"[\d.]+ in a million \(whatever the noisy count\)", said())
    assert said(delta=1e-6) == "1 in a million, given"
    assert said(n_public=900) == "31.7 in a million (from the public count)"


def strips_of(told, axis=None):
    """Return the charts of the chosen node by name, along the feature that was cut unless another is named."""
    split = told.split(told.node)
    if split is None:
        return {}
    return dict(strips(split, told.cells, told.words, split.chosen[0] if axis is None else axis))


def test_every_node_says_what_became_of_it(tell_dpm):
    told = tell_dpm()
    tree = told.result.release.tree
    for node in range(len(tree.parents)):
        split = told.split(node)
        words = told.subsets.reason(node)
        if split is None:
            assert words.startswith("stopped: ")
        else:
            assert (words == "cut in two") == split.applied
            outcome = {"split": "cut in two", "both too small": "both sides"}
            outcome |= {"no clear gap": "no clear gap"}
            outcome |= {"left side too small": "side below", "right side too small": "side above"}
            assert outcome[split.outcome] in words


def test_strips_hold_the_trace_s_own_numbers(tell_dpm):
    told = tell_dpm()
    split = told.split(0)
    axis = split.chosen[0]
    charts = strips_of(told)
    for name, layer, values in (
        ("emptiness", "Emptiness", split.emptiness),
        ("score", "Score", split.score),
        ("chance", "Chance", split.probabilities),
    ):
        (bars,) = [one for one in charts[name].layers if one.name == layer]
        rect = bars.arrays["rect"][0]
        assert np.allclose((rect[:, 0] + rect[:, 2]) / 2.0, split.positions[axis][split.exists[axis]])
        assert np.allclose(rect[:, 3], values[axis][split.exists[axis]])
    (drawn,) = [one for one in charts["score"].layers if one.name == "Drawn cut"]
    assert drawn.arrays["xy"][0, 0, 0, 0] == pytest.approx(split.positions[split.chosen])
    other = 1 - axis
    (absent,) = [one for one in strips_of(told, other)["score"].layers if one.name == "Drawn cut"]
    assert np.isnan(absent.arrays["xy"][0, 0, :, 0]).all(), "the cut is along the other feature"
    law = split.probabilities
    said = {fact.label: fact.value for fact in told.node_facts()}
    assert said["Rank of the drawn cut"].startswith(f"{int((law > law[split.chosen]).sum()) + 1} of")
    assert law.sum() == pytest.approx(1.0)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(0, 40))
def test_no_two_nodes_of_a_tree_stand_on_one_place(seed, n_cuts):
    rng = np.random.default_rng(seed)
    children, levels = [[-1, -1]], [0]
    for _ in range(n_cuts):
        leaves = [i for i, pair in enumerate(children) if pair[0] < 0]
        node = leaves[rng.integers(len(leaves))]
        children[node] = [len(children), len(children) + 1]
        children += [[-1, -1], [-1, -1]]
        levels += [levels[node] + 1] * 2
    at = places(np.array(children), np.array(levels))
    assert len(np.unique(at, axis=0)) == len(at)
    for node, (below, above) in enumerate(children):
        if below >= 0:
            assert at[below, 0] < at[node, 0] < at[above, 0]


@pytest.mark.parametrize("view", [View(), View(2, 0), View(1, 3, z=2, yaw=-70.0, pitch=35.0)])
def test_cuts_and_cells_are_where_the_tree_has_them(tell_dpm, view):
    told = tell_dpm(5)
    plane = Plane.from_view(view, told.words)
    cells, cuts = told.cells, told.cells.drawn(Plane.from_view(view, told.words))
    for node in range(len(cells.axes)):
        axis = cells.axes[node]
        if axis not in plane.features:
            assert np.isnan(cuts[node]).all()
            continue
        others = [feature for feature in plane.features if feature != axis]
        wanted = []
        for corner in np.ndindex(*(2,) * len(others)):
            place = np.zeros(5)
            place[axis] = cells.positions[node]
            for feature, end in zip(others, corner, strict=True):
                place[feature] = (cells.low, cells.high)[end][node, feature]
            wanted.append(plane.projection(place))
        assert {tuple(np.round(xy, 9)) for xy in cuts[node]} == {tuple(np.round(xy, 9)) for xy in wanted}
    matrix = plane.projection.matrix
    assert np.allclose(matrix.T @ matrix, np.eye(2)), "lengths in the picture's plane are true"


def brute_again(told, many):
    """Count for each applied cut the runs in which it occurs again, one by one."""
    cells, found = told.cells, []
    for node in np.flatnonzero(cells.applied):
        runs = set()
        for run, axis, position, low, high in zip(
            many.runs, many.axes, many.positions, many.low, many.high, strict=True
        ):
            middle = (cells.low[node] + cells.high[node]) / 2.0
            holds = all(low[f] <= middle[f] <= high[f] for f in range(len(middle)) if f != axis)
            if axis == cells.axes[node] and abs(position - cells.positions[node]) <= dpm_many.NEAR and holds:
                runs.add(run)
        found.append(len(runs) / len(many.n_clusters))
    return found


@pytest.mark.parametrize("d", [1, 2, 5])
def test_stability_and_heat_are_those_of_a_brute_force(tell_dpm, d):
    told = tell_dpm(d)
    points = told.words.box.from_unit(told.unit)
    many = ManyCuts.joined([run_many(points, told.words.box, told.params, 6, (3, batch)) for batch in range(2)])
    assert many.n_clusters.shape == (12,)
    nodes, shares = again(told.cells, many)
    assert nodes == tuple(np.flatnonzero(told.cells.applied))
    assert shares == pytest.approx(brute_again(told, many))
    assert shares.max() > 0
    features = (0,) if d == 1 else (0, 1)
    drawn = heat(many, features)
    rng = np.random.default_rng(0)
    for _ in range(200):
        row, column = int(rng.integers(drawn.shape[0])), int(rng.integers(drawn.shape[1]))
        runs = set()
        for run, axis, position, low, high in zip(
            many.runs, many.axes, many.positions, many.low, many.high, strict=True
        ):
            at = int(position * dpm_many.SIDE)
            if d == 1:
                hit = axis == 0 and at == column
            elif axis == 0:
                hit = at == column and low[1] * dpm_many.SIDE < row + 1 and row < high[1] * dpm_many.SIDE
            else:
                hit = (
                    axis == 1 and at == row and low[0] * dpm_many.SIDE < column + 1 and column < high[0] * dpm_many.SIDE
                )
            if hit:
                runs.add(run)
        assert drawn[row, column] == pytest.approx(len(runs) / 12)


def test_many_runs_are_the_algorithms_own(tell_dpm):
    told = tell_dpm()
    box = told.words.box
    many = run_many(box.from_unit(told.unit), box, told.params, 3, (1, 2))
    for run, rng in enumerate(np.random.default_rng((1, 2)).spawn(3)):
        release = dpm.fit(box.from_unit(told.unit), box, told.params, rng=rng).release
        cells = Cells.from_tree(release.tree, box)
        assert many.n_clusters[run] == len(release.centers)
        assert np.array_equal(many.positions[many.runs == run], cells.positions[cells.applied])


@pytest.mark.parametrize("n", [0, 1, 2, 3, 900])
def test_the_comparison_works_for_any_number_of_records(tell_dpm, n):
    told = tell_dpm(n=n)
    points = told.words.box.from_unit(told.unit)
    found = comparison(
        points, told.words.box, told.last.nonprivate_labels, told.result.release.centers, np.arange(n) % 2
    )
    if n == 900:
        assert found["k-means"]["Cost"] == 1.0
        assert found["DPM"]["Cost"] == pytest.approx(told.cost_ratio, rel=0.05)
        classes = np.arange(n) % 2
        assert found["DPM"]["Adjusted Rand index"] == pytest.approx(adjusted_rand(told.last.nonprivate_labels, classes))


@pytest.mark.parametrize("calibration", ["repaired", "published"])
@pytest.mark.parametrize("node", [0, 1])
def test_all_that_is_said_of_a_subset_follows_from_the_release(calibration, node):
    one, other = (dataclasses.replace(told, chosen=node) for told in worlds("dpm", {"calibration": calibration}))
    trees = [pack(tree_chart(told.release, told.subsets, told.node)) for told in (one, other)]
    assert trees[0] == trees[1], "all of the tree is released"
    facts = [[fact for fact in told.node_facts() if fact.public] for told in (one, other)]
    assert facts[0] == facts[1]
    assert one.node_facts() != other.node_facts()
    assert all(chart.public().is_empty for chart in strips_of(one).values()), "scores are exact"
