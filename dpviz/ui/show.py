"""Run a method and fill the page's places with what its audience may see: one method, or two side by side."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import streamlit as st

from dpviz.core import Knob, Release, Step
from dpviz.plots import Scene
from dpviz.plots.scene import pack
from dpviz.stories import View, inspecting
from dpviz.stories.profiles import NO_PROFILE
from dpviz.stories.run import PROFILES, Run
from dpviz.ui import controls, hiding, ledger, lessons, panel, stage, state
from dpviz.ui.asking import background
from dpviz.ui.bands import LossBands
from dpviz.ui.controls import drawn_slider
from dpviz.ui.data import drawing, groups
from dpviz.ui.data.upload import HELD
from dpviz.ui.frame import AUDIENCE, PITCH, YAW, PageFrame, link, show_problems
from dpviz.ui.live import LiveState, live
from dpviz.ui.runs import (
    CachedPicture,
    MethodScreen,
    Noise,
    PictureState,
    RunRequest,
    Runs,
    keep,
    n_releases,
    name_of,
    notices,
    numbers_of_one,
    numbers_of_two,
    picture_cache,
    released,
    run_method,
    scenes_in_step,
    scenes_of,
    trail_of,
)
from dpviz.ui.server import ahead
from dpviz.ui.stage import StagePicture

NO_PUBLIC_PLANE = (
    "These directions are computed from the records, so that the public sees nothing here. "
    "Choose two features under Axes."
)
UNRELEASED = "Nothing of this file has been released with these settings, so there is nothing for everyone to see."
IMPOSSIBLE = "These knobs are impossible together. Why is not public."  # the reason can name a count


_TURNS = "dpviz:turns"
KEYS = (stage.KEY, "other")  # of the pictures on the stage
Draw: TypeAlias = Callable[[Runs], Iterator[Scene]]


@dataclass(frozen=True, slots=True, eq=False)
class Slider:
    """What the privacy slider moves: one method, or two side by side, for each of its values.

    `requests` raises ValueError for impossible parameters. It may be called outside of the page's run.
    """

    knob: Knob
    requests: Callable[[float], tuple[RunRequest, ...]]

    def first(self, epsilon: float) -> RunRequest:
        """Return the request of the first picture, whose words stand on the stage."""
        return self.requests(epsilon)[0]


def show(
    frame: PageFrame,
    slider: Slider,
    epsilon: float,
    noise: Noise,
    view: View,
    pairs: state.Pairs,
    *,
    count: Knob | None = None,
) -> LiveState | None:
    """Run one method at the slider's value and fill every place; `pairs` are the page's part of the link.

    `count` is the knob of a whole number that stands below the picture. Returns what the reader did to the picture,
    None where it could not be drawn.
    """
    drawing.follow(drawn=frame.source.drawn)
    draw = _held(frame, partial(scenes_of, view=view))
    picture = _cached_picture(frame, slider, epsilon, noise, view, draw, pairs)
    done = None
    if picture:
        ((request, run),) = picture.runs
        (scene,) = picture.scenes
        numbers = numbers_of_one(picture.runs, public=frame.public)
        names = () if run.profiled is None else groups.names_of(frame.source, run.words, run.profiled[0])
        with frame.stage:
            own = [*pairs, *groups.link_names(names)]
            address = _address(frame, own, noise, view, start=request.algorithm.has_start)
            classes = frame.dataset.labels
            flat = not view.surface  # a surface has no records: nothing to select, nowhere to draw
            shown = StagePicture(
                stage.KEY,
                scene,
                picture.packed[0],
                (lambda region: inspecting.facts(region, run.unit, run.words, view, classes, run.plane(view)))
                if flat
                else None,
                drawing.options(drawn=frame.source.drawn, public=frame.public) if flat else None,
            )
            here = (frame.source, picture.runs, (scene,), noise, view, frame.public, address)
            keep(MethodScreen(*here, numbers, *_moments(frame, slider, noise, draw, numbers_of_one), slider.first))
            ahead_offer = _offer(frame, slider, picture, noise, view, draw)
            done = _stage(frame, (shown,), slider, address, ahead_offer, count, ledger.mark(frame.source, run))
            _follow_turn(done)
            _recolored(frame, run)
        with frame.release, st.container():
            if frame.source.own and not frame.public:
                ledger.step(frame.source, request, run)
        _below(frame, noise, numbers)
        with frame.charts:
            named = {chart.key: chart for chart in run.profile_charts(names)} if any(names) else {}
            for chart in (named.get(each.key, each) for each in run.charts()):
                scene = chart.scene.public() if frame.public else chart.scene
                if not scene.is_empty:
                    live(scene, key=chart.key, height=chart.height, follow=stage.KEY)
                if chart.key != PROFILES or run.profiled is None or hiding.hides("knobs"):
                    continue
                if st.button("Name the clusters", help=groups.NAMES_HELP, key="dpviz-name-clusters"):
                    groups.ask_names(frame.source, run.words, run.profiled[0], run.profiles(), names)
            if run.words.projected and run.profiled is not None:
                st.caption(NO_PROFILE)
        with frame.card:
            labeled = run.card()
            st.html(panel.why(panel.guarantee(labeled, notices=_notices(frame, run)), panel.details(labeled)))
    _finish(frame)
    return done


def _held(frame: PageFrame, draw: Draw) -> Draw:
    """Hold the curator's finding, and what is lost, back where bounds cut off too many records to judge by."""
    if frame.public or not frame.source.nonprivate_is_held:
        return draw

    def drawn(runs: Runs) -> Iterator[Scene]:
        for scene in draw(runs):
            words = scene.stage
            yield scene if words is None else replace(scene, stage=replace(words, finding=HELD, strip=None, loss=None))

    return drawn


