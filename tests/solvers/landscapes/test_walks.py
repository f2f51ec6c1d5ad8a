"""Walks in the plane, whose eigenvalues are written out, next to walks in space, where a third axis changes nothing."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from dpviz.solvers import Mixture, flow_lines
from dpviz.solvers.landscapes import walks
from dpviz.solvers.landscapes.basins import traps
from dpviz.solvers.landscapes.flow import distinct, flow

SEEDS = st.integers(0, 10**6)
NONE = np.empty(0, dtype=np.intp)


def drawn(seed, *, n_components=6, spread=0.15):
    rng = np.random.default_rng(seed)
    roots = spread * rng.standard_normal((n_components, 2, 2))
    covariances = roots @ roots.transpose(0, 2, 1) + 0.02**2 * np.eye(2)
    return Mixture(rng.dirichlet(np.ones(n_components)), rng.uniform(-0.8, 0.8, (n_components, 2)), covariances), rng


def with_third_axis(mixture):
    """Return the mixture times a Gaussian along a third axis whose density at 0 is 1: the same landscape there."""
    covariances = np.tile(np.eye(3) / (2.0 * np.pi), (mixture.n_components, 1, 1))
    covariances[:, :2, :2] = mixture.covariances
    return Mixture(mixture.weights, np.pad(mixture.means, ((0, 0), (0, 1))), covariances)


def lifted(points):
    return np.pad(points, ((0, 0), (0, 1)))


@settings(max_examples=30)
@given(SEEDS, st.integers(1, 40))
def test_what_is_known_of_a_place_is_the_landscape(seed, n_components):
    mixture, rng = drawn(seed, n_components=n_components)
    points = rng.uniform(-1.2, 1.2, (50, 2))
    known, here = mixture.at(points), with_third_axis(mixture).at(lifted(points))
    expected = (here.log_density, here.gradient[:, :2], here.metric[:, :2, :2], here.spread[:, :2, :2])
    for one, other in zip(known, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11 * np.abs(other).max())
    for matrix in (known.metric, known.spread):
        np.testing.assert_array_equal(matrix, matrix.transpose(0, 2, 1))
    s11, s12, s22 = known.spread[:, 0, 0], known.spread[:, 0, 1], known.spread[:, 1, 1]
    assert (s11 * s22 >= s12**2 * (1.0 - 1e-12)).all()  # S is no saddle


@settings(max_examples=30)
@given(SEEDS, st.integers(1, 40), st.integers(0, 200), st.integers(0, 8))
def test_log_densities_of_many_places_are_those_of_each(seed, n_components, n_points, far):
    mixture, rng = drawn(seed, n_components=n_components)
    points = rng.uniform(-2.0, 2.0, (n_points, 2)) * 10.0 ** rng.integers(0, far + 1, (n_points, 1))
    alone = np.array([mixture.at(point[None]).log_density[0] for point in points])
    np.testing.assert_allclose(mixture.log_density(points), alone, rtol=1e-13)


def test_a_component_without_weight_counts_for_nothing():
    mixture, rng = drawn(5)
    dead = Mixture(
        np.append(mixture.weights, 0.0),
        np.concatenate([mixture.means, [[0.1, 0.1]]]),
        np.concatenate([mixture.covariances, [np.eye(2)]]),
    )
    points = rng.uniform(-1.0, 1.0, (70, 2))
    np.testing.assert_allclose(dead.log_density(points), mixture.log_density(points), rtol=1e-12, atol=1e-12)
    for one, other in zip(dead.at(points), mixture.at(points), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_so_far_out_that_the_density_underflows_nothing_is_known():
    mixture, _ = drawn(5)
    out = np.array([[1e200, 0.0]])
    first, *others = mixture.at(out)
    assert first == mixture.log_density(out) == -np.inf
    assert not any(each.any() for each in others)


def test_the_step_solves_its_differential_equation():
    # x' = g + H (x - x0) from x0: by the matrix exponential of the system with an added constant.
    mixture, rng = drawn(3)
    for point in rng.uniform(-0.5, 0.5, (20, 1, 2)):
        here = mixture.at(point)
        place, move = walks.known_at(*mixture.code, point)[0], np.empty(2)
        used = walks._exact_step(mixture.code[0], place, 0.3, move, np.empty((5, 1, 2, 2)))
        speed = math.sqrt(here.gradient[0] @ here.metric[0] @ here.gradient[0])
        system = np.zeros((3, 3))
        system[:2, :2], system[:2, 2] = here.hessian[0], here.gradient[0]
        np.testing.assert_allclose(move, expm(used / speed * system)[:2, 2], rtol=1e-9)


@settings(max_examples=20)
@given(SEEDS)
def test_the_flow_and_its_lines_are_those_of_any_number_of_axes(seed):
    mixture, rng = drawn(seed)
    starts = rng.uniform(-1.0, 1.0, (40, 2))
    places, labels, safe = flow(mixture, starts)
    general, _, also = flow(with_third_axis(mixture), lifted(starts))
    np.testing.assert_array_equal(safe, also)
    assert (labels == -1).all()
    # A start on a watershed may go either way; the median of all others' ways is the same to rounding.
    assert np.median(np.abs(places - general[:, :2]).max(axis=1)) < 1e-8
    assert (mixture.log_density(places) >= mixture.log_density(starts)).all()
    how = {"n_steps": 30, "reach": 0.3, "end": 1e-3}
    lines, others = flow_lines(mixture, starts, **how), flow_lines(with_third_axis(mixture), lifted(starts), **how)
    ends, also = (np.isfinite(each[..., 0]).sum(axis=1) for each in (lines, others))
    assert (ends == also).mean() > 0.9  # a last step may be as long as asked to rounding
    assert np.nanmedian(np.abs(lines - others[..., :2])) < 1e-8


@settings(max_examples=20)
@given(SEEDS)
def test_a_start_in_a_trap_or_among_cells_that_agree_stays(seed):
    mixture, rng = drawn(seed)
    sure, starts = traps(mixture), rng.uniform(-1.1, 1.1, (400, 2))
    white = np.einsum("lij,nj->nli", sure.whiteners, starts) - sure.middles
    inside = ((white**2).sum(axis=2) < sure.radii) & (mixture.log_density(starts)[:, None] > sure.rims)
    caught = np.where(inside.any(axis=1), inside.argmax(axis=1), -1)
    places, labels, _ = flow(mixture, starts, sure)
    np.testing.assert_array_equal(labels[caught >= 0], caught[caught >= 0])
    np.testing.assert_array_equal(places[caught >= 0], starts[caught >= 0])
    side = 5
    cells = rng.integers(-1, 2, side**2)
    none = walks.Traps(*(each[:0] for each in sure))
    _, labels, _ = walks.flow_down(*mixture.code, starts, none, cells, NONE, 0)
    for (x, y), label in zip(starts, labels, strict=True):
        # The corners of the cells around: the nearest corner's four, the outermost standing for what is beyond.
        column, row = (math.floor((at + 1.0) * side / 2.0 + 0.5) for at in (x, y))
        columns, rows = ({min(max(at + off, 0), side - 1) for off in (-1, 0)} for at in (column, row))
        around = {int(cells[r * side + c]) for r in rows for c in columns}
        assert label == (around.pop() if len(around) == 1 and max(abs(x), abs(y)) <= 1.0 else -1)


@settings(max_examples=50)
@given(SEEDS, st.sampled_from([1e-4, 1e-3, 0.05, 0.3]), st.booleans())
def test_points_are_named_one_after_the_other(seed, radius, solid):
    mixture, rng = drawn(seed)
    points = rng.uniform(-0.5, 0.5, (20, 2))[rng.integers(20, size=60)]
    points += 10.0 ** rng.uniform(-7, -2, (60, 1)) * rng.standard_normal((60, 2))
    if solid:
        mixture, points = with_third_axis(mixture), lifted(points)
    names, leaders = [], []
    metric = mixture.at(points).metric
    for point in points:
        near = [i for i, j in enumerate(leaders) if (point - points[j]) @ metric[j] @ (point - points[j]) < radius**2]
        if not near:
            leaders.append(len(names))
        names.append(near[0] if near else len(leaders) - 1)
    np.testing.assert_array_equal(distinct(mixture, points, radius=radius), names)
    assert len(distinct(mixture, points[:0])) == 0
