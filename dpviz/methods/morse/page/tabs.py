"""Morse processing on a page: what the scrubber moves, whose search is shown, and many runs in the background."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from dpviz.core import Knob
from dpviz.methods.morse.algorithm import Params
from dpviz.methods.morse.story import batches as morse_tasks
from dpviz.methods.morse.story.dendrogram import lanes
from dpviz.methods.morse.story.landscape_stage import LandscapeLook
from dpviz.methods.morse.story.runs import RIGHT, SKETCHES, WAYS, AgreementRuns, ari_chart, right_share
from dpviz.stories import View
from dpviz.stories.panel import number
from dpviz.tools.two_worlds import page as two_worlds
from dpviz.ui import asking, controls, reading, reproduction, state
from dpviz.ui.export.listed import listed
from dpviz.ui.frame import PITCH, YAW, PageFrame
from dpviz.ui.live import LiveState, live
from dpviz.ui.runs import Noise
from dpviz.ui.server.background import Answers, Job

CHART_HEIGHT = 340
EPSILONS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
MOST_NUMBER = 64  # of components, the most that a page offers

MOVES = Knob(
    "moves",
    "choice",
    "cut",
    "Scrub through",
    "Cut: the hierarchy is cut to 1, 2, 3, … clusters. Level: everything denser than a sinking level. Search: how one "
    "transition point was found.",
    choices=(("cut", "Cut"), ("level", "Level"), ("search", "Search")),
)
FIRST = Knob("first", "int", 0, "From component", "Or click a transition point.", 0, MOST_NUMBER, 0, MOST_NUMBER)
SECOND = Knob("second", "int", 0, "To component", "Or click a transition point.", 0, MOST_NUMBER, 0, MOST_NUMBER)
RELIEF = Knob(
    "relief",
    "choice",
    "flat",
    "Picture",
    "The density from above, or its logarithm as a surface that you can turn.",
    choices=(("flat", "Flat"), ("surface", "Surface")),
)
RUNS = Knob("n_morse_runs", "int", 10, "Runs for each budget", "More runs, steadier bands.", 5, 50, 5, 50)
TAB = Knob(
    "below",
    "choice",
    "runs",
    "Under the picture",
    "",
    choices=(
        ("runs", "Many runs"),
        two_worlds.CHOICE,
        *([("reproduction", "Reproduction")] if (reproduction.FOLDER / "morse.json").is_file() else []),
        reading.CHOICE,
    ),
)
PEAK = "Released peak"  # what two worlds are told apart by
TILT = replace(PITCH, default=50)  # what lies behind a peak is seen from higher up
_CLICK = "dpviz:morse-click"


def calibration(known: Mapping[str, Knob]) -> dict[str, Any]:
    """Draw the knobs of the noise, and say what the published one does not follow; returns what was chosen."""
    with st.expander("Calibration"):
        names = ("delta", "calibration", "adjacency", "estimator")
        chosen = {name: controls.control(known[name]) for name in names}
        if chosen["calibration"] == "published" and chosen["adjacency"] != "replace":
            st.caption("The paper's noise is for changing one record, whatever is chosen here.")
    return chosen


def look(frame: PageFrame, n_components: int) -> LandscapeLook:
    """Draw the choice of what is scrubbed, and of the pair whose search is shown."""
    with frame.choices.popover("Picture", key="dpviz-picture"):
        moves = str(controls.control(MOVES, width="content"))
        if frame.source.dataset.d > 1:
            controls.control(RELIEF, width="content")
        if moves == "search":
            names = ["automatic", *(f"component {i}" for i in range(1, n_components + 1))]
            controls.picked(FIRST, names)
            controls.picked(SECOND, names)
    return LandscapeLook(moves, (int(state.value(FIRST)), int(state.value(SECOND))))


def raised(frame: PageFrame, view: View) -> View:
    """Return the view as a surface where that is chosen, with its angles in the sidebar; one feature has none."""
    if frame.source.dataset.d == 1 or state.value(RELIEF) == "flat":
        return view
    with frame.more, st.expander("Angles"):
        yaw, pitch = float(controls.control(YAW)), float(controls.control(TILT))
    return replace(view, surface=True, yaw=yaw, pitch=pitch)


def link(view: View) -> list[tuple[str, str]]:
    """Return what this module adds to the link."""
    angles = (YAW, TILT) if view.surface else ()
    return [(knob.name, knob.format(state.value(knob))) for knob in (MOVES, FIRST, SECOND, RELIEF, *angles)]


def follow_click(picture: LiveState | None) -> None:
    """Show the search that found the transition point that was clicked, once for each click."""
    if picture is None or picture.picked is None or picture.pick_count == st.session_state.get(_CLICK):
        return
    st.session_state[_CLICK] = picture.pick_count
    found = re.fullmatch(r"pair-(\d+)-(\d+)", picture.picked)
    if found is None:
        return
    for knob, value in ((FIRST, int(found[1])), (SECOND, int(found[2])), (MOVES, "search")):
        state.remember(knob, value)
    st.rerun(scope="app")


def many_runs(frame: PageFrame, params: Params, noise: Noise, epsilon: Knob) -> None:
    """Draw many runs, before and after Morse processing. ε is read when they begin: the slider's fragment moves it."""
    if frame.public:
        st.info("Agreement is exact, and each run is a separate release. Only the curator sees it.")
        return
    _many_runs(frame, params, noise, epsilon)


