"""While a picture plays, each step's sentence takes the place of the finding: it must fit there."""

import dataclasses

import pytest

import dpviz
from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.data import NEUTRAL, load
from dpviz.methods.morse.run import LandscapeLook, MorseRun
from dpviz.methods.source_target import first_aid
from dpviz.plots import Frame
from dpviz.stories import View

MOST_LETTERS, MOST_WORDS = 68, 16
DATA = load("blobs", n=400, seed=0)
STARTS = [("repaired", "packing"), ("repaired", "private"), ("repaired", "records"), ("published", "packing")]
LOOKS = [("cut", (0, 0)), ("level", (0, 0)), ("search", (0, 0)), ("search", (64, 63))]
CASES = [
    *(("dpm", {"calibration": each}) for each in ("repaired", "published")),
    *(("nd_laplace", {"domain": each}) for each in ("none", "clamp", "redraw", "remap")),
    *(("convergent_kmeans", {"mode": mode, "start": start}) for mode, start in STARTS),
    *((name, {}) for name in ("morse", *BASELINES)),
]


def frames_of(run):
    """Return the frames of a run's pictures."""
    looks = [LandscapeLook(moves, pair) for moves, pair in LOOKS] if isinstance(run, MorseRun) else []
    runs = [dataclasses.replace(run, look=look) for look in looks] or [run]
    return [frame for each in runs for frame in each.draw_scene(View()).frames]


def too_long(frame):
    """Return True if a step's words do not fit into two lines."""
    return len(frame.detail) > MOST_LETTERS or len(frame.detail.split()) > MOST_WORDS


@pytest.mark.parametrize("epsilon", [0.1, 5.0])
@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_every_step_is_said_in_two_lines(name, options, epsilon):
    own = {} if name == "lloyd" else {"epsilon": epsilon}
    own |= {"population": 30} if name == "privgene" else {}
    run = dpviz.run(name, DATA, seed=0, **own, **options)
    assert not [frame for frame in frames_of(run) if too_long(frame)]


@pytest.mark.parametrize("method", ["nna", "nas"])
def test_every_step_of_a_pair_is_said_in_two_lines(method):
    source, more = first_aid()
    for epsilon in (0.1, 5.0):
        run = dpviz.run("source_target", source, seed=0, epsilon=epsilon, **{**more, "method": method})
        for nouns in (NEUTRAL, run.words.nouns):
            named = dataclasses.replace(run, words=dataclasses.replace(run.words, nouns=nouns))
            assert not [frame for frame in frames_of(named) if too_long(frame)]


def test_a_longer_sentence_would_be_noticed():
    assert not too_long(Frame("Level 1: count", "Both sides are counted with noise: 2 cuts, 1 refused."))
    assert too_long(Frame("Level 1: count", "Both sides are counted with noise. A cut with a side of few is refused."))
    assert too_long(Frame("Level 1: count", "a " * 17))
