"""The knobs of nD-Laplace's page: the radius that ε is per, the unit of distance, and whose record is looked at."""

import math
from dataclasses import replace
from typing import Any

import streamlit as st

from dpviz.core import Knob, knobs
from dpviz.data import Dataset
from dpviz.methods.nd_laplace.algorithm import Params
from dpviz.methods.nd_laplace.story.layers import PICK, sampled
from dpviz.methods.nd_laplace.story.told import Measure, has_one_unit, measure_of
from dpviz.ui import controls, state
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import LiveState

KNOBS = {knob.name: knob for knob in knobs(Params)}
KNOBS["epsilon"] = replace(
    KNOBS["epsilon"],
    label="ε within the radius",
    help="The level: two places within the radius can be told apart by a factor of e^ε at most.",
)
UNIT = replace(
    KNOBS["unit"],
    name="distance",
    default="auto",
    choices=(("auto", "Suited to the data"), *KNOBS["unit"].choices),
)
FRIENDLY = (1.0, 2.0, 5.0)
N_RADII = 9
RADIUS = Knob(
    "radius", "int", 5, "Radius that ε is for", "ε means nothing without a distance.", 0, N_RADII - 1, 0, N_RADII - 1
)
RECORD = Knob("record", "int", 0, "Whose record", "Or click one in the picture.", 0, 999_999, 0, 999_999)
_CLICK = "dpviz:laplace-click"


def unit_of(dataset: Dataset) -> str:
    """Return the unit of distance: what was chosen, or what suits the features."""
    chosen = str(state.value(UNIT))
    if chosen != "auto":
        return chosen
    return "data" if has_one_unit(dataset.box, dataset.units) else "range"


def radii(dataset: Dataset, unit: str) -> tuple[float, ...]:
    """Return friendly radii, from some thousandths of the box's longest side to all of it."""
    longest = 1.0 if unit == "range" else float(dataset.box.widths.max())
    top = math.floor(math.log10(longest))
    steps = [round(step * 10.0**power, 12) for power in range(top - 4, top + 1) for step in FRIENDLY]
    return tuple([step for step in steps if step <= longest][-N_RADII:])


def draw_first(frame: PageFrame) -> tuple[str, Measure, str]:
    """Draw the knobs above the slider; returns the unit of distance, the radius and the domain mode."""
    dataset = frame.source.dataset
    unit = unit_of(dataset)
    offered = radii(dataset, unit)
    params = Params(unit=unit)
    measures = [measure_of(dataset.units, params, radius) for radius in offered]
    chosen = controls.picked(RADIUS, [measure.said for measure in measures])
    domain = str(controls.control(KNOBS["domain"]))
    return unit, measures[chosen], domain


def draw_more(frame: PageFrame, domain: str) -> dict[str, Any]:
    """Draw the knobs below the slider."""
    remap = state.value(KNOBS["remap"])
    if domain == "remap":
        remap = controls.control(KNOBS["remap"])
    with st.expander("Distance"):
        controls.control(UNIT)
        if unit_of(frame.source.dataset) == "range":
            st.caption("Each feature is divided by its public range, so that one distance serves all of them.")
    return {"remap": remap}


def draw_record(frame: PageFrame) -> int:
    """Draw the number of the record that is looked at; one that is not there is the first."""
    n = frame.source.dataset.n
    if int(state.value(RECORD)) >= max(n, 1):
        state.remember(RECORD, 0)
    return int(controls.control(replace(RECORD, high=float(max(n - 1, 1)), maximum=float(max(n - 1, 1)))))


def link() -> list[tuple[str, str]]:
    """Return what these knobs add to the link."""
    pairs = [(knob.name, knob.format(state.value(knob))) for knob in (RADIUS, RECORD, KNOBS["domain"], KNOBS["remap"])]
    return [*pairs, ("distance", str(state.value(UNIT)))]


def follow_click(picture: LiveState | None, n: int) -> None:
    """Look at the record that was clicked, once for each click."""
    if picture is None or picture.picked != PICK or picture.pick_count == st.session_state.get(_CLICK):
        return
    st.session_state[_CLICK] = picture.pick_count
    rows = sampled(n)
    if picture.picked_mark is not None and picture.picked_mark < len(rows):
        state.remember(RECORD, int(rows[picture.picked_mark]))
        st.rerun(scope="app")
