"""DPM finds clusters that stand apart, and the published calibration does not."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from dpviz.solvers import assign
from tests.methods.dpm.algorithm.test_tree import blobs, run


def quality(points, labels, box, seed, **options):
    """Number of centers, ARI of the nearest center, and inertia against the true clusters' means."""
    result = run(points, box, seed=seed, **options)
    found = assign(points, np.ascontiguousarray(result.release.centers))
    cost = ((points - result.release.centers[found]) ** 2).sum()
    means = np.array([points[labels == j].mean(axis=0) for j in range(labels.max() + 1)])
    return len(result.release.centers), adjusted_rand_score(labels, found), cost / ((points - means[labels]) ** 2).sum()


@pytest.mark.parametrize(("d", "target"), [(2, 0.9), (10, 0.98)])
def test_ten_thousand_records_in_sixteen_blobs_are_found(d, target):
    """The median over 20 data sets, with the published calibration as the wrong one that collapses."""
    sets = [blobs(10_000, d, 16, seed=seed) for seed in range(20)]
    ours = [quality(*data, seed=0)[1] for data in sets]
    theirs = [quality(*data, seed=0, calibration="published")[1] for data in sets]
    assert np.median(ours) >= target
    assert np.median(theirs) < 0.7


def test_synth_10d_is_found():
    data = blobs(100_000, 10, 64, seed=42)
    found = np.array([quality(*data, seed=seed) for seed in range(3)])
    k, ari, inertia = np.median(found, axis=0)
    assert 63 <= k <= 65
    assert ari >= 0.98
    assert inertia <= 7


@pytest.mark.slow
@pytest.mark.parametrize("data_seed", range(4))
def test_synth_10d_over_data_sets(data_seed):
    data = blobs(100_000, 10, 64, seed=data_seed)
    found = np.array([quality(*data, seed=seed) for seed in range(10)])
    k, ari, inertia = np.median(found, axis=0)
    assert 63 <= k <= 65
    assert ari >= 0.98
    assert inertia <= 7


@pytest.mark.slow
@pytest.mark.parametrize(("d", "target"), [(2, 0.9), (10, 0.98)])
def test_sixteen_blobs_over_noise_seeds(d, target):
    sets = [blobs(10_000, d, 16, seed=seed) for seed in range(20)]
    medians = [np.median([quality(*data, seed=seed)[1] for data in sets]) for seed in range(16)]
    assert min(medians) >= target
