"""Question and runs of the Compare page, and the two runs on view: the last clicked run and the pinned run.

Runs are requested piece by piece, cached in the session, and stopped by one click.
"""

import time
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import pandas as pd
import streamlit as st

from dpviz.core import Confidential, FoundClusters, Guarantee, Knob, immutable
from dpviz.mechanisms import FROM_DATA
from dpviz.runs import honest
from dpviz.stories.label import CURATOR, NOBODY, Contents, box_words, label_of, protected
from dpviz.stories.panel import number
from dpviz.tools.compare import runs as compare_tasks
from dpviz.tools.compare import search as compare_search
from dpviz.tools.compare.frontier import facts, median_at, run_scene
from dpviz.tools.compare.runs import (
    COLUMNS,
    COUNTERPART_COLUMNS,
    ENTRIES,
    EPSILONS,
    Compared,
    CompareQuestion,
    Counterparts,
    RepeatedRun,
    Row,
    Rows,
    TrialPart,
    packaged,
    part_of,
    referenced,
)
from dpviz.tools.compare.search import CostSearch, Searched
from dpviz.tools.trials import GivenRecords
from dpviz.ui import asking, controls, hiding, panel, state
from dpviz.ui.asking import Answers, Job, Task
from dpviz.ui.controls import nearest, stage_slider
from dpviz.ui.data import groups
from dpviz.ui.data.picker import Source
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import live
from dpviz.ui.panel import safe_table
from dpviz.ui.runs import words_of

MOST_SEED = 10**6
# Number of a typical run among the packaged ones.
TYPICAL = 8
GRIDS = {
    "few": COLUMNS,
    "many": (0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0),
    "all": EPSILONS,
}
AT = Knob("compare_at", "float", 1.0, "Read at ε", "The ranking is for this ε.", 0.03, 30.0, log=True)
SWITCHES = {
    key: Knob(f"with_{key}", "bool", entry.entry.on, entry.name, "Include this method.")
    for key, entry in ENTRIES.items()
}
CLUSTERS = Knob(
    "n_clusters", "int", 5, "Clusters k", "For k-means without privacy, and for methods that need it.", 1, 64, 1, 10_000
)
GRID = Knob(
    "compare_grid",
    "choice",
    "few",
    "Values of ε",
    "More values take longer.",
    choices=tuple((name, f"{len(grid)}, from {grid[0]} to {grid[-1]:g}") for name, grid in GRIDS.items()),
)
RUNS = Knob(
    "compare_runs",
    "choice",
    "40",
    "Runs at each ε",
    "“Solve for ε” begins with them and adds more where they decide.",
    choices=(("10", "10"), ("40", "40"), ("100", "100")),
)
AXIS = Knob(
    "compare_neighbors",
    "choice",
    "add_remove",
    "Solid lines are proved for",
    "Guarantees for other neighbors are not the same promise at the same ε.",
    choices=(("add_remove", "Adding or removing one"), ("replace", "Replacing one")),
)
SEED = Knob("compare_seed", "int", 0, "First seed", "Different starts and noise, the same records.", 0, MOST_SEED)
# The run of the first maps is typical of its methods on the default records. Any other run would work as well.
DRAW = Knob("compare_draw", "int", TYPICAL, "Run in the maps", "Counted from 0.", 0, 99)
KNOBS = (*SWITCHES.values(), CLUSTERS, GRID, RUNS, AXIS, SEED, AT, DRAW)
# Seconds that a search waits for its next rounds before it draws. Most rounds take less time than drawing does.
PATIENCE = 0.4
# The one place on the page that reports the number of runs.
TALLIED = "frontier"
_PILLS = "dpviz:compare-methods"
_CACHE, _STOPPED = f"{asking.OF_RECORDS}:compare", "dpviz:compare-stopped"


