"""The ledger of a session's own file: what was released of it, kept while the browser's tab lives.

A ledger belongs to people (`Source.people`): other columns or bounds of a file are the same people. Settings carry one
to the next file that is uploaded after their import.
"""

from collections.abc import Hashable

import streamlit as st

from dpviz.tools.release import Ledger, ReleaseEntry
from dpviz.ui.data.picker import Source

_LEDGERS = "dpviz:ledgers"


def of(source: Source) -> Ledger:
    """Return everything that was released of these people."""
    return _ledgers().get(source.people, Ledger())


def record(source: Source, entry: ReleaseEntry) -> None:
    """Add one release of these people."""
    _ledgers()[source.people] = Ledger((*of(source).entries, entry))


def _ledgers() -> dict[Hashable, Ledger]:
    ledgers: dict[Hashable, Ledger] = st.session_state.setdefault(_LEDGERS, {})
    return ledgers
