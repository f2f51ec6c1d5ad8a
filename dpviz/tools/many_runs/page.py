"""Many runs of a page's method: outcomes as frames, their figures as dots, and one run at every stop of the slider.

The background process computes all runs; the browser plays them.
"""

import dataclasses
from collections.abc import Callable, Hashable, Sequence

import streamlit as st

from dpviz.core import Confidential, Knob, Points, friendly, immutable, unit_records
from dpviz.stories import View
from dpviz.stories import outcomes as story
from dpviz.stories.outcomes import Outcome
from dpviz.stories.view import Projection, project
from dpviz.tools.many_runs.runs import (
    Draws,
    RunsQuestion,
    cost_chart,
    epsilon_scene,
    lloyd_reference,
    outcomes,
    state_at,
)
from dpviz.ui import asking, controls, frame, state
from dpviz.ui.asking import Job
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import live
from dpviz.ui.runs import Noise, RunRequest, scalars, words_of

HEIGHT = 420  # CSS pixels
DOTS_HEIGHT = 250
BAND_HEIGHT = 280
OVER_HEIGHT, COST_HEIGHT = 460, 200
# Runs of one job.
BATCH = 5
# Runs at each other budget.
IN_BANDS = 10
# Budgets of the bands.
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
PUBLIC = "Every run is one more release, and their budgets add up: you see one."
RUNS = Knob("n_outcomes", "int", 40, "Runs", "More runs, steadier dots.", 10, 100)
VARY = Knob(
    "vary",
    "choice",
    "both",
    "What differs between runs",
    "The data stay the same. Noise is the price of privacy; a public seed chooses the start.",
    choices=(("both", "Both"), ("noise", "Noise"), ("start", "Start")),
)
# Value of VARY -> description of the runs.
DIFFERENCE = {
    "both": "each with its own start and noise",
    "noise": "all from one start, each with its own noise",
    "start": "all with the same noise, each with its own start",
}
KNOBS = (RUNS, VARY)
_BEYOND = "dpviz:outcomes-beyond"

# Maps a budget to the method at that budget.
Describe = Callable[[float], RunRequest]


@immutable
class Backdrop(Confidential):
    """Marks behind the runs, in box units: public inputs, and the exact result."""

    given: Points | None = None
    exact: Points | None = None
    exact_name: str = "Without privacy"
    records: bool = True
    # Projection of the picture; None: the view's own projection.
    plane: Projection | None = None


@state.fragment
def many(
    page: PageFrame,
    describe: Describe,
    budget: Knob,
    noise: Noise,
    view: View,
    *,
    fields: tuple[tuple[str, Hashable], ...] = (),
    stand: Callable[[], Backdrop] = Backdrop,
    bands: bool = False,
    more: Callable[[int], None] | None = None,
) -> None:
    """Draw many runs at the slider's budget, which is read when they begin: the slider has its own fragment.

    `fields` of the runs are known only to the page. `bands` adds the figure against the budget. `more` draws below the
    outcomes, for the same number of runs.
    """
    if page.public:
        st.info(PUBLIC)
        return
    now = float(state.value(budget))
    grid = sorted({*(at for at in EPSILONS if budget.low <= at <= budget.high), now}) if bands else []
    try:
        method = describe(now)
        others = [describe(at) for at in grid]
    except ValueError as error:
        state.error(error)
        return
    knobs_column, button_column = st.columns([3, 2], vertical_alignment="bottom")
    with knobs_column:
        n_runs = int(controls.control(RUNS)) // BATCH * BATCH
        vary = str(controls.control(VARY) if method.algorithm.has_start else VARY.default)
        difference = DIFFERENCE[vary] if method.algorithm.has_start else "each with its own noise"
    with button_column:
        if st.button(
            "New noise for all runs",
            key="outcomes-new",
            width="stretch",
            help="Same data and starts, different noise, here and in the picture above.",
        ):
            frame.renew(secret=noise.secret)
            st.rerun(scope="app")
    seed, units = noise.seed_for(page.source).value, page.dataset.units

    def job(request: RunRequest, first: int, count: int) -> Job:
        question = RunsQuestion(request.algorithm.name, scalars(request.params), units, fields, request.params)
        return Job(outcomes, (question, Draws(seed, first, count, vary)), classified=True, n_runs=count)

    jobs = [job(method, first, BATCH) for first in range(0, n_runs, BATCH)]
    n_batches = len(jobs)
    jobs += [job(each, 0, IN_BANDS) for each in others]
    answers = asking.ask(
        page.source,
        jobs,
        what="batches of runs",
        key="wait-outcomes",
        secret=noise.secret,
        public=page.public,
        when_seen=True,
    )
    batches, band_runs = answers.found[:n_batches], answers.found[n_batches:]
    if answers.problem:
        state.error(answers.problem)
    elif any(batch is None for batch in batches):
        st.caption("The first results are on their way.")
    else:
        runs: list[Outcome] = [each for batch in batches for each in batch]
        behind, dataset, words = stand(), page.dataset, words_of(page.source)
        unit = unit_records(dataset.points, dataset.box)
        scene = story.scene(
            runs,
            project(view, words, unit) if behind.plane is None else behind.plane,
            words,
            unit=unit if behind.records else None,
            inputs=behind.given,
            exact=behind.exact,
            exact_name=behind.exact_name,
        )
        live(scene, key="outcomes", height=HEIGHT)
        _draw_dots(runs, difference)
        if bands and all(batch is not None for batch in band_runs):
            figures = [story.values_of(batch) for batch in band_runs]
            symbol = "ρ" if budget.name == "rho" else "ε"
            chart = story.band_chart(grid, figures, runs[0].figure, now=now, symbol=symbol)
            live(chart, key="outcome-bands", height=BAND_HEIGHT)
    if more is not None:
        more(n_runs)


