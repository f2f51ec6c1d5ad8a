"""nD-Laplace as an algorithm: domains, guarantee and budget in many dimensions, and hostile input."""

import dataclasses
import math

import numpy as np
import pytest

from dpviz.accounting import pure_epsilon
from dpviz.core import Adjacency, Box, PointsRelease
from dpviz.mechanisms import default_grid
from dpviz.methods.nd_laplace.algorithm import Params, fit, law, local_claim

DOMAINS = pytest.mark.parametrize("domain", ["none", "clamp", "redraw", "remap"])


def run(params, *, n=200, d=2, seed=0):
    points = np.random.default_rng(1).random((n, d))
    return fit(points, Box.cube(0.0, 1.0, d), params, rng=np.random.default_rng(seed)), points


@DOMAINS
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_budget_is_epsilon_times_the_diagonal(domain, d):
    result, _ = run(Params(epsilon=3.0, domain=domain), d=d)
    factor = 2.0 if domain == "redraw" else 1.0
    assert result.guarantee.published.epsilon == 3.0
    assert result.guarantee.proved.epsilon == factor * 3.0
    assert result.guarantee.published.per_distance
    assert result.guarantee.proved.per_distance
    assert result.guarantee.proved.adjacency is Adjacency.REPLACE
    assert pure_epsilon(result.events, Adjacency.REPLACE) == factor * 3.0 * Box.cube(0.0, 1.0, d).diagonal


def test_distances_by_range_scale_the_noise_and_the_diagonal():
    box, points = Box((0.0, 0.0), (1.0, 1000.0)), np.full((20_000, 2), 0.5)
    params = Params(epsilon=10.0, unit="range")
    assert math.isclose(local_claim(box, params).epsilon, 10.0 * math.sqrt(2.0))
    moved = fit(points, box, params, rng=np.random.default_rng(0)).release.points - points
    assert math.isclose(moved[:, 1].std() / moved[:, 0].std(), 1000.0, rel_tol=0.05)


@DOMAINS
def test_the_step_tells_the_whole_story(domain):
    result, points = run(Params(epsilon=4.0, domain=domain))
    (step,) = result.trace
    assert isinstance(result.release, PointsRelease)
    assert result.release.points is step.points
    assert np.array_equal(step.nonprivate_points, points)
    assert np.allclose(step.before_domain, points + step.radius[:, None] * step.direction)
    assert ((step.p >= 0) & (step.p <= 1)).all()
    assert (step.n_rejected.sum() > 0) == (domain == "redraw")
    if domain != "none":
        assert ((step.points >= 0) & (step.points <= 1)).all()
    if domain == "redraw":
        record = int(step.n_rejected.argmax())
        assert len(step.rejected_of(record)) == min(step.n_rejected[record], 16)


@pytest.mark.parametrize("domain", ["none", "clamp", "redraw"])
def test_without_noise_the_data_come_back(domain):
    result, points = run(Params(epsilon=math.inf, domain=domain))
    assert np.array_equal(result.release.points, points)
    assert result.guarantee.proved.epsilon == math.inf


def test_without_noise_remap_is_the_nearest_place():
    result, points = run(Params(epsilon=math.inf, domain="remap"))
    grid = default_grid(Box.cube(0.0, 1.0, 2))
    assert {tuple(row) for row in result.release.points} <= {tuple(row) for row in grid}
    assert np.abs(result.release.points - points).max() <= 1 / 64 + 1e-12


def test_remap_takes_a_public_set_of_places():
    places = np.array([[0.1, 0.1], [0.9, 0.2], [0.5, 0.8]])
    params = Params(epsilon=5.0, domain="remap", remap="nearest", grid=places)
    assert {tuple(row) for row in run(params)[0].release.points} <= {tuple(row) for row in places}
    for bad in (dataclasses.replace(params, grid=np.zeros((2, 3))), dataclasses.replace(params, prior=np.ones(2))):
        with pytest.raises(ValueError, match=r"grid|prior"):
            run(bad)


def test_redraw_is_refused_where_it_would_not_end():
    with pytest.raises(ValueError, match="clamp"):
        run(Params(epsilon=1e6, domain="redraw"), d=7)
    run(Params(epsilon=1e6, domain="redraw"), d=6, n=5)


def test_the_law_of_a_release():
    box = Box.cube(0.0, 1.0, 2)
    grid = default_grid(box)
    for domain in ("none", "clamp", "redraw", "remap"):
        params = Params(epsilon=4.0, domain=domain)
        released = run(params)[0].release.points[0]
        assert np.isfinite(law(grid, box, params).log_likelihood(released)).all()


@DOMAINS
@pytest.mark.parametrize("n", [0, 1])
def test_no_record_and_one(domain, n):
    assert run(Params(epsilon=2.0, domain=domain), n=n)[0].release.points.shape == (n, 2)


@pytest.mark.parametrize("domain", ["none", "clamp"])
@pytest.mark.parametrize("epsilon", [1e-9, 1e9])
def test_fifty_features_constant_columns_and_extreme_epsilons(domain, epsilon):
    box = Box.cube(0.0, 1.0, 50)
    released = fit(np.ones((30, 50)), box, Params(epsilon=epsilon, domain=domain), rng=np.random.default_rng(0))
    assert np.isfinite(released.release.points).all()
