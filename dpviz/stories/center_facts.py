"""What is said of every run that releases centers: how far off they are, and what its guarantee allows."""

from __future__ import annotations

import math
from functools import cache
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import scipy

from dpviz.accounting import GaussianEvent, PureEvent, Purpose, under_replace
from dpviz.core import (
    Adjacency,
    ByteArray,
    Centers,
    CentersRelease,
    Claim,
    FloatArray,
    Labels,
    Result,
    Step,
    attacker_odds,
)
from dpviz.metrics import matched_distance
from dpviz.plots import Strip
from dpviz.solvers import KMEANS_STARTS, dataless_centers
from dpviz.stories.ledger import leaves, scale_of
from dpviz.stories.outcomes import Figure
from dpviz.stories.panel import Fact, at_most, attacker, counted, limit, number

if TYPE_CHECKING:
    from dpviz.stories.centers import CentersRun

BEST = f"Sum of squared distances, over the least of k-means without privacy: of {KMEANS_STARTS} starts"
SAME_START = f"{BEST}, and of Lloyd's from the same centers."
PACKED_START = f"{BEST}, and of Lloyd's from a public sphere packing."
BEST_TERM = (
    "k-means",
    "A run's cost is said in multiples of that without privacy, the least that several starts reach, never below 1.",
)

AS_GOOD = "Curator only, as costs are exact: centers chosen without any record would cost no more than this run's."
BLIND = "The centers are no better than a blind guess"  # the beginning of a curator's sentence
HELP = (
    "Cost of the box's middle, or of centers packed evenly into the box: no record is read. A run that costs as much "
    "has learned nothing."
)

RANDOM = 1.0 / math.sqrt(12.0)  # standard deviation of a place that is even over the box, in its widths
COST = Figure("cost", "× k-means'", "the cost is more than", mark=1.0, mark_name="k-means")


def allowed(epsilon: float) -> str:
    """Say what a proved epsilon allows an attacker."""
    return attacker(attacker_odds(epsilon))


def stated(epsilon: float) -> str:
    """Say what a stated epsilon would allow where another one is proved."""
    return f"{attacker(attacker_odds(epsilon), 'As claimed')} What is proved stands under Guarantee."


def not_established(_: float) -> str:
    """Say that nothing is proved: the start or the bounds came from the records."""
    return "No limit is established: the start or the bounds come from the records."


ROOM = 1.3  # of a strip's axis, above its dashed line
DIAGONAL = "of the diagonal"


def blind_share(exact: Centers) -> float:
    """Return by what centers without data miss `exact` ones (k, d), box units, as a share of the diagonal."""
    _, *packings = dataless_centers(*exact.shape)
    return median(matched_distance(each, exact) for each in packings) / math.sqrt(exact.shape[1])


SMALL = -20.0  # ln s, below which a difference from 1 would be rounding alone


@cache
def mean_length(d: int, *, gaussian: bool) -> float:
    """Return E|Z| of noise Z on d axes of variance 1 each, Gaussian or Laplace.

    Gaussian: sqrt(2) Gamma((d+1)/2) / Gamma(d/2). Laplace, by E sqrt(S) = 1/(2 sqrt(pi)) int (1 - E e^(-sS)) s^(-3/2)
    ds with S = |Z|^2 and E e^(-s Z_j^2) = sqrt(pi) u erfcx(u), u = 1 / sqrt(2 s), as b = 1 / sqrt(2).
    """
    if gaussian:
        return math.sqrt(2.0) * math.exp(math.lgamma((d + 1) / 2.0) - math.lgamma(d / 2.0))

    def integrand(t: float) -> float:  # s = e^t
        u = math.exp(-t / 2.0) / math.sqrt(2.0)
        return float(1.0 - (math.sqrt(math.pi) * u * scipy.special.erfcx(u)) ** d) * math.exp(-t / 2.0)

    value, _ = scipy.integrate.quad(integrand, SMALL, -3.0 * SMALL)
    rest = 2.0 * d * math.exp(SMALL / 2.0)  # below: 1 - E e^(-sS) is d s there
    return float(value + rest) / (2.0 * math.sqrt(math.pi))


