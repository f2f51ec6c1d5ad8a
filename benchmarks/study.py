"""Benchmark of a whole study: the runs behind Compare's frontier of 7 methods, 10 epsilons and 20 seeds at n = 10,000.

The benchmark times two of the twenty seeds. `python -m benchmarks.study` runs all of them in two processes and fails if
their processor time on two cores exceeds STUDY_S. A busy machine does not change that time.
"""

import resource
import sys
import time

from joblib.externals.loky import get_reusable_executor

from benchmarks.registry import Benchmark, Measure, sized
from dpviz.tools.sweep import Bar, expand_grid, run_sweep
from dpviz.tools.trials import Trial

METHODS = ("convergent_kmeans", "dpm", "morse", "dplloyd", "eugkm", "gupt", "privgene")
EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)
N_SEEDS, MEASURED_SEEDS = 20, 2
CORES = 2
STUDY_S = 60.0


def list_trials(n_seeds: int) -> tuple[Trial, ...]:
    """Return the runs of the study, fewer if a benchmark is only tried."""
    data = {"name": "blobs", "n": sized(10_000, 500)}
    epsilons = list(EPSILONS[: sized(len(EPSILONS), 1)])
    return expand_grid({"epsilon": epsilons, "data": [data], "methods": METHODS}, sized(n_seeds, 1))


def measure_seeds() -> Measure:
    """Time two of the twenty seeds in this process: processor time, times ten, on two cores."""
    trials = list_trials(MEASURED_SEEDS)
    # Loads the libraries, and computes the data and their cost without privacy.
    run_sweep(trials[:1], jobs=1)
    clock, processor = time.perf_counter(), time.process_time()
    run_sweep(trials, jobs=1)
    processor, clock = time.process_time() - processor, time.perf_counter() - clock
    seconds = processor * N_SEEDS / MEASURED_SEEDS / CORES
    return Measure(seconds, f"{1e3 * processor / len(trials):.0f} ms a run", f"{len(trials)} runs; clock {clock:.1f} s")


def main() -> int:
    """Run the whole study with a progress bar; return 1 if it takes too long or a run failed."""
    trials, before, clock = list_trials(N_SEEDS), _processor_time(), time.perf_counter()
    rows = run_sweep(trials, jobs=CORES, progress=Bar())
    clock = time.perf_counter() - clock
    # The time of a process is known after it has ended.
    get_reusable_executor().shutdown(wait=True)
    seconds, n_ok = (_processor_time() - before) / CORES, sum(row["status"] == "ok" for row in rows)
    print(f"{n_ok} runs: {clock:.1f} s by the clock, {seconds:.1f} of {STUDY_S:g} s on {CORES} processors")
    return int(seconds > STUDY_S or n_ok < len(trials))


def _processor_time() -> float:
    """Return the processor time of this process and of all its children that have ended, s."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


BENCHMARKS = (Benchmark("study, 7 x 10 x 20 runs, n=10,000, 2 cores", measure_seeds, budget=STUDY_S, unit="s"),)

if __name__ == "__main__":
    sys.exit(main())
