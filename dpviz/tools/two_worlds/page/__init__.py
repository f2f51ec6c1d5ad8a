"""The tab "Two worlds" of every method's page: pick a record, change it, and see who can tell from what is released."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from dpviz.core import Guarantee, Knob, Points
from dpviz.plots import Scene
from dpviz.stories import View
from dpviz.tools.two_worlds import story
from dpviz.tools.two_worlds.page import runs as two_worlds_runs
from dpviz.tools.two_worlds.story import OPERATIONS, REMOVE, Change
from dpviz.tools.two_worlds.story.cloud import WorldsQuestion
from dpviz.tools.two_worlds.story.scene import PICK, cloud_scene, pickable, row_of
from dpviz.ui import controls, state
from dpviz.ui.asking import wait
from dpviz.ui.frame import PageFrame
from dpviz.ui.live import LiveState, live
from dpviz.ui.runs import AnyRun, Noise, RunRequest, as_it_is, run_method, scalars, words_of

CHOICE = ("worlds", "Two worlds")  # of a page's tabs
HEIGHT = 480  # CSS pixels
MOST_ROW = 10**6
PUBLIC = (
    "There is nothing for you to see here: both worlds are made from the exact records, and every run of them is one "
    "more release."
)
NO_RUN = "There is no run to compare with: the place of the picture says why."

RECORD = Knob("record", "int", 0, "Record", "Its row. Or click it in a picture.", 0, MOST_ROW, 0, MOST_ROW)
WHAT = Knob(
    "operation", "choice", REMOVE, "In the other world", "What the guarantee covers is offered.", choices=OPERATIONS
)
CORNER, STATED, NEAR = "corner", "stated", "near"
WHERE = Knob(
    "where",
    "choice",
    NEAR,
    "Its place there",
    "The corner of the public box that is farthest from the record, or a place in percent of the box.",
    choices=((NEAR, "One radius away"), (CORNER, "Farthest corner"), (STATED, "A stated place")),
)
ACROSS = Knob("across", "int", 90, "To, across", "In percent of the box.", 0, 100, 0, 100, unit="%")
UP = Knob("up", "int", 90, "To, up", "In percent of the box.", 0, 100, 0, 100, unit="%")
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
    "What is released near the record, or all of it.",
    choices=(("near", "Near the record"), ("whole", "The whole box")),
)
KNOBS = (RECORD, WHAT, WHERE, ACROSS, UP, RUNS, LOOK)
_CLICKS = "dpviz:world-clicks"


@dataclass(frozen=True, slots=True, eq=False)
class WorldsTab:
    """What a page tells this tab: the only thing that differs between methods."""

    method: Callable[[], RunRequest[AnyRun]]  # at the slider's value; raises ValueError for what is impossible together
    what: str = "Released center"  # what is drawn of a release
    planned: bool = True  # whether no run's plan follows what it released before
    record: Knob | None = RECORD  # None: the page draws the choice of a record itself
    radius: float | None = None  # nD-Laplace: what epsilon is for, in its unit


def link(frame: PageFrame, *, record: bool = True) -> list[tuple[str, str]]:
    """Return what this tab adds to the link; without the record where the page has it already."""
    pairs = [(knob.name, knob.format(state.value(knob))) for knob in (WHAT, WHERE, ACROSS, UP, RUNS, LOOK)]
    return [(RECORD.name, str(_row(frame.source.dataset.n))), *pairs] if record else pairs


def adapter(tab: Knob) -> Callable[[Scene], Scene]:
    """Return what lets a click on a record of the main picture choose it, while this one of a page's tabs is open."""
    return pickable if state.value(tab) == CHOICE[0] else as_it_is


def follow_click(frame: PageFrame, picture: LiveState | None, key: str = "picture") -> None:
    """Choose the record that was clicked, once for each click."""
    clicks: dict[str, int] = st.session_state.setdefault(_CLICKS, {})
    if picture is None or picture.picked != PICK or picture.pick_count == clicks.get(key):
        return
    clicks[key] = picture.pick_count
    row = None if picture.picked_mark is None else row_of(picture.picked_mark, frame.source.dataset.n)
    if row is not None and row != state.value(RECORD):
        state.remember(RECORD, row)
        st.rerun(scope="app")


