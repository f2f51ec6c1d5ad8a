"""The Compare page: the stage that fills while runs come in, then its curves, the chosen runs, and the tabs.

The stage is a component of the app: one message contains every method's map and number at each ε.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import streamlit as st

from dpviz.core import Knob
from dpviz.plots import Audience, Scene
from dpviz.stories.method import Page
from dpviz.stories.panel import Sentence, number
from dpviz.stories.recipe import Calls, calls_excerpt
from dpviz.tools.compare import frontier, stage
from dpviz.tools.compare.frontier import Series
from dpviz.tools.compare.page import report, tabs
from dpviz.tools.compare.page.runs import (
    AT,
    CHOICES,
    CLUSTERS,
    KNOBS,
    SWITCHES,
    TALLIED,
    Gathered,
    ask,
    cards,
    choose,
    chosen,
    drawn,
    follow_read_at,
    gathered,
    own_default,
    renew,
    shown_parts,
)
from dpviz.tools.compare.proposal import recommend
from dpviz.tools.compare.runs import CENTERS, COLUMNS, ENTRIES, CompareQuestion, Rows
from dpviz.tools.compare.stage import CompareStage, UnitOf
from dpviz.tools.trials import OK
from dpviz.ui import controls, frame, hiding, reading, state
from dpviz.ui.controls import drawn_slider
from dpviz.ui.data import groups
from dpviz.ui.data.upload import HELD
from dpviz.ui.export.files import CURATOR, PUBLIC, data_of
from dpviz.ui.frame import AUDIENCE, PageFrame
from dpviz.ui.live import LiveState, live, session_name
from dpviz.ui.panel import safe_table
from dpviz.ui.runs import ChartScreen, address, keep, released_total, words_of
from dpviz.ui.server.served import served
from dpviz.ui.stage import follow_choice, message

KEY = "compare"
ORDER = Knob(
    "order",
    "choice",
    "0",
    "Rows, about",
    "An order of magnitude that everyone may know. The exact number of rows stays secret and does not affect the "
    "recommendation.",
    choices=(
        ("0", "not specified"),
        ("released", "released counts, added up"),
        *((str(n), f"{n:,}") for e in range(2, 7) for n in (10**e, 3 * 10**e)),
    ),
)
STATES = ("moved", "picked", "audience")
_STAGE = served("compare_stage")
_STAGE_CLICK = "dpviz:compare-stage-click"


def draw_stage(
    page: PageFrame, question: CompareQuestion, rows: Rows, series: Sequence[Series], at: float, query: str
) -> None:
    """Draw the stage as its audience sees it, and choose the run of a click on a map."""
    whole = _stage(page, question, rows, series)
    shown = whole.public() if page.public else whole
    at_map, slider = chosen(), drawn_slider(state.widget_key(AT.name))
    n_runs = len(question.entries) * len(question.epsilons) * question.n_runs
    share = sum(map(len, rows.values())) / n_runs
    before = _picked(st.session_state.get(KEY), shown)
    data: dict[str, object] = {
        **shown.data(),
        "key": state.widget_key(AT.name),
        "index": shown.epsilons.index(at),
        "move": None if slider is None else slider["move"],
        "fixed": hiding.hides(AT.name),
        "chosen": None if at_map is None else at_map[0],
        "share": None if page.public or share >= 1.0 else round(share, 3),
        "picks": 0 if before is None else before[2],
        "views": None if hiding.hides(AUDIENCE.name) else [page.insider, dict(AUDIENCE.choices)["public"]],
        "query": query,
        # The browser ignores URLs from a different session, such as after a restart of the server.
        "session": session_name(),
    }
    changes = {f"on_{name}_change": lambda: None for name in STATES}
    picked = _picked(_STAGE(data=data, key=KEY, **changes), shown)
    if picked is None or picked[2] == st.session_state.get(_STAGE_CLICK) or page.public:
        return
    st.session_state[_STAGE_CLICK] = picked[2]
    choose(picked[0], picked[1])
    state.run_again()


def _picked(sent: object, shown: CompareStage) -> tuple[str, float, int] | None:
    """Return the method and ε of the last click, and its number; None for a message that makes no sense."""
    click = state.read_message(sent, tuple[str, state.Number, state.Number], "picked")
    if click is None:
        return None
    key, index, count = click
    if index not in range(len(shown.epsilons)) or key not in {each.key for each in shown.maps}:
        return None
    return key, shown.epsilons[int(index)], int(count) if abs(count) < 2**53 else 0


def _stage(page: PageFrame, question: CompareQuestion, rows: Rows, series: Sequence[Series]) -> CompareStage:
    dataset = page.dataset
    bounds_public = not dataset.bounds_from_data
    entries = [key for key in question.entries if not ENTRIES[key].per_distance]
    promises = {
        key: stage.promise(
            [report.promised(page, question, key, epsilon) for epsilon in COLUMNS],
            question.adjacency,
            bounds_public=bounds_public,
        )
        for key in entries
    }
    no_data, waiting = frontier.no_data_ratio(rows), frontier.progress(question, rows)
    most = float(state.value(tabs.LIMIT))
    audience = Audience.CURATOR if page.source.own else Audience.RELEASED
    unit_of = UnitOf(dataset.box.low, dataset.box.high)
    maps = stage.maps_of(
        entries,
        COLUMNS,
        rows,
        series,
        promises,
        question.seed + drawn(question),
        unit_of=unit_of,
        audience=audience,
        most=most if waiting is None else None,
    )
    rows_each = max(dataset.rows_per_person, 1)
    held = "" if waiting is None else waiting.curator
    if page.source.nonprivate_is_held:
        held = HELD
    findings = [
        Sentence(held, stage.public_finding(maps, rows_each * epsilon))
        if held
        else stage.finding(maps, i, epsilon, no_data, rows_each)
        for i, epsilon in enumerate(COLUMNS)
    ]
    widths = dataset.box.widths
    return CompareStage(
        COLUMNS,
        maps,
        tuple(findings),
        stage.lede(dataset.title, audience, most),
        stage.conditions(
            dataset.title,
            dataset.n,
            question.adjacency,
            question.n_clusters,
            question.n_runs,
            maps,
            no_data,
            bounds_public=bounds_public,
        ),
        float(widths[0] / widths[1]) if bounds_public and dataset.d == 2 and (widths > 0).all() else 1.0,
        question.n_runs,
        dataset.d,
        most,
        stage.sample(unit_of(dataset.points)),
    )


# -- The page --


TITLE = "Compare"
APART_HEIGHT = 260  # CSS pixels
TAB = Knob(
    "compare_tab",
    "choice",
    "numbers",
    "Under the picture",
    "",
    choices=(
        ("numbers", "All numbers"),
        ("solve", "Solve for ε"),
        ("people", "How many people"),
        ("clusters", "Find k"),
        ("report", "Report"),
        reading.CHOICE,
    ),
)
CODE = "The calls behind the frontier above: the same records, runs and seeds."
_CLICK = "dpviz:compare-click"


def draw_compare() -> None:
    """Draw the page."""
    follow_choice("audience", frame.AUDIENCE, KEY)
    page = frame.start(TITLE, frontier.TERMS, public_picture=False)
    # Keep nothing of the previous page.
    keep(None)
    question = ask(page)
    if question.entries and not hiding.hides("seeds"):
        with page.again:
            st.button("New noise", help="A different run in the maps.", on_click=renew, args=(question,))
    compared(page, question)
    frame.show_problems(page.problems)


def link(page: PageFrame) -> state.Pairs:
    """Return the page's link: the data, every knob, the chosen and the pinned run."""
    suited = (own_default(page.source, knob) for knob in KNOBS)
    pairs = [(knob.name, knob.format(state.value(knob))) for knob in (*suited, TAB, *CHOICES, *tabs.KNOBS, ORDER)]
    return [*page.source.link, *pairs, *groups.link(page.source, CLUSTERS)]


