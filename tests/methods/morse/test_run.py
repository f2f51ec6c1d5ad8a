"""Pictures of a landscape agree with the released mixture by brute force, and nothing in them is secret."""

import dataclasses
import functools
import math

import numpy as np
import pytest
from scipy import ndimage

from dpviz.accounting import zcdp_rho
from dpviz.data import load
from dpviz.methods.morse import algorithm
from dpviz.methods.morse import charts as morse_charts
from dpviz.methods.morse import landscape as land
from dpviz.methods.morse.charts import RIGHT, run_many
from dpviz.methods.morse.landscape import NO_GROUP
from dpviz.methods.morse.run import LandscapeLook, MorseRun
from dpviz.methods.morse.search import STRING_CURVE
from dpviz.plots import pack
from dpviz.solvers import Mixture, assign_basins, merge_tree
from dpviz.stories import View
from dpviz.stories.view import project
from tests.stories.conftest import records_of, words_of
from tests.stories.test_public_replay import seen, worlds

MOVES = ("cut", "level", "search")
BASES = ("dpmog_hard", "dpmog", "dplloyd_mog", "dpcube")


@functools.lru_cache(maxsize=64)
def tell(d=2, n=1500, seed=0, **options):
    params = algorithm.Params(**{"n_components": 12, "n_iterations": 2, "epsilon": 4.0, **options})
    points, words = records_of(d, n, seed), words_of(d)
    result = algorithm.fit(points, words.box, params, rng=np.random.default_rng(seed))
    run = MorseRun.from_result(result, params, points, words)
    return dataclasses.replace(run, classes=np.arange(n) % 3)


def scene(run, moves="cut", view=None):
    run = dataclasses.replace(run, look=LandscapeLook(moves))
    return run.draw_scene(view or View())


def charts(run):
    return [(chart.key, chart.scene) for chart in run.charts()]


def tree_of(seed, k=9):
    """Return the hierarchy of a mixture of k round components."""
    rng = np.random.default_rng(seed)
    return merge_tree(Mixture(np.full(k, 1 / k), rng.uniform(-1, 1, (k, 2)), np.tile(0.02 * np.eye(2), (k, 1, 1))))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("released", [1, 3, 9, 20])
def test_colors_survive_every_merge_and_are_the_released_numbers(seed, released):
    tree = tree_of(seed)
    colors = land.split_colors(tree, released)
    before = None
    for k in range(1, tree.n_leaves + 1):
        cut = tree.cut(k)
        painted = land.painted(colors, cut)
        assert len(set(painted)) == k
        if k == min(released, tree.n_leaves):
            assert np.array_equal(painted, cut), "the picture's numbers are those of the table"
        assert len({(a, b) for a, b in zip(painted, cut, strict=True)}) == k, "a color is a cluster"
        if before is not None:  # who changes color has the new one
            assert len(set(painted) - set(before)) == 1
            assert set(painted[painted != before]) == set(painted) - set(before)
        before = painted


@pytest.mark.parametrize("seed", range(3))
def test_regions_and_records_are_where_everybody_flows(seed):
    run = tell(seed=seed)
    mixture = run.result.release.mixture
    middles = (np.arange(land.LABELED) + 0.5) / land.LABELED
    places = np.array([[x, y] for y in middles for x in middles])
    assert np.array_equal(run.regions.cells.ravel(), assign_basins(mixture, 2 * places - 1))
    assert np.array_equal(run.nonprivate_basins, assign_basins(mixture, 2 * run.unit - 1))


@pytest.mark.parametrize("view", [View(), View(2, 1)])
def test_a_marginal_is_the_density_integrated_over_the_rest(view):
    run = tell(3)
    plane = project(view, run.words, run.unit)
    density = land.marginal(run.result.release.mixture, plane)
    rest = ({0, 1, 2} - {view.x, view.y}).pop()
    at = np.linspace(-2.0, 3.0, 4001)
    for place in np.random.default_rng(0).random((5, 2)):
        line = np.empty((len(at), 3))
        line[:, [view.x, view.y]], line[:, rest] = place, at
        # Box units are half of the mixture's on each axis: 2^3 for the exact one.
        exact = 8 * np.exp(run.result.release.mixture.log_density(2 * line - 1))
        assert np.exp(density.log_density(place[None]))[0] == pytest.approx(np.trapezoid(exact, at), rel=1e-6)


