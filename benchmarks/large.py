"""Benchmark of records larger than memory: time, memory and the growth of time with n, for methods that accept chunks.

`python -m benchmarks.large --folder FOLDER --out FILE` writes 50,000,000 records of 10 columns (4 GB; for
EUGkM, 2 columns) and two smaller files, chunk by chunk. It runs every method on each file in a separate process, and
writes a table of figures; `--records` makes everything smaller. It rewrites the table after each run. After an
interruption, the same command resumes on the same versions. It fails if a method's time grows faster than n to the
power of 1.05.
"""

import argparse
import json
import math
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpviz.baselines import dplloyd, eugkm
from dpviz.core import Box
from dpviz.data import BLOCK_ROWS, ArrayChunks, ParquetChunks
from dpviz.methods.dpm import algorithm as dpm
from dpviz.methods.morse import algorithm as morse
from dpviz.methods.source_target import algorithm as source_target

RECORDS = 50_000_000
# Fractions 1/16, 1/4 and 1 of the records, for the fit of the growth.
SHARES = (16, 4, 1)
# Records drawn and written in one batch.
MADE_ROWS = 500_000
# Largest exponent of time in n.
MOST_GROWTH = 1.05
N_BLOBS, SPREAD = 16, 0.05

# name -> (module, columns, fields of Params). Passes are fixed, so the time per record is the same for every n.
CASES: dict[str, tuple[ModuleType, int, dict[str, Any]]] = {
    "DPLloyd": (dplloyd, 10, {"n_clusters": 16, "n_iterations": 5, "start_seed": 0}),
    "EUGkM": (eugkm, 2, {"n_clusters": 16, "start_seed": 0}),
    "DPM": (dpm, 10, {"n_levels": 7}),
    "NNA": (source_target, 10, {"n_centers": 10, "epsilon": 1.0, "coreset_radius": 0.0}),
    # The slowest case is last.
    "DPMoG-hard": (morse, 10, {"n_components": 22, "n_clusters": 16, "n_iterations": 10}),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One run."""

    method: str
    n: int
    d: int
    # Processor time of all threads, s.
    seconds: float
    clock: float  # s
    # Memory of the run beyond that of libraries and two blocks, bytes.
    memory: int
    # Size of the records, bytes.
    data: int


def make(path: Path, n: int, d: int, *seed: int) -> None:
    """Write n records of [0, 1]^d in blobs, MADE_ROWS at a time, with a different seed for each portion and file."""
    names = [f"x{i}" for i in range(d)]
    middles = 0.1 + 0.8 * np.random.default_rng([d]).random((N_BLOBS, d))
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names]), compression="none") as writer:
        for portion, first in enumerate(range(0, n, MADE_ROWS)):
            rng = np.random.default_rng([d, portion, *seed])
            rows = min(MADE_ROWS, n - first)
            points = middles[rng.integers(N_BLOBS, size=rows)] + SPREAD * rng.standard_normal((rows, d))
            writer.write_table(pa.table(dict(zip(names, np.clip(points, 0.0, 1.0).T, strict=True))))


def run(name: str, path: Path) -> Figure:
    """Run one method on a file, after a warm-up on two blocks that measures the memory of libraries and blocks."""
    module, d, fields = CASES[name]
    if module is source_target:
        fields = fields | {"targets": np.random.default_rng(0).random((200, d))}
    box, params = Box.cube(0.0, 1.0, d), module.Params(**fields)
    few = ArrayChunks(np.random.default_rng(0).random((2 * BLOCK_ROWS, d)))
    module.fit(few, box, params, rng=np.random.default_rng(0))
    before, processor, clock = _peak(), time.process_time(), time.perf_counter()
    chunks = ParquetChunks(path)
    module.fit(chunks, box, params, rng=np.random.default_rng(0))
    seconds, waited = time.process_time() - processor, time.perf_counter() - clock
    return Figure(name, chunks.n, d, round(seconds, 3), round(waited, 3), _peak() - before, 8 * chunks.n * d)


def growth(figures: list[Figure]) -> float:
    """Return b of time ~ n^b, by least squares on the logarithms."""
    return float(np.polyfit(np.log([one.n for one in figures]), np.log([one.seconds for one in figures]), 1)[0])


def exponents_of(figures: list[Figure]) -> dict[str, float]:
    """Return the growth of every method that ran on two or more files."""
    runs = {name: [one for one in figures if one.method == name] for name in CASES}
    return {name: growth(found) for name, found in runs.items() if len(found) > 1}


def measured(folder: Path, records: int, names: list[str], done: set[tuple[str, int]]) -> Iterator[Figure]:
    """Yield a figure for every (method, size) not in `done`; a file is deleted as soon as no method needs it."""
    for d in sorted({CASES[name][1] for name in names}):
        for share in SHARES:
            left = [name for name in names if CASES[name][1] == d and (name, records // share) not in done]
            if not left:
                continue
            path = folder / f"records_{d}_{records // share}.parquet"
            make(path, records // share, d)
            for name in left:
                # A separate process, because the peak memory is for a whole process.
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                    yield pool.submit(run, name, path).result()
            path.unlink()


def main(arguments: list[str]) -> int:
    """Run, print and write the figures; return 1 if a method's time grows too fast."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large", description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=RECORDS, metavar="N", help=f"default: {RECORDS:,}")
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="for the records; default: a temporary one")
    parser.add_argument("--out", type=Path, metavar="FILE", help="JSON file that gets the figures")
    parser.add_argument("--methods", nargs="+", choices=list(CASES), default=list(CASES), metavar="METHOD")
    chosen = parser.parse_args(arguments)
    figures = kept(chosen)
    exponents = exponents_of(figures)
    done = {(one.method, one.n) for one in figures}
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        for figure in measured(Path(folder), chosen.records, chosen.methods, done):
            figures.append(figure)
            said = f"{figure.method:<12} n {figure.n:>11,}  d {figure.d:>2}  {figure.seconds:>9.2f} s of processor time"
            print(f"{said}  {figure.memory / 2**20:>7.1f} MiB for {figure.data / 2**20:,.0f} MiB", flush=True)
            exponents = exponents_of(figures)
            if chosen.out is not None:
                chosen.out.write_text(_report(chosen, figures, exponents), "utf-8")
    for name, exponent in exponents.items():
        print(f"{name:<12} time ~ n^{exponent:.3f}, at most {MOST_GROWTH}: {_verdict(exponent)}")
    return int(any(exponent > MOST_GROWTH for exponent in exponents.values()))


