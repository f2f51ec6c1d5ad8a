"""The methods of the Compare page: how a grid names each, and how its own page does. No Streamlit here."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from dpviz.tools.sweep.trials import Fields

KMEANS, RADIUS_OF_ONE = "convergent_kmeans", 8  # nD-Laplace's last radius: all of a feature's range


@dataclass(frozen=True, slots=True)
class Entry:
    """One method in one mode; `page` is "" for a method that has none, `link` what the page's link says of it."""

    key: str
    name: str
    method: str  # of the experiments' METHODS
    fields: Fields = ()
    page: str = ""
    link: tuple[tuple[str, str], ...] = ()
    on: bool = False  # whether the page opens with it

    def declared(self) -> dict[str, Any]:
        """Return the entry of a grid."""
        return {"name": self.method, **dict(self.fields)}


def _family(key: str, name: str, *, on: bool = False) -> Entry:
    return Entry(key, name, key, page=KMEANS, link=(("mode", key),), on=on)


_ALL = (
    Entry(
        "convergent",
        "Convergent k-means, repaired",
        KMEANS,
        (("mode", "repaired"),),
        KMEANS,
        (("mode", "repaired"), ("start", "packing")),
        on=True,
    ),
    Entry("dpm", "DPM, repaired", "dpm", (), "dpm", (("calibration", "repaired"),), on=True),
    Entry(
        "dpm_published",
        "DPM, as published",
        "dpm",
        (("calibration", "published"),),
        "dpm",
        (("calibration", "published"),),
        on=True,
    ),
    # Few passes leave each more budget: as on its own page.
    Entry(
        "morse",
        "Morse processing",
        "morse",
        (("n_iterations", 2),),
        "morse",
        (("base", "dpmog_hard"), ("n_components", "22"), ("n_iterations", "2")),
    ),
    Entry(
        "nd_laplace",
        "nD-Laplace",
        "nd_laplace",
        (("unit", "range"),),
        "nd_laplace",
        (("distance", "range"), ("radius", str(RADIUS_OF_ONE)), ("domain", "none")),
        on=True,
    ),
    _family("su", "DPLloyd (SU)", on=True),
    _family("eugkm", "EUGkM (one grid)", on=True),
    _family("blum", "BLUM (SuLQ)"),
    _family("dwork", "DWORK (halving)"),
    _family("gupt", "GUPT"),
    _family("privgene", "PrivGene"),
    Entry("em_mc", "EM-MC", "em_mc"),
    Entry("lsh_splits", "LSH-Splits (slow)", "lsh_splits"),
)
ENTRIES: Mapping[str, Entry] = MappingProxyType({entry.key: entry for entry in _ALL})