def test_contours_lie_at_their_level():
    run = tell()
    plane = project(View(), run.words, run.unit)
    density = land.marginal(run.result.release.mixture, plane)
    ground = land.relief(density, plane)
    levels = land.CONTOURS
    steepest = np.abs(np.linalg.eigvalsh(density.hessian(land.lattice(plane, land.CELLS).reshape(-1, 2)))).max()
    for level, curve in zip(levels, land.contours(ground, levels, plane), strict=True):
        points = curve[np.isfinite(curve[:, 0])]
        assert len(points)
        logs = density.log_density(points) - ground.highest
        # Linear between cell middles: off by at most h^2 / 8 times the largest curvature; twice that, between lattices.
        assert np.abs(logs - level).max() <= 2 * steepest / land.CELLS**2 / 8
        assert np.abs(logs - level - land.CONTOUR_STEP / 2).min() > 0.1, "another level would be noticed"


@pytest.mark.parametrize("seed", range(3))
def test_a_levels_islands_are_those_of_a_fine_grid(seed):
    """Theorem 4.2 on the picture: islands are connected parts of {p >= level}, away from the events."""
    run = tell(seed=seed, epsilon=20.0)
    mixture, top = run.result.release.mixture, run.tree.landscape.log_densities[0]
    at = np.linspace(-1.6, 1.6, 700)
    grid = np.stack(np.meshgrid(at, at), axis=-1).reshape(-1, 2)
    logs = mixture.log_density(grid).reshape(len(at), -1)
    events = np.concatenate([run.tree.births, run.tree.linkage[:, 2]])
    checked = 0
    for stop in run.levels:
        if np.abs(events - stop.height).min() > 0.02:
            n = len(set(stop.islands[stop.islands != NO_GROUP]))
            assert ndimage.label(logs >= top - stop.height)[1] == n
            checked += 1
    assert checked


@pytest.mark.parametrize("seed", range(4))
def test_a_rule_cuts_as_many_branches_as_clusters(seed):
    run = tell(seed=seed, n_clusters=3, epsilon=20.0)
    curves, _ = morse_charts.branches(run.tree)
    if run.tree.n_unreachable:
        pytest.skip("a part without a pass has no place on the axis")
    for k, height in enumerate(run.cut_heights, start=1):
        rule = -height / math.log(10)
        crossed = (curves[:, 1, 0] < rule) & (curves[:, 0, 0] >= rule)
        low = (run.tree.births > height).sum()  # peaks that are not up yet
        assert crossed.sum() + low == k or k == 1
        cut = morse_charts.right_of(curves, rule)
        assert not (cut[..., 0] < rule - 1e-12).any()


def test_paths_climb_to_the_peak_of_their_basin():
    run = tell()
    mixture = run.result.release.mixture
    lines = land.paths(mixture, land.flow_starts(2))
    basins = assign_basins(mixture, land.flow_starts(2))
    arrived = 0
    for line, basin in zip(lines, basins, strict=True):
        points = line[np.isfinite(line[:, 0])]
        assert (np.diff(mixture.log_density(points)) > -1e-6).all()
        arrived += np.linalg.norm(points[-1] - run.tree.landscape.minima[basin]) < 0.02
    assert arrived > 0.8 * len(lines)


def test_a_search_is_the_papers_string():
    run = tell()
    mixture, release = run.result.release.mixture, run.result.release
    search = run.search
    k, l = search.pair  # noqa: E741
    middle = STRING_CURVE // 2
    assert np.allclose(search.curves[:, 0], mixture.means[k])
    assert np.allclose(search.curves[:, -1], mixture.means[l])
    assert np.allclose(search.curves[1:, middle], search.iterates[:-1]), "the parabola has its vertex there"
    for curve, low in zip(search.curves, search.lowest, strict=True):
        assert mixture.log_density(low[None])[0] <= mixture.log_density(curve).min() + 0.05
    assert search.numbers == tuple(sorted((release.kept[k] + 1, release.kept[l] + 1)))
    assert len(search.frames) == len(search.lowest) + (1 if search.solution is None else 2)
    pair = (int(release.kept[2]) + 1, int(release.kept[0]) + 1)
    assert set(dataclasses.replace(run, look=LandscapeLook("search", pair)).search.numbers) == set(pair)
    assert dataclasses.replace(run, look=LandscapeLook("search", (64, 63))).search.replaced


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("calibration", ["tight", "published"])
def test_the_spending_adds_up_to_what_is_spent(base, calibration):
    run = tell(base=base, calibration=calibration)
    bars = [layer.arrays["rect"][0] for layer in run.spending_chart().layers]
    spent = sum(float((bar[:, 3] - bar[:, 1]).sum()) for bar in bars)
    assert spent == pytest.approx(zcdp_rho(run.result.events, run.params.neighbors))
    assert len(run.spending()) == len(run.result.events)


