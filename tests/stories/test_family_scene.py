"""What is drawn of the family is what happened: every mark against the step it stands for, by hand."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.baselines import CATALOGUE
from dpviz.baselines.privgene import FIRST_MOVE, SHRINK
from dpviz.core import Box
from dpviz.experiments.kmeans_family import METHODS
from dpviz.plots import Audience, Kind, pack
from dpviz.stories import View, Words
from dpviz.stories import convergent_kmeans as zones
from dpviz.stories import kmeans_family as story
from dpviz.stories.grid_layers import marginal
from dpviz.stories.ground_layers import MOST_COLORED, MOST_DRAWN, NO_GROUP, WIDEST, noise_length, sample
from dpviz.stories.panel import number
from dpviz.stories.view import project

NAMES = sorted(set(CATALOGUE) & set(METHODS))
NOISY = ["blum", "dwork", "su"]
ROUNDING = 1e-12  # box units
SETTINGS = [(1, View()), (2, View()), (5, View()), (5, View(4, 2))]


def by_hand(values, view, d):
    """Project box units; a single feature lies on the strip's middle."""
    if d == 1:
        return np.stack([values[..., 0], np.full(values.shape[:-1], 0.5)], axis=-1)
    return values[..., [view.x, view.y]]


def named(drawn):
    return {layer.name: layer for layer in drawn.layers}


def shown(layer, at, name="xy"):
    """Return what a frame shows of an array, None where the layer is hidden."""
    row = layer.rows[at]
    return None if row < 0 else layer.arrays[name][row]


def same(found, wanted):
    assert found == pytest.approx(wanted, rel=0, abs=ROUNDING)


def brute_labels(unit, centers):
    return ((unit[:, None, :] - centers[None]) ** 2).sum(axis=2).argmin(axis=1)


def brute_cost(unit, centers):
    return float(((unit[:, None, :] - centers[None]) ** 2).sum(axis=2).min(axis=1).mean())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_every_layer_fits_the_frames(tell_family, show_family, name, d):
    told = tell_family(name, d)
    for view in [View(), View(principal=True)] if d > 2 else [View()]:
        drawn = show_family(told, view)
        chart = story.cost_chart(told)
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


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("d", "view"), SETTINGS)
def test_the_release_frame_shows_release_and_lloyds(tell_family, show_family, name, d, view):
    told = tell_family(name, d)
    layers = named(show_family(told, view))
    unit = told.words.box.to_unit(told.result.release.centers)
    same(shown(layers["Released center"], -1), by_hand(unit, view, d))
    same(shown(layers["Lloyd's centers, no privacy"], -1), by_hand(told.reference.nonprivate_centers, view, d))
    assert np.array_equal(shown(layers["Records"], -1, "group"), brute_labels(told.unit, unit))
    assert (shown(layers["Records"], 0, "group") == NO_GROUP).all()
    if name in ("eugkm", "privgene"):
        exact = shown(layers["True mean"], -1)
        labels = brute_labels(told.unit, unit)
        for i in np.unique(labels):
            same(exact[i], by_hand(told.unit[labels == i].mean(axis=0), view, d))
    elif name in NOISY:
        same(shown(layers["True mean"], -1), by_hand(told.result.trace[-1].nonprivate_mean, view, d))


