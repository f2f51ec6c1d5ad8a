"""A method as one record: by it every page, tool, test and file finds what the method has."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from dpviz.core import Algorithm, AnyArray, Box, Choices, FloatArray, IntArray, Knob, Points, Release, Step, frozen
from dpviz.data import Dataset
from dpviz.stories.run import Run
from dpviz.stories.teaching import Reading, RunChapter

# Names where there is little room, of methods whose titles are long.
SHORT: Mapping[str, str] = {"convergent_kmeans": "k-means", "morse": "Morse", "source_target": "Source-target"}

P_contra = TypeVar("P_contra", contravariant=True)
P = TypeVar("P")
R = TypeVar("R", bound=Release)


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Applied cuts of released trees, box units."""

    low: FloatArray  # (c, d) the cell that was cut
    high: FloatArray  # (c, d)
    axes: IntArray  # (c,)
    positions: FloatArray  # (c,)

    @classmethod
    def joined(cls, parts: Sequence["Cuts"]) -> "Cuts":
        """Put cuts together."""

        def both(name: str) -> AnyArray:
            return frozen(np.concatenate([getattr(part, name) for part in parts]))

        return cls(both("low"), both("high"), both("axes"), both("positions"))


@dataclass(frozen=True, slots=True, eq=False)
class Cloud:
    """Releases of R runs in one world."""

    places: Points  # (m, d) what is drawn of all runs, data units
    cuts: Cuts | None
    statistics: FloatArray  # (R, f) of each run, for the attacker

    @property
    def n_runs(self) -> int:
        """How many runs."""
        return len(self.statistics)

    @classmethod
    def joined(cls, parts: Sequence["Cloud"]) -> "Cloud":
        """Put runs together."""
        places, statistics = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("places", "statistics")
        )
        every = [part.cuts for part in parts if part.cuts is not None]
        return cls(frozen(places), Cuts.joined(every) if every else None, frozen(statistics))


class ByRecord(Protocol[P_contra]):
    """Release one record many times, where each record is released by itself."""

    def __call__(
        self, spots: Points, box: Box, params: P_contra, world: int, n_runs: int, *, rng: np.random.Generator
    ) -> Cloud:
        """Return releases of the record at `spots[world]`, one for each of `n_runs`."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Worlds(Generic[P, R]):
    """How a method's releases are read in two worlds; None: as released centers."""

    places: Callable[[R, Box], Points] | None = None  # (m, d) what is drawn of a release, data units
    statistics: Callable[[R, Points, Box], FloatArray] | None = None  # (f,) beside those of centers, about some spots
    cuts: Callable[[R, Box], Cuts] | None = None  # drawn as lines
    by_record: ByRecord[P] | None = None  # where other records are noise of their own and say nothing of this one


LEARN = "Learn"  # a group of the menu
S = TypeVar("S", bound=Step)
RunClass: TypeAlias = type[Run[object, Release, Step]]  # of any method


@dataclass(frozen=True, slots=True, eq=False)
class Thumbnail:
    """What a method is shown with on the home page; all of it public."""

    question: str  # that the method answers, in plain words
    alt: str
    made: Callable[[], tuple[Dataset, Choices]]  # records, and parameters that come with them
    seed: int  # of the noise
    frames: tuple[int, ...]  # stops of the scrubber; negative ones count from the end
    params: Choices = field(default_factory=dict)
    hidden: tuple[str, ...] = ()  # layers


@dataclass(frozen=True, slots=True)
class Attack:
    """Where on a method's page a reader is the attacker: how the home page leads there."""

    words: str  # of the button
    link: tuple[str, str]  # the knob of the page that opens it, and its value
    picture: str  # that the reader arrives at


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """A page of a method or a tool: made when it is first opened, because it alone needs Streamlit."""

    draw: Callable[[], None]
    knobs: tuple[Knob, ...] = ()  # of the page itself, beside those of the parameters and the choice of a tab
    title: str = ""  # of a tool; a method has its own
    group: str = ""  # of the menu; a page in a group is made of words, and has no picture on a stage


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Method(Algorithm[P, R, S], Generic[P, R, S]):
    """One of the methods with a page. What it lacks is None or empty, and does not appear."""

    run: RunClass
    worlds: Worlds[P, R] = field(default_factory=Worlds)
    page: Callable[[], Page] | None = None  # None: a page made from the knobs of its parameters
    reading: Reading | None = None
    chapter: RunChapter | None = None  # of the course
    attack: Attack | None = None
    thumbnail: Thumbnail | None = None
    family: Mapping[str, RunClass] = field(default_factory=dict)  # baselines on its page


AnyMethod: TypeAlias = Method[Any, Any, Any]  # of the catalogue
