"""The law of the draws inside a zone, against numerical integration that shares no formula with the sampler."""

import math
from functools import cache, partial

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chisquare, kstest

from dpviz.solvers import clamped_laplace, controller_angle, draw_in_zone, spread_in_zone, zone_density, zone_offset

P_VALUE = 1e-6
LAMS = (0.5, 0.5001, 0.6, 0.8, 0.97)
EPSILONS = (0.0, 0.5, 1.0, 10.0, 300.0)
N = 8_000
# The remainder of Gauss's rule for exp(-epsilon delta / 4) over a length of 1 is below 1e-16 from epsilon = 300 down.
FEW, MANY = (np.polynomial.legendre.leggauss(n_nodes) for n_nodes in (40, 120))


def rng_of(*key):
    return np.random.default_rng([int(1e4 * part) for part in key])


def weight(delta, alpha, epsilon):
    """exp(epsilon q / (2 * 2)), q = (1 - delta) + (1 - 2|alpha|/pi)."""
    return np.exp(epsilon * ((1 - delta) + (1 - 2 * np.abs(alpha) / math.pi) - 2) / 4)


def chord(lam, alpha):
    """Return the two distances at which a ray at `alpha` crosses the circle round (lam, 0) of radius 1 - lam."""
    root = np.sqrt(np.maximum((1 - lam) ** 2 - (lam * np.sin(alpha)) ** 2, 0))
    return lam * np.cos(alpha) - root, lam * np.cos(alpha) + root


def over_delta(low, high, alpha, epsilon):
    """Integrate the weight over delta from `low` to `high`, row by row."""
    middle, half = (low + high) / 2, (high - low) / 2
    nodes, weights = FEW if epsilon <= 300 else MANY
    at = weight(middle[:, None] + half[:, None] * nodes, alpha[:, None], epsilon)
    # The same factor on numerator and denominator keeps epsilon = 300 away from underflow.
    return half * (at @ weights)


def uniform_parts(reach, angle, lam, epsilon):
    """Return (F(|alpha|), F(delta given alpha)): two independent uniforms when the law is right."""
    # |alpha| = alpha_max (3 t^2 - 2 t^3): many nodes where epsilon puts the mass, and where the chord ends in a root.
    t = np.linspace(0, 1, 4001 if epsilon < 1000 else 40_001)
    alphas = math.asin((1 - lam) / lam) * (3 * t**2 - 2 * t**3)
    marginal = over_delta(*chord(lam, alphas), alphas, epsilon) * (t - t**2)  # d(alpha), up to a factor
    below = np.concatenate([[0], np.cumsum((marginal[1:] + marginal[:-1]) / 2)])
    low, high = chord(lam, angle)
    reach = np.clip(reach, low, high)
    share = over_delta(low, reach, angle, epsilon) / over_delta(low, high, angle, epsilon)
    return np.interp(angle, alphas, below / below[-1]), share


def p_values(reach, angle, lam, epsilon):
    """Return p-values of the marginal of alpha, of delta given alpha, and of 8 x 8 cells of both."""
    u, v = uniform_parts(reach, angle, lam, epsilon)
    cells = np.histogram2d(u, v, bins=8, range=[[0, 1], [0, 1]])[0].ravel()
    return kstest(u, "uniform").pvalue, kstest(v, "uniform").pvalue, chisquare(cells).pvalue


def ours(lam, epsilon, *, rng, n=N):
    mean, controller = np.zeros((n, 2)), np.tile([1.0, 0.0], (n, 1))
    drawn = draw_in_zone(mean, controller, np.full(n, lam), epsilon, rng=rng)
    return drawn.reach, drawn.angle


def without_the_half(lam, epsilon, *, rng):
    return ours(lam, 2 * epsilon, rng=rng)


def per_area(lam, epsilon, *, rng):
    """Draw from the weight with respect to area instead of (delta, alpha), by rejection."""
    points = lam + (1 - lam) * np.sqrt(rng.random(20 * N)) * np.exp(2j * math.pi * rng.random(20 * N))
    heights = weight(np.abs(points), np.angle(points), epsilon)
    kept = points[rng.random(20 * N) * heights.max() < heights][:N]
    return np.abs(kept), np.abs(np.angle(kept))


def flat_delta(lam, epsilon, *, rng):
    """Draw delta uniformly over the zone's whole span, for any alpha."""
    angle = ours(lam, epsilon, rng=rng)[1]
    return 2 * lam - 1 + (2 - 2 * lam) * rng.random(len(angle)), angle


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("lam", LAMS)
def test_draws_follow_the_exponential_mechanism(lam, epsilon):
    assert min(p_values(*ours(lam, epsilon, rng=rng_of(lam, epsilon)), lam, epsilon)) > P_VALUE


