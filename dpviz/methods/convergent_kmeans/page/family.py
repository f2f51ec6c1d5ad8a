"""The k-means family on a page: which method is shown, its own knobs, and all methods beside each other."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import Knob, knobs
from dpviz.data.synthetic import STAND_INS
from dpviz.methods.convergent_kmeans.story import family_batches as family_tasks
from dpviz.methods.convergent_kmeans.story.budget_chart import budget_chart
from dpviz.methods.convergent_kmeans.story.family_runs import METHODS, FamilyQuestion, MethodRuns
from dpviz.stories import family_charts as charts
from dpviz.stories.panel import ceiled, chance_limit, number
from dpviz.tools.two_worlds import page as two_worlds
from dpviz.ui import asking, controls, reading, state
from dpviz.ui.export.listed import listed
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import live
from dpviz.ui.runs import Noise
from dpviz.ui.server.background import Answers, Job
from dpviz.ui.show import IMPOSSIBLE

CHART_HEIGHT = 360
BUDGET_HEIGHT = 520
CLAIMED = ("lloyd", "past", "future")  # nothing is proved, and what they spend follows from the records
STARTED = ("repaired", "published", "both", "lloyd", "blum", "dwork", "su", "fastlloyd")  # the start is a choice
EPSILONS = {"total": (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0), "step": (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)}
FAMILY = tuple(name for name in BASELINES if name in METHODS)  # a baseline may belong to another page
INVENTED = (
    f"Computed on {STAND_INS} invented records, so that this view is no release. Where the number of steps follows the "
    "noisy number of records, it is that of so few."
)
COMMON = ("n_clusters", "epsilon", "start")  # knobs that methods share

METHOD = Knob(
    "mode",
    "choice",
    "repaired",
    "Method",
    "Whose picture you see. Click a line under All methods to choose it there.",
    choices=(
        ("repaired", "Convergent, repaired"),
        ("published", "Convergent, as published"),
        ("both", "Both, side by side"),
        *((name, METHODS[name]) for name in FAMILY),
    ),
)
SPEND = Knob(
    "spend",
    "choice",
    "total",
    "Compare at",
    "Equal total: every method spends ε in all. Equal step: the paper's figure 7, where the published method spends "
    "ε in every step and the others get its total.",
    choices=(("total", "Equal total ε"), ("step", "Equal ε per step")),
)
TAB = Knob(
    "tab",
    "choice",
    "methods",
    "Under the picture",
    "",
    choices=(
        ("methods", "All methods"),
        ("runs", "Many runs"),
        ("play", "Play over ε"),
        ("budgets", "Budgets"),
        ("attack", "The attack"),
        two_worlds.CHOICE,
        ("reproduction", "Reproduction"),
        reading.CHOICE,
    ),
)
RUNS = Knob("n_runs", "int", 20, "Runs of each method", "More runs, steadier bands.", 5, 100, 5, 100)
# 0 stands for the method's own rule: method -> (parameter, label, help, most)
RULES: dict[str, tuple[str, str, str, int]] = {
    "blum": ("n_iterations", "Iterations T (0: five)", "How often the noisy means are computed.", 30),
    "dwork": ("n_iterations", "Iterations T (0: five)", "How often the noisy means are computed.", 30),
    "su": ("n_iterations", "Iterations T (0: the rule)", "The paper's rule follows the number of records.", 30),
    "fastlloyd": ("n_iterations", "Iterations T (0: the rule)", "The rule follows the number of records.", 30),
    "gupt": ("n_blocks", "Blocks (0: the rule)", "The paper's rule: the number of records to the power of 0.4.", 500),
    "privgene": ("n_rounds", "Rounds r (0: the rule)", "The rule is ours and follows the number of records.", 50),
    "eugkm": (
        "cells_per_axis",
        "Cells along each axis (0: the rule)",
        "The paper's rule follows the number of records.",
        200,
    ),
}
_CLICKS = "dpviz:clicks"
_SWITCHED = "dpviz:methods"

Options = tuple[tuple[str, str, Any], ...]


def own_knobs(method: str) -> tuple[tuple[str, Knob], ...]:
    """Return (parameter, knob) of what only this baseline has; the knob's name carries the method's."""
    if method not in FAMILY:
        return ()
    found = [(knob.name, knob) for knob in knobs(BASELINES[method].Params) if knob.name not in COMMON]
    if method in RULES:
        field, label, text, most = RULES[method]
        found.insert(0, (field, Knob(field, "int", 0, label, text, 0, most, 0, most)))
    return tuple((field, dataclasses.replace(knob, name=f"{method}_{field}")) for field, knob in found)


def page_knobs() -> tuple[Knob, ...]:
    """Return all knobs of this module but the choice of a tab."""
    return (METHOD, SPEND, RUNS, *(knob for method in FAMILY for _, knob in own_knobs(method)))


def draw_knobs(method: str) -> list[tuple[str, str]]:
    """Draw a baseline's own knobs and return their part of the link."""
    return [(knob.name, knob.format(controls.control(knob))) for _, knob in own_knobs(method)]


