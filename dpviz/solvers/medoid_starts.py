"""Medoids under a cap by greedy choice and by updates: the start of FasterPAM and the published comparator, AkM.

Every function takes the capped dissimilarities of `capped_medoids` or the points that they are made of.
AkM, accelerated k-medoids, is the solver that Schnapp & Sabato run: de Mathelin et al. 2022.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from dpviz.core import FloatArray, Labels, Points

Dissimilarities = NDArray[np.float32]  # (n, n)
Ceilings = NDArray[np.float32]  # (n,)
BLOCK = 64  # candidates looked at together by the lazy greedy choice and by the pruned search; ours
UPDATES = 50  # most rounds of medoid updates; ours, they end long before


def greedy_medoids(dissimilarities: Dissimilarities, ceilings: Ceilings, n_medoids: int) -> Labels:
    """Return `n_medoids` different columns, each the one that lowers the total the most; ties to the lowest index.

    `dissimilarities` (n, n), rows points and columns candidates, `ceilings` (n,) what a point costs with no medoid.
    The gain of a candidate never rises while medoids are added (the objective is submodular), so a gain of an earlier
    round is an upper bound and only the candidates that could still win are looked at: the choice is the plain
    greedy one. Minoux 1978.
    """
    current = ceilings.copy()
    candidates = np.ascontiguousarray(dissimilarities.T)  # read by the row: ten times as fast as by the column
    bounds = _gains(candidates, None, current)
    chosen = np.empty(n_medoids, dtype=np.intp)
    for i in range(n_medoids):
        best, gain = _winner(candidates, bounds, current)
        chosen[i] = best
        bounds[best] = -np.inf
        if gain > 0:
            np.minimum(current, candidates[best], out=current)
    return chosen


def accelerated_medoids(
    points: Points, ceilings: FloatArray, weights: FloatArray, start: Labels, *, most: int = UPDATES
) -> Labels:
    """Improve the medoids `start` (k,) of `points` (n, d) by exact updates until none helps: the second part of AkM.

    A point belongs to its nearest medoid, or to nobody where `ceilings` (n,) is nearer; each medoid moves to the
    member with the least weighted sum of distances to the members, found by branch and bound. The cost never rises.
    """
    medoids = start.copy()
    for _ in range(most):
        distances = cdist(points, points[medoids])
        owner = distances.argmin(axis=1)
        owner[distances[np.arange(len(points)), owner] >= ceilings] = -1
        moved = False
        for cluster, medoid in enumerate(medoids.copy()):
            members = np.flatnonzero(owner == cluster)
            found = _cluster_medoid(points, weights, members, int(medoid))
            if found != medoid and found not in medoids:
                medoids[cluster], moved = found, True
        if not moved:
            break
    return medoids


def _gains(candidates: Dissimilarities, rows: Labels | None, current: Ceilings) -> FloatArray:
    """Return by how much each of some candidates alone would lower the total, blocks that stay in the cache at a time.

    `candidates` (n, n) has a row for each candidate, `rows` (c,) says which are looked at, None all.
    """
    n = len(candidates) if rows is None else len(rows)
    total, gains = np.empty(n), np.empty((BLOCK, len(current)), dtype=np.float32)
    for first in range(0, n, BLOCK):
        block = slice(first, min(first + BLOCK, n))
        part = gains[: block.stop - first]
        np.subtract(current, candidates[block if rows is None else rows[block]], out=part)
        np.maximum(part, 0.0, out=part)
        part.sum(axis=1, dtype=np.float64, out=total[block])
    return total


def _winner(candidates: Dissimilarities, bounds: FloatArray, current: Ceilings) -> tuple[int, float]:
    """Return the candidate of largest gain and that gain; lower `bounds` (n,) to what was learned on the way."""
    best, gain = -1, -np.inf
    order = np.argsort(-bounds, kind="stable")
    for first in range(0, len(order), BLOCK):
        block = order[first : first + BLOCK]
        block = block[bounds[block] >= gain]  # a bound below the best gain cannot win
        if len(block) == 0 or np.isneginf(bounds[block[0]]):
            break
        bounds[block] = np.minimum(bounds[block], _gains(candidates, block, current))
        top = block[np.flatnonzero(bounds[block] == bounds[block].max())].min()
        if bounds[top] > gain or (bounds[top] == gain and top < best):
            best, gain = int(top), float(bounds[top])
    return best, gain


def _cluster_medoid(points: Points, weights: FloatArray, members: Labels, medoid: int) -> int:
    """Return the member of least sum_x w_x |x - y|; the medoid itself where no member is better.

    Bound: with r_x = |x - medoid|, sum_x w_x |x - y| >= sum_x w_x |r_x - r_y|, which sorting gives for every y.
    """
    if len(members) == 0:
        return medoid
    inside, w = points[members], weights[members]
    radii = cdist(points[medoid][None], inside)[0]
    best, least = medoid, float((w * radii).sum())
    order = np.argsort(radii, kind="stable")
    r, mass, moment = radii[order], np.cumsum(w[order]), np.cumsum(w[order] * radii[order])
    lower = np.empty(len(members))
    lower[order] = r * mass - moment + (moment[-1] - moment) - r * (mass[-1] - mass)
    queue = np.argsort(lower, kind="stable")
    for first in range(0, len(queue), BLOCK):
        block = queue[first : first + BLOCK]
        if lower[block[0]] >= least:
            break
        sums = (cdist(inside[block], inside) * w).sum(axis=1)
        winner = int(sums.argmin())
        if sums[winner] < least:
            best, least = int(members[block[winner]]), float(sums[winner])
    return best
