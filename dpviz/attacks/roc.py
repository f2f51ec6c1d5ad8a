"""Success of an attack on two worlds: ROC curves, their bounds under a budget, confidence, held-out rules.

"Inside" is the world in which the record was used, "outside" the world in which a different record replaced it. An
attack answers "inside" if its score is at least a threshold. Notation of the sources -> here: P_MD of Kairouz, Oh &
Viswanath 2015 is 1 - true_positive, P_FA is false_positive; alpha and beta of Dong, Roth & Su 2022 are
false_positive and 1 - true_positive. Bounds hold for the rates themselves; measured rates scatter around them.

`held_out_score` does not need an attacker's score. From many releases of both worlds, it chooses a rule on the first
half of the runs and scores it on the second half, so that lucky fits do not count. The plug-in total variation does
count them: for two *identical* clouds of 200 runs on 20 x 20 bins, it suggests an attacker who is right 70 times in 100
(*measured*).
"""

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpviz.core import Box, Budget, CentersRelease, FloatArray, Points, as_points, immutable, immutable_value

# Minimum runs of each world: two quarters of two runs each to choose on, and a half to score on.
LEAST_RUNS = 8
# Shrinkage of correlations toward 0 for a learned direction. Our choice.
SHRINKAGE = 0.5


@immutable
class Roc:
    """Measured rates of the attack "score >= threshold", from the strictest threshold to the most lenient."""

    # Falling, (m,). The first one, +inf, calls no record inside.
    thresholds: FloatArray
    # Rising from 0 to 1, (m,).
    false_positive: FloatArray
    # Rising from 0 to 1, (m,).
    true_positive: FloatArray
    # Rounds with the record in.
    n_inside: int
    # Rounds with a different record in.
    n_outside: int

    @property
    def auc(self) -> float:
        """Area under the curve: the rate at which an inside score beats an outside one; ties count half."""
        return float(np.trapezoid(self.true_positive, self.false_positive))

    @property
    def advantage(self) -> float:
        """Largest true_positive - false_positive, Yeom et al. 2018, definition 4; selected on these same rounds."""
        return float((self.true_positive - self.false_positive).max())


@immutable
class RateBand:
    """Lower and upper ends of confidence intervals of rates."""

    low: FloatArray  # (m,), in [0, 1]
    high: FloatArray  # (m,), in [0, 1]


@immutable
class RocBand:
    """Both rates of every threshold with their intervals."""

    false_positive: RateBand
    true_positive: RateBand


def empirical_roc(inside: ArrayLike, outside: ArrayLike) -> Roc:
    """Return the ROC of scores of inside rounds (a,) against outside rounds (b,), higher meaning "inside".

    Equal scores move together, so a score without information gives the diagonal. An infinite score is an extreme one.
    Raises ValueError if there are no rounds of either kind, for a different shape and for NaN.
    """
    members, strangers = _scores(inside, "inside"), _scores(outside, "outside")
    # Rising.
    values = np.unique(np.concatenate([members, strangers]))
    # Rounds at or above a threshold are those not below it.
    positives = 1.0 - np.searchsorted(np.sort(members), values) / members.size
    alarms = 1.0 - np.searchsorted(np.sort(strangers), values) / strangers.size
    # The first entry calls no record inside, not even at an infinite score.
    return Roc(
        np.append(values, np.inf)[::-1],
        np.append(alarms, 0.0)[::-1],
        np.append(positives, 0.0)[::-1],
        members.size,
        strangers.size,
    )


def roc_bound(false_positive: ArrayLike, budget: Budget) -> FloatArray:
    """Return the largest possible true positive rate at `false_positive` (any shape, in [0, 1]).

    min(e^E FPR + delta, 1 - e^-E (1 - delta - FPR)), at most 1, where (E, delta) is `budget`: for the game that
    replaces x by x' under geo-indistinguishability E = epsilon |x - x'| (`replacement_budget`). No attack on an
    (E, delta)-DP release lies above: Kairouz, Oh & Viswanath 2015, theorem 2.1.
    Raises ValueError for a rate outside [0, 1].
    """
    rate = np.asarray(false_positive, dtype=np.float64)
    if not ((rate >= 0) & (rate <= 1)).all():
        raise ValueError("false_positive must be a rate in [0, 1]. Divide counts by their total.")
    # Beyond e^700 the first line is above 1 for every positive rate that a float can represent.
    growth, shrink = math.exp(min(budget.epsilon, 700.0)), math.exp(-budget.epsilon)
    steep = growth * rate + budget.delta
    flat = 1.0 - shrink * (1.0 - budget.delta - rate)
    return np.asarray(np.minimum(np.minimum(steep, flat), 1.0))


