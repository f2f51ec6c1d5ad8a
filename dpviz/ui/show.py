"""Run a method and fill the page's places with what its audience may see: one method, or two side by side."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np
import streamlit as st

from dpviz.plots import Scene
from dpviz.stories import View, pair
from dpviz.ui import panel, state
from dpviz.ui.frame import Frame, link, show_problems
from dpviz.ui.live import LiveState, live
from dpviz.ui.runs import Noise, Run, centers_over, tell

PICTURE_HEIGHT = 560  # CSS pixels
PAIR_HEIGHT = 430
CHART_HEIGHT = 170
ILLUSTRATION_SEED = 0  # of draws that only show a law; public
TRAIL = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)  # epsilons whose releases a trail joins
MOST_TRAIL_RECORDS = 20_000
NO_PUBLIC_PLANE = (
    "These directions are computed from the records, so that the public sees nothing here. "
    "Choose two features under Axes."
)
IMPOSSIBLE = "These knobs are impossible together. The curator can see why."  # the reason can name a count


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """What is run, with what, and who tells it."""

    algorithm: ModuleType
    story: ModuleType
    params: Any
    name: str = ""  # where the page's title does not say it
    trail: tuple[Any, ...] = ()  # the same parameters over `TRAIL`
    prepare: Callable[[Any], Any] | None = None  # puts into the story's context what only the page knows


def show(frame: Frame, method: Method, noise: Noise, shown: View, pairs: Sequence[tuple[str, str]]) -> LiveState | None:
    """Run one method and fill every place; `pairs` are the page's part of the link.

    Returns what the reader did to the picture, None where it could not be drawn.
    """
    runs = _runs(frame, (method,), noise)
    done = None
    if runs:
        (run,) = runs
        with frame.lead:
            panel.sentence(method.story.sentence(run.told), public=frame.public, name=method.name)
        with frame.picture:
            start = hasattr(method.params, "start_seed")
            address = _address(frame, pairs, noise, shown, start=start)
            done = _picture(frame, _scene(method, run, shown), "picture", PICTURE_HEIGHT, query=address)
        with frame.side:
            story, told, public = method.story, run.told, frame.public
            for name, chart, height in story.lead_charts(told) if hasattr(story, "lead_charts") else ():
                _chart(name, chart, public=public, height=height)
            panel.side(
                panel.facts("Run" if public else "Utility", story.utility(told), public=public),
                panel.facts("Risk", story.risk(told), public=public),
                panel.guarantee(told.result.guarantee),
            )
            for name, chart in _side_charts(method, run):
                _chart(name, chart, public=public)
            _count_releases(run)
        with frame.below:
            _recolored(frame, method, run)
    _finish(frame)
    return done


def recalled(frame: Frame, method: Method, noise: Noise) -> Any:
    """Return the telling of the run that `show` has just drawn; raises ValueError where it cannot run."""
    run = tell(method.algorithm, method.story, frame.source, method.params, noise)
    return run.told if method.prepare is None else method.prepare(run.told)


def impossible(frame: Frame, why: str) -> None:
    """Say in the place of the picture why there is none; `why` names parameters only, so that everybody may read it."""
    frame.picture.error(state.plain(why))
    _reserve(frame)
    _finish(frame)


def show_pair(
    frame: Frame, methods: tuple[Method, Method], noise: Noise, shown: View, pairs: Sequence[tuple[str, str]]
) -> None:
    """Run two methods on the same records, and show them side by side, step by step."""
    runs = _runs(frame, methods, noise)
    if runs:
        with frame.lead:
            panel.sentence(pair.sentence(*(run.told for run in runs)), public=frame.public)
        scenes = pair.together(*(_trailed(frame, *each, noise, shown) for each in zip(methods, runs, strict=True)))
        address = _address(frame, pairs, noise, shown)
        with frame.picture:
            columns = st.columns(2, gap="small")
            for i, (column, method, scene) in enumerate(zip(columns, methods, scenes, strict=True)):
                with column:
                    scene = replace(scene, title=method.name)
                    follows = {"query": address} if i == 0 else {"follow": "picture"}
                    _picture(frame, scene, "picture" if i == 0 else "other", PAIR_HEIGHT, **follows)
        with frame.side:
            panel.side(
                panel.facts("What honesty costs", pair.facts(*(run.told for run in runs)), public=frame.public),
                *(
                    panel.guarantee(run.told.result.guarantee, method.name.lower())
                    for method, run in zip(methods, runs, strict=True)
                ),
            )
            _count_releases(runs[-1])
    _finish(frame)


@contextmanager
def refusals(frame: Frame) -> Iterator[None]:
    """Say in the place of the picture why parameters cannot be: what knobs allow one by one can be impossible together.

    Around everything that makes a `Method` from knobs.
    """
    try:
        yield
    except ValueError as error:
        _refuse(frame, error)
        _finish(frame)


def _refuse(frame: Frame, error: ValueError) -> None:
    frame.picture.error(IMPOSSIBLE if frame.public else state.plain(str(error)))
    _reserve(frame)


def _runs(frame: Frame, methods: Sequence[Method], noise: Noise) -> tuple[Run, ...]:
    """Run the methods; nothing where one cannot run, and the place of the picture says why."""
    try:
        runs = [
            tell(method.algorithm, method.story, frame.source, method.params, noise, place=place)
            for place, method in enumerate(methods)
        ]
        return tuple(
            run if method.prepare is None else replace(run, told=method.prepare(run.told))
            for run, method in zip(runs, methods, strict=True)
        )
    except ValueError as error:
        _refuse(frame, error)
        return ()


def _reserve(frame: Frame) -> None:
    """Hold the other places: a fragment may only write where the last whole run has written."""
    for place in (frame.lead, frame.side, frame.below):
        place.empty()


def _finish(frame: Frame) -> None:
    if frame.public and frame.source.dataset.bounds_from_data:
        state.report("These axes end at bounds taken from the data: they are not private.")
    show_problems(frame.problems)


def _address(frame: Frame, pairs: Sequence[tuple[str, str]], noise: Noise, shown: View, *, start: bool = True) -> str:
    return state.query([*frame.source.link, *pairs, *link(frame, noise, shown, start=start)])


def _scene(method: Method, run: Run, shown: View) -> Scene:
    scene: Scene = method.story.scene(run.told, shown, rng=np.random.default_rng(ILLUSTRATION_SEED))
    return scene


def _trailed(frame: Frame, method: Method, run: Run, noise: Noise, shown: View) -> Scene:
    """Add where each center stands at other budgets with the same noise, which needs noise that can be made again."""
    scene = _scene(method, run, shown)
    repeatable = noise.seed is not None and not frame.source.uploaded
    if not method.trail or not repeatable or frame.source.dataset.n > MOST_TRAIL_RECORDS:
        return scene
    centers = centers_over(method.algorithm, frame.source, method.trail, noise)
    return pair.with_trail(scene, run.told, shown, centers)


def _side_charts(method: Method, run: Run) -> Sequence[tuple[str, Scene]]:
    """Return the charts beside the picture: the story's own choice, else cost and ledger."""
    story = method.story
    if hasattr(story, "side_charts"):
        charts: Sequence[tuple[str, Scene]] = story.side_charts(run.told)
        return charts
    return (("cost", story.cost_chart(run.told)), ("ledger", story.ledger_chart(run.told)))


def _picture(frame: Frame, scene: Scene, key: str, height: int, **options: Any) -> LiveState:
    blank = frame.public and not scene.axes_public
    if blank:
        st.info(NO_PUBLIC_PLANE)
    height = CHART_HEIGHT if blank else height
    return live(scene, key=key, height=height, audience_public=frame.public, **options)


def _chart(name: str, chart: Scene, *, public: bool, height: int = CHART_HEIGHT) -> None:
    seen = chart.public() if public else chart
    if not seen.is_empty:
        live(seen, key=name, height=height, follow="picture")


def _count_releases(run: Run) -> None:
    if run.n_releases:
        st.caption(f"Releases of these records in this session: {run.n_releases}. Their budgets add up.")


def _recolored(frame: Frame, method: Method, run: Run) -> None:
    """Show a photograph in its own colors and in the private centers'; which pixel got which is the curator's."""
    image = frame.source.dataset.image
    if image is None or frame.public:
        return
    left, right = st.columns(2)
    left.image(image.colours, caption="The photograph: its pixels are the records (curator view).", width="stretch")
    right.image(
        method.story.recolored(run.told, image.colours.shape),
        caption="Recolored with the released centers (curator view).",
        width="stretch",
    )
