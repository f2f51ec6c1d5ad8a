"""Facts about every run that releases centers: the distance to exact centers, and the guarantee's limits."""

from __future__ import annotations

import math
from functools import cache
from statistics import median

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
    immutable,
)
from dpviz.metrics import matched_distance
from dpviz.plots import Measure, Strip
from dpviz.plots.scene import Law
from dpviz.solvers import KMEANS_STARTS, dataless_centers, su_iterations
from dpviz.stories.ensemble import FEWEST_DRAWS, MOST_DRAWS, standard_noise
from dpviz.stories.label import QUESTIONS
from dpviz.stories.outcomes import Figure
from dpviz.stories.panel import Fact, at_most, attacker, counted, limit, number, times
from dpviz.stories.spending import leaves, scale_of
from dpviz.stories.view import Words
from dpviz.stories.wording import about, length_words, percent

BEST = f"Sum of squared distances, divided by the lowest cost without privacy: k-means from {KMEANS_STARTS} starts"
SAME_START = f"{BEST}, and Lloyd's algorithm from the same centers."
PACKED_START = f"{BEST}, and Lloyd's algorithm from a public sphere packing."
BEST_TERM = (
    "k-means",
    "A run's cost is a multiple of the lowest cost without privacy from several starts. It is never below 1.",
)

AS_GOOD = (
    "Curator only, because costs are exact: centers chosen without data would cost no more than this run's centers."
)


def few_records(n: int, k: int) -> str:
    """Report that there are fewer records than centers. Curator only, because the number is exact."""
    return f"Curator only: {counted(n, 'record')} for {k} centers. Lower k to at most {max(n, 1)}."


HELP = (
    "Cost of the box's middle, or of centers packed evenly into the box: no record is read. A run that costs as much "
    "has learned nothing."
)

# Standard deviation of a place that is uniform over the box, in box widths.
RANDOM = 1.0 / math.sqrt(12.0)
COST = Figure("cost", "× k-means'", "the cost is more than", mark=1.0, mark_name="k-means")


def allowed(epsilon: float) -> str:
    """State the limit of a proved ε without δ on an attacker."""
    return attacker(attacker_odds(epsilon))


def not_established(_: float) -> str:
    """Report that nothing is proved, because the start or the bounds came from the records."""
    return "No limit is established: the start or the bounds come from the records."


# End of a strip's axis, as a multiple of its dashed line.
ROOM = 1.3


def distance_words(share: float, words: Words) -> tuple[str, str]:
    """Write a distance, a share of the box's diagonal, and the words after it.

    It is a length if all features are equally wide in one unit and the box is public, else a percentage.
    """
    unit = words.own_units[0]
    if not words.box_public or not unit or len(set(words.own_units)) > 1 or np.ptp(words.ends.widths) > 0:
        return percent(share), "of the diagonal"
    return length_words(share * words.ends.diagonal, unit), ""


def blind_share(exact: Centers) -> float:
    """Return the distance from centers without data to `exact` ones (k, d), box units, as a share of the diagonal."""
    _, *packings = dataless_centers(*exact.shape)
    return median(matched_distance(each, exact) for each in packings) / math.sqrt(exact.shape[1])


# ln s. Below it, a difference from 1 would be only rounding.
SMALL = -20.0


@cache
def mean_length(d: int, *, gaussian: bool) -> float:
    """Return E|Z| of noise Z on d axes of variance 1 each, Gaussian or Laplace.

    Gaussian: sqrt(2) Gamma((d+1)/2) / Gamma(d/2). Laplace, by E sqrt(S) = 1/(2 sqrt(pi)) int (1 - E e^(-sS)) s^(-3/2)
    ds with S = |Z|^2 and E e^(-s Z_j^2) = sqrt(pi) u erfcx(u), u = 1 / sqrt(2 s), as b = 1 / sqrt(2).
    """
    if gaussian:
        return math.sqrt(2.0) * math.exp(math.lgamma((d + 1) / 2.0) - math.lgamma(d / 2.0))

    # With s = e^t.
    def integrand(t: float) -> float:
        u = math.exp(-t / 2.0) / math.sqrt(2.0)
        return float(1.0 - (math.sqrt(math.pi) * u * scipy.special.erfcx(u)) ** d) * math.exp(-t / 2.0)

    value, _ = scipy.integrate.quad(integrand, SMALL, -3.0 * SMALL)
    # Below exp(SMALL), 1 - E e^(-sS) is d s.
    rest = 2.0 * d * math.exp(SMALL / 2.0)
    return float(value + rest) / (2.0 * math.sqrt(math.pi))


