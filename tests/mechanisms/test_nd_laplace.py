"""The n-dimensional Laplace mechanism: radius, direction and coordinates, with wrong samplers that must fail."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from dpviz.mechanisms import (
    epsilon_of_level,
    nd_laplace,
    nd_laplace_noise,
    perturbation_area,
    radius_probability,
    radius_quantile,
)

N = 100_000
P_VALUE = 1e-6  # a right sampler fails once in a million seeds; these seeds are fixed
DIMENSIONS = pytest.mark.parametrize("d", [1, 2, 3, 10, 50])


def draws(d, *, epsilon=0.5, seed=1, n=N):
    return nd_laplace(np.zeros((n, d)), epsilon=epsilon, rng=np.random.default_rng(seed))


def radius_p(z, epsilon):
    law = stats.gamma(z.shape[1], scale=1 / epsilon)
    return stats.kstest(np.linalg.norm(z, axis=1), law.cdf).pvalue


def coordinate_p(z):
    """Return the least p of u_i^2 following Beta(1/2, (d-1)/2), its law on the sphere."""
    u = z / np.linalg.norm(z, axis=1)[:, None]
    law = stats.beta(0.5, (z.shape[1] - 1) / 2)
    return min(stats.kstest(column**2, law.cdf).pvalue for column in u.T[-10:])


def angles_as_coordinates(d, rng):
    """The public n-D code's error: d - 1 coordinates of a unit vector, used as spherical angles."""
    v = rng.standard_normal((N, d))
    angles = (v / np.linalg.norm(v, axis=1)[:, None])[:, : d - 1]
    sines = np.cumprod(np.sin(angles), axis=1)
    u = np.column_stack([np.cos(angles[:, 0]), sines[:, :-1] * np.cos(angles[:, 1:]), sines[:, -1]])
    return rng.gamma(d, 2.0, N)[:, None] * u


def uniform_angles(rng):
    """The 3-D error: both spherical angles uniform, which crowds the poles."""
    polar, azimuth = rng.uniform(0, np.pi, N), rng.uniform(0, 2 * np.pi, N)
    u = np.column_stack([np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)])
    return rng.gamma(3, 2.0, N)[:, None] * u


@DIMENSIONS
def test_the_radius_is_gamma_and_another_shape_is_noticed(d):
    z = draws(d)
    assert radius_p(z, 0.5) > P_VALUE
    assert radius_p(z, 0.51) < P_VALUE or d == 1  # one dimension has the least power: below
    assert radius_p(1.05 * z, 0.5) < P_VALUE


@pytest.mark.parametrize("d", [2, 3, 10, 50])
def test_the_direction_is_uniform_and_the_public_codes_are_not(d):
    assert coordinate_p(draws(d)) > P_VALUE
    if d > 2:
        assert coordinate_p(angles_as_coordinates(d, np.random.default_rng(2))) < P_VALUE


def test_uniform_angles_are_noticed_in_three_dimensions():
    assert coordinate_p(uniform_angles(np.random.default_rng(3))) < P_VALUE


def test_the_public_code_leaves_late_coordinates_almost_alone():
    wrong, right = angles_as_coordinates(10, np.random.default_rng(4)), draws(10)
    assert (np.abs(wrong[:, 5:]).mean(axis=0) < 0.05 * np.abs(right[:, 5:]).mean(axis=0)).all()


@DIMENSIONS
def test_moments_of_each_coordinate(d):
    epsilon = 0.5
    z = draws(d, epsilon=epsilon)
    variance = (d + 1) / epsilon**2  # E r^2 / d = d (d + 1) / (epsilon^2 d)
    # E z_i^4 = E r^4 E u_i^4 = d (d+1) (d+2) (d+3) / epsilon^4 * 3 / (d (d+2)).
    fourth = 3 * (d + 1) * (d + 3) / epsilon**4
    assert np.all(np.abs(z.mean(axis=0)) < 6 * math.sqrt(variance / N))
    error = math.sqrt((fourth - variance**2) / N)
    assert np.all(np.abs((z**2).mean(axis=0) - variance) < 6 * error)
    assert np.all(np.abs(((1.1 * z) ** 2).mean(axis=0) - variance) > 6 * error)
    if d > 1:  # uncorrelated but not independent: they share the radius
        assert abs(np.mean(z[:, 0] * z[:, 1])) < 6 * math.sqrt(fourth / 3 / N)


def test_radius_and_direction_are_independent_and_make_the_displacement():
    noise = nd_laplace_noise(N, 3, epsilon=2.0, rng=np.random.default_rng(5))
    assert np.allclose(np.linalg.norm(noise.direction, axis=1), 1.0)
    assert abs(np.corrcoef(noise.radius, noise.direction[:, 0])[0, 1]) < 6 / math.sqrt(N)
    moved = nd_laplace(np.zeros((N, 3)), epsilon=2.0, rng=np.random.default_rng(5))
    assert np.allclose(moved, noise.displacement, rtol=1e-12, atol=0.0)


