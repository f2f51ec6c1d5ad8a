"""A page made from the knobs of a method's parameters, for a method that brings no page of its own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from dpviz.core import Box, Knob, Result, knobs
from dpviz.stories.center_facts import allowed, not_established
from dpviz.stories.method import AnyMethod
from dpviz.tools.audit import page as audit_page
from dpviz.tools.many_runs import page as many_runs
from dpviz.tools.two_worlds import page as two_worlds
from dpviz.ui import controls, frame, reading, reproduction, state
from dpviz.ui.deployments import DEPLOYMENTS
from dpviz.ui.setup import AnySetup, Setup
from dpviz.ui.show import Slider, show

BUDGET = "epsilon"  # the parameter that the slider moves


def tabs_of(method: AnyMethod) -> Knob:
    """Return the choice of what stands under the picture of a method."""
    choices = [("runs", "Many runs"), two_worlds.CHOICE, audit_page.CHOICE]
    choices += [("reproduction", "Reproduction")] if reproduction.exists(method.name) else []
    choices += [reading.CHOICE] if method.reading is not None else []
    return Knob(f"{method.name}_tab", "choice", "runs", "Under the picture", "", choices=tuple(choices))


def unproved(_: float) -> str:
    """Say that a method comes with no proof, whatever its epsilon."""
    return "No limit is proved of this method as it is set."


def _is_proved(setup: Callable[[], AnySetup], box: Box) -> bool:
    """Whether a limit is proved with these knobs: a run on no records says so, as a guarantee is the same for all."""
    try:
        asked = setup()
        none = np.empty((0, box.d))
        run: Result[Any, Any] = asked.algorithm.fit(none, box, asked.params, rng=np.random.default_rng(0))
    except ValueError:  # it does not run; the picture's place says why
        return False
    return run.guarantee.proved is not None


def draw(method: AnyMethod) -> None:
    """Draw the page of a method. Raises KeyError where its parameters have no knob `epsilon`."""
    page = frame.start(method.title, method.story.terms)
    own = {knob.name: knob for knob in knobs(method.Params)}
    budget = own.pop(BUDGET)
    own.pop("start_seed", None)  # stands among the seeds
    with page.more:
        chosen = {name: controls.control(knob) for name, knob in own.items()}
        noise = frame.seeds(page, start=method.has_start)
        view = frame.view(page)
    if method.has_start:
        chosen["start_seed"] = state.value(frame.START_SEED)
    tab = tabs_of(method)
    adapt = two_worlds.adapter(tab)

    def setup(epsilon: float) -> AnySetup:
        """Describe the method with these knobs; raises ValueError where they are impossible together."""
        return Setup(method, method.story, method.Params(**{BUDGET: epsilon}, **chosen), adapt=adapt)

    proved = _is_proved(lambda: setup(float(budget.default or 1.0)), page.source.dataset.box)
    note = not_established if page.source.dataset.bounds_from_data else allowed if proved else unproved

    @st.fragment
    def epsilon_and_picture() -> None:
        """What ε moves, and nothing else, so that the picture answers at once."""
        epsilon = controls.log_slider(budget, note=note, marks=DEPLOYMENTS)
        link = [(name, own[name].format(value)) for name, value in chosen.items() if name in own]
        link += [(BUDGET, budget.format(epsilon)), (tab.name, str(state.value(tab))), *two_worlds.link(page)]
        slider = Slider(budget, lambda each: (setup(each),))
        two_worlds.follow_click(page, show(page, slider, epsilon, noise, view, link))

    with page.slider:
        epsilon_and_picture()
    now = two_worlds.WorldsTab(lambda: setup(float(state.value(budget))))
    contents: dict[str, Callable[[], None]] = {
        "runs": lambda: many_runs.many(page, setup, budget, noise, view),
        "worlds": lambda: two_worlds.worlds(page, now, noise, view),
        "audit": lambda: audit_page.tab(page, method.name),
    }
    if reproduction.exists(method.name):
        contents["reproduction"] = lambda: reproduction.tables(method.name)
    with page.more_pictures:
        if method.reading is not None:
            reading.fill(tab, method.name, contents)
        else:
            controls.fill(tab, contents)
    frame.show_problems(page.problems)  # what came up in the open tab
