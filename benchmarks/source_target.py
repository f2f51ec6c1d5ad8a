"""Benchmarks of source-target clustering: both methods' averages, and the selection from few and from many targets."""

import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.registry import Benchmark, Measure, sized, typical
from dpviz.core import Box, Points
from dpviz.methods.source_target.algorithm import Params, fit, sanitize
from dpviz.solvers import capped_medoids, cost, select_centers

N_SOURCE, N_TARGETS, N_BLOBS = 100_000, 5_000, 30
MANY, K = 20_000, 20
# Seeds of the samples.
N_SEEDS = 5
# Targets and records for a trial of the benchmarks.
SMALL = 500
MEGABYTE = 1024.0  # kB


def records(kind: str, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw source and targets in the unit box: uniform, or N_BLOBS blobs."""
    rng = np.random.default_rng(0)
    sizes = sized(N_SOURCE, SMALL), sized(N_TARGETS, SMALL)
    if kind == "uniform":
        return rng.random((sizes[0], d)), rng.random((sizes[1], d))
    centers = rng.random((N_BLOBS, d))
    drawn = (centers[rng.integers(N_BLOBS, size=n)] + 0.03 * rng.standard_normal((n, d)) for n in sizes)
    source, targets = (np.clip(points, 0.0, 1.0) for points in drawn)
    return source, targets


def sanitizing(method: str, kind: str, d: int) -> Measure:
    """Time S' without coreset, including the trace, by the clock, because all cores search."""
    source, targets = records(kind, d)
    params, box = Params(targets, epsilon=3.0, method=method, coreset_radius=0.0), Box.cube(0.0, 1.0, d)
    time = typical(lambda seed: sanitize(source, box, params, rng=np.random.default_rng(seed)), 7)
    return Measure(time.clock, f"{time.clock:.0f} ms", f"processor {time.processor:.0f} ms")


def problem(n: int) -> tuple[Points, Points]:
    rng = np.random.default_rng(0)
    return rng.random((sized(n, SMALL), 2)), rng.random((100, 2))


def selection(n: int) -> Measure:
    """Time FasterPAM for k = 20, including its start: processor time."""
    targets, released = problem(n)
    time = typical(lambda seed: select_centers(targets, released, K, rng=np.random.default_rng(seed)), 7)
    return Measure(time.processor, f"{time.processor:.0f} ms", f"clock {time.clock:.0f} ms")


def select_once(n: int) -> float:
    """Select once and return the peak memory of this process, MB; Linux only."""
    select_centers(*problem(n), K, rng=np.random.default_rng(0))
    # Not getrusage, because a child inherits its maximum from the parent.
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text("ascii"))
    assert found is not None
    return int(found[1]) / MEGABYTE


def memory() -> Measure:
    """Measure a separate process, including Python and its packages, so that earlier work here does not count."""
    found = []
    for n in (100, sized(MANY, SMALL)):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            found.append(pool.submit(select_once, n).result())
    few, many = found
    return Measure(many, f"{many:.0f} MB", f"{few:.0f} MB with 100 targets")


def sampled_cost() -> Measure:
    """Compare the worst of some samples with FasterPAM on all targets at once, which takes 2 GB."""
    targets, released = problem(MANY)

    def once(seed: int) -> float:
        chosen = select_centers(targets, released, K, rng=np.random.default_rng(seed))
        return cost(targets, released, targets[chosen])

    worst = max(once(seed) for seed in range(sized(N_SEEDS, 1)))
    usual, capped_medoids.FULL = capped_medoids.FULL, MANY
    try:
        whole = once(0)
    finally:
        capped_medoids.FULL = usual
    return Measure(worst / whole, f"worst {worst:.5f}", f"all at once {whole:.5f}")


def click(m: int, n: int, method: str) -> Measure:
    """Time a whole fit of the page's size: processor time."""
    rng = np.random.default_rng(0)
    source, params = rng.random((m, 2)), Params(rng.random((n, 2)), epsilon=3.0, method=method)
    time = typical(lambda seed: fit(source, Box.cube(0.0, 1.0, 2), params, rng=np.random.default_rng(seed)), 21)
    return Measure(time.processor, f"{time.processor:.1f} ms", f"clock {time.clock:.1f} ms")


SIZES = "m=100,000 n=5,000"
BENCHMARKS = (
    Benchmark(f"NNA, {SIZES} d=8, 30 blobs", lambda: sanitizing("nna", "blobs", 8), budget=150.0),
    Benchmark(f"NNA, {SIZES} d=8, uniform", lambda: sanitizing("nna", "uniform", 8), budget=350.0),
    Benchmark(f"NAS t=150, {SIZES} d=2", lambda: sanitizing("nas", "uniform", 2), budget=200.0),
    Benchmark(f"NAS t=150, {SIZES} d=8, 30 blobs", lambda: sanitizing("nas", "blobs", 8), budget=500.0),
    Benchmark(f"NAS t=150, {SIZES} d=8, uniform", lambda: sanitizing("nas", "uniform", 8), budget=600.0),
    Benchmark("FasterPAM selection, n=2,000 k=20", lambda: selection(2_000), budget=150.0),
    Benchmark("FasterPAM selection, n=20,000 k=20", lambda: selection(MANY), budget=1000.0),
    Benchmark("sampled selection's cost, n=20,000 k=20", sampled_cost, budget=1.02, unit="x"),
    Benchmark("memory of a selection, n=20,000 k=20", memory, budget=1000.0, unit="MB"),
    Benchmark("NNA run, m=2,000 n=500 d=2 k=10", lambda: click(2_000, 500, "nna"), budget=15.0),
    Benchmark("NAS run, m=2,000 n=500 d=2 k=10", lambda: click(2_000, 500, "nas"), budget=15.0),
    Benchmark("NNA run, m=10,000 n=500 d=2 k=10", lambda: click(10_000, 500, "nna")),
)