@st.fragment
def _many_runs(frame: PageFrame, params: Params, noise: Noise, epsilon: Knob) -> None:
    if state.is_blank():
        return
    n_runs = int(controls.control(RUNS))
    now = float(state.value(epsilon))
    grid = sorted({*EPSILONS, now})
    seed = noise.seed_for(frame.source).value
    order = sorted(grid, key=lambda at: at != now)  # the one on screen first
    asked = [(replace(params, epsilon=at), n_runs, seed) for at in order]
    twice = 2 * n_runs  # each with K components alone, too
    jobs = [Job(morse_tasks.many_runs, each, classified=True, n_runs=twice) for each in asked]
    answers = asking.ask(
        frame.source, jobs, what=f"{n_runs} runs at each ε", key="wait-morse", secret=noise.secret, public=frame.public
    )
    if answers.problem:
        st.error(state.plain(answers.problem))
        return
    _draw(order, answers, now)


def _draw(order: Sequence[float], answers: Answers, epsilon: float) -> None:
    known: dict[float, AgreementRuns] = {
        at: found for at, found in zip(order, answers.found, strict=True) if found is not None
    }
    if epsilon not in known:
        st.caption("The first runs are on their way.")
        return
    here = known[epsilon]
    n_runs, shares = here.nonprivate_ari.shape[1], right_share(here)
    st.markdown(
        f"At ε = {number(epsilon)}, Morse processing reaches an ARI of {RIGHT} in "
        f"**{round(shares[0] * n_runs)} of {n_runs}** runs; k-means on the same means in {round(shares[1] * n_runs)}, "
        f"a mixture of K components in {round(shares[2] * n_runs)}."
    )
    found = sorted(known)
    live(ari_chart(found, [known[at] for at in found], epsilon), key="ari", height=CHART_HEIGHT)
    live(lanes(here.sketches[:SKETCHES]), key="lanes", height=CHART_HEIGHT)
    rows = [
        {
            "ε": number(at),
            **{
                f"{way}: runs with ARI ≥ {RIGHT}": f"{round(float(part) * n_runs)} of {n_runs}"
                for way, part in zip(WAYS, right_share(known[at]), strict=True)
            },
            "Peaks": f"{int(known[at].n_peaks.min())} to {int(known[at].n_peaks.max())}",
        }
        for at in found
    ]
    listed(pd.DataFrame(rows), hide_index=True)
