"""Which of several linear scores is highest, for many records: in machine code.

A score is added up feature by feature in the order they have, so that a record's winner does not hang on how many
others there are. For nearest centers the scores are 2 c . x - |c|^2: |x|^2 does not change their order.

Winners and moments of records are exact: nothing of it may be published as it is.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Centers, FloatArray, Labels, Points, compiled

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
    return 2.0 * centers, -np.einsum("ij,ij->i", centers, centers)


@compiled
def winners(records: Points, slopes: FloatArray, offsets: FloatArray) -> Labels:
    """Return which score (n,) is highest, the first on a tie: offsets (k,) + slopes (k, F) . x for `records` (n, F)."""
    n, n_features = records.shape
    found, features = np.empty(n, dtype=np.intp), np.zeros((n_features, BLOCK))
    score, best, winner = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK, dtype=np.intp)
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        for j in range(size):
            for f in range(n_features):
                features[f, j] = records[start + j, f]
        best[:], winner[:] = -np.inf, 0
        for k in range(len(offsets)):
            score[:] = offsets[k]
            for f in range(n_features):
                slope = slopes[k, f]
                for j in range(BLOCK):
                    score[j] += slope * features[f, j]
            for j in range(BLOCK):
                better = score[j] > best[j]
                best[j], winner[j] = score[j] if better else best[j], k if better else winner[j]
        found[start : start + size] = winner[:size]
    return found


@compiled
def winners_by_boxes(
    blocks: Level,
    cells: Level,
    numbers: Labels,
    records: Points,
    slopes: FloatArray,
    offsets: FloatArray,
    margin: float,
) -> tuple[NDArray[np.uint8], FloatArray]:
    """Return the winner of each cell (m,), OPEN where its records differ, and the winners' moments (k, 2 + d).

    A score that is behind by more than `margin` all over a block, or a cell, does not win there: from the middle to a
    corner a difference of two scores changes by half a side times their slopes' difference along each axis. Only open
    cells look at their records, `numbers` in the order of cells.
    """
    k, d = slopes.shape
    changes, scores = np.zeros((k, k)), np.empty(k)
    for i in range(k):
        for j in range(k):
            for f in range(d):
                changes[i, j] += abs(slopes[i, f] - slopes[j, f])
    found, totals = np.empty(len(cells.middles), dtype=np.uint8), np.zeros((k, 2 + d))
    for block in range(len(blocks.middles)):
        sure = _sure(blocks.middles, block, blocks.half, slopes, offsets, changes, margin, scores)
        if sure != OPEN:
            _add(totals, sure, blocks.moments, block)
        for cell in range(blocks.first[block], blocks.first[block + 1]):
            found[cell] = sure
            if sure != OPEN:
                continue
            found[cell] = _sure(cells.middles, cell, cells.half, slopes, offsets, changes, margin, scores)
            if found[cell] != OPEN:
                _add(totals, found[cell], cells.moments, cell)
                continue
            for place in range(cells.first[cell], cells.first[cell + 1]):
                record = numbers[place]
                winner = _winner(records, record, slopes, offsets, scores)
                square = 0.0
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
    for i in range(len(rows)):
        labels[i] = found[cell_of[rows[i]]]
        if labels[i] == OPEN:
            labels[i] = _winner(records, rows[i], slopes, offsets, scores)
    return labels


@compiled
def _winner(records: Points, row: int, slopes: FloatArray, offsets: FloatArray, scores: FloatArray) -> int:
    """Return the first highest score at a row of `records`; write all into `scores` (k,)."""
    winner = 0
    for k in range(len(offsets)):
        score = offsets[k]
        for f in range(records.shape[1]):
            score += slopes[k, f] * records[row, f]
        scores[k] = score
        winner = k if score > scores[winner] else winner
    return winner


@compiled
def _sure(
    middles: FloatArray,
    box: int,
    half: float,
    slopes: FloatArray,
    offsets: FloatArray,
    changes: FloatArray,
    margin: float,
    scores: FloatArray,
) -> int:
    """Return the score that wins all over a box, or OPEN."""
    winner = _winner(middles, box, slopes, offsets, scores)
    for k in range(len(offsets)):
        if k != winner and not scores[winner] - scores[k] - half * changes[winner, k] > margin:
            return OPEN
    return winner


@compiled
def _add(totals: FloatArray, winner: int, moments: FloatArray, box: int) -> None:
    for column in range(totals.shape[1]):
        totals[winner, column] += moments[box, column]
