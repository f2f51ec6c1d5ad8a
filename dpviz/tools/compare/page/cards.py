"""Two runs beside each other on the Compare page: the one that was clicked, and the one that was pinned before."""

import pandas as pd
import streamlit as st

from dpviz.core import Knob
from dpviz.mechanisms import FROM_DATA
from dpviz.stories.label import CURATOR, NOBODY, RECORD, Contents, box_words, label_of
from dpviz.stories.panel import number
from dpviz.tools.compare import story
from dpviz.tools.compare.entries import ENTRIES, Compared
from dpviz.tools.compare.page.question import CLUSTERS
from dpviz.tools.compare.page.runs import looked
from dpviz.tools.compare.story.run import run_scene
from dpviz.tools.compare.trials import RepeatedRun, TrialPart
from dpviz.ui import panel, state
from dpviz.ui.data import groups
from dpviz.ui.export.listed import listed
from dpviz.ui.export.menu import leap
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import live
from dpviz.ui.runs import Noise, honest, words_of

NONE = "none"
HEIGHT = 330  # CSS pixels
_CHOICES = ((NONE, "None"), *((key, entry.name) for key, entry in ENTRIES.items()))
CHOSEN = Knob("chosen", "choice", NONE, "Chosen run", "", choices=_CHOICES)
CHOSEN_AT = Knob("chosen_epsilon", "float", 1.0, "Chosen ε", "", 0.05, 20.0, 0.05, 20.0)
PINNED = Knob("pinned", "choice", NONE, "Pinned run", "", choices=_CHOICES)
PINNED_AT = Knob("pinned_epsilon", "float", 1.0, "Pinned ε", "", 0.05, 20.0, 0.05, 20.0)
KNOBS = (CHOSEN, CHOSEN_AT, PINNED, PINNED_AT)
OTHER_NOISE = "On uploaded records its page draws secret noise: the same settings, another run, one more release."


def chosen() -> tuple[str, float] | None:
    """Return the method and ε that were clicked last."""
    key = str(state.value(CHOSEN))
    return None if key == NONE else (key, float(state.value(CHOSEN_AT)))


def choose(key: str, epsilon: float) -> None:
    """Look at the run of this method at this ε that is nearest to the median."""
    state.remember(CHOSEN, key)
    state.remember(CHOSEN_AT, epsilon)


def cards(frame: PageFrame, n_clusters: int, start_seed: int, rows: story.Rows) -> None:
    """Draw the chosen and the pinned run, as far as their rows are there."""
    places = ((PINNED, PINNED_AT), (CHOSEN, CHOSEN_AT))
    wanted = [(str(state.value(what)), float(state.value(at)), what is PINNED) for what, at in places]
    found = []
    for key, epsilon, is_pinned in wanted:
        row = story.median_row([row for row in rows.get(key, []) if row["epsilon"] == epsilon])
        if row is not None:
            found.append((ENTRIES[key], row, is_pinned))
    if not found:
        st.caption("Click a mark to look at the run nearest to its median: its centers, its promise, and its own page.")
        return
    for column, (entry, row, is_pinned) in zip(st.columns(2, gap="medium"), found, strict=False):
        with column:
            _card(frame, entry, row, n_clusters, start_seed, is_pinned=is_pinned)


def page_query(
    frame: PageFrame, entry: Compared, row: story.Row, n_clusters: int, start_seed: int
) -> list[tuple[str, str]]:
    """Return the link of the page that shows this very run: data, parameters, start and noise."""
    return [
        *frame.source.link,
        *entry.entry.link,
        ("epsilon", repr(float(row["epsilon"]))),
        ("n_clusters", str(n_clusters)),
        (groups.KNOWN.name, groups.KNOWN.format(state.value(groups.KNOWN))),
        *groups.link(frame.source, CLUSTERS),
        ("start_seed", str(start_seed)),
        ("noise_seed", str(row["noise_key"])),
        ("audience", "curator"),
    ]


def contents(entry: Compared, frame: PageFrame) -> Contents:
    """Declare what a method protects, as its own page does in more words."""
    box = box_words(words_of(frame.source))
    secret = ("Records, and who is in which cluster", "Costs, agreement with classes, the cost without privacy")
    if entry.per_distance:
        protects = "Where one person is, among places not far apart. That somebody took part is not hidden."
        apart = ((1.0, _range_words(frame)),)
        return Contents(protects, (box, "ε, the unit of distance, the number of persons"), secret, NOBODY, apart)
    return Contents(RECORD, (box, "k, ε and every other knob"), secret, CURATOR)


def _range_words(frame: PageFrame) -> str:
    """Say how far apart two places are that the whole range of a feature parts: in meters on a map."""
    dataset = frame.source.dataset
    if dataset.place is None or dataset.bounds_from_data:
        return "range of a feature"
    meters = f"{float(dataset.box.widths[dataset.place.axes[0]]):,.10g} m"
    return meters if dataset.d == len(dataset.place.axes) else f"range of a feature ({meters} on the map)"


def _card(
    frame: PageFrame, entry: Compared, row: story.Row, n_clusters: int, start_seed: int, *, is_pinned: bool
) -> None:
    place = "pinned" if is_pinned else "chosen"
    title = f"{entry.name}, ε = {number(float(row['epsilon']))}"
    n = frame.source.dataset.n
    part = TrialPart(entry.key, float(row["epsilon"]), n_clusters, start_seed, int(row["noise_seed"]), 1, n)
    (found,) = looked(frame.source, [part], place)
    if found is not None:
        _picture(frame, title, found, place)
    panel.side(panel.facts(f"{'Pinned' if is_pinned else 'Chosen'}: {title}", story.facts(row), public=False))
    with st.container(horizontal=True):
        if is_pinned:
            st.button("Unpin", on_click=state.remember, args=(PINNED, NONE))
        else:
            words = "Keep it beside the next one that you click."
            st.button("Pin", help=words, on_click=_pin, args=(entry.key, float(row["epsilon"])))
        if entry.page:
            query = dict(page_query(frame, entry, row, n_clusters, start_seed))
            if st.button("Open it on its page", key=f"open-{place}", type="primary"):
                leap(entry.page, query)
                st.rerun(scope="app")
    if frame.source.uploaded and entry.page:
        st.caption(OTHER_NOISE)
    if found is not None:
        guarantee = honest(found.guarantee, frame.source, Noise(0))
        notices = [each for each in guarantee.caveats if each == FROM_DATA]
        panel.side(panel.guarantee(label_of(guarantee, contents(entry, frame)), title, notices))
        with st.expander("Released centers"):
            names = frame.source.dataset.feature_names
            listed(pd.DataFrame(found.centers, columns=list(names)))


def _picture(frame: PageFrame, title: str, found: RepeatedRun, place: str) -> None:
    dataset = frame.source.dataset
    unit, centers = dataset.box.to_unit(dataset.points), dataset.box.to_unit(found.centers)
    scene = run_scene(title, unit, centers, found.nonprivate_labels, words_of(frame.source))
    live(scene, key=f"run-{place}", height=HEIGHT)


def _pin(key: str, epsilon: float) -> None:
    state.remember(PINNED, key)
    state.remember(PINNED_AT, epsilon)
