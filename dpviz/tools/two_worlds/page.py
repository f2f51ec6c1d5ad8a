"""Tab "Two worlds" of every method's page: a record, a change, and an attacker's knowledge from the releases.

The runs are made in the background; finished answers are cached in the session.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

from dpviz.attacks import HeldOutScore, held_out_score
from dpviz.core import Event, Guarantee, Knob, Points, immutable
from dpviz.plots import Scene
from dpviz.stories import View
from dpviz.stories.label import person_words
from dpviz.stories.method import Cloud
from dpviz.tools.two_worlds import worlds as two_worlds
from dpviz.tools.two_worlds.worlds import (
    OPERATIONS,
    PICK,
    REMOVE,
    Change,
    WorldsQuestion,
    cloud_scene,
    pickable,
    row_of,
)
from dpviz.ui import asking, controls, state
from dpviz.ui.asking import Job
from dpviz.ui.frame import LENS, PageFrame
from dpviz.ui.live import LiveState, clicked, live
from dpviz.ui.runs import Noise, RunRequest, as_it_is, run_method, scalars, words_of

# Entry among a page's tabs.
CHOICE = ("worlds", "Two worlds")
HEIGHT = 480  # CSS pixels
MOST_ROW = 10**6
PUBLIC = (
    "You cannot see anything here: both worlds are made from the exact records, and every run of them is one more "
    "release."
)
NO_RUN = "There is no run to compare with: see the message in place of the picture."

RECORD = Knob("record", "int", 0, "Record", "Its row. Or click it in a picture.", 0, MOST_ROW)
WHAT = Knob(
    "operation", "choice", REMOVE, "In the other world", "Only changes that the guarantee covers.", choices=OPERATIONS
)
CORNER, STATED, NEAR = "corner", "stated", "near"
WHERE = Knob(
    "where",
    "choice",
    NEAR,
    "Its place there",
    "The corner of the public box that is farthest from the record, or a place in percent of the box.",
    choices=((NEAR, "One radius away"), (CORNER, "Farthest corner"), (STATED, "A specific place")),
)
ACROSS = Knob("across", "int", 90, "To, across", "In percent of the box.", 0, 100, unit="%")
UP = Knob("up", "int", 90, "To, up", "In percent of the box.", 0, 100, unit="%")
RUNS = Knob(
    "n_world_runs",
    "choice",
    "200",
    "Runs",
    "Half of them choose the attacker's rule, the other half scores it.",
    choices=tuple((each, f"{each} in each") for each in ("100", "200", "400", "1000")),
)
LOOK = Knob(
    "world_view",
    "choice",
    "near",
    "Show",
    "The release near the record, or all of it.",
    choices=(("near", "Near the record"), ("whole", "The whole box")),
)
KNOBS = (RECORD, WHAT, WHERE, ACROSS, UP, RUNS, LOOK, LENS)
# Runs of one job.
BATCH = 25
# Number of cached answers, so that switching back needs no new work.
MOST_CACHED = 12
_WAIT = "wait-worlds"
_CACHE = f"{asking.OF_RECORDS}:worlds"


@immutable
class WorldsTab:
    """The differences between the methods' tabs."""

    # Method at the slider's value. It raises ValueError for impossible combinations.
    method: Callable[[], RunRequest]
    # Name of a release's marks.
    what: str = "released center"
    # Whether no run's plan depends on its earlier releases.
    planned: bool = True
    # Choice of the record.
    record: Knob = RECORD
    # For nD-Laplace, whose page draws the choice itself: the radius that epsilon is for, in its unit.
    radius: float | None = None


def link(frame: PageFrame, *, record: bool = True) -> state.Pairs:
    """Return the parameters that this tab adds to the link, without the record if the page already has it."""
    pairs = [(knob.name, knob.format(state.value(knob))) for knob in (WHAT, WHERE, ACROSS, UP, RUNS, LOOK, LENS)]
    if not record:
        return pairs
    # The number of rows is curator only.
    row = int(state.value(RECORD)) if frame.public else _row(frame.dataset.n)
    return [(RECORD.name, str(row)), *pairs]


