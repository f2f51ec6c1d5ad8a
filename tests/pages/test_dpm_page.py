"""DPM's own page: the shares editor, the views inside, the refused settings, and the views open to the public."""

import math
import re

import pytest

from dpviz.methods.dpm import page as dpm_tabs
from dpviz.methods.dpm.algorithm import NOISY_DELTA_CAVEAT, PUBLIC_N_CAVEAT
from dpviz.tools.many_runs import page as outcomes
from tests.pages.conftest import DPM

SHARES = ("Interval size", "Counts", "Splits", "Averages")
OWN = {"shares": "own"}


def shares_of(page):
    return {label: page.widget("slider", label).value for label in SHARES}


def linked(page):
    return math.fsum(float(value) for key, value in page.query.items() if key.startswith("share_"))


def test_moving_a_share_moves_the_others_so_that_they_add_up(open_page):
    page = open_page(DPM, **OWN)
    by_rule = open_page(DPM).packed()["spending"][1]["hash"]
    assert page.packed()["spending"][1]["hash"] != by_rule, "the spending follows the shares"
    assert shares_of(page) == {"Interval size": 0.04, "Counts": 0.18, "Splits": 0.18, "Averages": 0.6}
    before = page.hash
    page.set("slider", "Averages", 0.2)
    assert page.hash != before
    after = shares_of(page)
    assert after["Averages"] == 0.2
    assert after["Counts"] == pytest.approx(0.18 * 2)
    assert math.fsum(after.values()) == pytest.approx(1.0)
    assert linked(page) == pytest.approx(1.0, abs=1e-12)
    again = open_page(DPM, **page.link)
    assert again.packed() == page.packed()


def test_locked_shares_stay_and_with_all_others_locked_nothing_moves(open_page):
    page = open_page(DPM, **OWN, lock_counts="1")
    assert page.widget("slider", "Counts").disabled
    page.set("slider", "Splits", 0.5)
    after = shares_of(page)
    assert after["Counts"] == 0.18
    assert math.fsum(after.values()) == pytest.approx(1.0)
    assert page.query["lock_counts"] == "1"
    page = open_page(DPM, **OWN, lock_interval="1", lock_counts="1", lock_splits="1")
    page.set("slider", "Averages", 0.3)
    assert shares_of(page)["Averages"] == pytest.approx(0.6)
    assert any("Unlock one of them" in warning for warning in page.warnings)


def test_a_link_whose_shares_do_not_add_up_is_scaled_and_said(open_page):
    page = open_page(DPM, **OWN, share_averages="0.9")
    assert any("must add up to 1" in warning for warning in page.warnings)
    assert linked(page) == pytest.approx(1.0, abs=1e-12)
    assert page.run().warnings == [], "said once"


@pytest.mark.parametrize("audience", ["curator", "public"])
@pytest.mark.parametrize("link", [{"t": "0.1"}, {"q": "0.49"}])
def test_an_impossible_score_is_said_to_everybody(open_page, link, audience):
    page = open_page(DPM, **link, audience=audience)
    (error,) = page.app.error
    assert "must keep 0 < 2 q < t <= 1" in error.value.replace("\\", "")
    assert "picture" not in page.packed()
    page.set("slider", "Centreness t", 1.0)
    assert page.packed()["picture"], "the way out"


def test_the_card_says_where_delta_comes_from(open_page):
    assert NOISY_DELTA_CAVEAT in open_page(DPM).card
    public = open_page(DPM, n_is_public="1")
    assert PUBLIC_N_CAVEAT in public.card
    assert NOISY_DELTA_CAVEAT not in public.card
    given = open_page(DPM, delta_power="6")
    assert "1 in a million, given" in given.text
    assert NOISY_DELTA_CAVEAT not in given.card


def test_a_subset_that_is_chosen_is_looked_into(open_page):
    page = open_page(DPM)
    before = page.packed()
    assert "Subset 1" not in page.text
    page.set("selectbox", "Subset", 1)
    assert "Subset 1" in page.text
    assert page.query["node"] == "1"
    after = page.packed()
    for key in ("picture", "tree", "strip-score", "strip-chance"):
        assert after[key][1]["hash"] != before[key][1]["hash"], key
    other = 2 if after["strip-score"][1]["x"]["label"] == "x" else 1
    page.set("selectbox", "Along", other)
    assert page.query["along"] == str(other)
    assert page.packed()["strip-score"][1]["hash"] != after["strip-score"][1]["hash"]


def test_a_subset_of_no_tree_is_the_root_and_the_link_is_still_checked(open_page):
    page = open_page(DPM, node="4000")
    assert page.packed()["picture"]
    assert "All records" in page.text
    page = open_page(DPM, node=999, noise_seed="many")
    assert re.search("The link's noise_seed must .*got 'many'", "".join(page.warnings))
    assert not page.run().warnings, "said once"


def test_the_public_sees_the_tree_and_neither_scores_nor_quality(open_page):
    page = open_page(DPM, audience="public", node="1")
    assert set(page.packed()) == {"picture", "profiles", "spending", "tree"}
    # A term explains the chance of each cut.
    assert not re.search("Chance(?! of each cut)", page.text)
    assert "Exact" not in page.text
    for tab, words in (("many", outcomes.PUBLIC), ("quality", dpm_tabs.PUBLIC_QUALITY)):
        page = open_page(DPM, audience="public", tab=tab)
        assert [info.value for info in page.app.info] == [words]


def test_three_features_are_never_the_same(open_page):
    page = open_page(DPM, data="iris", view="solid", x="1", y="1", z="1")
    assert any("three features" in warning for warning in page.warnings)
    assert len({page.query[key] for key in ("x", "y", "z")}) == 3
