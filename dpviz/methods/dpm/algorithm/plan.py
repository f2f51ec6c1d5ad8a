"""DPM's plan before its first split: depth, shares, the budget of every level, and the split interval size.

Notation, paper -> code: tau -> n_levels, epsilon_cnt, epsilon_exp, epsilon_avg, epsilon_int -> Shares times epsilon,
q = 65 % -> GAP_QUANTILE, sigma = 2 beta -> spread, beta -> size.

The interval size follows from the gaps between neighboring coordinates (section 3.5, algorithm 2): the spaces between
sorted coordinates along one axis. A normal sample of n records with spread sigma has the 65th percentile sigma C / n,
so a percentile of the records' gaps measures their spread.

**repaired** (our own). The gaps of all axes are pooled, m = (n - 1) d of them, and one size is chosen among 1/`OFFERED`
of an axis by the exponential mechanism with u(z) = -|#{gaps <= z} - q m|, z the percentile that belongs to the size;
beforehand a size weighs as much as it is long, so that z is uniform, as in the paper. The sensitivity of u under
ADD_REMOVE is d (2 - q):
- Along one axis, take a record out. At an end, one gap g goes: the count falls by 0 or 1. Inside, its two gaps g and h
  become one, g + h, which is at least as large as both. If both are above z, the count stays; if exactly one is at most
  z, g + h is above z and the count falls by 1; if both are, it falls by 1 or 2, as g + h is at most z or above.
- So the count changes by -2, -1 or 0. m falls by 1, so the target q m falls by q, and count - target changes by
  -2 + q, -1 + q or q: at most 2 - q in absolute value, because q < 1. With one record or none, there is no gap before
  or after, so nothing changes.
- The d axes are summed, with any of d cases each: d (2 - q). Taking the absolute value brings values together.
It is attained, so no smaller number is valid. The percentiles z depend on a noisy count released before, and on no
record. With many axes a public random subset of MAX_AXES is read, and d is their number.

**published**. Gaps are averaged over the axes rank by rank, one percentile of the n - 1 averages is drawn from
[0, width] with epsilon/2 and sensitivity 1, and spread is the nearest of 0.5, 1, ..., 29.5 data units. Lemma 1 says
that one record moves an average's rank by at most 2. For d >= 2 that is false: one record has a different rank along
each axis, and removing it shifts the gaps of one axis against the gaps of another, so every average can change.
"""

import math
from dataclasses import astuple
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpviz.accounting import LaplaceEvent, PureEvent, Purpose
from dpviz.core import (
    Box,
    Budget,
    Confidential,
    Event,
    FloatArray,
    Points,
    ReadOnly,
    frozen,
    functions,
    immutable,
    immutable_value,
)
from dpviz.mechanisms import exponential, exponential_probabilities, laplace
from dpviz.methods.dpm.algorithm.records import RESOLUTION, HeldRecords, Places, TreeRecords

# tau in Liebenow et al., section 6.
PUBLISHED_LEVELS = 7
# Our choice: largest depth that our rule gives.
MOST_LEVELS = 10
# Our choice, by measurement: the rule for the depth.
LEVELS_PER_DOUBLING, ONE_SUBSET = 0.75, 44.0
# Our choice, measured on blobs of 2,000 to 100,000 records: the rule for the depth of cuts that need no gap.
FREE_PER_DOUBLING, ONE_LEAF = 0.7, 100.0
# Our choice: smallest such depth. With 1, each side would need at least half of all records.
LEAST_FREE = 2
# Our choice: share of the counts' budget for the depth of each gap at which a cut is made.
GAP_SHARE = 0.45
# Our choice: a side must have more records than this many scales of its count's noise.
SIDE_SCALES = 2.0
# Our choice, times sqrt(records): among places of many widths, chance alone makes a gap this deep.
CHANCE = 2.0
# Our choice, by measurement: a clear gap is deeper than by chance by this many scales of its noise.
GAP_SCALES = 1.0
# Our choice: depth divided by the records of a side, from which that side counts as one cluster.
CLEAN_GAP = 0.22
# Our choice: the same for the first cut, whose sides may contain several clusters.
FIRST_GAP = 0.45
# Our choice: share of epsilon for the noisy number of records that determines depth and shares.
PLAN_SHARE = 0.01
# Share of delta that a shifted count is claimed to cost. Published calibration only.
COUNT_DELTA_SHARE = 0.2
# Our choice: if the noisy number is smaller, delta is computed for this many records.
LEAST_RECORDS = 1000.0
SHARE_ROUNDING = 1e-9


