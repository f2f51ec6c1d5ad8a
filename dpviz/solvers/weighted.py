"""Weighted k-means on the cells of a grid: public weights in, centers out. It sees no record."""

import math
from dataclasses import dataclass

import numpy as np

from dpviz.core import Centers, Counts, FloatArray, Points, compiled
from dpviz.solvers.lloyd import assign
from dpviz.solvers.moments import label_moments

MARGIN = 1.0  # standard errors by which the kept cells may pass the noisy number of records; ours, by measurement
KEPT = 4  # starts that go on after one iteration; ours
EXPLORE = 3  # iterations of those before the best one goes on alone; ours
POLISH = 30  # most iterations after that; ours
TOLERANCE = 1e-4  # relative gain of an iteration below which it stops: far below what the noise moves; ours


@dataclass(frozen=True, slots=True, eq=False)
class WeightedPath:
    """One run of Lloyd's algorithm, from its start to its end."""

    centers: tuple[Centers, ...]  # T + 1 of (k, d)
    costs: tuple[float, ...]  # T + 1, sum_j w_j |x_j - nearest center|^2


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    places: Points  # (m, d)
    masses: FloatArray  # (m, 1 + d) w_j, then w_j x_j for each axis
    squares: float  # sum_j w_j |x_j|^2


@dataclass(frozen=True, slots=True, eq=False)
class _KMeansRun:
    """A path that may go on."""

    centers: tuple[Centers, ...]
    costs: tuple[float, ...]
    sums: FloatArray  # (k, 1 + d) of the last centers: the weight of each cluster, then its weighted sum by axis


def weighted_kmeans(
    places: Points, weights: FloatArray, starts: tuple[Centers, ...], *, tolerance: float = TOLERANCE
) -> WeightedPath:
    """Run Lloyd's algorithm on `places` (m, d) with `weights` (m,) > 0 from each start and return the best run.

    Every start gets one iteration, the KEPT cheapest get EXPLORE more, the one of least cost goes on, at most POLISH
    more. An empty cluster stays.
    """
    norms = np.einsum("ij,ij->i", places, places)
    cells = _Cells(places, np.column_stack([weights, weights[:, None] * places]), float((weights * norms).sum()))
    runs = [_onward(cells, _begun(cells, start), 1, tolerance) for start in starts]
    runs.sort(key=_last_cost)  # stable: of two equal ones the earlier start goes on
    explored = [_onward(cells, run, EXPLORE, tolerance) for run in runs[:KEPT]]
    best = _onward(cells, min(explored, key=_last_cost), POLISH, tolerance)
    return WeightedPath(best.centers, best.costs)


def spread_start(places: Points, weights: FloatArray, spare: Centers, *, rng: np.random.Generator) -> Centers:
    """Draw k of the places, each with probability ~ w |x - nearest already drawn|^2 (Arthur & Vassilvitskii 2007).

    When every weighted place is taken, the centers that are left are those of `spare` (k, d): two on one place would
    do no more than one.
    """
    chosen = spare.copy()
    mass, nearest = np.cumsum(weights), np.full(len(places), np.inf)
    for i in range(len(spare)):
        if not mass[-1] > 0:
            break
        place = int(np.searchsorted(mass, rng.random() * mass[-1], side="right"))
        chosen[i] = places[min(place, len(places) - 1)]
        _come_nearer(places, weights, chosen[i], nearest, mass)
    return chosen


@compiled
def _come_nearer(
    places: Points, weights: FloatArray, center: FloatArray, nearest: FloatArray, mass: FloatArray
) -> None:
    """Lower the squared distances `nearest` (m,) to what they are to one more center; add up w nearest in `mass`."""
    for i in range(len(places)):
        square = 0.0
        for f in range(len(center)):
            square += (places[i, f] - center[f]) ** 2
        nearest[i] = min(nearest[i], square)
    total = 0.0
    for i in range(len(places)):
        total += weights[i] * nearest[i]
        mass[i] = total


def exchanged(
    places: Points, weights: FloatArray, start: Centers, n_tries: int, *, rng: np.random.Generator
) -> Centers:
    """Improve `start` (k, d) by exchanges of a center for a place (Lattanzi & Sohler 2019, algorithm LS++).

    A place is drawn with probability ~ w |x - nearest center|^2; where it lowers the cost, it takes the place of the
    center that is missed least. Two round clusters that share a center get one each, which Lloyd's moves never do.
    """
    centers = start.copy()
    _exchange(places, weights, centers, rng.random(n_tries))
    return centers