@state.fragment
def compared(page: PageFrame, question: CompareQuestion) -> None:
    """Draw the stage with the results so far and, for the curator, the chosen runs and the tabs below it."""
    if follow_choice("audience", frame.AUDIENCE, KEY):
        state.run_again()
    at = follow_read_at(message(KEY))
    own_link = [*link(page), ("audience", str(state.value(frame.AUDIENCE)))]
    if not question.entries:
        page.stage.info("No method is chosen. Choose at least one under More.")
        address(state.differing_query(own_link))
        return
    # Every run creates these containers, because a fragment may only write into places of the last whole run.
    with page.stage:
        place, progress = st.container(), st.container()
    top, below = page.numbers.container(), page.more_pictures.container()
    if page.public:
        # On a user's own records, each run would be one more release.
        runs = Gathered({}, complete=True)
        if not page.source.own:
            with progress:
                runs = gathered(page.source, shown_parts(question, page.dataset.n), TALLIED, "Parts of the runs")
        pairs = [*own_link, *_names(page, question, runs.rows, at)]
        query = state.differing_query(pairs)
        with place:
            draw_stage(page, question, runs.rows, (), at, query)
        _keep(page, question, at, {}, (), pairs)
        with below:
            if not hiding.hides("export"):
                report.offer_public(page, question, query)
        return
    with progress:
        runs = gathered(page.source, question.parts(page.dataset.n), TALLIED, "Parts of the runs")
    rows = runs.rows
    pairs = [*own_link, *_names(page, question, rows, at)]
    query = state.differing_query(pairs)
    bounds_public = not page.dataset.bounds_from_data
    series = frontier.all_series(question.entries, rows, question.adjacency, bounds_public=bounds_public)
    shared = tuple(one for one in series if not one.per_distance)
    without_data = frontier.no_data_ratio(rows)
    with place:
        draw_stage(page, question, rows, series, at, query)
    with top:
        _propose(page, question, at)
        tabs.ask_k(page.source, question.n_clusters)
        if not series:
            refused = sorted({str(row["status"]) for each in rows.values() for row in each if row["status"] != OK})
            if refused:
                st.warning(state.plain(refused[0]))
            elif runs.complete and rows:
                st.warning("The cost without privacy is 0: there are no more distinct records than clusters. Lower k.")
            else:
                st.caption("The first results are on their way.")
        if runs.complete and (words := frontier.own_numbers(shared, rows, at)):
            st.caption(words)
    ring = chosen()
    scene = frontier.frontier(shared, question.adjacency, ring, at=at, without_data=without_data) if shared else None
    _keep(page, question, at, rows, () if scene is None else (scene,), pairs)
    if not series:
        return
    with below:
        if scene is not None:
            _follow(live(scene, key="curves", fits=True), shared, "curves")
        # Each of these methods gets a small picture with its own axes.
        away = [one for one in series if one.per_distance]
        for column, one in zip(st.columns(2, gap="medium") if away else (), away, strict=False):
            with column:
                name = f"apart-{one.key}"
                _follow(
                    live(frontier.apart(one, question.adjacency), key=name, height=APART_HEIGHT, fits=True), [one], name
                )
        # Runs of each method and ε whose runs are all finished: before that, none of them is the median.
        counts = Counter((key, row["epsilon"]) for key, each in rows.items() for row in each)
        finished = {
            key: [row for row in each if counts[key, row["epsilon"]] >= question.n_runs] for key, each in rows.items()
        }
        cards(page, question, finished, [knob.name for knob in OWN])

    def numbers() -> None:
        lines = [
            line
            for key, each in rows.items()
            for line in frontier.table(ENTRIES[key].name, each, bounds_public=bounds_public)
        ]
        safe_table([*lines, *frontier.no_data_line(rows)])
        st.caption("Medians over the runs. Time is the processor's, for one run on one core.")

    def offer() -> None:
        if not runs.complete:
            st.caption("The report waits for all runs.")
            return
        report.offer(page, question, rows, at, tabs.recommended(page, question, rows), query)

    def explain() -> None:
        parts = [
            reading.FormulaPart(name, formulas, frontier.WORDS)
            for name, formulas in frontier.formulas(series, rows, at)
            if formulas
        ]
        code = calls_excerpt(_calls(page, question, at))
        reading.article(frontier.MISREADINGS, frontier.PAPERS, parts, code, CODE)

    with below:
        contents = {
            "numbers": numbers,
            "solve": lambda: tabs.solve(page, question, rows, complete=runs.complete),
            "people": lambda: tabs.solve(page, question, rows, complete=runs.complete, people=True),
            "clusters": lambda: tabs.find_k(page, question, at),
            "report": offer,
            reading.CHOICE[0]: explain,
        }
        controls.fill(TAB, contents)


