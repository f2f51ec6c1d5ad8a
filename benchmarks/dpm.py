"""Benchmarks of DPM: whole runs with their traces against the specification, and the memory of a large run."""

import tracemalloc
from statistics import median
from types import ModuleType

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from benchmarks.registry import Benchmark, Measure, sized, typical
from dpviz.baselines import em_mc, lsh_splits
from dpviz.core import Box
from dpviz.methods.dpm.algorithm import Params, fit
from dpviz.metrics import nonprivate_cost
from dpviz.solvers import assign

# Seeds of the noise.
N_SEEDS = 10
N_SETS = 20
# Records for a trial of the benchmarks.
SMALL = 1_000
# Half-width of the specification's box.
LIMIT = 100.0


def synth(n: int, d: int, k: int, seed: int = 42) -> tuple[np.ndarray, np.ndarray]:
    points, labels = make_blobs(sized(n, SMALL), d, centers=k, center_box=(-LIMIT, LIMIT), random_state=seed)
    return points, labels


def centers_of(points: np.ndarray, seed: int, params: Params | None = None) -> np.ndarray:
    box = Box.cube(-LIMIT, LIMIT, points.shape[1])
    release = fit(points, box, params or Params(), rng=np.random.default_rng(seed)).release
    return np.ascontiguousarray(release.centers)


def timed(n: int, d: int, k: int, n_runs: int, reference: str) -> Measure:
    """Time `n_runs` noise seeds: processor time, because a run has one thread except for sums over large sets."""
    points, _ = synth(n, d, k)
    time = typical(lambda seed: centers_of(points, seed), n_runs)
    return Measure(time.processor, f"{time.processor:.1f} ms", f"clock {time.clock:.1f} ms; {reference}")


def comparator(module: ModuleType) -> Measure:
    """Time a comparator's run on Synth-10d, over 5 seeds, with a cached calibration as between two runs."""
    points, _ = synth(100_000, 10, 64)
    box, params = Box.cube(-LIMIT, LIMIT, 10), module.Params(n_clusters=64, delta=1e-7, start_seed=0)
    time = typical(lambda seed: module.fit(points, box, params, rng=np.random.default_rng(seed)), 5)
    return Measure(time.processor, f"{time.processor:.1f} ms", f"clock {time.clock:.1f} ms")


def peak_memory() -> Measure:
    """Return the peak memory of a run at n = 1e6, d = 10, including the data, divided by the size of the data."""
    points, _ = synth(1_000_000, 10, 64)
    tracemalloc.start()
    centers_of(points, 0)
    peak = tracemalloc.get_traced_memory()[1] + points.nbytes
    tracemalloc.stop()
    return Measure(peak / points.nbytes, f"{peak / 2**20:.0f} MiB", f"data {points.nbytes / 2**20:.0f} MiB")


def synth_floor(points: np.ndarray, truth: np.ndarray) -> float:
    """Return the inertia of KMeans from the true clusters."""
    means = np.array([points[truth == j].mean(axis=0) for j in range(truth.max() + 1)])
    return float(KMeans(len(means), n_init=1, init=means).fit(points).inertia_)


def synth_inertia() -> Measure:
    """Return the median inertia on Synth-10d relative to KMeans, with k and ARI."""
    points, truth = synth(100_000, 10, 64)
    base = synth_floor(points, truth)
    runs = []
    for seed in range(sized(N_SEEDS, 1)):
        centers = centers_of(points, seed)
        labels = assign(points, centers)
        runs.append((len(centers), adjusted_rand_score(truth, labels), nonprivate_cost(points, centers, labels) / base))
    ks, aris, ratios = zip(*runs, strict=True)
    said = f"k {min(ks)}-{max(ks)}, ARI {median(aris):.3f}; reference 18 x"
    return Measure(median(ratios), f"{median(ratios):.2f} x", said)


def ari_loss(d: int) -> Measure:
    """Return 1 - the median ARI over 20 data sets of 10,000 records in 16 blobs, next to the published DPM's."""
    ours: list[float] = []
    theirs: list[float] = []
    for data_seed in range(sized(N_SETS, 1)):
        points, truth = synth(10_000, d, 16, seed=data_seed)
        for found, params in ((ours, Params()), (theirs, Params(calibration="published"))):
            found.append(adjusted_rand_score(truth, assign(points, centers_of(points, 0, params))))
    return Measure(1.0 - median(ours), f"ARI {median(ours):.3f}", f"as published {median(theirs):.3f}")


BENCHMARKS = (
    Benchmark("DPM run, Synth-10d", lambda: timed(100_000, 10, 64, 11, "reference 6361 ms"), budget=150.0),
    Benchmark("DPM run, Synth-100d", lambda: timed(100_000, 100, 64, 5, "reference 17610 ms"), budget=600.0),
    Benchmark("DPM run, n=10,000 d=2", lambda: timed(10_000, 2, 16, 41, "reference 525 ms"), budget=10.0),
    Benchmark("DPM run, n=1,000,000 d=10", lambda: timed(1_000_000, 10, 64, 3, "no reference"), budget=2000.0),
    Benchmark("LSH-Splits run, Synth-10d", lambda: comparator(lsh_splits)),
    Benchmark("EM-MC run, Synth-10d", lambda: comparator(em_mc)),
    Benchmark("DPM memory, n=1,000,000 d=10", peak_memory, budget=3.0, unit="x"),
    Benchmark("DPM inertia over KMeans, Synth-10d", synth_inertia, budget=2.0, unit="x"),
    Benchmark("DPM 1 - ARI, n=10,000 d=2", lambda: ari_loss(2), budget=0.1, unit=""),
    Benchmark("DPM 1 - ARI, n=10,000 d=10", lambda: ari_loss(10), budget=0.02, unit=""),
)
