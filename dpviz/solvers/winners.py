"""Which of several linear scores is highest, for many records: in machine code.

A score is offset + slope_1 x_1 + slope_2 x_2 + ..., added up in this order wherever it is needed, and of equal scores
the first wins. So a record's winner does not depend on how many others there are, on their order, or on who asks. For
nearest centers the scores are 2 c . x - |c|^2: |x|^2 does not change their order.

Winners and moments of records are exact: nothing of it may be published as it is.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Centers, FloatArray, Labels, Points, compiled, squared_norms

BLOCK = 64  # records side by side: what is kept of them stays in the cache
OPEN = 255  # no center's number: there may be several


class Level(NamedTuple):
    """Boxes of one size that hold records, in the order of the boxes around them."""

    middles: FloatArray  # (m, d)
    half: float  # of a box's side
    moments: FloatArray  # (m, 2 + d) of each one's records: their number, sum of |x|^2, and sums by coordinate
    first: Labels  # (m + 1,) where each one's parts begin: boxes of the next size, or records


def nearness(centers: Centers) -> tuple[FloatArray, FloatArray]:
    """Return slopes (k, d) and offsets (k,) of scores that are highest for the nearest center."""
    return 2.0 * centers, -squared_norms(centers)


@compiled
def winners(records: Points, slopes: FloatArray, offsets: FloatArray) -> Labels:
    """Return which score (n,) is highest, the first on a tie: offsets (k,) + slopes (k, F) . x for `records` (n, F)."""
    n, n_features = records.shape
    found, features = np.empty(n, dtype=np.intp), np.zeros((n_features, BLOCK))
    score, best, winner = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK, dtype=np.intp)
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        _side_by_side(records[start : start + size], features)
        best[:], winner[:] = -np.inf, 0
        for k in range(len(offsets)):
            _add_up(features, slopes[k], offsets[k], score)
            for j in range(BLOCK):
                better = score[j] > best[j]
                best[j], winner[j] = score[j] if better else best[j], k if better else winner[j]
        found[start : start + size] = winner[:size]
    return found


@compiled
def scores(records: Points, slopes: FloatArray, offsets: FloatArray) -> FloatArray:
    """Return the scores (n, k) that `winners` compares."""
    n, n_features = records.shape
    found, features, score = np.empty((n, len(offsets))), np.zeros((n_features, BLOCK)), np.empty(BLOCK)
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        _side_by_side(records[start : start + size], features)
        for k in range(len(offsets)):
            _add_up(features, slopes[k], offsets[k], score)
            found[start : start + size, k] = score[:size]
    return found


@compiled
def _side_by_side(records: Points, features: FloatArray) -> None:
    """Write up to BLOCK records as columns of `features` (F, BLOCK)."""
    for f in range(len(features)):
        for j in range(len(records)):
            features[f, j] = records[j, f]


@compiled
def _add_up(features: FloatArray, slopes: FloatArray, offset: float, score: FloatArray) -> None:
    """Write one score of BLOCK records. Four features a pass: the order is the same, but less is read and written."""
    n_features, f = len(slopes), 0
    if n_features == 1:
        x, a = features[0], slopes[0]
        for j in range(BLOCK):
            score[j] = offset + a * x[j]
        return
    if n_features == 3:
        x, y, z, a, b, c = features[0], features[1], features[2], slopes[0], slopes[1], slopes[2]
        for j in range(BLOCK):
            score[j] = offset + a * x[j] + b * y[j] + c * z[j]
        return
    x, y, a, b = features[0], features[1], slopes[0], slopes[1]
    for j in range(BLOCK):
        score[j] = offset + a * x[j] + b * y[j]
    f = 2
    while f + 4 <= n_features:
        a, b, c, d = slopes[f], slopes[f + 1], slopes[f + 2], slopes[f + 3]
        x, y, z, w = features[f], features[f + 1], features[f + 2], features[f + 3]
        for j in range(BLOCK):
            score[j] = score[j] + a * x[j] + b * y[j] + c * z[j] + d * w[j]
        f += 4
    while f < n_features:
        x, a = features[f], slopes[f]
        for j in range(BLOCK):
            score[j] += a * x[j]
        f += 1


@compiled
def winners_by_boxes(
    blocks: Level, cells: Level, records: Points, slopes: FloatArray, offsets: FloatArray, margin: float
) -> tuple[NDArray[np.uint8], FloatArray]:
    """Return the winner of each cell (m,), OPEN where its records differ, and the winners' moments (k, 2 + d).

    A score that is behind by more than `margin` all over a block, or a cell, does not win there: from the middle to a
    corner a difference of two scores changes by half a side times their slopes' difference along each axis. Only the
    others are looked at within, and only in open cells every record: `records` are in the order of their cells.
    """
    k, d = slopes.shape
    changes, scores = np.zeros((k, k)), np.empty(k)
    for i in range(k):
        for j in range(k):
            for f in range(d):
                changes[i, j] += abs(slopes[i, f] - slopes[j, f])
    found, totals = np.empty(len(cells.middles), dtype=np.uint8), np.zeros((k, 2 + d))
    every, near, nearer = np.arange(k), np.empty(k, dtype=np.intp), np.empty(k, dtype=np.intp)
    for block in range(len(blocks.middles)):
        _scored(blocks.middles, block, every, slopes, offsets, scores)
        n_near = _left(every, scores, blocks.half, changes, margin, near)
        if n_near == 1:
            _add(totals, near[0], blocks.moments, block)
        for cell in range(blocks.first[block], blocks.first[block + 1]):
            if n_near == 1:
                found[cell] = near[0]
                continue
            _scored(cells.middles, cell, near[:n_near], slopes, offsets, scores)
            n_nearer = _left(near[:n_near], scores, cells.half, changes, margin, nearer)
            if n_nearer == 1:
                found[cell] = nearer[0]
                _add(totals, nearer[0], cells.moments, cell)
                continue
            found[cell] = OPEN
            for record in range(cells.first[cell], cells.first[cell + 1]):
                winner, best, square = 0, -np.inf, 0.0
                for j in range(n_nearer):
                    i = nearer[j]
                    score = offsets[i]
                    for f in range(d):
                        score += slopes[i, f] * records[record, f]
                    if score > best:
                        winner, best = i, score
                for f in range(d):
                    square += records[record, f] * records[record, f]
                    totals[winner, 2 + f] += records[record, f]
                totals[winner, 0] += 1.0
                totals[winner, 1] += square
    return found, totals


@compiled
def winners_of_some(
    found: NDArray[np.uint8],
    cell_of: NDArray[np.integer],
    rows: Labels,
    records: Points,
    slopes: FloatArray,
    offsets: FloatArray,
) -> NDArray[np.uint8]:
    """Return the winners (r,) of `rows` of the records: their cells', and alone where those are open."""
    labels, scores = np.empty(len(rows), dtype=np.uint8), np.empty(len(offsets))
    every = np.arange(len(offsets))
    for i in range(len(rows)):
        labels[i] = found[cell_of[rows[i]]]
        if labels[i] == OPEN:
            _scored(records, rows[i], every, slopes, offsets, scores)
            labels[i] = _highest(every, scores)
    return labels


@compiled
def _scored(
    records: Points, row: int, some: Labels, slopes: FloatArray, offsets: FloatArray, scores: FloatArray
) -> None:
    """Write the scores of `some` at a row of `records` into `scores`, (k,) of all."""
    for i in some:
        score = offsets[i]
        for f in range(records.shape[1]):
            score += slopes[i, f] * records[row, f]
        scores[i] = score


@compiled
def _highest(some: Labels, scores: FloatArray) -> int:
    """Return the place among `some` of the first highest score."""
    highest = 0
    for j in range(1, len(some)):
        if scores[some[j]] > scores[some[highest]]:
            highest = j
    return highest


@compiled
def _left(some: Labels, scores: FloatArray, half: float, changes: FloatArray, margin: float, left: Labels) -> int:
    """Write into `left` which of `some` may win in a box with these scores in its middle; return how many."""
    best, n_left = some[_highest(some, scores)], 0
    for i in some:
        if i == best or not scores[best] - scores[i] - half * changes[best, i] > margin:
            left[n_left] = i
            n_left += 1
    return n_left


@compiled
def _add(totals: FloatArray, winner: int, moments: FloatArray, box: int) -> None:
    for column in range(totals.shape[1]):
        totals[winner, column] += moments[box, column]
