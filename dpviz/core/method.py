"""A clustering method: what a run takes, what it returns, and the record that the catalogue has of it.

Nominal base classes draw the privacy boundary of a run: a Step is never a Release.
"""

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from dpviz.core.arrays import Centers, Counts, Labels, Points
from dpviz.core.box import Box
from dpviz.core.privacy import Guarantee

LONG = 40  # characters; a longer value is not part of a repr
Choices: TypeAlias = Mapping[str, Any]  # fields of a method's Params


class Confidential:
    """Base of everything that holds exact values, or records: its repr names the fields and shows no value.

    A repr is saved with a notebook, logged, and quoted in messages.
    """

    __slots__ = ()

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Give a subclass this repr before `dataclass` writes one of all values; one of its own is inherited, too."""
        super().__init_subclass__(**kwargs)
        if "__repr__" not in cls.__dict__:
            above = next(each for each in cls.__mro__[1:] if issubclass(each, Confidential))
            cls.__repr__ = above.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """Name the type and its fields."""
        names = ", ".join(field.name for field in fields(self)) if is_dataclass(self) else ""
        return f"<{type(self).__qualname__}, for the curator only; its values are not shown: {names}>"


class Release:
    """Base of everything that may be published. An attack or an audit takes this and nothing else."""

    __slots__ = ()

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Give a subclass this repr before `dataclass` writes one of all values."""
        super().__init_subclass__(**kwargs)
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Release.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """Name the type and its fields, with short values; of arrays only the shapes: centers (5, 2)."""
        itself: Any = self
        values: dict[str, Any] = (
            {each.name: getattr(self, each.name) for each in fields(itself)} if is_dataclass(self) else {}
        )
        parts = []
        for name, value in values.items():
            text = f" {value.shape}" if isinstance(value, np.ndarray) else f"={value!r}"
            parts.append(f"{name}{text}" if len(text) <= LONG else name)
        return f"<{type(self).__qualname__}: {', '.join(parts)}>"


class Step(Confidential):
    """Base of one step of a trace, for the curator only, whatever its fields are called."""

    __slots__ = ()
    in_box: ClassVar[tuple[str, ...]] = ()  # fields that hold places (..., d) in a public unit, not in the data's
    unit_low: ClassVar[float] = 0.0  # of this unit: 0 in [0, 1]^d, -1 in [-1, 1]^d


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

    @property
    def sums_around(self) -> Centers | None:
        """Public places (k, d), box units, that records are measured from before they are summed; None: the middle."""
        return None


@dataclass(frozen=True, slots=True, eq=False)
class PointsRelease(Release):
    """Published records, each perturbed by its owner."""

    points: Points  # (n, d) data units


P = TypeVar("P")
P_contra = TypeVar("P_contra", contravariant=True)
R = TypeVar("R", bound=Release)
R_co = TypeVar("R_co", bound=Release, covariant=True)
S = TypeVar("S", bound=Step)
S_co = TypeVar("S_co", bound=Step, covariant=True)


@dataclass(frozen=True, slots=True, eq=False)
class Result(Confidential, Generic[R_co, S_co]):
    """One run: the release, the trace for the curator only, the events of its noise, and the guarantee."""

    release: R_co  # public
    trace: tuple[S_co, ...]  # the steps: for the curator alone
    events: tuple[Event, ...]  # public; one for each draw of noise
    guarantee: Guarantee  # public


class Fit(Protocol[P_contra, R_co, S_co]):
    """Run a method once on records (n, d) in a public box."""

    def __call__(self, points: Points, box: Box, params: P_contra, *, rng: np.random.Generator) -> Result[R_co, S_co]:
        """Return the release with its trace, events and guarantee."""


class Steps(Protocol[P_contra, S_co]):
    """Yield the steps of a run as they are made."""

    def __call__(self, points: Points, box: Box, params: P_contra, *, rng: np.random.Generator) -> Iterator[S_co]:
        """Yield each step, for the curator only."""