def options() -> Options:
    """Return what the reader has changed of any baseline, drawn now or not."""
    ruled = {(method, rule[0]) for method, rule in RULES.items()}
    return tuple(
        (method, field, None if (method, field) in ruled and value == 0 else value)
        for method in FAMILY
        for field, knob in own_knobs(method)
        for value in (state.value(knob),)
    )


def all_methods(frame: PageFrame, asked: FamilyQuestion, noise: Noise, epsilons: dict[str, Knob], chosen: str) -> None:
    """Draw many runs of every method that is switched on: cost by iteration, and against epsilon.

    `asked` has everything but epsilon, which is read when the runs begin: the slider's own fragment moves it.
    `epsilons` are its knobs, by `SPEND`'s choice.
    """
    if frame.public:
        st.info("Costs are exact, and each run is a separate release. Only the curator sees them.")
        return
    _all_methods(frame, asked, noise, epsilons, chosen)


@st.fragment
def _all_methods(frame: PageFrame, asked: FamilyQuestion, noise: Noise, epsilons: dict[str, Knob], chosen: str) -> None:
    if state.is_blank():
        return
    shown = st.pills(
        "Methods", list(METHODS), format_func=lambda name: METHODS[name], selection_mode="multi", **_kept_switches()
    )
    left, right = st.columns(2, vertical_alignment="bottom")
    with left:
        spend = controls.control(SPEND)
    with right:
        n_runs = int(controls.control(RUNS))
    names = [name for name in METHODS if name in shown or name == "lloyd"]
    epsilon = float(state.value(epsilons[spend]))
    question = dataclasses.replace(asked, epsilon=epsilon, spend=spend)
    grid = EPSILONS[spend]
    seed = noise.seed_for(frame.source).value
    jobs = [_job(name, question, n_runs, seed) for name in names]
    others = [dataclasses.replace(question, epsilon=at) for at in grid]
    jobs += [_job(name, other, n_runs, seed) for other in others for name in names]
    answers = asking.ask(
        frame.source, jobs, what=f"{n_runs} runs of each method", key="wait", secret=noise.secret, public=frame.public
    )
    if answers.problem:
        st.error(state.plain(answers.problem))
        return
    _draw(names, answers, epsilon, grid, spend, _mark(chosen))


def budgets(frame: PageFrame, asked: FamilyQuestion, noise: Noise, epsilon: Knob) -> None:
    """Draw how each method spends the same budget. Only what is proved is public: the others follow the records."""
    _budgets(frame, asked, noise, epsilon)


@st.fragment
def _budgets(frame: PageFrame, asked: FamilyQuestion, noise: Noise, epsilon: Knob) -> None:
    if state.is_blank():
        return
    question = dataclasses.replace(asked, epsilon=float(state.value(epsilon)))
    names = [name for name in METHODS if name not in (CLAIMED if frame.public else ("lloyd",))]
    if frame.public:
        jobs = [Job(family_tasks.public_account, (name, question), n_runs=0) for name in names]
    else:
        seed = noise.seed_for(frame.source).value
        jobs = [Job(family_tasks.account, (name, question, seed)) for name in names]
    answers = asking.ask(
        frame.source, jobs, what="Ledgers", key="wait-budgets", secret=noise.secret, public=frame.public
    )
    if answers.complete and not answers.problem:
        live(budget_chart(answers.found), key="budgets", height=BUDGET_HEIGHT)
        st.caption(f"ε = {number(question.epsilon)} in all. Red is claimed in print and not established.")
        if frame.public:
            st.caption(INVENTED)
    elif answers.problem:
        st.error(IMPOSSIBLE if frame.public else state.plain(answers.problem))


