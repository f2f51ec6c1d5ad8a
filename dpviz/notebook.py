"""A live picture in a notebook: the app's own, with its steps and hover; a drawing where there is no front end."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from dpviz.assets import PICTURE, module, text
from dpviz.core import Box, Result
from dpviz.data import Dataset
from dpviz.estimators import PrivateEstimator
from dpviz.mechanisms import FROM_DATA
from dpviz.methods import ALGORITHMS, story_of
from dpviz.plots import Scene, pack, svg
from dpviz.stories import View, Words
from dpviz.stories.ground_layers import on_earth
from dpviz.stories.promise import promise
from dpviz.stories.released import released_scene

_HEIGHT = 480  # CSS pixels
_MISSING = "For a live picture: pip install 'dpviz[notebook]'. This one is a drawing."


class StillPicture:
    """A picture as a drawing, for a notebook without widgets."""

    def __init__(self, scene: Scene, frame: int | None = None) -> None:
        """Draw `scene` at one of its stops, by default the one it opens with."""
        self.scene, self.frame = scene, frame

    @property
    def svg(self) -> str:
        """The drawing, as text."""
        return svg([self.scene], frame=self.frame)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"image/svg+xml": self.svg, "text/plain": f"{self.scene.alt} {_MISSING}"}


def show(
    shown: Any,
    data: Dataset | None = None,
    params: Any = None,
    *,
    curator: bool = False,
    view: View | None = None,
    frame: int | None = None,
) -> Any:
    """Return the picture of a scene, a run or a fitted estimator; see `dpviz.show`."""
    whole = _scene(shown, data, params, View() if view is None else view)
    scene = whole if curator else whole.public()
    last = len(scene.frames) - 1
    if frame is not None and not 0 <= frame <= last:
        raise ValueError(f"frame was {frame}, but the picture has stops from 0 to {last}.")
    try:
        import anywidget  # noqa: F401 - whether it is there
    except ImportError:
        return StillPicture(scene, frame)
    return _widget()(scene, frame)


def _scene(shown: Any, data: Dataset | None, params: Any, view: View) -> Scene:
    if isinstance(shown, Scene):
        return shown
    if isinstance(shown, PrivateEstimator):
        return _of_estimator(shown)
    if not isinstance(shown, Result):
        raise TypeError(
            f"The picture was asked for a {type(shown).__name__}. Give what a method's fit returned, a fitted "
            "estimator of dpviz.estimators, or a scene."
        )
    if data is None and params is None:
        return released_scene(shown.release, shown.guarantee)
    if not isinstance(data, Dataset) or params is None:
        raise TypeError(
            f"data was a {type(data).__name__} and params a {type(params).__name__}, but a run's own picture needs the "
            "dataset and the parameters it was made with. Leave both out for the release alone."
        )
    return _of_run(shown, data, params, view)


def _of_run(result: Result[Any, Any], data: Dataset, params: Any, view: View) -> Scene:
    """Return the method's own picture of a run; its parameters say which method it is."""
    name = next((each.name for each in ALGORITHMS.values() if type(params) is each.Params), None)
    if name is None:
        raise TypeError(f"params was a {type(params).__name__}, but it must be the Params of a method or baseline.")
    guarantee = replace(result.guarantee, caveats=(*result.guarantee.caveats, *data.caveats))
    if data.bounds_from_data:
        guarantee = replace(guarantee, proved=None, caveats=(FROM_DATA, *guarantee.caveats))
    result = replace(result, guarantee=guarantee)
    story, words = story_of(name), Words.of(data)
    reference = story.reference(data.points, words, result, params)
    told = story.context(result, params, data.points, words, reference)
    scene = on_earth(story.scene(told, view, rng=np.random.default_rng(0)), words, view)
    said = promise(result.guarantee)
    public = f"{scene.public_caption or scene.caption} {said}"
    return replace(scene, caption=f"{scene.caption} {said}", public_caption=public, hint="")


def _of_estimator(fitted: PrivateEstimator) -> Scene:
    """Return what a fitted estimator released, in its box: its records are not kept, and so not drawn."""
    from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]  # it ships no types

    check_is_fitted(fitted)
    box: Box = fitted.box_
    names = tuple(getattr(fitted, "feature_names_in_", [f"feature {i + 1}" for i in range(box.d)]))
    public = not (isinstance(fitted.bounds, str) and fitted.bounds == "data")
    words = Words(fitted.algorithm.title, box, names, ("",) * box.d, public)
    return released_scene(fitted.release_, fitted.guarantee_, words)


@cache
def _widget() -> Any:
    """Return the widget's class; made here because it needs packages that only notebooks have."""
    import anywidget
    import traitlets

    class LivePicture(anywidget.AnyWidget):
        """A scene on a canvas; `frame` is the stop that the reader went to, and can be set."""

        _esm = module("notebook", *PICTURE, "picture")
        packed = traitlets.Bytes().tag(sync=True)
        sheet = traitlets.Unicode(text("picture.css")).tag(sync=True)
        height = traitlets.Int(_HEIGHT).tag(sync=True)
        frame = traitlets.Int(None, allow_none=True).tag(sync=True)

        def __init__(self, scene: Scene, frame: int | None) -> None:
            """Show `scene`, as it is."""
            super().__init__(packed=pack(scene), frame=frame)
            self._scene = scene

        def __repr__(self) -> str:
            """Name the widget: its own repr would quote the packed scene."""
            return f"<LivePicture of {self._scene.title!r}>"

        @property
        def svg(self) -> str:
            """The picture at that stop as a drawing, as text."""
            return StillPicture(self._scene, self.frame).svg

        def _repr_mimebundle_(self, **kwargs: Any) -> Any:
            """Offer the live picture, and a drawing to whoever cannot show it."""
            data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
            return {**data, "image/svg+xml": self.svg, "text/plain": self._scene.alt}, metadata

    return LivePicture
