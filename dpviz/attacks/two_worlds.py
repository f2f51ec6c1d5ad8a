"""Which of two worlds? Many releases from either, and how often the best rule that was found is right.

The rule is chosen on the first half of the runs and scored on the second, so that what it found by luck does not
count. The plug-in total variation does count it: of two *identical* clouds of 200 runs on 20 x 20 bins it makes an
attacker who is right 70 times in 100 (*measured*).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpviz.attacks.roc import clopper_pearson
from dpviz.core import Box, CentersRelease, FloatArray, Points, as_points

LEAST_RUNS = 8  # of either world: two quarters to choose on, of two runs each, and a half to score on
SHRINKAGE = 0.5  # of correlations towards none, where a direction is learned; ours


@dataclass(frozen=True, slots=True)
class HeldOutScore:
    """How often a rule was right on runs that it was not chosen on; as many of either world."""

    n_rounds: int
    n_right: int
    low: float  # exact interval of the rate
    high: float

    @property
    def rate(self) -> float:
        """How often the rule was right, of 1."""
        return self.n_right / self.n_rounds


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """Say "second world" where `sign` (w . s - threshold) > 0."""

    weights: FloatArray  # (f,)
    threshold: float
    sign: int  # 1 or -1

    def says_second(self, statistics: FloatArray) -> FloatArray:
        """Return 1 where the rule says "second world", else 0, for `statistics` (r, f)."""
        above = statistics @ self.weights > self.threshold
        return np.asarray(above if self.sign > 0 else ~above, dtype=np.float64)


def held_out_score(first: ArrayLike, second: ArrayLike, *, confidence: float = 0.95) -> HeldOutScore:
    """Return how often an attacker tells the worlds apart who sees statistics of one release, each world as likely.

    `first` and `second` are (R, f): f statistics of each of R independent releases from either world, in any order that
    does not depend on them. The interval of the expected accuracy of the chosen rule is exact: hits are a sum of two
    binomials with as many rounds each, whose tails are no heavier than those of one binomial with the same mean
    (Hoeffding 1956, theorem 4), so that Clopper & Pearson's interval holds. Another rule may do better: it is a
    lower bound of the best attacker, up to that interval.
    Raises ValueError for other shapes, values that are not finite, and fewer than LEAST_RUNS runs.
    """
    here, there = as_points(first, name="first"), as_points(second, name="second")
    if here.shape != there.shape or len(here) < LEAST_RUNS:
        raise ValueError(
            f"first had shape {here.shape} and second {there.shape}, but both need the same statistics of as many "
            f"runs, {LEAST_RUNS} at least."
        )
    half = len(here) // 2
    rule = chosen_rule(here[:half], there[:half])
    called = rule.says_second(here[half:]), rule.says_second(there[half:])
    n_rounds, n_right = 2 * (len(here) - half), int((1.0 - called[0]).sum() + called[1].sum())
    band = clopper_pearson([n_right], n_rounds, confidence=confidence)
    return HeldOutScore(n_rounds, n_right, float(band.low[0]), float(band.high[0]))


def chosen_rule(first: FloatArray, second: FloatArray) -> Rule:
    """Return the rule that is right most often on half of `first` and `second` (r, f), r >= 4.

    The other half teaches a direction; every statistic by itself, and that direction, compete.
    """
    cut = len(first) // 2
    direction = learned_direction(first[:cut], second[:cut])
    weights = np.concatenate([np.eye(first.shape[1]), direction[None]])  # (f + 1, f)
    n = len(first) - cut
    values = np.concatenate([first[cut:], second[cut:]]) @ weights.T  # (2 n, f + 1)
    order = np.argsort(values, axis=0, kind="stable")
    ranked = np.take_along_axis(values, order, axis=0)
    # Of the rounds up to a place: how many more of the first world than of the second.
    gain = np.cumsum(np.where(order < n, 1, -1), axis=0)[:-1]
    gain[ranked[1:] == ranked[:-1]] = 0  # equal values cannot be parted
    place, column = np.unravel_index(int(np.abs(gain).argmax()), gain.shape)
    low, high = float(ranked[place, column]), float(ranked[place + 1, column])
    middle = low + 0.5 * (high - low)
    sign = 1 if gain[place, column] >= 0 else -1
    return Rule(weights[column], middle if middle < high else low, sign)


def learned_direction(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return Fisher's direction (f,) from the first world to the second, with correlations shrunk by SHRINKAGE.

    Statistics that never change get no weight: by themselves they part the worlds, or not at all.
    """
    inner = np.concatenate([first - first.mean(axis=0), second - second.mean(axis=0)])
    # Not the deviation: that of equal numbers may be their mean's rounding error.
    moving = (np.ptp(first, axis=0) > 0) | (np.ptp(second, axis=0) > 0)
    safe = np.where(moving, inner.std(axis=0), 1.0)
    scaled = inner / safe
    shrunk = (1.0 - SHRINKAGE) * (scaled.T @ scaled) / len(scaled) + SHRINKAGE * np.eye(len(safe))
    gap = np.where(moving, (second.mean(axis=0) - first.mean(axis=0)) / safe, 0.0)
    return np.asarray(np.linalg.solve(shrunk, gap) / safe * moving)


def center_statistics(release: CentersRelease, spots: Points, box: Box) -> FloatArray:
    """Return statistics (f,) of released centers for somebody who asks about places `spots` (s, d), data units.

    How many there are, the sum of their noisy counts (0 where there are none), the mean center, and for each spot the
    nearest center, its distance and its noisy count; places in box units. f = 2 + d + s (d + 2), however many centers.
    Without any the middle of the box stands for them.
    """
    asked = as_points(spots, n_features=box.d, name="spots")
    found, places = len(release.centers), box.to_unit(asked)
    centers = box.to_unit(release.centers) if found else np.full((1, box.d), 0.5)
    counts = np.zeros(len(centers)) if release.noisy_counts is None or not found else release.noisy_counts
    gaps = np.linalg.norm(places[:, None, :] - centers[None, :, :], axis=2)  # (s, k)
    near = gaps.argmin(axis=1)
    own = np.column_stack([centers[near], gaps[np.arange(len(near)), near], counts[near]])
    return np.concatenate([[found, counts.sum()], centers.mean(axis=0), own.ravel()])