def ask(frame: PageFrame) -> CompareQuestion:
    """Draw the knobs: methods, clusters, values of ε, runs, neighbors, seeds."""

    def switch(key: str) -> None:
        chosen = state.take_choice(_PILLS, key) or []
        for name, knob in SWITCHES.items():
            state.remember(knob, name in chosen)

    with frame.first:
        key = state.tie(_PILLS, [key for key in ENTRIES if state.value(SWITCHES[key])])
        st.pills(
            "Methods",
            list(ENTRIES),
            format_func=lambda key: ENTRIES[key].name,
            selection_mode="multi",
            key=key,
            on_change=switch,
            args=(key,),
        )
        n_clusters = int(controls.control(own_default(frame.source, CLUSTERS)))
    with frame.more:
        epsilons = GRIDS[str(controls.control(own_default(frame.source, GRID)))]
        n_runs = int(controls.control(RUNS))
        adjacency = str(controls.control(AXIS))
        with st.expander("Seeds"):
            seed = int(controls.control(SEED))
    entries = tuple(key for key in ENTRIES if state.value(SWITCHES[key]))
    return CompareQuestion(entries, n_clusters, epsilons, n_runs, adjacency, seed)


def own_default(source: Source, knob: Knob) -> Knob:
    """Return the knob with the default that it has on these records."""
    if knob is CLUSTERS:
        return source.suited(knob)
    if knob is GRID and not source.own and GivenRecords.from_dataset(source.dataset).digest == packaged().records:
        # The package contains the runs for these records, so they appear at once.
        return replace(GRID, default="all")
    return knob


def renew(question: CompareQuestion) -> None:
    """Let the maps show the next run, which has its own start and noise."""
    state.remember(DRAW, (drawn(question) + 1) % question.n_runs)


def drawn(question: CompareQuestion) -> int:
    """Return the number of the run that the maps show, counted from 0."""
    return int(state.value(DRAW)) % question.n_runs


def shown_parts(question: CompareQuestion, n: int) -> list[TrialPart]:
    """Return the runs that the maps show and the runs of the same parts."""
    seed = question.seed + drawn(question)
    return [part for part in question.parts(n) if part.first <= seed < part.first + part.n_runs]


def read_at() -> float:
    """Return the ε at which methods are read: the stage's column that is nearest to the slider's ε."""
    return COLUMNS[nearest(COLUMNS, float(state.value(AT)))]


def follow_read_at(message: object) -> float:
    """Return the ε at which methods are read, after the reader's last move on the stage."""
    if hiding.hides(AT.name):
        return read_at()
    return stage_slider(AT, message, values=COLUMNS, note=lambda _: "")


@immutable
class Gathered(Confidential):
    """The finished rows, by their entry."""

    rows: Rows
    complete: bool


def gathered(
    source: Source, parts: Sequence[TrialPart], place: str, what: str, of: tuple[CostSearch, Searched] | None = None
) -> Gathered:
    """Start the missing parts, draw a progress line with a button to stop them, and return the finished rows.

    `place` distinguishes such lines of a page. The line shows the number of finished `what`. For a search `of`, whose
    number of parts is not known in advance, it shows the progress of the search instead. Rows of real records stay in
    this session.
    """
    name: Hashable = (source.key, tuple(parts) if of is None else of[0])
    cache = dict(_cache(source, place))
    # Use the runs of these records that are in the package.
    if not source.own:
        digest = GivenRecords.from_dataset(source.dataset).digest
        packed = {part: packaged().find_rows(digest, part) for part in parts}
        cache = {part: runs for part, runs in packed.items() if runs is not None} | cache
    is_stopped = st.session_state.get(f"{_STOPPED}:{place}") == name
    missing = [part for part in parts if part not in cache]
    answers = Answers(())
    if is_stopped:
        asking.drop(source, f"wait-{place}")
    else:
        answers = asking.ask(
            source,
            [_job(part) for part in missing],
            what=what,
            key=f"wait-{place}",
            known=len(parts) - len(missing),
            secret=False,
            public=False,
            line=None if of is None else (f"{what}, {of[1].where}", of[1].share),
            more=of is not None and not of[1].over,
            tallied=place == TALLIED,
        )
    results = {**cache, **_finished(missing, answers)}
    now = {part: results[part] for part in parts if part in results}
    # Forget the rows of other records.
    st.session_state[f"{_CACHE}:{place}"] = {source.key: now}
    if is_stopped and len(now) < len(parts):
        words = f"Stopped: {len(now)} of {len(parts)} parts of the runs are finished. You see only these."
        if of is not None:
            words = f"Stopped in {of[1].where}. These statements follow from the finished runs."
        st.info(words)
        st.button("Go on", key=f"go-{place}", on_click=_stop, args=(place, None))
    elif answers.problem:
        state.error(answers.problem)
    elif len(now) < len(parts):
        words = "Runs that have not started are canceled; finished runs stay."
        st.button("Stop", key=f"stop-{place}", help=words, on_click=_stop, args=(place, name))
    rows: dict[str, list[Row]] = {}
    for part, runs in now.items():
        more = {} if source.dataset.rows_per_person < 2 else {"rows_per_person": source.dataset.rows_per_person}
        rows.setdefault(part.entry, []).extend({**run, **more} for run in runs)
    # Every run on these records in the session, from any place: one cost without privacy for all.
    caches = [kept for each, kept in st.session_state.items() if str(each).startswith(f"{_CACHE}:")]
    known = chain.from_iterable(runs for kept in caches for runs in kept.get(source.key, {}).values())
    return Gathered(referenced(rows, known), len(now) == len(parts))


