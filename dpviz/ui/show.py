"""Run a method and fill the page's places with what its audience may see: one method, or two side by side."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

import streamlit as st

from dpviz.core import Knob
from dpviz.plots import Scene
from dpviz.plots.scene import pack
from dpviz.stories import View, inspecting
from dpviz.stories.story import AnyStory, RunContext
from dpviz.ui import controls, panel, state, turning
from dpviz.ui.beside import Beside, beside_one, beside_two, label
from dpviz.ui.data import drawing
from dpviz.ui.epsilon import drawn_slider, last_move
from dpviz.ui.export.shown import Moment, Shown, keep
from dpviz.ui.frame import PageFrame, link, show_problems
from dpviz.ui.last_picture import DrawnPicture, last_pictures, name_of
from dpviz.ui.live import LiveState, Region, live
from dpviz.ui.runs import Noise, Run, notices, tell
from dpviz.ui.server import ahead
from dpviz.ui.server.background import background
from dpviz.ui.setup import AnySetup, Runs, Setup, alone, together, trail_of

PICTURE_HEIGHT = 560  # CSS pixels
PAIR_HEIGHT = 430
CHART_HEIGHT = 170
NO_PUBLIC_PLANE = (
    "These directions are computed from the records, so that the public sees nothing here. "
    "Choose two features under Axes."
)
IMPOSSIBLE = "These knobs are impossible together. Why is not public."  # the reason can name a count


P = TypeVar("P")
C = TypeVar("C", bound=RunContext)

KEYS = ("picture", "other")  # of the live pictures
Draw: TypeAlias = Callable[[Runs], Iterator[Scene]]


@dataclass(frozen=True, slots=True, eq=False)
class Slider:
    """What the privacy slider moves: one method, or two side by side, for each of its values.

    `methods` raises ValueError for parameters that are impossible together. It may be called outside of the page's run.
    """

    knob: Knob
    methods: Callable[[float], tuple[AnySetup, ...]]


def show(
    frame: PageFrame, slider: Slider, epsilon: float, noise: Noise, shown: View, pairs: Sequence[tuple[str, str]]
) -> LiveState | None:
    """Run one method at the slider's value and fill every place; `pairs` are the page's part of the link.

    Returns what the reader did to the picture, None where it could not be drawn.
    """
    drawing.follow(drawn=frame.source.drawn)
    drawn = _drawn(frame, slider, epsilon, noise, shown, draw := partial(alone, shown))
    done = None
    if drawn:
        ((method, run),) = drawn.runs
        said = beside_one(drawn.runs, public=frame.public)
        with frame.lead:
            st.html(said.headline)
        with frame.picture:
            start = method.algorithm.has_start
            address = _address(frame, pairs, noise, shown, start=start)
            (scene,) = drawn.scenes
            options: dict[str, Any] = {
                "query": address,
                "ahead": _offer(frame, slider, drawn, noise, shown, draw),
                "packed": drawn.packed[0],
                "named": False,
            }
            if not shown.surface:  # it has no records: nothing to select, nowhere to draw
                options |= {"inspect": _inspecting(frame, method.story, run, shown)}
                options |= {"drawing": drawing.options(drawn=frame.source.drawn, public=frame.public)}
            here = (frame.source, (method,), (run.told,), (scene,), noise, shown, frame.public, address)
            keep(Shown(*here, said, *_moments(frame, slider, noise, draw, beside_one)))
            done = _picture(frame, scene, "picture", PICTURE_HEIGHT, **options)
            turning.follow(done)
            _recolored(frame, method, run)
        with frame.side:
            st.html(said.side)
            _count_releases(run)
        with frame.charts:
            story, public = method.story, frame.public
            for name, chart, height in () if story.lead_charts is None else story.lead_charts(run.told):
                _chart(name, chart, public=public, height=height)
            for name, chart in story.side_charts(run.told):
                _chart(name, chart, public=public)
        with frame.card:
            labeled = label(method, run)
            panel.side(panel.guarantee(labeled, notices=_notices(frame, method, run)))
            st.html(panel.details(labeled))  # by itself, so that it stays open while ε moves
    _finish(frame)
    return done


def _inspecting(frame: PageFrame, story: AnyStory, run: Run[Any], shown: View) -> Callable[[Region], Sequence[str]]:
    told, classes = run.told, frame.source.dataset.labels
    plane = None if story.plane is None else story.plane(told, shown)
    return lambda region: inspecting.facts(region, told.unit, told.words, shown, classes, plane)


def recalled(frame: PageFrame, method: Setup[P, C], noise: Noise) -> C:
    """Return the context of the run that `show` has just drawn; raises ValueError where it cannot run."""
    run = tell(method.algorithm, method.story, frame.source, method.params, noise)
    return run.told if method.prepare is None else method.prepare(run.told)


def impossible(frame: PageFrame, why: str) -> None:
    """Say in the place of the picture why there is none; `why` names parameters only, so that everybody may read it."""
    frame.picture.error(state.plain(why))
    _reserve(frame)
    _finish(frame)


def show_pair(
    frame: PageFrame, slider: Slider, epsilon: float, noise: Noise, shown: View, pairs: Sequence[tuple[str, str]]
) -> None:
    """Run two methods on the same records, and show them side by side, step by step."""

    def draw(runs: Runs) -> Iterator[Scene]:
        return together(shown, [trail_of(frame.source, method, noise) for method, _ in runs], runs)

    drawn = _drawn(frame, slider, epsilon, noise, shown, draw)
    if drawn:
        runs, scenes = drawn.runs, drawn.scenes
        told = [run.told for _, run in runs]
        said = beside_two(runs, public=frame.public)
        with frame.lead:
            st.html(said.headline)
        address = _address(frame, pairs, noise, shown)
        methods = tuple(method for method, _ in runs)
        here = (frame.source, methods, tuple(told), scenes, noise, shown, frame.public, address)
        keep(Shown(*here, said, *_moments(frame, slider, noise, draw, beside_two)))
        options: tuple[dict[str, Any], ...] = (
            {"query": address, "ahead": _offer(frame, slider, drawn, noise, shown, draw), "packed": drawn.packed[0]},
            {"follow": "picture", "packed": drawn.packed[1]},
        )
        with frame.picture:
            columns = st.columns(2, gap="small")
            for column, key, scene, given in zip(columns, KEYS, scenes, options, strict=True):
                with column:
                    _picture(frame, scene, key, PAIR_HEIGHT, **given)
        with frame.side:
            st.html(said.side)
            _count_releases(runs[-1][1])
        with frame.card:
            panel.side(
                *(
                    panel.guarantee(label(method, run), method.name.lower(), _notices(frame, method, run))
                    for method, run in runs
                )
            )
            for method, run in runs:
                st.html(panel.details(label(method, run), method.name.lower()))
    _finish(frame)


def _refuse(frame: PageFrame, error: ValueError) -> None:
    frame.picture.error(IMPOSSIBLE if frame.public else state.plain(str(error)))
    _reserve(frame)


def _drawn(
    frame: PageFrame, slider: Slider, epsilon: float, noise: Noise, shown: View, draw: Draw
) -> DrawnPicture | None:
    """Run the methods and draw them; None where one cannot run, and the place of the picture says why."""
    try:
        methods = slider.methods(epsilon)
        name = name_of(frame, methods, noise, shown)
        found = last_pictures().recall(name)
        if found is not None:
            return found
        runs = _told(frame, methods, noise)
        *_, drawn = last_pictures().pack(name, runs, draw(runs), public=frame.public)
    except ValueError as error:
        _refuse(frame, error)
        return None
    return drawn


def _told(frame: PageFrame, methods: Sequence[AnySetup], noise: Noise) -> Runs:
    runs = [
        tell(method.algorithm, method.story, frame.source, method.params, noise, place=place)
        for place, method in enumerate(methods)
    ]
    return tuple(
        (method, run if method.prepare is None else replace(run, told=method.prepare(run.told)))
        for run, method in zip(runs, methods, strict=True)
    )


def _offer(
    frame: PageFrame, slider: Slider, drawn: DrawnPicture, noise: Noise, shown: View, draw: Draw
) -> dict[str, Any] | None:
    """Offer these pictures at the slider's other values ahead of the rerun, where that is not one more release."""
    hidden = frame.public and not all(scene.axes_public for scene in drawn.scenes)
    if noise.secret or frame.source.own or hidden:
        ahead.withdraw()
        return None

    kept, process = last_pictures(), background()  # the other thread has no session

    def packed(epsilon: float) -> Iterator[tuple[str, bytes]]:
        process.give_way()
        methods = slider.methods(epsilon)
        name = name_of(frame, methods, noise, shown)
        found = kept.recall(name)
        if found is not None:
            yield from zip(KEYS, found.packed, strict=False)
            return
        runs = _told(frame, methods, noise)
        for made, key in zip(kept.pack(name, runs, draw(runs), public=frame.public), KEYS, strict=False):
            yield key, made.packed[-1]

    key = state.widget_key(slider.knob.name)
    return {"address": ahead.offer(controls.slider_values(slider.knob), packed), "slider": key, "move": last_move(key)}