def _draw(
    names: Sequence[str], answers: Answers, epsilon: float, grid: Sequence[float], spend: str, chosen: str
) -> None:
    """Draw what is known so far."""
    now: list[MethodRuns | None] = list(answers.found[: len(names)])
    if now[0] is None:
        st.caption("The first runs are on their way.")
        return
    floor = float(np.median(now[0].nonprivate_final))
    known = [runs for runs in now if runs]
    longest = max(float(np.median(runs.n_iterations)) for runs in known) + 1.0
    steps = charts.cost_by_iteration([_by_iteration(runs) for runs in known], floor, longest=longest, chosen=chosen)
    _follow_click(live(steps, key="steps", height=CHART_HEIGHT), "steps")
    cells = answers.found[len(names) :]
    table = [cells[i :: len(names)] for i in range(len(names))]
    rows = list(zip(names, table, strict=True))[1:]  # Lloyd has no epsilon: it is the floor
    curves = [_by_epsilon(name, grid, row) for name, row in rows if any(row)]
    label = "ε" if spend == "total" else "ε per step"
    against = charts.cost_by_epsilon(curves, floor, epsilon=epsilon, label=label, chosen=chosen)
    _follow_click(live(against, key="against", height=CHART_HEIGHT), "against")
    _numbers(known, floor)


def _by_iteration(runs: MethodRuns) -> charts.CostSpread:
    held = runs.nonprivate_held
    x = np.arange(held.shape[1], dtype=np.float64)
    return charts.CostSpread(
        runs.method, METHODS[runs.method], _hue(runs.method), x, held, exact=runs.method == "lloyd"
    )


def _by_epsilon(name: str, grid: Sequence[float], cells: Sequence[MethodRuns | None]) -> charts.CostSpread:
    known = [(at, cell.nonprivate_final) for at, cell in zip(grid, cells, strict=True) if cell is not None]
    values = np.stack([final for _, final in known], axis=1)
    return charts.CostSpread(name, METHODS[name], _hue(name), np.array([at for at, _ in known]), values)


def _numbers(all_runs: Sequence[MethodRuns], floor: float) -> None:
    """Show the medians as a table, for whoever cannot see the charts or wants digits."""
    rows = [
        {
            "Method": METHODS[runs.method],
            "Cost, × Lloyd's": number(float(np.median(runs.nonprivate_final)) / floor) if floor > 0 else "not defined",
            "Iterations": number(float(np.median(runs.n_iterations))),
            "Iterations, × Lloyd's": number(float(np.mean(runs.n_iterations) / np.mean(all_runs[0].n_iterations))),
            "ε in all": ceiled(float(np.median(runs.spent))),
            "Guarantee": _promised(runs),
        }
        for runs in all_runs
    ]
    listed(pd.DataFrame(rows), hide_index=True)


def _promised(runs: MethodRuns) -> str:
    """Say what stands behind a method's ε; a method with Gaussian noise has a δ beside it."""
    if runs.method == "lloyd":
        return "none"
    said = "proved" if runs.proved else "claimed, not established"
    return f"{said}, with δ = {chance_limit(runs.delta)}" if runs.delta > 0 else said


def _hue(name: str) -> int:
    return max(0, list(METHODS).index(name) - 1)  # Lloyd's is gray


def _mark(chosen: str) -> str:
    """Return the line that belongs to the picture; two stand for the pair, of which the repaired one is drawn thick."""
    return {"published": "past", "both": "repaired"}.get(chosen, chosen)


def _follow_click(chart: Any, key: str) -> None:
    """Show the picture of the method whose line was clicked, once for each click."""
    seen: dict[str, int] = st.session_state.setdefault(_CLICKS, {})
    if chart.picked is None or chart.pick_count == seen.get(key):
        return
    seen[key] = chart.pick_count
    state.remember(METHOD, "published" if chart.picked in ("past", "future") else chart.picked)
    state.run_again()


def _job(name: str, question: FamilyQuestion, n_runs: int, seed: int) -> Job:
    return Job(family_tasks.many_runs, (name, question, n_runs, seed), n_runs=n_runs)


def _kept_switches() -> dict[str, Any]:
    """Keep the switches while another tab or page is shown: a widget that is not drawn forgets."""
    kept = st.session_state.get(_SWITCHED, list(METHODS))
    st.session_state["methods"] = kept
    return {"key": "methods", "on_change": _switched}


def _switched() -> None:
    st.session_state[_SWITCHED] = list(st.session_state["methods"])
