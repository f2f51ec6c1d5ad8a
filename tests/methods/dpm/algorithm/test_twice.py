"""DPM's second average: its rule, its sums, its cost and its gain, each with a wrong variant."""

import dataclasses
import math

import numpy as np
import pytest

from dpviz.accounting import overspent
from dpviz.core import Box
from dpviz.methods.dpm import algorithm as dpm
from dpviz.methods.dpm.algorithm import centers as _dpm_centers
from dpviz.metrics import nonprivate_cost
from dpviz.solvers import assign
from tests.methods.dpm.algorithm.test_budget import pure_and_gaussian
from tests.test_replay import refused
from tests.test_sensitivity import ROUNDING, Tape, losses

D = 10


def clusters(n, d, k=4, width=0.01, seed=0):
    rng = np.random.default_rng([seed, d])
    middles = rng.uniform(0.1, 0.9, (k, d))
    return np.clip(middles[np.arange(n) % k] + width * rng.standard_normal((n, d)), 0.0, 1.0), Box.cube(0.0, 1.0, d)


def run(points, box, seed=0, **options):
    given = {"epsilon": 30.0, "delta": 1e-6, **options}
    return dpm.fit(points, box, dpm.Params(**given), rng=np.random.default_rng(seed))


def unclipped(monkeypatch):
    """Do not shorten moves of the second average."""
    sums = _dpm_centers._centered_sums
    monkeypatch.setattr(_dpm_centers, "_centered_sums", lambda parts, origins, _=None: sums(parts, origins))


def exact_ball(monkeypatch):
    """Put the ball around the exact mean: the first of two answers has no noise."""
    draw, asked = _dpm_centers.gaussian, []

    def around(value, *, sigma, rng):
        asked.append(value)
        return value if len(asked) % 2 else draw(value, sigma=sigma, rng=rng)

    monkeypatch.setattr(_dpm_centers, "gaussian", around)


@pytest.mark.parametrize(
    ("d", "options", "n_rounds"),
    [
        (9, {}, 1),
        (10, {}, 2),
        (40, {}, 2),
        (10, {"calibration": "published"}, 1),
        (10, {"epsilon": 0.1}, 1),
        (10, {"epsilon": math.inf}, 1),
    ],
)
def test_there_is_a_second_average_in_many_features_where_the_ball_is_small(d, options, n_rounds):
    result = run(*clusters(2000, d), **options)
    last = result.trace[-1]
    assert last.n_rounds == len(last.events) == n_rounds
    radius = 2.0 * math.sqrt(d) * last.sigmas[0] / np.median(last.noisy_counts)
    if n_rounds == 2:
        assert last.events[1].parts[0].l2_sensitivity < 0.1 * last.events[0].parts[0].l2_sensitivity
    elif d == 10 and last.sigmas[0] > 0 and "calibration" not in options:
        assert radius > 0.1 * last.events[0].parts[0].l2_sensitivity


def test_both_rounds_are_what_their_definition_says(monkeypatch):
    """Record by record, only from the release and the noise."""
    points, box = clusters(600, D, width=0.02, seed=3)
    noises, draw = [], _dpm_centers.gaussian

    def kept(value, *, sigma, rng):
        noisy = draw(value, sigma=sigma, rng=rng)
        noises.append(noisy - value)
        return noisy

    monkeypatch.setattr(_dpm_centers, "gaussian", kept)
    result = run(points, box, epsilon=10.0)
    last, tree, release = result.trace[-1], result.release.tree, result.release
    first, second = last.events
    assert last.n_rounds == len(noises) == 2
    n_shortened = 0
    for i, leaf in enumerate(last.leaves):
        low, high = tree.low[leaf], tree.high[leaf]
        half, per = math.dist(high, low) / 2.0, max(release.noisy_counts[i], 1.0)
        records = points[tree.cells(points) == i]
        middle, sigma = (low + high) / 2.0, first.parts[i].sigma / first.parts[i].l2_sensitivity
        start = np.clip(middle + (sum(x - middle for x in records) + noises[0][i]) / per, low, high)
        radius = min(2.0 * math.sqrt(D) * sigma / per, 1.0) * half
        moved = np.zeros(D)
        for x in records:
            way = math.dist(x, start)
            n_shortened += way > radius
            moved += (x - start) * min(1.0, radius / way)
        wanted = np.clip(start + (moved + noises[1][i]) / per, low, high)
        assert first.parts[i].l2_sensitivity == pytest.approx(half, rel=1e-8)
        assert second.parts[i].l2_sensitivity == pytest.approx(radius, rel=1e-8)
        assert second.parts[i].sigma == pytest.approx(sigma * radius, rel=1e-8)
        np.testing.assert_allclose(release.centers[i], wanted, rtol=0, atol=1e-8)
        np.testing.assert_allclose(last.nonprivate_noiseless[i], start + moved / per, rtol=0, atol=1e-8)
        np.testing.assert_allclose(release.center_sigmas[i], sigma * half / per, rtol=1e-8)
    assert len(last.leaves) >= 4
    assert 100 < n_shortened < 600, "some records lie in their balls and some beyond, or this says little"


