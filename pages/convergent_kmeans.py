"""Convergent k-means: move ε, and watch zones, centers and cost move."""

from typing import Any

import streamlit as st

from dpviz.algorithms import convergent_kmeans as algorithm
from dpviz.core import knobs
from dpviz.stories import convergent_kmeans as story
from dpviz.ui import controls, frame, state
from dpviz.ui.deployments import DEPLOYMENTS

KNOBS = {knob.name: knob for knob in knobs(algorithm.Params)}

page = frame.start(algorithm, story)
chosen: dict[str, Any] = {}
with page.first:
    chosen["mode"] = controls.control(KNOBS["mode"])
with page.more:
    chosen["n_clusters"] = controls.control(KNOBS["n_clusters"])
    if chosen["mode"] == "published":
        chosen["orientation"] = controls.control(KNOBS["orientation"])
    chosen["start"] = controls.control(KNOBS["start"])
    noise = frame.seeds(page)
    view = frame.view(page)


@st.fragment
def epsilon_and_picture() -> None:
    """What ε moves, and nothing else, so that the picture answers at once."""
    epsilon = {}
    if chosen["mode"] == "repaired":
        proved = chosen["start"] == "packing" and not page.source.dataset.bounds_from_data
        note = story.allowed if proved else story.not_established
        epsilon["epsilon"] = controls.log_slider(KNOBS["epsilon"], note=note, marks=DEPLOYMENTS)
    else:
        epsilon["epsilon_per_iteration"] = controls.log_slider(
            KNOBS["epsilon_per_iteration"],
            note=story.variation,
            marks=story.PAPER_RANGE,
            left="anywhere in the zone",
            right="near the mean",
            hint="Triangles: the paper's experiments.",
        )
        epsilon["epsilon_counts"] = controls.log_slider(KNOBS["epsilon_counts"], note=story.count_noise)
    params = algorithm.Params(**chosen, **epsilon, start_seed=state.value(frame.START_SEED))
    link = [(name, KNOBS[name].format(value)) for name, value in (chosen | epsilon).items()]
    frame.show(page, params, noise, view, link)


with page.slider:
    epsilon_and_picture()
