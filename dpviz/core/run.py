"""What a run returns. Nominal base classes draw the privacy boundary: a Step is never a Release."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from dpviz.core.arrays import Centers, Counts, Points
from dpviz.core.privacy import Guarantee


class Release:
    """Base of everything that may be published. An attack or an audit takes this and nothing else."""

    __slots__ = ()


class Step:
    """Base of one step of a trace, for the curator only, whatever its fields are called."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class MovedCenters(Step):
    """A step that any method may yield whose centers move: the picture of a method without its own draws it."""

    centers: Centers  # (k, d) data units, with their noise
    nonprivate_centers: Centers | None = None  # (k, d) data units, the same before their noise


class Event:
    """Base of one fact about noise that was added; `dpviz.accounting` adds facts up."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class CentersRelease(Release):
    """Published cluster centers."""

    centers: Centers  # (k, d) data units
    noisy_counts: Counts | None = None  # (k,), None where publishing them would leak


@dataclass(frozen=True, slots=True, eq=False)
class PointsRelease(Release):
    """Published records, each perturbed by its owner."""

    points: Points  # (n, d) data units


R_co = TypeVar("R_co", bound=Release, covariant=True)
S_co = TypeVar("S_co", bound=Step, covariant=True)


@dataclass(frozen=True, slots=True, eq=False)
class Result(Generic[R_co, S_co]):
    """One run: what the world sees, what only the curator sees, what was spent, and what is promised."""

    release: R_co
    trace: tuple[S_co, ...]
    events: tuple[Event, ...]
    guarantee: Guarantee