def searched(source: Source, search: CostSearch, start: Rows, place: str) -> Searched:
    """Make the runs that a search needs, round after round; draws and caches like `gathered`."""
    until = time.monotonic() + PATIENCE
    cache = dict(_cache(source, place))
    result = compare_search.searched(search, start, cache)
    while missing := [part for part in result.parts if part not in cache]:
        if st.session_state.get(f"{_STOPPED}:{place}") == (source.key, search):
            break
        known = asking.known(source, [_job(part) for part in missing], f"wait-{place}", until=until)
        cache |= _finished(missing, known)
        # If the answers of this round belong only to this session, the request of the next round forgets them.
        st.session_state[f"{_CACHE}:{place}"] = {source.key: cache}
        if not known.complete or known.problem:
            break
        result = compare_search.searched(search, start, cache)
    gathered(source, result.parts, place, "Search", (search, result))
    return result


def repeated(source: Source, parts: Sequence[TrialPart], place: str) -> tuple[RepeatedRun | None, ...]:
    """Repeat one run of each part; None while it is being computed. Draws the progress and any problem."""
    return _ask_beside(source, compare_tasks.look, parts, "Runs to look at", place)


def counterparts(source: Source, part: TrialPart, place: str) -> tuple[Counterparts | None, ...]:
    """Return the comparison of each run's clusters with those without privacy; () while it is being computed."""
    what = "Clusters beside those without privacy"
    return _ask_beside(source, compare_tasks.counterparts, [part], what, place)[0] or ()


def compared_without(source: Source, part: TrialPart) -> FoundClusters | None:
    """Return k-means without privacy on the records of `part`; None while it is being computed."""
    what = "Centers without privacy"
    clusters: FoundClusters | None = _ask_beside(source, compare_tasks.without_privacy, [part], what, "exact")[0]
    return clusters


def _job(part: TrialPart) -> Job:
    return Job(compare_tasks.rows, (part,), classified=True, n_runs=part.n_runs)


def _finished(parts: Sequence[TrialPart], answers: Answers) -> dict[TrialPart, Sequence[Row]]:
    """Return the finished rows of the requested parts."""
    return {part: rows for part, rows in zip(parts, answers.found, strict=False) if rows is not None}


def _ask_beside(source: Source, task: Task, parts: Sequence[TrialPart], what: str, place: str) -> tuple[Any, ...]:
    # These jobs repeat the same noise.
    jobs = [Job(task, (part,), classified=True, n_runs=0) for part in parts]
    answers = asking.ask(source, jobs, what=what, key=f"wait-{place}", secret=False, public=False, tallied=False)
    if answers.problem:
        state.error(answers.problem)
    return answers.found


def _cache(source: Source, place: str) -> Mapping[TrialPart, Any]:
    """Return the rows of these records that the session has, by their part."""
    cache: Mapping[TrialPart, Any] = st.session_state.get(f"{_CACHE}:{place}", {}).get(source.key, {})
    return cache


def _stop(place: str, name: Hashable) -> None:
    """Stop these runs; None: stop no runs."""
    st.session_state[f"{_STOPPED}:{place}"] = name


# -- The chosen and the pinned run --


NONE = "none"
HEIGHT = 330  # CSS pixels
CLICK = "Click a mark to look at the run nearest to its median: its centers, its promise, and its own page."
_CHOICES = ((NONE, "None"), *((key, entry.name) for key, entry in ENTRIES.items()))
CHOSEN = Knob("chosen", "choice", NONE, "Chosen run", "", choices=_CHOICES)
CHOSEN_AT = Knob("chosen_epsilon", "float", 1.0, "Chosen ε", "", 0.03, 30.0)
PINNED = Knob("pinned", "choice", NONE, "Pinned run", "", choices=_CHOICES)
PINNED_AT = Knob("pinned_epsilon", "float", 1.0, "Pinned ε", "", 0.03, 30.0)
CHOICES = (CHOSEN, CHOSEN_AT, PINNED, PINNED_AT)


