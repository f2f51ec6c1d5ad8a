"""What no data costs beside the runs of a comparison. The curator's."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpviz.plots import Audience, Kind, Layer, Role, always
from dpviz.stories import center_facts
from dpviz.stories.panel import Fact, number
from dpviz.tools.sweep.trials import OK

NO_DATA = "No data: public centers"
TERM = (
    "No data",
    "Centers that anybody can choose who has seen no record: the box's middle, or k centers packed evenly into the "
    "box, whichever cost less. A method that costs as much has learned nothing from the records.",
)
NEAR = 0.5  # decades above all lines and bands up to which its level is drawn: a higher one would press them together

Row = Mapping[str, Any]  # one run, by the experiments' column names


def no_data_ratio(rows: Mapping[str, Sequence[Row]]) -> float | None:
    """Return what no data costs on the records of all these runs, × without privacy; None where no run says so."""
    told = (row for runs in rows.values() for row in runs if row["status"] == OK and "no_data_inertia" in row)
    row = next(told, None)
    return row["no_data_inertia"] / row["floor_inertia"] if row is not None and row["floor_inertia"] > 0 else None


def level_of(without_data: float | None, high: float) -> float | None:
    """Return the height, decades, of a level `without_data`, × without privacy; None where it is not NEAR `high`."""
    level = math.log10(without_data) if without_data else math.inf
    return level if level <= high + NEAR else None


def level_lines(levels: Mapping[str, float | None], ends: tuple[float, float]) -> list[Layer]:
    """Return gray level lines, as their heights are exact: the first dashed; none for None."""
    return [
        Layer(
            name,
            Kind.LINES,
            Role.EXACT,
            Audience.CURATOR,
            {"xy": np.array([[[[x, height] for x in ends]]])},
            always(1),
            isolate=False,
            size=1.5,
            dash=i == 0,
        )
        for i, (name, height) in enumerate(levels.items())
        if height is not None
    ]


def no_data_line(rows: Mapping[str, Sequence[Row]]) -> list[dict[str, str]]:
    """Return the line of no data in the table of all numbers, none where no run says what it costs."""
    ratio = no_data_ratio(rows)
    told = {"Method": NO_DATA, "Guarantee": "no record is read: ε = 0"}
    return [] if ratio is None else [told | {"Cost, × without privacy": number(ratio)}]


def no_data_fact(row: Row) -> tuple[Fact, ...]:
    """Return what no data costs beside a run, nothing where the run does not say."""
    if "no_data_inertia" not in row:
        return ()
    cost, without_data, best = (float(row[name]) for name in ("inertia", "no_data_inertia", "floor_inertia"))
    return (center_facts.no_data_fact(cost, without_data, best, "without privacy"),)