@pytest.mark.parametrize("moves", MOVES)
def test_no_move_of_the_scrubber_shows_more_than_the_release(moves):
    one, other = (dataclasses.replace(told, look=LandscapeLook(moves)) for told in worlds("morse"))
    assert seen(one) == seen(other)
    assert [pack(chart) for _, chart in charts(one)] == [pack(chart) for _, chart in charts(other)]


@pytest.mark.parametrize("moves", MOVES)
@pytest.mark.parametrize(
    "options",
    [
        {"n": 0},
        {"n": 1},
        {"n": 3, "n_clusters": 20},
        {"n_components": 1},
        {"n_components": 2, "epsilon": 1e-6},
        {"d": 1},
        {"d": 1, "n_components": 1},
        {"d": 3, "n_clusters": 5},
        {"d": 12, "epsilon": 20.0, "n": 3000},
        {"epsilon": math.inf, "n_components": 30},
        *({"base": base} for base in BASES),
    ],
    ids=str,
)
def test_degenerate_runs_have_a_picture(moves, options):
    run = tell(**options)
    picture = scene(run, moves)
    pack(picture)
    for layer in picture.layers:
        assert layer.rows.shape == (len(picture.frames),)
    for _, chart, *_ in charts(dataclasses.replace(run, look=LandscapeLook(moves))):
        pack(chart)
        assert chart.frames == picture.frames or len(chart.frames) == 1
    assert 0 <= picture.start_frame < len(picture.frames)
    assert run.finding().public
    if moves == "cut":
        assert len(picture.frames) == run.n_cuts
        assert picture.frames[picture.start_frame].label.startswith(f"{run.n_clusters} cluster")


def visible_at(picture, name, frame):
    """Return the layers of a name that a frame shows, with their rows."""
    return [(one, int(one.rows[frame])) for one in picture.layers if one.name == name and one.rows[frame] >= 0]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("joined", [False, True])
def test_borders_part_the_basins_that_are_not_joined(seed, joined):
    run = tell(seed=seed, n_clusters=3)
    basins, n, cells = land.basins(run.regions.cells), land.LABELED, run.regions.cells
    clusters = run.tree.cut(3) if joined else np.arange(run.tree.n_leaves)
    borders, own = basins.borders(clusters), clusters[cells]
    for pair, curve in borders.items():
        at = np.clip((curve[np.isfinite(curve[:, 0])] * n).astype(int), 0, n - 1)
        for cluster in pair:  # smoothing reaches two cells
            rows, columns = np.nonzero(own == cluster)
            gaps = np.abs(at[:, None, :] - np.column_stack([columns, rows])).max(axis=2).min(axis=1)
            assert gaps.max() <= 3
    changes = np.argwhere(own[:, 1:] != own[:, :-1])
    drawn = np.concatenate([curve[np.isfinite(curve[:, 0])] for curve in borders.values()]) * n
    gaps = np.abs(drawn[None] - (changes[:, None, ::-1] + [1.0, 0.5])).max(axis=2).min(axis=1)
    assert np.mean(gaps <= 1.5) > 0.95, "each change has its border, but for slivers"
    assert (basins.cells[::2, ::2] == cells).mean() > 0.9, "smoothing moves borders alone"


def test_each_cut_shows_its_own_borders():
    run = tell(n_clusters=3)
    basins, picture = land.basins(run.regions.cells), scene(run)
    leaves, rest = basins.borders(np.arange(run.tree.n_leaves)), basins.borders(run.groups[picture.start_frame])
    for frame, colors in enumerate(run.groups):
        wanted = sum(len(curve) for (i, j), curve in leaves.items() if colors[i] != colors[j])
        if frame == picture.start_frame:
            wanted = sum(map(len, rest.values()))
        assert sum(one.arrays["xy"].shape[2] for one, _ in visible_at(picture, "border", frame)) == wanted
    assert not visible_at(picture, "border", 0), "one cluster has no border"
    assert len(visible_at(scene(run, "search"), "border", 0)) == 1
    assert not visible_at(scene(run, "level"), "border", 0)