class Zeros:
    """A generator whose every number is the least that can come."""

    def random(self, size):
        return np.zeros(size)

    def standard_normal(self, size):
        return np.zeros(size)

    def standard_exponential(self, size):
        return np.zeros(size)

    def standard_gamma(self, shape, size):
        return np.full(size, float(shape))


@DIMENSIONS
def test_a_gaussian_of_zeros_has_a_direction_all_the_same(d):
    with np.errstate(all="raise"):
        noise = nd_laplace_noise(7, d, epsilon=2.0, rng=Zeros())
    assert np.allclose(np.linalg.norm(noise.direction, axis=1), 1.0)


def lambert_radius(p, epsilon):
    """Invert the radius law in the thesis's own form, equation 3.3: -(W_-1((p - 1) / e) + 1) / epsilon."""
    return -(special.lambertw((p - 1.0) / math.e, k=-1).real + 1.0) / epsilon


def test_in_the_plane_the_law_is_that_of_the_thesis():
    rng = np.random.default_rng(6)
    ours, theirs = np.linalg.norm(draws(2), axis=1), lambert_radius(rng.random(N), 0.5)
    assert stats.ks_2samp(ours, theirs).pvalue > P_VALUE
    assert stats.ks_2samp(ours, 1.05 * theirs).pvalue < P_VALUE


@given(st.floats(1e-8, 1.0 - 1e-12))
def test_the_radius_law_is_the_inverse_of_the_lambert_form(p):
    # Beside the branch point W loses half the digits.
    assert math.isclose(lambert_radius(p, 0.3), radius_quantile(p, 2, epsilon=0.3), rel_tol=1e-4, abs_tol=1e-6)


@DIMENSIONS
def test_the_perturbation_area_is_the_gamma_law(d):
    area = perturbation_area(d, epsilon=0.25)
    assert area.mean_radius == d / 0.25
    assert np.allclose(radius_probability(area.radii, d, epsilon=0.25), area.levels)
    assert np.allclose(area.radii, stats.gamma(d, scale=4.0).ppf(area.levels))
    radii = np.linalg.norm(draws(d, epsilon=0.25), axis=1)
    assert abs(radii.mean() - area.mean_radius) < 6 * math.sqrt(d) / 0.25 / math.sqrt(N)


def test_epsilon_is_a_level_within_a_radius():
    epsilon = epsilon_of_level(math.log(4.0), 200.0)  # meters
    assert math.isclose(math.exp(epsilon * 200.0), 4.0)
    for bad in ((0.0, 1.0), (1.0, 0.0), (math.nan, 1.0), (1.0, math.inf)):
        with pytest.raises(ValueError, match="positive and finite"):
            epsilon_of_level(*bad)


def test_infinite_epsilon_gives_the_points_and_one_seed_scales():
    points = np.random.default_rng(7).random((50, 3))
    assert np.array_equal(nd_laplace(points, epsilon=math.inf, rng=np.random.default_rng(0)), points)
    zero = np.zeros((50, 3))
    one, ten = (nd_laplace(zero, epsilon=e, rng=np.random.default_rng(8)) for e in (1.0, 10.0))
    assert np.allclose(one, 10.0 * ten)


@pytest.mark.parametrize("n", [0, 1, 20_000])
def test_sizes_and_seeds(n):
    points = np.ones((n, 2))
    one, again = (nd_laplace(points, epsilon=1.0, rng=np.random.default_rng(9)) for _ in range(2))
    assert one.shape == (n, 2)
    assert np.array_equal(one, again)
    assert np.array_equal(points, np.ones((n, 2)))


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, 1e-320])
def test_impossible_epsilons_are_refused(epsilon):
    with pytest.raises(ValueError, match="epsilon must be"):
        nd_laplace(np.zeros((5, 2)), epsilon=epsilon, rng=np.random.default_rng(0))


def test_bad_points_and_other_dimensions_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="NaN"):
        nd_laplace([[math.nan, 0.0]], epsilon=1.0, rng=rng)


@pytest.mark.parametrize("epsilon", [1e-200, 1e-6, 1e6, 1e200])
def test_huge_and_small_epsilons_keep_their_law(epsilon):
    z = draws(2, epsilon=epsilon, n=1000)
    assert np.isfinite(z).all()
    assert stats.kstest(special.gammainc(2, epsilon * np.hypot(*z.T)), "uniform").pvalue > P_VALUE