def _moments(
    frame: PageFrame, slider: Slider, noise: Noise, draw: Draw, say: Callable[..., Beside]
) -> tuple[Mapping[str, Any] | None, Callable[[], Iterator[Moment | None]] | None]:
    """Return the slider, and what makes all that the page shows as it moves, where that is not one more release."""
    sent = drawn_slider(state.widget_key(slider.knob.name))
    if noise.secret or frame.source.own or sent is None:
        return None, None

    def moments() -> Iterator[Moment | None]:
        for value in sent["values"]:
            try:
                runs = _told(frame, slider.methods(value), noise)
            except ValueError:  # this value is impossible beside the other knobs, as the page says there
                yield None
                continue
            seen = [scene.public() if frame.public else scene for scene in draw(runs)]
            yield Moment(say(runs, public=frame.public), tuple(pack(replace(scene, hint="")) for scene in seen))

    return sent, moments


def _reserve(frame: PageFrame) -> None:
    """Hold the other places: a fragment may only write where the last whole run has written."""
    keep(None)
    for place in (frame.lead, frame.side, frame.charts, frame.card):
        place.empty()


def _finish(frame: PageFrame) -> None:
    if frame.public and frame.source.dataset.bounds_from_data:
        state.report("These axes end at bounds taken from the data: they are not private.")
    show_problems(frame.problems)


