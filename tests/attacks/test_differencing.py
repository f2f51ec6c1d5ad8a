import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import laplace

from dpviz.attacks import (
    PartitionSums,
    ZonePath,
    exact_record,
    expected_record,
    likeliest_record,
    ray_segment,
    zone_record,
)

K = 3


def nearest(points, centers):
    return np.square(points[:, None] - centers).sum(axis=2).argmin(axis=1)


def totals(points, centers):
    """Counts (k,) and sums (k, d) by brute force."""
    labels = nearest(points, centers)
    return (
        np.array([(labels == i).sum() for i in range(len(centers))], dtype=float),
        np.stack([points[labels == i].sum(axis=0) for i in range(len(centers))]),
    )


def world(seed, d=2, n=200, t=4):
    """Return all records, the index of the one under attack, and t partitions."""
    rng = np.random.default_rng(seed)
    return rng.random((n, d)), int(rng.integers(n)), rng.random((t, K, d))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(2, 300))
def test_exact_centers_give_the_record_away(seed, d, n):
    points, row, partitions = world(seed, d, n)
    counts, sums = totals(points, partitions[0])
    centers = sums / np.maximum(counts, 1.0)[:, None]
    _, known = totals(np.delete(points, row, axis=0), partitions[1])  # another partition: the sum over all is the same
    guess = exact_record(centers, counts, known)
    # n additions of numbers below 1, each rounded to 2^-53 of a sum below n, on both sides.
    assert np.abs(guess - points[row]).max() <= 4 * n * n * 2.0**-53


def test_a_count_off_by_one_hides_it():
    points, row, partitions = world(0)
    counts, sums = totals(points, partitions[0])
    _, known = totals(np.delete(points, row, axis=0), partitions[0])
    centers = sums / np.maximum(counts, 1.0)[:, None]
    assert np.abs(exact_record(centers, counts + np.eye(K)[0], known) - points[row]).max() > 0.01


def noisy(seed, epsilon, d=2, t=4):
    points, row, partitions = world(seed, d=d, t=t)
    rng = np.random.default_rng([seed, 1])
    count_scale, sum_scale = 2.0 / epsilon, 1.0 / epsilon
    exact = [totals(points, each) for each in partitions]
    own = [totals(np.delete(points, row, axis=0), each) for each in partitions]
    centered = [np.stack([sums - 0.5 * counts[:, None] for counts, sums in part]) for part in (exact, own)]
    counts = [np.stack([counts for counts, _ in part]) for part in (exact, own)]
    release = PartitionSums(
        partitions,
        counts[0] + rng.laplace(scale=count_scale, size=counts[0].shape),
        centered[0] + rng.laplace(scale=sum_scale, size=centered[0].shape),
        count_scale,
        sum_scale,
    )
    return release, counts[1], centered[1], points[row]


def log_likelihood(place, release, known_counts, known_sums):
    """The law itself, term by term: every count and every sum of every cluster."""
    total = 0.0
    for t, partition in enumerate(release.partitions):
        inside = nearest(place[None], partition)[0] == np.arange(K)
        of_counts = release.counts[t] - known_counts[t] - inside
        of_sums = release.sums[t] - known_sums[t] - inside[:, None] * (place - 0.5)
        total += laplace.logpdf(of_counts, scale=release.count_scale).sum()
        total += laplace.logpdf(of_sums, scale=release.sum_scale).sum()
    return total


@pytest.mark.parametrize("seed", range(4))
def test_the_expected_record_is_the_mean_of_the_posterior(seed):
    release, counts, sums, _ = noisy(seed, epsilon=1.0)
    prior = np.random.default_rng(seed).random((200, 2))
    logs = np.array([log_likelihood(place, release, counts, sums) for place in prior])
    weights = np.exp(logs - logs.max())
    wanted = weights @ prior / weights.sum()
    assert expected_record(release, counts, sums, prior) == pytest.approx(wanted, abs=1e-9)
    assert np.abs(expected_record(release, counts + 1.0, sums, prior) - wanted).max() > 1e-4, "a wrong law differs"


