"""Tables that a reader can save: Streamlit's own table writes its cells and headers as CSV, as they are."""

import re
from typing import Any

import pandas as pd
import streamlit as st

from dpviz.plots import defused

_NUMBER = re.compile(r"[+-]?[\d.,]+(e[+-]?\d+)?( [^\W\d_]+| ?%)?", re.IGNORECASE)  # with a unit, which computes nothing


def listed(table: pd.DataFrame, **options: Any) -> None:
    """Show a table whose words may come from a file or a link; no spreadsheet takes one of them for a formula."""
    st.dataframe(harmless(table), width="stretch", **options)


def harmless(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with every text in it, and every name, such that no spreadsheet computes it."""
    return table.map(_word).rename(index=_word, columns=_word)


def _word(name: Any) -> Any:
    return defused(name) if isinstance(name, str) and not _NUMBER.fullmatch(name) else name
