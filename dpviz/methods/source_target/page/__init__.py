"""Source-target clustering: move ε, and watch what is released of a secret source, and the centers beside it."""

from typing import Any

import streamlit as st

from dpviz.methods.source_target import METHOD, algorithm, story
from dpviz.methods.source_target.page import data as source_target_data
from dpviz.methods.source_target.page import knobs as source_target_knobs
from dpviz.methods.source_target.page import tabs as source_target
from dpviz.methods.source_target.story.words import allowance
from dpviz.stories import center_facts
from dpviz.stories.method import Page
from dpviz.tools.many_runs import page as outcomes
from dpviz.tools.two_worlds import page as two_worlds
from dpviz.ui import controls, frame, reading, reproduction, state
from dpviz.ui.controls import DEPLOYMENTS
from dpviz.ui.runs import RunRequest, words_of
from dpviz.ui.show import Slider, show


def draw() -> None:
    """Draw the page."""
    method_of = controls.said(source_target_knobs.KNOBS["method"])
    page = frame.start(
        algorithm.TITLE, METHOD.run.terms, data="first_aid", own=source_target_data.SHELF, what=method_of
    )
    with page.first:
        targets = source_target_data.targets(page.source)
        first = source_target_knobs.first()
    with page.more:
        chosen: dict[str, Any] = source_target_knobs.more(**first)
        noise = frame.seeds(page, start=False)
        view = frame.view(page)
    budget = source_target_knobs.SLIDERS[first["budget"]]
    record = None if page.public else source_target.looked_at(page)
    proved = not page.source.dataset.bounds_from_data
    fields = {"targets_public": targets.public, "record": record, "target_classes": targets.classes}

    def params_at(value: float) -> algorithm.Params:
        """Return these knobs' parameters at a budget."""
        spent: dict[str, Any] = {budget.name: value}
        return algorithm.Params(targets=targets.points, ball=targets.ball, **spent, **chosen)

    def method(value: float) -> RunRequest[story.SourceTargetRun]:
        """Return what is run at a budget."""
        return RunRequest(METHOD, story.SourceTargetRun, params_at(value), fields=fields, spread=targets.spread)

    @st.fragment
    def budget_and_picture() -> None:
        """What the budget moves, and nothing else, so that the picture answers at once."""
        rho = budget.name == "rho"
        asked = params_at(float(state.value(budget)))
        note = allowance(words_of(page.source), asked) if proved else center_facts.not_established
        value = controls.log_slider(
            budget, note=note, marks=() if rho else DEPLOYMENTS, hint="" if rho else controls.HINT
        )
        slider = Slider(budget, lambda each: (method(each),))
        link = [
            *source_target_data.link(page.source),
            *source_target_knobs.link(),
            *source_target.link(),
            *two_worlds.link(page),
        ]
        picture = show(page, slider, value, noise, view, [*link, (budget.name, budget.format(value))])
        source_target.follow_click(page, picture)

    with page.slider:
        budget_and_picture()

    def stand() -> outcomes.Backdrop:
        """Return what stands behind the runs: the public targets."""
        return outcomes.Backdrop(page.source.dataset.box.to_unit(targets.points))

    now = two_worlds.WorldsTab(
        lambda: method(float(state.value(budget))), source_target.POINT, record=source_target.RECORD
    )
    tabs = {
        "costs": lambda: source_target.costs(page, params_at(float(state.value(budget))), noise, budget),
        "runs": lambda: outcomes.many(page, method, budget, noise, view, stand=stand),
        "record": lambda: source_target.record(page, params_at, budget, noise, view),
        "worlds": lambda: two_worlds.worlds(page, now, noise, view),
        "reproduction": lambda: reproduction.tables("source_target"),
    }
    with page.more_pictures:
        reading.fill(source_target.TAB, "source_target", tabs)
    frame.show_problems(page.problems)  # what came up in the open tab


OWN = (*source_target_data.OWN, *source_target_knobs.OWN, source_target.WHAT, source_target.RUNS)
PAGE = Page(draw, (*OWN, *outcomes.KNOBS, *two_worlds.KNOBS))