@pytest.mark.parametrize("name", [*NOISY, "lloyd"])
@pytest.mark.parametrize(("d", "view"), SETTINGS)
def test_lloyds_moves_stand_where_their_steps_were(tell_family, show_family, name, d, view):
    told = tell_family(name, d)
    layers, trace = named(show_family(told, view)), told.result.trace
    phases = ("assign", "mean") if name == "lloyd" else ("assign", "mean", "noise")
    assert len(show_family(told).frames) == len(phases) * len(trace) + 2
    for t, step in enumerate(trace):
        first = 1 + len(phases) * t
        at = dict(zip(phases, range(first, first + len(phases)), strict=True))
        assert all(np.array_equal(shown(layers["Records"], f, "group"), step.nonprivate_labels) for f in at.values())
        same(shown(layers["Exact move"], at["mean"], "tail"), by_hand(step.previous_centers, view, d))
        same(shown(layers["Exact move"], at["mean"], "head"), by_hand(step.nonprivate_mean, view, d))
        same(shown(layers["Center"], at[phases[-1]]), by_hand(step.released_centers, view, d))
        waiting = shown(layers["Center"], at["assign"])
        assert waiting is None if t == 0 else np.allclose(waiting, by_hand(step.previous_centers, view, d))
        if name != "lloyd":
            same(shown(layers["Noise"], at["noise"], "tail"), by_hand(step.nonprivate_mean, view, d))
            same(shown(layers["Noise"], at["noise"], "head"), by_hand(step.released_centers, view, d))
            assert shown(layers["Noise"], at["mean"], "tail") is None
    path = [told.result.release.start, *told.result.release.path]
    same(layers["Path of the centers"].arrays["xy"], by_hand(np.stack(path), view, d))
    if d == 2:
        assert np.isfinite(shown(layers["Borders"], -1, "ends")).any()


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [0.3, 5.0])
@pytest.mark.parametrize("name", NOISY)
def test_likely_errors_follow_scale_and_noisy_count(tell_family, show_family, name, epsilon, d):
    told = tell_family(name, d, epsilon=epsilon)
    layers, trace = named(show_family(told)), told.result.trace
    for t, step in enumerate(trace):
        last = t == len(trace) - 1
        layer = layers.get("Likely error" if last else "Likely error on the way")
        radius = np.full(4, np.nan) if layer is None else shown(layer, 3 * t + 3, "radius")
        for i, count in enumerate(step.noisy_counts):
            # A sum of x - 1/2 moves by 1/2; a count below two noise scales or below 1 looks empty.
            scale = 0.5 / step.epsilon_sums / max(count, 1.0)
            wide = scale * (math.sqrt(2) if d == 1 else 2.0)
            stayed = count < max(1.0, 2.0 / step.epsilon_counts)
            if stayed or wide >= WIDEST:
                assert np.isnan(radius[i])
                if stayed:
                    assert np.array_equal(step.released_centers[i], step.previous_centers[i])
            else:
                assert radius[i] == pytest.approx(wide, rel=1e-9)
    if "Likely error" in layers:
        assert layers["Likely error"].audience is Audience.NOISE
        assert layers["Likely error"].rows[-1] == 0
    else:
        assert (name, epsilon) != ("su", 5.0), "there is noise to be seen, unless it is everywhere"


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


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(0, 10**6))
def test_marginals_are_sums_over_the_other_axes(shape, seed):
    counts = np.random.default_rng(seed).standard_normal(math.prod(shape))
    whole = counts.reshape(shape)
    for axis in range(len(shape)):
        others = tuple(i for i in range(len(shape)) if i != axis)
        assert marginal(counts, tuple(shape), (axis,)) == pytest.approx(whole.sum(axis=others)[None])
    for x, y in itertools.permutations(range(len(shape)), 2):
        others = tuple(i for i in range(len(shape)) if i not in (x, y))
        wanted = whole.sum(axis=others)  # rows by the lower axis
        assert marginal(counts, tuple(shape), (x, y)) == pytest.approx(wanted.T if x < y else wanted)


def test_a_grid_of_more_axes_than_numpy_has():
    assert marginal(np.array([7.0]), (1,) * 100, (3, 70)).tolist() == [[7.0]]
    assert marginal(np.array([1.0, 2.0]), (*(1,) * 70, 2), (70, 0)).tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize(("d", "view"), [(1, View()), (2, View()), (3, View(2, 0))])
