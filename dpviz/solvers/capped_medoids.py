"""k-medoids in addition to fixed centers: the selection step of source-target clustering.

Cost(T, S, T_k) = mean over x in T of min(|x - S|, |x - T_k|). With the capped dissimilarity
D'(x, y) = min(|x - y|, |x - S|), rows points and columns candidate medoids, this is the mean over x of the least
D'(x, y) over y in T_k, because a minimum of minima may be taken in any order: k-medoids, for which FasterPAM is the
field's best local search (Schubert & Rousseeuw 2021). Weights multiply the rows.

The greedy choice is the start of FasterPAM and of AkM, accelerated k-medoids (de Mathelin et al. 2022), the solver that
Schnapp & Sabato run.

Nothing here is private: it runs on released points or, on purpose, on records as a non-private reference.
"""

from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpviz.core import FloatArray, Labels, Points, algebra, as_points, compiled

SOLVERS = ("fasterpam", "akm", "greedy")
# Number of points up to which all n^2 dissimilarities are computed (36 MB). Our choice.
FULL = 3000
# Points per sample if there are more than FULL points (64 MB). Our choice.
SAMPLE = 4000
# Number of samples. The selection that is cheaper on all points wins. Our choice.
N_SAMPLES = 2
# Candidates whose dissimilarities are computed at a time, so that a block stays in the cache.
CHUNK = 16
# Candidates that the lazy greedy choice and the pruned search evaluate together. Our choice.
BLOCK = 64
# Random starts of the non-private reference, in addition to the greedy choice. Our choice.
N_STARTS = 4
# Maximum rounds of medoid updates. Our choice: they end long before.
UPDATES = 50
# Maximum passes of FasterPAM over all candidates. Our choice: it converges well before that.
MAX_SWEEPS = 100

Dissimilarities = NDArray[np.float32]  # (n, n)
Ceilings = NDArray[np.float32]  # (n,)


def cost(targets: ArrayLike, source_points: ArrayLike, centers: ArrayLike) -> float:
    """Return the mean distance of targets to the nearest source point or center.

    Parameters
    ----------
    targets
        Targets (n, d).
    source_points
        Source points (m, d) in the same unit; m may be 0.
    centers
        Centers (k, d) in the same unit; k may be 0.

    Returns
    -------
    float
        The mean, infinite without source points and centers. Curator only if `source_points` are records.

    Raises
    ------
    ValueError
        If `targets` is empty, or an array is bad.
    """
    points = _checked_targets(targets)
    d = points.shape[1]
    both = np.concatenate([_optional(source_points, d, "source_points"), _optional(centers, d, "centers")])
    return float(nearest_distance(points, both).mean())


def nearest_distance(points: Points, others: Points) -> FloatArray:
    """Return the distance (n,) of each of `points` to the nearest of `others` (m, d); infinite if m = 0."""
    if len(others) == 0:
        return np.full(len(points), np.inf)
    distances, _ = scipy.spatial.cKDTree(others).query(points, k=1)
    return np.asarray(distances)


def select_centers(
    targets: ArrayLike,
    source_points: ArrayLike,
    n_centers: int,
    *,
    weights: ArrayLike | None = None,
    solver: str = "fasterpam",
    rng: np.random.Generator,
) -> Labels:
    """Choose targets as centers, in addition to source points that cost nothing.

    Beyond FULL points, each of N_SAMPLES uniform samples of SAMPLE points selects, and the selection that is cheaper on
    all points is returned. Only the samples need `rng`.

    Parameters
    ----------
    targets
        Targets (n, d).
    source_points
        Source points (m, d); m may be 0.
    n_centers
        Number of centers k, at least 1.
    weights
        Weights (n,) of at least 0, which count a point several times.
    solver
        "fasterpam" starts from the greedy choice and swaps; "akm" improves the greedy choice by medoid updates, like de
        Mathelin et al. 2022; "greedy" stops after the greedy choice.
    rng
        Generator of the samples.

    Returns
    -------
    Labels
        Indices (min(k, n),) in `targets`, ascending and all different.

    Raises
    ------
    ValueError
        If `targets` is empty, an array is bad, `n_centers` is below 1, or the solver is unknown.
    """
    return select_several(targets, source_points, [n_centers], weights=weights, solver=solver, rng=rng)[0]


