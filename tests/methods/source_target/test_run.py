"""A source-target picture agrees with the run, by brute force, and nothing in it is secret."""

import dataclasses
import functools

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dpviz.core import Box
from dpviz.data.target_pairs import FIRST_AID
from dpviz.methods.source_target import algorithm, layers
from dpviz.methods.source_target.run import SourceTargetRun
from dpviz.plots import pack
from dpviz.stories import View
from dpviz.stories.wording import in_words
from tests.stories.conftest import records_of, words_of

METHODS = ("nna", "nas")
VIEWS = {1: (View(),), 2: (View(),), 4: (View(), View(3, 1), View(principal=True))}


@functools.lru_cache(maxsize=64)
def run_of(d=2, n=400, seed=0, n_targets=60, town=False, **options):
    words, rng = words_of(d), np.random.default_rng([seed, 9])
    if town:
        words = dataclasses.replace(words, box=Box.cube(0.0, 10_000.0, d), nouns=FIRST_AID)
    targets = words.box.from_unit(rng.random((n_targets, d)))
    params = algorithm.Params(
        targets=targets, **{"n_centers": 4, "epsilon": 4.0, "t": 20, "coreset_radius": 0.1, **options}
    )
    points = words.box.from_unit(words_of(d).box.to_unit(records_of(d, n, seed)))
    result = algorithm.fit(points, words.box, params, rng=np.random.default_rng(seed))
    run = SourceTargetRun.from_result(
        result, params, points, words, SourceTargetRun.find_reference(points, words, result, params)
    )
    run = dataclasses.replace(run, classes=np.arange(n) % 3, target_classes=np.arange(n_targets) % 3)
    return dataclasses.replace(run, record=min(3, n - 1) if n else None)


def scene(run, view=None):
    return run.draw_scene(view or View())


def layer(run, name):
    (layer,) = [each for each in scene(run).layers if each.name == name]
    return layer


@pytest.mark.parametrize("method", METHODS)
def test_profiles_stand_where_the_new_centers_do(method):
    run = run_of(method=method)
    assert not np.allclose(run.words.box.widths, 1.0), "else data units are the box's"
    (lines,) = [each for each in run.profile_charts()[0].scene.layers if each.name == "released center"]
    assert lines.arrays["xy"][0, ..., 0] == pytest.approx(run.selected, abs=1e-12)


@pytest.mark.parametrize(("seed", "epsilon"), [(0, 0.3), (1, 4.0), (2, 40.0)])
def test_residents_far_from_help_are_those_of_brute_force(seed, epsilon):
    run = run_of(seed=seed, epsilon=epsilon, n_targets=300, town=True)
    targets, chosen = run.params.targets, run.release.selected
    helpers = np.concatenate([run.words.box.from_unit(run.unit), targets[chosen]])
    nearest = cdist(targets, helpers).min(axis=1)
    far = np.flatnonzero(nearest > 1000.0)
    assert far.size, "else nothing is tested"
    assert layer(run, "resident far from help").ids == tuple(far.tolist())
    assert f"{in_words(len(far))} resident" in run.finding().curator.lower()
    ways = 10_000.0 * layer(run, "path to help").arrays["ends"][0]
    assert ways[:, :2] == pytest.approx(targets[far])
    assert np.hypot(*(ways[:, 2:] - ways[:, :2]).T) == pytest.approx(nearest[far])
    # Rounded lights are off by half a diagonal of their grid at most.
    light = layer(run, "light: help is near").arrays
    lit = 10_000.0 * np.concatenate([light["fixed_xy"][0], light["xy"][1]])
    edge, slack = 10_000.0 * light["zones"].max(), 10_000.0 * np.sqrt(0.5) / layers.LIGHT_PLACES
    assert edge == pytest.approx(1000.0)
    assert np.abs(cdist(targets, lit).min(axis=1) - nearest).max() <= slack


def test_only_a_neighborhoods_map_is_lit():
    run = run_of(town=True)
    assert run.reach == pytest.approx(0.1)
    feet = dataclasses.replace(run, words=dataclasses.replace(run.words, units=("ft", "ft")))
    country = dataclasses.replace(run, words=dataclasses.replace(run.words, box=Box.cube(0.0, 1e6, 2)))
    oblong = dataclasses.replace(run, words=dataclasses.replace(run.words, box=Box((0.0, 0.0), (5e3, 9e3))))
    assert {each.reach for each in (run_of(), feet, country, oblong)} == {None}


def test_lines_lead_from_every_target_to_whoever_serves_it():
    run = run_of()
    served = [layer(run, f"nearest {server}") for server in ("noisy average", "new center")]
    ends = np.concatenate([each.arrays["ends"][0] for each in served])
    assert len(ends) == len(run.targets)
    widths = run.words.box.widths
    lengths = np.linalg.norm((ends[:, 2:] - ends[:, :2]) * widths, axis=1)
    assert np.sort(lengths) == pytest.approx(np.sort(run.service[0]))
    for each in served:  # a line leads to the mark of its hub that it says
        marks = layer(run, each.hub).arrays["xy"][0]
        assert each.arrays["ends"][0, :, 2:] == pytest.approx(marks[each.arrays["hub"][0]])


