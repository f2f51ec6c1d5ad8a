"""The Compare page's two answers: the smallest ε, and the fewest people, for a cost, each in one line."""

import pandas as pd
import streamlit as st

from dpviz.core import Knob
from dpviz.tools.compare import search as compare_search
from dpviz.tools.compare import story
from dpviz.tools.compare.entries import ENTRIES
from dpviz.tools.compare.page.question import CompareQuestion
from dpviz.tools.compare.page.runs import searched
from dpviz.tools.compare.search import CostSearch, Searched
from dpviz.tools.compare.story import Rows, answer
from dpviz.tools.compare.story.answer import Recommendation
from dpviz.ui import controls, state
from dpviz.ui.export.listed import listed
from dpviz.ui.frame import PageFrame

LIMIT = Knob("aim", "float", 1.2, "Cost at most, × without privacy", "The accuracy that is wanted.", 1.0, 3.0, 1.0, 1e6)
SHARE = Knob(
    "aim_share",
    "choice",
    "0.9",
    "In at least",
    "You release one run. Half of the runs: the median.",
    choices=(("0.5", "Half of the runs"), ("0.9", "9 of 10 runs")),
)
AT = Knob(
    "people_epsilon",
    "choice",
    "1.0",
    "At ε",
    "Of every method.",
    choices=(("0.1", "0.1"), ("0.3", "0.3"), ("1.0", "1"), ("3.0", "3"), ("10.0", "10")),
)
KNOBS = (LIMIT, SHARE, AT)
CONFIDENCE = 0.95  # of all intervals together
LOOK = "Choosing ε by them leaks information that no guarantee here covers: choose it on public data like yours."
SAMPLES = (
    "On random samples of these records, without replacement: nobody can say here what more people than these would "
    "change."
)


def epsilon(frame: PageFrame, question: CompareQuestion, rows: Rows, *, complete: bool) -> None:
    """Say the smallest ε that keeps the cost, and by which method; the search begins with the picture's own runs."""
    _drawn_aim()
    if not complete:
        st.caption("The search begins when all runs of the picture are there.")
        return
    _answer(frame, question, for_epsilon(frame, question, rows), rows, "solve", LOOK)


def people(frame: PageFrame, question: CompareQuestion, rows: Rows, *, complete: bool) -> None:
    """Say the fewest people that keep it, on samples of these records."""
    _drawn_aim()
    at = float(controls.control(AT))
    if not complete:
        st.caption("The search begins when all runs of the picture are there.")
        return
    search = _search(frame, question, rows, compare_search.sizes(frame.source.dataset.n, question.n_clusters), at)
    _answer(frame, question, search, rows, "people", SAMPLES)


def recommended(frame: PageFrame, question: CompareQuestion, rows: Rows) -> tuple[Recommendation | None, str]:
    """Return what to take and its sentence, which also says so where nothing was shown to do, or the search goes on.

    The runs that are missing are made, and how far they are is drawn. `rows` are all runs of the picture.
    """
    search = for_epsilon(frame, question, rows)
    found = searched(frame.source, search, rows, "solve")
    said = _said(search, found, _proved(frame, question, rows))
    if said is not None:
        return said
    known = answer.so_far(search, found, _legends(frame, question, search, rows))
    return None, f"The search for ε is not over ({answer.where(found)}). {known}"


def for_epsilon(frame: PageFrame, question: CompareQuestion, rows: Rows) -> CostSearch:
    """Return the search for ε that the page's knobs ask for."""
    return _search(frame, question, rows, compare_search.EPSILONS, None)


def _search(
    frame: PageFrame, question: CompareQuestion, rows: Rows, values: tuple[float, ...], at: float | None
) -> CostSearch:
    """Return a search among the methods whose ε is about one record: what counts per distance has no place there."""
    entries = tuple(key for key in question.entries if not story.per_distance(rows.get(key, ())))
    floors = [row["floor_inertia"] for runs in rows.values() for row in runs if row["status"] == story.OK]
    return CostSearch(
        entries,
        values,
        float(state.value(LIMIT)),
        float(state.value(SHARE)),
        CONFIDENCE,
        question.n_clusters,
        question.start_seed,
        question.seed,
        frame.source.dataset.n,
        at,
        min(floors, default=float("inf")) if at is None else float("inf"),
    )


def _answer(frame: PageFrame, question: CompareQuestion, search: CostSearch, rows: Rows, place: str, note: str) -> None:
    """Draw the answer in one line, and how it was found in a detail."""
    found = searched(frame.source, search, rows if search.epsilon is None else {}, place)
    said = _said(search, found, _proved(frame, question, rows))
    legends = _legends(frame, question, search, rows)
    best, words = (None, answer.so_far(search, found, legends)) if said is None else said
    st.markdown(state.plain(words) if said is None else f"**{state.plain(words)}**")
    if best is not None and best.second:
        st.markdown(state.plain(best.second))
    with st.expander("How this was found"):
        listed(pd.DataFrame(answer.lines(search, found, legends)), hide_index=True)
        st.caption(f"{answer.reasoning(search)} {note}")


def _legends(frame: PageFrame, question: CompareQuestion, search: CostSearch, rows: Rows) -> dict[str, str]:
    return {key: _legend(frame, question, rows, key) for key in search.entries}


def _said(search: CostSearch, found: Searched, proved: list[str]) -> tuple[Recommendation | None, str] | None:
    if not found.over:
        return None
    names = {key: ENTRIES[key].name for key in search.entries}
    proved = [key for key in proved if key in search.entries]
    best = answer.recommendation(search, found, names, proved)
    return best, answer.none_found(search, found, names, proved) if best is None else best.sentence


def _proved(frame: PageFrame, question: CompareQuestion, rows: Rows) -> list[str]:
    """Return the methods whose ε is proved for the neighbors that the page is about."""
    return [key for key in question.entries if _standing(frame, question, rows, key) is story.EpsilonMeaning.SAME]


def _legend(frame: PageFrame, question: CompareQuestion, rows: Rows, key: str) -> str:
    kind = _standing(frame, question, rows, key)
    return f"{ENTRIES[key].name} ({kind.words})" if kind is not None and kind.words else ENTRIES[key].name


def _standing(frame: PageFrame, question: CompareQuestion, rows: Rows, key: str) -> story.EpsilonMeaning | None:
    made = next((row for row in rows.get(key, ()) if row["status"] == story.OK), None)
    public = not frame.source.dataset.bounds_from_data
    return None if made is None else story.standing(made, question.adjacency, bounds_public=public)


def _drawn_aim() -> None:
    columns = st.columns([2, 1], vertical_alignment="bottom")
    with columns[0]:
        controls.control(LIMIT)
    with columns[1]:
        controls.control(SHARE)
