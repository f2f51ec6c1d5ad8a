"""The family's pictures: every mark against its step, by hand; spending adds up to the proved sum."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.accounting import LaplaceEvent, ParallelEvent, PureEvent, SequenceEvent
from dpviz.baselines import CATALOGUE
from dpviz.core import Adjacency, Box
from dpviz.methods.convergent_kmeans.family import METHODS, RUNS, TERMS, EUGkMRun, FamilyRun
from dpviz.methods.convergent_kmeans.layers import PIXELS, shaded
from dpviz.plots import Audience, Kind, Role, pack
from dpviz.solvers.grids import CellGrid, even_grid
from dpviz.stories import View, Words
from dpviz.stories.ground_layers import MOST_COLORED, MOST_DRAWN, NO_GROUP, WIDEST, noise_length, sample
from dpviz.stories.panel import ceiled
from dpviz.stories.spending import adjacency_of, list_spending
from dpviz.stories.view import project
from tests.stories.marks import NOISY, SETTINGS, brute_cost, brute_labels, by_hand, chart_of, named, same, shown

NAMES = sorted(set(CATALOGUE) & set(METHODS))
PRIVATE = sorted(set(CATALOGUE) & set(METHODS) - {"lloyd"})
# The others have the default picture of released centers.
PICTURED = [name for name in NAMES if issubclass(RUNS[name], FamilyRun | EUGkMRun)]
ADJACENCIES = ("add_remove", "replace")


@pytest.mark.parametrize("name", PICTURED)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_every_layer_fits_the_frames(tell_family, show, name, d):
    told = tell_family(name, d)
    for view in [View(), View(principal=True)] if d > 2 else [View()]:
        drawn = show(told, view)
        chart = chart_of(told, "cost")
        (cursor,) = [layer for layer in chart.layers if layer.kind is Kind.CURSOR]
        assert chart.frames == drawn.frames
        assert len(cursor.arrays["x"]) == len(drawn.frames)
        assert (np.diff(cursor.arrays["x"]) >= 0).all()
        assert 0 <= drawn.start_frame < len(drawn.frames)
        assert drawn.frames[-1].label == "Release"
        assert len({frame.label for frame in drawn.frames}) == len(drawn.frames)
        assert all(frame.detail for frame in drawn.frames)
        assert len(drawn.group_names) == told.params.n_clusters
        for layer in drawn.layers:
            assert layer.rows.shape == (len(drawn.frames),), layer.name
            assert (layer.rows >= 0).any(), layer.name
            for array in layer.arrays.values():
                assert len(array) > layer.rows.max() or (layer.kind is Kind.POINTS and len(array) == 1), layer.name


@pytest.mark.parametrize("name", PICTURED)
@pytest.mark.parametrize(("d", "view"), SETTINGS)
def test_the_release_frame_shows_release_and_lloyds(tell_family, show, name, d, view):
    told = tell_family(name, d)
    layers = named(show(told, view))
    unit = told.words.box.to_unit(told.result.release.centers)
    final = "exact center" if name == "lloyd" else "released center"
    same(shown(layers[final], -1), by_hand(unit, view, d))
    same(shown(layers["center without privacy"], -1), by_hand(told.reference.nonprivate_centers, view, d))
    assert np.array_equal(shown(layers["person"], -1, "group"), brute_labels(told.unit, unit))
    assert (shown(layers["person"], 0, "group") == NO_GROUP).all()
    if name == "eugkm":
        exact = shown(layers["true average"], -1)
        labels = brute_labels(told.unit, unit)
        for i in np.unique(labels):
            same(exact[i], by_hand(told.unit[labels == i].mean(axis=0), view, d))
    elif name in NOISY:
        same(shown(layers["true average"], -1), by_hand(told.result.trace[-1].nonprivate_mean, view, d))


@pytest.mark.parametrize(("d", "view"), [(1, View()), (2, View()), (5, View(3, 1)), (5, View(principal=True))])
def test_the_circles_radius_is_the_noises_length_in_the_plane(d, view):
    rng = np.random.default_rng([3, d])
    n, scale = 200_000, 0.7
    box = Box.cube(0.0, 1.0, d)
    words = Words("w", box, ("f",) * d, ("",) * d)
    plane = project(view, words, rng.random((50, d)) @ np.diag(1.0 + np.arange(d)))
    noise = plane(rng.laplace(scale=scale, size=(n, d))) - plane(np.zeros(d))
    squares = (noise**2).sum(axis=1)
    # Six standard errors of the mean of n squared lengths, their spread estimated from the sample.
    slack = 6 * squares.std() / math.sqrt(n)
    assert abs(squares.mean() - noise_length(np.array(scale), d) ** 2) <= slack
    wrong = 1.0 if d == 1 else math.sqrt(2.0)  # one scale, or one axis of two
    assert abs(squares.mean() - (wrong * scale) ** 2) > slack


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("name", PICTURED)
def test_the_cost_chart_shows_exact_costs_beside_lloyds(tell_family, name, d):
    told = tell_family(name, d)
    chart = chart_of(told, "cost")
    curves = {layer.name: layer.arrays["xy"][0, 0] for layer in chart.layers if layer.kind is Kind.LINES}
    ours = curves["This run"][np.isfinite(curves["This run"][:, 1])]
    assert ours[-1, 1] == pytest.approx(brute_cost(told.unit, told.final), rel=1e-9)
    assert curves["Lloyd, no privacy"][: told.reference.n_iterations + 1, 1] == pytest.approx(
        told.reference.nonprivate_costs / len(told.unit), rel=1e-9
    )
    if name in (*NOISY, "lloyd"):  # those that start where Lloyd's run does
        assert ours[0] == pytest.approx(curves["Lloyd, no privacy"][0], rel=1e-9)
    if name == "lloyd":
        assert ours[:, 1] == pytest.approx(curves["Lloyd, no privacy"][: len(ours), 1], rel=1e-9)
    assert not chart.axes_public


def test_lloyds_run_starts_where_the_method_does(tell_family):
    ends = {name: tell_family(name).reference.nonprivate_costs[-1] for name in PICTURED}
    assert list(ends.values()) == pytest.approx([ends["lloyd"]] * len(PICTURED), rel=1e-9), "one public start for all"
    centers = {tell_family(name).reference.nonprivate_centers.tobytes() for name in PICTURED}
    assert len(centers) == 1, "and in one order: a page keeps one run for all methods"
    keys = {RUNS[name].reference_key(tell_family(name).params, None) for name in PICTURED}
    assert keys == {(4, "packing", 0)}
    assert {RUNS[name].reference_group for name in PICTURED} == {FamilyRun.reference_group}
    told = tell_family("eugkm", start_seed=3)
    points = told.words.box.from_unit(told.unit)
    unseeded = dataclasses.replace(told.params, start_seed=None)
    other = EUGkMRun.find_reference(points, told.words, told.result, unseeded)
    assert other.nonprivate_costs[0] == pytest.approx(tell_family("eugkm").reference.nonprivate_costs[0])
    assert other.nonprivate_costs[0] != pytest.approx(told.reference.nonprivate_costs[0])


@pytest.mark.parametrize(
    ("n", "k"), [(0, 30), (2, 1), *(pytest.param(*x, marks=pytest.mark.slow) for x in ((0, 1), (2, 30)))]
)
@pytest.mark.parametrize("name", PICTURED)
def test_hardly_any_records_and_many_clusters_are_drawn(tell_family, show, name, k, n):
    for d in (1, 2, 5):
        told = tell_family(name, d, n=n, n_clusters=k)
        for view in [View(), View(principal=True)] if d > 2 else [View()]:
            drawn = show(told, view)
            assert pack(drawn)
            assert pack(drawn.public())
        assert pack(chart_of(told, "cost"))
        assert pack(chart_of(told, "spending"))
        for text in (told.finding().curator, *(fact.value for fact in told.utility())):
            assert "nan" not in text


def run_of(name, points, high, n_clusters):
    """Run a method on `points` (n, d) in [0, high]^d."""
    method, box, kind = CATALOGUE[name], Box.cube(0.0, high, points.shape[1]), RUNS[name]
    words = Words("w", box, ("f",) * box.d, ("",) * box.d)
    params = method.Params(n_clusters=n_clusters, start_seed=1)
    result = method.fit(points, box, params, rng=np.random.default_rng(0))
    return kind.from_result(result, params, points, words, kind.find_reference(points, words, result, params))


@pytest.mark.parametrize("name", PICTURED)
def test_a_photograph_is_recolored(name):
    points = np.random.default_rng(0).integers(0, 256, (6 * 5, 3)).astype(float)
    told = run_of(name, points, 255.0, 3)
    image, centers = told.recolored((6, 5, 3)), told.release.centers
    assert image.shape == (6, 5, 3)
    assert image.dtype == np.uint8
    assert np.array_equal(image.reshape(-1, 3), np.clip(np.rint(centers), 0, 255)[brute_labels(points, centers)])


@pytest.mark.parametrize("name", PICTURED)
def test_words_are_explained_once_and_box_from_the_data_is_red(tell_family, show, name):
    told = tell_family(name)
    assert len({term for term, _ in TERMS}) == len(TERMS)
    unsafe = dataclasses.replace(told, words=dataclasses.replace(told.words, box_public=False))
    layers = named(show(unsafe))
    assert layers["bounds from the data"].audience is Audience.CURATOR


def test_a_changed_record_has_its_own_words(tell_family):
    added, replaced = (tell_family("blum", epsilon=1.0, adjacency=name) for name in ("add_remove", "replace"))
    assert [fact.value for fact in added.risk()] == ["at most 89 in 100"]
    assert replaced.risk() == (), "the odds beside the slider are about just that"


def test_too_many_clusters_are_refused(tell, tell_family):
    for run in (tell(), tell_family("dplloyd")):
        points = run.words.box.from_unit(run.unit)
        release = dataclasses.replace(run.release, centers=np.zeros((251, 2)))
        result = dataclasses.replace(run.result, release=release)
        with pytest.raises(ValueError, match="n_clusters must be at most 250 in a picture, got 251"):
            type(run).from_result(result, run.params, points, run.words, run.reference)


@given(st.integers(0, 10**7), st.integers(1, 1000))
def test_few_enough_records_are_drawn(n, rows):
    drawn = sample(n, rows)
    assert len(drawn) == min(n, MOST_DRAWN, MOST_COLORED // rows)
    if len(drawn):
        steps = np.diff([*drawn, n])
        assert drawn[0] == 0
        assert steps.min() >= 1
        assert steps.max() - steps.min() <= 1, "evenly spread"


@pytest.mark.parametrize("name", [*NOISY, "lloyd"])
@pytest.mark.parametrize(("d", "view"), SETTINGS)
def test_lloyds_moves_stand_where_their_steps_were(tell_family, show, name, d, view):
    told = tell_family(name, d)
    layers, trace = named(show(told, view)), told.result.trace
    phases = ("assign", "mean") if name == "lloyd" else ("assign", "mean", "noise")
    assert len(show(told).frames) == len(phases) * len(trace) + 2
    for t, step in enumerate(trace):
        first = 1 + len(phases) * t
        at = dict(zip(phases, range(first, first + len(phases)), strict=True))
        assert all(np.array_equal(shown(layers["person"], f, "group"), step.nonprivate_labels) for f in at.values())
        same(shown(layers["exact move"], at["mean"], "tail"), by_hand(step.previous_centers, view, d))
        same(shown(layers["exact move"], at["mean"], "head"), by_hand(step.nonprivate_mean, view, d))
        same(shown(layers["center"], at[phases[-1]]), by_hand(step.released_centers, view, d))
        waiting = shown(layers["center"], at["assign"])
        assert waiting is None if t == 0 else np.allclose(waiting, by_hand(step.previous_centers, view, d))
        if name != "lloyd":
            ends = shown(layers["noise"], at["noise"], "ends")
            same(ends[:, :2], by_hand(step.nonprivate_mean, view, d))
            same(ends[:, 2:], by_hand(step.released_centers, view, d))
            assert shown(layers["noise"], at["mean"], "ends") is None
    path = [told.result.release.start, *told.result.release.path]
    same(layers["path"].arrays["xy"], by_hand(np.stack(path), view, d))
    if d == 2:
        assert np.isfinite(shown(layers["border"], -1, "ends")).any()


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [0.3, 5.0])
@pytest.mark.parametrize("name", NOISY)
def test_likely_errors_follow_scale_and_noisy_count(tell_family, show, name, epsilon, d):
    told = tell_family(name, d, epsilon=epsilon)
    layers, trace = named(show(told)), told.result.trace
    for t, step in enumerate(trace):
        last = t == len(trace) - 1
        layer = layers.get("likely error" if last else "likely error on the way")
        radius = np.full(4, np.nan) if layer is None else shown(layer, 3 * t + 3, "radius")
        for i, count in enumerate(step.noisy_counts):
            # A sum of x - 1/2 moves by 1/2, a count moves a center by its way from the middle; a count below two noise
            # scales or below 1 looks empty.
            sums, counts = 0.5 / step.epsilon_sums / max(count, 1.0), 1.0 / step.epsilon_counts / max(count, 1.0)
            away = np.linalg.norm((step.released_centers[i] - 0.5)[:2])
            wide = math.hypot((math.sqrt(2) if d == 1 else 2.0) * sums, math.sqrt(2) * counts * away)
            stayed = count < max(1.0, 2.0 / step.epsilon_counts)
            if stayed or wide >= WIDEST:
                assert np.isnan(radius[i])
                if stayed:
                    assert np.array_equal(step.released_centers[i], step.previous_centers[i])
            else:
                assert radius[i] == pytest.approx(wide, rel=1e-9)
    if "likely error" in layers:
        assert layers["likely error"].audience is Audience.NOISE
        assert layers["likely error"].rows[-1] == 0
    else:
        assert (name, epsilon) != ("dplloyd", 5.0), "there is noise to be seen, unless it is everywhere"


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(0, 10**6))
def test_equal_cells_are_summed_over_the_other_axes(shape, seed):
    counts, grid = np.random.default_rng(seed).standard_normal(math.prod(shape)), even_grid(tuple(shape))
    low, high = grid.walls()
    whole = counts.reshape(shape)
    for x in range(len(shape)):
        others = tuple(i for i in range(len(shape)) if i != x)
        assert shaded(counts, low[:, [x]], high[:, [x]]) == pytest.approx(whole.sum(axis=others)[None], abs=1e-12)
    for x, y in itertools.permutations(range(len(shape)), 2):
        others = tuple(i for i in range(len(shape)) if i not in (x, y))
        wanted = whole.sum(axis=others)  # rows by the lower axis
        found = shaded(counts, low[:, [x, y]], high[:, [x, y]])
        assert found == pytest.approx(wanted.T if x < y else wanted, abs=1e-12)


@given(st.integers(1, 3), st.integers(0, 10**6))
def test_unequal_cells_are_shaded_where_they_are_and_none_is_lost(d, seed):
    rng = np.random.default_rng(seed)
    edges = tuple(np.sort(np.concatenate([[0.0, 1.0], rng.random(4)])) for _ in range(d))
    grid = CellGrid(edges, tuple((each[1:] + each[:-1]) / 2.0 for each in edges))
    low, high = grid.walls()
    counts = rng.standard_normal(len(low))
    drawn = shaded(counts, low[:, :2], high[:, :2])
    assert drawn.shape == ((PIXELS, PIXELS) if d > 1 else (1, PIXELS))
    assert drawn.sum() == pytest.approx(counts.sum(), abs=1e-9)
    if d == 2:
        sizes = np.multiply.outer(*(np.histogram((np.arange(PIXELS) + 0.5) / PIXELS, each)[0] for each in edges))
        if (sizes > 0).all():  # the middle of a pixel is in one cell
            places = [np.searchsorted(each[1:-1], (np.arange(PIXELS) + 0.5) / PIXELS, side="right") for each in edges]
            wanted = (counts.reshape(5, 5) / sizes)[places[0]][:, places[1]].T
            assert drawn == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize(("d", "view"), [(1, View()), (2, View()), (3, View(2, 0))])
def test_the_grid_is_shaded_by_its_counts(tell_family, show, d, view):
    told = tell_family("eugkm", d, epsilon=0.5, grid="even")
    layers, release = named(show(told, view)), told.result.release
    noisy = release.noisy_cell_counts.reshape(release.grid.shape)
    exact = np.zeros(release.grid.shape)
    for record in told.unit:
        exact[tuple(min(int(x * m), m - 1) for x, m in zip(record, release.grid.shape, strict=True))] += 1
    if d == 3:
        noisy, exact = noisy.sum(axis=1), exact.sum(axis=1)  # axes 0 and 2: 2 is across, 0 is up
    elif d == 2:
        noisy, exact = noisy.T, exact.T
    else:
        noisy, exact = noisy[None], exact[None]
    highest = np.abs(noisy).max()
    for name, counts, frame in (("exact count", exact, 1), ("noisy count", noisy, 2), ("count below zero", -noisy, 2)):
        layer = layers[name]
        wanted = 255 * np.sqrt(np.clip(counts / highest, 0, 1))
        found = shown(layer, frame, "value")[0].astype(float)
        assert found.shape == wanted.shape
        assert np.abs(found - wanted).max() <= 0.5 + 1e-9
        assert shown(layer, 0, "value") is None
        assert np.array_equal(layer.arrays["rect"], [[[0, 0, 1, 1]]])
    assert (shown(layers["count below zero"], 2, "value") > 0).any(), "noise below zero is there to be seen"
    assert layers["exact count"].rows[2] == -1
    assert layers["exact count"].audience is Audience.CURATOR
    assert layers["noisy count"].rows[-1] == 0


@pytest.mark.parametrize("grid", ["fitted", "nested"])
def test_unequal_cells_are_walled_where_they_meet(tell_family, show, grid):
    told = tell_family("eugkm", 2, epsilon=20.0, grid=grid)
    layers, release = named(show(told)), told.result.release
    low, high = release.grid.walls()
    walls = layers["cell"].arrays["ends"][0]
    assert (walls[:, :2] != walls[:, 2:]).sum(axis=1).tolist() == [1] * len(walls)  # upright or flat
    wanted = {(*corner, corner[0], top[1]) for corner, top in zip(low.tolist(), high.tolist(), strict=True)}
    wanted |= {(*corner, top[0], corner[1]) for corner, top in zip(low.tolist(), high.tolist(), strict=True)}
    assert {tuple(wall) for wall in walls.tolist()} == {w for w in wanted if w[0] + w[2] > 0 and w[1] + w[3] > 0}
    drawn = shaded(release.noisy_cell_counts, low, high)
    found = shown(layers["noisy count"], 2, "value")[0].astype(float)
    assert np.abs(found - 255 * np.sqrt(np.clip(drawn / np.abs(drawn).max(), 0, 1))).max() <= 0.5 + 1e-9


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_grids_kmeans_is_shown_from_its_start_to_its_end(tell_family, show, d):
    told = tell_family("eugkm", d)
    layer = named(show(told))["center"]
    stops = [shown(layer, frame) for frame in range(3, 8)]
    same(stops[0], by_hand(told.result.trace[0].previous_centers, View(), d))
    same(stops[-1], by_hand(told.result.trace[-1].released_centers, View(), d))
    path = [told.result.trace[0].previous_centers, *(step.released_centers for step in told.result.trace)]
    places = [next(i for i, c in enumerate(path) if np.allclose(by_hand(c, View(), d), stop)) for stop in stops]
    assert places == sorted(places)


def total(rows):
    return math.fsum(row.epsilon for row in rows)


# Dimension and adjacency take turns: test_sensitivity adds up the events of every mode. EUGkM's grid has few axes.
SPENT = [
    (name, *((20, 0.05) if i % 2 and name != "eugkm" else (2, 1.0)), ADJACENCIES[i // 2 % 2])
    for i, name in enumerate(PRIVATE)
]


@pytest.mark.parametrize(("name", "d", "epsilon", "adjacency"), SPENT)
def test_the_rows_add_up_to_what_is_proved(tell_family, name, epsilon, d, adjacency):
    told = tell_family(name, d, n=60, epsilon=epsilon, adjacency=adjacency)
    proved = told.result.guarantee.proved
    rows = list_spending(told.result, delta=proved.delta)
    assert total(rows) == pytest.approx(proved.epsilon, rel=1e-12)
    assert adjacency_of(told.result.events) is proved.adjacency
    # Spending without one of its rows, or under the other adjacency, fails.
    assert all(total(rows[:i] + rows[i + 1 :]) != pytest.approx(proved.epsilon, rel=1e-12) for i in range(len(rows)))
    drawn = [rect for layer in chart_of(told, "spending").layers for rect in layer.arrays["rect"][0]]
    assert math.fsum(top - low for _, low, _, top in drawn) == pytest.approx(proved.epsilon, rel=1e-12)
    assert f"Adds up to ε = {ceiled(proved.epsilon)}" in chart_of(told, "spending").caption


def columns(rows, purpose):
    return {row.column: row.epsilon for row in rows if row.purpose == purpose}


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_blum_spends_evenly_and_dwork_halves(tell_family, d, adjacency):
    for name, spent in (("blum", [0.4] * 5), ("dwork", [1.0, 0.5, 0.25, 0.125, 0.0625])):
        rows = list_spending(tell_family(name, d, epsilon=2.0, adjacency=adjacency).result)
        counts, sums = columns(rows, "Counts"), columns(rows, "Sums")
        assert list(counts) == list(sums) == [1, 2, 3, 4, 5]
        # One noise scale for count and centered sums: the count is 1 of the L1 sensitivity 1 + d/2.
        assert list(counts.values()) == pytest.approx([e / (1 + d / 2) for e in spent], rel=1e-12)
        assert list(sums.values()) == pytest.approx([e * d / (2 + d) for e in spent], rel=1e-12)
        assert {row.n_clusters for row in rows} == {4}


@pytest.mark.parametrize("d", [1, 2, 5])
def test_su_splits_by_the_error_each_part_causes(tell_family, d):
    told = tell_family("dplloyd", d, epsilon=2.0)
    rows = list_spending(told.result)
    n_steps, weight = len(told.result.trace), (4 * d * 0.225**2) ** (1 / 3)
    assert columns(rows, "Number of records") == pytest.approx({0: 0.04})
    each = 1.96 / n_steps
    assert columns(rows, "Counts") == pytest.approx(dict.fromkeys(range(1, n_steps + 1), each * weight / (d + weight)))
    assert columns(rows, "Sums") == pytest.approx(dict.fromkeys(range(1, n_steps + 1), each * d / (d + weight)))
    assert [row.n_clusters for row in rows if row.column == 0] == [1]


def test_the_others_spend_at_once_or_by_rounds(tell_family):
    for name, purpose in (("eugkm", "Cells"), ("gupt", "Mean of the blocks")):
        even = {"grid": "even"} if name == "eugkm" else {}
        rows = list_spending(tell_family(name, epsilon=2.0, **even).result)
        kinds = [(row.column, row.purpose, row.n_clusters) for row in rows]
        assert kinds == [(1, purpose, 1), (0, "Number of records", 1)]
        assert [row.epsilon for row in rows] == pytest.approx([1.96, 0.04])
        public = list_spending(tell_family(name, epsilon=2.0, n_public=300, **even).result)
        assert [(row.column, row.epsilon) for row in public] == [(1, pytest.approx(2.0))]
    fitted = {row.purpose: row.epsilon for row in list_spending(tell_family("eugkm", epsilon=2.0, n_public=300).result)}
    assert fitted == pytest.approx({"Marginals": 0.4, "Cells": 1.6})
    rounds = list_spending(tell_family("privgene", epsilon=2.0, n_rounds=4).result)
    assert [row.column for row in rounds] == [1, 2, 3, 4]
    assert [row.epsilon for row in rounds] == pytest.approx([0.5] * 4)


def test_without_privacy_there_is_one_row_and_no_bar(tell_family):
    for d, n in ((1, 300), (2, 30), (5, 300)):
        told = tell_family("lloyd", d, n=n)
        (row,) = list_spending(told.result)
        assert (row.column, row.epsilon) == (1, math.inf)
        assert chart_of(told, "spending").is_empty
        assert "No limit" in chart_of(told, "spending").caption


@pytest.mark.parametrize("name", PRIVATE)
def test_infinite_budgets_have_no_bars(tell_family, name):
    told = tell_family(name, epsilon=math.inf, n_public=300) if name in ("dplloyd", "gupt", "eugkm") else None
    told = told or tell_family(name, epsilon=math.inf, **({"n_rounds": 3} if name == "privgene" else {}))
    assert total(list_spending(told.result)) == math.inf
    assert chart_of(told, "spending").is_empty
    assert np.isfinite(chart_of(told, "spending").y.view).all()


@pytest.mark.parametrize(("name", "adjacency"), [(name, adjacency) for name, _, _, adjacency in SPENT])
def test_an_unproved_spending_is_red_and_keeps_its_sum(tell_family, name, adjacency):
    """Bounds from the data take the proof away; the claim in print can name the other adjacency."""
    told = tell_family(name, epsilon=1.0, adjacency=adjacency)
    spent = told.result.guarantee.proved.epsilon
    guarantee = dataclasses.replace(told.result.guarantee, proved=None)
    unproved = dataclasses.replace(told, result=dataclasses.replace(told.result, guarantee=guarantee))
    chart = chart_of(unproved, "spending")
    assert {layer.role for layer in chart.layers} == {Role.VIOLATION}
    assert {layer.audience for layer in chart.layers} == {Audience.PUBLIC}
    assert f"not established: ε = {ceiled(spent)}" in chart.caption
    assert total(list_spending(unproved.result, delta=guarantee.published.delta)) == pytest.approx(spent, rel=1e-12)


@pytest.mark.parametrize("d", [1, 2, 20])
def test_convergent_kmeans_has_a_spending_too(tell, d):
    repaired = tell(d, mode="repaired", epsilon=2.0)
    rows, n_steps = list_spending(repaired.result), len(repaired.result.trace)
    assert total(rows) == pytest.approx(2.0, rel=1e-12)
    assert set(columns(rows, "Counts")) == set(columns(rows, "Sums")) == set(range(1, n_steps + 1))
    assert columns(rows, "Number of records") == pytest.approx({0: 0.04})
    published = tell(d, mode="published", epsilon_counts=0.7, epsilon_per_iteration=0.3)
    rows, n_steps = list_spending(published.result), len(published.result.trace)
    assert columns(rows, "Draws (claimed)") == pytest.approx(dict.fromkeys(range(1, n_steps + 1), 0.3))
    assert columns(rows, "Final counts (claimed)") == pytest.approx({n_steps + 1: 0.7})
    assert {row.n_clusters for row in rows} == {4}
    assert total(rows) == pytest.approx(published.result.guarantee.published.epsilon, rel=1e-12)


def test_events_of_other_methods_are_read_as_they_are(tell_family):
    told = tell_family("dplloyd")

    def rows(*events):
        return list_spending(dataclasses.replace(told.result, events=events))

    (one,) = rows(PureEvent("round 7: a vote", 0.3))
    assert one == dataclasses.replace(one, column=1, purpose="Round 7: a vote", epsilon=0.3, n_clusters=1)
    leaf = LaplaceEvent("counts", 1.0, 2.0)
    # Three clusters, one record in one of them: paid once, by each of the three.
    (counts,) = rows(ParallelEvent("iteration 1", (SequenceEvent("one cluster", (leaf,)),) * 3))
    assert counts.epsilon == pytest.approx(0.5)
    replaced = LaplaceEvent("sums", 1.0, 2.0, calibrated_for=Adjacency.REPLACE)
    (sums,) = rows(SequenceEvent("iteration 1", (replaced,)))
    assert sums.epsilon == pytest.approx(0.5), "no doubling of what was calibrated for changed records"


def test_what_zones_stand_on_is_public_in_repaired_mode_only(tell, show):
    def public(told):
        return {layer.name for layer in show(told).public().layers}

    noisy = {"noisy mean", "controller", "convergent zone", "draw", "density of the draw"}
    assert noisy <= public(tell(mode="repaired"))
    assert not noisy & public(tell(mode="published"))
    both = {"public bounds", "border", "sampling zone", "path", "center", "released center"}
    assert both <= public(tell(mode="published"))
    assert both <= public(tell(mode="repaired"))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_nothing_of_lloyds_own_run_is_public(tell_family, show, d):
    """Not even how long it took: two runs on other records from the same start look alike."""
    worlds = [tell_family("lloyd", d, n=n, seed=seed) for n, seed in ((300, 0), (20, 1))]
    words = worlds[0].words
    assert len({len(world.result.trace) for world in worlds}) == 2
    drawn = [show(world) for world in worlds]
    assert pack(drawn[0].public()) == pack(drawn[1].public())
    assert {layer.name for layer in drawn[0].public().layers} == {
        "public bounds",
        "start",
        *({"border of the start"} if d == 2 else set()),
    }
    assert [frame.label for frame in drawn[0].public().frames] == ["Start"]
    assert pack(drawn[0].public().public()) == pack(drawn[0].public())
    for tell in (lambda told: told.risk(), lambda told: chart_of(told, "spending"), lambda told: told.stage_words()[1]):
        here, there = (tell(world) for world in worlds)
        assert (here == there) if not hasattr(here, "layers") else pack(here) == pack(there)
    assert not any(fact.public for world in worlds for fact in world.utility())
    assert "Nothing is hidden" in worlds[0].finding().curator
    assert words.title in drawn[0].alt


@pytest.mark.parametrize("name", NOISY)
def test_a_private_start_goes_from_green_to_blue(tell_family, show, name):
    told = tell_family(name, start="private")
    release, drawn = told.result.release, show(told)
    assert release.start_packing is not None
    packing, search, start = (
        next(layer for layer in drawn.layers if layer.name == words)
        for words in ("packing", "search on noisy cells", "start")
    )
    assert [layer.audience for layer in (packing, search, start)] == [
        Audience.PUBLIC,
        Audience.RELEASED,
        Audience.RELEASED,
    ]
    np.testing.assert_allclose(search.arrays["tail"], packing.arrays["xy"])
    np.testing.assert_allclose(search.arrays["head"], start.arrays["xy"])
    assert (search.rows >= 0).nonzero()[0].tolist() == [0], "before the first iteration"
    seen = drawn.public()
    assert {"packing", "search on noisy cells", "start"} <= {layer.name for layer in seen.layers}
    assert "Noisy counts" in seen.frames[0].detail
