"""Attacks on nD-Laplace: under their limits on points that moved, without a mistake on points that stay."""

import dataclasses
import math

import numpy as np
import pytest

from dpviz import attacks
from dpviz.attacks import GameScores
from dpviz.core import Box
from dpviz.methods.nd_laplace import attacks as laplace_attacks
from dpviz.plots import Audience
from tests.methods.nd_laplace.test_run import DOMAINS, tell

ONE_IN_A_MILLION = 1 - 1e-6  # a right mechanism is accused once in a million seeds; these seeds are fixed
EACH = pytest.mark.parametrize("attack", laplace_attacks.ATTACKS)


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("unit", ["data", "range"])
def test_no_posterior_is_above_its_limit_and_a_release_helps(domain, unit):
    # Some places round to different ones on the way to the data's unit and back.
    for record in range(12):
        run = tell(domain=domain, unit=unit, level=4.0, record=record)
        found = laplace_attacks.posterior_of(run)
        assert found.weights.sum() == pytest.approx(1.0)
        assert found.best_cell <= found.bound * (1 + 1e-9)
        assert found.expected < found.before


def test_more_features_than_a_grid_holds_are_said():
    with pytest.raises(ValueError, match="at most 2 features"):
        laplace_attacks.posterior_of(tell(3))


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_measured_roc_stays_under_its_bound(domain):
    run = tell(domain=domain, level=1.0)
    scene, facts = laplace_attacks.roc_chart(run, seed=1)
    lines = {layer.name: layer.arrays for layer in scene.layers}
    budget = attacks.replacement_budget(
        (2.0 if domain == "redraw" else 1.0) * run.params.epsilon, [[0.0, 0.0]], [[run.measure.radius, 0.0]]
    )
    edges = lines["95 % band"]["edges"][0, 0]
    # Interval of both rates, level 0.9999.
    half = math.sqrt(math.log(2.0 / 2.5e-5) / (2.0 * laplace_attacks.N_ROUNDS))
    curve = lines["The attack"]["xy"][0, 0]
    assert (curve[:, 1] - half <= attacks.roc_bound(np.minimum(curve[:, 0] + half, 1.0), budget)).all()
    assert (edges[:, 1] <= edges[:, 2]).all()
    assert all(fact.public for fact in facts)
    assert all(layer.audience is not Audience.CURATOR for layer in scene.layers)


def test_repeated_releases_close_in_as_the_law_says():
    """n = 2, m = 50: .346 for the mean, .297 for the median (specification); the error of an RMS of 400 is 3 %."""
    mean = float(attacks.mean_error(1.0, 2, 50))
    median = float(laplace_attacks.measured_errors(2)[-1])
    assert mean == pytest.approx(0.346, abs=5e-4)
    error = 0.297 * math.sqrt(1.0 / (4 * laplace_attacks.N_RECORDS))  # a chi-square's, two axes
    assert abs(median - 0.297) < 6 * error
    assert abs(mean - 0.297) > 6 * error
    run = tell()
    first, more = (laplace_attacks.again(run, m, seed=4) for m in (3, 10))
    assert np.array_equal(first, more[:3]), "one more release leaves the others as they were"
    assert np.array_equal(first[0], run.released[run.record])
    assert "ε = 20 per 1.5 m" in laplace_attacks.budget_facts(run, 10)[0].value


def play_membership(run, attack, moved, n_rounds, seed, *, params=None, radius=None):
    params, radius = params or run.params, radius or run.measure.radius
    settings = params.epsilon, params.domain, params.remap, params.unit
    return laplace_attacks.play_membership(run.unit, run.words.box, settings, radius, attack, moved, n_rounds, seed)


def together(parts):
    """Return the scores of several games as one game's scores."""
    return GameScores(*(np.concatenate([getattr(part, side) for part in parts]) for side in ("inside", "outside")))


