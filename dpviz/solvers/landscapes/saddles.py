"""Critical points of a mixture's landscape and its transition points, all pairs and starts at once.

Byun, Choi & Lee, "Improving the Utility of Differentially Private Clustering through Dynamical Processing", algorithm
2. Everything here reads a mixture and no records, so it is post-processing.

Starts (lines 7 to 13) are quadratic strings between the means of each pair of components. Line 7 takes the largest f,
the lowest density, on the segment; line 11 is printed with argmin, a misprint: the lowest density is meant there too.
Every critical point of a mixture is x(a) = (sum_k a_k P_k)^-1 sum_k a_k P_k mu_k for shares a (Ray & Lindsay 2005,
theorem 1), so in addition to the strings, there is a start at each low of the density along x(a) of two components.

From every start a walk climbs along the softest axis of f = -log p and descends along the others (Cerjan & Miller 1981;
close to a saddle it is Newton's method on grad f = 0, line 14). Many walks end at one point: those that meet go on as
one. The end of a walk is a transition point when exactly one curvature is negative (line 16) and the two descents from
it end in different minima (lines 17 to 21). Minima come from every component's mean and from both sides of every
saddle: a mixture can have more modes than components.
"""

import functools

import numpy as np
import scipy

from dpviz.core import BoolArray, FloatArray, Labels, Points, ReadOnly, algebra, frozen, functions, immutable
from dpviz.solvers.landscapes.flow import axes, beside, distinct, newton, settle, solved, unit_lengths
from dpviz.solvers.landscapes.mixture import Mixture
from dpviz.solvers.landscapes.walks import ARRIVED, FEW_AXES, FLAT, WALKING, climb_steps

# Points of a string: m of Byun et al., appendix H.
STRING_POINTS = 20
# Points on the segment between two minima, including both ends. Our choice.
SEGMENT_POINTS = 33
# Rounds of the string search: tau2 of Byun et al., appendix H.
STRING_ROUNDS = 5
# Share of a mean-shift step. Section 4.2 only asks for a "small step size"; the value is our choice.
STRING_SHARE = 0.5
# Points along each ridgeline. Our choice.
RIDGE_POINTS = 25
# Largest logit of a share. Shares start at 1 / (1 + e^10), because components of very different spread need the ends.
# Our choice.
RIDGE_REACH = 10.0
# Number of times that each low is refined. Our choice.
RIDGE_REFINEMENTS = 2
# Points of a refinement. Our choice.
RIDGE_FINER = 13
# Number of lowest lows of each ridgeline that become starts. Our choice.
RIDGE_STARTS = 2
# Number of shares of more than two components to try. Our choice.
SIMPLEX_SAMPLES = 400
# Number of starts among these shares, where the landscape is flattest. Our choice.
SIMPLEX_STARTS = 48
# Dirichlet parameter: most of the weight is on two to four components. Our choice.
SIMPLEX_SPARSITY = 0.2
# Maximum steps of one walk. Our choice.
CLIMB_STEPS = 32
# Steps after which walks that have met continue as one. Our choice.
MEETINGS = (3, 5, 7, 10, 14, 20)
# Standard deviations within which walks have met. Our choice.
MEETING = 0.03
# Walks per string, from the iterates where the landscape is flattest. Half as many beyond FEW_AXES. Our choice.
WALKS_PER_STRING = 2
# A descent whose unit step is longer than this, in standard deviations, has not ended. Our choice.
UNDER_WAY = 1e-7
# Searches for a pass between parts that no pass connects. Our choice.
BRIDGES = 2
# Minimum fall of ln p between nearby minima. Our choice: far above rounding error.
LEVEL = 1e-10
# Standard deviations within which minima are nearby. Our choice.
NEIGHBOR = 0.5

TRANSITION, ONE_BASIN, WRONG_INDEX, DEGENERATE = "transition", "one basin", "index", "degenerate"


@immutable
class Strings:
    """The string search of each pair of components: figure 3 of the paper."""

    # Components k < l of each pair, (P, 2).
    pairs: Labels
    # Point of lowest density on each string, (P, tau2 + 1, D).
    lowest: FloatArray
    # Iterates m^0 .. m^tau2, each after its gradient step, (P, tau2 + 1, D).
    iterates: FloatArray


@immutable
class TransitionPoint:
    """An index-one point of f = -p between the basins of two minima: a lowest pass from one to the other."""

    location: FloatArray  # (D,), units of the mixture
    # p at the location; 0 if it underflows.
    density: float
    # Rows of `Landscape.minima`, i < j.
    minima: tuple[int, int]
    # ln p at the location.
    log_density: float
    # Pair of components of the walk's start. None for a start between more than two components.
    pair: tuple[int, int] | None
    # The negative curvature, in units of the metric R.
    curvature: float


