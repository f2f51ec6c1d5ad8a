"""Marks of the picture: each against its step, projected by hand."""

import math

import numpy as np
import pytest

from dpviz.plots import Audience, Kind
from dpviz.stories import View
from dpviz.stories.ground_layers import MOST_DRAWN, NO_GROUP
from tests.stories.marks import ROUNDING, SETTINGS, brute_labels, by_hand, named
from tests.stories.marks import shown as shown_array

PHASES = ("assign", "mean", "zone", "sample")
AFTER = {"mean": ("mean", "zone", "sample"), "zone": ("zone", "sample"), "sample": ("sample",)}
DRAWN = {  # layer -> array -> (field of the step, phases that show it)
    "true average": {"xy": ("nonprivate_mean", AFTER["mean"])},
    "exact move": {"tail": ("previous_centers", AFTER["mean"]), "head": ("nonprivate_mean", AFTER["mean"])},
    "convergent zone": {"center": ("zone_mean", AFTER["zone"]), "radius": ("convergent_radius", AFTER["zone"])},
    "sampling zone": {"center": ("zone_center", AFTER["zone"]), "radius": ("zone_radius", AFTER["zone"])},
    "controller": {"xy": ("controller", AFTER["zone"])},
    "draw": {"tail": ("zone_mean", AFTER["sample"]), "head": ("released_centers", AFTER["sample"])},
    "center": {"xy": ("released_centers", AFTER["sample"])},
}
# Number of threads.
ENDS = {"tail": slice(0, 2), "head": slice(2, 4)}
NOISE = {
    # Share of the ends.
    "noise": {"tail": ("nonprivate_mean", AFTER["zone"]), "head": ("zone_mean", AFTER["zone"])},
    "noisy mean": {"xy": ("zone_mean", AFTER["zone"])},
}


def frame(step, phase):
    return 1 + 4 * step + PHASES.index(phase)


def shown(layer, at, name):
    """Return the values of an array in a frame, or one end of its threads; None if the layer is hidden."""
    if layer.kind is Kind.SEGMENTS and name in ENDS:
        ends = shown_array(layer, at, "ends")
        return None if ends is None else ends[:, ENDS[name]]
    return shown_array(layer, at, name)


@pytest.mark.parametrize(("d", "view"), SETTINGS)
def test_every_mark_stands_where_its_step_was(tell, show, options, d, view):
    told = tell(d, **options)
    layers = named(show(told, view))
    assert (layers["noise"].rows[:-1] >= 0).any() == told.repaired, "as published noise is added at the end alone"
    for name, arrays in {**DRAWN, **(NOISE if told.repaired else {})}.items():
        for array, (field, phases) in arrays.items():
            for t, step in enumerate(told.result.trace):
                wanted = getattr(step, field)
                for phase in phases:
                    found = shown(layers[name], frame(t, phase), array)
                    wanted_there = wanted if wanted.ndim == 1 else by_hand(wanted, view, d)
                    assert found == pytest.approx(wanted_there, rel=0, abs=ROUNDING), name
                hidden = [phase for phase in PHASES if phase not in phases]
                if name != "center":
                    assert all(shown(layers[name], frame(t, phase), array) is None for phase in hidden), name


def test_centers_wait_where_they_were_until_they_are_drawn_again(tell, show, options):
    told = tell(**options)
    layers = named(show(told))
    for t, step in enumerate(told.result.trace):
        for phase in ("assign", "mean", "zone"):
            found = shown(layers["center"], frame(t, phase), "xy")
            assert found is None if t == 0 else np.array_equal(found, step.previous_centers)
    start = layers["start"]
    assert np.array_equal(start.arrays["xy"][0], told.result.trace[0].previous_centers)
    assert start.rows[0] == 0
    path = layers["path"]
    public = told.result.release.start is not None
    wanted = [*([told.result.release.start] if public else []), *told.result.release.path]
    assert np.array_equal(path.arrays["xy"], np.stack(wanted))
    for t in range(len(told.result.trace)):
        assert path.rows[frame(t, "sample")] == t + public
        assert path.rows[frame(t, "zone")] == t + public - 1
    assert path.rows[-1] == -1, "the release has its own marks"


