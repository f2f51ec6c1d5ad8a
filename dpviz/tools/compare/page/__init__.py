"""The Compare page: the frontier that grows while runs come in, and the chosen runs."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpviz.core import Knob
from dpviz.plots import Scene
from dpviz.stories.method import Page
from dpviz.stories.panel import Sentence
from dpviz.stories.recipe import Calls, calls_excerpt
from dpviz.tools.compare import story
from dpviz.tools.compare.entries import ENTRIES
from dpviz.tools.compare.no_data import no_data_line, no_data_ratio
from dpviz.tools.compare.page import cards as compare_cards
from dpviz.tools.compare.page import clusters as compare_k
from dpviz.tools.compare.page import grid as compare_grid
from dpviz.tools.compare.page import report as compare_report
from dpviz.tools.compare.page import solve as compare_solve
from dpviz.tools.compare.page.question import CLUSTERS, KNOBS, CompareQuestion, ask, read_at
from dpviz.tools.compare.page.runs import TALLIED, Gathered, gathered
from dpviz.tools.compare.story import ranking as compare_ranking
from dpviz.tools.compare.story import reading as compare_reading
from dpviz.ui import controls, frame, panel, reading, state
from dpviz.ui.address import address
from dpviz.ui.data import groups
from dpviz.ui.export.files import CURATOR, PUBLIC, data_of
from dpviz.ui.export.listed import listed
from dpviz.ui.export.shown import Charted, keep
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import LiveState, live

TITLE = "Compare"
HEIGHT, APART_HEIGHT = 480, 260  # CSS pixels
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
        ("clusters", "Find k"),
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
    every = (*asked, TAB, *compare_cards.KNOBS, *compare_grid.KNOBS, *compare_solve.KNOBS, *compare_k.KNOBS)
    pairs = [(knob.name, knob.format(state.value(knob))) for knob in every]
    return [*frame.source.link, *pairs, *groups.link(frame.source, CLUSTERS)]


@st.fragment
def compared(frame: PageFrame, question: CompareQuestion, legend: DeltaGenerator) -> None:
    """Draw the frontier of what is there so far, its `legend`, the chosen runs, and the tabs."""
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
        runs = gathered(frame.source, question.parts(frame.source.dataset.n), TALLIED, "Parts of the runs")
    drawn = _series(question, runs.rows, bounds_public=bounds_public)
    shared = tuple(one for one in drawn if not one.per_distance)
    without_data = no_data_ratio(runs.rows)
    with legend.container():
        guide(question, drawn, without_data)
    chosen = compare_cards.chosen()
    ranked = compare_ranking.ranking(shared, at, question.n_runs)
    ranking = compare_ranking.sentence(ranked, at, question.n_clusters, without_data)
    with lead:
        said = _progress(question, runs) or (ranking if bounds_public else UNPROVED)
        panel.sentence(said, public=False)
    _keep(frame, question, at, runs.rows, (), query)
    with place:
        if not drawn:
            _nothing(runs.rows, complete=runs.complete)
            address(query)
            return
        scene = story.frontier(shared, question.adjacency, chosen, at=at, without_data=without_data)
        _keep(frame, question, at, runs.rows, (scene,), query)
        _follow(live(scene, key="picture", height=HEIGHT, query=query, fits=True), drawn, "picture")
        if runs.complete:
            st.caption(compare_ranking.own_numbers(shared, runs.rows, at))
    with below:
        _apart(question, drawn)
        compare_cards.cards(frame, question.n_clusters, question.start_seed, _finished(question, runs))

    def solve() -> None:
        compare_solve.epsilon(frame, question, runs.rows, complete=runs.complete)

    def people() -> None:
        compare_solve.people(frame, question, runs.rows, complete=runs.complete)

    def report() -> None:
        if not runs.complete:
            st.caption("The report waits for all runs.")
            return
        found = compare_solve.recommended(frame, question, runs.rows)
        compare_report.offer(frame, question, runs.rows, at, found, query)

    def numbers() -> None:
        _numbers(runs.rows, bounds_public=bounds_public)

    def grid() -> None:
        asked = (question.n_clusters, question.start_seed, question.seed, question.adjacency)
        central = tuple(key for key in question.entries if not story.per_distance(runs.rows.get(key, ())))
        compare_grid.grid(frame, central, *asked)

    def read() -> None:
        parts = [
            reading.FormulaPart(name, found, compare_reading.WORDS)
            for name, found in compare_reading.formulas(drawn, runs.rows, at)
            if found
        ]
        code = calls_excerpt(_calls(frame, question, at))
        reading.article(compare_reading.MISREADINGS, compare_reading.PAPERS, parts, code, CODE)

    def clusters() -> None:
        compare_k.find(frame, question, at)

    tabs = {"numbers": numbers, "grid": grid, "solve": solve, "people": people, "clusters": clusters, "report": report}
    with below:
        controls.fill(TAB, {**tabs, reading.CHOICE[0]: read})


def _progress(question: CompareQuestion, runs: Gathered) -> Sentence | None:
    """Say how many of the methods that are ranked have all of their runs; None once all have."""
    wanted = question.n_runs * len(question.epsilons)
    ranked = [key for key in question.entries if not ENTRIES[key].per_distance]
    n_done = sum(len(runs.rows.get(key, ())) >= wanted for key in ranked)
    apart = [ENTRIES[key].name for key in question.entries if ENTRIES[key].per_distance]
    if ranked and n_done == len(ranked):
        return None
    return compare_ranking.progress(n_done, len(ranked), apart)


def _finished(question: CompareQuestion, runs: Gathered) -> dict[str, list[story.Row]]:
    """Return the runs of each method and ε of which every one is there: before that none of them is the median."""
    counts = Counter((key, row["epsilon"]) for key, rows in runs.rows.items() for row in rows)
    return {
        key: [row for row in rows if counts[key, row["epsilon"]] >= question.n_runs] for key, rows in runs.rows.items()
    }


def _apart(question: CompareQuestion, drawn: Sequence[story.Series]) -> None:
    """Draw each method whose ε counts per distance in a small picture with axes of its own."""
    found = [one for one in drawn if one.per_distance]
    for column, one in zip(st.columns(2, gap="medium") if found else (), found, strict=False):
        with column:
            scene = story.apart(one, question.adjacency)
            place = f"apart-{one.key}"
            _follow(live(scene, key=place, height=APART_HEIGHT, fits=True), [one], place)


def _keep(
    frame: PageFrame, question: CompareQuestion, at: float, rows: story.Rows, scenes: tuple[Scene, ...], query: str
) -> None:
    """Remember what is on screen, for whoever takes it away; the public has no scenes and no rows."""
    public, n_runs = frame.public, question.n_runs
    notes = (
        f"{frame.source.dataset.title}: k = {question.n_clusters}, {n_runs} runs of each method at each ε, noise seeds "
        f"from {question.seed} on, start seed {question.start_seed}.",
        *((PUBLIC,) if public else (story.LEAK, CURATOR)),
    )
    promises = _promises(rows, at, bounds_public=not frame.source.dataset.bounds_from_data)
    keep(Charted(frame.source, scenes, public, query, notes, _calls(frame, question, at), promises))


def _promises(rows: story.Rows, at: float, *, bounds_public: bool) -> tuple[dict[str, Any], ...]:
    """Return what each method's run at the ε that is read promises, for a file."""
    found = {key: story.median_row([row for row in runs if row["epsilon"] == at]) for key, runs in rows.items()}
    return tuple(
        {"method": ENTRIES[key].name, "line": story.guarantee_words(row, bounds_public=bounds_public)}
        for key, row in found.items()
        if row is not None
    )


