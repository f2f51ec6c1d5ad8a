"""Benchmark of Dask workers against one process: 20,000,000 x 5 in 40 Parquet files, the same bits on each side.

`python -m benchmarks.large_workers --out benchmarks/large.json` writes the files and runs each method on each side in
turn, for ROUNDS rounds, so that other work on the machine affects all sides alike. It writes the seconds to "workers"
in the table of `benchmarks.large`. It fails if a side releases different bits. Each worker has one thread and its own
core; the one process has as many cores as there are workers on the other side.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import dask.dataframe
import distributed
import numpy as np

from benchmarks.large import make
from dpviz.baselines import dplloyd, eugkm
from dpviz.core import Box, fingerprint
from dpviz.data import Chunks, FrameChunks, WorkerChunks
from dpviz.methods.morse import algorithm as morse

RECORDS, COLUMNS, FILES = 20_000_000, 5, 40
ROUNDS = 3
CASES: dict[str, tuple[ModuleType, dict[str, Any]]] = {
    "DPLloyd": (dplloyd, {"n_clusters": 16, "n_iterations": 5, "start_seed": 0}),
    "EUGkM": (eugkm, {"n_clusters": 16, "start_seed": 0}),
    "DPMoG-hard": (morse, {"n_components": 22, "n_clusters": 16, "n_iterations": 2}),
}
WORKERS = (1, 2)


def main(arguments: list[str]) -> int:
    """Run, print and write the figures; return 1 if the sides differ in a bit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large_workers", description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=RECORDS, metavar="N", help=f"default: {RECORDS:,}")
    parser.add_argument("--out", type=Path, metavar="FILE", help="JSON file that gets the figures")
    chosen = parser.parse_args(arguments)
    figures: list[dict[str, Any]] = []
    bits: set[Any] = set()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(FILES):
            make(Path(folder) / f"part.{number}.parquet", chosen.records // FILES, COLUMNS, number)
        with _clusters() as clients:
            for name in CASES:
                seconds = dict(_measured(name, folder, clients, bits))
                figures.append({"method": name, "n": chosen.records, "d": COLUMNS, "seconds": seconds})
                print(name, seconds, flush=True)
    if chosen.out is not None:
        table = json.loads(chosen.out.read_text("utf-8"))
        table["workers"] = {
            "command": f"python -m benchmarks.large_workers --records {chosen.records} --out {chosen.out.name}",
            "measured": f"clock, median of {ROUNDS} interleaved rounds on a machine with other work on it: read ratios",
            "cores": os.cpu_count(),
            "figures": figures,
        }
        chosen.out.write_text(json.dumps(table, indent=1) + "\n", "utf-8")
    print("the same bits on every side" if len(bits) == len(CASES) else "THE SIDES DIFFER")
    return int(len(bits) != len(CASES))


def _measured(
    name: str, folder: str, clients: dict[int, Any], bits: set[tuple[str, str]]
) -> Iterator[tuple[str, float]]:
    """Yield each side's median clock time, s."""
    seconds: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for count, client in clients.items():
            for side, workers in (("one process", None), ("workers", client)):
                took, release = _run(name, folder, count, workers)
                seconds.setdefault(f"{side}, {count} core{'s' * (count > 1)}", []).append(took)
                bits.add((name, release))
    yield from ((side, round(statistics.median(found), 2)) for side, found in seconds.items())


def _run(name: str, folder: str, cores: int, client: Any) -> tuple[float, str]:
    """Return the seconds of one run and its release's bits; a single process is limited to this number of cores."""
    if client is not None:
        return _fitted(name, WorkerChunks(dask.dataframe.read_parquet(folder), client))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_alone, (name, folder, cores))


def _alone(name: str, folder: str, cores: int) -> tuple[float, str]:
    os.sched_setaffinity(0, range(cores))
    return _fitted(name, FrameChunks(dask.dataframe.read_parquet(folder)))


def _fitted(name: str, chunks: Chunks) -> tuple[float, str]:
    module, fields = CASES[name]
    begun = time.perf_counter()
    found = module.fit(chunks, Box.cube(0.0, 1.0, COLUMNS), module.Params(**fields), rng=np.random.default_rng(0))
    return time.perf_counter() - begun, fingerprint(found.release.centers)


@contextmanager
def _clusters() -> Iterator[dict[int, Any]]:
    """Yield a client for each number of workers, with one thread and one core per worker."""
    with ExitStack() as stack:
        clients = {}
        for count in WORKERS:
            options = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": ":0"}
            made = stack.enter_context(distributed.LocalCluster(**options))  # type: ignore[no-untyped-call]
            client = distributed.Client(made, set_as_default=False)  # type: ignore[no-untyped-call]
            clients[count] = stack.enter_context(client)
            for core, address in enumerate(clients[count].scheduler_info(n_workers=-1)["workers"]):
                clients[count].run(os.sched_setaffinity, 0, [core], workers=[address])
        yield clients


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