def games(run, attack, n_rounds=60, n_parts=2, *, params=None):
    world = laplace_attacks.world_of(run.words.box, run.params, run.measure.radius)

    def play(moved, n_rounds, seed):
        return play_membership(run, attack, moved, n_rounds, seed, params=params)

    return [play(True, n_rounds, seed) for seed in range(n_parts)], play(False, laplace_attacks.N_BARE, 0), world


def roc(scores):
    return attacks.empirical_roc(scores.inside, scores.outside)


@EACH
@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("radius", [0.01, 0.1, 0.5, 1.0])
def test_points_that_stay_are_read_without_a_mistake(attack, d, radius):
    run = tell(d)
    box = Box.cube(0.0, 1.0, d)
    bare = laplace_attacks.play_membership(run.unit, box, run.settings, radius, attack, False, 12, 1)
    assert bare.inside.min() > bare.outside.max()


@EACH
@pytest.mark.parametrize("domain", DOMAINS)
def test_points_that_moved_stay_under_the_bound(attack, domain):
    run = tell(domain=domain, level=1.0)
    parts, bare, world = games(run, attack)
    found = roc(together(parts))
    assert not attacks.exceeds(found, laplace_attacks.budget_of(run.params, world.pair), confidence=ONE_IN_A_MILLION)
    assert found.auc < roc(bare).auc == 1.0
    scene, facts = laplace_attacks.membership_chart(run, attack, parts, bare)
    assert all(fact.public for fact in facts)
    assert all(layer.audience is not Audience.CURATOR for layer in scene.layers)


def test_noise_that_is_far_too_small_is_found_out():
    run = tell(level=0.5)
    loud = dataclasses.replace(run.params, epsilon=400.0 * run.params.epsilon)
    parts, _, world = games(run, "tree", params=loud)
    assert attacks.exceeds(
        roc(together(parts)),
        laplace_attacks.budget_of(run.params, world.pair),
        confidence=ONE_IN_A_MILLION,
    )


def test_the_budget_is_that_of_the_places_and_double_when_drawn_again():
    plain, redrawn = tell(level=2.0), tell(domain="redraw", level=2.0)
    world = laplace_attacks.world_of(plain.words.box, plain.params, plain.measure.radius)
    apart = float(np.linalg.norm(world.pair[0] - world.pair[1]))
    assert apart == pytest.approx(min(1.5, laplace_attacks.FARTHEST * float(plain.words.box.widths[0])))
    budget = laplace_attacks.budget_of(plain.params, world.pair).epsilon
    assert budget == pytest.approx(plain.params.epsilon * apart)
    assert laplace_attacks.budget_of(redrawn.params, world.pair).epsilon == pytest.approx(2.0 * budget)
    assert "Drawing again can double it" in laplace_attacks.apart_words(redrawn)
    assert np.array_equal(world.points[1:], world.others[1:])
    assert np.array_equal(world.pair, [world.points[0], world.others[0]])


def test_the_threshold_comes_from_rounds_that_are_not_counted():
    """Rates at the average loss of the first part, counted by hand in the others."""
    run = tell(level=8.0)
    parts, bare, _ = games(run, "centers", 60, 3)
    threshold = float(np.mean(-parts[0].inside))
    inside = np.concatenate([part.inside for part in parts[1:]])
    _, facts = laplace_attacks.membership_chart(run, "centers", parts, bare)
    assert facts[0].value.startswith(f"{round(100 * np.mean(-inside <= threshold))} in 100")
    other = [GameScores(parts[0].inside + 10.0, parts[0].outside), *parts[1:]]
    assert laplace_attacks.membership_chart(run, "centers", other, bare)[1][0].value.startswith("0 in 100")


def test_a_seed_decides_the_rounds_and_another_attack_is_refused():
    run = tell()
    one, two, other = (play_membership(run, "centers", True, 20, seed, radius=1.0).inside for seed in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    with pytest.raises(ValueError, match="centers, tree"):
        play_membership(run, "wrong", True, 20, 1)
    assert laplace_attacks.rounds_of(2) == laplace_attacks.BATCH > laplace_attacks.rounds_of(30) >= 10