@immutable_value
class Shares:
    """Shares of epsilon, which add up to 1."""

    # Share of the interval size.
    interval: float
    counts: float
    # Share of the exponential mechanism.
    splits: float
    averages: float

    def __post_init__(self) -> None:
        """Raise ValueError unless all four are positive and add up to 1."""
        parts = (self.interval, self.counts, self.splits, self.averages)
        if not all(part > 0 for part in parts) or not abs(math.fsum(parts) - 1.0) <= SHARE_ROUNDING:
            raise ValueError(
                "All four shares must be above 0 and add up to 1, because every step reads the records, "
                f"got {', '.join(f'{part:g}' for part in parts)}. Divide each by their sum."
            )


# Section 6.
PUBLISHED_SHARES = Shares(interval=0.04, counts=0.18, splits=0.18, averages=0.60)
# Our choice for up to FEW records.
FEW_SHARES = Shares(interval=0.04, counts=0.34, splits=0.40, averages=0.22)
# Our choice for up to FEW records with at least WIDE features.
WIDE_SHARES = Shares(interval=0.04, counts=0.28, splits=0.34, averages=0.34)
# Our choice for at least MANY records.
MANY_SHARES = Shares(interval=0.04, counts=0.22, splits=0.29, averages=0.45)
# Our choice: records times epsilon.
FEW, MANY = 1e4, 1e5
# Our choice, by measurement: number of features from which their noise adds up in a center.
WIDE = 7


@immutable
class Plan:
    """Budgets of a run, fixed before the first split. All public: it follows from parameters and released counts."""

    # tau: levels of splits. There is one more level of counts.
    n_levels: int
    shares: Shares
    # Epsilon that the shares divide.
    epsilon: float
    # n~ of all records, at least 1.
    root_count: float
    # Depth up to which cuts need no clear gap. It may exceed n_levels, and equals it in the published calibration.
    free_levels: int
    # root_count / 2^free_levels. Without a clear gap, a side with at most this many records is not split off.
    minimum_count: float
    count_epsilons: FloatArray  # (tau + 1,)
    # (tau,) zeros in the published calibration, which looks at no gap.
    gap_epsilons: FloatArray
    split_epsilons: FloatArray  # (tau,)
    interval_epsilon: float
    # Budget of all averages together. They read disjoint records.
    averages: Budget
    # Delta of each level's counts. Published calibration only.
    count_delta: float
    # Delta of the whole run for which the noise is calibrated.
    delta: float
    # Delta of the guarantee for any noisy count of the root, if delta depends on that count.
    most_delta: float
    events: tuple[Event, ...]

    def least(self, level: int) -> float:
        """Return the count that either side of a cut on `level` must exceed, with or without a gap.

        It is 0 in published calibration.
        """
        return SIDE_SCALES / float(self.count_epsilons[level + 1]) if self.gap_epsilons.any() else 0.0

    def clear(self, level: int, noisy_counts: ArrayLike) -> FloatArray:
        """Return the noisy depth above which a gap in subsets of n~ records is clear.

        It is CHANCE sqrt(n~), because records of one smooth cluster leave gaps of this depth by chance, plus GAP_SCALES
        of its noise.
        """
        chance = CHANCE * np.sqrt(np.maximum(noisy_counts, 1.0))
        return np.asarray(chance + GAP_SCALES / self.gap_epsilons[level])


