"""The reference: one page for each package that people import from, made of its docstrings."""

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

# Of a run, in the order in which a reader asks; the rest is for those who write a kind of run.
FOR_READERS = [
    *("release", "guarantee", "events", "steps", "params", "proved", "teaching", "rows_per_person", "title"),
    *("finding", "facts", "utility", "risk", "card", "spending", "ledger", "profiles"),
    *("to_frame", "released_places", "dp_events", "show", "figure", "save", "to_plotly", "picture", "charts"),
]
DEFAULTS = 'Defaults with "(ours)" are dpviz\'s own choice; the others name their source.'
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
    parts = [f"# {title}: `{place}`"]
    methods = [each for each in CATALOGUE.values() if each.place == place]
    if place == "dpviz.estimators":
        parts += [
            "Each is made and fitted as in [Use it with scikit-learn](../how-to/scikit-learn.md).",
            f"## ESTIMATORS\n\nEvery class by the name of its method: {', '.join(f'`{name}`' for name in ESTIMATORS)}.",
            f"## What all of them have\n\n**Parameters** beside those of the method:\n\n{listed(OWN)}",
            f"**Attributes** after `fit`:\n\n{listed(ATTRIBUTES[PrivateEstimator])}",
            f"Those that release clusters have these, too:\n\n{listed(ATTRIBUTES[PrivateClusterer])}",
            DEFAULTS,
        ]
        parts += [parameters(each.algorithm, f"## {each.__name__}") for each in ESTIMATORS.values()]
        parts += [shown(OpenBudget, "dpviz.budget"), *map(shown, (BudgetError, *KINDS, PrivacyLeakWarning))]
    else:
        names = [name for name in public_names(place) if not (methods and name in ("METHOD", "Params"))]
        parts.append(f"::: {place}\n    options:\n      members: {names}")
    for each in methods:
        parts += [parameters(each, "## Params"), DEFAULTS, "## METHOD\n\nThe record of the method in the catalogue."]
    if place == "dpviz.runs":
        others = [name for name in vars(Run) if name[0] != "_" and name not in FOR_READERS]
        parts += [
            "## What a run has",
            f"::: dpviz.stories.run.Run\n    options:\n      heading_level: 3\n      members: {FOR_READERS}",
            "## For a kind of run of your own",
            "A method's run is a subclass of `Run`, which can bring these.",
            "::: dpviz.stories.run.Run\n    options:\n      heading_level: 3\n      show_docstring_description: false\n"
            f"      show_bases: false\n      skip_local_inventory: true\n      members: {others}",
        ]
    if place == "dpviz.tools.sweep":
        columns = (f"| `{name}` | {words} |" for name, words in {**FIRST_COLUMNS, **LAST_COLUMNS}.items())
        more = (
            "One row for each run. Costs are exact, so the table is for the curator. The parameters of the data "
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
    """Return what a package offers: what it lists, or else what it defines."""
    known = vars(importlib.import_module(place))
    own = [name for name, made in known.items() if getattr(made, "__module__", "") == place and name[0] != "_"]
    return [name for name in known.get("__all__", own) if not inspect.ismodule(known[name])]


def shown(made: Any, heading: str = "") -> str:
    """Return one class or function with its members."""
    options = "options:\n      show_root_heading: true\n      show_root_toc_entry: true"
    return f"::: {made.__module__}.{made.__name__}\n    {options}" + (heading and f"\n      heading: {heading}")


def parameters(algorithm: AnyAlgorithm, heading: str) -> str:
    """Return what is to be known of each parameter of a method."""
    said = (inspect.getdoc(algorithm.Params) or "").replace("\n", " ")
    return f"{heading}\n\n{algorithm.title}. {said}\n\n{listed(describe_parameters(algorithm.Params))}"


def listed(words: Mapping[str, str]) -> str:
    """Return names with what each of them means."""
    return "\n".join(f"- `{name}`: {text}" for name, text in words.items())
