"""What public bounds do to somebody's records, for the curator: how many they move, and how far."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from dpviz.core import FloatArray
from dpviz.data import Clipping


def moved(n_moved: int, n: int) -> str:
    """Say that `n_moved` of `n` records were moved: exact counts, curator only."""
    lie, were = ("lies", "was") if n_moved == 1 else ("lie", "were")
    return f"{n_moved:,} of {n:,} records {lie} outside the bounds and {were} moved to the edge"


def say_clipping(done: Clipping, n: int, features: Sequence[str], units: Sequence[str], widths: FloatArray) -> None:
    """Say how many of `n` records the bounds move, and how far; `widths` (d,) are the ranges."""
    if not done.nonprivate_n_moved:
        st.caption("No record lies outside these bounds.")
        return
    with st.expander(moved(done.nonprivate_n_moved, n)):
        st.html(_rows(done, features, units or ("",) * len(features), widths))


def _rows(done: Clipping, features: Sequence[str], units: Sequence[str], widths: FloatArray) -> str:
    """Write a line for each feature that loses something: records below and above, and the longest way."""
    rows = []
    for axis, name in enumerate(features):
        below, above = int(done.nonprivate_below[axis]), int(done.nonprivate_above[axis])
        if below or above:
            way = f"{done.nonprivate_farthest[axis]:.3g} {units[axis]}".strip()
            share = done.nonprivate_farthest[axis] / widths[axis]
            rows.append(
                f"<dt>{escape(name)}</dt><dd>{below:,} below, {above:,} above; the farthest moves {escape(way)}, "
                f"{share:.3g} times the range</dd>"
            )
    return f"<dl class='dpviz-clipping'>{''.join(rows)}</dl>"
