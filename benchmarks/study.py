"""A whole study: a frontier of 7 methods, 10 epsilons, 20 seeds at n = 10,000 in two processes; how soon it stops.

`python -m benchmarks.study --out FILE` runs it with its progress bar and writes what it took: by the clock, and the
processor's time of all processes, which a busy machine leaves alone, beside the load that there was. It fails when
processor time on two cores comes to more than STUDY_S.
"""

import argparse
import json
import os
import platform
import resource
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from joblib.externals.loky import get_reusable_executor

from benchmarks.sweeps import CORES, EPSILONS, METHODS, N_SEEDS, STUDY_S
from dpviz.experiments.tables import Bar
from dpviz.tools.sweep.grids import Grid, grid_of
from dpviz.tools.sweep.sweeping import run_grid

STOP_AFTER = 100  # runs, after which the second study is cancelled


def study(n: int, n_seeds: int) -> Grid:
    """Return the study's grid."""
    return grid_of(
        {
            "epsilon": list(EPSILONS),
            "seeds": {"noise": n_seeds},
            "data": [{"name": "blobs", "n": n}],
            "methods": [{"name": name} for name in METHODS],
        }
    )


def whole(grid: Grid, jobs: int) -> dict[str, float]:
    """Run all of it and return what it took, s; starting the processes is part of it."""
    before, clock, load = _processor(), time.perf_counter(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        rows = run_grid(grid, folder, jobs=jobs, progress=Bar())
    seconds = time.perf_counter() - clock
    get_reusable_executor().shutdown(wait=True)  # a process's time is known when it has ended
    processor = _processor() - before
    made = sum(row["status"] == "ok" for row in rows)
    return {
        "runs": made,
        "clock": round(seconds, 1),
        "processor": round(processor, 1),
        "on_cores": round(processor / CORES, 1),
        "load_before": round(load, 1),
        "load_after": round(os.getloadavg()[0], 1),
    }


def stopped(grid: Grid, jobs: int) -> dict[str, float]:
    """Cancel it after some runs and return how many there were, and how long it took to end, s."""
    asked: list[float] = []
    done = [0]

    def progress(now: int, _: int) -> None:
        done[0] = now

    def cancelled() -> bool:
        if done[0] >= min(STOP_AFTER, len(grid.trials) // 2) and not asked:
            asked.append(time.perf_counter())
        return bool(asked)

    with tempfile.TemporaryDirectory() as folder:
        rows = run_grid(grid, folder, jobs=jobs, progress=progress, cancelled=cancelled)
    return {"kept": len(rows), "seconds": round(time.perf_counter() - asked[0], 2)}


def main(arguments: list[str]) -> int:
    """Run, print and write; return 1 when it takes too long."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.study", description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=10_000, help="records; default: %(default)s")
    parser.add_argument("--seeds", type=int, default=N_SEEDS, help="default: %(default)s")
    parser.add_argument("--jobs", type=int, default=CORES, help="processes; default: %(default)s")
    parser.add_argument("--out", type=Path, metavar="FILE", help="JSON file that gets the figures")
    chosen = parser.parse_args(arguments)
    grid = study(chosen.n, chosen.seeds)
    took, stop = whole(grid, chosen.jobs), stopped(grid, chosen.jobs)
    print(f"{took['runs']} runs: {took['clock']} s by the clock at a load of {took['load_before']}, ", end="")
    print(f"{took['processor']} s of processor time, {took['on_cores']} s on {CORES} cores, at most {STUDY_S:g} s")
    print(f"cancelled after {stop['kept']} runs: ended {stop['seconds']} s later")
    if chosen.out is not None:
        options = f"--n {chosen.n} --seeds {chosen.seeds} --jobs {chosen.jobs}"
        made = {
            "command": f"python -m benchmarks.study {options} --out {chosen.out.name}",
            "versions": {"python": platform.python_version()}
            | {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "joblib")},
            "whole": took,
            "cancelled": stop,
        }
        chosen.out.write_text(json.dumps(made, indent=1) + "\n", "utf-8")
    return int(took["on_cores"] > STUDY_S or took["runs"] < len(grid.trials))


def _processor() -> float:
    """Return the processor time of this process and of all that have ended, s."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