def _propose(page: PageFrame, question: CompareQuestion, at: float) -> None:
    """Recommend a first method for `at` from public values alone. It waits for no run, and no run changes it."""
    data = page.dataset
    # The exact number of a user's own rows is secret. Sizes of the gallery's data sets are public.
    n = data.n
    if page.source.own:
        order = str(controls.control(ORDER))
        total = released_total(page.source) if order == "released" else float(order)
        if total is None:
            st.caption("No release of these records with these settings includes counts. Choose a number instead.")
            return
        n = round(total)
        if not total:
            st.caption("Choose the approximate number of rows, and a method to begin with appears here.")
            return
    it = recommend(n=n, epsilon=at, n_clusters=question.n_clusters, bounds=data.box)
    # Without privacy, as many centers as records cost nothing, so no cost is a multiple of that cost.
    expected = f" Expected: {it.expected}." if question.n_clusters < n else ""
    one, switch = ENTRIES[it.method], SWITCHES[it.method]
    st.markdown(
        f"At ε = {number(at)}, begin with **{one.name}**. This follows from the numbers of records, features and "
        f"centers, before any run. {it.reason}{expected}"
    )
    if it.method not in question.entries and not hiding.hides(switch.name):
        st.button(f"Compare {one.short} too", on_click=state.remember, args=(switch, True))


