"""nD-Laplace's page: domain modes and their guarantees, the clicked record, every tab, and the game."""

import itertools
import re

import numpy as np
import pytest

from dpviz.methods.nd_laplace import attacks, clusters
from dpviz.methods.nd_laplace import page as nd_laplace
from dpviz.methods.nd_laplace.layers import PICK
from dpviz.ui import show
from tests.pages.conftest import at_once, clicking, release

PAGE = "nd_laplace"
SMALL = {"n": "400"}
TABS = [name for name, _ in nd_laplace.TAB.choices]


@pytest.fixture
def ready(monkeypatch):
    """Let background work be done at once, here."""
    known = at_once(monkeypatch, attacks, clusters)
    monkeypatch.setattr(attacks, "BATCH", 12)
    monkeypatch.setattr(attacks, "N_BATCHES", 2)
    monkeypatch.setattr(attacks, "N_BARE", 8)
    monkeypatch.setattr(nd_laplace, "LEVELS", (1.0, 20.0))
    monkeypatch.setattr(nd_laplace, "N_RUNS", 2)
    return known


@pytest.mark.parametrize(("domain", "proved"), [("none", 1), ("clamp", 1), ("redraw", 2), ("remap", 1)])
def test_each_domain_mode_has_its_guarantee_per_distance(open_page, domain, proved):
    page = open_page(PAGE, **SMALL, domain=domain)
    card = " ".join(page.card.split())
    assert card.count("per 1,000 m") == 2
    assert f"ε = {proved} per 1,000 m" in card.split("Proved")[1]
    assert "ε = 1 per 1,000 m" in card.split("Proved")[0]
    assert page.stage["guarantee"].startswith("Proved. A sent point is at most")
    assert ("not the 2.8 that is claimed" in page.stage["guarantee"]) == (domain == "redraw")


def test_mixed_units_are_divided_and_a_hopeless_redraw_is_refused(open_page):
    page = open_page(PAGE, data="iris", domain="redraw", epsilon="0.01")
    (error,) = page.app.error
    assert "domain='clamp'" in error.value.replace("\\", "")
    assert open_page(PAGE, data="breast_cancer").stage["strip"]["unit"] == "of the range"
    assert open_page(PAGE, data="iris").stage["loss"]["text"].endswith(" cm")
    assert open_page(PAGE, data="iris", distance="range").stage["strip"]["unit"] == "of the range"


def test_the_radius_is_part_of_every_epsilon_and_a_click_chooses_the_record(open_page, monkeypatch):
    page = open_page(PAGE, **SMALL)
    page.set("selectbox", "Radius that ε is for", 3)
    assert page.query["radius"] == "3"
    assert "Everyone lands 400 m away on average" in page.sentence
    assert "two places 200 m apart" in page.stage["risk_label"]
    clicks = itertools.count(1000)
    clicked = clicking(monkeypatch, show, "picture")
    clicked.picked, clicked.picked_mark, clicked.pick_count = PICK, 5, next(clicks)
    page.run()
    assert page.query["record"] == "5"
    page.set("number_input", "Whose record", 1)
    assert page.query["record"] == "1", "an old click does not come back"


def test_a_record_that_is_not_there_is_the_first(open_page):
    assert open_page(PAGE, n="10", record="999").query["record"] == "0"


@pytest.mark.parametrize(
    ("tab", "audience", "link"),
    [
        pytest.param(tab, audience, link, marks=() if (i + j + k) % 3 == 0 else pytest.mark.slow)
        for i, tab in enumerate(TABS)
        for j, audience in enumerate(("curator", "public"))
        for k, link in enumerate(({"domain": "none"}, {"domain": "redraw"}, {"data": "iris"}))
    ],
)
def test_every_tab_is_drawn_and_tells_the_public_no_secret(open_page, ready, tab, audience, link):
    page = open_page(PAGE, **{**SMALL, **link, "n": "100"}, under=tab, audience=audience, record="2")
    assert not page.app.error
    packed = page.packed()
    # Many runs wait for the idle background, and both tabs have nothing for the public.
    assert tab in ("runs", "worlds", "read") or len(packed) > 2, "more than the picture and its chart"
    assert page.query["under"] == tab
    if audience == "public":
        assert "curator" not in {layer["audience"] for _, header, _ in packed.values() for layer in header["layers"]}
        assert page.n_locks == 0
    assert bool(ready) == (tab in ("clusters", "attacks"))


def test_clusters_are_compared_for_the_owners_only(open_page, ready):
    own, public = (open_page(PAGE, **SMALL, audience=audience) for audience in ("curator", "public"))
    assert {"clean", "moved", "ari", "ami", "elbow"} <= set(own.packed())
    assert not {"clean", "ari", "ami"} & set(public.packed())
    assert {"moved", "elbow"} <= set(public.packed())
    assert "Adjusted Rand index" in own.text
    assert "Adjusted Rand index" not in public.text
    assert ready


