"""Sweeps: what the runs behind Compare's frontier of seven methods cost."""

import time

from benchmarks.registry import Benchmark, Measure, sized
from dpviz.tools.sweep.grids import grid_of
from dpviz.tools.sweep.sweeping import sweep

METHODS = ("convergent_kmeans", "dpm", "morse", "su", "eugkm", "gupt", "privgene")
EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)
N_SEEDS, MEASURED_SEEDS = 20, 2
CORES = 2
STUDY_S = 60.0  # 7 methods x 10 epsilons x 20 seeds at n = 10,000


def study() -> Measure:
    """Time two of the twenty seeds in this process: processor time, times ten, on two cores."""
    grid = grid_of(
        {
            "epsilon": list(EPSILONS[: sized(len(EPSILONS), 1)]),
            "seeds": {"noise": sized(MEASURED_SEEDS, 1)},
            "data": [{"name": "blobs", "n": sized(10_000, 500)}],
            "methods": [{"name": name} for name in METHODS],
        }
    )
    next(iter(sweep(grid)))  # loads the libraries, makes the data and their floor
    clock, processor = time.perf_counter(), time.process_time()
    rows = list(sweep(grid))
    processor, clock = time.process_time() - processor, time.perf_counter() - clock
    seconds = processor * N_SEEDS / MEASURED_SEEDS / CORES
    return Measure(seconds, f"{1e3 * processor / len(rows):.0f} ms a run", f"{len(rows)} runs; clock {clock:.1f} s")


BENCHMARKS = (Benchmark("study, 7 x 10 x 20 runs, n=10,000, 2 cores", study, budget=STUDY_S, unit="s"),)