def _address(
    frame: PageFrame, pairs: Sequence[tuple[str, str]], noise: Noise, shown: View, *, start: bool = True
) -> str:
    return state.query([*frame.source.link, *pairs, *link(frame, noise, shown, start=start)])


def _notices(frame: PageFrame, method: AnySetup, run: Run[Any]) -> tuple[str, ...]:
    """Return what the card says of this very run: for the curator also what exact costs say."""
    own, released = method.story.notices, method.story.public_notices
    exact = () if frame.public or own is None else own(run.told)
    public = () if released is None else released(run.told)
    return (*notices(run.told.result.guarantee), *public, *exact)


def _picture(frame: PageFrame, scene: Scene, key: str, height: int, **options: Any) -> LiveState:
    blank = frame.public and not scene.axes_public
    if blank:
        st.info(NO_PUBLIC_PLANE)
    height = CHART_HEIGHT if blank else height
    return live(scene, key=key, height=height, audience_public=frame.public, fits=not blank, **options)


def _chart(name: str, chart: Scene, *, public: bool, height: int = CHART_HEIGHT) -> None:
    seen = chart.public() if public else chart
    if not seen.is_empty:
        live(seen, key=name, height=height, follow="picture")


def _count_releases(run: Run[Any]) -> None:
    if run.n_releases:
        st.caption(f"Releases of these records in this session: {run.n_releases}. Their budgets add up.")


def _recolored(frame: PageFrame, method: AnySetup, run: Run[Any]) -> None:
    """Show a photograph in its own colors and in the private centers'; which pixel got which is the curator's."""
    image, recolored = frame.source.dataset.image, method.story.recolored
    if image is None or recolored is None or frame.public:
        return
    left, right = st.columns(2)
    left.image(image.colours, caption="The photograph: its pixels are the records (curator view).", width="stretch")
    right.image(
        recolored(run.told, image.colours.shape),
        caption="Recolored with the released centers (curator view).",
        width="stretch",
        output_format="PNG",  # a photograph's compression would blur the few colors
    )
