"""Run every benchmark and print one table; the exit code is 1 if a budget is exceeded."""

import math
import sys
from contextlib import nullcontext
from importlib import import_module

from benchmarks.registry import Benchmark, small

NAMES = (
    *("attacks", "audits", "clustering", "dpm", "family", "glides", "grid", "laplace"),
    *("latency", "morse", "move", "published", "source_target", "study"),
)
MODULES = tuple(import_module(f"benchmarks.{name}") for name in NAMES)
ROW = "{:<48} {:>10}  {:<28} {:>10} {:>10}  {}"


def main(names: list[str]) -> int:
    """Run the benchmarks of the modules in `names`, and benchmarks whose name contains one; without names, run all.

    With `--small` among the names, each benchmark is only tried on few records, without its budget.
    """
    tried = "--small" in names
    names = [name for name in names if name != "--small"]
    chosen = [b for module in MODULES for b in module.BENCHMARKS if not names or _is_meant(b, module.__name__, names)]
    print(ROW.format("benchmark", "measured", "against", "value", "budget", "verdict"))
    broken = 0
    for benchmark in chosen:
        with small() if tried else nullcontext():
            measure = benchmark.run()
        free = tried or math.isinf(benchmark.budget)
        held = free or measure.value <= benchmark.budget
        broken += not held
        budget = "-" if free else f"{benchmark.budget:g} {benchmark.unit}"
        verdict = "tried" if tried else "reported" if free else "ok" if held else "TOO SLOW"
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
