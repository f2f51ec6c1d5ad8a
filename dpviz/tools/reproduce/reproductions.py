"""Which papers' tables can be made again: one entry for each."""

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path, PurePath
from types import MappingProxyType

from joblib import parallel_config  # type: ignore[import-untyped]  # joblib ships no types
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it ships no types

from dpviz import __version__
from dpviz.experiments.tables import Report, ResultTable
from dpviz.methods.convergent_kmeans import paper as convergent_kmeans
from dpviz.methods.dpm import paper as dpm
from dpviz.methods.morse import paper as morse
from dpviz.methods.nd_laplace import paper as nd_laplace
from dpviz.methods.source_target import paper as source_target

LIBRARIES = ("numpy", "scipy", "scikit-learn")  # whose rounding the figures hang on

# (folder of the data sets, runs of each setting, seed, processes) -> tables
Maker = Callable[[Path, int, int, int], tuple[ResultTable, ...]]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """One paper's tables."""

    title: str
    source: str
    make: Maker
    runs: int  # unless said otherwise
    libraries: tuple[str, ...] = LIBRARIES


REPRODUCTIONS: Mapping[str, Reproduction] = MappingProxyType(
    {
        "convergent_kmeans": Reproduction(
            "Convergent k-means: the paper's tables, made again",
            convergent_kmeans.SOURCE,
            convergent_kmeans.tables,
            convergent_kmeans.RUNS,
        ),
        "dpm": Reproduction("DPM: the paper's comparison, made again", dpm.SOURCE, dpm.tables, dpm.RUNS),
        "morse": Reproduction(
            "Morse processing: the paper's tables and figures, made again",
            morse.SOURCE,
            morse.tables,
            morse.RUNS,
        ),
        "nd_laplace": Reproduction(
            "nD-Laplace: the thesis's tables and figures, made again",
            nd_laplace.SOURCE,
            nd_laplace.tables,
            nd_laplace.RUNS,
        ),
        "source_target": Reproduction(
            "Source-target clustering: the paper's experiments, made again",
            source_target.SOURCE,
            source_target.tables,
            source_target.RUNS,
            (*LIBRARIES, "kmedoids"),
        ),
    }
)


def reproduce(name: str, folder: Path, out: Path, *, runs: int, seed: int, jobs: int) -> Report:
    """Return the report on one of `REPRODUCTIONS`, with the command that makes it again.

    `folder` holds the data sets; `out` only names the file in the command. The figures do not depend on `jobs`.
    Raises ValueError for `runs` or `jobs` below 1, a negative seed, and data sets that are missing or unfit.
    """
    for option, value, least in (("runs", runs, 1), ("jobs", jobs, 1), ("seed", seed, 0)):
        if value < least:
            raise ValueError(f"{option} was {value}, but it must be >= {least}.")
    chosen = REPRODUCTIONS[name]
    # One thread of the matrix library for each process: more only get in each other's way on products this small.
    with threadpool_limits(1, user_api="blas"), parallel_config("loky", inner_max_num_threads=1):
        tables = chosen.make(folder, runs, seed, jobs)
    # A folder of this machine says nothing to a reader, so the command names neither.
    command = f"python -m dpviz.experiments reproduce {name} --data data --out {_relative(out)} --runs {runs}"
    return Report(
        title=chosen.title,
        source=chosen.source,
        command=f"{command} --seed {seed}",
        seed=seed,
        runs=runs,
        versions={
            "dpviz": __version__,
            "python": platform.python_version(),
            **{library: version(library) for library in chosen.libraries},
        },
        tables=tables,
    )


def _relative(path: Path) -> str:
    outside = path.is_absolute() or ".." in path.parts
    return path.name if outside else PurePath(path).as_posix()
