"""Play over ε: one method at every stop of the slider, computed in the background and scrubbed in the browser."""

import dataclasses
from collections.abc import Callable

import streamlit as st

from dpviz.core import Knob, friendly
from dpviz.stories import View
from dpviz.tools.many_runs import stops as play_tasks
from dpviz.tools.many_runs import story as over_epsilon
from dpviz.ui import asking, state
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import live
from dpviz.ui.runs import AnyRun, Noise, RunRequest, words_of
from dpviz.ui.server.background import Answers, Job

HEIGHT = 460
CHART_HEIGHT = 200
PUBLIC = "Each ε is a separate release, and their budgets add up. Only the curator sees them."

Describe = Callable[[float], RunRequest[AnyRun]]  # epsilon -> the method at that epsilon


def over(frame: PageFrame, describe: Describe, epsilon: Knob, noise: Noise, shown: View) -> None:
    """Draw one method over all stops of the slider of `epsilon`, with the same random numbers at each.

    While that slider moves, nothing here is computed or sent again.
    """
    if frame.public:
        st.info(PUBLIC)
        return
    _over(frame, describe, epsilon, noise, shown)


@st.fragment
def _over(frame: PageFrame, describe: Describe, epsilon: Knob, noise: Noise, shown: View) -> None:
    if state.is_blank():
        return
    stops = friendly(epsilon.low, epsilon.high)
    try:
        methods = [describe(stop) for stop in stops]
    except ValueError as error:
        st.error(state.plain(str(error)))
        return
    seed = noise.seed_for(frame.source).value
    jobs = [_lloyd_job(methods[-1], seed)]
    jobs += [_job(method, stop, seed, len(stops)) for method, stop in zip(methods, stops, strict=True)]
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
        _draw(frame, answers, shown, float(state.value(epsilon)))


def _draw(frame: PageFrame, answers: Answers, shown: View, epsilon: float) -> None:
    (centers, floor), *states = answers.found
    dataset = frame.source.dataset
    unit = dataset.box.to_unit(dataset.points)
    scene = over_epsilon.scene(states, unit, centers, words_of(frame.source), shown, start=epsilon)
    live(scene, key="over", height=HEIGHT)
    live(over_epsilon.cost_chart(states, floor), key="over-cost", height=CHART_HEIGHT, follow="over")


def _job(method: RunRequest[AnyRun], epsilon: float, seed: int, n_stops: int) -> Job:
    return Job(play_tasks.state_at, (method.algorithm.name, _given(method), epsilon, seed, n_stops))


def _lloyd_job(method: RunRequest[AnyRun], seed: int) -> Job:
    given = (method.algorithm.name, _given(method), seed)
    return Job(play_tasks.lloyd_beside, given)


def _given(method: RunRequest[AnyRun]) -> play_tasks.Given:
    params = method.params
    return tuple((field.name, getattr(params, field.name)) for field in dataclasses.fields(params) if field.init)
