"""What centers cost that no record was read for: a run that costs as much has learned nothing. The curator's."""

from statistics import median

import numpy as np

from dpviz.core import Box, Points
from dpviz.core.remembered import remembering
from dpviz.metrics import nonprivate_cost
from dpviz.solvers import assign, dataless_centers
from dpviz.stories.panel import Fact, number

TERM = (
    "No data",
    "Centers that anybody can choose who has seen no record: the box's middle, or k centers packed evenly into the "
    "box, whichever cost less. A method that costs as much has learned nothing from the records.",
)
AS_GOOD = "Curator only, as costs are exact: centers chosen without any record would cost no more than this run's."
WOULD_DO = "; centers chosen without any record would do as well"  # the end of a curator's sentence
HELP = (
    "Cost of the box's middle, or of centers packed evenly into the box: no record is read. A run that costs as much "
    "has learned nothing."
)


@remembering(16)
def no_data_cost(points: Points, box: Box, n_clusters: int) -> float:
    """Return the sum of squared distances of `points` (n, d) to centers that no record was read for, units of `box`.

    The lesser of two: the box's middle, and the median of three public packings of k centers. Exact: the curator's.
    """
    middle, *packed = (box.from_unit(centers) for centers in dataless_centers(n_clusters, box.d))
    costs = [nonprivate_cost(points, centers, assign(points, centers)) for centers in packed]
    alone = points - middle
    return min(float(np.einsum("ij,ij->", alone, alone)), median(costs))


def no_data_fact(cost: float, without_data: float, best: float, beside: str) -> Fact:
    """Return what no data costs as a multiple of `best`, called `beside`, and say where a run's `cost` is no less."""
    times = number(without_data / best) if best > 0 else number(float("inf") if without_data else 1.0)
    said = f"{times} × {beside}"
    return Fact("Without any data", f"{said}: no worse" if cost >= without_data else said, HELP, False)
