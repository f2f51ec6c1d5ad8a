"""Benchmarks of EUGkM's grid: a whole run against a click's budget, and inertia for two kinds of cells.

`python -m benchmarks.grid` prints the table of inertias in the method's docstring.
"""

import itertools
import math
from collections.abc import Iterator
from functools import partial
from statistics import fmean

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.clustering import blobs
from benchmarks.registry import Benchmark, Measure, sized, typical
from dpviz.baselines.eugkm import Params, fit
from dpviz.core import Box, Centers, Points
from dpviz.solvers import assign

# Limit for a run with its trace. The nested grid has nearly twice as many cells as the even grid, counts the records
# three times, and exchanges centers between starts.
RUN_MS = {"even": 20.0, "nested": 60.0}
# n -> draws of every kind of data.
SEEDS = {150: 50, 1000: 40, 10_000: 12, 100_000: 5}
EPSILONS = (0.1, 0.3, 1.0, 3.0)


def grid_run(grid: str) -> Measure:
    """Time 41 runs at n = 100,000, d = 2, k = 8, epsilon = 1: processor time."""
    points, box, params = blobs(100_000, 2, 8), Box.cube(0.0, 1.0, 2), Params(n_clusters=8, grid=grid)
    cells = []

    def once(seed: int) -> None:
        cells.append(len(fit(points, box, params, rng=np.random.default_rng(seed)).release.noisy_cell_counts))

    time = typical(once, 41)
    return Measure(time.processor, f"{time.processor:.1f} ms", f"{cells[-1]:,} cells; clock {time.clock:.1f} ms")


def kinds(n: int, d: int, seed: int) -> Iterator[tuple[Points, int]]:
    """Yield six kinds of data in [0, 1]^d with a number of clusters: four of blobs, uniform, and heavy-tailed."""
    rng = np.random.default_rng([seed, d])
    for k, spread, evenness in ((5, 0.04, 50.0), (5, 0.1, 50.0), (15, 0.03, 50.0), (8, 0.05, 1.0)):
        middles, shares = 0.1 + 0.8 * rng.random((k, d)), rng.dirichlet(np.full(k, evenness))
        drawn = middles[rng.choice(k, size=n, p=shares)] + spread * rng.standard_normal((n, d))
        yield np.clip(drawn, 0.0, 1.0), k
    yield rng.random((n, d)), 5
    yield np.clip(0.3 + 0.1 * rng.standard_t(2, size=(n, d)), 0.0, 1.0), 4


def ratios(n: int, d: int, epsilon: float, n_seeds: int) -> dict[str, list[float]]:
    """Return the inertias of both kinds of cells relative to KMeans, on the same data and noise."""
    found: dict[str, list[float]] = {"published": [], "largest": []}
    for seed in range(n_seeds):
        for points, k in kinds(n, d, seed):
            best = KMeans(k, n_init=3, random_state=0).fit(points).inertia_
            for cells, values in found.items():
                params = Params(n_clusters=k, epsilon=epsilon, cells=cells)
                centers = fit(points, Box.cube(0.0, 1.0, d), params, rng=np.random.default_rng(seed)).release.centers
                values.append(inertia(points, centers) / best)
    return found


def inertia(points: Points, centers: Centers) -> float:
    gaps = points - centers[assign(points, centers)]
    return float(np.einsum("ij,ij->", gaps, gaps))


def inertia_ratio() -> Measure:
    """Report the largest ratio at n = 100,000, d = 2, epsilon = 1 over 5 draws of six kinds of data."""
    found = ratios(sized(100_000, 1_000), 2, 1.0, sized(5, 1))
    least, most = (f"{np.median(v):.2f}, worst {max(v):.2f}" for v in (found["largest"], found["published"]))
    return Measure(max(found["largest"]), least, f"every positive cell {most}")


def table() -> None:
    """Print geometric means, published / largest, and their worst runs, for every n, d and epsilon."""
    for d, (n, n_seeds) in itertools.product((1, 2, 3), SEEDS.items()):
        for epsilon in EPSILONS:
            found = ratios(n, d, epsilon, n_seeds)
            logs = {cells: np.log(values) for cells, values in found.items()}
            gain = logs["largest"] - logs["published"]
            error = 100 * gain.std() / math.sqrt(len(gain))
            means = " / ".join(f"{math.exp(fmean(values)):.2f}" for values in logs.values())
            worst = " / ".join(f"{max(values):.1f}" for values in found.values())
            change = f"{100 * gain.mean():+.1f} +- {error:.1f} %"
            print(f"d={d} n={n:<7} eps={epsilon:<4} {means}  change {change}  worst {worst}", flush=True)


BENCHMARKS = (
    *(
        Benchmark(f"EUGkM run, {grid}, n=100,000 d=2 k=8", partial(grid_run, grid), most)
        for grid, most in RUN_MS.items()
    ),
    Benchmark("EUGkM inertia / KMeans', n=100,000 d=2", inertia_ratio, unit="x"),
)

if __name__ == "__main__":
    table()
