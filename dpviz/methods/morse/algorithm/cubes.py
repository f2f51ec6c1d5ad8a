"""DPCube under the Morse step: candidates from noisy cubes, private swaps, then moments.

Balcan, Dick, Liang, Mou & Zhang, "Differentially Private Clustering in High-Dimensional Euclidean Spaces" (ICML 2017),
algorithms 1 and 3, without the random projection: cubes are halved along one axis after the other, so any D works.

The budget (rho, or epsilon if published) has three shares. Partition: at every level the cubes that are still open are
disjoint and fixed by earlier levels; one record moves one count by 1 (ADD_REMOVE) or two (REPLACE): L1 sensitivity 1
or 2. Swaps: a choice by the exponential mechanism among (out, in) pairs and staying, scored by minus the cost in units
of the squared diameter 4D: a record adds or removes at most 1, changing it moves the score by at most 1. Moments:
counts, sums and raw second moments once, as in `budget`.
"""

import math
from collections.abc import Iterator

import numpy as np

from dpviz.accounting import GaussianEvent, LaplaceEvent, PureEvent, Purpose, gaussian_sigma, zcdp_rho_for
from dpviz.core import (
    Adjacency,
    Budget,
    Centers,
    Event,
    FloatArray,
    Labels,
    Points,
    algebra,
    immutable,
    immutable_value,
    squared_distances,
)
from dpviz.mechanisms import exponential, gaussian, laplace
from dpviz.methods.morse.algorithm.bases import MorseStep, Start, estimate, mixture_step
from dpviz.solvers import Mixture, assign, features, label_moments, moment_length

# Our choice: shares of the budget. The moments get the rest.
PARTITION_SHARE, SWAP_SHARE = 0.25, 0.25
# Our choice: number of cubes that stay open at one level. The fullest by noisy count stay.
MAX_CUBES = 256
# Our choice.
MAX_CANDIDATES = 400
# Our choice: number of times that an axis is halved, up to MAX_LEVELS in all.
LEVELS_PER_AXIS = 4
# Our choice.
MAX_LEVELS = 12
# Our choice: noise scales that a cube's count must exceed for the cube to open.
OPEN_SCALES = 4.0
# Our choice: number of records processed at a time.
SWAP_ROWS = 2048


@immutable_value
class CubeBudget:
    """Costs of the three parts, fixed before the run."""

    # Pure epsilon of one level.
    level: float
    # Pure epsilon of one swap.
    swap: float
    # Noise scale of the moments.
    sigma: float
    # L2 sensitivity of the moments.
    sensitivity: float
    n_levels: int
    adjacency: Adjacency


@immutable
class _Cubes:
    low: FloatArray  # (c, D)
    high: FloatArray  # (c, D)

    @property
    def middles(self) -> Centers:
        return (self.low + self.high) / 2


def cube_budget(budget: Budget, d: int, n_swaps: int, adjacency: Adjacency, *, published: bool) -> CubeBudget:
    """Split the budget so that the parts add up to it exactly: by epsilon if published, otherwise by rho."""
    n_levels = min(LEVELS_PER_AXIS * d, MAX_LEVELS)
    length = moment_length(d) * (2 if adjacency is Adjacency.REPLACE else 1)
    sensitivity = math.sqrt(length)
    rest = 1.0 - PARTITION_SHARE - SWAP_SHARE
    if math.isinf(budget.epsilon):
        return CubeBudget(math.inf, math.inf, 0.0, sensitivity, n_levels, adjacency)
    if published:
        part, swap = PARTITION_SHARE * budget.epsilon / n_levels, SWAP_SHARE * budget.epsilon / n_swaps
        sigma = gaussian_sigma(sensitivity, Budget(rest * budget.epsilon, budget.delta))
        return CubeBudget(part, swap, sigma, sensitivity, n_levels, adjacency)
    rho = zcdp_rho_for(budget)
    # Pure epsilon is epsilon^2/2-zCDP.
    part = math.sqrt(2 * PARTITION_SHARE * rho / n_levels)
    # A mechanism of bounded range is epsilon^2/8-zCDP.
    swap = math.sqrt(8 * SWAP_SHARE * rho / n_swaps)
    return CubeBudget(part, swap, sensitivity / math.sqrt(2 * rest * rho), sensitivity, n_levels, adjacency)


