"""A page opens with the words that are written down for it."""

import re

import pytest

from dpviz.methods import CATALOGUE
from tests.stage_words import FOLDER

FILES = {name: "k-means" if name == "convergent_kmeans" else name for name in CATALOGUE}


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_page_opens_with_the_words_of_its_snapshot(open_page, name):
    stage = open_page(name).stage
    parts = (FOLDER / f"{FILES[name]}.txt").read_text("utf-8").split("# ")
    (part,) = [each for each in parts[1:4] if each.partition("\n")[0].endswith("ε = 1")]
    for said in (stage["finding"], stage["lede"], stage["guarantee"], f": {stage['loss']['text']}"):
        assert re.search(re.escape(said) + "[,;\n]", part)


@pytest.mark.parametrize("epsilon", ["1.0", "10.0"])
@pytest.mark.parametrize("name", sorted(FILES))
def test_stage_slider_spoken_text_and_card_have_one_limit(open_page, name, epsilon):
    page = open_page(name, epsilon=epsilon)
    odds, said = page.stage["risk"]["text"], [page.text, *page.captions]
    (slider,) = page.sliders.values()
    at = slider["index"]
    assert f"{odds} times in 100" in slider["notes"][at]
    assert f"{odds} in 100" in slider["spoken"][at]
    assert f"{odds} in 100" in page.card
    for text in (*said, *slider["notes"], *slider["spoken"]):
        assert not re.search(r"(?:at most|up to) over|\b(?:99\.\d+|100) (?:times )?in 100", text)