def _calls(frame: PageFrame, question: CompareQuestion, at: float) -> Calls:
    return compare_reading.code(
        data_of(frame.source, public=frame.public),
        question.entries,
        question.epsilons,
        n_clusters=question.n_clusters,
        start_seed=question.start_seed,
        seed=question.seed,
        n_runs=question.n_runs,
        adjacency=question.adjacency,
        at=at,
        chosen=compare_cards.chosen(),
    )


def hidden(frame: PageFrame, question: CompareQuestion) -> None:
    """Say why the public sees nothing; the link has all that is asked, for the curator to open."""
    st.info(story.HIDDEN)
    query = state.query([*link(frame), ("audience", "public")])
    _keep(frame, question, question.read_at, {}, (), query)
    if question.entries:
        compare_report.offer_public(frame, question, query)
    address(query)


def guide(question: CompareQuestion, drawn: Sequence[story.Series], without_data: float | None = None) -> None:
    """Say what the look of each line that is `drawn` means, and what must not be held against what."""
    lines = compare_ranking.looks(drawn, question.adjacency, without_data)
    st.markdown("\n".join(["**What may be compared**\n", *(f"- {line}" for line in lines)]))
    st.caption(
        "Convergent k-means as published is not here: it spends ε in each step, and how many steps there are follows "
        "from the records."
    )


def _series(question: CompareQuestion, rows: story.Rows, *, bounds_public: bool) -> tuple[story.Series, ...]:
    keys = list(ENTRIES)
    made = (
        story.series_of(
            key, ENTRIES[key].name, keys.index(key), rows[key], question.adjacency, bounds_public=bounds_public
        )
        for key in question.entries
        if key in rows
    )
    return tuple(one for one in made if one is not None)


def _nothing(rows: story.Rows, *, complete: bool) -> None:
    """Say why there is no picture: the runs are on their way, or none could be made."""
    refused = sorted({str(row["status"]) for runs in rows.values() for row in runs if row["status"] != story.OK})
    if refused:
        st.warning(state.plain(refused[0]))
    elif complete and rows:
        st.warning("The cost without privacy is 0: there are no more different records than clusters. Lower k.")
    else:
        st.caption("The first runs are on their way.")


def _numbers(rows: story.Rows, *, bounds_public: bool) -> None:
    """Show what every line is made of."""
    lines = [
        line for key, runs in rows.items() for line in story.table(ENTRIES[key].name, runs, bounds_public=bounds_public)
    ]
    listed(pd.DataFrame([*lines, *no_data_line(rows)]), hide_index=True)
    st.caption("Medians over the runs. Time is the processor's, for one run on one core.")


def _follow(picture: LiveState, drawn: Sequence[story.Series], place: str) -> None:
    """Choose the run that was clicked in the picture `place`, once for each click.

    A word in the legend chooses a line's middle ε.
    """
    clicked = f"{_CLICK}:{place}"
    if picture.picked is None or picture.pick_count == st.session_state.get(clicked):
        return
    st.session_state[clicked] = picture.pick_count
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
    page = frame.start(TITLE, story.TERMS, what="Methods and k", public_picture=False)
    keep(None)  # nothing of the page before
    question = ask(page)
    if page.public:
        with page.picture:
            hidden(page, question)
        with page.side:
            guide(question, ())
    else:
        with page.side:
            compare_k.ask(page.source, question.n_clusters)
            st.caption(story.LEAK)
            legend = st.container()
        with page.picture:
            compared(page, question, legend)
    frame.show_problems(page.problems)


OWN = (*KNOBS, *compare_cards.KNOBS, *compare_grid.KNOBS, *compare_solve.KNOBS, *compare_k.KNOBS, groups.CURVE)
PAGE = Page(draw, OWN, TITLE)
