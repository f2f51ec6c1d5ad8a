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
