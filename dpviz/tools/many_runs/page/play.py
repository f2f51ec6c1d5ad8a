"""One method at every stop of the ε slider, computed in the background and played in the browser."""

import dataclasses
from collections.abc import Callable

import streamlit as st

from dpviz.core import Knob, friendly
from dpviz.stories import View
from dpviz.tools.many_runs import over_epsilon
from dpviz.ui import asking, state
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import live
from dpviz.ui.runs import AnyRun, Noise, RunRequest, words_of
from dpviz.ui.server.background import Job

HEIGHT = 460
CHART_HEIGHT = 200
PUBLIC = "Each ε is a separate release, and their budgets add up. Only the curator sees them."

Describe = Callable[[float], RunRequest[AnyRun]]  # epsilon -> the method at that epsilon


def over(frame: PageFrame, describe: Describe, epsilon: Knob, noise: Noise, view: View) -> None:
    """Draw one method over all stops of the slider of `epsilon`, with the same random numbers at each.

    While that slider moves, nothing here is computed or transferred again.
    """
    if frame.public:
        st.info(PUBLIC)
        return
    _over(frame, describe, epsilon, noise, view)


@st.fragment
def _over(frame: PageFrame, describe: Describe, epsilon: Knob, noise: Noise, view: View) -> None:
    if state.is_blank():
        return
    stops = friendly(epsilon.low, epsilon.high)
    try:
        methods = [describe(stop) for stop in stops]
    except ValueError as error:
        st.error(state.plain(str(error)))
        return
    seed = noise.seed_for(frame.source).value
    named_params = [
        tuple(
            (field.name, getattr(method.params, field.name))
            for field in dataclasses.fields(method.params)
            if field.init
        )
        for method in methods
    ]
    name = methods[0].algorithm.name
    jobs = [Job(over_epsilon.lloyd_reference, (name, named_params[-1], seed))]
    jobs += [
        Job(over_epsilon.state_at, (name, params, stop, seed, len(stops)))
        for params, stop in zip(named_params, stops, strict=True)
    ]
    answers = asking.ask(
        frame.source,
        jobs,
        what="Values of ε",
        follow="",
        key="wait-play",
        secret=noise.secret,
        public=frame.public,
    )
    if answers.problem:
        st.error(state.plain(answers.problem))
    elif answers.complete:
        (centers, floor), *states = answers.found
        dataset, start = frame.source.dataset, float(state.value(epsilon))
        unit = dataset.box.to_unit(dataset.points)
        scene = over_epsilon.scene(states, unit, centers, words_of(frame.source), view, start=start)
        live(scene, key="over", height=HEIGHT)
        live(over_epsilon.cost_chart(states, floor), key="over-cost", height=CHART_HEIGHT, follow="over")
