"""The Compare page's second parameter: one small frontier for each of its values, made in the background."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pandas as pd
import streamlit as st

from dpviz.core import Knob, Varied
from dpviz.methods import ALGORITHMS
from dpviz.tools.compare import story
from dpviz.tools.compare.entries import ENTRIES
from dpviz.tools.compare.page.runs import gathered, pieces
from dpviz.tools.compare.search import FEWEST
from dpviz.tools.compare.story import grid as compare_grid
from dpviz.tools.compare.trials import TrialPart
from dpviz.tools.sweep.trials import Scalar
from dpviz.ui import controls, state
from dpviz.ui.export.listed import listed
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import live

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
RUNS = 10  # at each ε and value: enough for a median, and soon there
AT = 1.0  # the ε of the table
HALVINGS = 6  # of the number of people
ACROSS = 3  # pictures beside each other
HEIGHT = 250  # CSS pixels
CLUSTERS, PEOPLE = "clusters", "people"


_ALL = (
    Varied(CLUSTERS, "Clusters k", "k", (2, 3, 5, 8, 13, 20)),
    Varied(PEOPLE, "People n", "n"),
    *(varied for algorithm in ALGORITHMS.values() for varied in algorithm.varied),
)
PARAMETERS: Mapping[str, Varied] = MappingProxyType({each.key: each for each in _ALL})


def _title(parameter: Varied) -> str:
    return f"{ENTRIES[parameter.entry].name}: {parameter.name}" if parameter.entry else parameter.name


BY = Knob(
    "compare_by",
    "choice",
    CLUSTERS,
    "A picture for each value of",
    "Everything else stays as it is.",
    choices=tuple((key, _title(parameter)) for key, parameter in PARAMETERS.items()),
)
KNOBS = (BY,)


def grid(frame: PageFrame, entries: Sequence[str], n_clusters: int, start_seed: int, seed: int, adjacency: str) -> None:
    """Draw the choice of the parameter and the pictures of what is there so far."""
    parameter = PARAMETERS[str(controls.control(BY))]
    n, public = frame.source.dataset.n, not frame.source.dataset.bounds_from_data
    shown = (parameter.entry,) if parameter.entry else tuple(entries)
    values = values_of(parameter, n, n_clusters)
    runs = gathered(
        frame.source, parts_of(parameter, shown, values, n, n_clusters, start_seed, seed), "grid", "Parts of the runs"
    )
    panels = [_panel(parameter, value, shown, runs.rows, adjacency, bounds_public=public) for value in values]
    scenes = compare_grid.small_multiples(panels, adjacency)
    for first in range(0, len(scenes), ACROSS):
        columns = st.columns(ACROSS, gap="small")
        for i, (column, scene) in enumerate(zip(columns, scenes[first : first + ACROSS], strict=False)):
            with column:
                if scene is None:
                    st.caption(
                        f"{panels[first + i].words}: {'no run could be made' if runs.complete else 'on its way'}."
                    )
                else:
                    live(scene, key=f"grid-{first + i}", height=HEIGHT)
    _refused(runs.rows)
    if not any(scenes):
        return
    st.caption(
        f"The same axes in all; colors and marks as above. Medians and bands of {RUNS} runs. "
        + ("Random samples of these records. " if parameter.column == "n" else "")
        + ("K-means without privacy has as many clusters. " if parameter.column == "k" else "")
        + (compare_grid.nearest(panels, AT, RUNS) if runs.complete else "")
    )
    listed(pd.DataFrame(compare_grid.lines(panels, AT)), hide_index=True)
    st.caption(f"Median cost at ε = {AT:g}, × without privacy.")


def values_of(parameter: Varied, n: int, n_clusters: int) -> tuple[Scalar, ...]:
    """Return the values that these records allow."""
    if parameter.column == "n":
        return tuple(sizes_of(n, n_clusters))
    if parameter.column == "k":
        return tuple(value for value in parameter.options if int(value) <= n)
    return parameter.options


def sizes_of(n: int, n_clusters: int) -> list[int]:
    """Return n, n/2, n/4, ... as long as there are FEWEST and one for each cluster."""
    sizes = [size for size in dict.fromkeys(n >> i for i in range(HALVINGS)) if size >= max(FEWEST, n_clusters)]
    return sizes or [n]


def parts_of(
    parameter: Varied,
    entries: Sequence[str],
    values: Sequence[Scalar],
    n: int,
    n_clusters: int,
    start_seed: int,
    seed: int,
) -> list[TrialPart]:
    """Return the runs, first a few of every picture, so that all of them are there soon."""
    made = []
    for first, count in pieces(RUNS):
        for value in values:
            k = int(value) if parameter.column == "k" else n_clusters
            size = int(value) if parameter.column == "n" else n
            fields = ((parameter.field, value),) if parameter.entry else ()
            made += [
                TrialPart(entry, epsilon, k, start_seed, seed + first, count, size, size < n, fields)
                for entry in entries
                for epsilon in EPSILONS
            ]
    return made


def _panel(
    parameter: Varied,
    value: Scalar,
    entries: Sequence[str],
    rows: Mapping[str, Sequence[Mapping[str, Any]]],
    adjacency: str,
    *,
    bounds_public: bool,
) -> compare_grid.Panel:
    keys, shown = list(ENTRIES), []
    for key in entries:
        runs = [row for row in rows.get(key, []) if row[parameter.column] == value]
        shown.append(
            story.series_of(key, ENTRIES[key].name, keys.index(key), runs, adjacency, bounds_public=bounds_public)
        )
    words = f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)
    return compare_grid.Panel(f"{_title(parameter)} = {words}", tuple(one for one in shown if one is not None))


def _refused(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Say what could not be run, and why."""
    for key, runs in rows.items():
        for status in sorted({str(row["status"]) for row in runs if row["status"] != story.OK}):
            st.caption(f"{ENTRIES[key].name}: {state.plain(status)}")
