"""Source-target clustering on its page: pairs and spread targets, a click on a record, every method's cost."""

import itertools

import pytest

from dpviz.data.target_pairs import PAIRS
from dpviz.methods.source_target import charts
from dpviz.methods.source_target import page as source_target
from dpviz.ui import show
from tests.pages.conftest import FIRST, at_once, clicking

PAGE = "source_target"
SMALL = {"n": "300", "data_n_targets": "60"}
NOISES = ("laplace", "gaussian")


@pytest.fixture
def ready(monkeypatch):
    """Run background work at once, in this process."""
    known = at_once(monkeypatch, charts)
    monkeypatch.setattr(source_target, "BUDGETS", {"epsilon": (1.0, 5.0), "rho": (0.5,)})
    monkeypatch.setattr(source_target, "CENTERS", (2,))
    return known


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("method", ["nna", "nas"])
def test_every_pair_has_a_picture(open_page, name, method):
    page = open_page(PAGE, data=name, n="100", method=method)
    assert page.warnings == []
    assert not page.app.error
    assert "noisy average" in page.names()
    assert page.names() & {"new center", "new first-aid point"}
    assert not [field for field in page.app.number_input if field.label == "Target seed"], "a pair has its targets"


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("budget", ["epsilon", "rho"])
@pytest.mark.parametrize("method", ["nna", "nas"])
def test_every_budget_has_its_slider_and_its_card(open_page, noise, budget, method):
    page = open_page(PAGE, **SMALL, noise=noise, budget=budget, method=method)
    (label,) = page.sliders
    assert label == ("Privacy budget ρ" if budget == "rho" else "Privacy budget ε")
    assert "Proved" in page.card
    assert ("ρ = 3 is about (12.9, 1e-5)" in page.card) == (budget == "rho")
    assert (budget == "rho") == ("epsilon" not in page.query)
    assert ("δ" in [each.label for each in page.app.select_slider]) == (noise == "gaussian" and budget == "epsilon")


@pytest.mark.parametrize(("budget", "noise", "other"), [("epsilon", *NOISES), ("rho", *NOISES[::-1])])
def test_noise_suits_the_budget_unless_it_is_chosen(open_page, budget, noise, other):
    cards = [open_page(PAGE, **SMALL, budget=budget, **more).card for more in ({}, {"noise": noise}, {"noise": other})]
    assert cards[0] == cards[1]
    assert cards[0] != cards[2]


def test_a_set_of_the_gallery_is_a_source_with_spread_targets(open_page):
    page = open_page(PAGE, data="moons", n="500", n_targets="80")
    before = page.hash
    (targets,) = [each for each in page.packed()["picture"][1]["layers"] if each["name"] == "target"]
    assert targets["arrays"]["xy"]["shape"] == [1, 80, 2]
    page.set("button_group", "Targets", "uniform")
    assert page.hash != before
    assert page.query["targets"] == "uniform"


def test_a_pair_is_this_pages_own(open_page):
    page = open_page(PAGE, data="synthetic_2", n="300")
    page.go(FIRST)
    assert page.query["data"] == "blobs"
    assert any("got 'synthetic_2'" in text for text in open_page(FIRST, data="synthetic_2").warnings)


def test_a_click_on_a_record_looks_at_it(open_page, monkeypatch):
    page, clicks = open_page(PAGE, **SMALL), itertools.count(1000)
    clicked = clicking(monkeypatch, show, "picture")
    clicked.picked, clicked.picked_mark, clicked.pick_count = "source", 42, next(clicks)
    page.run()
    assert (page.query["record"], page.query["below"]) == ("42", "record")
    assert "paramedic you look at" in page.names()
    assert "record" in page.packed()
    page.set("number_input", "Source record", 7)
    assert page.query["record"] == "7", "an old click does not come back"


def test_a_record_can_be_moved_and_the_public_never_sees_it(open_page):
    link = {**SMALL, "below": "record", "record": "5"}
    page = open_page(PAGE, **link)
    removed = page.packed()["record"][1]["hash"]
    page.set("button_group", "What happens to it", "move")
    assert page.packed()["record"][1]["hash"] != removed
    assert "It moves" in page.names("record")
    public = open_page(PAGE, **link, audience="public")
    assert "record" not in public.packed()
    assert "paramedic you look at" not in public.names()


def test_a_record_beyond_the_last_is_the_last(open_page):
    page = open_page(PAGE, **SMALL, below="record", record="999999")
    assert any("this is the last, row 299" in caption.value for caption in page.app.caption)


def test_the_preset_shows_where_one_record_decides(open_page):
    page = open_page(PAGE, below="record")
    page.press("Show the pair where one record decides")
    assert (page.query["data"], page.query["epsilon"], page.query["n_centers"]) == ("worst_case", "0.1", "2")
    (words,) = [each.value for each in page.app.markdown if "Observation 4.2" in each.value]
    assert "0.125 more" in words
    assert "45.2 of 100" in words
    assert page.warnings == []


def test_every_methods_cost_is_drawn_for_the_curator_only(open_page, ready):
    page = open_page(PAGE, **SMALL, n_cost_runs="5")
    assert {"NNA", "NAS", "Cluster T (ignores S)", "Without privacy (STC)"} <= page.names("cost-k")
    assert {"cost-k", "cost-budget"} <= set(page.packed())
    assert any("best private method" in each.value for each in page.app.markdown)
    assert any("DP-GAN" in caption.value for caption in page.app.caption)
    ready.clear()
    assert {"cost-k", "cost-budget"}.isdisjoint(open_page(PAGE, **SMALL, audience="public").packed())
    assert not ready


def test_known_labels_show_what_domain_adaptation_pays(open_page):
    page = open_page(PAGE, data="moved_digits", n_centers="30")
    assert "Right label, these centers" in page.text
    assert "Right label" not in open_page(PAGE, data="moved_digits", audience="public").text
