"""Under the source-target picture: what every method costs over many runs, and what one source record changes."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpviz.baselines.source_target_rivals import ABSENT
from dpviz.core import Knob
from dpviz.methods.source_target.algorithm import Params
from dpviz.methods.source_target.page.data import SHELF
from dpviz.methods.source_target.page.knobs import BUDGET, KNOBS
from dpviz.methods.source_target.story import batches as source_target_tasks
from dpviz.methods.source_target.story import change as story
from dpviz.methods.source_target.story import many as target_many
from dpviz.methods.source_target.story.layers import PICK, thinning
from dpviz.methods.source_target.story.many import N_PRIVATE, CostQuestion, Costs
from dpviz.stories import View, Words
from dpviz.stories.panel import ceiled, counted, floored, number
from dpviz.tools.two_worlds import page as two_worlds
from dpviz.ui import asking, controls, reading, reproduction, screen, state
from dpviz.ui.asking import wait
from dpviz.ui.controls import set_epsilon
from dpviz.ui.data.picker import choose
from dpviz.ui.export.listed import listed
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import LiveState, live
from dpviz.ui.runs import Noise, scalars
from dpviz.ui.server.background import Job

CHART_HEIGHT = 340
PAIR_HEIGHT = 480
TABLES = (reproduction.FOLDER / "source_target.json").is_file()
TAB = Knob(
    "below",
    "choice",
    "costs",
    "Under the picture",
    "",
    choices=(
        ("costs", "Cost of every method"),
        ("runs", "Many runs"),
        ("record", "One record"),
        two_worlds.CHOICE,
        *([("reproduction", "Reproduction")] if TABLES else []),
        reading.CHOICE,
    ),
)
RECORD = replace(two_worlds.RECORD, label="Source record")
POINT = "Noisy average"  # what two worlds are told apart by
LOOKING = ("record", "worlds")  # tabs that look at one record
WHAT = Knob(
    "change",
    "choice",
    "remove",
    "What happens to it",
    "Removing is the neighbor that the guarantee speaks of; moving is removing and adding.",
    choices=(("remove", "It is removed"), ("move", "It is moved")),
)
RUNS = Knob("n_cost_runs", "int", 10, "Runs of each method", "More runs, steadier bands.", 5, 30, 5, 30)
CENTERS = (1, 2, 4, 8, 16, 32)
BUDGETS = {"epsilon": (0.1, 0.3, 1.0, 3.0, 10.0), "rho": (0.01, 0.1, 0.5, 3.0, 10.0)}
WORST = {"n_centers": 2, "coreset_radius": 0.01, "method": "nna", "noise": "laplace"}  # observation 4.2: copies share
WORST_EPSILON = 0.1
_CLICK = "dpviz:source-click"


def link() -> list[tuple[str, str]]:
    """Return what this module adds to the link."""
    return [(knob.name, knob.format(state.value(knob))) for knob in (TAB, WHAT)]


def looked_at(frame: PageFrame) -> int | None:
    """Return the row of the record that the reader looks at, None where nobody looks or there is none."""
    n = frame.source.dataset.n
    return min(int(state.value(RECORD)), n - 1) if n and state.value(TAB) in LOOKING else None


def follow_click(frame: PageFrame, picture: LiveState | None) -> None:
    """Look at the record that was clicked, once for each click."""
    if picture is None or picture.picked != PICK or picture.pick_count == st.session_state.get(_CLICK):
        return
    st.session_state[_CLICK] = picture.pick_count
    if picture.picked_mark is None:
        return
    row = picture.picked_mark * thinning(frame.source.dataset.n)
    state.remember(RECORD, row)
    if state.value(TAB) not in LOOKING:
        state.remember(TAB, "record")
    st.rerun(scope="app")


def costs(frame: PageFrame, params: Params, noise: Noise, budget: Knob) -> None:
    """Draw every method's cost over many runs. The budget is read when they begin: the slider's fragment moves it."""
    if frame.public:
        st.info("Costs are exact, and each run is a separate release. Only the curator sees them.")
        return
    _costs(frame, params, noise, budget)


@st.fragment
def _costs(frame: PageFrame, params: Params, noise: Noise, budget: Knob) -> None:
    if state.is_blank():
        return
    n_runs, now = int(controls.control(RUNS)), float(state.value(budget))
    k, seed = params.n_centers, noise.seed_for(frame.source).value
    ks = sorted({each for each in CENTERS if each <= len(params.targets)} | {min(k, len(params.targets))})
    grid = sorted({*BUDGETS[budget.name], now})
    each = {at: _at(params, budget, at) for at in grid}
    asked = [
        CostQuestion.of(each[now], ks),
        *(CostQuestion.of(each[at], (min(k, len(params.targets)),)) for at in grid),
    ]
    jobs = [
        Job(source_target_tasks.many_runs, (question, n_runs, seed), n_runs=N_PRIVATE * n_runs) for question in asked
    ]
    answers = asking.ask(
        frame.source,
        jobs,
        what=f"Budgets, {n_runs} runs each",
        key="wait-source-target",
        secret=noise.secret,
        public=frame.public,
    )
    if answers.problem:
        st.error(state.plain(answers.problem))
        return
    _draw(
        frame,
        budget,
        now,
        min(k, len(params.targets)),
        answers.found[0],
        dict(zip(grid, answers.found[1:], strict=True)),
    )


def _at(params: Params, budget: Knob, value: float) -> Params:
    epsilon, rho = (value if budget.name == name else None for name in ("epsilon", "rho"))
    return replace(params, epsilon=epsilon, rho=rho)


def _draw(
    frame: PageFrame, budget: Knob, now: float, k: int, over_k: Costs | None, known: dict[float, Costs | None]
) -> None:
    symbol, unit = "ρ" if budget.name == "rho" else "ε", _unit(frame)
    if over_k is None:
        st.caption("The first runs are on their way.")
        return
    *private, ignorant, floor = target_many.medians(over_k, k)
    best = int(np.argmin(private))
    share = "no better than" if private[best] >= ignorant else "better than"
    st.markdown(
        f"At {symbol} = {number(now)} and k = {k} the best private method is **{target_many.METHODS[best]}**: "
        f"{number(private[best])}{unit}, {share} ignoring the source ({number(ignorant)}{unit}). "
        f"Without privacy: {number(floor)}{unit}."
    )
    live(target_many.k_chart(over_k, k, f"{symbol} = {number(now)}", unit), key="cost-k", height=CHART_HEIGHT)
    done = {at: one for at, one in known.items() if one is not None}
    if len(done) > 1:
        chart = target_many.budget_chart(list(done), list(done.values()), now, symbol, unit)
        live(chart, key="cost-budget", height=CHART_HEIGHT)
        if len(done) == len(known):
            st.caption(target_many.reversal(list(done), list(done.values()), now, symbol))
    st.caption(f"The paper's fourth comparator, DP-GAN, is {ABSENT}.")


def record(frame: PageFrame, params_at: Callable[[float], Params], budget: Knob, noise: Noise, shown: View) -> None:
    """Draw what one source record changes under the same noise, and the preset where one record decides."""
    st.button("Show the pair where one record decides", on_click=_worst_case, help="Observation 4.2 of the paper.")
    row = looked_at(frame)
    if frame.public:
        st.info("Two runs with the same noise show the record: they are the curator's. You see one release.")
        return
    if row is None:
        st.info("There is no source record to look at.")
        return
    n = frame.source.dataset.n
    controls.control(RECORD)
    if int(state.value(RECORD)) >= n:
        st.caption(f"There are {n:,} records: this is the last, row {row}.")
    _record(frame, row, params_at, budget, noise, shown)


@st.fragment
def _record(
    frame: PageFrame, row: int, params_at: Callable[[float], Params], budget: Knob, noise: Noise, shown: View
) -> None:
    if state.is_blank():
        return
    params, dataset = params_at(float(state.value(budget))), frame.source.dataset
    what = controls.control(WHAT)
    place = two_worlds.stated_place(frame, shown, dataset.points[row]) if what == "move" else None
    screen.follow([(WHAT.name, str(what)), *two_worlds.link(frame)], key="address-record")
    seen = story.change(dataset.points, dataset.box, params, row, place, noise.seed_for(frame.source).value)
    wait(done=1, all=1, what="", follow="picture", key="wait-record")
    if noise.seed_for(frame.source).secret:
        asking.count(frame.source, {(scalars(params), row, None if place is None else tuple(place.tolist())): 2})
        asking.tally(frame.source)
    _say(frame, params, seen)
    words = Words(dataset.title, dataset.box, dataset.feature_names, dataset.units, not dataset.bounds_from_data)
    live(story.change_scene(seen, params, words, shown), key="record", height=PAIR_HEIGHT)
    listed(pd.DataFrame(story.rows_of(seen, _unit(frame))), hide_index=True)
    if noise.seed_for(frame.source).secret:
        st.caption("Both runs have noise of this session, other than the picture's: secret noise is not drawn twice.")


def _say(frame: PageFrame, params: Params, seen: story.SourceChange) -> None:
    """Say in words what changed, and for observation 4.2's pair what no private method can avoid."""
    n_before, n_after = len(seen.before.release.centers), len(seen.after.release.centers)
    st.markdown(
        f"{counted(n_before, 'noisy average')} before, {n_after} after; largest shift: {number(seen.farthest)}"
        f"{_unit(frame)}. New centers that change: **{seen.n_centers_changed} of {len(seen.after.release.selected)}**."
    )
    if frame.source.key[0] != "worst_case":
        return
    promised = seen.before.guarantee.stated
    k = int(dict(frame.source.key[-1])["centers"])
    extra, chance = story.observation(k, promised.epsilon, promised.delta)
    st.markdown(
        f"Observation 4.2, for k = {k}: with or without that record, any method that keeps ε = "
        f"{ceiled(promised.epsilon)} costs at least {floored(extra)} more than the best, in at least "
        f"{floored(100 * chance)} of 100 runs on one of the two. One record moves the best cost by a constant "
        "(observation 4.1), so that no private method is good on every input."
    )
    if params.n_centers != k:
        st.caption(f"The page's k is {params.n_centers}: the observation is about {k}.")


def _worst_case() -> None:
    """Load observation 4.2: its pair, its k, a small ε, and look at the one record."""
    choose("worst_case", SHELF)
    chosen: dict[Knob, Any] = {KNOBS[name]: value for name, value in WORST.items()}
    for knob, value in {**chosen, BUDGET: "epsilon", RECORD: 0, WHAT: "remove", TAB: "record"}.items():
        state.remember(knob, value)
    set_epsilon(state.widget_key("epsilon"), WORST_EPSILON)


def _unit(frame: PageFrame) -> str:
    units: Sequence[str] = frame.source.dataset.units
    return f" {units[0]}" if len(set(units)) == 1 and units[0] else ""