def test_cells_are_those_of_data_units():
    """The box is no square: who is nearest in the picture is not who is nearest."""
    run = run_of(coreset_radius=0.0, n_targets=12)
    ends = layer(run, "cell").arrays["ends"][0]
    middles = run.words.box.from_unit((ends[:, :2] + ends[:, 2:]) / 2)
    two = np.sort(cdist(middles, run.params.targets), axis=1)[:, :2]
    assert two[:, 0] == pytest.approx(two[:, 1], rel=1e-4), "a border is as far from both"


def test_refused_cells_are_those_below_the_threshold():
    run = run_of(epsilon=1.0)
    release, step = run.result.release, run.step
    below = np.flatnonzero(step.noisy_counts < release.threshold)
    assert np.array_equal(run.refused, below)
    assert layer(run, "refused: too few").arrays["xy"].shape[1] == len(below)
    (chart,) = [chart.scene for chart in run.charts() if chart.key in ("counts", "bound")]
    bars = {each.name: each.arrays["rect"][0] for each in chart.layers if each.name != "Threshold"}
    assert (bars["Released"][:, 3] >= release.threshold).all()
    assert (bars["Refused"][:, 3] < release.threshold).all()
    assert {each.name for each in chart.public().layers} == {"Released", "Threshold"}


def test_fans_lead_to_the_nearest_records():
    run = run_of(method="nas")
    ends = layer(run, "nearest records of some targets").arrays["ends"][0]
    assert len(ends) == layers.FANS * 20
    box = run.words.box
    tails, heads = box.from_unit(ends[:, :2]), box.from_unit(ends[:, 2:])
    source = run.step.nonprivate_source
    for tail, head in zip(tails[::20], heads.reshape(-1, 20, 2), strict=True):
        gaps = np.sort(np.linalg.norm(source - tail, axis=1))
        assert np.linalg.norm(head - tail, axis=1).max() <= gaps[19] + 0.2  # records drawn are not projected


@pytest.mark.parametrize("method", METHODS)
def test_the_bound_is_drawn_beside_what_it_is_about(method):
    run = run_of(method=method, epsilon=None, rho=50.0, noise="gaussian", coreset_radius=0.02)
    facts = {fact.label: fact for fact in run.utility()}
    assert not facts["S′ instead of S, measured"].public
    if method == "nna":
        assert "S′ instead of S, bound" not in facts
        return
    assert not facts["S′ instead of S, bound"].public
    (chart,) = [chart.scene for chart in run.charts() if chart.key in ("counts", "bound")]
    bars = chart.layers[0].arrays["rect"][0, :, 2]
    assert bars[1:4].sum() == pytest.approx(bars[4])
    assert bars[0] == pytest.approx(run.nonprivate_difference())
    assert chart.public().is_empty
    loud = run_of(method="nas", epsilon=0.1)
    assert "says nothing" in {fact.label: fact for fact in loud.utility()}["S′ instead of S, bound"].value


def test_nothing_is_said_of_labels_where_a_class_is_unknown():
    assert run_of().nonprivate_accuracies()
    assert dataclasses.replace(run_of(), classes=None).nonprivate_accuracies() == ()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "options",
    [
        {"n": 0},
        {"n": 1},
        {"n": 5, "t": 50},
        {"n_targets": 1},
        {"n_centers": 200},
        {"coreset_radius": 0.0},
        {"coreset_radius": 1.0},
        {"epsilon": 0.01},
        {"d": 1},
        {"d": 7, "epsilon": 20.0},
        {"noise": "gaussian", "delta": 1e-5, "calibration": "tight"},
    ],
    ids=str,
)
def test_degenerate_runs_have_a_picture(method, options):
    run = run_of(method=method, **options)
    for picture in (scene(run), *(chart for _, chart in [(chart.key, chart.scene) for chart in run.charts()])):
        pack(picture)
        pack(picture.public())
    assert all(each.rows.shape == (layers.CLOCK.n_frames,) for each in scene(run).layers)
    assert run.finding().public
    assert run.utility()


def test_the_frame_is_the_public_box_whatever_the_noise():
    views = {
        (scene(run).x.view, scene(run).y.view) for run in [run_of(epsilon=epsilon) for epsilon in (0.05, 1.0, 400.0)]
    }
    assert len(views) == 1


def test_marks_are_called_what_the_data_call_them():
    run = run_of()
    run = dataclasses.replace(run, words=dataclasses.replace(run.words, nouns=FIRST_AID))
    names = {each.name for each in scene(run).layers}
    assert {"paramedic", "resident", "noisy average", "new first-aid point"} <= names
    assert {each.name for each in scene(run).public().layers}.isdisjoint({"paramedic", "noise", "exact average"})


def test_refused_averages_have_no_thread_once_they_are_refused():
    run = run_of(epsilon=1.0)
    threads = layer(run, "noise").arrays["ends"]
    assert len(run.refused) > 0
    assert np.isnan(threads[1, run.refused]).all()
    kept = np.setdiff1d(np.arange(threads.shape[1]), run.refused)
    heads = run.plane(View()).pinned(layer(run, "noisy average").arrays["xy"][0])
    assert threads[1, kept, 2:] == pytest.approx(heads)
