"""Run a method and fill the page's places for its audience: one method, or two side by side."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from dpviz.core import Knob, Release, Step, immutable
from dpviz.plots import Scene
from dpviz.plots.page import PictureState
from dpviz.stories import View
from dpviz.stories.profiles import NO_PROFILE
from dpviz.stories.run import PROFILES, Run
from dpviz.stories.view import describe_region
from dpviz.ui import controls, hiding, panel, release_ledger, stage, state
from dpviz.ui.asking import Background, background
from dpviz.ui.bands import LossBands
from dpviz.ui.controls import drawn_slider
from dpviz.ui.data import drawing, groups
from dpviz.ui.data.upload import HELD
from dpviz.ui.frame import AUDIENCE, LENS, PITCH, YAW, PageFrame, link, show_problems
from dpviz.ui.live import LiveState, live
from dpviz.ui.runs import (
    AnyRun,
    CachedPicture,
    MethodScreen,
    Noise,
    PictureCache,
    RunRequest,
    Runs,
    count_secret_runs,
    facts_html,
    find_own_release,
    keep,
    name_of,
    notices,
    picture_cache,
    run_method,
    scenes_in_step,
    trail_of,
)
from dpviz.ui.server import ahead
from dpviz.ui.stage import StagePicture

NO_PUBLIC_PLANE = (
    "These directions are computed from the records, so the public sees nothing here. Choose two features under Axes."
)
UNRELEASED = (
    "Nothing from this file has been released with these settings{}, so there is nothing for everyone to see. The "
    "curator makes a release below the picture; everyone then sees it with the same settings."
)
GONE = ", or its table is no longer here"
NO_LENS = "No lens here: it shows exact values, which only the curator sees."
# The reason can name a count.
IMPOSSIBLE = "These knobs cannot be combined. The reason is not public."


_TURNS = "dpviz:turns"
# Keys of the pictures on the stage.
KEYS = (stage.KEY, "other")


@immutable
class Slider:
    """Runs that the privacy slider moves: one method, or two side by side, for each of its values.

    `requests` raises ValueError for impossible parameters. It may be called outside of the page's run.
    """

    knob: Knob
    requests: Callable[[float], tuple[RunRequest, ...]]

    def first(self, epsilon: float) -> RunRequest:
        """Return the request of the first picture, whose words are on the stage."""
        return self.requests(epsilon)[0]


@immutable
class Screen:
    """The places of a method's page, filled with runs at one value of its slider; `pairs` are the page's link."""

    frame: PageFrame
    slider: Slider
    noise: Noise
    view: View
    pairs: state.Pairs
    # Row of the record under the lens. Curator only.
    looked_at: int | None = None

    def show(self, request: RunRequest, run: AnyRun, count: Knob | None) -> LiveState | None:
        """Fill every place with one run; `count` is the knob of a whole number below the picture.

        Returns the reader's actions on the picture, or None if the picture could not be drawn.
        """
        frame, view = self.frame, self.view
        release_ledger.catch_up(frame.source)
        drawing.follow(drawn=frame.source.drawn)
        picture = self._picture(((request, run),))
        done = None
        if picture:
            (scene,) = picture.scenes
            names = () if run.profiled is None else groups.names_of(frame.source, run.words, run.profiled[0])
            with frame.stage:
                pairs = self._link(*groups.link_names(names), start=request.algorithm.has_start)
                classes = frame.dataset.labels
                shown = StagePicture(
                    stage.KEY,
                    scene,
                    picture.packed[0],
                    lambda region: describe_region(region, run.unit, run.words, view, classes, run.plane(view)),
                    drawing.options(drawn=frame.source.drawn, public=frame.public),
                    bool(state.value(LENS)) if run.has_lens else None,
                )
                numbers = self._keep(picture, pairs)
                done = self._stage(
                    (shown,), pairs, self._offer(picture), count, release_ledger.describe_status(frame.source, run)
                )
                _follow_turn(done)
                _recolored(frame, run)
            with frame.release, st.container():
                if frame.source.own and not frame.public:
                    release_ledger.draw_release_step(frame.source, request, run)
            self._below(numbers)
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
        self._finish()
        return done

    def show_pair(self, runs: Runs) -> None:
        """Fill every place with two runs on the same records, side by side, step by step."""
        frame = self.frame
        picture = self._picture(runs)
        if picture:
            pairs = self._link()
            numbers = self._keep(picture, pairs)
            with frame.stage:
                shown = tuple(
                    StagePicture(key, scene, packed)
                    for key, scene, packed in zip(KEYS, picture.scenes, picture.packed, strict=True)
                )
                self._stage(shown, pairs, self._offer(picture), None)
            with frame.release, st.container():
                if frame.source.own and not frame.public:
                    st.caption(f"{release_ledger.REHEARSAL} {release_ledger.PAIR}")
            self._below(numbers, place=len(runs) - 1)
            with frame.card:
                cards = ((run.card(), request.name.lower(), _notices(frame, run)) for request, run in picture.runs)
                parts = (each for card in cards for each in (panel.guarantee(*card), panel.details(*card[:2])))
                st.html(panel.why(*parts))
        self._finish()

    def say_why(self, error: ValueError, *, for_all: bool = False) -> None:
        """Show the reason for a missing picture in its place; everyone may read a reason that names only parameters."""
        self._without_picture(IMPOSSIBLE if self.frame.public and not for_all else str(error))
        self._finish()

    def say_unreleased(self, request: RunRequest) -> None:
        """Show in the picture's place that nothing is released; the page keeps its URL."""
        self._without_picture("", self._link(start=request.algorithm.has_start))
        self._finish()

    def _draw(self, runs: Runs) -> Iterator[Scene]:
        """Draw the runs; hold back the curator's findings and losses if bounds cut off too many records."""
        scenes: Iterable[Scene] = (
            run.under_lens(run.picture(self.view, adapt=request.adapt), self.looked_at) for request, run in runs
        )
        if len(runs) > 1:
            trails = [trail_of(self.frame.source, request, self.noise) for request, _ in runs]
            scenes = scenes_in_step(runs, scenes, self.view, trails)
        held = self.frame.source.nonprivate_is_held and not self.frame.public
        for scene in scenes:
            words = scene.stage
            if held and words is not None:
                scene = replace(scene, stage=replace(words, finding=HELD, strip=None, loss=None))
            yield scene

    def _name(self, requests: Iterable[RunRequest]) -> Hashable | None:
        frame = self.frame
        return name_of(frame.source, (*requests,), self.noise, self.view, self.looked_at, public=frame.public)

    def _picture(self, runs: Runs) -> CachedPicture | None:
        """Draw runs, or recall their pictures; None if that fails, with the reason in the picture's place."""
        name = self._name(request for request, _ in runs)
        cached = picture_cache().recall(name)
        if cached is not None:
            return cached
        try:
            *_, picture = picture_cache().pack(name, runs, self._draw(runs), public=self.frame.public)
        except ValueError as error:
            self._without_picture(IMPOSSIBLE if self.frame.public else str(error))
            return None
        return picture

    def _run(self, requests: tuple[RunRequest, ...]) -> Runs:
        source = self.frame.source
        return tuple((each, run_method(each, source, self.noise, place=place)) for place, each in enumerate(requests))

    def draw_ahead(self, cache: PictureCache, process: Background, epsilon: float) -> Iterator[tuple[str, bytes]]:
        """Yield the pictures at a value of the slider, from the cache or each as soon as it is drawn.

        It runs outside of the page's run, so it takes the session's `cache` and the background `process`, which waits.
        """
        process.give_way()
        requests = self.slider.requests(epsilon)
        name = self._name(requests)
        cached = cache.recall(name)
        if cached is not None:
            yield from zip(KEYS, cached.packed, strict=False)
            return
        runs = self._run(requests)
        parts = cache.pack(name, runs, self._draw(runs), public=self.frame.public)
        yield from ((key, part.packed[-1]) for part, key in zip(parts, KEYS, strict=False))

    def _offer(self, picture: CachedPicture) -> dict[str, Any] | None:
        """Offer pictures at the slider's other values ahead of the rerun, unless that would be one more release."""
        frame, noise = self.frame, self.noise
        hidden = frame.public and not all(scene.axes_public for scene in picture.scenes)
        if noise.secret or frame.source.own or hidden:
            ahead.withdraw()
            return None

        knob = self.slider.knob
        bands = LossBands(self.slider.first, frame.source, noise, controls.slider_values(knob), frame.public)
        draw = partial(self.draw_ahead, picture_cache(), background())
        return bands.ahead(draw, state.widget_key(knob.name))

    def _keep(self, picture: CachedPicture, pairs: state.Pairs) -> str:
        """Keep the screen for the exports, including the slider and the maker of all its page states.

        Returns the facts, as HTML.
        """
        frame, noise, draw = self.frame, self.noise, self._draw
        numbers = facts_html(picture.runs, public=frame.public)
        slider = drawn_slider(state.widget_key(self.slider.knob.name))

        def moments(values: Sequence[float]) -> Iterator[PictureState | None]:
            for value in values:
                try:
                    runs = self._run(self.slider.requests(value))
                # This value is impossible with the other knobs, and the page reports it there.
                except ValueError:
                    yield None
                    continue
                scenes = tuple(scene.public() if frame.public else scene for scene in draw(runs))
                yield PictureState(scenes, facts_html(runs, public=frame.public))

        more = None if noise.secret or frame.source.own or slider is None else partial(moments, slider["values"])
        keep(
            MethodScreen(
                frame.source,
                picture.runs,
                picture.scenes,
                noise,
                self.view,
                frame.public,
                pairs,
                numbers,
                slider if more else None,
                more,
                self.slider.first,
            )
        )
        return numbers

    def _stage(
        self,
        pictures: tuple[StagePicture, ...],
        pairs: state.Pairs | None,
        ahead_offer: Mapping[str, Any] | None,
        count: Knob | None,
        mark: str = "",
    ) -> LiveState:
        """Draw the stage with its choices; `mark` is next to the picture, and `pairs` are the page's link."""
        frame = self.frame
        if frame.public and not all(picture.scene.axes_public for picture in pictures):
            st.info(NO_PUBLIC_PLANE)
        (insider, _), everyone = AUDIENCE.choices
        audience = {"value": state.value(AUDIENCE), "choices": [(insider, frame.insider), everyone]}
        number = None
        if count is not None and not (hiding.hides(count.name) or hiding.hides("knobs")):
            number = {"label": "k", "value": state.value(count), "low": count.low, "high": count.high}
        return stage.draw_stage(
            pictures,
            public=frame.public,
            query=None if pairs is None else state.differing_query(pairs),
            instrument=drawn_slider(state.widget_key(self.slider.knob.name)),
            audience=None if hiding.hides(AUDIENCE.name) else audience,
            count=number,
            ahead=ahead_offer,
            mark=mark or (NO_LENS if frame.public and state.value(LENS) else ""),
            sweeps=ahead_offer is not None and not (state.opening_query() or hiding.hides("sweep")),
        )

    def _below(self, numbers: str, *, place: int = 0) -> None:
        """Draw the facts under the stage, and the number of releases of these records so far."""
        with self.frame.numbers:
            st.html(numbers)
            if count := count_secret_runs(self.frame.source, self.noise, place):
                st.caption(f"Releases of these records in this session: {count}. Their budgets add up.")

    def _without_picture(self, why: str, pairs: state.Pairs | None = None) -> None:
        """Show the reason there is no picture, above a stage whose ε can still be moved; empty the other places.

        Without a `why`, nothing is wrong: there is no release to see. A fragment may only write where the last whole
        run has written.
        """
        frame = self.frame
        keep(None)
        with frame.stage:
            if why:
                state.error(why)
            else:
                was = any(each.origin == "release" for each in release_ledger.get_ledger(frame.source).entries)
                st.info(UNRELEASED.format(GONE if was else ""))
            self._stage((), pairs, None, None)
        for place in (frame.release, frame.numbers, frame.charts, frame.card):
            place.empty()

    def _finish(self) -> None:
        if self.frame.public and self.frame.dataset.bounds_from_data:
            state.report("These axes end at bounds taken from the data: they are not private.")
        show_problems(self.frame.problems)

    def _link(self, *pairs: tuple[str, str], start: bool = True) -> state.Pairs:
        own = link(self.frame, self.noise, self.view, start=start)
        return [*self.frame.source.link, *self.pairs, *pairs, *own]


