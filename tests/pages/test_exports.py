"""Exports reproduce a page's picture: scripts in a separate process, and settings in a different session."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dpviz.core import frozen
from dpviz.methods.convergent_kmeans.family import METHODS
from dpviz.methods.source_target.page import NO_TARGETS
from dpviz.plots import scene_hash
from dpviz.ui import frame
from dpviz.ui.asking import Background
from dpviz.ui.data import drawing
from dpviz.ui.data.drawing import Drawing, DrawnPoints
from dpviz.ui.export import menu, settings
from dpviz.ui.export.files import FORMATS, ExportRequest, make
from dpviz.ui.server import ahead
from tests.pages.conftest import DPM, FIRST, MORSE, TARGET, unpacked

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"data": "blobs", "n": "400"}
BASELINES = [name for name in METHODS if name not in ("repaired", "past", "future")]
PICTURES = [
    *((FIRST, {**SMALL, "mode": mode}) for mode in ("repaired", "published", "both", *BASELINES)),
    (FIRST, {**SMALL, "mode": "published", "orientation": "future", "start": "records", "audience": "public"}),
    (FIRST, {"data": "breast_cancer", "principal": "1"}),
    (DPM, {**SMALL, "calibration": "published", "node": "1", "n_is_public": "1"}),
    (DPM, {**SMALL, "shares": "own", "share_interval": "0.1", "share_counts": "0.2", "share_splits": "0.3"}),
    (DPM, {"data": "iris", "view": "solid", "x": "3", "y": "1", "z": "0", "yaw": "-75", "audience": "public"}),
    (MORSE, {**SMALL, "n_components": "6", "moves": "search", "first": "1", "second": "2"}),
    (MORSE, {**SMALL, "n_components": "6", "base": "dpcube", "moves": "level", "delta": "1e-06"}),
    (MORSE, {"data": "moons", "n": "400", "n_components": "8", "audience": "public"}),
    (MORSE, {"data": "moons", "n": "400", "n_components": "8"}),
    (TARGET, {}),
    (TARGET, {"data": "synthetic_2", "data_n_targets": "90", "method": "nas", "budget": "rho", "noise": "gaussian"}),
    (TARGET, {**SMALL, "data": "moons", "n_targets": "80", "targets": "uniform", "target_seed": "5"}),
    (TARGET, {"data": "iris", "n_targets": "80", "data_seed": "2", "audience": "public"}),
    (TARGET, {"data": "first_aid", "n": "300", "data_seed": "3", "below": "record", "record": "42"}),
    (TARGET, {"data": "first_aid", "n": "300", "below": "record", "record": "42", "audience": "public"}),
    (TARGET, {"data": "digit_pair", "data_target_digit": "4", "x": "2", "y": "1"}),
]
FEW = [each for each in PICTURES if each[1].get("mode") not in {*BASELINES} - {*BASELINES[::3], *BASELINES[::4]}]

# Largest number of lines of an exported script.
MOST_LINES = 25
# Only the second page has targets together with a drawing.
ON_TWO_PAGES = pytest.mark.parametrize("name", [FIRST, TARGET])


def on_screen(page):
    return page.shown


def hashes(page):
    """Return the hashes of the page's one or two pictures, as sent to the browser."""
    packed = page.packed()
    return [packed[key][1]["hash"] for key in ("picture", "other") if key in packed]


def file_of(page, name, kind):
    return make(on_screen(page), name, ExportRequest(kind)).content


@pytest.fixture
def brought(open_page):
    """Return the opener of a page by a file of settings, as the app takes it over."""

    def opened(data):
        wanted = settings.read(data)
        return open_page(wanted.page, **dict(wanted.query))

    return opened


