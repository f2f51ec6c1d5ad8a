"""What is drawn of the family is what happened: every mark against the step it stands for, by hand."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.baselines import CATALOGUE
from dpviz.core import Box
from dpviz.methods.convergent_kmeans.story import family as story
from dpviz.methods.convergent_kmeans.story.family_runs import METHODS
from dpviz.plots import Audience, Kind, pack
from dpviz.stories import View, Words
from dpviz.stories.ground_layers import MOST_COLORED, MOST_DRAWN, NO_GROUP, noise_length, sample
from dpviz.stories.panel import number
from dpviz.stories.view import project
from tests.stories.marks import NOISY, SETTINGS, brute_labels, by_hand, named, same, shown

NAMES = sorted(set(CATALOGUE) & set(METHODS))


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
    final = "Exact center" if name == "lloyd" else "Released center"
    same(shown(layers[final], -1), by_hand(unit, view, d))
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
    (fact,) = [fact for fact in told.utility() if fact.label == "Cost"]
    ratio = brute_cost(told.unit, told.final) * len(told.unit) / told.reference.nonprivate_costs[-1]
    assert fact.value == f"{number(ratio)} × Lloyd's"


def test_lloyds_run_starts_where_the_method_does(tell_family):
    ends = {name: tell_family(name).reference.nonprivate_costs[-1] for name in NAMES}
    assert list(ends.values()) == pytest.approx([ends["lloyd"]] * len(NAMES), rel=1e-9), "one public start for all"
    centers = {tell_family(name).reference.nonprivate_centers.tobytes() for name in NAMES}
    assert len(centers) == 1, "and in one order: a page keeps one run for all methods"
    keys = {story.FamilyRun.reference_key(tell_family(name).params) for name in NAMES}
    assert keys == {(4, "packing", 0)}
    told = tell_family("eugkm", start_seed=3)
    points = told.words.box.from_unit(told.unit)
    other = story.FamilyRun.find_reference(points, told.words, told.result)
    assert other.nonprivate_costs[0] == pytest.approx(tell_family("eugkm").reference.nonprivate_costs[0])
    assert other.nonprivate_costs[0] != pytest.approx(told.reference.nonprivate_costs[0])


@pytest.mark.parametrize("n", [0, 2])
@pytest.mark.parametrize("k", [1, 30])
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
        for text in (told.finding().curator, *(fact.value for fact in told.utility())):
            assert "nan" not in text


@pytest.mark.parametrize("name", NAMES)
def test_equal_records_on_the_wall_are_drawn(name):
    method, box = CATALOGUE[name], Box.cube(0.0, 1.0, 2)
    points, words = np.ones((50, 2)), Words("wall", box, ("a", "b"), ("", ""))
    params = method.Params(n_clusters=6, start_seed=1)
    result = method.fit(points, box, params, rng=np.random.default_rng(0))
    told = story.FamilyRun.of(
        result, params, points, words, story.FamilyRun.find_reference(points, words, result, params)
    )
    assert pack(told.draw(View(), rng=np.random.default_rng(0)))
    assert pack(story.cost_chart(told))


@pytest.mark.parametrize("name", NAMES)
def test_a_photograph_is_recolored(name):
    method, box = CATALOGUE[name], Box.cube(0.0, 255.0, 3)
    points = np.random.default_rng(0).integers(0, 256, (6 * 5, 3)).astype(float)
    words = Words("photograph", box, ("red", "green", "blue"), ("", "", ""))
    params = method.Params(n_clusters=3, start_seed=1)
    result = method.fit(points, box, params, rng=np.random.default_rng(0))
    told = story.FamilyRun.of(
        result, params, points, words, story.FamilyRun.find_reference(points, words, result, params)
    )
    image = told.recolored((6, 5, 3))
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
    assert [fact.value for fact in added.risk()] == ["at most 89 in 100"]
    assert replaced.risk() == (), "the odds beside the slider are about just that"


def test_other_runs_and_too_many_clusters_are_refused(tell, tell_family):
    told = tell()
    points = told.words.box.from_unit(told.unit)
    with pytest.raises(TypeError, match=r"ZonesRelease.*GridRelease"):
        story.FamilyRun.of(told.result, told.params, points, told.words, told.reference)
    family = tell_family("su")
    many = dataclasses.replace(family.params, n_clusters=251)
    for one, params in ((family, many), (told, dataclasses.replace(told.params, n_clusters=251))):
        with pytest.raises(ValueError, match=r"251.*at most 250"):
            type(one).of(one.result, params, points, told.words, told.reference)


@given(st.integers(0, 10**7), st.integers(1, 1000))
def test_few_enough_records_are_drawn(n, rows):
    drawn = sample(n, rows)
    assert len(drawn) == min(n, MOST_DRAWN, MOST_COLORED // rows)
    if len(drawn):
        steps = np.diff([*drawn, n])
        assert drawn[0] == 0
        assert steps.min() >= 1
        assert steps.max() - steps.min() <= 1, "evenly spread"
