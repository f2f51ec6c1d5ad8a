"""A clustering method: inputs and results of a run, and the method's entry in the catalog.

Nominal base classes draw the privacy boundary of a run: a Step is never a Release.
"""

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import MISSING, field, fields, is_dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, Generic, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from dpviz.core.arrays import Centers, Counts, Labels, Points, ReadOnly
from dpviz.core.box import Box
from dpviz.core.knobs import immutable, immutable_value
from dpviz.core.privacy import Guarantee

# Maximum number of characters: a longer value is not part of a repr.
LONG = 40
# Fields of a method's Params.
Choices: TypeAlias = Mapping[str, Any]


class Confidential:
    """Base of all classes with exact values or records. Its repr names the fields and shows no values.

    A repr is saved with a notebook, logged, and quoted in messages.
    """

    __slots__ = ()

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Give a subclass this repr before `dataclass` writes one with all values. Its own repr is also inherited."""
        super().__init_subclass__(**kwargs)
        if "__repr__" not in cls.__dict__:
            above = next(each for each in cls.__mro__[1:] if issubclass(each, Confidential))
            cls.__repr__ = above.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """Name the type and its fields."""
        names = ", ".join(field.name for field in fields(self)) if is_dataclass(self) else ""
        return f"<{type(self).__qualname__}, for the curator only; its values are not shown: {names}>"


class Release(ReadOnly):
    """Base of everything that may be published. An attack or an audit takes only this."""

    __slots__ = ()

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Give a subclass this repr before `dataclass` writes one with all values."""
        super().__init_subclass__(**kwargs)
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Release.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """Name the type and its fields, with short values; for arrays only the shapes, such as centers (5, 2)."""
        itself: Any = self
        values: dict[str, Any] = (
            {each.name: getattr(self, each.name) for each in fields(itself)} if is_dataclass(self) else {}
        )
        parts = []
        for name, value in values.items():
            text = f" {value.shape}" if isinstance(value, np.ndarray) else f"={value!r}"
            parts.append(f"{name}{text}" if len(text) <= LONG else name)
        return f"<{type(self).__qualname__}: {', '.join(parts)}>"


class Step(ReadOnly, Confidential):
    """Base of one step of a trace, for the curator only, no matter what its fields are called."""

    __slots__ = ()
    # Fields with places (..., d) in a public unit instead of data units.
    in_box: ClassVar[tuple[str, ...]] = ()
    # Low end of this unit: 0 for [0, 1]^d, -1 for [-1, 1]^d.
    unit_low: ClassVar[float] = 0.0


@immutable
class MovedCenters(Step):
    """A step for any method whose centers move. Methods without their own picture are drawn from these steps."""

    # Centers with their noise, (k, d), data units.
    centers: Centers
    # The same centers before their noise, (k, d), data units.
    nonprivate_centers: Centers | None = None


class Event:
    """Base of one fact about noise that was added; `dpviz.accounting` adds facts up."""

    __slots__ = ()


@immutable
class CentersRelease(Release):
    """Published cluster centers."""

    centers: Centers  # (k, d), data units
    # (k,). None if publishing the counts would leak.
    noisy_counts: Counts | None = None

    @property
    def noisy_total(self) -> float:
        """Sum of the noisy counts, at least 0. Raises ValueError if the method releases none."""
        if self.noisy_counts is None:
            raise ValueError("The release has no counts. Pass the number of records, or its order of magnitude.")
        return max(float(np.sum(self.noisy_counts)), 0.0)

    @property
    def sums_around(self) -> Centers | None:
        """Public places (k, d), box units, subtracted from the records before summing; None for the middle."""
        return None


@immutable
class PointsRelease(Release):
    """Published records, each perturbed by its owner."""

    points: Points  # (n, d), data units


P = TypeVar("P")
P_contra = TypeVar("P_contra", contravariant=True)
R = TypeVar("R", bound=Release)
R_co = TypeVar("R_co", bound=Release, covariant=True)
S = TypeVar("S", bound=Step)
S_co = TypeVar("S_co", bound=Step, covariant=True)


@immutable
class Result(Confidential, Generic[R_co, S_co]):
    """One run: the release, the trace for the curator only, the events of its noise, and the guarantee."""

    # Public.
    release: R_co
    # The steps. Curator only.
    trace: tuple[S_co, ...]
    # One event for each draw of noise. Public.
    events: tuple[Event, ...]
    # Public.
    guarantee: Guarantee

    @classmethod
    def from_trace(cls, release: R_co, trace: tuple[S_co, ...], guarantee: Guarantee) -> Self:  # type: ignore[misc]
        """Return the run whose noise is the noise of its steps, in order."""
        events = (event for step in trace for event in step.events)  # type: ignore[attr-defined]
        return cls(release, trace, tuple(events), guarantee)


