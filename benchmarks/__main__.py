"""Run every benchmark and print one table; the exit code is 1 when a budget is broken."""

import math
import sys
from importlib import import_module

from benchmarks.registry import Benchmark

NAMES = (
    *("attacks", "audits", "clustering", "dpm", "family", "glides", "grid", "laplace"),
    *("latency", "morse", "move", "published", "source_target", "sweeps"),
)  # a new module goes here
MODULES = tuple(import_module(f"benchmarks.{name}") for name in NAMES)
ROW = "{:<48} {:>10}  {:<28} {:>10} {:>10}  {}"


def main(names: list[str]) -> int:
    """Run the benchmarks of the modules in `names` and those whose name holds one; all of them when there are none."""
    chosen = [b for module in MODULES for b in module.BENCHMARKS if not names or _is_meant(b, module.__name__, names)]
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
        print("No benchmark and no module of them has such a name.")
    return int(broken > 0 or not chosen)


def _is_meant(benchmark: Benchmark, module: str, names: list[str]) -> bool:
    own = module.rpartition(".")[2]
    return any(name == own if name in NAMES else name in benchmark.name for name in names)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
