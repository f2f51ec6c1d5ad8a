"""The k-means family on its page: any method's picture, two modes side by side, many runs, budgets, tables."""

import itertools
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
import streamlit as st

from dpviz.experiments.tables import read_tables
from dpviz.methods.convergent_kmeans import comparison
from dpviz.methods.convergent_kmeans import page as family
from dpviz.methods.convergent_kmeans.comparison import METHODS
from dpviz.ui import reproduction
from tests.pages.conftest import at_once

PAGE = "convergent_kmeans"
SMALL = {"n": "200", "n_clusters": "3"}


@pytest.fixture
def ready(monkeypatch):
    """Let background work be done at once, here."""
    known = at_once(monkeypatch, comparison)
    monkeypatch.setitem(family.EPSILONS, "total", (0.5, 5.0))
    monkeypatch.setitem(family.EPSILONS, "step", (0.1, 1.0))
    return known


def names_of(packed, key):
    return [layer["name"] for layer in packed[key][1]["layers"]]


@pytest.mark.parametrize("method", family.FAMILY)
@pytest.mark.parametrize("audience", ["curator", "public"])
def test_every_baseline_has_its_picture_sentence_and_guarantee(open_page, method, audience):
    page = open_page(PAGE, **SMALL, mode=method, audience=audience)
    assert page.warnings == []
    assert not page.app.error
    assert page.packed()["picture"][1]["layers"]
    assert page.sentence
    assert "Guarantee" in page.card
    assert page.query["mode"] == method
    if audience == "public":
        assert all(layer["audience"] != "curator" for layer in page.packed()["picture"][1]["layers"])
        assert page.n_locks == 0


# In every run one end of each knob: the low and the high one take turns.
KNOBS = [
    pytest.param(
        *(method, knob, value),
        marks=() if (i + j) % len(values) == 0 else pytest.mark.slow,
        id=f"{method}-{knob.name}-{value}",
    )
    for method in family.FAMILY
    for i, (_, knob) in enumerate(family.own_knobs(method))
    for values in [[c for c, _ in knob.choices] if knob.kind == "choice" else [knob.low, knob.high]]
    for j, value in enumerate(values)
]


@pytest.mark.parametrize(("method", "knob", "value"), KNOBS)
def test_a_baselines_own_knobs_hold_from_end_to_end(open_page, method, knob, value):
    asked = knob.format(int(value) if knob.kind == "int" else value)
    page = open_page(PAGE, **SMALL, mode=method, **{knob.name: asked})
    assert page.query[knob.name] == asked
    assert page.packed().get("picture") or page.app.error  # impossible together is said, never a crash
    for error in page.app.error:
        assert "but" in error.value


def test_two_modes_stand_side_by_side_and_in_step(open_page):
    page = open_page(PAGE, **SMALL, mode="both", epsilon="2.0")
    packed = page.packed()
    left, right = packed["picture"], packed["other"]
    assert right[0]["follow"] == "picture"
    assert len(left[1]["frames"]) == len(right[1]["frames"])
    assert (left[1]["title"], right[1]["title"]) == ("Repaired", "As published")
    assert "Same noise, every ε" in names_of(packed, "picture")
    assert "Same noise, every ε" in names_of(packed, "other")
    assert "What honesty costs" in page.text
    assert "only the repaired one is proved" in page.sentence or "farther off" in page.sentence
    assert page.query["epsilon"] == "2.0"


def test_without_a_noise_seed_there_is_no_trail_of_the_same_noise(open_page):
    page = open_page(PAGE, **SMALL, mode="both", secret="1")
    assert "Same noise, every ε" not in names_of(page.packed(), "picture")
    before = {key: data for key, (_, _, data) in page.packed().items()}
    assert {key: data for key, (_, _, data) in page.run().packed().items()} == before  # looking again releases nothing
    assert any(text.value.startswith("Releases of these records in this session: 2.") for text in page.app.caption)


def test_many_runs_of_every_method_are_drawn_as_bands(open_page, ready):
    page = open_page(PAGE, **SMALL)
    packed = page.packed()
    for key in ("steps", "against"):
        layers = packed[key][1]["layers"]
        lines = {layer["name"] for layer in layers if layer["kind"] == "lines" and layer["pick"]}
        bands = {layer["name"] for layer in layers if layer["kind"] == "bands"}
        wanted = set(METHODS.values()) - ({METHODS["lloyd"]} if key == "against" else set())
        assert lines == bands == wanted
        assert all(layer["audience"] == "curator" for layer in layers)
    assert len(ready) == len(METHODS) * 3
    (table,) = [frame.value for frame in page.app.dataframe]
    assert list(table["Method"]) == list(METHODS.values())
    promised = dict(zip(table["Method"], table["Guarantee"], strict=True))
    assert promised.pop("FastLloyd").startswith("proved, with δ = ")
    assert set(promised.values()) == {"none", "proved", "claimed, not established"}


