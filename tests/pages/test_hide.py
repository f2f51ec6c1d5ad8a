"""Parts of a page that a link hides for a class, and the projector's size, on every page; nothing else changes."""

import json

import pytest

from dpviz.ui import state
from dpviz.ui.export.files import ExportRequest, make
from dpviz.ui.hiding import GROUPS, STYLES
from tests.pages.conftest import DPM, FIRST, LINKED, PAGES

METHOD = pytest.mark.parametrize("name", PAGES)


MENUS = {"How to read it", "Export", "Share"}


def menus(page):
    """Return the menus behind "More" that a link can take away."""
    return MENUS & {each.label for each in page.app.expander}


def styles(page):
    return "".join(element.proto.body for element in page.app.get("html") if "<style>" in element.proto.body)


@METHOD
def test_a_hidden_knob_keeps_its_value_and_the_picture(open_page, name):
    shown = open_page(name, n="300")
    (label,) = shown.sliders
    hidden = open_page(name, n="300", hide="epsilon,seeds,data")
    assert label not in hidden.sliders
    assert hidden.hash == shown.hash
    assert hidden.query == {**shown.query, "hide": "data,epsilon,seeds"}
    assert "Seeds" not in [each.label for each in hidden.app.expander]
    assert "Size and shape" not in [each.label for each in hidden.app.expander if each.children]
    assert "New noise" not in [button.label for button in hidden.app.button]
    assert "Data" not in [box.label for box in hidden.app.selectbox]
    assert hidden.warnings == []


@METHOD
def test_a_link_sets_what_it_hides(open_page, name):
    page = open_page(name, n="300", hide="noise_seed,audience", noise_seed="7", audience="public")
    assert page.query["noise_seed"] == "7"
    assert page.query["audience"] == "public"
    assert "View as" not in [each.label for each in page.app.button_group]
    assert page.n_locks == 0


@pytest.mark.parametrize("name", LINKED)
def test_every_group_leaves_a_page_that_runs_and_projector_type_is_larger(open_page, name):
    page = open_page(name, hide=",".join(GROUPS))
    assert menus(page) == set()
    assert page.warnings == []
    assert len(page.app.tabs) == 0
    assert all(style in styles(page) for style in STYLES.values())
    assert [box.label for box in page.app.selectbox if box.label == "Data"] == []
    plain = open_page(name)
    assert not any(style in styles(plain) for style in STYLES.values())
    assert menus(plain) == MENUS
    large = open_page(name, size="projector")
    assert "22px" in styles(large)
    assert "22px" not in styles(plain)
    if name in PAGES:
        assert large.hash == plain.hash
        assert large.query == {**plain.query, "size": "projector"}


def test_one_tab_is_taken_away_and_another_is_open_instead(open_page):
    page = open_page(DPM, n="300", tab="worlds", hide="tab-worlds")
    labels = [tab.label for tab in page.app.tabs]
    assert "Two worlds" not in labels
    assert "Read" in labels
    assert page.app.session_state[state.widget_key("tab")] == labels[0]


def test_own_data_are_taken_away(open_page):
    page = open_page(FIRST, n="300", hide="upload,draw", data="upload:0123456789abcdef")
    (box,) = [each for each in page.app.selectbox if each.label == "Data"]
    assert not {"Upload a file…"} & set(box.options)
    assert any("must be one of" in each for each in page.warnings)
    assert [each.label for each in page.app.file_uploader] == []


def test_a_wrong_name_is_said_with_what_is_allowed_and_the_rest_holds(open_page):
    page = open_page(DPM, n="300", hide="bogus,<img src=x>,seeds")
    (said,) = page.warnings
    assert "bogus" in said
    assert all(group in said for group in GROUPS)
    assert page.query["hide"] == "seeds"
    # Shown as words, not as markup.
    assert "\\<img src=x\\>" in page.app.warning[0].value


def test_hiding_is_not_in_exported_settings_and_stays_when_another_page_is_opened(open_page):
    page = open_page(DPM, n="300", hide="seeds", size="projector")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state, "session", lambda: page.app.session_state["dpviz:knobs"])
        file = json.loads(make(page.shown, DPM, ExportRequest("json")).content)
    knobs = {name for group in ("data", "seeds", "view", "knobs") for name in file[group]}
    assert not knobs & {"hide", "size"}
    assert "epsilon" in knobs
    page.go("morse")
    assert (page.query["hide"], page.query["size"]) == ("seeds", "projector")
    assert "22px" in styles(page)