def select_several(
    targets: ArrayLike,
    source_points: ArrayLike,
    ks: Sequence[int],
    *,
    weights: ArrayLike | None = None,
    solver: str = "fasterpam",
    rng: np.random.Generator,
) -> list[Labels]:
    """Return the result of `select_centers` for several k, from one matrix and one greedy choice.

    The greedy choice of k + 1 medoids begins with that of k. Beyond FULL points each k draws its own samples.

    Parameters
    ----------
    targets
        Targets (n, d).
    source_points
        Source points (m, d); m may be 0.
    ks
        Numbers of centers.
    weights
        As for `select_centers`.
    solver
        As for `select_centers`.
    rng
        Generator of the samples.

    Returns
    -------
    list of Labels
        One selection for each k.

    Raises
    ------
    ValueError
        As in `select_centers`.
    """
    points = _checked_targets(targets)
    n, d = points.shape
    sources = _optional(source_points, d, "source_points")
    for k in ks:
        if k < 1 or k != int(k):
            raise ValueError(f"n_centers must be a whole number of at least 1, got {k}.")
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(SOLVERS)}, got {solver!r:.40}.")
    mass = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    if mass.shape != (n,) or not np.isfinite(mass).all() or (mass < 0).any():
        raise ValueError(
            f"weights must have {n} finite numbers of at least 0, one for each target, got shape {mass.shape}."
        )
    smaller = [int(k) for k in ks if k < n]
    if not smaller:
        return [np.arange(n, dtype=np.intp) for _ in ks]
    if len(sources):
        ceilings = nearest_distance(points, sources)
    else:
        # Cost of a point with no medoid. Without sources, it is a bound on every distance.
        ceilings = np.full(n, 1.0 + 2.0 * algebra.length(np.ptp(points, axis=0)))
    if n <= FULL:
        selections = iter(_select(points, ceilings, mass, smaller, solver))
    else:
        selections = (_select_from_samples(points, ceilings, mass, k, solver, rng=rng) for k in smaller)
    return [np.sort(next(selections)) if k < n else np.arange(n, dtype=np.intp) for k in ks]


def best_centers(
    targets: ArrayLike,
    source_points: ArrayLike,
    n_centers: int,
    known: Sequence[Labels] = (),
    *,
    rng: np.random.Generator,
) -> Labels:
    """Return the cheapest selection found with access to the source itself: the non-private reference.

    It runs FasterPAM from the greedy choice, from N_STARTS random selections, and from known ones. None of these is
    cheaper than the result; beyond FULL points they are updated like in AkM.

    Parameters
    ----------
    targets
        Targets (n, d).
    source_points
        Source points (m, d); m may be 0.
    n_centers
        Number of centers k, at least 1.
    known
        Known selections, (min(k, n),) each.
    rng
        Generator of random selections.

    Returns
    -------
    Labels
        Indices (min(k, n),) in `targets`.

    Raises
    ------
    ValueError
        As in `select_centers`.
    """
    tries = [select_centers(targets, source_points, n_centers, rng=rng), *known]
    points = _checked_targets(targets)
    n, k = len(points), len(tries[0])
    if k == n:
        return tries[0]
    ceilings = nearest_distance(points, _optional(source_points, points.shape[1], "source_points"))
    if n <= FULL:
        matrix = capped_dissimilarities(points, ceilings, np.ones(n))
        starts = [*(rng.choice(n, k, replace=False) for _ in range(N_STARTS)), *known]
        tries += [faster_pam(matrix, start) for start in starts]
    else:
        tries += [accelerated_medoids(points, ceilings, np.ones(n), start) for start in known]
    costs = [float(np.minimum(ceilings, nearest_distance(points, points[one])).mean()) for one in tries]
    return np.sort(tries[int(np.argmin(costs))])


def _select_from_samples(
    points: Points, ceilings: FloatArray, mass: FloatArray, k: int, solver: str, *, rng: np.random.Generator
) -> Labels:
    """Select k < n of more than FULL `points`, from uniform samples of them."""
    n = len(points)
    size = max(SAMPLE, k + 1)
    tries = []
    for _ in range(N_SAMPLES):
        rows = np.sort(rng.choice(n, min(size, n), replace=False))
        tries.append(rows[_select(points[rows], ceilings[rows], mass[rows], [k], solver)[0]])
    # A few updates on all points recover part of the loss from sampling.
    if solver != "greedy":
        tries = [accelerated_medoids(points, ceilings, mass, one) for one in tries]
    costs = [float((mass * np.minimum(ceilings, nearest_distance(points, points[one]))).sum()) for one in tries]
    return tries[int(np.argmin(costs))]


