"""A method's story as one record: from a run to its picture, its numbers and its words."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Labels, Points, Release, Result, Step
from dpviz.plots import Scene
from dpviz.stories.label import Contents
from dpviz.stories.outcomes import Outcome
from dpviz.stories.panel import Fact, Sentence
from dpviz.stories.stage import Stops
from dpviz.stories.view import Projection, View, Words


class RunContext(Protocol):
    """A run with what its picture and numbers need; each story has a class of its own. Curator only."""

    @property
    def result(self) -> Result[Release, Step]:
        """The run."""

    @property
    def params(self) -> Any:
        """Its parameters."""

    @property
    def unit(self) -> Points:
        """The records (n, d), box units."""

    @property
    def words(self) -> Words:
        """What the public knows of the data."""


P = TypeVar("P")
R = TypeVar("R", bound=Release)
S = TypeVar("S", bound=Step)
F = TypeVar("F")
C = TypeVar("C", bound=RunContext)
C_contra = TypeVar("C_contra", contravariant=True)

Charts: TypeAlias = tuple[tuple[str, Scene], ...]  # (key, chart)


class Draw(Protocol[C_contra]):
    """Draw a run; `rng` draws illustrations of a law, never anything of the records."""

    def __call__(self, told: C_contra, view: View, *, rng: np.random.Generator) -> Scene:
        """Return the picture; `.public()` leaves what the world may see."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Story(Generic[P, R, S, F, C]):
    """How runs of a method are told. F is what a run is compared with, C a run that is ready to be told."""

    name: str  # unique: caches and the background process know a story by it
    place: str  # "package.module" that offers these functions by their names: an exported script imports it
    terms: tuple[tuple[str, str], ...]  # "How to read it": (term, what it means)
    reference_key: Callable[[P], tuple[object, ...]]  # the parameters that the reference depends on
    reference: Callable[[Points, Words, Result[R, S], P], F]  # the non-private run beside it: the curator's
    context: Callable[[Result[R, S], P, Points, Words, F], C]
    scene: Draw[C]
    sentence: Callable[[C], Sentence]
    utility: Callable[[C], tuple[Fact, ...]]
    risk: Callable[[C], tuple[Fact, ...]]
    contents: Callable[[C], Contents]  # of the guarantee's label
    outcome: Callable[[C, Labels | None, Any], Outcome]  # what is kept of one of many runs
    side_charts: Callable[[C], Charts]  # beside the picture
    recolored: Callable[[C, tuple[int, int, int]], NDArray[np.uint8]] | None = None  # a photograph, in released colors
    lead_charts: Callable[[C], tuple[tuple[str, Scene, int], ...]] | None = None  # above the facts, with their heights
    plane: Callable[[C, View], Projection] | None = None  # of the records, where it is not the view's own
    from_page: tuple[str, ...] = ()  # fields of C that only the page knows: an exported script sets them again
    notices: Callable[[C], tuple[str, ...]] | None = None  # beside the guarantee, about this very run: the curator's
    public_notices: Callable[[C], tuple[str, ...]] | None = None  # the same, from what is released
    stops: Callable[[C], Stops] | None = None  # of the scrubber; two runs with stops can be stepped side by side


AnyStory: TypeAlias = Story[Any, Any, Any, Any, Any]
