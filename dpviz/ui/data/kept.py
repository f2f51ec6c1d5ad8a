"""What a session knows of its own table: the file once read, and what was answered about it, on whichever page.

Answers are kept for each file, by its fingerprint: bounds and columns of one file say nothing about the next.
A widget forgets its value when a page does not draw it; what stands here stays until the session ends. Nothing of it is
written, logged, or put into a cache that sessions share.
"""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from dpviz.data import Table, TableError, TableFormat
from dpviz.data.table_format import READ_OFF
from dpviz.ui import state

_TABLE = "dpviz:table"
_ANSWERS = "dpviz:answers"
_BEFORE = "dpviz:table-before"
_FILE = "dpviz:given-file"
_READING = "dpviz:table-format"
_LINK = "dpviz:linked-upload"


def keep_file(file: Any) -> None:
    """Keep a file as it was given, so that it can be read in another way."""
    st.session_state[_FILE] = file


def file() -> Any:
    """Return the file as it was given, None where there is none."""
    return st.session_state.get(_FILE)


def keep_table(table: Table | TableError, reading: TableFormat) -> None:
    """Keep a table, or why a file is none, and the settings by which it was read."""
    before = st.session_state.get(_TABLE)
    if isinstance(before, Table) and not (isinstance(table, Table) and table.digest == before.digest):
        st.session_state[_BEFORE] = (before.digest, before.name)
    st.session_state[_TABLE] = table
    st.session_state[_READING] = reading


def reading() -> TableFormat:
    """Return the settings by which the file was read."""
    found: TableFormat = st.session_state.get(_READING, READ_OFF)
    return found


def forget() -> None:
    """Forget the table, those before it, and what was answered about them."""
    for key in (_TABLE, _BEFORE, _ANSWERS, _FILE, _READING):
        st.session_state.pop(key, None)


def table() -> Table | None:
    """Return the session's table. Raises TableError where the file that was given is none."""
    found = st.session_state.get(_TABLE)
    if isinstance(found, TableError):
        raise TableError(str(found))  # a new one: the old would gather the frames of every run
    return found if isinstance(found, Table) else None


def expect(fingerprint: str) -> None:
    """Remember that the link was made with the file of this fingerprint."""
    st.session_state[_LINK] = fingerprint[:64]


def expect_nothing() -> None:
    """Forget the link's file."""
    st.session_state.pop(_LINK, None)


def expected() -> str:
    """Return the fingerprint of the link's file, "" where a link names none."""
    return str(st.session_state.get(_LINK, ""))


def answer(name: str, default: Any = None) -> Any:
    """Return what was answered to the question `name`."""
    found = _answers().get(name)
    return default if found is None else found


def answers_before() -> tuple[str, Mapping[str, Any]]:
    """Return the name of the file before this one, and what was answered about it; nothing where there was none."""
    digest, name = st.session_state.get(_BEFORE, ("", ""))
    found = _all_answers().get(digest, {})
    return name, {} if found is _answers() else found


def set_answers(values: Mapping[str, Any]) -> None:
    """Take these answers, as if they had been given."""
    _answers().update(values)


def field(name: str, shown: Any = None) -> dict[str, Any]:
    """Return the options that tie a widget to an answer: it shows the kept one, or `shown`, and keeps another."""
    key = state.tie(f"upload:{name}", answer(name, shown))
    return {"key": key, "on_change": keep, "args": (name, key)}


def keep(name: str, key: str) -> None:
    """Keep what the reader answered with the widget of that key."""
    _answers()[name] = state.sent(f"upload:{name}", key)


def _answers() -> dict[str, Any]:
    found = st.session_state.get(_TABLE)
    return _all_answers().setdefault(found.digest if isinstance(found, Table) else "", {})


def _all_answers() -> dict[str, dict[str, Any]]:
    answers: dict[str, dict[str, Any]] = st.session_state.setdefault(_ANSWERS, {})
    return answers