def chosen() -> tuple[str, float] | None:
    """Return the method and ε of the last click."""
    key = str(state.value(CHOSEN))
    return None if key == NONE else (key, float(state.value(CHOSEN_AT)))


def choose(key: str, epsilon: float, knobs: tuple[Knob, Knob] = (CHOSEN, CHOSEN_AT)) -> None:
    """Look at the run of this method at this ε that is nearest to the median."""
    state.remember(knobs[0], key)
    state.remember(knobs[1], epsilon)


def pinned_and_chosen(rows: Rows) -> dict[str, tuple[str, Row]]:
    """Return the pinned and the chosen run with their methods, if their rows are finished."""
    runs = {}
    for place, knob, at in (("pinned", PINNED, PINNED_AT), ("chosen", CHOSEN, CHOSEN_AT)):
        key = str(state.value(knob))
        row = median_at(rows, key, float(state.value(at)))
        if row is not None:
            runs[place] = (key, row)
    return runs


def cards(frame: PageFrame, question: CompareQuestion, rows: Rows, own: Collection[str]) -> None:
    """Draw the chosen and the pinned run, if their rows are finished; `own` are the names of the page's parameters."""
    runs = pinned_and_chosen(rows)
    if not runs:
        st.caption(CLICK)
        return
    for column, (place, (key, row)) in zip(st.columns(2, gap="medium"), runs.items(), strict=False):
        with column:
            _card(frame, question, key, row, place, own)


def _card(frame: PageFrame, question: CompareQuestion, key: str, row: Row, place: str, own: Collection[str]) -> None:
    entry, epsilon, dataset = ENTRIES[key], float(row["epsilon"]), frame.dataset
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
            words = "Keep it next to the next run that you click."
            st.button("Pin", help=words, on_click=choose, args=(key, epsilon, (PINNED, PINNED_AT)))
        if entry.page:
            # Query of the page that shows this very run: data, parameters, start and noise.
            query = {
                **dict([*frame.source.link, *entry.entry.link]),
                "epsilon": repr(epsilon),
                "n_clusters": str(question.n_clusters),
                groups.KNOWN.name: groups.KNOWN.format(state.value(groups.KNOWN)),
                **dict(groups.link(frame.source, CLUSTERS)),
                **({} if row["start_seed"] is None else {"start_seed": str(row["start_seed"])}),
                "noise_seed": str(row["noise_key"]),
                "audience": "curator",
            }
            if st.button("Open it on its page", key=f"open-{place}", type="primary"):
                state.open_page(entry.page, query, keep=own)
                st.rerun(scope="app")
    if run is not None:
        guarantee = honest(run.guarantee, frame.dataset, secret=False)
        notices = [each for each in guarantee.caveats if each == FROM_DATA]
        panel.side(panel.guarantee(label_of(guarantee, contents(entry, frame, guarantee)), title, notices))
        with st.expander("Released centers"):
            safe_table(pd.DataFrame(run.clusters.centers, columns=list(dataset.feature_names)), hide_index=None)
            safe_table(pd.DataFrame(run.counterparts.lines(), columns=list(COUNTERPART_COLUMNS)))


def contents(entry: Compared, frame: PageFrame, guarantee: Guarantee) -> Contents:
    """Declare the values that a method protects; the method's own page does this in more words."""
    box, dataset = box_words(words_of(frame.source)), frame.dataset
    secret = ("Records, and who is in which cluster", "Costs, agreement with classes, the cost without privacy")
    what = protected(guarantee)
    if not entry.per_distance:
        return Contents(what, (box, "k, ε and every other knob"), secret, CURATOR)
    # Distance of two places at both ends of a feature's range: in meters on a map.
    apart = "range of a feature"
    if dataset.place is not None and not dataset.bounds_from_data:
        meters = f"{float(dataset.box.widths[dataset.place.axes[0]]):,.10g} m"
        apart = meters if dataset.d == len(dataset.place.axes) else f"range of a feature ({meters} on the map)"
    return Contents(what, (box, "ε, the unit of distance, the number of persons"), secret, NOBODY, ((1.0, apart),))
