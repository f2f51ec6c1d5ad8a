import numpy as np
import pytest

from dpviz.core import Box
from dpviz.methods.convergent_kmeans.algorithm import Params, fit
from dpviz.methods.convergent_kmeans.attack import (
    AttackQuestion,
    Guesses,
    attack_exact,
    attack_runs,
    digits_of,
    exact_scene,
    exact_words,
    guess_published,
    noisy_words,
    picked_row,
    published_words,
    runs_scene,
)
from dpviz.plots import Audience, pack
from dpviz.stories import View, Words

BOX = Box((-1.0, 10.0), (3.0, 30.0))
WORDS = Words("Set", BOX, ("a", "b"), ("m", ""))
ROW = 7


def records(n=300, d=2):
    return np.random.default_rng(4).random((n, d))


def params(**more):
    return Params(**{"n_clusters": 3, "start_seed": 1, "epsilon": 1.0, **more})


def attacked(epsilon=1.0, count=6, points=None, box=BOX, row=ROW, **more):
    points = BOX.from_unit(records()) if points is None else points
    return attack_runs(points, box, AttackQuestion((), row, params(epsilon=epsilon, **more)), 0, 0, count)


def test_exact_centers_give_every_digit():
    points = BOX.from_unit(records())
    found = attack_exact(points, BOX, AttackQuestion((), ROW, params()))
    assert np.abs(found.guess - records()[ROW]).max() < 1e-11
    assert "digits" in exact_words(found, WORDS, len(points))
    rows = digits_of(found.guess, found.nonprivate_record, WORDS)
    assert [row["Feature"] for row in rows] == ["a (m)", "b"]
    assert float(rows[0]["True value"]) == pytest.approx(points[ROW, 0], abs=1e-12)


def test_noise_hides_what_less_noise_shows():
    hidden, shown, all_but_exact = (attacked(epsilon=at) for at in (0.5, 1e3, 1e8))
    blind = np.linalg.norm(records()[ROW] - 0.5)
    assert np.median(hidden.nonprivate_errors) > 0.6 * blind, "not much better than looking at nothing"
    assert np.median(shown.nonprivate_errors) < 0.1
    assert np.median(all_but_exact.nonprivate_errors) < 1e-5
    said = noisy_words(hidden, 0.5)
    assert "ε = 0.5" in said
    assert "6 runs" in said


@pytest.mark.parametrize("start", ["packing", "records"])
def test_the_published_release_leaves_a_line_and_a_place_on_it(start):
    found = attacked(mode="published", start=start)
    known = np.isfinite(found.nonprivate_off)
    assert known.any()
    assert found.nonprivate_off[known].max() < 1e-10
    guessed = np.isfinite(found.nonprivate_errors)
    assert guessed.any()
    assert np.median(found.nonprivate_errors[guessed]) < 1e-9
    assert "down to one line" in published_words(found, WORDS)


def test_another_record_is_on_no_such_line():
    points = BOX.from_unit(records())
    result = fit(points, BOX, params(mode="published"), rng=np.random.default_rng([0, 0]))
    segment, _ = guess_published(result.release, BOX, np.delete(records(), ROW, axis=0), zones=True)
    assert segment.distance(records()[ROW]) < 1e-10
    away = [segment.distance(place) for place in np.delete(records(), ROW, axis=0)]
    assert min(away) > 1e-8, "the line is about one record"


def test_the_future_orientation_tells_the_line_alone():
    found = attacked(mode="published", orientation="future")
    assert np.isfinite(found.nonprivate_off).any()
    assert np.isnan(found.guesses).all()
    assert "ratios" in published_words(found, WORDS)


def test_one_feature_has_zones_only():
    box = Box((0.0,), (5.0,))
    points = box.from_unit(records(d=1))
    words = Words("Set", box, ("a",), ("m",))
    found = attacked(points=points, box=box, mode="published")
    assert np.nanmedian(found.nonprivate_errors) < 1e-9
    assert "line" not in published_words(found, words)
    assert np.abs(attack_exact(points, box, AttackQuestion((), ROW, params())).guess - records(d=1)[ROW]).max() < 1e-11


def test_nothing_of_the_attack_is_public():
    packed = set()
    for row in (3, ROW):
        unit = records()
        found = attacked(count=3, row=row)
        exact = attack_exact(BOX.from_unit(unit), BOX, AttackQuestion((), row, params()))
        scenes = (
            exact_scene(exact, unit, WORDS, View(), row),
            runs_scene(found, unit, WORDS, View(), row, "Runs"),
        )
        for scene in scenes:
            public = [layer.name for layer in scene.layers if layer.audience is not Audience.CURATOR]
            assert public == ["public bounds"]
        packed.add(tuple(pack(scene.public()) for scene in scenes))
    assert len(packed) == 1


def test_runs_are_joined_and_clicks_lead_to_rows():
    parts = [attacked(count=2), attacked(count=3)]
    joined = Guesses.joined(parts)
    assert len(joined.guesses) == 5
    assert np.array_equal(joined.guesses[:2], parts[0].guesses)
    assert picked_row(0, 10, 0) == 1, "the record under attack is no mark of the others"
    assert picked_row(3, 10, 5) == 3
    assert picked_row(9, 10, 5) is None
