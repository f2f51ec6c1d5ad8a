"""Run every benchmark and print one table; the exit code is 1 when a budget is broken."""

import math
import sys

from benchmarks import (
    attacks,
    audits,
    clustering,
    dpm,
    family,
    grid,
    laplace,
    latency,
    morse,
    move,
    source_target,
    sweeps,
)
from benchmarks.registry import Benchmark

BENCHMARKS: tuple[Benchmark, ...] = (
    *attacks.BENCHMARKS,
    *audits.BENCHMARKS,
    *clustering.BENCHMARKS,
    *dpm.BENCHMARKS,
    *family.BENCHMARKS,
    *grid.BENCHMARKS,
    *laplace.BENCHMARKS,
    *latency.BENCHMARKS,
    *morse.BENCHMARKS,
    *move.BENCHMARKS,
    *source_target.BENCHMARKS,
    *sweeps.BENCHMARKS,
)  # a new module's benchmarks go here
ROW = "{:<48} {:>10}  {:<28} {:>10} {:>10}  {}"


def main(names: list[str]) -> int:
    """Run the benchmarks whose name holds one of `names`, all of them when there are none."""
    chosen = [b for b in BENCHMARKS if not names or any(name in b.name for name in names)]
    print(ROW.format("benchmark", "ours", "against", "value", "budget", "verdict"))
    broken = 0
    for benchmark in chosen:
        measure = benchmark.run()
        held = measure.value <= benchmark.budget
        broken += not held
        free = math.isinf(benchmark.budget)
        budget = "-" if free else f"{benchmark.budget:g} {benchmark.unit}"
        verdict = "reported" if free else "ok" if held else "TOO SLOW"
        value = f"{measure.value:.2f} {benchmark.unit}"
        print(ROW.format(benchmark.name, measure.ours, measure.against, value, budget, verdict), flush=True)
    if not chosen:
        print("No benchmark has such a name.")
    return int(broken > 0 or not chosen)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