@pytest.mark.parametrize("d", [1, 2, 5])
def test_frames_are_the_start_four_a_step_and_the_release(tell, show, options, d):
    told = tell(d, **options)
    n_steps = len(told.result.trace)
    views = [View(), View(principal=True)] if d > 2 else [View()]
    for view in views:
        drawn = show(told, view)
        assert len(drawn.frames) == 4 * n_steps + 2
        assert drawn.frames[0].label == "Start"
        assert drawn.frames[frame(n_steps - 1, "zone")].label == f"Iteration {n_steps}: zone"
        assert drawn.frames[-1].label == "Release"
        assert all(stop.detail for stop in drawn.frames)
        assert 0 <= drawn.start_frame < len(drawn.frames)
        assert len(drawn.group_names) == told.params.n_clusters
        for layer in drawn.layers:
            assert layer.rows.shape == (4 * n_steps + 2,), layer.name
            assert (layer.rows >= 0).any(), layer.name
            for name, array in layer.arrays.items():
                one_for_all = layer.kind is Kind.POINTS and name == "xy"
                assert len(array) > layer.rows.max() or one_for_all, layer.name


@pytest.mark.parametrize("view", [View(), View(4, 2), View(principal=True)])
def test_circles_keep_their_radius_in_every_view(tell, show, view):
    told = tell(5)
    layers = named(show(told, view))
    radii = np.stack([step.zone_radius for step in told.result.trace])
    assert np.array_equal(layers["sampling zone"].arrays["radius"], radii)
    reach = np.stack([step.convergent_radius for step in told.result.trace])
    assert layers["convergent zone"].arrays["radius"] == pytest.approx(reach, rel=0, abs=ROUNDING)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_records_wear_the_cluster_they_are_in(tell, show, options, d):
    told = tell(d, **options)
    records = named(show(told))["person"]
    assert records.audience is Audience.CURATOR
    xy = records.arrays["xy"]
    assert xy.shape == (1, len(told.unit), 2)
    assert np.array_equal(xy[0, :, 0], told.unit[:, 0])
    if d > 1:
        assert np.array_equal(xy[0, :, 1], told.unit[:, 1])
    else:
        assert ((xy[0, :, 1] >= 0) & (xy[0, :, 1] <= 1)).all()
    assert (shown(records, 0, "group") == NO_GROUP).all()
    for t, step in enumerate(told.result.trace):
        wanted = brute_labels(told.unit, step.previous_centers)
        assert all(np.array_equal(shown(records, frame(t, phase), "group"), wanted) for phase in PHASES)
    assert np.array_equal(shown(records, -1, "group"), brute_labels(told.unit, told.final))


def test_of_many_records_an_even_part_is_drawn(tell, show):
    told = tell(n=50_000)
    records = named(show(told))["person"]
    assert records.arrays["xy"].shape[1] == MOST_DRAWN
    every = 50_000 // MOST_DRAWN
    assert np.array_equal(records.arrays["xy"][0], told.unit[::every])
    assert np.array_equal(shown(records, 1, "group"), told.result.trace[0].nonprivate_labels[::every])
    assert show(told).words.endswith(" Drawing 10,000 of 50,000 points.")
    assert "50,000" not in show(told).public().words, "how many there are is the curator's"
    few = show(tell(n=MOST_DRAWN))
    assert named(few)["person"].arrays["xy"].shape[1] == MOST_DRAWN
    assert few.words == few.caption


def law(place, mean, controller, lam, epsilon):
    """Density per area of the draw, from the specification's step 5, up to a factor."""
    length = np.linalg.norm(controller - mean)
    if np.linalg.norm(place - (mean + lam * (controller - mean))) > (1 - lam) * length:
        return 0.0
    reach = np.linalg.norm(place - mean) / length
    cosine = (place - mean) @ (controller - mean) / (length * np.linalg.norm(place - mean))
    return math.exp(epsilon * (-reach - 2 * math.acos(np.clip(cosine, -1, 1)) / math.pi) / 4) / reach


