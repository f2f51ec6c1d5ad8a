"""What the Compare page compares: every entry of every method and baseline. No Streamlit here."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import AnyAlgorithm, Entry
from dpviz.methods import ALGORITHMS, CATALOGUE


@dataclass(frozen=True, slots=True)
class Compared:
    """One method in one mode; `page` is "" for a method that has none."""

    entry: Entry
    method: str  # of `ALGORITHMS`
    page: str = ""

    @property
    def key(self) -> str:
        """Name in links."""
        return self.entry.key

    @property
    def name(self) -> str:
        """Name on screen."""
        return self.entry.name

    @property
    def per_distance(self) -> bool:
        """Whether its ε counts per distance, so that it stands on an axis of its own and is not ranked."""
        return ALGORITHMS[self.method].audit.by_record

    def declared(self) -> dict[str, Any]:
        """Return the entry of a grid."""
        return {"name": self.method, **dict(self.entry.fields)}


def _page_of(algorithm: AnyAlgorithm) -> str:
    if algorithm.name in CATALOGUE:
        return algorithm.name
    return next((name for name, method in CATALOGUE.items() if algorithm.name in method.family), "")


# Methods first, then baselines; of these, those that the page opens with.
_ORDER = (*CATALOGUE.values(), *sorted(BASELINES.values(), key=lambda each: not any(one.on for one in each.entries)))
ENTRIES: Mapping[str, Compared] = MappingProxyType(
    {entry.key: Compared(entry, each.name, _page_of(each)) for each in _ORDER for entry in each.entries}
)