class Fit(Protocol[P_contra, R_co, S_co]):
    """Run a method once on records (n, d) in a public box."""

    def __call__(self, points: Points, box: Box, params: P_contra, *, rng: np.random.Generator) -> Result[R_co, S_co]:
        """Return the release with its trace, events and guarantee."""


class Steps(Protocol[P_contra, S_co]):
    """Yield the steps of a run as they are made."""

    def __call__(self, points: Points, box: Box, params: P_contra, *, rng: np.random.Generator) -> Iterator[S_co]:
        """Yield each step, for the curator only."""


AnyFit: TypeAlias = Callable[..., Result[Release, Step]]
# Called with the fit, points, box and parameters of a run.
Charge: TypeAlias = Callable[[AnyFit, object, Box, object], None]


@immutable
class AuditPlan:
    """Settings with which the audit runs a method: briefly, and in every mode. All of them are public."""

    # Settings that keep a run short, so that runs reveal more.
    settings: Choices = field(default_factory=dict)
    # Modes besides the defaults with one choice changed.
    more: tuple[Choices, ...] = ()
    # Choices that add no release.
    idle: frozenset[str] = frozenset()
    # Whether each record is released by itself, so that one row is enough evidence.
    by_record: bool = False
    # Whether places are compared along an axis. If so, neighbors with alternating gaps are audited as well.
    gaps: bool = False
    # Choices of proved modes in which records on borders could go to either side.
    borders: tuple[Choices, ...] = ()
    # Mode that the method's audit page opens with, such as "mode=published", to show something; "" for the defaults.
    first: str = ""
    # Choices that depend on the mode and the box.
    placed: Callable[[Choices, Box], Choices] = lambda _choices, _box: {}


@immutable_value
class Entry:
    """One way to run a method in a comparison."""

    # Follows the method's name in a comparison's key, as in dpm_published.
    mode: str = ""
    # Follow the method's title, as in "DPM, as published".
    words: str = ""
    # Fields of the method's Params, in a grid's form.
    fields: tuple[tuple[str, str | int | float | bool], ...] = ()
    # Settings of this entry in the link to its page.
    link: tuple[tuple[str, str], ...] = ()
    # Whether a comparison opens with it.
    on: bool = False
    # Name under a small picture. "" stands for the name up to its parenthesis.
    short: str = ""


@immutable
class Targets(Generic[R]):
    """The measures of a method that chooses among public targets."""

    # (targets, records, chosen) -> mean distance of a target.
    cost: Callable[[Points, Points, Points], float]
    # (targets, records, k, known selections, rng) -> the cheapest choice found, without privacy.
    best: Callable[[Points, Points, int, Sequence[Labels], np.random.Generator], Labels]
    # Indices of the targets that a release names.
    selected: Callable[[R], Labels]


@immutable
class FoundClusters(Confidential):
    """Clusters of the records by a release. Curator only."""

    centers: Centers  # (k, d)
    # Index of the center that each record belongs to, (n,).
    nonprivate_labels: Labels


