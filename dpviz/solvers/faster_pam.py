"""FasterPAM: k-medoids by eager swaps. Schubert & Rousseeuw 2021, Fast and eager k-medoids clustering, algorithm 3.

Nothing here is private: it runs on what was released, or on purpose on records, as a non-private reference.
"""

import numpy as np
from numpy.typing import NDArray

from dpviz.core import FloatArray, Labels, compiled

MAX_SWEEPS = 100  # over all candidates; ours, it ends long before


def faster_pam(dissimilarities: NDArray[np.float32], start: Labels) -> Labels:
    """Return medoids (k,) whose total no exchange of one of them lowers, from `start` (k,), which are all different.

    `dissimilarities` (n, n), rows points and columns candidates, nothing below 0; the total is the sum of each row's
    least value over the medoids. The order of the candidates decides which of several local optima is found.
    """
    medoids = start.astype(np.intp)
    candidates = np.ascontiguousarray(dissimilarities.T)  # read by the candidate: ten times as fast as by the point
    if len(medoids) == 1:
        return np.array([candidates.sum(axis=1, dtype=np.float64).argmin()], dtype=np.intp)
    _swap_eagerly(candidates, medoids, MAX_SWEEPS)
    return medoids


@compiled
def _swap_eagerly(candidates: NDArray[np.float32], medoids: Labels, most: int) -> None:
    """Swap in `medoids` whatever candidate helps as soon as it is seen, until a whole round brought nothing.

    Each point keeps its nearest and second nearest medoid. What a medoid's removal costs is the sum of (second -
    nearest) over its points; a candidate changes it only at points that it is nearer to than their second nearest, so
    one pass over the points weighs the candidate against all k medoids (equation 11).
    """
    n, k = candidates.shape[1], len(medoids)
    first, second = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)  # places in `medoids`
    near, next_near = np.empty(n), np.empty(n)  # in double precision, or differences would be rounded
    chosen = np.zeros(len(candidates), dtype=np.bool_)
    chosen[medoids] = True
    removal, change = np.zeros(k), np.empty(k)
    total = 0.0
    for i in range(n):
        _look(i, candidates, medoids, first, second, near, next_near)
        removal[first[i]] += next_near[i] - near[i]
        total += near[i]
    least = 1e-10 * total  # a swap for less may come from the sums' order, and could be taken back for ever
    since = 0  # candidates since the last swap
    for _ in range(most):
        for candidate in range(len(candidates)):
            if since == len(candidates):
                return
            since += 1
            if chosen[candidate]:
                continue
            row, gain = candidates[candidate], 0.0
            change[:] = removal
            for i in range(n):
                distance = np.float64(row[i])
                if distance < near[i]:
                    gain += distance - near[i]
                    change[first[i]] += near[i] - next_near[i]
                elif distance < next_near[i]:
                    change[first[i]] += distance - next_near[i]
            place = np.argmin(change)
            if gain + change[place] >= -least:
                continue
            chosen[medoids[place]], chosen[candidate] = False, True
            medoids[place], since = candidate, 0
            removal[:] = 0.0
            for i in range(n):
                distance = np.float64(row[i])
                if first[i] == place or second[i] == place:  # what it has lost is looked for among all
                    _look(i, candidates, medoids, first, second, near, next_near)
                elif distance < near[i]:
                    next_near[i], second[i] = near[i], first[i]
                    near[i], first[i] = distance, place
                elif distance < next_near[i]:
                    next_near[i], second[i] = distance, place
                removal[first[i]] += next_near[i] - near[i]


@compiled
def _look(
    i: int,
    candidates: NDArray[np.float32],
    medoids: Labels,
    first: Labels,
    second: Labels,
    near: FloatArray,
    next_near: FloatArray,
) -> None:
    """Find the nearest and second nearest medoid of point i."""
    near[i], next_near[i] = candidates[medoids[0], i], np.inf
    first[i], second[i] = 0, -1
    for place in range(1, len(medoids)):
        distance = np.float64(candidates[medoids[place], i])
        if distance < near[i]:
            next_near[i], second[i] = near[i], first[i]
            near[i], first[i] = distance, place
        elif distance < next_near[i]:
            next_near[i], second[i] = distance, place