def kept(chosen: argparse.Namespace) -> list[Figure]:
    """Return the figures from an earlier run of the same command on the same versions."""
    if chosen.out is None or not chosen.out.exists():
        return []
    found = json.loads(chosen.out.read_text("utf-8"))
    now = json.loads(_report(chosen, [], {}))
    same = all(found.get(key) == now[key] for key in ("command", "versions"))
    return [Figure(**one) for one in found["figures"]] if same else []


def _report(chosen: argparse.Namespace, figures: list[Figure], exponents: dict[str, float]) -> str:
    names = "" if list(chosen.methods) == list(CASES) else f" --methods {' '.join(chosen.methods)}"
    made = {
        "command": f"python -m benchmarks.large --records {chosen.records}{names} --out {chosen.out.name}",
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "scipy": version("scipy")},
        "growth": {name: round(exponent, 4) for name, exponent in exponents.items()},
        "complete": len(figures) == len(SHARES) * len(chosen.methods),
        "figures": [asdict(figure) for figure in figures],
    }
    if chosen.out.exists() and (workers := json.loads(chosen.out.read_text("utf-8")).get("workers")):
        # Measured by `benchmarks.large_workers`.
        made["workers"] = workers
    return json.dumps(made, indent=1) + "\n"


def _verdict(exponent: float) -> str:
    return "GROWS TOO FAST" if exponent > MOST_GROWTH or math.isnan(exponent) else "ok"


def _peak() -> int:
    """Return the peak memory of this process so far, bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