@immutable
class Candidates(ReadOnly):
    """The distinct ends of all walks, with their outcomes."""

    locations: Points  # (c, D)
    log_densities: FloatArray  # (c,)
    # Curvatures of -log p in units of R, descending, (c, D).
    curvatures: FloatArray
    # Outcome of each candidate: one of this module's four words.
    outcomes: tuple[str, ...]
    # Minima in which the two descents end, (c, 2); -1 without descents.
    ends: Labels


@immutable
class Landscape(ReadOnly):
    """A mixture's minima of f, its transition points, and their search."""

    # Minima with the highest density first, (L, D).
    minima: Points
    # ln p at the minima, (L,).
    log_densities: FloatArray
    # Transition points with the highest density first.
    transitions: tuple[TransitionPoint, ...]
    # Minimum that each component's mean flows to, (K,). Several components may share one.
    component_minima: Labels
    candidates: Candidates
    strings: Strings
    # Candidate of the walk from each string iterate, (P, tau2 + 1); -1 for no candidate or no walk.
    string_candidates: Labels


@functools.lru_cache(maxsize=64)
def landscape(mixture: Mixture) -> Landscape:
    """Search the mixture's landscape; cached for each mixture object."""
    strings = quadratic_strings(mixture)
    ridge, ridge_pairs = ridge_starts(mixture, strings.pairs)
    rounds = strings.iterates.shape[1]
    simplex = simplex_starts(mixture)
    starts = np.concatenate([strings.iterates.reshape(-1, mixture.d), ridge, simplex])
    pairs = np.concatenate([np.repeat(np.arange(len(strings.pairs)), rounds), ridge_pairs, np.full(len(simplex), -1)])
    walking = walking_from(mixture, starts, np.where(np.arange(len(starts)) < rounds * len(strings.pairs), pairs, -1))
    ends, critical, walks = np.array(starts), np.zeros(len(starts), dtype=bool), np.arange(len(starts))
    ends[walking], critical[walking], follows = climb(mixture, starts[walking])
    walks[walking] = walking[follows]
    for turn in range(BRIDGES + 1):
        names = np.full(len(ends), -1, dtype=np.intp)
        leaders, rows = np.unique(walks[critical], return_inverse=True)
        names[critical] = distinct(mixture, ends[leaders])[rows]
        firsts = np.flatnonzero(critical)[np.unique(names[critical], return_index=True)[1]]
        candidates, minima, component_minima = _classified(mixture, ends[firsts])
        gaps = _gaps(mixture, minima, candidates) if turn < BRIDGES else np.empty((0, mixture.d))
        if not len(gaps):
            break
        more, arrived, follows = climb(mixture, gaps)
        walks = np.concatenate([walks, len(ends) + follows])
        ends, critical = np.concatenate([ends, more]), np.concatenate([critical, arrived])
        pairs = np.concatenate([pairs, np.full(len(gaps), -1)])
    pair_rows = [(int(i), int(j)) for i, j in strings.pairs]
    transitions = tuple(
        TransitionPoint(
            location=frozen(candidates.locations[c].copy()),
            density=float(functions.exp(candidates.log_densities[c])),
            minima=(int(candidates.ends[c].min()), int(candidates.ends[c].max())),
            log_density=float(candidates.log_densities[c]),
            pair=None if pairs[firsts[c]] < 0 else pair_rows[pairs[firsts[c]]],
            curvature=float(candidates.curvatures[c, -1]),
        )
        for c in np.argsort(-candidates.log_densities, kind="stable")
        if candidates.outcomes[c] == TRANSITION
    )
    return Landscape(
        minima=minima,
        log_densities=mixture.log_density(minima),
        transitions=transitions,
        component_minima=component_minima,
        candidates=candidates,
        strings=strings,
        string_candidates=names[: len(strings.pairs) * rounds].reshape(len(strings.pairs), rounds),
    )