def level_epsilons(epsilon: float, n_levels: int, *, even: bool = False) -> FloatArray:
    """Return the budget of each tree level: eps_i = eps sqrt(2^i) / sum_j sqrt(2^j), or eps / n_levels.

    Deeper subsets are smaller, and the first rule minimizes the sum of the noise over their sizes (equation 2).

    Parameters
    ----------
    epsilon
        Budget of all levels, above 0.
    n_levels
        Number of levels; 0 gives an empty array.
    even
        Our rule for splits at counted gaps: in a draw, the weight of a gap is its depth in records, regardless of the
        number of records around it.

    Returns
    -------
    FloatArray
        Budgets (n_levels,).

    Raises
    ------
    ValueError
        If epsilon is not positive.
    """
    if not epsilon > 0 or n_levels < 0:
        raise ValueError(f"epsilon must be above 0 and n_levels at least 0, got {epsilon} and {n_levels}.")
    weights = np.ones(n_levels) if even else np.sqrt(np.ldexp(1.0, np.arange(n_levels)))
    return frozen(epsilon * (weights / weights.sum()) if n_levels else weights)


def levels_for(n_records: float, epsilon: float) -> int:
    """Return tau = 0.75 log2(n~ epsilon / 44), rounded, from 1 to MOST_LEVELS. Our choice.

    4 for 2,000 records at epsilon 1, 6 for 10,000, 8 for 100,000: subsets of an even tree are then just large enough
    compared with the noise of the last level. The paper has 7 throughout, too deep for 10,000: every level takes
    budget from the others.
    """
    records = min(max(n_records * epsilon, ONE_SUBSET), 1e300) if n_records > 0 else ONE_SUBSET
    return int(np.clip(round(LEVELS_PER_DOUBLING * math.log2(records / ONE_SUBSET)), 1, MOST_LEVELS))


def free_levels_for(n_records: float, epsilon: float) -> int:
    """Return the depth up to which cuts need no clear gap: 0.7 log2(n~ min(epsilon, 1) / 100), rounded.

    A share of 2^-levels of the records is then plausible as a separate cluster even if noise or overlap hides its
    border; epsilon above 1 does not make smaller clusters plausible. Smaller ones need a gap that was counted.
    """
    records = max(n_records * min(epsilon, 1.0), ONE_LEAF)
    return int(np.clip(round(FREE_PER_DOUBLING * math.log2(records / ONE_LEAF)), LEAST_FREE, MOST_LEVELS))


def shares_for(n_records: float, epsilon: float, d: int) -> Shares:
    """Return the shares for n~ records: FEW_SHARES, MANY_SHARES, and in between by the logarithm of n~ min(epsilon, 1).

    Our choice. A wrong split or a refused one costs far more than a noisy average as long as subsets are small; the
    more records, and features that each get noise, the more is left for averages: few records of WIDE features have
    WIDE_SHARES. The paper's 60 % for averages leaves too little for splits at 10,000.
    """
    records = max(n_records * min(epsilon, 1.0), FEW)
    few = WIDE_SHARES if d >= WIDE else FEW_SHARES
    way = min(math.log(records / FEW) / math.log(MANY / FEW), 1.0)
    pairs = zip(astuple(few), astuple(MANY_SHARES), strict=True)
    return Shares(*((1.0 - way) * one + way * other for one, other in pairs))


def delta_for(n_records: ArrayLike) -> FloatArray:
    """Return 1/(n sqrt n) of noisy or public n, which counts as at least LEAST_RECORDS: so at most 3.2e-5."""
    return functions.power(np.maximum(n_records, LEAST_RECORDS), -1.5)


