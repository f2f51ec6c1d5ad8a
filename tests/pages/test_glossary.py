"""The glossary's page, and its words on all others: one meaning each, found by link and by search."""

import re
from urllib.parse import parse_qsl

import pytest

from dpviz.stories.glossary import GLOSSARY, PLACES, SLUGS, topics
from dpviz.tools.teaching.page import glossary
from tests.pages.conftest import FIRST, PAGES


def cards(page):
    """Return the slugs of the words on the page, in their order."""
    return re.findall(r'<article id="([^"]+)">', "".join(page.bodies))


def test_it_has_every_word_and_a_link_puts_one_first(open_page):
    page = open_page("glossary", term="epsilon")
    rest = [term.slug for _, terms in topics() for term in terms if term.slug != "epsilon"]
    assert cards(page) == ["epsilon", *rest]
    assert sorted(cards(page)) == sorted(SLUGS)
    assert "dpviz-wanted" in next(body for body in page.bodies if "<article" in body)
    assert all(term.meaning in page.text for term in GLOSSARY.values())
    assert page.warnings == []
    assert 'href="learn?chapter=coin"' in next(body for body in page.bodies if "dpviz-wanted" in body)
    page.widget("text_input", "Search").set_value("bell deviation")
    assert cards(page.run()) == ["gaussian-noise"]
    page.widget("text_input", "Search").set_value("zoo")
    assert cards(page.run()) == []
    assert [info.value for info in page.app.info] == [glossary.NOTHING]


def test_a_word_that_there_is_not_is_said(open_page):
    page = open_page("glossary", term="<b>" + "x" * 200)
    (said,) = page.warnings
    assert "term was '<b>x" in said
    assert glossary.UNKNOWN in said
    assert "\\<b\\>" in page.app.warning[0].value
    assert cards(page) == [term.slug for _, terms in topics() for term in terms]


@pytest.mark.parametrize("place", PLACES)
def test_every_word_leads_to_a_page_that_shows_what_the_link_says(open_page, place):
    name, _, query = PLACES[place].address.partition("?")
    asked = dict(parse_qsl(query))
    page = open_page(name, **asked, **({"n": "300"} if name in PAGES else {}))
    assert page.warnings == []
    assert not page.app.error
    if asked:
        assert {**page.query, **asked} == page.query


def test_every_page_has_each_meaning_once_and_a_class_can_go_without(open_page):
    opened = {}
    for hide in ("", "terms"):
        bodies = "".join(open_page("", n="300", **({"hide": hide} if hide else {})).bodies)
        opened[hide] = (
            re.findall(r'id="dpviz-term-([^"]+)"', bodies),
            set(re.findall(r'target="dpviz-term-([^"]+)"', bodies)),
        )
    assert opened[""][0] == list(SLUGS)
    assert {"record", "add-or-remove", "curator"} <= opened[""][1] <= set(SLUGS)
    assert opened["terms"] == ([], set())
    hidden = open_page(FIRST, n="300", tab="read", hide="terms")
    assert "words of the app" not in hidden.text
