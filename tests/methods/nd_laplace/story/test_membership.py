"""Who was in: both attacks read points that stay, and stay under their bound on points that were moved."""

import dataclasses

import numpy as np
import pytest

from dpviz import attacks
from dpviz.core import Box
from dpviz.methods.nd_laplace.story import membership as story
from dpviz.methods.nd_laplace.story.told import budget_of
from dpviz.plots import Audience
from tests.methods.nd_laplace.story.test_story import DOMAINS, tell

ONE_IN_A_MILLION = 1 - 1e-6  # a right mechanism is accused once in a million seeds; these seeds are fixed
EACH = pytest.mark.parametrize("attack", story.ATTACKS)


def games(told, attack, n_rounds=60, n_parts=2, *, params=None):
    world = story.world_of(told.words.box, told.params, told.measure.radius)

    def play(moved, n_rounds, seed):
        return story.play(world, params or told.params, attack, moved=moved, n_rounds=n_rounds, seed=seed)

    return [play(True, n_rounds, seed) for seed in range(n_parts)], play(False, story.N_BARE, 0), world


def roc(scores):
    return attacks.empirical_roc(scores.inside, scores.outside)


@EACH
@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("radius", [0.01, 0.1, 0.5, 1.0])
def test_points_that_stay_are_read_without_a_mistake(attack, d, radius):
    told = tell(d)
    world = story.world_of(Box.cube(0.0, 1.0, d), told.params, radius)
    bare = story.play(world, told.params, attack, moved=False, n_rounds=12, seed=1)
    assert bare.inside.min() > bare.outside.max()


@EACH
@pytest.mark.parametrize("domain", DOMAINS)
def test_points_that_moved_stay_under_the_bound(attack, domain):
    told = tell(domain=domain, level=1.0)
    parts, bare, world = games(told, attack)
    found = roc(story.together(parts))
    assert not attacks.exceeds(found, budget_of(told.params, world.pair), confidence=ONE_IN_A_MILLION)
    assert found.auc < roc(bare).auc == 1.0
    scene, facts = story.chart(told, attack, parts, bare)
    assert all(fact.public for fact in facts)
    assert all(layer.audience is not Audience.CURATOR for layer in scene.layers)


def test_noise_that_is_far_too_small_is_found_out():
    told = tell(level=0.5)
    loud = dataclasses.replace(told.params, epsilon=400.0 * told.params.epsilon)
    parts, _, world = games(told, "tree", params=loud)
    assert attacks.exceeds(roc(story.together(parts)), budget_of(told.params, world.pair), confidence=ONE_IN_A_MILLION)


def test_the_budget_is_that_of_the_places_and_double_when_drawn_again():
    plain, redrawn = tell(level=2.0), tell(domain="redraw", level=2.0)
    world = story.world_of(plain.words.box, plain.params, plain.measure.radius)
    apart = float(np.linalg.norm(world.pair[0] - world.pair[1]))
    assert apart == pytest.approx(min(1.5, story.FARTHEST * float(plain.words.box.widths[0])))
    budget = budget_of(plain.params, world.pair).epsilon
    assert budget == pytest.approx(plain.params.epsilon * apart)
    assert budget_of(redrawn.params, world.pair).epsilon == pytest.approx(2.0 * budget)
    assert "Drawing again may double it" in story.apart_words(redrawn)
    assert np.array_equal(world.points[1:], world.others[1:])
    assert np.array_equal(world.pair, [world.points[0], world.others[0]])


def test_the_threshold_comes_from_rounds_that_are_not_counted():
    """Rates at the average loss of the first part, counted by hand in the others."""
    told = tell(level=8.0)
    parts, bare, _ = games(told, "centers", 60, 3)
    threshold = float(np.mean(-parts[0].inside))
    assert story.threshold_of(parts[0]) == pytest.approx(threshold)
    inside = np.concatenate([part.inside for part in parts[1:]])
    _, facts = story.chart(told, "centers", parts, bare)
    assert facts[0].value.startswith(f"{round(100 * np.mean(-inside <= threshold))} in 100")
    other = [story.GameScores(parts[0].inside + 10.0, parts[0].outside), *parts[1:]]
    assert story.chart(told, "centers", other, bare)[1][0].value.startswith("0 in 100")


def test_a_seed_decides_the_rounds_and_another_attack_is_refused():
    told = tell()
    world = story.world_of(told.words.box, told.params, 1.0)
    one, two, other = (
        story.play(world, told.params, "centers", moved=True, n_rounds=20, seed=seed).inside for seed in (1, 1, 2)
    )
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    with pytest.raises(ValueError, match="centers, tree"):
        story.play(world, told.params, "wrong", moved=True, n_rounds=20, seed=1)
    assert story.rounds_of(2) == story.BATCH > story.rounds_of(30) >= 10
