"""Live picture in a notebook, with the app's steps and hover, or a drawing if there is no front end."""

from functools import cache
from typing import Any

from dpviz.assets import module, text
from dpviz.plots import Scene, pack, svg

# CSS pixels.
_HEIGHT = 480
_MISSING = "For a live picture: pip install 'dpviz[notebook]'. This one is a drawing."


class StillPicture:
    """A picture as a drawing, for a notebook without widgets."""

    def __init__(self, scene: Scene, frame: int | None = None) -> None:
        """Draw `scene` at one of its stops, by default the one it opens with."""
        self.scene, self.frame = scene, frame

    def __repr__(self) -> str:
        """Name the picture."""
        return f"<StillPicture of {self.scene.title!r}>"

    @property
    def svg(self) -> str:
        """The drawing, as text."""
        return svg([self.scene], frame=self.frame)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"image/svg+xml": self.svg, "text/plain": f"{self.scene.alt} {_MISSING}"}


def live(scene: Scene, frame: int | None = None) -> Any:
    """Return a live picture of a scene as it is, a drawing without widgets; raises ValueError for a missing step."""
    last = len(scene.frames) - 1
    if frame is not None and not 0 <= frame <= last:
        raise ValueError(f"frame must be a stop of the picture, from 0 to {last}, got {frame}.")
    try:
        import anywidget  # noqa: F401 - whether it is there
    except ImportError:
        return StillPicture(scene, frame)
    return _widget()(scene, frame)


@cache
def _widget() -> Any:
    """Return the widget's class; made here because it needs packages that only notebooks have."""
    import anywidget
    import traitlets

    class LivePicture(anywidget.AnyWidget):
        """A scene on a canvas; `frame` is the stop that the reader went to, and can be set."""

        _esm = module("notebook")
        packed = traitlets.Bytes().tag(sync=True)
        staged = traitlets.Bool().tag(sync=True)
        sheet = traitlets.Unicode(text("stage.css") + text("picture.css")).tag(sync=True)
        height = traitlets.Int(_HEIGHT).tag(sync=True)
        frame = traitlets.Int(None, allow_none=True).tag(sync=True)

        def __init__(self, scene: Scene, frame: int | None) -> None:
            """Show `scene` unchanged, beside its words if it has any."""
            super().__init__(packed=pack(scene), frame=frame, staged=scene.stage is not None)
            self._scene = scene

        def __repr__(self) -> str:
            """Name the widget: its own repr would quote the packed scene."""
            return f"<LivePicture of {self._scene.title!r}>"

        @property
        def svg(self) -> str:
            """The picture at that stop as a drawing, as text."""
            return StillPicture(self._scene, self.frame).svg

        def _repr_mimebundle_(self, **kwargs: Any) -> Any:
            """Offer the live picture, and a drawing for front ends that cannot show the picture."""
            data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
            return {**data, "image/svg+xml": self.svg, "text/plain": self._scene.alt}, metadata

    return LivePicture