def _draw_dots(runs: Sequence[Outcome], difference: str) -> None:
    """Draw the figures as dots, and the number of dots beyond a threshold that the reader moves.

    Other runs may have different stops. In that case, the slider is at the stop nearest to the reader's threshold.
    """
    values, figure = story.values_of(runs), runs[0].figure
    try:
        stops = story.thresholds(values)
    except ValueError as error:
        st.caption(str(error))
        return
    beyond, key = f"{_BEYOND}:{figure.name}:{figure.unit}", f"outcomes-threshold-{figure.name}"
    last: float | None = st.session_state.get(beyond)
    start = story.usual_threshold(values, figure) if last is None else min(stops, key=lambda at: abs(at - last))
    if st.session_state.get(key) not in stops:
        st.session_state[key] = start

    def words(stop: float) -> str:
        return story.round_words(stop, figure)

    threshold = float(st.select_slider("Beyond", stops, format_func=words, key=key))
    if threshold != start:
        st.session_state[beyond] = threshold
    st.markdown(f"**{state.plain(story.words(values, figure, threshold))}**")
    live(story.dot_chart(values, figure, threshold), key="outcome-dots", height=DOTS_HEIGHT, follow="outcomes")
    st.caption(f"{len(values)} runs, {difference}. Exact, like everything here: not a release.")


@state.fragment
def over(page: PageFrame, describe: Describe, epsilon: Knob, noise: Noise, view: View) -> None:
    """Draw one method over all stops of the slider of `epsilon`, with the same random numbers at each.

    While that slider moves, nothing here is computed or transferred again.
    """
    if page.public:
        st.info("Each ε is a separate release, and their budgets add up. Only the curator sees them.")
        return
    stops = friendly(epsilon.low, epsilon.high)
    try:
        methods = [describe(stop) for stop in stops]
    except ValueError as error:
        state.error(error)
        return
    seed = noise.seed_for(page.source).value
    named_params = [
        tuple(
            (field.name, getattr(method.params, field.name))
            for field in dataclasses.fields(method.params)
            if field.init
        )
        for method in methods
    ]
    name = methods[0].algorithm.name
    jobs = [Job(lloyd_reference, (name, named_params[-1], seed))]
    jobs += [
        Job(state_at, (name, params, stop, seed, len(stops))) for params, stop in zip(named_params, stops, strict=True)
    ]
    answers = asking.ask(
        page.source, jobs, what="Values of ε", follow="", key="wait-play", secret=noise.secret, public=page.public
    )
    if answers.problem:
        state.error(answers.problem)
    elif answers.complete:
        (centers, floor), *states = answers.found
        dataset, start = page.dataset, float(state.value(epsilon))
        unit = dataset.box.to_unit(dataset.points)
        scene = epsilon_scene(states, unit, centers, words_of(page.source), view, start=start)
        live(scene, key="over", height=OVER_HEIGHT)
        live(cost_chart(states, floor), key="over-cost", height=COST_HEIGHT, follow="over")
