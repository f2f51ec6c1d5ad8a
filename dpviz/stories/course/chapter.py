"""What a chapter of the course is: one idea on one screen, guessed before it is measured.

All records are made up and all seeds are public, so that a chapter may show the curator's gray beside the release.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray, Knob
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.stories.center_facts import allowed
from dpviz.stories.lesson import Question
from dpviz.stories.stage import SECRET, Seen

MOST_WORDS = 46  # of a chapter's text, and of its answer: a phone shows both beside the picture


class DrawChapter(Protocol):
    """Draw a chapter at a value of its control; before the question is `answered` nothing gives the answer away."""

    def __call__(self, value: Any, /, *, answered: bool) -> Scene:
        """Return the picture."""


@dataclass(frozen=True, slots=True, eq=False)
class Chapter:
    """One idea, one picture, one control and one question; `name` is the chapter's address."""

    name: str
    title: str
    words: str
    question: Question
    control: Knob
    picture: DrawChapter
    told: Callable[[Any], str]  # what is on screen at a value of the control, in one or two short sentences
    explained: str  # what a reader can now explain, as a sentence of their own
    lesson: str = ""  # the name of the longer lesson that goes on from here
    note: Callable[[float], str] = allowed  # what a value means, beside a privacy slider
    asked: Any = None  # the control's value that the question is about; None: the one that the picture opens with

    @property
    def answered_at(self) -> Any:
        """Where the control stands when the question has been answered."""
        return self.control.default if self.asked is None else self.asked


def marks(name: str, ink: Seen, places: FloatArray, **style: Any) -> Layer:
    """Return marks at `places` (m, 2), scene coordinates."""
    options = {"isolate": False, **style}
    return Layer(name, Kind.MARKS, ink.role, ink.audience, {"xy": np.asarray(places)[None]}, always(1), **options)


def segments(name: str, ink: Seen, ends: FloatArray, **style: Any) -> Layer:
    """Return line segments (m, 4), x0 y0 x1 y1 in scene coordinates."""
    options = {"isolate": False, **style}
    return Layer(name, Kind.SEGMENTS, ink.role, ink.audience, {"ends": np.asarray(ends)[None]}, always(1), **options)


def still(title: str, alt: str, x: Axis, y: Axis, *layers: Layer, equal: bool = False) -> Scene:
    """Return a picture without steps."""
    return Scene(title=title, alt=alt, caption="", x=x, y=y, layers=layers, equal=equal, scrubber=False)


def people(
    name: str,
    places: FloatArray,
    groups: NDArray[np.integer[Any]] | None,
    *,
    symbol: str = "circle",
    size: float = 11.0,
) -> Layer:
    """Return people at `places` (m, 2) in the colors of their groups (m,), gray where they have none: the curator's."""
    if groups is None:
        return marks(name, SECRET, places, symbol=symbol, size=size)
    arrays: dict[str, NDArray[Any]] = {"xy": np.asarray(places)[None], "group": groups[None].astype(np.uint8)}
    options: dict[str, Any] = {"symbol": symbol, "size": size, "isolate": False}
    return Layer(name, Kind.MARKS, Role.CLUSTER, Audience.CURATOR, arrays, always(1), **options)
