"""Source-target clustering: move ε, and watch the release from a secret source, and the centers chosen for it."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from dpviz.baselines.source_target_rivals import ABSENT
from dpviz.core import Ball, Box, Guarantee, Knob, Labels, Points, immutable, knobs
from dpviz.data import Dataset
from dpviz.data.target_pairs import (
    DEFAULT_TARGETS,
    MOST_TARGETS,
    PAIRS,
    SourceTarget,
    load_pair,
    pair_knobs,
    pair_sizes,
    source_of,
    spread_targets,
)
from dpviz.method_page import MethodPage, under
from dpviz.methods.source_target import METHOD, charts, one_record
from dpviz.methods.source_target.algorithm import Params, guarantees
from dpviz.methods.source_target.charts import METHODS, N_PRIVATE, CostQuestion, Costs
from dpviz.methods.source_target.layers import PICK, thinning
from dpviz.methods.source_target.one_record import SourceChange
from dpviz.methods.source_target.run import unit_of_cost
from dpviz.stories.panel import ceiled, counted, floored, number
from dpviz.stories.recipe import TargetSpread
from dpviz.tools.many_runs import page as many_runs
from dpviz.tools.two_worlds import page as two_worlds
from dpviz.tools.two_worlds.page import WorldsTab
from dpviz.ui import asking, controls, stage, state
from dpviz.ui.asking import Job, after_picture
from dpviz.ui.controls import set_epsilon
from dpviz.ui.data.picker import DataCatalog, choose
from dpviz.ui.frame import LENS
from dpviz.ui.live import LiveState, clicked, live
from dpviz.ui.panel import safe_table
from dpviz.ui.runs import RunRequest, follow, scalars, words_of

CHART_HEIGHT = 340
PAIR_HEIGHT = 480
NO_TARGETS = (
    "Your data are the secret source. They have no targets, so dpviz spreads public targets over their box. Choose "
    "how, and how many, behind the method's button, or choose a pair with its own targets under Data."
)
_SAID = "dpviz:no-targets"

# Data: bundled pairs, or any set as the source with targets spread over its box.

SPREAD = Knob(
    "targets",
    "choice",
    "even",
    "Targets",
    "Public: spread over the box, regardless of the source.",
    choices=(("even", "Evenly spread"), ("uniform", "At random")),
)
NUMBER = Knob(
    "n_targets", "int", DEFAULT_TARGETS, "How many targets", "Centers are chosen from them.", 10, MOST_TARGETS
)
SEED = Knob("target_seed", "int", 0, "Target seed", "The public seed that places the targets.", 0, 10**6)
TARGETS = (SPREAD, NUMBER, SEED)

# Parameters: only those that the method has are drawn.

KNOBS = {knob.name: knob for knob in knobs(Params)}
# Five centers give few lines to look at.
KNOBS["n_centers"] = replace(KNOBS["n_centers"], default=5)
# Noise by budget, as in the paper.
SUITED = {"epsilon": "laplace", "rho": "gaussian"}
KNOBS["noise"] = replace(
    KNOBS["noise"],
    default="suited",
    help=f"{KNOBS['noise'].help} Suited: Laplace for ε, Gaussian for ρ.",
    choices=(("suited", "Suited"), *KNOBS["noise"].choices),
)
BUDGET = Knob(
    "budget",
    "choice",
    "epsilon",
    "Budget in",
    "zCDP suits Gaussian noise. ρ and ε are different scales: ρ = 3 is about ε = 12.9 at δ = 0.00001.",
    choices=(("epsilon", "ε (DP)"), ("rho", "ρ (zCDP)")),
)
LOW, HIGH = 0.05, 20.0
SLIDERS = {
    "epsilon": Knob("epsilon", "float", 1.0, "Privacy budget ε", "What the averages spend.", LOW, HIGH, log=True),
    "rho": Knob("rho", "float", 0.5, "Privacy budget ρ", "What the averages spend, zCDP.", 0.005, HIGH, log=True),
}
# Delta of Gaussian noise under ε.
DELTA = Knob("delta", "float", 1e-5, "δ", "How often the guarantee may fail.", 1e-9, 0.01, log=True)

# Tabs.

TAB = under(
    "below", ("costs", "Cost of every method"), ("runs", "Many runs"), ("record", "One record"), two_worlds.CHOICE
)
RECORD = replace(two_worlds.RECORD, label="Source record")
# Name of a release's marks in the comparison of two worlds.
POINT = "Noisy average"
# Tabs that look at one record.
LOOKING = ("record", "worlds")
WHAT = Knob(
    "change",
    "choice",
    "remove",
    "What happens to it",
    "The guarantee is about removing a record; moving one is removing and adding it.",
    choices=(("remove", "It is removed"), ("move", "It is moved")),
)
RUNS = Knob("n_cost_runs", "int", 10, "Runs of each method", "More runs, steadier bands.", 5, 30)
CENTERS = (1, 2, 4, 8, 16, 32)
BUDGETS = {"epsilon": (0.1, 0.3, 1.0, 3.0, 10.0), "rho": (0.01, 0.1, 0.5, 3.0, 10.0)}
# Observation 4.2: copies of a place share one average.
WORST: dict[str, float | str] = {"n_centers": 2, "coreset_radius": 0.01, "method": "nna", "noise": "laplace"}
WORST_EPSILON = 0.1
# Knobs in the order of the link.
LINKED = (*KNOBS.values(), BUDGET, DELTA, TAB, WHAT)


@immutable
class PublicTargets:
    """The public side of a page's problem."""

    points: Points  # (n, d) data units
    ball: Ball | None
    classes: Labels | None  # (n,)
    # False: spread over bounds that were taken from the records.
    public: bool
    # How the targets were spread. None: a pair has its own.
    spread: TargetSpread | None = None


