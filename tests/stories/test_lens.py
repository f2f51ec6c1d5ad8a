"""The lens on one person shows the distribution of a noisy average, and only to the curator."""

import math
from dataclasses import replace

import numpy as np
import pytest

import dpviz
from dpviz.attacks.shifts import best_guess_rate
from dpviz.core import attacker_odds
from dpviz.methods.source_target.algorithm import sanitize
from dpviz.plots import pack
from dpviz.plots.scene import read_header
from dpviz.solvers import BOX_MIDDLE, noisy_means
from dpviz.stories import lens
from dpviz.stories.ensemble import SumNoise
from dpviz.stories.lens import NoisyAverage, lens_on, log_densities, person_shifts

PERSON = np.array([0.4, -0.3])
AVERAGE = NoisyAverage(SumNoise(0.6, 0.2), 60.0, 60.0 * np.array([0.12, 0.08]), 1.2)
SHOWN = lens_on(*AVERAGE.worlds(PERSON), 0.5, "", BOX_MIDDLE)
# Cells of a histogram along each axis, and places in each.
BINS, FINE = 4, 16


@pytest.fixture(scope="module")
def run():
    rng = np.random.default_rng(3)
    points = np.concatenate([rng.normal(middle, 0.05, (200, 2)).clip(0, 1) for middle in (0.25, 0.75)])
    points[0] = [0.0, 1.0]
    return dpviz.run("convergent_kmeans", points, bounds=(0, 1), n_clusters=2, start="private", epsilon=4.0, seed=1)


def simulate(average, lens_of, seed, n=1_500_000):
    """Count where the mechanism's own averages land in the square around the glass, (y, x)."""
    rng = np.random.default_rng(seed)
    noise = average.noise
    counts = average.count + noise.count_scale * rng.laplace(size=n)
    sums = average.sums + noise.sum_scale * rng.laplace(size=(n, 2))
    made = noisy_means(counts, sums, np.full((n, 2), np.nan), count_scale=noise.count_scale)
    x, y = ((made - lens_of.at) / lens_of.radius).T
    return np.histogram2d(y, x, bins=BINS, range=[[-1, 1], [-1, 1]])[0]


def expect_shares(lens_of):
    """Return the share of averages with the person in each cell of the histogram, from the densities."""
    side = (np.arange(FINE * BINS) + 0.5) / (FINE * BINS) * 2.0 - 1.0
    places = (
        np.array(lens_of.at) - BOX_MIDDLE + lens_of.radius * np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    )
    mass = [
        np.exp(each).reshape(BINS, FINE, BINS, FINE).sum(axis=(1, 3)) for each in log_densities(AVERAGE, PERSON, places)
    ]
    return mass[0] / (mass[0] + mass[1])


@pytest.mark.parametrize("wrong", [False, True])
def test_densities_agree_with_simulated_averages(wrong):
    # The wrong world loses the person's coordinates, but not her count.
    other = AVERAGE.without(PERSON)
    other = replace(other, count=AVERAGE.count) if wrong else other
    inside, outside = simulate(AVERAGE, SHOWN, 1), simulate(other, SHOWN, 2)
    n = inside + outside
    # Six standard deviations of a share, and the integral over counts by its values at 128 of them.
    fits = np.abs(inside / n - expect_shares(SHOWN)) < 3.0 / np.sqrt(n) + 1.0 / lens.N_COUNTS
    assert n.min() > 1000
    assert fits.all() != wrong


