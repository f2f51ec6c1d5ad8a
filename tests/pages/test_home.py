"""The home page: a stranger's view at `/`, and the pages to which its doors lead."""

import html
import re
from base64 import b64decode
from xml.etree import ElementTree

import pytest
from streamlit.testing.v1 import AppTest

from dpviz.core import attacker_odds
from dpviz.methods import CATALOGUE
from dpviz.ui import home
from tests.pages.conftest import ROOT, split

# A test of app.py runs this script for the first run only, then the page alone.
MAIN = "dpviz/ui/server/script.py"
# Bytes of all pictures together.
MOST_BYTES = 900_000


@pytest.fixture(scope="module")
def opened():
    app = AppTest.from_file(str(ROOT / MAIN), default_timeout=60).run()
    assert not app.exception
    return app


def images(app):
    bodies = "".join(element.proto.body for element in app.get("html"))
    return [html.unescape(tag) for tag in re.findall(r"<img class=.dpviz-thumbnail[^>]*>", bodies)]


def test_home_shows_a_moving_picture_for_each_method(opened):
    assert opened.title[0].value == home.TITLE
    shown = images(opened)
    assert len(shown) == len(CATALOGUE)
    assert set(home.THUMBNAILS) == set(CATALOGUE)
    for name, tag in zip(home.THUMBNAILS, shown, strict=True):
        assert f'alt="{CATALOGUE[name].thumbnail.alt}"' in tag
        (encoded,) = re.findall(r"base64,([\w+/=]+)", tag)
        picture = b64decode(encoded).decode()
        ElementTree.fromstring(picture)
        assert "@keyframes" in picture, "it moves"
        assert "prefers-reduced-motion" in picture
    assert sum(map(len, shown)) < MOST_BYTES


def test_home_links_every_page_of_the_catalog(opened):
    links = {element.proto.page for element in opened.get("page_link")}
    assert links == {*CATALOGUE, "audit"}
    (stage,) = [each for each in opened.get("bidi_component") if each.proto.component_name == "dpviz.stage"]
    options, _ = split(stage.proto.bytes)
    assert [page for _, page in options["home"]["actions"]] == ["learn", "compare"]
    labels = [button.label for button in opened.button]
    assert labels == [each.words for each in home.ATTACKS.values()]


@pytest.mark.parametrize(("index", "page"), [*enumerate(home.ATTACKS)])
def test_attack_opens_its_page_without_drawing_pictures_again(opened, monkeypatch, index, page):
    monkeypatch.setattr(home, "draw_thumbnail", lambda *_, **__: pytest.fail("drawn again"))
    app = AppTest.from_file(str(ROOT / MAIN), default_timeout=60).run()
    assert not app.exception
    assert images(app) == images(opened) != []
    app.button[index].click().run()
    assert not app.exception
    assert app.title[0].value == CATALOGUE[page].title
    knob, opened = home.ATTACKS[page].link
    assert app.session_state["dpviz:knobs"].values[knob] == opened


def test_attackers_guess_better_with_more_epsilon_but_within_its_limit():
    rates = {epsilon: home.last_frame(epsilon).lens.rate for epsilon in (0.1, 1.0, 10.0)}
    assert list(rates.values()) == sorted(rates.values())
    assert all(0.5 < rate < attacker_odds(epsilon) for epsilon, rate in rates.items())
    assert rates[0.1] < 0.52 < 0.55 < rates[1.0] < 0.6 < 0.9 < rates[10.0]
    assert home.last_frame(1.0).public().lens is None
