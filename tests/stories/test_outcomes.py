import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpviz.core import Box
from dpviz.methods import CATALOGUE
from dpviz.methods.nd_laplace.run import PointsLook
from dpviz.plots import Audience, pack
from dpviz.solvers import nonprivate_kmeans
from dpviz.stories import View, Words, outcomes
from dpviz.stories import outcomes as quantile_dots
from dpviz.stories.outcomes import Figure, Outcome
from dpviz.stories.view import project
from dpviz.tools.many_runs.runs import SEEDS, Draws, run_many

BOX = Box((0.0, 0.0), (4.0, 3.0))
WORDS = Words("Set", BOX, ("a", "b"), ("m", "m"))
COST = Figure("cost", "× Lloyd's", "the cost is more than", mark=1.0, mark_name="Lloyd's")
SOME = st.integers(1, 120).flatmap(lambda n: arrays(np.float64, n, elements=st.floats(-50, 1e4, width=32)))


def records(seed=0, n=150):
    return BOX.from_unit(np.random.default_rng(seed).random((n, 2)))


def params_of(name):
    more = {"convergent_kmeans": {"start_seed": 3, "n_clusters": 3}, "nd_laplace": {"epsilon": 2.0}}.get(name, {})
    if name == "source_target":
        more = {"targets": BOX.from_unit(np.random.default_rng(9).random((12, 2))), "epsilon": 2.0, "n_centers": 3}
    if name == "morse":
        more = {"n_iterations": 2, "epsilon": 5.0}
    return CATALOGUE[name].Params(**more)


def runs_of(name, draws, points=None, classes=None):
    points = records() if points is None else points
    fields = {"look": PointsLook(1.0, "m", False, 4)} if name == "nd_laplace" else {}
    module, story = CATALOGUE[name], CATALOGUE[name].run
    params = params_of(name)
    return run_many(module, story, points, BOX, classes, params, draws, ("m", "m"), fields)


def made(n=12, seed=0):
    rng = np.random.default_rng(seed)
    return [Outcome(rng.random((int(rng.integers(0, 4)), 2)), float(rng.lognormal()), COST) for _ in range(n)]


@settings(max_examples=40, deadline=None)
@given(SOME)
def test_dots_are_numpys_quantiles(values):
    wanted = np.quantile(values, (np.arange(1, 21) - 0.5) / 20, method="hazen")
    assert np.array_equal(quantile_dots.dots(values), wanted)


