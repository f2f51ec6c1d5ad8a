"""A clustering method as one record: what everything above it runs, by the same names for all of them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from dpviz.core.arrays import Centers, Labels, Points
from dpviz.core.box import Box
from dpviz.core.run import Confidential, Release, Result, Step

P = TypeVar("P")
P_contra = TypeVar("P_contra", contravariant=True)
R = TypeVar("R", bound=Release)
R_co = TypeVar("R_co", bound=Release, covariant=True)
S = TypeVar("S", bound=Step)
S_co = TypeVar("S_co", bound=Step, covariant=True)

Choices: TypeAlias = Mapping[str, Any]  # fields of a method's Params


class Fit(Protocol[P_contra, R_co, S_co]):
    """Run a method once on records (n, d) in a public box."""

    def __call__(self, points: Points, box: Box, params: P_contra, *, rng: np.random.Generator) -> Result[R_co, S_co]:
        """Return the release with its trace, events and guarantee."""


class Steps(Protocol[P_contra, S_co]):
    """Yield the steps of a run as they are made."""

    def __call__(self, points: Points, box: Box, params: P_contra, *, rng: np.random.Generator) -> Iterator[S_co]:
        """Yield each step, for the curator only."""


def _nowhere(_choices: Choices, _box: Box) -> Choices:
    return {}


@dataclass(frozen=True, slots=True, eq=False)
class AuditPlan:
    """How the audit runs a method: briefly, in every mode; all of it is public."""

    given: Choices = field(default_factory=dict)  # what keeps a run short, so that runs show more
    more: tuple[Choices, ...] = ()  # modes beside the defaults with one choice changed
    idle: frozenset[str] = frozenset()  # choices that add no release
    by_record: bool = False  # whether each record is released by itself, so that one row alone tells
    gaps: bool = False  # whether places are compared along an axis: also on neighbors whose gaps alternate
    borders: tuple[Choices, ...] = ()  # of proved modes, where records on borders could be sent to either side
    first: str = ""  # mode that its page opens with, as in "mode=published": something to see; "" for the defaults
    placed: Callable[[Choices, Box], Choices] = _nowhere  # what depends on the mode and the box


@dataclass(frozen=True, slots=True)
class Entry:
    """One way to run a method beside others."""

    key: str  # unique over all methods
    name: str
    fields: tuple[tuple[str, str | int | float | bool], ...] = ()  # of its Params, as a grid has them
    link: tuple[tuple[str, str], ...] = ()  # what its page's link says of it
    on: bool = False  # whether a comparison opens with it


@dataclass(frozen=True, slots=True)
class Varied:
    """One parameter that a comparison may vary from picture to picture."""

    key: str  # in links, unique over all methods
    name: str
    column: str  # of a table of runs: "params." and a field of Params; "k" or "n" for what all methods have
    options: tuple[str | int | float | bool, ...] = ()  # none: follow the number of records
    entry: str = ""  # whose parameter it is, a key of `Entry`; "" for all methods

    @property
    def field(self) -> str:
        """The field of Params."""
        return self.column.removeprefix("params.")


@dataclass(frozen=True, slots=True, eq=False)
class Targets(Generic[R]):
    """How a method is measured that chooses among public targets."""

    cost: Callable[[Points, Points, Points], float]  # (targets, records, chosen) -> mean distance of a target
    choose: Callable[[Points, Points, int, str, np.random.Generator], Labels]  # (targets, records, k, solver, rng)
    selected: Callable[[R], Labels]  # which targets a release names


@dataclass(frozen=True, slots=True, eq=False)
class FoundClusters(Confidential):
    """What a release says of the records. Curator only."""

    centers: Centers  # (k, d)
    nonprivate_labels: Labels  # (n,) which of them each record belongs to


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Algorithm(Generic[P, R, S]):
    """One entry of a catalogue: a name, parameters with knobs, and two ways to run."""

    name: str  # in its catalogue, in links and in files
    title: str
    place: str  # "package.module" that offers `Params`, `fit` and `steps`: an exported script imports it
    Params: type[P]
    fit: Fit[P, R, S]
    steps: Steps[P, S]
    audit: AuditPlan = field(default_factory=AuditPlan)
    # How records are clustered by a release where that is not by the nearest released center: (release, records, box).
    clustered: Callable[[R, Points, Box], FoundClusters] | None = None
    targets: Targets[R] | None = None
    entries: tuple[Entry, ...] = ()  # of a comparison
    varied: tuple[Varied, ...] = ()  # of a comparison that asks for a second parameter
    estimator: str = ""  # its class in `dpviz.estimators`; "": made of its name

    @property
    def has_start(self) -> bool:
        """Whether a run begins at a start that a seed places."""
        return "start_seed" in self.parameters

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of all parameters, in order."""
        made: Any = self.Params  # a type variable cannot say that it is a dataclass
        return tuple(each.name for each in fields(made))


AnyAlgorithm: TypeAlias = Algorithm[Any, Any, Any]  # of a catalogue, where methods of all kinds stand side by side