def _names(page: PageFrame, question: CompareQuestion, rows: Rows, at: float) -> state.Pairs:
    """Return the link's part about clusters' names, in the order of the centers of the first map at `at` that has k.

    The link contains the seeds, so anyone who opens it finds the same centers. Until all maps are complete, the link
    keeps the names that this page was opened with.
    """
    here = at, question.seed + drawn(question)
    runs = [row for key in question.entries for row in rows.get(key, ()) if (row["epsilon"], row["noise_seed"]) == here]
    if len(runs) < len(question.entries):
        return groups.link_names([state.opening_query().get(name, "") for name in state.CLUSTER_NAMES])
    released = sorted((row[CENTERS] for row in runs if row[CENTERS] is not None), key=len, reverse=True)
    centers = next((each for each in released if len(each) == question.n_clusters), None)
    if centers is None:
        centers = released[0] if released else np.empty((0, page.dataset.d))
    return groups.link_names(groups.names_of(page.source, words_of(page.source), centers))


def _keep(
    page: PageFrame, question: CompareQuestion, at: float, rows: Rows, scenes: tuple[Scene, ...], pairs: state.Pairs
) -> None:
    """Keep the screen's contents for export; the public has no scenes and no rows."""
    dataset, public = page.dataset, page.public
    notes = (
        f"{dataset.title}: k = {question.n_clusters}, {question.n_runs} runs of each method at each ε, each with its "
        f"own start and noise, seeds from {question.seed} on.",
        *((PUBLIC,) if public else (frontier.LEAK, CURATOR)),
    )
    medians = {key: frontier.median_at(rows, key, at) for key in rows}
    promises = tuple(
        {"method": ENTRIES[key].name, "line": frontier.guarantee_words(row, bounds_public=not dataset.bounds_from_data)}
        for key, row in medians.items()
        if row is not None
    )
    keep(ChartScreen(page.source, scenes, public, pairs, notes, _calls(page, question, at), promises))


def _calls(page: PageFrame, question: CompareQuestion, at: float) -> Calls:
    return frontier.code(data_of(page.source, public=page.public), question, at, chosen())


def _follow(picture: LiveState, series: Sequence[Series], place: str) -> None:
    """Choose the run of a click in the picture `place` of some methods, once for each click.

    A word in the legend chooses the line's middle ε.
    """
    clicked = f"{_CLICK}:{place}"
    key = (picture.picked or "").removesuffix(frontier.LINE)
    one = next((each for each in series if each.key == key), None)
    if one is None or picture.pick_count == st.session_state.get(clicked):
        return
    st.session_state[clicked] = picture.pick_count
    nowhere = picture.picked != one.key or picture.picked_mark is None
    at = len(one.epsilons) // 2 if nowhere else min(picture.picked_mark or 0, len(one.epsilons) - 1)
    choose(one.key, one.epsilons[at])
    state.run_again()


OWN = (*KNOBS, *CHOICES, *tabs.KNOBS, ORDER, groups.CURVE)
PAGE = Page(draw_compare, OWN, TITLE)