def noise_share(
    result: Result[CentersRelease, Step], moves: FloatArray, purpose: Purpose, of_counts: FloatArray | None = None
) -> float | None:
    """Return how far noise moves a released average on average, as a share of the diagonal; None without that law.

    `purpose` is that of the noise on sums. An average that lies `moves` (k, d), box units, from the place that its sum
    was taken around is off by Z_s / n~ - moves Z_c / n~ to first order, with noise Z_c on its count n~: of standard
    deviations `of_counts` (k,), None for what was drawn beside the sums. The mean length of both is the root of the sum
    of their squared mean lengths: exact where one is nothing, else at most 3 % too small. A place is off by a diagonal
    at most. Public.
    """
    counts, of_sums, d = result.release.noisy_counts, last_noise(result, purpose), moves.shape[1]
    if counts is None or not len(counts) or not len(of_sums):
        return None
    of_counts = last_noise(result, Purpose.COUNTS) if of_counts is None else of_counts
    lengths: FloatArray = mean_length(d, gaussian=_is_gaussian(result, purpose)) * of_sums + np.zeros(len(counts))
    if len(of_counts):
        along = mean_length(1, gaussian=_is_gaussian(result, Purpose.COUNTS)) * of_counts
        lengths = np.hypot(lengths, along * np.linalg.norm(moves, axis=1))
    return float(np.minimum(lengths / np.maximum(counts, 1.0) / math.sqrt(d), 1.0).mean())


def _is_gaussian(result: Result[CentersRelease, Step], purpose: Purpose) -> bool:
    return any(
        isinstance(leaf, GaussianEvent) and leaf.purpose is purpose for event in result.events for leaf in leaves(event)
    )


def noise_strip(label: str) -> Strip:
    """Return the axis of how far noise moves what is released: public, and the same for all records."""
    line = (100.0 * RANDOM, "random places")
    return Strip(label, DIAGONAL, "noise", 0.0, ROOM * line[0], (line,))


def cost_ratio(cost: float, best: float) -> float:
    """Return `cost` over the `best` one without privacy, at least 1; infinite where only the best is 0.

    A run that costs less has come upon a start that k-means did not try, which is no merit of its noise.
    """
    if best > 0:
        return max(cost / best, 1.0)
    return 1.0 if cost <= 0 else math.inf


def no_data_fact(cost: float, without_data: float, best: float, beside: str) -> Fact:
    """Return what no data costs as a multiple of `best`, called `beside`, and say where a run's `cost` is no less."""
    cost_words = f"{number(cost_ratio(without_data, best))} × {beside}"
    return Fact("Without any data", f"{cost_words}: no worse" if cost >= without_data else cost_words, HELP, False)


def public_notices(run: CentersRun[CentersRelease, Step]) -> tuple[str, ...]:
    """Return what has to be said beside this run's guarantee; public."""
    return drowned(last_noise(run.result, Purpose.SUMS), run.result.release, run.words.box.d)


def last_noise(result: Result[CentersRelease, Step], purpose: Purpose) -> FloatArray:
    """Return the standard deviations of the noise last drawn for `purpose`: (k,) or (1,), (0,) where none was."""
    for event in reversed(result.events):
        parts = [leaf for leaf in leaves(event) if not isinstance(leaf, PureEvent) and leaf.purpose is purpose]
        if parts:
            return math.sqrt(2.0) * np.array([scale_of(leaf) for leaf in parts])
    return np.zeros(0)


def drowned(noise: FloatArray, release: CentersRelease, d: int) -> tuple[str, ...]:
    """Say that averages in `d` features have more noise than places picked at random differ by; else nothing.

    `noise` (k,) or (1,) is the standard deviation of each released sum, in widths of the box; over the mean of the
    released counts, it is that of a typical average. Public.
    """
    counts = release.noisy_counts
    if counts is None or not len(counts) or not len(noise):
        return ()
    typical = float(np.median(noise)) / max(float(np.mean(counts)), 1.0)
    if typical < RANDOM:
        return ()
    return (
        f"In {counted(d, 'feature')}, noise moves an average by about {number(typical)} widths of the box per feature; "
        f"places picked at random differ by {number(RANDOM)}. Take fewer features or clusters, or a larger ε.",
    )


def risk(proved: Claim | None) -> tuple[Fact, ...]:
    """Return what the guarantee allows beyond the odds that stand beside the slider; public."""
    if proved is None or proved.adjacency is Adjacency.REPLACE:
        return ()
    double = under_replace(proved)
    one, two = attacker_odds(proved.epsilon, proved.delta), attacker_odds(double.epsilon, double.delta)
    why = (
        f"{limit(one)}: could someone tell whether you took part? {limit(two)}: could someone who knows you took part "
        "tell which of two answers you gave? The second is easier."
    )
    return (Fact("Which of two answers you gave", at_most(two), why, True),)


def recolored(centers: Centers, nonprivate_labels: Labels, shape: tuple[int, int, int]) -> ByteArray:
    """Return the picture (height, width, 3) in which each pixel, row by row, wears its cluster's released center.

    The centers (k, 3) are colors from 0 to 255; noise that threw one out of this range leaves it at its end. Which
    pixel is in which cluster is exact, so that the picture is the curator's.
    """
    colors = np.clip(np.rint(centers), 0, 255).astype(np.uint8)
    return colors[nonprivate_labels].reshape(shape)