@st.cache_resource(max_entries=32, show_spinner=False)
def load_targets(name: str, n: int, seed: int, knobs: tuple[tuple[str, object], ...]) -> SourceTarget:
    """Return a pair of source and targets."""
    return load_pair(name, n=n, seed=seed, **dict(knobs))


@st.cache_resource(max_entries=32, show_spinner=False, scope="session")
def place_targets(low: tuple[float, ...], high: tuple[float, ...], n: int, spread: str, seed: int) -> Points:
    """Return targets (n, d) over a box, which may belong to one user's data."""
    return spread_targets(Box(low, high), n, spread, rng=np.random.default_rng(seed))


def load_source(name: str, *, n: int, seed: int, **knobs: object) -> Dataset:
    """Return the source of a pair."""
    return source_of(name, load_targets(name, n, seed, tuple(sorted(knobs.items()))))


class SourceTargetPage(MethodPage):
    """The page of source-target clustering: its data are pairs, and its slider moves ε or ρ."""

    data = "first_aid"
    own_data = DataCatalog(PAIRS, pair_sizes, pair_knobs, load_source)
    controls = (*TARGETS, BUDGET, *SLIDERS.values(), DELTA, WHAT, RUNS, *many_runs.KNOBS, *two_worlds.KNOBS)
    tab = TAB

    targets: PublicTargets
    # The row of the record that the reader looks at.
    record: int | None

    def parameter_knobs(self) -> dict[str, Knob]:
        """Return the knobs of the parameters; the slider's is ε until the page knows its budget."""
        return KNOBS | SLIDERS

    def draw_first(self) -> None:
        """Draw the spread of the targets (unless a pair has its own), the method and the kind of budget."""
        self.targets = self.find_targets()
        self.values["method"] = controls.control(KNOBS["method"])
        self.budget = SLIDERS[controls.control(BUDGET)]

    @property
    def has_pair(self) -> bool:
        """True if the source comes from a pair, which has its own targets."""
        source = self.frame.source
        return not source.own and source.key[0] in PAIRS

    def find_targets(self) -> PublicTargets:
        """Return the targets of a pair, or draw the knobs of targets that are spread over the source's box."""
        source = self.frame.source
        if self.has_pair:
            pair = load_targets(*source.key)
            return PublicTargets(pair.targets, pair.ball, pair.target_labels, not pair.bounds_from_data)
        if source.own and st.session_state.get(_SAID) != source.key[:2]:
            st.session_state[_SAID] = source.key[:2]
            state.report(NO_TARGETS)
        spread = str(controls.control(SPREAD))
        with st.expander("More of the targets"):
            n, seed = int(controls.control(NUMBER)), int(controls.control(SEED))
        low, high = (tuple(side.tolist()) for side in (source.dataset.box.low, source.dataset.box.high))
        points, public = place_targets(low, high, n, spread, seed), not source.dataset.bounds_from_data
        return PublicTargets(points, None, None, public, TargetSpread(n, spread, seed))

    def draw_knobs(self) -> None:
        """Draw the other parameters; those that the method does not have stay as they are."""
        values = self.values
        for name in ("n_centers", "coreset_radius"):
            values[name] = controls.control(KNOBS[name])
        with st.expander("Noise and calibration"):
            own, other = ("t", "threshold") if values["method"] == "nas" else ("threshold", "t")
            for name in ("noise", "calibration", own, "gamma", "solver"):
                values[name] = controls.control(KNOBS[name])
            values[other] = state.value(KNOBS[other])
            if values["noise"] == "suited":
                values["noise"] = SUITED[self.budget.name]
            if values["noise"] == "gaussian" and self.budget.name == "epsilon":
                values["delta"] = controls.control(DELTA)
            if values["noise"] == "gaussian" and values["method"] == "nna":
                st.caption("With Gaussian noise, both choices give the same threshold, dpviz's rule.")

    def draw_look(self) -> None:
        """Read which record the reader looks at. Curator only."""
        self.record = None if self.frame.public or state.value(LENS) else self.row()

    def row(self) -> int | None:
        """Return the row of the record that the reader looks at, or None."""
        n = self.frame.source.dataset.n
        return min(int(state.value(RECORD)), n - 1) if n and state.value(TAB) in LOOKING else None

    def params(self, epsilon: float) -> Params:
        """Return the parameters at a value of the slider, ε or ρ."""
        budget, rho = (None, epsilon) if self.budget.name == "rho" else (epsilon, None)
        return Params(self.targets.points, ball=self.targets.ball, epsilon=budget, rho=rho, **self.values)

    def fields(self) -> dict[str, object]:
        """Return the fields of a run that only the page knows."""
        targets = self.targets
        return {"targets_public": targets.public, "record": self.record, "target_classes": targets.classes}

    def request(self, epsilon: float) -> RunRequest:
        """Return the run at a value of the slider."""
        spread = self.targets.spread
        return RunRequest(METHOD, METHOD.run, self.params(epsilon), fields=self.fields(), spread=spread)

    def guarantees(self) -> Callable[[float], Guarantee]:
        """Return a function from ε or ρ to one record's guarantee; the coreset is found once for all values."""
        return guarantees(self.frame.source.dataset.box, self.params(float(state.value(self.budget))))

    def draw_slider(self) -> float:
        """Draw the slider of ε or ρ; deployments are known only for ε."""
        if self.budget.name == "epsilon":
            return super().draw_slider()
        return controls.stage_slider(self.budget, stage.message(), note=self.meaning)

    def count(self) -> Knob:
        """Return the knob of the number of new centers, which is below the picture."""
        return KNOBS["n_centers"]

    def link(self, epsilon: float) -> list[tuple[str, str]]:
        """Return the page's part of the link; a pair has its own targets."""
        spread = () if self.has_pair else TARGETS
        pairs = [(knob.name, knob.format(state.value(knob))) for knob in (*spread, *LINKED)]
        return [*pairs, *two_worlds.link(self.frame), (self.budget.name, self.budget.format(epsilon))]

    def follow_click(self, picture: LiveState | None) -> None:
        """Select the clicked record, once for each click."""
        if picture is None or picture.picked != PICK or not clicked(picture, "source") or picture.picked_mark is None:
            return
        state.remember(RECORD, picture.picked_mark * thinning(self.frame.source.dataset.n))
        if state.value(TAB) not in LOOKING and not state.value(LENS):
            state.remember(TAB, "record")
        st.rerun(scope="app")

    def tabs(self) -> dict[str, Callable[[], None]]:
        """Return the function that draws each tab."""
        return {**super().tabs(), "costs": self.costs, "record": self.changes}

    def worlds(self) -> WorldsTab:
        """Return the settings of the two-worlds tab."""
        return WorldsTab(self.current_request, POINT, record=RECORD)

    def many(self) -> None:
        """Draw many runs before the public targets."""
        backdrop = many_runs.Backdrop(self.frame.source.dataset.box.to_unit(self.targets.points))
        many_runs.many(self.frame, self.request, self.budget, self.noise, self.view, stand=lambda: backdrop)

    def costs(self) -> None:
        """Draw every method's cost over many runs."""
        if self.frame.public:
            st.info("Costs are exact, and each run is a separate release. Only the curator sees them.")
        else:
            self.draw_costs()

    @state.fragment
    def draw_costs(self) -> None:
        """Draw costs by k and by the budget, which is read when runs begin, because a different fragment moves it."""
        n_runs, now = int(controls.control(RUNS)), float(state.value(self.budget))
        params, seed = self.params(now), self.noise.seed_for(self.frame.source).value
        n_targets = len(params.targets)
        k = min(params.n_centers, n_targets)
        budgets = sorted({*BUDGETS[self.budget.name], now})
        questions = [
            CostQuestion.from_params(params, sorted({each for each in CENTERS if each <= n_targets} | {k})),
            *(CostQuestion.from_params(self.params(budget), (k,)) for budget in budgets),
        ]
        jobs = [Job(charts.run_many, (each, n_runs, seed), n_runs=N_PRIVATE * n_runs) for each in questions]
        costs: list[Costs | None] | None = self.answers(
            jobs, what=f"Budgets, {n_runs} runs each", key="wait-source-target"
        )
        if costs is None:
            return
        over_k, by_budget = costs[0], {at: one for at, one in zip(budgets, costs[1:], strict=True) if one is not None}
        symbol, unit = "ρ" if self.budget.name == "rho" else "ε", self.unit
        if over_k is None:
            st.caption("The first results are on their way.")
            return
        *private, ignorant, floor = charts.medians(over_k, k)
        best = int(np.argmin(private))
        share = "no better than" if private[best] >= ignorant else "better than"
        st.markdown(
            f"At {symbol} = {number(now)} and k = {k} the best private method is **{METHODS[best]}**: "
            f"{number(private[best])}{unit}, {share} ignoring the source ({number(ignorant)}{unit}). "
            f"Without privacy: {number(floor)}{unit}."
        )
        chart = charts.k_chart(over_k, k, f"{symbol} = {number(now)}", unit)
        live(chart, key="cost-k", height=CHART_HEIGHT)
        if len(by_budget) > 1:
            answered, known = list(by_budget), list(by_budget.values())
            chart = charts.budget_chart(answered, known, now, symbol, unit)
            live(chart, key="cost-budget", height=CHART_HEIGHT)
            if len(answered) == len(budgets):
                st.caption(charts.reversal(answered, known, now, symbol))
        st.caption(f"The paper's fourth comparator, DP-GAN, is {ABSENT}.")

    @property
    def unit(self) -> str:
        """The unit of a distance, after a space."""
        return f" {unit_of_cost(self.frame.source.dataset.units)}".rstrip()

    def changes(self) -> None:
        """Draw the effect of one source record under the same noise, and the preset in which one record decides."""
        st.button(
            "Show the pair where one record decides", on_click=load_worst_case, help="Observation 4.2 of the paper."
        )
        row, n = self.row(), self.frame.source.dataset.n
        if self.frame.public:
            st.info("Two runs with the same noise show the record, so only the curator sees them. You see one release.")
        elif row is None:
            st.info("There is no source record to look at.")
        else:
            controls.control(RECORD)
            if int(state.value(RECORD)) >= n:
                st.caption(f"There are {n:,} records: this is the last, row {row}.")
            self.draw_change(row)

    @state.fragment
    def draw_change(self, row: int) -> None:
        """Draw both releases, with the record and without it or with it elsewhere."""
        source, dataset = self.frame.source, self.frame.source.dataset
        params, seed = self.params(float(state.value(self.budget))), self.noise.seed_for(source)
        what, place = controls.control(WHAT), None
        if what == "move":
            place = two_worlds.stated_place(self.frame, self.view, dataset.points[row])
        follow([(WHAT.name, str(what)), *two_worlds.link(self.frame)], key="address-record")
        change = one_record.change_record(dataset.points, dataset.box, params, row, place, seed.value)
        after_picture("wait-record")
        if seed.secret or source.uploaded:
            asking.count(source, {(scalars(params), row, None if place is None else tuple(place.tolist())): 2})
            asking.tally(source)
        self.describe_change(params, change)
        scene = one_record.change_scene(change, params, words_of(source), self.view)
        live(scene, key="record", height=PAIR_HEIGHT)
        safe_table(pd.DataFrame(one_record.cost_rows(change, self.unit)), hide_index=True)
        if seed.secret:
            st.caption("Both runs use noise from this session, not the picture's: secret noise is never drawn twice.")

    def describe_change(self, params: Params, change: SourceChange) -> None:
        """Describe the changes in words, and for observation 4.2's pair those that no private method can avoid."""
        n_before, n_after = len(change.before.release.centers), len(change.after.release.centers)
        st.markdown(
            f"{counted(n_before, 'noisy average')} before, {n_after} after; largest shift: {number(change.farthest)}"
            f"{self.unit}. New centers that change: **{change.n_centers_changed} of "
            f"{len(change.after.release.selected)}**."
        )
        key = self.frame.source.key
        if key[0] != "worst_case":
            return
        promise = change.before.guarantee.stated
        k = int(dict(key[-1])["centers"])
        extra, chance = one_record.observation(k, promise.epsilon, promise.delta)
        st.markdown(
            f"Observation 4.2, for k = {k}: with or without that record, any method that keeps ε = "
            f"{ceiled(promise.epsilon)} costs at least {floored(extra)} more than the best, in at least "
            f"{floored(100 * chance)} of 100 runs on one of the two. One record moves the best cost by a constant "
            "(observation 4.1), so no private method is good on every input."
        )
        if params.n_centers != k:
            st.caption(f"The page's k is {params.n_centers}: the observation is about {k}.")


def load_worst_case() -> None:
    """Load observation 4.2: its pair, its k, a small ε, and look at the one record."""
    choose("worst_case", SourceTargetPage.own_data)
    preset: dict[Knob, float | str] = {KNOBS[name]: value for name, value in WORST.items()}
    for knob, value in {**preset, BUDGET: "epsilon", RECORD: 0, WHAT: "remove", TAB: "record"}.items():
        state.remember(knob, value)
    set_epsilon(state.widget_key("epsilon"), WORST_EPSILON)


PAGE = SourceTargetPage.page(METHOD)
