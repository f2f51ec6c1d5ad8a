"""The reference: one page for each package that people import from, made of its docstrings."""

from collections.abc import Mapping
from types import MappingProxyType

from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.methods import CATALOGUE

PLACES: Mapping[str, str] = MappingProxyType(
    {
        "dpviz.data": "Data",
        "dpviz.methods": "The catalogue",
        **{each.place: each.title for each in CATALOGUE.values() if each.place.startswith("dpviz.")},
        "dpviz.baselines": "Baselines",
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
    return "\n\n".join(parts)