def quadratic_strings(mixture: Mixture) -> Strings:
    """Return the iterates of algorithm 2, lines 7 to 13, for every pair of components with weight and apart."""
    # Pairs (P, 2) of components that have weight and different means.
    alive = np.flatnonzero(mixture.weights > 0)
    first, second = np.triu_indices(len(alive), 1)
    pairs = np.stack([alive[first], alive[second]], axis=1)
    apart = (mixture.means[pairs[:, 0]] != mixture.means[pairs[:, 1]]).any(axis=1)
    pairs = np.asarray(pairs[apart], dtype=np.intp)
    if not len(pairs):
        return Strings(pairs, *np.empty((2, 0, STRING_ROUNDS + 1, mixture.d)))
    start, end = mixture.means[pairs[:, 0]], mixture.means[pairs[:, 1]]
    span = end - start
    share = (np.arange(1, STRING_POINTS + 1) / (STRING_POINTS + 1))[None, :, None]
    line = start[:, None] + share * span[:, None]
    lowest: list[FloatArray] = []
    iterates: list[FloatArray] = []
    for turn in range(STRING_ROUNDS + 1):
        if turn:
            bend = 4.0 * (iterates[-1] - start) - 2.0 * span
            string = line + (share - share**2) * bend[:, None]
        else:
            string = line
        densities = mixture.log_density(string.reshape(-1, mixture.d)).reshape(len(pairs), STRING_POINTS)
        low = string[np.arange(len(pairs)), densities.argmin(axis=1)]
        lowest.append(low)
        here = mixture.at(low)
        # Move by a share of the mean shift.
        iterates.append(low + STRING_SHARE * solved(here.metric, here.gradient))
    return Strings(pairs, np.stack(lowest, axis=1), np.stack(iterates, axis=1))


def ridge_starts(mixture: Mixture, pairs: Labels) -> tuple[Points, Labels]:
    """Return the lows of the density (m, D) along the ridgelines of `pairs` (P, 2), and the pair of each low (m,)."""
    if not len(pairs):
        return np.empty((0, mixture.d)), np.empty(0, dtype=np.intp)
    # A component a million times thinner takes over at a share of a million to one in precision.
    values = algebra.eigen(mixture.covariances)[0]
    reach = max(RIDGE_REACH, float(functions.log(values.max() / values[:, 0].min())) + RIDGE_REACH / 2)
    logits = np.broadcast_to(np.linspace(-reach, reach, RIDGE_POINTS), (len(pairs), RIDGE_POINTS))
    _, densities = _ridges(mixture, pairs, logits)
    inner = densities[:, 1:-1]
    is_low = (inner <= densities[:, :-2]) & (inner < densities[:, 2:])
    order = np.argsort(np.where(is_low, inner, np.inf), axis=1)[:, :RIDGE_STARTS]
    rows, places = np.repeat(np.arange(len(pairs)), order.shape[1]), order.ravel()
    real = is_low[rows, places]
    rows, low = rows[real], logits[0, places[real] + 1]
    width = 2 * reach / (RIDGE_POINTS - 1)
    # If components are far apart, the density turns within a thousandth of a share, so refine the lows twice.
    for _ in range(RIDGE_REFINEMENTS):
        finer = low[:, None] + np.linspace(-width, width, RIDGE_FINER)
        ridge, densities = _ridges(mixture, pairs[rows], finer)
        best = densities.argmin(axis=1)
        low, width = finer[np.arange(len(low)), best], 2 * width / (RIDGE_FINER - 1)
    return ridge[np.arange(len(low)), best], rows


