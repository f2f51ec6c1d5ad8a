"""What two worlds look like through releases: the places that are drawn, and the numbers that an attacker guesses from.

Everything in a `Cloud` is read from releases and public inputs alone; whose world it is, is the curator's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Box, FloatArray, Points, Release, frozen

P_contra = TypeVar("P_contra", contravariant=True)
P = TypeVar("P")
R = TypeVar("R", bound=Release)


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Applied cuts of released trees, box units."""

    low: FloatArray  # (c, d) the cell that was cut
    high: FloatArray  # (c, d)
    axes: NDArray[np.intp]  # (c,)
    positions: FloatArray  # (c,)

    @classmethod
    def joined(cls, parts: Sequence["Cuts"]) -> "Cuts":
        """Put cuts together."""

        def both(name: str) -> NDArray[Any]:
            return frozen(np.concatenate([getattr(part, name) for part in parts]))

        return cls(both("low"), both("high"), both("axes"), both("positions"))


@dataclass(frozen=True, slots=True, eq=False)
class Cloud:
    """Releases of R runs in one world."""

    places: Points  # (m, d) what is drawn of all runs, data units
    cuts: Cuts | None
    statistics: FloatArray  # (R, f) of each run, for the attacker

    @property
    def n_runs(self) -> int:
        """How many runs."""
        return len(self.statistics)

    @classmethod
    def joined(cls, parts: Sequence["Cloud"]) -> "Cloud":
        """Put runs together."""
        places, statistics = (np.concatenate([getattr(part, name) for part in parts]) for name in cls._arrays())
        every = [part.cuts for part in parts if part.cuts is not None]
        return cls(frozen(places), Cuts.joined(every) if every else None, frozen(statistics))

    @staticmethod
    def _arrays() -> tuple[str, str]:
        return "places", "statistics"


class ByRecord(Protocol[P_contra]):
    """Release one record many times, where each record is released by itself."""

    def __call__(
        self, spots: Points, box: Box, params: P_contra, world: int, n_runs: int, *, rng: np.random.Generator
    ) -> Cloud:
        """Return releases of the record at `spots[world]`, one for each of `n_runs`."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Worlds(Generic[P, R]):
    """How a method's releases are read in two worlds; None: as released centers."""

    places: Callable[[R, Box], Points] | None = None  # (m, d) what is drawn of a release, data units
    statistics: Callable[[R, Points, Box], FloatArray] | None = None  # (f,) beside those of centers, about some spots
    cuts: Callable[[R, Box], Cuts] | None = None  # drawn as lines
    by_record: ByRecord[P] | None = None  # where other records are noise of their own and say nothing of this one
