"""The reference: one page for each package that people import from, made of its docstrings."""

import importlib
import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from dpviz.accounting.budgets import OpenBudget
from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import AnyAlgorithm, told
from dpviz.estimators import (
    ESTIMATORS,
    BudgetError,
    PrivacyLeakWarning,
    PrivateClusterer,
    PrivateEstimator,
    PrivateTransformer,
)
from dpviz.estimators.base import PrivateCentersClusterer
from dpviz.methods import CATALOGUE
from dpviz.tools.sweep import grids
from dpviz.tools.sweep.trials import FIRST_COLUMNS, LAST_COLUMNS

KINDS = (PrivateEstimator, PrivateClusterer, PrivateCentersClusterer, PrivateTransformer)
PLACES: Mapping[str, str] = MappingProxyType(
    {
        "dpviz.runs": "One run",
        "dpviz.tools.compare.proposal": "Where to start",
        "dpviz.many": "Many runs",
        "dpviz.tools.sweep": "Sweeps",
        "dpviz.data": "Data",
        "dpviz.methods": "The catalogue",
        **{each.place: each.title for each in CATALOGUE.values() if each.place.startswith("dpviz.")},
        "dpviz.baselines": "Baselines",
        "dpviz.estimators": "Estimators",
        "dpviz.core": "Core",
        "dpviz.mechanisms": "Mechanisms",
        "dpviz.accounting": "Accounting",
        "dpviz.audit": "Audit",
        "dpviz.attacks": "Attacks",
        "dpviz.metrics": "Metrics",
        "dpviz.plots": "Pictures",
    }
)


def page(place: str, title: str) -> str:
    """Return the page of one package."""
    parts = [f"# {title}: `{place}`", f"::: {place}"]
    if place == "dpviz.runs":
        parts.append("## What a run has\n\n::: dpviz.stories.run.Run\n    options:\n      heading_level: 3")
    if place == "dpviz.tools.sweep":
        grammar = (inspect.getdoc(grids) or "").replace("\n\n", "\n\n```toml\n", 1) + "\n```"
        columns = (f"| `{name}` | {words} |" for name, words in {**FIRST_COLUMNS, **LAST_COLUMNS}.items())
        more = "Between them stand knobs of the data (`data.*`) and parameters of the method (`params.*`)."
        parts += [
            f"## A grid\n\n{grammar}",
            f"## Columns\n\n{more}\n\n| column | what |\n|---|---|\n" + "\n".join(columns),
        ]
    parts += [parameters(each) for each in CATALOGUE.values() if each.place == place]
    if place == "dpviz.baselines":
        for each in BASELINES.values():
            options = "options:\n      heading_level: 3\n      members: [Params, fit, steps]"
            parts += [f"## {each.title}", f"`BASELINES[{each.name!r}]`", f"::: {each.place}\n    {options}"]
            parts.append(parameters(each, "###"))
    if place == "dpviz.estimators":
        parts = [
            parts[0],
            "Each is made and fitted as in [Use it with scikit-learn](../how-to/scikit-learn.md).",
            "## ESTIMATORS\n\nEvery class by the name of its method.",
        ]
        parts += [estimator(each) for each in ESTIMATORS.values()]
        parts += [shown(each) for each in (OpenBudget, BudgetError, *KINDS, PrivacyLeakWarning)]
    # A module of the same name hides a function from the page of its package.
    package = vars(importlib.import_module(place))
    parts += [shown(made) for name, made in package.items() if getattr(made, "__module__", "") == f"{place}.{name}"]
    return "\n\n".join(parts)


def shown(made: Any) -> str:
    """Return one class or function with its members."""
    options = "options:\n      show_root_heading: true\n      show_root_toc_entry: true"
    return f"::: {made.__module__}.{made.__name__}\n    {options}"


def parameters(algorithm: AnyAlgorithm, heading: str = "##") -> str:
    """Return what is to be known of each parameter of a method."""
    words = told(algorithm.Params).items()
    return "\n".join([f"{heading} Parameters of {algorithm.title}\n", *(f"- `{name}`: {text}" for name, text in words)])


def estimator(made: type[PrivateEstimator]) -> str:
    """Return one class, which is made when it is imported, from its docstring in NumPy's form."""
    lines = (inspect.getdoc(made) or "").splitlines()
    found = [f"## {made.__name__}"]
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if set(below) == {"-"}:
            found.append(f"\n**{line}**\n")
        elif line.startswith(" "):
            found[-1] += f" {line.strip()}"
        elif line and set(line) != {"-"}:
            found.append(f"- `{line}`:" if len(found) > 2 else line)
    return "\n".join(found)
