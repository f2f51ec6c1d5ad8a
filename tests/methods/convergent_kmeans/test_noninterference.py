"""The public pictures of k-means methods follow from the release: change the rest, and not one byte of them moves."""

import dataclasses

import numpy as np
import pytest

from dpviz.methods.convergent_kmeans.family import RUNS, EUGkMRun, FamilyRun
from dpviz.plots import Audience, pack
from dpviz.stories import View
from tests.stories.conftest import MODES
from tests.stories.marks import NOISY, chart_of, check_leak

VIEWS = {1: (View(),), 2: (View(),), 5: (View(), View(3, 1), View(principal=True))}
SETTINGS = [(d, view) for d, views in VIEWS.items() for view in views]
NAMES = sorted(name for name, run in RUNS.items() if issubclass(run, FamilyRun | EUGkMRun))
OURS = "convergent_kmeans"
EVERY = [
    *(pytest.param(OURS, {"epsilon": 2.0, **given}, id=f"{OURS}-{mode}") for mode, given in MODES.items()),
    *(pytest.param(name, {}, id=name) for name in NAMES),
]
# One entry for each record.
OF_RECORDS = ("nonprivate_labels", "nonprivate_members")


def other(array, rng):
    """Return an array of the same shape and kind with nothing in common."""
    if array.dtype.kind == "i":
        return (array + rng.integers(1, 3, array.shape)) % (array.max(initial=0) + 1)
    # Range of lambda.
    return rng.uniform(0.5, 1.0, array.shape)


def arrays_of(step):
    return [field.name for field in dataclasses.fields(step) if isinstance(getattr(step, field.name), np.ndarray)]


def with_changed_trace(told, change):
    """Replace every step with the result of `change`; the release stays."""
    result = dataclasses.replace(told.result, trace=tuple(map(change, told.result.trace)))
    return dataclasses.replace(told, result=result)


def with_trace(told, names, seed=1):
    """Change these arrays of every step that has them; the release stays."""
    rng = np.random.default_rng(seed)
    return with_changed_trace(
        told,
        lambda step: dataclasses.replace(
            step, **{name: other(getattr(step, name), rng) for name in names if name in arrays_of(step)}
        ),
    )


def with_records(told, n, seed=2):
    """Put n other records under the same release, with Lloyd's run on them."""
    unit = np.random.default_rng(seed).random((n, told.words.box.d))
    reference = type(told).find_reference(told.words.box.from_unit(unit), told.words, told.result, told.params)
    labels = np.arange(n) % told.params.n_clusters
    changed = with_changed_trace(
        told,
        lambda step: dataclasses.replace(
            step, **{name: labels for name in OF_RECORDS if name in {each.name for each in dataclasses.fields(step)}}
        ),
    )
    return dataclasses.replace(changed, unit=unit, reference=reference)


def other_world(told, n):
    """Change everything that is not the release, for the grid even how long its k-means took."""
    ends = told.result.trace[0], told.result.trace[-1]
    trace = with_trace(with_records(told, n), sorted({name for step in ends for name in arrays_of(step)})).result.trace
    if hasattr(trace[0], "nonprivate_cell_counts"):
        trace = trace[:1]
    known = {"outcome": "max_iterations", "lloyd_rounds": 7}
    last = dataclasses.replace(trace[-1], **{name: known[name] for name in known if hasattr(trace[-1], name)})
    changed = with_records(told, n)
    return dataclasses.replace(changed, result=dataclasses.replace(changed.result, trace=(*trace[:-1], last)))


def layer_bytes(drawn):
    """Return each layer separately, as bytes without its place in the picture."""
    return {layer.name: pack(dataclasses.replace(drawn, layers=(layer,))) for layer in drawn.layers}


@pytest.mark.parametrize(("d", "view"), SETTINGS)
@pytest.mark.parametrize(("name", "given"), EVERY)
def test_the_public_scene_follows_from_the_release(tell_family, show, name, given, d, view):
    told = tell_family(name, d, **given)
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
@pytest.mark.parametrize(("name", "given"), EVERY)
def test_public_numbers_and_charts_follow_from_the_release(tell_family, name, given, d):
    told = tell_family(name, d, **given)
    changed = other_world(told, 123)
    assert told.stage_words()[1] == changed.stage_words()[1]
    assert told.stage_words()[0] != changed.stage_words()[0] or name != OURS
    assert told.risk() == changed.risk()
    assert all(fact.public for fact in told.risk())
    facts = [[fact for fact in world.utility() if fact.public] for world in (told, changed)]
    assert facts[0] == facts[1]
    assert told.utility() != changed.utility()
    assert pack(chart_of(told, "spending")) == pack(chart_of(changed, "spending"))
    assert pack(chart_of(told, "spending").public()) == pack(chart_of(told, "spending"))
    assert pack(chart_of(told, "cost")) != pack(chart_of(changed, "cost"))
    assert pack(chart_of(told, "cost").public()) == pack(chart_of(changed, "cost").public())
    assert chart_of(told, "cost").public().is_empty


@pytest.mark.parametrize(("name", "given"), EVERY)
def test_only_the_curators_layers_depend_on_a_secret(tell_family, show, name, given):
    told = tell_family(name, **given)
    drawn = show(told)
    audience = {layer.name: layer.audience for layer in drawn.layers}
    assert len(audience) == len(drawn.layers), "a name stands for one layer"
    step = told.result.trace[-1 if name == OURS else 0]
    worlds = {array: with_trace(told, [array]) for array in arrays_of(step)}
    worlds["records"] = with_records(told, 300)
    worlds["reference"] = dataclasses.replace(told, reference=worlds["records"].reference)
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
    OURS: ("true average", "person", "center without privacy", "exact move"),
}


@pytest.mark.parametrize(
    ("name", "given", "layer"),
    [
        (name, given, layer)
        for name, layers in LEAKS.items()
        for given in ({"epsilon": 2.0, **mode} for mode in (MODES.values() if name == OURS else ({"epsilon": 5.0},)))
        for layer in layers
    ],
)
def test_one_wrong_audience_would_be_noticed(tell_family, name, given, layer):
    told = tell_family(name, 2, **given)
    check_leak(told, other_world(told, 300), layer)


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


@pytest.mark.parametrize(
    ("name", "given"),
    [("lloyd", {}), *((name, {}) for name in NOISY), *((OURS, {"mode": mode}) for mode in ("repaired", "published"))],
)
def test_a_start_of_records_is_nowhere_in_public(tell_family, show, name, given):
    told = tell_family(name, start="records", **given)
    drawn = show(told).public()
    start = told.result.trace[0].previous_centers.astype(np.float32)
    for layer in drawn.layers:
        for field, array in layer.arrays.items():
            if array.shape[-1] in (2, 4) and field not in ("radius", "value"):
                places = array.reshape(-1, array.shape[-1])[:, :2].astype(np.float32)
                assert not any((places == center).all(axis=1).any() for center in start), layer.name
    assert told.result.guarantee.proved is None
    assert name != OURS or "start" not in {layer.name for layer in drawn.layers}


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
