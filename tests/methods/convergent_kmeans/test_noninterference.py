"""The public picture follows from the release: change everything else, and not one byte of it moves."""

import dataclasses

import numpy as np
import pytest

from dpviz.methods.convergent_kmeans.run import ConvergentKMeansRun
from dpviz.plots import Audience, pack
from dpviz.stories import View
from tests.stories.marks import chart_of, leak

VIEWS = {1: (View(),), 2: (View(),), 5: (View(), View(3, 1), View(principal=True))}
SETTINGS = [(d, view) for d, views in VIEWS.items() for view in views]


def other(array, rng):
    """Return an array of the same shape and kind with nothing in common."""
    if array.dtype.kind == "i":
        return (array + rng.integers(1, 3, array.shape)) % (array.max(initial=0) + 1)
    return rng.uniform(0.5, 1.0, array.shape)  # where lambda may be


def arrays_of(step):
    return [field.name for field in dataclasses.fields(step) if isinstance(getattr(step, field.name), np.ndarray)]


def with_trace(told, names, seed=1):
    """Change these arrays of every step that has them; the release stays."""
    rng = np.random.default_rng(seed)
    trace = tuple(
        dataclasses.replace(
            step, **{name: other(getattr(step, name), rng) for name in names if name in arrays_of(step)}
        )
        for step in told.result.trace
    )
    return dataclasses.replace(told, result=dataclasses.replace(told.result, trace=trace))


def with_records(told, n, seed=2):
    """Put n other records under the same release, with Lloyd's run on them."""
    unit = np.random.default_rng(seed).random((n, told.words.box.d))
    points = told.words.box.from_unit(unit)
    reference = ConvergentKMeansRun.find_reference(points, told.words, told.result)
    labels = tuple(
        dataclasses.replace(step, nonprivate_members=np.arange(n) % told.params.n_clusters)
        for step in told.result.trace
    )
    result = dataclasses.replace(told.result, trace=labels)
    return dataclasses.replace(told, unit=unit, result=result, reference=reference)


def other_world(told, n):
    """Change everything that is not the release."""
    changed = with_trace(with_records(told, n), arrays_of(told.result.trace[-1]))  # it also holds the final sums
    last = dataclasses.replace(changed.result.trace[-1], outcome="max_iterations", lloyd_rounds=7)
    trace = (*changed.result.trace[:-1], last)
    return dataclasses.replace(changed, result=dataclasses.replace(changed.result, trace=trace))


def layer_bytes(drawn):
    """Return each layer alone, as bytes without its place in the picture."""
    return {layer.name: pack(dataclasses.replace(drawn, layers=(layer,))) for layer in drawn.layers}


@pytest.mark.parametrize(("d", "view"), SETTINGS)
def test_the_public_scene_follows_from_the_release(tell, show, options, d, view):
    told = tell(d, **options)
    changed = other_world(told, 123)
    assert changed.result.release is told.result.release
    here, there = show(told, view), show(changed, view)
    assert pack(here) != pack(there), "the curator's picture does change"
    assert pack(here.public()) == pack(there.public())
    if view.principal:
        assert here.public().layers == ()


@pytest.mark.parametrize("d", [1, 2])
def test_public_numbers_follow_from_the_release(tell, options, d):
    told = tell(d, **options)
    changed = other_world(told, 123)
    assert told.stage_words()[1] == changed.stage_words()[1]
    assert told.stage_words()[0] != changed.stage_words()[0]
    assert told.risk() == changed.risk()
    assert all(fact.public for fact in told.risk())
    facts = [[fact for fact in world.utility() if fact.public] for world in (told, changed)]
    assert facts[0] == facts[1]
    assert told.utility() != changed.utility()


@pytest.mark.parametrize("d", [2])
def test_public_charts_follow_from_the_release(tell, options, d):
    told = tell(d, **options)
    changed = other_world(told, 123)
    assert pack(chart_of(told, "spending")) == pack(chart_of(changed, "spending"))
    assert pack(chart_of(told, "spending").public()) == pack(chart_of(told, "spending"))
    assert pack(chart_of(told, "cost")) != pack(chart_of(changed, "cost"))
    assert pack(chart_of(told, "cost").public()) == pack(chart_of(changed, "cost").public())
    assert chart_of(told, "cost").public().is_empty


@pytest.mark.parametrize("d", [2])
def test_only_the_curators_layers_depend_on_a_secret(tell, show, options, d):
    told = tell(d, **options)
    drawn = show(told)
    audience = {layer.name: layer.audience for layer in drawn.layers}
    assert len(audience) == len(drawn.layers), "a name stands for one layer"
    worlds = {name: with_trace(told, [name]) for name in arrays_of(told.result.trace[-1])}
    worlds["records"] = with_records(told, 300)
    worlds["reference"] = dataclasses.replace(told, reference=with_records(told, 300).reference)
    before, moved = layer_bytes(drawn), set()
    for name, world in worlds.items():
        after = layer_bytes(show(world))
        changed = {layer for layer in before if before[layer] != after[layer]}
        public = {layer for layer in changed if audience[layer] is not Audience.CURATOR}
        assert not public, f"{name} moves {public}"
        moved |= changed
    secret = {name for name, seen in audience.items() if seen is Audience.CURATOR}
    assert moved == secret, "a layer that no secret moves need not be hidden"


@pytest.mark.parametrize("name", ["true average", "person", "center without privacy", "exact move"])
def test_one_wrong_audience_would_be_noticed(tell, show, options, name):
    told = tell(2, **options)
    assert name in {one.name for one in show(told).layers}
    here, there = (leak(show(world), name).public() for world in (told, other_world(told, 300)))
    assert pack(here) != pack(there)


def test_a_principal_plane_called_public_would_be_noticed(tell, show):
    told = tell(5)
    worlds = [show(world, View(principal=True)) for world in (told, other_world(told, 300))]
    assert not worlds[0].axes_public
    leaking = [dataclasses.replace(drawn, axes_public=True).public() for drawn in worlds]
    assert pack(leaking[0]) != pack(leaking[1])


def test_what_zones_stand_on_is_public_in_repaired_mode_only(tell, show):
    def public(told):
        return {layer.name for layer in show(told).public().layers}

    noisy = {"noisy mean", "controller", "convergent zone", "draw", "density of the draw"}
    assert noisy <= public(tell(mode="repaired"))
    assert not noisy & public(tell(mode="published"))
    both = {"public bounds", "border", "sampling zone", "path", "center", "released center"}
    assert both <= public(tell(mode="published"))
    assert both <= public(tell(mode="repaired"))


def test_a_start_of_records_is_nowhere_in_public(tell, show):
    for options in ({"mode": "repaired", "start": "records"}, {"mode": "published", "start": "records"}):
        told = tell(**options)
        drawn = show(told).public()
        start = told.result.trace[0].previous_centers.astype(np.float32)
        places = np.concatenate(
            [
                array.reshape(-1, array.shape[-1])[:, :2].astype(np.float32)
                for layer in drawn.layers
                for name, array in layer.arrays.items()
                if array.shape[-1] in (2, 4) and name not in ("radius", "value")
            ]
        )
        assert not any((places == center).all(axis=1).any() for center in start)
        assert "start" not in {layer.name for layer in drawn.layers}
