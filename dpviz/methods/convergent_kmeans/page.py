"""Convergent k-means and its family: move ε, and watch zones, centers and cost move, next to all other methods."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import Knob, knobs, unit_records
from dpviz.method_page import MethodPage, under
from dpviz.methods.convergent_kmeans import METHOD, attack
from dpviz.methods.convergent_kmeans.algorithm import Params
from dpviz.methods.convergent_kmeans.attack import AttackQuestion, Guesses
from dpviz.methods.convergent_kmeans.family import METHODS, no_budget
from dpviz.methods.convergent_kmeans.run import count_noise, variation
from dpviz.stories import center_facts, outcomes
from dpviz.stories.method import AnyMethod, RunClass
from dpviz.tools.many_runs import page as many_runs
from dpviz.tools.two_worlds import page as two_worlds
from dpviz.tools.two_worlds.page import WorldsTab
from dpviz.ui import controls, stage, state
from dpviz.ui.asking import Job
from dpviz.ui.data import groups
from dpviz.ui.live import clicked, live
from dpviz.ui.panel import safe_table
from dpviz.ui.runs import RunRequest, along, follow, run_method, scalars, words_of
from dpviz.ui.show import Screen, Slider, unreleased

KNOBS = {knob.name: knob for knob in knobs(Params)}
MODES = dict(KNOBS["mode"].choices)
# A baseline may belong to another page.
FAMILY = tuple(name for name in BASELINES if name in METHODS)
# Methods that offer a choice of the start.
STARTED = ("repaired", "published", "both", "lloyd", "blum", "dwork", "dplloyd", "fastlloyd")
# Knobs that methods share.
COMMON = ("n_clusters", "epsilon", "start")
PAPER_RANGE = (
    (0.1, "paper's least", "The lowest ε per step in the paper's experiments."),
    (1.0, "paper's most", "The highest ε per step in the paper's experiments."),
)
MODE = Knob(
    "mode",
    "choice",
    "repaired",
    "Method",
    "The method in the picture. Compare shows all methods at once.",
    choices=(
        ("repaired", "Convergent, repaired"),
        ("published", "Convergent, as published"),
        ("both", "Both, side by side"),
        *((name, METHODS[name]) for name in FAMILY),
    ),
)
TAB = under("tab", ("runs", "Many runs"), ("play", "Play over ε"), ("attack", "The attack"), two_worlds.CHOICE)

# 0 means the method's own rule: method -> (parameter, label, help, upper bound)
RULES: dict[str, tuple[str, str, str, int]] = {
    "blum": ("n_iterations", "Iterations T (0: five)", "How often the noisy means are computed.", 30),
    "dwork": ("n_iterations", "Iterations T (0: five)", "How often the noisy means are computed.", 30),
    "dplloyd": ("n_iterations", "Iterations T (0: the rule)", "The paper's rule follows the number of records.", 30),
    "fastlloyd": ("n_iterations", "Iterations T (0: the rule)", "The rule follows the number of records.", 30),
    "gupt": ("n_blocks", "Blocks (0: the rule)", "The paper's rule: the number of records to the power of 0.4.", 500),
    "privgene": ("n_rounds", "Rounds r (0: the rule)", "dpviz's rule follows the number of records.", 50),
    "eugkm": (
        "cells_per_axis",
        "Cells along each axis (0: the rule)",
        "The paper's rule follows the number of records.",
        200,
    ),
}
# Of the tab "The attack".
ATTACK_HEIGHT = 440
DOTS_HEIGHT = 230
BATCH = 10
ATTACKS = {"noisy": 50, "published": 20}
# Largest number of features in the table of digits.
MOST_FEATURES = 8
# The attacked releases are not from a proved mode. The limit next to the slider is on the same screen.
NO_LIMIT = {
    "exact": "No limit holds for this attack: exact centers and counts have no noise.",
    "published": "No limit holds for this attack: nothing is proved about what the paper publishes.",
}
RECORD = replace(two_worlds.RECORD, label="Record under attack", help="Its row. Or click one.")
ATTACKED = Knob(
    "attacked",
    "choice",
    "exact",
    "What is released",
    "Exact: centers and counts as they are. Noisy: repaired mode. Published: as printed in the paper.",
    choices=(("exact", "Exact"), ("noisy", "Noisy (repaired)"), ("published", "As published")),
)
TITLES = {"noisy": "Noisy counts and sums, run after run", "published": "Lu & Shen's release, run after run"}


def own_knobs(method: str) -> tuple[tuple[str, Knob], ...]:
    """Return (parameter, knob) for the knobs that only this baseline has. Their names start with the method's."""
    if method not in FAMILY:
        return ()
    pairs = [(knob.name, knob) for knob in knobs(BASELINES[method].Params) if knob.name not in COMMON]
    if method in RULES:
        field, label, text, most = RULES[method]
        pairs.insert(0, (field, Knob(field, "int", 0, label, text, 0, most)))
    return tuple((field, replace(knob, name=f"{method}_{field}")) for field, knob in pairs)


