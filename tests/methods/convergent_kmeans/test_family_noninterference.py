"""The family's public pictures follow from the release: change everything else, and not one byte of them moves."""

import dataclasses

import numpy as np
import pytest

from dpviz.methods.convergent_kmeans.family import RUNS, EUGkMRun, FamilyRun
from dpviz.plots import Audience, pack
from dpviz.stories import View
from tests.methods.convergent_kmeans.test_noninterference import arrays_of, layer_bytes, with_trace
from tests.stories.marks import NOISY, chart_of, leak

VIEWS = {1: (View(),), 2: (View(),), 5: (View(), View(3, 1), View(principal=True))}
SETTINGS = [(d, view) for d, views in VIEWS.items() for view in views]
NAMES = sorted(name for name, run in RUNS.items() if issubclass(run, FamilyRun | EUGkMRun))
OF_RECORDS = ("nonprivate_labels",)  # one entry a record


def with_records(told, n, seed=2):
    """Put n other records under the same release, with Lloyd's run on them."""
    points = told.words.box.from_unit(np.random.default_rng(seed).random((n, told.words.box.d)))
    reference = type(told).find_reference(points, told.words, told.result, told.params)
    trace = []
    for step in told.result.trace:
        held = [name for name in OF_RECORDS if name in arrays_of(step)]
        trace.append(dataclasses.replace(step, **dict.fromkeys(held, np.arange(n) % told.params.n_clusters)))
    result = dataclasses.replace(told.result, trace=tuple(trace))
    return dataclasses.replace(told, unit=told.words.box.to_unit(points), result=result, reference=reference)


def other_world(told, n):
    """Change everything that is not the release, for the grid even how long its k-means took."""
    changed = with_trace(with_records(told, n), arrays_of(told.result.trace[0]))
    trace = changed.result.trace
    if hasattr(trace[0], "nonprivate_cell_counts"):
        trace = trace[:1]
    if hasattr(trace[0], "outcome"):
        trace = (*trace[:-1], dataclasses.replace(trace[-1], outcome="max_iterations"))
    return dataclasses.replace(changed, result=dataclasses.replace(changed.result, trace=trace))


@pytest.mark.parametrize(("d", "view"), SETTINGS)
@pytest.mark.parametrize("name", NAMES)
def test_the_public_scene_follows_from_the_release(tell_family, show, name, d, view):
    told = tell_family(name, d)
    changed = other_world(told, 123)
    assert changed.result.release is told.result.release
    here, there = show(told, view), show(changed, view)
    assert pack(here) != pack(there), "the curator's picture does change"
    assert pack(here.public()) == pack(there.public())
    if view.principal:
        assert here.public().layers == ()
    elif name != "lloyd":
        kept = {layer.name: layer.audience for layer in here.public().layers}
        assert kept["released center"] is Audience.RELEASED


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_public_numbers_and_charts_follow_from_the_release(tell_family, name, d):
    told = tell_family(name, d)
    changed = other_world(told, 123)
    assert told.stage_words()[1] == changed.stage_words()[1]
    assert told.risk() == changed.risk()
    assert all(fact.public for fact in told.risk())
    facts = [[fact for fact in world.utility() if fact.public] for world in (told, changed)]
    assert facts[0] == facts[1]
    assert told.utility() != changed.utility()
    assert pack(chart_of(told, "spending")) == pack(chart_of(changed, "spending"))
    assert pack(chart_of(told, "cost")) != pack(chart_of(changed, "cost"))
    assert pack(chart_of(told, "cost").public()) == pack(chart_of(changed, "cost").public())
    assert chart_of(told, "cost").public().is_empty


@pytest.mark.parametrize("d", [2])
@pytest.mark.parametrize("name", NAMES)
def test_only_the_curators_layers_depend_on_a_secret(tell_family, show, name, d):
    told = tell_family(name, d)
    drawn = show(told)
    audience = {layer.name: layer.audience for layer in drawn.layers}
    assert len(audience) == len(drawn.layers), "a name stands for one layer"
    worlds = {array: with_trace(told, [array]) for array in arrays_of(told.result.trace[0])}
    worlds["records"] = with_records(told, 300)
    worlds["reference"] = dataclasses.replace(told, reference=with_records(told, 300).reference)
    before, moved = layer_bytes(drawn), set()
    for secret, world in worlds.items():
        after = layer_bytes(show(world))
        changed = {layer for layer in before if before[layer] != after.get(layer)}
        public = {layer for layer in changed if audience[layer] is not Audience.CURATOR}
        assert not public, f"{secret} moves {public}"
        moved |= changed
    if name != "lloyd":  # whose release is as exact as its trace
        hidden = {layer for layer, seen in audience.items() if seen is Audience.CURATOR}
        assert moved == hidden, "a layer that no secret moves need not be hidden"


LEAKS = {
    "blum": ("true average", "person", "noise", "likely error on the way"),
    "eugkm": ("exact count", "center", "true average"),
}


@pytest.mark.parametrize(("name", "layer"), [(name, layer) for name, layers in LEAKS.items() for layer in layers])
def test_one_wrong_audience_would_be_noticed(tell_family, show, name, layer):
    told = tell_family(name, 2, epsilon=5.0)
    assert layer in {one.name for one in show(told).layers}
    here, there = (leak(show(world), layer).public() for world in (told, other_world(told, 300)))
    assert pack(here) != pack(there)


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


@pytest.mark.parametrize("name", ["lloyd", *NOISY])
def test_a_start_of_records_is_nowhere_in_public(tell_family, show, name):
    told = tell_family(name, start="records")
    drawn = show(told).public()
    start = told.result.trace[0].previous_centers.astype(np.float32)
    for layer in drawn.layers:
        for array in layer.arrays.values():
            places = array.reshape(-1, array.shape[-1])[:, :2].astype(np.float32)
            assert not any((places == center).all(axis=1).any() for center in start), layer.name
    assert told.result.guarantee.proved is None


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
    assert pack(seen) == pack(show(other_world(told, 300)).public())
    assert "Noisy counts" in seen.frames[0].detail
