"""The Compare page: the frontier that grows while runs come in, and the chosen runs."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dpviz.core import Knob
from dpviz.stories.method import Page
from dpviz.stories.panel import Sentence
from dpviz.tools.compare import story
from dpviz.tools.compare.entries import ENTRIES
from dpviz.tools.compare.page import cards as compare_cards
from dpviz.tools.compare.page import grid as compare_grid
from dpviz.tools.compare.page import report as compare_report
from dpviz.tools.compare.page import solve as compare_solve
from dpviz.tools.compare.page.question import CLUSTERS, KNOBS, CompareQuestion, ask, read_at
from dpviz.tools.compare.page.runs import Gathered, gathered
from dpviz.tools.compare.story import reading as compare_reading
from dpviz.ui import controls, frame, panel, reading, state
from dpviz.ui.address import address
from dpviz.ui.export import shown
from dpviz.ui.export.files import data_of
from dpviz.ui.export.listed import listed
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import LiveState, live

TITLE = "Compare"
HEIGHT = 480  # CSS pixels
TAB = Knob(
    "compare_tab",
    "choice",
    "numbers",
    "Under the picture",
    "",
    choices=(
        ("numbers", "All numbers"),
        ("grid", "A second parameter"),
        ("solve", "Solve for ε"),
        ("people", "How many people"),
        ("report", "Report"),
        reading.CHOICE,
    ),
)
CODE = "The calls behind the frontier above: the same records, runs and seeds."
UNPROVED = Sentence(
    "Bounds were taken from the data, so nothing is proved for any of these methods. Type public bounds under Data.",
    "Bounds were taken from the data, so nothing is proved.",
)
_CLICK = "dpviz:compare-click"


def link(frame: PageFrame) -> list[tuple[str, str]]:
    """Return the page's link: the data, every knob, the chosen and the pinned run."""
    asked = (frame.source.suited(knob) if knob is CLUSTERS else knob for knob in KNOBS)
    every = (*asked, TAB, *compare_cards.KNOBS, *compare_grid.KNOBS, *compare_solve.KNOBS)
    return [*frame.source.link, *((knob.name, knob.format(state.value(knob))) for knob in every)]


@st.fragment
def compared(frame: PageFrame, question: CompareQuestion) -> None:
    """Draw the frontier of what is there so far, the chosen runs, and the tabs."""
    if state.is_blank():
        return
    query = state.query([*link(frame), ("audience", "curator")])
    if not question.entries:
        st.info("No method is chosen. Choose at least one under Methods and k.")
        address(query)
        return
    bounds_public = not frame.source.dataset.bounds_from_data
    with frame.slider:
        at = read_at(question, bounds_public=bounds_public)
    # Made by every run: a fragment may only write where the last whole run has written.
    place, progress = st.container(), st.container()
    lead, below = frame.lead.container(), frame.more_pictures.container()
    with progress:
        runs = gathered(frame.source, question.parts(frame.source.dataset.n), "frontier", "Parts of the runs")
    drawn = _series(question, runs.rows, bounds_public=bounds_public)
    chosen = compare_cards.chosen()
    ranking = story.sentence(drawn, at)
    with lead:
        said = ranking if runs.complete else story.progress(_done(question, runs), len(question.entries))
        panel.sentence(said if bounds_public or not runs.complete else UNPROVED, public=False)
    with place:
        if not drawn:
            _nothing(runs.rows, complete=runs.complete)
            address(query)
            return
        scene = story.frontier(drawn, question.adjacency, chosen, at=at)
        _follow(live(scene, key="picture", height=HEIGHT, query=query, fits=True), drawn)
    with below:
        compare_cards.cards(frame, question.n_clusters, question.start_seed, runs.rows)

    def solve() -> None:
        compare_solve.epsilon(runs.rows, complete=runs.complete, bounds_public=bounds_public)

    def people() -> None:
        compare_solve.people(frame, question.entries, question.n_clusters, question.start_seed, question.seed)

    def report() -> None:
        compare_report.offer(frame, scene, at, runs.rows, (ranking.curator,), query, complete=runs.complete)

    def numbers() -> None:
        _numbers(runs.rows, bounds_public=bounds_public)

    def grid() -> None:
        asked = (question.n_clusters, question.start_seed, question.seed, question.adjacency)
        compare_grid.grid(frame, question.entries, *asked)

    def read() -> None:
        parts = [
            reading.FormulaPart(name, found, compare_reading.WORDS)
            for name, found in compare_reading.formulas(drawn, runs.rows, at)
            if found
        ]
        reading.article(compare_reading.MISREADINGS, compare_reading.PAPERS, parts, _code(frame, question, at), CODE)

    tabs = {"numbers": numbers, "grid": grid, "solve": solve, "people": people, "report": report}
    with below:
        controls.fill(TAB, {**tabs, reading.CHOICE[0]: read})


