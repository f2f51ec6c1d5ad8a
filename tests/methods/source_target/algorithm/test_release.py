"""Whole runs: the release, the limits, odd input, the bound, and neighbors."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from dpviz.core import Ball, Box
from dpviz.methods import source_target
from dpviz.methods.source_target import algorithm as stc

UNIT = Box.cube(0.0, 1.0, 2)
METHODS = [("nas", "laplace"), ("nas", "gaussian"), ("nna", "laplace"), ("nna", "gaussian")]


def params(targets, **options):
    budget = {"epsilon": 3.0, "delta": 1e-5} if not {"rho", "epsilon"} & set(options) else {}
    return stc.Params(targets, **{**budget, **options})


def data(seed, m=300, n=60, d=2):
    rng = np.random.default_rng(seed)
    return rng.random((m, d)), rng.random((n, d))


def run(points, options, box=UNIT, seed=0):
    return stc.fit(points, box, options, rng=np.random.default_rng(seed))


def test_without_noise_the_averages_are_exact():
    points, targets = data(0)
    for method, n_averages in itertools.product(("nas", "nna"), (0.0, 0.05)):
        options = params(targets, epsilon=math.inf, method=method, t=20, coreset_radius=n_averages)
        result = run(points, options)
        step = result.trace[0]
        places = targets[step.core.representatives]
        distances = cdist(points, places)
        if method == "nas":
            nearest = np.argsort(distances, axis=0, kind="stable")[:20]
            assert result.release.centers == pytest.approx(points[nearest].mean(axis=0))
            continue
        owner = distances.argmin(axis=1)
        filled = np.unique(owner)
        means = np.array([points[owner == cell].mean(axis=0) for cell in filled])
        assert result.release.centers == pytest.approx(means)
        assert np.array_equal(result.release.noisy_counts, np.bincount(owner)[filled])
        assert np.array_equal(result.release.origins, step.core.representatives[filled])


def test_nas_of_one_neighbor_without_noise_is_the_source_itself():
    """Observation 5.1: the cost with the nearest source points is the cost with all of them."""
    points, targets = data(1)
    result = run(points, params(targets, epsilon=math.inf, method="nas", t=1, coreset_radius=0.0))
    chosen = targets[result.release.selected]
    assert stc.cost(targets, result.release.centers, chosen) == pytest.approx(stc.cost(targets, points, chosen))
    direct = stc.select_centers(targets, points, 10, rng=np.random.default_rng(0))
    assert np.array_equal(direct, result.release.selected)


def test_a_refused_average_is_nowhere_in_the_release():
    points, targets = data(2)
    result = run(points, params(targets, threshold="lemma", coreset_radius=0.0))
    step, release = result.trace[0], result.release
    kept = step.noisy_counts >= step.threshold
    assert 0 < kept.sum() < len(kept)
    assert np.array_equal(release.noisy_counts, step.noisy_counts[kept])
    assert np.isnan(step.noisy_averages[~kept]).all()
    assert np.array_equal(release.centers, step.noisy_averages[kept])
    norms = np.linalg.norm(step.ball.to_unit(release.centers), axis=1)
    assert norms.max() <= 0.5 + 1e-12


def test_the_noise_moves_with_its_scale_alone():
    points, targets = data(3)
    made = [run(points, params(targets, epsilon=e, method="nas", t=300)).trace[0] for e in (1.0, 4.0)]
    moves = [one.noisy_averages - one.nonprivate_averages for one in made]
    assert moves[0] == pytest.approx(4.0 * moves[1])


def test_the_steps_apart_are_the_fit():
    points, targets = data(4)
    for method, noise in METHODS:
        options = params(targets, method=method, noise=noise)
        result = run(points, options)
        rngs = np.random.default_rng(0).spawn(2)
        made = stc.sanitize(points, UNIT, options, rng=rngs[0])
        assert np.array_equal(made.released_points, result.release.centers)
        chosen = stc.select(made.released_points, options, rng=rngs[1])
        assert np.array_equal(chosen, result.release.selected)


@given(st.integers(0, 10_000), st.integers(0, 12), st.integers(1, 8), st.integers(1, 3), st.sampled_from(METHODS))
@settings(max_examples=60, deadline=None)
def test_nothing_about_the_source_raises(seed, m, n, d, method):
    rng = np.random.default_rng(seed)
    kind = seed % 4
    points = rng.integers(0, 2, (m, d)).astype(float)  # duplicates
    if kind == 1:
        points = points * 1e12 - 5e11  # far outside
    elif kind == 2:
        points = np.repeat(rng.random((1, d)), m, axis=0)
    targets = rng.integers(0, 3, (n, d)) / 2.0
    calibration = ("published", "tight")[seed % 2]
    options = params(targets, method=method[0], noise=method[1], t=5, n_centers=3, calibration=calibration)
    result = run(points, options, Box.cube(0.0, 1.0, d))
    assert np.isfinite(result.release.centers).all()
    assert len(result.release.selected) == min(3, n)


def test_an_empty_source_is_noise_only():
    _, targets = data(5)
    for method, noise in METHODS:
        result = run(np.empty((0, 2)), params(targets, method=method, noise=noise))
        step = result.trace[0]
        if method == "nas":
            assert step.nonprivate_averages == pytest.approx(np.full((step.n_averages, 2), 0.5))  # the ball's center
            assert math.isnan(step.nonprivate_bound)
        else:
            assert not step.nonprivate_counts.any()
    assert len(run(np.empty((0, 2)), params(targets, epsilon=math.inf)).release.centers) == 0


def test_fewer_records_than_neighbors_are_filled_up_with_the_balls_center():
    points, targets = data(6, m=7)
    step = run(points, params(targets, method="nas", t=10)).trace[0]
    expected = (points.sum(axis=0) + 3 * 0.5) / 10
    assert step.nonprivate_averages == pytest.approx(np.repeat(expected[None], step.n_averages, axis=0))


def test_records_outside_a_ball_of_ones_own_are_projected():
    points, targets = data(7)
    ball = Ball([0.5, 0.5], 0.3)
    step = run(points, params(targets, ball=ball)).trace[0]
    assert step.nonprivate_source == pytest.approx(ball.project(points))
    assert np.linalg.norm(step.nonprivate_source - 0.5, axis=1).max() <= 0.3 + 1e-12


def test_bad_input_is_named():
    points, targets = data(8)
    cases = (
        ({"targets": np.empty((0, 2))}, "targets must have at least one row"),
        ({"targets": [[np.nan, 0.0]]}, "targets"),
        ({"epsilon": None}, "Exactly one"),
        ({"rho": 1.0}, "Exactly one"),
        ({"noise": "gaussian"}, "delta is required .*got None"),
    )
    for wrong, words in cases:
        with pytest.raises(ValueError, match=words):
            stc.Params(**{"targets": targets, "epsilon": 1.0, **wrong})
    for wrong, words in (
        ({"targets": targets[:, :1]}, "targets must have 2 columns like the box, got 1"),
        ({"ball": Ball([0.0], 1.0)}, "ball must have 2 axes like the box, got 1"),
    ):
        with pytest.raises(ValueError, match=words):
            run(points, stc.Params(**{"targets": targets, "epsilon": 1.0, **wrong}))


def spread_targets(n, reach=0.45):
    """Return n targets on a circle round the middle of the unit square, apart from each other."""
    angles = 2 * np.pi * np.arange(n) / n
    return 0.5 + reach * np.stack([np.cos(angles), np.sin(angles)], axis=1)


BOUNDED = {  # the bound is under 0.3 in a ball of diameter 1
    "epsilon .9": (20, 5000, {"epsilon": 0.9, "delta": 1e-5, "noise": "gaussian"}),
    "rho 3": (100, 150, {"rho": 3.0, "noise": "gaussian"}),
}


@pytest.mark.parametrize("case", BOUNDED)
def test_no_distance_moves_by_more_than_the_bound_at_the_stated_probability(case):
    """Lemma 5.6 and theorem 5.5 over 300 runs, and half of the noise's part of the bound must fail."""
    n, t, budget = BOUNDED[case]
    targets, gamma, runs = spread_targets(n), 0.05, 300
    points = np.repeat(targets, t, axis=0)  # t records on every target: Delta_t is 0
    options = params(targets, method="nas", t=t, gamma=gamma, coreset_radius=0.0, n_centers=1, **budget)
    made = stc.sanitize(points, UNIT, options, rng=np.random.default_rng(0))
    assert made.nonprivate_delta_t == pytest.approx(0.0, abs=1e-9)
    assert made.nonprivate_bound == pytest.approx(made.noise_bound)
    assert made.noise_bound < 0.3
    averages = made.ball.to_unit(made.nonprivate_averages)
    rng = np.random.default_rng(1)
    moves = np.linalg.norm(made.scale * rng.standard_normal((runs, *averages.shape)), axis=2).max(axis=1)
    # The law of the moves above is that of the runs: their own averages lie as far off.
    own = np.linalg.norm(made.ball.to_unit(made.noisy_averages) - averages, axis=1)
    assert own.max() < 6 * made.scale
    error = math.sqrt(gamma * (1 - gamma) / runs)
    assert np.mean(moves > made.noise_bound) <= gamma
    assert np.mean(moves > made.noise_bound / 2) > gamma + 6 * error
    for seed in range(20):  # theorem 5.5's mean over the targets, whole runs
        released = stc.sanitize(points, UNIT, options, rng=np.random.default_rng(seed)).released_points
        assert stc.nonprivate_difference(points[::t], UNIT, options, released) <= made.nonprivate_bound


