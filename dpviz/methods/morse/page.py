"""Morse processing's page: move ε, and watch a private mixture's landscape, its hierarchy and its clusters change."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from dpviz.core import Knob
from dpviz.method_page import MethodPage, under
from dpviz.methods.morse import METHOD
from dpviz.methods.morse.charts import RIGHT, SKETCHES, WAYS, AgreementRuns, ari_chart, lanes, run_many
from dpviz.methods.morse.run import LandscapeLook
from dpviz.stories.panel import number
from dpviz.tools.many_runs import page as many_runs
from dpviz.tools.two_worlds import page as two_worlds
from dpviz.tools.two_worlds.page import WorldsTab
from dpviz.ui import controls, state
from dpviz.ui.asking import Job
from dpviz.ui.data import groups
from dpviz.ui.live import LiveState, clicked, live
from dpviz.ui.panel import safe_table

CHART_HEIGHT = 340
EPSILONS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
# Largest number of components that the page offers.
MOST_NUMBER = 64

MOVES = Knob(
    "moves",
    "choice",
    "cut",
    "Scrub through",
    "Cut: the hierarchy is cut to 1, 2, 3, … clusters. Level: everything denser than a sinking level. Search: how one "
    "transition point was found.",
    choices=(("cut", "Cut"), ("level", "Level"), ("search", "Search")),
)
FIRST = Knob("first", "int", 0, "From component", "Or click a transition point.", 0, MOST_NUMBER)
SECOND = replace(FIRST, name="second", label="To component")
RUNS = Knob("n_morse_runs", "int", 10, "Runs for each budget", "More runs, steadier bands.", 5, 50)
TAB = under("below", ("runs", "Many runs"), two_worlds.CHOICE)
# Statistic that distinguishes two worlds.
PEAK = "Released peak"
# Default number of passes. Fewer passes leave each a larger budget.
PASSES = 2
CALIBRATION = ("delta", "calibration", "adjacency", "estimator")


class MorsePage(MethodPage):
    """Morse processing's page. Unlike other pages, it has a choice of what to scrub, and the pair of a search."""

    data = "moons"
    controls = (MOVES, FIRST, SECOND, RUNS, *many_runs.KNOBS, *two_worlds.KNOBS)
    tab = TAB

    def parameter_knobs(self) -> dict[str, Knob]:
        """Return the knobs of the parameters; the page opens with few passes."""
        known = super().parameter_knobs()
        return known | {"n_iterations": replace(known["n_iterations"], default=PASSES)}

    def draw_first(self) -> None:
        """Draw the choice of how the mixture is made."""
        self.values["base"] = controls.control(self.knobs["base"])

    def draw_knobs(self) -> None:
        """Draw clusters, components and passes, and the knobs of the noise."""
        self.values["n_clusters"] = groups.control(self.frame.source, self.knobs["n_clusters"])
        for name in ("n_components", "n_iterations"):
            self.values[name] = controls.control(self.knobs[name])
        with st.expander("Calibration"):
            for name in CALIBRATION:
                self.values[name] = controls.control(self.knobs[name])
            if self.values["calibration"] == "published" and self.values["adjacency"] != "replace":
                st.caption("The paper's noise is for changing one record, whatever is chosen here.")

    def draw_look(self) -> None:
        """Draw the choice of what the scrubber moves, and of the pair of a search."""
        with self.frame.first, st.expander("What play shows"):
            moves = str(controls.control(MOVES, width="content"))
            if moves == "search":
                names = ["automatic", *(f"component {i}" for i in range(1, self.values["n_components"] + 1))]
                controls.picked(FIRST, names)
                controls.picked(SECOND, names)
        self.look = LandscapeLook(moves, (int(state.value(FIRST)), int(state.value(SECOND))))

    def fields(self) -> Mapping[str, LandscapeLook]:
        """Return the object that the scrubber moves."""
        return {"look": self.look}

    def count(self) -> Knob:
        """Return the knob of k, which is below the picture."""
        return self.frame.source.suited(self.knobs["n_clusters"])

    def link(self, epsilon: float) -> list[tuple[str, str]]:
        """Return the page's part of the link."""
        own = [(name, self.knobs[name].format(value)) for name, value in self.values.items()]
        own += [(knob.name, knob.format(state.value(knob))) for knob in (MOVES, FIRST, SECOND)]
        own += [*two_worlds.link(self.frame), *groups.link(self.frame.source, self.knobs["n_clusters"])]
        return [*own, (self.budget.name, self.budget.format(epsilon)), (TAB.name, str(state.value(TAB)))]

    def follow_click(self, picture: LiveState | None) -> None:
        """Show the search that found the transition point that was clicked, once for each click."""
        pair = re.fullmatch(r"pair-(\d+)-(\d+)", (picture and picture.picked) or "")
        if pair and clicked(picture, "pair"):
            for knob, value in ((FIRST, int(pair[1])), (SECOND, int(pair[2])), (MOVES, "search")):
                state.remember(knob, value)
            st.rerun(scope="app")
        super().follow_click(picture)

    def worlds(self) -> WorldsTab:
        """Return the statistics that distinguish two worlds."""
        return WorldsTab(self.current_request, PEAK)

    def many(self) -> None:
        """Draw many runs: their releases, one after another, and the share of runs with the right clusters."""
        if self.frame.public:
            st.info("Agreement is exact, and each run is a separate release. Only the curator sees it.")
            return
        many_runs.many(self.frame, self.request, self.budget, self.noise, self.view)
        self.agreement()

    @state.fragment
    def agreement(self) -> None:
        """Draw how often runs are right, before and after Morse processing, at ε and at nearby values."""
        n_runs = int(controls.control(RUNS))
        now = float(state.value(self.budget))
        # The budget on screen comes first.
        order = sorted({*EPSILONS, now}, key=lambda at: (at != now, at))
        seed = self.noise.seed_for(self.frame.source).value
        arguments = [(self.params(at), n_runs, seed) for at in order]
        # Each run also evaluates its K components alone.
        twice = 2 * n_runs
        jobs = [Job(run_many, each, classified=True, n_runs=twice) for each in arguments]
        answers = self.answers(jobs, what=f"{n_runs} runs at each ε", key="wait-morse")
        if answers is None:
            return
        runs = {at: answer for at, answer in zip(order, answers, strict=True) if answer is not None}
        if now in runs:
            draw_agreement(runs, now)
        else:
            st.caption("The first results are on their way.")


