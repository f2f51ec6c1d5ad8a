"""Every page of the folder, found by itself: it opens, follows its knobs, and shows the world no secret."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from dpviz import method_page
from dpviz.core import knobs
from dpviz.data import DATASETS, size_limits
from dpviz.methods import CATALOGUE
from dpviz.methods.convergent_kmeans import page as convergent_kmeans_page
from dpviz.methods.convergent_kmeans.page import FAMILY
from dpviz.methods.source_target.page import KNOBS as SOURCE_TARGET_KNOBS
from dpviz.navigation import ACROSS, HOME
from dpviz.stories.center_facts import AS_GOOD
from dpviz.ui import controls, runs, show, state
from tests.numeric import ROOT
from tests.pages.conftest import DPM, FIRST, LAPLACE, MODE_KNOBS, MORSE, PAGES, SOME_KIND, SOME_KNOB, TARGET, modes_of
from tests.stories.marks import other_trace

FEW = 300  # records
SHOWN = ("html", "caption", "markdown", "bidi_component", "imgs", "warning", "info", "error", "arrow_data_frame")


def ends(knob):
    """Return the texts of a knob's ends, or of all its choices."""
    if knob.kind == "choice":
        return [choice for choice, _ in knob.choices]
    values = [False, True] if knob.kind == "bool" else [knob.low, knob.high]
    return [knob.format(int(value) if knob.kind == "int" else value) for value in values]


# Every run tests each end of each knob in one mode; the modes take turns.
KNOBS = [
    pytest.param(name, mode, knob.name, text, marks=() if (i + j + k) % len(modes_of(name)) == 0 else pytest.mark.slow)
    for name in PAGES
    for i, mode in enumerate(modes_of(name))
    for j, knob in enumerate(knobs(CATALOGUE[name].Params))
    if knob.name not in MODE_KNOBS
    for k, text in enumerate(ends(knob))
]
MODES = [(name, mode) for name in PAGES for mode in modes_of(name)]
SECRETS = {
    FIRST: ("× k-means", "Lloyd's iterations"),
    DPM: ("× k-means", "Cost", "With exact means", "Exact records", "Chance of the best cut"),
    MORSE: ("Labels changed by the shortcut",),
    LAPLACE: ("Average move, this run", "average over pairs"),
    TARGET: ("× without privacy", "Ignoring the source", "S′ instead of S"),
}


def knows(name, link):
    """Return True if the start and the orientation of a link mean something to a page, which otherwise ignores them."""
    own = {knob.name for knob in knobs(CATALOGUE[name].Params)}
    return link.keys() & {"start", "orientation"} <= own


def impossible(name, knob, text):
    """Return the algorithm's reason to refuse a value with its defaults, or ""."""
    (found,) = [each for each in knobs(CATALOGUE[name].Params) if each.name == knob]
    try:
        CATALOGUE[name].Params(**{knob: found.parse(text)})
    except ValueError as error:
        return str(error)
    return ""


def test_every_algorithm_has_a_story_and_a_page():
    assert set(PAGES) == set(CATALOGUE)
    assert {path.stem for path in (ROOT / "pages").glob("*.py")} == {*PAGES, *ACROSS, HOME}


def test_the_entrance_leads_to_the_first_page_and_keeps_the_link():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.query_params["n_clusters"] = "7"
    app.run()
    assert not app.exception
    assert app.title[0].value == CATALOGUE[FIRST].title
    assert state.widget_key("n_clusters") in app.session_state
    assert app.session_state[state.widget_key("n_clusters")] == 7


def test_it_opens_with_a_picture_and_its_guarantee_and_a_switch_shows_the_public_view(open_page, name):
    page = open_page(name)
    assert [title.value for title in page.app.title] == [CATALOGUE[name].title]
    assert page.warnings == []
    assert not page.app.error
    packed, card = page.packed(), page.card
    assert packed["picture"][1]["layers"]
    assert packed["picture"][1]["alt"]
    for words in ("ε = ", "Guarantee", "Utility"):
        assert words in page.text
    for words in ("Protects:", "Trusted:", "Stated", "Proved", "in 100", "Public inputs", "never to be released"):
        assert words in card
    assert runs.TEACHING in card
    assert page.sentence
    assert page.query["audience"] == "curator"
    assert page.n_locks
    assert page.run().packed() == packed, "running again changes nothing"
    page.look("public")
    assert page.query["audience"] == "public"
    assert page.n_locks == 0
    public = page.packed()
    assert public == open_page(name, audience="public").packed()
    assert public["picture"][2] != packed["picture"][2]
    labels = {each.partition("Guarantee")[2].replace(f"{AS_GOOD}  ", "") for each in (card, page.card)}
    assert len(labels) == 1, "the label follows from public words alone"
    # Released points have no profiles.
    own, theirs = (each["profiles"][1]["group_names"] if "profiles" in each else [] for each in (packed, public))
    assert own == theirs
    assert bool(own) == (name != LAPLACE)
    assert all(line.startswith("cluster ") for line in own)
    assert page.look("curator").packed() == packed


