"""The knobs of the source-target page: method, budget and noise; only those that the method has are drawn."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from dpviz.core import Knob, knobs
from dpviz.methods.source_target import algorithm
from dpviz.ui import controls, state

KNOBS = {knob.name: knob for knob in knobs(algorithm.Params)}
KNOBS["n_centers"] = replace(KNOBS["n_centers"], default=5)  # few lines to look at
SUITED = {"epsilon": "laplace", "rho": "gaussian"}  # noise by budget, as in the paper
KNOBS["noise"] = replace(
    KNOBS["noise"],
    default="suited",
    help=f"{KNOBS['noise'].help} Suited: Laplace for ε, Gaussian for ρ.",
    choices=(("suited", "Suited"), *KNOBS["noise"].choices),
)
BUDGET = Knob(
    "budget",
    "choice",
    "epsilon",
    "Budget in",
    "zCDP suits Gaussian noise. ρ and ε are different scales: ρ = 3 is about ε = 12.9 at δ = 0.00001.",
    choices=(("epsilon", "ε (DP)"), ("rho", "ρ (zCDP)")),
)
LOW, HIGH = 0.05, 20.0
SLIDERS = {
    "epsilon": Knob(
        "epsilon", "float", 1.0, "Privacy budget ε", "What the averages spend.", LOW, HIGH, LOW, HIGH, log=True
    ),
    "rho": Knob(
        "rho", "float", 0.5, "Privacy budget ρ", "What the averages spend, zCDP.", 0.005, HIGH, 0.005, HIGH, log=True
    ),
}
DELTA = Knob(
    "delta", "float", 1e-5, "δ", "How often the guarantee may fail.", 1e-9, 0.01, 1e-300, 0.5, log=True
)  # of Gaussian noise under ε
OWN = (BUDGET, *SLIDERS.values(), DELTA)


def first() -> dict[str, Any]:
    """Draw what stands above the slider; returns method and budget."""
    method = controls.control(KNOBS["method"])
    return {"method": method, "budget": controls.control(BUDGET)}


def more(method: str, budget: str) -> dict[str, Any]:
    """Draw what stands below the slider; returns all parameters beside targets, ball and budget."""
    chosen: dict[str, Any] = {"method": method, "n_centers": controls.control(KNOBS["n_centers"])}
    chosen["coreset_radius"] = controls.control(KNOBS["coreset_radius"])
    with st.expander("Noise and calibration"):
        drawn = ["noise", "calibration", *(["t"] if method == "nas" else ["threshold"]), "gamma", "solver"]
        chosen |= {name: controls.control(KNOBS[name]) for name in drawn}
        if chosen["noise"] == "suited":
            chosen["noise"] = SUITED[budget]
        if chosen["noise"] == "gaussian" and budget == "epsilon":
            chosen["delta"] = controls.control(DELTA)
        if chosen["noise"] == "gaussian" and method == "nna":
            st.caption("With Gaussian noise both rules of the threshold are the same one, ours.")
    hidden = {"t", "threshold"} - set(drawn)
    return chosen | {name: state.value(KNOBS[name]) for name in hidden}


def link() -> Sequence[tuple[str, str]]:
    """Return these knobs' part of the link."""
    return [(knob.name, knob.format(state.value(knob))) for knob in (*KNOBS.values(), BUDGET, DELTA)]
