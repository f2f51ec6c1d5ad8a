"""Which papers' tables can be made again: one entry for each."""

import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path, PurePath
from types import MappingProxyType

from joblib import parallel_config  # type: ignore[import-untyped]  # joblib ships no types

from dpviz import __version__
from dpviz.experiments.tables import Report
from dpviz.methods import CATALOGUE
from dpviz.solvers.threads import one_thread
from dpviz.stories.method import PaperTables

LIBRARIES = ("numpy", "scipy", "scikit-learn")  # whose rounding the figures depend on

PAPERS: Mapping[str, PaperTables] = MappingProxyType(
    {name: method.paper for name, method in CATALOGUE.items() if method.paper is not None}
)


def reproduce(name: str, folder: Path, out: Path, *, runs: int, seed: int, jobs: int) -> Report:
    """Return the report on one of `PAPERS`, with the command that makes it again.

    `folder` holds the data sets; `out` only names the file in the command. The figures do not depend on `jobs`.
    Raises ValueError for `runs` or `jobs` below 1, a negative seed, and data sets that are missing or unfit.
    """
    for option, value, least in (("runs", runs, 1), ("jobs", jobs, 1), ("seed", seed, 0)):
        if value < least:
            raise ValueError(f"{option} was {value}, but it must be >= {least}.")
    chosen = PAPERS[name]
    # One thread for each process: the figures are the same for any number of them, and more would get in the way.
    with one_thread(), parallel_config("loky", inner_max_num_threads=1):
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
            **{library: version(library) for library in LIBRARIES},
        },
        tables=tables,
    )


def _relative(path: Path) -> str:
    outside = path.is_absolute() or ".." in path.parts
    return path.name if outside else PurePath(path).as_posix()