def impossible(frame: PageFrame, slider: Slider, why: str) -> None:
    """Say in the place of the picture why there is none; `why` names parameters only, so that everybody may read it."""
    _without_picture(frame, slider, why)
    _finish(frame)


def show_pair(frame: PageFrame, slider: Slider, epsilon: float, noise: Noise, view: View, pairs: state.Pairs) -> None:
    """Run two methods on the same records, and show them side by side, step by step."""

    def draw(runs: Runs) -> Iterator[Scene]:
        return scenes_in_step(runs, view, [trail_of(frame.source, request, noise) for request, _ in runs])

    picture = _cached_picture(frame, slider, epsilon, noise, view, _held(frame, draw), pairs)
    if picture:
        runs, scenes = picture.runs, picture.scenes
        numbers = numbers_of_two(runs, public=frame.public)
        address = _address(frame, pairs, noise, view)
        here = (frame.source, runs, scenes, noise, view, frame.public, address)
        keep(MethodScreen(*here, numbers, *_moments(frame, slider, noise, draw, numbers_of_two), slider.first))
        with frame.stage:
            shown = tuple(
                StagePicture(key, scene, packed)
                for key, scene, packed in zip(KEYS, scenes, picture.packed, strict=True)
            )
            _stage(frame, shown, slider, address, _offer(frame, slider, picture, noise, view, draw), None)
        with frame.release, st.container():
            if frame.source.own and not frame.public:
                st.caption(f"{ledger.REHEARSAL} {ledger.PAIR}")
        _below(frame, noise, numbers, place=len(runs) - 1)
        with frame.card:
            cards = ((run.card(), request.name.lower(), _notices(frame, run)) for request, run in runs)
            parts = (each for card in cards for each in (panel.guarantee(*card), panel.details(*card[:2])))
            st.html(panel.why(*parts))
    _finish(frame)


def _stage(
    frame: PageFrame,
    pictures: tuple[StagePicture, ...],
    slider: Slider,
    address: str,
    ahead_offer: Mapping[str, Any] | None,
    count: Knob | None,
    mark: str = "",
) -> LiveState:
    """Draw the stage with what can be chosen on it; `mark` stands beside the picture."""
    if frame.public and not all(picture.scene.axes_public for picture in pictures):
        st.info(NO_PUBLIC_PLANE)
    audience = {
        "value": state.value(AUDIENCE),
        "choices": [(AUDIENCE.choices[0][0], frame.insider), AUDIENCE.choices[1]],
    }
    number = None
    if count is not None and not (hiding.hides(count.name) or hiding.hides("knobs")):
        number = {"label": "k", "value": state.value(count), "low": count.low, "high": count.high}
    return stage.draw(
        pictures,
        public=frame.public,
        query=address,
        instrument=drawn_slider(state.widget_key(slider.knob.name)),
        audience=None if hiding.hides(AUDIENCE.name) else audience,
        count=number,
        ahead=ahead_offer,
        mark=mark,
        sweeps=ahead_offer is not None and not (state.opening_query() or lessons.active() or hiding.hides("sweep")),
    )


def _below(frame: PageFrame, noise: Noise, numbers: str, *, place: int = 0) -> None:
    """Draw the facts under the stage, and how many releases of these records there have been."""
    with frame.numbers:
        st.html(numbers)
        if count := n_releases(frame.source, noise, place):
            st.caption(f"Releases of these records in this session: {count}. Their budgets add up.")


def _cached_picture(
    frame: PageFrame,
    slider: Slider,
    epsilon: float,
    noise: Noise,
    view: View,
    draw: Draw,
    pairs: state.Pairs,
) -> CachedPicture | None:
    """Run the methods and draw them; None where one cannot run, and the place of the picture says why."""
    try:
        requests = slider.requests(epsilon)
        if unreleased(frame, requests):
            address = _address(frame, pairs, noise, view, start=requests[0].algorithm.has_start)
            _without_picture(frame, slider, "", address)
            return None
        name = name_of(frame.source, requests, noise, view, public=frame.public)
        cached = picture_cache().recall(name)
        if cached is not None:
            return cached
        runs = _run_all(frame, requests, noise)
        *_, picture = picture_cache().pack(name, runs, draw(runs), public=frame.public)
    except ValueError as error:
        _without_picture(frame, slider, IMPOSSIBLE if frame.public else str(error))
        return None
    return picture


