"""What a run returns. Nominal base classes draw the privacy boundary: a Step is never a Release."""

from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Generic, TypeVar

from dpviz.core.arrays import Centers, Counts, Points
from dpviz.core.privacy import Guarantee


class Confidential:
    """Base of everything that holds exact values, or records: a notebook that prints one shows which fields it has.

    What a repr shows is saved with the notebook, logged, and quoted in messages.
    """

    __slots__ = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Give a subclass this repr before `dataclass` writes one of all values; one of its own stays."""
        super().__init_subclass__(**kwargs)
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Confidential.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """Name the type and its fields."""
        names = ", ".join(field.name for field in fields(self)) if is_dataclass(self) else ""
        return f"<{type(self).__qualname__}, for the curator only; its values are not shown: {names}>"


class Release:
    """Base of everything that may be published. An attack or an audit takes this and nothing else."""

    __slots__ = ()


class Step(Confidential):
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
class Result(Confidential, Generic[R_co, S_co]):
    """One run: what the world sees, what only the curator sees, what was spent, and what is promised."""

    release: R_co
    trace: tuple[S_co, ...]
    events: tuple[Event, ...]
    guarantee: Guarantee