@pytest.mark.parametrize("epsilon", [0.0, 10.0, 300.0])
@pytest.mark.parametrize("lam", [0.55, 0.8])
def test_many_draws_of_a_zone_have_the_law_of_one(lam, epsilon):
    mean, controller = np.zeros((2, 2)), np.array([[0.0, 1.0], [1.0, 0.0]])
    lams = np.array([0.7, lam])  # another zone beside it
    points = spread_in_zone(mean, controller, lams, epsilon, N, rng=rng_of(lam, epsilon, 4))[1]
    reach, angle = np.linalg.norm(points, axis=1), np.arctan2(points[:, 1], points[:, 0])
    assert min(p_values(reach, np.abs(angle), lam, epsilon)) > P_VALUE
    assert abs((angle > 0).mean() - 0.5) < 6 * 0.5 / math.sqrt(N)
    # A slightly wider zone, which holds this one.
    assert min(p_values(reach, np.abs(angle), lam - 0.03, epsilon)) < P_VALUE


# A zone at .97 is small: epsilon = 10 changes its density by 4 %, the missing factor delta by 3 % to either side.
@pytest.mark.parametrize(
    ("wrong", "lam", "epsilon"),
    [(wrong, lam, 10.0) for wrong in (without_the_half, per_area, flat_delta) for lam in (0.5001, 0.6, 0.8)]
    + [(wrong, lam, 0.0) for wrong in (per_area, flat_delta) for lam in (0.5001, 0.6, 0.8)]
    + [(without_the_half, 0.97, 300.0), (flat_delta, 0.97, 0.0), (flat_delta, 0.97, 300.0)],
)
def test_a_wrong_sampler_is_noticed(wrong, lam, epsilon):
    assert min(p_values(*wrong(lam, epsilon, rng=rng_of(lam, epsilon)), lam, epsilon)) < P_VALUE


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.0, 3.0, 50.0, 2000.0])
@pytest.mark.parametrize("lam", [0.5, 0.5001, 0.55, 0.7, 0.9, 0.999])
def test_many_draws_follow_the_exponential_mechanism(lam, epsilon):
    rng = rng_of(lam, epsilon, 1)
    parts = [ours(lam, epsilon, rng=rng, n=50_000) for _ in range(8)]
    reach, angle = (np.concatenate(part) for part in zip(*parts, strict=True))
    assert min(p_values(reach, angle, lam, epsilon)) > P_VALUE


def cell_probabilities(density, lam, epsilon, edges):
    """Return the share of `density` in each cell of a grid over the zone (axis along x)."""
    fine = 40
    lines = [np.linspace(e[0], e[-1], fine * (len(e) - 1) + 1) for e in edges]
    x, y = (0.5 * (line[1:] + line[:-1]) for line in lines)
    offsets = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(1, -1, 2)
    at = density(offsets, np.array([[1.0, 0.0]]), np.array([lam]), epsilon)
    cells = at.reshape(len(edges[0]) - 1, fine, len(edges[1]) - 1, fine).sum(axis=(1, 3))
    return cells / cells.sum()


@cache
def places(lam, epsilon):
    mean, controller = np.zeros((N, 2)), np.tile([1.0, 0.0], (N, 1))
    return draw_in_zone(mean, controller, np.full(N, lam), epsilon, rng=rng_of(lam, epsilon, 2)).points


def density_p_value(density, lam, epsilon):
    points = places(lam, epsilon)
    edges = [np.linspace(2 * lam - 1, 1, 11), np.linspace(lam - 1, 1 - lam, 11)]
    expected = N * cell_probabilities(density, lam, epsilon, edges)
    observed = np.histogram2d(*points.T, bins=edges)[0]
    # Cells of few expected draws go together into the fullest one.
    filled, fullest = expected > 20, np.unravel_index(expected.argmax(), expected.shape)
    for values in (observed, expected):
        values[fullest] += values[~filled].sum()
    return chisquare(observed[filled], expected[filled]).pvalue


def forgetting_the_area(offsets, axis, lam, epsilon):
    return zone_density(offsets, axis, lam, epsilon) * np.linalg.norm(offsets, axis=2)


def forgetting_the_half(offsets, axis, lam, epsilon):
    return zone_density(offsets, axis, lam, 2 * epsilon)


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 10.0])
@pytest.mark.parametrize("lam", [0.6, 0.8])
def test_zone_density_is_the_law_per_area(lam, epsilon):
    assert density_p_value(zone_density, lam, epsilon) > P_VALUE
    assert density_p_value(forgetting_the_area, lam, epsilon) < P_VALUE
    if epsilon == 10.0:
        assert density_p_value(forgetting_the_half, lam, epsilon) < P_VALUE


# Lambda and gamma: (draw, law of the source, its range, its closed-form distribution function).
CURVES = {
    "lambda": (zone_offset, lambda x: math.exp(2 - 2 * x), (0.5, 1.0), lambda x: math.e - np.exp(2 - 2 * x)),
    "gamma": (
        controller_angle,
        lambda x: math.exp(1 - 2 * x / math.pi),
        (0.0, math.pi / 2),
        lambda x: math.e - np.exp(1 - 2 * x / math.pi),
    ),
}


