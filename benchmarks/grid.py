"""EUGkM's grid: a whole run against what a click may cost."""

import numpy as np

from benchmarks.clustering import blobs
from benchmarks.registry import Benchmark, Measure, typical
from dpviz.baselines.eugkm import Params, fit
from dpviz.core import Box

RUN_MS = 20.0  # a run with its trace


def grid_run() -> Measure:
    """Time 41 runs at n = 100,000, d = 2, k = 8, epsilon = 1, a grid of about 10,000 cells: processor time."""
    points, box, params = blobs(100_000, 2, 8), Box.cube(0.0, 1.0, 2), Params(n_clusters=8)
    shapes = []

    def once(seed: int) -> None:
        shapes.append(fit(points, box, params, rng=np.random.default_rng(seed)).release.shape)

    time = typical(once, 41)
    side, _ = shapes[-1]
    return Measure(time.processor, f"{time.processor:.1f} ms", f"{side * side:,} cells; clock {time.clock:.1f} ms")


BENCHMARKS = (Benchmark("EUGkM run, n=100,000 d=2 k=8", grid_run, budget=RUN_MS),)
