"""The picture that a session drew last: what came ahead of the page is not run, told, drawn and packed again by it."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import streamlit as st

from dpviz.plots import Scene
from dpviz.plots.scene import pack
from dpviz.stories import View
from dpviz.ui.frame import PageFrame
from dpviz.ui.runs import Noise, scalars
from dpviz.ui.setup import AnySetup, Runs

_LAST = "dpviz:last-picture"


@dataclass(frozen=True, slots=True, eq=False)
class DrawnPicture:
    """Runs and their pictures; equal names, equal pictures."""

    name: Hashable
    runs: Runs
    scenes: tuple[Scene, ...]
    packed: tuple[bytes, ...]  # as the audience sees them


class LastPicture:
    """One session's; the thread that draws ahead of the page uses it as well."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._last: DrawnPicture | None = None

    def recall(self, name: Hashable | None) -> DrawnPicture | None:
        """Return what was drawn last if it has this name; None never has one."""
        last = self._last
        return last if last is not None and name is not None and last.name == name else None

    def pack(
        self, name: Hashable | None, runs: Runs, scenes: Iterable[Scene], *, public: bool
    ) -> Iterator[DrawnPicture]:
        """Pack pictures for their audience: after each, what there is. Hold them all if they have a name."""
        drawn = DrawnPicture(name, runs, (), ())
        for scene in scenes:
            packed = pack(scene.public() if public else scene)
            drawn = DrawnPicture(name, runs, (*drawn.scenes, scene), (*drawn.packed, packed))
            yield drawn
        if name is not None:
            self._last = drawn


def last_picture() -> LastPicture:
    """Return the session's."""
    kept: LastPicture = st.session_state.setdefault(_LAST, LastPicture())
    return kept


def name_of(frame: PageFrame, methods: Sequence[AnySetup], noise: Noise, shown: View) -> Hashable | None:
    """Name everything that a picture follows from; None for secret noise and own records, which nothing recalls."""
    if noise.secret or frame.source.own:
        return None
    return (frame.source.key, frame.public, noise.seed, shown, *map(_name, methods))


def _name(method: AnySetup) -> Hashable:
    trail = tuple(scalars(params) for params in method.trail)
    modules = method.algorithm.name, method.story.name
    return (*modules, scalars(method.params), method.name, trail, method.adapt, method.adds)
