"""PrivGene for k-means (Zhang, Xiao, Yang, Zhang & Winslett, SIGMOD 2013): a genetic search with private selection.

Notation, paper -> code: Omega -> population (m sets of k centers), m' -> n_parents, r -> n_rounds, f -> scores.

Why it is epsilon-DP. Points and candidates are clipped to the public box and scaled to [0, 1]^d. A
candidate's score is -sum_x min_i |x - c_i|^2; one record adds a term between -d and 0.
- ADD_REMOVE: the score moves by at most d.
- REPLACE: one term in [-d, 0] replaces another, so the score also moves by at most d. There is no doubling.
Each pick is an exponential mechanism with sensitivity d. A round t < r picks m' parents one after the other at
eps/(r m') each, without the earlier picks, which are known. The last round picks one at eps/r. All picks compose to
eps, adaptively. The first population, crossover and mutation use public randomness and earlier picks: post-processing.
r follows from public parameters and a public or noisy number of records whose cost is part of epsilon. (Under
ADD_REMOVE all scores move in one direction, so only half of this would be spent; this code does not use that.)

The number of rounds follows our rule, which grows with n eps / m' like the paper's rule:
r = clip(floor(n eps / (3000 m')), MIN_ROUNDS, max_rounds), chosen on synthetic blobs with n eps from 10^4 to 10^5.
Parents stay in the next population. A child takes a prefix of one parent's centers and the rest of a second parent's,
both in lexicographic order, and then one of its centers moves.
"""

import math
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from dpviz.accounting import PureEvent, Purpose, SequenceEvent
from dpviz.baselines._base import KnownSize, OneShotParams, as_stated, known_size, size_caveats
from dpviz.core import (
    Box,
    Centers,
    CentersRelease,
    Claim,
    Event,
    FloatArray,
    Guarantee,
    Points,
    Result,
    Step,
    collect,
    compiled,
    immutable,
    knob,
    squared_norms,
    unit_records,
    whole,
    writable,
)
from dpviz.mechanisms import CHOICES_CAVEAT, Indices, exponential

TITLE = "PrivGene"
PAPER = "Zhang, Xiao, Yang, Zhang & Winslett, PrivGene: Differentially Private Model Fitting Using Genetic Algorithms"
# Value of n eps for one more parent in one more round. Our choice.
RECORDS_PER_PARENT = 3000.0
# Our choice.
MIN_ROUNDS = 3
# Half-width of the first mutation, box units. Our choice.
FIRST_MOVE = 0.3
# Factor for the mutation from round to round. Our choice.
SHRINK = 0.8
# Records in one batch, a multiple of LANES. Their columns fit in the cache.
CHUNK = 1024
# Records side by side.
LANES = 64

DIFFERS = "the rule for the number of rounds, and the numbers of parents and candidates, are made for k-means here"
RULE_CAVEAT = (
    "The numbers of rounds, parents and candidates are dpviz's choice: the paper tunes them to other problems."
)


@immutable
class Params(OneShotParams):
    """Parameters, all public."""

    population: int = knob(
        100, "Candidates m", "Sets of centers in each round.", low=10, high=400, minimum=1, maximum=10_000
    )
    n_parents: int = knob(
        3, "Parents m'", "Picked in each round but the last.", low=1, high=20, minimum=1, maximum=1000
    )
    max_rounds: int = knob(20, "Maximum rounds", "A bound on r.", low=1, high=50, minimum=1, maximum=1000)
    n_rounds: int | None = whole(
        f"Rounds r. None: n ε / ({RECORDS_PER_PARENT:g} m'), from {MIN_ROUNDS} to `max_rounds`.", least=1
    )

    def __post_init__(self) -> None:
        """Raise KnobError or ValueError for a value that is not allowed."""
        OneShotParams.__post_init__(self)
        if self.n_parents > self.population:
            raise ValueError(
                f"n_parents must be at most population={self.population}, got {self.n_parents}. Pick fewer parents."
            )


@immutable(kw_only=True)
class GeneRelease(CentersRelease):
    """Centers in data units, and the parents picked in earlier rounds, in box units."""

    parents: FloatArray  # (r - 1, m', k, d)


