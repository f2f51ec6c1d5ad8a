"""What Compare is asked: methods, clusters, values of ε, runs, neighbors, seeds, and the ε at which it is read."""

from dataclasses import dataclass

import streamlit as st

from dpviz.core import Knob
from dpviz.stories.center_facts import not_established
from dpviz.tools.compare import story
from dpviz.tools.compare.entries import ENTRIES
from dpviz.tools.compare.page.runs import pieces
from dpviz.tools.compare.trials import TrialPart
from dpviz.ui import controls, hiding, state
from dpviz.ui.epsilon import epsilon_slider, nearest
from dpviz.ui.frame import START_SEED, PageFrame

MOST_SEED = 10**6
GRIDS = {"few": (0.1, 0.3, 1.0, 3.0, 10.0), "many": (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0)}
AT = Knob("compare_at", "float", 1.0, "Read at ε", "The ranking is that of this ε.", 0.05, 20.0, 0.05, 20.0, log=True)
SWITCHES = {
    key: Knob(f"with_{key}", "bool", entry.entry.on, entry.name, "Whether it is compared.")
    for key, entry in ENTRIES.items()
}
CLUSTERS = Knob(
    "n_clusters", "int", 5, "Clusters k", "For k-means without privacy, and methods that ask.", 1, 64, 1, 10_000
)
GRID = Knob(
    "compare_grid",
    "choice",
    "few",
    "Values of ε",
    "More values take longer.",
    choices=(("few", "5, from 0.1 to 10"), ("many", "10, from 0.05 to 20")),
)
RUNS = Knob(
    "compare_runs",
    "choice",
    "30",
    "Runs at each ε",
    "“Solve for ε” begins with them and makes more where it decides.",
    choices=(("10", "10"), ("30", "30"), ("100", "100")),
)
AXIS = Knob(
    "compare_neighbors",
    "choice",
    "add_remove",
    "Solid lines are proved for",
    "Guarantees for other neighbors are not the same promise at the same ε.",
    choices=(("add_remove", "Adding or removing one"), ("replace", "Replacing one")),
)
SEED = Knob("compare_seed", "int", 0, "First noise seed", "Other noise, the same records.", 0, MOST_SEED, 0, MOST_SEED)
KNOBS = (*SWITCHES.values(), CLUSTERS, GRID, RUNS, AXIS, START_SEED, SEED, AT)
_PILLS = "dpviz:compare-methods"


@dataclass(frozen=True, slots=True)
class CompareQuestion:
    """What is compared on the data set on screen."""

    entries: tuple[str, ...]
    n_clusters: int
    epsilons: tuple[float, ...]
    n_runs: int
    adjacency: str
    start_seed: int
    seed: int

    @property
    def read_at(self) -> float:
        """The ε at which methods are read: of those that are run, the nearest to the one that was asked for."""
        return self.epsilons[nearest(self.epsilons, float(state.value(AT)))]

    def parts(self, n: int) -> list[TrialPart]:
        """Return the runs, first a few of every method at every ε, so that all lines are there soon."""
        return [
            TrialPart(entry, epsilon, self.n_clusters, self.start_seed, self.seed + first, size, n)
            for first, size in pieces(self.n_runs)
            for entry in self.entries
            for epsilon in self.epsilons
        ]


def ask(frame: PageFrame) -> CompareQuestion:
    """Draw the knobs: methods, clusters, values of ε, runs, neighbors, seeds."""
    with frame.first:
        key = state.tie(_PILLS, [key for key in ENTRIES if state.value(SWITCHES[key])])
        st.pills(
            "Methods",
            list(ENTRIES),
            format_func=lambda key: ENTRIES[key].name,
            selection_mode="multi",
            key=key,
            on_change=_switched,
            args=(key,),
        )
        n_clusters = int(controls.control(frame.source.suited(CLUSTERS)))
    with frame.more:
        grid = GRIDS[str(controls.control(GRID))]
        runs = int(controls.control(RUNS))
        adjacency = str(controls.control(AXIS))
        with st.expander("Seeds"):
            start, seed = int(controls.control(START_SEED)), int(controls.control(SEED))
    entries = tuple(key for key in ENTRIES if state.value(SWITCHES[key]))
    return CompareQuestion(entries, n_clusters, grid, runs, adjacency, start, seed)


def read_at(question: CompareQuestion, *, bounds_public: bool) -> float:
    """Draw the slider of the ε at which methods are read, one of those that are run, and what it allows where."""
    values, at = question.epsilons, question.read_at
    if hiding.hides(AT.name):
        return at
    notes = [(story.allowed if bounds_public else not_established)(value) for value in values]
    key = state.widget_key(AT.name)
    chosen = epsilon_slider(key=key, value=at, label=AT.label, values=values, note=notes, help=AT.help)
    return float(state.remember(AT, chosen))


def _switched(key: str) -> None:
    """Keep which methods are compared."""
    chosen = state.sent(_PILLS, key) or []
    for key, knob in SWITCHES.items():
        state.remember(knob, key in chosen)
