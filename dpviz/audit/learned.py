"""What the choosing half of an audit teaches: directions that part two worlds, ratios and members of one world."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from dpviz.audit.outcomes import Outcomes
from dpviz.core import FloatArray

LEARNED_FROM = 120  # entries, those that differ most; a direction in more is noise. Ours
RUNS_PER_ENTRY = 10  # of the choosing half, so that a direction is no accident; ours
RIDGES = {"exact": 1e-10, "shrunk": 0.1}  # of the within-world covariance; exact finds relations without noise. Ours
CLEAR_SHIFT = 3.0  # standard errors between the worlds' means, from which an entry counts in the sum; ours
SAME = 1e-9  # ratios this near are one; specification
MOST_MEMBERS = 8  # whole numbers of a path whose presence is looked at; ours

Columns = dict[str, FloatArray]  # name -> (n_runs,)
Values = NDArray[Any] | tuple[NDArray[Any], ...]


def seen_alone(first: FloatArray, other: FloatArray) -> dict[str, FloatArray]:
    """Return the rows (m, d) that one world has shown more than once and the other never, given all rows of both.

    A row that came once says nothing: of a continuous law none comes again.
    """
    shown = []
    for rows in (first, other):
        known = np.round(rows[np.isfinite(rows).all(axis=1)], 10)
        distinct, counts = np.unique(known, axis=0, return_counts=True)
        shown.append((distinct, distinct[counts > 1]))
    found = {}
    for i, world in enumerate(("first", "second")):
        again, theirs = shown[i][1], shown[1 - i][0]
        if len(again) and len(theirs):
            again = again[np.asarray(cKDTree(theirs).query(again)[0]) > SAME]
        if len(again):
            found[f"nearness to a ratio of the {world} world"] = again
    return found


def nearness(rows: FloatArray, seen: FloatArray) -> FloatArray:
    """Return minus the distance of each run's nearest row (n_runs, k, d) to one of `seen` (m, d)."""
    n_runs, k, d = rows.shape
    flat = rows.reshape(-1, d)
    known = np.isfinite(flat).all(axis=1)
    far = np.full(len(flat), np.inf)
    if known.any():
        far[known] = cKDTree(seen).query(flat[known])[0]
    # To the digits that the rows were compared with: rounding is no distance.
    nearest = np.asarray(far.reshape(n_runs, k).min(axis=1))
    return -np.where(nearest < SAME, 0.0, nearest)


def members(first: Mapping[str, Values], other: Mapping[str, Values]) -> dict[str, tuple[str, int]]:
    """Return the whole numbers, as of a selection, whose presence differs most between the worlds."""
    found = {}
    for path, values in first.items():
        theirs = other.get(path)
        if theirs is None or not all(_is_whole(rows) for rows in (values, theirs)):
            continue
        shares = [_shares(rows) for rows in (values, theirs)]
        shift = {each: abs(shares[0].get(each, 0.0) - shares[1].get(each, 0.0)) for each in {*shares[0], *shares[1]}}
        for value in sorted(shift, key=lambda each: (-shift[each], each))[:MOST_MEMBERS]:
            if shift[value] > 0:
                found[f"{value} is in {path}"] = (path, value)
    return found


def holds(outcomes: Outcomes, path: str, value: int) -> FloatArray:
    """Return 1 for each run whose path holds the number, else 0."""
    rows = outcomes.arrays.get(path, (np.empty(0),) * outcomes.n_runs)
    return np.array([float((np.asarray(row) == value).any()) for row in rows])


def _is_whole(values: Values) -> bool:
    if isinstance(values, np.ndarray):
        return values.dtype.kind in "iu" and values.ndim == 2
    return any(value.dtype.kind in "iu" for value in values) and all(value.ndim == 1 for value in values)


def _shares(rows: Values) -> dict[int, float]:
    distinct = np.concatenate([np.unique(row) for row in rows])
    values, counts = np.unique(distinct, return_counts=True)
    return {int(value): float(count) / len(rows) for value, count in zip(values, counts, strict=True)}


def varies(one: FloatArray, two: FloatArray) -> bool:
    """Say whether a statistic takes two values at all."""
    return bool((one != one[0]).any() or (two != one[0]).any())


def projections(entries: Mapping[str, tuple[FloatArray, FloatArray]]) -> dict[str, Callable[[Columns], FloatArray]]:
    """Return sums of entries, weighted so that they tell the choosing halves apart.

    Fisher's discriminant with two ridges, and the sum of entries cut off between the worlds' medians over their mean
    deviation: between two Laplace laws that is the likelihood ratio.
    """
    names = [name for name, (one, two) in entries.items() if varies(one, two)]
    if len(names) < 2:
        return {}
    here, there = (np.stack([entries[name][world] for name in names], axis=1) for world in (0, 1))
    low, high = _ends(np.concatenate([here, there]))
    here, there = np.clip(here, low, high), np.clip(there, low, high)  # finite from here on
    spread = np.sqrt((here.var(axis=0) + there.var(axis=0)) / 2.0)
    shift = here.mean(axis=0) - there.mean(axis=0)
    error = spread * np.sqrt(1.0 / len(here) + 1.0 / len(there))
    with np.errstate(invalid="ignore", divide="ignore"):
        clear = np.where(shift == 0.0, 0.0, np.abs(shift) / error)
    kept = np.argsort(-clear, kind="stable")[: min(LEARNED_FROM, max(2, len(here) // RUNS_PER_ENTRY))]
    names = [names[i] for i in kept]
    here, there, low, high, clear = here[:, kept], there[:, kept], low[kept], high[kept], clear[kept]
    middle = (here.mean(axis=0) + there.mean(axis=0)) / 2.0
    scale = np.maximum(np.concatenate([here, there]).std(axis=0), np.finfo(float).tiny)
    one, two = (here - middle) / scale, (there - middle) / scale
    within = (np.cov(one, rowvar=False) + np.cov(two, rowvar=False)) / 2.0
    apart = one.mean(axis=0) - two.mean(axis=0)
    found = {
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
        found["learned sum, cut off"] = _linear(names, (ends[0], ends[1]), ends.mean(axis=0), weights, cut=True)
    return found


def _ends(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest finite value of each column; 0 where there is none."""
    finite = np.isfinite(values)
    low = np.where(finite, values, np.inf).min(axis=0)
    high = np.where(finite, values, -np.inf).max(axis=0)
    return np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)


def _deviation(values: FloatArray) -> FloatArray:
    return np.asarray(np.abs(values - np.median(values, axis=0)).mean(axis=0))


def _linear(
    names: list[str], ends: tuple[Any, Any], middle: Any, weights: Any, *, cut: bool
) -> Callable[[Columns], FloatArray]:
    """Return a weighted sum of entries; `cut` moves all of them between the ends, else only those that are infinite."""
    low, high = ends

    def project(columns: Columns) -> FloatArray:
        table = np.stack([columns[name] for name in names], axis=1)
        table = np.where(np.isnan(table), low, table)
        kept = np.clip(table, low, high) if cut else np.where(np.isfinite(table), table, np.clip(table, low, high))
        return np.asarray((kept - middle) @ weights)

    return project
