"""What is drawn of a landscape is what the released mixture says: against brute force, and nothing of it is secret."""

import dataclasses
import functools
import math

import numpy as np
import pytest
from scipy import ndimage

from dpviz.accounting import zcdp_rho
from dpviz.data import load
from dpviz.methods.morse import algorithm, story
from dpviz.methods.morse.story import dendrogram, string_search
from dpviz.methods.morse.story import landscape_plane as land
from dpviz.methods.morse.story import landscape_stage as stage
from dpviz.methods.morse.story.landscape_stage import NO_GROUP, LandscapeLook
from dpviz.methods.morse.story.runs import RIGHT, right_share, run_many
from dpviz.plots import Audience, pack
from dpviz.solvers import Mixture, assign_basins, merge_tree
from dpviz.stories import View
from dpviz.stories.view import project
from tests.stories.conftest import records_of, words_of

MOVES = ("cut", "level", "search")
BASES = ("dpmog_hard", "dpmog", "dplloyd_mog", "dpcube")


@functools.lru_cache(maxsize=64)
def tell(d=2, n=1500, seed=0, **options):
    params = algorithm.Params(**{"n_components": 12, "n_iterations": 2, "epsilon": 4.0, **options})
    points, words = records_of(d, n, seed), words_of(d)
    result = algorithm.fit(points, words.box, params, rng=np.random.default_rng(seed))
    told = story.MorseRun.of(result, params, points, words)
    return dataclasses.replace(told, classes=np.arange(n) % 3)


def scene(told, moves="cut", view=None):
    told = dataclasses.replace(told, look=LandscapeLook(moves))
    return told.draw(view or View(), rng=np.random.default_rng(0))


def charts(told):
    return (
        *[(chart.key, chart.scene) for chart in told.charts()],
        *[(chart.key, chart.scene) for chart in told.charts()],
    )


def tree_of(seed, k=9):
    """Return the hierarchy of a mixture of k round components."""
    rng = np.random.default_rng(seed)
    return merge_tree(Mixture(np.full(k, 1 / k), rng.uniform(-1, 1, (k, 2)), np.tile(0.02 * np.eye(2), (k, 1, 1))))


@pytest.mark.parametrize("seed", range(6))
def test_colors_survive_every_merge(seed):
    tree = tree_of(seed)
    colors = stage.split_colors(tree)
    before = None
    for k in range(1, tree.n_leaves + 1):
        cut = tree.cut(k)
        painted = stage.painted(colors, cut)
        assert sorted(set(painted)) == list(range(k))
        assert len({(a, b) for a, b in zip(painted, cut, strict=True)}) == k, "a color is a cluster"
        if before is not None:  # who changes color has the new one
            assert set(painted[painted != before]) == {k - 1}
        before = painted


@pytest.mark.parametrize("seed", range(3))
def test_regions_and_records_are_where_everybody_flows(seed):
    told = tell(seed=seed)
    mixture = told.result.release.mixture
    middles = (np.arange(land.LABELLED) + 0.5) / land.LABELLED
    places = np.array([[x, y] for y in middles for x in middles])
    assert np.array_equal(told.regions.cells.ravel(), assign_basins(mixture, 2 * places - 1))
    assert np.array_equal(told.nonprivate_basins, assign_basins(mixture, 2 * told.unit - 1))


@pytest.mark.parametrize("view", [View(), View(2, 1)])
def test_a_marginal_is_the_density_integrated_over_the_rest(view):
    told = tell(3)
    plane = project(view, told.words, told.unit)
    shown = land.marginal(told.result.release.mixture, plane)
    rest = ({0, 1, 2} - {view.x, view.y}).pop()
    at = np.linspace(-2.0, 3.0, 4001)
    for place in np.random.default_rng(0).random((5, 2)):
        line = np.empty((len(at), 3))
        line[:, [view.x, view.y]], line[:, rest] = place, at
        # Box units are half of the mixture's on each axis: 2^3 for the density.
        density = 8 * np.exp(told.result.release.mixture.log_density(2 * line - 1))
        assert np.exp(shown.log_density(place[None]))[0] == pytest.approx(np.trapezoid(density, at), rel=1e-6)


def test_contours_lie_at_their_level():
    told = tell()
    plane = project(View(), told.words, told.unit)
    shown = land.marginal(told.result.release.mixture, plane)
    found = land.relief(shown, plane)
    levels = land.contour_levels()
    steepest = np.abs(np.linalg.eigvalsh(shown.hessian(land.lattice(plane, land.CELLS).reshape(-1, 2)))).max()
    for level, curve in zip(levels, land.contours(found, levels, plane), strict=True):
        seen = curve[np.isfinite(curve[:, 0])]
        assert len(seen)
        logs = shown.log_density(seen) - found.highest
        # Linear between cell middles: off by at most h^2 / 8 times the largest curvature; twice that, between lattices.
        assert np.abs(logs - level).max() <= 2 * steepest / land.CELLS**2 / 8
        assert np.abs(logs - level - land.CONTOUR_STEP / 2).min() > 0.1, "another level would be noticed"


