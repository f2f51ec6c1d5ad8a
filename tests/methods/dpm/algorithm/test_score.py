"""DPM's score: its formulas, and how far one record moves it."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.core import Box
from dpviz.methods.dpm.algorithm import centreness, emptiness
from dpviz.methods.dpm.algorithm.records import SplitCandidates, binned, interval_counts, quantized
from dpviz.methods.dpm.algorithm.tree import Weights, depths, gap, smaller_side, unit_half_range, unit_sensitivity

T, Q, WEIGHT = 0.3, 1.0 / 12.0, 5.0

valid_tq = st.tuples(st.floats(0.01, 0.49), st.floats(0.01, 0.99)).map(
    lambda w: (2 * w[0] + w[1] * (1 - 2 * w[0]), w[0])
)
sizes = st.floats(1.0, 1e7)


def slow_centreness(p, n, t, q):
    """Definition 6 for one rank, with the distance from the nearer end."""
    g = max(min(p, n - p), 0.0)
    if g <= n * q:
        return t * g / (n * q)
    return (t - 2 * q) / (1 - 2 * q) + g * (1 - t) / (n / 2 - n * q)


@given(counts=st.lists(st.integers(0, 10**6), min_size=1, max_size=20), size=st.floats(-10.0, 1e6))
def test_emptiness_is_one_less_the_share_clipped(counts, size):
    found = emptiness(counts, size)
    expected = [min(max(1 - c / max(size, 1.0), 0.0), 1.0) for c in counts]
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert ((found >= 0) & (found <= 1)).all()


@given(size=sizes, share=st.floats(-0.5, 1.5), tq=valid_tq)
def test_centreness_is_definition_6(size, share, tq):
    found = float(centreness(share * size, size, *tq))
    assert found == pytest.approx(slow_centreness(share * size, size, *tq), abs=1e-9)
    assert 0.0 <= found <= 1.0


@given(size=sizes, tq=valid_tq)
def test_centreness_is_continuous_at_q_and_one_at_the_median(size, tq):
    t, q = tq
    edge = size * q
    step = size * 1e-9
    before, at, after = centreness([edge - step, edge, edge + step], size, t, q)
    slope = max(t / q, 2 * (1 - t) / (1 - 2 * q)) * 1e-9
    assert at == pytest.approx(t, abs=1e-12)
    assert abs(before - t) <= 1.01 * slope + 1e-12
    assert abs(after - t) <= 1.01 * slope + 1e-12
    assert float(centreness(size / 2, size, t, q)) == pytest.approx(1.0, abs=1e-12)
    assert float(centreness(0.0, size, t, q)) == float(centreness(2 * size, size, t, q)) == 0.0


@given(size=sizes, share=st.floats(-1.0, 2.0), tq=valid_tq)
def test_centreness_is_the_same_from_either_end(size, share, tq):
    one, other = centreness([share * size, size - share * size], size, *tq)
    assert one == pytest.approx(other, abs=1e-9)


@given(size=sizes, tq=valid_tq)
def test_centreness_rises_to_the_median(size, tq):
    values = centreness(np.linspace(0, size / 2, 200), size, *tq)
    assert (np.diff(values) >= -1e-12).all()


def test_the_defaults_are_the_papers():
    np.testing.assert_array_equal(centreness([1.0, 30.0], 60.0), centreness([1.0, 30.0], 60.0, 0.3, 1 / 12))
    assert unit_sensitivity(t=T, q=Q, emptiness_weight=WEIGHT) == pytest.approx(8.6)


@pytest.mark.parametrize(("t", "q"), [(0.3, 0.15), (0.3, 0.2), (0.5, 0.0), (0.5, -0.1), (1.1, 0.1), (math.nan, 0.1)])
def test_a_steeper_inner_part_is_refused(t, q):
    with pytest.raises(ValueError, match="2 q < t"):
        centreness(1.0, 10.0, t, q)


# One axis of three intervals, so six bins; a data set is how many records each bin has.
FEW = SplitCandidates.from_fractions(np.array([1.0 / 3.0]))
SPOTS = (np.arange(6) + 0.5) / 6.0


def bin_scores(spots, noisy_count, t=T, q=Q, floor_score=True):
    """Scores of the three candidates, counted by brute force over the records."""
    middles = (np.arange(3) + 0.5) / 3.0
    places = np.asarray(spots, dtype=np.float64).reshape(-1, 1)
    counts = (np.abs(places - middles) <= 1 / 6).sum(axis=0)
    ranks = (places < middles).sum(axis=0)
    if floor_score:
        return centreness(ranks, noisy_count, t, q) + WEIGHT * emptiness(counts, noisy_count)
    # The reference's way: only the sensitivity is floored.
    central = np.array([slow_centreness(p, noisy_count, t, q) for p in ranks])
    return central + WEIGHT * np.clip(1 - counts / noisy_count, 0, 1)


def worst_change(noisy_count, largest, **options):
    """The largest change of any score, over all data sets of up to `largest` records and every added record."""
    worst = 0.0
    for size in range(largest + 1):
        for spots in itertools.combinations_with_replacement(SPOTS, size):
            before = bin_scores(spots, noisy_count, **options)
            worst = max(
                worst, *(np.abs(bin_scores((*spots, new), noisy_count, **options) - before).max() for new in SPOTS)
            )
    return worst


@pytest.mark.parametrize(("t", "q"), [(0.3, 1 / 12), (0.9, 0.2), (0.5, 0.24), (1.0, 0.1)])
@pytest.mark.parametrize("noisy_count", [0.2, 0.7, 1.0, 2.3, 4.0, 30.0])
def test_no_neighbor_moves_a_score_further_than_its_sensitivity(noisy_count, t, q):
    bound = unit_sensitivity(t=t, q=q, emptiness_weight=WEIGHT) / max(noisy_count, 1.0)
    assert worst_change(noisy_count, 4, t=t, q=q) <= bound * (1 + 1e-12)


def test_the_sensitivity_is_attained():
    # 28 of 30 records lie below the last candidate: one more in its interval makes it less empty and less central.
    spots = (*[SPOTS[0]] * 28,)
    change = bin_scores((*spots, SPOTS[4]), 30.0) - bin_scores(spots, 30.0)
    assert change[2] == pytest.approx(-8.6 / 30)


def slow_depths(counts):
    """Depths of one axis from their definition: every stretch against all that do not meet it."""
    s, best = len(counts), np.full(len(counts), -np.inf)
    for reach in (r for r in (0, 1, 3, 7, 15, 31) if r == 0 or 8 * (2 * r + 1) <= s):
        own = [counts[max(j - reach, 0) : j + reach + 1].sum() for j in range(s)]
        for j in range(s):
            below, above = own[: max(j - 2 * reach, 0)], own[j + 2 * reach + 1 :]
            best[j] = max(best[j], min(max(below, default=0), max(above, default=0)) - own[j])
    return best


@given(st.lists(st.lists(st.integers(0, 9), min_size=24, max_size=24), min_size=1, max_size=4), st.integers(1, 24))
def test_a_gap_is_as_deep_as_brute_force_finds_it(rows, s):
    counts = np.array(rows, dtype=np.int32)[:, None, :s]
    np.testing.assert_array_equal(depths(counts)[:, 0], [slow_depths(row[0]) for row in counts])


def test_a_gap_is_between_fuller_places_and_an_empty_margin_is_none():
    counts = np.array([[[0, 0, 5, 9, 5, 1, 0, 1, 6, 8, 6, 0]]], dtype=np.int32)
    assert depths(counts)[0, 0].argmax() == 6
    assert (depths(counts)[0, 0, [0, 1, 11]] == 0).all()


@given(st.lists(st.integers(0, 9), min_size=24, max_size=24), st.integers(0, 23))
def test_one_record_moves_a_depth_by_one_at_most_and_a_smaller_side_up_alone(row, new):
    before = np.array([[row]], dtype=np.int32)
    after = before.copy()
    after[0, 0, new] += 1
    assert np.abs(depths(after) - depths(before)).max() <= 1
    ranks, n = np.cumsum(row), sum(row)
    grown = np.cumsum(after[0, 0])
    for noisy_count in (3.0, n + 2.5):
        rise = smaller_side(grown, n + 1, noisy_count) - smaller_side(ranks, n, noisy_count)
        assert ((rise >= 0) & (rise <= 1)).all()
    assert gap(-4, 10.0) == 0.0
    assert gap(99, 10.0) == 1.0


def gap_scores(spots, noisy_count):
    """Scores of the repaired calibration over seven candidates, the records by brute force."""
    middles = (np.arange(7) + 0.5) / 7.0
    places = np.asarray(spots, dtype=np.float64).reshape(-1, 1)
    counts = (np.abs(places - middles) <= 1 / 14).sum(axis=0)
    ranks, weights = (places < middles).sum(axis=0), Weights(T, Q, WEIGHT, published=False)
    gaps = depths(counts.astype(np.int32)[None, None])[0, 0]
    return weights.centreness(ranks, len(spots), noisy_count) + WEIGHT * weights.emptiness(counts, gaps, noisy_count)


def law(scores, epsilon, half_range):
    weights = np.exp(epsilon * (scores - scores.max()) / (2 * half_range))
    return weights / weights.sum()


def worst_loss(noisy_count, largest, half_range, epsilon):
    """The largest log-ratio of any choice between neighbors, over the data sets of `worst_change`; two axes."""
    worst = 0.0
    for size in range(largest + 1):
        for spots in itertools.combinations_with_replacement(SPOTS, size):
            for new in SPOTS:
                # A second axis on which the records stand in the opposite order: its sides grow the other way.
                scores = [
                    np.concatenate([gap_scores(rows, noisy_count), gap_scores([1 - x for x in rows], noisy_count)])
                    for rows in (spots, (*spots, new))
                ]
                one, other = (law(row, epsilon, half_range / noisy_count) for row in scores)
                worst = max(worst, np.abs(np.log(one / other)).max())
    return worst


@pytest.mark.parametrize("noisy_count", [1.0, 2.0, 4.0, 7.0, 30.0])
def test_half_the_range_is_enough_for_epsilon(noisy_count):
    half = unit_half_range(t=T, q=Q, emptiness_weight=WEIGHT)
    assert half == pytest.approx(6.8)
    for epsilon in (0.1, 1.0, 20.0):
        assert worst_loss(noisy_count, 3, half, epsilon) <= epsilon * (1 + 1e-9)


def test_less_than_half_the_range_is_not():
    # The best candidate of one set loses it all, another gains: a large epsilon leaves only the range.
    half = unit_half_range(t=T, q=Q, emptiness_weight=WEIGHT)
    assert worst_loss(4.0, 4, 0.5 * half, 20.0) > 20.0


def test_a_floor_on_the_sensitivity_alone_is_noticed():
    # At n~ = 0.7 the sensitivity is that of 1, and an unfloored score moves by more.
    assert bin_scores([], 0.7, floor_score=False)[1] - bin_scores([0.5], 0.7, floor_score=False)[1] == pytest.approx(
        5.0
    )
    assert worst_change(0.7, 3) <= 8.6
    # Result of a small step of the formula.
    slopes = T / Q / 0.7 + WEIGHT / 0.7
    assert slopes == pytest.approx(8.6 / 0.7)


@given(
    n=st.integers(0, 60),
    d=st.integers(1, 4),
    number=st.integers(1, 20),
    seed=st.integers(0, 10**6),
    nodes=st.integers(1, 4),
)
def test_bins_count_what_brute_force_counts(n, d, number, seed, nodes):
    rng = np.random.default_rng(seed)
    points = rng.normal(0.5, 0.5, (n, d))  # a third of them outside
    fractions = np.full(d, 1.0 / number) * rng.choice([1.0, 0.83], size=d)
    where = rng.integers(-1, nodes, size=n)
    candidates = SplitCandidates.from_fractions(fractions)
    counts, ranks = interval_counts(binned(quantized(points, Box.cube(0, 1, d)), candidates), where, nodes, candidates)
    unit = np.clip(points, 0, 1)
    for node, axis in itertools.product(range(nodes), range(d)):
        column = unit[where == node, axis]
        for j in range(int(candidates.numbers[axis])):
            low = j * fractions[axis]
            middle, high = low + fractions[axis] / 2, low + fractions[axis]
            assert counts[node, axis, j] == ((column >= low) & ((column < high) | (high > 1 - 1e-9))).sum()
            assert ranks[node, axis, j] == (column < middle).sum()


def test_candidates_fill_an_axis_and_never_leave_it():
    fractions = np.array([1 / 49, 1 / 16, 0.3, 1.0, 1e-9])
    candidates = SplitCandidates.from_fractions(fractions)
    assert candidates.numbers.tolist() == [49, 16, 3, 1, 4096]
    positions = candidates.positions
    assert np.nanmin(positions) > 0
    assert np.nanmax(positions) < 1
    assert (np.isfinite(positions) == candidates.exists).all()
