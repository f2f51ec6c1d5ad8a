"""The tab that is read: there when it is open, the same numbers for the public, and code that runs."""

import re

import pytest

from dpviz.methods import CATALOGUE
from dpviz.plots import scene_hash
from dpviz.stories.glossary import PLACE_OF_ALL, SLUGS
from dpviz.stories.teaching import ODDS
from tests.pages.conftest import FIRST, LAPLACE, MORSE, TARGET

TABS = {LAPLACE: "under", MORSE: "below", TARGET: "below"}


def reading(open_page, name, **query):
    return open_page(name, **{TABS.get(name, "tab"): "read", "n": "400", **query})


def formulas(page):
    """Return every formula on the page, TeX and all."""
    return [each.value for each in page.app.markdown if "$$" in each.value]


def test_the_tab_holds_all_of_it_with_code_that_makes_the_picture_only_when_it_is_open(open_page, name):
    page = reading(open_page, name)
    for each in CATALOGUE[name].reading.misreadings:
        assert each.said in page.text
    for paper in CATALOGUE[name].reading.papers:
        assert paper.title in page.text
        assert all(place in page.text for place, _ in paper.places)
    assert len(formulas(page)) >= 4
    assert page.query[TABS.get(name, "tab")] == "read"
    (misread,) = [body for body in page.bodies if "dpviz-misread" in body]
    opened = re.findall(r'popovertarget="dpviz-term-([^"]+)"', misread)
    assert opened
    assert set(opened) <= set(SLUGS)
    assert f'href="{PLACE_OF_ALL}"' in "".join(page.bodies)
    (code,) = page.app.code
    lines = code.value.split("\n")
    assert len([line for line in lines if line]) <= 22
    assert lines[-1] == "html = build_page(scenes)"
    scope = {}
    exec("\n".join(line for line in lines[:-1] if "figure" not in line), scope)
    assert [scene_hash(scene) for scene in scope["scenes"]] == [page.hash]
    assert formulas(reading(open_page, name, audience="public")) == formulas(page), "the numbers are the public's too"
    closed = open_page(name, n="400")
    assert formulas(closed) == []
    assert CATALOGUE[name].reading.misreadings[0].said not in closed.text


def test_numbers_follow_the_slider_and_two_methods_are_both_written(open_page):
    for epsilon in ("0.5", "2.0"):
        (found,) = [each for each in formulas(reading(open_page, FIRST, epsilon=epsilon)) if ODDS in each]
        assert f"e^{{{float(epsilon):g}}}" in found
    page = reading(open_page, FIRST, mode="both")
    assert {"**Repaired**", "**As published**"} <= {each.value for each in page.app.markdown}
    assert sum("theorem 5" in each for each in formulas(page)) == 1


def test_knobs_that_are_impossible_together_leave_the_rest_to_read(open_page):
    page = reading(open_page, "dpm", t="0.1", q="0.49")
    assert list(page.app.error)
    assert formulas(page) == []
    assert any("no picture to describe" in each.value for each in page.app.caption)
    assert CATALOGUE["dpm"].reading.misreadings[0].said in page.text


@pytest.mark.parametrize("method", ["blum", "gupt", "lloyd"])
def test_other_methods_of_the_family_have_their_spending(open_page, method):
    page = reading(open_page, FIRST, mode=method)
    assert bool(formulas(page)) is (method != "lloyd")
