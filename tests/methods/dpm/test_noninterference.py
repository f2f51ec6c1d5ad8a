"""DPM's public pictures follow from the release: change everything else, and not one byte of them moves."""

import dataclasses

import numpy as np
import pytest

from dpviz.methods.dpm.algorithm import CentersStep, LevelStep, PlanStep, SplitTrace
from dpviz.methods.dpm.charts import tree_chart
from dpviz.plots import Audience, pack
from dpviz.stories import View
from tests.methods.convergent_kmeans.test_noninterference import layer_bytes
from tests.methods.dpm.test_run import strips_of
from tests.stories.marks import check_leak, check_public_part

SOLID = View(3, 1, z=0, yaw=50.0, pitch=-20.0)
VIEWS = {1: (View(),), 2: (View(),), 5: (View(), View(3, 1), SOLID), 10: (View(),)}
SETTINGS = [(d, view) for d, views in VIEWS.items() for view in views]
CALIBRATIONS = ("repaired", "published")


def other_split(split, rng):
    """Change every exact value of a cut that was tried."""
    shape = split.nonprivate_counts.shape
    return dataclasses.replace(
        split,
        nonprivate_count=split.nonprivate_count + 17,
        nonprivate_counts=rng.integers(0, 90, shape).astype(np.int32),
        nonprivate_depths=rng.integers(-90, 90, shape).astype(np.int32),
        nonprivate_ranks=np.sort(rng.integers(0, 900, shape), axis=1).astype(np.int32),
        nonprivate_best=tuple(int(i) for i in np.argwhere(split.exists)[rng.integers(split.exists.sum())]),
    )


def other_step(step, n, rng):
    """Change every exact value of a step, for n records."""
    if isinstance(step, PlanStep):
        interval = dataclasses.replace(
            step.interval,
            nonprivate_utility=-rng.random(step.interval.nonprivate_utility.shape),
            nonprivate_probabilities=rng.random(step.interval.nonprivate_probabilities.shape),
        )
        return dataclasses.replace(step, interval=interval, nonprivate_count=n)
    if isinstance(step, LevelStep):
        return dataclasses.replace(step, splits=tuple(other_split(split, rng) for split in step.splits))
    assert isinstance(step, CentersStep)
    k = len(step.centers)
    return dataclasses.replace(
        step,
        nonprivate_labels=rng.integers(0, k, n),
        nonprivate_counts=rng.random(k) * n,
        nonprivate_centers=step.centers + rng.random(step.centers.shape),
        nonprivate_noiseless=step.centers + rng.random(step.centers.shape),
        clipped=~step.clipped,
    )


def other_world(told, n, seed=1):
    """Put other records and another trace under the same release."""
    rng = np.random.default_rng(seed)
    points = told.words.box.from_unit(rng.random((n, told.words.box.d)))
    trace = tuple(other_step(step, n, rng) for step in told.result.trace)
    result = dataclasses.replace(told.result, trace=trace)
    return dataclasses.replace(
        told,
        result=result,
        unit=told.words.box.to_unit(points),
        classes=rng.integers(0, 3, n),
    )


def with_classes(told):
    return dataclasses.replace(told, classes=np.arange(len(told.unit)) % 4)


def everything_public(told):
    """Return all that the public can be sent of a run, the main picture aside."""
    charts = [
        tree_chart(told.release, told.subsets, told.node),
        *(chart.scene for chart in told.charts()),
        *strips_of(told).values(),
    ]
    told_facts = [fact for fact in (*told.utility(), *told.risk(), *told.node_facts()) if fact.public]
    return [pack(chart.public()) for chart in charts], told_facts, told.stage_words()[1]


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize(("d", "view"), SETTINGS)
@pytest.mark.parametrize("n", [900, 123])
def test_the_public_scene_follows_from_the_release(tell_dpm, calibration, d, view, n):
    told = with_classes(tell_dpm(d, calibration=calibration, epsilon=100.0 if d == 10 else 5.0))
    assert told.last.n_rounds == (2 if (d, calibration) == (10, "repaired") else 1)
    here = check_public_part(told, other_world(told, n), view)
    kept = {layer.name: layer.audience for layer in here.public().layers}
    assert kept["released average"] is kept["cut"] is kept["refused"] is Audience.RELEASED
    assert kept["half of the noise"] is Audience.NOISE
    assert not {"person", "best cut", "true average"} & set(kept)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("node", [0, 1])
def test_public_numbers_and_charts_follow_from_the_release(tell_dpm, calibration, d, node):
    told = dataclasses.replace(with_classes(tell_dpm(d, calibration=calibration)), chosen=node)
    changed = other_world(told, 123)
    assert everything_public(told) == everything_public(changed)
    assert told.stage_words()[0] != changed.stage_words()[0]
    assert told.utility() != changed.utility()
    assert told.node_facts() != changed.node_facts()
    assert all(fact.public for fact in told.risk())
    assert all(chart.public().is_empty for chart in strips_of(told).values()), "scores are exact"
    trees = [pack(tree_chart(each.release, each.subsets, each.node)) for each in (told, changed)]
    assert trees[0] == trees[1], "all of the tree is released"


@pytest.mark.parametrize("d", [1, 2, 5])
def test_only_the_curators_layers_depend_on_a_secret(tell_dpm, show, d):
    told = tell_dpm(d)
    drawn, changed = show(told), show(other_world(told, 900))
    audience = {layer.name: layer.audience for layer in drawn.layers}
    assert len(audience) == len(drawn.layers), "a name stands for one layer"
    before, after = layer_bytes(drawn), layer_bytes(changed)
    moved = {name for name in before if before[name] != after.get(name)}
    assert moved == {name for name, seen in audience.items() if seen is Audience.CURATOR}


@pytest.mark.parametrize("name", ["person", "best cut", "true average", "chance of each cut", "noise"])
def test_one_wrong_audience_would_be_noticed(tell_dpm, name):
    check_leak(tell_dpm(), other_world(tell_dpm(), 900), name)


def test_every_exact_field_of_the_trace_was_changed(tell_dpm):
    """If this test forgot a field that the story reads, the tests above would be worthless."""
    told = tell_dpm()
    changed = other_world(told, 123)
    exact = [field.name for field in dataclasses.fields(SplitTrace) if field.name.startswith("nonprivate_")]
    for step, other in zip(told.result.trace, changed.result.trace, strict=True):
        for one, two in zip(getattr(step, "splits", ()), getattr(other, "splits", ()), strict=True):
            same = [name for name in exact if np.array_equal(getattr(one, name), getattr(two, name))]
            assert set(same) <= {"nonprivate_best"}
