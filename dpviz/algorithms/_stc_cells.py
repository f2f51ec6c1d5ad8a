"""Which public target is nearest to each of many records: matrix products decide all but the close cases.

Records are sorted into groups that lie together. A group looks at the targets nearest to its bounding box first, then
at those that the box does not rule out, all in single precision, and says for which records rounding could change who
is nearest: these must be asked about anew. So an answer that stands follows from the record and the targets alone,
whatever the groups are. Curator only.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.algorithms._stc_groups import CORES, Singles, groups, on_all_cores, products
from dpviz.core import FloatArray, Labels, Points

GROUP = 1024  # most records of a group; ours, by measurement
FIRST, LATER = 256, 512  # targets looked at together, first and then; the scores stay in the cache; ours
PARTS = 4  # of the groups for each core, so that a core that is held up leaves its work to others
UNIT = 2.0**-24  # rounding of single precision, relative
LEAST = 1e-30  # added to every bound: below it single precision runs out of digits
FARTHEST = 1e15  # distances from which single precision might overflow


@dataclass(frozen=True, slots=True, eq=False)
class LikelyCells:
    """Nearest targets up to rounding. Curator only."""

    nonprivate_labels: Labels  # (m,) the nearest target; any where it is close
    nonprivate_close: Labels  # records for which another target may be as near or nearer


def likely_cells(source: Points, targets: Points) -> LikelyCells:
    """Return the nearest of `targets` (n, d) to each of `source` (m, d), and where that is not sure."""
    columns = np.ascontiguousarray(targets.T)
    labels, close = np.empty(len(source), dtype=np.intp), np.empty(len(source), dtype=np.bool_)

    def decide(groups: list[Labels]) -> None:
        scratch = np.empty(GROUP * max(FIRST, LATER), dtype=np.float32)  # fresh memory would cost more than its use
        for rows in groups:
            labels[rows], close[rows] = _nearest(source[rows], columns, scratch)

    every = groups(source, GROUP)
    on_all_cores(decide, [every[i :: PARTS * CORES] for i in range(PARTS * CORES)])
    return LikelyCells(labels, np.flatnonzero(close))


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """A group's records x and all targets t, measured from the middle of the group's box. Curator only.

    |x - t|^2 - |x|^2 = |t|^2 - 2 x . t is the score of t. To first order single precision changes it by at most
    (2d + 8) u (R + r)^2, where |t| <= R, |x| <= r and u = 2^-24: (2d + 4) u R^2 for |t|^2 and its part of the sum,
    (2d + 6) u r R for x . t twice. The bound used is twice that.
    """

    rows: Singles  # (b, d + 1) x, and a last column of ones that lets a product add |t|^2
    norms: FloatArray  # (b,) |x|^2
    radius: float  # the largest |x|
    weights: Singles  # (d + 1, n) -2 t and |t|^2
    from_box: Singles  # (n,) never more than the squared distance of t from the box

    def error(self, some: Labels) -> float:
        """Return how far off a score of `some` targets may be."""
        farthest = float(np.sqrt(self.weights[-1].take(some).max()))
        return _rate(len(self.weights) - 1) * (farthest + self.radius) ** 2 + LEAST

    def least(self, live: Labels, some: Labels, scratch: Singles) -> "_Found":
        """Return the two least scores of `some` targets for each record of `live`."""
        scores = products(self.rows.take(live, axis=0), self.weights.take(some, axis=1), scratch)
        every, best = np.arange(len(live)), scores.argmin(axis=1)
        least = scores[every, best]
        scores[every, best] = np.inf
        second = scores[every, scores.argmin(axis=1)]  # argmin twice: several times as fast as min
        return _Found(least, second, some[best], np.full(len(live), self.error(some)))


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """The least and second least score of each record of a group, all so far."""

    least: Singles  # (b,)
    second: Singles  # (b,) infinite where there is one target only
    target: Labels  # (b,) whose the least is
    error: FloatArray  # (b,) bound on how far off each of them is

    def take(self, live: Labels, more: "_Found") -> None:
        """Take in what was found among other targets for the records `live`."""
        before, closer = self.least[live], more.least < self.least[live]
        self.second[live] = np.where(closer, np.minimum(before, more.second), np.minimum(self.second[live], more.least))
        self.least[live] = np.where(closer, more.least, before)
        self.target[live[closer]] = more.target[closer]
        self.error[live] = np.maximum(self.error[live], more.error)


def _rate(d: int) -> float:
    return (4 * d + 16) * UNIT


def _measured(records: Points, targets: FloatArray) -> _Group | None:
    """Measure `records` (b, d) and `targets` (d, n) from the records' middle; None if single precision overflows."""
    columns = records.T.copy()
    middle = (columns.min(axis=1) + columns.max(axis=1)) / 2.0
    columns -= middle[:, None]
    norms = np.einsum("ij,ij->j", columns, columns)
    radius = float(np.sqrt(norms.max()))
    rows = np.ones((len(records), len(columns) + 1), dtype=np.float32)
    rows[:, :-1] = columns.T
    weights = np.empty((len(columns) + 1, targets.shape[1]), dtype=np.float32)
    away, squares = weights[:-1], weights[-1]
    with np.errstate(over="ignore"):
        np.subtract(targets, middle[:, None], out=away, casting="same_kind")
        np.einsum("ij,ij->j", away, away, out=squares)
    if not squares.max() < FARTHEST**2:
        return None
    outside = np.abs(away)
    outside -= np.abs(columns).max(axis=1).astype(np.float32)[:, None]
    np.maximum(outside, 0.0, out=outside)
    from_box = np.einsum("ij,ij->j", outside, outside)
    from_box -= 2.0 * _rate(len(columns)) * (squares + radius**2) + LEAST  # (R + r)^2 <= 2 (R^2 + r^2)
    away *= -2.0
    return _Group(rows, norms, radius, weights, from_box)


def _nearest(records: Points, targets: FloatArray, scratch: Singles) -> tuple[Labels, NDArray[np.bool_]]:
    """Return the nearest column (b,) of `targets` (d, n) to each of `records` (b, d), and for whom that is not sure.

    A target outside of the first ones is left out only where its distance from the box exceeds what was found by more
    than both can be off, so that it is neither the nearest nor close to it.
    """
    every, group = np.arange(len(records)), _measured(records, targets)
    if group is None:
        return every, np.ones(len(records), dtype=np.bool_)
    from_box, n = group.from_box, targets.shape[1]
    first = np.argpartition(from_box, FIRST)[:FIRST] if n > FIRST else np.arange(n)
    found = group.least(every, first, scratch)
    from_box[first] = np.inf
    later = np.flatnonzero(from_box <= (found.least + group.norms + 4.0 * found.error).max())
    later = later[np.argsort(from_box[later])]
    live = every
    for begin in range(0, len(later), LATER):
        live = live[found.least[live] + group.norms[live] + 4.0 * found.error[live] >= from_box[later[begin]]]
        if len(live) == 0:
            break
        found.take(live, group.least(live, later[begin : begin + LATER], scratch))
    return found.target, found.second - found.least <= 4.0 * found.error
