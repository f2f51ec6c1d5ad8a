"""Release and guarantee of convergent k-means, and inputs at the edge."""

import math
import re

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dpviz.core import Box
from dpviz.methods.convergent_kmeans.algorithm import Params, fit, start_centers
from dpviz.methods.convergent_kmeans.run import count_noise
from dpviz.solvers import assign, cluster_sums, sphere_packing

UNIT = Box.cube(0.0, 1.0, 2)


def blobs(d, n=300, seed=0):
    rng = np.random.default_rng(seed)
    return 0.8 * rng.random((4, d))[rng.integers(4, size=n)] + 0.2 * rng.random((n, d))


def run(points, box=UNIT, *, seed=0, **options):
    return fit(points, box, Params(**options), rng=np.random.default_rng(seed))


def cosine_to_true_sum(result, points, box):
    """Return the cosine between center and exact sum, both seen from box.low, where no wall cut the center off."""
    unit = box.to_unit(box.clip(points))
    sums = cluster_sums(unit, assign(unit, result.trace[-1].released_centers), len(result.release.centers))
    centers, exact = box.to_unit(result.release.centers), sums.nonprivate_sums
    free = (sums.nonprivate_counts > 0) & (centers < 1 - 1e-12).all(axis=1)
    inner = (centers * exact).sum(axis=1)[free]
    return inner / (np.linalg.norm(centers, axis=1) * np.linalg.norm(exact, axis=1))[free]


@pytest.mark.parametrize("d", [2, 5])
def test_published_centers_lie_on_the_ray_through_the_true_sum(d):
    points, box = 10 * blobs(d) - 3, Box.cube(-3.0, 8.0, d)
    for seed in range(5):
        published = run(points, box, mode="published", seed=seed, n_clusters=3)
        cosines = cosine_to_true_sum(published, points, box)
        assert len(cosines)
        np.testing.assert_allclose(cosines, 1.0, atol=1e-13)
        repaired = cosine_to_true_sum(run(points, box, seed=seed, n_clusters=3, epsilon=5.0), points, box)
        assert len(repaired) == 0 or (np.abs(repaired - 1) > 1e-9).all()


def test_a_small_count_counts_as_one_and_centers_stay_in_the_box():
    points = np.array([[0.9, 0.3], [0.8, 0.2], [0.7, 0.4]])
    total = points.sum(axis=0)
    clipped = np.minimum(total, 1.0)
    floored = 0
    for seed in range(300):
        center = run(points, mode="published", n_clusters=1, seed=seed).release.centers[0]
        assert (center >= 0).all()
        assert (center <= 1).all()
        # sum / count, before clipping: the second coordinate is never cut off, because the sum there is 0.9.
        assert center[1] <= total[1] + 1e-12
        floored += bool(np.allclose(center, clipped, atol=1e-12))
    # P(3 + Laplace(2) <= 1) = exp(-1) / 2.
    expected = math.exp(-1) / 2
    assert abs(floored / 300 - expected) < 6 * math.sqrt(expected * (1 - expected) / 300)


def test_published_mode_hides_what_would_be_exact():
    release = run(blobs(2), mode="published").release
    for name in ("noisy_counts", "zone_means", "controllers", "lam", "noisy_counts_by_iteration"):
        assert getattr(release, name) is None, name


@pytest.mark.parametrize("d", [1, 2, 5])
def test_without_noise_repaired_mode_stands_on_the_exact_means(d):
    points = blobs(d)
    trace = run(points, Box.cube(0.0, 1.0, d), epsilon=math.inf).trace
    for step in trace:
        np.testing.assert_allclose(step.zone_mean, step.nonprivate_mean, atol=1e-12)
        assert (step.noisy_counts == step.nonprivate_counts).all()


def test_given_centers_override_the_start_and_are_not_exported():
    given, box = np.array([[0.0, 0.0], [3.0, 1.0], [9.0, -9.0]]), Box.cube(0.0, 4.0, 2)
    for start in ("packing", "records"):
        result = run(4 * blobs(2), box, n_clusters=3, initial_centers=given, start=start)
        expected = [[0.0, 0.0], [0.75, 0.25], [1.0, 0.0]]  # box units, clipped
        assert result.trace[0].previous_centers.tolist() == expected
        assert result.release.start is None
        assert any("initial centers were given" in caveat for caveat in result.guarantee.caveats)
        assert not any("real records" in caveat for caveat in result.guarantee.caveats)