@immutable(kw_only=True)
class Algorithm(Generic[P, R, S]):
    """One entry of a catalog: a name, parameters with knobs, and two ways to run."""

    # Name in its catalog, in links and in files.
    name: str
    # Name on pages.
    title: str
    # "package.module" that offers `Params`, `fit` and `steps`. An exported script imports it.
    place: str
    # Frozen dataclass of public parameters, all with descriptions.
    Params: type[P]
    # Runs the method once.
    fit: Fit[P, R, S]
    # Yields the steps of a run.
    steps: Steps[P, S]
    # Settings with which the audit runs the method.
    audit: AuditPlan = field(default_factory=AuditPlan)
    # (release, records, box) -> clusters of the records, for methods that do not use the nearest released center.
    clustered: Callable[[R, Points, Box], FoundClusters] | None = None
    # Measures of a method that chooses among public targets; None for other methods.
    targets: Targets[R] | None = None
    # Entries in a comparison.
    entries: tuple[Entry, ...] = ()
    # Its class in `dpviz.estimators`. "" means a class name formed from `name`.
    estimator: str = ""
    # Authors and title.
    paper: str = ""
    # Former names, the oldest first. `Catalogue` still finds the method by them, and its seeds follow from the oldest.
    former: tuple[str, ...] = ()

    @property
    def class_name(self) -> str:
        """Name of its class in `dpviz.estimators`."""
        return self.estimator or "".join(part.capitalize() for part in self.name.split("_"))

    @property
    def has_start(self) -> bool:
        """True if a run begins at a start that a seed places."""
        return "start_seed" in self.parameters

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of all parameters, in order."""
        # A type variable cannot express that Params is a dataclass.
        params: Any = self.Params
        return tuple(each.name for each in fields(params))

    def make_params(self, values: Mapping[str, object]) -> P:
        """Return `Params` with these values; raises TypeError for an unknown name, listing all names."""
        for name in (each for each in values if each not in self.parameters):
            near = get_close_matches(name, self.parameters, 1)
            guess = f" Perhaps {near[0]!r}?" if near else ""
            raise TypeError(f"{self.title} has no parameter {name!r}; it has {', '.join(self.parameters)}.{guess}")
        declared = fields(self.Params)  # type: ignore[arg-type]  # a type variable cannot say that it is a dataclass
        needed = [each.name for each in declared if each.default is each.default_factory is MISSING]
        for name in (each for each in needed if each not in values):
            raise TypeError(f"{self.title} needs {', '.join(needed)}, got no {name}. Pass {name}=....")
        return self.Params(**values)


# Entry of a catalog that contains methods of all kinds.
AnyAlgorithm: TypeAlias = Algorithm[Any, Any, Any]
A = TypeVar("A", bound=AnyAlgorithm)


class Catalogue(dict[str, A]):
    """Methods by name. A former name also returns the method, with a DeprecationWarning."""

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


def check_arguments(
    box: Box, params: object, kind: type, rng: np.random.Generator, fit: AnyFit | None = None, points: object = None
) -> None:
    """Validate the arguments that all `fit` functions share, and charge the run.

    A call from a notebook is seldom type-checked, and a `None` would fail deep inside.

    Parameters
    ----------
    box
        Must be a `Box`.
    params
        Must be the method's parameters.
    kind
        Class of the parameters.
    rng
        Must be a Generator.
    fit
        The called function, whose run is charged to the open budgets; None for none.
    points
        Records of the run.

    Raises
    ------
    TypeError
        If an argument has a different type.
    BudgetError
        As in `charge_run`.
    """
    if not isinstance(box, Box):
        raise TypeError(
            "box must be a Box of public bounds, such as Box(low=(0, 0), high=(1, 1)), got "
            f"{_given(box)}. Choose bounds that you know without the records: bounds taken from the "
            "records reveal the outermost ones."
        )
    if not isinstance(params, kind):
        raise TypeError(
            f"params must be the {kind.__name__} of {kind.__module__}, got {_given(params)}. "
            f"Without changes: {kind.__name__}()."
        )
    if not isinstance(rng, np.random.Generator):
        seed = rng if isinstance(rng, int) else "seed"
        raise TypeError(
            f"rng must be a numpy.random.Generator, got {_given(rng)}. "
            f"Pass rng=np.random.default_rng({seed}); anyone who knows the seed can remove the noise."
        )
    if fit is not None:
        charge_run(fit, points, box, params)


def collect(
    fit: AnyFit,
    steps: Callable[..., Iterator[S]],
    points: object,
    box: Box,
    params: P,
    kind: type[P],
    rng: np.random.Generator,
) -> tuple[S, ...]:
    """Check the arguments of a `fit`, charge its run, and return all of its steps.

    Parameters
    ----------
    fit
        The called function, whose run is charged to the open budgets.
    steps
        Function that yields the steps.
    points
        Records of the run. Curator only.
    box
        Public box.
    params
        Parameters. Public.
    kind
        Class of the parameters.
    rng
        Generator of the noise.

    Returns
    -------
    tuple
        The steps. Curator only.

    Raises
    ------
    TypeError, BudgetError
        As in `check_arguments`.
    """
    check_arguments(box, params, kind, rng, fit, points)
    return tuple(steps(points, box, params, rng=rng))


def _given(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}" + (f", {value!r}" if isinstance(value, int) else "")


_CHARGES: list[Charge] = []
# Whether the runs of this thread are already charged.
_CHARGED: ContextVar[bool] = ContextVar("charged", default=False)


def charge_with(charge: Charge) -> None:
    """Register `charge`, which is called before every run. If it raises an exception, the run stops."""
    _CHARGES.append(charge)


def charge_run(fit: AnyFit, points: object, box: Box, params: object) -> None:
    """Charge a run to the open budgets, once.

    Parameters
    ----------
    fit
        The method's function.
    points
        Records of the run.
    box
        Public box.
    params
        Parameters of the run.

    Raises
    ------
    BudgetError
        If a budget does not allow the run.
    """
    if not _CHARGED.get():
        for charge in _CHARGES:
            charge(fit, points, box, params)


@contextmanager
def without_charge() -> Iterator[None]:
    """Do not charge the runs of this block, because they are already charged or release nothing."""
    token = _CHARGED.set(True)
    try:
        yield
    finally:
        _CHARGED.reset(token)
