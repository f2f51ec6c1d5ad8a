"""The catalog of methods: one folder each, methods that other packages declare, and methods in a user's own files."""

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from difflib import get_close_matches
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np

from dpviz import CalledPackage
from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import Algorithm, AnyAlgorithm, Box, Catalogue, Points, Result, charge_run, immutable, without_charge
from dpviz.methods import convergent_kmeans, dpm, morse, nd_laplace, own, source_target
from dpviz.stories.centers import CentersRun
from dpviz.stories.method import AnyMethod, Method, RunClass
from dpviz.stories.mixtures import MixtureRun

# `find` explains each form.
MethodLike = str | Path | AnyAlgorithm | ModuleType | Callable[..., Any]
_OURS: tuple[AnyMethod, ...] = (
    convergent_kmeans.METHOD,
    dpm.METHOD,
    morse.METHOD,
    nd_laplace.METHOD,
    source_target.METHOD,
)
# Group of entry points.
_GROUP = "dpviz.methods"


def _declared(known: Mapping[str, AnyMethod]) -> tuple[dict[str, AnyMethod], dict[str, str]]:
    """Return the methods that other packages declare, by name, and the errors of the rest."""
    methods: dict[str, AnyMethod] = {}
    broken: dict[str, str] = {}
    for point in sorted(entry_points(group=_GROUP), key=lambda each: each.name):
        try:
            method = point.load()
            if inspect.ismodule(method):
                method = own.method_of(point.name, vars(method), Path(str(method.__file__)))
        # An error in one package must not affect the methods of other packages.
        except Exception as error:
            broken[point.name] = f"The method {point.name!r} of {point.value} could not be loaded: {error}"
            continue
        if not isinstance(method, Method):
            broken[point.name] = (
                f"The method {point.name!r} of {point.value} is a {type(method).__name__}, not a Method."
            )
        elif method.name in known or method.name in methods or method.name in BASELINES:
            words = f"The method {point.name!r} of {point.value} is called {method.name!r}, but that name is taken."
            broken[f"{point.name} of {point.value}"] = words
        else:
            methods[method.name] = method
    return methods, broken


@immutable
class _ChargedFit:
    """The fit of a method from outside this package, charged to open budgets before it runs.

    It equals the function that it runs: a catalog's record and a method's module have the same fit.
    """

    fit: Callable[..., Any]

    def __call__(self, points: Points, box: Box, params: Any, *, rng: np.random.Generator) -> Result[Any, Any]:
        """Run the method. Raises BudgetError if an open budget does not allow it."""
        charge_run(self.fit, points, box, params)
        with without_charge():
            result: Result[Any, Any] = self.fit(points, box, params, rng=rng)
        return result

    def __eq__(self, other: object) -> bool:
        """Compare the functions that are run."""
        return bool(self.fit == (other.fit if isinstance(other, _ChargedFit) else other))

    def __hash__(self) -> int:
        """Return the hash of the function that is run."""
        return hash(self.fit)


_ours: dict[str, AnyMethod] = {method.name: method for method in _OURS}
_theirs, _broken = _declared(_ours)
_own: dict[str, AnyMethod] = {}
_wrong: dict[str, str] = {}
for _path in own.files():
    try:
        _method = own.load(_path, {**_ours, **_theirs, **BASELINES, **_own})
    except own.OwnMethodError as _error:
        _wrong[_path.stem] = str(_error)
    else:
        _own[_method.name] = _method
# Methods of other packages that cannot be shown, with the reason for the screen.
BROKEN: Mapping[str, str] = MappingProxyType(_broken)
# Names of methods from a person's own files.
OWN: tuple[str, ...] = tuple(_own)
# Names of methods from outside this package.
OUTSIDE: frozenset[str] = frozenset({*_theirs, *_own})
# Files without a method that can be shown, with the reason for the screen.
WRONG: Mapping[str, str] = MappingProxyType(_wrong)
CATALOGUE: Mapping[str, AnyMethod] = MappingProxyType(
    {**_ours, **{name: replace(each, fit=_ChargedFit(each.fit)) for name, each in {**_theirs, **_own}.items()}}
)
_algorithms: Catalogue[AnyAlgorithm] = Catalogue({**CATALOGUE, **BASELINES})
# Everything that can run.
ALGORITHMS: Mapping[str, AnyAlgorithm] = MappingProxyType(_algorithms)