def test_glass_has_the_chance_of_the_person():
    shown = SHOWN
    inside, outside = (np.exp(each) for each in log_densities(AVERAGE, PERSON, np.array([shown.at]) - BOX_MIDDLE))
    middle = shown.glass[lens.N_CELLS // 2, lens.N_CELLS // 2]
    assert abs((middle - lens.UNDECIDED) / lens.SURE - (inside - outside) / (inside + outside)) <= 0.5 / lens.SURE
    # Row 0 of the glass is at low y.
    (x, y), _ = shown.ends
    row, column = (round((each + 1.0) / 2.0 * (lens.N_CELLS - 1)) for each in (y, x))
    assert shown.glass[row, column] > lens.UNDECIDED > shown.glass[-1 - row, -1 - column]


def test_dots_are_as_dense_as_simulated_averages(monkeypatch):
    monkeypatch.setattr(lens, "N_DOTS", 2_500)
    shown = lens_on(*AVERAGE.worlds(PERSON), 0.5, "", BOX_MIDDLE)
    for average, own in ((AVERAGE, shown.inside), (AVERAGE.without(PERSON), ~shown.inside)):
        within = np.abs(shown.dots[own]).max(axis=1) < 0.5
        x, y = shown.dots[own][within].T
        found = np.histogram2d(y, x, bins=BINS, range=[[-0.5, 0.5]] * 2)[0]
        wide = replace(shown, radius=shown.radius / 2.0)
        expected = simulate(average, wide, 3)
        expected *= found.sum() / expected.sum()
        # Each place is drawn or not: at most five standard deviations of its number, which is below a Poisson's.
        assert (np.abs(found - expected) < 5.0 * np.sqrt(expected) + 2.0).all()


def test_shifts_of_a_corner_spend_all_of_epsilon(run):
    corner = np.array([-0.5, 0.5])
    assert math.isclose(sum(person_shifts(run.events, corner)), 4.0, rel_tol=1e-9)
    assert sum(person_shifts(run.events, np.array([-0.25, -0.25]))) < 4.0


def test_rate_is_below_the_guarantee(run):
    shown = run.nonprivate_lens(0)
    assert 0.5 < shown.rate < attacker_odds(4.0)
    sure = np.abs(shown.glass.astype(float) - lens.UNDECIDED).max() / lens.SURE
    assert sure <= math.tanh(2.0) + 0.5 / lens.SURE, "e to the epsilon bounds the color"


def test_pull_has_a_fixed_length(run):
    for record in (0, 5, 250):
        assert math.isclose(np.linalg.norm(np.diff(run.nonprivate_lens(record).ends, axis=0)), lens.PULL)


def test_lens_is_for_the_curator_only(run):
    scene = run.under_lens(run.picture(), 0)
    assert "lens" in read_header(pack(scene))
    assert "lens" not in read_header(pack(scene.public()))
    assert pack(scene.public()) == pack(run.picture().public())
    assert str(scene.lens.radius) not in repr(scene.lens)
    assert "60" not in repr(AVERAGE), "an exact count"


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_source_target_attackers_are_right_as_often(epsilon):
    """Play the attack on the mechanism's own releases: the likelier world of what a cell shows."""
    rng = np.random.default_rng(5)
    points, n = rng.uniform(0.55, 0.95, (1 if epsilon > 1.0 else 30, 2)), 2_000
    targets = np.array([[0.25, 0.25], [0.75, 0.75]])
    run = dpviz.run("source_target", points, bounds=(0, 1), targets=targets, n_centers=1, epsilon=epsilon, seed=1)
    unit, scale, count = run.step.ball.to_unit(points), run.release.scale, len(points)
    right = 0
    for world, (records, sums) in enumerate(((points[1:], unit[1:].sum(axis=0)), (points, unit.sum(axis=0)))):
        for _ in range(n):
            made = sanitize(records, run.words.box, run.params, rng=rng)
            guess = 0
            if 1 in made.origins:
                (noisy,) = made.released_counts[made.origins == 1]
                total = noisy * run.step.ball.to_unit(made.released_points[made.origins == 1][0])
                other = sums - unit[0] if world else sums
                own = other + unit[0]
                guess = abs(noisy - count) + abs(total - own).sum() < abs(noisy - count + 1) + abs(total - other).sum()
            right += guess == world
    shown = run.nonprivate_lens(0)
    # Five standard deviations of a share of 2 n guesses, and equally likely values for 64 quantiles of each noise.
    tolerance = 2.5 / math.sqrt(2 * n) + 1e-3
    assert abs(right / (2 * n) - shown.rate) < tolerance
    if epsilon > 1.0:
        free = best_guess_rate([1.0 / scale, *np.abs(unit[0]) / scale])
        assert free - shown.rate > tolerance, "an attacker who sees what is held back"
    middle = run.words.box.to_unit(run.step.nonprivate_averages[1])
    assert np.allclose(shown.at + shown.radius * shown.ends[0], middle)


def test_nd_laplace_has_its_closed_forms():
    points = np.array([[0.1, 0.2], [0.8, 0.5]])
    run = dpviz.run("nd_laplace", points, bounds=(0, 1), epsilon=3.0, seed=1)
    for record, side in ((0, 1.0), (1, -1.0)):
        shown = run.nonprivate_lens(record)
        homes = points[record] + np.array([[0.0, 0.0], [side, 0.0]])
        assert np.allclose(shown.at + shown.radius * shown.ends, homes)
        cells = np.linspace(-1.0, 1.0, lens.N_CELLS)
        places = shown.at + shown.radius * np.stack(np.meshgrid(cells, cells), axis=-1)
        far = np.linalg.norm(places[:, :, None] - homes, axis=3)
        chance = 1.0 / (1.0 + np.exp(3.0 * (far[..., 0] - far[..., 1])))
        off = np.abs((shown.glass.astype(float) - lens.UNDECIDED) / lens.SURE - (2.0 * chance - 1.0))
        assert off.max() <= 0.5 / lens.SURE + 1e-9
    rng, n = np.random.default_rng(2), 200_000
    angle, radius = rng.uniform(0.0, 2.0 * np.pi, n), rng.gamma(2.0, 1.0 / 3.0, n)
    right = (radius * np.cos(angle) < 0.5).mean()
    assert abs(right - shown.rate) < 2.5 / math.sqrt(n)
    assert abs(best_guess_rate([3.0]) - shown.rate) > 2.5 / math.sqrt(n), "noise along a line"
    assert shown.rate < attacker_odds(3.0)


def test_morse_attackers_see_every_pass():
    rng = np.random.default_rng(4)
    points = np.concatenate([rng.normal(middle, 0.05, (300, 2)).clip(0, 1) for middle in (0.25, 0.75)])
    run = dpviz.run("morse", points, bounds=(0, 1), n_components=2, n_iterations=3, epsilon=4.0, delta=1e-5, seed=1)
    shown, (*_, last) = run.nonprivate_lens(0), run.steps
    x, y = 2.0 * run.unit[0] - 1.0
    moved = np.array([1.0, x, y, x * x, x * y, y * y])
    n = 200_000
    noise = rng.normal(scale=last.sigma, size=(n, 3, 6))
    # The likelier world of 3 passes, each with all moments of one component.
    right = ((noise @ moved).sum(axis=1) > -1.5 * (moved @ moved)).mean()
    assert abs(right - shown.rate) < 2.5 / math.sqrt(n)
    one = ((noise[:, 0] @ moved) > -0.5 * (moved @ moved)).mean()
    assert abs(one - shown.rate) > 2.5 / math.sqrt(n), "the last pass alone"
    label = last.nonprivate_labels[0]
    inside = run.unit[last.nonprivate_labels == label]
    for records, end in ((inside, shown.ends[0]), (inside[1:], shown.ends[1])):
        assert np.allclose(records.mean(axis=0), shown.at + shown.radius * end)
    # The mechanism's own means, in both worlds.
    counts = last.nonprivate_moments[label, 0] - np.array([0.0, 1.0]) + last.sigma * rng.standard_normal((n, 2))
    sums = last.nonprivate_moments[label, 1:3] - np.outer([0.0, 1.0], [x, y])
    made = (sums + last.sigma * rng.standard_normal((n, 2, 2))) / counts[..., None]
    near = np.abs((made + 1.0) / 2.0 - shown.at).max(axis=2) < shown.radius / 2.0
    sides = np.linspace(-0.5, 0.5, 41)
    places = 2.0 * (shown.at + shown.radius * np.stack(np.meshgrid(sides, sides), axis=-1).reshape(-1, 2)) - 1.0
    average = NoisyAverage(
        SumNoise(last.sigma, last.sigma, "gaussian"), *last.nonprivate_moments[label, :1], sums[0], 1.0
    )
    mass = [np.exp(each).sum() for each in log_densities(average, np.array([x, y]), places)]
    found, expected = near[:, 0].sum() / near.sum(), mass[0] / sum(mass)
    assert abs(found - expected) < 3.0 / math.sqrt(near.sum()) + 1.0 / lens.N_COUNTS
    assert 0.5 < shown.rate < attacker_odds(4.0)
