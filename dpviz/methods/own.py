"""A method in a single file: the contents of the file, and the record made from it.

The file has `fit(points, box, params, rng) -> Result` and, optionally, `Params` (a frozen dataclass of knobs that
include `epsilon`), `steps` of the same arguments, `TITLE`, `RUN` (a subclass of `Run`) and `AUDIT`; or a whole record,
`METHOD`. Every error in it becomes a message with file and line, which appears in place of its picture.
"""

import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np

from dpviz.core import (
    AuditPlan,
    Box,
    CentersRelease,
    Entry,
    Guarantee,
    Points,
    Release,
    Result,
    Step,
    as_points,
    check_params,
    frozen,
    knob,
    knobs,
)
from dpviz.mechanisms import SecretGenerator
from dpviz.stories.centers import CentersRun
from dpviz.stories.method import AnyMethod, Method, RunClass
from dpviz.stories.run import Run

# Files with methods, joined like a search path. Processes for long work inherit it.
VARIABLE = "DPVIZ_METHODS"
# URLs of other pages, and modules that the server loads first.
TAKEN = frozenset({"home", "compare", "audit", "app"})
# The knob that every page's slider moves.
BUDGET = "epsilon"
SIGNATURE = "fit(points, box, params, rng) -> Result"


class OwnMethodError(ValueError):
    """Error in a method's own file: file, line, and message."""


@dataclass(frozen=True)
class Params:
    """Entries of a method without its own parameters."""

    n_clusters: int = knob(5, "Clusters k", "How many centers.", low=1, high=20, minimum=1, maximum=1000)
    epsilon: float = knob(
        1.0, "Privacy budget ε", "How much one record may change.", low=0.05, high=20.0, minimum=1e-9, log=True
    )

    def __post_init__(self) -> None:
        """Raise KnobError for values that are not allowed."""
        check_params(self)


def files() -> tuple[Path, ...]:
    """Return the files whose methods the app was started with."""
    return tuple(Path(each) for each in os.environ.get(VARIABLE, "").split(os.pathsep) if each)


def load(path: Path, known: Mapping[str, Any]) -> AnyMethod:
    """Import a file and return the record of its method, called as the file is. Raises OwnMethodError."""
    name = path.stem
    if not path.is_file():
        raise OwnMethodError(f"{str(path)!r} does not exist. Name the Python file of a method.")
    if not name.isidentifier() or name in known or name in TAKEN:
        raise OwnMethodError(f"{path.name} cannot be a method's name: rename the file to a word that is not taken yet.")
    loaded = sys.modules.get(name)
    if loaded is not None and Path(str(loaded.__file__)).resolve() == path.resolve():
        # The file may have changed since.
        del sys.modules[name]
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        there = importlib.util.find_spec(name)
        if there is not None and Path(str(there.origin)).resolve() != path.resolve():
            raise OwnMethodError(f"{path.name} has the name of another Python module. Rename the file.")
        # At the end, the folder hides nothing, and processes for long work find the file.
        sys.path.append(folder)
    try:
        module = importlib.import_module(name)
    # The app must survive any error in the file.
    except (Exception, SystemExit) as error:
        raise OwnMethodError(error_words(path, error)) from error
    return method_of(name, vars(module), path)


def method_of(name: str, parts: Mapping[str, Any], path: Path) -> AnyMethod:
    """Return the record of a module's method. Raises OwnMethodError if a part is missing or has the wrong type."""
    record = parts.get("METHOD")
    if isinstance(record, Method):
        return replace(
            record, fit=_fit(record.fit, path), steps=_steps(record.steps, path), run=_run_class(record.run, path)
        )
    if not callable(parts.get("fit")):
        raise OwnMethodError(f"{path.name} has no function {SIGNATURE}. Add one.")
    kind, own_run = parts.get("Params", Params), parts.get("RUN", CentersRun)
    try:
        names = {each.name for each in knobs(kind())}
    # The class comes from the file.
    except Exception as error:
        raise OwnMethodError(
            f"{error_words(path, error)}. Params must be a dataclass with defaults for everything."
        ) from error
    if BUDGET not in names:
        raise OwnMethodError(
            f"{path.name}: Params has no knob {BUDGET}. Write {BUDGET}: float = knob(1.0, 'ε', 'Budget', low=0.05, "
            "high=20.0, log=True)."
        )
    if not (isinstance(own_run, type) and issubclass(own_run, Run)):
        raise OwnMethodError(f"{path.name}: RUN must be a subclass of Run, got a {type(own_run).__name__}.")
    title, fit = str(parts.get("TITLE", name.replace("_", " ").capitalize())), _fit(parts["fit"], path)

    def fitted(points: Points, box: Box, params: Any, *, rng: np.random.Generator) -> Iterator[Step]:
        yield from fit(points, box, params, rng=rng).trace

    return Method(
        name=name,
        title=title,
        place=name,
        Params=kind,
        fit=fit,
        steps=_steps(parts["steps"], path) if callable(parts.get("steps")) else fitted,
        run=_run_class(own_run, path),
        audit=parts.get("AUDIT", AuditPlan()),
        entries=(Entry(on=True),),
    )


