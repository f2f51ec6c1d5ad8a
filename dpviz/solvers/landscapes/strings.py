"""Where to look for transition points: quadratic strings and ridgelines, for all pairs of components at once.

Byun, Choi & Lee, algorithm 2, lines 7 to 13. Line 7 takes the largest f, the lowest density, on the segment; line 11 is
printed with argmin, a misprint: the lowest density is meant there too.

Every critical point of a mixture is x(a) = (sum_k a_k P_k)^-1 sum_k a_k P_k mu_k for shares a (Ray & Lindsay 2005,
theorem 1), so beside the strings, a start stands at each low of the density along x(a) of two components.
"""

import functools
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from dpviz.core import FloatArray, Labels, Points, algebra, frozen, functions
from dpviz.solvers.landscapes.descent import solved, unit_lengths
from dpviz.solvers.landscapes.mixture import FEW_AXES, Mixture

STRING_POINTS = 20  # m, Byun et al., appendix H
SEGMENT_POINTS = 33  # on the segment between two minima, both ends among them; ours
STRING_ROUNDS = 5  # tau2, the same
STRING_SHARE = 0.5  # of a mean-shift step: the "small step size" of section 4.2; ours
RIDGE_POINTS = 25  # along each ridgeline; ours
RIDGE_REACH = 10.0  # shares from 1 / (1 + e^10) on: components of very different spread need the ends; ours
RIDGE_LOOKS = 2  # times each low is looked at more closely; ours
RIDGE_FINER = 13  # points of a closer look; ours
RIDGE_STARTS = 2  # lowest lows kept of each ridgeline; ours
SIMPLEX_SAMPLES = 400  # shares of more than two components tried; ours
SIMPLEX_STARTS = 48  # of them, where the landscape is flattest; ours
SIMPLEX_SPARSITY = 0.2  # Dirichlet: most of the weight on two to four components; ours


@dataclass(frozen=True, slots=True, eq=False)
class Strings:
    """The string search of each pair of components: figure 3 of the paper."""

    pairs: Labels  # (P, 2) components k < l
    lowest: FloatArray  # (P, tau2 + 1, D) the point of least density on each string
    iterates: FloatArray  # (P, tau2 + 1, D) m^0 .. m^tau2, each after its gradient step


def quadratic_strings(mixture: Mixture, *, n_points: int = STRING_POINTS, n_rounds: int = STRING_ROUNDS) -> Strings:
    """Return the iterates of algorithm 2, lines 7 to 13, for every pair of components with weight and apart."""
    pairs = component_pairs(mixture)
    start, end = mixture.means[pairs[:, 0]], mixture.means[pairs[:, 1]]
    span = end - start
    share = (np.arange(1, n_points + 1) / (n_points + 1))[None, :, None]
    line = start[:, None] + share * span[:, None]
    lowest: list[FloatArray] = []
    iterates: list[FloatArray] = []
    for turn in range(n_rounds + 1):
        if turn:
            bend = 4.0 * (iterates[-1] - start) - 2.0 * span
            string = line + (share - share**2) * bend[:, None]
        else:
            string = line
        densities = mixture.quick_log_density(string.reshape(-1, mixture.d)).reshape(len(pairs), n_points)
        low = string[np.arange(len(pairs)), densities.argmin(axis=1)]
        lowest.append(low)
        iterates.append(low + STRING_SHARE * _shift(mixture, low))
    return Strings(pairs, np.stack(lowest, axis=1), np.stack(iterates, axis=1))


def ridge_starts(mixture: Mixture, pairs: Labels) -> tuple[Points, Labels]:
    """Return the lows of the density along the ridgelines of `pairs` (P, 2), (m, D), and the pair of each, (m,)."""
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
    kept = is_low[rows, places]
    rows, low = rows[kept], logits[0, places[kept] + 1]
    width = 2 * reach / (RIDGE_POINTS - 1)
    # Far apart, the density turns within a thousandth of a share: look closer, twice.
    for _ in range(RIDGE_LOOKS):
        finer = low[:, None] + np.linspace(-width, width, RIDGE_FINER)
        ridge, densities = _ridges(mixture, pairs[rows], finer)
        best = densities.argmin(axis=1)
        low, width = finer[np.arange(len(low)), best], 2 * width / (RIDGE_FINER - 1)
    return ridge[np.arange(len(low)), best], rows


