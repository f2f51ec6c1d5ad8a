"""With the public switch on, every file follows from the release: a different trace changes no byte."""

import dataclasses
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.data import Dataset
from dpviz.methods import ALGORITHMS, CATALOGUE, run_class
from dpviz.methods.convergent_kmeans.family import METHODS
from dpviz.stories import View
from dpviz.ui.data.drawing import DrawnPoints
from dpviz.ui.data.picker import Source
from dpviz.ui.export.files import FORMATS, ExportRequest, make, quotable
from dpviz.ui.runs import MethodScreen, Noise, RunRequest
from tests.stories.marks import leak, other_trace
from tests.stories.test_public_replay import worlds as replayed

LINK = (("data", "blobs"), ("n", "300"), ("data_seed", "0"), ("data_n_clusters", "5"), ("data_overlap", "0.35"))
LINK = (*LINK, ("data_imbalance", "0.0"), ("data_n_features", "2"))
MODES = {
    "repaired": ("convergent_kmeans", {"mode": "repaired"}),
    "dpm published": ("dpm", {"calibration": "published"}),
}
NAMES = ["repaired", "published", "dpm", "dpm published", "morse", *sorted(set(BASELINES) & set(METHODS) - {"lloyd"})]


def worlds(name, tell, d=2):
    """Return a method, a run, and one of other records with the same release, or a different trace without a proof."""
    if name == "published":
        told = tell(d, mode=name)
        return CATALOGUE["convergent_kmeans"], told, other_trace(told)
    method, mode = MODES.get(name, (name, {}))
    return ALGORITHMS[method], *replayed(method, mode, d)


def on_screen(method, told, *, public, uploaded, view=None, leaked="", drawn=False):
    """Put a run on screen, as the page does."""
    view = view or View()
    story = run_class(method.name)
    scene = told.draw_scene(view)
    if leaked:
        scene = leak(scene, leaked)
    words = told.words
    points = words.box.clip(words.box.from_unit(told.unit))
    dataset = Dataset(
        points, None, words.box, words.feature_names, words.title, units=words.units, nonprivate_n_clipped=len(points)
    )
    link = (("data", "upload" if public else "upload:0123456789abcdef"),) if uploaded else LINK
    link = (("data", "draw"), ("drawing", "one")) if drawn else link
    sheet = DrawnPoints(told.unit, np.zeros(len(points), dtype=np.intp)) if drawn else None
    dataset = dataclasses.replace(dataset, labels=sheet.classes if sheet else None)
    source = Source(dataset, ("upload", "0123456789abcdef"), link, uploaded=uploaded, sheet=sheet)
    request = RunRequest(method, story, told.params)
    pairs = [("data", link[0][1]), ("epsilon", "1.0")]
    return MethodScreen(source, ((request, told),), (scene,), Noise(None if uploaded else 3), view, public, pairs)


def files(shown, frame, *, formats=tuple(FORMATS)):
    return {kind: make(shown, "dpm", ExportRequest(kind, frame)).content for kind in formats}


@pytest.mark.parametrize(("name", "uploaded"), [(name, i % 2 == 1) for i, name in enumerate(NAMES)])
def test_public_files_follow_from_the_release(tell, name, uploaded):
    method, told, changed = worlds(name, tell)
    here, there = (on_screen(method, each, public=True, uploaded=uploaded) for each in (told, changed))
    assert files(here, 10**6) == files(there, 10**6)
    here, there = (on_screen(method, each, public=False, uploaded=uploaded) for each in (told, changed))
    # The other formats show one wrong audience, below.
    for kind in ("svg", "csv", "json"):
        assert files(here, 10**6, formats=(kind,)) != files(there, 10**6, formats=(kind,)), "the curator's do change"


@pytest.mark.parametrize("name", ["repaired", "dpm", "morse"])
def test_what_was_drawn_by_hand_is_in_no_public_file(tell, name):
    method, told, changed = worlds(name, tell)
    screens = [on_screen(method, each, public=True, uploaded=False, drawn=True) for each in (told, changed)]
    assert files(screens[0], 0) == files(screens[1], 0)
    screens = [on_screen(method, each, public=False, uploaded=False, drawn=True) for each in (told, changed)]
    for kind in ("json", "py"):
        here, there = (files(each, 0, formats=(kind,))[kind] for each in screens)
        assert here != there, "the curator's file has the points"


@pytest.mark.parametrize("name", ["repaired", "dpm", "morse", "dplloyd"])
def test_a_picture_for_an_article_is_the_publics_and_can_be_quoted(tell, name):
    method, told, changed = worlds(name, tell)
    curators, others = (on_screen(method, each, public=False, uploaded=False) for each in (told, changed))
    drawing = files(curators, 10**6, formats=("article",))["article"].decode()
    assert drawing == files(others, 10**6, formats=("article-svg",))["article-svg"].decode()
    words = told.stage_words()[1]
    text = " ".join("".join(ET.fromstring(drawing).itertext()).split())
    assert "(secret)" not in text
    assert "Do not publish" not in text
    for each in (words.finding, words.guarantee.replace("**", "")):
        assert each.replace(" ", "") in text.replace(" ", ""), each
    quoted = quotable(curators)
    assert words.risk.text in quoted
    assert "equally likely" in quoted


@pytest.mark.parametrize("name", ["repaired", "dpm", "dplloyd"])
def test_a_plane_of_records_leaves_nothing_public(tell, name):
    method, told, changed = worlds(name, tell, d=5)
    view = View(3, 1, z=0) if name == "dpm" else View(principal=True)
    screens = [on_screen(method, each, public=True, uploaded=True, view=view) for each in (told, changed)]
    assert files(screens[0], 0) == files(screens[1], 0)
    if view.principal:
        assert screens[0].scenes[0].layers == ()
        assert files(screens[0], 0, formats=("csv",))["csv"].count(b"\r\n") == 1


@pytest.mark.parametrize("kind", ["html", "svg", "png", "csv", "json"])
def test_one_wrong_audience_would_be_noticed(tell, kind):
    method, told, changed = worlds("dpm", tell)
    screens = [on_screen(method, each, public=True, uploaded=True, leaked="person") for each in (told, changed)]
    assert files(screens[0], 0, formats=(kind,)) != files(screens[1], 0, formats=(kind,))


def test_an_uploads_fingerprint_and_number_of_records_are_not_public(tell):
    method, told, _ = worlds("dpm", tell)
    for public in (True, False):
        shown = on_screen(method, told, public=public, uploaded=True)
        for kind in ("json", "py"):
            content = files(shown, 0, formats=(kind,))[kind]
            assert (b"0123456789abcdef" in content) is not public
            assert b"default_rng(3)" not in content
        for content in files(shown, 0).values():
            assert not public or f"{len(told.unit)} records".encode() not in content
