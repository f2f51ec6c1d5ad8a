"""What the picture over epsilon asks of the background process. No Streamlit here: it would have to load it."""

from typing import Any

import numpy as np

from dpviz.core import Box, Centers, Points, unit_records
from dpviz.methods import ALGORITHMS, run_class
from dpviz.metrics import nonprivate_cost
from dpviz.solvers import assign
from dpviz.stories.ground_layers import sample
from dpviz.stories.view import Words
from dpviz.tools.many_runs.story import State

Given = tuple[tuple[str, Any], ...]  # a method's parameters by name


def state_at(points: Points, box: Box, method: str, given: Given, epsilon: float, seed: int, n_stops: int) -> State:
    """Run one of `ALGORITHMS` once, at one of `n_stops` budgets."""
    algorithm = ALGORITHMS[method]
    result = algorithm.fit(points, box, algorithm.Params(**dict(given)), rng=np.random.default_rng(seed))
    unit, centers = unit_records(points, box), box.to_unit(result.release.centers)
    labels = assign(unit, centers)
    drawn = labels[sample(len(unit), n_stops)].astype(np.uint8)
    return State(epsilon, centers, drawn, nonprivate_cost(unit, centers, labels))


def lloyd_beside(points: Points, box: Box, method: str, given: Given, seed: int) -> tuple[Centers, float]:
    """Return the centers (k, d), box units, and the cost of Lloyd's algorithm from the start of such a run."""
    algorithm = ALGORITHMS[method]
    params = algorithm.Params(**dict(given))
    result = algorithm.fit(points, box, params, rng=np.random.default_rng(seed))
    run = run_class(method).find_reference(points, Words("", box, (), ()), result, params)
    return run.nonprivate_centers, float(run.nonprivate_costs[-1])
