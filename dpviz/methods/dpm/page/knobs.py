"""DPM's knobs on its page: calibration, score, depth, delta, shares; and what the reader looks into."""

from typing import Any

import streamlit as st

from dpviz.core import Knob, knobs
from dpviz.methods.dpm import algorithm as dpm
from dpviz.methods.dpm.page import shares
from dpviz.ui import controls, state
from dpviz.ui.frame import PageFrame

KNOBS = {knob.name: knob for knob in knobs(dpm.Params)}
HELP = {
    "t": "Centreness where the outer part ends, above 2q. Higher: cuts off the middle lose less.",
    "q": "Share of the records at either end where cuts are unwanted. Higher: small slices are cut off less often.",
    "emptiness_weight": "Higher: an empty place counts more, being in the middle less. Scores also get noisier.",
}
MOST_NODE = 4095
LEVELS = Knob(
    "n_levels",
    "int",
    0,
    "Levels of cuts τ (0: the rule)",
    "More find smaller clusters, each with less budget.",
    0,
    10,
    0,
    10,
)
POWER = Knob(
    "delta_power",
    "int",
    0,
    "δ = 1 in 10^x, x = (0: the rule)",
    "The rule: 1/(n √n) of the noisy number of records. Gaussian noise on the centers needs some δ.",
    0,
    12,
    0,
    12,
)
PUBLIC_N = Knob(
    "n_is_public",
    "bool",
    False,
    "The number of records is public",
    "Then depth, shares and δ follow it without paying. The guarantee holds only if it is true.",
)
NODE = Knob(
    "node", "int", 0, "Subset", "A node of the split tree. Click one there, or a cut.", 0, MOST_NODE, 0, MOST_NODE
)
ALONG = Knob("along", "int", 0, "Along", "The feature whose candidates are shown.", 0, 50, 0, 50)
OWN = (LEVELS, POWER, PUBLIC_N, NODE, ALONG, shares.WHO, *shares.KNOBS.values(), *shares.LOCKS.values())


def draw(frame: PageFrame) -> dict[str, Any]:
    """Draw what stands below the slider; returns the parameters beside epsilon and calibration."""
    values: dict[str, Any] = {}
    if state.value(ALONG) > frame.source.dataset.d:  # here: the tab would run the page again, and its messages be lost
        state.remember(ALONG, ALONG.default)
    with st.expander("Score of a cut"):
        for name, text in HELP.items():
            values[name] = controls.control(KNOBS[name])
            st.caption(text)
    values["shares"] = shares.draw()
    with st.expander("Depth and δ"):
        values["n_levels"] = int(controls.control(LEVELS)) or None
        power = int(controls.control(POWER))
        values["delta"] = 10.0**-power if power else None
        values["n_public"] = frame.source.dataset.n if controls.control(PUBLIC_N) else None
    return values


def link() -> list[tuple[str, str]]:
    """Return these knobs' part of the link, and what is looked into."""
    names = ("calibration", "t", "q", "emptiness_weight")
    all_knobs = [*(KNOBS[name] for name in names), LEVELS, POWER, PUBLIC_N, NODE, ALONG]
    return [*((knob.name, knob.format(state.value(knob))) for knob in all_knobs), *shares.link()]