class ConvergentKMeansPage(MethodPage):
    """The page of convergent k-means: its two modes, alone or side by side, and every baseline of its family."""

    tab = TAB
    controls = (
        MODE,
        *(knob for method in FAMILY for _, knob in own_knobs(method)),
        ATTACKED,
        *many_runs.KNOBS,
        *two_worlds.KNOBS,
    )

    def __init__(self, method: AnyMethod) -> None:
        """Describe the page, with the budget that the chosen method's slider moves."""
        super().__init__(method)
        self.mode = str(state.value(MODE))
        if self.mode == "published":
            self.budget = KNOBS["epsilon_per_iteration"]

    @property
    def run_class(self) -> RunClass:
        """The class of the chosen method's runs."""
        return METHOD.family.get(self.mode, METHOD.run)

    def draw_first(self) -> None:
        """Draw the choice of a method."""
        controls.control(MODE)

    def draw_knobs(self) -> None:
        """Draw k, and the chosen method's knobs among orientation, start and a baseline's own."""
        self.values["n_clusters"] = groups.control(self.frame.source, KNOBS["n_clusters"])
        if self.mode == "published":
            controls.log_slider(KNOBS["epsilon_counts"], note=count_noise)
        # Read here, because runs ahead of the page have no session.
        self.counts = float(state.value(KNOBS["epsilon_counts"]))
        value = controls.control if self.mode in ("published", "both") else state.value
        self.orientation = value(KNOBS["orientation"])
        value = controls.control if self.mode in STARTED else state.value
        self.values["start"] = value(KNOBS["start"])
        # Values of the chosen baseline only. Read here: runs ahead of the page have no session.
        rule, *_ = RULES.get(self.mode, ("",))
        self.own_values = {field: controls.control(knob) for field, knob in own_knobs(self.mode)}
        if self.own_values.get(rule) == 0:
            self.own_values[rule] = None

    def count(self) -> Knob:
        """Return the knob of k, which is below the picture."""
        return self.frame.source.suited(self.knobs["n_clusters"])

    def note(self) -> Callable[[float], str]:
        """Return the function that describes a value of the slider in words."""
        if self.mode == "lloyd":
            return no_budget
        if self.values["start"] == "records":
            return center_facts.not_established
        limits = super().note()
        if self.frame.public or state.value(TAB) != "attack":
            return limits
        return lambda epsilon: f"The picture's noisy release: {limits(epsilon)}"

    def link(self, epsilon: float) -> list[tuple[str, str]]:
        """Return the page's part of the link."""
        pairs = [("mode", self.mode), ("orientation", self.orientation), ("tab", state.value(TAB))]
        pairs += [(knob.name, knob.format(state.value(knob))) for _, knob in own_knobs(self.mode)]
        pairs += [(name, KNOBS[name].format(self.values[name])) for name in ("n_clusters", "start")]
        pairs += groups.link(self.frame.source, KNOBS["n_clusters"])
        pairs += [(ATTACKED.name, str(state.value(ATTACKED))), *two_worlds.link(self.frame)]
        pairs.append((self.budget.name, self.budget.format(epsilon)))
        if self.mode == "published":
            counts = KNOBS["epsilon_counts"]
            pairs.append((counts.name, counts.format(state.value(counts))))
        return pairs

    def repaired(self, epsilon: float) -> RunRequest:
        """Return convergent k-means with a proved budget for the whole run."""
        return self._convergent(Params(mode="repaired", epsilon=epsilon, **self.values))

    def published(self, step: float, counts: float) -> RunRequest:
        """Return the published mode, with one budget for each step and one for the final counts."""
        params = Params(
            mode="published",
            orientation=self.orientation,
            epsilon_per_iteration=step,
            epsilon_counts=counts,
            **self.values,
        )
        return self._convergent(params)

    def _convergent(self, params: Params) -> RunRequest:
        name = MODES[params.mode] if self.mode == "both" else ""
        return RunRequest(METHOD, METHOD.run, params, name, adapt=self.adapt)

    def stepwise(self, step: float) -> RunRequest:
        """Return the published mode, with the current budget for the final counts."""
        return self.published(step, self.counts)

    def request(self, epsilon: float) -> RunRequest:
        """Return the chosen method's run at ε: the repaired one if both modes are side by side."""
        if self.mode == "published":
            return self.stepwise(epsilon)
        if self.mode not in METHOD.family:
            return self.repaired(epsilon)
        baseline = BASELINES[self.mode]
        values = {name: value for name, value in self.values.items() if name in baseline.parameters} | self.own_values
        if self.mode == "lloyd":
            # No epsilon pays for private seeds.
            values["start"] = "packing" if values["start"] == "private" else values["start"]
        else:
            values["epsilon"] = epsilon
        params = baseline.Params(**values)
        return RunRequest(baseline, self.run_class, params, METHODS[self.mode], adapt=self.adapt)

    def draw_slider(self) -> float:
        """Read the privacy slider; the paper's is a budget for each step."""
        if self.mode != "published":
            return super().draw_slider()
        return controls.stage_slider(
            self.budget,
            stage.message(),
            note=variation,
            marks=PAPER_RANGE,
            left="anywhere in the zone",
            right="near the mean",
            hint="The paper's experiments.",
        )

    def draw_stage(self) -> None:
        """Draw the pictures that follow ε: one run, or both modes side by side."""
        if self.mode == "both":
            self.draw_pair()
        else:
            super().draw_stage()

    @st.fragment
    def draw_pair(self) -> None:
        """Draw both modes, each with the trail of its centers over the budgets."""
        self.follow_stage()
        epsilon = self.draw_slider()
        trails = along(self.repaired), along(lambda each: self.published(each, each))

        def side_by_side(each: float) -> tuple[RunRequest, RunRequest]:
            return (replace(self.repaired(each), trail=trails[0]), replace(self.published(each, each), trail=trails[1]))

        screen = Screen(self.frame, Slider(self.budget, side_by_side), self.noise, self.view, self.link(epsilon))
        source = self.frame.source
        try:
            requests = side_by_side(epsilon)
            for each in requests:
                if unreleased(self.frame, each):
                    screen.say_unreleased(each)
                    return
            runs = tuple((each, run_method(each, source, self.noise, place=i)) for i, each in enumerate(requests))
        except ValueError as error:
            screen.say_why(error)
            return
        screen.show_pair(runs)

    def tabs(self) -> dict[str, Callable[[], None]]:
        """Return the function that draws each tab."""
        return {
            **super().tabs(),
            "play": lambda: many_runs.over(self.frame, self.request, self.budget, self.noise, self.view),
            "attack": self.attack,
        }

    def worlds(self) -> WorldsTab:
        """Return the settings of the two-worlds tab. The plan of a run follows a released number."""
        return WorldsTab(self.current_request, planned=False)

    @state.fragment
    def attack(self) -> None:
        """Draw the attack on one record: from exact centers, from noisy ones, and from the paper's release.

        Budgets are read when the work begins: the sliders' own fragment moves them.
        """
        frame = self.frame
        if frame.public:
            st.info("The attack is shown on an exact record, which only the curator sees.")
            return
        n = frame.source.dataset.n
        if n < 2:
            st.info("An attacker who has all other records needs at least two records.")
            return
        st.caption("Curator view: not a release. It uses one exact record, and runs that no budget pays for.")
        left, right = st.columns([3, 1], vertical_alignment="bottom")
        with left:
            attacked = str(controls.control(ATTACKED))
        with right:
            record = min(int(controls.control(RECORD)), n - 1)
        if int(state.value(RECORD)) >= n:
            st.caption(f"There are {n:,} records: this is the last, row {record}.")
        follow([(ATTACKED.name, str(state.value(ATTACKED))), (RECORD.name, str(record))], key="address-attack")
        try:
            if attacked == "published":
                request = self.stepwise(float(state.value(KNOBS["epsilon_per_iteration"])))
            else:
                request = self.repaired(float(state.value(KNOBS["epsilon"])))
        except ValueError as error:
            st.error(state.plain(str(error)))
            return
        question = AttackQuestion(scalars(request.params), record, request.params)
        jobs = [Job(attack.attack_exact, (question,), n_runs=0)]
        if attacked != "exact":
            seed = self.noise.seed_for(frame.source).value
            batches = range(0, ATTACKS[attacked], BATCH)
            jobs = [Job(attack.attack_runs, (question, seed, first, BATCH), n_runs=BATCH) for first in batches]
        answers = self.ask(jobs, what="batches of attacks", key="wait-attack")
        if attacked in NO_LIMIT:
            st.caption(NO_LIMIT[attacked])
        if answers.problem:
            st.error(state.plain(answers.problem))
        elif not answers.complete:
            st.caption("The first results are on their way.")
        else:
            self._draw_attack(answers.found, question.params, record, attacked)

    def _draw_attack(self, found: Sequence[Any], params: Params, record: int, attacked: str) -> None:
        """Draw an attack's result as text, as a picture and as digits; a click attacks another record."""
        words, dataset = words_of(self.frame.source), self.frame.source.dataset
        unit = unit_records(dataset.points, dataset.box)
        if attacked == "exact":
            (known,) = found
            sentence, guess = attack.exact_words(known, words, dataset.n), known.guess
            scene = attack.exact_scene(known, unit, words, self.view, record)
        else:
            known = Guesses.joined(found)
            sentence, guess = attack.published_words(known, words), known.guesses[0]
            scene = attack.runs_scene(known, unit, words, self.view, record, TITLES[attacked])
        if attacked == "noisy":
            sentence = attack.noisy_words(known, params.epsilon)
        st.markdown(f"**{state.plain(sentence)}**")
        picture = live(scene, key="attack", height=ATTACK_HEIGHT)
        if attacked == "noisy":
            figure, errors = attack.error_figure(known), known.nonprivate_errors
            usual = outcomes.usual_threshold(errors, figure)
            chart = outcomes.dot_chart(errors, figure, usual)
            live(chart, key="attack-dots", height=DOTS_HEIGHT, follow="attack")
            st.caption(
                f"{outcomes.words(errors, figure, usual)} This is one attacker; the guarantee limits every attacker."
            )
        else:
            rows = attack.digits_of(guess, known.nonprivate_record, words)
            safe_table(pd.DataFrame(rows[:MOST_FEATURES]), hide_index=True)
            if len(rows) > MOST_FEATURES:
                st.caption(f"{MOST_FEATURES} of {len(rows)} features.")
        if attacked == "published":
            st.caption("The digits are from run 1. They show why theorem 5's claim is not established.")
        mark = picture.picked_mark
        if picture.picked != attack.PICK or mark is None or not clicked(picture, "attack"):
            return
        row = attack.picked_row(mark, dataset.n, record)
        if row is not None:
            state.remember(RECORD, row)
            st.rerun(scope="fragment")


PAGE = ConvergentKMeansPage.page(METHOD)
