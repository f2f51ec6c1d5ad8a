"""Morse processing on its page: the scrubber, the clicked pair, many runs, and every method."""

import itertools

import pytest

from dpviz.methods.morse import charts
from dpviz.methods.morse import page as morse_page
from dpviz.ui import show
from tests.pages.conftest import at_once, clicking

PAGE = "morse"
SMALL = {"n": "400", "n_components": "8"}


@pytest.fixture
def ready(monkeypatch):
    """Let background work be done at once, here."""
    known = at_once(monkeypatch, charts)
    monkeypatch.setattr(morse_page, "EPSILONS", (0.5, 5.0))
    return known


@pytest.mark.parametrize(
    ("base", "calibration", "moves"),
    [
        pytest.param(base, calibration, moves, marks=() if (i + j + k) % 2 == 0 else pytest.mark.slow)
        for i, base in enumerate(("dpmog_hard", "dpmog", "dplloyd_mog", "dpcube"))
        for j, calibration in enumerate(("tight", "published"))
        for k, moves in enumerate(("cut", "level", "search"))
    ],
)
def test_every_mixture_has_every_picture(open_page, base, calibration, moves):
    page = open_page(PAGE, **SMALL, base=base, calibration=calibration, moves=moves, epsilon="10.0")
    assert page.warnings == []
    assert not page.app.error
    assert "hilltop" in page.names()
    assert {"dendrogram", "spending"} <= set(page.packed())
    assert "Proved" in page.card
    assert (page.query["base"], page.query["moves"]) == (base, moves)


def test_the_scrubber_begins_at_the_clusters_asked_for_or_says_there_are_fewer(open_page):
    page = open_page(PAGE, n_clusters="3")
    header = page.packed()["picture"][1]
    assert header["frames"][header["start_frame"]][0] == "3 clusters"
    assert page.packed()["dendrogram"][1]["start_frame"] == header["start_frame"]
    page = open_page(PAGE, n="100", n_clusters="20", epsilon="0.1")
    assert "not enough for 20 clusters" in page.sentence


def test_a_pair_is_chosen_from_lists_and_kept_in_the_link(open_page):
    page = open_page(PAGE, moves="search", first="3", second="7", epsilon="20.0")
    frames = page.packed()["picture"][1]["frames"]
    assert "components 3 and 7" in frames[0][1].lower()
    page.set("selectbox", "To component", 9)
    assert "components 3 and 9" in page.packed()["picture"][1]["frames"][0][1].lower()
    assert (page.query["first"], page.query["second"]) == ("3", "9")


def test_a_click_on_a_transition_point_shows_its_search(open_page, monkeypatch):
    page = open_page(PAGE, epsilon="5.0")
    picks = [layer["pick"] for layer in page.packed()["picture"][1]["layers"] if layer["pick"]]
    assert picks
    clicks, clicked = itertools.count(1000), clicking(monkeypatch, show, "picture")
    clicked.picked, clicked.pick_count = picks[0], next(clicks)
    page.run()
    first, second = picks[0].split("-")[1:]
    assert (page.query["moves"], page.query["first"], page.query["second"]) == ("search", first, second)
    assert f"components {first} and {second}" in page.packed()["picture"][1]["frames"][0][1].lower()
    page.set("button_group", "Scrub through", "cut")
    assert page.query["moves"] == "cut", "an old click does not come back"


def test_many_runs_are_drawn_for_the_curator_only(open_page, ready):
    page = open_page(PAGE, **SMALL, n_morse_runs="5")
    packed = page.packed()
    assert {"Morse processing", "k-means on the means"} <= page.names("ari")
    assert all(layer["audience"] == "curator" for layer in packed["ari"][1]["layers"])
    assert len(packed["lanes"][1]["y"]["names"]) == 5
    assert any("of 5** runs" in text.value for text in page.app.markdown)
    assert {job.arguments[0].epsilon for job in ready} == {0.5, 1.0, 5.0}
    ready.clear()
    assert {"ari", "lanes"}.isdisjoint(open_page(PAGE, **SMALL, audience="public").packed())
    assert not ready


def test_without_classes_runs_are_compared_with_one_without_noise(open_page, ready):
    page = open_page(PAGE, **SMALL, n_morse_runs="5", data="null")
    assert "without noise" in page.packed()["ari"][1]["title"]
    assert "(ARI)" not in page.text
    assert ready
