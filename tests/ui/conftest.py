"""A session without a browser: the two places where pages keep what a reader did."""

import pytest
import streamlit as st


@pytest.fixture
def session(monkeypatch):
    """Give the test an empty session and an empty link."""
    kept = {}
    monkeypatch.setattr(st, "session_state", kept)
    monkeypatch.setattr(st, "query_params", {})
    return kept


@pytest.fixture
def link(session, monkeypatch):
    """Return the opener of a session with query parameters."""

    def open_with(**query):
        session.clear()
        monkeypatch.setattr(st, "query_params", query)

    return open_with
