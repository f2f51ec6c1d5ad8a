"""DPM's split interval size, from the gaps between neighboring coordinates (section 3.5, algorithm 2). See `dpm`.

Notation, paper -> code: q = 65 % -> GAP_QUANTILE, sigma = 2 beta -> spread, beta -> size.

The gaps are the spaces between sorted coordinates along one axis. A normal sample of n records with spread sigma has
the 65th percentile sigma C / n, so a percentile of the records' gaps says how spread they are.

**repaired** (ours). The gaps of all axes are pooled, m = (n - 1) d of them, and one size is chosen among 1/`OFFERED`
of an axis by the exponential mechanism with u(z) = -|#{gaps <= z} - q m|, z the percentile that belongs to the size;
beforehand a size weighs as much as it is long, so that z is uniform, as in the paper. The sensitivity of u under
ADD_REMOVE is d (2 - q):
- Along one axis, take a record out. At an end, one gap g goes: the count falls by 0 or 1. Inside, its two gaps g and h
  become one, g + h, which is at least as large as both. If both are above z, the count stays; if exactly one is at most
  z, g + h is above z and the count falls by 1; if both are, it falls by 1 or 2, as g + h is at most z or above.
- So the count changes by -2, -1 or 0. m falls by 1, so the target q m falls by q, and count - target changes by
  -2 + q, -1 + q or q: at most 2 - q in absolute value, as q < 1. With one record or none there is no gap before or
  after: no change at all.
- The d axes are summed, with any of d cases each: d (2 - q). Taking the absolute value brings values together.
It is attained, so no smaller number would do. The percentiles z depend on a noisy count released before, and on no
record. With many axes a public random subset of MAX_AXES is read, and d is their number.

**published**. Gaps are averaged over the axes rank by rank, one percentile of the n - 1 averages is drawn from
[0, width] with epsilon/2 and sensitivity 1, and spread is the nearest of 0.5, 1, ..., 29.5 data units. Lemma 1 says
that one record moves an average's rank by at most 2. For d >= 2 that is false: one record has another rank along each
axis, and taking it out shifts the gaps of one axis against those of another, so that every average can change.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy
from scipy.special import gammainc

from dpviz.accounting import PureEvent, Purpose
from dpviz.core import Box, Confidential, Event, FloatArray, Points, frozen, functions
from dpviz.mechanisms import exponential, exponential_probabilities, laplace
from dpviz.methods.dpm.algorithm.bins import RESOLUTION, Places
from dpviz.methods.dpm.algorithm.records import HeldRecords, TreeRecords

GAP_QUANTILE = 0.65  # Liebenow et al., section 6
PUBLISHED_SPREADS = np.arange(0.5, 30.0, 0.5)  # data units, the reference's table
FEWEST, MOST = 128, 512  # split intervals an axis; ours: fifty clusters in a row need two each at least
STEPS_PER_DOUBLING = 16  # of the numbers offered; ours
# More than can be used: a percentile far off still has a place of its own, and the size is limited afterwards. Ours.
OFFERED = functions.power(2.0, 1.0 + np.arange(23 * STEPS_PER_DOUBLING, -1, -1) / STEPS_PER_DOUBLING)  # from 2^24 to 2
MAX_AXES = 16  # axes that the repaired estimator reads; ours, sorting a hundred takes longer than all the rest
SIZE_SHARE = 0.1  # of `interval_size`'s epsilon, for a noisy number of records where none is given; ours


@dataclass(frozen=True, slots=True, eq=False)
class Interval(Confidential):
    """A chosen interval size, and for the curator how it was chosen."""

    fractions: FloatArray  # (d,) size over the axis's width
    n_candidates: int  # intervals on the axis that has most of them
    options: FloatArray  # (m,) the sizes that could be chosen, as fractions of the widest axis; published: spreads / 2
    nonprivate_utility: FloatArray  # (m,) -|#{gaps <= z} - q m|; published: empty
    nonprivate_probabilities: FloatArray  # (m,) published: empty
    events: tuple[Event, ...]


def interval_size(
    points: Points,
    box: Box,
    epsilon: float,
    *,
    estimator: str = "repaired",
    noisy_count: float | None = None,
    rng: np.random.Generator,
) -> float:
    """Return the split interval size beta, in data units of the box's widest axis.

    `points` (n, d) are clipped into the public `box`. `estimator` is "repaired" or "published", see the module.
    `noisy_count` is a number of records that was released before. Without one, the repaired estimator pays for it with
    SIZE_SHARE of epsilon, and the published one takes n as it is, which is public only where records are changed and
    never added.

    The repaired size is epsilon-DP under ADD_REMOVE; the published one is so for d = 1 and with a released count.
    Raises ValueError for bad points, another estimator, or an epsilon that is not positive.
    """
    if estimator not in ("repaired", "published"):
        raise ValueError(f"estimator was {estimator!r}, but it must be 'repaired' or 'published'.")
    if not epsilon > 0:
        raise ValueError(f"epsilon was {epsilon}, but it must be > 0. Use math.inf for no privacy.")
    records = HeldRecords(points, box)
    count_rng, choice_rng = rng.spawn(2)
    count = float(records.n) if noisy_count is None else float(noisy_count)
    if noisy_count is None and estimator == "repaired":
        count = float(laplace(np.float64(records.n), scale=1.0 / (SIZE_SHARE * epsilon), rng=count_rng))
        epsilon = (1.0 - SIZE_SHARE) * epsilon
    if estimator == "repaired":
        interval = repaired_interval(records, epsilon, count, rng=choice_rng)
    else:
        interval = published_interval(records.places, box, epsilon, count, rng=choice_rng)
    return float((interval.fractions * box.widths)[np.argmax(box.widths)])


def repaired_interval(
    records: TreeRecords, epsilon: float, noisy_count: float, *, rng: np.random.Generator
) -> Interval:
    """Choose a number of intervals with one percentile of the pooled gaps, from FEWEST to MOST; the same on every axis.

    The gaps are those of `quantised` records, exact integers, and so is the proof.
    """
    axis_rng, choice_rng = rng.spawn(2)
    d = records.box.d
    axes = np.arange(d)
    if d > MAX_AXES:
        axes = np.sort(axis_rng.choice(d, MAX_AXES, replace=False))
    n_gaps = axes.size * max(records.n - 1, 0)
    options = 1.0 / OFFERED  # ascending
    percentiles = 2.0 * options * normal_percentile(1) / max(noisy_count, 2.0) * RESOLUTION
    # Whole numbers of the gaps' own type: NumPy would turn all gaps into floats for one float.
    thresholds = np.minimum(percentiles, RESOLUTION - 1.0).astype(np.uint32)
    utility = -np.abs(records.gap_counts(axes, thresholds) - GAP_QUANTILE * n_gaps)
    scores = _log_weights(utility, options, epsilon, gap_sensitivity(axes.size))
    chosen = int(exponential(scores, epsilon=2.0, sensitivity=1.0, rng=choice_rng))
    number = int(np.clip(round(float(OFFERED[chosen])), FEWEST, MOST))
    return Interval(
        fractions=frozen(np.full(d, 1.0 / number)),
        n_candidates=number,
        options=frozen(options),
        nonprivate_utility=frozen(utility),
        nonprivate_probabilities=frozen(exponential_probabilities(scores, epsilon=2.0, sensitivity=1.0)),
        events=(PureEvent("interval size", epsilon, bounded_range=True, purpose=Purpose.INTERVAL),),
    )


def gap_sensitivity(n_axes: int) -> float:
    """Return d (2 - q), the most that one record moves the pooled count less its target under ADD_REMOVE."""
    return n_axes * (2.0 - GAP_QUANTILE)


def published_interval(
    places: Places, box: Box, epsilon: float, noisy_count: float, *, rng: np.random.Generator
) -> Interval:
    """Choose a size in data units as the paper's algorithm 2 does; its claimed epsilon is not established for d >= 2.

    An interval longer than an axis becomes the axis.
    """
    d, n = places.shape
    widest = float(box.widths.max())
    averages = np.zeros(max(n - 1, 0))
    for axis, width in zip(places, box.widths, strict=True):
        averages += np.diff(np.sort(axis)) * (width / (RESOLUTION * d))
    averages.sort()
    percentile = _dp_percentile(averages, widest, epsilon / 2.0, rng=rng)
    spread = percentile * max(noisy_count, 2.0) / normal_percentile(d)
    spread = float(PUBLISHED_SPREADS[np.argmin(np.abs(PUBLISHED_SPREADS - spread))])
    fractions = np.minimum(spread / 2.0 / box.widths, 1.0)
    return Interval(
        fractions=frozen(fractions),
        n_candidates=int(np.floor(1.0 / fractions.min() + 1e-9)),
        options=frozen(np.minimum(PUBLISHED_SPREADS / 2.0 / widest, 1.0)),
        nonprivate_utility=frozen(np.empty(0)),
        nonprivate_probabilities=frozen(np.empty(0)),
        events=(PureEvent("interval size (claimed)", epsilon, purpose=Purpose.INTERVAL),),
    )


def _dp_percentile(values: FloatArray, highest: float, epsilon: float, *, rng: np.random.Generator) -> float:
    """Draw from [0, highest] with density proportional to exp(-epsilon |#{values <= z} - q m| / 2) (Du et al. 2020)."""
    choice_rng, place_rng = rng.spawn(2)
    edges = np.concatenate([[0.0], np.clip(values, 0.0, highest), [highest]])  # ascending
    utility = -np.abs(np.arange(values.size + 1) - GAP_QUANTILE * values.size)
    lengths = np.diff(edges)
    scores = _log_weights(utility, lengths, epsilon, 1.0)
    chosen = int(exponential(scores, epsilon=2.0, sensitivity=1.0, rng=choice_rng))
    return float(edges[chosen] + place_rng.random() * lengths[chosen])


def _log_weights(utility: FloatArray, measure: FloatArray, epsilon: float, sensitivity: float) -> FloatArray:
    """Return ln(measure_i) + epsilon (utility_i - best) / (2 sensitivity); -inf for options of no measure.

    Options weigh `measure` beforehand, a public number each. Logarithms, because the smallest weight would be 0, and
    its option excluded for what the records are. At epsilon = infinity the best alone are left.
    """
    allowed = np.where(measure > 0, utility, -np.inf)
    gap = allowed - allowed.max()
    with np.errstate(divide="ignore", invalid="ignore"):
        return functions.log(measure) + np.where(gap == 0.0, 0.0, epsilon / (2.0 * sensitivity) * gap)


@lru_cache(maxsize=64)
def normal_percentile(n_axes: int) -> float:
    """Return C(d): n times the 65th percentile of the gaps, averaged over `n_axes`, of n standard normal records.

    At the quantile level of x the gap of n records is 1/(n phi(x)) times a standard exponential variable, and the
    average of d of them 1/(n phi(x)) times a Gamma(d, 1/d) one; the level is uniform. C solves
    integral phi(x) P(Gamma(d, 1/d) <= C phi(x)) dx = 0.65. Public: no record is involved.
    """
    x = np.linspace(-9.0, 9.0, 4001)
    density = functions.exp(-(x**2) / 2.0) / np.sqrt(2.0 * np.pi)
    weights = density / density.sum()

    def excess(constant: float) -> float:
        return float((weights * gammainc(n_axes, n_axes * constant * density)).sum() - GAP_QUANTILE)

    return float(scipy.optimize.brentq(excess, 1e-3, 1e4))