def test_shading_has_six_tones_and_a_light():
    log_share = np.broadcast_to(np.linspace(math.log(0.01), 0.0, land.CELLS), (land.CELLS, land.CELLS))
    east = land.shaded(land.Relief(np.empty(0), log_share.copy(), 0.0))  # rises to the east: lit from the north-west
    west = land.shaded(land.Relief(np.empty(0), log_share[:, ::-1].copy(), 0.0))[:, ::-1]
    share = np.exp(np.interp(np.arange(land.SHADED) / 2.0 - 0.25, np.arange(land.CELLS), log_share[0]))
    level = np.where(share < land.FOOT, 0, 1 + np.floor((len(land.TONES) - 1) * (share - land.FOOT) / (1 - land.FOOT)))
    wanted = np.array(land.TONES)[np.minimum(level, len(land.TONES) - 1).astype(int)]
    middle = (east + west)[land.CELLS] / 2.0  # the light adds to one slope what it takes from the other
    assert np.mean(np.abs(middle - wanted) < 1e-6) > 0.8, "but for the soft steps between tones"
    assert len(np.unique(wanted)) == len(land.TONES)
    assert (east <= west + 1e-12).all()
    assert (east < west - 0.01).any()


@pytest.mark.parametrize("d", [1, 2, 3])
def test_chains_go_from_peak_to_peak_over_the_pass_that_joined_them(d):
    run = tell(d, n_clusters=2)
    picture, tree = scene(run), run.tree
    passes = tree.landscape.transitions
    for frame in range(run.n_cuts):
        drawn = visible_at(picture, "ridge between hills", frame)
        merged = [row for merge, row in enumerate(tree.passes) if merge < tree.n_leaves - 1 - frame and row >= 0]
        assert len(drawn) == len(merged)
        for (one, row), number in zip(drawn, merged, strict=True):
            curve = one.arrays["xy"][0, 0]
            i, j = passes[number].minima
            assert one.arrays["group"][row, 0] == run.groups[frame, i] == run.groups[frame, j]
            pair = run.colored.pair_of(passes[number])
            assert one.pick == (f"pair-{pair[0]}-{pair[1]}" if pair else "")
            if d == 2:
                ends = land.unsigned(np.array([tree.landscape.minima[i], tree.landscape.minima[j]]))
                assert curve[[0, -1]] == pytest.approx(ends)
                assert curve[len(curve) // 2] == pytest.approx(land.unsigned(passes[number].location))


def test_a_picture_begins_with_hills_borders_and_chains():
    picture = scene(tell(n_clusters=2))
    at = picture.start_frame
    rest = {one.name for one in picture.layers if one.shown and one.rows[at] >= 0}
    assert rest == {"public bounds", "hill", "border", "person", "ridge between hills", "hilltop"}
    assert {"component", "pass", "contour", "noise", "true average", "start"} <= picture.hidden_names
    assert any(one.pick for one in picture.layers if one.name == "pass"), (
        "on request, and then each leads to its search"
    )


def test_many_runs_count_successes_before_and_after():
    data = load("moons", n=800, seed=0)
    params = algorithm.Params(n_components=12, n_iterations=2, epsilon=20.0)
    runs = run_many(data.points, data.box, data.labels, params, 3, 7)
    assert runs.nonprivate_ari.shape == (3, 3)
    assert len(runs.sketches) == 3
    again = run_many(data.points, data.box, data.labels, params, 3, 7)
    assert np.array_equal(runs.nonprivate_ari, again.nonprivate_ari)
    result = algorithm.fit(data.points, data.box, params, rng=np.random.default_rng([7, 0]))
    run = MorseRun.from_result(result, params, data.points, words_of(2))
    run = dataclasses.replace(run, words=dataclasses.replace(run.words, box=data.box))
    labels = algorithm.assign(result.release.mixture, algorithm.signed_points(data.points, data.box), 2)
    pairs = data.labels[:, None] == data.labels, labels[:, None] == labels
    same = np.triu(np.ones((800, 800), dtype=bool), 1)
    a, b = (pair[same].astype(float) for pair in pairs)
    expected = a.sum() * b.sum() / len(a)
    by_hand = ((a * b).sum() - expected) / ((a.sum() + b.sum()) / 2 - expected)
    assert runs.nonprivate_ari[0, 0] == pytest.approx(by_hand)
    assert runs.right_share == pytest.approx((runs.nonprivate_ari >= RIGHT).mean(axis=1))
