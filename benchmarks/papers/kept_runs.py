"""Runs for the tables: in processes, with progress, and kept until the tables are written."""

import hashlib
import os
import pickle
import platform
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import joblib
from joblib import Parallel, delayed

from dpviz.tables import ResultTable
from dpviz.tools.sweep import Bar

# Libraries whose rounding affects the figures.
LIBRARIES = ("numpy", "scipy", "scikit-learn")
SOURCES = (Path(__file__).parent, Path(__file__).parents[2] / "dpviz")
# Folder of finished runs.
_FOLDER: ContextVar[Path | None] = ContextVar("folder", default=None)

T = TypeVar("T")


@contextmanager
def kept_in(folder: Path, data: Path) -> Iterator[None]:
    """Keep finished runs in `folder` and show progress; runs kept there before are not repeated.

    Kept runs are valid only for the same sources, libraries and files of `data`; after a change, all runs are repeated.
    The folder is removed at the end. After an exception, including Ctrl+C, it is removed only if it is empty.
    """
    place = folder / _origin(data)
    place.mkdir(parents=True, exist_ok=True)
    token = _FOLDER.set(place)
    try:
        yield
        shutil.rmtree(folder)
    except BaseException:
        # The folder is not empty.
        with suppress(OSError):
            place.rmdir()
            folder.rmdir()
        raise
    finally:
        _FOLDER.reset(token)


def made(makers: Mapping[str, Callable[[], ResultTable]], only: str | None) -> tuple[ResultTable, ...]:
    """Make tables by their ids: all tables, or only the named one. Raises ValueError for an unknown name."""
    if only is not None and only not in makers:
        raise ValueError(f"table must be one of {', '.join(makers)}, got {only!r}.")
    wanted = [*makers] if only is None else [only]
    tables: list[ResultTable] = []
    for number, name in enumerate(wanted, start=1):
        if _FOLDER.get() is not None:
            print(f"Table {number} of {len(wanted)}: {name}", file=sys.stderr, flush=True)
        tables.append(makers[name]())
    return tuple(tables)


def all_of(function: Callable[..., T], arguments: Iterable[Sequence[Any]], n: int, *, jobs: int, title: str) -> list[T]:
    """Call `function` on each of `n` tuples of arguments in `jobs` processes, and return the results in order."""
    place = _FOLDER.get()
    if place is None:
        done: list[T] = Parallel(n_jobs=jobs)(delayed(function)(*each) for each in arguments)
        return done
    bar = Bar(what=f"runs of {title}")
    found: list[T] = []
    calls = (delayed(_recalled)(place, function, tuple(each)) for each in arguments)
    bar(0, n)
    for result in Parallel(n_jobs=jobs, return_as="generator")(calls):
        found.append(result)
        bar(len(found), n)
    return found


def _recalled(place: Path, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    """Return the kept result of a call, or compute and keep it."""
    called = joblib.hash((function.__module__, function.__qualname__, arguments))
    path = place / f"{called}.pickle"
    # The file is missing, or was half written when the power failed.
    with suppress(OSError, EOFError, pickle.UnpicklingError):
        kept: T = pickle.loads(path.read_bytes())
        return kept
    result = function(*arguments)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_bytes(pickle.dumps(result))
    part.replace(path)
    return result


def _origin(data: Path) -> str:
    """Return a name for the inputs of runs other than their arguments."""
    files = [(each.name, each.stat().st_size, each.stat().st_mtime_ns) for each in sorted(data.glob("*"))]
    found = hashlib.sha256(repr([files, platform.python_version(), *map(version, LIBRARIES)]).encode())
    for path in sorted(each for folder in SOURCES for each in folder.rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]