@pytest.mark.parametrize("seed", range(4))
def test_the_likeliest_record_is_likelier_than_nearly_any_other(seed):
    release, counts, sums, _ = noisy(seed, epsilon=200.0)
    guess = likeliest_record(release, counts, sums)
    tried = np.random.default_rng(seed).random((300, 2))
    best = max(log_likelihood(place, release, counts, sums) for place in tried)
    assert log_likelihood(guess, release, counts, sums) > best


def test_sums_that_are_not_told_are_left_out():
    release, counts, sums, record = noisy(3, 1e6)
    lost = release.sums.copy()
    lost[1:] = np.nan
    one = PartitionSums(release.partitions, release.counts, lost, release.count_scale, release.sum_scale)
    assert np.linalg.norm(likeliest_record(one, counts, sums) - record) < 1e-4


def published(seed, d=2, t=5, *, noise_on_sums=0.0):
    """Return Lu & Shen's release by their formulas, for the past orientation, and the attacker's knowledge."""
    points, row, partitions = world(seed, d=d, t=t + 1)
    rng = np.random.default_rng([seed, 2])
    zones, radii = np.empty((t, K, d)), np.empty((t, K))
    for i in range(t):
        counts, sums = totals(points, partitions[i])
        mean = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], partitions[i])
        a = np.linalg.norm(mean - partitions[i], axis=1)
        way = rng.standard_normal((K, d))
        controller = mean + a[:, None] * way / np.linalg.norm(way, axis=1)[:, None]
        lam = rng.uniform(0.5, 1.0, K)[:, None]
        zones[i], radii[i] = mean + lam * (controller - mean), (1 - lam[:, 0]) * a
    counts, sums = totals(points, partitions[-1])
    sums = sums + noise_on_sums * rng.standard_normal(sums.shape)
    centers = sums / (counts + 5.0)[:, None]
    others = np.delete(points, row, axis=0)
    known = [totals(others, each) for each in partitions[:-1]]
    release = ZonePath(centers, partitions[-1], partitions[:-1], zones, radii)
    known_counts, known_sums = (np.stack(each) for each in zip(*known, strict=True))
    return release, totals(others, partitions[-1])[1], known_counts, known_sums, points[row]


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_the_record_lies_on_the_ray_exactly(seed, d):
    release, final, *_, record = published(seed, d=d)
    segment = ray_segment(release, final)
    assert segment.distance(record) < 1e-11
    assert ((segment.ends > -1e-9) & (segment.ends < 1 + 1e-9)).all(), "all of it is in the box"
    middle = segment.ends.mean(axis=0)
    assert segment.distance(middle) < 1e-12
    noised, final, *_, record = published(seed, d=d, noise_on_sums=1.0)
    found = ray_segment(noised, final)
    assert found is None or found.distance(record) > 1e-4, "noise on the sums would hide it"


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_with_the_zones_the_record_is_recovered(seed, d):
    release, final, counts, sums, record = published(seed, d=d)
    guess, misfit = zone_record(release, ray_segment(release, final), counts, sums)
    assert np.linalg.norm(guess - record) < 1e-9
    assert misfit < 1e-9
    wrong = ZonePath(
        release.centers, release.partition, release.previous, release.zone_centers, 1.01 * release.zone_radii
    )
    _, misfit = zone_record(wrong, ray_segment(wrong, final), counts, sums)
    assert misfit > 1e-6, "zones around something else do not fit"


def test_a_release_without_the_record_has_no_ray_to_show():
    release, *_ = published(0)
    points, row, partitions = world(0, t=6)
    own = totals(np.delete(points, row, axis=0), partitions[-1])
    zones = release.previous, release.zone_centers, release.zone_radii
    same = ZonePath(own[1] / own[0][:, None], release.partition, *zones)
    assert ray_segment(same, own[1]) is None
