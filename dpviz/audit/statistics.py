"""The family of statistics of an audit: numbers of each run, computed from its published output.

The layout follows from the shapes in the choosing half of the runs. Directions that separate two worlds, ratios and
members of one world are also learned there. Every statistic is defined for every outcome: an entry that a run does not
have is minus infinity. So the estimating half may contain anything.
"""

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import TypeVar

import numpy as np
import scipy

from dpviz.audit.outcomes import Outcomes, Values, flattened
from dpviz.core import Box, FloatArray, immutable

# Maximum rows and columns of an array whose entries become single statistics. Our choice.
MOST_ROWS, MOST_COLUMNS = 16, 16
# Maximum number of rows that are subtracted pairwise: 28 pairs. Our choice.
MOST_LIKE = 8
# Maximum number of statistics. Our choice.
MOST_STATISTICS = 400
CENTERS = "centers"
# Entries with the largest differences. A direction in more entries is noise. Our choice.
LEARNED_FROM = 120
# Runs of the choosing half per entry, so that a direction is not an accident. Our choice.
RUNS_PER_ENTRY = 10
# Ridges of the within-world covariance. "exact" finds relations without noise. Our choice.
RIDGES = {"exact": 1e-10, "shrunk": 0.1}
# Standard errors between the worlds' means from which an entry counts in the sum. Our choice.
CLEAR_SHIFT = 3.0
# Ratios this close are equal. From the specification.
SAME = 1e-9
# Whole numbers of a path whose presence is a statistic. Our choice.
MOST_MEMBERS = 8

# Name -> (n_runs,).
Columns = dict[str, FloatArray]
T = TypeVar("T")


@immutable
class Family:
    """The kinds of statistics. Ratios of coordinates start from `box`, or from the data's zero without a box."""

    box: Box | None = None
    # Directions of centers.
    ratios: bool = True
    # Differences between like entries.
    differences: bool = True
    # Projections learned from the choosing half.
    learned: bool = True


@immutable
class Learned:
    """The statistics of one audit, fixed by the choosing half: `compute` returns them for any runs."""

    # Path -> rows and columns that are statistics.
    shapes: Mapping[str, tuple[int, int]]
    family: Family
    projections: Mapping[str, Callable[[Columns], FloatArray]]
    # Name -> directions of centers that occur in one world only, (m, d).
    directions: Mapping[str, FloatArray]
    # Name -> a path of whole numbers, and a number that it may contain.
    members: Mapping[str, tuple[str, int]]

    def compute(self, outcomes: Outcomes, names: frozenset[str] | None = None) -> Columns:
        """Return the statistics of every run, or only those in `names`; none is NaN."""

        def chosen(of: Mapping[str, T]) -> list[tuple[str, T]]:
            return [(name, value) for name, value in of.items() if names is None or name in names]

        plain = self.plain(outcomes)
        columns = {name: project(plain) for name, project in chosen(self.projections)}
        for name, rows in chosen(self.directions):
            columns[name] = nearness(self.ratios(outcomes), rows)
        for name, (path, value) in chosen(self.members):
            columns[name] = np.array([float((np.asarray(row) == value).any()) for row in outcomes.values(path)])
        columns |= chosen(plain)
        return {name: np.where(np.isnan(values), -np.inf, values) for name, values in columns.items()}

    def plain(self, outcomes: Outcomes) -> Columns:
        """Return entries, sums, ends and sizes, directions of centers, and differences of like entries."""
        statistics: Columns = {}
        tables = {path: outcomes.table(path, *shape) for path, shape in self.shapes.items()}
        for path, table in tables.items():
            rows, columns = table.shape[1:]
            for i in range(rows):
                for j in range(columns):
                    statistics[_name(path, i, j, rows, columns)] = table[:, i, j]
            if rows * columns > 1:
                statistics |= _summaries(path, outcomes.values(path))
        if self.has_ratios:
            for i, row in enumerate(np.moveaxis(self.ratios(outcomes), 1, 0)[:MOST_LIKE]):
                statistics |= {f"direction of center {i}, axis {j}": row[:, j] for j in range(row.shape[1])}
        for path, table in tables.items() if self.family.differences else ():
            rows, columns = table.shape[1:]
            for i, k in combinations(range(min(rows, MOST_LIKE)), 2):
                for j in range(columns):
                    one, other = (_name(path, row, j, rows, columns) for row in (i, k))
                    # Infinity minus infinity.
                    with np.errstate(invalid="ignore"):
                        statistics[f"{one} less {other}"] = table[:, i, j] - table[:, k, j]
        return statistics

    @property
    def has_ratios(self) -> bool:
        """True if coordinates of centers have ratios."""
        return self.family.ratios and self.shapes.get(CENTERS, (0, 0))[1] > 1

    def ratios(self, outcomes: Outcomes) -> FloatArray:
        """Return unit vectors (n_runs, k, d) from the box's low corner to each center, box units: all ratios."""
        box, centers = self.family.box, outcomes.table(CENTERS, *self.shapes[CENTERS])
        if box is not None and box.d == centers.shape[2]:
            centers = (centers - box.low) / box.widths
        # A center on the corner has no direction.
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(centers / np.linalg.norm(centers, axis=2, keepdims=True))


