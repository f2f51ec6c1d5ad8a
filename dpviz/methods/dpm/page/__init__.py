"""DPM: move ε, and watch the box being cut where it is empty, level by level."""

from dataclasses import replace

import streamlit as st

from dpviz.methods.dpm import METHOD, algorithm, story
from dpviz.methods.dpm.page import knobs as dpm_knobs
from dpviz.methods.dpm.page import tabs as dpm_tabs
from dpviz.methods.dpm.story.told import TreeContext
from dpviz.stories.method import Page
from dpviz.tools.many_runs import page as outcomes
from dpviz.tools.two_worlds import page as two_worlds
from dpviz.ui import controls, frame, reading, reproduction, state
from dpviz.ui.deployments import DEPLOYMENTS
from dpviz.ui.setup import Setup
from dpviz.ui.show import Slider, impossible, recalled, show


def draw() -> None:
    """Draw the page."""
    page = frame.start(algorithm.TITLE, story.TERMS, what=controls.said(dpm_knobs.KNOBS["calibration"]))
    with page.first:
        calibration = dpm_knobs.calibration()
    with page.more:
        chosen = dpm_knobs.draw(page)
        noise = frame.seeds(page, start=False)
        view = frame.view(page, solid=True)
    dataset, adapt = page.source.dataset, two_worlds.adapter(dpm_tabs.TAB)

    def method(epsilon: float, node: int) -> Setup[algorithm.Params, TreeContext]:
        """Describe DPM with these knobs, looking into that node; raises ValueError for impossible ones."""
        params = algorithm.Params(epsilon=epsilon, calibration=calibration, **chosen)

        def prepare(told: TreeContext) -> TreeContext:
            """Add what only this page knows: the known classes, and the subset that is looked into."""
            return replace(told, classes=dataset.labels, chosen=node)

        return Setup(METHOD, METHOD.story, params, prepare=prepare, adds=node, adapt=adapt)

    def looked_into() -> int:
        """Return the subset that the strips and the picture look into."""
        return int(state.value(dpm_knobs.NODE))

    def now() -> Setup[algorithm.Params, TreeContext]:
        """Describe what the picture shows; raises ValueError where the knobs are impossible together."""
        return method(float(state.value(dpm_knobs.KNOBS["epsilon"])), looked_into())

    def recall() -> TreeContext | None:
        """Return the run that the picture shows, None where there is none."""
        try:
            return recalled(page, now(), noise)
        except ValueError:
            return None  # the place of the picture says why

    @st.fragment
    def epsilon_and_picture() -> None:
        """What ε moves, and nothing else, so that the picture answers at once."""
        unproved = page.source.dataset.bounds_from_data or (calibration == "published" and dataset.d > 1)
        note = story.not_established if dataset.bounds_from_data else story.unproved if unproved else story.allowed
        epsilon = controls.log_slider(dpm_knobs.KNOBS["epsilon"], note=note, marks=DEPLOYMENTS)
        node = looked_into()
        try:
            method(epsilon, node)
        except ValueError as error:
            impossible(page, str(error))
            return
        link = [("epsilon", dpm_knobs.KNOBS["epsilon"].format(epsilon)), *dpm_knobs.link(), *two_worlds.link(page)]
        link.append((dpm_tabs.TAB.name, state.value(dpm_tabs.TAB)))
        dpm_tabs.remember_looked()
        slider = Slider(dpm_knobs.KNOBS["epsilon"], lambda each: (method(each, node),))
        picture = show(page, slider, epsilon, noise, view, link)
        if picture is not None:
            dpm_tabs.follow_click(picture, "picture")
            two_worlds.follow_click(page, picture)

    with page.slider:
        epsilon_and_picture()

    def many() -> None:
        """Draw many runs: what they release, one after another, and where they cut."""

        def cuts(n_runs: int) -> None:
            """Draw where as many runs cut."""
            dpm_tabs.cuts(page, recall, noise, view, n_runs)

        epsilon = dpm_knobs.KNOBS["epsilon"]
        outcomes.many(page, lambda each: method(each, 0), epsilon, noise, view, bands=True, more=cuts)

    tabs = {
        "inside": lambda: dpm_tabs.inside(page, recall),
        "many": many,
        "quality": lambda: dpm_tabs.quality(page, recall, noise),
        "worlds": lambda: two_worlds.worlds(page, two_worlds.WorldsTab(now, planned=False), noise, view),
        "reproduction": lambda: reproduction.tables("dpm"),
    }
    with page.more_pictures:
        reading.fill(dpm_tabs.TAB, "dpm", tabs)
    frame.show_problems(page.problems)  # what came up in the open tab


PAGE = Page(draw, (*dpm_knobs.OWN, *outcomes.KNOBS, *two_worlds.KNOBS))
