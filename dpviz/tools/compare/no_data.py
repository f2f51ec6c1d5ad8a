"""What no data costs beside the runs of a comparison. The curator's."""

from collections.abc import Mapping, Sequence
from typing import Any

from dpviz.stories import no_data
from dpviz.stories.panel import Fact, number
from dpviz.tools.sweep.trial_runs import OK

NO_DATA = "No data: public centers"

Row = Mapping[str, Any]  # one run, by the experiments' column names


def no_data_ratio(rows: Mapping[str, Sequence[Row]]) -> float | None:
    """Return what no data costs on the records of all these runs, × without privacy; None where no run says so."""
    told = (row for runs in rows.values() for row in runs if row["status"] == OK and "no_data_inertia" in row)
    row = next(told, None)
    return row["no_data_inertia"] / row["floor_inertia"] if row is not None and row["floor_inertia"] > 0 else None


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
    return (no_data.no_data_fact(cost, without_data, best, "without privacy"),)