AnyFit: TypeAlias = Callable[..., Result[Release, Step]]
Charge: TypeAlias = Callable[[AnyFit, Box, object], None]  # called with a run's fit, box and parameters


@dataclass(frozen=True, slots=True, eq=False)
class AuditPlan:
    """How the audit runs a method: briefly, in every mode; all of it is public."""

    settings: Choices = field(default_factory=dict)  # what keeps a run short, so that runs show more
    more: tuple[Choices, ...] = ()  # modes beside the defaults with one choice changed
    idle: frozenset[str] = frozenset()  # choices that add no release
    by_record: bool = False  # whether each record is released by itself, so that one row is evidence enough
    gaps: bool = False  # whether places are compared along an axis: also on neighbors whose gaps alternate
    borders: tuple[Choices, ...] = ()  # of proved modes, where records on borders could be sent to either side
    first: str = ""  # mode that its page opens with, as in "mode=published": something to see; "" for the defaults
    placed: Callable[[Choices, Box], Choices] = lambda _choices, _box: {}  # what depends on the mode and the box


@dataclass(frozen=True, slots=True)
class Entry:
    """One way to run a method beside others."""

    mode: str = ""  # follows the method's name in a comparison's key, as in dpm_published
    words: str = ""  # follow the method's title, as in "DPM, as published"
    fields: tuple[tuple[str, str | int | float | bool], ...] = ()  # of its Params, as a grid has them
    link: tuple[tuple[str, str], ...] = ()  # what its page's link says of it
    on: bool = False  # whether a comparison opens with it
    short: str = ""  # name under a small picture; "": the name up to its parenthesis


@dataclass(frozen=True, slots=True, eq=False)
class Targets(Generic[R]):
    """The measures of a method that chooses among public targets."""

    cost: Callable[[Points, Points, Points], float]  # (targets, records, chosen) -> mean distance of a target
    # (targets, records, k, selections that are known, rng) -> the cheapest choice that is found, without privacy
    best: Callable[[Points, Points, int, Sequence[Labels], np.random.Generator], Labels]
    selected: Callable[[R], Labels]  # which targets a release names