def unreleased(frame: PageFrame, request: RunRequest) -> bool:
    """Return True if everyone looks at a file without a release at these settings; teaching runs are not public."""
    return frame.public and frame.source.uploaded and find_own_release(request, frame.source) is None


def _notices(frame: PageFrame, run: Run[object, Release, Step]) -> tuple[str, ...]:
    """Return the card's notices about this very run; for the curator, also the notices from exact costs."""
    return (*notices(run.guarantee), *run.public_notices(), *(() if frame.public else run.nonprivate_notices()))


def _recolored(frame: PageFrame, run: Run[object, Release, Step]) -> None:
    """Show a photograph in its own colors and in the private centers' colors. The recoloring is curator only."""
    image = frame.dataset.image
    if image is None or frame.public or (recolored := run.recolored(image.colors.shape)) is None:
        return
    original, reduced = st.columns(2)
    original.image(image.colors, caption="The photograph: its pixels are the records (curator view).", width="stretch")
    reduced.image(
        recolored,
        caption="Recolored with the released centers (curator view).",
        width="stretch",
        # A photograph's compression would blur the few colors.
        output_format="PNG",
    )


def _follow_turn(picture: LiveState) -> None:
    """Store the angles to which the reader turned the picture, once for each turn."""
    if picture.turned is None or picture.turn_count <= st.session_state.get(_TURNS, 0):
        return
    st.session_state[_TURNS] = picture.turn_count
    yaw, pitch = (round(angle) for angle in picture.turned)
    if (yaw, pitch) == (state.value(YAW), state.value(PITCH)):
        return
    state.remember(YAW, yaw)
    state.remember(PITCH, pitch)
    st.rerun(scope="app")
