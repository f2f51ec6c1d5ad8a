"""Benchmarks of the k-means family: DPLloyd dominated by passes over records, and a picture of all methods."""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.clustering import SMALL, blobs
from benchmarks.registry import Benchmark, Measure, sized, typical
from dpviz.baselines import CATALOGUE, dplloyd
from dpviz.core import Box
from dpviz.methods.convergent_kmeans import algorithm as convergent_kmeans
from dpviz.methods.convergent_kmeans.family import METHODS as FAMILY

# Runs of each method.
PICTURE_RUNS = 20
# Limit for all runs of all methods.
PICTURE_MS = 1000.0

# name -> (module, options): the baselines and both modes of convergent k-means, from one public start.
METHODS: dict[str, tuple[Any, dict[str, str]]] = {
    name: (module, {}) for name, module in CATALOGUE.items() if name in FAMILY
}
METHODS |= {f"convergent, {mode}": (convergent_kmeans, {"mode": mode}) for mode in ("repaired", "published")}


def su_run() -> Measure:
    """Time 11 runs of 5 iterations at n = 100,000, d = 10, k = 64 from a public start: processor time."""
    points, box = np.random.default_rng(0).random((sized(100_000, SMALL), 10)), Box.cube(0.0, 1.0, 10)
    params = dplloyd.Params(n_clusters=64, n_iterations=5, start_seed=0)
    time = typical(lambda seed: dplloyd.fit(points, box, params, rng=np.random.default_rng(seed)), 11)
    return Measure(time.processor, f"{time.processor:.1f} ms", f"clock {time.clock:.1f} ms")


def one_run(name: str) -> Measure:
    """Time one method's run with its trace at n = 2,000, d = 2, k = 5, epsilon = 1: processor time over 20 seeds."""
    module, options = METHODS[name]
    points, box, params = blobs(2000, 2, 5), Box.cube(0.0, 1.0, 2), module.Params(start_seed=0, **options)
    time = typical(lambda seed: module.fit(points, box, params, rng=np.random.default_rng(seed)), PICTURE_RUNS)
    return Measure(time.processor, f"{time.processor:.2f} ms", f"clock {time.clock:.2f} ms")


def picture() -> Measure:
    """Time 20 runs of every method, each as `one_run`: total processor time."""
    points, box = blobs(2000, 2, 5), Box.cube(0.0, 1.0, 2)
    methods = [(module, module.Params(start_seed=0, **options)) for module, options in METHODS.values()]

    def all_runs(first: int) -> None:
        for module, params in methods:
            for seed in range(sized(PICTURE_RUNS, 1)):
                module.fit(points, box, params, rng=np.random.default_rng([first, seed]))

    time = typical(all_runs, 3)
    return Measure(time.processor, f"{time.processor:.0f} ms", f"clock {time.clock:.0f} ms, {len(methods)} methods")


BENCHMARKS = (
    Benchmark("DPLloyd, 5 iterations, n=100,000 d=10 k=64", su_run, budget=150.0),
    Benchmark("20 runs of all methods, n=2,000 d=2 k=5", picture, budget=PICTURE_MS),
    *(Benchmark(f"one run, {name}, n=2,000 d=2 k=5", partial(one_run, name)) for name in METHODS),
)
