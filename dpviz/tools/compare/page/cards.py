"""Two runs beside each other on the Compare page: the run of the last click, and the pinned one."""

from collections.abc import Collection

import pandas as pd
import streamlit as st

from dpviz.core import Knob
from dpviz.mechanisms import FROM_DATA
from dpviz.runs import honest
from dpviz.stories.label import CURATOR, NOBODY, RECORD, Contents, box_words, label_of
from dpviz.stories.panel import number
from dpviz.tools.compare.counterparts import HEAD
from dpviz.tools.compare.frontier import facts, median_at
from dpviz.tools.compare.page.runs import CLUSTERS, repeated
from dpviz.tools.compare.pictures import run_scene
from dpviz.tools.compare.runs import ENTRIES, Compared, CompareQuestion, Row, Rows, part_of
from dpviz.ui import panel, state
from dpviz.ui.data import groups
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import live
from dpviz.ui.panel import safe_table
from dpviz.ui.runs import words_of

NONE = "none"
HEIGHT = 330  # CSS pixels
CLICK = "Click a mark to look at the run nearest to its median: its centers, its promise, and its own page."
_CHOICES = ((NONE, "None"), *((key, entry.name) for key, entry in ENTRIES.items()))
CHOSEN = Knob("chosen", "choice", NONE, "Chosen run", "", choices=_CHOICES)
CHOSEN_AT = Knob("chosen_epsilon", "float", 1.0, "Chosen ε", "", 0.05, 20.0, 0.05, 20.0)
PINNED = Knob("pinned", "choice", NONE, "Pinned run", "", choices=_CHOICES)
PINNED_AT = Knob("pinned_epsilon", "float", 1.0, "Pinned ε", "", 0.05, 20.0, 0.05, 20.0)
KNOBS = (CHOSEN, CHOSEN_AT, PINNED, PINNED_AT)


def chosen() -> tuple[str, float] | None:
    """Return the method and ε of the last click."""
    key = str(state.value(CHOSEN))
    return None if key == NONE else (key, float(state.value(CHOSEN_AT)))


def choose(key: str, epsilon: float, knobs: tuple[Knob, Knob] = (CHOSEN, CHOSEN_AT)) -> None:
    """Look at the run of this method at this ε that is nearest to the median."""
    state.remember(knobs[0], key)
    state.remember(knobs[1], epsilon)


def pinned_and_chosen(rows: Rows) -> dict[str, tuple[str, Row]]:
    """Return the pinned and the chosen run with their methods, as far as their rows are there."""
    runs = {}
    for place, knob, at in (("pinned", PINNED, PINNED_AT), ("chosen", CHOSEN, CHOSEN_AT)):
        key = str(state.value(knob))
        row = median_at(rows, key, float(state.value(at)))
        if row is not None:
            runs[place] = (key, row)
    return runs


def cards(frame: PageFrame, question: CompareQuestion, rows: Rows, own: Collection[str]) -> None:
    """Draw the chosen and the pinned run, as far as their rows are there; `own` are the page's knobs by their names."""
    runs = pinned_and_chosen(rows)
    if not runs:
        st.caption(CLICK)
        return
    for column, (place, (key, row)) in zip(st.columns(2, gap="medium"), runs.items(), strict=False):
        with column:
            _card(frame, question, key, row, place, own)


def _card(frame: PageFrame, question: CompareQuestion, key: str, row: Row, place: str, own: Collection[str]) -> None:
    entry, epsilon, dataset = ENTRIES[key], float(row["epsilon"]), frame.source.dataset
    title = f"{entry.name}, ε = {number(epsilon)}"
    (run,) = repeated(frame.source, [part_of(key, row)], place)
    if run is not None:
        unit, centers = dataset.box.to_unit(dataset.points), dataset.box.to_unit(run.clusters.centers)
        scene = run_scene(title, unit, centers, run.clusters.nonprivate_labels, words_of(frame.source))
        live(scene, key=f"run-{place}", height=HEIGHT)
    numbers = facts(row) if run is None else (*facts(row), *run.counterparts.facts())
    panel.side(panel.facts(f"{place.capitalize()}: {title}", numbers, public=False))
    if run is not None and run.counterparts.oddities:
        st.caption(state.plain(run.counterparts.oddities))
    with st.container(horizontal=True):
        if place == "pinned":
            st.button("Unpin", on_click=state.remember, args=(PINNED, NONE))
        else:
            words = "Keep it beside the next one that you click."
            st.button("Pin", help=words, on_click=choose, args=(key, epsilon, (PINNED, PINNED_AT)))
        if entry.page:
            query = {  # of the page that has this very run: data, parameters, start and noise
                **dict([*frame.source.link, *entry.entry.link]),
                "epsilon": repr(epsilon),
                "n_clusters": str(question.n_clusters),
                groups.KNOWN.name: groups.KNOWN.format(state.value(groups.KNOWN)),
                **dict(groups.link(frame.source, CLUSTERS)),
                "start_seed": str(question.start_seed),
                "noise_seed": str(row["noise_key"]),
                "audience": "curator",
            }
            if st.button("Open it on its page", key=f"open-{place}", type="primary"):
                state.open_page(entry.page, query, keep=own)
                st.rerun(scope="app")
    if run is not None:
        guarantee = honest(run.guarantee, frame.source.dataset, secret=False)
        notices = [each for each in guarantee.caveats if each == FROM_DATA]
        panel.side(panel.guarantee(label_of(guarantee, contents(entry, frame)), title, notices))
        with st.expander("Released centers"):
            safe_table(pd.DataFrame(run.clusters.centers, columns=list(dataset.feature_names)))
            safe_table(pd.DataFrame(run.counterparts.lines(), columns=list(HEAD)), hide_index=True)


def contents(entry: Compared, frame: PageFrame) -> Contents:
    """Declare what a method protects, as its own page does in more words."""
    box, dataset = box_words(words_of(frame.source)), frame.source.dataset
    secret = ("Records, and who is in which cluster", "Costs, agreement with classes, the cost without privacy")
    if not entry.per_distance:
        return Contents(RECORD, (box, "k, ε and every other knob"), secret, CURATOR)
    # How far apart two places are that the whole range of a feature parts: in meters on a map.
    apart = "range of a feature"
    if dataset.place is not None and not dataset.bounds_from_data:
        meters = f"{float(dataset.box.widths[dataset.place.axes[0]]):,.10g} m"
        apart = meters if dataset.d == len(dataset.place.axes) else f"range of a feature ({meters} on the map)"
    protects = "Where one person is, among places not far apart. That somebody took part is not hidden."
    return Contents(protects, (box, "ε, the unit of distance, the number of persons"), secret, NOBODY, ((1.0, apart),))
