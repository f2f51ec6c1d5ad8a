"""Profiles of the clusters on the pages of methods, the reader's names for them, and the cases without profiles."""

import pytest

from tests.pages.conftest import FIRST
from tests.pages.test_uploads import PEOPLE, people


def lines(page):
    """Return the chart's words about each cluster, or none without a chart."""
    packed = page.packed()
    return packed["profiles"][1]["group_names"] if "profiles" in packed else []


def test_names_come_with_the_link_stay_with_their_places_and_are_words(open_page):
    page = open_page(FIRST, n="400", name_2="**Retired**", name_9="nobody", name_24="x" * 500)
    assert not page.app.warning
    named = [line.partition(":")[0] for line in lines(page)]
    assert named == ["cluster 1", "**Retired**", "cluster 3", "cluster 4", "cluster 5"]
    assert page.query["name_2"] == "**Retired**"
    assert "name_9" not in page.query
    again = open_page(FIRST, **page.link)
    assert lines(again) == lines(page)


def test_names_are_typed_and_kept(open_page):
    page = open_page(FIRST, n="400")
    page.press("Name the clusters")
    fields = [each for each in page.app.text_input if each.key.startswith("name_")]
    assert len(fields) == 5
    fields[0].set_value("Downtown")
    page.press("Keep the names")
    assert lines(page)[0].startswith("Downtown: ")
    assert page.query["name_1"] == "Downtown"


@pytest.mark.parametrize("name", [FIRST])
def test_mixed_columns_have_no_profile_and_the_reason_is_said(upload):
    page = people(upload(PEOPLE.encode()))
    page.widget("button", "Drop these 5 rows").click()
    assert lines(page.run())
    page.widget("number_input", "Project to features").set_value(2)
    page.run()
    assert lines(page) == []
    assert any("random mixes" in caption.value for caption in page.app.caption)
