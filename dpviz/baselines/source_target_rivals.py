"""Comparison methods for private source-target clustering. They are functions, because each has different inputs.

Cluster T ignores the source. Non-private STC uses the source itself. Private k-means publishes 100 private centers of
the whole source and uses these as the source. The paper's fourth comparison method, DP-GAN, a private generative
network, is omitted.

Private k-means over private candidates follows Balcan, Dick, Liang, Mou & Zhang, "Differentially Private Clustering in
High-Dimensional Euclidean Spaces", ICML 2017, as far as a low-dimensional source needs it.

Three parts share epsilon equally (our choice). Candidates: cubes are halved along every axis while their noisy count is
high enough. The candidates are the centers of all opened cubes; in 2 or more dimensions, a center may lie outside the
ball and is then moved into it. Local search: swaps of a center for a candidate, each drawn by the exponential
mechanism. Means: noisy sum over noisy count of each cluster. The paper's random projection is omitted, because it is
for more dimensions than the sources here have.

Our choices: a fixed number of levels instead of a number that follows from n, and a threshold at which an empty cube is
opened with probability at most GAMMA on a whole level of CUBES cubes. The paper has 20 ln(n/delta) and its authors'
program 2 ln(n), both in units of the noise.

Guarantee: epsilon-DP under adding or removing one record. In the ball of diameter 1, |s| <= 1/2, a record is in one
cube of each level, moves a swap's cost by at most 1, and counts and sums by 1 + sqrt(d)/2 in L1. The cost: records and
candidates both lie in the ball, so |s - c| <= |s| + |c| <= 1. After any swap, a record costs the minimum of its
|s - c|^2 over the centers, a number in [0, 1] that no other record changes. The cost is the sum, and one record more or
less moves it by that number. Moving candidates uses only public cubes and noisy counts: post-processing.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from dpviz.accounting import LaplaceEvent, PureEvent
from dpviz.core import (
    Ball,
    Centers,
    Event,
    FloatArray,
    Labels,
    Points,
    frozen,
    immutable,
    squared_distances,
    unit_projected,
)
from dpviz.mechanisms import exponential, laplace
from dpviz.solvers import assign, select_centers

# Section 6.
N_PRIVATE_CENTERS = 100
ABSENT = "absent: it needs a private generative network, which is not implemented"

# name -> title, in the order of every table
RIVALS: Mapping[str, str] = MappingProxyType(
    {"nonprivate": "Non-private STC", "cluster_t": "Cluster T", "private_kmeans": "Private k-means", "dp_gan": "DP-GAN"}
)

PAPER = "Balcan, Dick, Liang, Mou & Zhang, Differentially Private Clustering in High-Dimensional Euclidean Spaces"
# Halvings of the cube. Our choice.
LEVELS = 6
# Swaps of the local search. Our choice.
SWAPS = 10
# Cubes of a level for which the threshold is made. Our choice.
CUBES = 1024
GAMMA = 0.05
# Halved cubes of one level: those with the highest noisy counts. Our choice.
MOST_OPEN = 256
# Children of one level. Our choice: in 8 dimensions a cube has 256.
LARGEST_CELLS = 1 << 16


@immutable
class PrivateCenters:
    """Centers that may be published, with their events."""

    # At most as many as requested, (k, d), data units.
    centers: Centers
    events: tuple[Event, ...]


def private_candidate_kmeans(
    source: Points, ball: Ball, n_clusters: int, epsilon: float, *, rng: np.random.Generator
) -> PrivateCenters:
    """Cluster `source` (m, d), projected into the public `ball`, into at most `n_clusters` centers: epsilon-DP.

    m may be 0. Raises ValueError for n_clusters < 1 or epsilon that is not > 0.
    """
    if n_clusters < 1 or not epsilon > 0:
        raise ValueError(f"n_clusters and epsilon must be positive, got {n_clusters} and {epsilon}.")
    points, d = unit_projected(ball.to_unit(source)), ball.d
    part = epsilon / 3.0
    candidates, spent = private_candidates(points, part, rng=rng)
    events: list[Event] = list(spent)
    k = min(n_clusters, len(candidates))
    chosen = rng.choice(len(candidates), k, replace=False)
    if k < len(candidates):
        chosen = _local_search(points, candidates, chosen, part / SWAPS, rng=rng)
        events += [PureEvent(f"swap {i + 1}", part / SWAPS, bounded_range=True) for i in range(SWAPS)]
    scale = (1.0 + math.sqrt(d) / 2.0) / part
    centers = candidates[chosen]
    labels = assign(points, centers)
    exact = np.stack([np.bincount(labels, weights=w, minlength=k) for w in (np.ones(len(points)), *points.T)], axis=1)
    noisy = laplace(exact, scale=scale, rng=rng)
    events.append(LaplaceEvent("counts and sums of disjoint clusters", 1.0 + math.sqrt(d) / 2.0, scale))
    # Below this count, the candidate is the better guess.
    firm = noisy[:, 0] >= 1.0 + scale * math.log(1.0 / GAMMA)
    centers[firm] = unit_projected(noisy[firm, 1:] / noisy[firm, :1])
    return PrivateCenters(frozen(ball.from_unit(centers)), tuple(events))


def private_candidates(points: Points, epsilon: float, *, rng: np.random.Generator) -> tuple[Points, tuple[Event, ...]]:
    """Return the centers (c, d) of all opened cubes, c >= 1, in the ball, and the events of the counts: epsilon-DP.

    `points` (m, d) lie in [-1/2, 1/2]^d. A center outside |x| <= 1/2 is moved to the nearest place inside. A level's
    cubes are disjoint and fixed by the levels before it.
    """
    d = points.shape[1]
    scale = LEVELS / epsilon
    threshold = scale * math.log(CUBES / (2.0 * GAMMA)) if math.isfinite(epsilon) else 0.5
    offsets = np.stack(np.meshgrid(*[[-0.5, 0.5]] * d, indexing="ij"), axis=-1).reshape(-1, d)  # (2^d, d)
    # A point's child has one bit per axis, in the order of `offsets`.
    powers = 2 ** np.arange(d - 1, -1, -1)
    open_cubes, owner = np.zeros((1, d)), np.zeros(len(points), dtype=np.intp)
    cubes, events = [open_cubes], []
    for level in range(1, LEVELS + 1):
        events.append(LaplaceEvent(f"cubes of level {level}", 1.0, scale))
        inside = owner >= 0
        child = np.full(len(points), -1, dtype=np.intp)
        bits = ((points[inside] >= open_cubes[owner[inside]]) * powers).sum(axis=1)
        child[inside] = owner[inside] * len(offsets) + bits
        width = 0.5**level
        middles = (open_cubes[:, None, :] + width * offsets).reshape(-1, d)
        counts = np.bincount(child[inside], minlength=len(middles)).astype(np.float64)
        noisy = laplace(counts, scale=scale, rng=rng)
        most = max(1, min(MOST_OPEN, LARGEST_CELLS // len(offsets)))
        passing = np.flatnonzero(noisy >= threshold)
        passing = np.sort(passing[np.argsort(-noisy[passing], kind="stable")[:most]])
        if len(passing) == 0:
            break
        # The last entry is for index -1.
        renumbered = np.full(len(middles) + 1, -1, dtype=np.intp)
        renumbered[passing] = np.arange(len(passing))
        owner, open_cubes = renumbered[child], middles[passing]
        cubes.append(open_cubes)
    # Unreached levels also cost their share, because the end of the tree depends on the records.
    events += [LaplaceEvent(f"cubes of level {level}", 1.0, scale) for level in range(len(events) + 1, LEVELS + 1)]
    return unit_projected(np.concatenate(cubes)), tuple(events)


def _local_search(
    points: Points, candidates: Points, chosen: np.ndarray, epsilon: float, *, rng: np.random.Generator
) -> np.ndarray:
    """Swap SWAPS times, each time a center for a candidate drawn by the exponential mechanism on minus the cost."""
    squares = unit_squares(candidates, points)
    for _ in range(SWAPS):
        scores = np.full((len(candidates), len(chosen)), -np.inf)
        outside = np.setdiff1d(np.arange(len(candidates)), chosen)
        scores[outside] = -_swap_costs(squares, outside, chosen)
        place = int(exponential(scores.ravel(), epsilon=epsilon, sensitivity=1.0, rng=rng))
        chosen = chosen.copy()
        chosen[place % len(chosen)] = place // len(chosen)
    return chosen


def unit_squares(candidates: Points, points: Points) -> FloatArray:
    """Return |c - s|^2 (c, m) of candidates and points in the ball of diameter 1, at most 1 to the bit."""
    squares: FloatArray = np.minimum(squared_distances(candidates, points), 1.0)
    return squares


def _swap_costs(squares: FloatArray, outside: np.ndarray, chosen: np.ndarray) -> FloatArray:
    """Return the cost (c', k) after candidate i replaces center j, without building each solution.

    sum_x min(d1, d_i) and, for the points that j owns, min(d2, d_i) instead of min(d1, d_i).
    """
    mine = squares[chosen]  # (k, m)
    owner = mine.argmin(axis=0) if mine.shape[1] else np.empty(0, dtype=np.intp)
    if len(chosen) > 1:
        first, second = np.partition(mine, 1, axis=0)[:2]
    else:
        first, second = mine[0], np.full(mine.shape[1], np.inf)
    costs = np.empty((len(outside), len(chosen)))
    for row, candidate in enumerate(outside):
        nearest = np.minimum(first, squares[candidate])
        extra = np.minimum(second, squares[candidate]) - nearest
        costs[row] = nearest.sum() + np.bincount(owner, weights=extra, minlength=len(chosen))
    return costs


def cluster_targets(targets: Points, n_centers: int, *, solver: str = "fasterpam", rng: np.random.Generator) -> Labels:
    """Return the indices of k targets that cover the targets only, without the source."""
    return select_centers(targets, [], n_centers, solver=solver, rng=rng)


def nonprivate_stc(
    source: Points, targets: Points, n_centers: int, *, solver: str = "fasterpam", rng: np.random.Generator
) -> Labels:
    """Return the indices of k targets near the source itself: the best possible cost. Nothing is private."""
    return select_centers(targets, source, n_centers, solver=solver, rng=rng)


def private_kmeans_points(
    source: Points,
    ball: Ball,
    *,
    epsilon: float | None = None,
    rho: float | None = None,
    n_clusters: int = N_PRIVATE_CENTERS,
    rng: np.random.Generator,
) -> PrivateCenters:
    """Return private centers of the source that represent S', for a given epsilon or rho.

    Under rho-zCDP epsilon is sqrt(2 rho), because epsilon-DP is epsilon^2/2-zCDP. The paper's text has sqrt(rho / 2), a
    quarter of the budget. Raises ValueError unless exactly one budget is given.
    """
    if (epsilon is None) == (rho is None):
        raise ValueError(f"Exactly one of epsilon and rho must be given, got epsilon {epsilon} and rho {rho}.")
    budget = math.sqrt(2.0 * rho) if rho is not None else float(epsilon or 0.0)
    return private_candidate_kmeans(source, ball, n_clusters, budget, rng=rng)