def test_the_grid_is_shaded_by_its_counts(tell_family, show_family, d, view):
    told = tell_family("eugkm", d, epsilon=0.5)
    layers, release = named(show_family(told, view)), told.result.release
    noisy = release.noisy_cell_counts.reshape(release.shape)
    exact = np.zeros(release.shape)
    for record in told.unit:
        exact[tuple(min(int(x * m), m - 1) for x, m in zip(record, release.shape, strict=True))] += 1
    if d == 3:
        noisy, exact = noisy.sum(axis=1), exact.sum(axis=1)  # axes 0 and 2: 2 is across, 0 is up
    elif d == 2:
        noisy, exact = noisy.T, exact.T
    else:
        noisy, exact = noisy[None], exact[None]
    highest = np.abs(noisy).max()
    for name, counts, frame in (
        ("Exact counts", exact, 1),
        ("Noisy counts", noisy, 2),
        ("Counts below zero", -noisy, 2),
    ):
        layer = layers[name]
        wanted = 255 * np.sqrt(np.clip(counts / highest, 0, 1))
        found = shown(layer, frame, "value")[0].astype(float)
        assert found.shape == wanted.shape
        assert np.abs(found - wanted).max() <= 0.5 + 1e-9
        assert shown(layer, 0, "value") is None
        assert np.array_equal(layer.arrays["rect"], [[[0, 0, 1, 1]]])
    assert (shown(layers["Counts below zero"], 2, "value") > 0).any(), "noise below zero is there to be seen"
    assert layers["Exact counts"].rows[2] == -1
    assert layers["Exact counts"].audience is Audience.CURATOR
    assert layers["Noisy counts"].rows[-1] == 0


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_grids_kmeans_is_shown_from_its_start_to_its_end(tell_family, show_family, d):
    told = tell_family("eugkm", d)
    layer = named(show_family(told))["k-means center"]
    stops = [shown(layer, frame) for frame in range(3, 8)]
    same(stops[0], by_hand(told.result.trace[0].previous_centers, View(), d))
    same(stops[-1], by_hand(told.result.trace[-1].released_centers, View(), d))
    path = [told.result.trace[0].previous_centers, *(step.released_centers for step in told.result.trace)]
    places = [next(i for i, c in enumerate(path) if np.allclose(by_hand(c, View(), d), stop)) for stop in stops]
    assert places == sorted(places)


@pytest.mark.parametrize(("d", "view"), SETTINGS)
def test_gupts_mean_is_the_mean_of_what_it_is_joined_to(tell_family, show_family, d, view):
    told = tell_family("gupt", d, epsilon=5.0)
    layers, step = named(show_family(told, view)), told.result.trace[0]
    k = told.params.n_clusters
    answers, group = shown(layers["Blocks' centers"], 2), shown(layers["Blocks' centers"], 2, "group")
    if d == 2:
        mean = shown(layers["Mean of the blocks"], 3)
        for i in range(k):
            same(answers[group == i].mean(axis=0), mean[i])
            ends = shown(layers["To the mean"], 3, "ends")[group == i]
            assert ends[:, 2:] == pytest.approx(np.broadcast_to(mean[i], (len(ends), 2)))
            assert np.array_equal(ends[:, :2], answers[group == i])
    same(shown(layers["Mean of the blocks"], 4), by_hand(step.nonprivate_mean, view, d))
    same(shown(layers["Noise"], 4, "tail"), by_hand(step.nonprivate_mean, view, d))
    same(shown(layers["Noise"], 4, "head"), by_hand(told.final, view, d))
    assert np.array_equal(shown(layers["Records by block"], 1, "group"), step.nonprivate_blocks)
    assert layers["Records by block"].names == tuple(f"block {i + 1}" for i in step.nonprivate_blocks)
    same(np.sort(shown(layers["Start (public)"], 0), axis=0), np.sort(by_hand(step.start, view, d), axis=0))


def test_swapped_centers_are_counted(tell_family):
    told = tell_family("gupt", 2, n=2000)
    step = told.result.trace[0]
    elsewhere = [
        np.linalg.norm(step.nonprivate_mean - center, axis=1).argmin() != i
        for answer in step.nonprivate_block_centers
        for i, center in enumerate(answer)
    ]
    (fact,) = [fact for fact in story.utility(told) if fact.label == "At another mean"]
    assert fact.value == f"{round(100 * np.mean(elsewhere))} in 100"
    assert not fact.public


