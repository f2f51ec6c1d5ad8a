"""The public view of a run is the same for other records with the same releases.

The replay rule of `test_replay`, up to the screen: pictures, charts next to them, sentences and facts.
"""

import numpy as np
import pytest

from dpviz.core import Adjacency, Box
from dpviz.methods import ALGORITHMS, CATALOGUE, run_class
from dpviz.plots import Audience, Plot, Scene, scene_hash
from dpviz.stories import Sentence, View, Words
from tests.recorded import modes, needs
from tests.replay import Tape
from tests.test_replay import clumps, leaks

BOX = Box.cube(0.0, 1.0, 2)
WORDS = Words("Clumps", BOX, ("x", "y"), ("m", "m"))
N, OTHER = 600, 900
TOLD = sorted({*CATALOGUE, *(name for method in CATALOGUE.values() for name in method.family)})


def cases():
    """Yield each mode whose run releases only the answers of its mechanisms, with its story's name."""
    for name in TOLD:
        for mode in modes(name):
            if not leaks(name, mode) and set(mode) <= {
                "adjacency",
                "base",
                "calibration",
                "domain",
                "epsilon",
                "start",
            }:
                yield pytest.param(name, mode, id=f"{name}:{','.join(map(str, mode.values()))}")


def seen(name, params, points, result):
    """Return the public view of a run: hashes of pictures, sentences and facts."""
    story = run_class(name)
    told = story.from_result(result, params, points, WORDS, story.find_reference(points, WORDS, result, params))
    facts = [fact for fact in told.facts() if fact.public]
    scenes = {
        "picture": told.picture(View()),
        **{each.key: each.scene for each in told.charts()},
    }
    for one in scenes.values():
        public = one.public()
        assert all(layer.audience is not Audience.CURATOR for layer in public.layers)
        assert public.layers or not public.x.label or not one.layers, "axes of nothing"
    drawn = {title: scene_hash(one.public()) for title, one in scenes.items()}
    _, public = told.stage_words()
    return drawn, public, facts, told.contents().public, told.public_notices()


def worlds(name, mode, monkeypatch):
    """Return the public views of two runs on different records whose mechanisms answer the same."""
    given = {"epsilon": 8.0} if "epsilon" not in mode and name == "dpm" else {}
    params, tape = ALGORITHMS[name].Params(**{**needs(name, 2), **given, **mode}), Tape(monkeypatch)

    def run(points):
        return ALGORITHMS[name].fit(points, BOX, params, rng=np.random.default_rng(3))

    points = clumps(N, 2, 0)
    with tape.recording():
        first = run(points)
    claim = first.guarantee.proved or first.guarantee.published
    others = clumps(OTHER if claim.adjacency is Adjacency.ADD_REMOVE else N, 2, 1)
    with tape.replaying():
        second = run(others)
    monkeypatch.undo()
    return seen(name, params, points, first), seen(name, params, others, second)


@pytest.mark.parametrize(("name", "mode"), list(cases()))
def test_the_public_sees_nothing_but_what_was_released(name, mode, monkeypatch):
    one, other = worlds(name, mode, monkeypatch)
    assert one == other


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
    with pytest.MonkeyPatch.context() as patched:
        wrong(patched)
        try:
            one, other = worlds("dplloyd", {}, monkeypatch)
        except AssertionError:
            return
    assert one != other