def unreleased(frame: PageFrame, requests: Sequence[RunRequest]) -> bool:
    """Whether everyone is looking at a file of which no release has these settings: a teaching run is the curator's."""
    return frame.public and frame.source.uploaded and any(released(each, frame.source) is None for each in requests)


def _run_all(frame: PageFrame, requests: Sequence[RunRequest], noise: Noise) -> Runs:
    return tuple((each, run_method(each, frame.source, noise, place=place)) for place, each in enumerate(requests))


def _offer(
    frame: PageFrame, slider: Slider, picture: CachedPicture, noise: Noise, view: View, draw: Draw
) -> dict[str, Any] | None:
    """Offer these pictures at the slider's other values ahead of the rerun, where that is not one more release."""
    hidden = frame.public and not all(scene.axes_public for scene in picture.scenes)
    if noise.secret or frame.source.own or hidden:
        ahead.withdraw()
        return None

    cache, process = picture_cache(), background()  # the other thread has no session

    def packed(epsilon: float) -> Iterator[tuple[str, bytes]]:
        process.give_way()
        requests = slider.requests(epsilon)
        name = name_of(frame.source, requests, noise, view, public=frame.public)
        cached = cache.recall(name)
        if cached is not None:
            yield from zip(KEYS, cached.packed, strict=False)
            return
        runs = _run_all(frame, requests, noise)
        for picture_part, key in zip(cache.pack(name, runs, draw(runs), public=frame.public), KEYS, strict=False):
            yield key, picture_part.packed[-1]

    key, values = state.widget_key(slider.knob.name), controls.slider_values(slider.knob)
    return LossBands(slider.first, frame.source, noise, values, frame.public).ahead(packed, key)


def _moments(
    frame: PageFrame, slider: Slider, noise: Noise, draw: Draw, write: Callable[..., str]
) -> tuple[Mapping[str, Any] | None, Callable[[], Iterator[PictureState | None]] | None]:
    """Return the slider, and what makes all that the page shows as it moves, where that is not one more release."""
    slider_data = drawn_slider(state.widget_key(slider.knob.name))
    if noise.secret or frame.source.own or slider_data is None:
        return None, None

    def moments() -> Iterator[PictureState | None]:
        for value in slider_data["values"]:
            try:
                runs = _run_all(frame, slider.requests(value), noise)
            except ValueError:  # this value is impossible beside the other knobs, as the page says there
                yield None
                continue
            scenes = [scene.public() if frame.public else scene for scene in draw(runs)]
            yield PictureState(
                write(runs, public=frame.public), tuple(pack(replace(scene, hint="")) for scene in scenes)
            )

    return slider_data, moments


def _without_picture(frame: PageFrame, slider: Slider, why: str, address: str = "") -> None:
    """Say why there is no picture, above a stage whose ε can still be moved; the other places are held.

    Without a `why` nothing is wrong: there is no release to see, and the page keeps its address.
    A fragment may only write where the last whole run has written.
    """
    keep(None)
    with frame.stage:
        if why:
            state.error(why)
        else:
            st.info(UNRELEASED)
        _stage(frame, (), slider, address, None, None)
    for place in (frame.release, frame.numbers, frame.charts, frame.card):
        place.empty()


def _finish(frame: PageFrame) -> None:
    if frame.public and frame.dataset.bounds_from_data:
        state.report("These axes end at bounds taken from the data: they are not private.")
    show_problems(frame.problems)


def _address(frame: PageFrame, pairs: state.Pairs, noise: Noise, view: View, *, start: bool = True) -> str:
    return state.query([*frame.source.link, *pairs, *link(frame, noise, view, start=start)])


def _notices(frame: PageFrame, run: Run[object, Release, Step]) -> tuple[str, ...]:
    """Return what the card says of this very run: for the curator also what exact costs say."""
    return (*notices(run.guarantee), *run.public_notices(), *(() if frame.public else run.nonprivate_notices()))


def _recolored(frame: PageFrame, run: Run[object, Release, Step]) -> None:
    """Show a photograph in its own colors and in the private centers'; which pixel got which is the curator's."""
    image = frame.dataset.image
    if image is None or frame.public or (recolored := run.recolored(image.colours.shape)) is None:
        return
    original, reduced = st.columns(2)
    original.image(image.colours, caption="The photograph: its pixels are the records (curator view).", width="stretch")
    reduced.image(
        recolored,
        caption="Recolored with the released centers (curator view).",
        width="stretch",
        output_format="PNG",  # a photograph's compression would blur the few colors
    )


def _follow_turn(picture: LiveState) -> None:
    """Take over the angles that the reader has turned the picture to, once for each turn."""
    if picture.turned is None or picture.turn_count <= st.session_state.get(_TURNS, 0):
        return
    st.session_state[_TURNS] = picture.turn_count
    yaw, pitch = (round(angle) for angle in picture.turned)
    if (yaw, pitch) == (state.value(YAW), state.value(PITCH)):
        return
    state.remember(YAW, yaw)
    state.remember(PITCH, pitch)
    st.rerun(scope="app")
