"""Generator of the reference: one page for each package that users import from, made from its docstrings."""

import importlib
import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from dpviz.accounting.budgets import OpenBudget
from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import AnyAlgorithm, describe_parameters
from dpviz.estimators import (
    ESTIMATORS,
    BudgetError,
    PrivacyLeakWarning,
    PrivateClusterer,
    PrivateEstimator,
    PrivateTransformer,
)
from dpviz.estimators.base import ATTRIBUTES, OWN, PrivateCentersClusterer
from dpviz.methods import CATALOGUE
from dpviz.stories.run import Run
from dpviz.tools.trials import FIRST_COLUMNS, LAST_COLUMNS

# Members of a run in the order of a reader's questions. The other members are for authors of subclasses.
FOR_READERS = [
    *("release", "guarantee", "events", "steps", "params", "proved", "teaching", "rows_per_person", "title"),
    *("finding", "facts", "utility", "risk", "card", "spending", "ledger", "profiles"),
    *("to_frame", "released_places", "dp_events", "show", "figure", "save", "to_plotly", "picture", "charts"),
]
DEFAULTS = 'Defaults with "(our choice)" are dpviz\'s own choice; other defaults name their source.'
KINDS = (PrivateEstimator, PrivateClusterer, PrivateCentersClusterer, PrivateTransformer)
PLACES: Mapping[str, str] = MappingProxyType(
    {
        "dpviz.runs": "One run",
        "dpviz.tools.compare.proposal": "Where to start",
        "dpviz.many": "Many runs",
        "dpviz.tools.sweep": "Sweeps",
        "dpviz.data": "Data",
        "dpviz.methods": "The catalog",
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
    """Return the page for one package."""
    parts = [f"# {title}: `{place}`"]
    methods = [each for each in CATALOGUE.values() if each.place == place]
    if place == "dpviz.estimators":
        parts += [
            "[Use it with scikit-learn](../how-to/scikit-learn.md) shows how to create and fit an estimator.",
            f"## ESTIMATORS\n\nAll classes by method name: {', '.join(f'`{name}`' for name in ESTIMATORS)}.",
            f"## Common parameters and attributes\n\n**Parameters** in addition to the method's own:\n\n{listed(OWN)}",
            f"**Attributes** after `fit`:\n\n{listed(ATTRIBUTES[PrivateEstimator])}",
            f"Estimators that release clusters also have:\n\n{listed(ATTRIBUTES[PrivateClusterer])}",
            DEFAULTS,
        ]
        parts += [parameters(each.algorithm, f"## {each.__name__}") for each in ESTIMATORS.values()]
        parts += [shown(OpenBudget, "dpviz.budget"), *map(shown, (BudgetError, *KINDS, PrivacyLeakWarning))]
    else:
        names = [name for name in public_names(place) if not (methods and name in ("METHOD", "Params"))]
        parts.append(f"::: {place}\n    options:\n      members: {names}")
    for each in methods:
        parts += [parameters(each, "## Params"), DEFAULTS, "## METHOD\n\nThe record of the method in the catalog."]
    if place == "dpviz.runs":
        others = [name for name in vars(Run) if name[0] != "_" and name not in FOR_READERS]
        parts += [
            "## Members of a run",
            f"::: dpviz.stories.run.Run\n    options:\n      heading_level: 3\n      members: {FOR_READERS}",
            "## For your own kind of run",
            "A method's run is a subclass of `Run`, which can define these.",
            "::: dpviz.stories.run.Run\n    options:\n      heading_level: 3\n      show_docstring_description: false\n"
            f"      show_bases: false\n      skip_local_inventory: true\n      members: {others}",
        ]
    if place == "dpviz.tools.sweep":
        columns = (f"| `{name}` | {words} |" for name, words in {**FIRST_COLUMNS, **LAST_COLUMNS}.items())
        more = (
            "One row for each run. Costs are exact, so the table is for the curator only. The parameters of the data "
            "(`data.*`) and of the method (`params.*`) follow `noise_key`."
        )
        parts.append(f"## Columns\n\n{more}\n\n| column | meaning |\n|---|---|\n" + "\n".join(columns))
    if place == "dpviz.baselines":
        parts.append(DEFAULTS)
        for each in BASELINES.values():
            options = "options:\n      heading_level: 3\n      members: [fit, steps]"
            names = f"`dpviz.run({each.name!r}, ...)`; for scikit-learn [`{each.class_name}`](dpviz.estimators.md"
            parts += [f"## {each.title}", f"{names}#{each.class_name.lower()}).", f"::: {each.place}\n    {options}"]
            parts.append(parameters(each, "### Params"))
    # A module of the same name hides a function from the page of its package.
    package = vars(importlib.import_module(place))
    parts += [shown(made) for name, made in package.items() if getattr(made, "__module__", "") == f"{place}.{name}"]
    return "\n\n".join(parts)


def public_names(place: str) -> list[str]:
    """Return the public names of a package: its `__all__`, or else the names that it defines."""
    known = vars(importlib.import_module(place))
    own = [name for name, made in known.items() if getattr(made, "__module__", "") == place and name[0] != "_"]
    return [name for name in known.get("__all__", own) if not inspect.ismodule(known[name])]


def shown(made: Any, heading: str = "") -> str:
    """Return the directive for one class or function with its members."""
    options = "options:\n      show_root_heading: true\n      show_root_toc_entry: true"
    return f"::: {made.__module__}.{made.__name__}\n    {options}" + (heading and f"\n      heading: {heading}")


def parameters(algorithm: AnyAlgorithm, heading: str) -> str:
    """Return the documentation of a method's parameters, as Markdown."""
    said = (inspect.getdoc(algorithm.Params) or "").replace("\n", " ")
    return f"{heading}\n\n{algorithm.title}. {said}\n\n{listed(describe_parameters(algorithm.Params))}"


def listed(words: Mapping[str, str]) -> str:
    """Return a list of names with their meanings, as Markdown."""
    return "\n".join(f"- `{name}`: {text}" for name, text in words.items())
