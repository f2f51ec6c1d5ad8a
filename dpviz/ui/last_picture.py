"""The pictures that a session drew last: what came ahead of the page is not run, told, drawn and packed again by it."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import streamlit as st

from dpviz.plots import Scene
from dpviz.plots.scene import pack
from dpviz.stories import View
from dpviz.ui.frame import PageFrame
from dpviz.ui.runs import AnyRun, Noise, RunRequest, Runs

_LAST = "dpviz:last-pictures"
HELD = 2  # the one on screen, and the one that may be asked for next


@dataclass(frozen=True, slots=True, eq=False)
class DrawnPicture:
    """Runs and their pictures; equal names, equal pictures."""

    name: Hashable
    runs: Runs
    scenes: tuple[Scene, ...]
    packed: tuple[bytes, ...]  # as the audience sees them


class LastPictures:
    """One session's; the thread that draws ahead of the page uses them as well."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._held: tuple[DrawnPicture, ...] = ()

    def recall(self, name: Hashable | None) -> DrawnPicture | None:
        """Return what was drawn under this name, if it is among the last; None never is."""
        return next((drawn for drawn in self._held if name is not None and drawn.name == name), None)

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
            self._held = (*self._held, drawn)[-HELD:]


def last_pictures() -> LastPictures:
    """Return the session's."""
    kept: LastPictures = st.session_state.setdefault(_LAST, LastPictures())
    return kept


def name_of(frame: PageFrame, requests: Sequence[RunRequest[AnyRun]], noise: Noise, shown: View) -> Hashable | None:
    """Name everything that a picture follows from; None for secret noise and own records, which nothing recalls."""
    if noise.secret or frame.source.own:
        return None
    return (frame.source.key, frame.public, noise.seed, shown, *(request.key for request in requests))