# Multiples of this ε that reach from either end of a slider to the other.
FACTORS = np.sqrt(2.0) ** np.arange(-18, 19)
# Quantiles, the same as for the curator's bands.
BAND = (0.1, 0.9)
# Largest product of draws, centers and features.
MOST_NUMBERS = 8192


@immutable
class NoiseLaw:
    """Distances that noise moves k released averages, as shares of the diagonal. Public."""

    # (k,) mean lengths.
    lengths: FloatArray
    # (n, k) lengths of draws of public noise.
    draws: FloatArray

    @property
    def share(self) -> float:
        """Mean over the averages; a place is off by at most a diagonal."""
        return float(np.minimum(self.lengths, 1.0).mean())

    def measure(self, growth: FloatArray | None, words: Words) -> Measure:
        """Return the mean in percent with its words, and the band expected for the same averages at other values of ε.

        `growth` is the factor by which the noise grows at `FACTORS` times this ε, None if no rule gives it.
        """
        value, said = 100.0 * self.share, about(distance_words(self.share, words)[0])
        if growth is None:
            return Measure(value, said)
        middles = 100.0 * np.minimum(growth[:, None] * self.lengths, 1.0).mean(axis=1)
        moved = np.sort(100.0 * np.minimum(growth[:, None, None] * self.draws, 1.0).mean(axis=2), axis=1)
        low, high = (moved[:, round(share * (len(self.draws) - 1))] for share in BAND)
        return Measure(value, said, _law(low, middles, high))


def inverse(low: float, middle: float, high: float) -> Law:
    """Return the values expected at `FACTORS` times this ε, if they are proportional to 1/ε."""
    return _law(low / FACTORS, middle / FACTORS, high / FACTORS)


def _law(low: FloatArray, middle: FloatArray, high: FloatArray) -> Law:
    rows = zip(*(np.asarray(each).tolist() for each in (FACTORS, low, middle, high)), strict=True)
    return tuple((rounded(a), rounded(b), rounded(c), rounded(d)) for a, b, c, d in rows)


def rounded(value: float) -> float:
    """Return as many digits as a strip can show."""
    return float(f"{value:.4g}")


def noise_law(
    result: Result[CentersRelease, Step], moves: FloatArray, purpose: Purpose, of_counts: FloatArray | None = None
) -> NoiseLaw | None:
    """Return the distances that noise moves released averages; None if their distribution is unknown.

    `purpose` is the purpose of the noise on sums. `moves` (k, d), box units, and `of_counts` (k,) are arguments of
    `law_of_averages`; None for `of_counts` means the noise drawn with the sums. Public.
    """
    counts, of_sums = result.release.noisy_counts, last_noise(result, purpose)
    if counts is None or not len(counts) or not len(of_sums):
        return None
    of_counts = last_noise(result, Purpose.COUNTS) if of_counts is None else of_counts
    gaussian = (_is_gaussian(result, Purpose.COUNTS), _is_gaussian(result, purpose))
    per = np.maximum(counts, 1.0) * math.sqrt(moves.shape[1])
    return law_of_averages(moves, of_counts if len(of_counts) else np.zeros(1), of_sums, per, gaussian)


