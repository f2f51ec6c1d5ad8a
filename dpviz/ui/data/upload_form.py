"""What was answered in the form for a person's own table, so that settings can bring the answers back.

Names and typed bounds are public words. Extremes of the records are not in here: the same file has them again.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import streamlit as st

from dpviz.data import Missing, Table
from dpviz.data.choices import DATA, EACH, SAME, Choices, Pair

MOST_FEATURES = 50
MOST_NAME, MOST_UNIT, MOST_ROWS = 1_000, 12, 10**9
_FORM = "dpviz:upload-form"


def to_file(form: Choices, *, public: bool) -> dict[str, Any]:
    """Return `form` as JSON has it; which column holds the classes is for the curator."""
    return {name: value for name, value in asdict(form).items() if name != "label" or not public}


def from_file(written: Any) -> Choices | None:
    """Return the form that anybody may have written, None for what is none: nothing then is filled in."""
    if not isinstance(written, Mapping):
        return None
    names = written.get("features")
    if not isinstance(names, list) or not 1 <= len(names) <= MOST_FEATURES:
        return None
    if not all(isinstance(name, str) and len(name) <= MOST_NAME for name in names) or len(set(names)) < len(names):
        return None
    label, rows, how = written.get("label"), written.get("max_rows"), written.get("how")
    pairs, units = written.get("bounds"), written.get("units")
    whole = isinstance(rows, int) and not isinstance(rows, bool) and 1 <= rows <= MOST_ROWS
    missing: Missing = "drop" if written.get("missing") == "drop" else "error"
    return Choices(
        tuple(names),
        label if isinstance(label, str) and len(label) <= MOST_NAME else None,
        "middle" if written.get("missing") == "middle" else missing,
        "unit" if written.get("scaling") == "unit" else "none",
        rows if whole else None,
        how if how in (EACH, SAME, DATA) else EACH,
        tuple(_pair(pair) for pair in pairs[: len(names)]) if isinstance(pairs, list) else (),
        tuple(str(unit)[:MOST_UNIT] for unit in units[: len(names)]) if isinstance(units, list) else (),
    )


def expect(form: Choices | None) -> None:
    """Have the answers ready for the next file; None takes the last ones away."""
    number = st.session_state.get(_FORM, (0, None))[0]
    st.session_state[_FORM] = (number + 1, form)


def expected(table: Table) -> tuple[int, Choices | None]:
    """Return a number that is another for every import, and the answers if this table has their columns."""
    number, form = st.session_state.get(_FORM, (0, None))
    return number, form if form is not None and set(form.features) <= set(table.numeric_columns) else None


def _pair(pair: Any) -> Pair:
    if not isinstance(pair, list) or len(pair) != 2 or any(isinstance(end, bool) for end in pair):
        return None
    low, high = (float(end) if isinstance(end, int | float) and abs(end) < 1e300 else math.nan for end in pair)
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None