def test_methods_are_switched_off_and_stay_off(open_page, ready):
    page = open_page(PAGE, **SMALL)
    page.set("button_group", "Methods", ["su", "eugkm"])
    names = {layer["name"] for layer in page.packed()["against"][1]["layers"] if layer["pick"]}
    assert names == {METHODS["su"], METHODS["eugkm"]}
    assert {layer["name"] for layer in page.run().packed()["against"][1]["layers"] if layer["pick"]} == names
    assert ready


def test_both_axes_of_the_comparison_ask_different_questions(open_page, ready):
    page = open_page(PAGE, **SMALL, epsilon="3.0", epsilon_per_iteration="0.2")
    asked = {job.arguments[1].epsilon for job in ready}
    assert asked == {3.0, 0.5, 5.0}
    ready.clear()
    page.set("button_group", "Compare at", "step")
    assert {(job.arguments[1].epsilon, job.arguments[1].spend) for job in ready} == {
        (0.2, "step"),
        (0.1, "step"),
        (1.0, "step"),
    }
    assert page.packed()["against"][1]["x"]["label"] == "ε per step"


def test_a_click_on_a_line_shows_that_methods_picture(open_page, ready, monkeypatch):  # noqa: ARG001
    page = open_page(PAGE, **SMALL)
    clicks = itertools.count(1000)
    clicked = SimpleNamespace(picked=None, pick_count=0)

    def live(scene, *, key, **options):
        state = family_live(scene, key=key, **options)
        return SimpleNamespace(selected=state.selected, picked=clicked.picked, pick_count=clicked.pick_count)

    family_live = family.live
    monkeypatch.setattr(family, "live", live)
    for name, mode in (("dwork", "dwork"), ("eugkm", "eugkm"), ("past", "published"), ("repaired", "repaired")):
        clicked.picked, clicked.pick_count = name, next(clicks)
        page.run()
        assert page.query["mode"] == mode
        assert page.run().query["mode"] == mode  # one click is one change
    page.set("selectbox", "Method", "gupt")  # a later choice is not undone by an old click
    assert page.query["mode"] == "gupt"


def test_the_public_sees_no_runs_but_what_is_proved(open_page, ready):
    page = open_page(PAGE, **SMALL, audience="public")
    assert "steps" not in page.packed()
    assert not ready
    assert any("exact" in info.value for info in page.app.info)


def test_budgets_add_up_to_what_each_method_spends(open_page, ready):
    for audience, missing in (("curator", {"lloyd"}), ("public", {"lloyd", "past", "future"})):
        st.cache_resource.clear()
        page = open_page(PAGE, **SMALL, epsilon="2.0", audience=audience, tab="budgets")
        header = page.packed()["budgets"][1]
        shown = [METHODS[name] for name in METHODS if name not in missing]
        assert header["y"]["names"] == shown[::-1]
        spent = {}
        for text in header["alt"].partition(": ")[2].split("; "):
            name, number = text.rsplit(" ", 1)
            spent[name] = float(number)
        for name in shown:
            if name not in (METHODS["past"], METHODS["future"]):
                assert spent[name] == pytest.approx(2.0 * (1 - 2**-5) if name == METHODS["dwork"] else 2.0, abs=0.01)
    assert ready


def test_the_papers_tables_are_on_the_page(open_page):
    page = open_page(PAGE, **SMALL, tab="reproduction")
    report = read_tables(reproduction.FOLDER / f"{PAGE}.json")
    assert [header.value.replace("\\", "") for header in page.app.subheader] == [table.title for table in report.tables]
    assert len(page.app.dataframe) == len(report.tables)
    assert [code.value for code in page.app.code] == [report.command]
    for frame, table in zip(page.app.dataframe, report.tables, strict=True):
        shown = frame.value
        assert set(shown.columns) == {column.key for column in table.columns}
        if table.id in ("iterations", "ratios", "degree", "bounds"):
            assert len(shown) == len(table.rows)
    for key in ("ratio_by_epsilon", "gap_step", "gap_total"):
        assert np.isfinite(page.packed()[f"{PAGE}:{key}"][1]["x"]["view"]).all()
    sets = {widget.label: widget for widget in page.app.button_group if widget.label == "Data set"}
    assert sets


def test_a_missing_or_broken_report_is_said(open_page, monkeypatch, tmp_path):
    monkeypatch.setattr(reproduction, "FOLDER", tmp_path)
    assert "missing" in open_page(PAGE, **SMALL, tab="reproduction").app.error[0].value
    (tmp_path / f"{PAGE}.json").write_text(json.dumps({"title": 1}), "utf-8")
    assert re.search("no report", open_page(PAGE, **SMALL, tab="reproduction").app.error[0].value)


def test_a_column_of_numbers_and_words_is_shown_as_words(open_page, caplog):
    page = open_page("morse", below="reproduction")
    frames = [frame.value for frame in page.app.dataframe]
    mixed = [column for frame in frames for column in frame if len({type(cell) for cell in frame[column].dropna()}) > 1]
    assert frames
    assert mixed == []
    assert "Arrow" not in caplog.text