@pytest.mark.parametrize(("name", "mode", "knob", "text"), KNOBS)
def test_every_end_of_every_knob_has_a_picture(open_page, name, mode, knob, text):
    page = open_page(name, **{"n": "600", **mode, knob: text})
    assert page.warnings == []
    if page.app.error:
        assert [error.value.replace("\\", "") for error in page.app.error] == [impossible(name, knob, text)]
        return
    assert page.packed()["picture"][1]["layers"]
    assert page.query.get(knob, text) == text, "absent where the mode has no such knob"


# Modes of a page share nearly all widgets: one of each, both side by side, and one baseline are enough, and links
# have every end of every knob in every mode.
MOVED = [*((name, modes_of(name)[0]) for name in PAGES), (FIRST, {"mode": "both"}), (FIRST, {"mode": min(FAMILY)})]
OTHERS = [each for each in [*MODES, *((FIRST, {"mode": mode}) for mode in FAMILY)] if each not in MOVED]


@pytest.mark.parametrize(("name", "mode"), [*MOVED, *(pytest.param(*each, marks=pytest.mark.slow) for each in OTHERS)])
def test_every_widget_can_be_moved(open_page, name, mode):
    page = open_page(name, **mode, n="600")
    moved = set()
    for kind in ("slider", "number_input", "toggle", "radio"):
        for key in [widget.key for widget in getattr(page.app, kind)]:
            found = [widget for widget in getattr(page.app, kind) if widget.key == key]
            if not found or key in map(state.widget_key, (*MODE_KNOBS, "n")):
                continue
            (widget,) = found
            if kind == "toggle":
                widget.set_value(not widget.value)
            elif kind == "radio":
                widget.set_value(widget.options[0 if widget.index else -1])
            # The ends take turns.
            else:
                widget.set_value(min(widget.max, 12) if len(moved) % 2 else widget.min)
            page.run()
            assert page.app.error or page.packed()["picture"][1]["layers"]
            words = page.app.error[0].value.replace("\\", "") if page.app.error else "must be"
            # The error states the problem and the way out.
            assert any(way in words for way in ("must keep", "it must", "must be"))
            moved.add(key)
    some = () if name in SOME_KIND else (state.widget_key(SOME_KNOB[name][1]),)
    assert {*some, state.widget_key("noise_seed")} <= moved


def test_the_privacy_slider_moves_the_picture(open_page, name):
    page = open_page(name, epsilon="0.3333333333333333")
    before, budget = page.hash, page.query["epsilon"]
    assert all(float(budget) in slider["values"] for slider in page.sliders.values())
    page.app.session_state[controls.wanted_key(state.widget_key("epsilon"))] = 5.0
    page.run()
    assert (budget, page.query["epsilon"]) == ("0.3333333333333333", "5.0"), "a link's own ε is kept to the digit"
    assert page.hash != before
    assert "ε = 5" in page.text


