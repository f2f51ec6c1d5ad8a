"""A tab that runs without the picture puts its changes into the URL, and into the screen."""

from types import SimpleNamespace
from urllib.parse import urlencode

import pytest

from dpviz.stories import View
from dpviz.ui import runs
from dpviz.ui.runs import MethodScreen, Noise, keep, latest

PAIRS = [("data", "city"), ("epsilon", "0.5"), ("n_clusters", "6"), ("title", "a b&c")]


@pytest.fixture
def written(session, monkeypatch):  # noqa: ARG001
    """Return the last message to the browser."""
    told = {}
    monkeypatch.setattr(runs, "_ADDRESS", lambda *, data, key: told.update({key: data["query"]}))
    keep(MethodScreen(SimpleNamespace(), (), (), Noise(1), View(), False, PAIRS))
    return told


def test_a_tab_puts_its_own_values_into_the_address_and_nothing_else(written):
    runs.follow([("n_clusters", "9"), ("unheard", "1")], key="tab")
    assert written["tab"] == urlencode({**dict(PAIRS), "n_clusters": "9"})
    runs.follow([("n_clusters", "9")], key="tab")
    assert urlencode(latest().pairs) == written["tab"] != urlencode(PAIRS)
    keep(None)
    written.clear()
    runs.follow([("n_clusters", "9")], key="tab")
    assert written == {}


def test_a_tab_that_has_moved_nothing_says_what_the_picture_says(written):
    before = latest()
    runs.follow([("n_clusters", "6")], key="tab")
    assert written["tab"] == urlencode(PAIRS)
    assert latest() is before