def auc_bound(budget: Budget) -> float:
    """Return the area under `roc_bound`, the largest possible AUC of an attack: 1 - (1 - delta)^2 / (1 + e^E).

    Above the bound lie two triangles with the corners (0, 1), (0, delta) and (f, 1 - f), and (0, 1), (f, 1 - f) and
    (1 - delta, 1), f = (1 - delta) / (1 + e^E); each has the area (1 - delta) f / 2.
    """
    return 1.0 - (1.0 - budget.delta) ** 2 * _kink(budget.epsilon)


def advantage_bound(budget: Budget) -> float:
    """Return the largest possible TPR - FPR, (e^E - 1 + 2 delta) / (e^E + 1): 1 - 2 f at the bound's kink f.

    It is sharper than e^E - 1 of Yeom et al. 2018, theorem 1. It is also the largest total variation, and (1 + it) / 2
    is `dpviz.core.attacker_odds` / 100.
    """
    return 1.0 - 2.0 * (1.0 - budget.delta) * _kink(budget.epsilon)


def replacement_budget(epsilon: float, points: ArrayLike, others: ArrayLike) -> Budget:
    """Return the budget of the game that replaces row i of `points` by row i of `others`.

    It is E = epsilon max_i |x_i - x'_i| at delta 0. The budget protects which of the two places a person was at. It
    does not protect participation: the release has a row for each person.

    Parameters
    ----------
    epsilon
        Above 0, per unit of distance, in the rows' unit. For redrawing into a domain, pass the epsilon that is proved
        for it, up to twice the mechanism's epsilon.
    points
        Rows (n, d).
    others
        Their replacements (n, d).

    Returns
    -------
    Budget
        Epsilon of the game.

    Raises
    ------
    ValueError
        If epsilon is not positive and finite, shapes differ, or all pairs are the same.
    """
    if not 0 < epsilon < math.inf:
        raise ValueError(f"epsilon must be positive and finite, per unit of distance, got {epsilon}.")
    here, there = as_points(points), as_points(others, name="others")
    if here.shape != there.shape:
        raise ValueError(
            "points and others must have the same shape, because each x needs its own x', got "
            f"{here.shape} and {there.shape}."
        )
    gaps = here - there
    farthest = float(np.sqrt(np.einsum("ij,ij->i", gaps, gaps)).max(initial=0.0))
    if farthest == 0.0:
        raise ValueError("At least one x' must differ from its x, or there is nothing to distinguish. Move one record.")
    return Budget(epsilon * farthest)


def clopper_pearson(hits: ArrayLike, n_rounds: int, *, confidence: float = 0.95) -> RateBand:
    """Return exact two-sided intervals of the rates hits / n_rounds, each at a level by itself.

    Intervals are never below the stated level, for one threshold that was fixed beforehand. A threshold picked on the
    same rounds needs `roc_band`.

    Parameters
    ----------
    hits
        Counts (m,) of independent rounds.
    n_rounds
        Number of rounds.
    confidence
        Level in (0, 1).

    Returns
    -------
    RateBand
        Ends of the intervals (m,).

    Raises
    ------
    ValueError
        If a count is outside [0, n_rounds] or the confidence outside (0, 1).

    References
    ----------
    Clopper & Pearson 1934.
    """
    counts, alpha = np.asarray(hits, dtype=np.float64), 1.0 - _level(confidence)
    if n_rounds < 1 or not ((counts >= 0) & (counts <= n_rounds)).all():
        raise ValueError(f"hits must lie between 0 and n_rounds={n_rounds}, which must be at least 1.")
    # A Beta distribution with a parameter of 0 is a point mass: with no hits the lower end is 0, with all hits the
    # upper end is 1.
    low = np.where(counts > 0, scipy.stats.beta.ppf(alpha / 2, np.maximum(counts, 1), n_rounds - counts + 1), 0.0)
    high = np.where(
        counts < n_rounds, scipy.stats.beta.ppf(1 - alpha / 2, counts + 1, np.maximum(n_rounds - counts, 1)), 1.0
    )
    return RateBand(low, high)