def _ridges(mixture: Mixture, pairs: Labels, logits: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return x(a) (P, n, D) and ln p there (P, n) for shares a = expit(logits) (P, n) of the second component."""
    share = expit(logits)[..., None]
    first, second = pairs[:, 0], pairs[:, 1]
    precisions = mixture.precisions.reshape(mixture.n_components, 1, -1)
    pulls = np.einsum("kij,kj->ki", mixture.precisions, mixture.means)[:, None]
    metric = ((1 - share) * precisions[first] + share * precisions[second]).reshape(-1, mixture.d, mixture.d)
    pull = (1 - share) * pulls[first] + share * pulls[second]
    ridge = solved(metric, pull.reshape(-1, mixture.d))
    return ridge.reshape(pull.shape), mixture.quick_log_density(ridge).reshape(logits.shape)


def simplex_starts(mixture: Mixture) -> Points:
    """Return the flattest of many x(a) (m, D), a on the whole simplex: where more than two components make a pass.

    The shares are drawn once and for all from a fixed seed: a number of the method, not of a run.
    """
    alive = np.flatnonzero(mixture.weights > 0)
    if len(alive) < 3:
        return np.empty((0, mixture.d))
    shares = _shares(len(alive))  # (m, K)
    precisions = mixture.precisions[alive]
    pulls = np.einsum("kij,kj->ki", precisions, mixture.means[alive])
    metric = algebra.product(shares, precisions.reshape(len(alive), -1)).reshape(-1, mixture.d, mixture.d)
    places = solved(metric, algebra.product(shares, pulls))
    here = mixture.quick_at(places)
    count = SIMPLEX_STARTS if mixture.d <= FEW_AXES else SIMPLEX_STARTS // 2
    return np.asarray(places[np.argsort(unit_lengths(here), kind="stable")[:count]])


@functools.lru_cache(maxsize=64)
def _shares(n_components: int) -> FloatArray:
    drawn = np.random.default_rng(0).dirichlet(np.full(n_components, SIMPLEX_SPARSITY), SIMPLEX_SAMPLES)
    return frozen(np.maximum(drawn, 1e-12))


def lowest_between(mixture: Mixture, starts: Points, ends: Points) -> tuple[Points, FloatArray]:
    """Return the place of least density (m, D) on each segment from `starts` to `ends` (m, D), and ln p there (m,)."""
    shares = np.linspace(0.0, 1.0, SEGMENT_POINTS)[1:-1, None]
    inner = starts[:, None] + shares * (ends - starts)[:, None]
    densities = mixture.log_density(inner.reshape(-1, mixture.d)).reshape(inner.shape[:2])
    rows, lowest = np.arange(len(starts)), densities.argmin(axis=1)
    return inner[rows, lowest], densities[rows, lowest]


def component_pairs(mixture: Mixture) -> Labels:
    """Return the pairs (P, 2) of components that have weight and do not stand on one spot."""
    alive = np.flatnonzero(mixture.weights > 0)
    first, second = np.triu_indices(len(alive), 1)
    pairs = np.stack([alive[first], alive[second]], axis=1)
    apart = (mixture.means[pairs[:, 0]] != mixture.means[pairs[:, 1]]).any(axis=1)
    return np.asarray(pairs[apart], dtype=np.intp)


def _shift(mixture: Mixture, points: Points) -> FloatArray:
    """Return the mean-shift step R^-1 grad log p (n, D)."""
    if not len(points):
        return np.zeros_like(points)
    here = mixture.quick_at(points)
    return solved(here.metric, here.gradient)
