"""Many runs of the method on the page: outcomes that play, their figures as dots, and what the budget changes."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dpviz.core import Confidential, Knob, Points, unit_records
from dpviz.plots import Scene
from dpviz.stories import View, quantile_dots
from dpviz.stories import outcomes as story
from dpviz.stories.outcomes import Outcome
from dpviz.stories.view import Projection, project
from dpviz.tools.many_runs import batches as outcome_tasks
from dpviz.tools.many_runs.batches import Draws, RunsQuestion
from dpviz.ui import asking, controls, frame, state
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import live
from dpviz.ui.runs import AnyRun, Noise, RunRequest, scalars, words_of
from dpviz.ui.server.background import Job

HEIGHT = 420  # CSS pixels
DOTS_HEIGHT = 250
BAND_HEIGHT = 280
BATCH = 5  # runs of one job
IN_BANDS = 10  # runs at each other budget
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)  # of the bands
PUBLIC = "Every run is one more release, and their budgets add up: you see one."
RUNS = Knob("n_outcomes", "int", 40, "Runs", "More runs, steadier dots.", 10, 100, 10, 100)
VARY = Knob(
    "vary",
    "choice",
    "noise",
    "What differs between runs",
    "The data stay as they are. Noise is what privacy costs; the start is chosen by a public seed.",
    choices=(("noise", "Noise"), ("start", "Start"), ("both", "Both")),
)
KNOBS = (RUNS, VARY)
NEW_NOISE = "Same data, same start, other noise, here and in the picture above."
_BEYOND = "dpviz:outcomes-beyond"

Describe = Callable[[float], RunRequest[AnyRun]]  # budget -> the method at that budget


@dataclass(frozen=True, slots=True, eq=False)
class Backdrop(Confidential):
    """What stands behind the runs, box units: public inputs, and what no privacy would give."""

    given: Points | None = None
    exact: Points | None = None
    exact_name: str = "Without privacy"
    records: bool = True
    plane: Projection | None = None  # where the story has another than the view's own


def many(
    page: PageFrame,
    describe: Describe,
    budget: Knob,
    noise: Noise,
    shown: View,
    *,
    fields: tuple[tuple[str, Hashable], ...] = (),
    stand: Callable[[], Backdrop] = Backdrop,
    bands: bool = False,
    more: Callable[[int], None] | None = None,
) -> None:
    """Draw many runs at the slider's budget, which is read when they begin: the slider's own fragment moves it.

    `fields` of the runs are what only the page knows; `bands` adds the figure against the budget; `more` draws below
    what else the page shows of as many runs.
    """
    if page.public:
        st.info(PUBLIC)
        return
    _many(more, page, describe, budget, noise, shown, fields, stand, bands)


@st.fragment
def _many(more: Callable[[int], None] | None, *asked: Any) -> None:
    """Draw what `_outcomes` is asked, and what the page adds below it."""
    if state.is_blank():
        return
    n_runs = _outcomes(*asked)
    if n_runs is not None and more is not None:
        more(n_runs)


def _outcomes(
    page: PageFrame,
    describe: Describe,
    budget: Knob,
    noise: Noise,
    shown: View,
    fields: tuple[tuple[str, Hashable], ...],
    stand: Callable[[], Backdrop],
    bands: bool,
) -> int | None:
    """Draw the runs, those that are there; returns how many are asked for, None where there is no run."""
    now = float(state.value(budget))
    grid = sorted({*(at for at in EPSILONS if budget.low <= at <= budget.high), now}) if bands else []
    try:
        method = describe(now)
        others = [describe(at) for at in grid]
    except ValueError as error:
        st.error(state.plain(str(error)))
        return None
    n_runs, vary = _controls(noise, started=method.algorithm.has_start)
    seed = noise.seed_for(page.source).value
    jobs = [_job(page, method, fields, Draws(seed, first, BATCH, vary)) for first in range(0, n_runs, BATCH)]
    n_batches = len(jobs)
    jobs += [_job(page, each, fields, Draws(seed, 0, IN_BANDS, vary)) for each in others]
    answers = asking.ask(
        page.source, jobs, what="batches of runs", key="wait-outcomes", secret=noise.secret, public=page.public
    )
    if answers.problem:
        st.error(state.plain(answers.problem))
        return n_runs
    first, rest = answers.found[:n_batches], answers.found[n_batches:]
    if any(part is None for part in first):
        st.caption("The first runs are on their way.")
        return n_runs
    found = [each for part in first for each in part]
    _play(page, found, shown, stand())
    _dots(found)
    if bands and all(part is not None for part in rest):
        figures = [story.values_of(part) for part in rest]
        symbol = "ρ" if budget.name == "rho" else "ε"
        chart = quantile_dots.band_chart(grid, figures, found[0].figure, now=now, symbol=symbol)
        live(chart, key="outcome-bands", height=BAND_HEIGHT)
    return n_runs


def _controls(noise: Noise, *, started: bool) -> tuple[int, str]:
    """Draw the number of runs, what differs between them, and the button for new noise."""
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        n_runs = int(controls.control(RUNS)) // BATCH * BATCH
        vary = str(controls.control(VARY)) if started else "noise"
    with right:
        if st.button("New noise for all runs", key="outcomes-new", width="stretch", help=NEW_NOISE):
            frame.renew(secret=noise.secret)
            st.rerun(scope="app")
    return n_runs, vary


def _play(page: PageFrame, found: Sequence[Outcome], shown: View, behind: Backdrop) -> None:
    dataset, words = page.source.dataset, words_of(page.source)
    unit = unit_records(dataset.points, dataset.box)
    plane = project(shown, words, unit) if behind.plane is None else behind.plane
    scene: Scene = story.scene(
        found,
        plane,
        words,
        unit=unit if behind.records else None,
        inputs=behind.given,
        exact=behind.exact,
        exact_name=behind.exact_name,
    )
    live(scene, key="outcomes", height=HEIGHT)


def _dots(found: Sequence[Outcome]) -> None:
    """Draw the figures as dots, and say how many lie beyond a threshold that the reader moves."""
    values, figure = story.values_of(found), found[0].figure
    try:
        stops = quantile_dots.thresholds(values)
    except ValueError as error:
        st.caption(str(error))
        return
    usual = quantile_dots.usual_threshold(values, figure)
    chosen = _threshold(stops, usual, figure)
    st.markdown(f"**{state.plain(quantile_dots.words(values, figure, chosen))}**")
    live(quantile_dots.dot_chart(values, figure, chosen), key="outcome-dots", height=DOTS_HEIGHT, follow="outcomes")
    st.caption(f"{len(values)} runs. Exact, like everything here: not a release.")


def _threshold(stops: Sequence[float], usual: float, figure: story.Figure) -> float:
    """Draw the threshold's slider; other runs may have other stops, and then it stands at the nearest of them."""
    kept_at, key = f"{_BEYOND}:{figure.name}:{figure.unit}", f"outcomes-threshold-{figure.name}"
    kept: Any = st.session_state.get(kept_at)
    start = usual if kept is None else min(stops, key=lambda each: abs(each - kept))
    if st.session_state.get(key) not in stops:
        st.session_state[key] = start

    def words(stop: float) -> str:
        return quantile_dots.round_words(stop, figure)

    chosen = float(st.select_slider("Beyond", stops, format_func=words, key=key))
    if chosen != start:
        st.session_state[kept_at] = chosen
    return chosen


def _job(page: PageFrame, method: RunRequest[AnyRun], fields: tuple[tuple[str, Hashable], ...], draws: Draws) -> Job:
    asked = RunsQuestion(
        method.algorithm.name, scalars(method.params), page.source.dataset.units, fields, method.params
    )
    return Job(outcome_tasks.outcomes, (asked, draws), classified=True, n_runs=draws.count)