def adapter(tab: Knob) -> Callable[[Scene], Scene]:
    """Return a function that makes records of the main picture clickable under the lens, and while this tab is open."""
    return pickable if state.value(LENS) or state.value(tab) == CHOICE[0] else as_it_is


def looked_at(frame: PageFrame, record: Knob) -> int | None:
    """Return the row of the record under the lens, None without one. Curator only."""
    n = frame.dataset.n
    return _row(n, record) if n and state.value(LENS) and not frame.public else None


def follow_click(frame: PageFrame, picture: LiveState | None, key: str = "picture") -> None:
    """Choose the clicked record, once for each click."""
    if picture is None or picture.picked != PICK or not clicked(picture, f"worlds-{key}"):
        return
    row = None if picture.picked_mark is None else row_of(picture.picked_mark, frame.dataset.n)
    if row is not None and row != state.value(RECORD):
        state.remember(RECORD, row)
        st.rerun(scope="app")


def worlds(frame: PageFrame, tab: WorldsTab, noise: Noise, view: View) -> None:
    """Draw the choice of a record and of its change, and the releases in both worlds."""
    if frame.public:
        st.info(PUBLIC)
        return
    try:
        method = tab.method()
        guarantee: Guarantee = run_method(method, frame.source, noise).result.guarantee
    except ValueError:
        st.caption(NO_RUN)
        return
    operations = two_worlds.offered(guarantee.proved or guarantee.stated, frame.dataset.n)
    if not operations:
        st.caption("There is no record to move.")
        return
    _worlds(frame, tab, _choose(frame, tab, method, operations, view), noise, view)


def stated_place(frame: PageFrame, view: View, start: Points) -> Points:
    """Draw the sliders of a place: the two features of the picture change, the others stay as in `start` (d,)."""
    box, place = frame.dataset.box, start.copy()
    features = view.features(box.d) or (0, 1)
    for column, feature, knob in zip(st.columns(2), features, (ACROSS, UP), strict=False):
        with column:
            place[feature] = box.low[feature] + box.widths[feature] * int(controls.control(knob)) / 100.0
    return box.clip(place)


def _choose(frame: PageFrame, tab: WorldsTab, method: RunRequest, operations: tuple[str, ...], view: View) -> Change:
    """Draw the record, its change, its place there, the number of runs, and the part of the box in view."""
    dataset = frame.dataset
    row, box = _row(dataset.n, tab.record), dataset.box
    record_column, change_column = st.columns([1, 2], vertical_alignment="bottom")
    if tab.radius is None and dataset.n:
        with record_column:
            last = float(max(dataset.n - 1, 1))
            state.remember(RECORD, row)
            controls.control(replace(tab.record, high=last))
    elif dataset.n:
        record_column.markdown(f"Record {row}")
    with change_column:
        operation = operations[0]
        if len(operations) > 1:
            some = tuple(each for each in OPERATIONS if each[0] in operations)
            operation = str(controls.control(replace(WHAT, default=operation, choices=some)))
        else:
            st.markdown(f"{dict(OPERATIONS)[operation]}: the guarantee covers nothing else.")
    start = box.clip(dataset.points[row]) if dataset.n else box.from_unit(np.full(box.d, 0.5))
    change = Change(operation, row)
    if operation != REMOVE:
        some = WHERE.choices if tab.radius is not None else WHERE.choices[1:]
        where = str(controls.control(replace(WHERE, default=some[0][0], choices=some)))
        if where == STATED:
            place = stated_place(frame, view, start)
        elif where == NEAR and tab.radius is not None:
            place = two_worlds.one_radius_away(method.params, box, start, tab.radius)
        else:
            place = two_worlds.farthest_corner(box, start)
        change = Change(operation, row, tuple(float(each) for each in place))
    runs_column, view_column = st.columns([1, 2], vertical_alignment="bottom")
    with runs_column:
        controls.control(RUNS)
    # For nD-Laplace, the draws of one record are near the record anyway.
    if tab.radius is None:
        with view_column:
            controls.control(LOOK)
    return change