@pytest.mark.parametrize("pictures", [FEW, pytest.param(PICTURES, marks=pytest.mark.slow)], ids=["few", "all"])
def test_every_script_makes_its_picture_in_another_process_and_no_file_asks_for_a_click(
    open_page, brought, run_in, tmp_path, pictures
):
    for name, link in pictures:
        page = open_page(name, **link)
        expected = hashes(page)
        assert len(expected) == (2 if link.get("mode") == "both" else 1)
        assert [scene_hash(scene) for scene in on_screen(page).scenes] == expected
        script = file_of(page, name, "py").decode()
        assert len(script.splitlines()) <= MOST_LINES, "a person reads it"
        done = run_in(tmp_path, script)
        assert not done.failed, done.stderr
        assert done.stdout.splitlines() == expected
        for scene in on_screen(page).scenes:
            assert not re.search(r"\b(click|drag|press|tap)\b", scene.words, re.IGNORECASE)
            assert scene.hint not in scene.words or not scene.hint
        assert not re.search(r"\b(click|drag)\b", file_of(page, name, "svg").decode(), re.IGNORECASE)
        if (name, link) in PICTURES[::3]:
            data = file_of(page, name, "json")
            again = brought(data)
            assert again.warnings == []
            assert hashes(again) == hashes(page) == list(settings.read(data).hashes)
            assert file_of(again, name, "json") == data
    assert (tmp_path / "picture.html").stat().st_size > 10_000


def test_a_value_that_no_link_may_have_is_refused_in_a_file_too(open_page):
    page = open_page(DPM)
    whole = json.loads(file_of(page, DPM, "json"))
    whole["knobs"] |= {"epsilon": 1e300, "calibration": "evil", "t": "![](x)"}
    session = page.app.session_state["dpviz:knobs"]
    session.query, session.origin = dict(settings.read(json.dumps(whole).encode()).query), "file"
    session.values.clear()
    page.run()
    for name in ("epsilon", "calibration", "t"):
        (said,) = [warning for warning in page.warnings if f"{name} must be" in warning]
        assert said.startswith("The file's")
    assert page.hash == open_page(DPM).hash


def draw(page, start, sheet):
    """Draw by hand: the test stores the state that a session keeps after the browser's edits."""
    page.app.session_state["dpviz:drawing"] = (start, Drawing("id", sheet))
    return page.run()


@pytest.fixture
def take_over(monkeypatch):
    """Return a function that imports settings into a page, as the app does before the page runs (not tested here)."""

    def taken(page, data):
        wanted = [settings.read(data)]
        withdraw = ahead.withdraw

        def first():
            withdraw()
            if wanted:
                menu.take_over(wanted.pop())

        monkeypatch.setattr(frame, "ahead", SimpleNamespace(withdraw=first))
        return page.run()

    return taken


@pytest.fixture
def sheet():
    """Return a drawing whose places have every digit, and a point on each wall."""
    rng = np.random.default_rng(3)
    places = np.concatenate([rng.normal(middle, 0.05, (60, 2)).clip(0, 1) for middle in (0.2, 0.5, 0.8)])
    places[:4] = [[0.0, 0.3], [1.0, 0.3], [0.3, 0.0], [0.3, 1.0]]
    return DrawnPoints(frozen(places), frozen(np.repeat(np.arange(3), 60).astype(np.intp)))


def told(page):
    """Return a page's warnings but for the one that own data have no targets."""
    return [warning for warning in page.warnings if warning != NO_TARGETS]


def test_a_drawing_comes_back_with_its_settings(open_page, take_over, name, sheet):
    page = draw(open_page(name, data="draw", drawing="one", epsilon="2.0"), "one", sheet)
    data, wanted = file_of(page, name, "json"), hashes(page)
    again = take_over(open_page(name, data="iris"), data)
    assert told(again) == []
    assert hashes(again) == wanted == list(settings.read(data).hashes)
    assert again.query == page.query
    assert again.app.session_state["dpviz:drawing"][1].sheet.digest == sheet.digest
    assert file_of(again, name, "json") == data


@ON_TWO_PAGES
def test_undo_brings_back_what_an_import_took_the_place_of(open_page, take_over, name, sheet):
    page = draw(open_page(name, data="draw", drawing="one"), "one", sheet)
    data = file_of(open_page(name, data="draw", drawing="ring"), name, "json")
    mine = hashes(page)
    assert hashes(take_over(page, data)) != mine
    page.app.button[[button.label for button in page.app.button].index("Undo")].click()
    assert hashes(page.run()) == mine


@ON_TWO_PAGES
def test_a_drawing_saved_in_the_public_view_brings_its_knobs_only(open_page, take_over, name, sheet):
    page = draw(open_page(name, data="draw", drawing="one", epsilon="2.0", audience="public"), "one", sheet)
    data = file_of(page, name, "json")
    assert drawing.NOT_HERE in data.decode()
    assert "points" not in json.loads(data)["drawing"]
    again = take_over(open_page(name, data="iris"), data)
    (said,) = told(again)
    assert menu.NO_POINTS in said
    assert again.query == page.query
    mine = draw(open_page(name, data="draw", drawing="ring"), "ring", sheet)
    take_over(mine, data)
    assert mine.app.session_state["dpviz:drawing"][1].sheet is sheet, "what is drawn here stays"
    assert mine.query["epsilon"] == "2.0"


