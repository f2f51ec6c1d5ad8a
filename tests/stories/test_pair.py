"""Two runs side by side: frames in step, a trail of the same noise, and nothing secret in public words."""

import dataclasses

import numpy as np
import pytest

from dpviz.plots import Audience, Kind
from dpviz.stories import View, pair
from dpviz.stories.wording import MOST_CHARACTERS, MOST_WORDS


@pytest.fixture
def both(tell):
    return tell(mode="repaired"), tell(mode="published", epsilon_per_iteration=2.0, epsilon_counts=2.0)


def test_both_have_the_same_frames_and_the_shorter_stays_at_its_release(both, show):
    scenes = [show(told) for told in both]
    for order in (scenes, scenes[::-1]):
        first, second = pair.together(*order)
        n_frames = max(len(scene.frames) for scene in scenes)
        assert len(first.frames) == len(second.frames) == n_frames
        for before, after in zip(order, (first, second), strict=True):
            known = len(before.frames)
            for old, new in zip(before.layers, after.layers, strict=True):
                np.testing.assert_array_equal(new.rows[:known], old.rows)
                assert (new.rows[known:] == old.rows[-1]).all()
        assert first.frames[: len(order[0].frames)] == order[0].frames


def test_the_stops_are_known_before_the_picture(both, show):
    for told in both:
        scene, stops = show(told), told.stops()
        assert (scene.frames, scene.start_frame) == (stops.frames, stops.start_frame)


def test_the_words_of_the_left_one_tell_what_the_right_one_does_after_it_has_ended(both, show):
    scenes = sorted((show(told) for told in both), key=lambda scene: len(scene.frames))
    # Otherwise, the test shows nothing.
    assert len(scenes[0].frames) < len(scenes[1].frames)
    left, right = pair.together(*scenes)
    later = left.frames[len(scenes[0].frames)]
    assert later.label == f"Release (left), {right.frames[len(scenes[0].frames)].label} (right)"
    assert left.frames[-1].label == "Release"


def test_the_trail_joins_the_releases_in_order_and_ends_with_the_last_frame(both, show):
    told = both[0]
    centers = np.random.default_rng(0).random((5, *told.final.shape))
    scene = pair.with_trail(show(told), told, View(), centers)
    trail = scene.layers[-1]
    assert (trail.kind, trail.audience) == (Kind.LINES, Audience.RELEASED)
    np.testing.assert_allclose(trail.arrays["xy"][0], np.swapaxes(centers, 0, 1))
    assert list(np.flatnonzero(trail.rows >= 0)) == [len(scene.frames) - 1]


def test_costs_and_limits_are_those_of_the_runs(both):
    repaired, published = both
    labels = {fact.label: fact for fact in pair.facts(repaired, published)}
    for name, told in (("Cost, repaired", repaired), ("Cost, as published", published)):
        gaps = ((told.unit[:, None] - told.final[None]) ** 2).sum(axis=2).min(axis=1).sum()
        ratio = max(gaps / told.best_cost, 1.0)
        assert float(labels[name].value.split()[0]) == pytest.approx(ratio, rel=6e-3)
        assert not labels[name].public
    assert labels["Attacker is right, as published"].value == "no limit established"
    # The attacker is right with probability e^2 / (1 + e^2).
    assert labels["Attacker is right, repaired"].value == "at most 89 in 100"


def test_public_words_follow_from_the_releases(both):
    others = tuple(dataclasses.replace(told, unit=told.unit[::2] ** 2) for told in both)
    assert pair.sentence(*both).public == pair.sentence(*others).public
    assert [fact for fact in pair.facts(*both) if not fact.public] != [
        fact for fact in pair.facts(*others) if not fact.public
    ]
    public = [fact for fact in pair.facts(*both) if fact.public]
    assert public == [fact for fact in pair.facts(*others) if fact.public]
    assert "Lloyd" not in pair.sentence(*both).public


def test_without_a_proof_on_either_side_no_limit_is_named(tell):
    told = tell(mode="repaired", start="records")
    said = pair.sentence(told, tell(mode="published"))
    for text in (said.curator, said.public):
        assert text.startswith("Nothing is proved about either")


@pytest.mark.parametrize(("factor", "words"), [(1.0, "similar"), (1.5, "a little farther"), (30.0, "much farther")])
def test_the_finding_says_what_honesty_costs_in_two_lines(both, monkeypatch, factor, words):
    repaired, published = both
    monkeypatch.setattr(pair, "_ratio", lambda run: factor if run is repaired else 1.0)
    said = pair.sentence(repaired, published)
    assert words in said.curator
    for text in (said.curator, said.public):
        assert len(text) <= MOST_CHARACTERS
        assert len(text.split()) <= MOST_WORDS
