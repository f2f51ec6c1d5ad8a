import math

import numpy as np
import pytest

from benchmarks.papers.statistics import mean_estimate, ratio_estimate, share_estimate, spread


def test_a_mean_by_hand():
    # 1, 2, 6: mean 3, s^2 = (4 + 1 + 9) / 2 = 7; Student's t with 2 degrees of freedom at 97.5 % is 4.302653.
    found = mean_estimate([1, 2, 6])
    half = 4.302653 * math.sqrt(7 / 3)
    assert (found.value, found.low, found.high) == pytest.approx((3.0, 3.0 - half, 3.0 + half), rel=1e-6)


def test_a_ratio_by_hand():
    # a = 2, 4, b = 1, 3: q = 6/4, residuals (2 - 1.5, 4 - 4.5) / 2 = 0.25, -0.25, s^2 = 0.125; t with 1 degree 12.7062.
    found = ratio_estimate([2, 4], [1, 3])
    half = 12.706205 * math.sqrt(0.125 / 2)
    assert (found.value, found.low, found.high) == pytest.approx((1.5, 1.5 - half, 1.5 + half), rel=1e-6)


def test_a_share_by_hand():
    # Wilson: (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n) with z = 1.959964.
    z, n, p = 1.959964, 10, 0.9
    middle, half = p + z**2 / (2 * n), z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    found = share_estimate(9, 10)
    wanted = (0.9, (middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n))
    assert (found.value, found.low, found.high) == pytest.approx(wanted, rel=1e-6)
    assert share_estimate(10, 10).low < 1.0  # never a width of 0
    assert share_estimate(0, 10).high > 0.0


def test_quartiles_by_hand():
    found = spread([0, 1, 2, 3, 14])
    assert (found.lower, found.median, found.upper, found.mean) == (1.0, 2.0, 3.0, 4.0)


def test_one_run_has_no_interval():
    assert (mean_estimate([3]).low, ratio_estimate([3], [2]).high) == (None, None)
    assert ratio_estimate([3], [2]).value == 1.5


def test_the_intervals_hold_the_truth_95_times_in_100():
    # 4,000 experiments of 40 skewed runs: a share of 0.95 has a standard error of 0.0035, and the skew of the means
    # costs less than 0.015. A normal interval of half the width would hold the truth 67 times.
    rng = np.random.default_rng(0)
    held_mean = held_ratio = held_unpaired = 0
    for _ in range(4000):
        lloyds = 5 + rng.gamma(4.0, 2.0, size=40)  # mean 13
        ours = 1.3 * lloyds + rng.normal(0, 1, size=40)
        mean, ratio = mean_estimate(lloyds), ratio_estimate(ours, lloyds)
        held_mean += mean.low <= 13 <= mean.high
        held_ratio += ratio.low <= 1.3 <= ratio.high
        # The wrong variant leaves out that the runs are paired: far too wide.
        wide = ours.std(ddof=1) / lloyds.mean() / math.sqrt(40) * 2
        held_unpaired += abs(ratio.value - 1.3) <= wide
    assert 0.925 < held_mean / 4000 < 0.965
    assert 0.925 < held_ratio / 4000 < 0.965
    assert held_unpaired / 4000 > 0.995