def make_plan(
    n: int,
    d: int,
    *,
    epsilon: float,
    delta: float | None,
    n_levels: int | None,
    shares: Shares | None,
    n_public: int | None,
    published: bool,
    rng: np.random.Generator,
) -> Plan:
    """Fix depth and shares, and divide ε over levels and steps; the `n` records of `d` features are counted with noise.

    They are counted once for the root, and once before that if depth or shares have to follow a number of records that
    is not public.
    """
    size_rng, root_rng = rng.spawn(2)
    size = None if n_public is None else float(n_public)
    events: tuple[Event, ...] = ()
    if published:
        n_levels, shares = n_levels or PUBLISHED_LEVELS, shares or PUBLISHED_SHARES
    elif size is None and (n_levels is None or shares is None):
        event = count_event("number of records", PLAN_SHARE * epsilon, Purpose.SIZE, 0)
        size = float(laplace(np.float64(n), scale=event.scale, rng=size_rng))
        epsilon, events = (1.0 - PLAN_SHARE) * epsilon, (event,)
    if n_levels is None:
        depth, free = levels_for(size or 0.0, epsilon), free_levels_for(size or 0.0, epsilon)
    else:
        depth = free = n_levels
    free = free if published else max(free, LEAST_FREE)
    parts = shares or shares_for(size or 0.0, epsilon, d)
    for_gaps = 0.0 if published else GAP_SHARE * parts.counts
    count_epsilons = level_epsilons((parts.counts - for_gaps) * epsilon, depth + 1)
    root = count_event("count of level 0", float(count_epsilons[0]), Purpose.COUNTS, 0)
    root_count = max(float(laplace(np.float64(n), scale=root.scale, rng=root_rng)), 1.0)
    total_delta = delta if delta is not None else float(delta_for(root_count if n_public is None else n_public))
    follows = delta is None and n_public is None
    for_counts = COUNT_DELTA_SHARE * total_delta if published else 0.0
    return Plan(
        n_levels=depth,
        shares=parts,
        epsilon=epsilon,
        root_count=root_count,
        free_levels=free,
        minimum_count=root_count / 2.0**free,
        count_epsilons=count_epsilons,
        gap_epsilons=frozen(np.zeros(depth)) if published else level_epsilons(for_gaps * epsilon, depth),
        split_epsilons=level_epsilons(parts.splits * epsilon, depth, even=not published),
        interval_epsilon=parts.interval * epsilon,
        averages=Budget(parts.averages * epsilon, total_delta - for_counts),
        count_delta=for_counts / (depth + 1),
        delta=total_delta,
        most_delta=float(delta_for(0.0)) if follows else total_delta,
        events=(*events, root),
    )


def count_event(label: str, epsilon: float, purpose: Purpose, step: int) -> LaplaceEvent:
    """Return the noise of a count, which one record moves by 1."""
    return LaplaceEvent(label, sensitivity=1.0, scale=1.0 / epsilon, purpose=purpose, step=step)


# Liebenow et al., section 6.
GAP_QUANTILE = 0.65
# In data units: the table of the reference implementation.
PUBLISHED_SPREADS = np.arange(0.5, 30.0, 0.5)
# Our choice: split intervals per axis. Fifty clusters in a row need at least two each.
FEWEST, MOST = 128, 512
# Our choice: steps of the candidate numbers of intervals.
STEPS_PER_DOUBLING = 16
# Our choice, larger than needed: a distant percentile still has its own place, and the size is limited afterward.
# `normal_percentile(1)` as a constant, because solving for it would load SciPy's optimizers.
PERCENTILE_OF_ONE = 4.135930028275854
# From 2^24 to 2.
OFFERED = functions.power(2.0, 1.0 + np.arange(23 * STEPS_PER_DOUBLING, -1, -1) / STEPS_PER_DOUBLING)
# Our choice: axes that the repaired estimator reads. Sorting a hundred axes takes longer than all other steps.
MAX_AXES = 16
# Our choice: share of `interval_size`'s epsilon for a noisy number of records, if none is given.
SIZE_SHARE = 0.1