@settings(max_examples=40, deadline=None)
@given(arrays(np.float64, 20, elements=st.floats(-100, 100, width=32)))
def test_with_as_many_runs_as_dots_the_dots_are_the_runs(values):
    assert quantile_dots.dots(values) == pytest.approx(np.sort(values), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(SOME)
def test_stacked_dots_do_not_overlap_and_lie_as_low_as_they_can(values):
    places = quantile_dots.dots(values)
    width = max(float(np.ptp(places)), 1.0) / 12
    levels = quantile_dots.stacked(places, width)
    for i, (at, level) in enumerate(zip(places, levels, strict=True)):
        near = (np.abs(places[:i] - at) < width * (1 - 1e-6)).nonzero()[0]
        assert level not in levels[near]
        assert set(range(level)) <= set(levels[near]), "no lower level was free"


def test_words_count_the_dots_beyond():
    # As many values as dots: the dots are the runs.
    values = np.arange(1.0, 21.0)
    said = quantile_dots.words(values, COST, 15.0)
    assert said == "In 5 of 20 runs the cost is more than 15 × Lloyd's."
    # 20 dots represent 40 runs.
    doubled = np.repeat(values, 2)
    assert quantile_dots.words(doubled, COST, 15.0) == "In about 5 of every 20 runs the cost is more than 15 × Lloyd's."
    below = dataclasses.replace(COST, above=False, beyond="the cost is less than")
    assert quantile_dots.words(values, below, 4.0).startswith("In 3 of 20 runs")
    assert quantile_dots.usual_threshold(values, COST) in quantile_dots.thresholds(values)


@settings(max_examples=40, deadline=None)
@given(SOME)
def test_thresholds_are_few_and_surround_the_dots(values):
    stops, found = quantile_dots.thresholds(values), quantile_dots.dots(values)
    assert 2 <= len(stops) <= quantile_dots.MOST_THRESHOLDS + 2 or np.ptp(found) == 0
    # Stops are written with six digits.
    slack = 1e-5 * max(1.0, float(np.abs(found).max()))
    assert stops[0] <= found[0] + slack
    assert stops[-1] >= found[-1] - slack
    assert list(stops) == sorted(set(stops)) or np.ptp(found) < 1e-3


def test_no_figure_at_all_is_said():
    with pytest.raises(ValueError, match="at least one finite figure"):
        quantile_dots.dots(np.array([np.nan, np.inf]))


def test_the_dotplot_has_the_bands_of_the_runs():
    values = np.random.default_rng(0).lognormal(size=60)
    chart = quantile_dots.dot_chart(values, COST, 1.0)
    layers = {layer.name: layer for layer in chart.layers}
    for name, ends in (("Middle 90 % of runs", (5, 95)), ("Middle 50 % of runs", (25, 75))):
        assert layers[name].arrays["rect"][0, 0, [0, 2]] == pytest.approx(np.percentile(values, ends))
    drawn = np.sort(np.concatenate([layers[name].arrays["xy"][0, :, 0] for name in ("Beyond", "Not beyond")]))
    assert drawn == pytest.approx(quantile_dots.dots(values))
    assert len(chart.frames) == len(values)
    assert layers["Shown run"].arrays["x"] == pytest.approx(values)


def test_bands_against_the_budget_are_percentiles():
    values = [np.random.default_rng(seed).lognormal(size=30) for seed in range(3)]
    chart = quantile_dots.band_chart((0.1, 1.0, 10.0), values, COST, now=1.0)
    edges = {layer.name: layer.arrays["edges"][0, 0] for layer in chart.layers if "edges" in layer.arrays}
    for name, ends in (("90 in 100 runs", (5, 95)), ("50 in 100 runs", (25, 75))):
        assert edges[name][:, 1:] == pytest.approx(np.stack([np.percentile(each, ends) for each in values]))


def test_each_stop_is_one_run():
    found = made()
    plane = project(View(), WORDS, np.empty((0, 2)))
    scene = outcomes.scene(found, plane, WORDS, unit=BOX.to_unit(records()))
    (shown,) = [layer for layer in scene.layers if layer.name == "This run"]
    assert shown.rows.tolist() == list(range(len(found)))
    for row, each in zip(shown.arrays["xy"], found, strict=True):
        assert np.array_equal(row[: len(each.places)], each.places)
        assert np.isnan(row[len(each.places) :]).all()
    assert len(scene.frames) == len(found)
    assert not scene.eased, "runs are independent: nothing glides from one to the next"
    assert 1.5 <= 1000 / scene.pace <= 3.0, "about two a second"
    with pytest.raises(ValueError, match="at least one run"):
        outcomes.scene([], plane, WORDS)


def test_nothing_of_the_runs_is_public():
    plane = project(View(), WORDS, np.empty((0, 2)))
    packed = set()
    for seed in (0, 1):
        scene = outcomes.scene(made(seed=seed), plane, WORDS, unit=BOX.to_unit(records(seed)))
        values = outcomes.values_of(made(seed=seed))
        exact = [layer.name for layer in scene.layers if layer.audience is not Audience.CURATOR]
        assert exact == ["public bounds"]
        chart = quantile_dots.dot_chart(values, COST, 1.0)
        packed.add((pack(scene.public()), pack(chart.public())))
    assert len(packed) == 1, "the public's bytes follow from no run and no record"


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_every_method_has_its_outcomes(name):
    found = runs_of(name, Draws(5, 0, 3))
    assert len({each.figure for each in found}) == 1
    assert np.isfinite(outcomes.values_of(found)).all()
    assert all(each.places.shape[1] == 2 for each in found)
    again = runs_of(name, Draws(5, 1, 1))
    assert np.array_equal(again[0].places, found[1].places), "a run is named by its number, not by its batch"
    assert again[0].nonprivate_value == found[1].nonprivate_value
    other = runs_of(name, Draws(6, 0, 1))
    assert not np.array_equal(other[0].places, found[0].places) or name == "source_target"


def test_a_run_is_what_the_method_does_with_that_seed():
    points, draws = records(), Draws(5, 2, 1)
    module, params = CATALOGUE["convergent_kmeans"], params_of("convergent_kmeans")
    params = dataclasses.replace(params, start_seed=params.start_seed + 2)
    result = module.fit(points, BOX, params, rng=np.random.default_rng([5, 2]))
    (found,) = runs_of("convergent_kmeans", draws, points)
    unit, centers = BOX.to_unit(points), BOX.to_unit(result.release.centers)
    assert np.array_equal(found.places, centers)
    cost = np.square(unit[:, None] - centers).sum(axis=2).min(axis=1).sum()
    story = CATALOGUE["convergent_kmeans"].run
    lloyds = story.find_reference(points, WORDS, result, params).nonprivate_costs[-1]
    best = min(lloyds, nonprivate_kmeans(unit, len(centers)).nonprivate_costs[-1])
    assert found.nonprivate_value == pytest.approx(max(cost / best, 1.0), rel=1e-9)


def test_seeds_of_start_and_noise_are_apart():
    assert Draws(5, 0, 2).vary == "both"
    same_noise = runs_of("convergent_kmeans", Draws(5, 0, 2, "start"))
    assert not np.array_equal(same_noise[0].places, same_noise[1].places), "another start"
    rngs = [Draws(5, 0, 2, vary).noise(run).random() for vary in SEEDS for run in (0, 1)]
    assert rngs[2] == rngs[3], "only the start differs"
    assert rngs[0] != rngs[1]
    assert rngs[:2] == rngs[4:]
    with pytest.raises(ValueError, match="one of noise"):
        Draws(1, 0, 1, "data")


def test_known_classes_make_agreement_the_figure():
    classes = np.random.default_rng(0).integers(0, 2, 150)
    (with_classes,) = runs_of("morse", Draws(5, 0, 1), classes=classes)
    (without,) = runs_of("morse", Draws(5, 0, 1))
    assert with_classes.figure.name == "agreement"
    assert without.figure.name == "number of peaks"
