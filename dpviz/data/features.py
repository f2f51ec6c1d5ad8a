"""The features of a file, a frame or an array: one rule for all of them, and messages about cells that break it.

Every column is a feature and must contain finite numbers. `features` selects columns by name. A message names the
columns, counts their cells, and gives the first row, counted from 1 without a header. It does not repeat any cell.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray, check_real
from dpviz.data.files import TableError, joined, listed, quoted

CHOOSE = "Choose the features, as in features=['x', 'y']."
# Beginning of the error about rows with gaps.
GAPS = "Cells are missing or infinite in"


def check_features(features: object) -> tuple[str, ...] | None:
    """Return the names in `features`, None for all columns. Raises TableError."""
    if features is None:
        return None
    names = (features,) if isinstance(features, str) else tuple(features) if np.iterable(features) else ()
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise TableError(f"features must be names of columns, each once, got {quoted(features)}. {CHOOSE}")
    return names


def count_odd(names: Sequence[str], odd: Sequence[NDArray[np.bool_]]) -> str:
    """Return the columns with `odd` cells, the number of these cells, and their first row; "" if there are none."""
    counts = [(name, int(rows.sum()), int(np.argmax(rows)) + 1) for name, rows in zip(names, odd, strict=True)]
    return joined([f"{quoted(name)} ({n:,}, first in row {row:,})" for name, n, row in counts if n])


def refuse_gaps(points: FloatArray, names: Sequence[str], n: int, first: int = 0) -> FloatArray:
    """Return `points` (m, d) of `n` records, the first of them at `first`. Raises TableError unless all are finite."""
    odd = ~np.isfinite(points)
    if odd.any():
        before = np.zeros((first, 1), dtype=np.bool_)
        counts = count_odd(names, [np.append(before, rows) for rows in odd.T])
        raise TableError(
            f"{GAPS} {counts} of {n:,} rows, but all cells must be numbers. Drop or fill those rows, or "
            f"choose other columns. {CHOOSE}"
        )
    return points


def find_words(data: Any) -> str:
    """Return the columns of a frame, or of rows, with cells that are not numbers, like `count_odd`."""
    columns = _columns(data)
    words = {name: column for name, column in columns.items() if not _is_numeric(column)}
    return count_odd([*words], [np.array([not _is_numeric(cell) for cell in each]) for each in words.values()])


def find_gaps(data: Any) -> str:
    """Return the columns of a frame, or of rows, with cells that are missing or infinite, like `count_odd`."""
    columns = {name: np.asarray(column, dtype=np.float64) for name, column in _columns(data).items()}
    return count_odd([*columns], [~np.isfinite(column) for column in columns.values()])


def points_of(data: Any, features: Sequence[str] | None) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the records (n, d) of a frame or an array, and the names of their features. Raises ValueError."""
    check_real(data, "data")
    is_frame = hasattr(data, "columns")
    if is_frame:
        keys = {str(key): key for key in data.columns}
        if len(keys) < len(data.columns):
            raise TableError("Two columns of the data have the same name, but names must be unique. Rename one.")
        for name in features or ():
            if name not in keys:
                raise TableError(f"There is no column {quoted(name)} in the data. Choose from {listed(keys)}.")
        data = data if features is None else data[[keys[name] for name in features]]
    elif features is not None:
        raise TableError(
            "features cannot be chosen by name from an array. Select columns by position: data[:, [0, 2]]."
        )
    try:
        if is_frame and not all(map(_is_numeric, _columns(data).values())):
            raise TypeError
        points = np.asarray(data, dtype=np.float64)
    # NumPy's message quotes a value.
    except (TypeError, ValueError):
        raise ValueError(
            f"All columns of data must be numbers, but these are not: {find_words(data)}. {CHOOSE}"
        ) from None
    if points.ndim != 2:
        raise ValueError(f"data must have two dimensions, got {points.ndim}: a row for each record.")
    names = tuple(map(str, data.columns)) if is_frame else tuple(f"feature {i + 1}" for i in range(points.shape[1]))
    return refuse_gaps(points, names, len(points)), names


def _columns(data: Any) -> dict[str, NDArray[np.generic]]:
    """Return the columns of a frame, or of rows, by name."""
    if hasattr(data, "columns"):
        return {str(key): np.asarray(data[key]) for key in data.columns}
    rows = np.asarray(data, dtype=object)
    return {f"feature {i + 1}": column for i, column in enumerate(rows.T if rows.ndim == 2 else ())}


def _is_numeric(cells: Any) -> bool:
    """Return True if a column or a cell can be read as numbers. Dates cannot: their unit would be nanoseconds."""
    try:
        if np.asarray(cells).dtype.kind in "mM":
            return False
        np.asarray(cells, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True
