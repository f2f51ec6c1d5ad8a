"""k-medoids beside centers that are there already: the selection step of source-target clustering.

Cost(T, S, T_k) = mean over x in T of min(|x - S|, |x - T_k|). With the capped dissimilarity
D'(x, y) = min(|x - y|, |x - S|), rows points and columns candidate medoids, this is the mean over x of the least
D'(x, y) over y in T_k, because a minimum of minima may be taken in any order: k-medoids, for which FasterPAM is the
field's best local search (Schubert & Rousseeuw 2021). Weights multiply the rows.

Nothing here is private: it runs on what was released, or on purpose on records, as a non-private reference.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from dpviz.core import FloatArray, Labels, Points, algebra, as_points
from dpviz.solvers.faster_pam import faster_pam
from dpviz.solvers.medoid_starts import accelerated_medoids, greedy_medoids

SOLVERS = ("fasterpam", "akm", "greedy")
FULL = 3000  # points up to which all n^2 dissimilarities are held: 36 MB; ours
SAMPLE = 4000  # points of one sample beyond that: 64 MB; ours
N_SAMPLES = 2  # the cheaper selection on all points wins; ours
CHUNK = 16  # candidates whose dissimilarities are made at a time, so that a block stays in the cache


def cost(targets: ArrayLike, source_points: ArrayLike, centers: ArrayLike) -> float:
    """Return mean over x of `targets` (n, d) of the distance to the nearest of both other sets; infinite with neither.

    `source_points` (m, d) and `centers` (k, d) may be empty; all are in one unit. Raises ValueError for empty targets
    and bad arrays. Curator only where `source_points` are records.
    """
    points = _checked_targets(targets)
    given = ((source_points, "source_points"), (centers, "centers"))
    known = np.concatenate([_optional(values, points.shape[1], name) for values, name in given])
    return float(nearest_distance(points, known).mean())


def nearest_distance(points: Points, others: Points) -> FloatArray:
    """Return the distance (n,) of each of `points` to the nearest of `others` (m, d); infinite where m = 0."""
    if len(others) == 0:
        return np.full(len(points), np.inf)
    distances, _ = cKDTree(others).query(points, k=1)
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
    """Return the indices (min(k, n),) of T_k in `targets` (n, d), ascending and all different.

    `source_points` (m, d) cost nothing and may be none; `weights` (n,) >= 0 count a point several times. "fasterpam"
    starts from the greedy choice and swaps; "akm" improves the greedy choice by medoid updates, as de Mathelin et al.
    2022 do; "greedy" stops there. Beyond FULL points each of N_SAMPLES uniform samples of SAMPLE points selects, and
    the selection that is cheaper on all points is returned. Only the samples need `rng`.
    Raises ValueError for empty targets, bad arrays, n_centers < 1 and an unknown solver.
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
    """Return what `select_centers` does for each k of `ks`, with one matrix and one greedy choice for all of them.

    The greedy choice of k medoids begins the one of k + 1. Beyond FULL points each k draws its own samples.
    Raises ValueError as `select_centers` does.
    """
    points = _checked_targets(targets)
    n, d = points.shape
    sources = _optional(source_points, d, "source_points")
    for k in ks:
        if k < 1 or k != int(k):
            raise ValueError(f"n_centers was {k}, but it must be a whole number >= 1.")
    if solver not in SOLVERS:
        raise ValueError(f"solver was {solver!r:.40}, but it must be one of {', '.join(SOLVERS)}.")
    mass = _checked_weights(weights, n)
    smaller = [int(k) for k in ks if k < n]
    ceilings = _ceilings(points, sources) if smaller else np.empty(0)
    if n <= FULL:
        chosen = iter(_selected(points, ceilings, mass, smaller, solver) if smaller else ())
    else:
        chosen = (_from_samples(points, ceilings, mass, k, solver, rng=rng) for k in smaller)
    return [np.sort(next(chosen)) if k < n else np.arange(n, dtype=np.intp) for k in ks]


def _from_samples(
    points: Points, ceilings: FloatArray, mass: FloatArray, k: int, solver: str, *, rng: np.random.Generator
) -> Labels:
    """Select k < n of more than FULL `points`, from uniform samples of them."""
    n = len(points)
    size = max(SAMPLE, k + 1)
    tries = []
    for _ in range(N_SAMPLES):
        rows = np.sort(rng.choice(n, min(size, n), replace=False))
        tries.append(rows[_selected(points[rows], ceilings[rows], mass[rows], [k], solver)[0]])
    if solver != "greedy":  # a few updates on all points win back part of what a sample loses
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
        block = cdist(points[rows], points, out=blocks[: rows.stop - first])
        np.minimum(block, ceilings, out=block)
        if weighted:
            np.multiply(block, weights, out=block)
        columns[rows] = block
    return columns.T


def _selected(
    points: Points, ceilings: FloatArray, weights: FloatArray, ks: Sequence[int], solver: str
) -> list[Labels]:
    """Select each k < n of `ks` from `points`, all dissimilarities at once."""
    matrix = capped_dissimilarities(points, ceilings, weights)
    longest = greedy_medoids(matrix, (weights * ceilings).astype(np.float32), max(ks))
    if solver == "greedy":
        return [longest[:k] for k in ks]
    if solver == "akm":
        return [accelerated_medoids(points, ceilings, weights, longest[:k]) for k in ks]
    return [faster_pam(matrix, longest[:k]) for k in ks]


def _ceilings(points: Points, sources: Points) -> FloatArray:
    """Return what a point costs with no medoid (n,): the nearest source, or with none a bound on every distance."""
    if len(sources):
        return nearest_distance(points, sources)
    reach = algebra.length(np.ptp(points, axis=0))
    return np.full(len(points), 1.0 + 2.0 * reach)


def _checked_targets(targets: ArrayLike) -> Points:
    points = as_points(targets, name="targets")
    if len(points) == 0:
        raise ValueError("targets had no rows, but there must be at least one point to cover. Load a target set.")
    return points


def _optional(values: ArrayLike, d: int, name: str) -> Points:
    """Return points that may be none, given in any shape of size 0."""
    array = np.asarray(values, dtype=np.float64)
    return np.empty((0, d)) if array.size == 0 else as_points(array, n_features=d, name=name)


def _checked_weights(weights: ArrayLike | None, n: int) -> FloatArray:
    if weights is None:
        return np.ones(n)
    mass = np.asarray(weights, dtype=np.float64)
    if mass.shape != (n,) or not np.isfinite(mass).all() or (mass < 0).any():
        raise ValueError(f"weights had shape {mass.shape}, but there must be {n} finite numbers >= 0, one a target.")
    return mass