def test_the_distances_part_of_the_bound_is_needed():
    """Each target has one record on it and t - 1 far away: the mean difference is above half of the bound."""
    n, t, gamma = 20, 2000, 0.05
    targets = spread_targets(n, 0.3)
    points = np.concatenate([targets, np.full((t, 2), 0.5)])
    options = params(targets, method="nas", t=t, gamma=gamma, coreset_radius=0.0, rho=3.0, noise="gaussian")
    found = []
    for seed in range(30):
        made = stc.sanitize(points, UNIT, options, rng=np.random.default_rng(seed))
        found.append(stc.nonprivate_difference(points, UNIT, options, made.released_points))
    assert made.nonprivate_bound < 0.3
    assert max(found) <= made.nonprivate_bound
    assert min(found) > made.nonprivate_bound / 2


def test_a_coreset_adds_its_radius_to_the_bound():
    points, targets = data(9, m=4000, n=400)
    options = params(targets, method="nas", rho=3.0, noise="gaussian")
    made = stc.sanitize(points, UNIT, options, rng=np.random.default_rng(0))
    assert made.n_averages < 400
    assert made.nonprivate_bound == pytest.approx(made.nonprivate_delta_t + made.noise_bound + 0.05)
    assert stc.nonprivate_difference(points, UNIT, options, made.released_points) <= made.nonprivate_bound


