"""Convergent k-means and its family: move ε, and watch zones, centers and cost move, beside every other method."""

from dataclasses import replace
from typing import Any

import streamlit as st

from dpviz.algorithms import convergent_kmeans as algorithm
from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import knobs
from dpviz.experiments.kmeans_family import METHODS, Question, configure
from dpviz.stories import convergent_kmeans as story
from dpviz.stories import kmeans_family
from dpviz.ui import controls, family, frame, reproduction, state
from dpviz.ui.deployments import DEPLOYMENTS
from dpviz.ui.show import TRAIL, Method, refusals, show, show_pair

KNOBS = {knob.name: knob for knob in knobs(algorithm.Params)}

chosen = state.value(family.METHOD)
page = frame.start(algorithm.TITLE, kmeans_family.TERMS if chosen in BASELINES else story.TERMS)
with page.first:
    controls.control(family.METHOD)
common: dict[str, Any] = {}
with page.more:
    common["n_clusters"] = controls.control(KNOBS["n_clusters"])
    drawn = controls.control if chosen in ("published", "both") else state.value
    orientation = drawn(KNOBS["orientation"])
    drawn = controls.control if chosen in family.STARTED else state.value
    common["start"] = drawn(KNOBS["start"])
    own_link = family.draw_knobs(chosen)
    noise = frame.seeds(page)
    view = frame.view(page)
link = [("mode", chosen), ("orientation", orientation), *own_link]
link.append(("tab", state.value(family.TAB)))
link += [(name, KNOBS[name].format(value)) for name, value in common.items()]
common["start_seed"] = state.value(frame.START_SEED)
asked = Question(epsilon=1.0, options=family.options(), **common)
proved = common["start"] == "packing" and not page.source.dataset.bounds_from_data


def repaired(epsilon: float) -> Method:
    """Describe convergent k-means with a proved budget for the whole run."""
    params = algorithm.Params(mode="repaired", epsilon=epsilon, **common)
    return Method(algorithm, story, params, "Repaired" if chosen == "both" else "")


def published(step: float, counts: float) -> Method:
    """Describe it as the paper prints it, with one budget for each step and one for the final counts."""
    budgets = {"epsilon_per_iteration": step, "epsilon_counts": counts}
    params = algorithm.Params(mode="published", orientation=orientation, **budgets, **common)
    return Method(algorithm, story, params, "As published" if chosen == "both" else "")


def baseline(epsilon: float) -> Method:
    """Describe another method of the family."""
    module, params = configure(chosen, replace(asked, epsilon=epsilon))
    return Method(module, kmeans_family, params, METHODS[chosen])


def along(method: Any) -> tuple[Any, ...]:
    """Return the parameters over the trail's budgets."""
    return tuple(method(epsilon).params for epsilon in TRAIL)


def moved(**epsilons: float) -> list[tuple[str, str]]:
    """Return the page's part of the link."""
    return [*link, *((name, KNOBS[name].format(value)) for name, value in epsilons.items())]


@st.fragment
def epsilon_and_picture() -> None:
    """What ε moves, and nothing else, so that the picture answers at once."""
    if chosen == "published":
        step = controls.log_slider(
            KNOBS["epsilon_per_iteration"],
            note=story.variation,
            marks=story.PAPER_RANGE,
            left="anywhere in the zone",
            right="near the mean",
            hint="Triangles: the paper's experiments.",
        )
        counts = controls.log_slider(KNOBS["epsilon_counts"], note=story.count_noise)
        show(page, published(step, counts), noise, view, moved(epsilon_per_iteration=step, epsilon_counts=counts))
        return
    note = kmeans_family.no_budget if chosen == "lloyd" else story.allowed if proved else story.not_established
    epsilon = controls.log_slider(KNOBS["epsilon"], note=note, marks=DEPLOYMENTS)
    with refusals(page):
        if chosen == "both":
            pair = (
                replace(repaired(epsilon), trail=along(repaired)),
                replace(published(epsilon, epsilon), trail=along(lambda each: published(each, each))),
            )
            show_pair(page, pair, noise, view, moved(epsilon=epsilon))
        else:
            method = (repaired if chosen == "repaired" else baseline)(epsilon)
            show(page, method, noise, view, moved(epsilon=epsilon))


with page.slider:
    epsilon_and_picture()

with page.more_pictures:
    methods, budgets, tables = controls.tabs(family.TAB)
if methods.open:
    with methods:
        sliders = {"total": KNOBS["epsilon"], "step": KNOBS["epsilon_per_iteration"]}
        family.all_methods(page, asked, noise, sliders, chosen)
if budgets.open:
    with budgets:
        family.budgets(page, asked, noise, KNOBS["epsilon"])
if tables.open:
    with tables:
        reproduction.tables("convergent_kmeans")