def roc_band(roc: Roc, *, confidence: float = 0.95) -> RocBand:
    """Return bands that contain both true rates at every threshold at once, with probability at least `confidence`.

    Each rate is an empirical distribution function; Dvoretzky-Kiefer-Wolfowitz with Massart's constant (1990) puts it
    within sqrt(log(2 / a) / (2 rounds)) everywhere with probability 1 - a, and a = (1 - confidence) / 2 for each of the
    two. Rounds must be independent: targets that share one release are not.
    """
    share = (1.0 - _level(confidence)) / 2.0
    return RocBand(_dkw(roc.false_positive, roc.n_outside, share), _dkw(roc.true_positive, roc.n_inside, share))


def exceeds(roc: Roc, budget: Budget, *, confidence: float = 0.9999) -> bool:
    """Return True if the rounds show an attack above the bound, so that the guarantee is broken.

    This compares the smallest possible true positive rate with the bound at the largest possible false positive rate,
    at every threshold at once (`roc_band`). False means "not found in these rounds", never "verified".

    Parameters
    ----------
    roc
        Rates of the attack.
    budget
        Guarantee of the release.
    confidence
        Level in (0, 1).

    Returns
    -------
    bool
        Whether the bound is exceeded.
    """
    band = roc_band(roc, confidence=confidence)
    return bool((band.true_positive.low > roc_bound(band.false_positive.high, budget)).any())


def _kink(epsilon: float) -> float:
    """Return 1 / (1 + e^E) without overflow."""
    shrink = math.exp(-epsilon)
    return shrink / (1.0 + shrink)


def _scores(values: ArrayLike, name: str) -> FloatArray:
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1 or not scores.size:
        raise ValueError(f"{name} must have shape (rounds,) with at least one round, got {scores.shape}.")
    if np.isnan(scores).any():
        raise ValueError(f"{name} must have a score for every round, got NaN. Use -inf for a round without evidence.")
    return scores