@dataclass(frozen=True, slots=True, eq=False)
class FoundClusters(Confidential):
    """Clusters of the records by a release. Curator only."""

    centers: Centers  # (k, d)
    nonprivate_labels: Labels  # (n,) which of them each record belongs to


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Algorithm(Generic[P, R, S]):
    """One entry of a catalogue: a name, parameters with knobs, and two ways to run."""

    name: str  # in its catalogue, in links and in files
    title: str  # what pages call it
    place: str  # "package.module" that offers `Params`, `fit` and `steps`: an exported script imports it
    Params: type[P]  # frozen dataclass of public parameters, all with words
    fit: Fit[P, R, S]  # runs it once
    steps: Steps[P, S]  # yields the steps of a run
    audit: AuditPlan = field(default_factory=AuditPlan)  # how the audit runs it
    # How records are clustered by a release where that is not by the nearest released center: (release, records, box).
    clustered: Callable[[R, Points, Box], FoundClusters] | None = None
    targets: Targets[R] | None = None  # its measures, where it chooses among public targets
    entries: tuple[Entry, ...] = ()  # of a comparison
    estimator: str = ""  # its class in `dpviz.estimators`; "": from its name
    paper: str = ""  # authors and title
    # Its former names, the oldest first: `Catalogue` still finds it by them, and its seeds follow from the oldest.
    former: tuple[str, ...] = ()

    @property
    def class_name(self) -> str:
        """Name of its class in `dpviz.estimators`."""
        return self.estimator or "".join(part.capitalize() for part in self.name.split("_"))

    @property
    def has_start(self) -> bool:
        """Whether a run begins at a start that a seed places."""
        return "start_seed" in self.parameters

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of all parameters, in order."""
        params: Any = self.Params  # a type variable cannot say that it is a dataclass
        return tuple(each.name for each in fields(params))

    def make_params(self, values: Mapping[str, object]) -> P:
        """Return `Params` of these values; raises TypeError for a name that the method does not have, listing all."""
        for name in (each for each in values if each not in self.parameters):
            near = get_close_matches(name, self.parameters, 1)
            guess = f" Perhaps {near[0]!r}?" if near else ""
            raise TypeError(f"{self.title} has no parameter {name!r}; it has {', '.join(self.parameters)}.{guess}")
        declared = fields(self.Params)  # type: ignore[arg-type]  # a type variable cannot say that it is a dataclass
        needed = [each.name for each in declared if each.default is each.default_factory is MISSING]
        for name in (each for each in needed if each not in values):
            raise TypeError(f"{self.title} was given no {name}, but it needs {', '.join(needed)}. Pass {name}=....")
        return self.Params(**values)


AnyAlgorithm: TypeAlias = Algorithm[Any, Any, Any]  # of a catalogue, where methods of all kinds stand side by side
A = TypeVar("A", bound=AnyAlgorithm)


class Catalogue(dict[str, A]):
    """Methods by name. A former name gives the method as well, with a DeprecationWarning."""

    def __missing__(self, name: str) -> A:
        """Return the method that had this name. Raises KeyError if none had."""
        for each in self.values():
            if name in each.former:
                frame, level = sys._getframe(1), 2
                while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("dpviz."):
                    frame, level = frame.f_back, level + 1
                words = f"The method {name!r} is now called {each.name!r}. The former name will be removed."
                warnings.warn(words, DeprecationWarning, stacklevel=level)
                return each
        raise KeyError(name)


def check_arguments(box: Box, params: object, kind: type, rng: np.random.Generator, fit: AnyFit | None = None) -> None:
    """Validate the arguments that all `fit` functions share: a `Box`, parameters of the method's `kind`, a Generator.

    Raises TypeError otherwise: a call from a notebook is seldom type-checked, and a `None` would fail deep inside.
    `fit` is the function that is called: its run is charged to the open budgets. Raises what `charge_run` does.
    """
    if not isinstance(box, Box):
        raise TypeError(
            f"box was {_given(box)}, but it must be a Box of public bounds, such as Box(low=(0, 0), high=(1, 1)). "
            "Choose bounds that are known without the records: taken from them, they give the outermost away."
        )
    if not isinstance(params, kind):
        raise TypeError(
            f"params was {_given(params)}, but it must be the {kind.__name__} of {kind.__module__}. "
            f"Without changes: {kind.__name__}()."
        )
    if not isinstance(rng, np.random.Generator):
        seed = rng if isinstance(rng, int) else "seed"
        raise TypeError(
            f"rng was {_given(rng)}, but it must be a numpy.random.Generator. "
            f"Pass rng=np.random.default_rng({seed}); whoever knows the seed can take the noise away."
        )
    if fit is not None:
        charge_run(fit, box, params)


def _given(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}" + (f", {value!r}" if isinstance(value, int) else "")


_CHARGES: list[Charge] = []
_CHARGED: ContextVar[bool] = ContextVar("charged", default=False)  # whether the runs of this thread are charged already


def charge_with(charge: Charge) -> None:
    """Register `charge`, to be called before every run; an exception of it stops the run."""
    _CHARGES.append(charge)


def charge_run(fit: AnyFit, box: Box, params: object) -> None:
    """Charge a run of `fit` to the open budgets, once; raises BudgetError where one does not allow it."""
    if not _CHARGED.get():
        for charge in _CHARGES:
            charge(fit, box, params)


@contextmanager
def without_charge() -> Iterator[None]:
    """Do not charge the runs of this block: they are charged already, or release nothing."""
    token = _CHARGED.set(True)
    try:
        yield
    finally:
        _CHARGED.reset(token)
