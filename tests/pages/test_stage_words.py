"""A page opens with the words that are written down for it."""

import re

import pytest

from dpviz.methods import CATALOGUE
from tests.pages.conftest import typed
from tests.pages.test_release_step import BOUNDS, CSV
from tests.stage_words import FOLDER

FILES = {name: "k-means" if name == "convergent_kmeans" else name for name in CATALOGUE}


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_page_opens_with_the_words_of_its_snapshot(open_page, name):
    stage = open_page(name).stage
    parts = (FOLDER / f"{FILES[name]}.txt").read_text("utf-8").split("# ")
    (part,) = [each for each in parts[1:4] if each.partition("\n")[0].endswith("ε = 1")]
    for said in (stage["finding"], stage["lede"], stage["guarantee"], f": {stage['loss']['text']}"):
        assert re.search(re.escape(said) + "[,;\n]", part)


def check_limits(page):
    """Check that stage, slider, spoken text and card state one limit."""
    odds, said = page.stage["risk"]["text"], [page.text, *page.captions]
    (slider,) = page.sliders.values()
    at = slider["index"]
    assert f"{odds} times in 100" in slider["notes"][at]
    assert f"{odds} in 100" in slider["spoken"][at]
    assert f"{odds} in 100" in page.card
    for text in (*said, *slider["notes"], *slider["spoken"]):
        assert not re.search(r"(?:at most|up to) over|\b(?:99\.\d+|100) (?:times )?in 100", text)


# At ε = 1, this δ moves the limit from 74 to 76 in 100.
PURE = [("morse", {}), ("nd_laplace", {})]
WITH_DELTA = [("dpm", {"delta_power": "1"})]
OPENED = [(name, {"epsilon": epsilon}) for name in sorted(FILES) for epsilon in ("1.0", "10.0")]


@pytest.mark.parametrize(("name", "link"), [*OPENED, *WITH_DELTA])
def test_stage_slider_spoken_text_and_card_have_one_limit(open_page, name, link):
    check_limits(open_page(name, **link))


# The page's name is for the fixture `upload`.
@pytest.mark.parametrize(
    ("name", "link"),
    [*WITH_DELTA, *PURE, ("source_target", {"noise": "gaussian", "budget": "rho", "rho": "0.1"})],
)
def test_the_limit_beside_the_slider_counts_all_rows_of_a_person(upload, link):
    """Two rows at ρ = 0.1 are as one row at ρ = 0.4, and their δ is (1 + e^ε) times as large."""
    page = typed(upload(CSV, **link), BOUNDS)
    one = page.stage["risk"]["value"]
    check_limits(page.set("number_input", "Maximum rows per person", 2))
    assert page.stage["risk"]["value"] > one
