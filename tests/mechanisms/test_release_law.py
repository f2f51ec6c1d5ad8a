"""The distribution of a release in each domain mode, against closed forms and simulation; its proof about distance."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from dpviz.core import Box
from dpviz.mechanisms import (
    corner_probability,
    default_grid,
    inside_probability,
    log_density,
    nd_laplace,
    nearest_places,
    redraw_in_box,
    redraw_loss,
    release_law,
    remap_cells,
    remap_table,
)
from dpviz.mechanisms.release_law import interval_probability

SQUARE = Box.cube(0.0, 4.0, 2)


def line_inside(x, width, epsilon):
    return 1 - (np.exp(-epsilon * x) + np.exp(-epsilon * (width - x))) / 2


def likelihood(domain, x, z, *, box=SQUARE, epsilon=1.0, cells=None):
    return release_law(x, epsilon=epsilon, domain=domain, box=box, cells=cells).log_likelihood(z)


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_the_density_integrates_to_one(d):
    sphere = 2 * math.pi ** (d / 2) / math.gamma(d / 2)
    found = integrate.quad(
        lambda r: sphere * r ** (d - 1) * math.exp(log_density(np.eye(d)[0] * r, np.zeros(d), epsilon=1.3)), 0, 80
    )[0]
    assert math.isclose(found, 1.0, rel_tol=1e-8)


@given(st.floats(1e-3, 300.0), st.floats(0.0, 1.0), st.floats(0.1, 10.0))
def test_inside_on_a_line_is_the_closed_form(epsilon, share, width):
    found = inside_probability([[share * width]], Box(0.0, width), epsilon=epsilon)[0]
    assert math.isclose(found, line_inside(share * width, width, epsilon), rel_tol=1e-10, abs_tol=1e-13)


@pytest.mark.parametrize(("reach", "error"), [(5, 1e-10), (40, 1e-10), (160, 1e-3), (600, 0.1)])
def test_the_stated_accuracy_of_tails(reach, error):
    found = interval_probability([reach], [reach + 1.0], np.zeros((1, 1)), epsilon=1.0)[0]
    assert math.isclose(found, (math.exp(-reach) - math.exp(-reach - 1.0)) / 2, rel_tol=error)


@pytest.mark.parametrize("d", [2, 3, 7])
def test_inside_is_what_simulation_finds(d):
    n, box = 200_000, Box(np.zeros(d), np.arange(d) + 3.0)
    x = np.full((1, d), 1.0)
    z = nd_laplace(np.repeat(x, n, axis=0), epsilon=0.9, rng=np.random.default_rng(1))
    share = np.mean(((z >= box.low) & (z <= box.high)).all(axis=1))
    known = inside_probability(x, box, epsilon=0.9)[0]
    assert abs(share - known) < 6 * math.sqrt(known * (1 - known) / n)
    assert abs(share - inside_probability(x, box, epsilon=1.0)[0]) > 6 * math.sqrt(known * (1 - known) / n)


def test_scattered_candidates_and_a_lattice_agree():
    x = np.random.default_rng(2).random((300, 2)) * 4
    ticks = np.linspace(0, 4, 20)
    lattice = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    together = inside_probability(np.concatenate([x, lattice]), SQUARE, epsilon=1.0)
    apart = [inside_probability(part, SQUARE, epsilon=1.0) for part in (x, lattice)]
    assert np.allclose(together, np.concatenate(apart), rtol=1e-12)


@pytest.mark.parametrize("z", [(0.0, 1.3), (4.0, 0.0)])
def test_a_lattice_of_many_blocks_is_as_its_places_one_by_one(z):
    ticks = np.linspace(0, 4, 90)
    lattice = np.stack(np.meshgrid(ticks, ticks[:70]), axis=-1).reshape(-1, 2)
    rows = np.random.default_rng(3).integers(len(lattice), size=40)
    one_by_one = [likelihood("clamp", lattice[[row]], z)[0] for row in rows]
    assert np.allclose(likelihood("clamp", lattice, z)[rows], one_by_one, rtol=0, atol=1e-11)


def test_the_specified_worst_case_in_ten_dimensions():
    assert round(corner_probability(Box.cube(0.0, 20.0, 10), epsilon=1.0), 4) == 0.001
    with pytest.raises(ValueError, match="domain='clamp'"):
        redraw_in_box(np.zeros((1, 10)), Box.cube(0.0, 20.0, 10), epsilon=1.0, rng=np.random.default_rng(0))


def test_every_mode_adds_to_one():
    x = np.array([[0.0, 1.0], [2.0, 3.5], [4.0, 4.0]])
    nodes, weights = np.polynomial.legendre.leggauss(48)
    ticks, weights = 2 * nodes + 2, 2 * weights
    inner = [(a, b) for a in ticks for b in ticks]
    area = np.outer(weights, weights).ravel()
    redraw, clamp = (release_law(x, epsilon=1.0, domain=mode, box=SQUARE) for mode in ("redraw", "clamp"))
    total = sum(w * np.exp(redraw.log_likelihood(z)) for w, z in zip(area, inner, strict=True))
    assert np.allclose(total, 1.0, atol=2e-3)  # the density has a cone's tip at x
    faces = [(wall, b) for wall in (0.0, 4.0) for b in ticks] + [(b, wall) for wall in (0.0, 4.0) for b in ticks]
    mass = sum(w * np.exp(clamp.log_likelihood(z)) for w, z in zip(np.tile(weights, 4), faces, strict=True))
    mass = mass + sum(np.exp(clamp.log_likelihood((a, b))) for a in (0.0, 4.0) for b in (0.0, 4.0))
    inside = sum(w * np.exp(clamp.log_likelihood(z)) for w, z in zip(area, inner, strict=True))
    assert np.allclose(inside, inside_probability(x, SQUARE, epsilon=1.0), atol=2e-3)
    assert np.allclose(inside_probability(x, SQUARE, epsilon=1.0) + mass, 1.0, atol=1e-7)


@pytest.mark.parametrize("rule", ["nearest", "mean", "median"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_remap_is_a_law_over_cells_and_as_simulated(rule, d):
    box, n = Box.cube(0.0, 4.0, d), 100_000
    grid = np.stack(np.meshgrid(*[np.linspace(0.5, 3.5, 4)] * d, indexing="ij"), -1).reshape(-1, d)
    outputs = remap_table(grid, epsilon=1.0, rule=rule)
    x = np.full((1, d), 1.3)
    law = release_law(x, epsilon=1.0, domain="remap", box=box, cells=remap_cells(grid, outputs))
    distinct = np.unique(outputs, axis=0)
    chances = np.array([math.exp(law.log_likelihood(z)[0]) for z in distinct])
    assert math.isclose(chances.sum(), 1.0, rel_tol=1e-9)
    z = nd_laplace(np.repeat(x, n, axis=0), epsilon=1.0, rng=np.random.default_rng(3))
    released = outputs[nearest_places(z, grid)]
    shares = np.array([(released == place).all(axis=1).mean() for place in distinct])
    assert np.all(np.abs(shares - chances) < 6 * np.sqrt(chances * (1 - chances) / n) + 1e-9)


@pytest.mark.parametrize("rule", ["mean", "median"])
def test_optimal_remap_has_the_least_expected_loss(rule):
    grid, epsilon = default_grid(SQUARE), 1.0
    outputs = remap_table(grid, epsilon=epsilon, rule=rule)
    z = 37
    weights = np.exp(
        release_law(grid, epsilon=epsilon, domain="remap", box=SQUARE, cells=remap_cells(grid, grid)).log_likelihood(
            grid[z]
        )
    )
    power = 2 if rule == "mean" else 1

    def loss(y):
        return (weights * np.linalg.norm(grid - y, axis=1) ** power).sum()

    around = outputs[z] + 1e-2 * np.random.default_rng(4).standard_normal((50, 2))
    assert all(loss(outputs[z]) <= loss(y) for y in around)
    assert loss(outputs[z]) < loss(grid[z])


PAIRS = np.random.default_rng(5).random((40, 2, 2)) * 4


@pytest.mark.parametrize("domain", ["none", "clamp", "redraw", "remap"])
def test_geo_indistinguishability_on_pairs(domain):
    grid = default_grid(SQUARE)
    cells = remap_cells(grid, grid) if domain == "remap" else None
    rng = np.random.default_rng(6)
    worst = 0.0
    for pair in PAIRS:
        law = release_law(pair, epsilon=1.0, domain=domain, box=SQUARE, cells=cells)
        seen = grid[rng.integers(len(grid), size=10)] if cells else np.concatenate([rng.random((10, 2)) * 4, pair])
        if domain == "clamp":
            seen = SQUARE.clip(seen * 2 - 2)  # walls and corners too
        for z in seen:
            one, two = law.log_likelihood(z)
            worst = max(worst, abs(one - two) / np.linalg.norm(pair[0] - pair[1]))
    assert worst <= (2.0 if domain == "redraw" else 1.0) * (1 + 1e-9)
    if domain == "redraw":
        assert worst > 1.05, "the thesis's claim must be seen to fail"


def test_redraw_at_the_wall_of_a_line_tends_to_twice_epsilon():
    ratios = []
    for d in (1.0, 0.1, 0.001):
        one, two = likelihood("redraw", [[0.0], [d]], [0.0], box=Box(0.0, 20.0))
        ratios.append((one - two) / d)
    assert ratios[0] < ratios[1] < ratios[2] < 2.0
    assert ratios[2] > 1.999
    assert math.isclose(redraw_loss(Box(0.0, 20.0), epsilon=1.0), 2.0, rel_tol=1e-6)


@pytest.mark.parametrize("side", [0.5, 2.0, 5.0, 50.0])
def test_redraw_at_a_square_corner(side):
    box, step = Box.cube(0.0, side, 2), 1e-4 / math.sqrt(2)
    one, two = likelihood("redraw", [[0.0, 0.0], [step, step]], [0.0, 0.0], box=box)
    assert 1.90 < (one - two) / 1e-4 < 1.92
    assert math.isclose(redraw_loss(box, epsilon=1.0), (one - two) / 1e-4, rel_tol=1e-3)


def test_clamping_after_k_tries_costs_k_epsilon_on_the_wall():
    """The fallback of public codes, on a line: epsilon 8, five tries, then clamp. Exact, no simulation."""
    epsilon, tries, width = 8.0, 5, 1.0
    x = np.array([0.0, 0.001])
    outside = 1 - line_inside(x, width, epsilon)
    below = np.exp(-epsilon * x) / 2
    wall = outside ** (tries - 1) * below  # K-1 draws outside, the K-th below 0
    loss = math.log(wall[0] / wall[1]) / 0.001
    assert 4.9 * epsilon < loss < 5.0 * epsilon + 1e-9
    # At wall distance .1 and more the mass on the wall is small but possible; at the wall it is 1/2^5.
    assert math.isclose(wall[0], 0.5**5, rel_tol=5e-3)
    one, two = likelihood("clamp", x[:, None], [0.0], box=Box(0.0, width), epsilon=epsilon)
    assert (one - two) / 0.001 <= epsilon * (1 + 1e-6)


def test_redrawn_points_follow_their_law():
    n = 60_000
    box, x = Box.cube(0.0, 2.0, 2), np.array([0.0, 0.5])
    found = redraw_in_box(np.tile(x, (n, 1)), box, epsilon=1.0, keep=3, rng=np.random.default_rng(7))
    inside = inside_probability(x[None], box, epsilon=1.0)[0]
    quarter = interval_probability([0.0, 0.0], [1.0, 1.0], x[None], epsilon=1.0)[0] / inside
    share = (found.points <= 1.0).all(axis=1).mean()
    assert abs(share - quarter) < 6 * math.sqrt(quarter * (1 - quarter) / n)
    rejected = (1 - inside) / inside  # geometric, variance (1 - p) / p^2
    assert abs(found.n_rejected.mean() - rejected) < 6 * math.sqrt((1 - inside) / n) / inside
    assert np.allclose(found.points, x + found.noise.displacement)
    counts = np.bincount(found.rejected_records, minlength=n)
    assert np.array_equal(counts, np.minimum(found.n_rejected, 3))
    assert not ((found.rejected_points >= 0) & (found.rejected_points <= 2)).all(axis=1).any()


def test_bad_parts_are_refused():
    for options in ({"domain": "clamp"}, {"domain": "remap"}, {"domain": "wrong"}, {"domain": "none", "epsilon": 0.0}):
        with pytest.raises(ValueError, match=r"must be|needs|can be given"):
            release_law(np.zeros((2, 2)), **{"epsilon": 1.0, **options})
    with pytest.raises(ValueError, match="inside the box"):
        release_law([[9.0, 9.0]], epsilon=1.0, domain="redraw", box=SQUARE)
    with pytest.raises(ValueError, match="rectangular"):
        remap_cells([[0.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match="prior"):
        remap_table(np.eye(2), epsilon=1.0, prior=[1.0, -1.0])
    assert np.isneginf(likelihood("redraw", [[1.0, 1.0]], [5.0, 1.0])).all()
