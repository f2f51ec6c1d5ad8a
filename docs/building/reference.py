"""The reference: one page for each package that people import from, made of its docstrings."""

import inspect
from collections.abc import Mapping
from types import MappingProxyType

from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.estimators import ESTIMATORS, PrivateEstimator
from dpviz.methods import CATALOGUE

PLACES: Mapping[str, str] = MappingProxyType(
    {
        "dpviz.runs": "One run",
        "dpviz.many": "Many runs",
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
    if place == "dpviz.baselines":
        for each in BASELINES.values():
            options = "options:\n      heading_level: 3\n      members: [Params, fit, steps]"
            parts += [f"## {each.title}", f"`BASELINES[{each.name!r}]`", f"::: {each.place}\n    {options}"]
    if place == "dpviz.estimators":
        shown = "options:\n      show_root_heading: true\n      show_root_toc_entry: true"
        parts = [parts[0], f"::: dpviz.accounting.budgets.OpenBudget\n    {shown}"]
        parts += [estimator(each) for each in ESTIMATORS.values()]
    return "\n\n".join(parts)


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
