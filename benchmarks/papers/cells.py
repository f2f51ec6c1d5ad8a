"""Cells and columns of tables from estimates, and a sentence on figures of a paper outside our intervals."""

import math
from collections.abc import Mapping, Sequence

from benchmarks.papers.statistics import Estimate
from dpviz.tables import Cell, Column

# Decimals of every figure.
DIGITS = 4


def rounded(value: float | None) -> Cell:
    """Return a figure as a table's cell; None if it is not finite."""
    return None if value is None or not math.isfinite(value) else round(float(value), DIGITS)


def significant(value: float | None) -> Cell:
    """Return a figure that can be very small, to that many significant digits; None if it is not finite."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.{DIGITS}g}")


def interval(key: str, estimate: Estimate) -> dict[str, Cell]:
    """Return the three cells of a figure with its 95 % interval."""
    ends = {f"{key}_low": rounded(estimate.low), f"{key}_high": rounded(estimate.high)}
    return {key: rounded(estimate.value), **ends}


def interval_columns(key: str, label: str, unit: str = "") -> tuple[Column, ...]:
    """Return the three columns of `interval`."""
    ends = (Column(f"{key}_low", f"{label}, 95 % from", unit), Column(f"{key}_high", f"{label}, 95 % to", unit))
    return (Column(key, label, unit), *ends)


def disagreements(rows: Sequence[Mapping[str, Cell]], paper: str, ours: str) -> str:
    """Return a note on rows with the paper's figure outside our interval."""
    outside = []
    for row in rows:
        if over(row[paper], row[f"{ours}_high"]) or over(row[f"{ours}_low"], row[paper]):
            outside.append(" ".join(str(row[key]) for key in ("set", "strategy") if key in row))
    return (
        f"The paper's figure is outside our 95 % interval on: {', '.join(outside) or 'none'}. Its figures are "
        "averages of 300 runs and have an error of the same size, which the interval does not include."
    )


def over(one: Cell, other: Cell) -> bool:
    """Return True if both cells are numbers and the first is larger."""
    return isinstance(one, int | float) and isinstance(other, int | float) and one > other
