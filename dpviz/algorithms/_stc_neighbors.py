"""Which private records are nearest to each of many public targets: matrix products leave few to measure exactly.

Records are sorted into leaves that lie together. A target's nearest leaves give a bound on the distance of its t-th
record; then each leaf is compared with those targets whose bound reaches its box, in single precision, and what
rounding does not rule out is measured in double precision. So an answer follows from the distances alone, whatever the
leaves are. Curator only.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpviz.algorithms._stc_cells import FARTHEST, LEAST, UNIT
from dpviz.algorithms._stc_groups import STACK, Singles, groups, on_all_cores, products
from dpviz.core import FloatArray, Labels, Points

Number = TypeVar("Number", bound=np.generic)

LEAF = 512  # most records of a leaf; ours, by measurement, as all that follow
NEAREST = 4  # leaves that a target's first bound is taken from, at least
SHARE = 2560  # targets looked at together
TOGETHER = 64  # targets of a group that lies together
ROWS = 256  # targets whose candidates are sorted at a time; they stay in the cache
CROWDED = 8  # candidates for each place from which on a search tree is better: many records are equally far
DOUBLE = 2.0**-53  # rounding of double precision, relative


@dataclass(frozen=True, slots=True, eq=False)
class LikelyNeighbors:
    """The nearest records of each target, nearest first. Curator only."""

    nonprivate_distances: FloatArray  # (r, t)
    nonprivate_records: Labels  # (r, t)
    nonprivate_unsure: Labels  # targets that nothing was found for


def likely_neighbors(source: Points, targets: Points, t: int) -> LikelyNeighbors:
    """Return the t <= m nearest of `source` (m, d) to each of `targets` (r, d), and where too many are equally far."""
    distances, records = np.empty((len(targets), t)), np.empty((len(targets), t), dtype=np.intp)
    unsure = np.ones(len(targets), dtype=np.bool_)
    leaves = _leaves(source, targets)
    if leaves is not None:
        rows = np.concatenate(groups(targets, TOGETHER))

        def search(share: Labels) -> None:
            for found in _found(leaves, targets[share], t):
                at = share[found.targets]
                distances[at], records[at], unsure[at] = found.nonprivate_distances, found.nonprivate_records, False

        on_all_cores(search, np.array_split(rows, -(-len(rows) // SHARE)))
    return LikelyNeighbors(distances, records, np.flatnonzero(unsure))


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """The nearest records of some targets of a share. Curator only."""

    targets: Labels  # (b,)
    nonprivate_distances: FloatArray  # (b, t)
    nonprivate_records: Labels  # (b, t)


@dataclass(frozen=True, slots=True, eq=False)
class _Leaves:
    """Records s in the order of their leaves, which have middles c; a target is x. Curator only.

    |x - s|^2 = |x - c|^2 + score, score = |s - c|^2 + 2 c . (s - c) - 2 x . (s - c). With |x|, |c| <= R and
    |s - c| <= q single precision changes a score to first order by at most (d + 4) u (4 R q + q^2), u = 2^-24. Twice
    that is the error of a leaf, and what double precision loses of |x - c|^2 is added.
    """

    order: Labels  # (m,) which record is at each place
    first: Labels  # (l + 1,) place of each leaf's first record
    columns: FloatArray  # (d, m) s
    weights: Singles  # (d + 1, m) -2 (s - c), and |s - c|^2 + 2 c . (s - c)
    middles: FloatArray  # (d, l) c
    halves: Singles  # (d, l) half the sides of each leaf's box, and more than rounding can add
    reaches: FloatArray  # (l,) q
    errors: FloatArray  # (l,)


def _leaves(source: Points, targets: Points) -> _Leaves | None:
    """Sort the records into leaves; None where single precision overflows."""
    parts, d = groups(source, LEAF), source.shape[1]
    order, sizes = np.concatenate(parts), np.array([len(part) for part in parts])
    first = np.concatenate([[0], np.cumsum(sizes)])
    columns = source.T.take(order, axis=1)
    low, high = (each.reduceat(columns, first[:-1], axis=1) for each in (np.minimum, np.maximum))
    middles = (low + high) / 2.0
    radius = np.sqrt(max(np.einsum("ij,ij->j", each, each).max() for each in (columns, middles, targets.T)))
    if not radius < FARTHEST:
        return None
    weights = np.empty((d + 1, len(source)), dtype=np.float32)
    reaches = np.empty(len(sizes))
    for leaf, middle in enumerate(middles.T):
        some = slice(first[leaf], first[leaf + 1])
        away = columns[:, some] - middle[:, None]
        squares = np.einsum("ij,ij->j", away, away)
        reaches[leaf] = np.sqrt(squares.max())
        np.multiply(away, -2.0, out=weights[:d, some], casting="same_kind")
        np.add(squares, 2.0 * (middle @ away), out=weights[d, some], casting="same_kind")
    errors = 2.0 * (d + 4) * (UNIT * (4.0 * radius + reaches) * reaches + 8.0 * DOUBLE * radius**2) + LEAST
    halves = ((high - low) / 2.0 + 8.0 * UNIT * radius).astype(np.float32)
    return _Leaves(order, first, columns, weights, middles, halves, reaches, errors)


def _found(leaves: _Leaves, targets: Points, t: int) -> Iterator[_Found]:
    """Yield the t nearest records of `targets` (n, d), ROWS of them at a time, without those that are unsure."""
    n, d = targets.shape
    rows = np.ones((n, d + 1), dtype=np.float32)
    rows[:, :d] = targets
    away = (-2.0 * leaves.middles.T) @ targets.T  # (l, n), and then |x - c|^2
    away += np.einsum("ij,ij->j", leaves.middles, leaves.middles)[:, None]
    away += np.einsum("ij,ij->i", targets, targets)
    limits = np.maximum(_limits(leaves, rows, away, t), 0.0)
    found = _candidates(leaves, rows, away, limits, CROWDED * t * n)
    if found is None:
        return
    owners, places = found
    places = places.take(np.argsort(owners, kind="stable"))  # of few bits: sorted by counting
    counts = np.bincount(owners, minlength=n)
    ends = np.cumsum(counts)
    few = np.flatnonzero(counts <= CROWDED * t)
    for begin in range(0, len(few), ROWS):
        block = few[begin : begin + ROWS]
        some = np.concatenate([places[ends[row] - counts[row] : ends[row]] for row in block]).astype(np.intp)
        distances, nearest = measured(leaves.columns, targets[block], counts[block], some, t)
        yield _Found(block, distances, leaves.order.take(nearest))


def _limits(leaves: _Leaves, rows: Singles, away: FloatArray, t: int) -> FloatArray:
    """Return for each target a bound (n,) on the squared distance of its t-th record, by the leaves nearest to it."""
    n, sizes = len(rows), np.diff(leaves.first)
    width, count = int(sizes.max()), min(len(sizes), max(NEAREST, -(-2 * t // int(sizes.min()))))
    near = np.argpartition(away.T.astype(np.float32, order="C"), count - 1, axis=1)[:, :count]
    scores = np.full((n, count, width), np.inf, dtype=np.float32)
    scratch = np.empty((n + STACK) * width, dtype=np.float32)
    by_leaf = np.argsort(near.ravel(), kind="stable")
    asked = np.bincount(near.ravel(), minlength=len(sizes))
    for leaf, some in enumerate(np.split(by_leaf, np.cumsum(asked)[:-1])):
        if len(some):
            target, slot = np.divmod(some, count)
            weights = leaves.weights[:, leaves.first[leaf] : leaves.first[leaf + 1]]
            made = products(rows.take(target, axis=0), weights, scratch)
            made += away[leaf].take(target).astype(np.float32)[:, None]
            scores[target, slot, : made.shape[1]] = made
    least: FloatArray = np.partition(scores.reshape(n, -1), t - 1, axis=1)[:, t - 1].astype(np.float64)
    return np.asarray(least * (1.0 + 8.0 * UNIT) + leaves.errors.take(near).max(axis=1))


def _candidates(
    leaves: _Leaves, rows: Singles, away: FloatArray, limits: FloatArray, most: int
) -> tuple[NDArray[np.uint16], NDArray[np.uint32]] | None:
    """Return pairs of a target and the place of a record that may be within its limit; None if they are more."""
    owners, places, total = [], [], 0
    columns, reach = rows[:, :-1].T.copy(), (limits * (1.0 + 4.0 * rows.shape[1] * UNIT) + LEAST).astype(np.float32)
    middles = leaves.middles.astype(np.float32)
    widest = (len(rows) + STACK) * int(np.diff(leaves.first).max())
    scratch, below = np.empty(widest, dtype=np.float32), np.empty(widest, dtype=np.bool_)  # fresh ones would cost more
    near = away <= np.square(np.sqrt(limits) + leaves.reaches[:, None]) + leaves.errors[:, None]
    for leaf in np.flatnonzero(near.any(axis=1)):
        begin, end = leaves.first[leaf : leaf + 2]
        asked = np.flatnonzero(near[leaf])
        gaps = columns.take(asked, axis=1)
        gaps -= middles[:, leaf, None]
        np.abs(gaps, out=gaps)
        gaps -= leaves.halves[:, leaf, None]
        np.maximum(gaps, 0.0, out=gaps)
        np.multiply(gaps, gaps, out=gaps)
        asked = asked[gaps.sum(axis=0) <= reach.take(asked)]
        if len(asked) == 0:
            continue
        room = limits.take(asked) - away[leaf].take(asked) + leaves.errors[leaf]
        room += 4.0 * UNIT * np.abs(room)
        scores = products(rows.take(asked, axis=0), leaves.weights[:, begin:end], scratch)
        out = below[: scores.size].reshape(scores.shape)
        inside = np.flatnonzero(np.less_equal(scores, room.astype(np.float32)[:, None], out=out))
        total += len(inside)
        if total > most:
            return None
        target, place = np.divmod(inside.astype(np.uint32), np.uint32(end - begin))
        owners.append(asked.astype(np.uint16).take(target))
        places.append(place + np.uint32(begin))
    return np.concatenate(owners), np.concatenate(places)


def measured(columns: FloatArray, targets: Points, counts: Labels, places: Labels, t: int) -> tuple[FloatArray, Labels]:
    """Return distances and places (b, t) of the nearest among the `counts` (b,) candidates of `targets` (b, d).

    `places` are those of one target after the other in the records' `columns` (d, m).
    """
    squares = np.zeros(len(places))
    for column, values in zip(columns, targets.T, strict=True):
        gaps = column.take(places)
        gaps -= np.repeat(values, counts)
        gaps *= gaps
        squares += gaps
    least = np.partition(_padded(squares, counts, np.inf), t - 1, axis=1)[:, t - 1]
    kept = np.flatnonzero(squares <= np.repeat(least, counts))
    counts = np.diff(np.searchsorted(kept, np.cumsum(counts)), prepend=0)
    padded, candidates = _padded(squares.take(kept), counts, np.inf), _padded(places.take(kept), counts, 0)
    chosen = np.argsort(padded, axis=1)[:, :t] + padded.shape[1] * np.arange(len(counts))[:, None]
    return np.sqrt(padded.take(chosen)), candidates.take(chosen)


def _padded(values: NDArray[Number], counts: Labels, filler: float) -> NDArray[Number]:
    """Return a row for each of `counts` (b,), of so many values and then `filler`."""
    rows = np.full((len(counts), int(counts.max())), filler, dtype=values.dtype)
    rows[np.arange(rows.shape[1]) < counts[:, None]] = values
    return rows
