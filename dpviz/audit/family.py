"""The family of statistics: numbers that are looked at in every run, made from whatever is published.

The layout follows from the shapes in the choosing half of the runs, what is learned is learned there too, and every
statistic is defined for every outcome: an entry that a run does not have is minus infinity. So the estimating half may
hold anything.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dpviz.audit.learned import Columns, holds, members, nearness, projections, seen_alone, varies
from dpviz.audit.outcomes import Outcomes, canvas, flattened
from dpviz.core import Box, FloatArray

MOST_ROWS, MOST_COLUMNS = 16, 16  # of an array, whose entries are looked at one by one; ours
MOST_LIKE = 8  # rows that are subtracted pairwise: 28 pairs; ours
MOST_STATISTICS = 400  # ours
CENTERS = "centers"


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Which statistics are made; `box` is where ratios of coordinates start from, the data's zero without one."""

    box: Box | None = None
    ratios: bool = True
    differences: bool = True
    learned: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """The statistics of one audit, fixed by the choosing half: `of` makes them of any runs."""

    shapes: Mapping[str, tuple[int, int]]  # path -> rows and columns that are looked at
    family: Family
    projections: Mapping[str, Callable[[Columns], FloatArray]]
    seen: Mapping[str, FloatArray]  # name -> (m, d) directions of centers that one world alone has shown
    held: Mapping[str, tuple[str, int]]  # name -> a path of whole numbers, and one that it may hold

    def of(self, outcomes: Outcomes, wanted: frozenset[str] | None = None) -> Columns:
        """Return the statistics of every run, or only those `wanted`; none is NaN."""
        columns = _columns(outcomes, self.shapes, self.family)
        found: Columns = {}
        for name, project in self.projections.items():
            if wanted is None or name in wanted:
                found[name] = project(columns)
        for name, seen in self.seen.items():
            if wanted is None or name in wanted:
                found[name] = nearness(_directions(outcomes, self.shapes, self.family), seen)
        for name, (path, value) in self.held.items():
            if wanted is None or name in wanted:
                found[name] = holds(outcomes, path, value)
        found |= {name: values for name, values in columns.items() if wanted is None or name in wanted}
        return {name: np.where(np.isnan(values), -np.inf, values) for name, values in found.items()}


def learn(first: Outcomes, other: Outcomes, family: Family) -> Learned:
    """Return the statistics for two worlds, given the choosing halves of their runs."""
    shapes = _shapes(first, other)
    plain = Learned(shapes, family, {}, {}, {})
    here, there = plain.of(first), plain.of(other)
    entries = {name: (here[name], there[name]) for name in here if _is_entry(name)}
    found = projections(entries) if family.learned else {}
    seen: dict[str, FloatArray] = {}
    if _has_ratios(shapes, family):
        seen = seen_alone(*(_flat(_directions(outcomes, shapes, family)) for outcomes in (first, other)))
    return Learned(shapes, family, found, seen, members(first.arrays, other.arrays))


def informative(here: Columns, there: Columns) -> list[str]:
    """Return the statistics that vary, at most MOST_STATISTICS: first what was learned, then entries, then the rest."""
    varying = [name for name in here if varies(here[name], there[name])]
    return varying[:MOST_STATISTICS]


def _shapes(first: Outcomes, other: Outcomes) -> dict[str, tuple[int, int]]:
    shapes: dict[str, tuple[int, int]] = {}
    for outcomes in (first, other):
        for path, values in outcomes.arrays.items():
            seen = {values.shape[1:]} if isinstance(values, np.ndarray) else {value.shape for value in values}
            for shape in seen:
                rows, columns = flattened(np.empty((1, *shape))).shape[1:]
                kept = shapes.get(path, (0, 0))
                shapes[path] = max(kept[0], min(rows, MOST_ROWS)), max(kept[1], min(columns, MOST_COLUMNS))
    return shapes


def _columns(outcomes: Outcomes, shapes: Mapping[str, tuple[int, int]], family: Family) -> Columns:
    """Return entries, sums, ends and sizes, differences of like entries, and directions of centers."""
    found: Columns = {}
    missing = np.empty(0)
    for path, (rows, columns) in shapes.items():
        values = outcomes.arrays.get(path, (missing,) * outcomes.n_runs)
        table = canvas(values, rows, columns)
        for i in range(rows):
            for j in range(columns):
                found[_name(path, i, j, rows, columns)] = table[:, i, j]
        if rows * columns > 1:
            found |= _summaries(path, values)
    if _has_ratios(shapes, family):
        directions = _directions(outcomes, shapes, family)
        for i, row in enumerate(np.moveaxis(directions, 1, 0)[:MOST_LIKE]):
            found |= {f"direction of center {i}, axis {j}": row[:, j] for j in range(row.shape[1])}
    if family.differences:
        for path, (rows, columns) in shapes.items():
            table = canvas(outcomes.arrays.get(path, (missing,) * outcomes.n_runs), rows, columns)
            for i, k in combinations(range(min(rows, MOST_LIKE)), 2):
                for j in range(columns):
                    left, right = (_name(path, row, j, rows, columns) for row in (i, k))
                    with np.errstate(invalid="ignore"):  # infinity less infinity
                        found[f"{left} less {right}"] = table[:, i, j] - table[:, k, j]
    return found


def _summaries(path: str, values: np.ndarray | tuple[np.ndarray, ...]) -> Columns:
    """Return number, sum and ends of all the entries of a path, those included that are not looked at singly."""
    if isinstance(values, np.ndarray) and values[0].size:
        flat = flattened(values).reshape(len(values), -1).astype(np.float64)
        sizes, sums = np.full(len(flat), float(flat.shape[1])), flat.sum(axis=1)
        least, most = flat.min(axis=1), flat.max(axis=1)
    else:
        sizes = np.array([float(value.size) for value in values])
        sums = np.array([float(value.sum()) for value in values])
        least = np.array([float(value.min()) if value.size else np.nan for value in values])
        most = np.array([float(value.max()) if value.size else np.nan for value in values])
    named = {"size": sizes, "sum": sums, "least": least, "largest": most}
    return {f"{word} of {path}": numbers for word, numbers in named.items()}


def _name(path: str, i: int, j: int, rows: int, columns: int) -> str:
    if rows == columns == 1:
        return path
    return f"{path} [{i}]" if columns == 1 else f"{path} [{i}, {j}]"


def _is_entry(name: str) -> bool:
    return not name.startswith(("sum of", "least of", "largest of", "size of")) and " less " not in name


def _has_ratios(shapes: Mapping[str, tuple[int, int]], family: Family) -> bool:
    return family.ratios and shapes.get(CENTERS, (0, 0))[1] > 1


def _flat(directions: FloatArray) -> FloatArray:
    return directions.reshape(-1, directions.shape[2])


def _directions(outcomes: Outcomes, shapes: Mapping[str, tuple[int, int]], family: Family) -> FloatArray:
    """Return unit vectors (n_runs, k, d) from the box's low corner to each center, box units: all ratios at once."""
    rows, columns = shapes[CENTERS]
    centers = canvas(outcomes.arrays.get(CENTERS, (np.empty(0),) * outcomes.n_runs), rows, columns)
    if family.box is not None and family.box.d == columns:
        centers = (centers - family.box.low) / family.box.widths
    with np.errstate(invalid="ignore", divide="ignore"):  # a center on the corner has no direction
        return np.asarray(centers / np.linalg.norm(centers, axis=2, keepdims=True))
