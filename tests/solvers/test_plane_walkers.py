"""The plane's quick forms beside the general ones they stand for."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from dpviz.solvers import Mixture, climbing, descent
from dpviz.solvers.plane_walkers import PlaneWalkers, plane_step, plane_steps_length
from dpviz.solvers.walkers import drift, exact_step

SEEDS = st.integers(0, 10**6)


def drawn(seed, *, n_components=6, spread=0.15):
    rng = np.random.default_rng(seed)
    roots = spread * rng.standard_normal((n_components, 2, 2))
    covariances = roots @ roots.transpose(0, 2, 1) + 0.02**2 * np.eye(2)
    return Mixture(rng.dirichlet(np.ones(n_components)), rng.uniform(-0.8, 0.8, (n_components, 2)), covariances), rng


@settings(max_examples=30)
@given(SEEDS)
def test_rows_of_the_plane_are_the_landscape(seed):
    mixture, rng = drawn(seed)
    points = rng.uniform(-1.2, 1.2, (50, 2))
    rows, here = mixture.quick_rows(points.T), mixture.at(points)
    upper = [each.reshape(-1, 4)[:, [0, 1, 3]] for each in (here.metric, here.spread)]
    expected = np.concatenate([here.log_density[:, None], here.gradient, *upper], axis=1).T
    scale = np.abs(expected).max(axis=1, keepdims=True)
    np.testing.assert_allclose(rows, expected, atol=0.0 + 1e-7 * scale.max(), rtol=1e-6)
    np.testing.assert_allclose(mixture.quick_log_density(points), here.log_density, rtol=1e-8, atol=1e-8)


def test_a_mixture_without_a_quick_form_has_the_same_rows():
    # One deviation is 1e-6 of the extent: the one-product form would lose its digits.
    thin = Mixture([0.5, 0.5], [[0.0, 0.0], [1.0, 0.0]], [np.diag([1e-12, 1e-12]), np.eye(2)])
    assert thin.plane is None
    points = np.array([[0.5, 0.1], [1e-6, 0.0]])
    here, rows = thin.at(points), thin.quick_rows(points.T)
    np.testing.assert_array_equal(rows[:3], np.concatenate([here.log_density[None], here.gradient.T]))
    np.testing.assert_array_equal(rows[[4, 7]], [here.metric[:, 0, 1], here.spread[:, 0, 1]])


@settings(max_examples=30)
@given(SEEDS)
def test_a_step_of_the_plane_is_the_flow_of_the_local_quadratic(seed):
    mixture, rng = drawn(seed)
    points, reach = rng.uniform(-1.0, 1.0, (40, 2)), rng.uniform(0.05, 0.5, 40)
    here, known = mixture.quick_at(points), mixture.quick_rows(points.T)
    move, foretold, used = plane_step(known, reach)
    for ours, general in zip((move.T, foretold.T, used), exact_step(here, reach), strict=True):
        np.testing.assert_allclose(ours, general, rtol=1e-6, atol=1e-9 * np.abs(general).max())
    lengths = np.sqrt(np.einsum("ni,nij,nj->n", move.T, here.metric, move.T))
    np.testing.assert_allclose(plane_steps_length(known, move), lengths, rtol=1e-8)
    moves, told = drift(mixture, points, lambda _: reach)
    np.testing.assert_array_equal(moves, move.T)
    np.testing.assert_array_equal(told, plane_steps_length(known, move))


def test_the_step_solves_its_differential_equation():
    # x' = g + H (x - x0) from x0: by the matrix exponential of the system with a constant beside it.
    mixture, rng = drawn(3)
    point = rng.uniform(-0.5, 0.5, (1, 2))
    here, known = mixture.at(point), mixture.quick_rows(point.T)
    move, _, used = plane_step(known, np.array([0.3]))
    speed = np.sqrt(here.gradient[0] @ here.metric[0] @ here.gradient[0])
    system = np.zeros((3, 3))
    system[:2, :2], system[:2, 2] = here.hessian[0], here.gradient[0]
    np.testing.assert_allclose(move[:, 0], expm(used[0] / speed * system)[:2, 2], rtol=1e-9)


@settings(max_examples=20)
@given(SEEDS)
def test_walkers_only_climb_and_forget_whom_they_are_told_to(seed):
    mixture, rng = drawn(seed)
    walkers = PlaneWalkers(mixture, rng.uniform(-1.0, 1.0, (30, 2)))
    before = walkers.log_density.copy()
    for _ in range(5):
        walkers.advance()
        assert (walkers.log_density >= before - 1e-9).all()
        np.testing.assert_allclose(walkers.log_density, mixture.log_density(walkers.places), rtol=1e-7, atol=1e-7)
        before = walkers.log_density.copy()
    places, which = walkers.places.copy(), rng.random(30) < 0.5
    walkers.keep(which)
    np.testing.assert_array_equal(walkers.places, places[which])


@settings(max_examples=50)
@given(SEEDS, st.sampled_from([1e-3, 0.05, 0.2]))
def test_leaders_are_those_found_one_after_the_other(seed, radius):
    mixture, rng = drawn(seed)
    points = rng.uniform(-0.5, 0.5, (20, 2))[rng.integers(20, size=60)]
    names, leaders = [], []
    metric = mixture.quick_at(points).metric
    for point in points:
        near = [i for i, j in enumerate(leaders) if (point - points[j]) @ metric[j] @ (point - points[j]) < radius**2]
        if not near:
            leaders.append(len(names))
        names.append(near[0] if near else len(leaders) - 1)
    np.testing.assert_array_equal(descent.distinct(mixture, points, radius=radius), names)


@settings(max_examples=50)
@given(SEEDS)
def test_walks_that_go_on_as_one_have_met(seed):
    mixture, rng = drawn(seed)
    places = rng.uniform(-0.5, 0.5, (40, 2))[rng.integers(40, size=200)]
    places += 10.0 ** rng.uniform(-7, -2, (200, 1)) * rng.standard_normal((200, 2))
    follows = np.arange(200)
    leaders = climbing._met(places, mixture.at(places).metric, np.arange(200), follows)
    np.testing.assert_array_equal(leaders, np.unique(follows))
    assert (follows <= np.arange(200)).all()  # the first one leads
    gaps = places - places[follows]
    assert (np.einsum("ni,nij,nj->n", gaps, mixture.at(places).metric, gaps) <= 1.01 * climbing.MEETING**2).all()
    assert len(leaders) < 200  # the power: some have met


def test_walks_far_out_are_told_apart():
    mixture = Mixture([1.0], [[0.0, 0.0]], [np.eye(2)])
    places = np.array([[1e20, 0.0], [1e20, 1e5], [3e20, 0.0], [1e20, 0.0]])
    follows = np.arange(4)
    climbing._met(places, mixture.at(places).metric, np.arange(4), follows)
    np.testing.assert_array_equal(follows, [0, 1, 2, 0])