@pytest.mark.parametrize("epsilon", [20.0, 100.0])
def test_two_rounds_cost_what_one_does(epsilon, monkeypatch):
    points, box = clusters(2000, D)
    result = run(points, box, epsilon=epsilon)
    pure, twice = pure_and_gaussian(result.events)
    claim = result.guarantee.proved
    monkeypatch.setattr(_dpm_centers, "TWICE_FROM", math.inf)
    other = run(points, box, epsilon=epsilon)
    assert (result.trace[-1].n_rounds, other.trace[-1].n_rounds) == (2, 1)
    assert other.guarantee == result.guarantee
    assert (pure, twice) == (pure_and_gaussian(other.events)[0], pytest.approx(pure_and_gaussian(other.events)[1]))
    assert twice == pytest.approx(pure_and_gaussian(other.events)[1], rel=4 * 2.0**-52)  # a root, a product, two sums
    assert not overspent(result.events, claim)
    louder = [dataclasses.replace(part, sigma=part.sigma / math.sqrt(2.0)) for part in result.events[-1].parts]
    over = (*result.events[:-1], dataclasses.replace(result.events[-1], parts=tuple(louder)))
    assert overspent(over, claim), "a second round as if it were the only one"


def moved_most(monkeypatch, n=200):
    """Return the largest move of the averages by one more record, divided by that of their events, round by round."""
    points, _ = clusters(n, D, width=0.03)
    params, tape, found = dpm.Params(epsilon=300.0, n_levels=2), Tape(monkeypatch), []
    tape.record("dpm", points, params)
    rng = np.random.default_rng(0)
    corners = rng.integers(2, size=(30, D)).astype(np.float64)
    near = points[:10] + 0.2 * rng.standard_normal((10, D))
    base, before = tape.replay("dpm", points, params)
    assert base.trace[-1].n_rounds == 2
    for record in np.clip([*corners, *near], 0.0, 1.0):
        result, after = tape.replay("dpm", np.vstack([points, record]), params)
        for one, other, event in zip(after[-2:], before[-2:], result.events[-2:], strict=True):
            found.append(losses([one], [other])[1] / (event.parts[0].mu ** 2 / 2.0))
    return np.array(found).reshape(-1, 2).max(axis=0)


def test_one_record_moves_each_round_by_its_own_sensitivity(monkeypatch):
    most = moved_most(monkeypatch)
    assert (most <= 1.0 + ROUNDING).all()
    assert most[1] == pytest.approx(1.0, rel=1e-9), "the ball's radius is attained"


def test_moves_that_are_not_shortened_are_noticed(monkeypatch):
    unclipped(monkeypatch)
    most = moved_most(monkeypatch)
    assert most[0] <= 1.0 + ROUNDING
    assert most[1] > 2.0


def test_a_second_average_follows_from_answers_alone_and_not_from_exact_means(monkeypatch):
    tape, params = Tape(monkeypatch), dpm.Params(epsilon=300.0, n_levels=3)
    assert tape.record("dpm", clusters(1200, D)[0], params).trace[-1].n_rounds == 2
    assert not refused(tape, dpm.fit, params, D)
    exact_ball(monkeypatch)
    assert "centers" in refused(tape, dpm.fit, params, D)


def measured(points, box, monkeypatch, n_seeds=8):
    """Return the median cost with two rounds over that with one, and the errors of the averages of two rounds.

    As root mean squares: from the released noise scales, with the effect of noisy counts on a first average, and from
    the noise of the second average alone.
    """
    found, off = [], []
    for most in (D, math.inf):
        monkeypatch.setattr(_dpm_centers, "TWICE_FROM", most)
        results = [run(points, box, seed=seed, epsilon=1.0) for seed in range(n_seeds)]
        assert {result.trace[-1].n_rounds for result in results} == {1 if most == math.inf else 2}
        centers = [np.ascontiguousarray(result.release.centers) for result in results]
        found.append(np.median([nonprivate_cost(points, each, assign(points, each)) for each in centers]))
        for last in (result.trace[-1] for result in results if most < math.inf):
            away = last.centers - last.nonprivate_centers
            second = (last.sigmas / np.maximum(last.noisy_counts, 1.0))[:, None]
            middles = ((last.tree.low + last.tree.high) / 2.0)[last.leaves]
            of_counts = (last.nonprivate_centers - middles) * (last.nonprivate_counts / last.noisy_counts - 1.0)[
                :, None
            ]
            off.append([away / np.hypot(last.center_sigmas, of_counts), away / second])
    squares = [np.concatenate([each[i].ravel() for each in off]) ** 2 for i in range(2)]
    return found[0] / found[1], *(math.sqrt(each.mean()) for each in squares)


def test_narrow_clusters_cost_a_fraction_and_wide_ones_no_more(monkeypatch):
    """At any width, averages are off by at most the first average's noise, which is the released scale.

    A wide cluster's average is biased toward the first average, so the second one's noise would be far too small a
    scale.
    """
    cost, off, _ = measured(*clusters(40_000, D, k=8, width=0.003), monkeypatch)
    assert cost < 0.5
    assert off < 0.8
    cost, off, too_much = measured(*clusters(40_000, D, k=8, width=0.08), monkeypatch)
    assert cost < 1.02
    assert 0.5 < off < 1.0
    assert too_much > 3.0
