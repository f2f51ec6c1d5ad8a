"""Two worlds: neighbors that differ in one record, and clouds that contain only released values."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.attacks import held_out_score
from dpviz.core import Adjacency, Box
from dpviz.methods import CATALOGUE
from dpviz.methods.convergent_kmeans import algorithm as convergent_kmeans
from dpviz.methods.dpm import algorithm as dpm
from dpviz.methods.morse import algorithm as morse
from dpviz.methods.morse.teaching import peaks_of
from dpviz.methods.nd_laplace import algorithm as nd_laplace
from dpviz.methods.source_target import algorithm as source_target
from dpviz.plots import Audience, pack
from dpviz.solvers import landscape
from dpviz.stories import View, Words
from dpviz.stories.method import Cloud
from dpviz.tools.two_worlds import worlds as story
from dpviz.tools.two_worlds.worlds import Change, WorldsQuestion, cloud_scene, neighbors, pickable, row_of, run_world

BOX = Box([-1.0, 0.0], [3.0, 2.0])
FAR = (3.0, 2.0)
WORDS = Words("set", BOX, ("a", "b"), ("", ""))
ADD_REMOVE, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
RECORDS = BOX.from_unit(np.random.default_rng(8).random((40, 2)))
METHODS = {
    "convergent_kmeans": (convergent_kmeans, convergent_kmeans.Params(n_clusters=3, start_seed=1)),
    "published": (convergent_kmeans, convergent_kmeans.Params(n_clusters=3, mode="published", start_seed=1)),
    "dpm": (dpm, dpm.Params(epsilon=4.0)),
    "morse": (morse, morse.Params(n_components=6, n_iterations=1, epsilon=5.0)),
    "nna": (source_target, source_target.Params(targets=RECORDS[:6], n_centers=2, epsilon=2.0)),
    "nas": (source_target, source_target.Params(targets=RECORDS[:6], n_centers=2, epsilon=2.0, method="nas", t=5)),
    "nd_laplace": (nd_laplace, nd_laplace.Params(epsilon=2.0)),
}


def asked(name, change):
    module, params = METHODS[name]
    (method,) = [each for each in CATALOGUE.values() if each.fit is module.fit]
    return WorldsQuestion(method.name, (name,), change, params)


def covered(name):
    return Change("move", 3, FAR) if name == "nd_laplace" else Change("remove", 3)


# --- neighbors


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 5), st.booleans(), st.sampled_from(["remove", "move", "add"]))
def test_worlds_differ_in_one_record(seed, n, copies, operation):
    """The data are random: with one record, with duplicates, and with none left after the removal."""
    rng = np.random.default_rng(seed)
    # Some records are outside the box.
    points = BOX.from_unit(1.4 * rng.random((n, 2)) - 0.2)
    points = points[rng.integers(n, size=n)] if copies and n else points
    row, place = int(rng.integers(max(n, 1))), tuple(BOX.from_unit(rng.random(2)))
    if operation != "add" and not n:
        with pytest.raises(ValueError, match="there are 0"):
            neighbors(points, BOX, Change(operation, row, place))
        return
    pair = neighbors(points, BOX, Change(operation, row, place))
    first, second = pair.nonprivate_worlds
    assert np.array_equal(first, BOX.clip(points))
    if operation == "remove":
        assert np.array_equal(second, np.delete(first, row, axis=0))
        assert np.array_equal(pair.nonprivate_spots, first[[row]])
    elif operation == "move":
        assert np.array_equal(np.flatnonzero((first != second).any(axis=1)), [row])
        assert pair.apart == pytest.approx(np.array(place) - first[row])
    else:
        assert np.array_equal(second[:-1], first)
        assert second[-1] == pytest.approx(place)


def test_bad_changes_are_refused():
    with pytest.raises(ValueError, match="record must be from 0 to 39, because there are 40, got 40"):
        neighbors(RECORDS, BOX, Change("remove", 40))
    with pytest.raises(ValueError, match="must have 2 finite numbers, got 1"):
        neighbors(RECORDS, BOX, Change("add", 0, (1.0,)))


def test_places_are_public_corners_and_moves_by_a_radius():
    assert story.farthest_corner(BOX, np.array([0.0, 1.5])) == pytest.approx([3.0, 0.0])
    for unit, widths in (("data", [1, 1]), ("range", [4, 2])):
        params = nd_laplace.Params(unit=unit)
        place = np.array([0.0, 1.5])
        way = story.one_radius_away(params, BOX, place, 0.3) - place
        assert np.linalg.norm(way / widths) == pytest.approx(0.3)
        assert story.one_radius_away(params, BOX, place, 1e9) == pytest.approx([3.0, 0.0]), "no farther than the corner"


# --- clouds


@pytest.mark.parametrize("name", METHODS)
def test_clouds_hold_what_the_runs_release(name):
    change = covered(name)
    module, params = METHODS[name]
    worlds = neighbors(RECORDS, BOX, change).nonprivate_worlds
    for world, records in enumerate(worlds):
        cloud = run_world(RECORDS, BOX, asked(name, change), world, 8, (5,))
        assert cloud.n_runs == 8
        assert np.isfinite(cloud.statistics).all()
        rng = np.random.default_rng((5, world))
        if name == "nd_laplace":
            expected = module.fit(np.tile(records[3], (8, 1)), BOX, params, rng=rng).release.points
        else:
            releases = [module.fit(records, BOX, params, rng=each).release for each in rng.spawn(8)]
            if name == "morse":
                shown = [BOX.from_unit((peaks_of(each.mixture) + 1) / 2) for each in releases]
            else:
                shown = [each.centers for each in releases]
            expected = np.concatenate(shown)
        assert cloud.places == pytest.approx(expected)
        assert (cloud.cuts is not None) == (name == "dpm")


def test_peaks_are_the_landscapes_minima():
    release = morse.fit(RECORDS, BOX, morse.Params(n_components=8, epsilon=50.0), rng=np.random.default_rng(3)).release
    found, known = peaks_of(release.mixture), landscape(release.mixture).minima
    gaps = np.linalg.norm(found[:, None] - known[None], axis=2)
    assert gaps.min(axis=1).max() < 1e-3, "every peak is a minimum of the landscape"


def test_the_published_release_gives_the_record_away():
    """With one cluster, the released center is on the true sum's ray: without noise, the worlds' centers differ."""
    params = convergent_kmeans.Params(n_clusters=1, mode="published", max_iterations=3, start_seed=1)
    question = WorldsQuestion("convergent_kmeans", ("one",), Change("remove", 3), params)
    first, second = (run_world(RECORDS, BOX, question, world, 24, (5,)).statistics for world in (0, 1))
    assert held_out_score(first, second).rate > 0.95
    repaired = dataclasses.replace(question, params=dataclasses.replace(params, mode="repaired", epsilon=0.2))
    first, second = (run_world(RECORDS, BOX, repaired, world, 24, (5,)).statistics for world in (0, 1))
    assert held_out_score(first, second).rate < 0.9


@pytest.mark.parametrize("name", ["convergent_kmeans", "dpm", "nna"])
@pytest.mark.parametrize("operation", ["remove", "move", "add"])
def test_one_record_and_none_can_be_run(name, operation):
    """Cases: one record, gone after removal; two copies of one record."""
    for points in (RECORDS[:1], RECORDS[[0, 0]]):
        change = Change(operation, 0, () if operation == "remove" else FAR)
        clouds = [run_world(points, BOX, asked(name, change), world, 2, (1,)) for world in (0, 1)]
        assert clouds[0].statistics.shape == clouds[1].statistics.shape
        assert np.isfinite(np.concatenate([cloud.statistics for cloud in clouds])).all()


def test_batches_join_and_equal_questions_are_one_job():
    question = asked("dpm", Change("remove", 3))
    parts = [run_world(RECORDS, BOX, question, 0, 3, (1, at)) for at in (0, 3)]
    whole = Cloud.joined(parts)
    assert whole.n_runs == 6
    assert len(whole.places) == sum(len(part.places) for part in parts)
    assert whole.cuts is not None
    assert len(whole.cuts.axes) == sum(len(part.cuts.axes) for part in parts)
    assert not np.array_equal(parts[0].places[:1], parts[1].places[:1]), "another seed, other noise"
    first, again = (asked("nna", Change("move", 3, FAR)) for _ in range(2))
    assert first == again
    assert hash(first) == hash(again)
    assert first != dataclasses.replace(first, change=Change("move", 4, FAR))


# --- the picture


def drawn(name="dpm", change=None, records=RECORDS, view=None, near=True, clouds=None):
    change = change or covered(name)
    clouds = clouds or tuple(run_world(RECORDS, BOX, asked(name, change), world, 8, (5,)) for world in (0, 1))
    return cloud_scene(clouds, neighbors(records, BOX, change), change, "Center", WORDS, view or View(), near=near)


@pytest.mark.parametrize("change", [Change("remove", 3), Change("move", 3, FAR), Change("add", 3, FAR)])
@pytest.mark.parametrize("near", [True, False])
def test_the_public_sees_nothing_of_two_worlds(change, near):
    scene = drawn(change=change, near=near)
    pack(scene)
    assert scene.public().layers == ()
    assert {each.audience for each in scene.layers if each.name != "public bounds"} == {Audience.CURATOR}
    assert "not a release" in scene.caption
    assert any(each.name == "Its move" for each in scene.layers) == (change.operation == "move")
    symbols = {each.symbol for each in scene.layers if each.name.startswith("Center: ")}
    assert symbols == {"ring", "cross"}, "colors and shapes"


def test_clouds_are_drawn_from_releases_alone():
    """Noninterference: different exact records and the same releases give byte-identical clouds and cuts."""
    change = Change("remove", 3)
    clouds = tuple(run_world(RECORDS, BOX, asked("dpm", change), world, 8, (5,)) for world in (0, 1))
    other = BOX.from_unit(np.random.default_rng(1).random((40, 2)))
    scenes = [drawn(change=change, clouds=clouds, records=records) for records in (RECORDS, other)]
    for name in ("Center: ", "Released cut: "):
        here, there = ([each for each in scene.layers if each.name.startswith(name)] for scene in scenes)
        assert len(here) == 2
        for left, right in zip(here, there, strict=True):
            assert all(left.arrays[key].tobytes() == right.arrays[key].tobytes() for key in left.arrays)
    exact = [next(each for each in scene.layers if each.name == "person") for scene in scenes]
    assert not np.array_equal(exact[0].arrays["xy"], exact[1].arrays["xy"])


def test_one_feature_and_principal_directions_are_drawn():
    line, cube = np.linspace(0.1, 0.9, 12)[:, None], np.random.default_rng(2).random((30, 3))
    for records, change, views in (
        (line, Change("move", 2, (1.0,)), (View(),)),
        (cube, Change("remove", 2), (View(principal=True), View(0, 2, z=1))),
    ):
        d = records.shape[1]
        box = Box.cube(0.0, 1.0, d)
        question = WorldsQuestion("dpm", (), change, dpm.Params(epsilon=8.0))
        clouds = tuple(run_world(records, box, question, world, 4, (1,)) for world in (0, 1))
        pair, words = neighbors(records, box, change), Words("s", box, tuple("abc"[:d]), ("",) * d)
        for view in views:
            pack(cloud_scene(clouds, pair, change, "Center", words, view, near=d == 1))


def test_a_click_on_the_main_picture_names_the_record(tell, show):
    told = tell()
    scene = pickable(show(told))
    (records,) = [each for each in scene.layers if each.pick == story.PICK]
    assert records.arrays["xy"].shape[1] == 300
    assert [row_of(mark, 300) for mark in (0, 17, 299, 300)] == [0, 17, 299, None]
    assert row_of(1, 20_000) == 2, "an even sample of 10,000 is drawn"


def test_a_record_beyond_the_part_that_is_shown_is_said():
    rng, seen = np.random.default_rng(1), set()
    close = tuple(Cloud(BOX.from_unit(rng.uniform(0.3, 0.7, (200, 2))), None, np.zeros((200, 1))) for _ in range(2))
    for row in range(20):
        scene = drawn(change=Change("remove", row), clouds=close)
        (spot,) = [each.arrays["xy"][0, 0] for each in scene.layers if each.name == f"Record {row}"]
        inside = all(axis.view[0] <= at <= axis.view[1] for at, axis in zip(spot, (scene.x, scene.y), strict=True))
        assert ("may be outside" in scene.caption) is not inside
        seen.add(inside)
        assert "may be outside" not in drawn(change=Change("remove", row), clouds=close, near=False).caption
    assert seen == {True, False}