def capped_dissimilarities(points: Points, ceilings: FloatArray, weights: FloatArray) -> NDArray[np.float32]:
    """Return w_x min(|x - y|, ceiling_x) (n, n) in single precision: rows points, columns candidates.

    Single precision halves the memory and rounds by 6e-8 of a distance, far below what two selections differ by.
    A candidate's column lies together in memory, because the greedy choice and FasterPAM go through it point by point.
    """
    n, weighted = len(points), bool((weights != 1.0).any())
    columns, blocks = np.empty((n, n), dtype=np.float32), np.empty((CHUNK, n))
    for first in range(0, n, CHUNK):
        rows = slice(first, min(first + CHUNK, n))
        block = scipy.spatial.distance.cdist(points[rows], points, out=blocks[: rows.stop - first])
        np.minimum(block, ceilings, out=block)
        if weighted:
            np.multiply(block, weights, out=block)
        columns[rows] = block
    return columns.T


def _select(points: Points, ceilings: FloatArray, weights: FloatArray, ks: Sequence[int], solver: str) -> list[Labels]:
    """Select each k < n of `ks` from `points`, all dissimilarities at once."""
    matrix = capped_dissimilarities(points, ceilings, weights)
    longest = greedy_medoids(matrix, (weights * ceilings).astype(np.float32), max(ks))
    if solver == "greedy":
        return [longest[:k] for k in ks]
    if solver == "akm":
        return [accelerated_medoids(points, ceilings, weights, longest[:k]) for k in ks]
    return [faster_pam(matrix, longest[:k]) for k in ks]


def _checked_targets(targets: ArrayLike) -> Points:
    points = as_points(targets, name="targets")
    if len(points) == 0:
        raise ValueError("targets must have at least one row. Load a target set.")
    return points


def _optional(values: ArrayLike, d: int, name: str) -> Points:
    """Return points (n, d); no points if the array has size 0, whatever its shape."""
    array = np.asarray(values, dtype=np.float64)
    return np.empty((0, d)) if array.size == 0 else as_points(array, n_features=d, name=name)


def greedy_medoids(dissimilarities: Dissimilarities, ceilings: Ceilings, n_medoids: int) -> Labels:
    """Return `n_medoids` different columns, each the one that lowers the total the most; ties to the lowest index.

    `dissimilarities` (n, n), rows points and columns candidates, `ceilings` (n,) what a point costs with no medoid.
    The gain of a candidate never rises while medoids are added (the objective is submodular), so a gain of an earlier
    round is an upper bound, and only the candidates that could still win are evaluated. The choice is the same as that
    of the plain greedy method. Minoux 1978.
    """
    current = ceilings.copy()
    # Access by row is ten times as fast as access by column.
    candidates = np.ascontiguousarray(dissimilarities.T)
    bounds = _gains(candidates, None, current)
    chosen = np.empty(n_medoids, dtype=np.intp)
    for i in range(n_medoids):
        best, gain = _best_candidate(candidates, bounds, current)
        chosen[i] = best
        bounds[best] = -np.inf
        if gain > 0:
            np.minimum(current, candidates[best], out=current)
    return chosen


def accelerated_medoids(points: Points, ceilings: FloatArray, weights: FloatArray, start: Labels) -> Labels:
    """Improve the medoids `start` (k,) of `points` (n, d) by exact updates until none helps: the second part of AkM.

    A point belongs to its nearest medoid, or to none where `ceilings` (n,) is nearer; each medoid moves to the
    member with the least weighted sum of distances to the members, found by branch and bound. The cost never rises.
    """
    medoids = start.copy()
    for _ in range(UPDATES):
        distances = scipy.spatial.distance.cdist(points, points[medoids])
        owner = distances.argmin(axis=1)
        owner[distances[np.arange(len(points)), owner] >= ceilings] = -1
        before = medoids.copy()
        for cluster, medoid in enumerate(before):
            members = np.flatnonzero(owner == cluster)
            better = _cluster_medoid(points, weights, members, int(medoid))
            if better != medoid and better not in medoids:
                medoids[cluster] = better
        if np.array_equal(medoids, before):
            break
    return medoids