def test_a_public_script_of_a_drawing_asks_for_the_points(open_page, sheet, run_in, tmp_path):
    page = draw(open_page(DPM, data="draw", drawing="one", audience="public"), "one", sheet)
    done = run_in(tmp_path, file_of(page, DPM, "py").decode())
    assert done.failed
    assert done.stderr == "Put the points into this file first: drawn is empty.\n"


def test_secret_noise_has_no_seed_in_any_file(open_page, name):
    page = open_page(name, **SMALL, secret="1", noise_seed="918273645")
    for kind in FORMATS:
        assert "918273645" not in file_of(page, name, kind).decode().replace("picture", "")
    assert "seed=None" in file_of(page, name, "py").decode()


def test_without_a_picture_nothing_is_exported(open_page):
    page = open_page(DPM, t="0.05", q="0.4")
    assert on_screen(page) is None


@pytest.mark.parametrize(
    "sent",
    [None, {}, {"want": None}, {"want": {"format": "exe"}}, {"want": {"format": ["png"]}}, {"want": "png"}, 7],
)
def test_a_wish_that_makes_no_sense_is_none(sent):
    assert menu.read_wish(sent) is None


def test_a_wish_is_taken_as_far_as_it_makes_sense(open_page):
    number, wish = menu.read_wish({"want": {"format": "svg", "number": 1e9, "frame": 10**30, "off": [1, "x"]}})
    assert (number, wish.frame, wish.off, wish.dark) == (0, 10**30, {"x"}, False)
    page = open_page(DPM, **SMALL)
    assert make(on_screen(page), DPM, wish).content
    with pytest.raises(ValueError, match="format must be"):
        make(on_screen(page), DPM, ExportRequest("exe"))


def index_of(written):
    """Return the description that an exported picture has of itself."""
    return json.loads(re.search(r"dpvizIndex\((.*)\);</script>", written)[1])


@pytest.mark.parametrize("audience", ["curator", "public"])
def test_a_picture_to_keep_has_the_bands_that_the_page_had_found(open_page, monkeypatch, audience):
    def recall(_self, _source, job):
        (question,) = job.arguments
        return (0.12345, 2.0, 30.0) if question.params.epsilon == 1.0 else None

    monkeypatch.setattr(Background, "recall", recall)
    shown = on_screen(open_page(DPM, **SMALL, audience=audience))
    index = index_of(make(shown, DPM, ExportRequest("html")).content.decode())
    (told,) = index["bands"]
    found = {value: band for value, band in zip(index["slider"]["values"], told, strict=True) if band is not None}
    assert found == ({1.0: [0.123, 2.0, 30.0]} if audience == "curator" else {})


def test_a_picture_to_keep_leaves_out_what_is_impossible(open_page):
    """Redrawing would take too long at a small ε, and the page reports it there."""
    page = open_page("nd_laplace", n="30", domain="redraw")
    shown = page.shown
    written = make(shown, "nd_laplace", ExportRequest("html")).content.decode()
    slider = index_of(written)["slider"]
    assert 0 < len(slider["values"]) < len(shown.slider["values"])
    assert slider["values"][slider["index"]] == shown.slider["values"][shown.slider["index"]]
    assert len(slider["texts"]) == len(slider["spoken"]) == len(slider["values"]) == len(unpacked(written)[0]) - 1
    for mark in slider["marks"]:
        assert f"{slider['values'][mark['index']]:.3g}" == mark["value"]


def test_a_run_saves_the_page_that_the_menu_saves(open_page, tmp_path):
    shown = on_screen(open_page(DPM, **SMALL, secret="1", audience="public"))
    ((_, run),) = shown.runs
    run.save(tmp_path / "run.html", view=shown.view, frame=0)
    off = frozenset(name for scene in shown.scenes for name in scene.hidden_names)
    exported = make(shown, DPM, ExportRequest("html", 0, off)).content.decode()
    assert unpacked((tmp_path / "run.html").read_text("utf-8")) == unpacked(exported)