def test_nna_tells_neighbors_apart_by_no_more_than_its_epsilon():
    """Two sources that differ in one record: the noisy numbers' exact shift over their scale is at most epsilon."""
    points, targets = data(10)
    for calibration, record in itertools.product(("published", "tight"), ([0.0, 0.0], [1.0, 1.0], [0.5, 0.5])):
        options = params(targets, calibration=calibration)
        one, other = (
            stc.sanitize(source, UNIT, options, rng=np.random.default_rng(0))
            for source in (points, np.vstack([points, record]))
        )
        ball, scale = one.ball, one.scale
        counts = other.nonprivate_counts - one.nonprivate_counts
        sums = [
            np.nan_to_num(ball.to_unit(step.nonprivate_averages)) * step.nonprivate_counts[:, None]
            for step in (one, other)
        ]
        shift = np.abs(counts).sum() + np.abs(sums[1] - sums[0]).sum()
        assert shift / scale <= 3.0 + 1e-9
        if calibration == "tight" and record != [0.5, 0.5]:  # a corner of the box: as long as a record can be
            assert shift / scale == pytest.approx(3.0)


@pytest.mark.parametrize(("former", "name"), [("sanitise", "sanitize"), ("SanitiseStep", "SanitizeStep")])
def test_british_names_still_work_with_a_warning(former, name):
    with pytest.warns(DeprecationWarning, match=f"'{former}' is now called '{name}'"):
        assert getattr(source_target, former) is getattr(stc, name)