def _gains(candidates: Dissimilarities, rows: Labels | None, current: Ceilings) -> FloatArray:
    """Return the amount by which each of some candidates alone would lower the total.

    `candidates` (n, n) has a row for each candidate. `rows` (c,) are the candidates to evaluate; None means all. They
    are evaluated in blocks that stay in the cache.
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


def _best_candidate(candidates: Dissimilarities, bounds: FloatArray, current: Ceilings) -> tuple[int, float]:
    """Return the candidate of largest gain and that gain; lower `bounds` (n,) to the gains that were computed."""
    best, gain = -1, -np.inf
    order = np.argsort(-bounds, kind="stable")
    for first in range(0, len(order), BLOCK):
        block = order[first : first + BLOCK]
        # A candidate cannot win if its bound is below the best gain.
        block = block[bounds[block] >= gain]
        if len(block) == 0 or np.isneginf(bounds[block[0]]):
            break
        bounds[block] = np.minimum(bounds[block], _gains(candidates, block, current))
        top = block[np.flatnonzero(bounds[block] == bounds[block].max())].min()
        if bounds[top] > gain or (bounds[top] == gain and top < best):
            best, gain = int(top), float(bounds[top])
    return best, gain


def _cluster_medoid(points: Points, weights: FloatArray, members: Labels, medoid: int) -> int:
    """Return the member of least sum_x w_x |x - y|; the medoid itself if no member is better.

    Bound: with r_x = |x - medoid|, sum_x w_x |x - y| >= sum_x w_x |r_x - r_y|, which sorting gives for every y.
    """
    if len(members) == 0:
        return medoid
    inside, w = points[members], weights[members]
    radii = scipy.spatial.distance.cdist(points[medoid][None], inside)[0]
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
        sums = (scipy.spatial.distance.cdist(inside[block], inside) * w).sum(axis=1)
        winner = int(sums.argmin())
        if sums[winner] < least:
            best, least = int(members[block[winner]]), float(sums[winner])
    return best


def faster_pam(dissimilarities: Dissimilarities, start: Labels) -> Labels:
    """Return medoids (k,) whose total no exchange of one of them lowers, from `start` (k,), which are all different.

    `dissimilarities` (n, n), rows points and columns candidates, nothing below 0; the total is the sum of each row's
    least value over the medoids. The order of the candidates decides which of several local optima is the result.
    Schubert & Rousseeuw 2021, Fast and eager k-medoids clustering, algorithm 3.
    """
    medoids = start.astype(np.intp)
    # Access by candidate is ten times as fast as access by point.
    candidates = np.ascontiguousarray(dissimilarities.T)
    if len(medoids) == 1:
        return np.array([candidates.sum(axis=1, dtype=np.float64).argmin()], dtype=np.intp)
    _swap_eagerly(candidates, medoids, MAX_SWEEPS)
    return medoids


@compiled
def _swap_eagerly(candidates: NDArray[np.float32], medoids: Labels, most: int) -> None:
    """Swap each candidate that lowers the total into `medoids` at once, until a whole round has none.

    Each point keeps its nearest and second nearest medoid. The cost of removing a medoid is the sum of (second -
    nearest) over its points; a candidate changes it only at points that it is nearer to than their second nearest, so
    one pass over the points weighs the candidate against all k medoids (equation 11).
    """
    n, k = candidates.shape[1], len(medoids)
    # Positions in `medoids` of each point's nearest and second nearest medoid.
    first, second = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)
    # In double precision, because differences would otherwise be rounded.
    near, next_near = np.empty(n), np.empty(n)
    chosen = np.zeros(len(candidates), dtype=np.bool_)
    chosen[medoids] = True
    removal, change = np.zeros(k), np.empty(k)
    total = 0.0
    for i in range(n):
        _find_two_nearest(i, candidates, medoids, first, second, near, next_near)
        removal[first[i]] += next_near[i] - near[i]
        total += near[i]
    # Minimum gain of a swap. A smaller gain may come from the order of summation and could be undone, forever.
    least = 1e-10 * total
    # Number of candidates since the last swap.
    since = 0
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
                # The point has lost one of its two medoids. Any medoid may replace it.
                if first[i] == place or second[i] == place:
                    _find_two_nearest(i, candidates, medoids, first, second, near, next_near)
                elif distance < near[i]:
                    next_near[i], second[i] = near[i], first[i]
                    near[i], first[i] = distance, place
                elif distance < next_near[i]:
                    next_near[i], second[i] = distance, place
                removal[first[i]] += next_near[i] - near[i]


@compiled
def _find_two_nearest(
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
