"""Every benchmark that `python -m benchmarks` names runs: once, on few records. How fast it is, no test asks."""

import math

import pytest

from benchmarks.__main__ import MODULES
from benchmarks.registry import small

BROWSED = ("glides", "latency", "published")  # modules that need a browser: tests/browser/test_benchmarks.py
NAMED = {module.__name__.rpartition(".")[2]: module.BENCHMARKS for module in MODULES}
EACH = [(name, benchmark) for name, found in NAMED.items() if name not in ("move", *BROWSED) for benchmark in found]


SLOW = ("memory of a selection",)  # two processes, each with all packages


def tried(name, benchmark):
    marks = [pytest.mark.slow] if benchmark.name.startswith(SLOW) else []
    return pytest.param(benchmark, marks=marks, id=f"{name}: {benchmark.name}")


@pytest.mark.parametrize("benchmark_", [tried(name, each) for name, each in EACH])
def test_it_runs(benchmark_):
    with small():
        measure = benchmark_.run()
    assert math.isfinite(measure.value)
    assert measure.ours


MOVES = {benchmark.run.args[0]: benchmark for benchmark in NAMED["move"]}  # one size of each


@pytest.mark.parametrize(
    "mode", [pytest.param(mode, marks=[] if mode == "DPM" else pytest.mark.slow) for mode in MOVES]
)
def test_a_move_runs(mode):
    with small():
        assert math.isfinite(MOVES[mode].run().value)