@compiled
def _exchange(places: Points, weights: FloatArray, centers: Centers, draws: FloatArray) -> None:
    """Try one exchange for each of `draws` in [0, 1), in place."""
    m, k = len(places), len(centers)
    first, second = np.full(m, np.inf), np.full(m, np.inf)  # squared distances to the two nearest centers
    owner, heir = np.zeros(m, np.intp), np.zeros(m, np.intp)  # which they are
    mass, offer, loss = np.empty(m), np.empty(m), np.empty(k)
    stale = np.full(m, True)
    for draw in draws:
        total = 0.0
        for i in range(m):
            if stale[i]:
                first[i], second[i] = np.inf, np.inf
                for c in range(k):
                    square = 0.0
                    for f in range(centers.shape[1]):
                        square += (places[i, f] - centers[c, f]) ** 2
                    if square < first[i]:
                        second[i], heir[i] = first[i], owner[i]
                        first[i], owner[i] = square, c
                    elif square < second[i]:
                        second[i], heir[i] = square, c
                stale[i] = False
            total += weights[i] * first[i]
            mass[i] = total
        if not total > 0:
            return
        drawn = min(np.searchsorted(mass, draw * total, side="right"), m - 1)
        gain = 0.0
        loss[:] = 0.0
        for i in range(m):
            square = 0.0
            for f in range(centers.shape[1]):
                square += (places[i, f] - places[drawn, f]) ** 2
            offer[i] = square
            nearer = min(first[i], square)
            gain += weights[i] * (first[i] - nearer)
            loss[owner[i]] += weights[i] * (min(second[i], square) - nearer)
        missed = np.argmin(loss)
        if gain <= loss[missed]:
            continue
        centers[missed] = places[drawn]
        for i in range(m):
            if owner[i] == missed or heir[i] == missed:
                stale[i] = True
            elif offer[i] < first[i]:
                second[i], heir[i] = first[i], owner[i]
                first[i], owner[i] = offer[i], missed
            elif offer[i] < second[i]:
                second[i], heir[i] = offer[i], missed


def heaviest(noisy: Counts, n_clusters: int, *, scale: float) -> Counts:
    """Keep the largest of `noisy` (m,) until they add up to the number of records, and set the others to 0.

    `scale` is that of their Laplace noise. In an empty cell the noise is positive half of the time, so the positive
    cells together hold far more than the records, spread over empty space. All cells together, negative ones too, do
    not lean: their sum is the number of records with a standard error of scale sqrt(2 m). What is kept reaches that
    sum and MARGIN standard errors more, and is no fewer cells than clusters where so many are positive: a sum that
    happens to be low shall not empty a small grid. Post-processing; without noise it keeps exactly what holds a record.
    """
    falling = np.sort(noisy)[::-1]
    held = np.cumsum(np.maximum(falling, 0.0))
    wanted = max(float(noisy.sum()), 0.0) + MARGIN * scale * math.sqrt(2.0 * len(noisy))
    last = max(int(np.searchsorted(held, wanted)), n_clusters - 1)
    least = falling[min(last, len(falling) - 1)]
    return np.where(noisy >= least, np.maximum(noisy, 0.0), 0.0)


def _begun(cells: _Cells, start: Centers) -> _KMeansRun:
    sums = _sums(cells, start)
    return _KMeansRun((start,), (_cost(cells, start, sums),), sums)


def _onward(cells: _Cells, run: _KMeansRun, most: int, tolerance: float) -> _KMeansRun:
    """Iterate until the gain is below `tolerance`, at most `most` times."""
    path, costs, sums = list(run.centers), list(run.costs), run.sums
    for _ in range(most):
        if len(costs) > 1 and costs[-2] - costs[-1] <= tolerance * costs[-2]:
            break
        mass = sums[:, :1]
        centers = np.where(mass > 0, sums[:, 1:] / np.where(mass > 0, mass, 1.0), path[-1])
        sums = _sums(cells, centers)
        path.append(centers)
        costs.append(_cost(cells, centers, sums))
    return _KMeansRun(tuple(path), tuple(costs), sums)


def _last_cost(run: _KMeansRun) -> float:
    return run.costs[-1]


def _sums(cells: _Cells, centers: Centers) -> FloatArray:
    return label_moments(cells.masses, assign(cells.places, centers), len(centers))


def _cost(cells: _Cells, centers: Centers, sums: FloatArray) -> float:
    """sum_j w |x - c|^2 = sum w |x|^2 - 2 c . sum w x + |c|^2 sum w."""
    norms = np.einsum("ij,ij->i", centers, centers)
    return max(
        cells.squares - 2.0 * float(np.einsum("ij,ij->", centers, sums[:, 1:])) + float((norms * sums[:, 0]).sum()), 0.0
    )
