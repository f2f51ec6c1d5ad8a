"""Parameters that several baselines have, each declared and checked in one place, and what is said of all of them."""

import dataclasses
from dataclasses import dataclass
from typing import Any, SupportsIndex

from dpviz.core import Adjacency, check_params, given, knob

ADJACENCIES = (("add_remove", "Add or remove one record"), ("replace", "Change one record"))


def whole(*, least: int) -> Any:
    """Declare a field that is None or a whole number of at least `least`; `check_wholes` checks it."""
    return dataclasses.field(default=None, metadata={"least": least})


def epsilon_knob() -> Any:
    """Declare the budget of a whole run."""
    help_text = "All that a whole run may spend. Smaller is more private."
    return knob(1.0, "Privacy budget ε", help_text, low=0.05, high=20.0, minimum=1e-9, log=True)


def adjacency_knob() -> Any:
    """Declare the neighbors that a run protects."""
    help_text = "Which two data sets must look alike. Changing one record keeps their number, so it is public."
    return knob("add_remove", "Neighbors", help_text, choices=ADJACENCIES)


def start_knob(*, private: bool = False) -> Any:
    """Declare where a Lloyd-type method starts; `private` for one that has an epsilon to spend on it."""
    help_text = "Sphere packing looks at no record. Starting from k records switches every guarantee off."
    choices = [("packing", "Sphere packing (public)"), ("records", "k records")]
    if private:
        help_text += " Private seeds spend a third of ε on noisy histograms."
        choices.insert(1, ("private", "Private seeds (a third of ε)"))
    return knob("packing", "Start", help_text, choices=tuple(choices))


@dataclass(frozen=True, slots=True, eq=False)
class ClusterParams:
    """What every baseline asks for."""

    n_clusters: int = knob(5, "Clusters k", "How many centers to find.", low=1, high=64, minimum=1, maximum=10_000)
    start_seed: int | None = whole(least=0)  # public seed of the public start; None: drawn from `rng`

    def __post_init__(self) -> None:
        """Raise KnobError or ValueError for a value that is not allowed."""
        check_params(self)
        check_wholes(self)


@dataclass(frozen=True, slots=True, eq=False)
class OneShotParams(ClusterParams):
    """What EUGkM, GUPT and PrivGene ask for besides."""

    epsilon: float = epsilon_knob()
    adjacency: str = adjacency_knob()
    n_public: int | None = whole(least=0)  # number of records if public; None: see `known_size`


def check_wholes(params: Any) -> None:
    """Raise ValueError unless every field declared by `whole` is None or a whole number that is large enough."""
    for field in dataclasses.fields(params):
        if "least" not in field.metadata:
            continue
        value, least = getattr(params, field.name), field.metadata["least"]
        is_whole = isinstance(value, SupportsIndex) and not isinstance(value, bool)
        if value is not None and not (is_whole and value >= least):
            raise ValueError(f"{field.name} was {given(value)}, but it must be a whole number >= {least}, or None.")


def adjacency_of(name: str) -> Adjacency:
    """Return the adjacency of one of `ADJACENCIES`."""
    return Adjacency.REPLACE if name == "replace" else Adjacency.ADD_REMOVE
