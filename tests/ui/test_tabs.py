"""Messages of a page about a file that is not there."""

import pytest
import streamlit as st

from dpviz.ui import tabs


@pytest.mark.parametrize(
    ("opened", "words"),
    [("", tabs.LINKED), ("reloaded", tabs.RELOADED), ("renewed", tabs.RESTARTED), ("<b>anything</b>", tabs.LINKED)],
)
def test_a_missing_file_is_said_as_it_went_missing(monkeypatch, opened, words):
    monkeypatch.setattr(st, "session_state", {tabs._OPENED: opened})
    assert tabs.missing_file("0123") == f"{words}; it is checked by its fingerprint 0123."


def test_every_reason_says_what_is_still_there_what_is_gone_and_the_way_out():
    for words in (tabs.RELOADED, tabs.RESTARTED):
        assert "every released table that you have not saved" in words
        assert words.index("Still here") < words.index("Gone: the file") < words.index("Choose the same file")
    assert tabs.RELOADED.startswith("You reloaded the page.")
