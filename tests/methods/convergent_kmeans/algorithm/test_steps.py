"""The trace of convergent k-means: lemma 1, the zones' geometry, and the effects of seed and epsilon."""

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dpviz.core import Box
from dpviz.methods.convergent_kmeans.algorithm import Params, fit

MODES = [("published", "past"), ("published", "future"), ("repaired", "past")]
DIMENSIONS = (1, 2, 5, 20)
CASES = [(mode, orientation, d) for mode, orientation in MODES for d in DIMENSIONS]


def blobs(d, n=400, seed=0):
    """Return n records in four loose blobs in a box that is not the unit box, some of them outside."""
    rng = np.random.default_rng(seed)
    points = 4.0 * rng.random((4, d))[rng.integers(4, size=n)] + 0.4 * rng.standard_normal((n, d)) - 1.0
    return points, Box(np.full(d, -1.0), np.linspace(3.0, 4.0, d))


def run(mode, orientation, d, *, seed=1, n_clusters=5, **options):
    points, box = blobs(d)
    params = Params(n_clusters=n_clusters, mode=mode, orientation=orientation, **{"epsilon": 50.0, **options})
    return fit(points, box, params, rng=np.random.default_rng(seed))


def unit(d):
    points, box = blobs(d)
    return box.to_unit(box.clip(points))


def span(a, b):
    return np.linalg.norm(a - b, axis=1)


def brute_costs(points, labels, centers):
    return np.array([((points[labels == i] - c) ** 2).sum() for i, c in enumerate(centers)])