def _row(n: int, record: Knob = RECORD) -> int:
    """Return the chosen record, the last one for a larger number."""
    return min(int(state.value(record)), max(n - 1, 0))


@state.fragment
def _worlds(frame: PageFrame, tab: WorldsTab, change: Change, noise: Noise, view: View) -> None:
    try:
        method = tab.method()
        result = run_method(method, frame.source, noise).result
    except ValueError:
        asking.after_picture(_WAIT)
        st.caption(NO_RUN)
        return
    dataset, guarantee = frame.dataset, result.guarantee.of_row
    pair = two_worlds.neighbors(dataset.points, dataset.box, change)
    question = WorldsQuestion(method.algorithm.name, scalars(method.params), change, method.params)
    answer = find(frame, question, int(state.value(RUNS)), result.events, guarantee, noise)
    if answer.clouds is None:
        return
    if answer.score is not None:
        odds = two_worlds.odds_of(guarantee, change, method.params, dataset.box, pair, answer.noise_limit)
        st.markdown(f"**{two_worlds.sentence(answer.score, odds.most)}**")
        remarks = two_worlds.remarks(odds, planned=tab.planned)
        remarks = (two_worlds.interval_words(answer.score), *remarks, person_words(result.guarantee))
        st.caption(" ".join(filter(None, remarks)))
    near = tab.radius is None and state.value(LOOK) == "near"
    scene = cloud_scene(answer.clouds, pair, change, tab.what, words_of(frame.source), view, near=near)
    follow_click(frame, live(scene, key="worlds", height=HEIGHT), "worlds")


@immutable
class WorldsAnswer:
    """The clouds of the finished runs, and after all runs the score."""

    clouds: tuple[Cloud, Cloud] | None
    score: HeldOutScore | None = None
    noise_limit: float | None = None


def find(
    frame: PageFrame, question: WorldsQuestion, n_runs: int, events: Sequence[Event], guarantee: Guarantee, noise: Noise
) -> WorldsAnswer:
    """Return the answer so far, and start the other runs in the background. Draws progress and problems.

    A score needs all runs: a score that is watched and stopped at a pleasing value is not a measurement. The
    runs end with the tab.
    """
    seed = noise.seed_for(frame.source)
    cache: OrderedDict[Hashable, WorldsAnswer] = st.session_state.setdefault(_CACHE, OrderedDict())
    key = (frame.source.key, question, n_runs, seed.value, guarantee.proved is not None)
    if key in cache and cache[key].score is not None:
        cache.move_to_end(key)
        asking.after_picture(_WAIT)
        return cache[key]
    batch = n_runs if question.by_record else BATCH
    jobs = [
        Job(two_worlds.run_world, (question, world, size, (seed.value, at)), n_runs=size)
        for at in range(0, n_runs, batch)
        for size in (min(batch, n_runs - at),)
        for world in (0, 1)
    ]
    n_run_jobs = len(jobs)
    if guarantee.proved is not None and not guarantee.proved.per_distance:
        jobs.append(Job(two_worlds.noise_limit, (tuple(events), question.change.operation), n_runs=0))
    answers = asking.ask(
        frame.source, jobs, what=f"Batches of {batch} runs", key=_WAIT, secret=seed.secret, public=frame.public
    )
    answer, parts = WorldsAnswer(None), answers.found[:n_run_jobs]
    first, second = ([part for part in parts[world::2] if part is not None] for world in (0, 1))
    if answers.problem:
        state.error(answers.problem)
    elif first and second:
        answer = WorldsAnswer((Cloud.joined(first), Cloud.joined(second)))
    else:
        st.caption("The first results are on their way.")
    if answer.clouds is not None and answers.complete:
        score = held_out_score(*(cloud.statistics for cloud in answer.clouds))
        answer = replace(answer, score=score, noise_limit=answers.found[-1] if len(jobs) > n_run_jobs else None)
    cache[key] = answer
    while len(cache) > MOST_CACHED:
        cache.popitem(last=False)
    return answer
