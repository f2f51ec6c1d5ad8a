"""Benchmarks of the Morse step: transition points of random mixtures, private mixtures, labels of points by descent."""

import numpy as np

from benchmarks.registry import Benchmark, Measure, sized, typical
from dpviz.core import Box
from dpviz.methods.morse.algorithm import Mixture, Params, fit
from dpviz.solvers import assign_basins, landscape

# Records for a trial of the benchmarks.
SMALL = 500


def mixture(n_components: int, d: int, seed: int) -> Mixture:
    """Draw a mixture with enough overlap of components for a landscape."""
    rng = np.random.default_rng([seed, n_components, d])
    roots = rng.standard_normal((n_components, d, d)) * 0.5 + np.eye(d)
    spread = 0.2 if d == 2 else 0.5
    covariances = spread**2 * roots @ roots.transpose(0, 2, 1) / (1 + d / 4) + 1e-4 * np.eye(d)
    return Mixture(rng.dirichlet(np.full(n_components, 3.0)), rng.uniform(-1, 1, (n_components, d)), covariances)


def search(n_components: int, d: int) -> Measure:
    """Time the whole search on 15 mixtures, including minima and descents: processor time."""
    mixtures = [mixture(n_components, d, seed) for seed in range(sized(15, 1))]
    found: list[int] = []

    def once(seed: int) -> None:
        landscape.cache_clear()
        found.append(len(landscape(mixtures[seed]).transitions))

    time = typical(once, len(mixtures))
    return Measure(time.processor, f"{time.processor:.1f} ms", f"{np.mean(found):.0f} found; clock {time.clock:.1f} ms")


def private_mixture(n: int, d: int, n_components: int, n_seeds: int) -> Measure:
    """Time DPMoG-hard, 10 passes, with its trace: processor time."""
    points, box = np.random.default_rng(0).random((sized(n, SMALL), d)), Box.cube(0.0, 1.0, d)
    params = Params(n_components=n_components)
    time = typical(lambda seed: fit(points, box, params, rng=np.random.default_rng(seed)), n_seeds)
    return Measure(time.processor, f"{time.processor:.1f} ms", f"clock {time.clock:.1f} ms")


def labels(n: int, d: int, n_components: int) -> Measure:
    """Time the labels of n points by descent on a known landscape: processor time."""
    points = np.random.default_rng(0).uniform(-1.2, 1.2, (sized(n, SMALL), d))
    mixtures = [mixture(n_components, d, seed) for seed in range(sized(3, 1))]
    for made in mixtures:
        landscape(made)
    time = typical(lambda seed: assign_basins(mixtures[seed], points), len(mixtures))
    return Measure(time.processor, f"{time.processor:.0f} ms", f"clock {time.clock:.0f} ms")


BENCHMARKS = (
    Benchmark("transition points, K=9 d=2", lambda: search(9, 2), budget=15.0),
    Benchmark("transition points, K=20 d=2", lambda: search(20, 2), budget=60.0),
    # 116 to 123 ms with BLAS, whose last bits depend on the processor; 127 to 134 ms with sums in one order.
    Benchmark("transition points, K=16 d=10", lambda: search(16, 10), budget=150.0),
    Benchmark("DPMoG-hard, 10 passes, n=10,000 d=2 K=8", lambda: private_mixture(10_000, 2, 8, 21), budget=25.0),
    Benchmark("DPMoG-hard, 10 passes, n=100,000 d=10 K=16", lambda: private_mixture(100_000, 10, 16, 3), budget=1200.0),
    Benchmark("labels by descent, n=100,000 d=2 K=8", lambda: labels(100_000, 2, 8), budget=1000.0),
    Benchmark("labels by descent, n=10,000 d=10 K=16", lambda: labels(10_000, 10, 16)),
)
