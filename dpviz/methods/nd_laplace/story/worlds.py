"""nD-Laplace in two worlds: one record, moved many times."""

import numpy as np

from dpviz.attacks import nearer_scores
from dpviz.core import Box, Points, PointsRelease, frozen
from dpviz.methods.nd_laplace.algorithm import Params, fit
from dpviz.stories.worlds import Cloud, Worlds


def by_record(spots: Points, box: Box, params: Params, world: int, n_runs: int, *, rng: np.random.Generator) -> Cloud:
    """Draw the record's own row many times: the other rows are noise of their own and say nothing of it."""
    drawn = fit(np.repeat(spots[[world]], n_runs, axis=0), box, params, rng=rng).release
    in_range = params.unit == "range"
    rows, ends = (box.to_unit(each) if in_range else each for each in (drawn.points, spots))
    nearer = nearer_scores(PointsRelease(rows), ends[0], ends[1])
    return Cloud(drawn.points, None, frozen(np.column_stack([nearer, rows])))


WORLDS: Worlds[Params, PointsRelease] = Worlds(by_record=by_record)
