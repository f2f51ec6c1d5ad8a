"""`dpviz.run`: any method on any records gives one run, which is shown, saved and read in the same ways."""

import dataclasses
import json
import sys

import numpy as np
import pandas as pd
import pytest

import dpviz
from dpviz.core import Adjacency, Box, CentersRelease, knobs
from dpviz.data import Dataset, load
from dpviz.mechanisms import FROM_DATA, SecretGenerator, public_rng
from dpviz.methods import ALGORITHMS, CATALOGUE, run_class
from dpviz.plots import Audience, scene_hash, svg
from dpviz.plots.page import build_page
from dpviz.runs import SECRET, TEACHING
from dpviz.stories import View
from dpviz.stories.label import promise
from dpviz.stories.run import FORMATS
from dpviz.ui.runs import scalars
from tests.recorded import _hash, needs
from tests.replay import Tape
from tests.test_replay import clumps

LOW, HIGH = (-1.0, 0.0), (2.0, 5.0)
BOX = Box(LOW, HIGH)
POINTS = BOX.from_unit(np.random.default_rng(0).random((240, 2)))
# Methods that need targets from the caller.
WITHOUT_DEFAULTS = {"source_target"}
EVERY = sorted({*ALGORITHMS} - WITHOUT_DEFAULTS)


def same(one, other):
    return _hash(one.release) == _hash(other.release)


def test_a_run_is_what_the_method_s_own_fit_returns():
    data = load("blobs", n=300, seed=1)
    run = dpviz.run("dpm", data, seed=7, epsilon=2.0)
    params = CATALOGUE["dpm"].Params(epsilon=2.0)
    result = CATALOGUE["dpm"].fit(data.points, data.box, params, rng=public_rng(7))
    assert _hash(run.release) == _hash(result.release)
    assert scalars(run.params) == scalars(params)
    assert (run.events, len(run.steps)) == (result.events, len(result.trace))
    assert run.guarantee.proved == result.guarantee.proved
    assert run.words.title == data.title
    assert np.array_equal(run.classes, data.labels)


@pytest.mark.parametrize("seed", [None, 0])
def test_noise_without_a_seed_is_the_operating_systems(seed):
    given, method = [], CATALOGUE["convergent_kmeans"]

    def fit(*args, rng):
        given.append(rng)
        return method.fit(*args, rng=rng)

    dpviz.run(dataclasses.replace(method, fit=fit), POINTS, bounds=BOX, seed=seed)
    assert [isinstance(rng, SecretGenerator) for rng in given] == [seed is None]


def test_run_accepts_catalog_entry_and_its_name():
    data = load("blobs", n=200, seed=1)
    for name in ("dpm", "dplloyd"):
        one, other = (dpviz.run(method, data, seed=3) for method in (name, ALGORITHMS[name]))
        assert same(one, other)
        assert type(one) is type(other) is run_class(name)


def test_records_come_as_an_array_a_data_frame_or_a_data_set():
    frame = pd.DataFrame(POINTS, columns=["age", "income"])
    data = Dataset(POINTS, None, BOX, ("age", "income"), "People")
    runs = [
        dpviz.run("dplloyd", POINTS, bounds=BOX, seed=3),
        dpviz.run("dplloyd", POINTS.tolist(), bounds=BOX, seed=3),
        dpviz.run("dplloyd", frame, bounds=BOX, seed=3),
        dpviz.run("dplloyd", data, seed=3),
    ]
    assert all(same(runs[0], run) for run in runs)
    assert [run.words.feature_names for run in runs] == [("feature 1", "feature 2")] * 2 + [("age", "income")] * 2
    assert list(runs[2].to_frame().columns) == ["age", "income"]
    assert all(run.guarantee.proved is not None for run in runs), "given bounds are public"


def test_bounds_from_the_records_take_the_proof_away():
    data = Dataset(POINTS, None, BOX, ("a", "b"), "People", bounds_from_data=True)
    run = dpviz.run("dplloyd", data, seed=3)
    assert run.guarantee.proved is None
    assert run.guarantee.caveats[0] == FROM_DATA
    assert run.card().proved is None