def worlds(frame: PageFrame, asked: WorldsTab, noise: Noise, shown: View) -> None:
    """Draw the choice of a record and of what happens to it, and what is released in both worlds."""
    if frame.public:
        st.info(PUBLIC)
        return
    try:
        method = asked.method()
        guarantee: Guarantee = run_method(method, frame.source, noise).result.guarantee
    except ValueError:
        st.caption(NO_RUN)
        return
    dataset = frame.source.dataset
    offered = story.offered(guarantee.proved or guarantee.stated, dataset.n)
    if not offered:
        st.caption("There is no record to move.")
        return
    change = _choose(frame, asked, method, offered, shown)
    _worlds(frame, asked, change, noise, shown)


def stated_place(frame: PageFrame, shown: View, start: Points) -> Points:
    """Draw where a record is put: the two features of the picture change, the others stay as in `start` (d,)."""
    box, place = frame.source.dataset.box, start.copy()
    features = shown.features(box.d) or (0, 1)
    for column, feature, knob in zip(st.columns(2), features, (ACROSS, UP), strict=False):
        with column:
            place[feature] = box.low[feature] + box.widths[feature] * int(controls.control(knob)) / 100.0
    return box.clip(place)


def _choose(
    frame: PageFrame, asked: WorldsTab, method: RunRequest[AnyRun], offered: tuple[str, ...], shown: View
) -> Change:
    """Draw the record, what happens to it, its place there, how many runs, and how much of the box is shown."""
    dataset = frame.source.dataset
    row = _row(dataset.n)
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    if asked.record is not None and dataset.n:
        with left:
            last = float(max(dataset.n - 1, 1))
            state.remember(RECORD, row)
            controls.control(replace(asked.record, high=last, maximum=last))
    elif dataset.n:
        left.markdown(f"Record {row}")
    with right:
        operation = _operation(offered)
    box = dataset.box
    start = box.clip(dataset.points[row]) if dataset.n else box.from_unit(np.full(box.d, 0.5))
    change = Change(operation, row)
    if operation != REMOVE:
        place = _place(asked, method, frame, start, shown)
        change = Change(operation, row, tuple(float(each) for each in place))
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    with left:
        controls.control(RUNS)
    if asked.radius is None:  # the draws of one record are near it anyway
        with right:
            controls.control(LOOK)
    return change


def _row(n: int) -> int:
    """Return the chosen record, the last where there are not so many."""
    return min(int(state.value(RECORD)), max(n - 1, 0))


def _operation(offered: tuple[str, ...]) -> str:
    if len(offered) > 1:
        some = tuple(each for each in OPERATIONS if each[0] in offered)
        return str(controls.control(replace(WHAT, default=offered[0], choices=some)))
    st.markdown(f"{dict(OPERATIONS)[offered[0]]}: the guarantee covers nothing else.")
    return offered[0]


def _place(asked: WorldsTab, method: RunRequest[AnyRun], frame: PageFrame, start: Points, shown: View) -> Points:
    """Draw where the record is put, and return the place (d,), data units."""
    box, some = frame.source.dataset.box, WHERE.choices if asked.radius is not None else WHERE.choices[1:]
    chosen = str(controls.control(replace(WHERE, default=some[0][0], choices=some)))
    if chosen == STATED:
        return stated_place(frame, shown, start)
    if chosen == NEAR and asked.radius is not None:
        return story.one_radius_away(method.params, box, start, asked.radius)
    return story.farthest_corner(box, start)


@st.fragment
def _worlds(frame: PageFrame, asked: WorldsTab, change: Change, noise: Noise, shown: View) -> None:
    if state.is_blank():
        return
    try:
        method = asked.method()
        result = run_method(method, frame.source, noise).result
    except ValueError:
        wait(done=1, all=1, what="", follow="picture", key="wait-worlds")
        st.caption(NO_RUN)
        return
    dataset, guarantee = frame.source.dataset, result.guarantee
    pair = story.neighbors(dataset.points, dataset.box, change)
    question = WorldsQuestion(method.algorithm.name, scalars(method.params), change, method.params)
    found = two_worlds_runs.find(frame, question, int(state.value(RUNS)), result.events, guarantee, noise)
    if found.clouds is None:
        return
    if found.score is not None:
        odds = story.odds_of(guarantee, change, method.params, dataset.box, pair, found.noise_limit)
        st.markdown(f"**{story.sentence(found.score, odds.most)}**")
        st.caption(" ".join((story.interval_words(found.score), *story.remarks(odds, planned=asked.planned))))
    near = asked.radius is None and state.value(LOOK) == "near"
    scene = cloud_scene(found.clouds, pair, change, asked.what, words_of(frame.source), shown, near=near)
    follow_click(frame, live(scene, key="worlds", height=HEIGHT), "worlds")