@pytest.mark.parametrize("name", CURVES)
def test_inverse_distribution_functions(name):
    draw, density, (low, high), below = CURVES[name]
    total = quad(density, low, high)[0]
    for u in (0.0, 0.1, 0.5, 0.9, 1.0 - 1e-12):
        assert quad(density, low, float(draw(np.array(u))))[0] / total == pytest.approx(u, abs=1e-9)
    uniforms = rng_of(1.0).random(200_000)
    law = partial(lambda x, scale: below(x) / scale, scale=below(np.array(high)))
    assert kstest(draw(uniforms), law).pvalue > P_VALUE
    # Without the exponential factor the law would be uniform.
    assert kstest(low + (high - low) * uniforms, law).pvalue < P_VALUE


def averages(epsilon, n=40_000):
    """Return mean delta and mean |alpha| in degrees, with six standard errors of each, over random lambda."""
    rng, drawn = rng_of(epsilon, 3), []
    for _ in range(10):
        lam = zone_offset(rng.random(n // 10))
        mean, controller = np.zeros((len(lam), 2)), np.tile([1.0, 0.0], (len(lam), 1))
        sample = draw_in_zone(mean, controller, lam, epsilon, rng=rng)
        drawn.append([sample.reach, np.degrees(sample.angle)])
    values = np.concatenate(drawn, axis=1)
    return values.mean(axis=1), 6 * values.std(axis=1) / math.sqrt(n)


# Figures of the specification, also over 200,000 draws.
MEASURED = {0.05: (0.682, 12.5), 5.0: (0.653, 11.6)}
ROUNDING = np.array([0.0005, 0.05])


def test_epsilon_hardly_moves_the_draws():
    for epsilon, figures in MEASURED.items():
        mean, error = averages(epsilon)
        # Both averages are random, the specification's over five times the draws; and half a printed digit.
        error = math.sqrt(1.2) * error + ROUNDING
        assert (np.abs(mean - figures) < error).all(), (epsilon, mean)
        for other in MEASURED:
            if other != epsilon:
                assert (np.abs(mean - MEASURED[other]) > error).all()


def test_the_density_varies_little_inside_a_zone():
    lam = np.linspace(0.5, 1.0, 501)[1:-1]
    # q has no stationary point inside, so its extremes are on the border; just inside it, against rounding.
    turns = np.exp(1j * np.linspace(0, math.pi, 2001))
    border = lam[:, None] + (1 - 1e-12) * (1 - lam[:, None]) * turns
    score = (1 - np.abs(border)) + (1 - 2 * np.angle(border) / math.pi)
    assert 1.20 < np.ptp(score, axis=1).max() <= 1.21
    offsets = np.stack([border.real, border.imag], axis=2)
    axis = np.tile([1.0, 0.0], (len(lam), 1))
    for epsilon in (0.5, 1.0, 10.0):
        per_pair = zone_density(offsets, axis, lam, epsilon) * np.abs(border)  # density in (delta, alpha)
        ratio = per_pair.max(axis=1) / per_pair.min(axis=1)
        assert math.log(ratio.max()) / epsilon <= 1.21 / 4
        assert math.log(ratio.max()) / epsilon > 1.20 / 4


@pytest.mark.parametrize(("d", "ratio"), [(1, 0.5), (1, 2.0), (2, 1.0), (7, 4.0)])
def test_clamped_noise_piles_up_on_the_border(d, ratio):
    """In one dimension exp(-radius / scale) of the draws leave the zone; all of them end exactly on its border.

    The share's tolerance is six standard errors of a binomial; noise of twice the scale must be told apart.
    """
    n_draws, scale = 20_000, 0.05
    mean, radius = np.full((1, d), 0.4), np.array([ratio * scale])
    drawn, wrong = (
        np.linalg.norm(
            clamped_laplace(mean, radius, np.array([b]), n_draws, rng=np.random.default_rng(1))[0] - mean, axis=1
        )
        for b in (scale, 2.0 * scale)
    )
    assert (drawn <= radius[0] * (1.0 + 1e-12)).all()
    expected = (
        math.exp(-ratio)
        if d == 1
        else np.mean(  # beyond one dimension from independent plain draws
            np.linalg.norm(np.random.default_rng(2).laplace(scale=scale, size=(200_000, d)), axis=1) > radius[0]
        )
    )
    share, wrong_share = (float(np.mean(np.isclose(each, radius[0], rtol=1e-9))) for each in (drawn, wrong))
    error = 6.0 * math.sqrt(expected * (1.0 - expected) / n_draws + expected * (1.0 - expected) / 200_000)
    assert abs(share - expected) < error
    assert abs(wrong_share - expected) > error
