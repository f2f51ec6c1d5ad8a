"""Reproductions of the papers' tables: `python -m benchmarks.papers --help`. The documentation shows RESULTS."""

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path, PurePath
from types import MappingProxyType

from joblib import parallel_config

from benchmarks.papers import convergent_kmeans, dpm, morse, nd_laplace, source_target
from benchmarks.papers.kept_runs import LIBRARIES
from dpviz import __version__
from dpviz.core.algebra import one_thread
from dpviz.tables import Report, ResultTable

# One report for each paper.
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True, eq=False)
class PaperTables:
    """Reproduction of a paper's tables."""

    title: str
    source: str
    # (folder of the data sets, runs, seed, processes, id of the only requested table or None for all)
    make: Callable[[Path, int, int, int, str | None], tuple[ResultTable, ...]]
    # Runs of each setting, unless stated otherwise.
    runs: int


PAPERS: Mapping[str, PaperTables] = MappingProxyType(
    {
        "convergent_kmeans": PaperTables(
            "Convergent k-means: the paper's tables, reproduced",
            convergent_kmeans.SOURCE,
            convergent_kmeans.tables,
            convergent_kmeans.RUNS,
        ),
        "dpm": PaperTables(
            "DPM: the paper's comparison, reproduced",
            dpm.SOURCE,
            dpm.tables,
            dpm.RUNS,
        ),
        "morse": PaperTables(
            "Morse processing: the paper's tables and figures, reproduced",
            morse.SOURCE,
            morse.tables,
            morse.RUNS,
        ),
        "nd_laplace": PaperTables(
            "nD-Laplace: the thesis's tables and figures, reproduced",
            nd_laplace.SOURCE,
            nd_laplace.tables,
            nd_laplace.RUNS,
        ),
        "source_target": PaperTables(
            "Source-target clustering: the paper's experiments, reproduced",
            source_target.SOURCE,
            source_target.tables,
            source_target.RUNS,
        ),
    }
)


def reproduce(
    name: str, folder: Path, out: Path, *, runs: int, seed: int, jobs: int, table: str | None = None
) -> Report:
    """Return the report on one of `PAPERS`, or on one `table` of it, with the command that reproduces it.

    `folder` contains the data sets; `out` only names the file in the command. The figures do not depend on `jobs`.
    Raises ValueError for `runs` or `jobs` below 1, a negative seed, an unknown table, and data sets that are missing or
    unsuitable.
    """
    for option, value, least in (("runs", runs, 1), ("jobs", jobs, 1), ("seed", seed, 0)):
        if value < least:
            raise ValueError(f"{option} must be at least {least}, got {value}.")
    chosen = PAPERS[name]
    # One thread per process. The figures do not depend on it, and more threads would compete.
    with one_thread(), parallel_config("loky", inner_max_num_threads=1):
        tables = chosen.make(folder, runs, seed, jobs, table)
    # The command names no folder of this machine, because it means nothing to a reader.
    only = "" if table is None else f" --table {table}"
    command = f"python -m benchmarks.papers {name} --data data --out {_relative(out)}{only} --runs {runs}"
    return Report(
        title=chosen.title,
        source=chosen.source,
        command=f"{command} --seed {seed}",
        seed=seed,
        runs=runs,
        versions={
            "dpviz": __version__,
            "python": platform.python_version(),
            **{library: version(library) for library in LIBRARIES},
        },
        tables=tables,
    )


def _relative(path: Path) -> str:
    outside = path.is_absolute() or ".." in path.parts
    return path.name if outside else PurePath(path).as_posix()
