"""The catalogue of methods: one folder each, those that other packages declare, and those of a person's own files."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import AnyAlgorithm, Box, Points, Result, charge_run, without_charge
from dpviz.methods import convergent_kmeans, dpm, morse, nd_laplace, own, source_target
from dpviz.stories.centers import CentersRun
from dpviz.stories.method import AnyMethod, Method, RunClass
from dpviz.stories.mixtures import MixtureRun

_OURS: tuple[AnyMethod, ...] = (
    convergent_kmeans.METHOD,
    dpm.METHOD,
    morse.METHOD,
    nd_laplace.METHOD,
    source_target.METHOD,
)
_GROUP = "dpviz.methods"  # of entry points


def _declared(known: Mapping[str, AnyMethod]) -> tuple[dict[str, AnyMethod], tuple[str, ...]]:
    """Return the methods that other packages declare, by name, and what is wrong with the rest of them."""
    methods: dict[str, AnyMethod] = {}
    broken = []
    for point in sorted(entry_points(group=_GROUP), key=lambda each: each.name):
        try:
            method = point.load()
            if inspect.ismodule(method):
                method = own.method_of(point.name, vars(method), Path(str(method.__file__)))
        except Exception as error:  # whatever another package does, the others' methods stay
            broken.append(f"The method {point.name!r} of {point.value} could not be loaded: {error}")
            continue
        if not isinstance(method, Method):
            broken.append(f"The method {point.name!r} of {point.value} is a {type(method).__name__}, not a Method.")
        elif method.name in known or method.name in methods or method.name in BASELINES:
            broken.append(f"The method {point.name!r} of {point.value} is called {method.name!r}, as another one is.")
        else:
            methods[method.name] = method
    return methods, tuple(broken)


def _brought(known: Mapping[str, AnyMethod]) -> tuple[dict[str, AnyMethod], dict[str, str]]:
    """Return the methods of a person's own files, by name, and what is wrong with the rest of them."""
    methods: dict[str, AnyMethod] = {}
    wrong: dict[str, str] = {}
    for path in own.files():
        try:
            method = own.load(path, {**known, **BASELINES, **methods})
        except own.OwnMethodError as error:
            wrong[path.stem] = str(error)
        else:
            methods[method.name] = method
    return methods, wrong


@dataclass(frozen=True, slots=True, eq=False)
class _ChargedFit:
    """The fit of a method that is no part of this package, charged to open budgets before it runs.

    It equals the function that it runs: a catalogue's record and a method's module have the same fit.
    """

    fit: Callable[..., Any]

    def __call__(self, points: Points, box: Box, params: Any, *, rng: np.random.Generator) -> Result[Any, Any]:
        """Run it. Raises BudgetError where an open budget does not allow it."""
        charge_run(self.fit, box, params)
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
_theirs, BROKEN = _declared(_ours)  # BROKEN: what cannot be shown, in words for the screen
_own, _wrong = _brought({**_ours, **_theirs})
OWN: tuple[str, ...] = tuple(_own)  # names of methods from a person's own files
OUTSIDE: frozenset[str] = frozenset({*_theirs, *_own})  # names of methods that are no part of this package
WRONG: Mapping[str, str] = MappingProxyType(_wrong)  # files without a method that can be shown -> why, for the screen
CATALOGUE: Mapping[str, AnyMethod] = MappingProxyType(
    {**_ours, **{name: replace(each, fit=_ChargedFit(each.fit)) for name, each in {**_theirs, **_own}.items()}}
)
ALGORITHMS: Mapping[str, AnyAlgorithm] = MappingProxyType({**CATALOGUE, **BASELINES})  # everything that can be run


_RUNS: Mapping[str, RunClass] = MappingProxyType(
    dict.fromkeys(BASELINES, CentersRun)  # all of them release centers
    | {"dp_em": MixtureRun}
    | {name: run for method in CATALOGUE.values() for name, run in method.family.items()}
    | {name: method.run for name, method in CATALOGUE.items()}
)


def run_class(name: str) -> RunClass:
    """Return the class of runs of one of `ALGORITHMS`. Raises KeyError for another name."""
    return _RUNS[name]


__all__ = [
    "ALGORITHMS",
    "BROKEN",
    "CATALOGUE",
    "OUTSIDE",
    "OWN",
    "WRONG",
    "convergent_kmeans",
    "dpm",
    "morse",
    "nd_laplace",
    "run_class",
    "source_target",
]