@pytest.mark.parametrize("seed", range(3))
def test_a_levels_islands_are_those_of_a_fine_grid(seed):
    """Theorem 4.2 on the picture: islands are connected parts of {p >= level}, away from the events."""
    told = tell(seed=seed, epsilon=20.0)
    mixture, top = told.result.release.mixture, told.tree.landscape.log_densities[0]
    at = np.linspace(-1.6, 1.6, 700)
    grid = np.stack(np.meshgrid(at, at), axis=-1).reshape(-1, 2)
    logs = mixture.log_density(grid).reshape(len(at), -1)
    events = np.concatenate([told.tree.births, told.tree.linkage[:, 2]])
    checked = 0
    for stop in stage.levels(told):
        if np.abs(events - stop.height).min() > 0.02:
            n = len(set(stop.islands[stop.islands != NO_GROUP]))
            assert ndimage.label(logs >= top - stop.height)[1] == n
            checked += 1
    assert checked


@pytest.mark.parametrize("seed", range(4))
def test_a_rule_cuts_as_many_branches_as_clusters(seed):
    told = tell(seed=seed, n_clusters=3, epsilon=20.0)
    curves, _ = dendrogram.branches(told.tree)
    if told.tree.n_unreachable:
        pytest.skip("a part without a pass has no place on the axis")
    for k, height in enumerate(stage.cut_heights(told), start=1):
        rule = -height / math.log(10)
        crossed = (curves[:, 1, 0] < rule) & (curves[:, 0, 0] >= rule)
        low = (told.tree.births > height).sum()  # peaks that are not up yet
        assert crossed.sum() + low == k or k == 1
        kept = dendrogram.right_of(curves, rule)
        assert not (kept[..., 0] < rule - 1e-12).any()


def test_paths_climb_to_the_peak_of_their_basin():
    told = tell()
    mixture = told.result.release.mixture
    lines = land.paths(mixture, land.flow_starts(2))
    basins = assign_basins(mixture, land.flow_starts(2))
    arrived = 0
    for line, basin in zip(lines, basins, strict=True):
        seen = line[np.isfinite(line[:, 0])]
        assert (np.diff(mixture.log_density(seen)) > -1e-6).all()
        arrived += np.linalg.norm(seen[-1] - told.tree.landscape.minima[basin]) < 0.02
    assert arrived > 0.8 * len(lines)


def test_a_search_is_the_papers_string():
    told = tell()
    mixture, release = told.result.release.mixture, told.result.release
    found = string_search.find(told)
    k, l = found.pair  # noqa: E741
    middle = string_search.STRING_CURVE // 2
    assert np.allclose(found.curves[:, 0], mixture.means[k])
    assert np.allclose(found.curves[:, -1], mixture.means[l])
    assert np.allclose(found.curves[1:, middle], found.iterates[:-1]), "the parabola has its vertex there"
    for curve, low in zip(found.curves, found.lowest, strict=True):
        assert mixture.log_density(low[None])[0] <= mixture.log_density(curve).min() + 0.05
    assert found.numbers == tuple(sorted((release.kept[k] + 1, release.kept[l] + 1)))
    assert len(string_search.frames(found)) == len(found.lowest) + (1 if found.solution is None else 2)
    asked = (int(release.kept[2]) + 1, int(release.kept[0]) + 1)
    assert set(
        string_search.find(dataclasses.replace(told, look=LandscapeLook(moves="search", pair=asked))).numbers
    ) == set(asked)
    dropped = string_search.find(dataclasses.replace(told, look=LandscapeLook(moves="search", pair=(64, 63))))
    assert dropped.note


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("calibration", ["tight", "published"])
def test_the_ledger_adds_up_to_what_is_spent(base, calibration):
    told = tell(base=base, calibration=calibration)
    bars = [layer.arrays["rect"][0] for layer in story.ledger_chart(told).layers]
    spent = sum(float((bar[:, 3] - bar[:, 1]).sum()) for bar in bars)
    assert spent == pytest.approx(zcdp_rho(told.result.events, told.params.neighbors))
    assert len(told.ledger()) == len(told.result.events)


