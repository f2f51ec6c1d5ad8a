"""DPM's interval size: the pooled estimator keeps its promise, the published one is shown not to."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import gamma

from dpviz.core import Box
from dpviz.methods.dpm.algorithm import interval_size
from dpviz.methods.dpm.algorithm.plan import (
    FEWEST,
    GAP_QUANTILE,
    MAX_AXES,
    MOST,
    OFFERED,
    PERCENTILE_OF_ONE,
    gap_sensitivity,
    normal_percentile,
    published_interval,
    repaired_interval,
)
from dpviz.methods.dpm.algorithm.records import RESOLUTION, HeldRecords, quantized
from dpviz.tools.audit.cases import alternating_gaps

COUNT = 40.0  # a released number of records, the same for neighbors


def generator(seed=0):
    return np.random.default_rng(seed)


def slow_excess(points, thresholds):
    """#{gaps <= z} - q m from the definition, for whole-number places (n, d)."""
    gaps = np.diff(np.sort(points, axis=0), axis=0)
    return np.array([(gaps <= z).sum() - GAP_QUANTILE * gaps.size for z in thresholds])


def slow_utility(points, thresholds):
    return -np.abs(slow_excess(points, thresholds))


def published_law(points, box, epsilon, low, high):
    """P(low <= sigma <= high) of the published estimator, by quadrature over its piecewise constant density."""
    n, d = points.shape
    averages = np.sort(np.diff(np.sort(points, axis=0), axis=0).mean(axis=1))
    edges = np.concatenate([[0.0], averages, [box.widths.max()]])
    exponents = -epsilon / 4 * np.abs(np.arange(n) - GAP_QUANTILE * (n - 1))
    weights = np.exp(exponents - exponents.max())
    factor = n / normal_percentile(d)
    # sigma is rounded to halves and cut off at both ends of the table.
    first, last = (low - 0.25) / factor, (high + 0.25) / factor
    inside = np.clip(np.minimum(edges[1:], last) - np.maximum(edges[:-1], first), 0, None)
    return float((weights * inside).sum() / (weights * np.diff(edges)).sum())


def test_the_published_estimator_breaks_its_promise():
    pair = alternating_gaps()
    points, box = pair.points, pair.box
    # Epsilon 1 in all, of which the interval has 4 %: the two figures of the errata.
    before, after = (published_law(rows, box, 0.04, 17, 22) for rows in (points, points[1:]))
    assert before == pytest.approx(3.65e-5, rel=0.002)
    assert after == pytest.approx(0.768, abs=0.0005)
    assert after > math.exp(0.04) * before + 0.5
    for rows, expected in ((points, before), (points[1:], after)):
        sizes = np.array(
            [interval_size(rows, box, 0.04, estimator="published", rng=generator(seed)) for seed in range(600)]
        )
        share = ((2 * sizes >= 17) & (2 * sizes <= 22)).mean()
        # Six standard errors of a share, and one run for the tiny one.
        assert abs(share - expected) <= 6 * math.sqrt(expected * (1 - expected) / 600) + 1 / 600


def test_the_repaired_estimator_keeps_its_promise_there():
    pair = alternating_gaps()
    points, box = pair.points, pair.box
    one, other = (
        repaired_interval(HeldRecords(rows, box), 0.04, 4001.0, rng=generator()).nonprivate_probabilities
        for rows in (points, points[1:])
    )
    assert np.abs(np.log(one / other)).max() <= 0.04
    coarse = np.rint(OFFERED) <= FEWEST
    assert one[coarse].sum() > 0.95  # its own value, in both
    assert other[coarse].sum() > 0.95


def measure_change(points, thresholds, of=slow_excess):
    """The largest change over all records taken out: of the signed excess, which bounds that of the utility."""
    full = of(points, thresholds)
    others = (np.delete(points, i, axis=0) for i in range(len(points)))
    return max((np.abs(full - of(rest, thresholds)).max() for rest in others), default=0.0)


@pytest.mark.parametrize("d", [1, 2])
def test_the_sensitivity_holds_for_every_small_set(d):
    """All sets of up to 4 records (d = 1) or 3 (d = 2) on 0..3, all records taken out, all thresholds."""
    worst = 0.0
    places = list(itertools.product(range(4), repeat=d))
    for n in range(1, 6 - d):
        for rows in itertools.combinations_with_replacement(places, n):
            worst = max(worst, measure_change(np.array(rows), np.arange(-1, 5)))
    assert worst <= gap_sensitivity(d) + 1e-12
    assert worst == pytest.approx(gap_sensitivity(d))


@pytest.mark.parametrize("d", [1, 2, 5, 20])
def test_the_sensitivity_is_attained(d):
    """Evenly spaced records, the same on every axis: the one in the middle takes two gaps of every axis with it."""
    points = np.repeat(np.arange(21)[:, None], d, axis=1)
    assert measure_change(points, [1], of=slow_utility) == pytest.approx(gap_sensitivity(d))
    assert gap_sensitivity(d) == pytest.approx(1.35 * d)