@pytest.mark.parametrize(("d", "view"), SETTINGS)
def test_privgenes_picks_are_the_released_parents(tell_family, show_family, d, view):
    told = tell_family("privgene", d, n_rounds=4)
    layers, trace = named(show_family(told, view)), told.result.trace
    for t, step in enumerate(trace):
        candidates, pick = 2 * t + 1, 2 * t + 2
        same(shown(layers["Pick"], pick), by_hand(step.population[step.chosen[0]], view, d))
        same(
            shown(layers["Candidates' centers"], candidates),
            by_hand(step.population.reshape(-1, d), view, d),
        )
        same(shown(layers["Best candidate"], pick), by_hand(step.population[step.nonprivate_scores.argmax()], view, d))
        assert np.array_equal(
            shown(layers["Records"], pick, "group"), brute_labels(told.unit, step.population[step.chosen[0]])
        )
        if t < len(trace) - 1:
            others = step.population[step.chosen[1:]].reshape(-1, d)
            same(shown(layers["Parents"], pick), by_hand(others, view, d))
            rect = shown(layers["Where a child may move"], candidates + 2, "rect")
            half = FIRST_MOVE * SHRINK**t
            middle = step.population[step.chosen[0]][:, view.x]
            same(rect[:, 0], np.clip(middle - half, 0, 1))
            same(rect[:, 2], np.clip(middle + half, 0, 1))
    assert shown(layers["Parents"], 2 * len(trace)) is None
    assert layers["Candidates' centers"].audience is Audience.CURATOR


@pytest.mark.parametrize("d", [2, 5])
def test_children_do_stay_where_the_picture_says(tell_family, show_family, d):
    """A child's center is one of the parents' or one that moved: with one parent, all lie in the pick's squares."""
    told = tell_family("privgene", d, n_rounds=4, n_parents=1)
    layers = named(show_family(told))
    assert "Parents" not in layers
    for t in range(1, 4):
        rect = shown(layers["Where a child may move"], 2 * t + 1, "rect")
        places = shown(layers["Candidates' centers"], 2 * t + 1)
        inside = (places[:, None] >= rect[:, :2] - ROUNDING) & (places[:, None] <= rect[:, 2:] + ROUNDING)
        assert inside.all(axis=2).any(axis=1).all()


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("name", NAMES)
def test_the_cost_chart_shows_exact_costs_beside_lloyds(tell_family, name, d):
    told = tell_family(name, d)
    chart = story.cost_chart(told)
    curves = {layer.name: layer.arrays["xy"][0, 0] for layer in chart.layers if layer.kind is Kind.LINES}
    ours = curves["This run"][np.isfinite(curves["This run"][:, 1])]
    assert ours[-1, 1] == pytest.approx(brute_cost(told.unit, told.final), rel=1e-9)
    assert curves["Lloyd, no privacy"][: told.reference.n_iterations + 1, 1] == pytest.approx(
        told.reference.nonprivate_costs / len(told.unit), rel=1e-9
    )
    if name in (*NOISY, "lloyd", "gupt"):  # those that start where Lloyd's run does
        assert ours[0] == pytest.approx(curves["Lloyd, no privacy"][0], rel=1e-9)
    if name == "lloyd":
        assert ours[:, 1] == pytest.approx(curves["Lloyd, no privacy"][: len(ours), 1], rel=1e-9)
    assert not chart.axes_public
    (fact,) = [fact for fact in story.utility(told) if fact.label == "Cost"]
    ratio = brute_cost(told.unit, told.final) * len(told.unit) / told.reference.nonprivate_costs[-1]
    assert fact.value == f"{number(ratio)} × Lloyd's"


def test_lloyds_run_starts_where_the_method_does(tell_family):
    ends = {name: tell_family(name).reference.nonprivate_costs[-1] for name in NAMES}
    assert list(ends.values()) == pytest.approx([ends["lloyd"]] * len(NAMES), rel=1e-9), "one public start for all"
    centers = {tell_family(name).reference.nonprivate_centers.tobytes() for name in NAMES}
    assert len(centers) == 1, "and in one order: a page keeps one run for all methods"
    keys = {story.reference_key(tell_family(name).params) for name in NAMES}
    assert keys == {(4, "packing", 0)}
    told = tell_family("eugkm", start_seed=3)
    points = told.words.box.from_unit(told.unit)
    other = story.reference(points, told.words, told.result)
    assert other.nonprivate_costs[0] == pytest.approx(tell_family("eugkm").reference.nonprivate_costs[0])
    assert other.nonprivate_costs[0] != pytest.approx(told.reference.nonprivate_costs[0])


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("k", [1, 4, 30])
@pytest.mark.parametrize("name", NAMES)
def test_hardly_any_records_and_many_clusters_are_drawn(tell_family, show_family, name, k, n):
    for d in (1, 2, 5):
        told = tell_family(name, d, n=n, n_clusters=k)
        for view in [View(), View(principal=True)] if d > 2 else [View()]:
            drawn = show_family(told, view)
            assert pack(drawn)
            assert pack(drawn.public())
        assert pack(story.cost_chart(told))
        assert pack(story.ledger_chart(told))
        for text in (story.sentence(told).curator, *(fact.value for fact in story.utility(told))):
            assert "nan" not in text


