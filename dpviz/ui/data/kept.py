"""What a session knows of its own table: the file once read, and what was answered about it, on whichever page.

A widget forgets its value when a page does not draw it; what stands here stays until the session ends. Nothing of it is
written, logged, or put into a cache that sessions share.
"""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from dpviz.data import Table, TableError

_TABLE = "dpviz:table"
_ANSWERS = "dpviz:answers"
_TURNS = "dpviz:answers-set"
_LINK = "dpviz:linked-upload"


def keep_table(table: Table | TableError | None) -> None:
    """Keep a table, or why a file is none; None forgets it."""
    st.session_state[_TABLE] = table


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


def set_answers(values: Mapping[str, Any]) -> None:
    """Take these answers, as if they had been given."""
    for name, value in values.items():
        if name not in _answers() or _answers()[name] != value:
            _answers()[name] = value
            _turns()[name] = _turns().get(name, 0) + 1


def key_of(name: str) -> str:
    """Return the key of the widget that asks for the answer `name`.

    It is another one after each answer that was set: a widget that nobody has opened since would send its old value.
    """
    return f"upload:{name}:{_turns().get(name, 0)}"


def field(name: str, shown: Any = None) -> dict[str, Any]:
    """Return the options that tie a widget to an answer: it shows the kept one, or `shown`, and keeps another."""
    key = key_of(name)
    st.session_state[key] = answer(name, shown)
    return {"key": key, "on_change": _keep, "args": (name, key)}


def _keep(name: str, key: str) -> None:
    _answers()[name] = st.session_state.get(key)


def _answers() -> dict[str, Any]:
    answers: dict[str, Any] = st.session_state.setdefault(_ANSWERS, {})
    return answers


def _turns() -> dict[str, int]:
    turns: dict[str, int] = st.session_state.setdefault(_TURNS, {})
    return turns