def draw_agreement(runs: Mapping[float, AgreementRuns], epsilon: float) -> None:
    """Draw the share of runs that are right at each ε: a sentence, the chart, dendrograms and a table."""

    def right(runs: AgreementRuns) -> Sequence[int]:
        return [round(float(part) * runs.nonprivate_ari.shape[1]) for part in runs.right_share]

    here, epsilons = runs[epsilon], sorted(runs)
    n_runs, (morse, means, alone) = here.nonprivate_ari.shape[1], right(here)
    st.markdown(
        f"At ε = {number(epsilon)}, Morse processing reaches an ARI of {RIGHT} in **{morse} of {n_runs}** runs; "
        f"k-means on the same means in {means}, a mixture of K components in {alone}."
    )
    live(ari_chart(epsilons, [runs[at] for at in epsilons], epsilon), key="ari", height=CHART_HEIGHT)
    live(lanes(here.sketches[:SKETCHES]), key="lanes", height=CHART_HEIGHT)
    rows = [
        {
            "ε": number(at),
            **{
                f"{way}: runs with ARI ≥ {RIGHT}": f"{n_right} of {n_runs}"
                for way, n_right in zip(WAYS, right(runs[at]), strict=True)
            },
            "Peaks": f"{int(runs[at].n_peaks.min())} to {int(runs[at].n_peaks.max())}",
        }
        for at in epsilons
    ]
    safe_table(pd.DataFrame(rows), hide_index=True)


PAGE = MorsePage.page(METHOD)
