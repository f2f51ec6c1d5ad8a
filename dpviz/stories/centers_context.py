"""A run with its records and Lloyd's run, for any method that releases centers: what pictures and numbers need."""

from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any, Generic, TypeVar

import numpy as np

from dpviz.core import Box, CentersRelease, Confidential, FloatArray, Labels, Points, Result, Step, unit_records
from dpviz.core.arrays import array_cache
from dpviz.metrics import nonprivate_cost
from dpviz.solvers import LloydRun, Members, assign, dataless_centers, nearest_among
from dpviz.stories.view import Words

MOST_CLUSTERS = 250  # a group is one byte

R_co = TypeVar("R_co", bound=CentersRelease, covariant=True)
S_co = TypeVar("S_co", bound=Step, covariant=True)


@dataclass(frozen=True, eq=False)
class CentersContext(Confidential, Generic[R_co, S_co]):
    """A run and everything its picture and numbers need, computed once."""

    result: Result[R_co, S_co]
    params: Any
    unit: Points  # (n, d) records in box units: the curator's
    words: Words
    reference: LloydRun  # Lloyd's algorithm beside it: the curator's

    @property
    def final(self) -> FloatArray:
        """The released centers (k, d), box units."""
        return self.words.box.to_unit(self.result.release.centers)

    @cached_property
    def nonprivate_members(self) -> Members:
        """Who is nearest to which released center, found for those who are asked for."""
        return nearest_among(self.unit).members(self.final)

    @cached_property
    def nonprivate_labels(self) -> Labels:
        """The nearest released center (n,) of every record."""
        return np.asarray(self.nonprivate_members[:], dtype=np.intp)

    @cached_property
    def nonprivate_cost(self) -> float:
        """The sum of squared distances of the records to the nearest released center, box units squared."""
        return nonprivate_cost(self.unit, self.final, self.nonprivate_labels)

    @property
    def no_data_cost(self) -> float:
        """What as many centers cost that no record was read for, box units squared; the same at every epsilon."""
        return no_data_cost(self.unit, Box.cube(0.0, 1.0, self.words.box.d), len(self.final))

    @property
    def proved(self) -> bool:
        """Whether a guarantee is proved for this very run."""
        return self.result.guarantee.proved is not None


@array_cache(16)
def no_data_cost(points: Points, box: Box, n_clusters: int) -> float:
    """Return the sum of squared distances of `points` (n, d) to centers that no record was read for, units of `box`.

    The lesser of two: the box's middle, and the median of three public packings of k centers. Exact: the curator's.
    """
    middle, *packed = (box.from_unit(centers) for centers in dataless_centers(n_clusters, box.d))
    costs = [nonprivate_cost(points, centers, assign(points, centers)) for centers in packed]
    alone = points - middle
    return min(float(np.einsum("ij,ij->", alone, alone)), median(costs))


def drawable(points: Points, words: Words, n_clusters: int) -> Points:
    """Return the records (n, d) in box units; raises ValueError for more clusters than a picture holds."""
    if n_clusters > MOST_CLUSTERS:
        raise ValueError(f"n_clusters was {n_clusters}, but a picture holds at most {MOST_CLUSTERS}.")
    return unit_records(points, words.box)
