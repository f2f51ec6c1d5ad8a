"""Release and guarantee of convergent k-means, and inputs at the edge."""

import dataclasses
import itertools
import math
import re

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dpviz.core import Box, KnobError
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


@pytest.mark.parametrize("d", [1, 2, 5])
def test_without_noise_a_published_step_is_the_nearest_point_to_the_mean(d):
    result = run(blobs(d), Box.cube(0.0, 1.0, d), mode="published", epsilon_per_iteration=math.inf)
    for step in result.trace:
        nearest = step.nonprivate_mean + (2 * step.lam - 1)[:, None] * (step.controller - step.nonprivate_mean)
        np.testing.assert_allclose(step.released_centers, nearest, atol=1e-14)


def test_nothing_exact_is_published():
    for seed, epsilon in itertools.product(range(5), (0.5, 5.0, 100.0)):
        result = run(blobs(2), epsilon=epsilon, seed=seed, n_iterations=3)
        released = np.concatenate(
            [
                np.ravel(value)
                for field in dataclasses.fields(result.release)
                if isinstance(value := getattr(result.release, field.name), np.ndarray)
            ]
        )
        for step in result.trace:
            full = step.nonprivate_counts > 0
            exact = [step.nonprivate_mean[full], step.nonprivate_cost_before[full], step.nonprivate_cost_after[full]]
            for values in [*exact, step.nonprivate_counts[full]]:
                assert not np.isin(values, released).any()
    # The same search finds the leak of published mode.
    leaky = run(blobs(2), mode="published")
    assert np.isin(leaky.trace[0].nonprivate_mean, leaky.trace[0].zone_mean).all()


def test_start_from_records_has_no_guarantee():
    points = blobs(2)
    for mode in ("published", "repaired"):
        result = run(points, mode=mode, start="records")
        assert result.guarantee.proved is None
        assert result.release.start is None
        first = result.trace[0].previous_centers
        assert all((points == center).all(axis=1).any() for center in first)
        assert len(np.unique(first, axis=0)) == 5
        assert any("records" in caveat for caveat in result.guarantee.caveats)


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


def test_a_public_start_is_released_and_knows_no_record():
    first, other = run(blobs(2)), run(blobs(2, seed=9, n=50))
    assert (first.release.start == other.release.start).all()
    assert first.guarantee.proved is not None


@pytest.mark.parametrize("mode", ["published", "repaired"])
def test_points_outside_stand_at_the_wall(mode):
    far, wall = blobs(2), blobs(2)
    far[:3], wall[:3] = [[1e9, 0.5], [-1e300, 2.0], [0.5, -7.0]], [[1.0, 0.5], [0.0, 1.0], [0.5, 0.0]]
    one, two = run(far, mode=mode), run(wall, mode=mode)
    assert (one.release.centers == two.release.centers).all()
    assert (one.release.zone_centers == two.release.zone_centers).all()


EDGES = {
    "nobody": np.empty((0, 2)),
    "one": np.array([[0.3, 0.4]]),
    "two": np.array([[0.3, 0.4], [0.9, 0.1]]),
    "constant": np.full((50, 2), 0.7),
    "in a corner": np.zeros((50, 2)),
    "duplicates": np.repeat(np.random.default_rng(0).random((3, 2)), 20, axis=0),
}


@pytest.mark.parametrize("options", [{}, {"mode": "published"}, {"mode": "published", "orientation": "future"}])
@pytest.mark.parametrize("name", EDGES)
def test_small_and_flat_data(name, options):
    points = EDGES[name]
    for d, k in itertools.product((1, 2), (1, 5)):
        result = run(points[:, :d], Box.cube(0.0, 1.0, d), n_clusters=k, **options)
        assert result.release.centers.shape == (k, d)
        assert ((result.release.centers >= 0) & (result.release.centers <= 1)).all()
        for step in result.trace:
            assert np.isfinite(step.released_centers).all()
            assert step.nonprivate_counts.sum() == len(points)


def test_more_clusters_than_records():
    assert run(blobs(2, n=10), n_clusters=30).release.centers.shape == (30, 2)
    with pytest.raises(ValueError, match=r"n_clusters must be at most n_records=10.*got 30"):
        run(blobs(2, n=10), n_clusters=30, start="records")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_clusters": 0}, "n_clusters must be .*got 0"),
        ({"n_clusters": 2.5}, "n_clusters must be .*got 2.5"),
        ({"epsilon": 0.0}, "epsilon must be .*got 0"),
        ({"epsilon": math.nan}, "epsilon must be .*got nan"),
        ({"epsilon_per_iteration": -1.0}, "epsilon_per_iteration must be .*got -1"),
        ({"epsilon_counts": 0.0}, "epsilon_counts must be .*got 0"),
        ({"mode": "secret"}, "mode must be .*got 'secret'"),
        ({"start": "anywhere"}, "start must be .*got 'anywhere'"),
        ({"orientation": "future"}, "orientation was 'future' in repaired mode"),
        ({"n_iterations": 0}, "n_iterations must be .*got 0"),
        ({"n_iterations": 2.5}, "n_iterations must be .*got 2.5"),
        ({"tolerance": -0.1}, "tolerance must be .*got -0.1"),
        ({"tolerance": math.nan}, "tolerance must be .*got nan"),
        ({"start_seed": -1}, "start_seed must be .*got -1"),
    ],
)
def test_bad_parameters_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        Params(**options)
    assert issubclass(KnobError, ValueError)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.zeros((4, 2)), "initial_centers had 4 rows, but n_clusters is 5"),
        (np.zeros((5, 3)), "initial_centers had 3 columns"),
        (np.full((5, 2), np.nan), "initial_centers held NaN"),
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