@immutable
class GeneStep(Step):
    """One round, in box units."""

    in_box: ClassVar[tuple[str, ...]] = ("population", "released_centers")

    # From 1.
    iteration: int
    # (m, k, d), public given the earlier picks.
    population: FloatArray
    nonprivate_scores: FloatArray  # (m,)
    # Picks in their order, (m',); (1,) in the last round.
    chosen: Indices
    # First pick, (k, d).
    released_centers: Centers
    # Half-width of the next mutation.
    move: float
    events: tuple[Event, ...]


def fit(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Result[GeneRelease, GeneStep]:
    """Cluster `points` (n, d), clipped to the public `box`, with epsilon-DP under `params.adjacency`.

    The proof is in the module's docstring. Raises ValueError for bad points.
    """
    trace = collect(fit, steps, points, box, params, Params, rng)
    adjacency = params.neighbors
    parents = np.empty((len(trace) - 1, params.n_parents, params.n_clusters, box.d))
    for row, step in zip(parents, trace[:-1], strict=True):
        row[:] = step.population[step.chosen]
    release = GeneRelease(centers=box.clip(box.from_unit(trace[-1].released_centers)), parents=parents)
    claim = Claim(params.epsilon, 0.0, adjacency, "every pick is an exponential mechanism of sensitivity d")
    # A given number of rounds does not need the number of records.
    known = size_caveats(params.n_public, adjacency) if params.n_rounds is None else ()
    guarantee = Guarantee(as_stated(claim, PAPER), claim, (RULE_CAVEAT, *known, CHOICES_CAVEAT), DIFFERS)
    return Result.from_trace(release, trace, guarantee)


def steps(points: Points, box: Box, params: Params, *, rng: np.random.Generator) -> Iterator[GeneStep]:
    """Yield one `GeneStep` per round; the pick of the last round is the result."""
    unit, adjacency = writable(unit_records(points, box)), params.neighbors
    size_rng, start_rng, loop_rng = rng.spawn(3)
    needed = params.n_rounds is None
    size = known_size(len(unit), params.epsilon, params.n_public, adjacency, needed=needed, rng=size_rng)
    n_rounds = rounds_for(size, params) if params.n_rounds is None else params.n_rounds
    chosen = start_rng if params.start_seed is None else np.random.default_rng(params.start_seed)
    population = chosen.random((params.population, params.n_clusters, box.d))
    for t in range(1, n_rounds + 1):
        pick_rng, breed_rng = loop_rng.spawn(2)
        n_picks = params.n_parents if t < n_rounds else 1
        exact = scores(unit, population)
        epsilon = size.epsilon / (n_rounds * n_picks)
        event = PureEvent(
            f"round {t}: a pick", epsilon, bounded_range=True, calibrated_for=adjacency, purpose=Purpose.PICKS, step=t
        )
        picks = pick(exact, n_picks, epsilon=event.epsilon, d=box.d, rng=pick_rng)
        spent = SequenceEvent(f"round {t}", (event,) * n_picks)
        move = FIRST_MOVE * SHRINK ** (t - 1)
        yield GeneStep(
            iteration=t,
            population=population,
            nonprivate_scores=exact,
            chosen=picks,
            released_centers=population[picks[0]],
            move=move,
            events=(*size.events, spent) if t == 1 else (spent,),
        )
        population = next_population(population[picks], params.population, move, rng=breed_rng)


def rounds_for(size: KnownSize, params: Params) -> int:
    """Return r = clip(floor(n eps / (RECORDS_PER_PARENT m')), MIN_ROUNDS, max_rounds)."""
    n_rounds = max(size.n_records, 1.0) * size.epsilon / (RECORDS_PER_PARENT * params.n_parents)
    return min(max(math.floor(min(n_rounds, params.max_rounds)), MIN_ROUNDS), params.max_rounds)


def scores(unit: Points, population: FloatArray) -> FloatArray:
    """Return -sum_x min_i |x - c_i|^2 of each candidate (m, k, d) in [0, 1]^d: (m,), exact; one record moves it by d.

    min_i |x - c_i|^2 = |x|^2 + min_i (|c_i|^2 - 2 x . c_i), added up feature by feature, so a record's term does not
    depend on other records. Terms are added up side by side.
    """
    m, k, d = population.shape
    offsets = squared_norms(population.reshape(-1, d)).reshape(m, k)
    total = squared_norms(unit).sum() + _least_totals(writable(unit), -2.0 * population, offsets)
    costs: FloatArray = np.maximum(total, 0.0)
    return -costs


@compiled
def _least_totals(unit: Points, slopes: FloatArray, offsets: FloatArray) -> FloatArray:
    """Return sum_x min_i (offset_i + slope_i . x) of each candidate, (m,), for slopes (m, k, d) and offsets (m, k)."""
    (m, k, d), n = slopes.shape, len(unit)
    total, columns = np.zeros(m), np.zeros((CHUNK // LANES, d, LANES))
    score, least, sums = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    for first in range(0, n, CHUNK):
        size = min(CHUNK, n - first)
        for j in range(size):
            for f in range(d):
                columns[j // LANES, f, j % LANES] = unit[first + j, f]
        for candidate in range(m):
            sums[:] = 0.0
            for start in range(0, size, LANES):
                least[:] = np.inf
                for i in range(k):
                    _add_up(columns[start // LANES], slopes[candidate, i], offsets[candidate, i], score)
                    for j in range(LANES):
                        least[j] = score[j] if score[j] < least[j] else least[j]
                for j in range(min(LANES, size - start)):
                    sums[j] += least[j]
            for j in range(LANES):
                total[candidate] += sums[j]
    return total


@compiled
def _add_up(columns: FloatArray, slopes: FloatArray, offset: float, score: FloatArray) -> None:
    """Write one score of LANES records. Three features per pass keep the order but save reads and writes."""
    rest = len(slopes) % 3
    if rest == 0:
        score[:] = offset
    elif rest == 1:
        x, a = columns[0], slopes[0]
        for j in range(LANES):
            score[j] = offset + a * x[j]
    else:
        x, y, a, b = columns[0], columns[1], slopes[0], slopes[1]
        for j in range(LANES):
            score[j] = offset + a * x[j] + b * y[j]
    for f in range(rest, len(slopes), 3):
        x, y, z, a, b, c = columns[f], columns[f + 1], columns[f + 2], slopes[f], slopes[f + 1], slopes[f + 2]
        for j in range(LANES):
            score[j] = score[j] + a * x[j] + b * y[j] + c * z[j]


def pick(exact_scores: FloatArray, n_picks: int, *, epsilon: float, d: int, rng: np.random.Generator) -> Indices:
    """Pick candidates one after the other without replacement, `epsilon` each: (n_picks,)."""
    remaining = exact_scores.copy()
    picks = np.empty(n_picks, dtype=np.intp)
    for i in range(n_picks):
        picks[i] = exponential(remaining, epsilon=epsilon, sensitivity=float(d), rng=rng)
        remaining[picks[i]] = -np.inf
    return picks


def next_population(parents: FloatArray, population: int, move: float, *, rng: np.random.Generator) -> FloatArray:
    """Return the parents (m', k, d) and children up to `population` (m, k, d), all in [0, 1]^d, without any record.

    A child has the first j centers of one parent and the other centers of a second parent, j from 0 to k. Then one of
    its centers moves by at most `move` along each axis.
    """
    n_parents, k, d = parents.shape
    n_children = max(population - n_parents, 0)
    keys = [parents[:, :, axis] for axis in reversed(range(d))]
    ordered = np.take_along_axis(parents, np.lexsort(keys, axis=1)[:, :, None], axis=1)
    one, other = rng.integers(n_parents, size=(2, n_children))
    from_one = np.arange(k) < rng.integers(k + 1, size=n_children)[:, None]  # (children, k)
    children = np.where(from_one[:, :, None], ordered[one], ordered[other])
    places = rng.integers(k, size=n_children)
    children[np.arange(n_children), places] += rng.uniform(-move, move, size=(n_children, d))
    return np.concatenate([parents, np.clip(children, 0.0, 1.0)])