@pytest.mark.parametrize(
    ("method", "data", "options", "message"),
    [
        ("dplloyd", POINTS, {}, "bounds are required"),
        ("dplloyd", pd.DataFrame(POINTS), {}, "bounds are required"),
        ("dplloyd", load("blobs", n=50, seed=0), {"bounds": BOX}, "has its own"),
        ("dplloyd", POINTS[:, 0], {"bounds": BOX}, "two dimensions, got 1"),
        ("kmeans", POINTS, {"bounds": BOX}, r"method must be one of .*dpm.*got 'kmeans'"),
        ("dplloyd", POINTS, {"bounds": BOX, "epsilon": -1.0}, "epsilon"),
        ("dplloyd", POINTS, {"bounds": Box.cube(0.0, 1.0, 3)}, "3"),
        ("dplloyd", POINTS * np.nan, {"bounds": BOX}, "finite"),
    ],
)
def test_what_cannot_be_run_is_refused_in_words_without_a_record(method, data, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        dpviz.run(method, data, seed=1, **options)
    assert not any(f"{value:.6g}" in str(caught.value) for value in POINTS.ravel())


def test_noise_without_a_seed_is_secret():
    one, other = (dpviz.run("dplloyd", POINTS, bounds=BOX) for _ in range(2))
    assert not same(one, other)
    for run in (one, other):
        assert run.guarantee.caveats[0] == SECRET
        assert TEACHING not in run.guarantee.caveats


def test_a_seed_makes_the_same_bits_again():
    one, again, other = (dpviz.run("dplloyd", POINTS, bounds=BOX, seed=seed) for seed in (4, 4, 5))
    assert same(one, again)
    assert scene_hash(one.picture()) == scene_hash(again.picture())
    assert not same(one, other)
    assert one.guarantee.caveats[0] == TEACHING
    assert SECRET not in one.guarantee.caveats


def test_a_run_is_charged_to_an_open_budget():
    with dpviz.budget(epsilon=1.5) as budget:
        dpviz.run("dplloyd", POINTS, bounds=BOX, seed=0, epsilon=1.0)
        with pytest.raises(ValueError, match="epsilon"):
            dpviz.run("dplloyd", POINTS, bounds=BOX, seed=0, epsilon=1.0)
        assert len(budget.releases) == 1


def test_a_module_with_a_person_s_own_method_is_run(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "middle_of_all.py").write_text(OWN, "utf-8")
    import middle_of_all

    try:
        run = dpviz.run(middle_of_all, POINTS, bounds=BOX, seed=3, epsilon=2.0)
    finally:
        sys.modules.pop("middle_of_all")
    assert run.release.centers.shape == (1, 2)
    assert run.finding().public
    assert scene_hash(run.picture().public())


OWN = '''"""The middle of all records, with noise."""

from dataclasses import dataclass

import numpy as np

from dpviz.accounting import LaplaceEvent
from dpviz.core import Adjacency, CentersRelease, Claim, Guarantee, Result, check_params, frozen, knob
from dpviz.mechanisms import laplace

TITLE = "Middle"


@dataclass(frozen=True)
class Params:
    epsilon: float = knob(1.0, "ε", "Budget.", low=0.05, high=20.0, minimum=1e-9, log=True)

    def __post_init__(self):
        check_params(self)


def fit(points, box, params, *, rng):
    unit = box.to_unit(box.clip(points))
    noisy = laplace(unit.mean(axis=0), scale=box.d / len(unit) / params.epsilon, rng=rng)
    claim = Claim(params.epsilon, 0.0, Adjacency.REPLACE, "one record moves the mean by at most d / n")
    event = LaplaceEvent("mean", box.d / len(unit), box.d / len(unit) / params.epsilon)
    return Result(CentersRelease(frozen(box.from_unit(noisy[None]))), (), (event,), Guarantee(claim, claim))
'''


@pytest.fixture(scope="module", params=EVERY)
def run(request):
    """Return a run of each method that runs with its defaults."""
    return dpviz.run(request.param, load("blobs", n=150, seed=1), seed=7)


def test_only_methods_that_ask_for_more_have_no_run_with_defaults():
    asked = {name for name, each in ALGORITHMS.items() if any(knob.default is None for knob in knobs(each.Params))}
    assert not asked & WITHOUT_DEFAULTS, "arrays are no knobs"
    for name in WITHOUT_DEFAULTS:
        with pytest.raises(TypeError, match="targets"):
            dpviz.run(name, POINTS, bounds=BOX, seed=1)
        assert dpviz.run(name, POINTS, bounds=BOX, seed=1, **needs(name, 2)).finding().public


def test_every_run_says_what_it_found(run):
    assert type(run) is run_class(next(name for name in EVERY if ALGORITHMS[name].Params is type(run.params)))
    assert run.finding().curator
    assert run.finding().public
    assert run.facts() == (*run.utility(), *run.risk())
    assert run.facts()
    assert run.contents().protects
    assert run.card().kind
    assert all(row.epsilon >= 0.0 for row in run.spending())
    assert all(isinstance(each, str) for each in (*run.nonprivate_notices(), *run.public_notices()))
    assert run.proved == (run.guarantee.proved is not None)


def test_a_notebook_that_prints_a_run_s_parts_keeps_nothing_exact(run):
    finding, secrets = run.finding(), [fact for fact in run.facts() if not fact.public]
    parts = (run, finding, run.facts(), run.charts(), run.picture(), run.card(), run.spending(), run.steps)
    text = "".join(map(repr, parts))
    assert finding.curator == finding.public or finding.curator not in text
    assert finding.public in text
    assert all(fact.value not in repr(fact) and fact.label in repr(fact) for fact in secrets)
    # A dataclass's own repr would show the value.
    for fact in secrets:
        assert fact.value in str(dataclasses.asdict(fact))


def test_every_run_is_drawn(run):
    scene = run.picture()
    assert scene_hash(scene) == scene_hash(run.picture(View()))
    assert scene.frames
    charts = run.charts()
    assert charts
    assert len({chart.key for chart in charts}) == len(charts)
    assert all(chart.height > 0 and chart.scene.frames for chart in charts)


# Kinds of runs whose picture has been converted. That takes a second and is the same for all runs of a kind.
DRAWN = set()
CONVERTED = ("pdf", "png")


def test_every_run_is_saved_in_every_format(run, tmp_path):
    public = run.picture().public()
    assert all(layer.audience is not Audience.CURATOR for layer in public.layers)
    plain = [each for each in FORMATS if each not in CONVERTED]
    converted = () if type(run) in DRAWN else CONVERTED
    DRAWN.add(type(run))
    for ending in (*plain, *converted[:1]):
        run.save(tmp_path / f"public.{ending}")
    for ending in (*plain, *converted[1:]):
        run.save(str(tmp_path / f"whole.{ending.upper()}"), curator=True)
    assert len(list(tmp_path.iterdir())) == 2 * len(plain) + len(converted)
    for path in (*tmp_path.glob("*.p[dn][fg]"), *tmp_path.glob("*.P[DN][FG]")):
        assert path.read_bytes().startswith(b"%PDF" if path.suffix.lower() == ".pdf" else b"\x89PNG")
        path.unlink()
    written = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    assert written["public.svg"] == svg([public], frame=public.start_frame, notes=(promise(run.guarantee),))
    told = {"notes": (promise(run.guarantee),), "title": run.title, "facts": run.facts_html(public=True)}
    assert written["public.html"] == build_page([public], frame=public.start_frame, **told)
    assert written["public.csv"].startswith("picture,")
    told = json.loads(written["public.json"])
    assert told["label"]["kind"] == run.card().kind
    assert (told["proved"] is None) == (run.guarantee.proved is None)
    secret = {layer.name for layer in run.picture().layers} - {layer.name for layer in public.layers}
    assert not [name for name in secret if f",{name}," in written["public.csv"]]
    assert any(f",{name}," in written["whole.CSV"] for name in secret) or not secret


def test_every_run_is_a_table(run):
    released = run.release.centers if isinstance(run.release, CentersRelease) else run.release.points
    frame = run.to_frame()
    assert list(frame.columns) == list(run.words.feature_names)
    assert np.array_equal(frame.to_numpy(), released)
    steps = run.to_frame(steps=True)
    assert list(steps.columns) == ["step", "field", "row", "feature", "value"]
    assert sorted(steps["step"].unique()) == list(range(len(run.steps)))


def test_a_frame_of_steps_holds_the_arrays_of_the_trace():
    run = dpviz.run("dplloyd", POINTS, bounds=BOX, seed=3)
    steps, sums = run.to_frame(steps=True), run.steps[-1].noisy_sums
    rows = steps[(steps["field"] == "noisy_sums") & (steps["step"] == len(run.steps) - 1)]
    assert np.array_equal(rows["value"].to_numpy().reshape(sums.shape), sums)
    assert rows["feature"].tolist() == ["feature 1", "feature 2"] * len(sums)


@pytest.mark.parametrize(("path", "options"), [("a.tiff", {}), ("a", {}), ("a.svg", {"frame": 10**6})])
def test_another_ending_or_step_is_refused_and_nothing_is_written(tmp_path, path, options):
    run = dpviz.run("dplloyd", POINTS, bounds=BOX, seed=3)
    with pytest.raises(
        ValueError, match=r"must end in one of svg, pdf, png, html, csv, json|step of the picture, from 0 to"
    ):
        run.save(tmp_path / path, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["dplloyd", "dpm", "em_mc"])
def test_public_files_follow_from_what_mechanisms_answered(name, monkeypatch, tmp_path):
    """Different records with the same answers have the same public files; the curator's files differ."""
    tape, box = Tape(monkeypatch), Box.cube(0.0, 1.0, 2)
    given = {"epsilon": 8.0} if name == "dpm" else {}
    with tape.recording():
        first = dpviz.run(name, clumps(400, 2, 0), bounds=box, seed=3, **given)
    claim = first.guarantee.proved or first.guarantee.published
    others = clumps(600 if claim.adjacency is Adjacency.ADD_REMOVE else 400, 2, 1)
    with tape.replaying():
        second = dpviz.run(name, others, bounds=box, seed=3, **given)
    monkeypatch.undo()

    def files(run, *, curator):
        for ending in FORMATS if name == "dplloyd" else set(FORMATS).difference(CONVERTED):
            run.save(tmp_path / f"it.{ending}", curator=curator)
        return {path.suffix: path.read_bytes() for path in tmp_path.iterdir()}

    assert same(first, second)
    assert files(first, curator=False) == files(second, curator=False)
    mine, theirs = files(first, curator=True), files(second, curator=True)
    assert all(mine[ending] != theirs[ending] for ending in (".svg", ".html"))


def test_a_solid_picture_is_saved_over_three_features(tmp_path):
    run = dpviz.run("dplloyd", np.random.default_rng(0).random((90, 3)), bounds=Box.cube(0.0, 1.0, 3), seed=3)
    view = View(0, 1, z=2)
    assert scene_hash(run.picture(view)) != scene_hash(run.picture())
    run.save(tmp_path / "solid.svg", view=view)
    assert (tmp_path / "solid.svg").stat().st_size


def test_places_of_steps_are_in_the_units_of_the_data(run):
    """The last step's centers are those that are released; a step that computes in the unit box would miss them."""
    frame, last = run.to_frame(steps=True), run.steps[-1]
    names = [
        each
        for each in ("final_centers", "zone_mean", "released_centers", "centers")
        if getattr(last, each, None) is not None
    ]
    if isinstance(run.release, CentersRelease) and names:
        rows = frame[(frame["step"] == len(run.steps) - 1) & (frame["field"] == names[0])].astype({"value": float})
        places = rows.pivot_table("value", "row", "feature")[list(run.words.feature_names)].to_numpy()
        box = run.words.box
        nearest = [np.abs(box.clip(places) - each).max(axis=1).min() for each in run.release.centers]
        assert max(nearest) <= 1e-9 * box.widths.max() or type(last).__module__.startswith("dpviz.methods.morse")
    for step, number in zip(run.steps, range(len(run.steps)), strict=True):
        there = set(frame.loc[frame["step"] == number, "field"])
        assert {each for each in step.in_box if getattr(step, each) is not None} <= there