@given(
    rows=st.integers(1, 4).flatmap(lambda d: st.lists(st.tuples(*[st.integers(0, 12)] * d), min_size=1, max_size=14)),
    far=st.integers(0, 10**6),
)
@settings(max_examples=60)
@example(rows=[(0, 0), (1, 1), (2, 2)], far=0)
def test_no_worse_neighbour_is_found(rows, far):
    points = np.array(rows)
    thresholds = np.concatenate([np.arange(-1, 14), [far]])
    assert measure_change(points, thresholds) <= gap_sensitivity(points.shape[1]) + 1e-12


@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), d=st.integers(1, 5), epsilon=st.sampled_from([0.04, 1.0, 8.0]))
def test_probabilities_of_neighbours_differ_by_at_most_epsilon(seed, n, d, epsilon):
    rng = generator(seed)
    points = np.round(rng.random((n, d)), int(rng.integers(1, 4)))
    box = Box.cube(0.0, 1.0, d)
    one, other = (
        repaired_interval(HeldRecords(rows, box), epsilon, COUNT, rng=generator()).nonprivate_probabilities
        for rows in (points, points[1:])
    )
    positive = (one > 1e-290) & (other > 1e-290)
    assert np.abs(np.log(one[positive] / other[positive])).max() <= epsilon * (1 + 1e-9)


@given(seed=st.integers(0, 10**6), n=st.integers(0, 50), d=st.integers(1, 4))
def test_the_utility_is_the_definition(seed, n, d):
    points, box = generator(seed).random((n, d)), Box.cube(0.0, 1.0, d)
    places = quantized(points, box)
    interval = repaired_interval(HeldRecords(points, box), 1.0, COUNT, rng=generator())
    thresholds = np.floor(2 / OFFERED * normal_percentile(1) / COUNT * RESOLUTION)
    np.testing.assert_allclose(interval.nonprivate_utility, slow_utility(places.T.astype(np.int64), thresholds))


def test_the_constant_of_one_axis_is_written_down():
    assert normal_percentile(1) == pytest.approx(PERCENTILE_OF_ONE, rel=1e-11)  # the solver's own tolerance is 2e-12


def test_the_constant_solves_its_equation():
    x = np.linspace(-8, 8, 20_001)
    density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    for n_axes in (1, 3, 50):
        share = np.trapezoid(density * gamma.cdf(normal_percentile(n_axes) * density, n_axes, scale=1 / n_axes), x)
        assert share == pytest.approx(GAP_QUANTILE, abs=1e-6)


@pytest.mark.parametrize("spread", [0.005, 0.01, 0.015])
def test_a_normal_sample_gives_half_its_spread(spread):
    points = 0.5 + spread * generator(0).standard_normal((20_000, 3))
    size = interval_size(points, Box.cube(0, 1, 3), math.inf, estimator="repaired", rng=generator())
    assert size == pytest.approx(spread / 2, rel=0.05)


def test_a_published_size_is_half_of_the_nearest_spread():
    points = 50 + 3.1 * generator(0).standard_normal((20_000, 2))
    size = interval_size(points, Box.cube(0, 100, 2), math.inf, estimator="published", rng=generator())
    assert size == 1.5


def test_the_size_is_limited_and_scale_free():
    pairs = np.repeat(np.linspace(0, 1, 250), 2) + np.tile([0.0, 1e-6], 250)  # 65 % of the gaps are 1/250
    crowded = 0.3 + 1e-6 * generator(0).standard_normal((500, 2))
    for points, number in ((crowded, MOST), (np.column_stack([pairs, pairs]), FEWEST)):
        for low, high in ((0.0, 1.0), (-100.0, 100.0)):
            size = interval_size(
                low + points * (high - low), Box.cube(low, high, 2), 1e6, estimator="repaired", rng=generator()
            )
            assert size == pytest.approx((high - low) / number)


def test_with_many_axes_a_public_subset_is_read():
    points, box = generator(0).random((50, 40)), Box.cube(0, 1, 40)
    found = repaired_interval(HeldRecords(points, box), 1.0, 50.0, rng=generator(0))
    target = GAP_QUANTILE * 49 * MAX_AXES
    assert (found.nonprivate_utility >= -max(target, 49 * MAX_AXES - target)).all()
    assert found.nonprivate_probabilities.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("estimator", ["repaired", "published"])
def test_it_works_on_hardly_any_records(n, estimator):
    points = generator(n).random((n, 3))
    for epsilon in (1e-6, 1.0, math.inf):
        size = interval_size(points, Box.cube(0, 1, 3), epsilon, estimator=estimator, rng=generator())
        assert 0 < size <= 1


def test_an_interval_longer_than_an_axis_becomes_the_axis():
    points, box = generator(0).random((100, 2)) * [30, 0.1], Box([0, 0], [30, 0.1])
    found = published_interval(quantized(points, box), box, 1.0, 100.0, rng=generator())
    assert found.fractions[1] == 1.0


def test_wrong_arguments_are_refused():
    points, box = np.zeros((3, 1)), Box.cube(0, 1, 1)
    with pytest.raises(ValueError, match="estimator"):
        interval_size(points, box, 1.0, estimator="best", rng=generator())
    with pytest.raises(ValueError, match="epsilon"):
        interval_size(points, box, 0.0, rng=generator())