def other_world(told, n):
    """Change everything that is not the release."""
    rng = np.random.default_rng(9)
    unit = rng.random((n, told.words.box.d))
    trace = tuple(
        dataclasses.replace(
            step,
            nonprivate_labels=np.zeros(n, dtype=np.intp),
            nonprivate_moments=rng.random(step.nonprivate_moments.shape),
            noisy_moments=rng.random(step.noisy_moments.shape),
            centers=rng.random(step.centers.shape),
            counts=rng.random(step.counts.shape),
        )
        for step in told.result.trace
    )
    result = dataclasses.replace(told.result, trace=trace)
    points = told.words.box.from_unit(unit)
    changed = story.MorseRun.of(result, told.params, points, told.words)
    # Classes that are met: another ARI than by chance.
    return dataclasses.replace(changed, classes=changed.nonprivate_clusters)


VIEWS = {1: (View(),), 2: (View(),), 4: (View(), View(3, 1), View(principal=True))}


@pytest.mark.parametrize(("d", "view"), [(d, view) for d, views in VIEWS.items() for view in views])
@pytest.mark.parametrize("moves", MOVES)
def test_the_public_scene_follows_from_the_release(d, view, moves):
    told = tell(d)
    changed = other_world(told, 77)
    assert changed.result.release is told.result.release
    here, there = scene(told, moves, view), scene(changed, moves, view)
    assert pack(here) != pack(there)
    assert pack(here.public()) == pack(there.public())
    first, second = (dataclasses.replace(one, look=LandscapeLook(moves)) for one in (told, changed))
    assert [pack(one[1]) for one in charts(first)] == [pack(one[1]) for one in charts(second)]
    assert told.finding().public == changed.finding().public
    assert told.finding().curator != changed.finding().curator
    assert told.risk() == changed.risk()
    assert [f for f in told.utility() if f.public] == [f for f in changed.utility() if f.public]
    if not view.principal:
        kept = {layer.name for layer in here.public().layers}
        assert {"Peak", "Start (public)"} <= kept
        assert not {"Records", "Exact mean", "Noise"} & kept


@pytest.mark.parametrize("name", ["Records", "Exact mean", "Noise"])
def test_one_wrong_audience_would_be_noticed(name):
    def leaking(told):
        drawn = scene(told)
        layers = (
            dataclasses.replace(one, audience=Audience.RELEASED) if one.name == name else one for one in drawn.layers
        )
        return dataclasses.replace(drawn, layers=tuple(layers))

    told = tell()
    assert pack(leaking(told).public()) != pack(leaking(other_world(told, 77)).public())


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
    told = tell(**options)
    drawn = scene(told, moves)
    pack(drawn)
    for layer in drawn.layers:
        assert layer.rows.shape == (len(drawn.frames),)
    for _, chart, *_ in charts(dataclasses.replace(told, look=LandscapeLook(moves))):
        pack(chart)
        assert chart.frames == drawn.frames or len(chart.frames) == 1
    assert 0 <= drawn.start_frame < len(drawn.frames)
    assert told.finding().public
    if moves == "cut":
        assert len(drawn.frames) == told.n_cuts
        assert drawn.frames[drawn.start_frame].label.startswith(f"{told.n_clusters} cluster")


def test_many_runs_count_successes_before_and_after():
    data = load("moons", n=800, seed=0)
    params = algorithm.Params(n_components=12, n_iterations=2, epsilon=20.0)
    runs = run_many(data.points, data.box, data.labels, params, 3, 7)
    assert runs.nonprivate_ari.shape == (3, 3)
    assert len(runs.sketches) == 3
    again = run_many(data.points, data.box, data.labels, params, 3, 7)
    assert np.array_equal(runs.nonprivate_ari, again.nonprivate_ari)
    result = algorithm.fit(data.points, data.box, params, rng=np.random.default_rng([7, 0]))
    told = story.MorseRun.of(result, params, data.points, words_of(2))
    told = dataclasses.replace(told, words=dataclasses.replace(told.words, box=data.box))
    labels = algorithm.assign(result.release.mixture, algorithm.signed_points(data.points, data.box), 2)
    pairs = data.labels[:, None] == data.labels, labels[:, None] == labels
    same = np.triu(np.ones((800, 800), dtype=bool), 1)
    a, b = (pair[same].astype(float) for pair in pairs)
    expected = a.sum() * b.sum() / len(a)
    by_hand = ((a * b).sum() - expected) / ((a.sum() + b.sum()) / 2 - expected)
    assert runs.nonprivate_ari[0, 0] == pytest.approx(by_hand)
    assert right_share(runs) == pytest.approx((runs.nonprivate_ari >= RIGHT).mean(axis=1))
