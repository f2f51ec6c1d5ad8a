"""Many runs of one mechanism as plain arrays, for any mechanism.

Everything in a release is published, so everything counts: arrays and numbers of its dataclasses, by path.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpviz.core import FloatArray, Points, Release, immutable, immutable_value
from dpviz.core.arrays import DType

# (points, rng) -> the published release or array.
Run = Callable[[Points, np.random.Generator], Release | ArrayLike]
# Published output of one run -> a number.
Statistic = Callable[[Any], float]
# Path of a run that returns an array.
PLAIN = "value"


# One array per run, stacked if all have the same shape.
Values = NDArray[np.generic] | tuple[NDArray[np.generic], ...]
# Path -> an array or number that one run published.
Published = dict[str, NDArray[np.generic]]


@immutable_value
class Batch:
    """A mechanism that can run many times at once: `draw(points, n_runs, rng)` returns one run per row.

    The rows must be independent runs.
    """

    # (points, n_runs, rng) -> array (n_runs, ...).
    draw: Callable[[Points, int, np.random.Generator], ArrayLike]


@immutable
class Outcomes:
    """Published output of `n_runs` runs, by path."""

    n_runs: int
    # Path -> the output of all runs at that path.
    arrays: Mapping[str, Values]

    def part(self, start: int, step: int) -> "Outcomes":
        """Return every `step`-th run from `start` on, so that two halves share no run."""
        rows = {path: values[start::step] for path, values in self.arrays.items()}
        return Outcomes(len(range(start, self.n_runs, step)), rows)

    def values(self, path: str) -> Values:
        """Return the values at one path: an empty array for each run if no run has that path."""
        return self.arrays.get(path, (np.empty(0),) * self.n_runs)

    def table(self, path: str, rows: int, columns: int) -> FloatArray:
        """Return one path as floats (n_runs, rows, columns): entries beyond are dropped, missing ones are NaN."""
        values, table = self.values(path), np.full((self.n_runs, rows, columns), np.nan)
        if isinstance(values, np.ndarray):
            entries = flattened(values)[:, :rows, :columns]
            table[:, : entries.shape[1], : entries.shape[2]] = entries
            return table
        for page, value in zip(table, values, strict=True):
            entries = flattened(value[None])[0, :rows, :columns]
            page[: entries.shape[0], : entries.shape[1]] = entries
        return table


def gather(
    run: Run | Batch,
    points: Points,
    n_runs: int,
    *,
    statistics: Mapping[str, Statistic] | None = None,
    rng: np.random.Generator,
) -> Outcomes:
    """Run a mechanism on one data set and return what it published, or statistics of it.

    Every run has its own generator; a `Batch` has one for all runs.

    Parameters
    ----------
    run
        Function of records and a generator, or a `Batch`.
    points
        Records (n, d).
    n_runs
        Number of runs.
    statistics
        Functions of a run's output by name; None keeps the output.
    rng
        Generator of all runs.

    Returns
    -------
    Outcomes
        One row for each run.
    """
    if not isinstance(run, Batch):
        outputs = (run(points, generator) for generator in rng.spawn(n_runs))
        return stacked([arrays_of(each) if statistics is None else measured(each, statistics) for each in outputs])
    rows = np.asarray(run.draw(points, n_runs, rng))
    if rows.shape[:1] != (n_runs,):
        raise ValueError(f"The batch must have shape ({n_runs}, ...), got {rows.shape}: one run per row.")
    return (
        Outcomes(n_runs, {PLAIN: rows}) if statistics is None else stacked([measured(row, statistics) for row in rows])
    )


def joined(parts: Sequence[Outcomes]) -> Outcomes:
    """Put the runs of several parts one after the other."""
    paths = dict.fromkeys(path for part in parts for path in part.arrays)
    arrays = {path: _stack([row for part in parts for row in part.values(path)]) for path in paths}
    return Outcomes(sum(part.n_runs for part in parts), arrays)


def stacked(runs: Sequence[Published]) -> Outcomes:
    """Collect the output of single runs. If a run lacks a path, it has an empty array there."""
    paths = dict.fromkeys(path for run in runs for path in run)
    empty = np.empty(0)
    return Outcomes(len(runs), {path: _stack([run.get(path, empty) for run in runs]) for path in paths})


def arrays_of(published: Release | ArrayLike) -> Published:
    """Return every array and number that one run published, by path.

    Raises ValueError if there is none.
    """
    arrays = dict(_walk(published, ""))
    if not arrays:
        raise ValueError(f"A run returned {type(published).__name__}, but an audit needs a Release or an array.")
    return arrays


def measured(published: object, statistics: Mapping[str, Statistic]) -> Published:
    """Return the `statistics` of one run's published output; NaN counts as minus infinity."""
    return {name: np.asarray(float(statistic(published))) for name, statistic in statistics.items()}


def _walk(value: object, path: str) -> Iterator[tuple[str, NDArray[np.generic]]]:
    if isinstance(value, np.ndarray | np.generic | float | int):
        array = np.asarray(value)
        if array.dtype.kind in "fiub":
            yield path or PLAIN, array
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            # Fields with an underscore are a record's own state, such as a cache.
            if not field.name.startswith("_"):
                yield from _walk(getattr(value, field.name), f"{path}.{field.name}" if path else field.name)
    elif isinstance(value, tuple | list):
        try:
            flat = np.asarray(value, dtype=np.float64)
        # A tuple of records, or of arrays with different shapes.
        except (TypeError, ValueError):
            for i, item in enumerate(value):
                yield from _walk(item, f"{path}[{i}]")
        else:
            yield path or PLAIN, flat


def _stack(rows: Sequence[NDArray[np.generic]]) -> Values:
    return np.stack(rows) if len({row.shape for row in rows}) == 1 else tuple(rows)


def flattened(values: NDArray[DType]) -> NDArray[DType]:
    """Return stacked arrays (n_runs, ...) as tables (n_runs, rows, columns): the first axis of each is its rows."""
    n_runs, *shape = values.shape
    rows = shape[0] if shape else 1
    columns = int(np.prod(shape[1:], dtype=np.intp)) if len(shape) > 1 else 1
    return values.reshape(n_runs, rows, columns)