_RUNS: Mapping[str, RunClass] = MappingProxyType(
    # All baselines release centers.
    dict.fromkeys(BASELINES, CentersRun)
    | {"dp_em": MixtureRun}
    | {name: run for method in CATALOGUE.values() for name, run in method.family.items()}
    | {name: method.run for name, method in CATALOGUE.items()}
)


def run_class(name: str) -> RunClass:
    """Return the class of runs of one of `ALGORITHMS`. Raises KeyError for another name."""
    return _RUNS[name]


def name_of_seeds(key: str) -> str:
    """Return a key (a name, perhaps followed by ":" and more) with the method's oldest name, which decides seeds."""
    name, colon, more = key.partition(":")
    method = ALGORITHMS.get(name)
    first = method.former[0] if method is not None and method.former else name
    return f"{first}{colon}{more}"


_ALIASES: Mapping[str, str] = MappingProxyType(
    {alias.casefold(): name for name, each in ALGORITHMS.items() for alias in (each.class_name, each.title, name)}
)


def find(method: MethodLike) -> AnyAlgorithm:
    """Return the method that a name refers to.

    It can be a name in `ALGORITHMS`, a title or the name of an estimator in any letter case; an entry of a catalog; a
    module, a function `fit(points, box, params, rng)` that returns a Result or an array of centers, or the path of a
    Python file with one; or an estimator of scikit-learn's kind. Raises ValueError for an unknown name. The message
    lists all names and the nearest one, and explains why methods of other packages could not be loaded.
    """
    if isinstance(method, Algorithm):
        return method
    if isinstance(method, str) and not method.endswith(".py"):
        name = method.casefold()
        if name in _ALIASES:
            return ALGORITHMS[_ALIASES[name]]
        with suppress(KeyError):
            # A former name.
            return ALGORITHMS[name]
        near = get_close_matches(name, _ALIASES, 1)
        guess = f" Perhaps {_ALIASES[near[0]]!r}?" if near else ""
        problems = " ".join(["", *BROKEN.values(), *WRONG.values()])
        raise ValueError(f"method must be one of {', '.join(ALGORITHMS)}, got {method!r}.{guess}{problems}")
    if isinstance(method, str | Path):
        found = own.load(Path(method), {**ALGORITHMS})
    elif isinstance(method, ModuleType):
        found = own.method_of(method.__name__.rpartition(".")[2], vars(method), Path(str(method.__file__)))
    elif callable(getattr(method, "get_params", None)) and not isinstance(method, type):
        found = own.method_of_estimator(method)
    elif callable(method):
        place = Path(getattr(getattr(method, "__code__", None), "co_filename", "the function"))
        found = own.method_of(getattr(method, "__name__", "own"), {"fit": method}, place)
    else:
        raise TypeError(
            f"method must be a name, a file, a module, a function or an estimator, before data, "
            f"got a {type(method).__name__}."
        )
    return replace(found, fit=_ChargedFit(found.fit))


@contextmanager
def beside(methods: Sequence[AnyAlgorithm]) -> Iterator[tuple[str, ...]]:
    """Add these methods to `ALGORITHMS` for the block, in this process; yield the added names.

    Raises ValueError for a different method with a known name.
    """
    own = {each.name: each for each in methods if ALGORITHMS.get(each.name) is not each}
    for name in own.keys() & ALGORITHMS.keys():
        raise ValueError(f"The name {name!r} is taken by another method. Rename the function or the file.")
    _algorithms.update(own)
    try:
        yield tuple(own)
    finally:
        for name in own:
            del _algorithms[name]


__all__ = [
    "ALGORITHMS",
    "BROKEN",
    "CATALOGUE",
    "OUTSIDE",
    "OWN",
    "WRONG",
    "beside",
    "convergent_kmeans",
    "dpm",
    "find",
    "morse",
    "name_of_seeds",
    "nd_laplace",
    "run_class",
    "source_target",
]

# `dpviz.methods()` is the table of all methods.
sys.modules[__name__].__class__ = CalledPackage
