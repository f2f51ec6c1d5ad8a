"""Critical points of a mixture's landscape and its transition points, all pairs and starts at once.

Byun, Choi & Lee, "Improving the Utility of Differentially Private Clustering through Dynamical Processing", algorithm
2. Everything here reads a mixture and no record: post-processing.

From every start a walk climbs along the softest axis of f = -log p and descends along the others (Cerjan & Miller 1981;
close to a saddle it is Newton's method on grad f = 0, line 14). What it finds is kept when exactly one curvature is
negative (line 16) and the two descents from it end in different minima (lines 17 to 21). Minima come from every
component's mean and from both sides of every saddle: a mixture can have more modes than components.
"""

import functools
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from dpviz.core import FloatArray, Labels, Points, frozen, functions
from dpviz.solvers.landscapes.climbing import climb, walking_from
from dpviz.solvers.landscapes.descent import axes, distinct, unit_lengths
from dpviz.solvers.landscapes.flow import FLAT, beside, settle
from dpviz.solvers.landscapes.mixture import Mixture
from dpviz.solvers.landscapes.strings import Strings, lowest_between, quadratic_strings, ridge_starts, simplex_starts

UNDER_WAY = 1e-7  # standard deviations: a descent whose unit step is longer has not ended; ours
BRIDGES = 2  # times a pass is looked for between parts that none connects; ours
LEVEL = 1e-10  # by which ln p must fall between two minima that are near each other; ours, far above rounding
NEIGHBOR = 0.5  # standard deviations within which that is asked; ours

TRANSITION, ONE_BASIN, WRONG_INDEX, DEGENERATE = "transition", "one basin", "index", "degenerate"


@dataclass(frozen=True, slots=True, eq=False)
class TransitionPoint:
    """An index-one point of f = -p between the basins of two minima: a lowest pass from one to the other."""

    location: FloatArray  # (D,) data units of the mixture
    density: float  # p there; 0 where it underflows
    minima: tuple[int, int]  # i < j, rows of `critical_points`
    log_density: float  # ln p there
    pair: tuple[int, int] | None  # a pair of components whose search found it; None: a start between more of them
    curvature: float  # the negative one, in units of the metric R


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Every distinct place that a walk ended at, with what became of it."""

    locations: Points  # (c, D)
    log_densities: FloatArray  # (c,)
    curvatures: FloatArray  # (c, D) of -log p in units of R, descending
    outcomes: tuple[str, ...]  # one of the four words of this module
    ends: Labels  # (c, 2) minima where the two descents end, -1 where there were none


@dataclass(frozen=True, slots=True, eq=False)
class Landscape:
    """A mixture's minima of f, its transition points, and the search that found them."""

    minima: Points  # (L, D), highest density first
    log_densities: FloatArray  # (L,) ln p there
    transitions: tuple[TransitionPoint, ...]  # highest density first
    component_minima: Labels  # (K,) where each component's mean flows to; several may share one
    candidates: Candidates
    strings: Strings
    string_candidates: Labels  # (P, tau2 + 1) what the walk from each string iterate found; -1: nothing, or no walk


def critical_points(mixture: Mixture) -> Points:
    """Return the minima of f = -p, the modes of the mixture, as (L, D), highest density first."""
    return landscape(mixture).minima


def transition_points(mixture: Mixture) -> tuple[TransitionPoint, ...]:
    """Return every transition point found, highest density first; its `minima` are rows of `critical_points`."""
    return landscape(mixture).transitions


@functools.lru_cache(maxsize=64)
def landscape(mixture: Mixture) -> Landscape:
    """Search the mixture's landscape; remembered for each mixture object."""
    strings = quadratic_strings(mixture)
    ridge, ridge_pairs = ridge_starts(mixture, strings.pairs)
    rounds = strings.iterates.shape[1]
    simplex = simplex_starts(mixture)
    starts = np.concatenate([strings.iterates.reshape(-1, mixture.d), ridge, simplex])
    pairs = np.concatenate([np.repeat(np.arange(len(strings.pairs)), rounds), ridge_pairs, np.full(len(simplex), -1)])
    walking = walking_from(mixture, starts, np.where(np.arange(len(starts)) < rounds * len(strings.pairs), pairs, -1))
    ends, found, walks = np.array(starts), np.zeros(len(starts), dtype=bool), np.arange(len(starts))
    ends[walking], found[walking], follows = climb(mixture, starts[walking])
    walks[walking] = walking[follows]
    for turn in range(BRIDGES + 1):
        names = np.full(len(ends), -1, dtype=np.intp)
        leaders, rows = np.unique(walks[found], return_inverse=True)
        names[found] = distinct(mixture, ends[leaders])[rows]
        firsts = np.flatnonzero(found)[np.unique(names[found], return_index=True)[1]]
        candidates, minima, component_minima = _judged(mixture, ends[firsts])
        gaps = _gaps(mixture, minima, candidates) if turn < BRIDGES else np.empty((0, mixture.d))
        if not len(gaps):
            break
        more, arrived, follows = climb(mixture, gaps)
        walks = np.concatenate([walks, len(ends) + follows])
        ends, found = np.concatenate([ends, more]), np.concatenate([found, arrived])
        pairs = np.concatenate([pairs, np.full(len(gaps), -1)])
    transitions = tuple(
        TransitionPoint(
            location=frozen(candidates.locations[c].copy()),
            density=float(functions.exp(candidates.log_densities[c])),
            minima=(int(candidates.ends[c].min()), int(candidates.ends[c].max())),
            log_density=float(candidates.log_densities[c]),
            pair=_pair(strings, int(pairs[firsts[c]])),
            curvature=float(candidates.curvatures[c, -1]),
        )
        for c in np.argsort(-candidates.log_densities, kind="stable")
        if candidates.outcomes[c] == TRANSITION
    )
    string_names = names[: len(strings.pairs) * rounds].reshape(len(strings.pairs), rounds)
    return Landscape(
        minima=frozen(minima),
        log_densities=frozen(mixture.log_density(minima)),
        transitions=transitions,
        component_minima=frozen(component_minima),
        candidates=candidates,
        strings=strings,
        string_candidates=frozen(string_names),
    )


