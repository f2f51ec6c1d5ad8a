"""Convergent k-means: move ε, and watch zones, centers and cost move."""

from typing import Any

import streamlit as st

from dpviz.algorithms import convergent_kmeans as algorithm
from dpviz.core import attacker_odds, knobs
from dpviz.stories import convergent_kmeans as story
from dpviz.ui import controls, frame, state
from dpviz.ui.deployments import DEPLOYMENTS

KNOBS = {knob.name: knob for knob in knobs(algorithm.Params)}
PAPER = (
    (0.1, "paper, least", "The paper's experiments use ε from 0.1 …"),
    (1.0, "paper, most", "… to 1 in each step."),
)

page = frame.start(algorithm, story)


def odds(epsilon: float) -> str:
    """Say what ε allows."""
    return f"An attacker is right at most {round(attacker_odds(epsilon))} in 100 times."


def variation(epsilon: float) -> str:
    """Say how little ε can move inside a zone."""
    return f"Inside a zone the density varies by at most e^(0.3 ε) = {2.718281828 ** (0.3 * epsilon):.3g}."


@st.fragment
def controls_and_picture() -> None:
    """Everything that answers to a knob, so that a move repaints the picture and nothing else."""
    chosen: dict[str, Any] = {"mode": controls.control(KNOBS["mode"])}
    if chosen["mode"] == "repaired":
        chosen["epsilon"] = controls.log_slider(KNOBS["epsilon"], note=odds, marks=DEPLOYMENTS)
    else:
        name = "epsilon_per_iteration"
        chosen[name] = controls.log_slider(
            KNOBS[name], note=variation, marks=PAPER, left="steps at random", right="steps near the mean"
        )
        name = "epsilon_counts"
        chosen[name] = controls.log_slider(
            KNOBS[name], note=lambda epsilon: f"Count noise: about {1 / epsilon:.3g} records."
        )
    chosen["n_clusters"] = controls.control(KNOBS["n_clusters"])
    if chosen["mode"] == "published":
        chosen["orientation"] = controls.control(KNOBS["orientation"])
    chosen["start"] = controls.control(KNOBS["start"])
    noise = frame.seeds(page)
    view = frame.view(page)
    params = algorithm.Params(**chosen, start_seed=state.value(frame.START_SEED))
    link = [(name, KNOBS[name].format(value)) for name, value in chosen.items()]
    frame.show(page, params, noise, view, link)


with st.sidebar:
    controls_and_picture()
