"""What DPM's cost is made of: the noise of its averages, where its boxes end, and what a second average would save."""

import math
from collections.abc import Callable, Iterable
from statistics import median
from typing import Any

import numpy as np
import scipy

from benchmarks.dpm import LIMIT, N_SEEDS, synth, synth_floor
from dpviz.accounting import gaussian_sigma
from dpviz.core import Box, Centers, FloatArray, Points, Result
from dpviz.methods.dpm import algorithm as dpm
from dpviz.metrics import nonprivate_cost
from dpviz.solvers import assign, cluster_sums, lloyd

RELEASED, EXACT, TWICE, MOVED = "as released", "exact means of its boxes", "averaged twice", "moved by k-means"
FIRST_SHARE, WITHIN = 0.5, 0.9  # of what averages may tell, for the first; of its noise, within the second one's ball


def parts(
    points: Points, box: Box, results: Iterable[Result[Any, Any]], inertia: Callable[[int], float]
) -> dict[str, float | None]:
    """Return medians of DPM's cost over `inertia` of as many centers, as it is and changed as nobody may release it."""
    found: dict[str, list[float]] = {name: [] for name in (RELEASED, EXACT, TWICE, MOVED)}
    for seed, result in enumerate(results):
        centers, last = np.ascontiguousarray(result.release.centers), result.trace[-1]
        floor = inertia(len(centers))
        again = twice(points, box, result, rng=np.random.default_rng([seed, 1]))
        for name, made in ((RELEASED, centers), (EXACT, last.nonprivate_centers), (TWICE, again)):
            found[name].append(nonprivate_cost(points, made, assign(points, made)) / floor if floor else math.nan)
        found[MOVED].append(float(lloyd(points, centers).nonprivate_costs[-1]) / floor if floor else math.nan)
    told = {name: [each for each in costs if not math.isnan(each)] for name, costs in found.items()}
    return {name: round(median(costs), 4) if costs else None for name, costs in told.items()}


def twice(points: Points, box: Box, result: Result[Any, Any], *, rng: np.random.Generator) -> Centers:
    """Return DPM's centers (k, d) if its averages were two: the second one within a public ball around the first.

    Both Gaussians together tell what one does (1/sigma^2 adds up). The ball has WITHIN of the first one's noise, and is
    no wider than half of the cell's diagonal; records outside of it are moved to its border.
    """
    tree, last = result.release.tree, result.trace[-1]
    labels, k, unit = last.nonprivate_labels, len(last.leaves), box.to_unit(box.clip(points))
    low, high = box.to_unit(tree.low[last.leaves]), box.to_unit(tree.high[last.leaves])
    sigma, counts = gaussian_sigma(1.0, last.budget), np.maximum(last.noisy_counts, 1.0)[:, None]

    def averaged(around: Centers, reach: FloatArray, share: float) -> Centers:
        moves = unit - around[labels]
        lengths = np.maximum(np.linalg.norm(moves, axis=1, keepdims=True), 1e-300)
        sums = cluster_sums(moves * np.minimum(1.0, reach[labels] / lengths), labels, k).nonprivate_sums
        noise = sigma / math.sqrt(share) * reach * rng.standard_normal(sums.shape)
        means: Centers = np.clip(around + (sums + noise) / counts, low, high)
        return means

    half = np.linalg.norm(high - low, axis=1, keepdims=True) / 2.0
    first = averaged((low + high) / 2.0, half, FIRST_SHARE)
    length = math.sqrt(scipy.stats.chi2.ppf(WITHIN, box.d))  # of the first one's noise
    ball = np.minimum(sigma / math.sqrt(FIRST_SHARE) * half / counts * length, half)
    return box.from_unit(averaged(first, ball, 1.0 - FIRST_SHARE))


def synth_parts() -> dict[str, float | None]:
    """Return `parts` of Synth-10d, over the inertia of KMeans with its 64 clusters."""
    points, truth = synth(100_000, 10, 64)
    box, floor = Box.cube(-LIMIT, LIMIT, 10), synth_floor(points, truth)
    runs = (dpm.fit(points, box, dpm.Params(), rng=np.random.default_rng(seed)) for seed in range(N_SEEDS))
    return parts(points, box, runs, lambda _: floor)
