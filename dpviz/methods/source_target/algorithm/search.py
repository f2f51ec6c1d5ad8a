"""Who is nearest to whom among many points: which target to each record, which records to each target.

An answer follows from the distances alone, whatever leaves the points are sorted into. Curator only.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np

from dpviz.core import Confidential, FloatArray, Labels, Points
from dpviz.methods.source_target.algorithm.leaves import AXES, FAN, WIDTH, halved, nearest_place, nearest_places

A = TypeVar("A")
B = TypeVar("B")

CORES = os.cpu_count() or 1
PARTS = 4  # of the work for each core, so that a core that is held up leaves its work to others
ALONE = 4096  # neighbors to be found, or points to be sorted, up to which a second core costs more than it gives; ours
FARTHEST = 1e150  # a target's coordinates are cut off here: squares do not overflow, and all records are equally far
NEAR_TIE = 1e-12  # relative, of squared distances: far above what adding up few axes loses
DOUBLE = 2.0**-53  # rounding, relative


@dataclass(frozen=True, slots=True, eq=False)
class LikelyCells(Confidential):
    """Nearest targets up to rounding. Curator only."""

    nonprivate_labels: Labels  # (m,) the nearest target; any where it is close
    nonprivate_close: Labels  # records for which another target may be as near or nearer


@dataclass(frozen=True, slots=True, eq=False)
class NearestRecords(Confidential):
    """The nearest records of each target, nearest first; equally near ones in any order. Curator only."""

    nonprivate_distances: FloatArray  # (r, t + 1)
    nonprivate_records: Labels  # (r, t)
    nonprivate_means: Points  # (r, d) of those t, added up in their order


def on_all_cores(work: Callable[[A], B], parts: Sequence[A]) -> list[B]:
    """Return what `work` makes of each of `parts`, several at a time: loops in machine code need no interpreter."""
    if min(CORES, len(parts)) < 2:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(min(CORES, len(parts))) as pool:
        return list(pool.map(work, parts))


@dataclass(frozen=True, slots=True, eq=False)
class Leaves(Confidential):
    """Points in leaves, `leaves` says how. They may be records: curator only."""

    order: Labels  # (n,) which point is at each place
    blocks: FloatArray  # (l, p, AXES WIDTH) coordinates
    boxes: FloatArray  # (b, p, 2 AXES FAN) least and largest coordinates of leaves
    outer: FloatArray  # (c, p, 2 AXES FAN) of branches

    @classmethod
    def of(cls, points: Points) -> "Leaves":
        """Sort `points` (n, d), n >= 1."""
        columns = np.ascontiguousarray(np.clip(points, -FARTHEST, FARTHEST).T)
        d, n = columns.shape
        order, whole = np.arange(n, dtype=np.intp), np.array([[0, n]])
        parts = halved(columns, order, whole, -(-n // CORES) if n > ALONE else n)
        on_all_cores(lambda part: halved(columns, order, part[None], WIDTH), list(parts))
        sorted_columns, first = columns.take(order, axis=1), np.arange(0, n, WIDTH)
        filled = np.full((d, len(first) * WIDTH), np.inf)
        filled[:, :n] = sorted_columns
        blocks = np.zeros((len(first), _passes(d) * AXES, WIDTH))
        blocks[:, :d] = filled.reshape(d, -1, WIDTH).transpose(1, 0, 2)
        low, high = (each.reduceat(sorted_columns, first, axis=1) for each in (np.minimum, np.maximum))
        boxes, outer = _boxes(low, high), _boxes(*_around(low, high))
        return cls(order, blocks.reshape(len(first), -1, AXES * WIDTH), boxes, outer)


def _passes(d: int) -> int:
    return -(-d // AXES)


def _around(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the box around each FAN of the boxes (d, l)."""
    first = np.arange(0, low.shape[1], FAN)
    return np.minimum.reduceat(low, first, axis=1), np.maximum.reduceat(high, first, axis=1)


def _boxes(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return boxes with sides `low` and `high` (d, l), FAN in a row (b, p, 2 AXES FAN), empty ones at the end."""
    d, n = low.shape
    rows = -(-n // FAN)
    made = np.zeros((rows, _passes(d) * AXES, 2, FAN))
    for side, (values, nowhere) in enumerate(((low, np.inf), (high, -np.inf))):
        filled = np.full((d, rows * FAN), nowhere)
        filled[:, :n] = values
        made[:, :d, side] = filled.reshape(d, rows, FAN).transpose(1, 0, 2)
    return made.reshape(rows, -1, 2 * AXES * FAN)


def _queries(points: Points) -> Points:
    """Return `points` (n, d) with as many axes as the leaves have; they are a copy, of one type for machine code."""
    made = np.zeros((len(points), _passes(points.shape[1]) * AXES))
    np.clip(points, -FARTHEST, FARTHEST, out=made[:, : points.shape[1]])
    return made


def _shares(n: int, work: int) -> list[slice]:
    """Return slices of n rows, several for each core if the work is much."""
    count = PARTS * CORES if work > ALONE and CORES > 1 else 1
    ends = np.linspace(0, n, count + 1).astype(int).tolist()
    return [slice(first, last) for first, last in pairwise(ends)]


def likely_cells(source: Points, leaves: Leaves) -> LikelyCells:
    """Return the nearest of the targets in `leaves` to each of `source` (m, d), and where that is not sure."""
    places = np.empty(len(source), dtype=np.intp)
    near = max(NEAR_TIE, 16.0 * (source.shape[1] + 2) * DOUBLE)

    def search(rows: slice) -> None:
        nearest_place(_queries(source[rows]), leaves.blocks, leaves.boxes, leaves.outer, near, places[rows])

    on_all_cores(search, _shares(len(source), len(source)))
    return LikelyCells(leaves.order.take(places), np.flatnonzero(places < 0))


def nearest_records(source: Points, targets: Points, t: int) -> NearestRecords:
    """Return the t < m nearest of `source` (m, d), |s| <= 1/2, to each of `targets` (r, d)."""
    leaves, (n, d) = Leaves.of(source), targets.shape
    distances, places, means = np.empty((n, t + 1)), np.empty((n, t), dtype=np.intp), np.empty((n, d))

    def search(rows: slice) -> None:
        queries = _queries(targets[rows])
        nearest_places(queries, leaves.blocks, leaves.boxes, leaves.outer, distances[rows], places[rows], means[rows])
        places[rows] = leaves.order.take(places[rows])

    on_all_cores(search, _shares(n, n * t))
    return NearestRecords(distances, places, means)