def _level(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be in (0, 1), such as 0.95, got {confidence}.")
    return confidence


def _dkw(rates: FloatArray, n_rounds: int, alpha: float) -> RateBand:
    half = math.sqrt(math.log(2.0 / alpha) / (2.0 * n_rounds))
    return RateBand(np.maximum(rates - half, 0.0), np.minimum(rates + half, 1.0))


@immutable_value
class HeldOutScore:
    """Score of a rule on runs that it was not chosen on, with the same number of runs from each world."""

    # Number of scored rounds.
    n_rounds: int
    # Number of rounds in which the rule was right.
    n_right: int
    # Low end of the exact interval of the rate.
    low: float
    # High end of the exact interval of the rate.
    high: float

    @property
    def rate(self) -> float:
        """Share of rounds in which the rule was right."""
        return self.n_right / self.n_rounds


@immutable
class Rule:
    """A rule that answers "second world" if `sign` (w . s - threshold) > 0."""

    weights: FloatArray  # (f,)
    threshold: float
    sign: int  # 1 or -1

    def says_second(self, statistics: FloatArray) -> FloatArray:
        """Return 1 if the rule answers "second world", otherwise 0, for each row of `statistics` (r, f)."""
        above = statistics @ self.weights > self.threshold
        return np.asarray(above if self.sign > 0 else ~above, dtype=np.float64)


def held_out_score(first: ArrayLike, second: ArrayLike, *, confidence: float = 0.95) -> HeldOutScore:
    """Return the accuracy of an attacker who sees statistics of one release, if both worlds are equally likely.

    A different rule may be better: the score is a lower bound for the best attacker, up to its interval.

    Parameters
    ----------
    first
        Statistics (R, f) of independent releases from one world, in any order that does not depend on them.
    second
        The same from the other world.
    confidence
        Level of the interval, in (0, 1).

    Returns
    -------
    HeldOutScore
        Accuracy of the chosen rule on held-out runs, with an exact interval of its expectation.

    Raises
    ------
    ValueError
        If shapes differ, a value is not finite, or a world has fewer than LEAST_RUNS runs.

    Notes
    -----
    Hits are a sum of two binomials with as many rounds each, whose tails are no heavier than those of one binomial with
    the same mean (Hoeffding 1956, theorem 4), so Clopper & Pearson's interval holds.
    """
    here, there = as_points(first, name="first"), as_points(second, name="second")
    if here.shape != there.shape or len(here) < LEAST_RUNS:
        raise ValueError(
            f"first and second must have the same statistics and at least {LEAST_RUNS} runs each, got "
            f"shapes {here.shape} and {there.shape}."
        )
    half = len(here) // 2
    rule = chosen_rule(here[:half], there[:half])
    called = rule.says_second(here[half:]), rule.says_second(there[half:])
    n_rounds, n_right = 2 * (len(here) - half), int((1.0 - called[0]).sum() + called[1].sum())
    band = clopper_pearson([n_right], n_rounds, confidence=confidence)
    return HeldOutScore(n_rounds, n_right, float(band.low[0]), float(band.high[0]))


def chosen_rule(first: FloatArray, second: FloatArray) -> Rule:
    """Return the rule that is right most often on half of `first` and `second` (r, f), r >= 4.

    A direction is learned on the other half. It competes with every single statistic.
    """
    cut = len(first) // 2
    direction = learned_direction(first[:cut], second[:cut])
    weights = np.concatenate([np.eye(first.shape[1]), direction[None]])  # (f + 1, f)
    n = len(first) - cut
    values = np.concatenate([first[cut:], second[cut:]]) @ weights.T  # (2 n, f + 1)
    order = np.argsort(values, axis=0, kind="stable")
    ranked = np.take_along_axis(values, order, axis=0)
    # Surplus of first-world rounds over second-world rounds up to each place.
    gain = np.cumsum(np.where(order < n, 1, -1), axis=0)[:-1]
    # Equal values cannot be separated.
    gain[ranked[1:] == ranked[:-1]] = 0
    place, column = np.unravel_index(int(np.abs(gain).argmax()), gain.shape)
    low, high = float(ranked[place, column]), float(ranked[place + 1, column])
    middle = low + 0.5 * (high - low)
    sign = 1 if gain[place, column] >= 0 else -1
    return Rule(weights[column], middle if middle < high else low, sign)


def learned_direction(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return Fisher's direction (f,) from the first world to the second, with correlations shrunk by SHRINKAGE.

    Statistics that never change get no weight: they separate the worlds by themselves, or not at all.
    """
    inner = np.concatenate([first - first.mean(axis=0), second - second.mean(axis=0)])
    # Not the deviation, because for equal numbers it may be the rounding error of their mean.
    moving = (np.ptp(first, axis=0) > 0) | (np.ptp(second, axis=0) > 0)
    safe = np.where(moving, inner.std(axis=0), 1.0)
    scaled = inner / safe
    shrunk = (1.0 - SHRINKAGE) * (scaled.T @ scaled) / len(scaled) + SHRINKAGE * np.eye(len(safe))
    gap = np.where(moving, (second.mean(axis=0) - first.mean(axis=0)) / safe, 0.0)
    return np.asarray(np.linalg.solve(shrunk, gap) / safe * moving)


def center_statistics(release: CentersRelease, spots: Points, box: Box) -> FloatArray:
    """Return statistics of released centers for an attacker who looks at some places.

    Parameters
    ----------
    release
        Released centers, with or without noisy counts.
    spots
        Places (s, d), data units.
    box
        Public box.

    Returns
    -------
    FloatArray
        Statistics (f,), f = 2 + d + s (d + 2) for any number of centers: the number of centers, the sum of their noisy
        counts (0 without counts), the mean center, and for each spot the nearest center, its distance and its noisy
        count. Places are in box units. Without centers, the middle of the box takes their place.
    """
    k, places = len(release.centers), box.to_unit(as_points(spots, n_features=box.d, name="spots"))
    centers = box.to_unit(release.centers) if k else np.full((1, box.d), 0.5)
    counts = np.zeros(len(centers)) if release.noisy_counts is None or not k else release.noisy_counts
    gaps = np.linalg.norm(places[:, None, :] - centers[None, :, :], axis=2)  # (s, k)
    near = gaps.argmin(axis=1)
    own = np.column_stack([centers[near], gaps[np.arange(len(near)), near], counts[near]])
    return np.concatenate([[k, counts.sum()], centers.mean(axis=0), own.ravel()])
