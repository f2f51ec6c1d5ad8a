"""Each method's own marks are its steps: moves and noise, the grid's counts, blocks' means, candidates and children."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.baselines.privgene import FIRST_MOVE, SHRINK
from dpviz.methods.convergent_kmeans.story.grid_layers import PIXELS, shaded
from dpviz.plots import Audience
from dpviz.solvers.grids import CellGrid, even_grid
from dpviz.stories import View
from dpviz.stories.ground_layers import WIDEST
from tests.stories.marks import NOISY, ROUNDING, SETTINGS, brute_labels, by_hand, named, same, shown


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
@pytest.mark.parametrize("name", [name for name in NOISY if name != "fastlloyd"])
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


@pytest.mark.parametrize(("d", "view"), SETTINGS)
@pytest.mark.parametrize("start", ["packing", "records"])
def test_a_center_moves_within_its_circle(tell_family, show_family, d, view, start):
    told = tell_family("fastlloyd", d, epsilon=3.0, start=start, n_iterations=3)
    layers, trace, release = named(show_family(told, view)), told.result.trace, told.result.release
    public = named(show_family(told, view).public())
    assert "Radius bound" in public
    assert ("Radius bound at the start" in public) is (start == "packing"), "a circle would tell where a record is"
    for t, step in enumerate(trace):
        layer = layers["Radius bound" if t else "Radius bound at the start"]
        reach = math.sqrt(d) / 2 if t == 0 else 0.8 * math.sqrt(d) / (2 * 4 ** (1 / d))
        for phase in (1, 2, 3):
            same(shown(layer, 3 * t + phase, "center"), by_hand(step.previous_centers, view, d))
            same(shown(layer, 3 * t + phase, "radius"), np.full(4, reach))
        length = np.linalg.norm(step.released_centers - step.previous_centers, axis=1)
        assert (length <= release.radii[t] * (1 + ROUNDING)).all()
        squares = ((told.unit - step.previous_centers[step.nonprivate_labels]) ** 2).sum(axis=1)
        kept = np.bincount(step.nonprivate_labels[squares <= reach**2], minlength=4)
        assert step.nonprivate_counts.tolist() == kept.tolist()
    left = next(fact for fact in told.utility() if fact.label == "Left out")
    assert not left.public
    assert left.help.startswith(f"{len(told.unit) - kept.sum()} record")
    assert "Lu & Shen" in show_family(told).caption


@pytest.mark.parametrize("d", [1, 2, 5])
def test_likely_errors_of_fastlloyd_are_those_of_gaussian_noise(tell_family, show_family, d):
    told = tell_family("fastlloyd", d, epsilon=3.0)
    layers, trace = named(show_family(told)), told.result.trace
    seen = 0
    for t, (step, event) in enumerate(zip(trace, told.result.events[-len(trace) :], strict=True)):
        layer = layers.get("Likely error" if t == len(trace) - 1 else "Likely error on the way")
        radius = np.full(4, np.nan) if layer is None else shown(layer, 3 * t + 3, "radius")
        sigma = event.parts[0].events[1].sigma
        for i, count in enumerate(step.noisy_counts):
            wide = sigma * math.sqrt(min(d, 2)) / max(count, 1.0)
            drawn = count >= 1.0 and wide < WIDEST
            seen += drawn
            assert radius[i] == pytest.approx(wide, rel=1e-9) if drawn else np.isnan(radius[i])
    assert seen > 0


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
def test_the_grid_is_shaded_by_its_counts(tell_family, show_family, d, view):
    told = tell_family("eugkm", d, epsilon=0.5, grid="even")
    layers, release = named(show_family(told, view)), told.result.release
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


@pytest.mark.parametrize("grid", ["fitted", "nested"])
def test_unequal_cells_are_walled_where_they_meet(tell_family, show_family, grid):
    told = tell_family("eugkm", 2, epsilon=20.0, grid=grid)
    layers, release = named(show_family(told)), told.result.release
    low, high = release.grid.walls()
    walls = layers["Cells"].arrays["ends"][0]
    assert (walls[:, :2] != walls[:, 2:]).sum(axis=1).tolist() == [1] * len(walls)  # upright or flat
    wanted = {(*corner, corner[0], top[1]) for corner, top in zip(low.tolist(), high.tolist(), strict=True)}
    wanted |= {(*corner, top[0], corner[1]) for corner, top in zip(low.tolist(), high.tolist(), strict=True)}
    assert {tuple(wall) for wall in walls.tolist()} == {w for w in wanted if w[0] + w[2] > 0 and w[1] + w[3] > 0}
    drawn = shaded(release.noisy_cell_counts, low, high)
    found = shown(layers["Noisy counts"], 2, "value")[0].astype(float)
    assert np.abs(found - 255 * np.sqrt(np.clip(drawn / np.abs(drawn).max(), 0, 1))).max() <= 0.5 + 1e-9


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
    (fact,) = [fact for fact in told.utility() if fact.label == "At another mean"]
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