@pytest.mark.parametrize("name", NAMES)
def test_equal_records_on_the_wall_are_drawn(name):
    method, box = CATALOGUE[name], Box.cube(0.0, 1.0, 2)
    points, words = np.ones((50, 2)), Words("wall", box, ("a", "b"), ("", ""))
    params = method.Params(n_clusters=6, start_seed=1)
    result = method.fit(points, box, params, rng=np.random.default_rng(0))
    told = story.context(result, params, points, words, story.reference(points, words, result, params))
    assert pack(story.scene(told, View(), rng=np.random.default_rng(0)))
    assert pack(story.cost_chart(told))


@pytest.mark.parametrize("name", NAMES)
def test_a_photograph_is_recolored(name):
    method, box = CATALOGUE[name], Box.cube(0.0, 255.0, 3)
    points = np.random.default_rng(0).integers(0, 256, (6 * 5, 3)).astype(float)
    words = Words("photograph", box, ("red", "green", "blue"), ("", "", ""))
    params = method.Params(n_clusters=3, start_seed=1)
    result = method.fit(points, box, params, rng=np.random.default_rng(0))
    told = story.context(result, params, points, words, story.reference(points, words, result, params))
    image = story.recolored(told, (6, 5, 3))
    assert image.shape == (6, 5, 3)
    assert image.dtype == np.uint8
    nearest = brute_labels(points, result.release.centers)
    assert np.array_equal(image.reshape(-1, 3), np.clip(np.rint(result.release.centers), 0, 255)[nearest])


@pytest.mark.parametrize("name", NAMES)
def test_words_are_explained_once_and_box_from_the_data_is_red(tell_family, show_family, name):
    told = tell_family(name)
    assert set(story.terms(told)) <= set(story.TERMS)
    assert len({term for term, _ in story.TERMS}) == len(story.TERMS)
    unsafe = dataclasses.replace(told, words=dataclasses.replace(told.words, box_public=False))
    layers = named(show_family(unsafe))
    assert layers["Box from the data"].audience is Audience.CURATOR


def test_a_changed_record_has_its_own_words(tell_family):
    added, replaced = (tell_family("blum", epsilon=1.0, adjacency=name) for name in ("add_remove", "replace"))
    assert "whether you are in the data is right at most 73 in 100" in story.sentence(added).public
    assert "which of two records is yours is right at most 73 in 100" in story.sentence(replaced).public
    assert [fact.value for fact in story.risk(added)] == ["at most 73 in 100", "at most 88 in 100"]
    assert [fact.value for fact in story.risk(replaced)] == ["at most 73 in 100"]


def test_other_runs_and_too_many_clusters_are_refused(tell, tell_family):
    told = tell()
    points = told.words.box.from_unit(told.unit)
    with pytest.raises(TypeError, match=r"ZonesRelease.*GridRelease"):
        story.context(told.result, told.params, points, told.words, told.reference)
    family = tell_family("su")
    many = dataclasses.replace(family.params, n_clusters=251)
    for module, one, params in ((story, family, many), (zones, told, dataclasses.replace(told.params, n_clusters=251))):
        with pytest.raises(ValueError, match=r"251.*at most 250"):
            module.context(one.result, params, points, told.words, told.reference)


@given(st.integers(0, 10**7), st.integers(1, 1000))
def test_few_enough_records_are_drawn(n, rows):
    drawn = sample(n, rows)
    assert len(drawn) == min(n, MOST_DRAWN, MOST_COLORED // rows)
    if len(drawn):
        steps = np.diff([*drawn, n])
        assert drawn[0] == 0
        assert steps.min() >= 1
        assert steps.max() - steps.min() <= 1, "evenly spread"
