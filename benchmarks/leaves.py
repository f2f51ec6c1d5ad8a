"""Parts of DPM's cost: the noise of its averages, the borders of its boxes, and the saving by its second average."""

import math
from collections.abc import Callable, Iterable
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.dpm import LIMIT, N_SEEDS, synth, synth_floor, synth_inertia
from dpviz.core import Box, Points, Result
from dpviz.methods.dpm import algorithm as dpm
from dpviz.methods.dpm.algorithm import centers
from dpviz.metrics import nonprivate_cost
from dpviz.solvers import assign, lloyd

RELEASED, EXACT, ONCE, MOVED = "as released", "exact means of its boxes", "averaged once", "moved by k-means"


def parts(
    points: Points, results: Iterable[Result[Any, Any]], inertia: Callable[[int], float]
) -> dict[str, float | None]:
    """Return medians of DPM's cost over `inertia` of as many centers, as released and with changes that use records."""
    found: dict[str, list[float]] = {name: [] for name in (RELEASED, EXACT, MOVED)}
    for result in results:
        released, last = np.ascontiguousarray(result.release.centers), result.trace[-1]
        floor = inertia(len(released))
        for name, made in ((RELEASED, released), (EXACT, last.nonprivate_centers)):
            found[name].append(nonprivate_cost(points, made, assign(points, made)) / floor if floor else math.nan)
        found[MOVED].append(float(lloyd(points, released).nonprivate_costs[-1]) / floor if floor else math.nan)
    told = {name: [each for each in costs if not math.isnan(each)] for name, costs in found.items()}
    return {name: round(median(costs), 4) if costs else None for name, costs in told.items()}


def synth_parts() -> dict[str, float | None]:
    """Return `parts` for Synth-10d relative to KMeans with its 64 clusters, and its cost with one average."""
    points, truth = synth(100_000, 10, 64)
    box, floor = Box.cube(-LIMIT, LIMIT, 10), synth_floor(points, truth)
    runs = (dpm.fit(points, box, dpm.Params(), rng=np.random.default_rng(seed)) for seed in range(N_SEEDS))
    made = parts(points, runs, lambda _: floor)
    with patch.object(centers, "TWICE_FROM", math.inf):
        return made | {ONCE: round(synth_inertia().value, 4)}