def test_who_was_in_is_played_on_invented_records_for_everybody(open_page, ready):
    pages = [open_page(PAGE, **SMALL, under="attacks", audience=audience) for audience in ("curator", "public")]
    for page in pages:
        assert "membership-centers" in page.packed()
        shown = page.names("membership-tree")
        assert {"With noise", "Without noise", "No attack lies above", "95 % band"} <= shown
        said = [caption.value for caption in page.app.caption]
        assert any("Presence itself is not protected" in each and "1,000 m apart: ε = 1." in each for each in said)
        assert "Limit for true alarms" in page.text
    assert {job.arguments[2] for job in ready} == {"centers", "tree"}
    again = dict(ready)
    open_page(PAGE, n="300", under="attacks")
    assert ready == again, "the same rounds, whatever the records are"


def test_membership_games_say_that_they_are_on_their_way(open_page):
    page = open_page(PAGE, **SMALL, under="attacks")
    assert "membership-tree" not in page.packed()
    assert sum("the rounds are being played" in caption.value for caption in page.app.caption) == 2


@pytest.mark.parametrize("method", ["affinity", "dbscan"])
def test_other_methods_cluster_too(open_page, ready, method):
    page = open_page(PAGE, n="600", clustering=method)
    assert "moved" in page.packed()
    said = any("sees 500 of the 600" in caption.value for caption in page.app.caption)
    assert said == (method == "affinity")
    assert ready


def test_secret_noise_is_not_released_again_by_the_tab(open_page):
    page = open_page(PAGE, **SMALL, under="attacks", secret="1")
    assert "again" not in page.packed()
    assert any("1." in caption.value for caption in page.app.caption if "Releases of these" in caption.value)


def test_the_game_hides_scores_and_goes_on(open_page, monkeypatch):
    clicked = clicking(monkeypatch, nd_laplace, "game")
    page = open_page(PAGE, **SMALL, under="play")
    assert "Where it was" not in page.names("game")
    clicked.picked, clicked.picked_mark, clicked.pick_count = "guess", 17, 1
    page.run()
    assert {"Where it was", "Your guess", "Best attacker's guess"} <= page.names("game")
    assert "You were off by" in page.text
    page.press("Next record")
    assert "Where it was" not in page.names("game"), "an old click is no guess"
    assert "All rounds" in page.text


def test_who_was_in_is_guessed_by_buttons_and_scored(open_page):
    page = open_page(PAGE, **SMALL, under="play")
    assert page.names("who") == {"A", "B", "Released point"}
    page.press("It was A")
    assert "Who sent it" in page.names("who")
    assert "(1 + TV)/2" in "".join(page.bodies)
    assert sum(caption.value in ("Right.", "Wrong.") for caption in page.app.caption) == 1
    page.press("Next point")
    assert "Who sent it" not in page.names("who")
    page.press("It was B")
    assert re.search(r"Rounds\s+2\b", page.text)


def test_the_games_are_played_on_the_uploaded_map_by_its_owner_alone(open_page):
    places = np.random.default_rng(0).random((40, 2)) * [0.2, 0.3] + [48.0, 11.4]
    content = "lat,lon\n" + "\n".join(f"{lat:.5f},{lon:.5f}" for lat, lon in places)
    choices = {"data_columns": "lat,lon", "data_bounds": "48.0:48.2,11.4:11.7", "data_map": "lat,lon"}

    def opened(audience):
        page = open_page(PAGE, data="upload:", **choices, under="play", hidden_place="own", audience=audience)
        return page.give(content.encode())

    page = opened("curator")
    assert "place" in page.packed()["picture"][1], "tooltips know where on Earth they are"
    assert any(layer["name"].startswith("Scale: ") for layer in page.packed()["picture"][1]["layers"])
    for name in ("game", "who"):
        header = page.packed()[name][1]
        assert (header["x"]["label"], header["y"]["label"], header["x"]["unit"]) == ("east", "north", "m")
        assert {layer["audience"] for layer in header["layers"]} == {"curator"}
        assert not {"Where it was", "Who sent it"} & {layer["name"] for layer in header["layers"]}
    assert page.query["hidden_place"] == "own"
    assert "game" not in opened("public").packed(), "nothing was released"
    public = release(opened("curator")).look("public")
    assert public.packed()["game"][1]["x"]["label"] == "across"
    assert "place" in public.packed()["picture"][1]
    invented = page.set("segmented_control", "Whose place", "invented")
    assert invented.packed()["game"][1]["x"]["label"] == "across"