def method_of_estimator(estimator: Any) -> AnyMethod:
    """Return the record of an estimator of scikit-learn's kind. Its `guarantee_`, if it has one, is the guarantee.

    Each run fits a clone, whose parameters `epsilon`, `n_clusters`, `bounds` and `random_state` are set if it has them.
    """
    name = type(estimator).__name__

    def fit(points: Points, box: Box, params: Any, rng: np.random.Generator) -> Any:
        from sklearn.base import clone  # type: ignore[import-untyped]  # it ships no types

        # An estimator draws its own noise, from a seed, so the noise is not secret.
        if isinstance(rng, SecretGenerator):
            raise ValueError("random_state must be a seed. Pass a seed to the run, or call the estimator's fit.")
        fresh = clone(estimator)
        given = {
            "epsilon": params.epsilon,
            "n_clusters": params.n_clusters,
            "bounds": (tuple(box.low.tolist()), tuple(box.high.tolist())),
            "random_state": int(rng.integers(2**31)),
        }
        fresh.set_params(**{key: value for key, value in given.items() if key in fresh.get_params(deep=False)})
        # The records are read-only, and some estimators write to theirs.
        fresh.fit(points.copy())
        guarantee = getattr(fresh, "guarantee_", None)
        if guarantee is None:
            return fresh.cluster_centers_
        return Result(fresh.release_, (), (), guarantee)

    return method_of(name, {"fit": fit, "TITLE": name}, Path(name))


def error_words(path: Path, error: BaseException) -> str:
    """Describe the place of an error in a file, and the error: "my_method.py, line 7: NameError: ..."."""
    frames, own = traceback.extract_tb(error.__traceback__), path.resolve()
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == own]
    if isinstance(error, SyntaxError) and not lines:
        lines = [error.lineno]
    reason = error.msg if isinstance(error, SyntaxError) else error
    where = f"{path.name}, line {lines[-1]}" if lines and lines[-1] is not None else path.name
    return f"{where}: {type(error).__name__}: {reason}"


def _fit(fit: Callable[..., Any], path: Path) -> Callable[..., Result[Any, Any]]:
    """Return the file's `fit` on checked, read-only records, with a checked, read-only result."""

    @wraps(fit)
    def run(points: Points, box: Box, params: Any, *, rng: np.random.Generator) -> Result[Any, Any]:
        records = frozen(as_points(points, n_features=box.d).view())
        check_params(params)
        result = _worded(fit, path)(records, box, params, rng=rng)
        # Centers alone: nothing is claimed.
        if isinstance(result, np.ndarray | list):
            result = Result(CentersRelease(np.asarray(result)), (), (), Guarantee(None, None))
        if not isinstance(result, Result) or not isinstance(result.release, Release):
            kind = type(result.release if isinstance(result, Result) else result).__name__
            raise OwnMethodError(
                f"{path.name}: fit must be {SIGNATURE} and return a Result with a Release, or an array of centers "
                f"(k, {box.d}), got a {kind}."
            )
        release = result.release
        if isinstance(release, CentersRelease):
            try:
                centers = frozen(as_points(release.centers, n_features=box.d, name="centers").copy())
            except ValueError as error:
                raise OwnMethodError(f"{path.name}: {error}") from None
            release = replace(release, centers=centers)
        return replace(result, release=release, trace=tuple(result.trace), events=tuple(result.events))

    return run


def _steps(steps: Callable[..., Any], path: Path) -> Callable[..., Iterator[Step]]:
    @wraps(steps)
    def run(points: Points, box: Box, params: Any, *, rng: np.random.Generator) -> Iterator[Step]:
        records = frozen(as_points(points, n_features=box.d).view())
        try:
            yield from steps(records, box, params, rng=rng)
        except Exception as error:
            raise OwnMethodError(error_words(path, error)) from error

    return run


def _run_class(kind: RunClass, path: Path) -> RunClass:
    """Return a subclass whose methods report the line of the file that fails; others keep their own messages."""
    own = {
        name: part
        for each in reversed(kind.__mro__)
        if each.__module__ == path.stem
        for name, part in vars(each).items()
    }
    parts: dict[str, Any] = {name: _worded(part, path) for name, part in own.items() if inspect.isfunction(part)}
    parts |= {n: classmethod(_worded(part.__func__, path)) for n, part in own.items() if isinstance(part, classmethod)}
    return type(kind.__name__, (kind,), {**parts, "__module__": kind.__module__}) if parts else kind


def _worded(function: Callable[..., Any], path: Path) -> Callable[..., Any]:
    @wraps(function)
    def run(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except OwnMethodError:
            raise
        except Exception as error:
            raise OwnMethodError(error_words(path, error)) from error

    return run