def _done(question: CompareQuestion, runs: Gathered) -> int:
    """Count the methods of which every run is there."""
    wanted = question.n_runs * len(question.epsilons)
    return sum(len(runs.rows.get(entry, ())) >= wanted for entry in question.entries)


def _code(frame: PageFrame, question: CompareQuestion, at: float) -> str:
    return compare_reading.code(
        data_of(frame.source, public=False),
        question.entries,
        question.epsilons,
        n_clusters=question.n_clusters,
        start_seed=question.start_seed,
        seed=question.seed,
        n_runs=question.n_runs,
        adjacency=question.adjacency,
        at=at,
    )


def hidden(frame: PageFrame) -> None:
    """Say why the public sees nothing; the link has all that is asked, for the curator to open."""
    st.info(story.HIDDEN)
    address(state.query([*link(frame), ("audience", "public")]))


def guide(question: CompareQuestion) -> None:
    """Say what a line's look means, and what must not be held against what."""
    neighbors = story.NEIGHBORS[question.adjacency]
    st.markdown(
        f"**What may be compared**\n\n"
        f"- Solid, discs: proved for {neighbors}. These share one axis.\n"
        "- Dashed, crosses: the claim is not proved. Its ε is only what is claimed.\n"
        "- Dashed, squares: proved for other neighbors.\n"
        "- Dashed, diamonds: ε counts per distance; here for all of a feature's range.\n"
        "- Gray: without privacy."
    )
    st.caption(
        "Convergent k-means as published is not here: it spends ε in each step, and how many steps there are follows "
        "from the records."
    )


def _series(
    question: CompareQuestion, rows: dict[str, list[dict[str, Any]]], *, bounds_public: bool
) -> tuple[story.Series, ...]:
    keys = list(ENTRIES)
    made = (
        story.series_of(
            key, ENTRIES[key].name, keys.index(key), rows[key], question.adjacency, bounds_public=bounds_public
        )
        for key in question.entries
        if key in rows
    )
    return tuple(one for one in made if one is not None)


def _nothing(rows: dict[str, list[dict[str, Any]]], *, complete: bool) -> None:
    """Say why there is no picture: the runs are on their way, or none could be made."""
    refused = sorted({str(row["status"]) for runs in rows.values() for row in runs if row["status"] != story.OK})
    if refused:
        st.warning(state.plain(refused[0]))
    elif complete and rows:
        st.warning("The cost without privacy is 0: there are no more different records than clusters. Lower k.")
    else:
        st.caption("The first runs are on their way.")


def _numbers(rows: dict[str, list[dict[str, Any]]], *, bounds_public: bool) -> None:
    """Show what every line is made of."""
    lines = [
        line for key, runs in rows.items() for line in story.table(ENTRIES[key].name, runs, bounds_public=bounds_public)
    ]
    listed(pd.DataFrame(lines), hide_index=True)
    st.caption("Medians over the runs. Time is the processor's, for one run on one core.")


def _follow(picture: LiveState, drawn: Sequence[story.Series]) -> None:
    """Choose the run that was clicked, once for each click; a word in the legend chooses a line's middle ε."""
    if picture.picked is None or picture.pick_count == st.session_state.get(_CLICK):
        return
    st.session_state[_CLICK] = picture.pick_count
    key = picture.picked.removesuffix(story.LINE)
    one = next((each for each in drawn if each.key == key), None)
    if one is None:
        return
    nowhere = key != picture.picked or picture.picked_mark is None
    at = len(one.epsilons) // 2 if nowhere else min(picture.picked_mark or 0, len(one.epsilons) - 1)
    compare_cards.choose(one.key, one.epsilons[at])
    state.run_again()


def draw() -> None:
    """Draw the page."""
    page = frame.start(TITLE, story.TERMS, what="Methods and k")
    shown.keep(None)  # no story's picture is on screen
    question = ask(page)
    if page.public:
        with page.picture:
            hidden(page)
    else:
        with page.picture:
            compared(page, question)
        with page.side:
            st.caption(story.LEAK)
    with page.side:
        guide(question)
    frame.show_problems(page.problems)


PAGE = Page(draw, (*KNOBS, *compare_cards.KNOBS, *compare_grid.KNOBS, *compare_solve.KNOBS), TITLE)