def _ridges(mixture: Mixture, pairs: Labels, logits: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return x(a) (P, n, D) and ln p there (P, n) for shares a = expit(logits) (P, n) of the second component."""
    share = scipy.special.expit(logits)[..., None]
    first, second = pairs[:, 0], pairs[:, 1]
    precisions = mixture.precisions.reshape(mixture.n_components, 1, -1)
    pulls = np.einsum("kij,kj->ki", mixture.precisions, mixture.means)[:, None]
    metric = ((1 - share) * precisions[first] + share * precisions[second]).reshape(-1, mixture.d, mixture.d)
    pull = (1 - share) * pulls[first] + share * pulls[second]
    ridge = solved(metric, pull.reshape(-1, mixture.d))
    return ridge.reshape(pull.shape), mixture.log_density(ridge).reshape(logits.shape)


def simplex_starts(mixture: Mixture) -> Points:
    """Return the flattest of many x(a) (m, D), a on the whole simplex: more than two components can make a pass there.

    The shares are drawn once from a fixed seed, which belongs to the method and not to a run.
    """
    alive = np.flatnonzero(mixture.weights > 0)
    if len(alive) < 3:
        return np.empty((0, mixture.d))
    shares = _shares(len(alive))  # (m, K)
    precisions = mixture.precisions[alive]
    pulls = np.einsum("kij,kj->ki", precisions, mixture.means[alive])
    metric = algebra.product(shares, precisions.reshape(len(alive), -1)).reshape(-1, mixture.d, mixture.d)
    places = solved(metric, algebra.product(shares, pulls))
    here = mixture.at(places)
    count = SIMPLEX_STARTS if mixture.d <= FEW_AXES else SIMPLEX_STARTS // 2
    return places[np.argsort(unit_lengths(here), kind="stable")[:count]]


@functools.lru_cache(maxsize=64)
def _shares(n_components: int) -> FloatArray:
    shares = np.random.default_rng(0).dirichlet(np.full(n_components, SIMPLEX_SPARSITY), SIMPLEX_SAMPLES)
    return frozen(np.maximum(shares, 1e-12))


def lowest_between(mixture: Mixture, starts: Points, ends: Points) -> tuple[Points, FloatArray]:
    """Return the place of least density (m, D) on each segment from `starts` to `ends` (m, D), and ln p there (m,)."""
    inner = starts[:, None] + np.linspace(0.0, 1.0, SEGMENT_POINTS)[1:-1, None] * (ends - starts)[:, None]
    densities = mixture.log_density(inner.reshape(-1, mixture.d)).reshape(inner.shape[:2])
    rows, lowest = np.arange(len(starts)), densities.argmin(axis=1)
    return inner[rows, lowest], densities[rows, lowest]


def walking_from(mixture: Mixture, starts: Points, strings: Labels) -> Labels:
    """Return the starts that walk: the few flattest of each string, and all starts without a string (-1)."""
    if not len(starts):
        return np.empty(0, dtype=np.intp)
    order = np.lexsort((unit_lengths(mixture.at(starts)), strings))
    # Index at which each start's string begins.
    firsts = np.searchsorted(strings[order], strings[order])
    walks = WALKS_PER_STRING if mixture.d <= FEW_AXES else WALKS_PER_STRING // 2
    chosen = (np.arange(len(order)) - firsts < walks) | (strings[order] < 0)
    return np.sort(order[chosen])


def climb(mixture: Mixture, starts: Points) -> tuple[Points, BoolArray, Labels]:
    """Walk from `starts` (m, D) toward index-one points.

    Return the ends (m, D), which ends are critical points (m,), and the start whose walk each one joined (m,).
    """
    places, near = np.array(starts), np.zeros(len(starts), dtype=bool)
    follows = np.arange(len(starts))
    active = np.arange(len(starts))
    # Steps since the landscape last bent downwards along some axis.
    lost = np.zeros(len(starts), dtype=np.intp)
    for count in range(CLIMB_STEPS):
        if not len(active):
            break
        if count in MEETINGS:
            active = active[_met(places[active], mixture.at(places[active]).metric, active, follows)]
        steps, states = climb_steps(*mixture.code, places[active], lost, active)
        near[active[states == ARRIVED]] = True
        moving = states == WALKING
        active = active[moving]
        places[active] += steps[moving]
    active = np.flatnonzero(near)
    active = active[_met(places[active], mixture.at(places[active]).metric, active, follows)]
    critical = np.zeros(len(starts), dtype=bool)
    # Line 14 of algorithm 2.
    critical[active] = newton(mixture, places, active, CLIMB_STEPS)
    return places[follows], critical[follows], follows


def _met(at: Points, metric: FloatArray, walks: Labels, follows: Labels) -> Labels:
    """Let `walks` (w,) that have met follow the first of them, in `follows` (m,); return the first ones' rows.

    They are `at` (w, D), with R (w, D, D) there. Two walks have met if they are in one cell of a lattice that is so
    fine that they are within MEETING: R's trace bounds its largest eigenvalue. Walks within MEETING on either side of a
    cell's border meet later, or at the end.
    """
    d = at.shape[1]
    # R's trace is below 4^finest.
    finest = np.ceil(np.frexp(np.einsum("nii->n", metric))[1] / 2.0)
    cells = np.floor(at * (np.sqrt(d) / MEETING * np.ldexp(1.0, finest.astype(np.intc)))[:, None])
    numbers = np.fmod(np.concatenate([cells, finest[:, None]], axis=1), 2.0**62).astype(np.int64)
    # Odd factors of a hash of cells: random, but the same in every run. Overflow wraps around, which is harmless here.
    factors = 2 * np.random.default_rng(0).integers(2**62, size=d + 1, dtype=np.int64) + 1
    _, firsts, names = np.unique((numbers * factors).sum(axis=1), return_index=True, return_inverse=True)
    heir = np.arange(len(follows))
    heir[walks] = walks[firsts][names]
    follows[:] = heir[follows]
    return np.sort(firsts)


def _gaps(mixture: Mixture, minima: Points, candidates: Candidates) -> Points:
    """Return the places of lowest density (m, D) between each part that no pass reaches and its nearest neighbor.

    Minima that have only just separated are closer together than the strings can resolve.
    """
    edges = candidates.ends[np.array(candidates.outcomes) == TRANSITION].reshape(-1, 2)
    graph = scipy.sparse.coo_matrix((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(len(minima),) * 2)
    n_parts, parts = scipy.sparse.csgraph.connected_components(graph, directed=False)
    if n_parts == 1:
        return np.empty((0, mixture.d))
    gaps = minima[None] - minima[:, None]
    far = np.einsum("ijd,ide,ije->ij", gaps, mixture.at(minima).metric, gaps)  # (L, L), squared standard deviations
    far[parts[:, None] == parts] = np.inf
    pairs = np.stack([np.arange(len(minima)), far.argmin(axis=1)], axis=1)
    return lowest_between(mixture, minima[pairs[:, 0]], minima[pairs[:, 1]])[0]


def _classified(mixture: Mixture, places: Points) -> tuple[Candidates, Points, Labels]:
    """Return the candidates with their outcomes, the minima (L, D), and each component's minimum (K,)."""
    curvatures = axes(mixture, places).curvatures
    flat = (np.abs(curvatures) < FLAT).any(axis=1)
    index_one = ~flat & ((curvatures < 0).sum(axis=1) == 1)
    sides = beside(mixture, places[index_one])  # (s, 2, D)
    bottoms = settle(mixture, np.concatenate([mixture.means, sides.reshape(-1, mixture.d)]))
    # A descent that has not ended in a flat valley continues to the nearest bottom of a descent that has.
    there = mixture.at(bottoms)
    slow = unit_lengths(there) > UNDER_WAY
    if slow.any() and not slow.all():
        gaps = bottoms[~slow][None] - bottoms[slow][:, None]
        far = np.einsum("ijd,ide,ije->ij", gaps, there.metric[slow], gaps)
        bottoms[slow] = bottoms[~slow][far.argmin(axis=1)]
    minima, names = _sorted_minima(mixture, bottoms)
    ends = np.full((len(places), 2), -1, dtype=np.intp)
    ends[index_one] = names[mixture.n_components :].reshape(-1, 2)
    apart = ends[:, 0] != ends[:, 1]
    outcomes = np.where(flat, DEGENERATE, np.where(~index_one, WRONG_INDEX, np.where(apart, TRANSITION, ONE_BASIN)))
    candidates = Candidates(
        locations=places.copy(),
        log_densities=mixture.log_density(places),
        curvatures=curvatures,
        outcomes=tuple(str(word) for word in outcomes),
        ends=ends,
    )
    return candidates, minima, names[: mixture.n_components].copy()


def _sorted_minima(mixture: Mixture, bottoms: Points) -> tuple[Points, Labels]:
    """Return the distinct minima (L, D), highest density first, and which one each of `bottoms` (m, D) is (m,)."""
    names = distinct(mixture, bottoms)
    _, firsts = np.unique(names, return_index=True)
    same = _same_level(mixture, bottoms[firsts])
    firsts, names = firsts[np.unique(same, return_index=True)[1]], same[names]
    order = np.argsort(-mixture.log_density(bottoms[firsts]), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return bottoms[firsts[order]], np.asarray(rank[names], dtype=np.intp)


def _same_level(mixture: Mixture, minima: Points) -> Labels:
    """Group `minima` (m, D) on one level: return group numbers (m,) from 0, in order of first appearance.

    Two nearby minima are one if ln p falls by at most LEVEL between them. Floating-point numbers cannot tell whether an
    exactly flat bottom, as for two unit Gaussians at distance 2, is one minimum or two that have just separated.
    """
    gaps = minima[None] - minima[:, None]
    near = np.einsum("ijd,ide,ije->ij", gaps, mixture.at(minima).metric, gaps) < NEIGHBOR**2
    first, second = np.nonzero(np.triu(near, 1))
    if not len(first):
        return np.arange(len(minima))
    density = mixture.log_density(minima)
    lowest = lowest_between(mixture, minima[first], minima[second])[1]
    level = lowest >= np.minimum(density[first], density[second]) - LEVEL
    graph = scipy.sparse.coo_matrix((np.ones(level.sum()), (first[level], second[level])), shape=near.shape)
    return np.asarray(scipy.sparse.csgraph.connected_components(graph, directed=False)[1], dtype=np.intp)