def cube_steps(signed: Points, budget: CubeBudget, n_swaps: int, start: Start, *, steady: bool) -> Iterator[MorseStep]:
    """Yield a step for each level, each swap and the moments, on records (n, D) in [-1, 1]^D."""
    candidates = start.mixture.means
    part_rng, swap_rng, moment_rng = start.rng.spawn(3)
    n_clusters = len(candidates)
    middles: list[Centers] = []
    for step, opened in _partition(signed, budget, start.mixture, rng=part_rng):
        middles.append(opened)
        yield step
    # Public start centers stay candidates: there are always enough.
    candidates = np.concatenate([*reversed(middles), candidates])[:MAX_CANDIDATES]
    chosen = np.arange(len(candidates) - n_clusters, len(candidates))
    centers = candidates[chosen]
    for count in range(1, n_swaps + 1):
        # (k + 1, m). The last row means no swap.
        scores = -_swap_costs(signed, candidates, chosen) / (4.0 * signed.shape[1])
        pick = int(exponential(scores.ravel(), epsilon=budget.swap, sensitivity=1.0, rng=swap_rng.spawn(1)[0]))
        out, into = divmod(pick, len(candidates))
        if out < n_clusters:
            chosen = chosen.copy()
            chosen[out] = into
        centers = candidates[chosen]
        event = PureEvent(
            f"swap {count}",
            budget.swap,
            bounded_range=True,
            calibrated_for=budget.adjacency,
            purpose=Purpose.SWAPS,
            step=count,
        )
        yield _bare("swap", count, 0.0, assign(signed, centers), centers, (event,))
    labels = assign(signed, centers)
    exact = label_moments(features(signed), labels, n_clusters)
    noisy = gaussian(exact, sigma=budget.sigma, rng=moment_rng)
    event_moments = GaussianEvent(
        "moments", budget.sensitivity, budget.sigma, calibrated_for=budget.adjacency, purpose=Purpose.MOMENTS
    )
    before = Mixture(start.mixture.weights, centers, start.mixture.covariances)
    estimated = estimate(noisy, before, budget.sigma, steady=steady, last=True)
    yield mixture_step("moments", 1, budget.sigma, labels, exact, noisy, estimated, (event_moments,))


def _partition(
    signed: Points, budget: CubeBudget, mixture: Mixture, *, rng: np.random.Generator
) -> Iterator[tuple[MorseStep, Centers]]:
    """Halve the open cubes level by level; yield each level with the middles of the cubes that it opens."""
    d = signed.shape[1]
    cubes = _Cubes(np.full((1, d), -1.0), np.full((1, d), 1.0))
    # Cube of each record, -1 in a closed cube.
    where = np.zeros(len(signed), dtype=np.intp)
    moves = 2.0 if budget.adjacency is Adjacency.REPLACE else 1.0
    scale = moves / budget.level
    for level in range(1, budget.n_levels + 1):
        cubes, where = _halved(cubes, where, signed, axis=(level - 1) % d)
        exact = np.bincount(where[where >= 0], minlength=len(cubes.low)).astype(np.float64)
        noisy = laplace(exact, scale=scale, rng=rng.spawn(1)[0])
        event = LaplaceEvent(
            f"level {level}", moves, scale, calibrated_for=budget.adjacency, purpose=Purpose.COUNTS, step=level
        )
        order = np.argsort(-noisy, kind="stable")[:MAX_CUBES]
        opened = order[noisy[order] > max(1.0, OPEN_SCALES * scale)]
        names = np.full(len(cubes.low) + 1, -1, dtype=np.intp)
        names[opened] = np.arange(len(opened))
        step = _bare("partition", level, scale, where, mixture.means, (event,), exact[:, None], noisy[:, None])
        # Index -1 reads the last entry, which is -1.
        where = names[where]
        cubes = _Cubes(cubes.low[opened], cubes.high[opened])
        yield step, cubes.middles


def _halved(cubes: _Cubes, where: Labels, signed: Points, *, axis: int) -> tuple[_Cubes, Labels]:
    middle = cubes.middles[:, axis]
    low, high = np.repeat(cubes.low, 2, axis=0), np.repeat(cubes.high, 2, axis=0)
    high[0::2, axis], low[1::2, axis] = middle, middle
    inside = where >= 0
    halves = np.full(len(where), -1, dtype=np.intp)
    halves[inside] = 2 * where[inside] + (signed[inside, axis] >= middle[where[inside]])
    return _Cubes(low, high), halves


def _swap_costs(signed: Points, candidates: Centers, chosen: Labels) -> FloatArray:
    """Return the cost (k + 1, m) after candidate j takes the place of center i; the last row changes nothing.

    A record that loses its center goes to the nearer of its second one and the newcomer.
    """
    k, m = len(chosen), len(candidates)
    costs = np.zeros((k + 1, m))
    for first in range(0, len(signed), SWAP_ROWS):
        rows = signed[first : first + SWAP_ROWS]
        gaps = squared_distances(rows, candidates)  # (n, m)
        own = gaps[:, chosen]
        order = np.argsort(own, axis=1, kind="stable")
        best = own[np.arange(len(rows)), order[:, 0]]
        second = own[np.arange(len(rows)), order[:, 1]] if k > 1 else np.full(len(rows), np.inf)
        shared = np.minimum(gaps, best[:, None])
        costs[:k] += shared.sum(axis=0)
        member = np.zeros((k, len(rows)))
        member[order[:, 0], np.arange(len(rows))] = 1.0
        costs[:k] += algebra.product(member, np.minimum(gaps, second[:, None]) - shared)
        costs[k] += best.sum()
    # No swap is one choice, not m choices.
    costs[k, 1:] = np.inf
    return costs


def _bare(
    stage: str,
    iteration: int,
    sigma: float,
    labels: Labels,
    centers: Centers,
    events: tuple[Event, ...],
    exact: FloatArray | None = None,
    noisy: FloatArray | None = None,
) -> MorseStep:
    empty = np.empty((0, 1))
    return MorseStep(
        stage=stage,
        iteration=iteration,
        sigma=sigma,
        nonprivate_labels=labels.copy(),
        nonprivate_moments=empty.copy() if exact is None else exact,
        noisy_moments=empty.copy() if noisy is None else noisy,
        centers=centers.copy(),
        mixture=None,
        counts=np.full(len(centers), np.nan),
        alive=np.ones(len(centers), dtype=bool),
        events=events,
    )