@pytest.mark.parametrize(
    ("name", "data"),
    [
        # Every set on the first page, and a different third of the sets on each other page.
        pytest.param(page, data, marks=pytest.mark.slow if page != FIRST and (i + j) % 3 else [])
        for i, page in enumerate(PAGES)
        for j, data in enumerate(DATASETS)
    ],
)
def test_every_data_set_has_a_picture(open_page, name, data):
    """The first page draws the set at its own size. Other pages draw a few records; modes and audiences take turns."""
    few = str(min(FEW, size_limits(data).default))
    first = [*DATASETS].index(data) + PAGES.index(name)
    own = {knob.name: knob.default for knob in knobs(CATALOGUE[name].Params)}
    others = [mode for mode in modes_of(name) if not mode.items() <= own.items()] or [{}]
    shown = ({}, others[first % len(others)])
    for i, mode in enumerate(shown if name == FIRST else shown[first // 2 % 2 :][:1]):
        audience = ("curator", "public")[(first + i) % 2]
        size = {} if name == FIRST and not mode else {"n": few}
        page = open_page(name, data=data, **mode, audience=audience, **size)
        assert page.packed()["picture"][1]["layers"]
        assert page.query["data"] == data
        assert page.warnings == []


LINKS = [{}, {"start": "records"}, {"data": "iris"}, {"data": "image"}, {"n_clusters": "64"}]


@pytest.mark.parametrize(("name", "link"), [(name, link) for name in PAGES for link in LINKS if knows(name, link)])
def test_the_public_sees_nothing_of_the_curators(open_page, name, link):
    modes, turn = modes_of(name), LINKS.index(link)
    for i, mode in enumerate(modes if not link else [modes[turn % len(modes)]]):
        orientation = {"orientation": ("past", "future")[(i + turn) % 2]}
        given = {**link, **mode, **(orientation if knows(name, orientation) else {})}
        curator, public = open_page(name, **given), open_page(name, **given, audience="public")
        assert curator.n_locks
        assert not public.n_locks
        sent = public.packed()
        audiences = {layer["audience"] for _, header, _ in sent.values() for layer in header["layers"]}
        assert audiences
        assert "curator" not in audiences
        for words in SECRETS[name]:
            assert words in curator.text
            assert words not in public.text
        assert public.app.get("imgs") == []
        assert public.query == {**curator.query, "audience": "public"}


SENT = ({}, {"start": "records"}, {"data_n_features": "5"}, {"principal": "1", "data": "iris"})
# Each session draws these anew: the URLs of its fast paths, and its name.
OWN_ADDRESS = re.compile(rb"dpviz-(ahead|asking)/[\w-]+|\"session\": \"[\w-]+\"")


@pytest.mark.parametrize(
    ("name", "mode", "link"),
    [
        # Every mode as it opens; for each other link one of a page's own modes, and every fourth of the family's.
        pytest.param(
            *(name, mode, link),
            marks=pytest.mark.slow if link and (i + j) % (4 if i >= len(MODES) else len(modes_of(name))) else (),
        )
        for i, (name, mode) in enumerate([*MODES, *((FIRST, {"mode": mode}) for mode in ("both", *FAMILY))])
        for j, link in enumerate(SENT)
        if knows(name, link)
    ],
)
def test_what_the_public_is_sent_follows_from_the_release(open_page, name, monkeypatch, mode, link):
    def sent(seed, audience):
        def tell(*args, **options):
            run = runs.run_method(*args, **options)
            return run if seed is None else other_trace(run, seed)

        for module in (method_page, show, convergent_kmeans_page):
            monkeypatch.setattr(module, "run_method", tell)
        page = open_page(name, **link, **mode, audience=audience)
        return {
            kind: [OWN_ADDRESS.sub(b"", each.proto.SerializeToString()) for each in page.app.get(kind)]
            for kind in SHOWN
        }

    assert sent(None, "public") == sent(1, "public")
    # Otherwise the parts under the release would be seen.
    if not link:
        assert sent(None, "curator") != sent(1, "curator")


def test_principal_directions_leave_the_public_nothing(open_page):
    name = FIRST
    page = open_page(name, data="iris", principal="1", audience="public")
    assert page.packed()["picture"][1]["layers"] == []
    assert "variance" not in str(page.packed()["picture"][1]["x"])
    assert open_page(name, data="iris", principal="1").packed()["picture"][1]["layers"]


def test_the_published_mode_claims_and_proves_nothing(open_page):
    page = open_page(FIRST)
    assert "not established" not in page.card
    page.set("selectbox", "Method", "published")
    assert page.query["mode"] == "published"
    for each in (page, open_page(DPM, calibration="published")):
        assert "not established" in each.card
        notes = [note for slider in each.sliders.values() for note in slider["notes"]]
        assert not any("attacker" in note for note in notes)
    assert all("No limit is established" in note for note in notes), "of DPM in two features"


def test_axes_of_features_that_are_gone_start_again(open_page, name):
    page = open_page(name, data="blobs", data_n_features="5", x="3", y="4")
    assert (page.query["x"], page.query["y"]) == ("3", "4")
    page.set("slider", "Features", 3)
    assert (page.query["x"], page.query["y"]) == ("0", "1")


def test_more_clusters_than_records_to_start_from_is_said(open_page):
    page = open_page(FIRST, n="10", n_clusters="64", start="records")
    assert any("n_records=10" in error.value.replace("\\", "") for error in [*page.app.error, *page.app.warning])


def test_one_feature_is_not_drawn_against_itself(open_page, name):
    page = open_page(name, data="iris", x="1", y="1")
    header = page.packed()["picture"][1]
    assert header["x"]["label"] != header["y"]["label"]


def test_pages_do_not_trip_over_each_others_knobs(open_page):
    """Knobs of one name can have other choices on a different page; a value that does not fit becomes the default."""
    page = open_page(PAGES[0], tab="read")
    for name in [*PAGES, *PAGES[::-1], *PAGES]:
        page.go(name)
        assert not page.app.error
        assert page.packed()["picture"][1]["layers"]
        # The source-target page offers one more kind of noise.
        own = SOURCE_TARGET_KNOBS if name == "source_target" else {}
        for knob in knobs(CATALOGUE[name].Params):
            if knob.kind == "choice" and knob.name in page.query:
                assert page.query[knob.name] in dict(own.get(knob.name, knob).choices)


def test_names_that_no_control_has_are_told_and_the_rest_of_the_link_holds():
    def opened(**query):
        app = AppTest.from_file(str(ROOT / "dpviz/ui/server/script.py"), default_timeout=60)
        app.query_params.update(query)
        return app.run()

    app = opened(**{"epsilonn": "3", "n_clusters": "7", "[x](y)": "1", "target_seed": "3"})
    (said,) = [each.value for each in app.warning if "no control" in each.value]
    assert "epsilonn" in said
    assert "[x](y)" not in said, "a link's words stay words"
    assert "seed" not in said, "another page has it"
    assert app.session_state[state.widget_key("n_clusters")] == 7
    assert not list(opened(n_clusters="7", data="moons", audience="public").warning)
