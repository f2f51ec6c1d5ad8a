"""Record of a method, where every page, tool, test and file finds the method's parts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from dpviz.core import (
    Algorithm,
    AnyArray,
    Box,
    Choices,
    FloatArray,
    IntArray,
    Knob,
    Points,
    ReadOnly,
    Release,
    Step,
    frozen,
    immutable,
    immutable_value,
)
from dpviz.data import Dataset
from dpviz.stories.run import Run
from dpviz.stories.teaching import Reading, RunChapter

# Short names of methods with long titles, for places with little room.
SHORT: Mapping[str, str] = {"convergent_kmeans": "k-means", "morse": "Morse", "source_target": "Source-target"}

P_contra = TypeVar("P_contra", contravariant=True)
P = TypeVar("P")
R = TypeVar("R", bound=Release)


@immutable
class Cuts:
    """Applied cuts of released trees, box units."""

    # (c, d) low corners of the cells that were cut.
    low: FloatArray
    high: FloatArray  # (c, d)
    axes: IntArray  # (c,)
    positions: FloatArray  # (c,)

    @classmethod
    def joined(cls, parts: Sequence["Cuts"]) -> "Cuts":
        """Combine cuts."""

        def both(name: str) -> AnyArray:
            return frozen(np.concatenate([getattr(part, name) for part in parts]))

        return cls(both("low"), both("high"), both("axes"), both("positions"))


@immutable
class Cloud(ReadOnly):
    """Releases of R runs in one world."""

    # (m, d) drawn places of all runs, data units.
    places: Points
    cuts: Cuts | None
    # (R, f) statistics of each run, for the attacker.
    statistics: FloatArray

    @property
    def n_runs(self) -> int:
        """The number of runs."""
        return len(self.statistics)

    @classmethod
    def joined(cls, parts: Sequence["Cloud"]) -> "Cloud":
        """Combine runs."""
        places, statistics = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("places", "statistics")
        )
        every = [part.cuts for part in parts if part.cuts is not None]
        return cls(places, Cuts.joined(every) if every else None, statistics)


class ByRecord(Protocol[P_contra]):
    """Release one record many times, where each record is released by itself."""

    def __call__(
        self, spots: Points, box: Box, params: P_contra, world: int, n_runs: int, *, rng: np.random.Generator
    ) -> Cloud:
        """Return releases of the record at `spots[world]`, one for each of `n_runs`."""


@immutable(kw_only=True)
class Worlds(Generic[P, R]):
    """Functions that read a method's releases in two worlds; None: as released centers."""

    # (m, d) drawn places of a release, data units.
    places: Callable[[R, Box], Points] | None = None
    # (f,) statistics about some spots, in addition to those of the centers.
    statistics: Callable[[R, Points, Box], FloatArray] | None = None
    # Cuts that are drawn as lines.
    cuts: Callable[[R, Box], Cuts] | None = None
    # For methods whose other records have their own noise and reveal nothing about this one.
    by_record: ByRecord[P] | None = None


# Name of a group of the menu.
LEARN = "Learn"
S = TypeVar("S", bound=Step)
# Class of runs of any method.
RunClass: TypeAlias = type[Run[object, Release, Step]]


@immutable
class Thumbnail:
    """A method's picture on the home page; all of it public."""

    # Question that the method answers, in plain words.
    question: str
    alt: str
    # Function that makes the records, and the parameters that come with them.
    made: Callable[[], tuple[Dataset, Choices]]
    # Seed of the noise.
    seed: int
    # Stops of the scrubber. Negative ones count from the end.
    frames: tuple[int, ...]
    params: Choices = field(default_factory=dict)
    # Names of hidden layers.
    hidden: tuple[str, ...] = ()


@immutable_value
class Attack:
    """Link from the home page to the part of a method's page in which the reader is the attacker."""

    # Label of the button.
    words: str
    # Knob of the page that opens the attack, and its value.
    link: tuple[str, str]
    # Picture that the reader arrives at.
    picture: str


@immutable
class Page:
    """A page of a method or a tool: made when it is first opened, because it alone needs Streamlit."""

    draw: Callable[[], None]
    # Knobs of the page itself, in addition to the parameters' knobs and the choice of a tab.
    knobs: tuple[Knob, ...] = ()
    # Title of a tool. A method has its own.
    title: str = ""
    # Group of the menu. A page in a group consists of text, and has no picture on a stage.
    group: str = ""


@immutable(kw_only=True)
class Method(Algorithm[P, R, S], Generic[P, R, S]):
    """One of the methods with a page. Missing parts are None or empty, and do not appear."""

    run: RunClass
    worlds: Worlds[P, R] = field(default_factory=Worlds)
    # None: a page made from the knobs of its parameters.
    page: Callable[[], Page] | None = None
    reading: Reading | None = None
    # Chapter of the course.
    chapter: RunChapter | None = None
    attack: Attack | None = None
    thumbnail: Thumbnail | None = None
    # Baselines on the method's page.
    family: Mapping[str, RunClass] = field(default_factory=dict)


# Any method of the catalog.
AnyMethod: TypeAlias = Method[Any, Any, Any]