def learn(first: Outcomes, other: Outcomes, family: Family) -> Learned:
    """Return the statistics for two worlds, given the choosing halves of their runs."""
    shapes: dict[str, tuple[int, int]] = {}
    for outcomes in (first, other):
        for path, values in outcomes.arrays.items():
            distinct = {values.shape[1:]} if isinstance(values, np.ndarray) else {value.shape for value in values}
            for shape in distinct:
                rows, columns = flattened(np.empty((1, *shape))).shape[1:]
                before = shapes.get(path, (0, 0))
                shapes[path] = max(before[0], min(rows, MOST_ROWS)), max(before[1], min(columns, MOST_COLUMNS))
    plain = Learned(shapes, family, {}, {}, {})
    here, there = plain.compute(first), plain.compute(other)
    entries = {
        name: (here[name], there[name])
        for name in here
        if not name.startswith(("sum of", "least of", "largest of", "size of")) and " less " not in name
    }
    directions: dict[str, FloatArray] = {}
    if plain.has_ratios:
        worlds = (plain.ratios(outcomes) for outcomes in (first, other))
        directions = lone_rows(*(rows.reshape(-1, rows.shape[2]) for rows in worlds))
    learned = projections(entries) if family.learned else {}
    return Learned(shapes, family, learned, directions, members(first.arrays, other.arrays))


def _summaries(path: str, values: Values) -> Columns:
    """Return number, sum and ends of all entries of a path, including entries that are not single statistics."""
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


def lone_rows(first: FloatArray, other: FloatArray) -> dict[str, FloatArray]:
    """Return the rows (m, d) that occur more than once in one world and never in the other, given all rows of both.

    A row that occurs once is not evidence: under a continuous distribution, no row occurs again.
    """
    worlds = []
    for rows in (first, other):
        known = np.round(rows[np.isfinite(rows).all(axis=1)], 10)
        distinct, counts = np.unique(known, axis=0, return_counts=True)
        worlds.append((distinct, distinct[counts > 1]))
    lone = {}
    for i, world in enumerate(("first", "second")):
        again, others = worlds[i][1], worlds[1 - i][0]
        if len(again) and len(others):
            again = again[np.asarray(scipy.spatial.cKDTree(others).query(again)[0]) > SAME]
        if len(again):
            lone[f"nearness to a ratio of the {world} world"] = again
    return lone


def nearness(rows: FloatArray, references: FloatArray) -> FloatArray:
    """Return minus the distance of each run's nearest row (n_runs, k, d) to one of `references` (m, d)."""
    n_runs, k, d = rows.shape
    flat = rows.reshape(-1, d)
    known = np.isfinite(flat).all(axis=1)
    far = np.full(len(flat), np.inf)
    if known.any():
        far[known] = scipy.spatial.cKDTree(references).query(flat[known])[0]
    # Rows compare up to SAME, so a distance below it is rounding and counts as 0.
    nearest = np.asarray(far.reshape(n_runs, k).min(axis=1))
    return -np.where(nearest < SAME, 0.0, nearest)