def test_the_start_seed_fixes_the_start_alone():
    first, other = (run(blobs(2), start_seed=5, seed=seed) for seed in (0, 1))
    assert (first.release.start == other.release.start).all()
    assert (first.trace[0].lam != other.trace[0].lam).all()
    assert (first.release.start == sphere_packing(5, 2, rng=np.random.default_rng(5))).all()
    again = start_centers(blobs(2), UNIT, Params(start_seed=5), rng=np.random.default_rng(77))
    assert (again == first.release.start).all()


def test_more_clusters_than_records():
    assert run(blobs(2, n=10), n_clusters=30).release.centers.shape == (30, 2)
    with pytest.raises(ValueError, match=r"n_clusters must be at most n_records=10.*got 30"):
        run(blobs(2, n=10), n_clusters=30, start="records")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.zeros((4, 2)), "initial_centers must have 5 rows like n_clusters, got 4"),
        (np.zeros((5, 3)), "initial_centers must have 2 columns like the box, got 3"),
        (np.full((5, 2), np.nan), "initial_centers must be finite, got NaN"),
    ],
)
def test_bad_centers_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        run(blobs(2), initial_centers=given)


def test_a_tolerance_stops_earlier():
    long, short = (run(blobs(2), mode="published", max_iterations=200, tolerance=t) for t in (0.0, 0.05))
    assert long.trace[-1].outcome == "converged"
    assert short.trace[-1].outcome == "still"
    assert len(short.trace) < len(long.trace)
    assert run(blobs(2), mode="published", max_iterations=1).trace[-1].outcome == "max_iterations"
    assert run(blobs(2), n_iterations=3).trace[-1].outcome == "planned"


def test_the_last_step_records_what_the_release_had_to_mend():
    # Two records far apart and k = 4: counts are small, so that noise pushes them below 1 and centers outside.
    points = np.array([[0.9, 0.9], [0.8, 0.95], [0.05, 0.1]])
    raised = clipped = 0
    for seed in range(40):
        result = run(points, seed=seed, n_clusters=4, mode="published", epsilon_counts=0.5)
        *before, last = result.trace
        assert all(step.final_counts is None and step.final_centers is None for step in before)
        labels = cdist(points, last.released_centers).argmin(axis=1)
        sums = np.stack([points[labels == i].sum(axis=0) for i in range(4)])
        unclipped = sums / np.maximum(last.final_counts, 1.0)[:, None]
        np.testing.assert_array_equal(last.final_raised, last.final_counts < 1.0)
        np.testing.assert_array_equal(last.final_clipped, (unclipped > 1.0).any(axis=1))
        np.testing.assert_allclose(result.release.centers, np.clip(unclipped, 0.0, 1.0), atol=1e-12)
        raised, clipped = raised + last.final_raised.sum(), clipped + last.final_clipped.sum()
    assert raised > 0
    assert clipped > 0


def test_final_counts_are_off_by_about_what_is_said():
    """The mean of |count - exact| over 500 counts, to six standard errors: |Laplace| deviates by its mean."""
    points, off = blobs(2, 60), []
    for seed in range(100):
        result = run(points, seed=seed, mode="published", max_iterations=1, n_clusters=5, epsilon_counts=0.5)
        last = result.trace[-1]
        exact = cluster_sums(UNIT.clip(points), assign(UNIT.clip(points), last.released_centers), 5).nonprivate_counts
        off += np.abs(last.final_counts - exact).tolist()
    said = float(re.search(r"off by about ([\d.]+) records", count_noise(0.5))[1])
    assert np.mean(off) == pytest.approx(said, abs=6.0 * said / math.sqrt(len(off)))
    assert np.mean(off) != pytest.approx(math.sqrt(2.0) * said, abs=6.0 * said / math.sqrt(len(off)))
