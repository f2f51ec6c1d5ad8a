"""A session without a browser: the two places where pages keep a reader's actions."""

import pytest
import streamlit as st


class Query(dict):
    """A link as Streamlit has it: of names that are there more than once, the last value, and all on demand."""

    def __init__(self, given=()):
        self.every = {name: list(text) if isinstance(text, list) else [text] for name, text in dict(given).items()}
        super().__init__({name: texts[-1] for name, texts in self.every.items()})

    def get_all(self, name):
        return self.every.get(name, [])


@pytest.fixture
def session(monkeypatch):
    """Give the test an empty session and an empty link."""
    kept = {}
    monkeypatch.setattr(st, "session_state", kept)
    monkeypatch.setattr(st, "query_params", Query())
    return kept


@pytest.fixture
def link(session, monkeypatch):
    """Return the opener of a session with query parameters."""

    def open_with(**query):
        session.clear()
        monkeypatch.setattr(st, "query_params", Query(query))

    return open_with