def _gaps(mixture: Mixture, minima: Points, candidates: Candidates) -> Points:
    """Return where the density is least on the way from each part that no pass reaches to its nearest neighbor (m, D).

    Minima that have only just parted stand closer together than the strings look.
    """
    edges = candidates.ends[np.array(candidates.outcomes) == TRANSITION].reshape(-1, 2)
    graph = sparse.coo_matrix((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(len(minima),) * 2)
    n_parts, parts = connected_components(graph, directed=False)
    if n_parts == 1:
        return np.empty((0, mixture.d))
    gaps = minima[None] - minima[:, None]
    far = np.einsum("ijd,ide,ije->ij", gaps, mixture.at(minima).metric, gaps)  # (L, L) squared standard deviations
    far[parts[:, None] == parts] = np.inf
    pairs = np.stack([np.arange(len(minima)), far.argmin(axis=1)], axis=1)
    return lowest_between(mixture, minima[pairs[:, 0]], minima[pairs[:, 1]])[0]


def _pair(strings: Strings, row: int) -> tuple[int, int] | None:
    return None if row < 0 else (int(strings.pairs[row, 0]), int(strings.pairs[row, 1]))


def _judged(mixture: Mixture, places: Points) -> tuple[Candidates, Points, Labels]:
    """Return the candidates with their outcomes, the minima (L, D), and each component's minimum (K,)."""
    here = axes(mixture.at(places)) if len(places) else None
    curvatures = here.curvatures if here is not None else np.empty((0, mixture.d))
    flat = (np.abs(curvatures) < FLAT).any(axis=1)
    index_one = ~flat & ((curvatures < 0).sum(axis=1) == 1)
    sides = beside(mixture, places[index_one])  # (s, 2, D)
    bottoms = settle(mixture, np.concatenate([mixture.means, sides.reshape(-1, mixture.d)]))
    minima, names = _sorted_minima(mixture, _settled(mixture, bottoms))
    ends = np.full((len(places), 2), -1, dtype=np.intp)
    ends[index_one] = names[mixture.n_components :].reshape(-1, 2)
    apart = ends[:, 0] != ends[:, 1]
    outcomes = np.where(flat, DEGENERATE, np.where(~index_one, WRONG_INDEX, np.where(apart, TRANSITION, ONE_BASIN)))
    candidates = Candidates(
        locations=frozen(places.copy()),
        log_densities=frozen(mixture.log_density(places) if len(places) else np.empty(0)),
        curvatures=frozen(curvatures),
        outcomes=tuple(str(word) for word in outcomes),
        ends=frozen(ends),
    )
    return candidates, minima, names[: mixture.n_components].copy()


def _settled(mixture: Mixture, bottoms: Points) -> Points:
    """Return `bottoms` (m, D), those that are still under way in a flat valley moved on to the nearest that is not."""
    here = mixture.at(bottoms)
    still = unit_lengths(here) > UNDER_WAY
    if not still.any() or still.all():
        return bottoms
    gaps = bottoms[~still][None] - bottoms[still][:, None]
    far = np.einsum("ijd,ide,ije->ij", gaps, here.metric[still], gaps)
    moved = bottoms.copy()
    moved[still] = bottoms[~still][far.argmin(axis=1)]
    return moved


def _sorted_minima(mixture: Mixture, bottoms: Points) -> tuple[Points, Labels]:
    """Return the distinct minima (L, D), highest density first, and which one each of `bottoms` (m, D) is (m,)."""
    names = distinct(mixture, bottoms)
    _, firsts = np.unique(names, return_index=True)
    same = _levelled(mixture, bottoms[firsts])
    firsts, names = firsts[np.unique(same, return_index=True)[1]], same[names]
    order = np.argsort(-mixture.log_density(bottoms[firsts]), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return bottoms[firsts[order]], np.asarray(rank[names], dtype=np.intp)


def _levelled(mixture: Mixture, minima: Points) -> Labels:
    """Return which of `minima` (m, D) are one, (m,) numbered from 0 in order of first appearance.

    Two that are near each other are one when ln p falls by at most LEVEL between them: numbers cannot tell whether an
    exactly flat bottom, like that of two unit Gaussians at distance 2, is one minimum or two that have just parted.
    """
    gaps = minima[None] - minima[:, None]
    near = np.einsum("ijd,ide,ije->ij", gaps, mixture.quick_at(minima).metric, gaps) < NEIGHBOR**2
    first, second = np.nonzero(np.triu(near, 1))
    if not len(first):
        return np.arange(len(minima))
    density = mixture.log_density(minima)
    lowest = lowest_between(mixture, minima[first], minima[second])[1]
    level = lowest >= np.minimum(density[first], density[second]) - LEVEL
    graph = sparse.coo_matrix((np.ones(level.sum()), (first[level], second[level])), shape=near.shape)
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)
