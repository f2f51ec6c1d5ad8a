"""Morse processing: move ε, and watch a private mixture's landscape, its hierarchy and its clusters change."""

from dataclasses import replace
from typing import Any

import streamlit as st

from dpviz.core import knobs
from dpviz.methods.morse import METHOD, algorithm, story
from dpviz.methods.morse.page import tabs as morse
from dpviz.stories import center_facts
from dpviz.stories.method import Page
from dpviz.tools.many_runs import page as outcomes
from dpviz.tools.two_worlds import page as two_worlds
from dpviz.ui import controls, frame, reading, reproduction, state
from dpviz.ui.controls import DEPLOYMENTS
from dpviz.ui.data import groups
from dpviz.ui.runs import RunRequest
from dpviz.ui.show import Slider, show

KNOBS = {knob.name: knob for knob in knobs(algorithm.Params)}
KNOBS["n_iterations"] = replace(KNOBS["n_iterations"], default=2)  # few passes leave each more budget: a good start


def draw() -> None:
    """Draw the page."""
    page = frame.start(algorithm.TITLE, METHOD.run.terms, data="moons", what=controls.said(KNOBS["base"]))
    chosen: dict[str, Any] = {}
    with page.first:
        chosen["base"] = controls.control(KNOBS["base"])
    with page.more:
        chosen["n_clusters"] = groups.control(page.source, KNOBS["n_clusters"])
        for name in ("n_components", "n_iterations"):
            chosen[name] = controls.control(KNOBS[name])
        chosen |= morse.calibration(KNOBS)
        noise = frame.seeds(page, start=False)
        view = frame.view(page)
    look = morse.look(page, chosen["n_components"])
    view = morse.raised(page, view)
    link = [*((name, KNOBS[name].format(value)) for name, value in chosen.items()), *morse.link(view)]
    link += [*two_worlds.link(page), *groups.link(page.source, KNOBS["n_clusters"])]
    adapt = two_worlds.adapter(morse.TAB)
    proved = not page.source.dataset.bounds_from_data

    def method(epsilon: float) -> RunRequest[story.MorseRun]:
        """Describe Morse processing with these knobs."""
        params = algorithm.Params(epsilon=epsilon, **chosen)
        return RunRequest(METHOD, story.MorseRun, params, fields={"look": look}, adapt=adapt)

    @st.fragment
    def epsilon_and_picture() -> None:
        """What ε moves, and nothing else, so that the picture answers at once."""
        shown = center_facts.stated if chosen["calibration"] == "published" else center_facts.allowed
        note = shown if proved else center_facts.not_established
        epsilon = controls.log_slider(KNOBS["epsilon"], note=note, marks=DEPLOYMENTS)
        slider = Slider(KNOBS["epsilon"], lambda each: (method(each),))
        moved = [*link, ("epsilon", KNOBS["epsilon"].format(epsilon)), (morse.TAB.name, str(state.value(morse.TAB)))]
        picture = show(page, slider, epsilon, noise, view, moved)
        morse.follow_click(picture)
        two_worlds.follow_click(page, picture)

    with page.slider:
        epsilon_and_picture()

    def many() -> None:
        """Draw many runs: what they release, one after another, and how often the clusters are right."""
        if not page.public:  # below is said why
            outcomes.many(page, method, KNOBS["epsilon"], noise, replace(view, surface=False))
        morse.many_runs(page, algorithm.Params(**chosen), noise, KNOBS["epsilon"])

    what = two_worlds.WorldsTab(lambda: method(float(state.value(KNOBS["epsilon"]))), morse.PEAK)
    tabs = {
        "runs": many,
        "worlds": lambda: two_worlds.worlds(page, what, noise, view),
        "reproduction": lambda: reproduction.tables("morse"),
    }
    with page.more_pictures:
        reading.fill(morse.TAB, "morse", tabs)
    frame.show_problems(page.problems)  # what came up in the open tab


OWN = (morse.MOVES, morse.FIRST, morse.SECOND, morse.RELIEF, morse.RUNS)
PAGE = Page(draw, (*OWN, *outcomes.KNOBS, *two_worlds.KNOBS))
