"""Many runs on all five pages, and the attack on one record: pictures, words, and facts kept from the public."""

import re

import pytest

from dpviz.methods.convergent_kmeans import page as kmeans_page
from dpviz.plots.scene import read_header
from dpviz.tools.many_runs import runs as outcome_tasks
from tests.pages.conftest import FIRST, LAPLACE, PAGES, at_once

TABS = {FIRST: {"tab": "runs"}, "dpm": {"tab": "many"}, LAPLACE: {"under": "runs"}}
TABS |= {name: {"below": "runs"} for name in ("morse", "source_target")}
SMALL = {"n": "200"}


@pytest.fixture
def ready(monkeypatch):
    """Let the runs be done at once, here; returns the answers of the jobs that were asked for."""
    monkeypatch.setattr(kmeans_page, "ATTACKS", {"noisy": 10, "published": 10})
    return at_once(monkeypatch)


def words_of(page):
    return "\n".join(each.value.replace("\\", "") for each in page.app.markdown)


@pytest.mark.parametrize("name", PAGES)
def test_every_page_plays_its_runs(open_page, ready, name):
    page = open_page(name, **SMALL, **TABS[name], n_outcomes="10")
    scene, dots = page.packed()["outcomes"], page.packed()["outcome-dots"]
    assert len(scene[1]["frames"]) == 10
    assert scene[1]["eased"] is False
    assert dots[0]["follow"] == "outcomes"
    assert " of every 20 runs " in words_of(page)
    draws = {job.arguments[1] for job in ready if job.task is outcome_tasks.outcomes}
    assert {each.first for each in draws} >= {0, 5}
    assert page.widget("button", "New noise for all runs").key == "outcomes-new"


@pytest.mark.parametrize("name", PAGES)
def test_the_public_gets_no_run_at_all(open_page, ready, name):
    page = open_page(name, **SMALL, **TABS[name], audience="public")
    assert "outcomes" not in page.packed()
    assert not ready, "nothing is even computed"
    assert any("release" in info.value for info in page.app.info)


@pytest.mark.usefixtures("ready")
def test_new_noise_changes_the_noise_and_nothing_else(open_page):
    page = open_page(FIRST, **SMALL, **TABS[FIRST], n_outcomes="10")
    before = page.query
    drawn = page.packed()["outcomes"][1]["hash"]
    after = page.press("New noise for all runs").query
    assert {name for name in after if after[name] != before.get(name)} == {"noise_seed"}
    assert page.packed()["outcomes"][1]["hash"] != drawn


def test_start_and_noise_vary_apart(open_page, ready):
    page = open_page(FIRST, **SMALL, **TABS[FIRST], n_outcomes="10", vary="start")
    assert {job.arguments[1].vary for job in ready} == {"start"}
    page.set("button_group", "What differs between runs", "both")
    assert {job.arguments[1].vary for job in ready} == {"start", "both"}
    assert page.packed()["outcomes"]


@pytest.mark.usefixtures("ready")
def test_the_threshold_moves_the_words(open_page):
    page = open_page(FIRST, **SMALL, **TABS[FIRST], n_outcomes="20")
    slider = page.widget("select_slider", "Beyond")
    slider.set_value(slider.options[0] if isinstance(slider.options[0], float) else slider.value)
    stops = page.app.session_state["outcomes-threshold-cost"]
    assert f"{stops:,.6g}" in words_of(page)


@pytest.mark.parametrize("what", ["exact", "noisy", "published"])
def test_the_attack_is_drawn_and_said(open_page, ready, what):
    page = open_page(FIRST, **SMALL, tab="attack", attacked=what, record="4")
    said = words_of(page)
    wanted = {"exact": "reveal the record", "noisy": "A guess without data", "published": "down to one line"}
    assert wanted[what] in said
    names = page.names("attack")
    assert "the record" in names
    assert ("the record is on this line" in names) == (what == "published")
    captions = " ".join(caption.value for caption in page.app.caption)
    assert "Curator view: not a release" in captions
    assert {job.arguments[0].record for job in ready} == {4}
    # The limit next to the slider is on the same screen as a reconstructed record, so each states its subject.
    (slider,) = page.sliders.values()
    assert all(note.startswith("The picture's noisy release: An attacker") for note in slider["notes"])
    assert ("No limit holds for this attack" in captions) == (what != "noisy")
    (other,) = open_page(FIRST, **SMALL, tab="runs").sliders.values()
    assert all(note.startswith("An attacker") for note in other["notes"])


def test_a_record_beyond_the_last_is_the_last_and_the_public_sees_no_attack(open_page, ready):
    page = open_page(FIRST, **SMALL, tab="attack", audience="public")
    assert "attack" not in page.packed()
    assert not ready
    page = open_page(FIRST, **SMALL, tab="attack", record="5000")
    assert {job.arguments[0].record for job in ready} == {199}
    assert any("this is the last" in caption.value for caption in page.app.caption)


def test_both_claims_are_named_where_they_differ(open_page):
    page = open_page("source_target", n="200")
    (slider,) = page.sliders.values()
    note = slider["notes"][slider["index"]]
    for text in (note, page.text):
        assert re.search(r"at most 67 (times )?in 100", text)
        assert "at most 74 in 100" in text
    assert note.startswith("Proved: ")
    assert "Claimed: at most 74 in 100" in note


@pytest.mark.usefixtures("ready")
def test_where_dpm_cuts_is_drawn_of_as_many_runs_as_are_played(open_page):
    page = open_page("dpm", **SMALL, **TABS["dpm"], n_outcomes="15")
    _, header, packed = page.packed()["outcome-bands"]
    assert read_header(packed)["hash"] == header["hash"]
    assert header["title"].startswith("Cost against")
    assert page.widget("slider", "Runs").value == 15
    packed = page.packed()
    assert len(packed["outcomes"][1]["frames"]) == 15
    assert "more of the 15 runs cut there" in packed["heat"][1]["caption"]
    assert "15 runs" in packed["found"][1]["alt"]


def test_a_run_at_every_stop_is_played(open_page, ready):
    page = open_page(FIRST, **SMALL, tab="play", epsilon="1.0")
    picture, chart = page.packed()["over"], page.packed()["over-cost"]
    assert len(picture[1]["frames"]) == len(chart[1]["frames"]) == len(ready) - 1, "one more job is Lloyd's"
    assert "ε = 1" in str(picture[1]["frames"])
    assert chart[0]["follow"] == "over"
    public = open_page(FIRST, **SMALL, tab="play", audience="public")
    assert "over" not in public.packed()
