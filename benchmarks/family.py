"""Lloyd-type baselines: one run at a size where the passes over the records are everything."""

import numpy as np

from benchmarks.registry import Benchmark, Measure, typical
from dpviz.baselines.su import Params, fit
from dpviz.core import Box


def su_run() -> Measure:
    """Time 11 runs of 5 iterations at n = 100,000, d = 10, k = 64 from a public start: processor time."""
    points, box = np.random.default_rng(0).random((100_000, 10)), Box.cube(0.0, 1.0, 10)
    params = Params(n_clusters=64, n_iterations=5, start_seed=0)
    time = typical(lambda seed: fit(points, box, params, rng=np.random.default_rng(seed)), 11)
    return Measure(time.processor, f"{time.processor:.1f} ms", f"clock {time.clock:.1f} ms")


BENCHMARKS = (Benchmark("DPLloyd, 5 iterations, n=100,000 d=10 k=64", su_run, budget=150.0),)
