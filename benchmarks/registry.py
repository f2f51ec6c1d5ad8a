"""Benchmark records: a name, a function that measures, and a budget."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import median

import psutil

# Whether this is only a trial of the benchmarks.
_SMALL = False


@contextmanager
def small() -> Iterator[None]:
    """Let benchmarks run only a few times on few records, to check that they run; their figures mean nothing."""
    global _SMALL
    before, _SMALL = _SMALL, True
    try:
        yield
    finally:
        _SMALL = before


def sized(usual: int, small: int) -> int:
    """Return the usual number, or at most the small number in a trial of the benchmarks."""
    return min(usual, small) if _SMALL else usual


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure with its reference, both as printed."""

    # Compared with the budget, in the benchmark's unit.
    value: float
    ours: str
    against: str


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One line of the table."""

    name: str
    run: Callable[[], Measure]
    # Largest value that passes. inf: the figure is only reported.
    budget: float = math.inf
    # "ms", "x" for a ratio to a peer, or "MB".
    unit: str = "ms"


def milliseconds(action: Callable[[], object]) -> float:
    """Return the time of one call."""
    start = time.perf_counter()
    action()
    return 1e3 * (time.perf_counter() - start)


@dataclass(frozen=True, slots=True)
class Typical:
    """Medians over seeds, ms: processor time, which does not depend on other load, and clock time."""

    processor: float
    clock: float


def typical(action: Callable[[int], object], n_seeds: int) -> Typical:
    """Time action(seed) for seeds 0, 1, ...; a call before them warms up and does not count."""
    action(0)
    processor, clock = [], []
    for seed in range(sized(n_seeds, 1)):
        start = time.process_time()
        clock.append(milliseconds(partial(action, seed)))
        processor.append(1e3 * (time.process_time() - start))
    return Typical(median(processor), median(clock))


def slope(action: Callable[[int], object], few: int, many: int) -> float:
    """Return the time of one iteration, ms: (t(many) - t(few)) / (many - few), so the setup cancels."""
    return (milliseconds(lambda: action(many)) - milliseconds(lambda: action(few))) / (many - few)


def stolen() -> float:
    """Return the processor time, s, that the machine's host has given to others so far; 0 if it is not counted."""
    return float(getattr(psutil.cpu_times(), "steal", 0.0))