def members(first: Mapping[str, Values], other: Mapping[str, Values]) -> dict[str, tuple[str, int]]:
    """Return the whole numbers, for example of a selection, whose presence differs most between the worlds."""
    differing = {}
    for path, values in first.items():
        opposite = other.get(path)
        if opposite is None:
            continue
        both = (values, opposite)
        whole = all(any(row.dtype.kind in "iu" for row in rows) for rows in both)
        if not whole or any(row.ndim != 1 for rows in both for row in rows):
            continue
        # For each world, the share of runs that contain each number.
        shares: list[dict[int, float]] = []
        for rows in both:
            numbers, counts = np.unique(np.concatenate([np.unique(row) for row in rows]), return_counts=True)
            shares.append({int(each): float(n) / len(rows) for each, n in zip(numbers, counts, strict=True)})
        shift = {each: abs(shares[0].get(each, 0.0) - shares[1].get(each, 0.0)) for each in {*shares[0], *shares[1]}}
        for value in sorted(shift, key=lambda each: (-shift[each], each))[:MOST_MEMBERS]:
            if shift[value] > 0:
                differing[f"{value} is in {path}"] = (path, value)
    return differing


def varies(one: FloatArray, two: FloatArray) -> bool:
    """Return True if a statistic takes at least two values."""
    return bool((one != one[0]).any() or (two != one[0]).any())


def projections(entries: Mapping[str, tuple[FloatArray, FloatArray]]) -> dict[str, Callable[[Columns], FloatArray]]:
    """Return sums of entries, with weights that separate the choosing halves.

    There is Fisher's discriminant with two ridges, and the sum of entries, cut off between the worlds' medians, over
    their mean deviation. For two Laplace distributions, the latter is the likelihood ratio.
    """
    names = [name for name, (one, two) in entries.items() if varies(one, two)]
    if len(names) < 2:
        return {}
    here, there = (np.stack([entries[name][world] for name in names], axis=1) for world in (0, 1))
    # Smallest and largest finite value of each column; 0 if it has none.
    values = np.concatenate([here, there])
    finite = np.isfinite(values)
    low, high = np.where(finite, values, np.inf).min(axis=0), np.where(finite, values, -np.inf).max(axis=0)
    low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
    # Finite from here on.
    here, there = np.clip(here, low, high), np.clip(there, low, high)
    spread = np.sqrt((here.var(axis=0) + there.var(axis=0)) / 2.0)
    shift = here.mean(axis=0) - there.mean(axis=0)
    error = spread * np.sqrt(1.0 / len(here) + 1.0 / len(there))
    with np.errstate(invalid="ignore", divide="ignore"):
        clear = np.where(shift == 0.0, 0.0, np.abs(shift) / error)
    clearest = np.argsort(-clear, kind="stable")[: min(LEARNED_FROM, max(2, len(here) // RUNS_PER_ENTRY))]
    names = [names[i] for i in clearest]
    here, there = here[:, clearest], there[:, clearest]
    low, high, clear = low[clearest], high[clearest], clear[clearest]
    middle = (here.mean(axis=0) + there.mean(axis=0)) / 2.0
    scale = np.maximum(np.concatenate([here, there]).std(axis=0), np.finfo(float).tiny)
    one, two = (here - middle) / scale, (there - middle) / scale
    within = (np.cov(one, rowvar=False) + np.cov(two, rowvar=False)) / 2.0
    apart = one.mean(axis=0) - two.mean(axis=0)
    learned = {
        f"learned direction ({word})": _linear(
            names, (low, high), middle, np.linalg.solve(within + ridge * np.eye(len(apart)), apart) / scale, cut=False
        )
        for word, ridge in RIDGES.items()
    }
    ends = np.sort(np.stack([np.median(here, axis=0), np.median(there, axis=0)]), axis=0)
    deviation = (_deviation(here) + _deviation(there)) / 2.0
    signs = np.sign(np.median(here, axis=0) - np.median(there, axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = np.where((clear > CLEAR_SHIFT) & (deviation > 0), signs / deviation, 0.0)
    if (weights != 0).sum() > 1:
        learned["learned sum, cut off"] = _linear(names, (ends[0], ends[1]), ends.mean(axis=0), weights, cut=True)
    return learned


def _deviation(values: FloatArray) -> FloatArray:
    return np.asarray(np.abs(values - np.median(values, axis=0)).mean(axis=0))


def _linear(
    names: list[str], ends: tuple[FloatArray, FloatArray], middle: FloatArray, weights: FloatArray, *, cut: bool
) -> Callable[[Columns], FloatArray]:
    """Return a weighted sum of entries. `cut` clips all entries to the ends; otherwise only infinite ones."""
    low, high = ends

    def project(columns: Columns) -> FloatArray:
        table = np.stack([columns[name] for name in names], axis=1)
        table = np.where(np.isnan(table), low, table)
        inner = np.clip(table, low, high)
        return ((inner if cut else np.where(np.isfinite(table), table, inner)) - middle) @ weights

    return project