@immutable
class Interval(ReadOnly, Confidential):
    """A chosen interval size, and for the curator how it was chosen."""

    # (d,) size divided by the width of the axis.
    fractions: FloatArray
    # (m,) possible sizes, as fractions of the widest axis. Published: spreads / 2.
    options: FloatArray
    # (m,) -|#{gaps <= z} - q m|. Published: empty.
    nonprivate_utility: FloatArray
    # (m,) probabilities. Published: empty.
    nonprivate_probabilities: FloatArray
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
    """Return the split interval size beta.

    The repaired size is epsilon-DP under ADD_REMOVE; the published one is so for d = 1 and with a released count.

    Parameters
    ----------
    points
        Records (n, d), clipped into the box. Private.
    box
        Public box.
    epsilon
        Budget of the size, above 0.
    estimator
        "repaired" or "published", see the module.
    noisy_count
        A number of records that was released before. Without one, the repaired estimator pays for it with SIZE_SHARE of
        epsilon, and the published one takes n as it is, which is public only if records are changed and never added.
    rng
        Generator of the noise.

    Returns
    -------
    float
        The size, in data units of the box's widest axis.

    Raises
    ------
    ValueError
        If points are bad, the estimator is unknown, or epsilon is not positive.
    """
    if estimator not in ("repaired", "published"):
        raise ValueError(f"estimator must be 'repaired' or 'published', got {estimator!r}.")
    if not epsilon > 0:
        raise ValueError(f"epsilon must be above 0, got {epsilon}. Use math.inf for no privacy.")
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

    The gaps are those of `quantized` records, exact integers, and so is the proof.
    """
    axis_rng, choice_rng = rng.spawn(2)
    d = records.box.d
    axes = np.arange(d)
    if d > MAX_AXES:
        axes = np.sort(axis_rng.choice(d, MAX_AXES, replace=False))
    n_gaps = axes.size * max(records.n - 1, 0)
    # The options ascend.
    options = 1.0 / OFFERED
    percentiles = 2.0 * options * PERCENTILE_OF_ONE / max(noisy_count, 2.0) * RESOLUTION
    # Whole numbers of the gaps' own type: NumPy would turn all gaps into floats for one float.
    thresholds = np.minimum(percentiles, RESOLUTION - 1.0).astype(np.uint32)
    utility = -np.abs(records.gap_counts(axes, thresholds) - GAP_QUANTILE * n_gaps)
    scores = _log_weights(utility, options, epsilon, gap_sensitivity(axes.size))
    chosen = int(exponential(scores, epsilon=2.0, sensitivity=1.0, rng=choice_rng))
    return Interval(
        fractions=np.full(d, 1.0 / int(np.clip(round(float(OFFERED[chosen])), FEWEST, MOST))),
        options=options,
        nonprivate_utility=utility,
        nonprivate_probabilities=exponential_probabilities(scores, epsilon=2.0, sensitivity=1.0),
        events=(PureEvent("interval size", epsilon, bounded_range=True, purpose=Purpose.INTERVAL),),
    )


def gap_sensitivity(n_axes: int) -> float:
    """Return d (2 - q), the most by which one record can change the pooled count minus its target under ADD_REMOVE."""
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
    return Interval(
        fractions=np.minimum(spread / 2.0 / box.widths, 1.0),
        options=np.minimum(PUBLISHED_SPREADS / 2.0 / widest, 1.0),
        nonprivate_utility=np.empty(0),
        nonprivate_probabilities=np.empty(0),
        events=(PureEvent("interval size (claimed)", epsilon, purpose=Purpose.INTERVAL),),
    )


def _dp_percentile(values: FloatArray, highest: float, epsilon: float, *, rng: np.random.Generator) -> float:
    """Draw from [0, highest] with density proportional to exp(-epsilon |#{values <= z} - q m| / 2) (Du et al. 2020)."""
    choice_rng, place_rng = rng.spawn(2)
    # The edges ascend.
    edges = np.concatenate([[0.0], np.clip(values, 0.0, highest), [highest]])
    utility = -np.abs(np.arange(values.size + 1) - GAP_QUANTILE * values.size)
    lengths = np.diff(edges)
    scores = _log_weights(utility, lengths, epsilon, 1.0)
    chosen = int(exponential(scores, epsilon=2.0, sensitivity=1.0, rng=choice_rng))
    return float(edges[chosen] + place_rng.random() * lengths[chosen])


def _log_weights(utility: FloatArray, measure: FloatArray, epsilon: float, sensitivity: float) -> FloatArray:
    """Return ln(measure_i) + epsilon (utility_i - best) / (2 sensitivity); -inf for options of no measure.

    `measure` is the prior weight of each option, a public number. Logarithms are used because the smallest weight would
    otherwise be 0, which would exclude its option because of the records. At epsilon = infinity, only the best options
    are left.
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
        return float((weights * scipy.special.gammainc(n_axes, n_axes * constant * density)).sum() - GAP_QUANTILE)

    return float(scipy.optimize.brentq(excess, 1e-3, 1e4))