@pytest.mark.parametrize(("mode", "orientation", "d"), CASES)
def test_lemma_1_holds_in_every_step_and_cluster(mode, orientation, d):
    points = unit(d)
    trace = run(mode, orientation, d).trace
    assert len(trace) > 1
    for step in trace:
        labels, n = step.nonprivate_labels, step.nonprivate_counts
        before, after = step.nonprivate_cost_before, step.nonprivate_cost_after
        np.testing.assert_allclose(before, brute_costs(points, labels, step.previous_centers), rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(after, brute_costs(points, labels, step.released_centers), rtol=1e-9, atol=1e-11)
        # n (1 - (|S_hat - S| / a)^2) a^2 with the exact mean S and a = |S_prev - S|, multiplied out for a = 0.
        a, off = span(step.previous_centers, step.nonprivate_mean), span(step.released_centers, step.nonprivate_mean)
        np.testing.assert_allclose(n * (a**2 - off**2), before - after, rtol=1e-9, atol=1e-10)
        # Without the square it is another number.
        if step.iteration == 1:
            assert np.abs(n * (a**2 - off * a) - (before - after)).max() > 1e-3


@pytest.mark.parametrize(("mode", "orientation", "d"), CASES)
def test_zones_are_where_the_paper_puts_them(mode, orientation, d):
    points = unit(d)
    for step in run(mode, orientation, d).trace:
        mean, previous, k = step.zone_mean, step.previous_centers, len(step.zone_mean)
        labels = cdist(points, previous).argmin(axis=1)
        assert (step.nonprivate_labels == labels).all()
        assert (step.nonprivate_counts == np.bincount(labels, minlength=k)).all()
        exact = np.array([points[labels == i].mean(axis=0) if (labels == i).any() else previous[i] for i in range(k)])
        np.testing.assert_allclose(step.nonprivate_mean, exact, atol=1e-13)
        if mode == "published":
            assert (mean == step.nonprivate_mean).all()
        np.testing.assert_allclose(step.convergent_radius, span(mean, previous), atol=1e-15)
        np.testing.assert_allclose(step.far_point, 2 * mean - previous, atol=1e-15)
        if orientation == "past":
            np.testing.assert_allclose(span(step.controller, mean), step.convergent_radius, atol=1e-14)
            turn = ((step.controller - mean) * (step.far_point - mean)).sum(axis=1)
            np.testing.assert_allclose(turn, np.cos(step.gamma) * step.convergent_radius**2, atol=1e-14)
            assert (step.gamma >= 0).all()
            assert (step.gamma <= np.pi / 2).all()
            assert d > 1 or (step.gamma == 0).all()
        else:
            ahead = cdist(points, mean).argmin(axis=1)
            next_mean = [points[ahead == i].mean(axis=0) if (ahead == i).any() else mean[i] for i in range(k)]
            np.testing.assert_allclose(step.controller, next_mean, atol=1e-13)
            assert np.isnan(step.gamma).all()
        length = span(step.controller, mean)
        assert (step.lam >= 0.5).all()
        assert (step.lam < 1).all()
        np.testing.assert_allclose(step.zone_center, mean + step.lam[:, None] * (step.controller - mean), atol=1e-15)
        np.testing.assert_allclose(step.zone_radius, (1 - step.lam) * length, atol=1e-15)
        assert (span(step.released_centers, step.zone_center) <= step.zone_radius + 1e-14).all()
        moved = length > 0
        np.testing.assert_allclose(
            step.reach[moved] * length[moved], span(step.released_centers, mean)[moved], atol=1e-14
        )
        assert (step.released_centers[~moved] == mean[~moved]).all()
        assert step.lloyd_rounds == (2 if orientation == "future" else 1)


@pytest.mark.parametrize(("mode", "orientation", "d"), CASES)
def test_steps_follow_each_other(mode, orientation, d):
    trace = run(mode, orientation, d).trace
    assert [step.iteration for step in trace] == list(range(1, len(trace) + 1))
    for step, following in itertools.pairwise(trace):
        assert (following.previous_centers == step.released_centers).all()
    assert all(step.outcome == "moving" for step in trace[:-1])
    assert trace[-1].outcome != "moving"


@pytest.mark.parametrize("d", DIMENSIONS)
def test_inside_the_convergent_zone_the_cost_falls(d):
    # With orientation "past" the whole sampling zone lies inside it.
    trace = run("published", "past", d, max_iterations=300).trace
    for step in trace:
        assert (step.nonprivate_cost_after <= step.nonprivate_cost_before + 1e-12).all()
    assert trace[-1].outcome == "converged"
    assert (cdist(unit(d), trace[-1].released_centers).argmin(axis=1) == trace[-1].nonprivate_labels).all()


ZONE_FIELDS = ("previous_centers", "zone_mean", "far_point", "gamma", "controller", "lam", "zone_center", "zone_radius")


@pytest.mark.parametrize("orientation", ["past", "future"])
def test_the_first_zones_do_not_know_epsilon(orientation):
    def first(epsilon):
        options = {"epsilon_per_iteration": epsilon, "epsilon_counts": epsilon}
        return run("published", orientation, 2, n_clusters=4, **options).trace[0]

    base = first(0.5)
    for epsilon in (0.01, 1.0, 100.0, np.inf):
        step = first(epsilon)
        for name in ZONE_FIELDS:
            assert np.array_equal(getattr(step, name), getattr(base, name), equal_nan=True), name
        assert (step.reach != base.reach).all()


def test_the_repaired_means_do_know_epsilon():
    few, many = (run("repaired", "past", 2, epsilon=epsilon, n_iterations=3).trace[0] for epsilon in (5.0, 50.0))
    assert (few.lam == many.lam).all()
    assert (few.gamma == many.gamma).all()
    assert (few.noisy_counts != many.noisy_counts).all()
    assert (few.zone_mean != many.zone_mean).any(axis=1).sum() >= 3
    # The same noise, ten times smaller.
    noise = [step.noisy_counts - step.nonprivate_counts for step in (few, many)]
    np.testing.assert_allclose(noise[0], 10 * noise[1], rtol=1e-9, atol=1e-11)


def test_randomness_depends_on_the_seed_and_the_iteration_alone():
    # A longer run begins like a shorter one.
    short = run("repaired", "past", 2, n_iterations=2, epsilon=20.0)
    long = run("repaired", "past", 2, n_iterations=4, epsilon=40.0)
    for a, b in zip(short.trace, long.trace, strict=False):
        assert (a.lam == b.lam).all()
        assert (a.gamma == b.gamma).all()
    assert (long.trace[1].lam != long.trace[0].lam).all()


def test_a_past_zone_never_leaves_its_convergent_zone_however_small_it_is():
    """|X - S| = a with past, to rounding: late moves are tiny, and a relative tolerance would call some outside."""
    rng = np.random.default_rng(0)
    points = rng.random((600, 2))
    smallest = np.inf
    for seed in range(30):
        options = {"n_clusters": 8, "mode": "published", "start": "records", "max_iterations": 100}
        result = fit(points, Box.cube(0, 1, 2), Params(**options), rng=np.random.default_rng(seed))
        for step in result.trace:
            assert not step.leaves_convergent_zone.any()
            smallest = min(smallest, step.convergent_radius[step.convergent_radius > 0].min(initial=np.inf))
    assert smallest < 1e-5  # else the test shows nothing