@pytest.mark.parametrize("temperature", [0.5, 30.0])
@pytest.mark.parametrize("mode", ["repaired", "published"])
def test_the_density_is_the_law_of_the_draw_at_every_cell(tell, show, mode, temperature):
    told = tell(mode=mode, epsilon_per_iteration=temperature)
    layer = named(show(told))["density of the draw"]
    assert layer.audience is (Audience.NOISE if mode == "repaired" else Audience.CURATOR)
    side = layer.arrays["value"].shape[-1]
    cells = (np.arange(side) + 0.5) / side * 2 - 1
    step = told.result.trace[-1]
    row = layer.rows[frame(len(told.result.trace) - 1, "zone")]
    checked = 0
    for i in range(told.params.n_clusters):
        center, radius = layer.arrays["center"][row, i], layer.arrays["radius"][row, i]
        assert np.array_equal(center, step.zone_center[i])
        if radius == 0:
            continue
        at = [step.zone_mean[i], step.controller[i], step.lam[i], temperature]
        wanted = np.array([[law(center + radius * np.array([x, y]), *at) for x in cells] for y in cells])
        value = layer.arrays["value"][row, i].astype(float)
        assert value.max() == 255
        rim = np.abs(np.hypot(*np.meshgrid(cells, cells)) - 1) < 1e-9
        assert (np.abs(value - 255 * wanted / wanted.max())[~rim] <= 0.5 + 1e-6).all()
        assert (value[np.hypot(*np.meshgrid(cells, cells)) > 1 + 1e-9] == 0).all()
        checked += 1
    assert checked


@pytest.mark.parametrize("seed", range(6))
def test_rays_pass_through_the_true_sums(tell, show, seed):
    told = tell(mode="published", seed=seed, epsilon_counts=0.02, n=60)
    ends = named(show(told))["ray through the true sum"].arrays["ends"][0]
    labels = brute_labels(told.unit, told.result.trace[-1].released_centers)
    for i, ray in enumerate(ends):
        total = told.unit[labels == i].sum(axis=0)
        clipped = (told.final[i] > 1 - 1e-9).any() or (told.final[i] < 1e-9).any()
        assert np.isnan(ray[2:]).all() if clipped else np.isfinite(ray).all()
        if not clipped:
            way = ray[2:] - ray[:2]
            assert (ray[:2] == 0).all(), "from the box's low corner"
            assert abs(way[0] * total[1] - way[1] * total[0]) <= 1e-12 * np.linalg.norm(way) * np.linalg.norm(total)
            assert way @ total > 0
            assert ray[2:].max() == pytest.approx(1.0), "to the far wall"


def test_some_rays_are_drawn_and_some_are_not(tell, show):
    told = [tell(mode="published", seed=seed, epsilon_counts=0.02, n=60) for seed in range(6)]
    ends = np.concatenate([named(show(world))["ray through the true sum"].arrays["ends"][0] for world in told])
    assert 0 < np.isnan(ends[:, 2]).sum() < len(ends)
    assert "ray through the true sum" not in named(show(tell(mode="repaired")))


@pytest.mark.parametrize("mode", ["repaired", "published"])
def test_the_release_frame_shows_release_true_means_and_lloyds(tell, show, mode):
    told = tell(mode=mode)
    layers = named(show(told))
    unit = told.words.box.to_unit(told.result.release.centers)
    assert np.array_equal(shown(layers["released center"], -1, "xy"), unit)
    assert np.array_equal(shown(layers["center without privacy"], -1, "xy"), told.reference.nonprivate_centers)
    exact = shown(layers["true average"], -1, "xy")
    last = told.result.trace[-1]
    labels = brute_labels(told.unit, last.previous_centers if mode == "repaired" else last.released_centers)
    for i, mean in enumerate(exact):
        if (labels == i).any():
            assert mean == pytest.approx(told.unit[labels == i].mean(axis=0), abs=1e-12)
    assert np.array_equal(shown(layers["noise"], -1, "tail"), exact)
    assert np.array_equal(shown(layers["noise"], -1, "head"), unit)
    at_rest = {layer.name for layer in show(told).layers if layer.shown and layer.rows[-1] >= 0}
    rays = {"ray through the true sum"} if mode == "published" else set()
    assert at_rest == {"public bounds", "person", "border", "noise", "true average", "released center"} | rays
