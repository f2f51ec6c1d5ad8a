"""One cost without privacy for all runs on the same records. The curator's."""

import math
from typing import Any

from dpviz.tools.compare.story import OK, Row, Rows


def referenced(rows: Rows) -> dict[str, list[Row]]:
    """Hold all runs on the same records with the same k against one cost without privacy: the least that is known.

    A private run below k-means++ improves that cost (`dpviz.tools.sweep.trials`), for every method alike.
    """
    least: dict[tuple[Any, ...], float] = {}
    for row in (row for runs in rows.values() for row in runs if row["status"] == OK):
        same = _same(row)
        least[same] = min(least.get(same, math.inf), float(row["floor_inertia"]))
    return {key: [_against(row, least.get(_same(row), math.inf)) for row in runs] for key, runs in rows.items()}


def _same(row: Row) -> tuple[Any, ...]:
    return row["data"], row["n"], row["data_seed"], row["k"]


def _against(row: Row, floor: float) -> Row:
    """Return the row with its cost held against `floor`."""
    if row["status"] != OK or row["floor_inertia"] <= floor:
        return row
    return {**row, "floor_inertia": floor, "inertia_ratio": row["inertia"] / floor if floor > 0 else None}
