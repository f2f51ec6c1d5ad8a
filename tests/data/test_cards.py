import json
import xml.etree.ElementTree as ET
from dataclasses import asdict

import pytest

from dpviz.data import DATASETS, cards, load

NAMES = sorted(cards.cards())


def test_the_file_holds_a_card_for_every_set():
    assert set(NAMES) == set(DATASETS), "run python -m dpviz.data.cards"


@pytest.mark.parametrize("name", NAMES)
def test_a_card_says_what_its_set_says_in_a_small_picture(name):
    made, kept = asdict(cards.make_card(name)), asdict(cards.cards()[name])
    thumbnail, kept_thumbnail = made.pop("thumbnail"), kept.pop("thumbnail")
    assert made == kept, "run python -m dpviz.data.cards"
    # Another machine's arithmetic may move a dot by the last digit.
    assert abs(len(thumbnail) - len(kept_thumbnail)) < 20
    assert thumbnail[:1000] == kept_thumbnail[:1000]
    picture = cards.cards()[name].thumbnail
    root = ET.fromstring(picture)
    assert len(picture) < 10_000
    assert {element.tag.rsplit("}", maxsplit=1)[1] for element in root.iter()} == {"svg", "style", "path"}
    assert picture.count("http") == 1, "the name of the format"
    n_dots = sum(element.get("d", "").count("M") for element in root.iter())
    assert n_dots == min(cards.N_DRAWN, load(name).n)


def test_both_themes_of_the_app_are_in_it():
    config = (cards.FILE.parents[2] / ".streamlit" / "config.toml").read_text("utf-8")
    for colors in (cards.LIGHT, cards.DARK):
        assert json.dumps(list(colors)) in config


def test_a_set_without_a_card_still_has_a_title():
    assert cards.title("blobs") == "Customers"
    assert cards.title("not_made_yet") == "Not made yet"
