"""The public view of a run is the same for other records with the same releases.

The replay rule of `test_replay`, up to the screen: pictures, charts next to them, sentences and facts.
"""

import dataclasses
import functools

import numpy as np
import pytest

from dpviz.core import Adjacency, Box
from dpviz.data.target_pairs import FIRST_AID
from dpviz.methods import ALGORITHMS, CATALOGUE, run_class
from dpviz.methods.source_target import layers as source_target
from dpviz.plots import Audience, Plot, Scene, pack, scene_hash
from dpviz.stories import Sentence, View, Words
from tests.recorded import modes, needs
from tests.replay import Tape
from tests.test_replay import clumps, leaks

N, OTHER = 600, 900
TOLD = sorted({*CATALOGUE, *(name for method in CATALOGUE.values() for name in method.family)})
SHOWN = {"adjacency", "base", "calibration", "domain", "epsilon", "method", "start"}
# An epsilon at which DPM makes cuts, hills are left, and redrawing ends in five features.
MUCH = {"dpm": {"epsilon": 8.0}, "morse": {"epsilon": 30.0}, "nd_laplace": {"epsilon": 20.0}}
WIDER = {1: (View(),), 5: (View(), View(3, 1), View(3, 1, z=0), View(principal=True))}


@pytest.fixture(autouse=True)
def town(monkeypatch):
    """Let help reach so far that source-target lights the ground around it."""
    monkeypatch.setattr(source_target, "REACH", 0.2)


def cases():
    """Yield each mode whose run releases only the answers of its mechanisms, with its story's name."""
    for name in TOLD:
        for mode in modes(name):
            if not leaks(name, mode) and set(mode) <= SHOWN:
                yield pytest.param(name, mode, id=f"{name}:{','.join(map(str, mode.values()))}")


def told_of(name, params, points, result):
    """Return the run of a result, with a record chosen if the method's picture can be about one."""
    d = points.shape[1]
    words = Words("Clumps", Box.cube(0.0, 1.0, d), tuple(f"x{i}" for i in range(d)), ("m",) * d)
    if name == "source_target":
        words = dataclasses.replace(words, nouns=FIRST_AID)
    story = run_class(name)
    told = story.from_result(result, params, points, words, story.find_reference(points, words, result, params))
    if name == "source_target":
        return dataclasses.replace(told, record=3)
    if name == "nd_laplace":
        return dataclasses.replace(told, look=dataclasses.replace(told.look, record=3))
    return told


@functools.lru_cache(maxsize=8)
def _worlds(name, mode, d):
    params = ALGORITHMS[name].Params(**{**needs(name, d), **MUCH.get(name, {}), **dict(mode)})

    def run(points):
        return ALGORITHMS[name].fit(points, Box.cube(0.0, 1.0, d), params, rng=np.random.default_rng(3))

    points = clumps(N, d, 0)
    with pytest.MonkeyPatch.context() as patched:
        tape = Tape(patched)
        with tape.recording():
            first = run(points)
        claim = first.guarantee.proved or first.guarantee.published
        others = clumps(OTHER if claim.adjacency is Adjacency.ADD_REMOVE else N, d, 1)
        with tape.replaying():
            second = run(others)
    return told_of(name, params, points, first), told_of(name, params, others, second)


def worlds(name, mode=None, d=2):
    """Return two runs on different records whose mechanisms answer the same."""
    return _worlds(name, tuple((mode or {}).items()), d)


def seen(told, view=None):
    """Return the public view of a run: hashes of pictures, sentences and facts."""
    facts = [fact for fact in told.facts() if fact.public]
    scenes = {"picture": told.draw_scene(view or View()), **{each.key: each.scene for each in told.charts()}}
    for one in scenes.values():
        public = one.public()
        assert all(layer.audience is not Audience.CURATOR for layer in public.layers)
        assert public.layers or not public.x.label or not one.layers, "axes of nothing"
    drawn = {title: scene_hash(one.public()) for title, one in scenes.items()}
    _, public = told.stage_words()
    return drawn, public, facts, told.contents().public, told.public_notices()


@pytest.mark.parametrize(("name", "mode"), list(cases()))
def test_the_public_sees_nothing_but_what_was_released(name, mode):
    one, other = worlds(name, mode)
    assert seen(one) == seen(other)
    assert pack(one.draw_scene(View())) != pack(other.draw_scene(View())), "the curator's picture does change"


@pytest.mark.parametrize(("d", "view"), [(d, view) for d, views in WIDER.items() for view in views])
@pytest.mark.parametrize("name", sorted({case.values[0] for case in cases()}))
def test_nor_in_any_view_of_one_feature_or_of_five(name, d, view):
    one, other = worlds(name, {"mode": "repaired"} if name == "convergent_kmeans" else {}, d)
    assert pack(one.draw_scene(view)) != pack(other.draw_scene(view)), "the curator's picture does change"
    assert seen(one, view) == seen(other, view)


def axes_of_exact_costs(monkeypatch):
    """Treat axes as public, regardless of their source."""
    # Each kind has its own constructor.
    for kind in (Scene, Plot):
        made = kind.__init__

        def public(scene, *given, made=made, **named):
            made(scene, *given, **{**named, "axes_public": True})

        monkeypatch.setattr(kind, "__init__", public)


def numbers_of_the_curator(monkeypatch):
    """Put the curator's number on the public's strip."""
    run = run_class("dplloyd")
    losses = run.losses
    monkeypatch.setattr(run, "losses", lambda told: (losses(told)[0],) * 2)


def axes_of_the_curator(monkeypatch):
    """Put the curator's axis on the public's strip."""
    run = run_class("dplloyd")
    strips = run.strips
    monkeypatch.setattr(run, "strips", lambda told: (strips(told)[0],) * 2)


def sentences_of_the_curator(monkeypatch):
    """Show the curator's words to the public."""
    run = run_class("dplloyd")
    finding = run.finding
    monkeypatch.setattr(run, "finding", lambda told: Sentence(finding(told).curator, finding(told).curator))


@pytest.mark.parametrize(
    "wrong", [axes_of_exact_costs, sentences_of_the_curator, numbers_of_the_curator, axes_of_the_curator]
)
def test_what_the_public_could_learn_is_noticed(wrong, monkeypatch):
    one, other = worlds("dplloyd")
    wrong(monkeypatch)
    try:
        noticed = seen(one) != seen(other)
    # `seen` itself has assertions.
    except AssertionError:
        noticed = True
    assert noticed