def law_of_averages(
    moves: FloatArray, of_counts: FloatArray, of_sums: FloatArray, per: FloatArray, gaussian: tuple[bool, bool]
) -> NoiseLaw:
    """Compute how far noise moves averages, which are noisy sums over noisy counts.

    An average at a distance of `moves` (k, d) from the origin of its sum is off by Z_s / n~ - moves Z_c / n~
    to first order, with noise of standard deviations `of_sums` on each axis and `of_counts`, (k,) or (1,), Gaussian or
    Laplace: of counts, then of sums. `per` (k,) is n~ in diagonals. The mean length of both is the root of the sum of
    their squared mean lengths: exact if one is 0, else at most 3 % too small. Public.
    """
    k, d = moves.shape
    lengths = np.hypot(
        mean_length(d, gaussian=gaussian[1]) * of_sums,
        mean_length(1, gaussian=gaussian[0]) * of_counts * np.linalg.norm(moves, axis=1),
    )
    n = int(np.clip(MOST_NUMBERS // (k * d), FEWEST_DRAWS, MOST_DRAWS))
    (of_count, _), (_, of_sum) = (standard_noise("gaussian" if each else "laplace", n, k, d) for each in gaussian)
    # Standard deviations of the standard noise.
    deviations = [1.0 if each else math.sqrt(2.0) for each in gaussian]
    draws = (of_sums / deviations[1])[:, None] * of_sum - (of_counts / deviations[0] * of_count)[..., None] * moves
    return NoiseLaw(lengths / per, np.linalg.norm(draws, axis=2) / per)


def su_growth(release: CentersRelease, epsilon: float, times: FloatArray, d: int, most: float = math.inf) -> FloatArray:
    """Return the factor by which the last noise grows at `times` ε if Su et al.'s rule plans the rounds. Public.

    The rounds share ε evenly. The rule uses the sum of the released counts as the number of records.
    """
    counts, k = release.noisy_counts, len(release.centers)
    n = 0.0 if counts is None else float(counts.sum())
    now, *then = (min(su_iterations(each * epsilon, n, k, d), most) for each in (1.0, *times.tolist()))
    return np.array(then) / now / times


def _is_gaussian(result: Result[CentersRelease, Step], purpose: Purpose) -> bool:
    return any(
        isinstance(leaf, GaussianEvent) and leaf.purpose is purpose for event in result.events for leaf in leaves(event)
    )


def noise_strip(label: str, words: Words) -> Strip:
    """Return the axis of the distance that noise moves the release. Public, and the same for all records."""
    random = 100.0 * RANDOM
    return Strip(label, distance_words(0.0, words)[1], "noise", 0.0, ROOM * random, ((random, "random places"),))


def cost_ratio(cost: float, best: float) -> float:
    """Return `cost` over the `best` one without privacy, at least 1; infinite if only the best is 0.

    A run that costs less has found a start that k-means did not try. Its noise deserves no credit for that.
    """
    if best > 0:
        return max(cost / best, 1.0)
    return 1.0 if cost <= 0 else math.inf


def no_data_fact(cost: float, without_data: float, best: float, beside: str) -> Fact:
    """Return the cost without data as a multiple of `best`, called `beside`; mark it if a run's `cost` is no less."""
    cost_words = f"{times(cost_ratio(without_data, best))} × {beside}"
    return Fact("Without any data", f"{cost_words}: no worse" if cost >= without_data else cost_words, HELP)


def last_noise(result: Result[CentersRelease, Step], purpose: Purpose) -> FloatArray:
    """Return the standard deviations of the last noise for `purpose`: (k,) or (1,); (0,) if none was drawn."""
    for event in reversed(result.events):
        parts = [leaf for leaf in leaves(event) if not isinstance(leaf, PureEvent) and leaf.purpose is purpose]
        if parts:
            return math.sqrt(2.0) * np.array([scale_of(leaf) for leaf in parts])
    return np.zeros(0)


def drowned(noise: FloatArray, release: CentersRelease, d: int) -> tuple[str, ...]:
    """Report if averages in `d` features have more noise than the spread of random places; otherwise return nothing.

    `noise` (k,) or (1,) is the standard deviation of each released sum, in widths of the box; divided by the mean of
    the released counts, it is the deviation of a typical average. Public.
    """
    counts = release.noisy_counts
    if counts is None or not len(counts) or not len(noise):
        return ()
    typical = float(np.median(noise)) / max(float(np.mean(counts)), 1.0)
    if typical < RANDOM:
        return ()
    return (
        f"In {counted(d, 'feature')}, noise moves an average by about {number(typical)} widths of the box per feature; "
        f"places picked at random differ by {number(RANDOM)}. Use fewer features or clusters, or a larger ε.",
    )


def risk(proved: Claim | None) -> tuple[Fact, ...]:
    """Return the guarantee's limits, in addition to the odds next to the slider. Public."""
    if proved is None or proved.adjacency is Adjacency.REPLACE:
        return ()
    one, two = proved.odds(), under_replace(proved).odds()
    why = (
        f"{limit(one)}: could someone tell whether you took part? {limit(two)}: could someone who knows you took part "
        "tell which of two records was yours? The second is easier."
    )
    return (Fact(QUESTIONS[Adjacency.REPLACE], at_most(two), why, True),)


def recolored(centers: Centers, nonprivate_labels: Labels, shape: tuple[int, int, int]) -> ByteArray:
    """Return the picture (height, width, 3) with each pixel, row by row, in its cluster's released color.

    The centers (k, 3) are colors from 0 to 255. A color that noise moved out of this range is clipped. Curator only,
    because each pixel's cluster is exact.
    """
    return np.clip(np.rint(centers), 0, 255).astype(np.uint8)[nonprivate_labels].reshape(shape)
